//! The CPU, without OpenCL: search in the widest instructions it has, on all its cores.
//!
//! [`Level`] chooses the instruction set at run time; the search is written once (`search`) over
//! what an instruction set must be able to do (`tile::Engine`, for `three_step` its `Compare`),
//! beside a portable version that is tested with the others. The frames lie padded in memory (`plane`), so that the inner loops
//! need not know where a frame ends.

mod area;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod bounds;
mod columns;
mod elimination;
#[cfg(target_arch = "x86_64")]
mod elimination_avx2;
#[cfg(target_arch = "x86_64")]
mod elimination_avx512;
mod experience;
mod level;
#[cfg(target_arch = "aarch64")]
mod neon;
mod plane;
mod portable;
#[cfg(target_arch = "x86_64")]
mod products;
mod search;
#[cfg(target_arch = "x86_64")]
mod sse;
#[cfg(target_arch = "x86_64")]
mod sse2;
mod sums;
mod threads;
mod three_step;
#[cfg(target_arch = "x86_64")]
mod three_step_avx2;
mod tile;
mod workspace;

pub use level::Level;

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::estimator::{
    Algorithm, Device, DeviceInfo, EstimateError, Flights, Frame, MotionVector, Output, Parameters, Request,
    SetupError, Slot, StageTimes, Ticket,
};
use crate::lock::lock;
use crate::tuning::Kernel;
use experience::Experience;
use level::{Functions, RowSearch};
use plane::{Layout, Plane, available_memory};
use search::Job;
use workspace::{Taken, Workspace};

/// The name of this device.
pub(crate) const NAME: &str = "native";

/// Full or three-step search on the CPU's cores.
///
/// It runs in the rayon pool it is called from, the global one as a rule, or in one of its own:
/// [`Self::with_threads`]. It starts no thread to have searches in flight: each is done when it is
/// finished, so that its vectors are written once, to where they belong. It keeps a padded frame a
/// slot, and with prediction a field.
pub struct Native {
    info: DeviceInfo,
    level: Level,
    functions: Functions,
    elimination: Option<Elimination>,
    /// One a slot.
    planes: Vec<Plane>,
    /// How long each took to fill.
    uploads: Vec<Duration>,
    flights: Flights<()>,
    threads: Option<Arc<rayon::ThreadPool>>,
}

/// Shares the rows of blocks from `first` on among the threads.
fn search_rows(search_row: RowSearch, job: &Job<'_>, first: usize, vectors: &mut [MotionVector]) {
    let rows = vectors.par_chunks_mut(job.parameters.grid().columns).enumerate();
    rows.for_each(|(row, vectors)| search_row(job, first + row, vectors));
}

/// So few candidates that elimination does not pay.
const FEW_CANDIDATES: usize = 100;

/// What elimination keeps beside the frames.
struct Elimination {
    /// One for each thread, and as many as could be had.
    workspaces: Mutex<Vec<Workspace>>,
    sides: (usize, Option<usize>),
    /// What was learnt in each row of blocks.
    rows: Vec<Experience>,
    /// The field found last; zero vectors before the first.
    last: Vec<MotionVector>,
    /// Frames yet to be searched exhaustively, as hardly any block of the last one was better off.
    pause: u32,
    /// Whether the last frame left so many candidates that smaller parts pay.
    is_fine: bool,
}

/// So many frames are searched exhaustively where elimination did not pay.
const PAUSE: u32 = 15;

impl Elimination {
    fn new(functions: &Functions, parameters: &Parameters, layout: &Layout) -> Result<Self, SetupError> {
        let sides = (functions.sides_of_parts)(parameters);
        let first = Workspace::new(parameters, layout, sides, available_memory())?;
        let grid = parameters.grid();
        let (rows, last) =
            (vec![Experience::default(); grid.rows], vec![MotionVector::default(); grid.blocks()]);
        Ok(Self { workspaces: Mutex::new(vec![first]), sides, rows, last, pause: 0, is_fine: false })
    }

    /// Makes workspaces ready for the threads that search now.
    fn begin(&mut self, parameters: &Parameters, layout: &Layout) {
        let mut workspaces = lock(&self.workspaces);
        while workspaces.len() < rayon::current_num_threads() {
            match Workspace::new(parameters, layout, self.sides, available_memory()) {
                Ok(more) => workspaces.push(more),
                // Who gets none searches exhaustively.
                Err(_) => break,
            }
        }
        workspaces.iter_mut().for_each(|workspace| workspace.sums.begin(self.is_fine));
    }

    fn search(
        &mut self,
        functions: &Functions,
        job: Job<'_>,
        searched: Range<usize>,
        vectors: &mut [MotionVector],
    ) {
        if self.pause == 0 {
            self.begin(job.parameters, job.reference.layout());
        }
        let Self { workspaces, rows, last, pause, is_fine, .. } = self;
        let grid = job.parameters.grid();
        let (first, rows) = (searched.start, &mut rows[searched.clone()]);
        if *pause > 0 {
            *pause -= 1;
            search_rows(functions.search_row, &job, first, vectors);
        } else {
            let job = Job { last: &*last, ..job };
            let rows_of_vectors = vectors.par_chunks_mut(grid.columns).enumerate();
            rows_of_vectors.zip(rows.par_iter_mut()).for_each_init(
                || Taken::from(workspaces),
                |workspace, ((row, vectors), experience)| match workspace {
                    Some(workspace) => {
                        let row = first + row;
                        let rows = elimination::rows_of_tiles(&job, row);
                        workspace.sums.hold(functions, job.reference, rows);
                        (functions.eliminate_row)(&job, workspace, (row, vectors), experience);
                    }
                    None => (functions.search_row)(&job, first + row, vectors),
                },
            );
            let exhaustive: usize = rows.iter().map(|experience| experience.exhaustive).sum();
            let crowded: usize = rows.iter().map(|experience| experience.crowded).sum();
            *is_fine = crowded > elimination::CROWDED * (vectors.len() - exhaustive);
            if exhaustive > vectors.len() * 3 / 4 {
                *pause = PAUSE;
            }
        }
        last[searched.start * grid.columns..searched.end * grid.columns].copy_from_slice(vectors);
    }
}

impl Native {
    /// A device for `parameters` with the fastest instructions there are.
    ///
    /// # Errors
    /// [`SetupError`] where `parameters` are not valid or the frames do not fit into memory.
    pub fn new(parameters: Parameters) -> Result<Self, SetupError> {
        Self::with_kernel(parameters, Kernel::Auto, Level::best())
    }

    /// A device for `parameters` with the instructions of `level`.
    ///
    /// # Errors
    /// As [`Self::new`], and [`SetupError::DeviceUnsupported`] where this CPU lacks `level`.
    pub fn with_level(parameters: Parameters, level: Level) -> Result<Self, SetupError> {
        Self::with_kernel(parameters, Kernel::Auto, level)
    }

    /// A device for `parameters` with `kernel` in the instructions of `level`.
    /// [`Kernel::Auto`] is [`Kernel::Elimination`], and [`Kernel::Exhaustive`] where the window is
    /// too small for it to pay, or memory for what it keeps.
    ///
    /// # Errors
    /// As [`Self::with_level`], and [`SetupError::KernelUnsupported`] where `kernel` is one of
    /// OpenCL's.
    pub fn with_kernel(parameters: Parameters, kernel: Kernel, level: Level) -> Result<Self, SetupError> {
        parameters.validate()?;
        kernel.check_algorithm(parameters.algorithm, NAME)?;
        if kernel != Kernel::Auto && !Kernel::NATIVE.contains(&kernel) {
            return Err(SetupError::KernelUnsupported {
                kernel: kernel.name(),
                device: NAME.into(),
                reason: "it is an OpenCL kernel".into(),
                advice: "choose kernel auto, or an OpenCL device".into(),
            });
        }
        let functions = level.functions().ok_or_else(|| SetupError::DeviceUnsupported {
            wanted: NAME.into(),
            reason: format!("this CPU does not have {level}"),
        })?;
        let layout = Layout::new(&parameters);
        let plane = || Plane::new(layout, available_memory());
        let planes = vec![plane()?, plane()?];
        let elimination = match kernel {
            _ if parameters.algorithm != Algorithm::Full => None,
            Kernel::Exhaustive => None,
            Kernel::Elimination => Some(Elimination::new(&functions, &parameters, &layout)?),
            _ if parameters.window.candidates() < FEW_CANDIDATES => None,
            _ => Elimination::new(&functions, &parameters, &layout).ok(),
        };
        let info = DeviceInfo {
            name: NAME.into(),
            kernel: match (parameters.algorithm, &elimination) {
                (Algorithm::ThreeStep, _) => NAME,
                (Algorithm::Full, None) => Kernel::Exhaustive.name(),
                (Algorithm::Full, Some(_)) => Kernel::Elimination.name(),
            },
            parameters,
            depth: 1,
            slots: planes.len(),
            can_fail: false,
            memory: None,
        };
        Ok(Self {
            level,
            functions,
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
    /// [`SetupError::Memory`] where the frames do not fit into memory.
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

    /// What searches a row of blocks where nothing is eliminated.
    fn row_search(&self) -> RowSearch {
        match self.info.parameters.algorithm {
            Algorithm::Full => self.functions.search_row,
            Algorithm::ThreeStep => self.functions.three_step,
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
        let (functions, row_search) = (&self.functions, self.row_search());
        let job = Job {
            parameters: &parameters,
            current: &self.planes[current.index()],
            reference: &self.planes[reference.index()],
            last: &[],
        };
        let (elimination, vectors) = (&mut self.elimination, &mut output.vectors[..]);
        let start = Instant::now();
        run(self.threads.as_deref(), || match elimination {
            // Elimination starts at no motion, which a part of the window may leave out.
            Some(elimination) if !is_cut => elimination.search(functions, job, part.rows(), vectors),
            _ => search_rows(row_search, &job, part.rows().start, vectors),
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
