//! Devices and drivers that are missing or broken. Which drivers there are is found out once a
//! process, so the broken ones are given to processes of their own, which load the plugin as a
//! user's do.

use std::fs;
use std::path::Path;
use std::process::Output;

use motion_search::tuning::Kernel;

use crate::launched::{Scratch, text};
use crate::support::*;

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

/// Searches three frames with the drivers in [`Scratch::vendors`].
fn launch(scratch: &Scratch, settings: &[&str]) -> Output {
    scratch
        .gst_launch()
        .args("-m videotestsrc num-buffers=3 ! motionestimate".split(' '))
        .args(settings)
        .args("! fakesink".split(' '))
        .env("OCL_ICD_VENDORS", scratch.vendors())
        .env_remove("OCL_ICD_FILENAMES")
        .output()
        .expect("gst-launch-1.0 is part of GStreamer's tools")
}

fn check_auto_works_and_named_devices_do_not(scratch: &Scratch) {
    let auto = launch(scratch, &["device=auto"]);
    let auto_text = text(&auto);
    assert!(auto.status.success(), "{auto_text}");
    assert!(auto_text.contains("frames-with-vectors=(guint64)2"), "{auto_text}");
    assert!(auto_text.contains("device=(string)native"), "{auto_text}");
    assert!(!auto_text.contains("WARNING"), "{auto_text}");

    let fallback = launch(scratch, &["device=auto", "kernel=reference"]);
    let fallback_text = text(&fallback);
    assert!(fallback.status.success(), "{fallback_text}");
    assert!(fallback_text.contains("Searching on native instead"), "{fallback_text}");

    for device in ["0:0", "gpu", "cpu"] {
        let named = launch(scratch, &[&format!("device={device}")]);
        let named_text = text(&named);
        assert!(!named.status.success(), "{named_text}");
        assert!(named_text.contains(&format!("no device matches \"{device}\"")), "{named_text}");
        assert!(named_text.contains("native"), "{named_text}");
    }
}

#[test]
fn no_opencl_driver() {
    check_auto_works_and_named_devices_do_not(&Scratch::new("none"));
}

#[test]
fn opencl_driver_whose_library_is_missing() {
    let scratch = Scratch::new("broken");
    let icd: &Path = &scratch.vendors().join("broken.icd");
    fs::write(icd, "libno-such-opencl-driver.so\n").expect("an ICD file");
    check_auto_works_and_named_devices_do_not(&scratch);
}
