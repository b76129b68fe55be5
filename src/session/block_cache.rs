//! Blocks of a device's host memory that are used again, because page-locking is slow.

use std::sync::{Arc, Mutex, Weak};

use crate::estimator::{BlockHandle, Frame, FrameSource, HostBlock, HostMemory};
use crate::lock::lock;

/// A device's host memory, and unused blocks of it, which have one size.
pub struct BlockCache {
    memory: Arc<dyn HostMemory>,
    free: Mutex<Vec<Box<dyn HostBlock>>>,
    most_free: usize,
}

impl BlockCache {
    /// A cache of `memory` that keeps at most `most_free` unused blocks.
    pub fn new(memory: Arc<dyn HostMemory>, most_free: usize) -> Arc<Self> {
        Arc::new(Self { memory, free: Mutex::default(), most_free })
    }

    /// A block of `bytes`, with the contents of its last use; `None` if there is no memory.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Option<CachedBlock> {
        let mut free = lock(&self.free);
        let fits = free.iter().position(|block| (**block).as_ref().len() == bytes);
        let block = fits.map(|fits| free.swap_remove(fits));
        drop(free);
        let block = block.or_else(|| self.memory.allocate(bytes).ok())?;
        let handle = block.handle();
        Some(CachedBlock { block: Some(block), handle, cache: Arc::downgrade(self) })
    }

    /// A copy of `frame` in a block; `None` if there is no memory.
    pub(super) fn copy(self: &Arc<Self>, frame: &Frame) -> Option<Frame> {
        let view = frame.view();
        let mut block = self.take(view.row_bytes() * view.height())?;
        view.copy_to(block.as_mut());
        Frame::with_format(Arc::new(block), view.size(), view.row_bytes(), view.format()).ok()
    }
}

/// A block in use. When dropped, it returns to the cache.
pub struct CachedBlock {
    block: Option<Box<dyn HostBlock>>,
    handle: Option<BlockHandle>,
    cache: Weak<BlockCache>,
}

impl CachedBlock {
    /// What the device recognises the block by.
    pub fn handle(&self) -> Option<&BlockHandle> {
        self.handle.as_ref()
    }
}

impl AsMut<[u8]> for CachedBlock {
    fn as_mut(&mut self) -> &mut [u8] {
        self.block.as_deref_mut().map_or(&mut [], |block| block.as_mut())
    }
}

impl FrameSource for CachedBlock {
    fn bytes(&self) -> &[u8] {
        self.block.as_deref().map_or(&[], |block| block.as_ref())
    }

    fn block(&self) -> Option<&BlockHandle> {
        self.handle()
    }
}

impl Drop for CachedBlock {
    fn drop(&mut self) {
        if let (Some(block), Some(cache)) = (self.block.take(), self.cache.upgrade()) {
            let mut free = lock(&cache.free);
            // After new caps, blocks of the old size are not needed any more.
            free.retain(|other| (**other).as_ref().len() == (*block).as_ref().len());
            if free.len() < cache.most_free {
                free.push(block);
            }
        }
    }
}
