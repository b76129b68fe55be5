//! Prediction by every estimator there is, against its definition.
#![allow(missing_docs)]

mod common;

use common::{Content, Noise, frames};
use gstmotionestimate::backend;
use gstmotionestimate::estimator::prediction::median_predictors;
use gstmotionestimate::estimator::{
    EstimateError, Estimator, Grid, Kernel, MotionVector, Parameters, Prediction, Predictor, Slot, Tuning,
    Window,
};
use gstmotionestimate::native::{self, Level, Native};
use proptest::prelude::*;

/// Grids with every kind of block, and with few of them.
const GRIDS: [(usize, usize); 14] = [
    (1, 1),
    (1, 2),
    (2, 1),
    (1, 9),
    (9, 1),
    (2, 2),
    (2, 7),
    (7, 2),
    (3, 3),
    (3, 5),
    (5, 3),
    (16, 4),
    (17, 13),
    (65, 33),
];

/// Vectors with the largest and smallest components there are among them.
fn vectors(grid: Grid, seed: u32) -> Vec<MotionVector> {
    let mut noise = Noise::new(seed);
    let mut component = || match noise.next() % 8 {
        0 => i16::MIN,
        1 => i16::MAX,
        2 => 0,
        _ => i16::from_ne_bytes([noise.next(), noise.next()]),
    };
    (0..grid.blocks())
        .map(|index| MotionVector { x: component(), y: component(), cost: index as u32 })
        .collect()
}

fn check_native(grid: Grid, vectors: &[MotionVector]) {
    let mut found = vec![Predictor { x: 77, y: -77 }; grid.blocks()];
    native::median_predictors(grid, vectors, &mut found).unwrap();
    assert!(found == median_predictors(grid, vectors), "{grid:?}");
}

#[test]
fn many_at_once_are_the_definitions() {
    for (columns, rows) in GRIDS.into_iter().chain([
        (480, 270),
        (129, 3),
        (130, 3),
        (131, 2),
        (258, 2),
        (1, 8192),
        (8192, 2),
        (0, 0),
        (0, 3),
    ]) {
        let grid = Grid { columns, rows };
        check_native(grid, &vectors(grid, (columns + 1000 * rows) as u32));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_grid_is_predicted(columns in 1..40_usize, rows in 1..40_usize, seed in any::<u32>()) {
        let grid = Grid { columns, rows };
        check_native(grid, &vectors(grid, seed));
    }
}

fn parameters(columns: usize, rows: usize, prediction: Prediction) -> Parameters {
    // The last blocks are not whole.
    let window = Window::symmetric(5, 3).unwrap();
    Parameters { prediction, ..Parameters::new(4 * columns - 1, 4 * rows - 2, 4, window) }
}

/// Searches noise both ways, so that vectors go everywhere, and compares the predictors.
fn check(estimator: &mut dyn Estimator) {
    let p = estimator.parameters().clone();
    let who = format!("{} {} {p:?}", estimator.device(), estimator.kernel());
    let grid = p.grid();
    let (reference, current) = frames(Content::Noise, p.width, p.height);
    estimator.load(Slot::A, &reference.view()).expect(&who);
    estimator.load(Slot::B, &current.view()).expect(&who);
    let mut vectors = vec![MotionVector::default(); grid.blocks()];
    let mut found = vec![Predictor { x: 77, y: -77 }; grid.blocks()];
    for slot in [Slot::A, Slot::B] {
        estimator.search(slot, &mut vectors).expect(&who);
        // Twice, and after the caller has changed what is the caller's.
        let expected = median_predictors(grid, &vectors);
        vectors.fill(MotionVector { x: 1, y: 2, cost: 3 });
        for _ in 0..2 {
            estimator.predict(&mut found).expect(&who);
            assert!(found == expected, "{who}");
            found.fill(Predictor { x: 77, y: -77 });
        }
    }
}

/// An estimator on every device there is, by every instruction set of the CPU.
fn estimators(parameters: &Parameters) -> Vec<Box<dyn Estimator>> {
    let mut all: Vec<Box<dyn Estimator>> = Vec::new();
    for level in Level::available() {
        all.push(Box::new(Native::with_level(parameters.clone(), level).unwrap()));
    }
    let devices = backend::devices();
    assert!(
        !cfg!(feature = "opencl") || devices.len() > 1,
        "no OpenCL device: install one, for instance PoCL"
    );
    for device in &devices[1..] {
        for kernel in [Kernel::Reference, Kernel::CollaborativeUnaligned] {
            all.push(
                backend::open(&device.selector, kernel, &Tuning::default(), parameters).unwrap().estimator,
            );
        }
    }
    all
}

#[test]
fn every_estimator_predicts_as_defined() {
    for (columns, rows) in GRIDS {
        for mut estimator in estimators(&parameters(columns, rows, Prediction::Median)) {
            check(estimator.as_mut());
        }
    }
}

#[test]
fn wrong_use_is_an_error() {
    let mut room = [Predictor::default(); 6];
    let mut vectors = [MotionVector::default(); 6];
    let (frame, _) = frames(Content::Noise, 11, 6);
    for mut estimator in estimators(&parameters(3, 2, Prediction::None)) {
        estimator.load(Slot::A, &frame.view()).unwrap();
        estimator.load(Slot::B, &frame.view()).unwrap();
        estimator.search(Slot::A, &mut vectors).unwrap();
        assert!(matches!(estimator.predict(&mut room), Err(EstimateError::NotPredicting)));
    }
    for mut estimator in estimators(&parameters(3, 2, Prediction::Median)) {
        assert!(matches!(estimator.predict(&mut room), Err(EstimateError::NoField)));
        estimator.load(Slot::A, &frame.view()).unwrap();
        assert!(estimator.search(Slot::A, &mut vectors).is_err());
        assert!(matches!(estimator.predict(&mut room), Err(EstimateError::NoField)));
        estimator.load(Slot::B, &frame.view()).unwrap();
        estimator.search(Slot::A, &mut vectors).unwrap();
        assert!(matches!(estimator.predict(&mut room[1..]), Err(EstimateError::FieldSize(5, 6))));
        estimator.predict(&mut room).unwrap();
        // A search that fails leaves nothing to predict.
        assert!(estimator.search(Slot::A, &mut vectors[1..]).is_err());
        assert!(matches!(estimator.predict(&mut room), Err(EstimateError::NoField)));
    }
    let grid = Grid { columns: 3, rows: 2 };
    let result = native::median_predictors(grid, &vectors[1..], &mut room);
    assert!(matches!(result, Err(EstimateError::FieldSize(5, 6))));
    let result = native::median_predictors(grid, &vectors, &mut room[2..]);
    assert!(matches!(result, Err(EstimateError::FieldSize(4, 6))));
}
