//! The `stats` property: sums over all frames since the element was started.

use std::time::Duration;

use glib::prelude::*;

use crate::settings::statistics::{launcher, mean_ns};
use motion_search::estimator::{DeviceShare, Output, Parameters};
use motion_search::session::Session;

/// The name of the `stats` structure and of the message posted at EOS.
const NAME: &str = "motion-stats";

/// Sums over the frames since the element was started, and the device in use.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    frames: u64,
    with_vectors: u64,
    /// Frames that equalled the one before.
    dropped: u64,
    /// Fields of all frames.
    fields: u64,
    upload: Duration,
    search: Duration,
    download: Duration,
    prediction: Duration,
    /// Sum of all vectors' costs.
    cost: u64,
    /// Samples of all blocks with a vector.
    samples: u64,
    /// Absolute differences of all searches, counting every candidate of the window.
    differences: f64,
    device: Option<String>,
    kernel: Option<&'static str>,
    /// What launches it on an OpenCL device.
    launcher: Option<&'static str>,
    /// The shares of several devices, of the last frame.
    shares: Vec<DeviceShare>,
}

impl Statistics {
    /// Notes the device and the kernel of `session`.
    pub fn set_session<T>(&mut self, session: &Session<T>) {
        self.device = Some(session.device().to_owned());
        self.kernel = Some(session.kernel());
        self.launcher = launcher(session.launching());
    }

    /// Counts a frame.
    pub fn add_frame(&mut self, has_vectors: bool) {
        self.frames += 1;
        self.with_vectors += u64::from(has_vectors);
    }

    /// Counts a frame that is dropped.
    pub fn add_dropped(&mut self) {
        self.dropped += 1;
    }

    /// Counts a field: `session` has found `output`.
    pub fn add<T>(&mut self, session: &Session<T>, output: &Output) {
        // Another device may have replaced one that failed.
        if self.device.as_deref() != Some(session.device()) {
            self.set_session(session);
        }
        self.shares = session.shares();
        let parameters = session.parameters();
        let Parameters { width, height, block_size, .. } = *parameters;
        let (times, vectors) = (output.times, &output.vectors);
        self.fields += 1;
        self.upload += times.upload;
        self.search += times.search;
        self.download += times.download;
        self.prediction += times.prediction;
        self.cost += vectors.iter().map(|vector| u64::from(vector.cost)).sum::<u64>();
        self.samples += (vectors.len() * block_size * block_size) as u64;
        self.differences += (width * height) as f64 * parameters.candidates() as f64;
    }

    /// The structure that applications read. The element's documentation lists the fields.
    pub fn structure(&self) -> gst::Structure {
        gst::Structure::builder(NAME)
            .field("frames", self.frames)
            .field("frames-with-vectors", self.with_vectors)
            .field("frames-dropped", self.dropped)
            .field("fields", self.fields)
            .field("upload-time", mean_ns(self.upload, self.fields))
            .field("search-time", mean_ns(self.search, self.fields))
            .field("download-time", mean_ns(self.download, self.fields))
            .field("prediction-time", mean_ns(self.prediction, self.fields))
            .field("effective-rate", ratio(self.differences, self.search.as_secs_f64()))
            .field("mean-cost", ratio(self.cost as f64, self.samples as f64))
            .field("device", &self.device)
            .field("kernel", self.kernel)
            .field("launcher", self.launcher)
            .field(
                "devices",
                gst::Array::from_values(self.shares.iter().map(|share| device(share).to_send_value())),
            )
            .build()
    }
}

/// The structure of one of several devices.
fn device(share: &DeviceShare) -> gst::Structure {
    gst::Structure::builder("motion-device")
        .field("device", &*share.device)
        .field("share", share.share)
        .field("effective-rate", share.rate)
        .field("busy-time", u64::try_from(share.busy.as_nanos()).unwrap_or(u64::MAX))
        .field("failed", share.is_out)
        .build()
}

/// `numerator / denominator`, 0 if the denominator is not positive.
fn ratio(numerator: f64, denominator: f64) -> f64 {
    if denominator > 0.0 { numerator / denominator } else { 0.0 }
}
