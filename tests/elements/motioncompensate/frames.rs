//! The samples that are sent on.

use gst::prelude::*;
use gst_video::{VideoFormat, VideoInfo};
use gstmotionestimate::meta::MotionVectorMeta;
use motion_search::estimator::Frame;

use super::support::*;
use crate::fields;

/// Pushes frames with fields of `block` and compares what comes out in every mode.
fn check(format: VideoFormat, size: (u32, u32), block: (u32, u32), pad: Option<usize>) {
    let info = info(format, size);
    for mode in ["prediction", "residual", "original"] {
        let (mut harness, _bus) = harness(&format!("motioncompensate mode={mode}"), &info);
        let mut before = Vec::new();
        for time in 0..3 {
            let current = planes(&info, time);
            let mut input = buffer(&info, &current, time, pad.map(|pad| pad + time));
            let mut expected = current.clone();
            if time > 0 {
                let description = description(&info, block, time);
                let vectors = vectors(&description, time);
                attach(&mut input, &description, &vectors);
                let prediction = predicted(&info, &description, &vectors, &before);
                expected = match mode {
                    "prediction" => prediction,
                    "residual" => residual(&current, &prediction),
                    _ => current.clone(),
                };
            }
            let (pts, field) = (input.pts(), MotionVectorMeta::of(&input).map(Result::unwrap));
            let out = harness.push_and_pull(input).unwrap();
            let name = format!("{mode} of frame {time}, {format} {size:?} in {block:?}, {pad:?}");
            assert!(read(&info, &out) == expected, "{name}");
            assert_eq!(out.pts(), pts, "{name}");
            let kept = MotionVectorMeta::of(&out).map(Result::unwrap);
            let parts = |meta: MotionVectorMeta| (meta.description().clone(), meta.vectors().to_vec());
            assert_eq!(kept.map(parts), field.map(parts), "{name}");
            before = current;
        }
    }
}

#[test]
fn every_format_size_and_block_is_as_defined() {
    for format in FORMATS {
        for size in [(61, 47), (64, 48), (1, 1), (1, 9), (2, 2), (5, 3), (131, 20)] {
            for block in [(16, 16), (4, 4), (20, 20), (5, 3), (64, 64), (1, 1)] {
                check(format, size, block, None);
            }
        }
    }
}

#[test]
fn rows_any_distance_apart() {
    for format in FORMATS {
        for pad in [1, 7, 64] {
            check(format, (61, 47), (8, 8), Some(pad));
        }
    }
}

fn run(launch: &str) -> (VideoInfo, Vec<gst::Buffer>) {
    let pipeline = fields::launch(launch);
    let sink = pipeline.by_name("sink").unwrap().downcast::<gst_app::AppSink>().unwrap();
    let caps = std::sync::Arc::new(std::sync::Mutex::new(None));
    let seen = caps.clone();
    sink.static_pad("sink").unwrap().add_probe(gst::PadProbeType::BUFFER, move |pad, _| {
        *seen.lock().unwrap() = pad.current_caps();
        gst::PadProbeReturn::Ok
    });
    let buffers = fields::run(&pipeline);
    let caps = caps.lock().unwrap().take().unwrap();
    (VideoInfo::from_caps(&caps).unwrap(), buffers)
}

/// A frame that moves by 4 samples to the left is predicted wholly, but for what comes into view.
#[test]
fn moving_frames_are_reconstructed() {
    for format in ["GRAY8", "I420", "NV21"] {
        let source = format!(
            "videotestsrc num-buffers=4 pattern=zone-plate kx2=9 ky2=7 horizontal-speed=4 \
             ! video/x-raw,format={format},width=160,height=90"
        );
        let motion = "motionestimate device=native search-range=6";
        let (info, frames) = run(&format!("{source} ! appsink name=sink"));
        let compensated = |mode: &str| {
            run(&format!("{source} ! {motion} ! motioncompensate mode={mode} ! appsink name=sink")).1
        };
        let (predictions, residuals) = (compensated("prediction"), compensated("residual"));
        assert_eq!((frames.len(), predictions.len(), residuals.len()), (4, 4, 4));
        for (time, frame) in frames.iter().enumerate() {
            let frame = read(&info, frame);
            let (prediction, residual) = (read(&info, &predictions[time]), read(&info, &residuals[time]));
            if time == 0 {
                assert!(frame == prediction && frame == residual, "{format}: nothing to predict from");
                continue;
            }
            assert!(frame != read(&info, &frames[time - 1]), "{format}: it moves");
            for (index, plane) in frame.iter().enumerate() {
                // What is left of the last block that can see the border.
                let certain = plane.view().width() * 8 / 10;
                let grey = 1 << (plane.view().format().depth() - 1);
                for y in 0..plane.view().height() as i32 {
                    let row = |plane: &Frame| -> Vec<_> {
                        (0..certain as i32).map(|x| plane.view().sample(x, y)).collect()
                    };
                    assert_eq!(row(plane), row(&prediction[index]), "{format} plane {index} row {y}");
                    assert_eq!(row(&residual[index]), vec![grey; certain], "{format} plane {index} row {y}");
                }
            }
        }
    }
}

/// The same for noise in luma and chroma that moves by (4, 2) samples.
#[test]
fn moving_colors_are_reconstructed_in_every_format() {
    for format in FORMATS {
        let info = info(format, (96, 80));
        let launch = "motionestimate device=native search-range=5 ! motioncompensate";
        let (mut harness, _bus) = harness(launch, &info);
        let whole = planes(&info, 0);
        for time in 0..3 {
            let moved = whole.iter().zip(samplings(format)).map(|(plane, sampling)| {
                let (plane, pixel) = (plane.view(), sampling.pixel());
                let x = time * pixel * if sampling.halved_x { 2 } else { 4 };
                let y = time * if sampling.halved_y { 1 } else { 2 };
                Frame::deep_from_fn(plane.width(), plane.height(), plane.format().depth(), |column, row| {
                    let (column, row) = ((column + x) % plane.width(), (row + y) % plane.height());
                    plane.sample(column as i32, row as i32)
                })
            });
            let current: Vec<_> = moved.collect();
            let out = read(&info, &harness.push_and_pull(buffer(&info, &current, time, None)).unwrap());
            for (index, (plane, out)) in current.iter().zip(&out).enumerate() {
                // The last blocks see what comes into view, all others what was there before. (Bytes and rows.)
                let (width, height) = (plane.view().row_bytes() * 5 / 6, plane.view().height() * 4 / 5);
                for y in 0..height {
                    let row = |plane: &Frame| plane.view().row(y)[..width].to_vec();
                    assert_eq!(row(plane), row(out), "{format} frame {time} plane {index} row {y}");
                }
                assert_eq!(plane == out, time == 0, "{format} frame {time} plane {index}");
            }
        }
    }
}

#[test]
fn modes_change_between_two_frames() {
    let info = info(VideoFormat::I420, (61, 47));
    let (mut harness, _bus) = harness("motioncompensate", &info);
    let element = harness.find_element("motioncompensate").unwrap();
    let modes = ["prediction", "original", "residual", "original", "original", "prediction", "residual"];
    let mut before = planes(&info, 0);
    harness.push_and_pull(buffer(&info, &before, 0, None)).unwrap();
    for (time, mode) in modes.into_iter().enumerate().map(|(index, mode)| (index + 1, mode)) {
        element.set_property_from_str("mode", mode);
        let current = planes(&info, time);
        let mut input = buffer(&info, &current, time, Some(time));
        let description = description(&info, (8, 8), time);
        let vectors = vectors(&description, time);
        attach(&mut input, &description, &vectors);
        let prediction = predicted(&info, &description, &vectors, &before);
        let expected = match mode {
            "prediction" => prediction,
            "residual" => residual(&current, &prediction),
            _ => current.clone(),
        };
        let out = harness.push_and_pull(input).unwrap();
        assert!(read(&info, &out) == expected, "{mode} of frame {time}");
        before = current;
    }
}
