//! What all searches on a device share while there is one.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::cl::OpenClApi;
use super::launcher::{Api, DevicePlane, LoadedProgram};
use super::watch::Watch;
use crate::estimator::{BlockHandle, Frame};

/// What launches kernels, and the programs that were built for it.
#[derive(Debug)]
pub(super) struct Context {
    // Released before what made them.
    programs: Mutex<Vec<(String, Arc<dyn LoadedProgram>)>>,
    /// Whether the compiler refused the instructions for four samples that the device seems to have.
    lacks_four_samples: AtomicBool,
    api: Arc<dyn Api>,
    /// Compiles for either API.
    compiler: Arc<OpenClApi>,
    watch: Arc<Watch>,
}

impl Deref for Context {
    type Target = dyn Api;

    fn deref(&self) -> &Self::Target {
        &*self.api
    }
}

impl Context {
    /// For kernels that `compiler` compiles and `api` launches, on a GPU if `is_gpu`.
    pub(super) fn new(compiler: Arc<OpenClApi>, api: Arc<dyn Api>, is_gpu: bool) -> Self {
        Self {
            programs: Mutex::default(),
            lacks_four_samples: AtomicBool::new(false),
            api,
            compiler,
            watch: Arc::new(Watch::new(is_gpu)),
        }
    }

    /// Where on this device the samples of `frame` are, if they are there.
    pub(super) fn plane_of(&self, frame: &Frame) -> Option<DevicePlane> {
        self.plane_in(frame.block()?, frame.stride())
    }

    /// Where on this device the plane is that `block` is, in rows `stride` bytes apart, if it is there.
    pub(super) fn plane_in(&self, block: &BlockHandle, stride: usize) -> Option<DevicePlane> {
        self.api.plane_of(&**block, stride)
    }

    /// What compiles.
    pub(super) fn compiler(&self) -> &OpenClApi {
        &self.compiler
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
        build: impl FnOnce() -> Result<Box<dyn LoadedProgram>, E>,
    ) -> Result<Arc<dyn LoadedProgram>, E> {
        // Locked while building: another thread that wants the same program waits for it.
        let mut programs = self.programs.lock();
        if let Some((_, program)) = programs.iter().find(|(known, _)| *known == key) {
            return Ok(program.clone());
        }
        let program: Arc<dyn LoadedProgram> = build()?.into();
        programs.push((key, program.clone()));
        Ok(program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::Launcher;
    use crate::opencl::devices;

    #[test]
    fn a_program_is_built_once() {
        for device in devices() {
            let context = device.new_context(Launcher::OpenCl).unwrap();
            let build = || {
                let built = context.compiler().build("__kernel void one(void) {}", "").map_err(drop)?;
                context.load(built).map_err(drop)
            };
            let first = context.shared_program("one".into(), build).unwrap();
            let again = context.shared_program("one".into(), || Err(())).unwrap();
            assert!(Arc::ptr_eq(&first, &again));
            assert!(context.shared_program("two".into(), || Err(())).is_err());
        }
    }
}
