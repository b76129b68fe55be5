//! What `motionoverlay` draws, and what it leaves alone.

use gst::prelude::*;
use gst_video::prelude::*;
use gstmotionestimate::meta::{self, Extras, FieldDescription, RowDevices};
use motion_search::estimator::MotionVector;

use crate::fields::{self, description};

const FORMATS: &str = "I420 NV12 YV12 NV21 Y42B Y444 GRAY8 RGB BGR RGBx BGRx xRGB xBGR RGBA BGRA ARGB ABGR GBR A420 \
     I420_10LE P010_10LE I422_10LE Y444_10LE GRAY16_LE";

/// A grey frame of this size through the overlay; with a field, all its vectors are `vector`.
fn draw(format: &str, size: (u32, u32), overlay: &str, vector: Option<MotionVector>) -> gst::Buffer {
    let (width, height) = size;
    let pipeline = fields::launch(&format!(
        "videotestsrc num-buffers=1 pattern=solid-color foreground-color=0xff808080 ! \
         video/x-raw,format={format},width={width},height={height} ! identity name=source ! \
         motionoverlay {overlay} ! appsink name=sink"
    ));
    if let Some(vector) = vector {
        let field = description(width, height, 16);
        let vectors = vec![vector; field.grid().blocks()];
        fields::attach_after(&pipeline, "source", 0, vec![(field, vectors)]);
    }
    fields::run(&pipeline).remove(0)
}

fn samples(buffer: &gst::Buffer) -> Vec<u8> {
    buffer.map_readable().unwrap().to_vec()
}

/// The samples without the bytes between rows, which have any value.
fn visible(buffer: &gst::Buffer, format: &str, (width, height): (u32, u32)) -> Vec<u8> {
    let info = gst_video::VideoInfo::builder(format.parse().unwrap(), width, height).build().unwrap();
    let frame = gst_video::VideoFrameRef::from_buffer_ref_readable(buffer, &info).unwrap();
    let mut samples = Vec::new();
    for plane in 0..info.n_planes() {
        let is_in = |&of: &u32| of == plane;
        let component = info.format_info().plane().iter().position(is_in).unwrap();
        let (columns, rows) = (frame.comp_width(component as u32), frame.comp_height(component as u32));
        let bytes = (columns as i32 * info.format_info().pixel_stride()[component]) as usize;
        let stride = frame.plane_stride()[plane as usize] as usize;
        let data = frame.plane_data(plane).unwrap();
        (0..rows as usize).for_each(|row| samples.extend(&data[row * stride..][..bytes]));
    }
    samples
}

const MOVED: MotionVector = MotionVector { x: -40, y: 12, cost: 5 };

#[test]
fn every_format_and_odd_sizes_are_drawn_into() {
    for format in FORMATS.split(' ') {
        for size in [(64, 48), (61, 47), (1, 1), (15, 33)] {
            let plain = visible(&draw(format, size, "", None), format, size);
            for style in ["arrows", "color"] {
                let drawn = draw(format, size, &format!("style={style}"), Some(MOVED));
                let drawn = visible(&drawn, format, size);
                assert_eq!(drawn.len(), plain.len());
                assert_ne!(drawn, plain, "{format} {size:?} {style}");
            }
        }
    }
}

/// What is drawn into ten bits is what is drawn into eight, but for rounding, and stays in the sample's bits.
#[test]
fn deep_frames_show_what_frames_of_eight_bits_show() {
    for style in ["arrows", "color"] {
        let draw = |format| samples(&draw(format, (64, 48), &format!("style={style}"), Some(MOVED)));
        let eight = draw("Y444");
        for (format, shift) in [("Y444_10LE", 0), ("P010_10LE", 6)] {
            let deep = draw(format);
            // Luma alone: it has the same layout in all of them.
            for (index, eight) in eight[..64 * 48].iter().enumerate() {
                let sample = u16::from_le_bytes([deep[2 * index], deep[2 * index + 1]]);
                assert!(sample >> shift < 1024 && sample & ((1 << shift) - 1) == 0, "{format} {style}");
                let difference = (sample >> shift).abs_diff(u16::from(*eight) * 4);
                assert!(difference <= 8, "{format} {style}: {sample} for {eight} at {index}");
            }
        }
    }
}

#[test]
fn the_legend_has_the_color_of_each_direction() {
    let draw = |size| samples(&draw("RGB", size, "style=color legend=true", Some(MotionVector::default())));
    let (width, height) = (200, 100);
    let drawn = draw((width, height));
    let at = |x: usize, y: usize| {
        let at = 3 * (y * width as usize + x);
        [drawn[at], drawn[at + 1], drawn[at + 2]].map(|part| part > 100)
    };
    // The disc has a radius of 10 and its middle at (188, 88): right is red, left cyan, down green.
    assert_eq!(
        [at(196, 88), at(180, 88), at(188, 96)],
        [[true, false, false], [false, true, true], [true, true, false]]
    );
    // Outside the disc there is no movement.
    assert_eq!(at(20, 20), [false; 3]);
    for size in [(1, 1), (3, 50), (16, 16)] {
        draw(size);
    }
}

#[test]
fn frames_without_vectors_pass_unchanged() {
    let through = |elements: &str| -> Vec<_> {
        let pipeline = fields::launch(&format!(
            "videotestsrc num-buffers=3 pattern=zone-plate kx2=20 ky2=20 kt=1 ! \
             video/x-raw,format=I420,width=64,height=48 ! {elements} ! appsink name=sink"
        ));
        fields::run(&pipeline).iter().map(samples).collect()
    };
    let plain = through("identity");
    assert_eq!(plain.len(), 3);
    for style in ["arrows", "color", "devices"] {
        assert!(through(&format!("motionoverlay style={style}")) == plain, "{style}");
    }
}

#[test]
fn what_is_shorter_than_the_threshold_is_not_drawn() {
    let plain = samples(&draw("I420", (64, 48), "", None));
    let two = MotionVector { x: 8, y: 0, cost: 0 };
    assert_eq!(samples(&draw("I420", (64, 48), "threshold=2.1", Some(two))), plain);
    assert_ne!(samples(&draw("I420", (64, 48), "threshold=2.0", Some(two))), plain);
    assert_eq!(samples(&draw("I420", (64, 48), "threshold=0", Some(MotionVector::default()))), plain);
}

#[test]
fn a_field_of_another_size_is_not_drawn() {
    let pipeline = fields::launch(
        "videotestsrc num-buffers=1 pattern=black ! video/x-raw,format=GRAY8,width=64,height=48 ! \
         identity name=source ! motionoverlay ! appsink name=sink",
    );
    let field = description(128, 48, 16);
    let vectors = vec![MOVED; field.grid().blocks()];
    fields::attach_after(&pipeline, "source", 0, vec![(field, vectors)]);
    let drawn = samples(&fields::run(&pipeline)[0]);
    assert!(drawn.iter().all(|&sample| sample == drawn[0]));
}

/// How much brighter than grey the columns of a frame of one 64 × 64 block are, as GRAY8.
fn brightness(vector: MotionVector, reference_offset: i32, overlay: &str) -> Vec<i32> {
    let pipeline = fields::launch(&format!(
        "videotestsrc num-buffers=1 pattern=solid-color foreground-color=0xff808080 ! \
         video/x-raw,format=GRAY8,width=64,height=64 ! identity name=source ! \
         motionoverlay {overlay} ! appsink name=sink"
    ));
    let field = FieldDescription { reference_offset, ..description(64, 64, 64) };
    fields::attach_after(&pipeline, "source", 0, vec![(field, vec![vector])]);
    let drawn = samples(&fields::run(&pipeline)[0]);
    (0..64).map(|x| drawn.chunks_exact(64).map(|row| i32::from(row[x] > 170)).sum()).collect()
}

#[test]
fn arrows_point_the_way_things_move() {
    // Matched 24 samples to the left in an earlier frame: moved to the right, into the middle.
    let left = MotionVector { x: -96, y: 0, cost: 0 };
    let columns = brightness(left, -1, "");
    let widest = (0..64).max_by_key(|&x| columns[x]).unwrap();
    assert!((10..34).contains(&widest) && columns[10] > 0 && columns[34] == 0, "{columns:?}");
    assert!(columns[widest] > 2 * columns[12], "{columns:?}");
    assert!(widest > 12, "the head is on the right: {columns:?}");

    // The same into a later frame: moves to the left, from the middle.
    let columns = brightness(left, 1, "");
    let widest = (0..64).max_by_key(|&x| columns[x]).unwrap();
    assert!(widest < 30 && columns[30] > 0 && columns[34] == 0, "the head is on the left: {columns:?}");

    // Half as long.
    let columns = brightness(left, -1, "scale=0.5");
    assert!(columns[10] == 0 && columns[24] > 0, "{columns:?}");
}

#[test]
fn one_of_several_fields_is_drawn() {
    let drawn = |overlay: &str, fields: Vec<(FieldDescription, Vec<MotionVector>)>| {
        let pipeline = fields::launch(&format!(
            "videotestsrc num-buffers=1 pattern=black ! video/x-raw,format=GRAY8,width=64,height=48 \
             ! identity name=source ! motionoverlay {overlay} ! appsink name=sink"
        ));
        fields::attach_after(&pipeline, "source", 0, fields);
        samples(&fields::run(&pipeline)[0])
    };
    let field = |reference_offset, x| {
        let field = FieldDescription { reference_offset, ..description(64, 48, 16) };
        let vectors = vec![MotionVector { x, y: 20, cost: 0 }; field.grid().blocks()];
        (field, vectors)
    };
    let all = || vec![field(-1, 40), field(-2, 60), field(1, -40)];
    for (setting, index) in [(0, 0), (-1, 0), (-2, 1), (1, 2)] {
        let chosen = drawn(&format!("reference-offset={setting}"), all());
        assert!(chosen == drawn("", vec![all().swap_remove(index)]), "{setting}");
    }
    let none = drawn("reference-offset=2", all());
    assert!(none.iter().all(|&sample| sample == none[0]));
}

#[test]
fn color_is_the_direction_in_every_format() {
    // Movement to the right at full length is red over grey, whatever the format stores.
    let right = MotionVector { x: -64, y: 0, cost: 0 };
    for format in ["I420", "NV12", "RGB", "BGRx", "ARGB"] {
        let pipeline = fields::launch(&format!(
            "videotestsrc num-buffers=1 pattern=solid-color foreground-color=0xff808080 ! \
             video/x-raw,format={format},width=64,height=48 ! identity name=source ! \
             motionoverlay style=color ! videoconvert ! video/x-raw,format=RGB ! appsink name=sink"
        ));
        let field = description(64, 48, 16);
        let vectors = vec![right; field.grid().blocks()];
        fields::attach_after(&pipeline, "source", 0, vec![(field, vectors)]);
        let drawn = samples(&fields::run(&pipeline)[0]);
        for pixel in drawn.chunks_exact(3) {
            let close = |value: u8, expected: i32| (i32::from(value) - expected).abs() < 8;
            // 128 and 255 or 0, mixed 70 to 185.
            let expected = [220, 35, 35];
            assert!(pixel.iter().zip(expected).all(|(&v, e)| close(v, e)), "{format}: {pixel:?}");
        }
    }
}

#[test]
fn any_stride_is_drawn_into_and_padding_is_left_alone() {
    crate::init();
    let info = gst_video::VideoInfo::builder(gst_video::VideoFormat::I420, 61, 47).build().unwrap();
    let caps = info.to_caps().unwrap();
    let mut harness = gst_check::Harness::new("motionoverlay");
    harness.element().unwrap().set_property_from_str("style", "color");
    harness.set_src_caps(caps.clone());
    harness.set_sink_caps(caps);

    // Luma rows 100 bytes apart, chroma rows 70, planes with a gap between.
    let (strides, offsets) = ([100, 70, 70], [0, 5000, 7000]);
    let mut buffer = gst::Buffer::from_mut_slice(vec![77u8; 9000]);
    {
        let buffer = buffer.make_mut();
        gst_video::VideoMeta::add_full(
            buffer,
            gst_video::VideoFrameFlags::empty(),
            gst_video::VideoFormat::I420,
            61,
            47,
            &offsets,
            &strides,
        )
        .unwrap();
        let field = description(61, 47, 16);
        let vectors = vec![MOVED; field.grid().blocks()];
        gstmotionestimate::meta::attach(buffer, &field, fields::bytes(&vectors), Extras::default()).unwrap();
    }
    let drawn = harness.push_and_pull(buffer).unwrap();
    let drawn = samples(&drawn);
    let inside = |at: usize| {
        [(0, 100, 61, 47), (5000, 70, 31, 24), (7000, 70, 31, 24)].iter().any(
            |&(offset, stride, width, height)| {
                at >= offset && (at - offset) % stride < width && (at - offset) / stride < height
            },
        )
    };
    for (at, &sample) in drawn.iter().enumerate() {
        assert_eq!(sample != 77, inside(at), "byte {at} is {sample}");
    }
}

#[test]
fn rows_are_tinted_by_their_devices() {
    // Rows of 16, the last cut off, over grey of 128: mixed 110 to 145.
    let colours = [[0.9, 0.62, 0.0], [0.34, 0.71, 0.91], [0.0, 0.62, 0.45]];
    for format in FORMATS.split(' ') {
        let pipeline = fields::launch(&format!(
            "videotestsrc num-buffers=1 pattern=solid-color foreground-color=0xff808080 ! \
             video/x-raw,format={format},width=61,height=47 ! identity name=source ! \
             motionoverlay style=devices ! videoconvert \
             ! video/x-raw,format=RGBA ! appsink name=sink"
        ));
        let pad = pipeline.by_name("source").unwrap().static_pad("src").unwrap();
        pad.add_probe(gst::PadProbeType::BUFFER, |_, info| {
            let field = description(61, 47, 16);
            let rows = glib::Bytes::from_static(&[0, 2, 1]);
            let names = ["a", "b", "c"].map(Into::into).to_vec();
            let extras = Extras { devices: RowDevices::new(names, rows).ok(), ..Extras::default() };
            let vectors = vec![MOVED; field.grid().blocks()];
            let buffer = info.buffer_mut().unwrap().make_mut();
            meta::attach(buffer, &field, fields::bytes(&vectors), extras).unwrap();
            gst::PadProbeReturn::Ok
        });
        let drawn = samples(&fields::run(&pipeline)[0]);
        // Where two bands meet, a converter mixes their chroma.
        let inside = |(y, _): &(usize, &[u8])| (3..13).contains(&(y % 16));
        for (y, row) in drawn.chunks_exact(61 * 4).enumerate().filter(inside) {
            let colour = colours[[0, 2, 1][y / 16]];
            // Grey has the luma of the colour alone.
            let [r, g, b] = colour;
            let luma = 0.299 * r + 0.587 * g + 0.114 * b;
            let colour = if format.starts_with("GRAY") { [luma; 3] } else { colour };
            for pixel in row.chunks_exact(4) {
                for (&value, part) in pixel.iter().zip(colour) {
                    let expected = (128.0 * 145.0 + 255.0 * part * 110.0) / 255.0;
                    assert!((f64::from(value) - expected).abs() < 8.0, "{format} row {y}: {pixel:?}");
                }
            }
        }
    }
}

#[test]
fn what_one_device_searched_is_not_tinted() {
    let plain = samples(&draw("I420", (64, 48), "", None));
    assert_eq!(samples(&draw("I420", (64, 48), "style=devices", Some(MOVED))), plain);
}

#[test]
fn offsets_of_quantisers_are_green_below_zero_and_red_above() {
    for format in ["RGBx", "I420", "Y444_10LE"] {
        let pipeline = fields::launch(&format!(
            "videotestsrc num-buffers=1 pattern=solid-color foreground-color=0xff808080 ! \
             video/x-raw,format={format},width=64,height=48 ! identity name=source ! \
             motionoverlay style=quantizer ! videoconvert ! video/x-raw,format=RGBA ! appsink name=sink"
        ));
        let pad = pipeline.by_name("source").unwrap().static_pad("src").unwrap();
        // No field: regions of interest have offsets too.
        pad.add_probe(gst::PadProbeType::BUFFER, |_, info| {
            let buffer = info.buffer_mut().unwrap().make_mut();
            for (place, delta) in [((0, 0, 16, 48), -6), ((32, 0, 16, 48), 3)] {
                let structure = gst::Structure::builder("roi/x264enc").field("delta-qp", delta).build();
                gst_video::VideoRegionOfInterestMeta::add(buffer, "face", place).add_param(structure);
            }
            gst::PadProbeReturn::Ok
        });
        let drawn = samples(&fields::run(&pipeline)[0]);
        // Half of the colour is seen at half of the steps of the full one.
        let mixed = |part: f64, opacity: f64| (128.0 * (255.0 - opacity) + 255.0 * part * opacity) / 255.0;
        let grey = [128.0; 3];
        let expected = [
            (8, [0.1, 0.8, 0.2].map(|part| mixed(part, 185.0))),
            (24, grey),
            (40, [0.9, 0.15, 0.1].map(|part| mixed(part, 92.0))),
            (56, grey),
        ];
        for (x, color) in expected {
            let pixel = &drawn[(24 * 64 + x) * 4..][..3];
            for (&value, expected) in pixel.iter().zip(color) {
                assert!((f64::from(value) - expected).abs() < 8.0, "{format} column {x}: {pixel:?}");
            }
        }
    }
}

/// A video meta that promises more memory than the buffer has, or a frame that fits into no memory.
#[test]
fn rows_outside_the_buffer_are_not_drawn_into() {
    crate::init();
    let field = description(64, 48, 16);
    let vectors = vec![MOVED; field.grid().blocks()];
    for (width, stride, is_taken) in
        [(64, 1 << 20, true), (64, -64, false), (64, 0, false), (i32::MAX as u32, 64, false)]
    {
        let mut harness = gst_check::Harness::new("motionoverlay");
        let bus = test_support::gstreamer::ElementBus::new(harness.element().unwrap());
        harness.set_src_caps("video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1".parse().unwrap());
        let mut buffer = gst::Buffer::from_mut_slice(vec![0x80; 64 * 48]);
        let target = buffer.make_mut();
        // SAFETY: the buffer is writable, and both lists have four numbers. The safe function refuses such strides.
        unsafe {
            use glib::translate::IntoGlib;
            gst_video::ffi::gst_buffer_add_video_meta_full(
                target.as_mut_ptr(),
                0,
                gst_video::VideoFormat::Gray8.into_glib(),
                width,
                if width == 64 { 48 } else { width },
                1,
                &[0; 4],
                &[stride; 4],
            );
        }
        meta::attach(target, &field, fields::bytes(&vectors), Extras::default()).unwrap();
        assert_eq!(harness.push(buffer).is_ok(), is_taken, "{width}, {stride}");
        assert_eq!(bus.pop_filtered(&[gst::MessageType::Error]).is_none(), is_taken, "{width}, {stride}");
    }
}
