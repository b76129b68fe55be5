//! The costs of blocks besides those of their vectors: every instruction set, device and split computes those of the
//! oracle.

use motion_search::backend::{self, DeviceSelector, Grouping};
use motion_search::estimator::{
    Algorithm, CostKind, CostKinds, EstimateError, Frame, Metric, MotionVector, Output, Parameters, Quality,
    SetupError, SubSample, Window, oracle,
};
use motion_search::native::{InstructionSetName, Native};
use motion_search::session::{Options, Session, Split};
use motion_search::stages::{SearchedFrames, block_costs};
use motion_search::tuning::{Kernel, Tuning};
use proptest::prelude::*;
use test_support::{
    Case, Noise, cases, deep, hierarchical_cases, padded, some_of, stream, sub_sample_cases, three_step_cases,
};

/// Every kind that the algorithm has.
fn kinds_of(algorithm: Algorithm) -> CostKinds {
    let has_it = |kind: &CostKind| algorithm != Algorithm::Hierarchical || *kind != CostKind::Second;
    CostKind::ALL.into_iter().filter(has_it).collect()
}

/// Vectors of which some lead nowhere, some just outside the window, and some far outside the frame.
fn vectors(parameters: &Parameters, seed: u32) -> Vec<MotionVector> {
    let mut noise = Noise::new(seed);
    let mut component = |range: i32| {
        let units = range * parameters.algorithm.scale() + 3;
        let near = i32::from(noise.next()) * 256 + i32::from(noise.next());
        match noise.next() % 8 {
            0 => 0,
            1 => i16::MAX,
            2 => -i16::MAX,
            _ => (near % (2 * units + 1) - units) as i16,
        }
    };
    let window = parameters.window;
    let mut costs = Noise::new(!seed);
    let mut cost = || u32::from(costs.next()) << (costs.next() % 16);
    let vector = |_| MotionVector { x: component(window.x1()), y: component(-window.y0()), cost: cost() };
    (0..parameters.grid().blocks()).map(vector).collect()
}

fn apply(
    parameters: &Parameters,
    instruction_set: InstructionSetName,
    [current, reference]: [&Frame; 2],
    vectors: &[MotionVector],
) -> Result<Vec<u32>, EstimateError> {
    let mut output = Output::new(vectors.len());
    output.vectors.copy_from_slice(vectors);
    let frames = SearchedFrames { current: current.view(), reference: reference.view(), offset: -1 };
    block_costs(parameters, instruction_set).unwrap().apply(Some(frames), &mut output)?;
    Ok(output.costs.unwrap().to_vec())
}

/// Compares every instruction set with the oracle, with random vectors.
fn check(case: &Case, costs: CostKinds, seed: u32) {
    let parameters = Parameters { costs, ..case.parameters.clone() };
    let vectors = vectors(&parameters, seed);
    let (current, reference) = (&case.current, &padded(&case.reference, 5));
    let expected = oracle::costs(&parameters, &current.view(), &reference.view(), &vectors);
    for instruction_set in InstructionSetName::available() {
        let found = apply(&parameters, instruction_set, [current, reference], &vectors).unwrap();
        let block = expected.iter().zip(&found).position(|(a, b)| a != b).map(|at| at / costs.count());
        assert!(expected == found, "block {block:?} of {} on {instruction_set}, {costs:?}", case.name);
    }
}

fn check_all(cases: Vec<Case>) {
    for (index, case) in some_of(5, cases.iter().enumerate()) {
        check(case, kinds_of(case.parameters.algorithm), index as u32);
    }
}

/// Those whose index is `first`, and every `step`-th after it.
fn every(cases: Vec<Case>, first: usize, step: usize) -> Vec<Case> {
    cases.into_iter().skip(first).step_by(step).collect()
}

#[test]
fn every_instruction_set_is_the_oracle() {
    check_all(cases());
}

#[test]
fn of_other_algorithms_too() {
    check_all(every(three_step_cases(), 0, 7));
    check_all(every(sub_sample_cases(), 0, 13));
    check_all(hierarchical_cases());
}

#[test]
fn of_deep_samples_too() {
    check_all(deep(every(cases(), 0, 3)));
    check_all(deep(every(three_step_cases(), 2, 23)));
    check_all(deep(every(sub_sample_cases(), 1, 29)));
    check_all(deep(every(hierarchical_cases(), 0, 3)));
}

/// Each kind is computed without the others.
#[test]
fn every_set_of_kinds() {
    let case = &cases()[0];
    for set in 1..64 {
        let kinds = CostKind::ALL.into_iter().enumerate();
        let kinds = kinds.filter(|(index, _)| set >> index & 1 == 1).map(|(_, kind)| kind);
        check(case, kinds.collect(), set);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_size(
        (width, height) in (1..150_usize, 1..90_usize),
        block_size in (1..=16_usize).prop_map(|fours| 4 * fours),
        range in 0..9_i32,
        seed in any::<u32>(),
    ) {
        let mut noise = Noise::new(seed);
        // Samples without middle values, whose transforms are large.
        let mut frame = || Frame::from_fn(width, height, |_, _| if noise.next() > 99 { 255 } else { noise.next() / 16 });
        let (reference, current) = (frame(), frame());
        let parameters = Parameters::new(width, height, block_size, Window::symmetric(range, range).unwrap());
        let name = format!("{parameters:?}");
        check(&Case { name, parameters, reference, current }, CostKind::ALL.into_iter().collect(), seed);
    }
}

/// Runs `frames` through a session, as many in flight as it allows, and compares vectors and costs with the oracle.
fn check_session(session: &mut Session<usize>, frames: &[Frame]) {
    let parameters = session.parameters().clone();
    let name = format!("{} {}, depth {}", session.kernel(), session.device(), session.depth());
    let finish = |session: &mut Session<usize>| {
        let (index, output) = session.finish_search().expect(&name);
        let [current, reference] = [index, index - 1].map(|index| frames[index].view());
        let expected = oracle::search(&parameters, &current, &reference).vectors;
        assert!(expected == *output.vectors, "{name}");
        let costs = oracle::costs(&parameters, &current, &reference, &expected);
        assert!(Some(&costs[..]) == output.costs.as_deref(), "costs of frame {index} on {name}");
    };
    let mut reference = None;
    for (index, frame) in frames.iter().enumerate() {
        let current = session.add_frame(padded(frame, index % 2 * 5)).expect(&name);
        if let Some(reference) = reference {
            session.start_search(current, reference, index).expect(&name);
        }
        reference = Some(current);
        if session.in_flight() == session.depth() {
            finish(session);
        }
        // What upstream wants back is copied.
        if index == 2 {
            session.own_frames(0);
        }
    }
    (0..session.in_flight()).for_each(|_| finish(session));
}

#[test]
fn every_device_and_split_has_the_same() {
    let parameters = Parameters::new(93, 40, 12, Window::symmetric(6, 4).unwrap());
    let costs = CostKind::ALL.into_iter().collect();
    let full = Parameters { costs, ..parameters.clone() };
    let hierarchical = Parameters {
        algorithm: Algorithm::Hierarchical,
        quality: Quality::Fast,
        block_size: 8,
        costs: kinds_of(Algorithm::Hierarchical),
        ..parameters
    };
    let quarter = Parameters { sub_sample: SubSample::Quarter, ..full.clone() };
    let devices = backend::devices();
    assert!(
        !cfg!(feature = "opencl") || devices.len() > 1,
        "no OpenCL device: install one, for instance PoCL"
    );
    let all = devices.iter().map(|device| device.selector.to_string()).collect::<Vec<_>>().join(",");
    let selectors = devices.into_iter().map(|device| device.selector);
    let selectors: Vec<_> = selectors.chain([all.parse().unwrap()]).collect();
    for parameters in [&full, &quarter, &hierarchical] {
        let frames = stream(parameters.width, parameters.height, 5);
        for selector in &selectors {
            let splits = [(Split::Rows, 1), (Split::Candidates, 3), (Split::Frames, 2)];
            let is_list = matches!(selector, DeviceSelector::Several(_));
            for (split, depth) in splits.into_iter().take(if is_list { 3 } else { 1 }) {
                let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
                let grouping = Grouping { split, ..Grouping::default() };
                let opened = backend::open(selector, Kernel::Auto, &tuning, grouping, parameters);
                check_session(&mut opened.unwrap().0, &frames);
            }
        }
    }
}

/// Deep frames, and those whose upper bits are searched.
#[test]
fn deep_frames_in_a_session() {
    let parameters = Parameters::new(61, 47, 16, Window::symmetric(5, 5).unwrap());
    let deep = |bits, algorithm| Parameters { bit_depth: bits, algorithm, ..parameters.clone() };
    let quarter = Parameters { sub_sample: SubSample::Quarter, ..deep(10, Algorithm::ThreeStep) };
    for parameters in [deep(10, Algorithm::Full), quarter, deep(8, Algorithm::Hierarchical)] {
        let parameters = Parameters { costs: kinds_of(parameters.algorithm), ..parameters };
        let frames: Vec<_> =
            stream(61, 47, 4).iter().map(|frame| test_support::deepened(frame, 10, true)).collect();
        let device = Native::new(parameters.clone()).unwrap().with_depth(2).unwrap();
        let devices = vec![(Box::new(device) as Box<dyn motion_search::estimator::Device>).into()];
        check_session(&mut Session::new(&parameters, 2, devices, Options::default()).unwrap(), &frames);
    }
}

#[test]
fn what_cannot_be_computed_is_an_error() {
    let parameters = Parameters::new(40, 30, 8, Window::symmetric(2, 2).unwrap());
    let second = Parameters { costs: [CostKind::Second].into_iter().collect(), ..parameters.clone() };
    let hierarchical = Parameters { algorithm: Algorithm::Hierarchical, ..second.clone() };
    let error = hierarchical.validate().unwrap_err();
    assert!(matches!(error, SetupError::SecondCost), "{error}");
    let text = error.to_string();
    assert!(text.contains("cost second") && text.contains("full or three-step"), "{text}");
    assert!(block_costs(&hierarchical, InstructionSetName::best()).is_err());

    let frame = |width, height| Frame::from_fn(width, height, |_, _| 0);
    let (right, wrong) = (frame(40, 30), frame(40, 31));
    let vectors = [MotionVector::default(); 20];
    let run =
        |frames, vectors: &[_]| apply(&second, InstructionSetName::best(), frames, vectors).unwrap_err();
    assert!(matches!(run([&right, &right], &vectors[1..]), EstimateError::FieldSize(19, 20)));
    assert!(matches!(run([&right, &wrong], &vectors), EstimateError::FrameSize(..)));
    assert!(matches!(run([&wrong, &right], &vectors), EstimateError::FrameSize(..)));
    let missing = block_costs(&second, InstructionSetName::best()).unwrap().apply(None, &mut Output::new(20));
    assert!(matches!(missing, Err(EstimateError::NoFrame)));
}

/// How far the texture and the noise of a frame are from those of its neighbours.
const MOVED: (i32, i32) = (3, 1);

/// Frame `time` of a texture that moves by [`MOVED`], beside a flat bar that stands still; both with noise.
fn panned(time: i32, noise: &mut Noise) -> Frame {
    let texture = |x: i32, y: i32| {
        let at = |x: i32, y: i32| {
            ((x / 6).wrapping_mul(0x2c1b_3c6d) ^ (y / 5).wrapping_mul(0x297a_2d39)) >> 9 & 127
        };
        (at(x, y) + at(x + 3, y) + at(x, y + 2)) / 3
    };
    Frame::from_fn(320, 192, |x, y| {
        let (right, down) = (x as i32 + 90 - time * MOVED.0, y as i32 + 90 - time * MOVED.1);
        let sample = if x < 112 { 90 } else { 50 + texture(right, down) };
        (sample + i32::from(noise.next() % 16) - 8) as u8
    })
}

/// In snow every vector is chance, whatever the block size, the window, the metric and the algorithm: few are trusted.
#[test]
fn noise_is_seldom_trusted() {
    let mut noise = Noise::new(11);
    let [reference, current] = [0, 1].map(|_| Frame::from_fn(192, 128, |_, _| noise.next()));
    let costs = [CostKind::Confidence].into_iter().collect();
    for algorithm in [Algorithm::Full, Algorithm::ThreeStep, Algorithm::Hierarchical] {
        for (side, range) in [(4, 2), (4, 6), (8, 4), (16, 8)] {
            for (metric, sub_sample) in [
                (Metric::Sad, SubSample::None),
                (Metric::Sad, SubSample::Quarter),
                (Metric::Ssd, SubSample::Half),
            ] {
                let sub_sample =
                    if algorithm == Algorithm::Hierarchical { SubSample::None } else { sub_sample };
                let parameters = Parameters::new(192, 128, side, Window::symmetric(range, range).unwrap());
                let parameters = Parameters { algorithm, costs, metric, sub_sample, ..parameters };
                let field = oracle::search(&parameters, &current.view(), &reference.view());
                let found =
                    apply(&parameters, InstructionSetName::best(), [&current, &reference], &field.vectors)
                        .unwrap();
                let trusted = found.iter().filter(|&&confidence| confidence >= CostKind::TRUSTED).count();
                // One in a thousand of 1536 blocks of 4, and what chance adds.
                let most = if side == 4 { 6 } else { 2 };
                assert!(trusted <= most, "{trusted} of {}: {parameters:?}", found.len());
            }
        }
    }
}

/// The rule of docs/jobs/what-moves.md for blocks that move, in a still scene whose light changes, and in one that moves.
#[test]
fn a_change_of_light_is_no_motion() {
    type Light = fn(f64) -> f64;
    let lights: [Light; 6] = [
        |s| s,
        |s| s + 40.0,
        |s| s - 30.0,
        |s| 0.75 * s,
        |s| 255.0 * (s / 255.0).powf(1.4),
        |s| 255.0 * (s / 255.0).powf(0.7),
    ];
    let scene = |time, light: Light, seed| {
        let frame = panned(time, &mut Noise::new(seed));
        let view = frame.view();
        Frame::from_fn(320, 192, |x, y| light(view.sample(x as i32, y as i32).into()).clamp(0.0, 255.0) as u8)
    };
    let wanted: CostKinds = [CostKind::Zero, CostKind::Satd, CostKind::Confidence].into_iter().collect();
    for algorithm in [Algorithm::Full, Algorithm::Hierarchical] {
        let moving = |current: &Frame, reference: &Frame| {
            let parameters = Parameters::new(320, 192, 16, Window::symmetric(8, 8).unwrap());
            let parameters = Parameters { algorithm, costs: wanted, ..parameters };
            let field = oracle::search(&parameters, &current.view(), &reference.view());
            let costs =
                apply(&parameters, InstructionSetName::best(), [current, reference], &field.vectors).unwrap();
            let moves = |(vector, costs): (&MotionVector, &[u32])| {
                let length = f64::from(vector.x).hypot(vector.y.into()) / f64::from(algorithm.scale());
                let [zero, satd, confidence] = costs.try_into().unwrap();
                length > 0.5 && 4 * satd < 3 * zero && confidence >= CostKind::TRUSTED
            };
            field.vectors.iter().zip(costs.chunks(3)).filter(|&block| moves(block)).count()
        };
        let still = scene(0, lights[0], 3);
        for (index, light) in lights.into_iter().enumerate() {
            let found = moving(&scene(0, light, 4), &still);
            assert!(found <= 2, "{algorithm:?}: {found} of 240 blocks in light {index}");
        }
        let found = moving(&scene(1, lights[0], 4), &still);
        assert!(found > 100, "{algorithm:?}: {found} of 156 blocks that move");
    }
}

/// The area under the curve: the probability that a right vector has more confidence than a wrong one.
fn area_under_the_curve(right: &[u32], wrong: &[u32]) -> f64 {
    let wins =
        |right: &u32| wrong.iter().map(|wrong| f64::from(1 + right.cmp(wrong) as i8) / 2.0).sum::<f64>();
    right.iter().map(wins).sum::<f64>() / (right.len() * wrong.len()) as f64
}

/// The vectors of the bar are chance, and have little confidence.
#[test]
fn confidence_tells_right_vectors_from_wrong_ones() {
    let mut noise = Noise::new(5);
    let [reference, current] = [0, 1].map(|time| panned(time, &mut noise));
    for algorithm in [Algorithm::Full, Algorithm::ThreeStep, Algorithm::Hierarchical] {
        let costs = [CostKind::Confidence].into_iter().collect();
        let parameters = Parameters::new(320, 192, 16, Window::symmetric(8, 8).unwrap());
        let parameters = Parameters { algorithm, costs, ..parameters };
        let field = oracle::search(&parameters, &current.view(), &reference.view());
        let found =
            apply(&parameters, InstructionSetName::best(), [&current, &reference], &field.vectors).unwrap();
        let (mut right, mut wrong) = (Vec::new(), Vec::new());
        for (index, (vector, confidence)) in field.vectors.iter().zip(found).enumerate() {
            let (column, row) = (index % field.grid.columns, index / field.grid.columns);
            // Not at the edges, and not where both meet.
            if [0, 7, 19].contains(&column) || row == 0 || row == field.grid.rows - 1 {
                continue;
            }
            let scale = algorithm.scale();
            let (x, y) = if column < 7 { (0, 0) } else { (-MOVED.0 * scale, -MOVED.1 * scale) };
            let off = (i32::from(vector.x) - x).abs().max((i32::from(vector.y) - y).abs());
            if off > scale { wrong.push(confidence) } else { right.push(confidence) }
        }
        assert!(right.len() > 50 && wrong.len() > 9, "{algorithm:?}: {} and {}", right.len(), wrong.len());
        let area = area_under_the_curve(&right, &wrong);
        let trusted = [&right, &wrong].map(|of| of.iter().filter(|&&confidence| confidence >= 64).count());
        assert!(area > 0.9, "{algorithm:?}: {area}");
        assert!(
            trusted[1] == 0 && 2 * trusted[0] > right.len(),
            "{algorithm:?}: {trusted:?} of {}",
            right.len()
        );
    }
}
