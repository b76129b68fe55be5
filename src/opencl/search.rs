//! What every family of kernels is made from, and what it does: a file a family beside this one.

use std::ffi::CStr;

use super::cl::{self, Arg, Buffer, Queue};
use super::context::Context;
use super::device::{Device, DeviceKind};
use super::program::{self, Source};
use super::{collaborative, elimination, reference, three_step, tiled, two_pass};
use crate::estimator::{Kernel, Parameters, SetupError, Tuning, Window};

/// Bytes of an order key.
pub(super) const KEY: usize = size_of::<u64>();

/// Local memory that a group uses at most, so that several groups fit a compute unit.
pub(super) const LOCAL_MEMORY_WANTED: usize = 32 << 10;

/// One way to find the vectors of a frame: kernels, their buffers, and how they are launched.
pub(super) trait Search: Send {
    /// Queues all that finds the vectors of one frame. Once the queue of `run` is finished, so is
    /// the search.
    fn queue(&mut self, run: &Run<'_>) -> cl::Result<()>;

    /// The fewest rows of blocks that it searches at once.
    fn least_rows(&self) -> usize {
        1
    }

    /// Whether it keeps nothing on the device but what its `Run` names, so that it may run beside
    /// another search of its own.
    fn is_stateless(&self) -> bool {
        false
    }

    /// Whether it can try a part of the window that it was made for.
    fn divides_window(&self) -> bool {
        true
    }
}

/// The frames of one search, and where its vectors go.
pub(super) struct Run<'a> {
    pub(super) queue: &'a Queue,
    pub(super) current: &'a Buffer,
    pub(super) reference: &'a Buffer,
    pub(super) vectors: &'a Buffer,
    /// How many blocks are searched, at most as many as the search was made for.
    pub(super) blocks: usize,
    /// Which displacements are tried of the task's window.
    pub(super) window: Window,
    /// Says the same, and where all of it is.
    pub(super) geometry: Arg<'a>,
}

/// The kernel of full search that is fastest for `device` as measured so far: `benches/RESULTS.md` has the figures.
pub(super) fn fastest(device: &Device) -> Kernel {
    match device.kind {
        DeviceKind::Gpu => Kernel::Tiled,
        DeviceKind::Cpu => Kernel::CollaborativeUnaligned,
        DeviceKind::Accelerator => Kernel::Reference,
    }
}

/// The search that `task` asks for.
///
/// # Errors
/// [`SetupError::KernelUnsupported`] where a limit of the device stands against it,
/// [`SetupError::Memory`] where it has no room for what the kernel keeps.
pub(super) fn search(task: &Task<'_>) -> Result<Box<dyn Search>, SetupError> {
    Ok(match task.kernel {
        Kernel::ReferenceNaive => Box::new(reference::Naive::new(task)?),
        Kernel::Auto | Kernel::Reference => Box::new(reference::Staged::new(task)?),
        Kernel::CollaborativeNaive | Kernel::Collaborative | Kernel::CollaborativeUnaligned => {
            Box::new(collaborative::Collaborative::new(task)?)
        }
        Kernel::TwoPass => Box::new(two_pass::TwoPass::new(task)?),
        Kernel::Tiled => Box::new(tiled::Tiled::new(task)?),
        Kernel::Elimination => Box::new(elimination::Elimination::new(task)?),
        Kernel::Exhaustive => {
            return Err(SetupError::KernelUnsupported {
                kernel: task.kernel,
                device: task.device.name.clone(),
                reason: "it is a kernel of the CPU without OpenCL".into(),
                advice: "choose kernel auto, or device native".into(),
            });
        }
        Kernel::ThreeStepNaive => Box::new(three_step::Samples::new(task)?),
        Kernel::ThreeStep => Box::new(three_step::Group::new(task)?),
        Kernel::ThreeStepUnaligned => Box::new(three_step::Item::new(task)?),
    })
}

/// What a search is made for, and with.
pub(super) struct Task<'a> {
    pub(super) device: &'a Device,
    pub(super) context: &'a Context,
    pub(super) kernel: Kernel,
    pub(super) tuning: &'a Tuning,
    pub(super) parameters: &'a Parameters,
    /// The part of the parameters' window whose samples are read.
    pub(super) window: &'a Window,
}

impl Task<'_> {
    pub(super) fn is_gpu(&self) -> bool {
        self.device.kind == DeviceKind::Gpu
    }

    pub(super) fn blocks(&self) -> usize {
        self.parameters.grid().blocks()
    }

    /// The kernel `name` of `source`, built for the parameters and the group size that is chosen.
    pub(super) fn build(&self, source: Source, name: &CStr) -> Result<cl::Kernel, SetupError> {
        self.build_wanting(source, name, self.tuning.group_size.unwrap_or(1))
    }

    /// The kernel `name` of `source`, and how many items its groups have: as many as are chosen, else
    /// `items` or the most that may be.
    ///
    /// # Errors
    /// As [`Self::chosen_group`], and where it does not build.
    pub(super) fn build_for(
        &self,
        source: Source,
        name: &CStr,
        items: usize,
    ) -> Result<(cl::Kernel, usize), SetupError> {
        let kernel = self.build_wanting(source, name, self.tuning.group_size.unwrap_or(items))?;
        let items = match self.chosen_group(&kernel)? {
            Some(chosen) => chosen,
            None => items.min(self.largest_group(&kernel)?),
        };
        Ok((kernel, items))
    }

    /// Builds for groups of `items` where they are more than a build that leaves it open allows, and
    /// not more than the device has.
    fn build_wanting(&self, source: Source, name: &CStr, items: usize) -> Result<cl::Kernel, SetupError> {
        let kernel = self.build_in(source, name, None)?;
        if items <= self.largest_group(&kernel)? || items > self.device.largest_group {
            return Ok(kernel);
        }
        self.build_in(source, name, Some(items))
    }

    fn build_in(
        &self,
        source: Source,
        name: &CStr,
        group_size: Option<usize>,
    ) -> Result<cl::Kernel, SetupError> {
        self.build_shaped(source, name, group_size, "")
    }

    /// The kernel `name` of `source`, built for the parameters, for groups of `group_size` where it
    /// is given, and with the options in `shape`.
    pub(super) fn build_shaped(
        &self,
        source: Source,
        name: &CStr,
        group_size: Option<usize>,
        shape: &str,
    ) -> Result<cl::Kernel, SetupError> {
        let options = program::options(source, self.device, self.parameters, group_size) + shape;
        program::build(self.context, self.device, self.kernel, &source.whole(), &options)?
            .kernel(name)
            .map_err(|error| self.device.refused(error))
    }

    pub(super) fn buffer(&self, what: &'static str, bytes: usize) -> Result<Buffer, SetupError> {
        self.context.device_buffer(self.device, what, bytes)
    }

    /// The kernel cannot run here, for `reason`.
    pub(super) fn unsupported(&self, reason: String, advice: String) -> SetupError {
        SetupError::KernelUnsupported {
            kernel: self.kernel,
            device: self.device.name.clone(),
            reason,
            advice,
        }
    }

    /// The error for a group of `items` where `largest` are the most.
    pub(super) fn group_too_large(&self, items: usize, largest: usize) -> SetupError {
        self.unsupported(
            format!("a work-group of {items} work-items is asked for and its largest has {largest}"),
            format!("choose a tuning group-size of {largest} or less"),
        )
    }

    /// The most work-items in a group of `kernel`, at least 1.
    pub(super) fn largest_group(&self, kernel: &cl::Kernel) -> Result<usize, SetupError> {
        let largest = kernel.largest_group(self.device.raw()).map_err(|error| self.device.refused(error))?;
        Ok(largest.min(self.device.largest_group).max(1))
    }

    /// The group size that is chosen, where one is and `kernel` can run in it.
    ///
    /// # Errors
    /// [`SetupError::KernelUnsupported`] that names the limit and what would work.
    pub(super) fn chosen_group(&self, kernel: &cl::Kernel) -> Result<Option<usize>, SetupError> {
        let largest = self.largest_group(kernel)?;
        match self.tuning.group_size {
            Some(items) if items > largest => Err(self.group_too_large(items, largest)),
            chosen => Ok(chosen),
        }
    }

    /// The error for a group whose items need more local memory than there is: `most` items fit.
    pub(super) fn local_memory_short(&self, items: usize, needed: usize, most: usize) -> SetupError {
        let has = self.device.local_memory;
        let reason = format!(
            "a work-group of {items} work-items needs {needed} bytes of local memory and it has {has}"
        );
        let advice = match most {
            0 => "choose collaborative-unaligned, which uses none".into(),
            _ => format!("choose a tuning group-size of {most} or less, or collaborative-unaligned"),
        };
        self.unsupported(reason, advice)
    }

    /// How many parts of `part_bytes` of costs each are kept at once, of `parts` in all.
    ///
    /// # Errors
    /// [`SetupError::Memory`] where not even one may be.
    pub(super) fn costs_at_once(
        &self,
        what: &'static str,
        part_bytes: u64,
        parts: usize,
    ) -> Result<usize, SetupError> {
        // Kernels number the costs in 31 bits.
        let wanted = self.tuning.cost_bytes.unwrap_or(Tuning::COST_BYTES);
        let limit = wanted.min(self.device.largest_buffer).min(4 * i32::MAX as u64);
        match (limit / part_bytes).min(parts as u64) {
            0 => {
                let device = self.device.name.clone();
                Err(SetupError::Memory { device, what, needed: part_bytes, limit })
            }
            at_once => Ok(at_once as usize),
        }
    }
}

/// A number as a kernel's argument. All of them fit 31 bits: see `Layout::new` and
/// [`Task::costs_at_once`].
pub(super) fn int(value: usize) -> Arg<'static> {
    Arg::Int(value as i32)
}
