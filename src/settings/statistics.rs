//! The property `stats`: sums over all frames since the start of an element.

use std::time::Duration;

use gst::prelude::*;
use motion_search::estimator::Launching;

/// The specification of the property; `blurb` says what the structure holds.
pub fn stats_property(blurb: &str) -> glib::ParamSpec {
    glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
        .nick("Statistics")
        .blurb(blurb)
        .read_only()
        .build()
}

/// Logs `structure` and posts it on the bus, as a message of `element`.
pub fn post(element: &impl IsA<gst::Element>, category: gst::DebugCategory, structure: gst::Structure) {
    gst::info!(category, obj = element, "{structure}");
    let message = gst::message::Element::builder(structure).src(element.upcast_ref()).build();
    // It fails where the element has no bus.
    let _ = element.post_message(message);
}

/// The name of what launches a device's kernels, if it has kernels.
pub fn launcher(launching: Option<&Launching>) -> Option<&'static str> {
    launching.map(|launching| launching.by.name())
}

/// The mean of `count` times with this sum, in nanoseconds; 0 if there are none.
pub fn mean_ns(sum: Duration, count: u64) -> u64 {
    u64::try_from(sum.as_nanos()).unwrap_or(u64::MAX).checked_div(count).unwrap_or(0)
}
