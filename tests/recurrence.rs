//! Every form of the dependent recurrence on every OpenCL device, against the serial one.
#![cfg(feature = "opencl")]
#![allow(missing_docs)]

mod common;

use common::{Noise, all_devices};
use gstmotionestimate::estimator::recurrence::serial;
use gstmotionestimate::estimator::{Difference, EstimateError, Grid, MotionVector, SetupError};
use gstmotionestimate::opencl::{Device, Recurrence, RecurrenceForm};
use proptest::test_runner::{Config, TestRunner};

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

fn check(device: &Device, grid: Grid, form: RecurrenceForm) {
    let mut recurrence = Recurrence::new(device, grid, form).unwrap();
    assert_eq!(recurrence.form(), form);
    for is_wide in [true, false] {
        let vectors = vectors(grid, is_wide);
        let mut expected = vec![Difference::default(); grid.blocks()];
        serial(grid, &vectors, &mut expected).unwrap();
        let found = recurrence.run(&vectors).unwrap();
        assert!(found == expected, "{form} on {} of {grid:?}", device.name);
    }
}

#[test]
fn every_form_equals_the_serial_one() {
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
            for form in RecurrenceForm::ALL {
                check(&device, Grid { columns, rows }, form);
            }
        }
    }
}

/// Groups smaller than the diagonals, down to one item.
#[test]
fn small_groups_take_several_blocks_an_item() {
    for mut device in all_devices() {
        for largest_group in [1, 2, 7] {
            device.largest_group = largest_group;
            for form in RecurrenceForm::ALL {
                check(&device, Grid { columns: 21, rows: 34 }, form);
            }
        }
    }
}

#[test]
fn any_grid_is_computed() {
    let devices = all_devices();
    let run = |(columns, rows, form, device): (usize, usize, usize, usize)| {
        check(&devices[device], Grid { columns, rows }, RecurrenceForm::ALL[form]);
        Ok(())
    };
    let config = Config { cases: 60, failure_persistence: None, ..Config::default() };
    let strategy = (1_usize..90, 1_usize..90, 0..RecurrenceForm::ALL.len(), 0..devices.len());
    TestRunner::new(config).run(&strategy, run).unwrap();
}

#[test]
fn the_steps_by_themselves_do_the_same() {
    let grid = Grid { columns: 20, rows: 11 };
    let vectors = vectors(grid, false);
    let mut expected = vec![Difference::default(); grid.blocks()];
    serial(grid, &vectors, &mut expected).unwrap();
    for device in all_devices() {
        for form in RecurrenceForm::ALL {
            let mut recurrence = Recurrence::new(&device, grid, form).unwrap();
            let mut found = vec![Difference::default(); grid.blocks()];
            assert!(matches!(recurrence.compute(), Err(EstimateError::NoField)));
            recurrence.upload(&vectors).unwrap();
            assert!(matches!(recurrence.download(&mut found), Err(EstimateError::NoField)));
            // Twice: what the first left on the device changes nothing.
            recurrence.compute().unwrap();
            recurrence.compute().unwrap();
            recurrence.download(&mut found).unwrap();
            assert_eq!(found, expected, "{form}");
            assert!(matches!(recurrence.upload(&vectors[1..]), Err(EstimateError::FieldSize(219, 220))));
            assert!(matches!(recurrence.download(&mut found[1..]), Err(EstimateError::FieldSize(219, 220))));
        }
    }
}

#[test]
fn grids_that_cannot_be_are_errors() {
    for mut device in all_devices() {
        for (columns, rows) in [(0, 0), (0, 5), (5, 0), (32769, 1), (1, usize::MAX)] {
            let error = Recurrence::new(&device, Grid { columns, rows }, RecurrenceForm::OneItem).err();
            assert!(matches!(error, Some(SetupError::FrameSize { .. })), "{error:?}");
        }
        device.largest_buffer = 100;
        let error = Recurrence::new(&device, Grid { columns: 5, rows: 5 }, RecurrenceForm::OneItem).err();
        assert!(matches!(error, Some(SetupError::Memory { needed: 200, limit: 100, .. })), "{error:?}");
    }
}
