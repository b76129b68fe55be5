//! What is told of scene cuts.

pub use crate::video::times::Times;

impl Times {
    /// The element message about a scene cut.
    pub fn structure(&self) -> gst::Structure {
        gst::Structure::builder("motion-scene-cut")
            .field("timestamp", self.timestamp)
            .field("stream-time", self.stream_time)
            .field("running-time", self.running_time)
            .field("duration", self.duration)
            .build()
    }

    /// The event that asks encoders for a key unit, the `count`-th.
    pub fn key_unit(&self, count: u32) -> gst::Event {
        gst_video::DownstreamForceKeyUnitEvent::builder()
            .timestamp(self.timestamp)
            .stream_time(self.stream_time)
            .running_time(self.running_time)
            .count(count)
            .build()
    }
}
