//! A tuning file that is not as it should be.

use crate::launched::{Scratch, text};
use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A pipeline on OpenCL that writes its vectors to `name`, with settings in `scratch`.
fn command(scratch: &Scratch, devices: &str, name: &str, frames: u32) -> Command {
    let mut command = scratch.gst_search(frames, devices, name);
    command
        .env("G_DEBUG", "fatal_warnings")
        .env("XDG_CONFIG_HOME", scratch.path("config"))
        .env("POCL_CACHE_DIR", scratch.path("pocl"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

const FRAMES: u32 = 4;

/// The vectors that the CPU finds.
fn expected(scratch: &Scratch) -> String {
    vectors(
        scratch,
        &command(scratch, "device=native", "expected", FRAMES).output().expect("it runs"),
        "expected",
    )
}

/// The vectors in the file `name`, if all went well.
fn vectors(scratch: &Scratch, output: &Output, name: &str) -> String {
    let text = text(output);
    assert!(output.status.success() && !text.contains("WARNING"), "{text}");
    let vectors = fs::read_to_string(scratch.path(name)).expect("vectors");
    assert!(vectors.lines().count() > 90, "{text}");
    vectors
}

/// Waits for them all.
fn outputs(children: Vec<Child>) -> Vec<Output> {
    children.into_iter().map(|child| child.wait_with_output().expect("it ends")).collect()
}

/// The file is read when a device is opened: whole or half, valid or not, the vectors are right, and a file that is not
/// valid is a warning.
#[test]
#[ignore = "takes long: the complete run has it"]
fn a_tuning_file_that_is_replaced() {
    let scratch = Scratch::new("tuning");
    let expected = expected(&scratch);
    let folder = scratch.path("config/gst-plugin-motionestimate");
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("tuning.toml");
    let tables = [
        "[[entry]]\nkernel = \"two-pass\"\ntuning = { group-size = 32 }\n",
        "[[entry]]\nkernel = \"reference\"\n",
        "[[entry]]\nkernel = \"tiled\"\ntuning = { group-size = 999999 }\n",
        "[[entry]\nkernel = ",
        "",
        "\u{0}\u{1}",
    ];
    let is_over = AtomicBool::new(false);
    let warnings = |output: &Output| text(output).matches("WARNING").count();
    let found = std::thread::scope(|scope| {
        scope.spawn(|| {
            for table in tables.iter().cycle().take_while(|_| !is_over.load(Ordering::Relaxed)) {
                // In place: a reader may see half of it.
                let _ = fs::write(&file, table);
                std::thread::sleep(Duration::from_micros(500));
            }
        });
        let mut found: Vec<(String, Output)> = Vec::new();
        // It is chance which table a run reads: six pairs, and more until one has read a table that is wrong.
        for pair in 0..48 {
            if pair >= 6 && found.iter().any(|(_, output)| warnings(output) > 0) {
                break;
            }
            let names = [0, 1].map(|index| format!("found-{pair}-{index}"));
            let start = |name: &String| command(&scratch, "device=0:0", name, FRAMES).spawn();
            // A panic here would leave the other thread writing for ever.
            let Ok(children) = names.iter().map(start).collect() else { break };
            found.extend(names.into_iter().zip(outputs(children)));
        }
        is_over.store(true, Ordering::Relaxed);
        found
    });
    assert!(found.len() >= 12, "a run has not started");
    for (name, output) in &found {
        let text = text(output);
        assert!(output.status.success(), "{text}");
        let warnings = warnings(output);
        assert!(warnings <= 1 && text.matches("Tuning: ").count() >= warnings, "{text}");
        assert!(fs::read_to_string(scratch.path(name)).expect("vectors") == expected, "{text}");
    }
    assert!(found.iter().any(|(_, output)| warnings(output) > 0), "no run has read a table that is wrong");
}
