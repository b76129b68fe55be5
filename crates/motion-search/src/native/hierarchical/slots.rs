use super::{HierarchicalSearch, Pyramid};
use crate::estimator::{Frame, FrameView, MotionVector, NATIVE, Parameters, Part, SetupError, WindowParts};
use crate::native::frame_search::FrameSearch;
use motion_base::simd::Instructions;

/// Hierarchical search on frames in slots, each with its pyramid.
pub struct HierarchicalSlots {
    search: HierarchicalSearch,
    /// One a slot.
    pyramids: Vec<Pyramid>,
}

impl HierarchicalSlots {
    /// A search without slots.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(parameters: &Parameters, instructions: Instructions) -> Result<Self, SetupError> {
        Ok(Self { search: HierarchicalSearch::new(parameters, instructions)?, pyramids: Vec::new() })
    }
}

impl FrameSearch for HierarchicalSlots {
    fn kernel(&self) -> &'static str {
        NATIVE
    }

    fn window_parts(&self) -> WindowParts {
        WindowParts::Whole
    }

    fn set_slots(&mut self, count: usize) -> Result<(), SetupError> {
        self.pyramids.truncate(count);
        while self.pyramids.len() < count {
            self.pyramids.push(self.search.pyramid()?);
        }
        Ok(())
    }

    fn load(&mut self, slot: usize, frame: &Frame) {
        self.search.load(&frame.view(), &mut self.pyramids[slot]);
    }

    fn frame(&self, slot: usize) -> FrameView<'_> {
        self.pyramids[slot].frame()
    }

    fn search(
        &mut self,
        [current, reference]: [usize; 2],
        _history: usize,
        _whole: Part,
        vectors: &mut [MotionVector],
    ) {
        self.search.search(&self.pyramids[current], &self.pyramids[reference], vectors);
    }
}
