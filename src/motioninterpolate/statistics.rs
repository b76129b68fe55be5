//! The `stats` property: sums over all frames since the element was started.

use std::time::Duration;

use super::motion::MotionSearch;
use crate::settings::statistics::{launcher, mean_ns};

/// The name of the `stats` structure and of the message posted at EOS.
const NAME: &str = "interpolation-stats";

/// What an output frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// An input frame at its time.
    Passed,
    /// An input frame at another time, for no scene cut.
    Repeated,
    /// An input frame at another time, because of a scene cut.
    SceneCut,
    /// A frame between two input frames.
    Made,
}

/// Sums over the frames since the element was started.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub frames_in: u64,
    frames_out: u64,
    made: u64,
    passed: u64,
    repeated: u64,
    scene_cuts: u64,
    /// Output frames that were not made because they would have been too late.
    pub late: u64,
    /// Input frames whose time was not after that of the frame before.
    pub out_of_order: u64,
    /// Input frames that repeat the one before but for coding noise.
    pub dropped: u64,
    /// The time that frames took to load, with the search.
    pub loading: Duration,
    /// The time that frames took to make.
    pub making: Duration,
}

impl Counts {
    /// Counts an output frame.
    pub fn add(&mut self, kind: OutputKind) {
        self.frames_out += 1;
        *match kind {
            OutputKind::Passed => &mut self.passed,
            OutputKind::Repeated => &mut self.repeated,
            OutputKind::SceneCut => &mut self.scene_cuts,
            OutputKind::Made => &mut self.made,
        } += 1;
    }

    pub fn made(&self) -> u64 {
        self.made
    }
}

/// What the property shows.
#[derive(Clone, Debug, Default)]
pub struct InterpolationStatistics {
    pub counts: Counts,
    /// The devices that search, and the one that makes frames; empty before `mode=motion` has opened them.
    search_device: String,
    make_device: String,
    /// What launches their kernels, where they have kernels.
    search_launcher: Option<&'static str>,
    make_launcher: Option<&'static str>,
}

impl InterpolationStatistics {
    /// Notes which devices search, and which one makes frames.
    pub fn set_devices(&mut self, motion: &MotionSearch) {
        (self.search_device, self.make_device) = (motion.device().into(), motion.maker().into());
        [self.search_launcher, self.make_launcher] = motion.launching().map(launcher);
    }

    /// The structure that applications read. The element's documentation lists the fields.
    pub fn structure(&self) -> gst::Structure {
        let counts = &self.counts;
        gst::Structure::builder(NAME)
            .field("frames-in", counts.frames_in)
            .field("frames-out", counts.frames_out)
            .field("made", counts.made)
            .field("passed", counts.passed)
            .field("repeated", counts.repeated)
            .field("scene-cuts", counts.scene_cuts)
            .field("late", counts.late)
            .field("out-of-order", counts.out_of_order)
            .field("frames-dropped", counts.dropped)
            .field("search-device", &self.search_device)
            .field("search-launcher", self.search_launcher)
            .field("make-device", &self.make_device)
            .field("make-launcher", self.make_launcher)
            .field("load-time", mean_ns(counts.loading, counts.frames_in))
            .field("make-time", mean_ns(counts.making, counts.made))
            .build()
    }
}
