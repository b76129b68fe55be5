//! Blocks of a device's host memory that are used again, because page-locking is slow.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::estimator::{BlockHandle, Frame, FrameSource, HostBlock, HostMemory, SetupError};

/// A device's host memory, of which unused blocks of one size are kept for the next use.
pub struct BlockCache {
    memory: Arc<dyn HostMemory>,
    free: Arc<FreeBlocks>,
}

struct FreeBlocks {
    blocks: Mutex<Vec<Box<dyn HostBlock>>>,
    most: usize,
}

impl BlockCache {
    /// A cache of `memory` that keeps at most `most_free` unused blocks.
    pub fn new(memory: Arc<dyn HostMemory>, most_free: usize) -> Self {
        Self { memory, free: Arc::new(FreeBlocks { blocks: Mutex::default(), most: most_free }) }
    }

    /// A block of `bytes`, with the contents of its last use.
    fn take(&self, bytes: usize) -> Result<CachedBlock, SetupError> {
        let mut free = self.free.blocks.lock();
        let fits = free.iter().position(|block| (**block).as_ref().len() == bytes);
        let block = fits.map(|fits| free.swap_remove(fits));
        drop(free);
        let block = block.map_or_else(|| self.memory.allocate(bytes), Ok)?;
        let handle = block.handle();
        Ok(CachedBlock { block: Some(block), handle, free: Arc::downgrade(&self.free) })
    }

    /// A copy of `frame` in a block; `None` if there is no memory.
    pub(super) fn copy(&self, frame: &Frame) -> Option<Frame> {
        let view = frame.view();
        let mut block = self.take(view.row_bytes() * view.height()).ok()?;
        view.copy_to(block.as_mut());
        Frame::with_format(Arc::new(block), view.size(), view.row_bytes(), view.format()).ok()
    }
}

impl HostMemory for BlockCache {
    fn allocate(&self, bytes: usize) -> Result<Box<dyn HostBlock>, SetupError> {
        Ok(Box::new(self.take(bytes)?))
    }
}

/// A block in use. When dropped, it returns to the cache.
struct CachedBlock {
    block: Option<Box<dyn HostBlock>>,
    handle: Option<BlockHandle>,
    free: Weak<FreeBlocks>,
}

impl AsRef<[u8]> for CachedBlock {
    fn as_ref(&self) -> &[u8] {
        self.block.as_deref().map_or(&[], |block| block.as_ref())
    }
}

impl AsMut<[u8]> for CachedBlock {
    fn as_mut(&mut self) -> &mut [u8] {
        self.block.as_deref_mut().map_or(&mut [], |block| block.as_mut())
    }
}

impl HostBlock for CachedBlock {
    fn handle(&self) -> Option<BlockHandle> {
        self.handle.clone()
    }
}

impl FrameSource for CachedBlock {
    fn bytes(&self) -> &[u8] {
        self.as_ref()
    }

    fn block(&self) -> Option<&BlockHandle> {
        self.handle.as_ref()
    }
}

impl Drop for CachedBlock {
    fn drop(&mut self) {
        if let (Some(block), Some(free)) = (self.block.take(), self.free.upgrade()) {
            let mut blocks = free.blocks.lock();
            // After new caps, blocks of the old size are not needed any more.
            blocks.retain(|other| (**other).as_ref().len() == (*block).as_ref().len());
            if blocks.len() < free.most {
                blocks.push(block);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Heap;

    impl HostMemory for Heap {
        fn allocate(&self, bytes: usize) -> Result<Box<dyn HostBlock>, SetupError> {
            Ok(Box::new(vec![0; bytes]))
        }
    }

    #[test]
    fn a_block_is_used_again_for_the_same_size_alone() {
        let cache = BlockCache::new(Arc::new(Heap), 1);
        let first = cache.allocate(1000).unwrap();
        let address = (*first).as_ref().as_ptr();
        drop(first);
        let again = cache.allocate(1000).unwrap();
        assert_eq!((*again).as_ref().as_ptr(), address);
        // In use, so that another one is allocated; the block of the new size displaces it when both are unused.
        drop((cache.allocate(1000).unwrap(), again, cache.allocate(10).unwrap()));
        assert_eq!(
            cache.free.blocks.lock().iter().map(|block| (**block).as_ref().len()).collect::<Vec<_>>(),
            [10]
        );
        // A block that is in use outlives the cache.
        let last = cache.allocate(10).unwrap();
        drop(cache);
        assert_eq!((*last).as_ref().len(), 10);
    }
}
