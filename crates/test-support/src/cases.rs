//! Hostile cases: what every implementation of a search is put through.

use motion_search::estimator::{Algorithm, Border, Frame, Metric, Parameters, Quality, SubSample, Window};

use crate::frames::{Noise, deepened};

/// Two frames and what to find in them.
#[derive(Clone)]
pub struct Case {
    /// What messages call it.
    pub name: String,
    /// What is searched for.
    pub parameters: Parameters,
    /// The frame that is searched.
    pub reference: Frame,
    /// The frame whose blocks are searched for.
    pub current: Frame,
}

/// What the samples look like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Content {
    /// Every sample at random.
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

/// All of them.
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

/// `case` with samples of `depth` bits.
pub fn deep_case(case: Case, depth: u32) -> Case {
    // Flat frames and ties remain.
    let is_noisy = case.name.starts_with("Noise") || case.name.starts_with("Moved");
    let [reference, current] = [&case.reference, &case.current].map(|frame| deepened(frame, depth, is_noisy));
    let is_narrowed = case.parameters.algorithm == Algorithm::Hierarchical;
    // A part of the samples lies on either side of the levels.
    let (black, white) = if depth > 11 { (1 << (depth - 3), 3 << (depth - 2)) } else { (0, u16::MAX) };
    let [reference, current] = [reference, current].map(|frame| frame.with_levels(black, white));
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
