//! The negotiation of frame rates: that of the output is free, all else is equal on both sides.

use gst_video::{VideoFormat, VideoInfo, VideoMultiviewMode};

use crate::video;

/// Formats of eight bits besides those of [`video::caps`]: with alpha, and those whose components are copied to planes of their
/// own ([`super::packing`]). They come last, so that a converter chooses one of the others where both lose the same.
const OTHER_FORMATS: [VideoFormat; 24] = [
    VideoFormat::A420,
    VideoFormat::Yuy2,
    VideoFormat::Uyvy,
    VideoFormat::Yvyu,
    VideoFormat::Vyuy,
    VideoFormat::Nv16,
    VideoFormat::Nv61,
    VideoFormat::Nv24,
    VideoFormat::V308,
    VideoFormat::Iyu2,
    VideoFormat::Ayuv,
    VideoFormat::Vuya,
    VideoFormat::Bgra,
    VideoFormat::Rgba,
    VideoFormat::Argb,
    VideoFormat::Abgr,
    VideoFormat::Bgrx,
    VideoFormat::Rgbx,
    VideoFormat::Xrgb,
    VideoFormat::Xbgr,
    VideoFormat::Rgb,
    VideoFormat::Bgr,
    VideoFormat::Gbr,
    VideoFormat::Gbra,
];

/// Deep formats with alpha.
const DEEP_ALPHA_FORMATS: [VideoFormat; 3] =
    [VideoFormat::A44410le, VideoFormat::A42210le, VideoFormat::A42010le];

/// Media types of which no frames are made, as they are no raw video: they pass.
const PASSING_TYPES: [&str; 3] = ["image/jpeg", "image/png", "video/x-bayer"];

const RAW_VIDEO: &str = "video/x-raw";

/// What the pads take.
pub fn accepted() -> gst::Caps {
    let mut caps = video::caps();
    caps.merge(video::caps_of(&DEEP_ALPHA_FORMATS));
    caps.merge(video::caps_of(&OTHER_FORMATS));
    #[cfg(feature = "cuda")]
    let mut caps = video::cuda::with_cuda(caps);
    caps.merge(PASSING_TYPES.map(gst::Structure::new_empty).into_iter().collect());
    caps
}

/// Why no frames are made between those of `info`, if that is so.
pub fn obstacle(info: &VideoInfo) -> Option<&'static str> {
    if is_raw(info) {
        video::obstacle(info)
    } else {
        Some(
            "Frames in image/jpeg, image/png or video/x-bayer cannot be mixed: put a decoder or bayer2rgb before",
        )
    }
}

/// Whether the frames of `info` are raw video.
pub fn is_raw(info: &VideoInfo) -> bool {
    info.format() != VideoFormat::Encoded
}

/// Whether frames of the left and the right eye come in turn: one that is repeated would be shown to the other eye.
pub fn are_eyes_in_turn(info: &VideoInfo) -> bool {
    info.multiview_mode() == VideoMultiviewMode::FrameByFrame
}

/// The caps of the other side for `caps` of the pad with this `direction`.
pub fn transformed(direction: gst::PadDirection, caps: &gst::Caps, filter: Option<&gst::Caps>) -> gst::Caps {
    let mut same = gst::Caps::new_empty();
    let mut any = gst::Caps::new_empty();
    for (structure, features) in caps.iter_with_features() {
        if structure.name() != RAW_VIDEO {
            same.make_mut().append_structure_full(structure.to_owned(), Some(features.to_owned()));
            continue;
        }
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
        let any = gst::Structure::builder(RAW_VIDEO).field("framerate", rates).build();
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
