//! Frames that repeat the frame before them.

use crate::video::frame::{self, FrameLayout};
use motion_frames::duplicates::DuplicateFinder;

/// The frame before, where frames that repeat it are dropped.
#[derive(Default)]
pub struct Duplicates {
    /// It shares the memory of the buffer that goes downstream: a writer there gets a copy.
    previous: Option<gst::Buffer>,
    is_own: bool,
    finder: DuplicateFinder,
}

impl Duplicates {
    /// Whether `buffer` has the samples of the frame before, in all planes, or `is_lossy` and it differs from it by coding noise
    /// alone. Otherwise it is the frame before from now on.
    pub fn has(&mut self, buffer: &gst::BufferRef, layout: &FrameLayout, is_lossy: bool) -> bool {
        let Self { previous, finder, .. } = self;
        let is_one = previous.as_ref().is_some_and(|previous| {
            let found = match is_lossy {
                true => frame::is_duplicate(layout, [previous, buffer], finder),
                false => layout.is_equal(previous, buffer),
            };
            // What cannot be read equals nothing.
            found.unwrap_or(false)
        });
        if !is_one {
            (self.previous, self.is_own) = (Some(buffer.copy()), false);
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
