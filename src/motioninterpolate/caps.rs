//! The negotiation of frame rates: that of the output is free, all else is equal on both sides.

use gst_video::{VideoInfo, VideoMultiviewMode};

/// Whether frames of the left and the right eye come in turn: one that is repeated would be shown to the other eye.
pub fn are_eyes_in_turn(info: &VideoInfo) -> bool {
    info.multiview_mode() == VideoMultiviewMode::FrameByFrame
}

/// The caps of the other side for `caps` of the pad with this `direction`.
pub fn transformed(direction: gst::PadDirection, caps: &gst::Caps, filter: Option<&gst::Caps>) -> gst::Caps {
    let mut same = gst::Caps::new_empty();
    let mut any = gst::Caps::new_empty();
    for (structure, features) in caps.iter_with_features() {
        let mut other = structure.to_owned();
        if direction == gst::PadDirection::Sink {
            let most = gst::Fraction::new(i32::MAX, 1);
            other.set("framerate", gst::FractionRange::new(gst::Fraction::new(0, 1), most));
        } else {
            // Input without a frame rate will do too.
            other.remove_field("framerate");
        }
        // It belongs to variable frame rates.
        other.remove_field("max-framerate");
        // The same frame rate is better than any other. If there is none, the other side must say one.
        if structure.has_field("framerate") || direction == gst::PadDirection::Src {
            same.make_mut().append_structure_full(structure.to_owned(), Some(features.to_owned()));
        }
        any.make_mut().append_structure_full(other, Some(features.to_owned()));
    }
    same.merge(any);
    match filter {
        Some(filter) => filter.intersect_with_mode(&same, gst::CapsIntersectMode::First),
        None => same,
    }
}

/// The frame rate where one is needed and nothing says which.
const USUAL_RATE: (i32, i32) = (30, 1);

/// One format of `othercaps`, with the frame rate nearest to that of `caps`. If these have none but the output `needs_rate`,
/// it is the one nearest to their `max-framerate`, else to 30/1, where `othercaps` allow one.
pub fn fixated(caps: &gst::Caps, mut othercaps: gst::Caps, needs_rate: bool) -> gst::Caps {
    let field = |name| caps.structure(0).and_then(|structure| structure.get::<gst::Fraction>(name).ok());
    let mut rate = field("framerate");
    if needs_rate && rate.is_none_or(|rate| rate.numer() == 0) {
        let rates = gst::FractionRange::new(gst::Fraction::new(1, i32::MAX), gst::Fraction::new(i32::MAX, 1));
        let any = gst::Structure::builder("video/x-raw").field("framerate", rates).build();
        let of_rates = othercaps.iter_with_features();
        let constant: gst::Caps = of_rates
            .filter_map(|(structure, features)| Some((structure.intersect(&any)?, features.to_owned())))
            .collect();
        if !constant.is_empty() {
            othercaps = constant;
            rate = field("max-framerate").or(Some(gst::Fraction::new(USUAL_RATE.0, USUAL_RATE.1)));
        }
    }
    othercaps.truncate();
    if let Some(structure) = othercaps.make_mut().structure_mut(0) {
        if let Some(rate) = rate {
            structure.fixate_field_nearest_fraction("framerate", rate);
        }
        if structure.has_field("pixel-aspect-ratio") {
            structure.fixate_field_nearest_fraction("pixel-aspect-ratio", gst::Fraction::new(1, 1));
        }
    }
    othercaps.fixate();
    othercaps
}
