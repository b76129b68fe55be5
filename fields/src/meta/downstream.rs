//! What becomes of fields in the elements behind the one that attaches them.
//!
//! GStreamer asks a meta what to do where an element copies or scales a buffer. Up to GStreamer 1.26 it asks nothing where an
//! element moves samples otherwise: its new buffers have no meta. So probes on the pads of the elements downstream tell the
//! log which of them drops fields, and give them back where `videoflip` has made a new buffer of the same samples.

use std::sync::Arc;

use gst::prelude::*;
use parking_lot::Mutex;

use super::transform::keep;
use super::{CAT, NAME, is_attached};

/// The most pads behind an element that are looked at.
const MOST_PADS: usize = 64;

/// Frames in a row that leave an element without a field, before it is said to drop them: elements may hold some back.
const LOST: u32 = 3;

/// Probes on the elements behind one, which are there as long as this is.
#[derive(Debug, Default)]
pub struct Watched {
    probes: Vec<(glib::WeakRef<gst::Pad>, gst::PadProbeId)>,
    elements: Vec<glib::WeakRef<gst::Element>>,
}

impl Watched {
    /// Watches the elements behind `pad` that are not watched yet.
    pub fn watch(&mut self, pad: &gst::Pad) {
        let mut ahead = vec![pad.clone()];
        for _ in 0..MOST_PADS {
            let Some(pad) = ahead.pop() else { return };
            let Some((sink, element)) = entered(&pad) else { continue };
            let behind = element.src_pads();
            // It is not known which pads belong to each other where there are several on both sides.
            if behind.len() > 1 && element.num_sink_pads() > 1 {
                continue;
            }
            if !self.has(&element) {
                self.elements.push(element.downgrade());
                self.probe(&element, &sink, &behind);
            }
            ahead.extend(behind);
        }
    }

    fn has(&self, element: &gst::Element) -> bool {
        self.elements.iter().any(|watched| watched.upgrade().as_ref() == Some(element))
    }

    /// Puts probes on the pads of `element`.
    fn probe(&mut self, element: &gst::Element, sink: &gst::Pad, behind: &[gst::Pad]) {
        let is_flip = element.factory().is_some_and(|factory| factory.name() == "videoflip");
        let passing = Arc::new(Mutex::new(Passing { is_flip, ..Passing::default() }));
        let entering = passing.clone();
        let id = sink.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
            if let Some(buffer) = info.buffer() {
                entering.lock().enter(buffer);
            }
            gst::PadProbeReturn::Ok
        });
        self.probes.extend(id.map(|id| (sink.downgrade(), id)));
        for pad in behind {
            let (passing, element, sink) = (passing.clone(), element.downgrade(), sink.downgrade());
            let id = pad.add_probe(gst::PadProbeType::BUFFER, move |pad, info| {
                let is_raw = pad.current_caps().is_some_and(|caps| {
                    caps.structure(0).is_some_and(|structure| structure.name() == "video/x-raw")
                });
                if let (true, Some(buffer), Some(element), Some(sink)) =
                    (is_raw, info.buffer_mut(), element.upgrade(), sink.upgrade())
                {
                    passing.lock().leave(buffer, &element, &sink);
                }
                gst::PadProbeReturn::Ok
            });
            self.probes.extend(id.map(|id| (pad.downgrade(), id)));
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        for (pad, id) in self.probes.drain(..) {
            if let Some(pad) = pad.upgrade() {
                pad.remove_probe(id);
            }
        }
    }
}

/// The element behind `pad`, across the edges of bins, with its sink pad.
fn entered(pad: &gst::Pad) -> Option<(gst::Pad, gst::Element)> {
    let mut sink = pad.peer()?;
    for _ in 0..MOST_PADS {
        // From inside a bin its parent is the pad of the bin.
        sink = match sink.parent()?.downcast::<gst::GhostPad>() {
            Ok(edge) => edge.peer()?,
            Err(parent) => match sink.downcast_ref::<gst::GhostPad>() {
                Some(edge) => edge.target()?,
                None => return Some((sink, parent.downcast().ok()?)),
            },
        };
    }
    None
}

/// What passes an element.
#[derive(Default)]
struct Passing {
    /// Whether it is `videoflip`.
    is_flip: bool,
    /// Whether the newest buffer that entered has fields; these, if they may be given back; and its timestamp.
    has_fields: bool,
    fields: Vec<gst::Structure>,
    pts: Option<gst::ClockTime>,
    /// Frames that left without a field since one entered.
    lost: u32,
}

impl Passing {
    fn enter(&mut self, buffer: &gst::BufferRef) {
        self.pts = buffer.pts();
        self.has_fields = is_attached(buffer);
        self.fields.clear();
        if self.is_flip {
            let metas = buffer.iter_meta::<gst::Meta>();
            let fields = metas.filter_map(|meta| {
                let meta = meta.try_as_custom_meta().filter(|meta| meta.has_name(NAME))?;
                Some(meta.structure().to_owned())
            });
            self.fields.extend(fields);
        }
    }

    /// Looks at `buffer`, which leaves `element`, and gives it the fields back if that has moved nothing.
    fn leave(&mut self, buffer: &mut gst::Buffer, element: &gst::Element, sink: &gst::Pad) {
        if !self.has_fields || is_attached(buffer) {
            self.lost = 0;
            return;
        }
        if self.is_flip && self.pts == buffer.pts() && turns_nothing(element, sink) {
            self.fields.iter().for_each(|field| keep(buffer.make_mut(), field));
            return;
        }
        self.lost += 1;
        if self.lost == LOST {
            let factory = element.factory().map(|factory| factory.name()).unwrap_or_default();
            gst::info!(
                CAT,
                "The motion field is dropped by {} ({factory}): it makes new frames, and does not say where it puts the \
                 samples of the old ones",
                element.name(),
            );
        }
    }
}

/// Whether `flip`, a `videoflip`, turns nothing. It makes a new buffer all the same.
fn turns_nothing(flip: &gst::Element, sink: &gst::Pad) -> bool {
    let direction = flip.property_value("video-direction");
    let Some((_, direction)) = glib::EnumValue::from_value(&direction) else { return false };
    match direction.nick() {
        "identity" => true,
        "auto" => !is_turned(sink),
        _ => false,
    }
}

/// Whether a tag of the stream at `pad` says that frames are to be turned.
fn is_turned(pad: &gst::Pad) -> bool {
    let mut is_turned = false;
    pad.sticky_events_foreach(|event| {
        if let gst::EventView::Tag(event) = event.view()
            && let Some(orientation) = event.tag().get::<gst::tags::ImageOrientation>()
        {
            is_turned = orientation.get() != "rotate-0";
        }
        std::ops::ControlFlow::Continue(gst::EventForeachAction::Keep)
    });
    is_turned
}
