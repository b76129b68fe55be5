//! The fuzz targets over the corpus that is kept: every input that once found a fault, and those that cover most.
//! With OpenCL alone: one of them reads the tables of its devices.
#![cfg(feature = "opencl")]
#![allow(missing_docs)]

#[path = "../fuzz/src/lib.rs"]
mod fuzz;
#[path = "start/leak_check.rs"]
mod leak_check;

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// No input takes a second. What takes this long, on a busy machine too, hangs.
const LONGEST: Duration = Duration::from_secs(120);

/// The inputs in the folder `name` of the corpus, by their names.
fn inputs(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut inputs: Vec<_> = entries
        .map(|entry| {
            let path = entry.expect("an entry").path();
            (path.display().to_string(), std::fs::read(&path).expect("a readable input"))
        })
        .collect();
    inputs.sort();
    inputs
}

fn check(name: &'static str) {
    let (_, target) = fuzz::TARGETS.into_iter().find(|(known, _)| *known == name).expect("a target");
    let inputs = inputs(name);
    assert!(inputs.len() >= 10, "the corpus of {name} has only {} inputs", inputs.len());
    leak_check::check_leaks();
    let (done, results) = mpsc::channel();
    // A panic ends the process: it is not one of the test alone, but of an element's.
    std::thread::spawn(move || {
        for (path, input) in inputs {
            fuzz::setup::now_running(&path);
            target(&input);
            done.send(Some(path)).expect("the test waits");
        }
        done.send(None).expect("the test waits");
    });
    let mut last = None;
    while let Some(path) = results.recv_timeout(LONGEST).unwrap_or_else(|_| panic!("hangs after {last:?}")) {
        last = Some(path);
    }
}

#[test]
fn frames() {
    check("frames");
}

#[test]
fn metas() {
    check("metas");
}

#[test]
fn settings() {
    check("settings");
}

#[test]
fn tuning() {
    check("tuning");
}

#[test]
fn orders() {
    check("orders");
}
