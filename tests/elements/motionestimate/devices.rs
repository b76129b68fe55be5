//! Devices that are missing, and kernels that a device does not have.

use motion_search::tuning::Kernel;

use super::support::*;

#[test]
fn unknown_device_is_an_error_that_lists_what_is_there() {
    let (_, message) =
        run("videotestsrc num-buffers=3 ! motionestimate device=\"no such device\" ! appsink name=sink");
    let text = error_text(&message);
    assert!(text.contains("no such device"), "{text}");
    for device in motion_search::backend::devices() {
        assert!(text.contains(&device.name), "{text} lists {}", device.name);
    }
}

#[test]
fn kernel_the_device_cannot_run_is_an_error_that_says_why() {
    for kernel in Kernel::OPENCL.into_iter().filter(|kernel| !Kernel::NATIVE.contains(kernel)) {
        let (_, message) = run(&format!(
            "videotestsrc num-buffers=3 ! motionestimate device=native kernel={kernel} ! appsink name=sink"
        ));
        let text = error_text(&message);
        assert!(text.contains(kernel.name()) && text.contains("native"), "{text}");
    }
}

#[cfg(feature = "opencl")]
#[test]
fn window_with_more_candidates_than_a_work_group_has_items() {
    // 129 x 129 candidates; no OpenCL device has work-groups of that size.
    let (_, message) =
        run("videotestsrc num-buffers=3 ! motionestimate device=0:0 kernel=reference-naive search-range=64 \
         ! appsink name=sink");
    let text = error_text(&message);
    assert!(text.contains("reference-naive") && text.contains("16641"), "{text}");
}
