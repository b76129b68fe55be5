//! Halldal's dependent recurrence in the forms that his thesis compares.
//!
//! [`crate::estimator::recurrence`] defines it; `kernels/recurrence.cl` tells what is done otherwise
//! than there. The product's own prediction is not this one: see [`crate::estimator::prediction`].

use std::ffi::CStr;
use std::fmt;
use std::sync::Arc;

use super::cl::{self, Arg, Buffer, Kernel, Queue};
use super::context::Context;
use super::device::Device;
use super::frame::buffer;
use super::program::KernelFile;
use crate::estimator::{Difference, EstimateError, Grid, MotionVector, SetupError};

/// Items of a group where a launch has several.
const SMALL_GROUP: usize = 64;

/// The most items of the one group that does a diagonal. His has 256 (listing 7.4).
const LARGE_GROUP: usize = 256;

/// Who does which block when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecurrenceForm {
    /// One work-item does all (section 7.2.1).
    OneItem,
    /// A launch a diagonal, of one group (7.2.2, listing 6.6).
    HostManaged,
    /// A launch a diagonal, of several groups (7.2.4).
    HostManagedGroups,
    /// One launch of one group, which goes from diagonal to diagonal (7.2.3, listing 6.5).
    DeviceManaged,
}

impl RecurrenceForm {
    /// All forms, in the order of the thesis' section 7.2 but for the one with several groups.
    pub const ALL: [Self; 4] =
        [Self::OneItem, Self::HostManaged, Self::HostManagedGroups, Self::DeviceManaged];

    /// Its name: `one-item`, `host-managed`, `host-managed-groups`, `device-managed`.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneItem => "one-item",
            Self::HostManaged => "host-managed",
            Self::HostManagedGroups => "host-managed-groups",
            Self::DeviceManaged => "device-managed",
        }
    }

    fn kernel(self) -> &'static CStr {
        match self {
            Self::OneItem => c"recurrence_one_item",
            Self::HostManaged | Self::HostManagedGroups => c"recurrence_diagonal",
            Self::DeviceManaged => c"recurrence_wavefront",
        }
    }
}

impl fmt::Display for RecurrenceForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The recurrence on one OpenCL device.
///
/// [`Self::run`] does all; the three steps by themselves let the kernels be timed without the
/// transfers.
pub struct Recurrence {
    form: RecurrenceForm,
    grid: Grid,
    device: Device,
    /// Items of a group.
    items: usize,
    has_vectors: bool,
    has_differences: bool,
    kernel: Kernel,
    vectors: Buffer,
    differences: Buffer,
    queue: Queue,
    // Last: what was made in the context is released before it.
    _context: Arc<Context>,
}

impl Recurrence {
    /// The recurrence over fields of the size of `grid`, in `form`.
    ///
    /// # Errors
    /// [`SetupError::FrameSize`] for a grid without blocks or of more than 32768 an axis,
    /// [`SetupError::Memory`] where the device cannot hold the field, and what the device reports.
    pub fn new(device: &Device, grid: Grid, form: RecurrenceForm) -> Result<Self, SetupError> {
        let Grid { columns, rows } = grid;
        // 32768 blocks an axis are indexed in 31 bits.
        if !(1..=32768).contains(&columns) || !(1..=32768).contains(&rows) {
            return Err(SetupError::FrameSize { width: columns, height: rows });
        }
        let refused = |error| device.refused(error);
        let context = device.context()?;
        let source = KernelFile::Recurrence.source();
        let program = context.program(device.raw(), &source, "-cl-std=CL1.2").map_err(|(error, log)| {
            SetupError::Device { device: device.name.clone(), message: format!("{error}\n{log}") }
        })?;
        let kernel = program.kernel(form.kernel()).map_err(refused)?;
        let largest = kernel.largest_group(device.raw()).map_err(refused)?.min(device.largest_group);
        let diagonal = columns.min(rows).next_power_of_two();
        // A power of two of one size for all diagonals: some drivers compile for each size anew.
        let items = match form {
            RecurrenceForm::OneItem => 1,
            RecurrenceForm::HostManagedGroups => diagonal.min(SMALL_GROUP),
            RecurrenceForm::HostManaged | RecurrenceForm::DeviceManaged => diagonal.min(LARGE_GROUP),
        };
        let items = items.min(1 << largest.max(1).ilog2());
        let blocks = grid.blocks();
        let vectors = buffer(&context, device, "the vectors", size_of::<MotionVector>() * blocks)?;
        let differences = buffer(&context, device, "the differences", size_of::<Difference>() * blocks)?;
        Ok(Self {
            form,
            grid,
            device: device.clone(),
            items,
            has_vectors: false,
            has_differences: false,
            kernel,
            vectors,
            differences,
            queue: context.queue(device.raw()).map_err(refused)?,
            _context: context,
        })
    }

    /// The form it was made in.
    pub fn form(&self) -> RecurrenceForm {
        self.form
    }

    /// The differences of `vectors`, both `rows × columns`, row-major: upload, kernels, download.
    ///
    /// # Errors
    /// [`EstimateError::FieldSize`] where there is not one vector a block, and what the device
    /// reports.
    pub fn run(&mut self, vectors: &[MotionVector]) -> Result<Vec<Difference>, EstimateError> {
        let mut differences = vec![Difference::default(); self.grid.blocks()];
        self.upload(vectors)?;
        self.compute()?;
        self.download(&mut differences)?;
        Ok(differences)
    }

    /// Brings `vectors` to the device.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn upload(&mut self, vectors: &[MotionVector]) -> Result<(), EstimateError> {
        self.grid.check(vectors)?;
        (self.has_vectors, self.has_differences) = (false, false);
        let written = self.queue.write(&self.vectors, bytemuck::cast_slice(vectors));
        written.map_err(|error| self.failed(error))?;
        self.has_vectors = true;
        Ok(())
    }

    /// Computes the differences of the vectors on the device, and waits until they are there.
    ///
    /// # Errors
    /// [`EstimateError::NoField`] where nothing was uploaded, and what the device reports.
    pub fn compute(&mut self) -> Result<(), EstimateError> {
        if !self.has_vectors {
            return Err(EstimateError::NoField);
        }
        self.has_differences = false;
        self.queue_kernels().and_then(|()| self.queue.finish()).map_err(|error| self.failed(error))?;
        self.has_differences = true;
        Ok(())
    }

    /// Brings the differences back to the host.
    ///
    /// # Errors
    /// As [`Self::run`], and [`EstimateError::NoField`] where nothing was computed.
    pub fn download(&mut self, differences: &mut [Difference]) -> Result<(), EstimateError> {
        self.grid.check(differences)?;
        if !self.has_differences {
            return Err(EstimateError::NoField);
        }
        let read = self.queue.read(&self.differences, bytemuck::cast_slice_mut(differences));
        read.map_err(|error| self.failed(error))
    }

    /// Queues all launches. The queue is in order: unlike in listing 6.6 the host need not wait
    /// between them.
    fn queue_kernels(&mut self) -> cl::Result<()> {
        let Self { grid: Grid { columns, rows }, items, ref queue, ref mut kernel, .. } = *self;
        let field = [
            Arg::Buffer(&self.vectors),
            Arg::Buffer(&self.differences),
            Arg::Int(columns as i32),
            Arg::Int(rows as i32),
        ];
        match self.form {
            RecurrenceForm::OneItem | RecurrenceForm::DeviceManaged => {
                // SAFETY: the kernel stays within the grid, for which there are as many vectors
                // and differences as blocks, whatever the size of the one group.
                unsafe { queue.launch(kernel, &field, [1, 1], [items, 1]) }
            }
            RecurrenceForm::HostManaged | RecurrenceForm::HostManagedGroups => {
                (0..columns + rows - 1).try_for_each(|diagonal| {
                    let last_row = diagonal.min(rows - 1);
                    let blocks = last_row - diagonal.saturating_sub(columns - 1) + 1;
                    let is_split = self.form == RecurrenceForm::HostManagedGroups;
                    let groups = if is_split { blocks.div_ceil(items) } else { 1 };
                    let [v, d, c, r] = field;
                    let args = [v, d, c, r, Arg::Int(diagonal as i32)];
                    // SAFETY: as above; items without a block in the diagonal do nothing.
                    unsafe { queue.launch(kernel, &args, [groups, 1], [items, 1]) }
                })
            }
        }
    }

    fn failed(&self, error: cl::Error) -> EstimateError {
        EstimateError::Device { device: self.device.name.clone(), message: error.to_string() }
    }
}
