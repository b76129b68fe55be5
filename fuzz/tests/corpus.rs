//! The fuzz targets over the corpus that is kept: every input that once found a fault, and those that cover most.
//! With OpenCL alone: one of them reads the tables of its devices.
#![cfg(feature = "opencl")]

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use motion_fuzz::{TARGETS, setup};
use test_support::gstreamer::leaks;

/// No input takes a second. What takes this long, on a busy machine too, hangs.
const LONGEST: Duration = Duration::from_secs(120);

/// The inputs of the target `name`, by their names.
fn inputs(name: &str) -> Vec<(String, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/{name}.tar.zst"));
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut archive = tar::Archive::new(zstd::Decoder::new(file).expect("a packed file"));
    let entries = archive.entries().expect("an archive").map(|entry| {
        let mut entry = entry.expect("an entry");
        let (name, mut input) = (entry.path().expect("a name").display().to_string(), Vec::new());
        entry.read_to_end(&mut input).expect("an input");
        (name, input)
    });
    entries.collect()
}

fn check(name: &'static str) {
    let (_, target) = TARGETS.into_iter().find(|(known, _)| *known == name).expect("a target");
    let inputs = inputs(name);
    assert!(inputs.len() >= 10, "the corpus of {name} has only {} inputs", inputs.len());
    leaks::check_at_exit();
    let (done, results) = mpsc::channel();
    // A panic ends the process: it is not one of the test alone, but of an element's.
    std::thread::spawn(move || {
        for (input_name, input) in inputs {
            setup::now_running(&format!("{name}/{input_name}"));
            target(&input);
            done.send(Some(input_name)).expect("the test waits");
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
fn records() {
    check("records");
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
