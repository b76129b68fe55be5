//! Small objects that move far, and frames between which the light changes.

use motion_frames::compensation::Sampling;
use motion_frames::interpolation::{
    FrameFormat, FrameMaker, FrameQuality, Interpolator, LoadedPair, Patch, Phase, SearchInput, oracle,
    search_parameters,
};
use motion_search::estimator::{Frame, FrameView, MotionVector, oracle as search};
use motion_search::native::InstructionSetName;
use test_support::{Content, Noise, frames, some_of};

#[cfg(feature = "opencl")]
use super::interpolation::opencl;
use super::interpolation::{HALVED, INTERLEAVED, Makers, PHASES, Pair, QUALITIES, WIDE, cpu, made, samples};

/// The luma of the frames at thirds between the second and the third of four frames, in each quality: with what
/// [`SearchInput::correct`] says of each pair.
fn made_thirds(luma: &[Frame; 4]) -> Vec<(FrameQuality, [Vec<u8>; 2])> {
    let size = luma[0].view().size();
    let format = FrameFormat { size, samplings: vec![Sampling::LUMA], samples: luma[0].view().format() };
    let of_quality = |quality| {
        let mut maker = Interpolator::new(&format, quality, 1).unwrap();
        (quality, make_thirds(&mut maker, luma, quality))
    };
    QUALITIES.into_iter().map(of_quality).collect()
}

/// The same by one maker.
fn make_thirds(maker: &mut dyn FrameMaker, luma: &[Frame; 4], quality: FrameQuality) -> [Vec<u8>; 2] {
    let size = luma[0].view().size();
    let mut searched = SearchInput::new(size, 1).unwrap();
    let searched_frames: Vec<_> = luma.iter().map(|luma| searched.frame(&luma.view()).unwrap()).collect();
    let parameters = search_parameters(size.0, size.1).unwrap();
    let is_high = quality == FrameQuality::High;
    let used = if is_high { 0..4 } else { 1..3 };
    for (number, luma) in luma.iter().enumerate().filter(|(number, _)| used.contains(number)) {
        maker.load_frame(&[luma.view()]).unwrap();
        if number > used.start {
            let pair = [&searched_frames[number - 1], &searched_frames[number]];
            let mut field = search::hierarchical(&parameters, &pair[0].view(), &pair[1].view()).vectors;
            let patches = searched.correct(pair, &mut field).unwrap();
            maker.set_motion(&field).unwrap();
            maker.set_patches(&patches).unwrap();
        }
    }
    if is_high {
        maker.select(LoadedPair::BeforeNewest { has_neighbours: true }).unwrap();
    }
    let sources = [&luma[1], &luma[2]].map(|luma| [luma.view()]);
    [1, 2].map(|third| {
        maker.start_frame(Phase::new(third, 3).unwrap()).unwrap();
        maker.finish_frame().unwrap();
        made(maker, sources.each_ref().map(|planes| &planes[..])).remove(0)
    })
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

/// Grain that moves, and fades from black or white or to it: the plain frame shows nothing that could have moved.
#[test]
fn a_picture_that_fades_from_a_plain_frame_does_not_move() {
    let mut noise = Noise::new(12);
    let grain: Vec<_> = (0..128 * 48).map(|_| u32::from(noise.next())).collect();
    for (plain, percent) in [(16, [0, 0, 9, 18]), (0, [0, 0, 30, 60]), (235, [40, 22, 0, 0])] {
        let luma: [Frame; 4] = std::array::from_fn(|number| {
            Frame::from_fn(64, 48, |x, y| {
                let picture = grain[128 * y + x + 3 * number];
                ((plain * (100 - percent[number]) + picture * percent[number] + 50) / 100) as u8
            })
        });
        check_between(&luma, &format!("from {plain}, {percent:?}"));
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

/// A square that moves by more than its size or less, before a background that stands still or moves: it is where it should
/// be, and nowhere else.
#[test]
fn small_objects_are_there_once() {
    const SIZE: (usize, usize) = (192, 96);
    const SIDE: usize = 9;
    let mut noise = Noise::new(23);
    let grain: Vec<_> = (0..256 * 128).map(|_| 100 + noise.next() % 40).collect();
    let far = [(0, [24, 0], 250), (3, [27, 6], 10), (6, [-21, 3], 240), (0, [0, 15], 12)];
    let near = [(0, [6, 3], 250), (3, [-3, 6], 10), (0, [-6, -6], 8), (0, [0, 9], 245), (0, [3, 0], 12)];
    for (scroll, moves, shade) in far.into_iter().chain(near) {
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
        let luma = [0, 3, 6, 9].map(scene);
        for (quality, thirds) in made_thirds(&luma) {
            for (index, made) in thirds.iter().enumerate() {
                let expected = scene(4 + index);
                let wrong =
                    made.iter().zip(samples(&expected)).filter(|(made, other)| made.abs_diff(*other) > 60);
                assert_eq!(wrong.count(), 0, "third {index}, {quality:?}, {scroll}, {moves:?}");
            }
        }
    }
}

/// Shapes as thin as samples, which look different wherever they lie between samples.
#[test]
fn thin_objects_that_move_by_parts_of_a_sample_are_there_once() {
    const SIZE: (usize, usize) = (192, 96);
    let wings = |x: f64, y: f64, _: f64| {
        (3.0 - (y + x.abs() * 0.5 - 3.0).abs() - 2.0 * (x.abs() - 8.0).max(0.0)).clamp(0.0, 1.0)
    };
    let disc = |x: f64, y: f64, _: f64| (4.5 - x.hypot(y)).clamp(0.0, 1.0);
    let ring = |x: f64, y: f64, _: f64| (1.5 - (x.hypot(y) - 6.0).abs()).clamp(0.0, 1.0);
    // A body and wings that move and are thinner towards their tips, 14 x 9: the share of 16 places in a sample.
    let bird = |x: f64, y: f64, time: f64| {
        let raised = 4.2 + (time * std::f64::consts::FRAC_PI_4).sin();
        let is_bird = |place: usize| {
            let [x, y] = [x + (place % 4) as f64 / 4.0 - 0.375, y + (place / 4) as f64 / 4.0 - 0.375];
            let (far, wing) = (x.abs(), -raised * ((x.abs() - 1.0).max(0.0) / 6.0).powf(1.3));
            let is_wing = far < 7.0 && (y - wing).abs() < (2.6 - far / 2.8).max(0.0) / 2.0 + 0.3;
            is_wing || (x / 3.2).powi(2) + (y / 1.5).powi(2) < 1.0
        };
        (0..16).filter(|&place| is_bird(place)).count() as f64 / 16.0
    };
    let shapes: [&dyn Fn(f64, f64, f64) -> f64; 4] = [&wings, &disc, &ring, &bird];
    for (number, shape) in shapes.into_iter().enumerate() {
        for way in [[18.5, 9.5], [-24.3, 4.7], [5.6, -3.2], [0.4, 11.7], [10.3, -3.8]] {
            let scene = |time: f64| {
                Frame::from_fn(SIZE.0, SIZE.1, |x, y| {
                    let (x, y) = (x as f64, y as f64);
                    let sky = 190.0 + x / 12.0 - y / 6.0 + 6.0 * (x / 31.0).sin();
                    let covered = shape(x - 96.0 - way[0] * time, y - 48.0 - way[1] * time, time);
                    (sky + (35.0 - sky) * covered).round() as u8
                })
            };
            let luma = [-1.5, -0.5, 0.5, 1.5].map(scene);
            let error = |made: &[u8], expected: &Frame| -> u64 {
                made.iter().zip(samples(expected)).map(|(a, b)| u64::from(a.abs_diff(b)).pow(2)).sum()
            };
            for (quality, thirds) in made_thirds(&luma) {
                for (index, made) in thirds.iter().enumerate() {
                    let expected = scene([-1.0, 1.0][index] / 6.0);
                    let mean = Frame::from_fn(SIZE.0, SIZE.1, |x, y| {
                        let [a, b] = [1, 2].map(|frame: usize| u16::from(luma[frame].view().row(y)[x]));
                        ((a * [2, 1][index] + b * [1, 2][index] + 1) / 3) as u8
                    });
                    let [error, of_mean] = [error(made, &expected), error(&samples(&mean), &expected)];
                    let what = format!("shape {number} by {way:?}, third {index}, {quality:?}");
                    assert!(3 * error <= of_mean, "{error} of {of_mean}: {what}");
                }
            }
        }
    }
}

/// Noise costs in every block what a small object costs in one.
#[test]
fn small_objects_in_noise_are_found() {
    let size = (320, 160);
    for (deviation, place, moved) in
        [(0, [20, 20], [61, 33]), (5, [200, 90], [150, 110]), (8, [60, 120], [88, 91])]
    {
        let luma = scene(size, &grain(size), &[([place, moved], [15, 15], 235)]);
        let mut noise = Noise::new(51);
        // The sum of twelve numbers is nearly normal.
        let mut noisy = |frame: &Frame| {
            Frame::from_fn(size.0, size.1, |x, y| {
                let sum: i32 = (0..12).map(|_| i32::from(noise.next()) - 128).sum();
                (i32::from(frame.view().row(y)[x]) + deviation * sum / 256).clamp(0, 255) as u8
            })
        };
        let luma = luma.each_ref().map(&mut noisy);
        let patches = check_corrected(&luma, &found(&luma), &format!("deviation {deviation}"));
        assert_eq!(patches.len(), 3, "deviation {deviation}");
    }
}

/// Fields of any vectors, with objects that leave one place for another: every instruction set corrects them as the oracle does.
fn check_corrected(luma: &[Frame; 2], field: &[MotionVector], what: &str) -> Vec<Patch> {
    let size = luma[0].view().size();
    let searched = luma.each_ref().map(|luma| oracle::search_frame(&luma.view()));
    let expected = oracle::correct(searched.each_ref(), field);
    for instruction_set in InstructionSetName::available() {
        let mut input = SearchInput::with_instruction_set(size, 1, instruction_set).unwrap();
        // What is left of other frames does not count.
        let others = luma.each_ref().map(|luma| input.frame(&luma.view()).unwrap());
        input.correct([&others[1], &others[0]], &mut field.to_vec()).unwrap();
        let mut corrected = field.to_vec();
        let patches = input.correct(others.each_ref(), &mut corrected).unwrap();
        assert!(corrected == expected.0, "another field, {size:?}, {instruction_set}, {what}");
        assert!(patches == expected.1, "other patches, {size:?}, {instruction_set}, {what}");
    }
    expected.1
}

/// The field that the search finds.
fn found(luma: &[Frame; 2]) -> Vec<MotionVector> {
    let (width, height) = luma[0].view().size();
    let [previous, next] = luma.each_ref().map(|luma| oracle::search_frame(&luma.view()));
    let parameters = search_parameters(width, height).unwrap();
    search::hierarchical(&parameters, &previous.view(), &next.view()).vectors
}

/// The same with `share` of 256 vectors replaced by any of such lengths and costs.
fn disturbed(found: &[MotionVector], longest: i16, share: u8, noise: &mut Noise) -> Vec<MotionVector> {
    let mut field = found.to_vec();
    for vector in &mut field {
        if noise.next() >= share {
            continue;
        }
        let mut any = |most: i32| (i32::from(noise.next()) - 128) * most / 128;
        (vector.x, vector.y) = (any(longest.into()) as i16, any(longest.into()) as i16);
        vector.cost = any(1200).unsigned_abs();
    }
    field
}

/// The corner from which an object goes, that to which, its sides and its shade.
type Object = ([[i32; 2]; 2], [i32; 2], u8);

/// Frames of a size with `objects`.
fn scene((width, height): (usize, usize), background: &[Frame; 2], objects: &[Object]) -> [Frame; 2] {
    [0, 1].map(|number: usize| {
        Frame::from_fn(width, height, |x, y| {
            let [column, row] = [x, y].map(|at| at as i32);
            let is_in = |(places, sides, _): &&Object| {
                let [left, top] = places[number];
                (left..left + sides[0]).contains(&column) && (top..top + sides[1]).contains(&row)
            };
            let object = objects.iter().rev().find(is_in);
            object.map_or(background[number].view().row(y)[x], |(places, _, shade)| {
                let [left, top] = places[number];
                shade + ((column - left) * 7 + (row - top) * 3).rem_euclid(11) as u8
            })
        })
    })
}

/// Two equal frames of grain.
fn grain((width, height): (usize, usize)) -> [Frame; 2] {
    let mut noise = Noise::new(31);
    let frame = Frame::from_fn(width, height, |_, _| 80 + noise.next() % 32);
    [frame.clone(), frame]
}

#[test]
fn corrected_fields_and_patches_equal_the_oracle() {
    let sizes = [
        (1, 1),
        (7, 5),
        (8, 8),
        (9, 70),
        (64, 1),
        (1, 64),
        (3, 130),
        (65, 17),
        (97, 66),
        (160, 120),
        (211, 90),
    ];
    let contents = [Content::Flat, Content::Moved, Content::Noise];
    let (mut noise, mut drawn) = (Noise::new(41), 0);
    for (content, size) in
        some_of(2, contents.into_iter().flat_map(|content| sizes.map(|size| (content, size))))
    {
        let (next, previous) = frames(content, size.0, size.1);
        let background = [previous, next];
        for number in 0..8 {
            let mut any = |most: usize| (usize::from(noise.next()) * (most + 1)) >> 8;
            let objects: Vec<_> = (0..number)
                .map(|_| {
                    // Some lie partly outside, and some are larger than what counts as small.
                    let sides = [0, 1].map(|_| [7, 20, 75][any(2)]).map(|most| 2 + any(most) as i32);
                    let mut places = [0, 1].map(|_| [any(size.0 + 9) as i32 - 9, any(size.1 + 9) as i32 - 9]);
                    // Half of them may move by less than their size.
                    if any(1) == 1 {
                        places[1] = [0, 1].map(|axis| places[0][axis] + any(24) as i32 - 12);
                    }
                    (places, sides, [0, 120, 244][any(2)])
                })
                .collect();
            let luma = scene(size, &background, &objects);
            let found = found(&luma);
            for (longest, share) in [(0, 0), (100, 12), (i16::MAX, 6), (2000, 90)] {
                let field = disturbed(&found, longest, share, &mut noise);
                let what = format!("{content:?}, {objects:?}, {share} disturbed");
                drawn += check_corrected(&luma, &field, &what).len();
            }
        }
    }
    assert!(drawn > 12, "only {drawn} patches");
}

/// More objects than are drawn, more regions than are looked at, frames that are searched at half their size, and fades.
#[test]
fn corrected_fields_at_limits_equal_the_oracle() {
    for (count, expected) in [(3, 9), (12, 24), (40, 0)] {
        let object = |number: i32| {
            let place = [10 + 60 * (number % 10), 8 + 70 * (number / 10)];
            let moved = [place[0] + 17 + number, place[1] + 34 - 2 * (number % 9)];
            ([place, moved], [6 + number % 5, 7], if number % 2 == 0 { 230 } else { 5 })
        };
        let objects: Vec<_> = (0..count).map(object).collect();
        let luma = scene((640, 300), &grain((640, 300)), &objects);
        let patches = check_corrected(&luma, &found(&luma), &format!("{count} objects"));
        assert_eq!(patches.len(), expected, "{count} objects");
    }
    let size = (1090, 482);
    let objects = [([[100, 90], [220, 61]], [25, 22], 220), ([[1070, 470], [980, 440]], [30, 20], 9)];
    let luma = scene(size, &grain(size), &objects);
    assert_eq!(check_corrected(&luma, &found(&luma), "halved").len(), 6);
    for light in [0, 1, 20] {
        let (next, previous) = frames(Content::Moved, 97, 66);
        let dim =
            Frame::from_fn(97, 66, |x, y| (16 + u32::from(previous.view().row(y)[x]) * light / 100) as u8);
        for luma in [[dim.clone(), next.clone()], [next, dim]] {
            let field = found(&luma);
            check_corrected(&luma, &field, &format!("{light} percent"));
        }
    }
}

/// Compares frames with patches over planes of all kinds with the oracle's.
fn check_drawn(
    makers: Makers,
    sizes: &[(usize, usize)],
    planes: &[(&[Sampling], u32)],
    qualities: &[FrameQuality],
) {
    let mut drawn = 0;
    for &(width, height) in sizes {
        let (right, bottom) = (width as i32, height as i32);
        // Larger where frames are searched at half their size.
        let side = if width > 1000 { 15 } else { 7 };
        let places = [
            [[0, 0], [right / 2, bottom / 3]],
            [[right - side, bottom - side], [right / 3, bottom / 4]],
            [[-2, bottom / 2], [right / 3, 2]],
        ];
        let background = grain((width, height));
        for (number, &(chroma, depth)) in planes.iter().enumerate() {
            let mut makers_of_quality: Vec<_> = Vec::new();
            for (at, places) in places.into_iter().enumerate() {
                let luma = scene((width, height), &background, &[(places, [side, side], 240)]);
                let pair = Pair::with_luma(luma.clone(), chroma, depth);
                let searched = pair.frames.each_ref().map(|planes| oracle::search_frame(&planes[0].view()));
                let (field, patches) = oracle::correct(searched.each_ref(), &pair.field());
                drawn += patches.len();
                let [previous, next] = pair.views();
                let sources = [&previous[..], &next[..]];
                for (index, &quality) in qualities.iter().enumerate() {
                    if makers_of_quality.len() == index {
                        makers_of_quality.push(makers(&pair.format(), quality));
                    }
                    let (n, d) = PHASES[(number + at + index) % PHASES.len()];
                    let phase = Phase::new(n, d).unwrap();
                    let plain = oracle::interpolate(sources, &pair.samplings, &field, quality, phase);
                    let expected = oracle::draw(&plain, &patches, sources, &pair.samplings, phase);
                    for (name, maker) in &mut makers_of_quality[index] {
                        sources.into_iter().for_each(|planes| maker.load_frame(planes).unwrap());
                        maker.set_motion(&field).unwrap();
                        maker.set_patches(&patches).unwrap();
                        maker.start_frame(phase).unwrap();
                        maker.finish_frame().unwrap();
                        for (index, (made, expected)) in
                            made(&**maker, sources).iter().zip(&expected).enumerate()
                        {
                            let what =
                                format!("plane {index} of {width} x {height}, {depth} bits, {quality:?}");
                            assert!(*made == samples(expected), "{what}, {phase:?}, {name}");
                        }
                    }
                }
            }
        }
    }
    let large = sizes.iter().filter(|size| size.0.min(size.1) > 60).count();
    assert!(drawn >= 6 * large * planes.len(), "only {drawn} patches");
}

const KINDS: [(&[Sampling], u32); 7] = [
    (&[HALVED, HALVED], 8),
    (&[INTERLEAVED], 16),
    (&[WIDE, WIDE], 10),
    (&[Sampling::LUMA, Sampling::LUMA], 16),
    // Alpha, and colours.
    (&[HALVED, HALVED, Sampling::LUMA], 8),
    (&[Sampling::LUMA, Sampling::LUMA, Sampling::LUMA], 10),
    (&[], 8),
];

/// Other qualities draw alike.
const DRAWN: [FrameQuality; 2] = [FrameQuality::Fast, FrameQuality::Balanced];

#[test]
fn drawn_patches_equal_the_oracle() {
    let sizes = [(1, 1), (7, 5), (8, 8), (9, 70), (64, 1), (1, 64), (3, 130), (65, 17), (97, 66)];
    check_drawn(cpu, &sizes, &KINDS, &DRAWN);
    check_drawn(cpu, &[(1090, 482)], &KINDS[..1], &DRAWN[..1]);
}

/// Four frames in high quality, in which the patches of pairs wait.
fn check_patches_of_pairs(makers: Makers) {
    let background = grain((120, 90));
    let place = |number: i32| [8 + 28 * number, 60 - 17 * number];
    let luma: [Frame; 4] = std::array::from_fn(|number| {
        let places = [place(number as i32); 2];
        let [frame, _] = scene((120, 90), &background, &[(places, [8, 8], 235)]);
        frame
    });
    let views = luma.each_ref().map(|luma| [luma.view()]);
    let format =
        FrameFormat { size: (120, 90), samplings: vec![Sampling::LUMA], samples: luma[0].view().format() };
    for quality in QUALITIES {
        let four: [&[FrameView<'_>]; 4] = views.each_ref().map(|view| &view[..]);
        let expected = [1, 2].map(|third| {
            let phase = Phase::new(third, 3).unwrap();
            let samplings = &format.samplings;
            let made = match quality {
                FrameQuality::High => oracle::search_and_interpolate_with_neighbours(four, samplings, phase),
                _ => oracle::search_and_interpolate([four[1], four[2]], samplings, quality, phase),
            };
            samples(&made[0])
        });
        for (name, mut maker) in makers(&format, quality) {
            assert!(make_thirds(&mut *maker, &luma, quality) == expected, "{quality:?}, {name}");
        }
    }
}

#[test]
fn patches_of_pairs_equal_the_oracle() {
    check_patches_of_pairs(cpu);
}

/// On the devices of OPENCL_TEST_DEVICE, else on all.
#[cfg(feature = "opencl")]
mod opencl_devices {
    use super::*;

    #[test]
    fn drawn_patches_equal_the_oracle() {
        check_drawn(opencl, &[(97, 66)], &KINDS, &DRAWN[..1]);
        for size in some_of(2, [(7, 15), (3, 130), (64, 9), (1090, 482)]) {
            check_drawn(opencl, &[size], &KINDS[..1], &DRAWN[..1]);
        }
        check_drawn(opencl, &[(97, 66)], &KINDS[..2], &DRAWN[1..]);
    }

    #[test]
    fn patches_of_pairs_equal_the_oracle() {
        check_patches_of_pairs(opencl);
    }
}
