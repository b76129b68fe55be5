//! Scene cuts in noise: pictures that a person tells apart, and pictures that are the same but for noise, motion and light.

use std::cell::RefCell;

use motion_frames::interpolation::{SceneCutThreshold, SearchInput, search_parameters};
use motion_search::estimator::{Frame, MotionVector};
use test_support::{CutSearch, Noise, some_of};

type Size = (usize, usize);

const SIZES: [Size; 3] = [(256, 144), (96, 64), (176, 144)];

const SIZE: Size = SIZES[0];

/// Deviations of noise, in levels.
const DEVIATIONS: [f64; 9] = [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0];

/// A picture with levels of its own at every place.
type Picture = Box<dyn Fn(f64, f64) -> f64>;

/// A sum of random lattices with these distances, between whose points it is smooth: from 40 to 216, with the coarsest one
/// strongest. The distances are those of frames of a width of 256 samples.
fn picture(seed: u32, distances: &'static [f64], size: Size) -> Picture {
    let scale = size.0 as f64 / 256.0;
    let mut noise = Noise::new(seed);
    let lattices: Vec<Vec<f64>> =
        distances.iter().map(|_| (0..64 * 64).map(|_| f64::from(noise.next())).collect()).collect();
    Box::new(move |x, y| {
        let parts = distances.iter().zip(&lattices).enumerate().map(|(octave, (distance, lattice))| {
            let (x, y) = (x / distance / scale + 16.0, y / distance / scale + 16.0);
            let at = |x: f64, y: f64| lattice[y as usize % 64 * 64 + x as usize % 64];
            let smooth = |part: f64| part * part * (3.0 - 2.0 * part);
            let (right, below) = (smooth(x.fract()), smooth(y.fract()));
            let row = |y: f64| at(x, y) * (1.0 - right) + at(x + 1.0, y) * right;
            (row(y) * (1.0 - below) + row(y + 1.0) * below) * 0.5_f64.powi(octave as i32)
        });
        let whole: f64 = (0..distances.len()).map(|octave| 0.5_f64.powi(octave as i32)).sum();
        40.0 + parts.sum::<f64>() / whole * 0.7
    })
}

/// How noise is made of white noise of deviation 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    White,
    /// The same in 2 x 2 samples, as in video that was scaled up.
    Coarse,
    /// Stronger where it is bright.
    Film,
    /// In steps of four levels.
    Quantised,
}

const KINDS: [Kind; 4] = [Kind::White, Kind::Coarse, Kind::Film, Kind::Quantised];

/// Frames and noise of all sizes and kinds, and a seed for each.
fn cases() -> impl Iterator<Item = (Size, Kind, f64, u32)> {
    let all = SIZES.into_iter().flat_map(|size| KINDS.map(|kind| (size, kind)));
    let all = all.flat_map(|(size, kind)| DEVIATIONS.map(|deviation| (size, kind, deviation)));
    let seeded =
        all.zip((0..).step_by(10)).map(|((size, kind, deviation), seed)| (size, kind, deviation, seed));
    some_of(5, seeded)
}

/// `picture` with its top left sample at `place`, with noise.
fn shot(
    size: Size,
    picture: &Picture,
    place: (f64, f64),
    (kind, deviation): (Kind, f64),
    seed: u32,
) -> Frame {
    let mut bytes = Noise::new(seed);
    // A sum of twelve has a deviation of 256.
    let mut normal = || (0..12).map(|_| f64::from(bytes.next()) - 127.5).sum::<f64>() / 256.0;
    let noise: Vec<f64> = (0..size.0 * size.1).map(|_| normal()).collect();
    Frame::from_fn(size.0, size.1, |x, y| {
        let level = picture(x as f64 + place.0, y as f64 + place.1);
        let noise = deviation
            * match kind {
                Kind::Coarse => noise[y / 2 * size.0 + x / 2],
                Kind::Film => noise[y * size.0 + x] * (level / 128.0).sqrt(),
                Kind::White | Kind::Quantised => noise[y * size.0 + x],
            };
        let noise = if kind == Kind::Quantised { 4.0 * (noise / 4.0).round() } else { noise };
        (level + noise).round().clamp(0.0, 255.0) as u8
    })
}

thread_local! {
    /// That of the size before, which most cases have.
    static SEARCHED: RefCell<Option<(Size, CutSearch)>> = const { RefCell::new(None) };
}

fn is_cut_at(percent: f64, frames: [&Frame; 2]) -> bool {
    let size = frames[0].view().size();
    SEARCHED.with_borrow_mut(|searched| {
        if searched.as_ref().is_none_or(|(of, _)| *of != size) {
            *searched = Some((size, CutSearch::new(size)));
        }
        let (_, searched) = searched.as_mut().unwrap();
        searched.input.set_scene_cut_threshold(SceneCutThreshold::new(percent).unwrap());
        searched.is_cut(frames)
    })
}

fn is_cut(frames: [&Frame; 2]) -> bool {
    is_cut_at(SceneCutThreshold::DEFAULT_PERCENT, frames)
}

/// Pictures without fine detail, with detail of all sizes, and the same in the dark.
fn pictures(seed: u32, size: Size) -> [(&'static str, Picture); 4] {
    let picture = |seed, distances| picture(seed, distances, size);
    let dark = |picture: Picture| -> Picture { Box::new(move |x, y| 16.0 + picture(x, y) / 7.0) };
    [
        ("soft", picture(seed, &[61.0])),
        ("detailed", picture(seed, &[53.0, 19.0, 7.0, 3.0])),
        ("dark", dark(picture(seed, &[53.0, 19.0, 7.0, 3.0]))),
        ("soft and dark", dark(picture(seed, &[43.0]))),
    ]
}

#[test]
fn noise_is_no_cut() {
    for (size, kind, deviation, seed) in cases() {
        for (name, picture) in pictures(5, size) {
            let shot = |place, deviation, seed| shot(size, &picture, place, (kind, deviation), seed);
            let first = shot((0.0, 0.0), deviation, seed + 1);
            let what = format!("{name} {size:?} {kind:?} {deviation}");
            assert!(!is_cut([&first, &shot((0.0, 0.0), deviation, seed + 2)]), "{what}: still");
            assert!(!is_cut([&first, &shot((9.5, 3.0), deviation, seed + 3)]), "{what}: pan");
            // As in frames between key frames, in which an encoder has left noise.
            let clean = shot((0.0, 0.0), deviation / 4.0, seed + 4);
            assert!(!is_cut([&first, &clean]) && !is_cut([&clean, &first]), "{what}: comes and goes");
        }
        let grey: Picture = Box::new(|_, _| 90.0);
        let [first, second] = [1, 2].map(|add| shot(size, &grey, (0.0, 0.0), (kind, deviation), seed + add));
        assert!(!is_cut([&first, &second]), "grey {size:?} {kind:?} {deviation}");
    }
}

#[test]
fn cuts_between_noisy_pictures_are_found() {
    let (mut counted, mut missed) = (0, Vec::new());
    for (size, kind, deviation, seed) in cases() {
        let pictures: [_; 2] = [5, 6].map(|seed| pictures(seed, size));
        for (name, picture) in &pictures[0] {
            for (other_name, other) in &pictures[1] {
                // What is soft and dark disappears in so much noise.
                let is_seen = |name: &str| name != "soft and dark" || deviation <= 8.0;
                if !is_seen(name) && !is_seen(other_name) {
                    continue;
                }
                let shot =
                    |picture, deviation, seed| shot(size, picture, (0.0, 0.0), (kind, deviation), seed);
                let first = shot(picture, deviation, seed + 1);
                let noisy = shot(other, deviation, seed + 2);
                let clean = shot(other, 0.0, seed + 3);
                let pairs = [[&first, &noisy], [&first, &clean], [&clean, &first]];
                for (index, pair) in pairs.into_iter().enumerate() {
                    counted += 1;
                    if !is_cut(pair) {
                        missed
                            .push(format!("{name} to {other_name}, {size:?} {kind:?} {deviation}, {index}"));
                    }
                }
            }
        }
    }
    // Some pictures of few soft parts are alike by chance.
    assert!(100 * missed.len() <= 4 * counted, "{} of {counted}: {missed:#?}", missed.len());
}

#[test]
fn an_object_before_a_plain_background_is_no_cut() {
    for size in [(96, 64), (176, 144), (352, 288), (1280, 720)] {
        for (part, way) in [(9, 3), (12, 5), (16, 2), (20, 11)] {
            // Square objects of a part of the height, which move by more than their size, or leave the frame.
            let side = size.1 / part;
            let shown = |left: usize, top: usize| {
                Frame::from_fn(size.0, size.1, |x, y| {
                    let is_object = (left..left + side).contains(&x) && (top..top + side).contains(&y);
                    if is_object { 235 } else { 90 + ((x * 37 + y * 101) % 5) as u8 }
                })
            };
            let begin = [size.0 / 7, size.1 / 5];
            let frames = [shown(begin[0], begin[1]), shown(begin[0] + way * side, begin[1] + side * 3 / 2)];
            assert!(!is_cut([&frames[0], &frames[1]]), "{size:?}, 1/{part}, {way}");
            let gone = shown(size.0, 0);
            assert!(
                !is_cut([&frames[0], &gone]) && !is_cut([&gone, &frames[0]]),
                "{size:?}, 1/{part} leaves"
            );
        }
    }
}

#[test]
fn light_is_no_cut_in_noise() {
    for deviation in DEVIATIONS {
        for (name, picture) in pictures(8, SIZE) {
            let lit = |gain: f64, offset: f64, seed| {
                Frame::from_fn(SIZE.0, SIZE.1, |x, y| {
                    let lit = gain * picture(x as f64, y as f64) + offset;
                    let grey: Picture = Box::new(move |_, _| lit.clamp(0.0, 255.0));
                    let mut bytes = Noise::new(seed + (y * SIZE.0 + x) as u32);
                    let noise = (0..12).map(|_| f64::from(bytes.next()) - 127.5).sum::<f64>() / 256.0;
                    (grey(0.0, 0.0) + noise * deviation).round().clamp(0.0, 255.0) as u8
                })
            };
            let first = lit(1.0, 0.0, 1);
            for (gain, offset) in [(0.8, 0.0), (1.1, 30.0), (0.6, 10.0), (1.0, -12.0)] {
                let other = lit(gain, offset, 1_000_000);
                let what = format!("{name} {deviation}: {gain} {offset}");
                assert!(!is_cut([&first, &other]) && !is_cut([&other, &first]), "{what}");
            }
        }
    }
}

#[test]
fn bars_hide_no_cut_in_noise() {
    // Beside the picture, and above and below it, in parts of the width or height.
    let bars = [(0.0, 0.1), (0.0, 0.125), (0.0, 0.16), (0.125, 0.0), (0.21, 0.0), (0.1, 0.1)];
    let all = [(256, 144), (176, 144), (352, 288)].into_iter().flat_map(|size| bars.map(|bar| (size, bar)));
    let all = all.flat_map(|(size, bar)| DEVIATIONS.map(|deviation| (size, bar, deviation)));
    let (mut cuts, mut missed) = (0, 0);
    for (size, bar, deviation) in some_of(5, all) {
        let (left, top) = ((size.0 as f64 * bar.0) as usize, (size.1 as f64 * bar.1) as usize);
        let barred = |seed, noise| {
            let inner = picture(seed, &[53.0, 19.0, 7.0, 3.0], size);
            let picture: Picture = Box::new(move |x, y| {
                let (x_inside, y_inside) = (left..size.0 - left, top..size.1 - top);
                let is_inside = x_inside.contains(&(x as usize)) && y_inside.contains(&(y as usize));
                if is_inside { inner(x, y) } else { 16.0 }
            });
            shot(size, &picture, (0.0, 0.0), (Kind::White, deviation), noise)
        };
        let frames = [barred(1, 1), barred(2, 2), barred(1, 3)];
        (cuts, missed) = (cuts + 1, missed + usize::from(!is_cut([&frames[0], &frames[1]])));
        assert!(!is_cut([&frames[0], &frames[2]]), "{size:?} {bar:?} {deviation}");
    }
    assert!(100 * missed <= cuts, "{missed} of {cuts} cuts missed");
}

/// Lines of letters, ink on paper, that are as fine as samples of the frames that are compared.
#[test]
fn text_that_scrolls_is_no_cut() {
    const LINE: usize = 14;
    for (size, [paper, ink]) in some_of(2, [(320, 240), (352, 288), (640, 360)].map(|size| (size, [235, 25])))
        .chain([((320, 240), [10, 225])])
    {
        let mut noise = Noise::new(71);
        let strokes: Vec<_> = (0..800 * 400).map(|_| noise.next() < 115).collect();
        let letter = |x: usize, y: usize| {
            let is_inside = y % LINE < 9 && x % 7 < 5 && x / 7 % 8 != 7;
            if is_inside && strokes[y / 2 * 400 + x / 2] { ink } else { paper }
        };
        let page = |way: [usize; 2]| Frame::from_fn(size.0, size.1, |x, y| letter(x + way[0], y + way[1]));
        let first = page([0, 0]);
        for length in 1..=24 {
            for way in [[0, length], [length, 0], [length / 2, length]] {
                assert!(!is_cut([&first, &page(way)]), "{size:?}, paper {paper}, by {way:?}");
            }
        }
    }
}

#[test]
fn a_threshold_moves_the_limit() {
    assert_eq!(
        SceneCutThreshold::new(SceneCutThreshold::DEFAULT_PERCENT),
        Some(SceneCutThreshold::default())
    );
    for percent in [-0.1, 100.1, f64::NAN, f64::INFINITY] {
        assert_eq!(SceneCutThreshold::new(percent), None, "{percent}");
    }
    let [(_, first), (_, other)] = [5, 6].map(|seed| pictures(seed, SIZE).into_iter().nth(1).unwrap());
    let here = shot(SIZE, &first, (0.0, 0.0), (Kind::White, 0.0), 1);
    let cut = shot(SIZE, &other, (0.0, 0.0), (Kind::White, 0.0), 1);
    // The right part shows another scene.
    let parts = [0, 64, 128, 192].map(|left| {
        Frame::from_fn(SIZE.0, SIZE.1, |x, y| (if x < left { &here } else { &cut }).view().row(y)[x])
    });
    let found = |percent| {
        [&cut, &parts[0], &parts[1], &parts[2], &parts[3]].map(|next| is_cut_at(percent, [&here, next]))
    };
    assert_eq!(found(100.0), [false; 5]);
    assert_eq!(found(90.0), [true, true, false, false, false]);
    assert_eq!(found(60.0), [true, true, true, false, false]);
    assert_eq!(found(40.0), [true, true, true, true, false]);
    assert_eq!(found(5.0), [true; 5]);
    for percent in [0.0, 50.0] {
        assert!(!is_cut_at(percent, [&here, &here]), "a frame is no cut from itself: {percent}");
    }
    let field = vec![MotionVector::default(); search_parameters(SIZE.0, SIZE.1).unwrap().grid().blocks()];
    let mut input = SearchInput::new(SIZE, 1).unwrap();
    input.set_scene_cut_threshold(SceneCutThreshold::new(0.0).unwrap());
    assert!(input.is_scene_cut([&here, &cut], &field).unwrap());
}
