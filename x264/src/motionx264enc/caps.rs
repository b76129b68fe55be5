//! Caps: what comes in, what goes out, and what one says of the other.

use gst::prelude::*;
use gst_video::{VideoFormat, VideoInfo};

use crate::encoder::Unit;
use crate::ffi;

/// The formats of frames, those that are left of each group where the library was built for less.
const EIGHT_BITS: [(VideoFormat, u32); 6] = [
    (VideoFormat::Y444, ffi::X264_CSP_I444),
    (VideoFormat::Y42b, ffi::X264_CSP_I422),
    (VideoFormat::I420, ffi::X264_CSP_I420),
    (VideoFormat::Yv12, ffi::X264_CSP_I420),
    (VideoFormat::Nv12, ffi::X264_CSP_I420),
    (VideoFormat::Gray8, ffi::X264_CSP_I400),
];
const TEN_BITS: [(VideoFormat, u32); 3] = [
    (VideoFormat::Y44410le, ffi::X264_CSP_I444),
    (VideoFormat::I42210le, ffi::X264_CSP_I422),
    (VideoFormat::I42010le, ffi::X264_CSP_I420),
];

/// The profiles, those with more formats first.
const PROFILES: [&str; 10] = [
    "high-4:4:4",
    "high-4:2:2",
    "high-10",
    "high",
    "main",
    "baseline",
    "constrained-baseline",
    "high-4:4:4-intra",
    "high-4:2:2-intra",
    "high-10-intra",
];

/// The formats that the library takes.
fn formats() -> impl Iterator<Item = VideoFormat> {
    let is_of_depth = |depth: u32| [0, depth].contains(&ffi::X264_BIT_DEPTH);
    let eight = EIGHT_BITS.iter().filter(move |_| is_of_depth(8));
    let ten = TEN_BITS.iter().filter(move |_| is_of_depth(10));
    let is_of_chroma = |chroma: u32| [0, chroma].contains(&ffi::X264_CHROMA_FORMAT);
    eight.chain(ten).filter(move |(_, chroma)| is_of_chroma(*chroma)).map(|&(format, _)| format)
}

/// The caps of the sink pad.
pub fn sink_caps() -> gst::Caps {
    gst_video::VideoCapsBuilder::new().format_list(formats()).build()
}

/// The caps of the source pad.
pub fn source_caps() -> gst::Caps {
    gst::Caps::builder("video/x-h264")
        .field("framerate", gst::FractionRange::new((0, 1), (i32::MAX, 1)))
        .field("width", gst::IntRange::new(1, i32::MAX))
        .field("height", gst::IntRange::new(1, i32::MAX))
        .field("stream-format", gst::List::new(["avc", "byte-stream"]))
        .field("alignment", "au")
        .field("profile", gst::List::new(PROFILES))
        .build()
}

/// Whether frames of `format` can be encoded in `profile`.
fn has_format(profile: &str, format: VideoFormat) -> bool {
    use VideoFormat as Format;
    let chroma_420 = [Format::I420, Format::Yv12, Format::Nv12];
    if profile.starts_with("high-4:4:4") {
        [Format::Y444, Format::Y44410le].contains(&format)
    } else if profile.starts_with("high-4:2:2") {
        [Format::Y42b, Format::I42210le].contains(&format)
    } else if profile.starts_with("high-10") {
        format == Format::I42010le
    } else {
        chroma_420.contains(&format) || (profile.starts_with("high") && format == Format::Gray8)
    }
}

/// What upstream may send, of the pad's caps, if downstream takes `allowed`: it may ask for sizes, rates and, by profiles, for
/// formats.
pub fn acceptable(of_pad: &gst::Caps, allowed: Option<&gst::Caps>, filter: Option<&gst::Caps>) -> gst::Caps {
    const PASSED_ON: [&str; 6] =
        ["width", "height", "framerate", "pixel-aspect-ratio", "colorimetry", "chroma-site"];
    let limited = match allowed {
        Some(allowed) if !allowed.is_any() && !allowed.is_empty() => {
            let mut wanted = gst::Caps::new_empty();
            for structure in allowed.iter() {
                let mut raw = gst::Structure::new_empty("video/x-raw");
                for name in PASSED_ON {
                    if let Ok(value) = structure.value(name) {
                        raw.set_value(name, value.to_send_value());
                    }
                }
                if let Some(profiles) = strings(structure, "profile") {
                    let fits =
                        |format: &VideoFormat| profiles.iter().any(|profile| has_format(profile, *format));
                    raw.set("format", gst::List::new(formats().filter(fits).map(|format| format.to_str())));
                }
                wanted.make_mut().append_structure(raw);
            }
            wanted.intersect(of_pad)
        }
        _ => of_pad.clone(),
    };
    filter.map_or(limited.clone(), |filter| limited.intersect(filter))
}

/// The strings of a field, one or a list.
fn strings(structure: &gst::StructureRef, name: &str) -> Option<Vec<String>> {
    if let Ok(one) = structure.get::<String>(name) {
        return Some(vec![one]);
    }
    let list = structure.get::<gst::List>(name).ok()?;
    Some(list.iter().filter_map(|value| value.get::<String>().ok()).collect())
}

/// What downstream wants of the stream.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// Start codes in place of lengths.
    pub byte_stream: bool,
    /// The profile by x264's name.
    pub profile: Option<&'static str>,
    /// Whether all frames are key frames.
    pub is_intra: bool,
    /// The number of the level, and its name.
    pub level: Option<(u8, String)>,
}

impl Target {
    /// What downstream of `pad` wants; `None` if it takes nothing. `byte_stream` where it does not care.
    pub fn of_peer(pad: &gst::Pad, byte_stream: bool) -> Option<Self> {
        let mut target = Self { byte_stream, ..Self::default() };
        let Some(mut fixed) = pad.allowed_caps() else { return Some(target) };
        if fixed.is_empty() {
            return None;
        }
        // It takes any caps, not only any of H.264: what is most widely understood.
        if pad.peer_query_caps(None).is_any() {
            target.byte_stream = true;
            return Some(target);
        }
        fixed.fixate();
        let structure = fixed.structure(0)?;
        let text = |name: &str| structure.get::<&str>(name).ok();
        if let Some(profile) = text("profile") {
            target.is_intra = profile.ends_with("-intra");
            target.profile = Some(match profile {
                "constrained-baseline" | "baseline" => "baseline",
                "main" => "main",
                _ if profile.starts_with("high-10") => "high10",
                _ if profile.starts_with("high-4:2:2") => "high422",
                _ if profile.starts_with("high-4:4:4") => "high444",
                _ => "high",
            });
        }
        if let Some(level) = text("level") {
            target.level = gst_pbutils::codec_utils_h264_get_level_idc(level)
                .into_option()
                .map(|number| (number, level.to_owned()));
        }
        if let Some(format) = text("stream-format") {
            target.byte_stream = format == "byte-stream";
        }
        Some(target)
    }
}

/// A level's number; GStreamer has 0 for names that it does not know.
trait KnownLevel {
    fn into_option(self) -> Option<u8>;
}

impl KnownLevel for u8 {
    fn into_option(self) -> Option<u8> {
        (self != 0).then_some(self)
    }
}

/// The caps of a stream with these headers, if they hold parameter sets. `allowed` are the caps that downstream takes.
pub fn of_stream(
    headers: &[Unit<'_>],
    target: &Target,
    info: &VideoInfo,
    allowed: Option<gst::Caps>,
) -> Option<gst::Caps> {
    let unit =
        |kind: ffi::nal_unit_type_e| headers.iter().find(|unit| unit.kind == kind).map(|unit| unit.data);
    let (sequence, picture) = (unit(ffi::nal_unit_type_e_NAL_SPS)?, unit(ffi::nal_unit_type_e_NAL_PPS)?);
    // Behind the type of the unit: profile, compatibility and level.
    let profile_and_level = sequence.get(1..4)?;
    let mut caps = gst::Caps::new_empty_simple("video/x-h264");
    let target_caps = caps.make_mut();
    if target.byte_stream {
        target_caps.set("stream-format", "byte-stream");
    } else {
        target_caps.set("stream-format", "avc");
        target_caps.set("codec_data", gst::Buffer::from_slice(codec_data(sequence, picture, info)?));
    }
    target_caps.set("alignment", "au");
    // It fails for what x264 never writes.
    let _ = gst_pbutils::codec_utils_h264_caps_set_level_and_profile(target_caps, profile_and_level);
    if let Some(allowed) = allowed.filter(|allowed| !allowed.can_intersect(&caps)) {
        name_wider_profile(&mut caps, allowed);
    }
    Some(caps)
}

/// Names the profile that downstream wants, if the stream's is a part of it.
fn name_wider_profile(caps: &mut gst::Caps, allowed: gst::Caps) {
    const NARROWER: [&str; 4] = ["high", "main", "baseline", "constrained-baseline"];
    let Some(own) = caps.structure(0).and_then(|of| of.get::<String>("profile").ok()) else { return };
    let Some(wanted) = allowed.structure(0).and_then(|of| strings(of, "profile")) else { return };
    let width = |profile: &str| NARROWER.iter().position(|name| *name == profile);
    let wider = wanted.iter().find(|wanted| match (width(wanted), width(&own)) {
        (Some(wanted), Some(own)) => wanted < own,
        _ => false,
    });
    if let Some(wider) = wider {
        caps.make_mut().set("profile", wider);
    }
}

/// The decoder configuration record of ISO/IEC 14496-15, of the parameter sets.
fn codec_data(sequence: &[u8], picture: &[u8], info: &VideoInfo) -> Option<Vec<u8>> {
    let length = |set: &[u8]| u16::try_from(set.len()).ok().map(u16::to_be_bytes);
    let profile = sequence[1];
    let mut record = vec![1, profile, sequence[2], sequence[3]];
    // Lengths of units have four bytes; there is one set of each kind.
    record.extend([0xff, 0xe1]);
    record.extend(length(sequence)?);
    record.extend(sequence);
    record.push(1);
    record.extend(length(picture)?);
    record.extend(picture);
    if ![66, 77, 88].contains(&profile) {
        let chroma = match (info.n_components(), info.format_info().w_sub()[1], info.format_info().h_sub()[1])
        {
            (1, ..) => 0,
            (_, 1, 1) => 1,
            (_, 1, 0) => 2,
            _ => 3,
        };
        let deeper = info.comp_depth(0) as u8 - 8;
        record.extend([0xfc | chroma, 0xf8 | deeper, 0xf8 | deeper, 0]);
    }
    Some(record)
}
