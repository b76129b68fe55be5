//! Small objects that move far.

use gst_video::prelude::*;
use gst_video::{VideoFormat, VideoFrameRef, VideoInfo};
use motion_frames::interpolation::{FrameQuality, Phase};

use super::motion::{devices, expected, expected_of_four};
use super::support::*;

const RATE: Rate = (25, 1);
const SIZE: (u32, u32) = (144, 88);
const SIDE: usize = 10;

/// Where the square is after so many thirds of a frame.
fn corner(third: usize) -> [usize; 2] {
    [6 + 10 * third, 68 - 6 * third]
}

/// A bright square before grain that stands still.
fn picture(info: &VideoInfo, number: usize) -> gst::Buffer {
    let mut buffer = frame(info, RATE, number as u64);
    let [left, top] = corner(3 * number);
    let mut frame = VideoFrameRef::from_buffer_ref_writable(buffer.get_mut().unwrap(), info).unwrap();
    let (stride, pixel) = (frame.plane_stride()[0] as usize, info.comp_pstride(0) as usize);
    for (y, row) in frame.plane_data_mut(0).unwrap().chunks_mut(stride).enumerate() {
        for (x, sample) in row.chunks_mut(pixel).take(SIZE.0 as usize).enumerate() {
            let is_square = (left..left + SIDE).contains(&x) && (top..top + SIDE).contains(&y);
            // The upper byte of samples in the upper bits.
            sample[pixel - 1] = if is_square { 240 } else { 80 + ((x * 37 + y * 101) % 23) as u8 };
        }
    }
    drop(frame);
    buffer
}

#[test]
fn a_small_object_is_drawn_on_every_device_and_in_every_quality() {
    let qualities =
        [("fast", FrameQuality::Fast), ("balanced", FrameQuality::Balanced), ("high", FrameQuality::High)];
    for format in [VideoFormat::Nv12, VideoFormat::P01010le] {
        let info = video(format, SIZE, RATE);
        let frames: Vec<_> = (0..4).map(|number| picture(&info, number)).collect();
        for ((name, quality), device) in qualities
            .into_iter()
            .flat_map(|quality| devices().into_iter().map(move |device| (quality, device)))
        {
            let launch = format!("motioninterpolate quality={name} device=\"{device}\" pipeline-depth=2");
            let mut harness = harness(&launch, &info, (75, 1));
            frames.iter().for_each(|frame| push(&mut harness, frame.clone()));
            end(&mut harness);
            let found = pull(&mut harness);
            let what = format!("{format:?}, {name}, {device}");
            assert_eq!((count(&harness, "made"), count(&harness, "scene-cuts")), (6, 0), "{what}");
            for third in [1, 2] {
                let phase = Phase::new(third as u32, 3).unwrap();
                let expected = match quality {
                    FrameQuality::High => {
                        expected_of_four(&info, [0, 1, 2, 3].map(|number| &frames[number]), phase)
                    }
                    _ => expected(quality, &info, [&frames[1], &frames[2]], phase),
                };
                let made = samples(&found[3 + third], &info);
                assert!(made == expected, "{what}, {third}/3");
                let bright = 200 << (info.comp_depth(0) - 8);
                let [left, top] = corner(3 + third);
                for y in 0..SIZE.1 as usize {
                    for x in 0..SIZE.0 as usize {
                        let is_square = (left..left + SIDE).contains(&x) && (top..top + SIDE).contains(&y);
                        let is_bright = made[SIZE.0 as usize * y + x] >= bright;
                        assert_eq!(is_bright, is_square, "({x}, {y}), {what}, {third}/3");
                    }
                }
            }
        }
    }
}
