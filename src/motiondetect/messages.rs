//! What is told of regions.

use crate::video::times::Times;
use motion_detect::Region;

/// The message about a region that has begun, or ended, with a frame at `times`.
pub fn structure(name: &str, region: &Region, times: &Times) -> gst::Structure {
    gst::Structure::builder(name)
        .field("id", region.id)
        .field("x", region.x)
        .field("y", region.y)
        .field("width", region.width)
        .field("height", region.height)
        .field("velocity-x", region.velocity.0)
        .field("velocity-y", region.velocity.1)
        .field("confidence", region.confidence)
        .field("begin", region.begin)
        .field("last", region.last)
        .field("timestamp", times.timestamp)
        .field("stream-time", times.stream_time)
        .field("running-time", times.running_time)
        .field("duration", times.duration)
        .build()
}
