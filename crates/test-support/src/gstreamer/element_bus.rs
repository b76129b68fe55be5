//! The messages of an element alone.

use std::ops::Deref;

use gst::prelude::*;

/// A bus of an element that is in no pipeline. Its messages have the element, which has the bus, until this is dropped.
pub struct ElementBus {
    element: gst::Element,
    bus: gst::Bus,
}

impl ElementBus {
    /// The bus of `element` from now on.
    pub fn new(element: gst::Element) -> Self {
        let bus = gst::Bus::new();
        element.set_bus(Some(&bus));
        Self { element, bus }
    }
}

impl Deref for ElementBus {
    type Target = gst::Bus;

    fn deref(&self) -> &gst::Bus {
        &self.bus
    }
}

impl Drop for ElementBus {
    fn drop(&mut self) {
        self.element.set_bus(None);
    }
}
