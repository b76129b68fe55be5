//! The warning of elements that wait for motion fields which do not come.

use gst::prelude::*;

/// Frames without a time count as so many a second.
const FRAMES: u32 = 30;

/// The type of `motionestimate`, by its name: the type itself belongs to one plugin, and this code is in two. An element that was
/// made without a factory has it too.
const ESTIMATE: &str = "GstMotionEstimate";

/// The most elements that are looked through for `motionestimate`.
const MOST_ELEMENTS: usize = 64;

/// Frames without a motion field, since the last one that had one or since the start.
#[derive(Debug, Default)]
pub struct MissingFields {
    frames: u32,
    /// When the first of them is shown.
    since: Option<gst::ClockTime>,
    is_told: bool,
    /// Whether a field is of use with costs alone.
    needs_costs: bool,
}

impl MissingFields {
    /// Where only fields with the costs `intra` and `satd` are of use.
    pub fn with_costs() -> Self {
        Self { needs_costs: true, ..Self::default() }
    }

    /// Notes the frame in `buffer` of `element`, with a field that it can use or without. After a second without one, warns once.
    /// A discontinuity, as after a seek, has no field and begins anew.
    pub fn note(
        &mut self,
        (element, category): (&impl IsA<gst::Element>, gst::DebugCategory),
        has_field: bool,
        buffer: &gst::BufferRef,
    ) {
        let pts = buffer.pts();
        if has_field || buffer.flags().contains(gst::BufferFlags::DISCONT) {
            (self.frames, self.since) = (0, None);
            return;
        }
        self.frames += 1;
        self.since = self.since.or(pts);
        let is_long = match (self.since, pts) {
            (Some(since), Some(pts)) => pts.saturating_sub(since) >= gst::ClockTime::SECOND,
            _ => self.frames >= FRAMES,
        };
        if !is_long || std::mem::replace(&mut self.is_told, true) {
            return;
        }
        let element = element.upcast_ref::<gst::Element>();
        let advice = match is_behind_estimate(element) {
            true => {
                "although motionestimate is upstream: what makes frames of another size or shape between them may drop \
                 fields, and GST_DEBUG=motionvectormeta:4 tells why"
            }
            false => "put motionestimate upstream",
        };
        let costs = if self.needs_costs { "; it needs sub-sample=quarter costs=zero+intra+satd" } else { "" };
        gst::warning!(category, obj = element, "No motion field for a second of frames: {advice}{costs}");
        gst::element_warning!(
            element,
            gst::StreamError::Format,
            ("No frame has had a motion field that fits it for a second: {advice}{costs}"),
            ["At {pts:?}; this warning is posted once"]
        );
    }
}

/// Whether a `motionestimate` is upstream of `element`, along the first sink pads.
pub fn is_behind_estimate(element: &gst::Element) -> bool {
    let first_sink = |element: &gst::Element| element.sink_pads().into_iter().next();
    let mut pad = first_sink(element);
    for _ in 0..MOST_ELEMENTS {
        let Some(mut peer) = pad.and_then(|pad| pad.peer()) else { return false };
        // The edge of a bin.
        while let Some(target) = peer.downcast_ref::<gst::GhostPad>().and_then(|ghost| ghost.target()) {
            peer = target;
        }
        let Some(parent) = peer.parent() else { return false };
        pad = match parent.downcast::<gst::Element>() {
            Ok(element) if element.type_().name() == ESTIMATE => return true,
            Ok(element) => first_sink(&element),
            // From inside a bin: its parent is the pad of the bin.
            Err(parent) => parent.downcast::<gst::Pad>().ok(),
        };
    }
    false
}
