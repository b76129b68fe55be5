//! Search on the CPU's cores, without OpenCL, in the widest instructions that the CPU has.
//!
//! ```text
//! Native                         a device: slots, searches in flight, threads
//! ├ BlockSearch                  full and three-step search; each slot is a padded frame (plane)
//! │ └ SearchJob                  two frames and what to search for; its rows of blocks are shared by the threads
//! │   ├ ExhaustiveRow            each block of a row:
//! │   │ └ ExhaustiveSearch         the best of all candidates, tile by tile:
//! │   │   └ ComputeTile              the costs of up to 32 × 36 candidates
//! │   ├ Eliminator               what elimination keeps from frame to frame
//! │   │ └ EliminationRow           each row, with the sums of the reference that it reaches:
//! │   │   └ RowElimination           runs of up to 16 blocks, each step for all of them:
//! │   │     ├ GroupBatch               groups of candidates that bounds have left
//! │   │     └ ExhaustiveSearch         blocks for which elimination does not pay
//! │   ├ ThreeStepRow             each block of a row
//! │   ├ RefinedRow               sub-sample vectors around those of whole samples
//! │   └ ListedCosts              the costs of single candidates, for all of these
//! └ HierarchicalSlots            hierarchical search; each slot is a pyramid
//!   └ HierarchicalSearch         level by level, see there
//! ```
//!
//! What ends in `Row` or `Search` below a job, `ComputeTile` and `ListedCosts` are each a `simd::Work`: compiled for each
//! instruction set. Costs, tiles and elimination are generic over the metric (`cost`), the rest over the samples. What
//! an instruction set does its own way is in the files named for it beside each algorithm: `cost/avx2.rs`,
//! `exhaustive/avx512.rs`.

mod block_search;
mod candidates;
mod cost;
mod elimination;
mod exhaustive;
mod frame_search;
pub(crate) mod hierarchical;
mod job;
mod plane;
mod refinement;
mod sample;
pub(crate) mod second_costs;
mod three_step;

pub use motion_base::simd::InstructionSetName;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::estimator::{
    Algorithm, Device, DeviceInfo, EstimateError, Flights, Frame, NATIVE, Output, Parameters, Request,
    SetupError, Slot, StageTimes, Ticket,
};
use crate::tuning::{Kernel, Tuning, check_search};
use block_search::BlockSearch;
use frame_search::FrameSearch;
use hierarchical::HierarchicalSlots;
use motion_base::threads;

/// Search on the CPU's cores.
///
/// It runs in the current rayon pool, or in that of [`Self::with_threads`]. A search in flight is computed when it is
/// finished: its vectors are then written once, to the caller's memory.
pub struct Native {
    info: DeviceInfo,
    instruction_set: InstructionSetName,
    search: Box<dyn FrameSearch>,
    /// How long the frame of each slot took to load.
    uploads: Vec<Duration>,
    flights: Flights<Request>,
    threads: Option<Arc<rayon::ThreadPool>>,
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Native").field("info", &self.info).finish_non_exhaustive()
    }
}

impl Native {
    /// The name of this device.
    pub const NAME: &str = NATIVE;

    /// A device for `parameters` with the fastest instructions of this CPU.
    ///
    /// # Errors
    /// [`SetupError`] if `parameters` are not valid or the frames do not fit into memory.
    pub fn new(parameters: Parameters) -> Result<Self, SetupError> {
        Self::with_kernel(parameters, Kernel::Auto, InstructionSetName::best())
    }

    /// A device for `parameters` with the instructions of `instruction_set`.
    ///
    /// # Errors
    /// As [`Self::new`], and [`SetupError::DeviceUnsupported`] if this CPU lacks `instruction_set`.
    pub fn with_instruction_set(
        parameters: Parameters,
        instruction_set: InstructionSetName,
    ) -> Result<Self, SetupError> {
        Self::with_kernel(parameters, Kernel::Auto, instruction_set)
    }

    /// A device for `parameters` with `kernel` in the instructions of `instruction_set`.
    /// [`Kernel::Auto`] is [`Kernel::Elimination`], or [`Kernel::Exhaustive`] if the blocks or the window are
    /// too small for elimination to pay or memory for its sums is missing.
    ///
    /// # Errors
    /// As [`Self::with_instruction_set`], and [`SetupError::KernelUnsupported`] if `kernel` is one of
    /// OpenCL's.
    pub fn with_kernel(
        parameters: Parameters,
        kernel: Kernel,
        instruction_set: InstructionSetName,
    ) -> Result<Self, SetupError> {
        check_search(Self::NAME, kernel, &Tuning::default(), &parameters)?;
        if kernel != Kernel::Auto && !Kernel::NATIVE.contains(&kernel) {
            return Err(SetupError::KernelUnsupported {
                kernel: kernel.name(),
                device: Self::NAME.into(),
                reason: "it is an OpenCL kernel".into(),
                advice: "choose kernel auto, or an OpenCL device".into(),
            });
        }
        let instructions = instruction_set.required()?;
        let mut search: Box<dyn FrameSearch> = match parameters.algorithm {
            Algorithm::Full | Algorithm::ThreeStep => {
                Box::new(BlockSearch::new(&parameters, kernel, instructions)?)
            }
            Algorithm::Hierarchical => Box::new(HierarchicalSlots::new(&parameters, instructions)?),
        };
        let (depth, slots) = (parameters.references.searches(1), parameters.references.slots(1));
        search.set_slots(slots)?;
        let info = DeviceInfo {
            name: Self::NAME.into(),
            kernel: search.kernel(),
            launching: None,
            parameters,
            window_parts: search.window_parts(),
            depth,
            slots,
            can_fail: false,
            can_hang: false,
            memory: None,
        };
        Ok(Self {
            instruction_set,
            search,
            uploads: vec![Duration::ZERO; slots],
            flights: Flights::new(slots, depth),
            threads: None,
            info,
        })
    }

    /// The same with room for `depth` frames in flight, at least 1; slots are empty afterwards.
    ///
    /// # Errors
    /// [`SetupError::Count`] for more than [`Tuning::MAX_DEPTH`]; [`SetupError::Memory`] if the frames do not fit into
    /// memory.
    pub fn with_depth(mut self, depth: usize) -> Result<Self, SetupError> {
        let depth = depth.max(1);
        Tuning { depth: Some(depth), ..Tuning::default() }.validate()?;
        let references = self.info.parameters.references;
        let (searches, slots) = (references.searches(depth), references.slots(depth));
        self.search.set_slots(slots)?;
        self.uploads = vec![Duration::ZERO; slots];
        self.flights = Flights::new(slots, searches);
        (self.info.depth, self.info.slots) = (searches, slots);
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
    pub fn instruction_set(&self) -> InstructionSetName {
        self.instruction_set
    }
}

/// Runs `work` in `pool`, or where it is called from.
fn run<R: Send>(pool: Option<&rayon::ThreadPool>, work: impl FnOnce() -> R + Send) -> R {
    match pool {
        Some(pool) => {
            let stop = threads::stop();
            pool.install(|| threads::until(stop, work))
        }
        None => work(),
    }
}

impl Device for Native {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn load_frame(&mut self, slot: Slot, frame: &Frame) -> Result<(), EstimateError> {
        self.flights.empty(slot.index())?;
        frame.check(&self.info.parameters)?;
        let start = Instant::now();
        let search = &mut self.search;
        run(self.threads.as_deref(), || search.load(slot.index(), frame));
        self.flights.fill(slot.index());
        self.uploads[slot.index()] = start.elapsed();
        Ok(())
    }

    fn unload_frame(&mut self, slot: Slot) -> Result<Option<Frame>, EstimateError> {
        if !self.flights.is_loaded(slot.index()) {
            return Ok(None);
        }
        let frame = self.search.frame(slot.index());
        let mut samples = vec![0; frame.row_bytes() * frame.height()];
        frame.copy_to(&mut samples);
        Ok(Frame::with_format(Arc::new(samples), frame.size(), frame.row_bytes(), frame.format()).ok())
    }

    fn start_search(&mut self, request: Request) -> Result<Ticket, EstimateError> {
        request.part.check(&self.info.parameters)?;
        self.flights.check(request.slots())?;
        Ok(Ticket(self.flights.push(request.slots(), request)))
    }

    fn finish_search(&mut self, ticket: Ticket, output: &mut Output) -> Result<(), EstimateError> {
        let request = self.flights.oldest(ticket.0)?.data;
        let Request { part, offset, .. } = request;
        part.grid(&self.info.parameters).check(&output.vectors)?;
        self.flights.pop_oldest();
        let (search, vectors) = (&mut self.search, &mut output.vectors[..]);
        let frames = request.slots();
        let history = self.info.parameters.references.index_of(offset);
        let start = Instant::now();
        run(self.threads.as_deref(), || search.search(frames, history, part, vectors));
        output.times = StageTimes {
            upload: self.uploads[request.current.index()],
            search: start.elapsed(),
            ..StageTimes::default()
        };
        Ok(())
    }

    fn cancel(&mut self) {
        self.flights.clear();
    }
}
