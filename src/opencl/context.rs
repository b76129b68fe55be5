//! What all estimators on a device share while there is one.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::cl::{self, Program, RawDevice};
use super::host::Block;

/// A context, the programs that were built in it, and the memory of the host that belongs to it.
#[derive(Debug)]
pub(super) struct Context {
    // Released before the context that they were made in.
    programs: Mutex<Vec<(String, Arc<Program>)>>,
    blocks: Mutex<Vec<(usize, Weak<Block>)>>,
    context: cl::Context,
}

impl Deref for Context {
    type Target = cl::Context;

    fn deref(&self) -> &cl::Context {
        &self.context
    }
}

/// A panic elsewhere leaves the lists whole: each change is one push.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Context {
    pub(super) fn new(device: RawDevice) -> cl::Result<Self> {
        let context = cl::Context::new(device)?;
        Ok(Self { programs: Mutex::default(), blocks: Mutex::default(), context })
    }

    /// The program known by `key`, or what `build` makes: a second estimator, or one for other
    /// pictures, waits for no compiler and loads nothing.
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
