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
        let is_one = self.previous.as_ref().is_some_and(|previous| is_equal([previous, buffer], layout));
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

/// Whether two buffers hold the same frame. What cannot be read equals nothing.
fn is_equal(buffers: [&gst::BufferRef; 2], layout: &FrameLayout) -> bool {
    let frames = buffers.map(|buffer| layout.read(buffer));
    let [Ok(first), Ok(second)] = &frames else { return false };
    let planes = [first, second].map(|frame| frame.planes());
    let [Ok(first), Ok(second)] = &planes else { return false };
    first.iter().zip(second).all(|(first, second)| (0..first.height()).all(|y| first.row(y) == second.row(y)))
}
