//! The Collaborative Method (`kernels/papers/collaborative.cl`, `kernels/papers/reduce.cl`): a job is one displacement
//! of the whole frame; the costs of all jobs are kept, and reduced to vectors at the end.

use super::jobs::{JobQueues, Jobs};
use crate::estimator::SetupError;
use crate::opencl::families::{KEY, equal_part};
use crate::opencl::kernel_family::{BuildContext, FamilyRequest, KernelFamily, int};
use crate::opencl::kernel_file::KernelFile;
use crate::tuning::Kernel;
use motion_gpu::launcher::{self, Arg, Buffer, Event, KernelObject};

/// Work-items of a group that reduces costs: adjacent blocks, and shares of their jobs. Both are powers
/// of two.
const REDUCE_ITEMS: [usize; 2] = [32, 8];

/// The work-items of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobItems {
    /// One item a block and job.
    Blocks,
    /// One group a job, row of blocks and segment of the row: `segments` a row. Each group has
    /// `line_bytes` of local memory for the samples that it stages.
    Segments { segments: usize, line_bytes: usize },
}

/// The kernel of the jobs, and the one that reduces their costs.
pub(in crate::opencl::families) struct CollaborativeFamily {
    kernel: KernelObject,
    job_items: JobItems,
    /// Items of a group.
    items: usize,
    /// How many jobs the cost buffer holds.
    jobs_at_once: usize,
    job_queues: JobQueues,
    costs: Buffer,
    reduction: Reduction,
}

impl CollaborativeFamily {
    pub(in crate::opencl::families) fn new(build: &BuildContext<'_>) -> Result<Self, SetupError> {
        let (name, usual) = match (build.kernel, build.is_gpu()) {
            (Kernel::CollaborativeNaive, true) => (c"collaborative_naive", 128),
            (Kernel::CollaborativeNaive, false) => (c"collaborative_naive", 64),
            // Figure 7's group is a row of blocks; on a CPU it has few items, as in section 6.2.4. 4 are faster
            // than 2 and 8 on PoCL; in the thesis' table 4 2 and 4 take the same time on most sizes.
            (Kernel::Collaborative | Kernel::CollaborativeSamples, true) => (c"collaborative_staged", 128),
            (Kernel::Collaborative | Kernel::CollaborativeSamples, false) => (c"collaborative_staged", 4),
            (_, true) => (c"collaborative_unaligned", 64),
            // Section 8.4 finds 8 items the fastest.
            (_, false) => (c"collaborative_unaligned", 8),
        };
        let form = match (build.kernel, build.is_gpu()) {
            (Kernel::CollaborativeSamples, _) => " -D WORDS_TOGETHER=0 -D SINGLE_SAMPLES",
            (_, true) => " -D WORDS_TOGETHER=1",
            (_, false) => " -D WORDS_TOGETHER=0",
        };
        let kernel = build.build(KernelFile::Collaborative, name, form)?;
        let usual = build.largest_group(&kernel)?.min(usual);
        let chosen = build.chosen_group(&kernel)?;
        let (grid, candidates) = (build.grid(), build.candidates());
        let (items, job_items) = match build.kernel {
            Kernel::Collaborative | Kernel::CollaborativeSamples => {
                let items = row_items(build, chosen, usual)?;
                let line_bytes = line_bytes(items, row_bytes(build));
                (items, JobItems::Segments { segments: grid.columns.div_ceil(items), line_bytes })
            }
            _ => (chosen.unwrap_or(usual), JobItems::Blocks),
        };
        let blocks = grid.blocks();
        let jobs_at_once =
            build.costs_at_once("the costs of a displacement", 4 * blocks as u64, candidates)?;
        Ok(Self {
            kernel,
            job_items,
            items,
            jobs_at_once,
            job_queues: JobQueues::new(build, candidates)?,
            costs: build.buffer("the costs of all blocks", 4 * blocks * jobs_at_once)?,
            reduction: Reduction::new(build)?,
        })
    }
}

/// Work-items of a group that stages a row of blocks or a segment of it.
fn row_items(build: &BuildContext<'_>, chosen: Option<usize>, usual: usize) -> Result<usize, SetupError> {
    let (row_bytes, local_memory) = (row_bytes(build), build.device.local_memory);
    let fits = |items: usize| line_bytes(items, row_bytes) <= local_memory;
    match chosen {
        Some(items) if !fits(items) => {
            let most = local_memory.saturating_sub(line_bytes(0, row_bytes)) / (2 * row_bytes);
            Err(build.local_memory_short(items, line_bytes(items, row_bytes), most))
        }
        Some(items) => Ok(items),
        None => {
            let mut items = equal_part(build.grid().columns, usual);
            while items > 1 && !fits(items) {
                items = items.div_ceil(2);
            }
            Ok(items)
        }
    }
}

/// Bytes of a row of a block.
fn row_bytes(build: &BuildContext<'_>) -> usize {
    build.parameters.block_size * 4 / build.word_samples()
}

/// Bytes of `lines` in `collaborative_staged`: two buffers of a row of a block an item, and one more.
fn line_bytes(items: usize, row_bytes: usize) -> usize {
    2 * (items + 1) * row_bytes
}

impl KernelFamily for CollaborativeFamily {
    fn tries_single_displacements(&self) -> bool {
        true
    }

    fn queue_search(&mut self, request: &FamilyRequest<'_>) -> launcher::Result<()> {
        let Self { kernel, costs, job_queues, reduction, .. } = self;
        let (items, geometry, job_items) = (self.items, request.geometry, self.job_items);
        let all = Jobs { first: request.displacements.start, count: request.displacements.len() };
        let [current, reference, _] = request.buffers();
        for batch in all.cut(self.jobs_at_once) {
            let launched = job_queues.launch(request.queue, batch, |queue, jobs, after| {
                let costs = Arg::Buffer(costs);
                let (first, slot, count) = (int(jobs.first), int(jobs.first - batch.first), int(jobs.count));
                match job_items {
                    JobItems::Blocks => {
                        let args = [current, reference, costs, first, slot, count, geometry.arg()];
                        let groups = (jobs.count * geometry.blocks()).div_ceil(items);
                        // SAFETY: items past the last job's blocks do nothing, and the costs of a batch
                        // fit; the frames have margins for the window.
                        unsafe { queue.launch_after(kernel, &args, [groups, 1], [items, 1], after) }
                    }
                    JobItems::Segments { segments, line_bytes } => {
                        let lines = Arg::Local(line_bytes);
                        let args = [current, reference, costs, lines, first, slot, geometry.arg()];
                        let groups = jobs.count * geometry.rows as usize * segments;
                        // SAFETY: a group a segment of a row and job, and the costs of a batch fit; `lines`
                        // holds both buffers; the frames have margins for the window and a span.
                        unsafe { queue.launch_after(kernel, &args, [groups, 1], [items, 1], after) }
                    }
                }
            })?;
            reduction.queue(request, costs, batch, batch.first == all.first, launched)?;
        }
        Ok(())
    }
}

/// The kernel that reduces costs to vectors, and the best keys between batches.
struct Reduction {
    kernel: KernelObject,
    winners: Buffer,
    items: [usize; 2],
    block_size: usize,
}

impl Reduction {
    fn new(build: &BuildContext<'_>) -> Result<Self, SetupError> {
        let kernel = build.build(KernelFile::Reduce, c"reduce", "")?;
        let items = build.device.group_of(&kernel, REDUCE_ITEMS)?;
        let winners = build.buffer("the winners", KEY * build.grid().blocks())?;
        Ok(Self { kernel, winners, items, block_size: build.parameters.block_size })
    }

    /// Queues the kernel for the costs of `jobs`, of which `are_first` are not compared with earlier ones, to run when all
    /// of `after` are done.
    fn queue(
        &mut self,
        request: &FamilyRequest<'_>,
        costs: &Buffer,
        jobs: Jobs,
        are_first: bool,
        after: &[Event],
    ) -> launcher::Result<()> {
        let (items, [_, _, vectors]) = (self.items, request.buffers());
        let args = [
            Arg::Buffer(costs),
            Arg::Buffer(&self.winners),
            vectors,
            Arg::Local(KEY * items[0] * items[1]),
            int(jobs.first),
            int(jobs.count),
            int(usize::from(are_first)),
            int(self.block_size),
            request.geometry.arg(),
        ];
        let groups = [request.geometry.blocks().div_ceil(items[0]), 1];
        // SAFETY: items past the last block neither read costs nor write; there are as many winners and
        // vectors as blocks, and costs for all of `jobs`.
        unsafe { request.queue.launch_after(&mut self.kernel, &args, groups, items, after) }
    }
}
