//! Commands that are never done, and calls that never return. A device may be silent for ten seconds, so these cases run
//! beside each other.

use super::cases::{Bench, Case, Judged, LIMIT, Setting, report};
use super::failing::{ALONE, LIST, MADE, is_long, strict};
use super::worker::Phase;
use std::sync::Mutex;

/// Cases beside each other: they sleep.
const BESIDE: usize = 12;

/// Runs the `cases` that `wanted` chooses with a fault of this kind.
fn check(name: &str, setting: Setting, kind: &str, wanted: impl Fn(&Case) -> bool) {
    let bench = Bench::new(setting);
    let cases: Vec<Case> = bench.cases(!is_long()).into_iter().filter(wanted).collect();
    assert!(!cases.is_empty());
    let (waiting, judged) = (Mutex::new(cases.clone()), Mutex::new(Vec::<Judged>::new()));
    std::thread::scope(|scope| {
        for _ in 0..BESIDE.min(cases.len()) {
            scope.spawn(|| {
                let mut worker = bench.other_worker();
                loop {
                    let Some(case) = waiting.lock().expect("no panic").pop() else { break };
                    let run = bench.faulty(&case, (kind, 0));
                    let ended = worker.run(&run, LIMIT);
                    judged.lock().expect("no panic").push(bench.judge(&run, ended));
                }
            });
        }
    });
    report(name, kind, judged.into_inner().expect("no panic"));
}

/// Whether it queues a command. A call that queues none blocks the thread that makes it.
fn is_command(case: &Case) -> bool {
    case.function.starts_with("clEnqueue")
}

/// Whether it is a late call of a function that queues commands: the first search may take a minute, later ones ten
/// seconds.
fn is_late_command(case: &Case) -> bool {
    case.number > 3 && is_command(case) && case.function != "clEnqueueMapBuffer"
}

#[test]
#[ignore = "takes long: the complete run has it"]
fn commands_of_a_device_alone() {
    check("alone", ALONE, "stall", |case| is_late_command(case) || (is_long() && is_command(case)));
}

#[test]
#[ignore = "takes long: the complete run has it"]
fn commands_of_a_device_alone_whose_failure_is_an_error() {
    let devices = "device=0:0 on-device-failure=error";
    check("alone-error", Setting { devices, allowed: strict, ..ALONE }, "stall", is_late_command);
}

#[test]
#[ignore = "takes long: the complete run has it"]
fn commands_of_a_device_of_a_list() {
    check("list", LIST, "stall", is_late_command);
}

#[test]
#[ignore = "takes long: the complete run has it"]
fn commands_that_make_frames() {
    check("interpolation", MADE, "stall", is_late_command);
}

/// Such a call holds up the thread that sets caps while a device is opened or closed, and the one that frees memory, which
/// is unmapped.
#[test]
#[ignore = "takes long: the complete run has it"]
fn calls_of_a_gpu_with_frames_in_flight() {
    let setting = Setting { devices: "device=gpu pipeline-depth=2", is_gpu: true, ..ALONE };
    let is_of_thread = |case: &Case| {
        is_late_command(case) && case.phase != Phase::SetUp && case.function != "clEnqueueUnmapMemObject"
    };
    check("gpu", setting, "block", is_of_thread);
}
