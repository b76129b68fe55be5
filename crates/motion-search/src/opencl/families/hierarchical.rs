//! Hierarchical search (`kernels/hierarchical.cl`, `refinement.cl`, `blocks.cl`): a launch a pass, from the coarsest
//! level to the finest.
//!
//! What depends on one frame alone is made when the frame is loaded, and lies behind it in its slot (`pyramid.rs`). The
//! searches of a queue share their fields, 1.6 bytes a sample.
//!
//! Each search is launched by itself: several searches a launch were slower by OpenCL, and CUDA launches a graph of all
//! passes at once.

use bytemuck::{Pod, Zeroable};

use super::super::kernel_family::{BuildContext, FamilyRequest, KernelFamily, int};
use super::pyramid::{LevelArg, Pass, PyramidMaker, SlotPlan};
use crate::estimator::{Grid, SetupError};
use crate::opencl::kernel_file::KernelFile;
use motion_base::hierarchy::{CELL, MOST_DISTANCES, Preset};
use motion_gpu::launcher::{self, Arg, Buffer, Queue};

/// Cells on a side of the tiles of `check_level`, `smooth` and the others with fields in local memory.
const TILE: usize = 16;

/// Work-items of a group of `refinement.cl`, and of `blocks.cl`.
const REFINEMENT_ITEMS: usize = 256;
const BLOCK_ITEMS: usize = 128;

/// `REFINED_CELLS` in `refinement.cl`.
const REFINED_CELLS: usize = 64;

/// Parts of blocks of a group of `records`, if the parts of a block divide it.
const RECORD_PARTS: usize = 128;

/// The groups of a search: their columns and rows of cells, and their items.
#[derive(Clone, Copy)]
struct SearchShape {
    columns: usize,
    rows: usize,
    items: usize,
}

/// A group a cell for the first field of the coarsest level: 289 candidates.
const COARSEST: SearchShape = SearchShape { columns: 1, rows: 1, items: 320 };

/// One group for a level of at most [`ONE_GROUP`] cells.
const WHOLE_LEVEL: SearchShape = SearchShape { columns: 8, rows: 8, items: 512 };
const ONE_GROUP: usize = 60;

/// Many groups of few cells, so that a level of less than [`FEW_CELLS`] cells for each unit of a GPU uses all of them.
const MANY_GROUPS: SearchShape = SearchShape { columns: 16, rows: 1, items: 128 };
const FEW_CELLS: usize = 150;

/// The least work, for large levels and for CPUs.
const LEAST_WORK: SearchShape = SearchShape { columns: 16, rows: 2, items: 128 };

/// Bytes of local memory of the largest group.
const LOCAL_MEMORY: usize = 21 << 10;

/// Bytes of a `CellMotion`, a `Peak` and a vector in 64ths of a sample.
const MOTION: usize = 8;
const PEAK: usize = 16;
const VECTOR: usize = 8;

/// Field for field `Fields` in `hierarchical.cl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct FieldsArg {
    from: i32,
    to: i32,
    parents: i32,
    parent_columns: i32,
    parent_rows: i32,
    opposite: i32,
}

impl FieldsArg {
    /// The field that was written is read next, and the other way round.
    fn swap(&mut self) {
        std::mem::swap(&mut self.from, &mut self.to);
    }

    fn arg(&self) -> Arg<'_> {
        Arg::Struct(bytemuck::bytes_of(self))
    }
}

/// Groups of the kernels whose tiles are of a field of this size.
fn field_tiles([columns, rows]: [i32; 2]) -> usize {
    (columns as usize).div_ceil(TILE) * (rows as usize).div_ceil(TILE)
}

/// A search, and the arguments of kernels that are its own.
struct Search<'a> {
    queue: &'a Queue,
    memory: &'a SearchMemory,
    current: Arg<'a>,
    reference: Arg<'a>,
    records: Arg<'a>,
}

impl<'a> Search<'a> {
    fn new(request: &FamilyRequest<'a>, memory: &'a SearchMemory) -> Self {
        let [current, reference, records] = request.buffers();
        Self { queue: request.queue, memory, current, reference, records }
    }

    /// Queues so many groups.
    ///
    /// # Safety
    /// As [`Queue::launch`].
    unsafe fn launch(&self, pass: &mut Pass, args: &[Arg<'_>], [x, y]: [usize; 2]) -> launcher::Result<()> {
        // SAFETY: the caller guarantees it.
        unsafe { pass.launch(self.queue, args, [x, y, 1]) }
    }
}

/// How a level is searched.
struct LevelPasses {
    level: LevelArg,
    /// Whether it is level 0.
    is_finest: bool,
    /// 2 if both frames are searched, else 1.
    directions: usize,
    iterations: usize,
    /// Makes the first field, if `rest` does not.
    start: Option<CellPass>,
    rest: Rest,
}

/// A kernel, and how many groups have the cells of its level.
struct CellPass {
    pass: Pass,
    groups: usize,
}

/// What follows the first field of a level.
enum Rest {
    /// A group a direction makes all iterations, and the first field if there is no kernel for that.
    OneGroup(Pass),
    /// A launch an iteration.
    Iterations(CellPass),
}

impl LevelPasses {
    /// Level `number` of the pyramid in `plan`.
    fn new(
        build: &BuildContext<'_>,
        plan: &SlotPlan,
        preset: &Preset,
        number: usize,
    ) -> Result<Self, SetupError> {
        let (level, is_finest) = (plan.levels()[number], number == 0);
        let directions = if number >= preset.checked_from { 2 } else { 1 };
        let costs = search_options(plan, preset, number);
        let differences = MOST_DISTANCES[usize::from(!is_finest)];
        let jumps = i32::from(!is_finest || preset.jumps_on_finest);
        let level_size = level.size_in_cells().map(|side| side as usize);
        let kernel = |name, SearchShape { columns, rows, items }: SearchShape| {
            let limits = format!(" -D MOST_DIFFERENCE={differences} -D JUMPS={jumps}");
            let options = format!("{costs}{limits} -D GROUP_COLUMNS={columns} -D GROUP_ROWS={rows}");
            let pass = Pass::new(build, KernelFile::Hierarchical, name, items, &options)?;
            let groups = level_size[0].div_ceil(columns) * level_size[1].div_ceil(rows);
            Ok::<_, SetupError>(CellPass { pass, groups })
        };
        let has_few_cells = directions * level.cells() < FEW_CELLS * build.device.compute_units;
        let shape = if build.is_gpu() && has_few_cells { MANY_GROUPS } else { LEAST_WORK };
        let is_coarsest = number + 1 == plan.levels().len();
        // On a CPU a launch costs little, and PoCL compiles this kernel for a third of the time of all.
        let in_one_group = build.is_gpu() && !is_finest && level.cells() <= ONE_GROUP;
        Ok(Self {
            level,
            is_finest,
            directions,
            iterations: preset.iterations[usize::from(!is_finest)],
            start: match (is_coarsest, in_one_group) {
                (true, _) => Some(kernel(c"start_level", COARSEST)?),
                (_, true) => None,
                _ => Some(kernel(c"start_level", shape)?),
            },
            rest: match in_one_group {
                true => Rest::OneGroup(kernel(c"search_level", WHOLE_LEVEL)?.pass),
                false => Rest::Iterations(kernel(c"improve_level", shape)?),
            },
        })
    }

    /// Queues the search, whose first field is `fields.to`. Afterwards that is the last one.
    fn queue(&mut self, search: &Search<'_>, fields: &mut FieldsArg) -> launcher::Result<()> {
        let Self { level, directions, iterations, .. } = *self;
        let Search { current, reference, .. } = *search;
        let buffer = Arg::Buffer(&search.memory.fields);
        if let Some(CellPass { pass, groups }) = &mut self.start {
            let args = [current, reference, buffer, level.arg(), fields.arg()];
            let groups = [*groups, directions];
            // SAFETY: a group writes cells of its own; there are two fields a direction and level, and what is read of the
            // slots lies in their planes.
            unsafe { search.launch(pass, &args, groups)? };
        }
        match &mut self.rest {
            Rest::OneGroup(pass) => {
                let args = [current, reference, buffer, level.arg(), fields.arg(), int(iterations)];
                // SAFETY: as above.
                unsafe { search.launch(pass, &args, [1, directions])? };
                (0..iterations).for_each(|_| fields.swap());
            }
            Rest::Iterations(CellPass { pass, groups }) => {
                let groups = [*groups, directions];
                for iteration in 0..iterations {
                    fields.swap();
                    let step = int(if iteration < 2 { 2 } else { 1 });
                    let args = [current, reference, buffer, level.arg(), fields.arg(), step];
                    // SAFETY: as above.
                    unsafe { search.launch(pass, &args, groups)? };
                }
            }
        }
        Ok(())
    }
}

/// The options of kernels that compare cells of level `number`.
fn search_options(plan: &SlotPlan, preset: &Preset, number: usize) -> String {
    let cut = preset.cuts[usize::from(number > 0)];
    let brightness = i32::from(number > 0 || plan.levels().len() == 1);
    format!(" -D CUT={cut} -D BRIGHTNESS={brightness}")
}

/// What the searches of a queue write to, one after the other, besides their vectors.
struct SearchMemory {
    /// Two fields a direction and level, of which iterations read one and write the other.
    fields: Buffer,
    /// A peak a cell of the finest level and direction.
    peaks: Buffer,
    /// The smoothed vectors of both directions.
    smooth: Buffer,
    /// The vectors that pass the final check.
    checked: Buffer,
    /// The vectors that small cells choose, and what smoothing makes of them.
    small: [Buffer; 2],
}

impl SearchMemory {
    fn new(build: &BuildContext<'_>, plan: &SlotPlan) -> Result<Self, SetupError> {
        let finest = plan.levels()[0].cells();
        let small_cells = if build.parameters.block_size < CELL { build.grid().blocks() } else { 1 };
        let small = || build.buffer("the vectors of small cells", VECTOR * small_cells);
        Ok(Self {
            fields: build.buffer("the fields of all levels", 4 * MOTION * plan.cells)?,
            peaks: build.buffer("the refined vectors", 2 * PEAK * finest)?,
            smooth: build.buffer("the smoothed vectors", 2 * VECTOR * finest)?,
            checked: build.buffer("the checked vectors", VECTOR * finest)?,
            small: [small()?, small()?],
        })
    }
}

/// The kernels for blocks of 4.
struct SmallCellPasses {
    choose: Pass,
    smooth: Pass,
}

/// The kernels of a search, in the order in which they run.
struct SearchPasses {
    plan: SlotPlan,
    grid: Grid,
    block_size: usize,
    /// Of each level, finest first.
    levels: Vec<LevelPasses>,
    check: Pass,
    refine: Pass,
    smooth: Pass,
    check_finest: Pass,
    small_cells: Option<SmallCellPasses>,
    records: Pass,
}

/// Hierarchical search.
pub(super) struct HierarchicalFamily {
    pyramid: PyramidMaker,
    passes: SearchPasses,
    /// One for each queue.
    memory: Vec<SearchMemory>,
}

impl HierarchicalFamily {
    pub(super) fn new(build: &BuildContext<'_>) -> Result<Self, SetupError> {
        if build.device.local_memory < LOCAL_MEMORY {
            let has = build.device.local_memory;
            let reason = format!("a work-group needs {LOCAL_MEMORY} bytes of local memory, and it has {has}");
            return Err(build.unsupported(reason, "choose device native"));
        }
        let (preset, plan) = (build.parameters.quality.preset(), SlotPlan::new(build));
        let options = search_options(&plan, &preset, 0);
        let pass = |file, name, items| Pass::new(build, file, name, items, &options);
        let block_size = build.parameters.block_size;
        let small_cells = (block_size < CELL).then(|| {
            Ok::<_, SetupError>(SmallCellPasses {
                choose: pass(KernelFile::Blocks, c"choose_small_cells", BLOCK_ITEMS)?,
                smooth: pass(KernelFile::Blocks, c"smooth_small_cells", BLOCK_ITEMS)?,
            })
        });
        let level = |number| LevelPasses::new(build, &plan, &preset, number);
        Ok(Self {
            pyramid: PyramidMaker::new(build)?,
            memory: (0..build.search_queues())
                .map(|_| SearchMemory::new(build, &plan))
                .collect::<Result<_, _>>()?,
            passes: SearchPasses {
                levels: (0..plan.levels().len()).map(level).collect::<Result<_, _>>()?,
                check: pass(KernelFile::Refinement, c"check_level", REFINEMENT_ITEMS)?,
                refine: pass(KernelFile::Refinement, c"refine", REFINEMENT_ITEMS)?,
                smooth: pass(KernelFile::Refinement, c"smooth", REFINEMENT_ITEMS)?,
                check_finest: pass(KernelFile::Refinement, c"check_finest", REFINEMENT_ITEMS)?,
                small_cells: small_cells.transpose()?,
                records: pass(KernelFile::Blocks, c"records", BLOCK_ITEMS)?,
                grid: build.grid(),
                block_size,
                plan,
            },
        })
    }
}

impl SearchPasses {
    /// Queues the search of all levels, and the checks of their fields. Returns the first cell of the finest field.
    fn search_levels(&mut self, search: &Search<'_>) -> launcher::Result<Arg<'static>> {
        let Self { plan, levels, check, .. } = self;
        let Search { current, reference, .. } = *search;
        let (mut parents, mut parent_columns, mut parent_rows) = (0, 0, 0);
        for (number, passes) in levels.iter_mut().enumerate().rev() {
            let level = passes.level;
            let mut fields = FieldsArg {
                from: level.first_cell + plan.cells as i32,
                to: level.first_cell,
                parents,
                parent_columns,
                parent_rows,
                opposite: 2 * plan.cells as i32,
            };
            passes.queue(search, &mut fields)?;
            if !passes.is_finest && passes.directions == 2 {
                fields.swap();
                let indices = [fields.from, fields.to, fields.opposite].map(Arg::Int);
                let [from, to, opposite] = indices;
                // Those of level 1 are used on level 0.
                let finds_offsets = int(usize::from(number == 1));
                let fields = Arg::Buffer(&search.memory.fields);
                let args = [current, reference, fields, level.arg(), from, to, opposite, finds_offsets];
                let groups = [field_tiles(level.size_in_cells()), passes.directions];
                // SAFETY: a group takes a tile of cells, and reads no other outside the level.
                unsafe { search.launch(check, &args, groups)? };
            }
            (parents, [parent_columns, parent_rows]) = (fields.to, level.size_in_cells());
        }
        Ok(Arg::Int(parents))
    }

    /// Queues what makes vectors in 64ths of a sample from the finest field, which begins at cell `found`. Returns
    /// whether they are the checked ones.
    fn refine(&mut self, search: &Search<'_>, found: Arg<'_>) -> launcher::Result<bool> {
        let (level, directions) = (self.plan.levels()[0], self.levels[0].directions);
        let Search { memory, current, reference, .. } = *search;
        let [fields, peaks, smooth, checked] =
            [&memory.fields, &memory.peaks, &memory.smooth, &memory.checked].map(Arg::Buffer);
        let opposite = int(2 * self.plan.cells);
        let args = [current, reference, fields, peaks, level.arg(), found, opposite];
        let groups = [level.cells().div_ceil(REFINED_CELLS), directions];
        // SAFETY: a group takes cells of its own; there is a peak and a vector a cell and direction.
        unsafe { search.launch(&mut self.refine, &args, groups)? };
        let tiles = field_tiles(level.size_in_cells());
        let args = [current, reference, peaks, smooth, level.arg()];
        // SAFETY: a group takes a tile of cells, and reads no other outside the level.
        unsafe { search.launch(&mut self.smooth, &args, [tiles, directions])? };
        if directions == 2 {
            let args = [current, smooth, checked, level.arg()];
            // SAFETY: as above.
            unsafe { search.launch(&mut self.check_finest, &args, [tiles, 1])? };
        }
        Ok(directions == 2)
    }

    /// Queues what makes the records from the vectors of cells, which are the checked ones or else the smooth ones.
    fn make_records(
        &mut self,
        search: &Search<'_>,
        found: Arg<'_>,
        is_checked: bool,
    ) -> launcher::Result<()> {
        let level = self.plan.levels()[0];
        let Search { memory, current, reference, records, .. } = *search;
        let (mut size, grid) = (level.size_in_cells(), [self.grid.columns as i32, self.grid.rows as i32]);
        let grid_arg = Arg::Struct(bytemuck::bytes_of(&grid));
        let mut vectors = Arg::Buffer(if is_checked { &memory.checked } else { &memory.smooth });
        if let Some(SmallCellPasses { choose, smooth }) = &mut self.small_cells {
            let [fields, chosen, smoothed] =
                [&memory.fields, &memory.small[0], &memory.small[1]].map(Arg::Buffer);
            let args = [current, reference, fields, vectors, chosen, level.arg(), found, grid_arg];
            let groups = [self.grid.blocks().div_ceil(choose.items), 1];
            // SAFETY: small cells are blocks, and have a vector each; items past the last do nothing.
            unsafe { search.launch(choose, &args, groups)? };
            let args = [current, chosen, smoothed, level.arg(), grid_arg];
            // SAFETY: a group takes a tile of small cells, and reads no other outside the grid.
            unsafe { search.launch(smooth, &args, [field_tiles(grid), 1])? };
            (size, vectors) = (grid, smoothed);
        }
        let (frame, size) = (&self.plan.pyramid.frame, Arg::Struct(bytemuck::bytes_of(&size)));
        // `GROUP_BLOCKS` in the kernel.
        let group_blocks = RECORD_PARTS / self.block_size.div_ceil(CELL).pow(2);
        let groups = [self.grid.blocks().div_ceil(group_blocks), 1];
        let args = [current, reference, vectors, records, frame.arg(), size, grid_arg];
        // SAFETY: a group takes blocks of its own, which have a record each; the frames have margins for what is read.
        unsafe { search.launch(&mut self.records, &args, groups) }
    }
}

impl KernelFamily for HierarchicalFamily {
    fn queue_search(&mut self, request: &FamilyRequest<'_>) -> launcher::Result<()> {
        let search = Search::new(request, &self.memory[request.queue_number]);
        let found = self.passes.search_levels(&search)?;
        let is_checked = self.passes.refine(&search, found)?;
        self.passes.make_records(&search, found, is_checked)
    }

    fn prepared_bytes(&self) -> usize {
        self.passes.plan.prepared_bytes
    }

    fn prepare_frame(&mut self, queue: &Queue, slot: &Buffer) -> launcher::Result<()> {
        self.pyramid.queue(&self.passes.plan, queue, slot)
    }

    fn is_stateless(&self) -> bool {
        true
    }

    fn least_window_rows(&self) -> Option<usize> {
        None
    }
}
