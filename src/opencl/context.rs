//! What all estimators on a device share while there is one.

use std::ops::Deref;
use std::sync::{Arc, Mutex, Weak};

use ocl::ffi::{CL_DEVICE_TYPE, CL_DEVICE_TYPE_GPU};

use super::cl::{self, Program, RawDevice};
use super::host::Block;
use super::watch::Watch;
use crate::lock::lock;

/// A context, the programs that were built in it, and the memory of the host that belongs to it.
#[derive(Debug)]
pub(super) struct Context {
    // Released before the context that they were made in.
    programs: Mutex<Vec<(String, Arc<Program>)>>,
    blocks: Mutex<Vec<(usize, Weak<Block>)>>,
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
        Ok(Self { programs: Mutex::default(), blocks: Mutex::default(), context, watch })
    }

    /// By which what runs in it is waited for.
    pub(super) fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    /// The program known by `key`, or what `build` makes: a second estimator, or one for other
    /// frames, waits for no compiler and loads nothing.
    pub(super) fn shared_program<E>(
        &self,
        key: String,
        build: impl FnOnce() -> Result<Program, E>,
    ) -> Result<Arc<Program>, E> {
        // Held while building: who asks for the same at the same time waits for it.
        let mut programs = lock(&self.programs);
        if let Some((_, program)) = programs.iter().find(|(known, _)| *known == key) {
            return Ok(program.clone());
        }
        let program = Arc::new(build()?);
        programs.push((key, program.clone()));
        Ok(program)
    }

    /// Lets [`Self::block_of`] find `block`.
    pub(super) fn register(&self, block: &Arc<Block>) {
        let mut blocks = lock(&self.blocks);
        blocks.retain(|(_, block)| block.strong_count() > 0);
        blocks.push((block.start(), Arc::downgrade(block)));
    }

    /// The block in which all of `bytes` lie.
    pub(super) fn block_of(&self, bytes: &[u8]) -> Option<Arc<Block>> {
        let first = bytes.as_ptr() as usize;
        let holds = |block: &Block| first - block.start() + bytes.len() <= block.bytes();
        let blocks = lock(&self.blocks);
        let mut before = blocks.iter().filter(|(start, _)| *start <= first);
        before.find_map(|(_, block)| block.upgrade().filter(|block| holds(block)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::HostMemory;
    use crate::opencl::devices;
    use crate::opencl::host::Host;

    #[test]
    fn memory_of_the_context_is_known_as_long_as_it_is_there() {
        let devices = devices();
        assert!(!devices.is_empty(), "no OpenCL device: install one, for instance pocl-opencl-icd");
        for device in devices {
            let context = Arc::new(Context::new(device.raw()).unwrap());
            let queue = Arc::new(context.queue(device.raw()).unwrap());
            let host = Host { context: context.clone(), device, queue };
            let blocks = [100, 5000].map(|bytes| host.allocate(bytes).unwrap());
            for block in &blocks {
                let bytes = (**block).as_ref();
                assert!(bytes.iter().all(|&byte| byte == 0));
                for part in [bytes, &bytes[..1], &bytes[7..], &bytes[bytes.len() - 1..]] {
                    let found = context.block_of(part).expect("a block");
                    assert_eq!((found.start(), found.bytes()), (bytes.as_ptr() as usize, bytes.len()));
                }
            }
            assert!(context.block_of(&[0; 10]).is_none());
            assert!(context.block_of(&vec![0; 6000]).is_none());
            drop(blocks);
            assert!(lock(&context.blocks).iter().all(|(_, block)| block.strong_count() == 0));
            let _again = host.allocate(1).unwrap();
            assert_eq!(lock(&context.blocks).len(), 1);
        }
    }

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
