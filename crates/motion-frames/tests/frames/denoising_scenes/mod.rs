//! Scenes in which noise is hard to estimate: how much is found, and what is left of it.

mod coarse;
mod colour;
mod edits;
mod found;
mod small;

use std::ops::Range;

use motion_frames::compensation::{PlaneMut, Sampling};
use motion_frames::denoising::{Denoiser, NoiseMap, Reference, Strength, search_parameters};
use motion_frames::interpolation::FrameFormat;
use motion_search::estimator::{Device, Frame, FrameView, MotionVector, Output, References, Slot, search};
use motion_search::native::Native;

/// Whole areas of 64 x 64 samples.
const SIZE: (usize, usize) = (320, 192);
const HALVED: Sampling = Sampling { halved_x: true, halved_y: true, interleaved: false };
const SAMPLINGS: [Sampling; 3] = [Sampling::LUMA, HALVED, HALVED];
const REFERENCES: References = References { backward: 2, forward: 2 };
const OFFSETS: [isize; 4] = [-1, 1, -2, 2];

/// A plane of I420, and a place in it in samples of luma.
#[derive(Clone, Copy)]
struct Place {
    plane: usize,
    x: f64,
    y: f64,
}

/// A rectangle in samples of luma.
type Part = (Range<usize>, Range<usize>);

const WHOLE: Part = (0..SIZE.0, 0..SIZE.1);

/// Numbers with the normal distribution, as a sum of twelve.
struct Normal(u64);

impl Normal {
    fn next(&mut self) -> f64 {
        let mut sum = 0.0;
        for _ in 0..3 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            sum += (0..4).map(|part| ((self.0 >> (16 * part)) & 0xffff) as f64 / 65536.0).sum::<f64>();
        }
        sum - 6.0
    }
}

/// A frame of a scene.
struct Shown {
    clean: Vec<Frame>,
    noisy: Vec<Frame>,
    made: Vec<Frame>,
    noise: NoiseMap,
}

/// Values of a scene without noise, by place and frame.
trait Clean: Fn(Place, f64) -> f64 {}
impl<F: Fn(Place, f64) -> f64> Clean for F {}

/// The standard deviation of noise at a place.
trait Deviation: Fn(Place) -> f64 {}
impl<F: Fn(Place) -> f64> Deviation for F {}

/// A frame of I420.
fn frame(mut sample: impl FnMut(Place) -> f64) -> Vec<Frame> {
    let plane = |(plane, sampling): (usize, &Sampling)| {
        let (width, height) = sampling.plane_size(SIZE.0, SIZE.1);
        let scale = (SIZE.0 / width) as f64;
        Frame::from_fn(width, height, |x, y| {
            let place = Place { plane, x: scale * x as f64, y: scale * y as f64 };
            sample(place).round().clamp(0.0, 255.0) as u8
        })
    };
    SAMPLINGS.iter().enumerate().map(plane).collect()
}

/// The frames of a scene of `count` frames, with noise, denoised.
fn show(count: usize, clean: impl Clean, deviation: impl Deviation) -> Vec<Shown> {
    let mut normal = Normal(0x9e37_79b9_7f4a_7c15);
    let mut noisy = |time| {
        frame(|place| match deviation(place) {
            0.0 => clean(place, time),
            deviation => clean(place, time).round() + deviation * normal.next(),
        })
    };
    let frames: Vec<_> = (0..count).map(|time| noisy(time as f64)).collect();
    let made = denoised(&frames);
    let clean = (0..count).map(|time| frame(|place| clean(place, time as f64)));
    let shown = clean.zip(frames).zip(made);
    shown.map(|((clean, noisy), (made, noise))| Shown { clean, noisy, made, noise }).collect()
}

/// The frames without noise, and the noise.
fn denoised(frames: &[Vec<Frame>]) -> Vec<(Vec<Frame>, NoiseMap)> {
    let samples = frames[0][0].view().format();
    let format = FrameFormat { size: SIZE, samplings: SAMPLINGS.into(), samples };
    let parameters = search_parameters(SIZE.0, SIZE.1, REFERENCES).unwrap();
    let mut device = Native::new(parameters.clone()).unwrap();
    let mut denoiser = Denoiser::new(&format, OFFSETS.len(), frames.len(), 1).unwrap();
    let views: Vec<Vec<FrameView<'_>>> =
        frames.iter().map(|planes| planes.iter().map(Frame::view).collect()).collect();
    let loaded: Vec<_> = views.iter().map(|planes| denoiser.load(&planes[0]).unwrap()).collect();
    let slots = [0, 1].map(Slot::new);
    let mut vectors = |current: usize, reference: usize| -> Vec<MotionVector> {
        for (slot, frame) in slots.into_iter().zip([current, reference]) {
            device.load_frame(slot, &loaded[frame].0).unwrap();
        }
        let mut output = Output::new(parameters.grid().blocks());
        search(&mut device, slots[0], slots[1], &mut output).unwrap();
        output.vectors.to_vec()
    };
    let mut all = Vec::new();
    for (current, planes) in views.iter().enumerate() {
        let at = |offset: isize| {
            let at = current.checked_add_signed(offset).filter(|at| *at < frames.len())?;
            Some((offset, at, vectors(current, at)))
        };
        let found: Vec<_> = OFFSETS.into_iter().filter_map(at).collect();
        let references: Vec<_> = found
            .iter()
            .map(|(offset, at, vectors)| Reference {
                slot: loaded[*at].1,
                planes: &views[*at],
                vectors,
                offset: *offset,
            })
            .collect();
        let noise = denoiser.measure(planes, &references, Strength::new(1.0)).unwrap().clone();
        let made = planes.iter().enumerate().map(|(index, plane)| {
            let (width, height) = plane.size();
            let mut bytes = vec![0; width * height];
            let mut out = PlaneMut::new(&mut bytes, width, height, width).unwrap();
            denoiser.write_plane(index, plane, &references, &mut out).unwrap();
            Frame::from_fn(width, height, |x, y| bytes[y * width + x])
        });
        all.push((made.collect(), noise));
    }
    all
}

/// The root of the mean squared difference of two planes in `part`.
fn difference(one: &Frame, other: &Frame, part: &Part) -> f64 {
    let (one, other) = (one.view(), other.view());
    let scale = SIZE.0 / one.width();
    let (mut sum, mut count) = (0.0, 0.0);
    for y in part.1.start / scale..part.1.end / scale {
        for x in part.0.start / scale..part.0.end / scale {
            let difference =
                f64::from(one.sample(x as i32, y as i32)) - f64::from(other.sample(x as i32, y as i32));
            sum += difference * difference;
            count += 1.0;
        }
    }
    (sum / count).sqrt()
}

impl Shown {
    /// The error of a plane before and after.
    fn errors(&self, plane: usize, part: &Part) -> [f64; 2] {
        [&self.noisy, &self.made].map(|planes| difference(&planes[plane], &self.clean[plane], part))
    }

    /// The mean of the noise that was found in the blocks of `part`.
    fn found(&self, part: &Part) -> f64 {
        let places = part.1.clone().step_by(8).flat_map(|y| part.0.clone().step_by(8).map(move |x| (x, y)));
        let noise: Vec<_> = places.map(|(x, y)| self.noise.luma_deviation(x, y)).collect();
        noise.iter().sum::<f64>() / noise.len() as f64
    }
}

/// Checks that noise of the deviation that luma has in `part` is found in all frames, steadily.
fn check_found(name: &str, shown: &[Shown], part: &Part) {
    let found: Vec<_> = shown.iter().map(|shown| shown.found(part)).collect();
    for (number, (shown, found)) in shown.iter().zip(&found).enumerate() {
        let ratio = found / shown.errors(0, part)[0];
        assert!((0.85..1.15).contains(&ratio), "{name}, frame {number}: {ratio} of the noise is found");
    }
    for (number, pair) in found.windows(2).enumerate() {
        let ratio = pair[1] / pair[0];
        assert!(
            (0.9..1.1).contains(&ratio),
            "{name}: from frame {number} to the next the noise is {ratio} times"
        );
    }
}

/// Texture of all sizes.
fn texture(x: f64, y: f64) -> f64 {
    let waves = (x / 7.0).sin() * (y / 5.0).cos() + (x / 23.0 + y / 31.0).sin();
    25.0 * waves + 12.0 * (x * 0.9).sin() * (y * 1.1).sin()
}

/// Texture that moves by `(3, 1)` samples a frame, in all planes.
fn moving(place: Place, time: f64) -> f64 {
    let texture = texture(place.x - 3.0 * time, place.y - time);
    if place.plane == 0 { 110.0 + texture } else { 128.0 + 0.3 * texture }
}

/// Text that stands still.
fn slide(place: Place) -> f64 {
    let is_ink = (place.x as usize / 3 * 7 + place.y as usize / 4 * 5) % 11 < 3
        && (place.y as usize / 8).is_multiple_of(2);
    match (place.plane, is_ink) {
        (0, true) => 30.0,
        (0, false) => 225.0,
        _ => 128.0,
    }
}

fn is_in(part: &Part, place: Place) -> bool {
    part.0.contains(&(place.x as usize)) && part.1.contains(&(place.y as usize))
}

/// Noise of this deviation in luma, and of half of it in chroma, in `part`.
fn noise_in(part: Part, deviation: f64) -> impl Deviation {
    move |place| match (is_in(&part, place), place.plane) {
        (false, _) => 0.0,
        (true, 0) => deviation,
        (true, _) => deviation / 2.0,
    }
}

const DEVIATIONS: [f64; 3] = [1.0, 5.0, 15.0];
