//! The kernels of `prediction.cl` on one OpenCL device.

use std::fmt;

use gstmotionestimate::estimator::{Grid, MotionVector};
use gstmotionestimate::opencl::OpenClDevice;
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
    /// The recurrence, one launch of one group per diagonal (7.2.2, listing 6.6).
    HostManaged,
    /// The recurrence, one launch of several groups per diagonal (7.2.4).
    HostManagedGroups,
    /// The recurrence, one launch of one group for all diagonals (7.2.3, listing 6.5).
    DeviceManaged,
    /// H.264's median of vectors, one work-item per block.
    Median,
}

impl PredictionForm {
    /// The forms of the recurrence, in the order of `printed::HALLDAL_PREDICTION`.
    pub const RECURRENCE: [Self; 4] =
        [Self::OneItem, Self::HostManaged, Self::DeviceManaged, Self::HostManagedGroups];

    fn kernel(self) -> &'static str {
        match self {
            Self::OneItem => "recurrence_one_item",
            Self::HostManaged | Self::HostManagedGroups => "recurrence_diagonal",
            Self::DeviceManaged => "recurrence_wavefront",
            Self::Median => "predict_median",
        }
    }

    fn is_host_managed(self) -> bool {
        matches!(self, Self::HostManaged | Self::HostManagedGroups)
    }
}

impl fmt::Display for PredictionForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneItem => "one-item",
            Self::HostManaged => "host-managed",
            Self::HostManagedGroups => "host-managed-groups",
            Self::DeviceManaged => "device-managed",
            Self::Median => "median",
        })
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
        if form.is_host_managed() {
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
            PredictionForm::HostManagedGroups => diagonal.min(SMALL_GROUP),
            PredictionForm::HostManaged | PredictionForm::DeviceManaged => diagonal.min(LARGE_GROUP),
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
        if self.form.is_host_managed() {
            // The queue is in order: unlike in listing 6.6 the host need not wait between launches.
            for diagonal in 0..columns + rows - 1 {
                let last_row = diagonal.min(rows - 1);
                let blocks = last_row - diagonal.saturating_sub(columns - 1) + 1;
                let is_split = self.form == PredictionForm::HostManagedGroups;
                self.kernel.set_arg(4, diagonal as i32)?;
                self.launch(if is_split { blocks.div_ceil(self.items) } else { 1 })?;
            }
        } else {
            let is_median = self.form == PredictionForm::Median;
            self.launch(if is_median { self.grid.blocks().div_ceil(self.items) } else { 1 })?;
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
