//! The meta on buffers, and what pipelines make of it.

use std::sync::{Arc, Mutex};

use gst::prelude::*;
use gstmotionestimate::meta::{
    self, Extras, FieldCosts, FieldDescription, MetaError, MotionVectorMeta, RowDevices,
};
use motion_search::estimator::prediction::median_predictors;
use motion_search::estimator::{MotionVector, Predictor};

use crate::fields::{self, bytes, description, numbered};
use crate::init;

/// Two frames of 160 × 96 with a field of 16 × 16 blocks go through `elements`; gives the field of each of the frames that
/// come out. `videorate` of GStreamer 1.28 repeats the last one.
fn through(elements: &str) -> Vec<Option<MotionVectorMeta>> {
    let pipeline = fields::launch(&format!(
        "videotestsrc num-buffers=2 ! video/x-raw,format=I420,width=160,height=96,pixel-aspect-ratio=1/1 \
         ! identity name=source ! {elements} ! appsink name=sink"
    ));
    let field = description(160, 96, 16);
    fields::attach_after(&pipeline, "source", 0, vec![(field.clone(), numbered(&field))]);
    let buffers = fields::run(&pipeline);
    let frames = if elements == "videorate" { 2..=3 } else { 2..=2 };
    assert!(frames.contains(&buffers.len()), "{elements}: {} frames", buffers.len());
    buffers.iter().map(|buffer| MotionVectorMeta::of(buffer).transpose().unwrap()).collect()
}

fn assert_kept(elements: &str) {
    let expected = description(160, 96, 16);
    for field in through(elements) {
        let field = field.unwrap_or_else(|| panic!("dropped by {elements}"));
        assert_eq!(field.description(), &expected, "{elements}");
        assert_eq!(field.vectors(), numbered(&expected), "{elements}");
    }
}

fn assert_dropped(elements: &str) {
    assert!(through(elements).iter().all(Option::is_none), "kept by {elements}");
}

/// `scaled` maps the components of the vectors.
fn assert_scaled(elements: &str, expected: FieldDescription, scaled: impl Fn(i16, i16) -> (i16, i16)) {
    let vectors: Vec<_> = numbered(&description(160, 96, 16))
        .into_iter()
        .map(|MotionVector { x, y, cost }| {
            let (x, y) = scaled(x, y);
            MotionVector { x, y, cost }
        })
        .collect();
    for field in through(elements) {
        let field = field.unwrap_or_else(|| panic!("dropped by {elements}"));
        assert_eq!(field.description(), &expected, "{elements}");
        assert_eq!(field.vectors(), vectors, "{elements}");
    }
}

#[test]
fn copies_and_conversions_keep_the_field() {
    assert_kept("queue");
    assert_kept("tee ! queue");
    assert_kept("videorate");
    // Passthrough, conversion, in place, in place on a shared buffer.
    assert_kept("videoconvert");
    assert_kept("videoconvert ! video/x-raw,format=RGBA");
    assert_kept("videoconvertscale ! video/x-raw,format=NV12");
    assert_kept("videoscale ! video/x-raw,width=160,height=96");
    assert_kept("motionoverlay");
    assert_kept("tee name=t t. ! queue ! fakesink t. ! queue ! motionoverlay");
}

#[test]
fn scaling_scales_the_field() {
    let rounded_half = |v: i16| (f32::from(v) / 2.0).round() as i16;
    let half = FieldDescription { width: 80, height: 48, ..description(80, 48, 8) };
    assert_scaled("videoscale ! video/x-raw,width=80,height=48", half.clone(), |x, y| {
        (rounded_half(x), rounded_half(y))
    });
    assert_scaled("videoconvertscale ! video/x-raw,format=RGB,width=80,height=48", half, |x, y| {
        (rounded_half(x), rounded_half(y))
    });
    assert_scaled("videoscale ! video/x-raw,width=320,height=192", description(320, 192, 32), |x, y| {
        (2 * x, 2 * y)
    });
    // Twice as wide with pixels half as wide: no borders, and blocks of 32 × 16.
    let wide = FieldDescription { width: 320, block_width: 32, ..description(160, 96, 16) };
    assert_scaled("videoscale ! video/x-raw,width=320,height=96,pixel-aspect-ratio=1/2", wide, |x, y| {
        (2 * x, y)
    });
}

/// Blocks of 10.1 and of 9.6 samples become blocks of 12 and of 8, each with the vector of the block at its centre.
#[test]
fn scaling_to_other_blocks_approximates_the_field() {
    for (size, side, grid) in [((101, 61), 12, (9, 6)), ((96, 57), 8, (12, 8))] {
        let (width, height) = size;
        let elements =
            format!("videoscale ! video/x-raw,width={width},height={height},pixel-aspect-ratio=1/1");
        for field in through(&elements) {
            let field = field.unwrap_or_else(|| panic!("dropped by {elements}"));
            let expected = description(width, height, side);
            assert_eq!(field.description(), &expected);
            assert_eq!((expected.columns, expected.rows), grid);
            let old = numbered(&description(160, 96, 16));
            for (index, vector) in field.vectors().iter().enumerate() {
                let centre = |block: u32, frame: u32| {
                    f64::from(block * side + ((block + 1) * side).min(frame)) / 2.0 / f64::from(frame)
                };
                let (column, row) = (index as u32 % grid.0, index as u32 / grid.0);
                let x = (centre(column, width) * 10.0) as usize;
                let y = (centre(row, height) * 6.0) as usize;
                let old = old[y * 10 + x];
                let expected = f64::from(old.x) * f64::from(width) / 160.0;
                assert_eq!(vector.x, expected.round() as i16, "block {index} of {elements}");
                let cost = f64::from(old.cost) * f64::from(side * side) / 256.0;
                assert_eq!(vector.cost, cost.round() as u32, "block {index} of {elements}");
            }
        }
    }
}

/// A scaler adds borders at another aspect ratio, and only GStreamer 1.28 tells their sizes.
#[test]
fn what_may_have_borders_is_dropped() {
    let field = through("videoscale ! video/x-raw,width=320,height=96,pixel-aspect-ratio=1/1");
    if gst::version() >= (1, 28, 0, 0) {
        let expected = FieldDescription { width: 320, ..description(320, 96, 16) };
        assert!(field.iter().all(|field| field.as_ref().unwrap().description() == &expected));
    } else {
        assert!(field.iter().all(Option::is_none));
    }
}

#[test]
fn what_moves_samples_drops_the_field() {
    assert_dropped("videocrop left=16");
    assert_dropped("videocrop top=16 bottom=16");
    assert_dropped("videoflip video-direction=180");
    assert_dropped("videoflip video-direction=90r");
    assert_dropped("videobox left=-16 ! video/x-raw,width=176");
}

/// The fields of four frames that are searched and go through `elements`.
fn searched_through(elements: &str) -> Vec<Option<MotionVectorMeta>> {
    let pipeline = fields::launch(&format!(
        "videotestsrc num-buffers=8 pattern=ball ! video/x-raw,format=I420,width=160,height=96,framerate=25/1 \
         ! motionestimate device=native ! {elements} ! appsink name=sink"
    ));
    let buffers = fields::run(&pipeline);
    assert!(buffers.len() >= 7, "{elements}: {} frames", buffers.len());
    buffers.iter().map(|buffer| MotionVectorMeta::of(buffer).transpose().unwrap()).collect()
}

/// It makes a new buffer of the same samples.
#[test]
fn a_flip_that_turns_nothing_keeps_the_field() {
    let vectors = |elements: &str| -> Vec<_> {
        let fields = searched_through(elements).into_iter();
        fields.map(|field| field.map(|field| field.vectors().to_vec())).collect()
    };
    let expected = vectors("identity");
    assert!(expected[0].is_none() && expected[1..].iter().all(Option::is_some));
    let tag =
        |tag: &str| format!("taginject tags=\"image-orientation={tag}\" ! videoflip video-direction=auto");
    for kept in [
        "videoflip video-direction=identity",
        "videoflip method=none",
        "videoflip video-direction=auto",
        "videoflip method=none ! queue ! videoflip method=none",
        "( videoflip method=none )",
        &tag("rotate-0"),
    ] {
        assert!(vectors(kept) == expected, "{kept}");
    }
    if gst::version() < (1, 28, 0, 0) {
        for turned in ["videoflip video-direction=180", "videoflip video-direction=horiz", &tag("rotate-180")]
        {
            assert!(vectors(turned).iter().all(Option::is_none), "{turned}");
        }
    }
}

#[test]
fn the_log_says_which_element_drops_fields() {
    init();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let told = lines.clone();
    gst::log::set_threshold_for_name("motionvectormeta", gst::DebugLevel::Info);
    gst::log::add_log_function(move |category, _, _, _, _, _, message| {
        if category.name() == "motionvectormeta" {
            told.lock().unwrap().push(message.get().map(|text| text.to_string()).unwrap_or_default());
        }
    });
    let logged = |elements: &str| {
        lines.lock().unwrap().clear();
        searched_through(elements);
        lines.lock().unwrap().clone()
    };
    let dropping: &[_] = if gst::version() < (1, 28, 0, 0) {
        &["videoflip video-direction=180", "videocrop left=16", "videobox left=-16", "compositor"]
    } else {
        &["compositor"]
    };
    for dropping in dropping {
        let factory = dropping.split(' ').next().unwrap();
        let lines = logged(dropping);
        let named = lines.iter().filter(|line| line.contains(&format!("({factory})"))).count();
        assert!(named == 1 && lines.len() == 1, "{dropping}: {lines:?}");
    }
    for kept in ["identity", "queue", "videoconvert ! video/x-raw,format=NV12", "videoflip method=none"] {
        assert!(logged(kept).is_empty(), "{kept}: {:?}", logged(kept));
    }
}

/// A sink that takes `GstVideoCropMeta`, as `fakevideosink` does: `videocrop` would leave the cropping to it.
#[test]
fn upstream_crops_before_our_elements() {
    for elements in [
        "motionestimate",
        "motionestimate ! motionoverlay",
        "motionestimate ! motioncompensate",
        "motiondenoise",
        "motiondetect",
        "motioninterpolate",
        "motioninterpolate ! video/x-raw,framerate=60/1",
        "motionestimate ! tee ! queue ! motionoverlay",
    ] {
        let pipeline = fields::launch(&format!(
            "videotestsrc num-buffers=5 ! video/x-raw,format=I420,width=320,height=240,framerate=30/1 \
             ! videocrop left=16 ! {elements} ! fakevideosink name=sink sync=false"
        ));
        let frames = Arc::new(Mutex::new(Vec::new()));
        let (noted, pad) = (frames.clone(), pipeline.by_name("sink").unwrap().static_pad("sink").unwrap());
        pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
            let buffer = info.buffer().unwrap();
            let cropped = buffer.meta::<gst_video::VideoCropMeta>().is_some();
            let field = MotionVectorMeta::of(buffer).map(|field| field.unwrap().description().width);
            noted.lock().unwrap().push((cropped, field));
            gst::PadProbeReturn::Ok
        });
        pipeline.set_state(gst::State::Playing).unwrap();
        let end = pipeline.bus().unwrap().timed_pop_filtered(
            gst::ClockTime::from_seconds(120),
            &[gst::MessageType::Eos, gst::MessageType::Error],
        );
        pipeline.set_state(gst::State::Null).unwrap();
        assert!(end.is_some_and(|message| message.type_() == gst::MessageType::Eos), "{elements}");
        let frames = frames.lock().unwrap();
        assert!(
            frames.len() >= 5 && frames.iter().all(|(is_cropped, _)| !is_cropped),
            "{elements}: {frames:?}"
        );
        if elements.contains("motionestimate") {
            assert_eq!(frames[1].1, Some(304), "{elements}: {frames:?}");
        }
    }
}

#[test]
fn a_copy_of_a_part_drops_the_field() {
    init();
    let field = description(64, 48, 16);
    let mut buffer = gst::Buffer::with_size(64 * 48).unwrap();
    meta::attach(buffer.make_mut(), &field, bytes(&numbered(&field)), Extras::default()).unwrap();
    let part = buffer.copy_region(gst::BufferCopyFlags::all(), 0..64).unwrap();
    assert!(MotionVectorMeta::of(&part).is_none());
    let whole = buffer.copy_region(gst::BufferCopyFlags::all(), ..).unwrap();
    assert_eq!(MotionVectorMeta::of(&whole).unwrap().unwrap().vectors(), numbered(&field));
    assert_eq!(MotionVectorMeta::of(&buffer.copy_deep().unwrap()).unwrap().unwrap().description(), &field);
}

#[test]
fn several_fields_are_read_in_order_and_removed_together() {
    init();
    let mut buffer = gst::Buffer::with_size(1).unwrap();
    let past = description(64, 48, 16);
    let future = FieldDescription { reference_offset: 1, reference_pts: None, ..past.clone() };
    let buffer = buffer.make_mut();
    buffer.set_pts(gst::ClockTime::SECOND);
    gst::ReferenceTimestampMeta::add(buffer, &gst::Caps::new_any(), gst::ClockTime::ZERO, None);
    meta::attach(buffer, &past, bytes(&numbered(&past)), Extras::default()).unwrap();
    meta::attach(buffer, &future, bytes(&numbered(&future)), Extras::default()).unwrap();
    let read: Vec<_> =
        MotionVectorMeta::all_of(buffer).map(|field| field.unwrap().description().clone()).collect();
    assert_eq!(read, [past.clone(), future.clone()]);
    let at = |offset| {
        MotionVectorMeta::at_offset(buffer, offset).map(|field| field.unwrap().description().clone())
    };
    assert_eq!([0, -1, 1, 2].map(at), [Some(past.clone()), Some(past.clone()), Some(future.clone()), None]);
    let copied: Vec<_> =
        MotionVectorMeta::all_of(&buffer.copy()).map(|field| field.unwrap().description().clone()).collect();
    assert_eq!(copied, [past.clone(), future], "a copy keeps each");
    let first = MotionVectorMeta::of(buffer).unwrap().unwrap();
    assert_eq!(first.vector(3, 2), Some(numbered(&past)[11]));
    assert_eq!(first.vector(4, 0), None);
    assert_eq!(first.vector(0, 3), None);

    meta::remove(buffer);
    assert!(MotionVectorMeta::of(buffer).is_none());
    assert!(buffer.meta::<gst::ReferenceTimestampMeta>().is_some(), "only motion fields are removed");
    assert_eq!(first.vectors(), numbered(&past), "a view outlives its meta");
}

/// Attaches a good field, lets `spoil` change its structure, and reads it.
fn read_spoiled(spoil: impl Fn(&mut gst::StructureRef)) -> Result<MotionVectorMeta, MetaError> {
    init();
    let field = description(64, 48, 16);
    let mut buffer = gst::Buffer::new();
    let buffer = buffer.make_mut();
    meta::attach(buffer, &field, bytes(&numbered(&field)), Extras::default()).unwrap();
    let mut custom = gst::meta::CustomMeta::from_mut_buffer(buffer, meta::NAME).unwrap();
    spoil(custom.mut_structure());
    MotionVectorMeta::of(buffer).unwrap()
}

#[test]
fn nonsense_gives_an_error_and_never_a_bad_read() {
    let names = [
        "version",
        "width",
        "height",
        "block-width",
        "block-height",
        "columns",
        "rows",
        "scale",
        "reference-offset",
        "reference-pts",
        "metric",
        "vectors",
    ];
    for name in names {
        let missing = read_spoiled(|structure| structure.remove_field(name));
        assert_eq!(missing.unwrap_err(), MetaError::Field(name));
        let wrong = read_spoiled(|structure| structure.set(name, true));
        assert_eq!(wrong.unwrap_err(), MetaError::Field(name));
    }
    let error = |spoil: &dyn Fn(&mut gst::StructureRef)| read_spoiled(spoil).unwrap_err();
    assert_eq!(error(&|s| s.set("version", 2u32)), MetaError::Version(2));
    assert_eq!(error(&|s| s.set("scale", 0u32)), MetaError::Scale);
    assert_eq!(error(&|s| s.set("metric", "psnr")), MetaError::Metric("psnr".into()));
    for name in ["width", "height", "block-width", "block-height", "columns", "rows"] {
        for value in [0, 1, u32::MAX] {
            let spoiled = error(&|s| s.set(name, value));
            assert!(matches!(spoiled, MetaError::Grid { .. }), "{name} {value}: {spoiled}");
        }
    }
    // As large as the numbers go: the product overflows 64 bits of bytes, not the check.
    let huge = error(&|s| {
        ["width", "height", "columns", "rows"].iter().for_each(|&name| s.set(name, u32::MAX));
        ["block-width", "block-height"].iter().for_each(|&name| s.set(name, 1u32));
    });
    assert!(matches!(huge, MetaError::Length { .. }), "{huge}");
    for length in [0, 1, 95, 97, 104] {
        let expected = MetaError::Length { needed: 96, present: length };
        assert_eq!(error(&|s| s.set("vectors", glib::Bytes::from(&vec![0u8; length]))), expected);
    }
    assert_eq!(error(&|s| s.set("vectors", None::<glib::Bytes>)), MetaError::Field("vectors"));
    assert!(read_spoiled(|s| s.set("later-field", "unknown")).is_ok());
}

#[test]
fn unaligned_vectors_are_read_all_the_same() {
    let vectors = numbered(&description(64, 48, 16));
    for shift in 0..8 {
        let mut padded = vec![0u8; shift];
        padded.extend_from_slice(bytemuck::cast_slice(&vectors));
        let unaligned = glib::Bytes::from_bytes(&glib::Bytes::from_owned(padded), shift..shift + 96);
        let field = read_spoiled(|s| s.set("vectors", &unaligned)).unwrap();
        assert_eq!(field.vectors(), vectors, "{shift}");
    }
}

fn predictor_bytes(predictors: &[Predictor]) -> glib::Bytes {
    glib::Bytes::from(bytemuck::cast_slice::<_, u8>(predictors))
}

fn with_predictors(predictors: &[Predictor]) -> Extras {
    Extras { predictors: Some(predictor_bytes(predictors)), ..Extras::default() }
}

#[test]
fn predictors_are_read_and_checked() {
    let field = description(64, 48, 16);
    let predictors = median_predictors(field.grid(), &numbered(&field));
    assert_eq!(read_spoiled(|_| ()).unwrap().predictors(), None);
    let with = |bytes: glib::Bytes| read_spoiled(|s| s.set("predictors", &bytes));
    assert_eq!(with(predictor_bytes(&predictors)).unwrap().predictors(), Some(&predictors[..]));
    for shift in 1..4 {
        let mut padded = vec![0u8; shift];
        padded.extend_from_slice(bytemuck::cast_slice(&predictors));
        let unaligned = glib::Bytes::from_bytes(&glib::Bytes::from_owned(padded), shift..shift + 48);
        assert_eq!(with(unaligned).unwrap().predictors(), Some(&predictors[..]), "{shift}");
    }
    for length in [0, 1, 47, 49, 52, 96] {
        let expected = MetaError::PredictorLength { needed: 48, present: length };
        assert_eq!(with(glib::Bytes::from(&vec![0u8; length])).unwrap_err(), expected);
    }
    let error = |spoil: &dyn Fn(&mut gst::StructureRef)| read_spoiled(spoil).unwrap_err();
    assert_eq!(error(&|s| s.set("predictors", true)), MetaError::Field("predictors"));
    assert_eq!(error(&|s| s.set("predictors", None::<glib::Bytes>)), MetaError::Field("predictors"));
}

#[test]
fn predictors_that_do_not_fit_are_not_attached() {
    init();
    let field = description(64, 48, 16);
    let vectors = numbered(&field);
    let predictors = median_predictors(field.grid(), &vectors);
    let mut buffer = gst::Buffer::new();
    let buffer = buffer.make_mut();
    let short = with_predictors(&predictors[..11]);
    let result = meta::attach(buffer, &field, bytes(&vectors), short);
    assert_eq!(result, Err(MetaError::PredictorLength { needed: 48, present: 44 }));
    assert!(MotionVectorMeta::of(buffer).is_none());
    meta::attach(buffer, &field, bytes(&vectors), with_predictors(&predictors)).unwrap();
    let read = MotionVectorMeta::of(buffer).unwrap().unwrap();
    assert_eq!((read.vectors(), read.predictors()), (&vectors[..], Some(&predictors[..])));
}

#[test]
fn predictors_follow_their_vectors() {
    let through = |elements: &str| {
        let pipeline = fields::launch(&format!(
            "videotestsrc num-buffers=2 ! video/x-raw,format=I420,width=160,height=96,\
             pixel-aspect-ratio=1/1 ! identity name=source ! {elements} ! appsink name=sink"
        ));
        let pad = pipeline.by_name("source").unwrap().static_pad("src").unwrap();
        pad.add_probe(gst::PadProbeType::BUFFER, |_, info| {
            let field = description(160, 96, 16);
            let vectors = numbered(&field);
            let extras = with_predictors(&median_predictors(field.grid(), &vectors));
            let buffer = info.buffer_mut().unwrap().make_mut();
            meta::attach(buffer, &field, bytes(&vectors), extras).unwrap();
            gst::PadProbeReturn::Ok
        });
        let buffers = fields::run(&pipeline);
        assert_eq!(buffers.len(), 2, "{elements}");
        buffers.iter().map(|buffer| MotionVectorMeta::of(buffer).transpose().unwrap()).collect::<Vec<_>>()
    };
    for elements in [
        "videoconvert ! video/x-raw,format=RGBA",
        "videoscale ! video/x-raw,width=80,height=48",
        "videoscale ! video/x-raw,width=320,height=192",
    ] {
        for field in through(elements) {
            let field = field.unwrap_or_else(|| panic!("dropped by {elements}"));
            // Scaled with the vectors, they still are the medians of those.
            let expected = median_predictors(field.description().grid(), field.vectors());
            assert!(expected.iter().any(|predictor| predictor.x != 0 && predictor.y != 0));
            assert_eq!(field.predictors(), Some(&expected[..]), "{elements}");
        }
    }
    assert!(through("videoflip video-direction=90r").iter().all(Option::is_none));
}

#[test]
fn what_does_not_fit_is_not_attached() {
    init();
    let mut buffer = gst::Buffer::new();
    let buffer = buffer.make_mut();
    let field = description(64, 48, 16);
    let short = bytes(&numbered(&field)[1..]);
    assert_eq!(
        meta::attach(buffer, &field, short, Extras::default()),
        Err(MetaError::Length { needed: 96, present: 88 })
    );
    let wrong = FieldDescription { columns: 5, ..field.clone() };
    assert!(matches!(
        meta::attach(buffer, &wrong, bytes(&numbered(&field)), Extras::default()),
        Err(MetaError::Grid { columns: 5, .. })
    ));
    assert!(MotionVectorMeta::of(buffer).is_none());
}

fn devices(rows: Vec<u8>) -> Result<RowDevices, MetaError> {
    RowDevices::new(vec!["a GPU".into(), "native".into()], glib::Bytes::from_owned(rows))
}

#[test]
fn devices_are_read_and_checked() {
    let two = devices(vec![0, 0, 1]).unwrap();
    let with = |names: glib::SendValue, rows: glib::SendValue| {
        read_spoiled(|s| {
            s.set_value("devices", names.clone());
            s.set_value("row-devices", rows.clone());
        })
    };
    let names = |names: &[&str]| {
        gst::Array::from_values(names.iter().map(|name| name.to_send_value())).to_send_value()
    };
    let rows = |rows: &[u8]| glib::Bytes::from(rows).to_send_value();
    assert!(read_spoiled(|_| ()).unwrap().devices().is_none());
    let both = names(&["a GPU", "native"]);
    assert_eq!(with(both.clone(), rows(&[0, 0, 1])).unwrap().devices(), Some(&two));
    for present in [0, 2, 4] {
        let found = with(both.clone(), rows(&vec![0; present])).unwrap_err();
        assert_eq!(found, MetaError::DeviceRows { rows: 3, present });
    }
    let unknown = with(both.clone(), rows(&[0, 2, 1])).unwrap_err();
    assert_eq!(unknown, MetaError::Device { device: 2, names: 2 });
    assert_eq!(with(names(&[]), rows(&[0; 3])).unwrap_err(), MetaError::Device { device: 0, names: 0 });
    let numbers = gst::Array::new([1, 2]).to_send_value();
    assert_eq!(with(numbers, rows(&[0; 3])).unwrap_err(), MetaError::Field("devices"));
    assert_eq!(with(true.to_send_value(), rows(&[0; 3])).unwrap_err(), MetaError::Field("devices"));
    assert_eq!(with(both.clone(), true.to_send_value()).unwrap_err(), MetaError::Field("row-devices"));
    let alone =
        |name, value: &glib::SendValue| read_spoiled(|s| s.set_value(name, value.clone())).unwrap_err();
    assert_eq!(alone("devices", &both), MetaError::Field("row-devices"));
    assert_eq!(alone("row-devices", &rows(&[0; 3])), MetaError::Field("devices"));
}

#[test]
fn devices_follow_the_vectors() {
    let through = |elements: &str| {
        let pipeline = fields::launch(&format!(
            "videotestsrc num-buffers=2 ! video/x-raw,format=I420,width=160,height=96,\
             pixel-aspect-ratio=1/1 ! identity name=source ! {elements} ! appsink name=sink"
        ));
        let pad = pipeline.by_name("source").unwrap().static_pad("src").unwrap();
        pad.add_probe(gst::PadProbeType::BUFFER, |_, info| {
            let field = description(160, 96, 16);
            let extras = Extras { devices: devices(vec![0, 0, 0, 1, 1, 0]).ok(), ..Extras::default() };
            let buffer = info.buffer_mut().unwrap().make_mut();
            meta::attach(buffer, &field, bytes(&numbered(&field)), extras).unwrap();
            gst::PadProbeReturn::Ok
        });
        let buffers = fields::run(&pipeline);
        assert_eq!(buffers.len(), 2, "{elements}");
        buffers.iter().map(|buffer| MotionVectorMeta::of(buffer).transpose().unwrap()).collect::<Vec<_>>()
    };
    for elements in [
        "tee ! queue",
        "videoconvert ! video/x-raw,format=RGBA",
        "videoscale ! video/x-raw,width=80,height=48",
    ] {
        for field in through(elements) {
            let field = field.unwrap_or_else(|| panic!("dropped by {elements}"));
            assert_eq!(field.devices(), devices(vec![0, 0, 0, 1, 1, 0]).ok().as_ref(), "{elements}");
        }
    }
    assert!(through("videoflip video-direction=90r").iter().all(Option::is_none));
}

#[test]
fn devices_of_other_rows_are_not_attached() {
    init();
    let field = description(64, 48, 16);
    let mut buffer = gst::Buffer::new();
    let extras = Extras { devices: devices(vec![0; 4]).ok(), ..Extras::default() };
    let result = meta::attach(buffer.make_mut(), &field, bytes(&numbered(&field)), extras);
    assert_eq!(result, Err(MetaError::DeviceRows { rows: 3, present: 4 }));
    assert!(MotionVectorMeta::of(&buffer).is_none());
}

#[test]
fn cuts_and_duplicates_are_read_checked_and_scaled() {
    let plain = read_spoiled(|_| ()).unwrap();
    assert_eq!((plain.is_scene_cut(), plain.is_duplicate()), (None, false));
    for flag in [false, true] {
        let read = read_spoiled(|s| {
            s.set("scene-cut", flag);
            s.set("duplicate", flag);
        });
        let read = read.unwrap();
        assert_eq!((read.is_scene_cut(), read.is_duplicate()), (Some(flag), flag));
    }
    for name in ["scene-cut", "duplicate"] {
        assert_eq!(read_spoiled(|s| s.set(name, 1_u32)).unwrap_err(), MetaError::Field(name));
    }
    let pipeline = fields::launch(
        "videotestsrc num-buffers=1 ! video/x-raw,format=I420,width=160,height=96,pixel-aspect-ratio=1/1 \
         ! identity name=source ! videoscale ! video/x-raw,width=80,height=48 ! appsink name=sink",
    );
    let pad = pipeline.by_name("source").unwrap().static_pad("src").unwrap();
    pad.add_probe(gst::PadProbeType::BUFFER, |_, info| {
        let field = description(160, 96, 16);
        let extras = Extras { is_scene_cut: Some(true), is_duplicate: true, ..Extras::default() };
        let buffer = info.buffer_mut().unwrap().make_mut();
        meta::attach(buffer, &field, bytes(&numbered(&field)), extras).unwrap();
        gst::PadProbeReturn::Ok
    });
    let scaled = MotionVectorMeta::of(&fields::run(&pipeline)[0]).unwrap().unwrap();
    assert_eq!((scaled.is_scene_cut(), scaled.is_duplicate()), (Some(true), true));
}

fn cost_bytes(costs: &[u32]) -> glib::Bytes {
    glib::Bytes::from(bytemuck::cast_slice::<_, u8>(costs))
}

fn names(names: &[&str]) -> glib::SendValue {
    gst::Array::from_values(names.iter().map(|name| name.to_send_value())).to_send_value()
}

#[test]
fn costs_are_read_and_checked() {
    let values: Vec<u32> = (0..24).map(|value| 1000 * value).collect();
    assert!(read_spoiled(|_| ()).unwrap().costs().is_none());
    let with = |names: &glib::SendValue, costs: &glib::Bytes| {
        read_spoiled(|s| {
            s.set_value("cost-names", names.clone());
            s.set("costs", costs);
        })
    };
    let both = names(&["zero", "of another program"]);
    for shift in 0..4 {
        let mut padded = vec![0; shift];
        padded.extend_from_slice(bytemuck::cast_slice(&values));
        let costs = glib::Bytes::from_bytes(&glib::Bytes::from_owned(padded), shift..shift + 96);
        let field = with(&both, &costs).unwrap();
        let costs = field.costs().unwrap();
        assert_eq!((costs.values(), costs.names().len()), (&values[..], 2), "{shift}");
        let odd: Vec<u32> = costs.of("of another program").unwrap().collect();
        assert_eq!((odd.len(), odd[11]), (12, 23000));
        assert!(costs.of("satd").is_none());
    }
    for length in [0, 1, 48, 95, 97, 100, 192] {
        let expected = MetaError::CostLength { needed: 96, present: length };
        assert_eq!(with(&both, &glib::Bytes::from(&vec![0u8; length])).unwrap_err(), expected);
    }
    let fits = cost_bytes(&values);
    assert_eq!(with(&names(&[]), &fits).unwrap_err(), MetaError::Field("cost-names"));
    let numbers = gst::Array::new([1, 2]).to_send_value();
    assert_eq!(with(&numbers, &fits).unwrap_err(), MetaError::Field("cost-names"));
    assert_eq!(with(&true.to_send_value(), &fits).unwrap_err(), MetaError::Field("cost-names"));
    let alone = |spoil: &dyn Fn(&mut gst::StructureRef)| read_spoiled(spoil).unwrap_err();
    assert_eq!(alone(&|s| s.set_value("cost-names", both.clone())), MetaError::Field("costs"));
    assert_eq!(alone(&|s| s.set("costs", &fits)), MetaError::Field("cost-names"));
}

#[test]
fn costs_follow_their_vectors() {
    init();
    let field = description(160, 96, 16);
    let values: Vec<u32> = (0..3 * 60).collect();
    let costs = |values: &[u32]| {
        let names = ["zero", "intra", "satd"].map(Into::into).to_vec();
        Some(FieldCosts::new(names, cost_bytes(values)).unwrap())
    };
    let mut buffer = gst::Buffer::new();
    let short = Extras { costs: costs(&values[3..]), ..Extras::default() };
    let result = meta::attach(buffer.make_mut(), &field, bytes(&numbered(&field)), short);
    assert_eq!(result, Err(MetaError::CostLength { needed: 720, present: 708 }));
    assert!(FieldCosts::new(Vec::new(), cost_bytes(&[])).is_err());

    let through = |elements: &str| {
        let pipeline = fields::launch(&format!(
            "videotestsrc num-buffers=2 ! video/x-raw,format=I420,width=160,height=96,\
             pixel-aspect-ratio=1/1 ! identity name=source ! {elements} ! appsink name=sink"
        ));
        let pad = pipeline.by_name("source").unwrap().static_pad("src").unwrap();
        let values = values.clone();
        pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
            let field = description(160, 96, 16);
            let extras = Extras { costs: costs(&values), ..Extras::default() };
            let buffer = info.buffer_mut().unwrap().make_mut();
            meta::attach(buffer, &field, bytes(&numbered(&field)), extras).unwrap();
            gst::PadProbeReturn::Ok
        });
        let buffers = fields::run(&pipeline);
        buffers.iter().map(|buffer| MotionVectorMeta::of(buffer).transpose().unwrap()).collect::<Vec<_>>()
    };
    // Those of the frame that was searched, as the vectors' costs are.
    for elements in ["videoconvert ! video/x-raw,format=RGBA", "videoscale ! video/x-raw,width=80,height=48"]
    {
        for field in through(elements) {
            let field = field.unwrap_or_else(|| panic!("dropped by {elements}"));
            assert_eq!(field.costs().unwrap().values(), values, "{elements}");
            assert_eq!(field.vectors()[5].cost, 1005);
        }
    }
    // Of blocks of another size, by their area.
    for field in through("videoscale ! video/x-raw,width=96,height=57,pixel-aspect-ratio=1/1") {
        let field = field.expect("scaled");
        let first: Vec<u32> = field.costs().unwrap().values()[..3].to_vec();
        assert_eq!(first, [values[0], values[1], values[2]].map(|value| (value as f64 / 4.0).round() as u32));
    }
}

/// GStreamer checks no string in an array: another process can send any bytes.
#[test]
fn names_that_are_no_text_are_errors() {
    use std::os::unix::ffi::OsStrExt;

    let names = || {
        let name = std::path::Path::new(std::ffi::OsStr::from_bytes(b"sat\xff"));
        gst::Array::from_values([name.to_send_value()])
    };
    let devices = read_spoiled(|structure| {
        structure.set("devices", names());
        structure.set("row-devices", glib::Bytes::from_static(&[0; 3]));
    });
    assert_eq!(devices.unwrap_err(), MetaError::Field("devices"));
    let costs = read_spoiled(|structure| {
        structure.set("cost-names", names());
        structure.set("costs", glib::Bytes::from_static(&[0; 48]));
    });
    assert_eq!(costs.unwrap_err(), MetaError::Field("cost-names"));
}

/// What comes from another process may be anything.
#[cfg(feature = "v1_24")]
#[test]
fn damaged_fields_are_errors_or_no_fields() {
    test_support::in_own_process(|| {
        init();
        // GStreamer warns of texts that are no structures.
        glib::log_set_always_fatal(glib::LogLevels::LEVEL_ERROR);
        let field = description(40, 20, 8);
        let mut buffer = gst::Buffer::new();
        meta::attach(buffer.get_mut().unwrap(), &field, bytes(&numbered(&field)), Extras::default()).unwrap();
        let mut serialized = Vec::new();
        buffer.iter_meta::<gst::Meta>().next().unwrap().serialize(&mut serialized).unwrap();

        // The field that `data` holds.
        let read = |data: &[u8]| {
            let mut buffer = gst::Buffer::new();
            let buffer = buffer.get_mut().unwrap();
            gst::Meta::deserialize(buffer, data, &mut 0).ok()?;
            MotionVectorMeta::of(buffer)
        };
        let whole = read(&serialized).unwrap().unwrap();
        assert_eq!((whole.description(), whole.vectors()), (&field, &numbered(&field)[..]));
        let mut refused = 0;
        for at in 0..serialized.len() {
            for change in [0x01, 0x10, 0x80] {
                let mut damaged = serialized.clone();
                damaged[at] ^= change;
                match read(&damaged) {
                    None | Some(Err(_)) => refused += 1,
                    // Its lists still fit its sizes.
                    Some(Ok(field)) => assert_eq!(field.vectors().len(), field.description().grid().blocks()),
                }
            }
            assert!(!matches!(read(&serialized[..at]), Some(Ok(_))), "{at} bytes are no field");
        }
        assert!(refused > serialized.len(), "{refused} damaged fields were refused");
    });
}
