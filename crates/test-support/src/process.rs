//! Tests in processes of their own: what they set, measure or break is the whole process's.

use std::any::type_name;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::process::Command;

/// The variable with which a test's own process is started.
const IS_OWN: &str = "MOTION_TESTS_OWN_PROCESS";

/// This test program, to run the test `name` alone. Its output is not captured.
///
/// # Panics
/// If the program is gone.
pub fn program(name: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args([name, "--exact", "--include-ignored", "--nocapture"]);
    command
}

/// The name of a test, given its function or a closure in it, as [`program`] takes it.
///
/// # Panics
/// If it is neither.
pub fn test_name<F>(_test: &F) -> &'static str {
    // The program's crate, the test's path, and what the compiler calls a closure.
    let path = type_name::<F>().split_once("::").map(|(_, path)| path.trim_end_matches("::{{closure}}"));
    path.expect("a test")
}

/// Runs `test` in a process of its own: this program with the one test that calls this, which is all that the test does.
/// Under cargo nextest it has one already.
///
/// # Panics
/// If the test fails there.
pub fn in_own_process<F: FnOnce()>(test: F) {
    if env::var_os("NEXTEST").is_some() {
        return test();
    }
    with_environment::<&str, F>([], test);
}

/// Runs `test` in a process of its own that has these variables in its environment.
///
/// # Panics
/// If the test fails there.
pub fn with_environment<V: AsRef<OsStr>, F: FnOnce()>(
    variables: impl IntoIterator<Item = (&'static str, V)>,
    test: F,
) {
    if env::var_os(IS_OWN).is_some() {
        return test();
    }
    let name = test_name(&test);
    let output = program(name).env(IS_OWN, "1").envs(variables).output().expect("this program starts again");
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    // A test of another name would not be run.
    assert!(output.status.success() && text.contains("1 passed"), "{name}, {}:\n{text}", output.status);
    print!("{text}");
}

/// Runs `test` in a process of its own in which `file` is the user's tuning file.
///
/// # Panics
/// If the test fails there.
pub fn with_tuning_file<F: FnOnce()>(file: &str, test: F) {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join("gst-plugin-motionestimate");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("tuning.toml"), file).expect("a file");
    with_environment([("XDG_CONFIG_HOME", home.path())], test);
}
