//! The frames of a video file.

use std::error::Error;
use std::fs;
use std::path::Path;

use gst::prelude::*;
use gst_video::prelude::*;
use motion_search::estimator::{Frame, FrameView};

use crate::scene::Scene;

/// The luma planes of the first `count` frames: of a `.y4m` directly, of other files by `uridecodebin`.
///
/// Nothing converts the samples, as a conversion may change luma, for example from full to limited range.
///
/// # Errors
/// What cannot be read or decoded, or decodes to other samples than luma of 8 bits. A file with fewer frames is not an
/// error.
pub fn luma(video: &Path, count: usize) -> Result<Vec<Frame>, Box<dyn Error>> {
    if video.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("y4m")) {
        return Ok(y4m(&fs::read(video)?, count)?);
    }
    let planes = decoded(video, count, "I420,YV12,Y42B,Y444,NV12,NV21,NV16,NV24,GRAY8", 1)?;
    Ok(planes.into_iter().flatten().collect())
}

/// The planes of the first `count` frames of a video file with 4:2:0 chroma.
///
/// # Errors
/// As [`luma`], and a file that decodes to other chroma.
pub fn planes(video: &Path, count: usize) -> Result<Vec<Vec<Frame>>, Box<dyn Error>> {
    decoded(video, count, "I420", 3)
}

/// The first `planes` planes of the first `count` frames, of one of these formats.
fn decoded(
    video: &Path,
    count: usize,
    formats: &str,
    planes: u32,
) -> Result<Vec<Vec<Frame>>, Box<dyn Error>> {
    gst::init()?;
    let uri = glib::filename_to_uri(fs::canonicalize(video)?, None)?;
    let pipeline = gst::parse::launch(&format!(
        "uridecodebin uri={uri} \
         ! appsink name=sink sync=false max-buffers=4 \
         caps=video/x-raw,format={{{formats}}}"
    ))?
    .downcast::<gst::Pipeline>()
    .map_err(|_| "not a pipeline")?;
    let sink = pipeline.by_name("sink").and_downcast::<gst_app::AppSink>().ok_or("no appsink")?;
    let bus = pipeline.bus().ok_or("a pipeline has a bus")?;
    pipeline.set_state(gst::State::Playing)?;
    let frames = pull(&sink, &bus, count, planes)
        .map_err(|error| format!("{error} (the decoder of the file has to give frames of {formats})").into());
    pipeline.set_state(gst::State::Null)?;
    frames
}

/// The first two frames of a video file, as [`luma`] reads them.
///
/// # Errors
/// As [`luma`], and a file with fewer frames.
pub fn scene(video: &Path) -> Result<Scene, Box<dyn Error>> {
    match <[Frame; 2]>::try_from(luma(video, 2)?) {
        Ok([reference, current]) => Ok(Scene { reference, current }),
        Err(_) => Err(format!("{} has fewer than two frames", video.display()).into()),
    }
}

fn pull(
    sink: &gst_app::AppSink,
    bus: &gst::Bus,
    count: usize,
    planes: u32,
) -> Result<Vec<Vec<Frame>>, Box<dyn Error>> {
    let mut frames = Vec::new();
    while frames.len() < count && !sink.is_eos() {
        if let Some(message) = bus.pop_filtered(&[gst::MessageType::Error])
            && let gst::MessageView::Error(error) = message.view()
        {
            return Err(error.error().into());
        }
        let Some(sample) = sink.try_pull_sample(gst::ClockTime::from_mseconds(100)) else { continue };
        let info = gst_video::VideoInfo::from_caps(sample.caps().ok_or("no caps")?)?;
        let buffer = sample.buffer().ok_or("no buffer")?;
        let frame = gst_video::VideoFrameRef::from_buffer_ref_readable(buffer, &info)?;
        let plane = |index: u32| {
            let stride = usize::try_from(frame.plane_stride()[index as usize])?;
            let (width, height) = (frame.comp_width(index) as usize, frame.comp_height(index) as usize);
            let plane = FrameView::new(frame.plane_data(index)?, width, height, stride)?;
            Ok::<_, Box<dyn Error>>(Frame::from_fn(width, height, |x, y| plane.row(y)[x]))
        };
        frames.push((0..planes).map(plane).collect::<Result<_, _>>()?);
    }
    Ok(frames)
}

/// The luma planes of the first `count` frames of a YUV4MPEG2 stream of 8 bits.
///
/// # Errors
/// Why the stream cannot be read. A stream with fewer frames is not an error.
pub fn y4m(bytes: &[u8], count: usize) -> Result<Vec<Frame>, String> {
    let (header, mut rest) = line(bytes).ok_or("no header")?;
    let mut words = header.split(' ');
    if words.next() != Some("YUV4MPEG2") {
        return Err("not a YUV4MPEG2 stream".into());
    }
    let (mut width, mut height, mut colours) = (0_usize, 0_usize, "420");
    for word in words.filter(|word| !word.is_empty()) {
        let number = || word[1..].parse().map_err(|_| format!("\"{word}\" is no size"));
        match word.as_bytes()[0] {
            b'W' => width = number()?,
            b'H' => height = number()?,
            b'C' => colours = &word[1..],
            _ => {}
        }
    }
    let half = |side: usize| side.div_ceil(2);
    let chroma = match colours {
        "420" | "420jpeg" | "420mpeg2" | "420paldv" => half(width).checked_mul(half(height)),
        "422" => half(width).checked_mul(height),
        "444" => width.checked_mul(height),
        "mono" => Some(0),
        _ => return Err(format!("colours \"{colours}\" are not read: use 420, 422, 444 or mono of 8 bits")),
    };
    let luma = width.checked_mul(height).ok_or("a frame too large")?;
    let chroma = chroma.and_then(|samples| samples.checked_mul(2)).ok_or("a frame too large")?;

    let mut frames = Vec::new();
    while frames.len() < count && !rest.is_empty() {
        let (frame, samples) = line(rest).ok_or("a frame without a header")?;
        if !frame.starts_with("FRAME") {
            return Err("a frame without a header".into());
        }
        let end = luma.checked_add(chroma).ok_or("a frame too large")?;
        let (planes, next) = samples.split_at_checked(end).ok_or("the last frame is cut off")?;
        let luma = planes[..luma].to_vec();
        frames.push(Frame::from_samples(luma, width, height).map_err(|error| error.to_string())?);
        rest = next;
    }
    Ok(frames)
}

/// The first line of `bytes` and what follows it.
fn line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().take(1024).position(|&byte| byte == b'\n')?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}
