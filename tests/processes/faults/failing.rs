//! Calls that fail once, that fail for good, whose command fails, and that come late.

use super::cases::Verdict::{self, Continued, Error, Unnoticed};
use super::cases::{Bench, Case, Setting, report};
use super::worker::Phase;
use test_support::Extent;

const SEARCH: &str = "motionestimate block-size=8 search-range=5";

const HIERARCHICAL: &str = "motionestimate algorithm=hierarchical block-size=8";

const INTERPOLATE: &str = "motioninterpolate";

/// A device that the user names must start; later, the CPU goes on. At the start a kernel of the tuning tables that cannot
/// be used is a warning. Searches in flight are finished at the end.
fn named(phase: Phase) -> &'static [Verdict] {
    match phase {
        Phase::SetUp => &[Unnoticed, Continued, Error],
        Phase::Stream | Phase::End => &[Unnoticed, Continued],
    }
}

/// A failure is an error, whenever it comes.
pub fn strict(phase: Phase) -> &'static [Verdict] {
    match phase {
        Phase::SetUp => &[Unnoticed, Continued, Error],
        Phase::Stream | Phase::End => &[Unnoticed, Error],
    }
}

/// The CPU goes on, whenever it comes.
fn lenient(_: Phase) -> &'static [Verdict] {
    &[Unnoticed, Continued]
}

pub const ALONE: Setting = Setting {
    element: SEARCH,
    then: "",
    devices: "device=0:0",
    allowed: named,
    warnings: 1,
    is_gpu: false,
    pocl: "pthread",
    faulty: -1,
};

pub const LIST: Setting = Setting { devices: "device=0:0@1,native@1", ..ALONE };

pub const MADE: Setting = Setting {
    element: INTERPOLATE,
    then: "! video/x-raw,framerate=75/1",
    // What searches, and what makes frames, on the same device.
    warnings: 2,
    ..ALONE
};

const DENOISED: Setting = Setting {
    element: "motiondenoise",
    // What searches, and what averages, on the same device.
    warnings: 2,
    ..ALONE
};

/// Runs calls of the setting with each of `faults`: in the long form every call with every fault, else some of the ends of
/// each function's.
fn check(name: &str, setting: Setting, faults: &[(&str, i32)]) {
    let mut bench = Bench::new(setting);
    // Only CPU devices tell of a single launch that failed: see `Queue::new`.
    let is_told =
        |case: &Case, kind| !setting.is_gpu || (kind, &*case.function) != ("abort", "clEnqueueNDRangeKernel");
    let cases = bench.cases(!is_long());
    let all = cases.iter().flat_map(|case| faults.iter().map(move |fault| (case, *fault)));
    // No common factor with the number of faults, of which there are two or three: each has some of the functions.
    let step = if is_long() {
        1
    } else if Extent::is_complete() {
        7
    } else {
        11
    };
    // The settings begin at different ones: what one leaves out another has.
    let first = name.len() % step;
    let chosen: Vec<_> =
        all.filter(|(case, fault)| is_told(case, fault.0)).skip(first).step_by(step).collect();
    for &(kind, value) in faults {
        let with_fault = chosen.iter().filter(|(_, fault)| *fault == (kind, value));
        let judged = with_fault.map(|(case, fault)| bench.run(case, *fault)).collect();
        report(name, kind, judged);
    }
}

/// Whether every call is wanted.
pub fn is_long() -> bool {
    Extent::wanted() == Extent::Long
}

const EACH: [(&str, i32); 3] = [("fail", -5), ("lose", -5), ("abort", -5)];

#[test]
fn of_a_device_alone() {
    check("alone", ALONE, &EACH);
}

#[test]
fn of_a_device_alone_whose_failure_is_an_error() {
    let devices = "device=0:0 on-device-failure=error";
    check("alone-error", Setting { devices, allowed: strict, ..ALONE }, &EACH);
}

#[test]
fn of_a_device_with_frames_in_flight() {
    check("in-flight", Setting { devices: "device=0:0 pipeline-depth=4", ..ALONE }, &EACH);
}

#[test]
fn of_a_device_of_a_list() {
    check("list", LIST, &EACH);
}

#[test]
fn of_a_device_that_is_chosen() {
    let devices = "device=auto kernel=two-pass";
    check("auto", Setting { devices, allowed: lenient, ..ALONE }, &EACH);
}

#[test]
fn of_a_gpu() {
    check("gpu", Setting { devices: "device=gpu pipeline-depth=2", is_gpu: true, ..ALONE }, &EACH);
}

#[test]
#[ignore = "takes long: the complete run has it"]
fn of_hierarchical_search() {
    check("hierarchical", Setting { element: HIERARCHICAL, ..ALONE }, &EACH);
}

/// Of the kernels that only GPUs have, the frames are right.
#[test]
fn of_hierarchical_search_of_a_gpu() {
    let setting = Setting { element: HIERARCHICAL, devices: "device=gpu", is_gpu: true, ..ALONE };
    Bench::new(setting);
}

#[test]
#[ignore = "takes long: the complete run has it"]
fn of_made_frames() {
    check("interpolation", MADE, &EACH);
}

#[test]
#[ignore = "takes long: the complete run has it"]
fn of_denoised_frames() {
    check("denoising", DENOISED, &EACH);
}

/// No memory on the device, and a code that no standard has.
#[test]
#[ignore = "takes long: the complete run has it"]
fn with_other_codes() {
    check("codes", ALONE, &[("fail", -4), ("lose", -9999)]);
}

#[test]
#[ignore = "takes long: the complete run has it"]
fn of_one_of_two_devices() {
    let devices = "device=0:0,0:1";
    check(
        "second",
        Setting { devices, pocl: "pthread basic", faulty: 1, ..ALONE },
        &[("fail", -5), ("lose", -5)],
    );
}

/// A call that takes long is no failure.
#[test]
#[ignore = "takes long: the complete run has it"]
fn late() {
    check("late", Setting { allowed: |_| &[Unnoticed], ..LIST }, &[("delay", 100)]);
}
