use crate::estimator::{Frame, FrameView, MotionVector, Part, SetupError, WindowParts};

/// A search on frames in slots, each in the form that the search reads. It runs in the rayon pool that it is called
/// from.
pub trait FrameSearch: Send {
    /// The name of its kernel.
    fn kernel(&self) -> &'static str;

    /// The parts of the window that it tries in less time than all of it.
    fn window_parts(&self) -> WindowParts;

    /// Allocates as many slots, all empty.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if the frames do not fit into memory.
    fn set_slots(&mut self, count: usize) -> Result<(), SetupError>;

    /// Loads the needed rows of `frame` into the slot with this index.
    fn load(&mut self, slot: usize, frame: &Frame);

    /// The frame in the slot with this index.
    fn frame(&self, slot: usize) -> FrameView<'_>;

    /// Searches `part` of the current frame in the reference frame, which are in the slots with these indices, and
    /// writes a vector for each block of the part. It may start from what the previous search with the same `history`,
    /// an index among the offsets of the references, has found.
    fn search(
        &mut self,
        current_and_reference: [usize; 2],
        history: usize,
        part: Part,
        vectors: &mut [MotionVector],
    );
}
