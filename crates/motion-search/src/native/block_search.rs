//! Full and three-step search, a row of blocks at a time.

use crate::estimator::{
    Algorithm, Frame, FrameView, MotionVector, NATIVE, Parameters, Part, RecordPool, SetupError, SubSample,
    WindowParts,
};
use crate::native::elimination::Eliminator;
use crate::native::frame_search::FrameSearch;
use crate::native::job::{RowSearch, SearchJob};
use crate::native::plane::{Plane, PlaneLayout};
use crate::native::{exhaustive, refinement, three_step};
use crate::tuning::Kernel;
use motion_base::memory::{Line, available_bytes};
use motion_base::simd::Instructions;

/// Full or three-step search. Each slot holds a padded frame.
pub struct BlockSearch {
    parameters: Parameters,
    instructions: Instructions,
    layout: PlaneLayout,
    elimination: Option<Eliminator>,
    /// One a slot.
    planes: Vec<Plane>,
    /// Memory of refinement.
    refinement: RecordPool<Line>,
}

/// Elimination does not pay for fewer candidates: `benches/RESULTS.md`.
fn few_candidates(block_size: usize) -> usize {
    match block_size {
        // A bound costs as much as the few samples.
        ..8 => usize::MAX,
        8 => 2000,
        _ => 100,
    }
}

impl BlockSearch {
    /// A search without slots.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if the sums of `kernel` elimination do not fit into memory.
    pub fn new(
        parameters: &Parameters,
        kernel: Kernel,
        instructions: Instructions,
    ) -> Result<Self, SetupError> {
        let layout = PlaneLayout::new(parameters);
        let elimination = match kernel {
            _ if parameters.algorithm != Algorithm::Full => None,
            Kernel::Exhaustive => None,
            Kernel::Elimination => Some(Eliminator::new(instructions, parameters, &layout)?),
            _ if parameters.window.candidates() < few_candidates(parameters.block_size) => None,
            _ => Eliminator::new(instructions, parameters, &layout).ok(),
        };
        let (parameters, planes) = (parameters.clone(), Vec::new());
        Ok(Self { parameters, instructions, layout, elimination, planes, refinement: RecordPool::default() })
    }

    fn is_full(&self) -> bool {
        self.parameters.algorithm == Algorithm::Full
    }

    /// The search of a row of blocks without elimination.
    fn row_search(&self) -> RowSearch {
        if self.is_full() { exhaustive::search_row } else { three_step::search_row }
    }
}

impl FrameSearch for BlockSearch {
    fn kernel(&self) -> &'static str {
        match &self.elimination {
            _ if !self.is_full() => NATIVE,
            None => Kernel::Exhaustive.name(),
            Some(_) => Kernel::Elimination.name(),
        }
    }

    fn window_parts(&self) -> WindowParts {
        if self.elimination.is_none() { WindowParts::Rows } else { WindowParts::Whole }
    }

    fn set_slots(&mut self, count: usize) -> Result<(), SetupError> {
        self.planes.truncate(count);
        while self.planes.len() < count {
            self.planes.push(Plane::new(self.layout, available_bytes())?);
        }
        Ok(())
    }

    fn load(&mut self, slot: usize, frame: &Frame) {
        self.planes[slot].fill(&frame.view(), &frame.rows());
    }

    fn frame(&self, slot: usize) -> FrameView<'_> {
        self.planes[slot].frame(self.parameters.width, self.parameters.height)
    }

    fn search(
        &mut self,
        [current, reference]: [usize; 2],
        history: usize,
        part: Part,
        vectors: &mut [MotionVector],
    ) {
        let window = part.window(&self.parameters, &self.parameters.window);
        let is_cut = window != self.parameters.window;
        let parameters = Parameters { window, ..self.parameters.clone() };
        let row_search = self.row_search();
        let job = SearchJob {
            instructions: self.instructions,
            parameters: &parameters,
            current: &self.planes[current],
            reference: &self.planes[reference],
        };
        match &mut self.elimination {
            // Elimination starts at no motion, which a part of the window may leave out.
            Some(elimination) if !is_cut => elimination.search(&job, history, part.rows(), vectors),
            _ => job.search_rows(row_search, part.rows().start, vectors),
        }
        if parameters.sub_sample != SubSample::None {
            refinement::refine(&job, part.rows().start, vectors, &self.refinement);
        }
    }
}
