//! How long an element holds frames back.

use gst::prelude::*;
use parking_lot::Mutex;

/// The latency that an element adds to a pipeline.
#[derive(Default)]
pub struct Latency(Mutex<gst::ClockTime>);

impl Latency {
    pub fn get(&self) -> gst::ClockTime {
        *self.0.lock()
    }

    /// Back to none, without a message: the element starts.
    pub fn reset(&self) {
        *self.0.lock() = gst::ClockTime::ZERO;
    }

    /// Sets it to `latency`; if that is a change, tells the pipeline by a message of `element`.
    pub fn set(&self, element: &impl IsA<gst::Element>, latency: gst::ClockTime) {
        if std::mem::replace(&mut *self.0.lock(), latency) != latency {
            let message = gst::message::Latency::builder().src(element.upcast_ref()).build();
            // It fails where the element is in no pipeline.
            let _ = element.post_message(message);
        }
    }

    /// Adds it to upstream's answer to `query`, if that asks for the latency.
    pub fn add_to(&self, query: &mut gst::QueryRef) {
        if let gst::QueryViewMut::Latency(query) = query.view_mut() {
            let latency = self.get();
            let (is_live, least, most) = query.result();
            query.set(is_live, least.saturating_add(latency), most.map(|most| most.saturating_add(latency)));
        }
    }
}
