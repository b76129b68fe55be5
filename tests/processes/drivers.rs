//! OpenCL drivers that are missing or broken. Which drivers there are is found out once a process, so the broken ones are
//! given to processes of their own, which load the plugin as a user's do.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::launched::{Scratch, text};

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
