//! What a family of kernels is, what it is built from, and what it is asked to launch.

use std::ffi::CStr;
use std::ops::Range;

use super::frame::{Geometry, Layout, sample_bytes};
use super::kernel_file::{self, KernelFile};
use crate::estimator::{Grid, Parameters, SetupError};
use crate::tuning::{Kernel, Tuning};
use motion_gpu::context::Context;
use motion_gpu::device::{DeviceKind, OpenClDevice};
use motion_gpu::launcher::{self, Arg, Buffer, KernelObject, Queue};
use motion_gpu::program;

/// One way to search a frame: its kernels, their buffers, and how they are launched.
pub(super) trait KernelFamily: Send {
    /// Queues everything that finds the vectors of a search, on the queue of `request` or before what
    /// follows on it.
    fn queue_search(&mut self, request: &FamilyRequest<'_>) -> launcher::Result<()>;

    /// Bytes that it needs behind the frame in each slot.
    fn prepared_bytes(&self) -> usize {
        0
    }

    /// Queues what it needs of a frame alone, after the frame was loaded into `slot`.
    fn prepare_frame(&mut self, _queue: &Queue, _slot: &Buffer) -> launcher::Result<()> {
        Ok(())
    }

    /// The fewest rows of blocks that it can search.
    fn least_rows(&self) -> usize {
        1
    }

    /// Whether all that it writes belongs to its request or to the queue of the request, so that searches on two
    /// queues may run at once.
    fn is_stateless(&self) -> bool {
        false
    }

    /// The fewest rows of displacements that it can try, or `None` if it always tries the whole window.
    fn least_window_rows(&self) -> Option<usize> {
        Some(1)
    }

    /// Whether it tries only the displacements that a search asks for, not all of their rows.
    fn tries_single_displacements(&self) -> bool {
        false
    }
}

/// The frames of a search, where its vectors go, and what it may start from.
pub(super) struct SearchBuffers<'a> {
    pub(super) current: &'a Buffer,
    pub(super) reference: &'a Buffer,
    pub(super) vectors: &'a Buffer,
    /// The index of the search's offset among those of the references: a family may start from what its previous search
    /// with this index found.
    pub(super) history: usize,
}

/// A search that is to be queued, and what is searched of its frames.
pub(super) struct FamilyRequest<'a> {
    pub(super) queue: &'a Queue,
    /// The number of the queue among those of searches, less than [`BuildContext::search_queues`].
    pub(super) queue_number: usize,
    pub(super) buffers: SearchBuffers<'a>,
    /// The blocks and displacements that are searched: all that the family was built for, or a part.
    pub(super) geometry: &'a Geometry,
    /// The displacements of the geometry's window that are asked for, numbered row by row. A kernel that searches whole
    /// rows may search all.
    pub(super) displacements: Range<usize>,
}

impl<'a> FamilyRequest<'a> {
    /// The buffers of the current frame, the reference frame and the vectors.
    pub(super) fn buffers(&self) -> [Arg<'a>; 3] {
        let SearchBuffers { current, reference, vectors, .. } = self.buffers;
        [current, reference, vectors].map(Arg::Buffer)
    }
}

/// What a family is built for, and with.
pub(super) struct BuildContext<'a> {
    pub(super) device: &'a OpenClDevice,
    pub(super) context: &'a Context,
    pub(super) kernel: Kernel,
    pub(super) tuning: &'a Tuning,
    pub(super) parameters: &'a Parameters,
    /// The layout of the frames. Its geometry has the whole grid and the displacements that are tried.
    pub(super) layout: &'a Layout,
}

impl BuildContext<'_> {
    pub(super) fn is_gpu(&self) -> bool {
        self.device.kind == DeviceKind::Gpu
    }

    pub(super) fn is_cpu(&self) -> bool {
        self.device.kind == DeviceKind::Cpu
    }

    pub(super) fn grid(&self) -> Grid {
        self.parameters.grid()
    }

    /// The most searches in flight.
    pub(super) fn searches(&self) -> usize {
        self.parameters.references.searches(self.tuning.depth.unwrap_or(1))
    }

    /// The most queues of searches.
    pub(super) fn search_queues(&self) -> usize {
        self.context.search_queues().min(self.searches())
    }

    /// Displacements that are tried.
    pub(super) fn candidates(&self) -> usize {
        self.layout.geometry.candidates()
    }

    /// The kernel `name` of `file`, for groups of the size in the tuning, if there is one, with more `options`.
    pub(super) fn build(
        &self,
        file: KernelFile,
        name: &CStr,
        options: &str,
    ) -> Result<KernelObject, SetupError> {
        self.build_for_items(file, name, self.tuning.group_size.unwrap_or(1), options)
    }

    /// The kernel `name` of `file`, and the size of its groups: that of the tuning, else `items` or the
    /// largest that is possible.
    ///
    /// # Errors
    /// As [`Self::chosen_group`], and if it does not build.
    pub(super) fn build_for(
        &self,
        file: KernelFile,
        name: &CStr,
        items: usize,
    ) -> Result<(KernelObject, usize), SetupError> {
        let kernel = self.build_for_items(file, name, self.tuning.group_size.unwrap_or(items), "")?;
        let items = match self.chosen_group(&kernel)? {
            Some(chosen) => chosen,
            None => items.min(self.largest_group(&kernel)?),
        };
        Ok((kernel, items))
    }

    /// Fixes the group size only if `items` are more than a build with an open size allows, and the device
    /// has so many.
    fn build_for_items(
        &self,
        file: KernelFile,
        name: &CStr,
        items: usize,
        options: &str,
    ) -> Result<KernelObject, SetupError> {
        let kernel = self.build_with(file, name, None, options)?;
        if items <= self.largest_group(&kernel)? || items > self.device.largest_group {
            return Ok(kernel);
        }
        self.build_with(file, name, Some(items), options)
    }

    /// The kernel `name` of `file`, for groups of `group_size` if it is given, with more `options`.
    pub(super) fn build_with(
        &self,
        file: KernelFile,
        name: &CStr,
        group_size: Option<usize>,
        options: &str,
    ) -> Result<KernelObject, SetupError> {
        let options =
            |four_samples| kernel_file::options(file, four_samples, self.parameters, group_size) + options;
        let (source, kernel) = (file.source(), self.kernel.name());
        let program = program::build_for_four_samples(self.context, self.device, kernel, &source, options)?;
        let refused = |error| {
            program::not_launched(error, kernel, &self.device.name)
                .unwrap_or_else(|| self.device.refused(error))
        };
        program.kernel(name).map_err(refused)
    }

    /// Samples of a word: `WORD_SAMPLES` in `common.cl`.
    pub(super) fn word_samples(&self) -> usize {
        4 / sample_bytes(self.parameters)
    }

    /// `FOUR_SAMPLES` in `common.cl`: the instructions for four samples that the device has, and its compiler takes.
    pub(super) fn four_samples(&self) -> u8 {
        program::four_samples(self.context, self.device)
    }

    pub(super) fn buffer(&self, what: &'static str, bytes: usize) -> Result<Buffer, SetupError> {
        self.device.buffer(self.context, what, bytes)
    }

    /// The error for a kernel that cannot run on this device.
    pub(super) fn unsupported(&self, reason: String, advice: impl Into<String>) -> SetupError {
        SetupError::KernelUnsupported {
            kernel: self.kernel.name(),
            device: self.device.name.clone(),
            reason,
            advice: advice.into(),
        }
    }

    /// The error for a group of more than `largest` items.
    pub(super) fn group_too_large(&self, items: usize, largest: usize) -> SetupError {
        self.unsupported(
            format!("the tuning asks for work-groups of {items} work-items, and its largest has {largest}"),
            format!("choose a tuning group-size of {largest} or less"),
        )
    }

    /// The most work-items in a group of `kernel`, at least 1.
    pub(super) fn largest_group(&self, kernel: &KernelObject) -> Result<usize, SetupError> {
        self.device.largest_group_of(kernel)
    }

    /// The group size of the tuning, if there is one.
    ///
    /// # Errors
    /// [`SetupError::KernelUnsupported`] if `kernel` cannot run in such groups.
    pub(super) fn chosen_group(&self, kernel: &KernelObject) -> Result<Option<usize>, SetupError> {
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
            "a work-group of {items} work-items needs {needed} bytes of local memory, and it has {has}"
        );
        let advice = match most {
            0 => "choose collaborative-unaligned, which needs none".into(),
            _ => format!("choose a tuning group-size of {most} or less, or collaborative-unaligned"),
        };
        self.unsupported(reason, advice)
    }

    /// How many of `parts` parts of costs, of `part_bytes` each, are kept at a time.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if not even one is allowed.
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
/// [`BuildContext::costs_at_once`].
pub(super) fn int(value: usize) -> Arg<'static> {
    Arg::Int(value as i32)
}
