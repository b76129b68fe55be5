//! One runner that puts every implementation of a search through the same hostile cases.
#![allow(dead_code, missing_docs)]

use std::sync::Arc;

use motion_search::estimator::prediction::median_predictors;
use motion_search::estimator::{
    Algorithm, BlockHandle, Border, Device, EstimateError, Frame, FrameSource, FrameView, HostBlock, Metric,
    MotionField, MotionVector, Output, Parameters, Part, Prediction, Quality, Request, Slot, SubSample,
    Window, oracle, search,
};
use motion_search::session::{Options, Session, WeightedDevice};

/// Two frames and what to find in them.
#[derive(Clone)]
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

/// Cases for sub-sample refinement: those of full and of three-step search, three quarters of them in quarter samples.
pub fn sub_sample_cases() -> Vec<Case> {
    let mut cases: Vec<_> = cases().into_iter().chain(three_step_cases()).collect();
    for (index, case) in cases.iter_mut().enumerate() {
        let sub_sample = if index % 4 == 0 { SubSample::Half } else { SubSample::Quarter };
        case.parameters.sub_sample = sub_sample;
        case.name += &format!(", {sub_sample:?}");
    }
    cases
}

/// Cases for hierarchical search: every quality and block size; frames of one to four levels, smaller than a cell, and
/// narrow; and parameters that do not apply to it.
pub fn hierarchical_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |content, size, block_size, quality| {
        let window = Window::symmetric(1, 2).unwrap();
        let mut case = case(content, size, block_size, window, Metric::Ssd, Border::Restrict);
        case.parameters = Parameters { algorithm: Algorithm::Hierarchical, quality, ..case.parameters };
        case.name = format!("{content:?} {:?}", case.parameters);
        cases.push(case);
    };
    for quality in [Quality::Fast, Quality::Balanced, Quality::High] {
        for content in CONTENTS {
            add(content, (61, 60), 8, quality);
        }
        for size in [(1, 1), (7, 5), (8, 8), (15, 15), (3, 130), (130, 3), (59, 131), (131, 122), (250, 241)]
        {
            add(Content::Moved, size, 8, quality);
            add(Content::Noise, size, 16, quality);
        }
        for block_size in [4, 16, 32, 64] {
            add(Content::Moved, (131, 122), block_size, quality);
            add(Content::Noise, (77, 70), block_size, quality);
            add(Content::Opposite, (9, 30), block_size, quality);
        }
    }
    cases
}

/// `frame` with samples of `depth` bits: the same from 0 to the largest, and noise in the bits that are new where
/// `is_noisy`.
pub fn deepened(frame: &Frame, depth: u32, is_noisy: bool) -> Frame {
    let (view, mut noise) = (frame.view(), Noise::new(depth));
    let new_bits = depth - 8;
    Frame::deep_from_fn(depth, view.size(), |x, y| {
        let sample = view.row(y)[x];
        let lower = if is_noisy { noise.next() } else { sample };
        u16::from(sample) << new_bits | u16::from(lower) >> (8 - new_bits)
    })
}

/// `case` with samples of `depth` bits.
pub fn deep_case(case: Case, depth: u32) -> Case {
    // Flat frames and ties remain.
    let is_noisy = case.name.starts_with("Noise") || case.name.starts_with("Moved");
    let [reference, current] = [&case.reference, &case.current].map(|frame| deepened(frame, depth, is_noisy));
    let is_narrowed = case.parameters.algorithm == Algorithm::Hierarchical;
    let bit_depth = if is_narrowed { 8 } else { depth };
    let name = format!("{}, {depth} bits", case.name);
    Case { name, reference, current, parameters: Parameters { bit_depth, ..case.parameters } }
}

/// `cases` with samples of more than eight bits: of ten and of every other depth in turn, or of as many as the metric
/// allows.
pub fn deep(cases: Vec<Case>) -> Vec<Case> {
    let depths = [10, 16, 10, 12, 9, 15, 10, 13, 11, 14];
    let with_depth = |(index, case): (usize, Case)| {
        let most = if case.parameters.metric_of_costs() == Metric::Ssd { 10 } else { 16 };
        deep_case(case, depths[index % depths.len()].min(most))
    };
    cases.into_iter().enumerate().map(with_depth).collect()
}

/// The upper eight bits of each sample.
pub fn upper_eight_bits(frame: &Frame) -> Frame {
    let view = frame.view();
    let upper = |x, y| (view.sample(x as i32, y as i32) >> (view.format().depth() - 8)) as u8;
    Frame::from_fn(view.width(), view.height(), upper)
}

/// `reference` rebuilt block by block as `vectors` say, over the frame extended to whole blocks.
pub fn reconstruct(parameters: &Parameters, reference: &FrameView<'_>, vectors: &[MotionVector]) -> Frame {
    let (columns, side) = (parameters.grid().columns, parameters.block_size);
    Frame::from_fn(parameters.extended_width(), parameters.extended_height(), |x, y| {
        let vector = vectors[y / side * columns + x / side];
        reference.extended(x as i32 + i32::from(vector.x) / 4, y as i32 + i32::from(vector.y) / 4)
    })
}

/// The samples of `view` in rows `stride` bytes apart, with garbage between the rows.
pub fn with_stride(view: &FrameView<'_>, stride: usize) -> Vec<u8> {
    let mut bytes = vec![0xa5; stride * (view.height() - 1) + view.row_bytes()];
    for y in 0..view.height() {
        bytes[y * stride..][..view.row_bytes()].copy_from_slice(view.row(y));
    }
    bytes
}

/// A copy of `frame` with `padding` bytes between its rows.
pub fn padded(frame: &Frame, padding: usize) -> Frame {
    let view = frame.view();
    let stride = view.row_bytes() + padding;
    Frame::with_format(Arc::new(with_stride(&view, stride)), view.size(), stride, view.format()).unwrap()
}

/// A block of a device's memory that holds a frame from its fourth byte on.
struct InBlock(Box<dyn HostBlock>, Option<BlockHandle>);

impl FrameSource for InBlock {
    fn bytes(&self) -> &[u8] {
        &(*self.0).as_ref()[3..]
    }

    fn block(&self) -> Option<&BlockHandle> {
        self.1.as_ref()
    }
}

/// A copy of `frame` in memory of `device`, if it has such memory, with `padding` bytes between its rows.
pub fn in_memory_of(device: &dyn Device, frame: &Frame, padding: usize) -> Frame {
    let Some(memory) = &device.info().memory else { return padded(frame, padding) };
    let view = frame.view();
    let stride = view.row_bytes() + padding;
    let rows = with_stride(&view, stride);
    let mut block = memory.allocate(rows.len() + 7).unwrap();
    (*block).as_mut()[3..][..rows.len()].copy_from_slice(&rows);
    let handle = block.handle();
    Frame::with_format(Arc::new(InBlock(block, handle)), view.size(), stride, view.format()).unwrap()
}

/// Every OpenCL device, of which there has to be one.
///
/// With `OPENCL_TEST_DEVICE` set those whose name holds its text, upper and lower case alike: on a
/// machine with a GPU beside a CPU device, one of them takes most of the time.
#[cfg(feature = "opencl")]
pub fn all_devices() -> Vec<motion_search::opencl::OpenClDevice> {
    let mut devices = motion_search::opencl::devices();
    assert!(!devices.is_empty(), "no OpenCL device: install one, for instance pocl-opencl-icd");
    if let Ok(wanted) = std::env::var("OPENCL_TEST_DEVICE") {
        devices.retain(|device| device.name.to_lowercase().contains(&wanted.to_lowercase()));
        assert!(!devices.is_empty(), "no OpenCL device is called {wanted}");
    }
    devices
}

/// Compares a device with the oracle on `case`, in both slots and with padded rows.
///
/// # Panics
/// If a vector or a cost differs.
pub fn check(case: &Case, device: &mut dyn Device) {
    check_against(&expected(case), case, device);
}

/// As [`check`], for each of `devices`: the oracle, which takes most of the time, searches once for all of them.
pub fn check_each(case: &Case, devices: impl Iterator<Item = impl Device>) {
    let expected = expected(case);
    devices.for_each(|mut device| check_against(&expected, case, &mut device));
}

/// What the oracle finds from the reference to the current frame, and with the roles changed.
fn expected(case: &Case) -> [MotionField; 2] {
    let (reference, current) = (case.reference.view(), case.current.view());
    [(&current, &reference), (&reference, &current)]
        .map(|(current, reference)| oracle::search(&case.parameters, current, reference))
}

fn check_against([forwards, backwards]: &[MotionField; 2], case: &Case, device: &mut dyn Device) {
    let mut output = Output::new(forwards.vectors.len());
    output.vectors.fill(MotionVector { x: -1, y: -1, cost: 0xdead });
    let name = format!("{} {} on {}", device.info().kernel, device.info().name, case.name);

    device.load_frame(Slot::A, &case.reference).expect(&name);
    device.load_frame(Slot::B, &case.current).expect(&name);
    search(device, Slot::B, Slot::A, &mut output).expect(&name);
    compare(&name, forwards.grid.columns, &forwards.vectors, &output.vectors);
    let is_narrowed = case.parameters.algorithm == Algorithm::Hierarchical;
    let kept = if is_narrowed { upper_eight_bits(&case.current) } else { case.current.clone() };
    assert_eq!(device.unload_frame(Slot::B).expect(&name), Some(kept), "{name}");

    // The roles change, and the rows come from a wider plane.
    device.load_frame(Slot::A, &padded(&case.reference, 13)).expect(&name);
    search(device, Slot::A, Slot::B, &mut output).expect(&name);
    compare(&name, backwards.grid.columns, &backwards.vectors, &output.vectors);
}

fn compare(name: &str, columns: usize, expected: &[MotionVector], found: &[MotionVector]) {
    for (index, (expected, found)) in expected.iter().zip(found).enumerate() {
        assert_eq!(expected, found, "block {}, {} of {name}", index % columns, index / columns);
    }
}

/// Compares a session with the oracle on `case`: both frames in both roles.
///
/// # Panics
/// If a vector or a cost differs.
pub fn check_session(case: &Case, devices: Vec<WeightedDevice>, options: Options) {
    let mut session = Session::new(&case.parameters, 1, devices, options).unwrap();
    let frames = [case.reference.clone(), padded(&case.current, 13), case.reference.clone()];
    let mut slots = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        slots.push(session.add_frame(frame.clone()).unwrap());
        if index == 0 {
            continue;
        }
        session.start_search(slots[index], slots[index - 1], ()).unwrap();
        let ((), output) = session.finish_search().unwrap();
        let expected = oracle::search(&case.parameters, &frame.view(), &frames[index - 1].view());
        let name = format!("{} on {}", session.device(), case.name);
        compare(&name, expected.grid.columns, &expected.vectors, &output.vectors);
    }
}

/// Compares a session with the oracle on a stream of `frames`, with as many searches in flight as it allows,
/// and what it predicts.
///
/// # Panics
/// If a vector, a cost or a predictor differs.
pub fn check_stream(session: &mut Session<usize>, frames: &[Frame]) {
    let name = format!("{} {}, depth {}", session.kernel(), session.device(), session.depth());
    let finish = |session: &mut Session<usize>, expected_index: usize| {
        let (index, output) = session.finish_search().expect(&name);
        assert_eq!(index, expected_index, "{name}");
        let [current, reference] = [index, index - 1].map(|index| frames[index].view());
        let expected = oracle::search(session.parameters(), &current, &reference);
        compare(&name, expected.grid.columns, &expected.vectors, &output.vectors);
        let is_predicting = session.parameters().prediction == Prediction::Median;
        let predictors = is_predicting.then(|| median_predictors(expected.grid, &expected.vectors));
        assert_eq!(output.predictors.as_deref(), predictors.as_deref(), "{name}");
    };
    let mut finished = 0;
    let mut reference = None;
    for (index, frame) in frames.iter().enumerate() {
        // In turn with and without padding between the rows.
        let current = session.add_frame(padded(frame, index % 2 * 5)).expect(&name);
        if let Some(reference) = reference {
            session.start_search(current, reference, index).expect(&name);
            assert!(matches!(session.load_frame(current, frame.clone()), Err(EstimateError::SlotInUse(_))));
        }
        reference = Some(current);
        if session.in_flight() == session.depth() {
            let again = session.start_search(current, current, 0);
            assert!(matches!(again, Err(EstimateError::InFlight(n)) if n == session.depth()), "{name}");
            finished += 1;
            finish(session, finished);
        }
    }
    // What is cancelled leaves nothing behind.
    session.cancel();
    assert_eq!(session.in_flight(), 0);
    assert!(matches!(session.finish_search(), Err(EstimateError::NothingInFlight)));
    let last = frames.len() - 1;
    let [current, reference] =
        [last, last - 1].map(|index| session.add_frame(frames[index].clone()).expect(&name));
    session.start_search(current, reference, last).expect(&name);
    finish(session, last);
}

/// Compares a device with the oracle on a stream of `frames`, with as many searches in flight as it allows,
/// from its own memory and from other memory.
///
/// # Panics
/// If a vector or a cost differs.
pub fn check_in_flight(device: &mut dyn Device, frames: &[Frame]) {
    let (parameters, depth) = (device.info().parameters.clone(), device.info().depth);
    let name = format!("{} {}, depth {depth}", device.info().kernel, device.info().name);
    let mut output = Output::new(parameters.grid().blocks());
    let slots = device.info().slots;
    let request = |index: usize| Request {
        current: Slot::new(index % slots),
        reference: Slot::new((index - 1) % slots),
        part: Part::whole(&parameters),
        offset: -1,
    };
    let mut finish = |device: &mut dyn Device, (index, ticket): (usize, _)| {
        device.finish_search(ticket, &mut output).expect(&name);
        let [current, reference] = [index, index - 1].map(|index| frames[index].view());
        let expected = oracle::search(&parameters, &current, &reference);
        compare(&name, expected.grid.columns, &expected.vectors, &output.vectors);
    };
    let mut tickets = std::collections::VecDeque::new();
    for (index, frame) in frames.iter().enumerate() {
        // In turn: memory of any kind, the device's own, the same with padded rows. The test keeps no clone.
        let frame = match index % 3 {
            0 => frame.clone(),
            1 => in_memory_of(device, frame, 0),
            _ => in_memory_of(device, frame, 5),
        };
        device.load_frame(Slot::new(index % slots), &frame).expect(&name);
        if index == 0 {
            continue;
        }
        tickets.push_back((index, device.start_search(request(index)).expect(&name)));
        let current = request(index).current;
        assert!(matches!(device.load_frame(current, &frame), Err(EstimateError::SlotInUse(_))));
        if tickets.len() == depth {
            let again = device.start_search(request(index));
            assert!(matches!(again, Err(EstimateError::InFlight(n)) if n == depth), "{name}");
            let newest = tickets.back().unwrap().1;
            if depth > 1 {
                let early = device.finish_search(newest, &mut Output::new(parameters.grid().blocks()));
                assert!(matches!(early, Err(EstimateError::NothingInFlight)), "{name}");
            }
            finish(device, tickets.pop_front().unwrap());
        }
    }
    // What is cancelled leaves nothing behind.
    device.cancel();
    if let Some((_, ticket)) = tickets.front() {
        let cancelled = device.finish_search(*ticket, &mut Output::new(parameters.grid().blocks()));
        assert!(matches!(cancelled, Err(EstimateError::NothingInFlight)));
    }
    let last = frames.len() - 1;
    let ticket = device.start_search(request(last)).expect(&name);
    finish(device, (last, ticket));
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

/// Every part of `case` by itself, found by `device` and put together here.
pub fn check_parts(case: &Case, cut: Cut, device: &mut dyn Device) {
    let parameters = &case.parameters;
    let name = format!("{} cut by {cut:?} on {}", device.info().kernel, case.name);
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
                let view = frame.view();
                let sample = |x: usize, y: usize| match samples.contains(&y) {
                    true => view.sample(x as i32, y as i32),
                    false => (x * 7 + y * 3) as u16 & view.format().peak(),
                };
                Frame::deep_from_fn(view.format().depth(), view.size(), sample)
            };
            let compared = part.current_samples(parameters);
            let searched = part.reference_samples(parameters);
            let (current, reference) = (rows(&compared, &case.current), rows(&searched, &case.reference));
            device.load_frame(Slot::A, &reference.with_rows(searched)).expect(&name);
            device.load_frame(Slot::B, &current.with_rows(compared)).expect(&name);
            let mut output = Output::new(part.grid(parameters).blocks());
            let request = Request { current: Slot::B, reference: Slot::A, part, offset: -1 };
            let ticket = device.start_search(request).expect(&name);
            device.finish_search(ticket, &mut output).expect(&name);
            for (best, &other) in found[band.start * columns..].iter_mut().zip(&*output.vectors) {
                *best = best.better(other);
            }
        }
    }
    assert_eq!(found, expected.vectors, "{name}");
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
