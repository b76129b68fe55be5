//! The frames that a frame is averaged with.

use motion_base::{FrameView, MotionVector};

/// Where a [`Denoiser`](super::Denoiser) keeps the luma of a frame that it has loaded, or a device all planes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LumaSlot(pub(crate) usize);

/// A frame that another one is averaged with.
#[derive(Clone, Copy)]
pub struct Reference<'a> {
    /// Where its luma is.
    pub slot: LumaSlot,
    /// Its planes, luma first.
    pub planes: &'a [FrameView<'a>],
    /// The field that was found by searching the frame that is averaged in this one.
    pub vectors: &'a [MotionVector],
    /// How many frames after the other one it comes; before it, if less than zero. The noise is estimated with the frames
    /// beside it.
    pub offset: isize,
}

impl Reference<'_> {
    /// Whether no frame is between the two.
    pub(super) fn is_beside(&self) -> bool {
        self.offset.abs() == 1
    }
}
