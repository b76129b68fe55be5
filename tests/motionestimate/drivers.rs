//! Devices and drivers that are missing or broken.

use crate::support::*;

#[test]
fn unknown_device_is_an_error_that_lists_what_is_there() {
    let (_, message) =
        run("videotestsrc num-buffers=3 ! motionestimate device=\"no such device\" ! appsink name=sink");
    let text = error_text(&message);
    assert!(text.contains("no such device"), "{text}");
    for device in gstmotionestimate::backend::devices() {
        assert!(text.contains(&device.name), "{text} lists {}", device.name);
    }
}
