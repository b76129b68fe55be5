//! The elements and the meta, in harnesses and real pipelines.

mod duplicates;
mod fields;
mod gaps;
mod latency;
mod meta;
mod motioncompensate;
mod motiondenoise;
mod motiondetect;
mod motionestimate;
mod motioninterpolate;
mod motionoverlay;
mod motionserialize;
mod pools;
mod properties;
mod quantizer;
mod scenarios;
mod support;
mod unreadable;

/// Starts GStreamer with the elements of the plugin. Any warning ends the program.
fn init() {
    test_support::gstreamer::init(gstmotionestimate::plugin_register_static);
}
