//! Frames that equal the frame before them.

use crate::video::frame::FrameLayout;

/// The frame before, where frames that equal it are dropped.
#[derive(Default)]
pub struct Duplicates {
    /// It shares the memory of the buffer that goes downstream: a writer there gets a copy.
    previous: Option<gst::Buffer>,
    is_own: bool,
}

impl Duplicates {
    /// Whether `buffer` has the samples of the frame before, in all planes; else it is the frame before from now on.
    pub fn has(&mut self, buffer: &gst::BufferRef, layout: &FrameLayout) -> bool {
        // What cannot be read equals nothing.
        let is_equal = |previous: &gst::Buffer| layout.is_equal(previous, buffer).unwrap_or(false);
        let is_one = self.previous.as_ref().is_some_and(is_equal);
        if !is_one {
            *self = Self { previous: Some(buffer.copy()), is_own: false };
        }
        is_one
    }

    /// Holds no memory of a buffer of upstream's any more.
    pub fn own(&mut self) {
        if !std::mem::replace(&mut self.is_own, true) {
            self.previous = self.previous.take().and_then(|previous| previous.copy_deep().ok());
        }
    }
}
