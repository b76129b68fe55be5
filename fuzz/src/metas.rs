//! Metas made by hand into everything that reads them: each is refused, or what is read is right.

use gst_video::{VideoFormat, VideoInfo};
use gstmotionestimate::meta::MotionVectorMeta;
use motion_frames::compensation::{Field, Sampling, oracle};
use motion_frames::packers::{d3d12, nvenc, x265};
use motion_search::estimator::Metric;

use crate::buffers::{Made, made, video};
use crate::detection;
use crate::field_metas::{self, Likely};
use crate::plan::Plan;
use crate::setup;
use test_support::gstreamer::formats::FORMATS;

const DURATION: gst::ClockTime = gst::ClockTime::from_mseconds(40);

/// Runs the target.
pub fn run(data: &[u8]) {
    setup::init();
    let plan = &mut Plan::new(data);
    let reader = plan.number(0..=4u8);
    let formats = [&FORMATS[..], &[VideoFormat::Rgba, VideoFormat::Bgrx, VideoFormat::Rgb]].concat();
    // The detector lets smaller frames pass.
    let most = if reader == 4 { 80 } else { 40 };
    let info = video(plan, if reader == 1 { &formats } else { &FORMATS }, most);
    let mut frames: Vec<_> = (0..2).map(|time| frame(plan, &info, time)).collect();
    let likely = Likely { size: (info.width(), info.height()), offset: -1, pts: frames[0].buffer.pts() };
    for _ in 0..plan.number(1..=3u8) {
        field_metas::attach(plan, frames[1].buffer.make_mut(), &likely);
    }
    read(&frames[1].buffer);
    transform(plan, &frames[1].buffer, &info);
    match reader {
        0 => compensate(plan, &frames, &info),
        1 => overlay(plan, &frames, &info),
        4 => {
            detection::attach(plan, &mut frames, &info);
            serialize(plan, &frames[1].buffer, &info);
            detection::run(frames, &info);
        }
        #[cfg(feature = "x264")]
        3 => encode(plan, frames, &info),
        _ => serialize(plan, &frames[1].buffer, &info),
    }
}

fn frame(plan: &mut Plan<'_>, info: &VideoInfo, time: u64) -> Made {
    let mut made = made(plan, info, time);
    let buffer = made.buffer.make_mut();
    buffer.set_pts((!plan.once_in(9)).then_some(DURATION * time));
    buffer.set_duration(DURATION);
    made
}

fn fields(buffer: &gst::BufferRef) -> Vec<MotionVectorMeta> {
    MotionVectorMeta::all_of(buffer).filter_map(Result::ok).collect()
}

/// Reads all that the metas of `buffer` hold.
fn read(buffer: &gst::BufferRef) {
    for field in fields(buffer) {
        let d = field.description();
        let blocks = d.columns as usize * d.rows as usize;
        assert_eq!((d.columns, d.rows), (d.width.div_ceil(d.block_width), d.height.div_ceil(d.block_height)));
        assert!(d.scale > 0 && (8..=16).contains(&d.bit_depth));
        assert_eq!(field.vectors().len(), blocks);
        assert!(field.predictors().is_none_or(|predictors| predictors.len() == blocks));
        assert_eq!(field.vector(0, 0), Some(field.vectors()[0]));
        assert_eq!(
            field.vector(d.columns as usize - 1, d.rows as usize - 1),
            field.vectors().last().copied()
        );
        assert_eq!(field.vector(d.columns as usize, 0), None);
        assert_eq!(field.vector(0, d.rows as usize), None);
        if let Some(devices) = field.devices() {
            assert_eq!(devices.rows().len(), d.rows as usize);
            assert!(devices.rows().iter().all(|&row| usize::from(row) < devices.names().len()));
        }
        if let Some(costs) = field.costs() {
            assert_eq!(costs.values().len(), blocks * costs.names().len());
            assert!(costs.names().iter().all(|name| costs.of(name).is_some_and(|of| of.count() == blocks)));
        }
        pack(&field);
    }
}

/// The field as the encoders' layouts, which may refuse it.
fn pack(field: &MotionVectorMeta) {
    let d = field.description();
    let size = (d.width as usize, d.height as usize);
    let block = (d.block_width as usize, d.block_height as usize);
    let field =
        Field::new(size, block, field.vectors()).expect("a checked meta is a field").with_scale(d.scale);
    // What they refuse they must not write wrongly; what they write, their own tests compare.
    let _ = nvenc::h264_hints(&field);
    let _ = nvenc::av1_hints(&field);
    let _ = d3d12::move_rects(&field);
    let _ = d3d12::motion_maps(&field, 0);
    for tree in [x265::CodingTree::Side16, x265::CodingTree::Side32, x265::CodingTree::Side64] {
        let _ = x265::analysis_records(&field, tree);
    }
}

/// The metas on copies and on scaled frames.
fn transform(plan: &mut Plan<'_>, buffer: &gst::BufferRef, info: &VideoInfo) {
    let before = fields(buffer);
    let copied = fields(&buffer.copy());
    assert_eq!(before.len(), copied.len());
    for (before, copied) in before.iter().zip(&copied) {
        assert_eq!((before.description(), before.vectors()), (copied.description(), copied.vectors()));
    }
    let side = |plan: &mut Plan<'_>, side: u32| match plan.number(0..=4u8) {
        0 => side * plan.number(1..=4),
        1 => (side / plan.number(1..=4)).max(1),
        2 => plan.number(1..=i32::MAX as u32 / 64),
        _ => side,
    };
    let (width, height) = (side(plan, info.width()), side(plan, info.height()));
    let Ok(scaled) = VideoInfo::builder(VideoFormat::Gray8, width, height).build() else { return };
    let mut target = gst::Buffer::new();
    let transform = gst_video::video_meta::VideoMetaTransformScale::new(info, &scaled);
    for meta in buffer.iter_meta::<gst::Meta>().filter(|meta| meta.try_as_custom_meta().is_some()) {
        // A meta that does not fit is dropped.
        let _ = meta.transform(target.make_mut(), &transform);
    }
    for field in MotionVectorMeta::all_of(&target) {
        let description = field.as_ref().map(MotionVectorMeta::description);
        assert!(description.is_ok_and(|d| (d.width, d.height) == (width, height)), "{field:?}");
    }
    read(&target);
}

/// The first field, as [`MotionVectorMeta::of`], if the base class finds no fault in any.
fn only_field(buffer: &gst::BufferRef) -> Option<MotionVectorMeta> {
    let mut all = MotionVectorMeta::all_of(buffer);
    let first = all.next()?.ok()?;
    all.next().is_none().then_some(first)
}

fn compensate(plan: &mut Plan<'_>, frames: &[Made], info: &VideoInfo) {
    let mode = plan.one_of(&["prediction", "residual", "original"]);
    let measure = plan.one_of(&["none", "psnr"]);
    let offset = if plan.once_in(4) { plan.number(-2..=2i32) } else { 0 };
    let launch = format!("motioncompensate mode={mode} measure={measure} reference-offset={offset}");
    let (mut harness, _element, bus) = setup::harness(&launch);
    harness.set_src_caps(info.to_caps().expect("caps"));
    let mut pushed = Vec::new();
    for frame in frames {
        pushed.push(harness.push(frame.buffer.clone()));
        if let Some(Err(error)) = pushed.last() {
            assert_eq!(*error, gst::FlowError::Error);
            assert!(setup::error_on(&bus).is_some(), "an error on the bus");
        }
    }
    harness.push_event(gst::event::Eos::new());
    let out: Vec<_> = std::iter::from_fn(|| harness.try_pull()).collect();
    let is_good = |frame: &Made| frame.is_sound && frame.luma(info, false).is_some();
    if mode != "prediction" || offset != 0 || !frames.iter().all(is_good) {
        return;
    }
    let Some(field) = only_field(&frames[1].buffer) else { return };
    let d = field.description();
    let reference_pts = frames[0].buffer.pts();
    let fits = (d.width, d.height) == (info.width(), info.height())
        && d.reference_offset == -1
        && (d.reference_pts == reference_pts || d.reference_pts.is_none() || reference_pts.is_none());
    if !fits {
        return;
    }
    assert!(pushed.iter().all(Result::is_ok), "a field that fits is refused: {pushed:?}");
    let size = (d.width as usize, d.height as usize);
    let block = (d.block_width as usize, d.block_height as usize);
    let vectors = Field::new(size, block, field.vectors()).expect("a field").with_scale(d.scale);
    let reference = frames[0].luma(info, false).expect("a sound frame");
    let expected = oracle::predict(&vectors, Sampling::LUMA, &reference.view()).expect("a prediction");
    let found = Made::plain(out[1].clone(), info).luma(info, false).expect("a frame");
    for y in 0..size.1 {
        assert_eq!(found.view().row(y), expected.view().row(y), "row {y}, {d:?}");
    }
}

fn overlay(plan: &mut Plan<'_>, frames: &[Made], info: &VideoInfo) {
    let style = plan.one_of(&["arrows", "color", "devices", "quantizer", "regions"]);
    let scale = plan.one_of(&[1.0, 0.0, 100.0, 0.01]);
    let threshold = plan.one_of(&[0.5, 0.0, 3.0]);
    let legend = plan.once_in(2);
    let offset = plan.one_of(&[0, -1, 1]);
    let launch = format!(
        "motionoverlay style={style} scale={scale} threshold={threshold} legend={legend} reference-offset={offset}"
    );
    let (mut harness, _element, bus) = setup::harness(&launch);
    harness.set_src_caps(info.to_caps().expect("caps"));
    let result = harness.push(frames[1].buffer.clone());
    assert!(result.is_ok() || !frames[1].is_sound, "a sound buffer is refused: {:?}", setup::error_on(&bus));
}

/// Regions of interest come with the fields.
#[cfg(feature = "x264")]
fn encode(plan: &mut Plan<'_>, mut frames: Vec<Made>, info: &VideoInfo) {
    use gst::prelude::*;
    use gst_video::VideoRegionOfInterestMeta as Region;
    let strength = plan.one_of(&["1", "0", "4"]);
    let tune = plan.one_of(&[
        "tune=zerolatency",
        "bframes=2 mb-tree=false",
        "tune=zerolatency option-string=scenecut=0",
    ]);
    let launch = format!("motionx264enc speed-preset=superfast threads=1 motion-strength={strength} {tune}");
    let (mut harness, element, bus) = setup::harness(&launch);
    let caps = info.to_caps().expect("caps");
    let is_taken = |pad: gst::Pad| caps.is_subset(&pad.pad_template_caps());
    if !element.static_pad("sink").is_some_and(is_taken) {
        return;
    }
    harness.play();
    harness.push_event(gst::event::StreamStart::new("stream"));
    harness.push_event(gst::event::Caps::new(&caps));
    harness.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
    let mut sound = 0;
    for frame in &mut frames {
        for _ in 0..plan.number(0..=2u8) {
            let place = (plan.any_u32(), plan.any_u32(), plan.any_u32(), plan.any_u32());
            let place = if plan.once_in(2) {
                (place.0 % 40, place.1 % 40, place.2 % 80, place.3 % 80)
            } else {
                place
            };
            let mut region = Region::add(frame.buffer.make_mut(), "region", place);
            let of = gst::Structure::builder(plan.one_of(&["roi/x264enc", "roi/motionx264enc", "roi/other"]));
            region.add_param(match plan.number(0..=2u8) {
                0 => of.field("delta-qp", plan.any_u32() as i32).build(),
                1 => of.field("delta-qp", plan.one_of(&[f64::NAN, f64::INFINITY, -3.5, 1e300])).build(),
                _ => of.field("delta-qp", "text").build(),
            });
        }
        match harness.push(frame.buffer.clone()) {
            Ok(_) => sound += 1,
            // x264 has no odd sides of frames with chroma.
            Err(gst::FlowError::NotNegotiated) => {
                assert!(setup::error_on(&bus).is_some(), "an error on the bus");
                return;
            }
            Err(error) => {
                assert!(!frame.is_sound, "a sound buffer is refused: {error:?}, {:?}", setup::error_on(&bus));
                assert!(setup::error_on(&bus).is_some(), "an error on the bus");
            }
        }
    }
    harness.push_event(gst::event::Eos::new());
    assert_eq!(std::iter::from_fn(|| harness.try_pull()).count(), sound);
}

fn serialize(plan: &mut Plan<'_>, buffer: &gst::Buffer, info: &VideoInfo) {
    let media_types =
        ["application/x-ndjson", "text/csv", "application/x-motion-vectors", "application/x-flo"];
    let media_type = plan.one_of(&media_types);
    let (mut harness, _element, _bus) = setup::harness("motionserialize");
    harness.set_sink_caps_str(media_type);
    harness.set_src_caps(info.to_caps().expect("caps"));
    let out = harness.push_and_pull(buffer.clone()).expect("every buffer is written");
    let out = out.map_readable().expect("readable");
    // What is for frames of another size is left out.
    let size = (info.width(), info.height());
    let is_written =
        |field: &MotionVectorMeta| (field.description().width, field.description().height) == size;
    let fields: Vec<_> = fields(buffer).into_iter().filter(is_written).collect();
    match media_type {
        "application/x-ndjson" => check_ndjson(&out, &fields),
        "application/x-motion-vectors" => check_binary(&out, &fields),
        "application/x-flo" => {
            assert_eq!(out.len(), 12 + 8 * info.width() as usize * info.height() as usize);
        }
        _ => {
            let rows: usize = fields.iter().map(|field| field.vectors().len()).sum();
            assert_eq!(out.iter().filter(|&&byte| byte == b'\n').count(), 1 + rows);
        }
    }
}

fn check_ndjson(out: &[u8], fields: &[MotionVectorMeta]) {
    let lines: Vec<serde_json::Value> =
        serde_json::Deserializer::from_slice(out).into_iter().map(|line| line.expect("JSON")).collect();
    assert_eq!(lines.len(), fields.len().max(1));
    for (line, field) in lines.iter().zip(fields) {
        let vectors = field.vectors().iter().map(|v| serde_json::json!([v.x, v.y, v.cost]));
        assert!(line["vectors"].as_array().is_some_and(|found| found.iter().cloned().eq(vectors)));
        assert_eq!(line["scale"], field.description().scale);
    }
}

/// Reads the packed binary format as `motionserialize` describes it.
fn check_binary(out: &[u8], fields: &[MotionVectorMeta]) {
    let word = |at: usize| u32::from_le_bytes(out[at..at + 4].try_into().expect("four bytes"));
    assert_eq!((&out[..8], word(8), word(12)), (&b"GSTMVECS"[..], 1, 72));
    let mut at = 16;
    for field in fields {
        let d = field.description();
        let size = word(at) as usize;
        assert_eq!(word(at + 4), u32::from(d.metric == Metric::Ssd));
        let numbers: Vec<_> = (0..8).map(|index| word(at + 40 + 4 * index)).collect();
        assert_eq!(
            numbers[2..],
            [d.block_width, d.block_height, d.columns, d.rows, d.reference_offset as u32, d.scale]
        );
        let vectors: Vec<u8> = (field.vectors().iter())
            .flat_map(|v| [&v.x.to_le_bytes()[..], &v.y.to_le_bytes(), &v.cost.to_le_bytes()].concat())
            .collect();
        assert_eq!(out[at + 72..at + 72 + vectors.len()], vectors);
        let costs = field.costs().map_or(0, |costs| 4 + 16 * costs.names().len() + 4 * costs.values().len());
        assert_eq!(size, 72 + vectors.len() + costs);
        at += size;
    }
    let empty = if fields.is_empty() { 72 } else { 0 };
    assert_eq!(out.len(), at + empty);
}
