//! Search on the CPU's cores, without OpenCL, in the widest instructions that the CPU has.
//!
//! Frames lie padded in memory (`plane`), so that inner loops need not know where a frame ends. Exhaustive search
//! (`exhaustive`), successive elimination (`elimination`) and three-step search (`three_step`) are written once, generic
//! over the metric (`cost`) and the instruction set (`engine`); `arch` has an implementation for each instruction set.
//! [`Level`] selects one at run time: all of a search that is not shared by threads is a `Work` that `level` compiles
//! for each.

mod aligned;
mod arch;
mod candidates;
mod cost;
mod elimination;
mod engine;
mod exhaustive;
mod job;
mod level;
mod plane;
mod predict;
mod threads;
mod three_step;

pub use level::Level;
pub use predict::median_predictors;

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::estimator::{
    Algorithm, EstimateError, Estimator, Flights, FrameBuf, FrameView, InFlight, Kernel, MotionVector,
    Parameters, Part, Predictor, SetupError, Slot, StageTimes,
};
use elimination::Eliminator;
use job::{RowSearch, SearchJob};
use level::Instructions;
use plane::{Plane, PlaneLayout, available_memory};
use predict::LastField;

/// Full or three-step search on the CPU's cores.
///
/// It runs in the current rayon pool, or in that of [`Self::with_threads`]. A search in flight is computed when it is
/// finished: its vectors are then written once, to the caller's memory. Each slot holds a padded frame.
pub struct Native {
    parameters: Parameters,
    level: Level,
    instructions: Instructions,
    elimination: Option<Eliminator>,
    /// One a slot.
    planes: Vec<Plane>,
    /// How long each took to fill.
    uploads: Vec<Duration>,
    flights: Flights,
    threads: Option<Arc<rayon::ThreadPool>>,
    /// What is predicted, if anything is.
    last_field: Option<LastField>,
    times: StageTimes,
}

/// Elimination does not pay for fewer candidates.
const FEW_CANDIDATES: usize = 100;

impl Native {
    /// The name of this device.
    pub const NAME: &str = "native";

    /// An estimator for `parameters` with the fastest instructions of this CPU.
    ///
    /// # Errors
    /// [`SetupError`] where `parameters` are not valid or the frames do not fit into memory.
    pub fn new(parameters: Parameters) -> Result<Self, SetupError> {
        Self::with_kernel(parameters, Kernel::Auto, Level::best())
    }

    /// An estimator for `parameters` with the instructions of `level`.
    ///
    /// # Errors
    /// As [`Self::new`], and [`SetupError::DeviceUnsupported`] where this CPU lacks `level`.
    pub fn with_level(parameters: Parameters, level: Level) -> Result<Self, SetupError> {
        Self::with_kernel(parameters, Kernel::Auto, level)
    }

    /// An estimator for `parameters` with `kernel` in the instructions of `level`.
    /// [`Kernel::Auto`] is [`Kernel::Elimination`], or [`Kernel::Exhaustive`] where the window is too small for
    /// elimination to pay or memory for its sums is missing.
    ///
    /// # Errors
    /// As [`Self::with_level`], and [`SetupError::KernelUnsupported`] where `kernel` is one of
    /// OpenCL's.
    pub fn with_kernel(parameters: Parameters, kernel: Kernel, level: Level) -> Result<Self, SetupError> {
        parameters.validate()?;
        kernel.check_algorithm(parameters.algorithm, Self::NAME)?;
        if kernel != Kernel::Auto && !Kernel::NATIVE.contains(&kernel) {
            return Err(SetupError::KernelUnsupported {
                kernel,
                device: Self::NAME.into(),
                reason: "it is an OpenCL kernel".into(),
                advice: "choose kernel auto, or an OpenCL device".into(),
            });
        }
        let instructions = level.instructions().ok_or_else(|| SetupError::DeviceUnsupported {
            wanted: Self::NAME.into(),
            reason: format!("this CPU does not have {level}"),
        })?;
        let layout = PlaneLayout::new(&parameters);
        let plane = || Plane::new(layout, available_memory());
        let planes = vec![plane()?, plane()?];
        let elimination = match kernel {
            _ if parameters.algorithm != Algorithm::Full => None,
            Kernel::Exhaustive => None,
            Kernel::Elimination => Some(Eliminator::new(instructions, &parameters, &layout)?),
            _ if parameters.window.candidates() < FEW_CANDIDATES => None,
            _ => Eliminator::new(instructions, &parameters, &layout).ok(),
        };
        Ok(Self {
            level,
            instructions,
            elimination,
            planes,
            uploads: vec![Duration::ZERO; 2],
            flights: Flights::new(1),
            threads: None,
            last_field: LastField::new(&parameters),
            times: StageTimes::default(),
            parameters,
        })
    }

    /// The same with room for `depth` searches in flight, at least 1; slots are empty afterwards.
    ///
    /// # Errors
    /// [`SetupError::Memory`] where the frames do not fit into memory.
    pub fn with_depth(mut self, depth: usize) -> Result<Self, SetupError> {
        let (depth, layout) = (depth.max(1), *self.planes[0].layout());
        self.planes.truncate(depth + 1);
        while self.planes.len() <= depth {
            self.planes.push(Plane::new(layout, available_memory())?);
        }
        self.uploads = vec![Duration::ZERO; depth + 1];
        self.flights = Flights::new(depth);
        Ok(self)
    }

    /// The same in a pool of `count` threads, shared by all estimators with that number; 0 is one a core.
    ///
    /// # Errors
    /// [`SetupError::Device`] where the threads do not start.
    pub fn with_threads(mut self, count: usize) -> Result<Self, SetupError> {
        self.threads = Some(threads::pool(count)?);
        Ok(self)
    }

    /// The instruction set in use.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The search of a row of blocks without elimination.
    fn row_search(&self) -> RowSearch {
        match self.parameters.algorithm {
            Algorithm::Full => exhaustive::search_row,
            Algorithm::ThreeStep => three_step::search_row,
        }
    }
}

/// Runs `work` in `pool`, or where it is called from.
fn run<R: Send>(pool: Option<&rayon::ThreadPool>, work: impl FnOnce() -> R + Send) -> R {
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

impl Estimator for Native {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn device(&self) -> &str {
        Self::NAME
    }

    fn kernel(&self) -> Kernel {
        match (self.parameters.algorithm, &self.elimination) {
            (Algorithm::ThreeStep, _) => Kernel::Auto,
            (Algorithm::Full, None) => Kernel::Exhaustive,
            (Algorithm::Full, Some(_)) => Kernel::Elimination,
        }
    }

    fn depth(&self) -> usize {
        self.flights.depth()
    }

    fn can_fail(&self) -> bool {
        false
    }

    fn in_flight(&self) -> usize {
        self.flights.len()
    }

    fn load(&mut self, slot: Slot, frame: &FrameView<'_>) -> Result<(), EstimateError> {
        self.load_rows(slot, frame, 0..frame.height())
    }

    fn load_rows(
        &mut self,
        slot: Slot,
        frame: &FrameView<'_>,
        rows: Range<usize>,
    ) -> Result<(), EstimateError> {
        self.flights.empty(slot)?;
        frame.check_size(&self.parameters)?;
        let start = Instant::now();
        let plane = &mut self.planes[slot.index()];
        run(self.threads.as_deref(), || plane.fill(frame, &rows));
        self.flights.fill(slot);
        self.uploads[slot.index()] = start.elapsed();
        if self.flights.len() == 0 {
            self.times.upload = start.elapsed();
        }
        Ok(())
    }

    fn unload(&mut self, slot: Slot) -> Result<Option<FrameBuf>, EstimateError> {
        let Parameters { width, height, .. } = self.parameters;
        let is_loaded = self.flights.is_loaded(slot);
        Ok(is_loaded.then(|| self.planes[slot.index()].frame(width, height).to_buf()))
    }

    fn begin_part(&mut self, current: Slot, reference: Slot, part: Part) -> Result<(), EstimateError> {
        part.check(&self.parameters)?;
        self.flights.check_begin(current, reference)?;
        self.flights.begin(current, reference, part);
        Ok(())
    }

    fn finish(&mut self, vectors: &mut [MotionVector]) -> Result<(), EstimateError> {
        let InFlight { current, reference, part } = self.flights.oldest()?;
        let grid = part.grid(&self.parameters);
        grid.check(vectors)?;
        self.flights.finish();
        let window = part.window(&self.parameters.window);
        let parameters = Parameters { window, ..self.parameters.clone() };
        let (row_search, is_cut) = (self.row_search(), window != self.parameters.window);
        let job = SearchJob {
            instructions: self.instructions,
            parameters: &parameters,
            current: &self.planes[current.index()],
            reference: &self.planes[reference.index()],
        };
        let elimination = &mut self.elimination;
        let start = Instant::now();
        run(self.threads.as_deref(), || match elimination {
            // It begins at no motion, which a part of the window may leave out.
            Some(elimination) if !is_cut => elimination.search(&job, part.rows(), vectors),
            _ => job.search_rows(row_search, part.rows().start, vectors),
        });
        if let Some(field) = &mut self.last_field {
            match part == Part::whole(&self.parameters) {
                true => field.keep(vectors),
                false => field.clear(),
            }
        }
        self.times.upload = self.uploads[current.index()];
        self.times.search = start.elapsed();
        Ok(())
    }

    fn cancel(&mut self) {
        self.flights.clear();
        if let Some(field) = &mut self.last_field {
            field.clear();
        }
    }

    fn predict(&mut self, predictors: &mut [Predictor]) -> Result<(), EstimateError> {
        let start = Instant::now();
        let field = self.last_field.as_ref().ok_or(EstimateError::NotPredicting)?;
        let grid = self.parameters.grid();
        run(self.threads.as_deref(), || field.predict(grid, predictors))?;
        self.times.prediction = start.elapsed();
        Ok(())
    }

    fn stage_times(&self) -> StageTimes {
        self.times
    }
}
