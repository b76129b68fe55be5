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
mod threads;
mod three_step;

pub use level::Level;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::estimator::{
    Algorithm, Device, DeviceInfo, EstimateError, Flights, Frame, Output, Parameters, Request, SetupError,
    Slot, StageTimes, Ticket,
};
use crate::tuning::Kernel;
use elimination::Eliminator;
use job::{RowSearch, SearchJob};
use level::Instructions;
use plane::{Plane, PlaneLayout, available_memory};

/// Full or three-step search on the CPU's cores.
///
/// It runs in the current rayon pool, or in that of [`Self::with_threads`]. A search in flight is computed when it is
/// finished: its vectors are then written once, to the caller's memory. Each slot holds a padded frame.
pub struct Native {
    info: DeviceInfo,
    level: Level,
    instructions: Instructions,
    elimination: Option<Eliminator>,
    /// One a slot.
    planes: Vec<Plane>,
    /// How long each took to fill.
    uploads: Vec<Duration>,
    flights: Flights<()>,
    threads: Option<Arc<rayon::ThreadPool>>,
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

impl Native {
    /// The name of this device.
    pub const NAME: &str = "native";

    /// A device for `parameters` with the fastest instructions of this CPU.
    ///
    /// # Errors
    /// [`SetupError`] if `parameters` are not valid or the frames do not fit into memory.
    pub fn new(parameters: Parameters) -> Result<Self, SetupError> {
        Self::with_kernel(parameters, Kernel::Auto, Level::best())
    }

    /// A device for `parameters` with the instructions of `level`.
    ///
    /// # Errors
    /// As [`Self::new`], and [`SetupError::DeviceUnsupported`] if this CPU lacks `level`.
    pub fn with_level(parameters: Parameters, level: Level) -> Result<Self, SetupError> {
        Self::with_kernel(parameters, Kernel::Auto, level)
    }

    /// A device for `parameters` with `kernel` in the instructions of `level`.
    /// [`Kernel::Auto`] is [`Kernel::Elimination`], or [`Kernel::Exhaustive`] if the blocks or the window are
    /// too small for elimination to pay or memory for its sums is missing.
    ///
    /// # Errors
    /// As [`Self::with_level`], and [`SetupError::KernelUnsupported`] if `kernel` is one of
    /// OpenCL's.
    pub fn with_kernel(parameters: Parameters, kernel: Kernel, level: Level) -> Result<Self, SetupError> {
        parameters.validate()?;
        kernel.check_algorithm(parameters.algorithm, Self::NAME)?;
        if kernel != Kernel::Auto && !Kernel::NATIVE.contains(&kernel) {
            return Err(SetupError::KernelUnsupported {
                kernel: kernel.name(),
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
            _ if parameters.window.candidates() < few_candidates(parameters.block_size) => None,
            _ => Eliminator::new(instructions, &parameters, &layout).ok(),
        };
        let info = DeviceInfo {
            name: Self::NAME.into(),
            kernel: match (parameters.algorithm, &elimination) {
                (Algorithm::ThreeStep, _) => Self::NAME,
                (Algorithm::Full, None) => Kernel::Exhaustive.name(),
                (Algorithm::Full, Some(_)) => Kernel::Elimination.name(),
            },
            parameters,
            divides_window: elimination.is_none(),
            depth: 1,
            slots: planes.len(),
            can_fail: false,
            can_hang: false,
            memory: None,
        };
        Ok(Self {
            level,
            instructions,
            elimination,
            uploads: vec![Duration::ZERO; planes.len()],
            flights: Flights::new(planes.len(), info.depth),
            planes,
            threads: None,
            info,
        })
    }

    /// The same with room for `depth` searches in flight, at least 1; slots are empty afterwards.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if the frames do not fit into memory.
    pub fn with_depth(mut self, depth: usize) -> Result<Self, SetupError> {
        let (depth, layout) = (depth.max(1), *self.planes[0].layout());
        self.planes.truncate(depth + 1);
        while self.planes.len() <= depth {
            self.planes.push(Plane::new(layout, available_memory())?);
        }
        self.uploads = vec![Duration::ZERO; depth + 1];
        self.flights = Flights::new(depth + 1, depth);
        (self.info.depth, self.info.slots) = (depth, depth + 1);
        Ok(self)
    }

    /// The same in a pool of `count` threads, shared by all devices with that number; 0 is one a core.
    ///
    /// # Errors
    /// [`SetupError::Device`] if the threads do not start.
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
        match self.info.parameters.algorithm {
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

impl Device for Native {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn load(&mut self, slot: Slot, frame: &Frame) -> Result<(), EstimateError> {
        self.flights.empty(slot)?;
        frame.view().check_size(&self.info.parameters)?;
        let start = Instant::now();
        let plane = &mut self.planes[slot.index()];
        run(self.threads.as_deref(), || plane.fill(&frame.view(), &frame.rows()));
        self.flights.fill(slot);
        self.uploads[slot.index()] = start.elapsed();
        Ok(())
    }

    fn unload(&mut self, slot: Slot) -> Result<Option<Frame>, EstimateError> {
        let Parameters { width, height, .. } = self.info.parameters;
        if !self.flights.is_loaded(slot) {
            return Ok(None);
        }
        let mut samples = vec![0; width * height];
        self.planes[slot.index()].frame(width, height).copy_to(&mut samples);
        Ok(Frame::from_samples(samples, width, height).ok())
    }

    fn begin(&mut self, request: Request) -> Result<Ticket, EstimateError> {
        request.part.check(&self.info.parameters)?;
        self.flights.check(&request)?;
        Ok(self.flights.begin(request, ()))
    }

    fn finish(&mut self, ticket: Ticket, output: &mut Output) -> Result<(), EstimateError> {
        let Request { current, reference, part } = self.flights.oldest(ticket)?.request;
        let parameters = &self.info.parameters;
        part.grid(parameters).check(&output.vectors)?;
        self.flights.finish();
        let window = part.window(&parameters.window);
        let is_cut = window != parameters.window;
        let parameters = Parameters { window, ..parameters.clone() };
        let row_search = self.row_search();
        let job = SearchJob {
            instructions: self.instructions,
            parameters: &parameters,
            current: &self.planes[current.index()],
            reference: &self.planes[reference.index()],
        };
        let (elimination, vectors) = (&mut self.elimination, &mut output.vectors[..]);
        let start = Instant::now();
        run(self.threads.as_deref(), || match elimination {
            // Elimination starts at no motion, which a part of the window may leave out.
            Some(elimination) if !is_cut => elimination.search(&job, part.rows(), vectors),
            _ => job.search_rows(row_search, part.rows().start, vectors),
        });
        output.device_time = None;
        output.times = StageTimes {
            upload: self.uploads[current.index()],
            search: start.elapsed(),
            ..StageTimes::default()
        };
        Ok(())
    }

    fn cancel(&mut self) {
        self.flights.clear();
    }
}
