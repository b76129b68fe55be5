//! Median prediction, alone and by sessions on every device, against its definition.

use motion_search::backend::{self, Grouping};
use motion_search::estimator::prediction::median_predictors;
use motion_search::estimator::{
    EstimateError, Grid, MotionVector, Parameters, Prediction, Predictor, Window,
};
use motion_search::stages;
use motion_search::tuning::{Kernel, Tuning};
use proptest::prelude::*;
use test_support::{Noise, check_stream, stream};

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
    stages::median_predictors(grid, vectors, &mut found).unwrap();
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

#[test]
fn sessions_on_every_device_predict_as_defined() {
    let devices = backend::devices();
    assert!(
        !cfg!(feature = "opencl") || devices.len() > 1,
        "no OpenCL device: install one, for instance PoCL"
    );
    for (columns, rows) in GRIDS {
        let parameters = parameters(columns, rows, Prediction::Median);
        let frames = stream(parameters.width, parameters.height, 4);
        for device in &devices {
            let (kernel, tuning) = (Kernel::Auto, Tuning::default());
            let opened = backend::open(&device.selector, kernel, &tuning, Grouping::default(), &parameters);
            check_stream(&mut opened.unwrap().0, &frames);
        }
    }
}

#[test]
fn fields_of_another_size_are_errors() {
    let (mut room, vectors) = ([Predictor::default(); 6], [MotionVector::default(); 6]);
    let grid = Grid { columns: 3, rows: 2 };
    let result = stages::median_predictors(grid, &vectors[1..], &mut room);
    assert!(matches!(result, Err(EstimateError::FieldSize(5, 6))));
    let result = stages::median_predictors(grid, &vectors, &mut room[2..]);
    assert!(matches!(result, Err(EstimateError::FieldSize(4, 6))));
}
