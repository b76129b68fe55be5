//! What takes processes of its own: OpenCL drivers that are missing or fail, memory, threads, tuning files, and programs
//! in other languages.

mod allocator;
mod c_header;
mod documents;
#[cfg(feature = "opencl")]
mod drivers;
mod examples;
#[cfg(feature = "cuda")]
mod failing_cuda;
#[cfg(feature = "opencl")]
mod failing_denoised_frames;
#[cfg(feature = "opencl")]
mod failing_made_frames;
#[cfg(feature = "opencl")]
mod failing_searches;
#[cfg(feature = "opencl")]
mod faults;
mod host_memory;
mod launched;
mod memory;
#[cfg(feature = "opencl")]
mod opening;
mod other_processes;
mod sharing;
#[cfg(feature = "opencl")]
mod tuning_file;

/// Starts GStreamer with the elements of the plugin. Any warning ends the program.
fn init() {
    test_support::gstreamer::init(gstmotionestimate::plugin_register_static);
}

/// The pipeline `description`, with the elements of the plugin.
fn launch(description: &str) -> gst::Pipeline {
    init();
    test_support::gstreamer::launch(description)
}
