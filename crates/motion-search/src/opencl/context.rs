//! What all searches on a device share while there is one.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ocl::ffi::{CL_DEVICE_TYPE, CL_DEVICE_TYPE_GPU};
use parking_lot::Mutex;

use super::cl::{self, Program, RawDevice};
use super::watch::Watch;

/// A context and the programs that were built in it.
#[derive(Debug)]
pub(super) struct Context {
    // Released before the context in which they were made.
    programs: Mutex<Vec<(String, Arc<Program>)>>,
    /// Whether the compiler refused the instructions for four samples that the device seems to have.
    lacks_four_samples: AtomicBool,
    context: cl::Context,
    watch: Arc<Watch>,
}

impl Deref for Context {
    type Target = cl::Context;

    fn deref(&self) -> &cl::Context {
        &self.context
    }
}

impl Context {
    pub(super) fn new(device: RawDevice) -> cl::Result<Self> {
        let context = cl::Context::new(device)?;
        let is_gpu = cl::device_number(device, CL_DEVICE_TYPE)? & CL_DEVICE_TYPE_GPU != 0;
        let watch = Arc::new(Watch::new(is_gpu));
        Ok(Self { programs: Mutex::default(), lacks_four_samples: AtomicBool::new(false), context, watch })
    }

    /// How commands in this context are waited for.
    pub(super) fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    /// Whether the compiler refused the instructions for four samples: later builds do without.
    pub(super) fn lacks_four_samples(&self) -> bool {
        self.lacks_four_samples.load(Ordering::Relaxed)
    }

    /// Notes that the compiler refused the instructions for four samples.
    pub(super) fn refuse_four_samples(&self) {
        self.lacks_four_samples.store(true, Ordering::Relaxed);
    }

    /// The program known by `key`, or what `build` makes: a second user of the device, or one for frames of
    /// another size, waits for no compiler.
    pub(super) fn shared_program<E>(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opencl::devices;

    #[test]
    fn a_program_is_built_once() {
        for device in devices() {
            let context = Context::new(device.raw()).unwrap();
            let build = || context.program(device.raw(), "__kernel void one(void) {}", "").map_err(drop);
            let first = context.shared_program("one".into(), build).unwrap();
            let again = context.shared_program("one".into(), || Err(())).unwrap();
            assert!(Arc::ptr_eq(&first, &again));
            assert!(context.shared_program("two".into(), || Err(())).is_err());
        }
    }
}
