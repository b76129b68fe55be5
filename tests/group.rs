//! A group of devices finds the very field of one, however the work is divided.
#![allow(missing_docs)]

mod common;

use common::{Case, cases, check, check_in_flight, stream, three_step_cases};
#[cfg(feature = "opencl")]
use gstmotionestimate::backend::{self, DeviceSelector};
#[cfg(feature = "opencl")]
use gstmotionestimate::estimator::{Border, Kernel, Metric, Tuning};
use gstmotionestimate::estimator::{
    Estimator, MotionVector, OrderKey, Parameters, Part, Prediction, Slot, Window, oracle,
};
use gstmotionestimate::group::{Device, Group, Options, Split};
use gstmotionestimate::native::Native;

const SPLITS: [Split; 3] = [Split::Rows, Split::Candidates, Split::Pictures];

fn divided(parameters: &Parameters) -> Parameters {
    Parameters { prediction: Prediction::None, ..parameters.clone() }
}

fn native(parameters: &Parameters, depth: usize) -> Box<dyn Estimator> {
    Box::new(Native::new(divided(parameters)).unwrap().with_depth(depth).unwrap())
}

/// Natives of these weights, as a group.
fn natives(parameters: &Parameters, depth: usize, weights: &[f64], split: Split) -> Group {
    let device = |&weight: &f64| Device { estimator: native(parameters, depth), weight };
    let devices = weights.iter().map(device).collect();
    Group::new(parameters, depth, devices, Options { split, ..Options::default() }).unwrap()
}

#[cfg(feature = "opencl")]
fn pocl(parameters: &Parameters, kernel: Kernel, depth: usize) -> Box<dyn Estimator> {
    let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
    backend::open(&DeviceSelector::Index(0, 0), kernel, &tuning, &divided(parameters)).unwrap().estimator
}

#[test]
fn natives_together_are_the_oracle() {
    for (index, case) in cases().into_iter().chain(three_step_cases()).enumerate() {
        let weights: &[f64] = [&[1.0][..], &[1.0, 1.0], &[0.3, 0.1, 5.0, 1.0], &[1.0; 9]][index % 4];
        let mut group = natives(&case.parameters, 1, weights, SPLITS[index / 4 % 3]);
        check(&case, &mut group);
    }
}

#[cfg(feature = "opencl")]
#[test]
fn opencl_and_native_together_are_the_oracle() {
    for (index, case) in cases().into_iter().chain(three_step_cases()).enumerate() {
        if index % 7 != 0 {
            continue;
        }
        let device = |estimator, weight| Device { estimator, weight };
        let devices = match index % 3 {
            0 => vec![
                device(pocl(&case.parameters, Kernel::Auto, 1), 1.0),
                device(native(&case.parameters, 1), 2.0),
            ],
            1 => vec![
                device(pocl(&case.parameters, Kernel::Auto, 1), 1.0),
                device(pocl(&case.parameters, Kernel::Auto, 1), 1.3),
            ],
            _ => vec![
                device(native(&case.parameters, 1), 1.0),
                device(pocl(&case.parameters, Kernel::Auto, 1), 1.0),
                device(native(&case.parameters, 1), 0.5),
            ],
        };
        let split = SPLITS[index / 7 % 3];
        let mut group =
            Group::new(&case.parameters, 1, devices, Options { split, ..Options::default() }).unwrap();
        check(&case, &mut group);
    }
}

/// Every part of `case` by itself, found by `estimator` and put together here.
fn check_parts(case: &Case, estimator: &mut dyn Estimator) {
    let (parameters, who) = (&case.parameters, format!("{} on {}", estimator.kernel(), case.name));
    let expected = oracle::search(parameters, &case.current.view(), &case.reference.view());
    let whole = Part::whole(parameters);
    let columns = expected.grid.columns;
    let rows = expected.grid.rows;
    let mut found = vec![MotionVector { x: 0, y: 0, cost: u32::MAX }; expected.vectors.len()];
    let mut bands = vec![(0..rows.div_ceil(3)), (rows.div_ceil(3)..rows)];
    bands.retain(|band| !band.is_empty());
    let (y0, y1) = (parameters.window.y0(), parameters.window.y1());
    let middle = (y0 + y1).div_euclid(2);
    let halves = [y0..=middle, middle + 1..=y1];
    for band in bands {
        for half in halves.iter().filter(|half| !half.is_empty()) {
            let mut part = whole.with_rows(band.clone());
            if whole.with_displacements(half.clone()).check(parameters).is_ok() {
                part = part.with_displacements(half.clone());
            }
            // What the part does not need is something else.
            let rows = |samples: std::ops::Range<usize>,
                        picture: &gstmotionestimate::estimator::PictureBuf| {
                gstmotionestimate::estimator::PictureBuf::from_fn(
                    parameters.width,
                    parameters.height,
                    |x, y| {
                        if samples.contains(&y) { picture.view().row(y)[x] } else { (x * 7 + y * 3) as u8 }
                    },
                )
            };
            let compared = part.current_samples(parameters);
            let searched = part.reference_samples(parameters);
            let (current, reference) =
                (rows(compared.clone(), &case.current), rows(searched.clone(), &case.reference));
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

#[test]
fn native_finds_every_part() {
    for case in cases().iter().chain(&three_step_cases()) {
        check_parts(case, native(&case.parameters, 1).as_mut());
    }
}

#[cfg(feature = "opencl")]
#[test]
fn every_kernel_finds_every_part() {
    for (index, case) in cases().iter().chain(&three_step_cases()).enumerate() {
        let kernels = Kernel::of(case.parameters.algorithm);
        let kernel = kernels[index % kernels.len()];
        // Each kernel takes every third of its cases.
        if !(index / kernels.len()).is_multiple_of(3) {
            continue;
        }
        if kernel == Kernel::ReferenceNaive && case.parameters.window.candidates() > 1024 {
            continue;
        }
        check_parts(case, pocl(&case.parameters, kernel, 1).as_mut());
    }
}

#[test]
fn several_in_flight() {
    let pictures = stream(61, 47, 12);
    let window = Window::symmetric(5, 4).unwrap();
    let parameters = Parameters { prediction: Prediction::Median, ..Parameters::new(61, 47, 8, window) };
    for split in SPLITS {
        for depth in [1, 2, 4] {
            let mut group = natives(&parameters, depth, &[1.0, 0.7], split);
            check_in_flight(&mut group, &pictures);
            check_in_flight(&mut group, &pictures[3..]);
        }
    }
}

#[cfg(feature = "opencl")]
#[test]
fn several_in_flight_on_opencl_and_native() {
    let pictures = stream(61, 47, 12);
    let window = Window::symmetric(5, 4).unwrap();
    let parameters =
        Parameters { metric: Metric::Ssd, border: Border::Restrict, ..Parameters::new(61, 47, 8, window) };
    for split in SPLITS {
        for depth in [1, 3] {
            let devices = vec![
                Device { estimator: native(&parameters, depth), weight: 1.0 },
                Device { estimator: pocl(&parameters, Kernel::Auto, depth), weight: 1.0 },
            ];
            let mut group =
                Group::new(&parameters, depth, devices, Options { split, ..Options::default() }).unwrap();
            check_in_flight(&mut group, &pictures);
        }
    }
}

#[cfg(feature = "opencl")]
#[test]
fn lists_of_devices_open() {
    let pictures = stream(61, 47, 5);
    let window = Window::symmetric(5, 4).unwrap();
    let parameters = Parameters { prediction: Prediction::Median, ..Parameters::new(61, 47, 8, window) };
    let open = |list: &str| {
        let Ok(device) = list.parse::<DeviceSelector>();
        backend::open(&device, Kernel::Auto, &Tuning::default(), &parameters)
    };
    for list in ["all", "0:0,native", "cpu@0.3,native@0.7", "native,", "native@2"] {
        check_in_flight(open(list).unwrap().estimator.as_mut(), &pictures);
    }
    for (list, part) in
        [("native,native", "twice"), ("cpu,0:0", "twice"), ("native,gpu", "gpu"), ("native,7:7", "7:7")]
    {
        let error = open(list).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
