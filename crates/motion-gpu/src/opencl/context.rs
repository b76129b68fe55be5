//! What all searches on a device share while there is one.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::launcher::cl;
use super::launcher::{self, Api, Buffer, DevicePlane, Event, Program, Queue, Rectangle};
use super::watch::Watch;
use motion_base::{BlockHandle, Frame};

/// What launches kernels, and the programs that were built for it.
#[derive(Debug)]
pub struct Context {
    // Released before what made them.
    programs: Mutex<Vec<(String, Arc<Program>)>>,
    /// Whether the compiler refused the instructions for four samples that the device seems to have.
    lacks_four_samples: AtomicBool,
    api: Api,
    watch: Arc<Watch>,
}

impl Deref for Context {
    type Target = Api;

    fn deref(&self) -> &Self::Target {
        &self.api
    }
}

/// What was made in a context, and is dropped before it: unless the device is lost. Then the driver may still use it, and may wait
/// forever when it is released, so that its memory is leaked, and the context with it.
///
/// Its owner waits for the commands in flight before, as these may use host memory that belongs to it.
pub struct MadeIn<T> {
    made: ManuallyDrop<T>,
    context: ManuallyDrop<Arc<Context>>,
}

impl<T> MadeIn<T> {
    /// `made`, which was made in `context`.
    pub fn new(context: &Arc<Context>, made: T) -> Self {
        Self { made: ManuallyDrop::new(made), context: ManuallyDrop::new(context.clone()) }
    }
}

impl<T> Deref for MadeIn<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.made
    }
}

impl<T> DerefMut for MadeIn<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.made
    }
}

impl<T> Drop for MadeIn<T> {
    fn drop(&mut self) {
        if self.context.watch().is_lost() {
            return;
        }
        // SAFETY: each is dropped once, here, and not used afterwards.
        unsafe {
            ManuallyDrop::drop(&mut self.made);
            ManuallyDrop::drop(&mut self.context);
        }
    }
}

impl Context {
    /// For kernels that `api` launches, on a GPU if `is_gpu`.
    pub(super) fn new(api: Api, is_gpu: bool) -> Self {
        Self {
            programs: Mutex::default(),
            lacks_four_samples: AtomicBool::new(false),
            api,
            watch: Arc::new(Watch::new(is_gpu)),
        }
    }

    /// Where on this device the samples of `frame` are, if they are there.
    pub fn plane_of(&self, frame: &Frame) -> Option<DevicePlane> {
        self.plane_in(frame.block()?, frame.stride())
    }

    /// Where on this device the plane is that `block` is, in rows `stride` bytes apart, if it is there.
    pub fn plane_in(&self, block: &BlockHandle, stride: usize) -> Option<DevicePlane> {
        self.api.plane_of(&**block, stride)
    }

    /// An event that [`Context::complete`] ends: what tests hold a queue up with.
    ///
    /// # Errors
    /// What the driver reports.
    #[doc(hidden)]
    pub fn user_event(&self) -> launcher::Result<Event> {
        self.api.compiler().user_event()
    }

    /// Ends an event of [`Context::user_event`] with `status`.
    ///
    /// # Errors
    /// What the driver reports.
    #[doc(hidden)]
    pub fn complete(event: &Event, status: i32) -> launcher::Result<()> {
        cl::event::complete(event, status)
    }

    /// How commands in this context are waited for.
    pub fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    /// Whether the compiler refused the instructions for four samples: later builds do without.
    pub fn lacks_four_samples(&self) -> bool {
        self.lacks_four_samples.load(Ordering::Relaxed)
    }

    /// Notes that the compiler refused the instructions for four samples.
    pub fn refuse_four_samples(&self) {
        self.lacks_four_samples.store(true, Ordering::Relaxed);
    }

    /// The program known by `key`, or what `build` makes: a second user of the device, or one for frames of
    /// another size, waits for no compiler.
    pub fn shared_program<E>(
        &self,
        key: String,
        build: impl FnOnce() -> Result<Program, E>,
    ) -> Result<Arc<Program>, E> {
        // Locked while building: another thread that wants the same program waits for it.
        let mut programs = self.programs.lock();
        if let Some((_, program)) = programs.iter().find(|(known, _)| *known == key) {
            return Ok(program.clone());
        }
        let program = Arc::new(build()?);
        programs.push((key, program.clone()));
        Ok(program)
    }
}

/// Begins to copy the needed rows of `frame`, which the device can read where it is, to `rows` of `buffer`.
///
/// # Safety
/// The frame is kept until the event is done.
pub unsafe fn begin_copy(
    context: &Context,
    queue: &Queue,
    frame: &Frame,
    buffer: &Buffer,
    rows: Rectangle,
) -> launcher::Result<Event> {
    if let Some(plane) = context.plane_of(frame) {
        // SAFETY: the caller keeps the plane; a frame has all rows of its size.
        return unsafe { queue.begin_copy_rows(buffer, rows, &plane, frame.rows().start * frame.stride()) };
    }
    let view = frame.view().band(frame.rows());
    // SAFETY: the caller keeps the samples.
    unsafe { queue.begin_write_rows(buffer, rows, view.as_bytes(), view.stride()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opencl::devices;
    use motion_base::Launcher;

    #[test]
    fn a_program_is_built_once() {
        for device in devices() {
            let context = device.new_context(Launcher::OpenCl).unwrap();
            let build = || context.build("__kernel void one(void) {}", "").map_err(drop);
            let first = context.shared_program("one".into(), build).unwrap();
            let again = context.shared_program("one".into(), || Err(())).unwrap();
            assert!(Arc::ptr_eq(&first, &again));
            assert!(context.shared_program("two".into(), || Err(())).is_err());
        }
    }
}
