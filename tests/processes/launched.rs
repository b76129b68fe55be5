//! Pipelines in processes of their own, which load the plugin as a user's do.
#![cfg_attr(not(feature = "opencl"), allow(dead_code))]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use tempfile::TempDir;

/// A directory of its own for each test, removed at its end.
pub struct Scratch(TempDir);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let prefix = format!("motionestimate-{name}-");
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir().expect("a directory");
        for directory in ["plugins", "vendors"] {
            fs::create_dir_all(folder.path().join(directory)).expect("a directory");
        }
        // The encoder, a plugin of its own, is not built everywhere.
        for name in ["libgstmotionestimate.so", "libgstmotionx264.so"] {
            let plugin = std::env::current_exe().expect("this test").with_file_name(name);
            if plugin.exists() {
                symlink(&plugin, folder.path().join("plugins").join(name)).expect("a link");
            }
        }
        Self(folder)
    }

    /// Where its OpenCL drivers are named.
    pub fn vendors(&self) -> PathBuf {
        self.0.path().join("vendors")
    }

    /// Where a file of this name is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `program`, for which the plugin is installed.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("GST_PLUGIN_PATH", self.path("plugins")).env("GST_REGISTRY", self.path("registry.bin"));
        command
    }

    /// `gst-launch-1.0` with the plugin.
    pub fn gst_launch(&self) -> Command {
        self.command("gst-launch-1.0")
    }

    /// `gst-launch-1.0` that searches `frames` small frames with `settings` of the element, and writes the vectors to the
    /// file `name` as CSV.
    pub fn gst_search(&self, frames: u32, settings: &str, name: &str) -> Command {
        let mut command = self.gst_launch();
        command
            .args(format!("-m videotestsrc num-buffers={frames} pattern=ball motion=sweep").split(' '))
            .args("! video/x-raw,format=I420,width=96,height=80 ! motionestimate search-range=5".split(' '))
            .args(settings.split(' '))
            .args("! motionserialize ! text/csv ! filesink".split(' '))
            .arg(format!("location={}", self.path(name).display()));
        command
    }

    /// `gst-launch-1.0` that makes two frames between each two of `frames` small ones with `settings` of the element, and
    /// writes all to the file `name`.
    pub fn gst_interpolate(&self, frames: usize, settings: &str, name: &str) -> Command {
        let mut command = self.gst_launch();
        command
            .args(format!("-m videotestsrc num-buffers={frames} pattern=ball motion=sweep").split(' '))
            .args(
                "! video/x-raw,format=I420,width=96,height=80,framerate=25/1 ! motioninterpolate".split(' '),
            )
            .args(settings.split(' '))
            .args("! video/x-raw,framerate=75/1 ! filesink".split(' '))
            .arg(format!("location={}", self.path(name).display()));
        command
    }

    /// What becomes of `command`, and what it has written to the file `name`.
    pub fn run(&self, mut command: Command, name: &str) -> (Output, Vec<u8>) {
        let output = command.output().expect("gst-launch-1.0 is part of GStreamer's tools");
        (output, fs::read(self.path(name)).unwrap_or_default())
    }

    /// The same, of text.
    pub fn run_for_text(&self, command: Command, name: &str) -> (Output, String) {
        let (output, written) = self.run(command, name);
        (output, String::from_utf8(written).expect("text"))
    }
}

/// The OpenCL layer that lets calls fail.
pub fn fault_layer() -> &'static Path {
    static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (path, own) =
            (folder.join("libfault_layer.so"), folder.join(format!("{}.so", std::process::id())));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/fault_layer.c");
        let built = Command::new("cc")
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread", "-o"])
            .args([&own, &source])
            .output()
            .expect("a C compiler");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        // Other tests may use the one that is there.
        fs::rename(own, &path).expect("a library");
        path
    });
    &PATH
}

/// Lets `command` have the `fault`, in the words of `tests/c/fault_layer.c`.
pub fn with_fault(command: &mut Command, fault: &str) {
    command.env("OPENCL_LAYERS", fault_layer()).env("FAULT", fault);
}

/// What it has printed.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
