//! The CPU's instruction sets, all through the same cases.

use motion_search::estimator::{
    Algorithm, Border, Device as _, EstimateError, Frame, Metric, Output, Parameters, Quality, SetupError,
    Slot, SubSample, Window, oracle, search,
};
use motion_search::native::{InstructionSetName, Native};
use motion_search::tuning::Kernel;
use proptest::prelude::*;
use test_support::{
    Case, Noise, cases, check_each, frames, hierarchical_cases, some_of, sub_sample_cases, three_step_cases,
};

fn native(parameters: &Parameters, (instruction_set, kernel): (InstructionSetName, Kernel)) -> Native {
    Native::with_kernel(parameters.clone(), kernel, instruction_set).unwrap()
}

/// Every instruction set of this CPU, with every kernel.
fn every_kernel(parameters: &Parameters) -> impl Iterator<Item = Native> {
    InstructionSetName::available().flat_map(|instruction_set| {
        Kernel::NATIVE.map(|kernel| native(parameters, (instruction_set, kernel)))
    })
}

/// Every instruction set of this CPU, with the kernel that is chosen for `parameters`.
fn every_instruction_set(parameters: &Parameters) -> impl Iterator<Item = Native> {
    InstructionSetName::available().map(|instruction_set| native(parameters, (instruction_set, Kernel::Auto)))
}

#[test]
fn every_instruction_set_finds_the_oracles_field() {
    assert_eq!(InstructionSetName::available().next(), Some(InstructionSetName::PLAINEST));
    for case in some_of(5, cases()) {
        check_each(&case, every_kernel(&case.parameters));
    }
}

#[test]
fn every_instruction_set_finds_the_oracles_field_of_deep_samples() {
    for case in some_of(5, test_support::deep(cases())) {
        check_each(&case, every_kernel(&case.parameters));
    }
}

/// What every kernel finds in frame after frame.
fn check_kernels(parameters: &Parameters, frames: &[Frame]) {
    check_kernels_of(InstructionSetName::available(), parameters, frames);
}

/// Every second instruction set of this CPU, in turn by `number`: elimination is one piece of code for all of them.
fn in_turn(number: usize) -> impl Iterator<Item = InstructionSetName> {
    InstructionSetName::available().skip(number % 2).step_by(2)
}

fn check_kernels_of(
    instruction_sets: impl Iterator<Item = InstructionSetName>,
    parameters: &Parameters,
    frames: &[Frame],
) {
    for instruction_set in instruction_sets {
        let mut estimators = Kernel::NATIVE.map(|kernel| native(parameters, (instruction_set, kernel)));
        let mut fields = [0, 1].map(|_| Output::new(parameters.grid().blocks()));
        let mut slot = Slot::A;
        for (index, frame) in frames.iter().enumerate() {
            for (estimator, field) in estimators.iter_mut().zip(&mut fields) {
                estimator.load_frame(slot, frame).unwrap();
                if index > 0 {
                    search(estimator, slot, slot.other(), field).unwrap();
                }
            }
            assert!(
                fields[0].vectors[..] == fields[1].vectors[..],
                "{instruction_set}, frame {index}, {parameters:?}"
            );
            slot = slot.other();
        }
    }
}

#[test]
fn elimination_finds_the_same_in_windows_that_are_searched_in_strips() {
    let (width, height) = (100, 150);
    let window = Window::new(-300, 190, -310, 300).unwrap();
    for (first, metric) in [Metric::Sad, Metric::Ssd].into_iter().enumerate() {
        for (second, content) in some_of(4, test_support::CONTENTS).enumerate() {
            let (reference, current) = frames(content, width, height);
            let parameters = Parameters { metric, ..Parameters::new(width, height, 16, window) };
            check_kernels_of(in_turn(first + second), &parameters, &[reference, current]);
        }
    }
}

/// A smooth frame, moved.
fn waves((width, height): (usize, usize), (left, up): (usize, usize)) -> Frame {
    Frame::from_fn(width, height, |x, y| {
        let (x, y) = ((x + left) as f64, (y + up) as f64);
        (127.0 + 60.0 * (x * 0.31).sin() + 60.0 * (y * 0.23 + x * 0.05).cos()) as u8
    })
}

/// The sums of a thread move as it goes down: several times here, and not by a whole number of times.
#[test]
fn elimination_finds_the_same_all_the_way_down() {
    let (width, height) = (70, 1150);
    let frames = [0, 1, 3].map(|shift| waves((width, height), (shift, 2 * shift)));
    for (metric, block_size) in [(Metric::Sad, 8), (Metric::Sad, 16), (Metric::Ssd, 16), (Metric::Sad, 32)] {
        for (y0, y1) in [(-3, 4), (-21, 18)] {
            let window = Window::new(-9, 7, y0, y1).unwrap();
            let parameters = Parameters { metric, ..Parameters::new(width, height, block_size, window) };
            check_kernels(&parameters, &frames);
        }
    }
}

#[test]
fn elimination_finds_the_same_where_it_pays_and_where_it_does_not() {
    let (width, height) = (144, 100);
    let moved = |shift: usize| waves((width, height), (3 * shift, 2 * shift));
    let mut noise = Noise::new(3);
    // Long enough that frames without a use for elimination make it pause, and that it goes on.
    let frames: Vec<_> = (0..60)
        .map(|index| match index {
            10..40 => Frame::from_fn(width, height, |_, _| noise.next()),
            40..44 => Frame::from_fn(width, height, |x, y| ((x / 8 + y / 8) % 2 * 90) as u8),
            _ => moved(index),
        })
        .collect();
    let cases = [(Metric::Sad, 8), (Metric::Sad, 16), (Metric::Ssd, 16), (Metric::Sad, 32)];
    for (number, (metric, block_size)) in some_of(4, cases).enumerate() {
        let parameters = Parameters {
            metric,
            ..Parameters::new(width, height, block_size, Window::symmetric(24, 19).unwrap())
        };
        match number {
            0 => check_kernels(&parameters, &frames),
            _ => check_kernels_of(in_turn(number), &parameters, &frames),
        }
    }
}

#[test]
fn every_instruction_set_finds_the_oracles_field_by_three_steps() {
    for case in some_of(5, three_step_cases()) {
        check_each(&case, every_instruction_set(&case.parameters));
    }
    for case in some_of(5, test_support::deep(three_step_cases())) {
        check_each(&case, every_instruction_set(&case.parameters));
    }
}

#[test]
fn every_instruction_set_finds_the_oracles_field_by_hierarchical_search() {
    for case in some_of(4, hierarchical_cases()) {
        check_each(&case, every_instruction_set(&case.parameters));
    }
    for case in some_of(5, test_support::deep(hierarchical_cases())) {
        check_each(&case, every_instruction_set(&case.parameters));
    }
}

#[test]
fn every_instruction_set_finds_the_oracles_sub_samples() {
    for case in some_of(7, sub_sample_cases()) {
        check_each(&case, every_instruction_set(&case.parameters));
    }
}

#[test]
fn every_instruction_set_finds_the_oracles_sub_samples_of_deep_samples() {
    for case in some_of(7, test_support::deep(sub_sample_cases())) {
        check_each(&case, every_instruction_set(&case.parameters));
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let (reference, current) = frames(test_support::Content::Moved, 150, 131);
    let window = Window::symmetric(9, 9).unwrap();
    let parameters = Parameters::new(150, 131, 8, window);
    let name = "threads".into();
    let case = Case { name, parameters, reference, current };
    for threads in [1, 2, 3, 8, 31] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| check_each(&case, every_kernel(&case.parameters)));
        let hierarchical = Parameters { algorithm: Algorithm::Hierarchical, ..case.parameters.clone() };
        let case = Case { parameters: hierarchical, name: "threads, hierarchical".into(), ..case.clone() };
        pool.install(|| check_each(&case, every_instruction_set(&case.parameters)));
    }
}

#[test]
fn slots_are_used_again_and_again() {
    let (width, height) = (90, 62);
    let window = Window::new(-12, 7, -3, 11).unwrap();
    let mut noise = Noise::new(7);
    let frames: Vec<_> = (0..20)
        .map(|turn| Frame::from_fn(width, height, |x, y| noise.next() / 4 + (x * 3 + y * turn) as u8 / 2))
        .collect();
    for border in [Border::Extend, Border::Restrict] {
        let parameters = Parameters { border, ..Parameters::new(width, height, 12, window) };
        let search_oracle = |pair: &[Frame]| oracle::search(&parameters, &pair[1].view(), &pair[0].view());
        let expected: Vec<_> = frames.windows(2).map(search_oracle).collect();
        for mut estimator in every_kernel(&parameters) {
            let name = format!("{} {}", estimator.info().kernel, estimator.info().name);
            let mut slot = Slot::A;
            estimator.load_frame(slot, &frames[0]).unwrap();
            for (turn, (pair, expected)) in (1..).zip(frames.windows(2).zip(&expected)) {
                slot = slot.other();
                estimator.load_frame(slot, &pair[1]).unwrap();
                let mut found = Output::new(expected.vectors.len());
                // Twice, as a search must leave the frames as they were.
                for _ in 0..2 {
                    search(&mut estimator, slot, slot.other(), &mut found).unwrap();
                    assert_eq!(found.vectors[..], expected.vectors, "{name} {border:?}, frame {turn}");
                }
                assert_eq!(estimator.unload_frame(slot.other()).unwrap().as_ref(), Some(&pair[0]));
            }
        }
    }
}

#[test]
fn what_cannot_be_searched_is_an_error() {
    let window = Window::symmetric(4, 4).unwrap();
    let parameters = Parameters::new(32, 32, 16, window);
    let made = |change: fn(&mut Parameters)| {
        let mut parameters = parameters.clone();
        change(&mut parameters);
        Native::new(parameters).err()
    };
    assert!(matches!(made(|p| p.block_size = 18), Some(SetupError::BlockSize { size: 18, .. })));
    assert!(matches!(made(|p| p.block_size = 68), Some(SetupError::BlockSize { size: 68, .. })));
    assert!(matches!(made(|p| p.width = 0), Some(SetupError::FrameSize { .. })));
    assert!(matches!(made(|p| p.height = 40_000), Some(SetupError::FrameSize { .. })));
    let refined = made(|p| (p.algorithm, p.sub_sample) = (Algorithm::Hierarchical, SubSample::Half));
    assert!(matches!(refined, Some(SetupError::SubSample { sub_sample: "half" })), "{refined:?}");

    let mut native = Native::new(parameters).unwrap();
    let mut output = Output::new(4);
    let frame = |side| Frame::from_fn(side, side, |_, _| 9);
    let (a, b) = (Slot::A, Slot::B);
    assert!(matches!(search(&mut native, a, b, &mut output), Err(EstimateError::EmptySlot(0))));
    assert_eq!(native.unload_frame(a).unwrap(), None);
    native.load_frame(a, &frame(32)).unwrap();
    assert!(matches!(search(&mut native, a, b, &mut output), Err(EstimateError::EmptySlot(1))));
    native.load_frame(b, &frame(32)).unwrap();
    let mut short = Output::new(3);
    assert!(matches!(search(&mut native, a, b, &mut short), Err(EstimateError::FieldSize(3, 4))));
    assert!(matches!(native.load_frame(b, &frame(33)), Err(EstimateError::FrameSize(33, 33, 32, 32))));
    assert!(matches!(search(&mut native, a, b, &mut output), Err(EstimateError::EmptySlot(1))));
}

prop_compose! {
    fn any_parameters()(
        (width, height) in (1..90_usize, 1..90_usize),
        block_size in (1..=16_usize).prop_map(|quarter| quarter * 4),
        (x0, x1, y0, y1) in (-40..=0, 0..=40, -20..=0, 0..=20),
        (is_sad, is_extended) in (any::<bool>(), any::<bool>()),
        algorithm in proptest::sample::select(&[Algorithm::Full, Algorithm::ThreeStep, Algorithm::Hierarchical]),
        quality in proptest::sample::select(&[Quality::Fast, Quality::Balanced, Quality::High]),
        sub_sample in proptest::sample::select(&[SubSample::None, SubSample::Half, SubSample::Quarter]),
    ) -> Parameters {
        let block_size = match algorithm {
            Algorithm::Hierarchical => block_size.next_power_of_two(),
            _ => block_size,
        };
        Parameters {
            algorithm,
            quality,
            sub_sample: if algorithm == Algorithm::Hierarchical { SubSample::None } else { sub_sample },
            metric: if is_sad { Metric::Sad } else { Metric::Ssd },
            border: if is_extended { Border::Extend } else { Border::Restrict },
            ..Parameters::new(width, height, block_size, Window::new(x0, x1, y0, y1).unwrap())
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_parameters_give_the_oracles_field(
        parameters in any_parameters(),
        content in proptest::sample::select(&test_support::CONTENTS),
        depth in proptest::sample::select(&[8, 8, 10, 16]),
    ) {
        let (reference, current) = frames(content, parameters.width, parameters.height);
        let case = Case { name: format!("{content:?} {parameters:?}"), parameters, reference, current };
        let most = if case.parameters.metric_of_costs() == Metric::Ssd { 10 } else { 16 };
        let case = test_support::deep_case(case, depth.min(most));
        if case.parameters.algorithm == Algorithm::Full {
            check_each(&case, every_kernel(&case.parameters));
        } else {
            check_each(&case, every_instruction_set(&case.parameters));
        }
    }
}
