//! A session on several devices finds the very field of one, however the work is divided.

use motion_search::backend::{self, DeviceSelector, Grouping};
#[cfg(feature = "opencl")]
use motion_search::estimator::{Border, Metric};
use motion_search::estimator::{Device, Notice, Parameters, Prediction, SubSample, Window};
use motion_search::native::{InstructionSetName, Native};
use motion_search::session::{Options, Session, Split, WeightedDevice};
use motion_search::tuning::{Kernel, Tuning};
use test_support::{
    Cut, cases, check_parts, check_session, check_stream, hierarchical_cases, some_of, stream,
    sub_sample_cases, three_step_cases,
};

const SPLITS: [Split; 3] = [Split::Rows, Split::Candidates, Split::Frames];

fn native(parameters: &Parameters, depth: usize) -> Box<dyn Device> {
    Box::new(Native::new(parameters.clone()).unwrap().with_depth(depth).unwrap())
}

/// Native devices of these weights.
fn natives(parameters: &Parameters, depth: usize, weights: &[f64]) -> Vec<WeightedDevice> {
    let device = |&weight: &f64| WeightedDevice { device: native(parameters, depth), weight };
    weights.iter().map(device).collect()
}

fn split(split: Split) -> Options {
    Options { split, ..Options::default() }
}

#[cfg(feature = "opencl")]
fn pocl(parameters: &Parameters, depth: usize) -> Box<dyn Device> {
    let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
    backend::open_device(&DeviceSelector::Index(0, 0), Kernel::Auto, &tuning, parameters).unwrap().0
}

#[test]
fn natives_together_are_the_oracle() {
    let all =
        cases().into_iter().chain(three_step_cases()).chain(hierarchical_cases()).chain(sub_sample_cases());
    for (index, case) in some_of(5, all.step_by(3)).enumerate() {
        let weights: &[f64] = [&[1.0][..], &[1.0, 1.0], &[0.3, 0.1, 5.0, 1.0], &[1.0; 9]][index % 4];
        check_session(&case, natives(&case.parameters, 1, weights), split(SPLITS[index / 4 % 3]));
    }
}

#[cfg(feature = "opencl")]
#[test]
fn opencl_and_native_together_are_the_oracle() {
    let all =
        cases().into_iter().chain(three_step_cases()).chain(hierarchical_cases()).chain(sub_sample_cases());
    // PoCL takes seconds to compile the kernels of some.
    for (index, case) in some_of(3, all.step_by(23)).enumerate() {
        let p = &case.parameters;
        let devices = match index % 3 {
            0 => vec![(pocl(p, 1), 1.0), (native(p, 1), 2.0)],
            1 => vec![(pocl(p, 1), 1.0), (pocl(p, 1), 1.3)],
            _ => vec![(native(p, 1), 1.0), (pocl(p, 1), 1.0), (native(p, 1), 0.5)],
        };
        let devices = devices.into_iter().map(|(device, weight)| WeightedDevice { device, weight });
        check_session(&case, devices.collect(), split(SPLITS[index / 3 % 3]));
    }
}

#[test]
fn native_finds_every_part() {
    let all = cases().into_iter().chain(three_step_cases()).chain(sub_sample_cases());
    for (index, case) in some_of(5, all.enumerate()) {
        let cut = [Cut::Rows, Cut::Candidates, Cut::Both][index % 3];
        check_parts(&case, cut, native(&case.parameters, 1).as_mut());
    }
}

#[test]
fn several_in_flight() {
    let frames = stream(61, 47, 12);
    let window = Window::symmetric(5, 4).unwrap();
    let whole = Parameters { prediction: Prediction::Median, ..Parameters::new(61, 47, 8, window) };
    for (by, sub_sample) in
        SPLITS.into_iter().flat_map(|by| [(by, SubSample::None), (by, SubSample::Quarter)])
    {
        let parameters = Parameters { sub_sample, ..whole.clone() };
        for depth in [1, 2, 4] {
            let devices = natives(&parameters, depth, &[1.0, 0.7]);
            let mut session = Session::new(&parameters, depth, devices, split(by)).unwrap();
            check_stream(&mut session, &frames);
            check_stream(&mut session, &frames[3..]);
        }
    }
}

#[cfg(feature = "opencl")]
#[test]
fn several_in_flight_on_opencl_and_native() {
    let frames = stream(61, 47, 12);
    let window = Window::symmetric(5, 4).unwrap();
    let whole =
        Parameters { metric: Metric::Ssd, border: Border::Restrict, ..Parameters::new(61, 47, 8, window) };
    for (by, sub_sample) in
        SPLITS.into_iter().flat_map(|by| [(by, SubSample::None), (by, SubSample::Quarter)])
    {
        let parameters = Parameters { sub_sample, ..whole.clone() };
        for depth in [1, 3] {
            let devices = vec![native(&parameters, depth).into(), pocl(&parameters, depth).into()];
            check_stream(&mut Session::new(&parameters, depth, devices, split(by)).unwrap(), &frames);
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
        let device: DeviceSelector = list.parse()?;
        backend::open(&device, Kernel::Auto, &Tuning::default(), Grouping::default(), &parameters)
    };
    for list in ["all", "0:0,native", "cpu@0.3,native@0.7", "native,", "native@2"] {
        check_stream(&mut open(list).unwrap().0, &frames);
    }
    let wrong =
        [("native,native", "twice"), ("cpu,cpu", "twice"), ("native,7:7", "7:7"), ("native,gpu", "gpu")];
    let has_gpu =
        crate::all_devices().iter().any(|device| device.kind == motion_search::opencl::DeviceKind::Gpu);
    for (list, part) in wrong.iter().filter(|(list, _)| !(has_gpu && list.contains("gpu"))) {
        let error = open(list).expect_err("an error").to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_kernel_that_gains_nothing_by_a_part_of_the_window_is_named() {
    let frames = stream(61, 47, 5);
    let parameters = Parameters::new(61, 47, 16, Window::symmetric(8, 8).unwrap());
    let grouping = Grouping { split: Split::Candidates, ..Grouping::default() };
    let notices = |list: &str, kernel: Kernel, grouping: Grouping| {
        let device: DeviceSelector = list.parse().unwrap();
        let opened = backend::open(&device, kernel, &Tuning::default(), grouping, &parameters);
        let mut session = opened.expect(list).0;
        let notices = session.take_notices();
        check_stream(&mut session, &frames);
        notices
    };
    let natives = |kernel: Kernel| {
        let native = || Native::with_kernel(parameters.clone(), kernel, InstructionSetName::best()).unwrap();
        let device = || WeightedDevice::from(Box::new(native()) as Box<dyn Device>);
        let mut session =
            Session::<()>::new(&parameters, 1, vec![device(), device()], split(Split::Candidates));
        session.as_mut().unwrap().take_notices()
    };
    assert_eq!(natives(Kernel::Exhaustive), []);
    let elimination = natives(Kernel::Elimination);
    assert!(
        matches!(&elimination[..], [Notice::Split(text), Notice::Split(_)] if text.contains("elimination")),
        "{elimination:?}"
    );
    // A device by itself has the whole window.
    assert_eq!(notices("native,", Kernel::Elimination, grouping), []);
    let opened = backend::open::<()>(
        &"native,".parse().unwrap(),
        Kernel::Auto,
        &Tuning::default(),
        grouping,
        &parameters,
    );
    assert_eq!(opened.unwrap().0.kernel(), "elimination");
    #[cfg(feature = "opencl")]
    {
        assert_eq!(notices("0:0,native", Kernel::Auto, grouping), []);
        assert_eq!(notices("0:0,native", Kernel::Tiled, grouping), []);
        assert_eq!(notices("0:0,native", Kernel::Elimination, grouping).len(), 2);
        assert_eq!(notices("0:0,native", Kernel::Elimination, Grouping::default()), []);
    }
}
