//! The `stats` property: sums over all frames since the element was started.

use std::time::Duration;

use super::stream::DenoiseStream;
use crate::settings::statistics::{launcher, mean_ns};

/// The name of the `stats` structure and of the message posted at EOS.
const NAME: &str = "denoise-stats";

/// Sums over the frames since the element was started.
#[derive(Clone, Debug, Default)]
pub struct DenoiseStatistics {
    pub frames_in: u64,
    /// Frames that have changed.
    pub denoised: u64,
    /// Frames that have left as they came.
    pub untouched: u64,
    /// The standard deviations of the noise of the frames that were measured, and their number.
    pub noise: f64,
    pub measured: u64,
    /// The devices that search; empty before they are opened.
    device: String,
    /// The one that averages.
    denoise_device: String,
    /// What launches their kernels, where they have kernels.
    launcher: Option<&'static str>,
    denoise_launcher: Option<&'static str>,
    /// The time that frames took to load, with the search.
    pub loading: Duration,
    /// The time that frames took to measure and to average.
    pub denoising: Duration,
}

impl DenoiseStatistics {
    /// Notes which devices search for `stream`, and which one averages.
    pub fn set_devices(&mut self, stream: &DenoiseStream) {
        (self.device, self.denoise_device) = (stream.device().into(), stream.denoiser().into());
        [self.launcher, self.denoise_launcher] = stream.launching().map(launcher);
    }

    /// Counts a frame that was measured, with noise of this mean standard deviation, and averaged if it `is_denoised`, in
    /// this time.
    pub fn add(&mut self, is_denoised: bool, noise: f64, time: Duration) {
        self.noise += noise;
        self.measured += 1;
        *if is_denoised { &mut self.denoised } else { &mut self.untouched } += 1;
        self.denoising += time;
    }

    /// The structure that applications read. The element's documentation lists the fields.
    pub fn structure(&self) -> gst::Structure {
        gst::Structure::builder(NAME)
            .field("frames-in", self.frames_in)
            .field("denoised", self.denoised)
            .field("untouched", self.untouched)
            .field("noise", if self.measured > 0 { self.noise / self.measured as f64 } else { 0.0 })
            .field("device", &self.device)
            .field("launcher", self.launcher)
            .field("denoise-device", &self.denoise_device)
            .field("denoise-launcher", self.denoise_launcher)
            .field("load-time", mean_ns(self.loading, self.frames_in))
            .field("denoise-time", mean_ns(self.denoising, self.measured))
            .build()
    }
}
