//! A GPU of NVIDIA that is lost in mid-stream while CUDA launches its kernels: the installed driver behind calls that begin to
//! fail, or whose context a wrong kernel breaks. Each is in a process of its own, which loads the plugin as a user's does.

use std::ffi::{CStr, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::launched::{Scratch, text};

const FRAMES: u32 = 12;

/// Where CUDA's driver is, if it is installed.
fn driver() -> Option<PathBuf> {
    // SAFETY: the library is NVIDIA's, by its name; it is safe to load.
    let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
    // SAFETY: the name ends with NUL; without a library the call is not made.
    let function = (!library.is_null()).then(|| unsafe { libc::dlsym(library, c"cuInit".as_ptr()) })?;
    // SAFETY: all of its bytes may be zero.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: there is space for what is written.
    let found = unsafe { libc::dladdr(function, &mut info) };
    // SAFETY: a name that ends with NUL, of a library that stays loaded.
    (found != 0).then(|| OsStr::from_bytes(unsafe { CStr::from_ptr(info.dli_fname) }.to_bytes()).into())
}

/// A folder of `scratch` with a `libcuda.so.1` that has faults.
fn faulty_driver(scratch: &Scratch, driver: &Path) -> PathBuf {
    let folder = scratch.path("cuda");
    fs::create_dir_all(&folder).expect("a directory");
    let run = |arguments: &[&OsStr]| {
        let mut command = Command::new("cc");
        command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]).args(arguments);
        let built = command.output().expect("a C compiler");
        assert!(built.status.success(), "{}", text(&built));
    };
    // A library that only says that what is linked with it needs the driver, by its path.
    let (stand_in, empty) = (folder.join("stand-in.so"), folder.join("empty.c"));
    fs::write(&empty, "").expect("a file");
    let name = format!("-Wl,-soname,{}", driver.display());
    run(&[stand_in.as_os_str(), name.as_ref(), empty.as_os_str()]);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/fault_cuda.c");
    let define = format!("-DDRIVER=\"{}\"", driver.display());
    let built = folder.join("libcuda.so.1");
    let all = "-Wl,--no-as-needed".as_ref();
    run(&[built.as_os_str(), define.as_ref(), source.as_os_str(), all, stand_in.as_os_str()]);
    symlink("libcuda.so.1", folder.join("libcuda.so")).expect("a link");
    folder
}

/// A folder with a faulty driver.
fn set_up(scratch: &Scratch) -> PathBuf {
    let is_there = motion_search::opencl::devices().iter().any(|device| device.vendor.contains("NVIDIA"));
    let driver = driver().filter(|_| is_there);
    faulty_driver(scratch, &driver.expect("a GPU of NVIDIA with its OpenCL and CUDA"))
}

/// `command`, with the driver in the folder and its fault if both are given.
fn with_fault(mut command: Command, fault: Option<(&Path, &str)>) -> Command {
    if let Some((folder, fault)) = fault {
        let others = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
        command.env("LD_LIBRARY_PATH", format!("{}:{others}", folder.display())).env("CUDA_FAULT", fault);
    }
    command
}

/// What becomes of the stream with `settings`, and the vectors as CSV.
fn search(scratch: &Scratch, settings: &str, fault: Option<(&Path, &str)>) -> (Output, String) {
    let command = with_fault(scratch.gst_search(FRAMES, settings, "vectors.csv"), fault);
    scratch.run_for_text(command, "vectors.csv")
}

/// The calls by which a frame is uploaded, searched, waited for and downloaded, after the first ones. Each of the searches asks
/// at least once whether it has ended, more often where nothing else keeps the machine busy: a later question may not come.
const FAULTS: [&str; 7] = [
    "lose cuMemcpy2DAsync_v2 5",
    "lose cuGraphLaunch 3",
    "lose cuEventQuery 8 719",
    "lose cuMemcpyDtoHAsync_v2 5 700",
    "break cuMemcpy2DAsync_v2 5",
    "break cuGraphLaunch 3",
    "break cuMemcpyDtoHAsync_v2 5",
];

#[test]
#[ignore = "needs a GPU of NVIDIA"]
fn the_cpu_goes_on_where_cuda_is_lost() {
    let scratch = Scratch::new("cuda-lost");
    let folder = set_up(&scratch);
    for search_settings in ["algorithm=hierarchical", "algorithm=hierarchical pipeline-depth=4 quality=high"]
    {
        let (_, expected) = search(&scratch, &format!("device=native {search_settings}"), None);
        assert!(expected.lines().count() > 11 * 30, "{expected}");
        let settings = format!("device=NVIDIA {search_settings}");
        for fault in FAULTS {
            let (output, vectors) = search(&scratch, &settings, Some((&folder, fault)));
            let text = text(&output);
            assert!(output.status.success(), "{fault}: {text}");
            assert_eq!(text.matches("WARNING").count(), 1, "{fault}: {text}");
            assert!(text.contains("continuing on native"), "{fault}: {text}");
            assert!(
                text.contains(&format!("frames-with-vectors=(guint64){}", FRAMES - 1)),
                "{fault}: {text}"
            );
            assert!(vectors == expected, "{settings}: other vectors after {fault}");
        }
    }
}

/// What cannot be opened is not a loss: nobody needs to know.
#[test]
#[ignore = "needs a GPU of NVIDIA"]
fn opencl_launches_where_cuda_cannot_be_opened() {
    let scratch = Scratch::new("cuda-closed");
    let folder = set_up(&scratch);
    let (_, expected) = search(&scratch, "device=native algorithm=hierarchical", None);
    for fault in
        ["lose cuDevicePrimaryCtxRetain 0 2", "lose cuModuleLoadData 0 218", "lose cuMemAlloc_v2 0 2"]
    {
        let (output, vectors) =
            search(&scratch, "device=NVIDIA algorithm=hierarchical", Some((&folder, fault)));
        let text = text(&output);
        assert!(output.status.success() && !text.contains("WARNING"), "{fault}: {text}");
        assert!(text.contains("launcher=(string)opencl"), "{fault}: {text}");
        assert!(vectors == expected, "other vectors after {fault}");
    }
}

/// A device whose context is broken is opened again for the next caps, and OpenCL launches there.
#[test]
#[ignore = "needs a GPU of NVIDIA"]
fn opencl_launches_after_a_context_is_broken() {
    let scratch = Scratch::new("cuda-broken");
    let folder = set_up(&scratch);
    let run = |device: &str, fault: Option<(&Path, &str)>| {
        let mut command = scratch.gst_launch();
        command
            .args("-m concat name=all ! motionestimate algorithm=hierarchical".split(' '))
            .args([&format!("device={device}"), "!", "motionserialize", "!", "text/csv", "!", "filesink"])
            .arg(format!("location={}", scratch.path("vectors.csv").display()));
        for size in ["width=96,height=80", "width=128,height=96"] {
            command.args("videotestsrc num-buffers=8 pattern=ball motion=sweep !".split(' '));
            command.args([&format!("video/x-raw,format=I420,{size}"), "!", "all."]);
        }
        scratch.run_for_text(with_fault(command, fault), "vectors.csv")
    };
    let (_, expected) = run("native", None);
    let (output, vectors) = run("NVIDIA", Some((&folder, "break cuMemcpyDtoHAsync_v2 3")));
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    assert_eq!(text.matches("WARNING").count(), 1, "{text}");
    assert!(text.contains("launcher=(string)opencl"), "{text}");
    assert!(vectors == expected, "other vectors");
}

#[test]
#[ignore = "needs a GPU of NVIDIA"]
fn frames_are_made_where_cuda_is_lost() {
    let scratch = Scratch::new("cuda-frames");
    let folder = set_up(&scratch);
    let run = |device: &str, fault: Option<(&Path, &str)>| {
        let command = scratch.gst_interpolate(8, &format!("device={device}"), "frames.raw");
        scratch.run(with_fault(command, fault), "frames.raw")
    };
    let (_, expected) = run("native", None);
    assert!(expected.len() > 96 * 80 * 3 / 2 * 20, "{} bytes", expected.len());
    for fault in ["lose cuGraphLaunch 5", "break cuGraphLaunch 5", "break cuMemcpyHtoDAsync_v2 9"] {
        let (output, frames) = run("NVIDIA", Some((&folder, fault)));
        let text = text(&output);
        assert!(output.status.success(), "{fault}: {text}");
        assert!(text.contains("continuing on native"), "{fault}: {text}");
        assert!(text.contains("make-device=(string)native"), "{fault}: {text}");
        assert!(frames == expected, "other frames after {fault}");
    }
}
