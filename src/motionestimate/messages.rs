//! What is told of scene cuts.

/// When a frame is shown.
#[derive(Debug)]
pub struct Times {
    pub timestamp: Option<gst::ClockTime>,
    pub stream_time: Option<gst::ClockTime>,
    pub running_time: Option<gst::ClockTime>,
    pub duration: Option<gst::ClockTime>,
}

impl Times {
    /// The times of `buffer` in `segment`.
    pub fn of(buffer: &gst::BufferRef, segment: &gst::Segment) -> Self {
        let segment = segment.downcast_ref::<gst::ClockTime>();
        Self {
            timestamp: buffer.pts(),
            stream_time: segment.and_then(|segment| segment.to_stream_time(buffer.pts())),
            running_time: segment.and_then(|segment| segment.to_running_time(buffer.pts())),
            duration: buffer.duration(),
        }
    }

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
