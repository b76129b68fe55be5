//! An OpenCL device that is lost while `motiondenoise` uses it: PoCL behind calls that begin to fail.

use std::process::Output;

use crate::launched::{Scratch, text, with_fault};

const FRAMES: usize = 12;

/// Bytes of a frame.
const BYTES: usize = 96 * 80 * 3 / 2;

/// What becomes of a stream with `settings` and its frames, where the device is lost when `call` was made so often. Every third
/// frame repeats the one before.
fn denoise(scratch: &Scratch, settings: &str, lost: Option<(&str, u32)>, hangs: bool) -> (Output, Vec<u8>) {
    let mut command = scratch.gst_launch();
    command
        .args(format!("-m videotestsrc num-buffers={} pattern=snow", FRAMES * 2 / 3).split(' '))
        .args("! video/x-raw,format=I420,width=96,height=80,framerate=20/1".split(' '))
        .args("! videorate ! video/x-raw,framerate=30/1 ! motiondenoise".split(' '))
        .args(settings.split(' '))
        .args(["!", "filesink"])
        .arg(format!("location={}", scratch.path("frames.raw").display()));
    if let Some((call, after)) = lost {
        let kind = if hangs { "stall" } else { "lose" };
        with_fault(&mut command, &format!("{kind} {call} {after}"));
    }
    scratch.run(command, "frames.raw")
}

fn check(name: &str, settings: &str, call: (&str, u32), hangs: bool) {
    let scratch = Scratch::new(&format!("denoise-{name}"));
    let (_, expected) = denoise(&scratch, "device=native", None, false);
    assert!(expected.len() >= BYTES * (FRAMES - 1), "{} bytes", expected.len());
    let (output, frames) = denoise(&scratch, settings, Some(call), hangs);
    let text = text(&output);
    assert!(output.status.success(), "{call:?}: {text}");
    assert!(text.contains(" failed to denoise frames ("), "{call:?}: {text}");
    let is_on_cpu = "denoise-device=(string)native, denoise-launcher=(string)NULL";
    assert!(text.contains(is_on_cpu), "{call:?}: {text}");
    assert!(frames == expected, "other frames after {call:?} failed");
}

/// The calls by which a frame is uploaded, measured, made, downloaded and waited for, before the first frame and behind it.
#[test]
fn the_cpu_denoises_after_a_device_is_lost() {
    for (function, calls) in [
        ("clEnqueueWriteBuffer", &[1, 9, 14, 15, 16][..]),
        ("clEnqueueWriteBufferRect", &[5]),
        ("clEnqueueNDRangeKernel", &[100, 181, 190, 200, 207, 215]),
        ("clEnqueueReadBuffer", &[1, 12, 13, 14, 15, 16]),
    ] {
        for &after in calls {
            check(&format!("{function}-{after}"), "device=0:0", (function, after), false);
        }
    }
}

#[test]
fn the_cpu_denoises_after_a_device_is_lost_with_searches_in_flight() {
    for call in [("clEnqueueNDRangeKernel", 191), ("clEnqueueReadBuffer", 15)] {
        check("in-flight", "device=0:0 pipeline-depth=3", call, false);
    }
}

/// It takes the ten seconds that a device may be silent.
#[test]
#[ignore = "takes long: the complete run has it"]
fn the_cpu_denoises_after_a_device_hangs() {
    check("hangs", "device=0:0", ("clEnqueueReadBuffer", 14), true);
}

#[test]
fn the_failure_is_an_error_where_it_is_to_be() {
    let scratch = Scratch::new("denoise-error");
    let settings = "device=0:0 on-device-failure=error";
    let (output, _) = denoise(&scratch, settings, Some(("clEnqueueWriteBuffer", 14)), false);
    let text = text(&output);
    assert!(!output.status.success() && text.contains("out of resources (-5)"), "{text}");
    assert!(text.contains("No frame can be denoised"), "{text}");
}
