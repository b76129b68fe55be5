//! The `stats` property: sums over all frames since the element was started.

use std::time::Duration;

use crate::settings::mean_ns;

/// The name of the `stats` structure and of the message posted at EOS.
const NAME: &str = "interpolation-stats";

/// Sums over the frames since the element was started.
#[derive(Clone, Debug, Default)]
pub struct InterpolationStatistics {
    pub frames_in: u64,
    pub frames_out: u64,
    /// Output frames that were made.
    pub made: u64,
    /// Output frames that are input frames.
    pub passed: u64,
    /// Output frames that show an input frame at another time, for no scene cut.
    pub repeated: u64,
    /// Output frames that show an input frame at another time, because of a scene cut.
    pub scene_cuts: u64,
    /// Output frames that were not made because they would have been too late.
    pub late: u64,
    /// Input frames whose time was not after that of the frame before.
    pub out_of_order: u64,
    /// The devices that search, and the one that makes frames; empty before `mode=motion` has opened them.
    pub search_device: String,
    pub make_device: String,
    /// The time that frames took to load, with the search.
    pub loading: Duration,
    /// The time that frames took to make.
    pub making: Duration,
}

impl InterpolationStatistics {
    /// Notes which devices search, and which one makes frames.
    pub fn set_devices(&mut self, search: &str, make: &str) {
        (self.search_device, self.make_device) = (search.into(), make.into());
    }

    /// The structure that applications read. The element's documentation lists the fields.
    pub fn structure(&self) -> gst::Structure {
        gst::Structure::builder(NAME)
            .field("frames-in", self.frames_in)
            .field("frames-out", self.frames_out)
            .field("made", self.made)
            .field("passed", self.passed)
            .field("repeated", self.repeated)
            .field("scene-cuts", self.scene_cuts)
            .field("late", self.late)
            .field("out-of-order", self.out_of_order)
            .field("search-device", &self.search_device)
            .field("make-device", &self.make_device)
            .field("load-time", mean_ns(self.loading, self.frames_in))
            .field("make-time", mean_ns(self.making, self.made))
            .build()
    }
}
