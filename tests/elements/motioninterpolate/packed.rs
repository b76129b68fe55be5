//! Formats whose components are copied to planes before frames are made, and those with alpha: made frames are those that the
//! oracle makes of the components.

use gst_video::prelude::*;
use gst_video::{VideoFormat, VideoFrameRef, VideoInfo};
use motion_frames::compensation::Sampling;
use motion_frames::interpolation::{FrameQuality, Phase, oracle};
use motion_search::estimator::Frame;

use super::motion::{devices, views};
use super::support::*;

const RATE: Rate = (25, 1);

/// Each format, with its components, and whether they are colours.
const FORMATS: [(VideoFormat, &[usize], bool); 24] = [
    (VideoFormat::A420, &[0, 1, 2, 3], false),
    (VideoFormat::Yuy2, &[0, 1, 2], false),
    (VideoFormat::Uyvy, &[0, 1, 2], false),
    (VideoFormat::Yvyu, &[0, 1, 2], false),
    (VideoFormat::Vyuy, &[0, 1, 2], false),
    (VideoFormat::Nv16, &[0, 1, 2], false),
    (VideoFormat::Nv61, &[0, 1, 2], false),
    (VideoFormat::Nv24, &[0, 1, 2], false),
    (VideoFormat::V308, &[0, 1, 2], false),
    (VideoFormat::Iyu2, &[0, 1, 2], false),
    (VideoFormat::Ayuv, &[0, 1, 2, 3], false),
    (VideoFormat::Vuya, &[0, 1, 2, 3], false),
    (VideoFormat::Bgra, &[0, 1, 2, 3], true),
    (VideoFormat::Rgba, &[0, 1, 2, 3], true),
    (VideoFormat::Argb, &[0, 1, 2, 3], true),
    (VideoFormat::Abgr, &[0, 1, 2, 3], true),
    (VideoFormat::Bgrx, &[0, 1, 2], true),
    (VideoFormat::Rgbx, &[0, 1, 2], true),
    (VideoFormat::Xrgb, &[0, 1, 2], true),
    (VideoFormat::Xbgr, &[0, 1, 2], true),
    (VideoFormat::Rgb, &[0, 1, 2], true),
    (VideoFormat::Bgr, &[0, 1, 2], true),
    (VideoFormat::Gbr, &[0, 1, 2], true),
    (VideoFormat::Gbra, &[0, 1, 2, 3], true),
];

/// Where component `number` has its samples in the frame: plane, offset, the bytes from one to the next, and from row to row.
fn place(frame: &VideoFrameRef<&gst::BufferRef>, number: usize) -> (u32, usize, usize, usize) {
    let format = frame.format_info();
    let plane = format.plane()[number];
    let stride = frame.plane_stride()[plane as usize] as usize;
    (plane, format.poffset()[number] as usize, format.pixel_stride()[number] as usize, stride)
}

/// Component `number` of the frame in `buffer`, as a plane, and how it is sampled.
fn component(buffer: &gst::BufferRef, info: &VideoInfo, number: usize) -> (Frame, Sampling) {
    let frame = VideoFrameRef::from_buffer_ref_readable(buffer, info).unwrap();
    let (plane, offset, step, stride) = place(&frame, number);
    let data = frame.plane_data(plane).unwrap();
    let format = info.format_info();
    let sampling = Sampling {
        halved_x: format.w_sub()[number] == 1,
        halved_y: format.h_sub()[number] == 1,
        interleaved: false,
    };
    let (width, height) = sampling.plane_size(info.width() as usize, info.height() as usize);
    (Frame::from_fn(width, height, |x, y| data[y * stride + offset + x * step]), sampling)
}

/// The planes that the library sees.
fn planes(
    buffer: &gst::BufferRef,
    info: &VideoInfo,
    order: &[usize],
    is_rgb: bool,
) -> (Vec<Frame>, Vec<Sampling>) {
    let mut all: Vec<_> = order.iter().map(|&number| component(buffer, info, number)).collect();
    if is_rgb {
        let [red, green, blue] = [0, 1, 2].map(|number| component(buffer, info, number).0);
        let (width, height) = red.view().size();
        let luma = |x, y| {
            let of = |plane: &Frame| u32::from(plane.view().row(y)[x]);
            ((77 * of(&red) + 150 * of(&green) + 29 * of(&blue) + 128) / 256) as u8
        };
        let halved = |plane: &Frame| {
            let at = |x: usize, y: usize| u32::from(plane.view().extended(x as i32, y as i32));
            let mean = |x, y| {
                let sum =
                    at(2 * x, 2 * y) + at(2 * x + 1, 2 * y) + at(2 * x, 2 * y + 1) + at(2 * x + 1, 2 * y + 1);
                ((sum + 2) / 4) as u8
            };
            Frame::from_fn(width.div_ceil(2), height.div_ceil(2), mean)
        };
        let half = Sampling { halved_x: true, halved_y: true, interleaved: false };
        let made = [
            (Frame::from_fn(width, height, luma), Sampling::LUMA),
            (halved(&blue), half),
            (halved(&red), half),
        ];
        all.splice(0..0, made);
    }
    all.into_iter().unzip()
}

/// Frame `number` of a pattern that moves, in all components.
fn picture(info: &VideoInfo, number: u64) -> gst::Buffer {
    let mut buffer = frame(info, RATE, number);
    let format = info.format_info();
    let places: Vec<_> = {
        let frame = VideoFrameRef::from_buffer_ref_readable(&buffer, info).unwrap();
        (0..info.n_components() as usize).map(|number| place(&frame, number)).collect()
    };
    let writable = buffer.get_mut().unwrap();
    let mut frame = VideoFrameRef::from_buffer_ref_writable(writable, info).unwrap();
    for (component, (plane, offset, step, stride)) in places.into_iter().enumerate() {
        let sampling = Sampling {
            halved_x: format.w_sub()[component] == 1,
            halved_y: format.h_sub()[component] == 1,
            interleaved: false,
        };
        let (width, height) = sampling.plane_size(info.width() as usize, info.height() as usize);
        let data = frame.plane_data_mut(plane).unwrap();
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
            let across = (x << u8::from(sampling.halved_x)) + 3 * number as usize;
            let cell = (across / 3) * 7 + (y / 3) * 13 + component * 29;
            data[y * stride + offset + x * step] = (cell.wrapping_mul(0x9e37_79b1) >> 7) as u8;
        }
    }
    drop(frame);
    buffer
}

fn samples_of(frame: &Frame) -> Vec<u8> {
    let view = frame.view();
    (0..view.height()).flat_map(|y| view.row(y).to_vec()).collect()
}

/// What the oracle makes at `phase` between two of `frames`, the second and the third of four in high quality.
fn expected(
    quality: FrameQuality,
    frames: &[(Vec<Frame>, Vec<Sampling>)],
    first: usize,
    phase: Phase,
) -> Vec<Frame> {
    let samplings = &frames[first].1;
    let views = views(frames);
    if quality == FrameQuality::High {
        let four = [first - 1, first, first + 1, first + 2].map(|number| &views[number][..]);
        return oracle::search_and_interpolate_with_neighbours(four, samplings, phase);
    }
    oracle::search_and_interpolate([&views[first], &views[first + 1]], samplings, quality, phase)
}

fn check(index: usize, size: (u32, u32), device: &str, qualities: &[(&str, FrameQuality)]) {
    let (format, order, is_rgb) = FORMATS[index];
    let info = video(format, size, RATE);
    let frames: Vec<_> = (0..4).map(|number| picture(&info, number)).collect();
    let planes: Vec<_> = frames.iter().map(|frame| planes(frame, &info, order, is_rgb)).collect();
    for &(name, quality) in qualities {
        let launch =
            format!("motioninterpolate quality={name} scene-cut=off device=\"{device}\" pipeline-depth=2");
        let mut harness = harness(&launch, &info, (75, 1));
        frames.iter().for_each(|frame| push(&mut harness, frame.clone()));
        end(&mut harness);
        let found = pull(&mut harness);
        assert_eq!(count(&harness, "made"), 6);
        for third in [1, 2] {
            let expected = expected(quality, &planes, 1, Phase::new(third as u32, 3).unwrap());
            let found = &found[3 + third];
            for (&number, expected) in order.iter().zip(&expected[if is_rgb { 3 } else { 0 }..]) {
                let at = format!("{format:?} {size:?} {name} {device} {third}/3, component {number}");
                assert!(samples_of(&component(found, &info, number).0) == samples_of(expected), "{at}");
            }
        }
    }
}

const QUALITIES: [(&str, FrameQuality); 3] =
    [("fast", FrameQuality::Fast), ("balanced", FrameQuality::Balanced), ("high", FrameQuality::High)];

#[test]
fn made_frames_are_those_of_the_oracle_in_every_format() {
    for index in 0..FORMATS.len() {
        check(index, (47, 39), "native", &QUALITIES[index % 3..][..1]);
    }
    // With alpha, packed, with interleaved chroma, and of colours, in all qualities.
    for format in [VideoFormat::A420, VideoFormat::Yuy2, VideoFormat::Nv16, VideoFormat::Bgra] {
        let index = FORMATS.iter().position(|entry| entry.0 == format).unwrap();
        check(index, (48, 40), "native", &QUALITIES);
    }
}

#[test]
fn devices_make_the_same_frames() {
    for device in devices().iter().filter(|device| *device != "native") {
        for (format, quality) in
            [(VideoFormat::A420, 1), (VideoFormat::Uyvy, 1), (VideoFormat::Rgba, 2), (VideoFormat::A420, 0)]
        {
            let index = FORMATS.iter().position(|entry| entry.0 == format).unwrap();
            check(index, (47, 39), device, &QUALITIES[quality..][..1]);
        }
    }
}

#[test]
fn a_blend_of_all_components() {
    for (format, order, _) in FORMATS {
        for size in [(1, 1), (2, 3), (3, 2), (13, 7), (64, 2)] {
            let info = video(format, size, RATE);
            let mut harness = harness("motioninterpolate mode=blend", &info, (50, 1));
            let frames = [0, 1].map(|number| frame(&info, RATE, number));
            frames.iter().for_each(|frame| push(&mut harness, frame.clone()));
            let found = pull(&mut harness);
            assert_eq!(found.len(), 3);
            for &number in order {
                let [previous, made, next] = [&frames[0], &found[1], &frames[1]]
                    .map(|frame| samples_of(&component(frame, &info, number).0));
                let mean = previous
                    .iter()
                    .zip(&next)
                    .map(|(&p, &n)| (u32::from(p) + u32::from(n)).div_ceil(2) as u8);
                assert_eq!(made, mean.collect::<Vec<_>>(), "{format:?} {size:?} {number}");
            }
        }
    }
}

/// What belongs to no component is 255 in frames that are made, so that what is read as alpha is opaque.
#[test]
fn padding_of_pixels_is_opaque() {
    for (format, padding) in [(VideoFormat::Bgrx, 3), (VideoFormat::Xrgb, 0)] {
        let info = video(format, (5, 3), RATE);
        let mut harness = harness("motioninterpolate mode=blend", &info, (50, 1));
        (0..2).for_each(|number| push(&mut harness, frame(&info, RATE, number)));
        let made = bytes(&pull(&mut harness)[1]);
        assert!(made.iter().skip(padding).step_by(4).all(|&byte| byte == 255), "{format:?}");
    }
}

#[test]
fn a_buffer_that_is_too_short_is_dropped_with_a_warning() {
    for (format, size) in
        [(VideoFormat::Yuy2, (13, 7)), (VideoFormat::Nv16, (13, 7)), (VideoFormat::Rgb, (4, 4))]
    {
        let info = video(format, size, RATE);
        let mut harness = harness("motioninterpolate device=native", &info, (50, 1));
        let bus = bus(&harness);
        push(&mut harness, frame(&info, RATE, 0));
        let mut short = gst::Buffer::from_mut_slice(vec![0; info.size() - 1]);
        short.make_mut().set_pts(gst::ClockTime::from_mseconds(40));
        push(&mut harness, short);
        assert!(bus.pop_filtered(&[gst::MessageType::Warning]).is_some(), "{format:?}");
        push(&mut harness, frame(&info, RATE, 2));
        end(&mut harness);
        assert_eq!(milliseconds(&pull(&mut harness)), [0, 20, 40, 60, 80, 100], "{format:?}");
    }
}

#[test]
fn duplicates_are_found_in_every_kind_of_format() {
    for format in [VideoFormat::A420, VideoFormat::Yuy2, VideoFormat::Rgb] {
        let info = video(format, (48, 40), RATE);
        let mut harness =
            harness("motioninterpolate device=native drop-lossy-duplicates=true", &info, (50, 1));
        for (number, shown) in [0, 0, 1, 1, 2, 2, 3, 3].into_iter().enumerate() {
            let mut buffer = picture(&info, shown);
            buffer.make_mut().set_pts(gst::ClockTime::from_nseconds(time(RATE, number as u64)));
            push(&mut harness, buffer);
        }
        end(&mut harness);
        assert_eq!((pull(&mut harness).len(), count(&harness, "frames-dropped")), (16, 4), "{format:?}");
    }
}
