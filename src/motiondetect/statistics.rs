//! The `stats` property: sums over all frames since the element was started.

use std::time::Duration;

use crate::settings::statistics::mean_ns;

/// The name of the `stats` structure and of the message posted at EOS.
const NAME: &str = "detect-stats";

/// Sums over the frames since the element was started.
#[derive(Clone, Debug, Default)]
pub struct DetectStatistics {
    pub frames_in: u64,
    /// Frames that were dropped because nothing moved.
    pub dropped: u64,
    /// Frames with something that moves.
    pub in_motion: u64,
    /// Frames while the light settled.
    pub settling: u64,
    /// Frames in which the camera moved.
    pub camera_moved: u64,
    /// Regions that have begun and ended.
    pub begun: u64,
    pub ended: u64,
    /// The noise of the last frame.
    pub noise: f64,
    /// The time that frames took.
    pub time: Duration,
}

impl DetectStatistics {
    /// The structure that applications read. The element's documentation lists the fields.
    pub fn structure(&self) -> gst::Structure {
        gst::Structure::builder(NAME)
            .field("frames-in", self.frames_in)
            .field("dropped", self.dropped)
            .field("in-motion", self.in_motion)
            .field("settling", self.settling)
            .field("camera-moved", self.camera_moved)
            .field("begun", self.begun)
            .field("ended", self.ended)
            .field("noise", self.noise)
            .field("time", mean_ns(self.time, self.frames_in))
            .build()
    }
}
