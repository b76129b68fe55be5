//! The kernels of `prediction.cl` on one OpenCL device.

use std::fmt;

use motion_search::estimator::{Grid, MotionVector};
use motion_search::opencl::OpenClDevice;
use ocl::enums::{KernelWorkGroupInfo, KernelWorkGroupInfoResult};
use ocl::{Buffer, Context, Kernel, Platform, Program, Queue};

/// Work-items of a group in launches of several groups.
const SMALL_GROUP: usize = 64;

/// The most work-items of a group that computes a diagonal alone, as in listing 7.4.
const LARGE_GROUP: usize = 256;

/// How work-items are assigned to blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredictionForm {
    /// The recurrence, by one work-item (section 7.2.1).
    OneItem,
    /// The recurrence, a launch a step.
    HostManaged(HostManaged),
    /// The recurrence, one launch of one group for all steps (7.2.3, listing 6.5).
    DeviceManaged {
        /// Two blocks a work-item and step, as he has it; else a diagonal a step.
        is_paired: bool,
    },
    /// H.264's median of vectors, one work-item per block.
    Median,
}

/// The recurrence with a launch for each step (7.2.2, listing 6.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostManaged {
    /// Two blocks a work-item and step, as he has it; else a diagonal a step.
    pub is_paired: bool,
    /// Several groups a launch (7.2.4), else one.
    pub has_groups: bool,
    /// The host waits for each launch, as he has it.
    pub waits: bool,
}

impl PredictionForm {
    /// The forms of the recurrence.
    pub const RECURRENCE: [Self; 9] = [
        Self::OneItem,
        Self::host_managed(true, false, true),
        Self::host_managed(false, false, true),
        Self::host_managed(false, false, false),
        Self::DeviceManaged { is_paired: true },
        Self::DeviceManaged { is_paired: false },
        Self::host_managed(true, true, true),
        Self::host_managed(false, true, true),
        Self::host_managed(false, true, false),
    ];

    const fn host_managed(is_paired: bool, has_groups: bool, waits: bool) -> Self {
        Self::HostManaged(HostManaged { is_paired, has_groups, waits })
    }

    fn kernel(self) -> &'static str {
        match self {
            Self::OneItem => "recurrence_one_item",
            Self::HostManaged(HostManaged { is_paired: true, .. }) => "recurrence_pairs",
            Self::HostManaged(_) => "recurrence_diagonal",
            Self::DeviceManaged { is_paired: true } => "recurrence_wavefront_pairs",
            Self::DeviceManaged { is_paired: false } => "recurrence_wavefront",
            Self::Median => "predict_median",
        }
    }
}

impl fmt::Display for PredictionForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HostManaged { is_paired, has_groups, waits } = match self {
            Self::OneItem => return f.write_str("one thread"),
            Self::DeviceManaged { is_paired: true } => return f.write_str("kernel managed"),
            Self::DeviceManaged { is_paired: false } => {
                return f.write_str("kernel managed, plain diagonals");
            }
            Self::Median => return f.write_str("median"),
            Self::HostManaged(form) => form,
        };
        f.write_str(if *has_groups { "host managed, several blocks" } else { "host managed" })?;
        f.write_str(if *is_paired { "" } else { ", plain diagonals" })?;
        f.write_str(if *waits { "" } else { ", one wait" })
    }
}

/// One form on one device, for fields of one size.
pub struct FieldPredictor {
    form: PredictionForm,
    grid: Grid,
    /// Work-items of a group.
    items: usize,
    kernel: Kernel,
    vectors: Buffer<u8>,
    results: Buffer<i16>,
    queue: Queue,
}

impl FieldPredictor {
    /// Builds the kernel of `form` on `device` for fields of the size of `grid`, at least one block. A
    /// group has at most [`OpenClDevice::largest_group`] work-items.
    ///
    /// # Errors
    /// What OpenCL reports.
    pub fn new(device: &OpenClDevice, grid: Grid, form: PredictionForm) -> ocl::Result<Self> {
        let platform = Platform::list()[device.platform];
        let raw = ocl::Device::list_all(platform)?[device.index];
        let context = Context::builder().platform(platform).devices(raw).build()?;
        let queue = Queue::new(&context, raw, None)?;
        let source = include_str!("prediction.cl");
        let program =
            Program::builder().src(source).cmplr_opt("-cl-std=CL1.2").devices(raw).build(&context)?;
        let blocks = grid.blocks();
        let bytes = blocks * size_of::<MotionVector>();
        let vectors = Buffer::builder().queue(queue.clone()).len(bytes).build()?;
        let results = Buffer::builder().queue(queue.clone()).len(2 * blocks).build()?;
        let mut kernel = Kernel::builder();
        kernel.program(&program).name(form.kernel()).queue(queue.clone());
        kernel.arg(&vectors).arg(&results).arg(grid.columns as i32).arg(grid.rows as i32);
        if matches!(form, PredictionForm::HostManaged(_)) {
            kernel.arg(0_i32);
        }
        // SAFETY: the types of the buffers' elements differ from the kernel's in name alone: bytes are
        // vectors of 8 bytes, and pairs of 16-bit numbers are `short2`.
        let kernel = unsafe { kernel.disable_arg_type_check() }.build()?;
        let largest = match kernel.wg_info(raw, KernelWorkGroupInfo::WorkGroupSize)? {
            KernelWorkGroupInfoResult::WorkGroupSize(items) => items.min(device.largest_group),
            _ => 1,
        };
        let diagonal = grid.columns.min(grid.rows).next_power_of_two();
        // The same power of two for all diagonals: some drivers compile for every group size anew.
        let items = match form {
            PredictionForm::OneItem => 1,
            PredictionForm::Median => SMALL_GROUP,
            PredictionForm::HostManaged(HostManaged { has_groups: true, .. }) => diagonal.min(SMALL_GROUP),
            PredictionForm::HostManaged(_) | PredictionForm::DeviceManaged { .. } => {
                diagonal.min(LARGE_GROUP)
            }
        };
        let items = items.min(1 << largest.max(1).ilog2());
        Ok(Self { form, grid, items, kernel, vectors, results, queue })
    }

    /// Uploads `vectors`, computes, and downloads the results: x and y of each block in quarter samples.
    ///
    /// # Errors
    /// What OpenCL reports.
    pub fn run(&self, vectors: &[MotionVector], results: &mut [[i16; 2]]) -> ocl::Result<()> {
        self.vectors.write(bytemuck::cast_slice(vectors)).enq()?;
        self.compute()?;
        self.results.read(results.as_flattened_mut()).enq()
    }

    /// Runs the kernel over the vectors uploaded last and waits for its end, so that it can be timed alone.
    ///
    /// # Errors
    /// What OpenCL reports.
    pub fn compute(&self) -> ocl::Result<()> {
        let Grid { columns, rows } = self.grid;
        match self.form {
            PredictionForm::HostManaged(HostManaged { is_paired, has_groups, waits }) => {
                // The steps of a row; each row begins one step after the row above.
                let length = if is_paired { columns.div_ceil(2) } else { columns };
                for step in 0..length + rows - 1 {
                    let active = step.min(rows - 1) - step.saturating_sub(length - 1) + 1;
                    self.kernel.set_arg(4, step as i32)?;
                    self.launch(if has_groups { active.div_ceil(self.items) } else { 1 })?;
                    if waits {
                        self.queue.finish()?;
                    }
                }
            }
            PredictionForm::Median => self.launch(self.grid.blocks().div_ceil(self.items))?,
            PredictionForm::OneItem | PredictionForm::DeviceManaged { .. } => self.launch(1)?,
        }
        self.queue.finish()
    }

    /// Queues the kernel over `groups` groups.
    fn launch(&self, groups: usize) -> ocl::Result<()> {
        let launch = self.kernel.cmd().global_work_size(groups * self.items).local_work_size(self.items);
        // SAFETY: with any number of work-items the kernels stay within the grid, and the buffers hold
        // one record for each of its blocks.
        unsafe { launch.enq() }
    }
}
