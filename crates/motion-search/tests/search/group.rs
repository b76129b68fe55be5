//! A session on several devices finds the very field of one, however the work is divided.

use motion_search::backend::{self, DeviceSelector, Grouping};
#[cfg(feature = "opencl")]
use motion_search::estimator::{Border, Metric};
use motion_search::estimator::{Device, Notice, Parameters, Prediction, SubSample, Window};
use motion_search::native::{InstructionSetName, Native};
use motion_search::session::{Balance, Options, Session, Split, WeightedDevice};
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

/// Shares of single displacements, down to one of 1024, which are no whole rows of the window.
#[cfg(feature = "opencl")]
#[test]
fn candidates_are_divided_one_by_one() {
    let open = |kernel, parameters: &Parameters| {
        backend::open_device(&DeviceSelector::Index(0, 0), kernel, &Tuning::default(), parameters).unwrap().0
    };
    let frames = stream(70, 50, 2);
    for (border, window) in [
        (Border::Extend, Window::of_area(47, 16).unwrap()),
        (Border::Restrict, Window::new(-3, 7, -9, 2).unwrap()),
    ] {
        let parameters = Parameters { border, ..Parameters::new(70, 50, 16, window) };
        let all = window.candidates();
        for jobs in [1, 2, 31, window.columns() + 1, all / 2 + 5, all - 1] {
            for kernels in [
                [Kernel::CollaborativeNaive, Kernel::CollaborativeSamples],
                [Kernel::CollaborativeUnaligned, Kernel::Collaborative],
            ] {
                let devices = kernels.into_iter().zip([jobs, all - jobs]).map(|(kernel, weight)| {
                    WeightedDevice { device: open(kernel, &parameters), weight: weight as f64 }
                });
                let options = Options { balance: Balance::Static, ..split(Split::Candidates) };
                let mut session = Session::new(&parameters, 1, devices.collect(), options).unwrap();
                check_stream(&mut session, &frames);
                let done: Vec<f64> =
                    session.shares().iter().map(|device| device.share * all as f64).collect();
                assert_eq!(
                    [done[0].round(), done[1].round()],
                    [jobs as f64, (all - jobs) as f64],
                    "{kernels:?} of {all}"
                );
            }
        }
    }
}

/// A kernel that tries whole rows of the window gets whole rows, and the other device too.
#[cfg(feature = "opencl")]
#[test]
fn a_kernel_of_whole_rows_gets_whole_rows() {
    let window = Window::of_area(31, 16).unwrap();
    let parameters = Parameters::new(70, 50, 16, window);
    let tuning = Tuning { divides_window: true, ..Tuning::default() };
    let tiled =
        backend::open_device(&DeviceSelector::Index(0, 0), Kernel::Tiled, &tuning, &parameters).unwrap().0;
    let devices = [(tiled, 0.9), (exhaustive(&parameters), 0.1)];
    let devices = devices.map(|(device, weight)| WeightedDevice { device, weight });
    let options = Options { balance: Balance::Static, ..split(Split::Candidates) };
    let mut session = Session::new(&parameters, 1, devices.into(), options).unwrap();
    check_stream(&mut session, &stream(70, 50, 3));
    let shares: Vec<f64> = session.shares().iter().map(|device| device.share * 16.0).collect();
    assert_eq!([shares[0].round(), shares[1].round()], [14.0, 2.0]);
}

/// Native, without elimination, which needs the whole window.
fn exhaustive(parameters: &Parameters) -> Box<dyn Device> {
    let tuning = Tuning::default();
    backend::open_device(&DeviceSelector::Native, Kernel::Exhaustive, &tuning, parameters).unwrap().0
}
