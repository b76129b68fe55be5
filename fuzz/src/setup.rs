//! What every target needs before its first run.

use std::cell::RefCell;
use std::io::Write;
use std::sync::Once;

use test_support::gstreamer::ElementBus;

thread_local! {
    static RUNNING: RefCell<String> = RefCell::default();
}

/// Notes the name of the input that this thread runs, for the message if it ends the process.
#[allow(dead_code)] // libFuzzer keeps the input itself.
pub fn now_running(input: &str) {
    RUNNING.with_borrow_mut(|running| input.clone_into(running));
}

/// Starts GStreamer with this crate's elements. From now on every panic, also one that an element catches, and every
/// warning and critical message of GLib ends the process.
pub fn init() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: nothing but this target has begun to run, so no other thread reads the environment.
        unsafe {
            // Compiling kernels takes seconds, and no subject depends on a device.
            std::env::set_var("OCL_ICD_VENDORS", "/nonexistent");
            std::env::set_var("GST_REGISTRY_UPDATE", "no");
        }
        std::panic::set_hook(Box::new(|info| abort(&info.to_string())));
        glib::log_set_default_handler(|domain, level, message| {
            let is_bad =
                matches!(level, glib::LogLevel::Error | glib::LogLevel::Critical | glib::LogLevel::Warning);
            if is_bad {
                abort(&format!("{}: {message}", domain.unwrap_or_default()));
            }
        });
        gst::init().expect("GStreamer");
        gstmotionestimate::plugin_register_static().expect("the plugin registers");
        #[cfg(feature = "x264")]
        gstmotionx264::plugin_register_static().expect("the plugin registers");
    });
}

/// Ends the process, with `reason` on the standard error, which tests do not capture so.
fn abort(reason: &str) {
    let backtrace = std::backtrace::Backtrace::capture();
    // The process ends whether or not it can be read.
    let _ = RUNNING.with_borrow(|running| writeln!(std::io::stderr(), "{running}: {reason}\n{backtrace}"));
    std::process::abort();
}

/// The text of the error on `bus`, if there is one.
pub fn error_on(bus: &gst::Bus) -> Option<String> {
    let message = bus.pop_filtered(&[gst::MessageType::Error])?;
    match message.view() {
        gst::MessageView::Error(error) => Some(error.error().to_string()),
        _ => None,
    }
}

/// A harness around `launch`, the element in it, and its bus.
pub fn harness(launch: &str) -> (gst_check::Harness, gst::Element, ElementBus) {
    let mut harness = gst_check::Harness::new_parse(launch);
    let name = launch.split_whitespace().next().expect("an element");
    let element = harness.find_element(name).expect("the element");
    let bus = ElementBus::new(element.clone());
    (harness, element, bus)
}
