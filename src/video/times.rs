//! When a frame is shown, as messages and events tell it.

/// When a frame is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    pub timestamp: Option<gst::ClockTime>,
    pub stream_time: Option<gst::ClockTime>,
    pub running_time: Option<gst::ClockTime>,
    pub duration: Option<gst::ClockTime>,
}

impl Times {
    /// The times of `buffer` in `segment`.
    pub fn of(buffer: &gst::BufferRef, segment: &gst::Segment) -> Self {
        Self { duration: buffer.duration(), ..Self::at(buffer.pts(), segment) }
    }

    /// The times of what is at `timestamp` of `segment`.
    pub fn at(timestamp: Option<gst::ClockTime>, segment: &gst::Segment) -> Self {
        let segment = segment.downcast_ref::<gst::ClockTime>();
        Self {
            timestamp,
            stream_time: segment.and_then(|segment| segment.to_stream_time(timestamp)),
            running_time: segment.and_then(|segment| segment.to_running_time(timestamp)),
            duration: None,
        }
    }
}
