//! An OpenCL device that is lost in mid-stream: PoCL behind calls that begin to fail.

use crate::launched::{Scratch, text, with_fault};
use std::process::Output;

const FRAMES: usize = 8;

/// Bytes of a frame.
const BYTES: usize = 96 * 80 * 3 / 2;

/// What becomes of the stream with `settings`, and its frames, where the device is lost when `call` was made so often.
fn interpolate(
    scratch: &Scratch,
    settings: &str,
    lost: Option<(&str, u32)>,
    hangs: bool,
) -> (Output, Vec<u8>) {
    let mut command = scratch.gst_interpolate(FRAMES, settings, "frames.raw");
    if let Some((call, after)) = lost {
        let kind = if hangs { "stall" } else { "lose" };
        with_fault(&mut command, &format!("{kind} {call} {after}"));
    }
    scratch.run(command, "frames.raw")
}

fn check(name: &str, settings: &str, call: (&str, u32), hangs: bool) {
    let scratch = Scratch::new(&format!("interpolate-{name}"));
    let (_, expected) = interpolate(&scratch, "device=native", None, false);
    assert!(expected.len() >= BYTES * 3 * (FRAMES - 1), "{} bytes", expected.len());
    let (output, frames) = interpolate(&scratch, settings, Some(call), hangs);
    let text = text(&output);
    assert!(output.status.success(), "{call:?}: {text}");
    // What searches, and what makes frames, on the same device.
    assert_eq!(text.matches("WARNING").count(), 2, "{call:?}: {text}");
    assert_eq!(text.matches("continuing on native").count() % 2, 0, "{call:?}: {text}");
    assert!(text.contains(" failed to make frames ("), "{call:?}: {text}");
    assert!(text.contains("make-device=(string)native"), "{call:?}: {text}");
    assert!(frames == expected, "other frames after {call:?} failed");
}

/// The calls by which a frame is uploaded, made, downloaded and waited for. The search uploads by another one.
#[test]
fn the_cpu_makes_frames_after_a_device_is_lost() {
    for call in [
        ("clEnqueueWriteBuffer", 7),
        ("clEnqueueWriteBuffer", 8),
        ("clEnqueueWriteBuffer", 12),
        ("clEnqueueNDRangeKernel", 90),
        ("clEnqueueReadBuffer", 8),
        ("clGetEventInfo", 20),
    ] {
        check(&format!("{}-{}", call.0, call.1), "device=0:0", call, false);
    }
}

/// The first frame of a pair is begun before the next input frame comes.
#[test]
fn the_cpu_makes_frames_after_a_device_is_lost_that_has_begun_the_next_ones() {
    for call in [("clEnqueueNDRangeKernel", 91), ("clEnqueueNDRangeKernel", 97), ("clEnqueueReadBuffer", 9)] {
        check(&format!("ahead-{}-{}", call.0, call.1), "device=0:0 pipeline-depth=4", call, false);
    }
}

/// It takes the ten seconds that a device may be silent.
#[test]
#[ignore = "takes long: the complete run has it"]
fn the_cpu_makes_frames_after_a_device_hangs() {
    check("hangs", "device=0:0", ("clEnqueueWriteBuffer", 12), true);
}

#[test]
fn the_failure_is_an_error_where_it_is_to_be() {
    let scratch = Scratch::new("interpolate-error");
    let settings = "device=0:0 on-device-failure=error";
    let (output, _) = interpolate(&scratch, settings, Some(("clEnqueueWriteBuffer", 8)), false);
    let text = text(&output);
    assert!(!output.status.success() && text.contains("out of resources (-5)"), "{text}");
    assert!(text.contains("No frame can be made"), "{text}");
}
