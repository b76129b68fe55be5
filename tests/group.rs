//! A group of devices finds the very field of one, however the work is divided.
#![allow(missing_docs)]

mod common;

use common::{Cut, cases, check, check_in_flight, check_parts, stream, three_step_cases};
#[cfg(feature = "opencl")]
use gstmotionestimate::backend::{self, DeviceSelector};
#[cfg(feature = "opencl")]
use gstmotionestimate::estimator::{Border, Kernel, Metric, Tuning};
use gstmotionestimate::estimator::{Estimator, Parameters, Prediction, Window};
use gstmotionestimate::group::{Device, Group, Options, Split};
use gstmotionestimate::native::Native;

const SPLITS: [Split; 3] = [Split::Rows, Split::Candidates, Split::Frames];

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

#[test]
fn native_finds_every_part() {
    for case in cases().iter().chain(&three_step_cases()) {
        for cut in [Cut::Rows, Cut::Candidates, Cut::Both] {
            check_parts(case, cut, native(&case.parameters, 1).as_mut());
        }
    }
}

#[test]
fn several_in_flight() {
    let frames = stream(61, 47, 12);
    let window = Window::symmetric(5, 4).unwrap();
    let parameters = Parameters { prediction: Prediction::Median, ..Parameters::new(61, 47, 8, window) };
    for split in SPLITS {
        for depth in [1, 2, 4] {
            let mut group = natives(&parameters, depth, &[1.0, 0.7], split);
            check_in_flight(&mut group, &frames);
            check_in_flight(&mut group, &frames[3..]);
        }
    }
}

#[cfg(feature = "opencl")]
#[test]
fn several_in_flight_on_opencl_and_native() {
    let frames = stream(61, 47, 12);
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
            check_in_flight(&mut group, &frames);
        }
    }
}

#[cfg(feature = "opencl")]
#[test]
fn lists_of_devices_open() {
    let frames = stream(61, 47, 5);
    let window = Window::symmetric(5, 4).unwrap();
    let parameters = Parameters { prediction: Prediction::Median, ..Parameters::new(61, 47, 8, window) };
    let open = |list: &str| {
        let Ok(device) = list.parse::<DeviceSelector>();
        backend::open(&device, Kernel::Auto, &Tuning::default(), &parameters)
    };
    for list in ["all", "0:0,native", "cpu@0.3,native@0.7", "native,", "native@2"] {
        check_in_flight(open(list).unwrap().estimator.as_mut(), &frames);
    }
    for (list, part) in
        [("native,native", "twice"), ("cpu,0:0", "twice"), ("native,gpu", "gpu"), ("native,7:7", "7:7")]
    {
        let error = open(list).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
