//! The CPU, without OpenCL: search in the widest instructions it has, on all its cores.
//!
//! [`Level`] chooses the instruction set at run time; the search is written once (`search`) over
//! what an instruction set must be able to do (`tile::Engine`, for `three_step` its `Compare`),
//! beside a portable version that is tested with the others. The pictures lie padded in memory (`plane`), so that the inner loops
//! need not know where a picture ends.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod level;
mod plane;
mod portable;
mod predict;
mod search;
mod threads;
mod three_step;
#[cfg(target_arch = "x86_64")]
mod three_step_avx2;
mod tile;

pub use level::Level;
pub use predict::median_predictors;

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::backend::{DeviceInfo, DeviceSelector};
use crate::estimator::{
    EstimateError, Estimator, Flights, InFlight, Kernel, MotionVector, Parameters, Part, Picture, PictureBuf,
    Predictor, SetupError, Slot, StageTimes,
};
use level::RowSearch;
use plane::{Layout, Plane, available_memory};
use predict::LastField;
use search::Job;

/// The name of this device.
const NAME: &str = "native";

/// Full or three-step search on the CPU's cores.
///
/// It runs in the rayon pool it is called from, the global one as a rule, or in one of its own:
/// [`Self::with_threads`]. It starts no thread to have searches in flight: each is done when it is
/// finished, so that its vectors are written once, to where they belong.
pub struct Native {
    parameters: Parameters,
    level: Level,
    row_search: RowSearch,
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

impl Native {
    /// An estimator for `parameters` with the fastest instructions there are.
    ///
    /// # Errors
    /// [`SetupError`] where `parameters` are not valid or the pictures do not fit into memory.
    pub fn new(parameters: Parameters) -> Result<Self, SetupError> {
        Self::with_level(parameters, Level::best())
    }

    /// An estimator for `parameters` with the instructions of `level`.
    ///
    /// # Errors
    /// As [`Self::new`], and [`SetupError::DeviceUnsupported`] where this CPU lacks `level`.
    pub fn with_level(parameters: Parameters, level: Level) -> Result<Self, SetupError> {
        parameters.validate()?;
        let row_search =
            level.row_search(parameters.algorithm).ok_or_else(|| SetupError::DeviceUnsupported {
                wanted: NAME.into(),
                reason: format!("this CPU does not have {level}"),
            })?;
        let layout = Layout::new(&parameters);
        let plane = || Plane::new(layout, available_memory());
        let planes = vec![plane()?, plane()?];
        let (uploads, flights) = (vec![Duration::ZERO; 2], Flights::new(1));
        let last_field = LastField::new(&parameters);
        let times = StageTimes::default();
        Ok(Self { parameters, level, row_search, planes, uploads, flights, threads: None, last_field, times })
    }

    /// The same with room for `depth` searches in flight, at least 1; slots are empty afterwards.
    ///
    /// # Errors
    /// [`SetupError::Memory`] where the pictures do not fit into memory.
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

    /// The same in a pool of `count` threads, which all estimators with that number share; 0 is one
    /// a core.
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

    /// The CPU as a device; its driver is the instruction set that [`Self::new`] takes.
    pub fn device_info() -> DeviceInfo {
        DeviceInfo {
            selector: DeviceSelector::Native,
            name: NAME.into(),
            kind: "native",
            driver: Level::best().name().into(),
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
        NAME
    }

    fn kernel(&self) -> Kernel {
        Kernel::Auto
    }

    fn depth(&self) -> usize {
        self.flights.depth()
    }

    fn in_flight(&self) -> usize {
        self.flights.len()
    }

    fn load(&mut self, slot: Slot, picture: &Picture<'_>) -> Result<(), EstimateError> {
        self.load_rows(slot, picture, 0..picture.height())
    }

    fn load_rows(
        &mut self,
        slot: Slot,
        picture: &Picture<'_>,
        rows: Range<usize>,
    ) -> Result<(), EstimateError> {
        self.flights.empty(slot)?;
        picture.check_size(&self.parameters)?;
        let start = Instant::now();
        let plane = &mut self.planes[slot.index()];
        run(self.threads.as_deref(), || plane.fill(picture, &rows));
        self.flights.fill(slot);
        self.uploads[slot.index()] = start.elapsed();
        if self.flights.len() == 0 {
            self.times.upload = start.elapsed();
        }
        Ok(())
    }

    fn unload(&mut self, slot: Slot) -> Result<Option<PictureBuf>, EstimateError> {
        let Parameters { width, height, .. } = self.parameters;
        let is_loaded = self.flights.is_loaded(slot);
        Ok(is_loaded.then(|| self.planes[slot.index()].picture(width, height)))
    }

    fn begin(&mut self, current: Slot, reference: Slot) -> Result<(), EstimateError> {
        self.begin_part(current, reference, Part::whole(&self.parameters))
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
        let job = Job {
            parameters: &parameters,
            current: &self.planes[current.index()],
            reference: &self.planes[reference.index()],
        };
        let start = Instant::now();
        run(self.threads.as_deref(), || {
            vectors
                .par_chunks_mut(grid.columns)
                .enumerate()
                .for_each(|(row, vectors)| (self.row_search)(&job, part.rows().start + row, vectors));
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
