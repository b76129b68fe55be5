//! Full, three-step and hierarchical search on OpenCL devices.
//!
//! No other module names OpenCL. [`devices`] lists the devices that are there, [`OpenCl`] searches on one
//! of them with one of the kernels in `kernels/`.

mod families;
mod flight;
mod frame;
mod kernel_family;
mod kernel_file;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use motion_gpu::context::{Context, MadeIn};
use motion_gpu::host::PinnedMemory;
use motion_gpu::launcher;
#[doc(hidden)]
pub use motion_gpu::try_build;
#[cfg(feature = "cuda")]
#[doc(inline)]
pub use motion_gpu::{CudaContext, CudaPlane};
#[doc(inline)]
pub use motion_gpu::{DeviceKind, OpenClDevice, devices};

use crate::estimator::{
    self, DeviceInfo, EstimateError, Flights, Frame, Output, Parameters, Part, Request, SetupError, Slot,
    StageTimes, Ticket, Window, WindowParts,
};
use crate::tuning::{Kernel, Tuning, check_search};
use flight::{BegunSearch, Queues, SearchPlan, Searches};
use frame::{FrameSlots, Layout};
use kernel_family::BuildContext;

/// Full, three-step or hierarchical search on one OpenCL device.
///
/// With D = [`Tuning::depth`] frames in flight, F fields a frame, reference frames at most R frames away, and frames of
/// W × H samples in B blocks it allocates on the device (D + R) padded frames, 8 · B · D · F bytes and what the kernel
/// keeps: at most [`Tuning::cost_bytes`] of costs and a few bytes a block. A padded frame has the search range, the block
/// and at most 128 samples more on each side; hierarchical search adds about nine times its size, and 1.6 bytes a
/// sample for each of at most eight searches. In page-locked host memory it allocates
/// (D + R) · W · H + 8 · B · D · F bytes. All of it is allocated when the device is opened.
pub struct OpenCl {
    info: DeviceInfo,
    layout: Layout,
    /// The displacements that the layout has room for.
    window: Window,
    flights: Flights<BegunSearch>,
    objects: MadeIn<SearchObjects>,
}

/// What was made in the context, and the context.
struct SearchObjects {
    slots: FrameSlots,
    searches: Searches,
    context: Arc<Context>,
}

impl Drop for OpenCl {
    fn drop(&mut self) {
        // Commands in flight may write to host memory that is freed then.
        let _ = self.wait_for_all();
    }
}

impl fmt::Debug for OpenCl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenCl").field("info", &self.info).finish_non_exhaustive()
    }
}

impl OpenCl {
    /// Opens `device` with `kernel`. [`Kernel::Auto`] takes the fastest kernel for the kind of device;
    /// [`backend::open`](crate::backend::open) also reads the tables of measured devices.
    ///
    /// # Errors
    /// [`SetupError`]: invalid parameters or tuning, a kernel that the device cannot run or build, too
    /// little memory, or what the device reports.
    pub fn new(
        device: &OpenClDevice,
        kernel: Kernel,
        tuning: &Tuning,
        parameters: &Parameters,
    ) -> Result<Self, SetupError> {
        check_search(&device.name, kernel, tuning, parameters)?;
        if kernel == Kernel::Auto {
            let fastest = families::fastest(parameters, device);
            return match Self::new(device, fastest, tuning, parameters) {
                Err(SetupError::KernelUnsupported { .. }) => {
                    Self::new(device, families::undemanding(parameters), tuning, parameters)
                }
                opened => opened,
            };
        }
        let open = |context: &_| Self::with_context(context, device, kernel, tuning, parameters);
        let (mut opened, launching) = device.open(tuning.launcher, open)?;
        opened.info.launching = Some(launching);
        Ok(opened)
    }

    /// As [`Self::new`] with a `kernel` that is not [`Kernel::Auto`], launched by `context`.
    fn with_context(
        context: &Arc<Context>,
        device: &OpenClDevice,
        kernel: Kernel,
        tuning: &Tuning,
        parameters: &Parameters,
    ) -> Result<Self, SetupError> {
        let window = families::readable_window(parameters);
        let layout = Layout::new(parameters, &window);
        let build = BuildContext { device, context, kernel, tuning, parameters, layout: &layout };
        let family = families::build(&build)?;
        let layout = layout.with_prepared_bytes(family.prepared_bytes());
        let (depth, slots) = (build.searches(), parameters.references.slots(tuning.depth.unwrap_or(1)));
        let queues = Queues::new(context, device, depth, family.is_stateless())?;
        let memory = PinnedMemory {
            context: context.clone(),
            device: device.clone(),
            queue: queues.search(0).clone(),
        };
        let info = DeviceInfo {
            parameters: parameters.clone(),
            name: device.name.as_str().into(),
            kernel: kernel.name(),
            launching: None,
            window_parts: match family.least_window_rows() {
                None => WindowParts::Whole,
                Some(_) if family.tries_single_displacements() => WindowParts::Displacements,
                Some(_) => WindowParts::Rows,
            },
            depth,
            slots,
            can_fail: true,
            can_hang: device.kind == DeviceKind::Gpu,
            memory: Some(Arc::new(memory.clone())),
        };
        let objects = SearchObjects {
            slots: FrameSlots::new(context, device, memory, &info, layout)?,
            searches: Searches::new(context, device, family, queues, &info)?,
            context: context.clone(),
        };
        let flights = Flights::new(slots, depth);
        Ok(Self { layout, window, flights, objects: MadeIn::new(context, objects), info })
    }

    /// What is searched if `part` is wanted: the same, or the smallest larger rows of blocks and window that
    /// the kernel can search.
    fn searched_for(&self, part: Part) -> (Part, Window) {
        let (rows, all) = (part.rows(), self.info.parameters.grid().rows);
        let family = &self.objects.searches.family;
        let end = (rows.start + family.least_rows()).clamp(rows.end, all.max(rows.end));
        let start = rows.start.min(end.saturating_sub(family.least_rows()));
        let window = match family.least_window_rows() {
            None => self.window,
            Some(least) => {
                let wanted = part.window(&self.info.parameters, &self.window);
                let y1 = wanted.y1().max(wanted.y0() + least as i32 - 1).min(self.window.y1());
                self.window.with_rows(wanted.y0().min(y1 - (least as i32 - 1)), y1)
            }
        };
        (part.with_rows(start..end), window)
    }

    fn failed(&self, error: launcher::Error) -> EstimateError {
        self.objects.context.watch().failure(&self.info.name, error)
    }

    /// Waits until no command runs any more, however long that may take.
    fn wait_for_all(&self) -> launcher::Result<()> {
        let SearchObjects { searches, context, .. } = &*self.objects;
        let in_flight = self.flights.len().max(1) as u32;
        searches.queues.wait_for_all(context.watch(), searches.allowed().saturating_mul(in_flight))
    }

    /// Searches `count` times, at least 1, without waiting in between, and returns the time of one search:
    /// the device's own, without the start of a search and the wait for it. If the device was opened for
    /// several searches in flight, they overlap as they do then. For benchmarks.
    ///
    /// # Errors
    /// As [`estimator::Device::start_search`].
    #[doc(hidden)]
    pub fn time_searches(
        &mut self,
        current: Slot,
        reference: Slot,
        count: u32,
    ) -> Result<Duration, EstimateError> {
        if self.flights.len() > 0 {
            return Err(EstimateError::InFlight(self.flights.len()));
        }
        let SearchObjects { slots, searches, context } = &mut *self.objects;
        let frame = |slot: Slot| slots.get(slot).ok_or(EstimateError::EmptySlot(slot.index()));
        let frames = [frame(current)?.0, frame(reference)?.0];
        let time = searches.time_searches(frames, &self.layout.geometry, count);
        time.map_err(|error| context.watch().failure(&self.info.name, error))
    }
}

impl estimator::Device for OpenCl {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn load_frame(&mut self, slot: Slot, frame: &Frame) -> Result<(), EstimateError> {
        self.flights.empty(slot.index())?;
        frame.check(&self.info.parameters)?;
        let SearchObjects { slots, searches, .. } = &mut *self.objects;
        let (limit, queue) = (searches.allowed(), searches.queues.upload(slot));
        let (queue, family) = (&**queue, &mut searches.family);
        let loaded = slots.load_frame(queue, limit, slot, frame, |frame| family.prepare_frame(queue, frame));
        loaded.map_err(|error| self.failed(error))?;
        self.flights.fill(slot.index());
        Ok(())
    }

    fn unload_frame(&mut self, slot: Slot) -> Result<Option<Frame>, EstimateError> {
        if !self.flights.is_loaded(slot.index()) {
            return Ok(None);
        }
        let SearchObjects { slots, searches, .. } = &*self.objects;
        let unloaded = slots.unload_frame(searches.queues.upload(slot), searches.allowed(), slot);
        unloaded.map_err(|error| self.failed(error))
    }

    fn start_search(&mut self, request: Request) -> Result<Ticket, EstimateError> {
        let (parameters, part) = (&self.info.parameters, request.part);
        part.check(parameters)?;
        self.flights.check(request.slots())?;
        let (done, window) = self.searched_for(part);
        let grid = parameters.grid();
        let plan = SearchPlan {
            request,
            blocks: done.grid(parameters).blocks(),
            skipped: (part.rows().start - done.rows().start) * grid.columns,
            share: done.rows().len() as f64 / grid.rows as f64 * window.rows() as f64
                / self.window.rows() as f64,
            history: parameters.references.index_of(request.offset),
            displacements: part.displacements_in(parameters, &window),
            geometry: self.layout.geometry_of(done, parameters.block_size, &window),
        };
        let SearchObjects { slots, searches, .. } = &mut *self.objects;
        let begun = searches.start_search(plan, slots).map_err(|error| {
            // Some commands may have been queued: they must end before their memory is used again.
            let _ = self.wait_for_all();
            self.failed(error)
        })?;
        Ok(Ticket(self.flights.push(request.slots(), begun)))
    }

    fn finish_search(&mut self, ticket: Ticket, output: &mut Output) -> Result<(), EstimateError> {
        let Request { current, reference, part, .. } = self.flights.oldest(ticket.0)?.data.plan.request;
        part.grid(&self.info.parameters).check(&output.vectors)?;
        let Some(flight) = self.flights.pop_oldest() else { return Err(EstimateError::NothingInFlight) };
        let SearchObjects { slots, searches, .. } = &mut *self.objects;
        let finished = searches.finish_search(&flight.data, &mut output.vectors, slots);
        let uploaded = [current, reference].into_iter().try_for_each(|slot| slots.check(slot));
        let times = finished.and_then(|times| uploaded.map(|()| times));
        let times = times.map_err(|error| self.failed(error))?;
        let slots = &mut self.objects.slots;
        output.times = StageTimes { upload: slots.upload_time(current), ..times };
        // Both frames are on the device.
        [current, reference].into_iter().for_each(|slot| slots.release(slot));
        Ok(())
    }

    fn cancel(&mut self) {
        let _ = self.wait_for_all();
        let SearchObjects { slots, searches, .. } = &mut *self.objects;
        (0..self.info.slots).for_each(|slot| slots.release(Slot::new(slot)));
        searches.clear();
        self.flights.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use motion_base::Launcher;
    use parking_lot::Mutex;

    use super::*;
    use crate::estimator::Device as _;

    /// Held by tests that use the context that users of a device share, because one of them loses it.
    static SHARED_CONTEXT_TESTS: Mutex<()> = Mutex::new(());

    /// What a device that hangs may take.
    const LIMIT: Duration = Duration::from_millis(50);

    #[test]
    fn parts_of_the_window_are_searched_as_parts() {
        let _alone = SHARED_CONTEXT_TESTS.lock();
        let parameters = Parameters::new(64, 48, 16, Window::symmetric(4, 16).unwrap());
        let searched = |device: &OpenClDevice, kernel, divides_window, rows: RangeInclusive<i32>| {
            let tuning = Tuning { divides_window, ..Tuning::default() };
            let opened = OpenCl::new(device, kernel, &tuning, &parameters).unwrap();
            let number = |y: i32| (y + 16) as usize * parameters.window.columns();
            let numbers = number(*rows.start())..number(rows.end() + 1);
            let window = opened.searched_for(Part::whole(&parameters).with_displacements(numbers)).1;
            window.y0()..=window.y1()
        };
        let devices = devices();
        assert!(!devices.is_empty(), "no OpenCL device: install one, for instance pocl-opencl-icd");
        for device in devices {
            let unaligned = Kernel::CollaborativeUnaligned;
            assert_eq!(searched(&device, unaligned, false, -3..=2), -3..=2);
            assert_eq!(searched(&device, Kernel::Elimination, true, -3..=2), -16..=16);
            assert_eq!(searched(&device, Kernel::Tiled, false, -3..=2), -16..=16);
            // A tile has at most a quarter of the 33 rows; a part of fewer is extended, downwards if there is room.
            let tile = searched(&device, Kernel::Tiled, true, -16..=-16);
            let rows = tile.end() - tile.start();
            assert!(*tile.start() == -16 && (0..9).contains(&rows), "{tile:?}");
            assert_eq!(searched(&device, Kernel::Tiled, true, 16..=16), 16 - rows..=16);
            assert_eq!(searched(&device, Kernel::Tiled, true, -12..=7), -12..=7);
        }
    }

    #[test]
    fn instructions_that_a_compiler_lacks_are_tried_once() {
        let _alone = SHARED_CONTEXT_TESTS.lock();
        let parameters = Parameters::new(32, 32, 16, Window::symmetric(1, 1).unwrap());
        for mut device in devices() {
            let opens = |device: &OpenClDevice| {
                OpenCl::new(device, Kernel::ReferenceNaive, &Tuning::default(), &parameters).unwrap()
            };
            let lacks = |opened: &OpenCl| opened.objects.context.lacks_four_samples();
            if device.four_samples() > 0 {
                assert!(!lacks(&opens(&device)), "{}", device.name);
                continue;
            }
            device.extensions = "cl_amd_media_ops".into();
            assert!(lacks(&opens(&device)), "{}", device.name);
        }
    }

    #[test]
    fn a_device_that_hangs_fails_and_can_be_dropped() {
        let _alone = SHARED_CONTEXT_TESTS.lock();
        let parameters = Parameters::new(61, 47, 8, Window::symmetric(5, 4).unwrap());
        let frame = |time| Frame::from_fn(61, 47, |x, y| ((x * 37) ^ ((y + time) * 101)) as u8);
        let device = || {
            devices().into_iter().next().expect("no OpenCL device: install one, for instance pocl-opencl-icd")
        };
        for depth in [1, 4] {
            let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
            let mut opened = OpenCl::new(&device(), Kernel::Auto, &tuning, &parameters).unwrap();
            opened.objects.searches.patience = LIMIT;
            // The slots allocate their memory now, while the queue is free.
            [Slot::A, Slot::B].iter().for_each(|&slot| opened.load_frame(slot, &frame(0)).unwrap());
            let never = opened.objects.context.user_event().unwrap();
            let _held = opened.objects.searches.queues.upload(Slot::B).barrier(&[&never]).unwrap();
            opened.load_frame(Slot::B, &frame(1)).unwrap();
            let request =
                Request { current: Slot::B, reference: Slot::A, part: Part::whole(&parameters), offset: -1 };
            let ticket = opened.start_search(request).unwrap();
            let mut output = Output::new(parameters.grid().blocks());
            let lost = |error| matches!(error, EstimateError::Device { .. });
            assert!(lost(opened.finish_search(ticket, &mut output).unwrap_err()));
            assert!(lost(opened.unload_frame(Slot::A).unwrap_err()));
            assert!(lost(opened.start_search(request).unwrap_err()));
            assert!(lost(opened.load_frame(Slot::A, &frame(2)).unwrap_err()));
            let memory = opened.info().memory.clone().unwrap();
            assert_eq!((*memory.allocate(9).unwrap()).as_ref(), [0; 9]);
            // The next user of the device gets another context.
            assert!(!device().context(Launcher::OpenCl).unwrap().watch().is_lost());
            opened.cancel();
            drop(opened);
            Context::complete(&never, 0).unwrap();
        }
    }
}
