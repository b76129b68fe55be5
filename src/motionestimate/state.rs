//! What `motionestimate` knows from start to stop.

use std::time::Instant;

use gst_video::VideoInfo;

use super::stream::Stream;
use crate::meta::Watched;

/// What is done from start to stop.
#[derive(Default)]
pub struct EstimateState {
    /// What the caps say of the frames.
    pub info: Option<VideoInfo>,
    pub stream: Option<Stream>,
    /// The elements downstream, since the first field after the newest caps.
    pub watched: Watched,
    pub is_watching: bool,
    /// When the element was started; until the first vectors are there.
    pub started: Option<Instant>,
    /// Events for key units so far.
    pub key_units: u32,
    /// The buffer that leaves behind an event for a key unit.
    pub key_unit: Option<gst::Buffer>,
}

impl EstimateState {
    /// Begins when the element is started.
    pub fn start() -> Self {
        Self { started: Some(Instant::now()), ..Self::default() }
    }
}
