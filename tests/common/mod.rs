//! One runner that puts every implementation of a search through the same hostile cases.
#![allow(dead_code, missing_docs)]

use gstmotionestimate::estimator::prediction::median_predictors;
use gstmotionestimate::estimator::{
    Algorithm, Border, EstimateError, Estimator, Frame, FrameView, Metric, MotionVector, OrderKey,
    Parameters, Part, Prediction, Predictor, Slot, Window, oracle,
};

/// Two frames and what to find in them.
pub struct Case {
    pub name: String,
    pub parameters: Parameters,
    pub reference: Frame,
    pub current: Frame,
}

/// A small generator of noise: the same numbers everywhere.
pub struct Noise(u32);

impl Noise {
    pub fn new(seed: u32) -> Self {
        Self(seed.wrapping_mul(2_654_435_761) | 1)
    }

    pub fn next(&mut self) -> u8 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        (self.0 >> 24) as u8
    }
}

/// What the samples look like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content {
    Noise,
    /// 0 and 255 in turn: the largest costs there are, and ties by the thousand.
    Checkerboard,
    /// One value: every candidate costs the same.
    Flat,
    /// 0 against 255 everywhere.
    Opposite,
    /// Smooth texture moved by a few samples, with noise on top.
    Moved,
    /// Stripes with a period of four: ties at every fourth displacement.
    Stripes,
}

pub const CONTENTS: [Content; 6] = [
    Content::Noise,
    Content::Checkerboard,
    Content::Flat,
    Content::Opposite,
    Content::Moved,
    Content::Stripes,
];

/// Reference and current frame.
pub fn frames(content: Content, width: usize, height: usize) -> (Frame, Frame) {
    let mut noise = Noise::new((width * 31 + height) as u32);
    let texture = |x: i32, y: i32| {
        let (x, y) = (f64::from(x), f64::from(y));
        127.0 + 60.0 * (x * 0.21 + y * 0.05).sin() + 60.0 * (y * 0.17 - x * 0.03).cos()
    };
    let mut make = |is_current: bool| {
        Frame::from_fn(width, height, |x, y| match content {
            Content::Noise => noise.next(),
            Content::Checkerboard => {
                if (x + y + usize::from(is_current)).is_multiple_of(2) {
                    0
                } else {
                    255
                }
            }
            Content::Flat => 93,
            Content::Opposite => {
                if is_current {
                    255
                } else {
                    0
                }
            }
            Content::Moved => {
                let shift = if is_current { (5, -3) } else { (0, 0) };
                let grain = f64::from(noise.next() % 5);
                (texture(x as i32 + shift.0, y as i32 + shift.1) + grain) as u8
            }
            Content::Stripes => ((x + 2 * y + usize::from(is_current)) % 4 * 80) as u8,
        })
    };
    (make(false), make(true))
}

fn case(
    content: Content,
    size: (usize, usize),
    block_size: usize,
    window: Window,
    metric: Metric,
    border: Border,
) -> Case {
    let (width, height) = size;
    let (reference, current) = frames(content, width, height);
    let parameters = Parameters { metric, border, ..Parameters::new(width, height, block_size, window) };
    let name = format!("{content:?} {parameters:?}");
    Case { name, parameters, reference, current }
}

/// Every case: odd sizes, frames smaller than a block, extreme samples, all block sizes, ranges
/// past the frame, lopsided windows, both borders, both metrics.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let metrics = [Metric::Sad, Metric::Ssd];
    let borders = [Border::Extend, Border::Restrict];
    let square = |r| Window::symmetric(r, r).unwrap();
    for metric in metrics {
        for border in borders {
            for content in CONTENTS {
                cases.push(case(content, (61, 47), 16, square(7), metric, border));
            }
            for block_size in (4..=64).step_by(4) {
                cases.push(case(Content::Noise, (77, 70), block_size, square(5), metric, border));
                cases.push(case(Content::Opposite, (64, 64), block_size, square(3), metric, border));
            }
            for size in [(1, 1), (15, 15), (3, 130), (130, 3), (16, 16), (17, 16), (33, 65), (100, 36)] {
                cases.push(case(Content::Noise, size, 16, square(9), metric, border));
                cases.push(case(Content::Moved, size, 8, square(4), metric, border));
            }
            for (x0, x1, y0, y1) in [
                (0, 0, 0, 0),
                (-16, 15, -16, 15),
                (-16, 16, -16, 16),
                (0, 9, -5, 0),
                (-33, 2, 0, 1),
                (-1, 31, -2, 40),
            ] {
                let window = Window::new(x0, x1, y0, y1).unwrap();
                cases.push(case(Content::Moved, (70, 52), 16, window, metric, border));
                cases.push(case(Content::Stripes, (52, 40), 8, window, metric, border));
            }
            cases.push(case(Content::Noise, (24, 20), 16, square(60), metric, border));
            cases.push(case(Content::Checkerboard, (24, 20), 4, square(33), metric, border));
        }
    }
    cases
}

/// The same for three-step search, and what is harder for it: frames large enough for long ways,
/// at every number of steps up to R = 60, and steps that lead past one edge of a window only.
pub fn three_step_cases() -> Vec<Case> {
    let mut cases = cases();
    for metric in [Metric::Sad, Metric::Ssd] {
        for border in [Border::Extend, Border::Restrict] {
            for (range, block_size) in [(1, 4), (2, 20), (7, 4), (7, 8), (7, 20), (15, 12), (31, 8), (60, 16)]
            {
                for content in [Content::Moved, Content::Noise] {
                    let window = Window::symmetric(range, range).unwrap();
                    cases.push(case(content, (91, 67), block_size, window, metric, border));
                }
            }
            let window = Window::new(-60, 3, -1, 44).unwrap();
            cases.push(case(Content::Noise, (67, 91), 8, window, metric, border));
        }
    }
    for case in &mut cases {
        case.parameters.algorithm = Algorithm::ThreeStep;
        case.name += ", three-step";
    }
    cases
}

/// `reference` rebuilt block by block as `vectors` say, over the frame extended to whole blocks.
pub fn reconstruct(parameters: &Parameters, reference: &FrameView<'_>, vectors: &[MotionVector]) -> Frame {
    let (columns, side) = (parameters.grid().columns, parameters.block_size);
    Frame::from_fn(parameters.extended_width(), parameters.extended_height(), |x, y| {
        let vector = vectors[y / side * columns + x / side];
        reference.extended(x as i32 + i32::from(vector.x) / 4, y as i32 + i32::from(vector.y) / 4)
    })
}

/// Copies `frame` into rows that are further apart than they are wide, with garbage between.
pub fn with_stride(frame: &FrameView<'_>, stride: usize) -> Vec<u8> {
    let mut bytes = vec![0xa5; stride * (frame.height() - 1) + frame.width()];
    for y in 0..frame.height() {
        bytes[y * stride..][..frame.width()].copy_from_slice(frame.row(y));
    }
    bytes
}

/// Every OpenCL device, of which there has to be one.
///
/// With `OPENCL_TEST_DEVICE` set those whose name holds its text, upper and lower case alike: on a
/// machine with a GPU beside a CPU device, one of them takes most of the time.
#[cfg(feature = "opencl")]
pub fn all_devices() -> Vec<gstmotionestimate::opencl::Device> {
    let mut devices = gstmotionestimate::opencl::devices();
    assert!(!devices.is_empty(), "no OpenCL device: install one, for instance pocl-opencl-icd");
    if let Ok(wanted) = std::env::var("OPENCL_TEST_DEVICE") {
        devices.retain(|device| device.name.to_lowercase().contains(&wanted.to_lowercase()));
        assert!(!devices.is_empty(), "no OpenCL device is called {wanted}");
    }
    devices
}

/// Compares one estimator with the oracle on `case`, in both slots and with a padded stride.
///
/// # Panics
/// Where a vector or a cost differs.
pub fn check(case: &Case, estimator: &mut dyn Estimator) {
    let expected = oracle::search(&case.parameters, &case.current.view(), &case.reference.view());
    let mut found = vec![MotionVector { x: -1, y: -1, cost: 0xdead }; expected.vectors.len()];
    let who = format!("{} {} on {}", estimator.kernel(), estimator.device(), case.name);

    estimator.load(Slot::A, &case.reference.view()).expect(&who);
    estimator.load(Slot::B, &case.current.view()).expect(&who);
    estimator.search(Slot::B, &mut found).expect(&who);
    compare(&who, expected.grid.columns, &expected.vectors, &found);
    assert_eq!(estimator.unload(Slot::B).expect(&who).as_ref(), Some(&case.current), "{who}");

    // The roles change, and the rows come from a wider plane.
    let stride = case.parameters.width + 13;
    let bytes = with_stride(&case.reference.view(), stride);
    let padded = FrameView::new(&bytes, case.parameters.width, case.parameters.height, stride).unwrap();
    estimator.load(Slot::A, &padded).expect(&who);
    let expected = oracle::search(&case.parameters, &case.reference.view(), &case.current.view());
    estimator.search(Slot::A, &mut found).expect(&who);
    compare(&who, expected.grid.columns, &expected.vectors, &found);
}

fn compare(who: &str, columns: usize, expected: &[MotionVector], found: &[MotionVector]) {
    for (index, (expected, found)) in expected.iter().zip(found).enumerate() {
        assert_eq!(expected, found, "block {}, {} of {who}", index % columns, index / columns);
    }
}

/// Compares one estimator with the oracle on a stream of `frames`, with as many searches in
/// flight as it allows, from its own memory and from any other; what it predicts too.
///
/// # Panics
/// Where a vector, a cost or a predictor differs.
pub fn check_in_flight(estimator: &mut dyn Estimator, frames: &[Frame]) {
    let (parameters, depth) = (estimator.parameters().clone(), estimator.depth());
    let who = format!("{} {}, depth {depth}", estimator.kernel(), estimator.device());
    let memory = estimator.host_memory();
    let blocks = parameters.grid().blocks();
    let mut found = vec![MotionVector::default(); blocks];
    let mut predictors = vec![Predictor::default(); blocks];
    let mut finish = |estimator: &mut dyn Estimator, current: usize| {
        estimator.finish(&mut found).expect(&who);
        let [current, reference] = [current, current - 1].map(|index| frames[index].view());
        let expected = oracle::search(&parameters, &current, &reference);
        compare(&who, expected.grid.columns, &expected.vectors, &found);
        if parameters.prediction == Prediction::Median {
            estimator.predict(&mut predictors).expect(&who);
            assert_eq!(predictors, median_predictors(expected.grid, &expected.vectors), "{who}");
        }
    };
    let slot = |index: usize| Slot::new(index % (depth + 1));
    let mut finished = 0;
    for (index, frame) in frames.iter().enumerate() {
        // In turn: memory of any kind, the estimator's own, the same with a padded stride.
        let block = memory.as_ref().filter(|_| index % 3 > 0).map(|memory| {
            let padding = if index % 3 == 1 { 0 } else { 5 };
            let rows = with_stride(&frame.view(), parameters.width + padding);
            let mut block = memory.allocate(rows.len() + 7).expect(&who);
            (*block).as_mut()[3..][..rows.len()].copy_from_slice(&rows);
            (block, parameters.width + padding)
        });
        match &block {
            Some((block, stride)) => {
                let samples = &(**block).as_ref()[3..];
                let view = FrameView::new(samples, parameters.width, parameters.height, *stride).expect(&who);
                estimator.load_shared(slot(index), &view).expect(&who);
            }
            None => {
                // What is loaded is free at once.
                let mut samples = with_stride(&frame.view(), parameters.width);
                let view = FrameView::new(&samples, parameters.width, parameters.height, parameters.width);
                estimator.load(slot(index), &view.expect(&who)).expect(&who);
                samples.fill(0x77);
            }
        }
        // The block may go while it is read.
        drop(block);
        if index == 0 {
            continue;
        }
        estimator.begin(slot(index), slot(index - 1)).expect(&who);
        assert!(matches!(estimator.load(slot(index), &frame.view()), Err(EstimateError::SlotInUse(_))));
        assert!(matches!(estimator.search(Slot::A, &mut []), Err(EstimateError::InFlight(_))));
        if estimator.in_flight() == depth {
            let again = estimator.begin(slot(index), slot(index - 1));
            assert!(matches!(again, Err(EstimateError::InFlight(n)) if n == depth), "{who}");
            finished += 1;
            finish(estimator, finished);
        }
    }
    // What is given up leaves nothing behind.
    let last = frames.len() - 1;
    if finished < last {
        finished += 1;
        finish(estimator, finished);
    }
    estimator.cancel();
    assert_eq!(estimator.in_flight(), 0);
    assert!(matches!(
        estimator.finish(&mut vec![MotionVector::default(); blocks]),
        Err(EstimateError::NothingInFlight)
    ));
    estimator.begin(slot(last), slot(last - 1)).expect(&who);
    finish(estimator, last);
}

/// How a search is cut into parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cut {
    /// Into bands of rows of blocks.
    Rows,
    /// Into halves of the displacements, where the algorithm can be cut so.
    Candidates,
    /// Both ways.
    Both,
}

/// Every part of `case` by itself, found by `estimator` and put together here.
pub fn check_parts(case: &Case, cut: Cut, estimator: &mut dyn Estimator) {
    let parameters = &case.parameters;
    let who = format!("{} cut by {cut:?} on {}", estimator.kernel(), case.name);
    let expected = oracle::search(parameters, &case.current.view(), &case.reference.view());
    let whole = Part::whole(parameters);
    let (columns, rows) = (expected.grid.columns, expected.grid.rows);
    let mut found = vec![MotionVector { x: 0, y: 0, cost: u32::MAX }; expected.vectors.len()];
    let first = if cut == Cut::Candidates { rows } else { rows.div_ceil(3) };
    let mut bands = vec![0..first, first..rows];
    bands.retain(|band| !band.is_empty());
    let (y0, y1) = (parameters.window.y0(), parameters.window.y1());
    let middle = (y0 + y1).div_euclid(2);
    let last = if cut == Cut::Rows { y1 } else { middle };
    let halves = [y0..=last, last + 1..=y1];
    for band in bands {
        for half in halves.iter().filter(|half| !half.is_empty()) {
            let mut part = whole.with_rows(band.clone());
            if whole.with_displacements(half.clone()).check(parameters).is_ok() {
                part = part.with_displacements(half.clone());
            }
            // What the part does not need is something else.
            let rows = |samples: &std::ops::Range<usize>, frame: &Frame| {
                let sample = |x: usize, y: usize| {
                    if samples.contains(&y) { frame.view().row(y)[x] } else { (x * 7 + y * 3) as u8 }
                };
                Frame::from_fn(parameters.width, parameters.height, sample)
            };
            let compared = part.current_samples(parameters);
            let searched = part.reference_samples(parameters);
            let (current, reference) = (rows(&compared, &case.current), rows(&searched, &case.reference));
            estimator.load_rows(Slot::A, &reference.view(), searched).expect(&who);
            estimator.load_rows(Slot::B, &current.view(), compared).expect(&who);
            let mut vectors = vec![MotionVector::default(); part.grid(parameters).blocks()];
            estimator.begin_part(Slot::B, Slot::A, part).expect(&who);
            estimator.finish(&mut vectors).expect(&who);
            let key = |v: MotionVector| OrderKey::new(v.cost, i32::from(v.x) / 4, i32::from(v.y) / 4);
            for (best, other) in found[band.start * columns..].iter_mut().zip(vectors) {
                if other.cost != u32::MAX && (best.cost == u32::MAX || key(other) < key(*best)) {
                    *best = other;
                }
            }
        }
    }
    assert_eq!(found, expected.vectors, "{who}");
}

/// `count` frames of texture that moves, with grain.
pub fn stream(width: usize, height: usize, count: usize) -> Vec<Frame> {
    let mut noise = Noise::new(count as u32);
    let sample = |time: usize, x: usize, y: usize| {
        let (x, y) = (x + 3 * time, y + 2 * time);
        ((x / 5 * 97 + y / 3 * 57 + (x / 5) * (y / 3)) % 180) as u8
    };
    let mut frame = |time| Frame::from_fn(width, height, |x, y| sample(time, x, y) + noise.next() % 40);
    (0..count).map(&mut frame).collect()
}
