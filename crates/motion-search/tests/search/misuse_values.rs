//! Misuse of the oracles and of what computes values. See `misuse`.

use std::time::Duration;

use motion_search::estimator::prediction::{median, median_predictors};
use motion_search::estimator::{
    Algorithm, Border, EstimateError, Grid, Metric, MotionVector, OrderKey, Output, Parameters, Part,
    Predictor, Quality, RecordPool, References, SetupError, Slot, StageTimes, SubSample, oracle,
};
use motion_search::session::{Balance, Split, divide};
use motion_search::stages;
use motion_search::tuning::{Kernel, Tuning};
use motion_search::{MotionSearch, MotionSearchBuilder, OnDeviceFailure};

use test_support::misuse::{VECTORS, deep, frame, parameters, small};
use test_support::{fails, panics};

#[test]
fn setters_of_the_builder() {
    type Change = fn(MotionSearchBuilder) -> MotionSearchBuilder;
    let refused: [Change; 5] = [
        |builder| builder.algorithm(Algorithm::Hierarchical).sub_sample(SubSample::Quarter),
        |builder| builder.algorithm(Algorithm::Hierarchical).block_size(12),
        |builder| builder.algorithm(Algorithm::Hierarchical).kernel(Kernel::Exhaustive),
        |builder| builder.metric(Metric::Ssd).bit_depth(11),
        |builder| builder.kernel(Kernel::Tiled),
    ];
    for (index, change) in refused.into_iter().enumerate() {
        assert!(change(MotionSearch::builder(16, 12).device("native")).build().is_err(), "change {index}");
    }
    // What has no effect without several devices or without hierarchical search is accepted.
    let accepted: [Change; 5] = [
        |builder| builder.split(Split::Candidates),
        |builder| builder.balance(Balance::Static),
        |builder| builder.on_device_failure(OnDeviceFailure::Error),
        |builder| builder.algorithm(Algorithm::Full).quality(Quality::Fast),
        |builder| builder.border(Border::Restrict).search_range(8000, 8000),
    ];
    for (index, change) in accepted.into_iter().enumerate() {
        let mut search = change(MotionSearch::builder(16, 12).device("native")).build().unwrap();
        assert!(search.search(&frame(), &frame()).is_ok(), "change {index}");
    }
}

#[test]
fn oracles_of_searches() {
    let (frame, small, p) = (frame(), small(), parameters());
    let no_blocks = Parameters { block_size: 0, ..parameters() };
    for (parameters, current) in [(&p, &small), (&no_blocks, &frame)] {
        panics("search", || oracle::search(parameters, &current.view(), &frame.view()));
        panics("full_search", || oracle::full_search(parameters, &current.view(), &frame.view()));
        panics("three_step", || oracle::three_step(parameters, &current.view(), &frame.view()));
        panics("hierarchical", || oracle::hierarchical(parameters, &current.view(), &frame.view()));
        panics("costs", || oracle::costs(parameters, &current.view(), &frame.view(), &VECTORS));
    }
    panics("search", || oracle::search(&p, &deep().view(), &frame.view()));
    panics("costs", || oracle::costs(&p, &frame.view(), &frame.view(), &[]));
    panics("cost", || oracle::cost(&p, &small.view(), &frame.view(), (0, 0), (0, 0)));
    panics("cost", || oracle::cost(&p, &frame.view(), &small.view(), (0, 0), (0, 0)));
    // Far outside, the edge samples repeat.
    let cost = |origin, displacement| oracle::cost(&p, &frame.view(), &frame.view(), origin, displacement);
    let ends = [i32::MIN, i32::MAX];
    for end in ends {
        assert_eq!(cost((end, end), (end, end)), 0);
    }
    let corners = frame.view().sample(0, 0).abs_diff(frame.view().sample(15, 11));
    assert_eq!(cost((100, 100), (i32::MIN, i32::MIN)), 64 * u32::from(corners));
}

#[test]
fn oracles_of_prediction() {
    let huge = Grid { columns: usize::MAX, rows: usize::MAX };
    fails("check", huge.check(&VECTORS), |error| matches!(error, EstimateError::FieldSize(4, usize::MAX)));
    panics("median_predictors", || median_predictors(huge, &VECTORS));
    let grid = Grid { columns: 2, rows: 2 };
    let mut predictors = [Predictor::default(); 4];
    let is_size = |error: &EstimateError| matches!(error, EstimateError::FieldSize(3, 4));
    fails("vectors", stages::median_predictors(grid, &VECTORS[1..], &mut predictors), is_size);
    fails("predictors", stages::median_predictors(grid, &VECTORS, &mut predictors[1..]), is_size);
    assert_eq!(median(i16::MAX, i16::MIN, i16::MIN), i16::MIN);
}

#[test]
fn records_and_keys() {
    let pool = RecordPool::<MotionVector>::default();
    panics("take", || pool.take(usize::MAX));
    panics("from_pool", || Output::from_pool(&pool, usize::MAX));
    panics("new", || Output::new(usize::MAX));
    assert!(pool.take(0).is_empty());
    let longest = StageTimes { upload: Duration::MAX, ..StageTimes::default() };
    assert_eq!(StageTimes::default().max(longest), longest);

    let ends = [i32::MIN, i32::MAX];
    for (x, y) in ends.into_iter().flat_map(|x| ends.map(|y| (x, y))) {
        let key = OrderKey::new(u32::MAX, x, y);
        assert_eq!((key.cost(), key.0 as u32), (u32::MAX, OrderKey::tie(x, y)));
        assert_eq!(MotionVector::from_samples(x, y, 7).cost, 7);
    }
    assert_eq!(OrderKey::WORST.vector().cost, u32::MAX);
    assert_eq!(Slot::new(usize::MAX).other(), Slot::A);
    let many = References { backward: usize::MAX, forward: usize::MAX };
    assert_eq!((many.is_usable(), many.count()), (false, usize::MAX));
}

#[test]
fn settings_and_their_parts() {
    let p = Parameters { border: Border::Restrict, ..parameters() };
    panics("window_of_block", || p.window_of_block(2, 0));
    panics("window_of_block", || p.window_of_block(0, usize::MAX));
    let no_blocks = Parameters { block_size: 0, ..parameters() };
    let whole = Part::whole(&p);
    panics("whole", || Part::whole(&no_blocks));
    panics("grid", || whole.grid(&no_blocks));
    panics("check", || whole.check(&no_blocks));
    let far = whole.with_rows(usize::MAX..usize::MAX);
    assert_eq!((far.current_samples(&p), far.reference_samples(&p)), (11..12, 11..12));
    let empty = Parameters { height: 0, ..parameters() };
    assert_eq!((whole.current_samples(&empty), whole.reference_samples(&empty)), (0..1, 0..1));
    // Levels the wrong way round are one level.
    assert_eq!(deep().with_levels(u16::MAX, 0).view().format().eight_bits(0), 0);

    let wrong = Tuning { depth: Some(usize::MAX), ..Tuning::default() };
    for tuning in [wrong.or(Tuning::default()), Tuning::default().or(wrong)] {
        fails("or", tuning.validate(), |error| matches!(error, SetupError::Count { .. }));
    }
    for algorithm in [Algorithm::Full, Algorithm::ThreeStep, Algorithm::Hierarchical] {
        assert!(!Kernel::of(algorithm).contains(&Kernel::Auto));
    }
}

#[test]
fn shares() {
    assert!(divide(usize::MAX, &[]).is_empty());
    assert_eq!(divide(7, &[f64::NAN, -1.0]), [7, 0]);
    assert_eq!(divide(usize::MAX, &[f64::MAX, f64::MAX]), [usize::MAX, 0]);
    for weights in [&[1.0, 1.0][..], &[1.0; 3], &[f64::MIN_POSITIVE, 1e300]] {
        let shares = divide(usize::MAX, weights);
        assert_eq!(shares.into_iter().map(|share| share as u128).sum::<u128>(), usize::MAX as u128);
    }
}
