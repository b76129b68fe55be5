//! Small objects that move far, and frames between which the light changes.

use motion_search::compensation::Sampling;
use motion_search::estimator::{Frame, oracle as search};
use motion_search::interpolation::{
    FrameFormat, FrameMaker, FrameQuality, Interpolator, LoadedPair, Patch, Phase, SearchInput,
    search_parameters,
};
use test_support::Noise;

use super::interpolation::{HALVED, INTERLEAVED, PHASES, Pair, QUALITIES, made, samples};
#[cfg(feature = "opencl")]
use super::interpolation::{WIDE, cpu, opencl};

/// The luma of the frames at thirds between the second and the third of four frames, in each quality: with what
/// [`SearchInput::correct`] says of each pair.
fn made_thirds(luma: &[Frame; 4]) -> Vec<(FrameQuality, [Vec<u8>; 2])> {
    let size = luma[0].view().size();
    let format = FrameFormat { size, samplings: vec![Sampling::LUMA], samples: luma[0].view().format() };
    let mut searched = SearchInput::new(size, 1).unwrap();
    let searched_frames: Vec<_> = luma.iter().map(|luma| searched.frame(&luma.view()).unwrap()).collect();
    let parameters = search_parameters(size.0, size.1).unwrap();
    let pairs = searched_frames.windows(2).map(|pair| {
        let mut field = search::hierarchical(&parameters, &pair[0].view(), &pair[1].view()).vectors;
        let patches = searched.correct([&pair[0], &pair[1]], &mut field).unwrap();
        (field, patches)
    });
    let pairs: Vec<_> = pairs.collect();
    let of_quality = |quality| {
        let mut maker = Interpolator::new(&format, quality, 1).unwrap();
        let is_high = quality == FrameQuality::High;
        let used = if is_high { 0..4 } else { 1..3 };
        for (number, luma) in luma.iter().enumerate().filter(|(number, _)| used.contains(number)) {
            maker.load_frame(&[luma.view()]).unwrap();
            if number > used.start {
                maker.set_motion(&pairs[number - 1].0).unwrap();
                maker.set_patches(&pairs[number - 1].1).unwrap();
            }
        }
        if is_high {
            maker.select(LoadedPair::BeforeNewest { has_neighbours: true }).unwrap();
        }
        let sources = [&luma[1], &luma[2]].map(|luma| [luma.view()]);
        let thirds = [1, 2].map(|third| {
            maker.start_frame(Phase::new(third, 3).unwrap()).unwrap();
            maker.finish_frame().unwrap();
            made(&maker, sources.each_ref().map(|planes| &planes[..])).remove(0)
        });
        (quality, thirds)
    };
    QUALITIES.into_iter().map(of_quality).collect()
}

/// Grain under light that changes from frame to frame, in percent: where nothing moves, made frames are between both.
#[test]
fn changes_of_light_are_no_occlusions() {
    let mut noise = Noise::new(11);
    let grain: Vec<_> = (0..64 * 48).map(|_| 60 + u32::from(noise.next()) / 3).collect();
    let lights: [[u32; 4]; 6] = [
        [100, 92, 84, 76],
        [60, 70, 80, 90],
        [100, 92, 100, 92],
        [60, 60, 90, 90],
        [0, 0, 8, 16],
        [20, 10, 0, 0],
    ];
    for (black, lights) in [0, 16].into_iter().flat_map(|black| lights.map(|lights| (black, lights))) {
        let luma = lights.map(|light| {
            Frame::from_fn(64, 48, |x, y| (black + grain[64 * y + x] * light / 100).min(255) as u8)
        });
        check_between(&luma, &format!("{black}, {lights:?}"));
    }
    for step in [10, 7, -6] {
        let luma = [0, 1, 2, 3].map(|at| Frame::from_fn(64, 48, |_, _| (100 + step * at) as u8));
        check_between(&luma, &format!("steps of {step}"));
    }
}

/// Made samples are those on the line between both frames, rounded.
fn check_between(luma: &[Frame; 4], name: &str) {
    for (quality, thirds) in made_thirds(luma) {
        for (third, made) in thirds.iter().enumerate() {
            for (at, &sample) in made.iter().enumerate() {
                let [previous, next] =
                    [1, 2].map(|frame| f64::from(luma[frame].view().row(at / 64)[at % 64]));
                let expected = previous + (next - previous) * (third + 1) as f64 / 3.0;
                let off = (f64::from(sample) - expected).abs();
                assert!(
                    off <= 1.0,
                    "{sample} in place of {expected} at {at}, third {third}, {quality:?}: {name}"
                );
            }
        }
    }
}

/// A square that moves by more than its size, before a background that stands still or moves: it is where it should be,
/// and nowhere else.
#[test]
fn small_objects_that_move_far_are_there_once() {
    const SIZE: (usize, usize) = (192, 96);
    const SIDE: usize = 9;
    let mut noise = Noise::new(23);
    let grain: Vec<_> = (0..256 * 128).map(|_| 100 + noise.next() % 40).collect();
    for (scroll, moves, shade) in [(0, [24, 0], 250), (3, [27, 6], 10), (6, [-21, 3], 240), (0, [0, 15], 12)]
    {
        let place = |third: usize| {
            [(96, moves[0]), (33, moves[1])]
                .map(|(at, by): (i32, i32)| (at + by * (third as i32 - 4) / 3) as usize)
        };
        let scene = |third: usize| {
            let [left, top] = place(third);
            Frame::from_fn(SIZE.0, SIZE.1, |x, y| {
                let is_object = (left..left + SIDE).contains(&x) && (top..top + SIDE).contains(&y);
                if is_object {
                    shade + (x + y - left - top) as u8 % 4
                } else {
                    grain[256 * (y + scroll * third / 3) + x]
                }
            })
        };
        for (quality, thirds) in made_thirds(&[0, 3, 6, 9].map(scene)) {
            for (index, made) in thirds.iter().enumerate() {
                let expected = scene(4 + index);
                let wrong =
                    made.iter().zip(samples(&expected)).filter(|(made, other)| made.abs_diff(*other) > 60);
                assert_eq!(wrong.count(), 0, "third {index}, {quality:?}, {scroll}, {moves:?}");
            }
        }
    }
}

/// Patches over frames of all kinds of planes.
#[cfg(feature = "opencl")]
#[test]
fn devices_draw_the_same_patches() {
    let size = (90, 70);
    let block = |number: usize| {
        let at =
            |x: usize, y: usize| (10 + 30 * number..19 + 30 * number).contains(&x) && (20..31).contains(&y);
        Frame::from_fn(size.0, size.1, |x, y| if at(x, y) { 230 } else { 90 + (x * 7 + y * 13) as u8 % 11 })
    };
    for (chroma, depth) in [
        (&[HALVED, HALVED][..], 8),
        (&[INTERLEAVED], 10),
        (&[WIDE, WIDE], 8),
        (&[Sampling::LUMA, Sampling::LUMA], 16),
        // Alpha, and colours.
        (&[HALVED, HALVED, Sampling::LUMA], 8),
        (&[Sampling::LUMA, Sampling::LUMA, Sampling::LUMA], 10),
    ] {
        let pair = Pair::with_luma([block(0), block(1)], chroma, depth);
        let mut field = pair.field();
        let mut searched = SearchInput::new(size, 1).unwrap();
        let frames = pair.frames.each_ref().map(|planes| searched.frame(&planes[0].view()).unwrap());
        let patches = searched.correct(frames.each_ref(), &mut field).unwrap();
        assert_eq!(patches.len(), 3);
        let [previous, next] = pair.views();
        let sources = [&previous[..], &next[..]];
        for quality in [FrameQuality::Fast, FrameQuality::Balanced] {
            let make = |(name, mut maker): (String, Box<dyn FrameMaker>), patches: &[Patch]| {
                sources.into_iter().for_each(|planes| maker.load_frame(planes).unwrap());
                maker.set_motion(&field).unwrap();
                maker.set_patches(patches).unwrap();
                let frames = PHASES.map(|(n, d)| {
                    maker.start_frame(Phase::new(n, d).unwrap()).unwrap();
                    maker.finish_frame().unwrap();
                    made(&*maker, sources)
                });
                (name, frames)
            };
            let expected =
                cpu(&pair.format(), quality).into_iter().map(|maker| make(maker, &patches).1).next().unwrap();
            let without =
                cpu(&pair.format(), quality).into_iter().map(|maker| make(maker, &[]).1).next().unwrap();
            for (made, without) in expected.iter().flatten().zip(without.iter().flatten()) {
                assert_ne!(made, without, "a plane without patches, {quality:?}, {depth} bits");
            }
            for maker in opencl(&pair.format(), quality) {
                let (name, frames) = make(maker, &patches);
                assert_eq!(frames, expected, "{name}, {quality:?}, {depth} bits");
            }
        }
    }
}

/// Fields of any vectors in frames of all sizes, with an object that leaves one corner for another.
#[test]
fn small_objects_at_edges_and_in_small_frames_are_drawn() {
    let sizes: [(usize, usize); 9] =
        [(1, 1), (7, 5), (8, 8), (9, 70), (64, 1), (1, 64), (3, 130), (65, 17), (97, 66)];
    let mut drawn = 0;
    for (width, height) in sizes {
        let corners =
            [(0, 0), (width.saturating_sub(7), 0), (0, height.saturating_sub(7)), (width - 1, height - 1)];
        let mut noise = Noise::new(5);
        for (from, to) in corners.into_iter().flat_map(|from| corners.map(|to| (from, to))) {
            let scene = |(left, top): (usize, usize)| {
                let is_object = |x, y| (left..left + 7).contains(&x) && (top..top + 7).contains(&y);
                Frame::from_fn(width, height, |x, y| {
                    if is_object(x, y) { 240 } else { 60 + (x * 5 + y * 3) as u8 % 9 }
                })
            };
            for (chroma, depth) in [(&[HALVED, HALVED, Sampling::LUMA][..], 8), (&[INTERLEAVED], 16)] {
                let pair = Pair::with_luma([scene(from), scene(to)], chroma, depth);
                let found = pair.field();
                for (longest, share) in [(0, 1), (100, 40), (i16::MAX, 40)] {
                    let mut field = found.clone();
                    for vector in &mut field {
                        if noise.next() < share {
                            let mut any = || (i32::from(noise.next()) - 128) * i32::from(longest) / 128;
                            (vector.x, vector.y) = (any() as i16, any() as i16);
                        }
                    }
                    let mut searched = SearchInput::new((width, height), 1).unwrap();
                    let frames =
                        pair.frames.each_ref().map(|planes| searched.frame(&planes[0].view()).unwrap());
                    let patches = searched.correct(frames.each_ref(), &mut field).unwrap();
                    drawn += patches.len();
                    let [previous, next] = pair.views();
                    let mut maker = Interpolator::new(&pair.format(), FrameQuality::Fast, 1).unwrap();
                    [&previous, &next].into_iter().for_each(|planes| maker.load_frame(planes).unwrap());
                    maker.set_motion(&field).unwrap();
                    maker.set_patches(&patches).unwrap();
                    for (n, d) in PHASES {
                        maker.start_frame(Phase::new(n, d).unwrap()).unwrap();
                        maker.finish_frame().unwrap();
                        made(&maker, [&previous, &next]);
                    }
                }
            }
        }
    }
    assert!(drawn > 0, "nothing was drawn");
}
