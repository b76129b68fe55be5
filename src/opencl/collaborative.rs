//! The Collaborative Method (`kernels/collaborative.cl`, `kernels/reduce.cl`): a job is one
//! displacement of the whole frame; its costs are kept, and reduced to vectors at the end.

use super::cl::{self, Arg, Buffer, Event};
use super::launch::{Jobs, Launcher};
use super::program::Source;
use super::search::{KEY, Run, Search, Task, int};
use crate::estimator::{Kernel, SetupError};

/// Work-items of a group that reduces costs: adjacent blocks, and shares of their jobs. Both are
/// powers of two.
const REDUCE_ITEMS: [usize; 2] = [32, 8];

/// How a kernel's work-items lie over blocks and jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// An item a block and job, one after the other.
    Plain,
    /// A group a segment of a row of blocks and job; so many segments a row, and so many bytes of
    /// local memory for the lines of samples that it stages.
    Rows { segments: usize, line_bytes: usize },
}

/// Jobs, and the step that reduces their costs.
pub(super) struct Collaborative {
    kernel: cl::Kernel,
    shape: Shape,
    items: usize,
    columns: usize,
    /// How many jobs the cost buffer holds.
    jobs_at_once: usize,
    launcher: Launcher,
    costs: Buffer,
    reduction: Reduction,
}

impl Collaborative {
    pub(super) fn new(task: &Task<'_>) -> Result<Self, SetupError> {
        let (name, usual) = match (task.kernel, task.is_gpu()) {
            (Kernel::CollaborativeNaive, true) => (c"collaborative_naive", 128),
            (Kernel::CollaborativeNaive, false) => (c"collaborative_naive", 64),
            // Figure 7's group is a row of blocks, on a CPU section 6.2.4's few: 4 are faster than 2
            // and 8, as in the thesis' table 4.
            (Kernel::Collaborative, true) => (c"collaborative_staged", 128),
            (Kernel::Collaborative, false) => (c"collaborative_staged", 4),
            (_, true) => (c"collaborative_unaligned", 64),
            // Section 8.4 finds 8 items the fastest.
            (_, false) => (c"collaborative_unaligned", 8),
        };
        let kernel = task.build(Source::Collaborative, name)?;
        // Powers of two, so that few sizes are ever compiled for.
        let usual = 1 << task.largest_group(&kernel)?.min(usual).ilog2();
        let chosen = task.chosen_group(&kernel)?;
        let grid = task.parameters.grid();
        let (items, shape) = match task.kernel {
            Kernel::Collaborative => {
                let items = row_items(task, chosen, usual)?;
                let line_bytes = line_bytes(items, task.parameters.block_size);
                (items, Shape::Rows { segments: grid.columns.div_ceil(items), line_bytes })
            }
            _ => (chosen.unwrap_or(usual), Shape::Plain),
        };
        let (blocks, candidates) = (grid.blocks(), task.window.candidates());
        let jobs_at_once =
            task.costs_at_once("the costs of a displacement", 4 * blocks as u64, candidates)?;
        Ok(Self {
            kernel,
            shape,
            items,
            columns: grid.columns,
            jobs_at_once,
            launcher: Launcher::new(task, candidates)?,
            costs: task.buffer("the costs of all blocks", 4 * blocks * jobs_at_once)?,
            reduction: Reduction::new(task)?,
        })
    }
}

/// Work-items of a group that stages a row of blocks or a part of it.
fn row_items(task: &Task<'_>, chosen: Option<usize>, usual: usize) -> Result<usize, SetupError> {
    let (block_size, local_memory) = (task.parameters.block_size, task.device.local_memory);
    let fits = |items: usize| line_bytes(items, block_size) <= local_memory;
    match chosen {
        Some(items) if !fits(items) => {
            let most = local_memory.saturating_sub(line_bytes(0, block_size)) / (2 * block_size);
            Err(task.local_memory_short(items, line_bytes(items, block_size), most))
        }
        Some(items) => Ok(items),
        None => {
            let mut items = task.parameters.grid().columns.next_power_of_two().min(usual);
            while items > 1 && !fits(items) {
                items /= 2;
            }
            Ok(items)
        }
    }
}

/// Bytes of `lines` in `collaborative_staged`: two lines of `items` blocks, and a span each.
fn line_bytes(items: usize, block_size: usize) -> usize {
    let span = [16, 8, 4].into_iter().find(|span| block_size.is_multiple_of(*span)).unwrap_or(4);
    2 * (items * block_size + span)
}

impl Search for Collaborative {
    fn queue(&mut self, run: &Run<'_>) -> cl::Result<()> {
        let Self { kernel, costs, launcher, reduction, .. } = self;
        let (blocks, items, shape) = (run.blocks, self.items, self.shape);
        let rows = blocks / self.columns;
        let jobs = Jobs { first: 0, count: run.window.candidates() };
        let frames = [Arg::Buffer(run.current), Arg::Buffer(run.reference), Arg::Buffer(costs)];
        for batch in jobs.cut(self.jobs_at_once) {
            let launched = launcher.launch(run.queue, batch, |queue, jobs, after| {
                let [current, reference, costs] = frames;
                let (first, slot, count) = (int(jobs.first), int(jobs.first - batch.first), int(jobs.count));
                match shape {
                    Shape::Plain => {
                        let args = [current, reference, costs, first, slot, count, run.geometry];
                        let groups = (jobs.count * blocks).div_ceil(items);
                        // SAFETY: items past the last job's blocks do nothing, and the costs of a
                        // batch fit; the layout was made for the window.
                        unsafe { queue.launch_after(kernel, &args, [groups, 1], [items, 1], after) }
                    }
                    Shape::Rows { segments, line_bytes } => {
                        let lines = Arg::Local(line_bytes);
                        let args = [current, reference, costs, lines, first, slot, run.geometry];
                        let groups = jobs.count * rows * segments;
                        // SAFETY: a group a segment of a row and job, and the costs of a batch fit;
                        // `lines` holds two lines; the layout was made for the window and a span
                        // more.
                        unsafe { queue.launch_after(kernel, &args, [groups, 1], [items, 1], after) }
                    }
                }
            })?;
            reduction.queue(run, costs, batch, launched)?;
        }
        Ok(())
    }
}

/// The kernel that turns costs into vectors, with what it keeps between batches.
struct Reduction {
    kernel: cl::Kernel,
    winners: Buffer,
    items: [usize; 2],
    block_size: usize,
}

impl Reduction {
    fn new(task: &Task<'_>) -> Result<Self, SetupError> {
        let kernel = task.build(Source::Reduce, c"reduce")?;
        let largest = task.largest_group(&kernel)?;
        let mut items = REDUCE_ITEMS;
        while items[0] * items[1] > largest {
            let wider = usize::from(items[1] >= items[0]);
            items[wider] /= 2;
        }
        let (blocks, block_size) = (task.blocks(), task.parameters.block_size);
        let winners = task.buffer("the winners", KEY * blocks)?;
        Ok(Self { kernel, winners, items, block_size })
    }

    /// Queues the step that folds the costs of `jobs` into the winners, when `after` is done.
    fn queue(&mut self, run: &Run<'_>, costs: &Buffer, jobs: Jobs, after: &[Event]) -> cl::Result<()> {
        let items = self.items;
        let args = [
            Arg::Buffer(costs),
            Arg::Buffer(&self.winners),
            Arg::Buffer(run.vectors),
            Arg::Local(KEY * items[0] * items[1]),
            int(jobs.first),
            int(jobs.count),
            int(self.block_size),
            run.geometry,
        ];
        let groups = [run.blocks.div_ceil(items[0]), 1];
        // SAFETY: items past the last block neither read costs nor write; there are as many
        // winners and vectors as blocks, and costs for all of `jobs`.
        unsafe { run.queue.launch_after(&mut self.kernel, &args, groups, items, after).map(drop) }
    }
}
