//! Records the version and date that `plugin_define!` reports.

use std::path::Path;

fn main() {
    gst_plugin_version_helper::info();
    // Without these lines, a change of any file of the package would compile the crate again. What is recorded
    // changes with each commit, with which the second file does, and with the package's version.
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=Cargo.toml");
    if Path::new(".git/logs/HEAD").exists() {
        println!("cargo::rerun-if-changed=.git/logs/HEAD");
    }
}
