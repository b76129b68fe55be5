//! The prediction of the benchmark `papers`: Halldal's recurrence by hand, and every OpenCL form of it and
//! of the median on every device, compared with the definitions.

use motion_benches::papers::halldal::recurrence::serial;
use motion_search::estimator::prediction::median;
use motion_search::estimator::{Grid, MotionVector};

fn differences(grid: Grid, vectors: &[[i16; 2]]) -> Vec<[i16; 2]> {
    let vectors: Vec<_> = vectors.iter().map(|&[x, y]| MotionVector { x, y, cost: 1 }).collect();
    let mut found = vec![[-1; 2]; vectors.len()];
    serial(grid, &vectors, &mut found);
    found
}

#[test]
fn a_field_by_hand() {
    let grid = Grid { columns: 3, rows: 2 };
    let found = differences(grid, &[[4, -4], [9, 1], [-3, 2], [8, 8], [10, 0], [0, 5]]);
    // In the first row and the first column two of three are zero, and so is the median.
    assert_eq!(found[..4], [[4, -4], [9, 1], [-3, 2], [8, 8]]);
    // Medians of 8, 9, 4 and 8, 1, -4; then of 2, -3, 9 and -1, 2, 1.
    assert_eq!(found[4..], [[2, -1], [-2, 4]]);
}

#[test]
fn differences_wrap_and_the_vectors_come_back() {
    let grid = Grid { columns: 9, rows: 9 };
    let sign = |index: usize| if (index % 9 + index / 9).is_multiple_of(2) { 1 } else { -1 };
    let vectors: Vec<_> = (0..81).map(|index| [8000 * sign(index), -7000 * sign(index)]).collect();
    let found = differences(grid, &vectors);
    let diagonal: Vec<_> = (0..5).map(|index| i32::from(found[10 * index][0])).collect();
    assert_eq!(diagonal, [8000, 16000, 24000, 32000, 40000 - 65536]);
    let back = |index: usize, axis: usize| {
        let is_inside = !index.is_multiple_of(9) && index >= 9;
        let at = |back: usize| if is_inside { found[index - back][axis] } else { 0 };
        found[index][axis].wrapping_add(median(at(1), at(9), at(10)))
    };
    for (index, vector) in vectors.iter().enumerate() {
        assert_eq!([back(index, 0), back(index, 1)], *vector, "{index}");
    }
}

#[cfg(feature = "opencl")]
mod opencl {
    use motion_benches::papers::halldal::forms::{FieldPredictor, PredictionForm};
    use motion_search::estimator::prediction::median_predictors;
    use motion_search::opencl::{self, OpenClDevice};
    use proptest::test_runner::{Config, TestRunner};

    use test_support::{Noise, wanted_devices};

    use super::*;

    fn all_devices() -> Vec<OpenClDevice> {
        wanted_devices(opencl::devices(), |device| &device.name)
    }

    /// The forms of the recurrence, and the median.
    fn all_forms() -> impl Iterator<Item = PredictionForm> {
        PredictionForm::RECURRENCE.into_iter().chain([PredictionForm::Median])
    }

    /// Vectors of all 16 bits, so that differences wrap, or of a usual length.
    fn vectors(grid: Grid, is_wide: bool) -> Vec<MotionVector> {
        let mut noise = Noise::new((grid.columns + 1000 * grid.rows) as u32);
        let mut component = || {
            let bytes = [noise.next(), noise.next()];
            if is_wide { i16::from_ne_bytes(bytes) } else { 4 * i16::from(bytes[0] % 33) - 64 }
        };
        (0..grid.blocks())
            .map(|index| MotionVector { x: component(), y: component(), cost: index as u32 })
            .collect()
    }

    fn check(device: &OpenClDevice, grid: Grid, form: PredictionForm) {
        let predictor = FieldPredictor::new(device, grid, form).unwrap();
        for is_wide in [true, false] {
            let vectors = vectors(grid, is_wide);
            let expected = if form == PredictionForm::Median {
                median_predictors(grid, &vectors).into_iter().map(|p| [p.x, p.y]).collect()
            } else {
                let mut differences = vec![[0; 2]; grid.blocks()];
                serial(grid, &vectors, &mut differences);
                differences
            };
            let mut found = vec![[0; 2]; grid.blocks()];
            predictor.run(&vectors, &mut found).unwrap();
            assert!(found == expected, "{form} on {} of {grid:?}", device.name);
        }
    }

    #[test]
    fn every_form_is_exact() {
        let grids = [
            (1, 1),
            (1, 2),
            (2, 1),
            (1, 7),
            (7, 1),
            (2, 2),
            (3, 200),
            (200, 3),
            (65, 64),
            (301, 300),
            (480, 270),
        ];
        for device in all_devices() {
            for (columns, rows) in grids {
                all_forms().for_each(|form| check(&device, Grid { columns, rows }, form));
            }
        }
    }

    /// Groups smaller than the diagonals, down to one work-item.
    #[test]
    fn small_groups_take_several_blocks_per_item() {
        for mut device in all_devices() {
            for largest_group in [1, 2, 7] {
                device.largest_group = largest_group;
                all_forms().for_each(|form| check(&device, Grid { columns: 21, rows: 34 }, form));
            }
        }
    }

    #[test]
    fn any_grid_is_computed() {
        let devices = all_devices();
        let forms: Vec<_> = all_forms().collect();
        let run = |(columns, rows, form, device): (usize, usize, usize, usize)| {
            check(&devices[device], Grid { columns, rows }, forms[form]);
            Ok(())
        };
        let config = Config { cases: 24, failure_persistence: None, ..Config::default() };
        let strategy = (1_usize..90, 1_usize..90, 0..forms.len(), 0..devices.len());
        TestRunner::new(config).run(&strategy, run).unwrap();
    }

    /// Small enough for oclgrind's device.
    #[test]
    fn small_fields_are_exact() {
        for device in opencl::devices() {
            for (columns, rows) in [(1, 1), (1, 3), (7, 1), (9, 6), (70, 67)] {
                all_forms().for_each(|form| check(&device, Grid { columns, rows }, form));
            }
        }
    }
}
