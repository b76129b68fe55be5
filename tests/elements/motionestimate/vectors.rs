//! The vectors are those of the oracle, whatever the frames look like in memory.

use gst_video::VideoFormat;
use motion_search::backend;
use motion_search::estimator::{Algorithm, Border, Metric, Parameters, Quality, SubSample, Window};

use super::support::*;

const FORMATS: [VideoFormat; 7] = [
    VideoFormat::Gray8,
    VideoFormat::I420,
    VideoFormat::Yv12,
    VideoFormat::Nv12,
    VideoFormat::Nv21,
    VideoFormat::Y42b,
    VideoFormat::Y444,
];

#[test]
fn every_format_with_the_default_layout() {
    for format in FORMATS {
        let info = info(format, SIZE);
        let mut harness = harness(ELEMENT, &info);
        let buffers: Vec<_> = (0..4).map(|time| pass(&mut harness, &info, time)).collect();
        check_sequence(&info, &parameters(&info), &buffers);
    }
}

#[test]
fn every_format_with_odd_strides_that_change() {
    for format in FORMATS {
        let info = info(format, SIZE);
        let mut harness = harness(ELEMENT, &info);
        let pass = |time| {
            let buffer = padded_frame(&info, time, [1, 7, 64, 0][time as usize]);
            harness.push_and_pull(buffer).expect("a buffer")
        };
        let buffers: Vec<_> = (0..4).map(pass).collect();
        for (time, buffer) in buffers.iter().enumerate() {
            let (expected, found) = (luma(&frame(&info, time as u64), &info), luma(buffer, &info));
            assert_eq!(expected, found, "{format}: the test reads what it wrote");
        }
        check_sequence(&info, &parameters(&info), &buffers);
    }
}

#[test]
fn three_steps_on_every_device_in_a_real_pipeline() {
    for device in backend::devices() {
        let (samples, end) = run(&format!(
            "videotestsrc num-buffers=5 pattern=ball ! video/x-raw,format=NV12,width=150,height=91 \
             ! motionestimate algorithm=three-step device=\"{}\" block-size=20 search-range=7 \
             ! queue ! appsink name=sink",
            device.selector
        ));
        assert_eq!(end.type_(), gst::MessageType::Eos, "{end:?}");
        assert_eq!(samples.len(), 5);
        check_samples(&samples, |info| Parameters {
            algorithm: Algorithm::ThreeStep,
            block_size: 20,
            window: Window::symmetric(7, 7).unwrap(),
            ..parameters(info)
        });
    }
}

#[test]
fn hierarchical_search_on_every_device_in_a_real_pipeline() {
    for device in backend::devices() {
        let (samples, end) = run(&format!(
            "videotestsrc num-buffers=4 pattern=ball ! video/x-raw,format=NV12,width=150,height=125 \
             ! motionestimate algorithm=hierarchical quality=high device=\"{}\" pipeline-depth=2 metric=ssd \
             ! queue ! appsink name=sink",
            device.selector
        ));
        assert_eq!(end.type_(), gst::MessageType::Eos, "{end:?}");
        assert_eq!(samples.len(), 4);
        check_samples(&samples, |info| Parameters {
            algorithm: Algorithm::Hierarchical,
            quality: Quality::High,
            block_size: 16,
            ..parameters(info)
        });
    }
}

#[test]
fn sub_samples_on_every_device_in_a_real_pipeline() {
    for device in backend::devices() {
        let (samples, end) = run(&format!(
            "videotestsrc num-buffers=5 pattern=ball ! video/x-raw,format=I420,width=150,height=91 \
             ! motionestimate sub-sample=quarter device=\"{}\" block-size=8 search-range=5 pipeline-depth=2 \
             ! queue ! appsink name=sink",
            device.selector
        ));
        assert_eq!(end.type_(), gst::MessageType::Eos, "{end:?}");
        assert_eq!(samples.len(), 5);
        check_samples(&samples, |info| Parameters {
            sub_sample: SubSample::Quarter,
            block_size: 8,
            window: Window::symmetric(5, 5).unwrap(),
            ..parameters(info)
        });
    }
}

#[test]
fn every_device_in_a_real_pipeline() {
    for device in backend::devices() {
        let (samples, end) = run(&format!(
            "videotestsrc num-buffers=6 pattern=ball ! video/x-raw,format=I420,width=150,height=91 \
             ! motionestimate device=\"{}\" block-size=12 search-range=7 search-range-y=4 metric=ssd border=restrict \
             ! queue ! appsink name=sink",
            device.selector
        ));
        assert_eq!(end.type_(), gst::MessageType::Eos, "{end:?}");
        assert_eq!(samples.len(), 6);
        check_samples(&samples, |info| Parameters {
            block_size: 12,
            window: Window::symmetric(7, 4).unwrap(),
            metric: Metric::Ssd,
            border: Border::Restrict,
            ..parameters(info)
        });
    }
}

#[test]
fn windows_of_any_shape_on_every_device() {
    let shapes = [
        ("31", (-8, 7, -8, 7)),
        ("-3, 9,-5,0", (-3, 9, -5, 0)),
        ("0,0,0,6", (0, 0, 0, 6)),
        ("16", (0, 0, 0, 0)),
    ];
    for device in backend::devices() {
        for (text, (x0, x1, y0, y1)) in shapes {
            for (name, algorithm) in [("full", Algorithm::Full), ("three-step", Algorithm::ThreeStep)] {
                let (samples, end) = run(&format!(
                    "videotestsrc num-buffers=3 pattern=ball ! video/x-raw,format=I420,width=150,height=91 \
                     ! motionestimate device=\"{}\" algorithm={name} block-size=16 search-range=40 search-window=\"{text}\" \
                     ! queue ! appsink name=sink",
                    device.selector
                ));
                assert_eq!(end.type_(), gst::MessageType::Eos, "{end:?}");
                let window = Window::new(x0, x1, y0, y1).unwrap();
                check_samples(&samples, |info| Parameters {
                    block_size: 16,
                    algorithm,
                    window,
                    ..parameters(info)
                });
            }
        }
    }
}

#[test]
fn frame_sizes_out_of_the_ordinary() {
    for size in [(1, 1), (15, 15), (1, 4000), (4000, 1), (16, 17)] {
        let info = info(VideoFormat::Gray8, size);
        let mut harness = harness(ELEMENT, &info);
        let buffers: Vec<_> = (0..3).map(|time| pass(&mut harness, &info, time)).collect();
        check_sequence(&info, &parameters(&info), &buffers);
    }
}

#[test]
fn range_larger_than_the_frame() {
    let info = info(VideoFormat::Gray8, (24, 20));
    let mut harness = harness("motionestimate device=native block-size=8 search-range=60", &info);
    let buffers: Vec<_> = (0..3).map(|time| pass(&mut harness, &info, time)).collect();
    let window = Window::symmetric(60, 60).unwrap();
    check_sequence(&info, &Parameters { window, ..parameters(&info) }, &buffers);
}

/// A quarter of a gigabyte a frame: only known motion is compared, the oracle would take hours.
#[test]
fn huge_frames() {
    const SIDE: usize = 16384;
    let info = info(VideoFormat::Gray8, (SIDE as u32, SIDE as u32));
    let mut harness = harness("motionestimate device=native search-range=1", &info);
    let frame = |time: usize| {
        let mut samples = vec![0; SIDE * SIDE];
        for (y, row) in samples.chunks_exact_mut(SIDE).enumerate() {
            for (x, sample) in row.iter_mut().enumerate() {
                *sample = (((x + time) * 167) ^ (y * 59)) as u8;
            }
        }
        gst::Buffer::from_mut_slice(samples)
    };
    check_no_vectors(&harness.push_and_pull(frame(0)).unwrap());
    let meta = meta(&harness.push_and_pull(frame(1)).unwrap()).expect("vectors");
    let (columns, rows) = (SIDE / 16, SIDE / 16);
    assert_eq!(meta.vectors().len(), columns * rows);
    for row in 0..rows {
        for column in 0..columns - 1 {
            let vector = meta.vector(column, row).unwrap();
            assert_eq!((vector.x, vector.y, vector.cost), (4, 0, 0), "block {column}, {row}");
        }
    }
}
