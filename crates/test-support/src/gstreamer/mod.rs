//! GStreamer in a test program.

pub mod analytics;
pub mod clips;
mod element_bus;
pub mod formats;
pub mod leaks;
mod objects;
pub mod reference;

use std::sync::Once;

use gst::prelude::*;

pub use element_bus::ElementBus;
pub use objects::alive;

/// Starts GStreamer with the elements that `register` adds to it. Any warning ends the program.
///
/// # Panics
/// If it does not start.
pub fn init(register: fn() -> Result<(), glib::BoolError>) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // What G_DEBUG=fatal_warnings does; GLib reads that before main() is entered.
        let levels = glib::LogLevels::LEVEL_WARNING | glib::LogLevels::LEVEL_CRITICAL;
        glib::log_set_always_fatal(levels | glib::LogLevels::LEVEL_ERROR);
        gst::init().expect("GStreamer");
        register().expect("the plugin registers");
        leaks::check_at_exit();
    });
}

/// Every buffer that reaches the appsink `sink` until the end of the stream.
///
/// # Panics
/// If the pipeline reports an error.
pub fn run(pipeline: &gst::Pipeline) -> Vec<gst::Buffer> {
    let sink = pipeline.by_name("sink").unwrap().downcast::<gst_app::AppSink>().unwrap();
    sink.set_sync(false);
    pipeline.set_state(gst::State::Playing).unwrap();
    let mut buffers = Vec::new();
    while let Ok(sample) = sink.pull_sample() {
        buffers.push(sample.buffer_owned().unwrap());
    }
    let error = pipeline.bus().unwrap().pop_filtered(&[gst::MessageType::Error]);
    pipeline.set_state(gst::State::Null).unwrap();
    assert!(error.is_none(), "{error:?}");
    buffers
}

/// The pipeline `description`.
///
/// # Panics
/// If there is no such pipeline.
pub fn launch(description: &str) -> gst::Pipeline {
    gst::parse::launch(description).unwrap().downcast().unwrap()
}

/// Checks that GStreamer knows the type of each choice among the properties of `element` as one of its plugin: documentation
/// lists the values of such ones alone.
pub fn check_choices(element: &str) {
    let element = gst::ElementFactory::make(element).build().expect("an element");
    for property in element.list_properties().iter().filter(|spec| spec.owner_type() == element.type_()) {
        let kind = property.value_type();
        if kind.is_a(glib::Type::ENUM) || kind.is_a(glib::Type::FLAGS) {
            assert!(kind.plugin_api_flags().is_some(), "{} {}: {kind}", element.name(), property.name());
        }
    }
}
