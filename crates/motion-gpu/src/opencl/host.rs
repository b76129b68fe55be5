//! Memory of the host that the device reads and writes directly: page-locked, as a rule.

use std::mem::{self, ManuallyDrop};
use std::ptr::NonNull;
use std::sync::Arc;

use super::context::Context;
use super::device::OpenClDevice;
use super::launcher::{self, Buffer, Queue};
use motion_base::pace::PATIENCE;
use motion_base::{BlockHandle, Frame, HostBlock, HostMemory, SetupError};

/// A block of such memory, mapped as long as it lives.
#[derive(Debug)]
pub struct PinnedBlock {
    start: NonNull<u8>,
    bytes: usize,
    mapped: ManuallyDrop<Mapped>,
}

/// Where it is mapped from, and by what.
#[derive(Debug)]
struct Mapped {
    buffer: Buffer,
    queue: Arc<Queue>,
    // Last: what was made in the context is released before it.
    context: Arc<Context>,
}

// SAFETY: the memory is the block's alone, and the OpenCL objects may be used from any thread.
unsafe impl Send for PinnedBlock {}

// SAFETY: as above; through a shared reference the memory is not touched.
unsafe impl Sync for PinnedBlock {}

impl PinnedBlock {
    /// A block of `bytes`, at least 1, all zero. `queue` maps it.
    pub fn new(
        context: &Arc<Context>,
        device: &OpenClDevice,
        queue: &Arc<Queue>,
        bytes: usize,
    ) -> Result<Self, SetupError> {
        Self::map(context, queue, bytes).map_err(|error| device.refused(error))
    }

    /// As [`Self::new`], with the error of OpenCL.
    pub fn map(context: &Arc<Context>, queue: &Arc<Queue>, bytes: usize) -> launcher::Result<Self> {
        let watch = context.watch();
        watch.check()?;
        let buffer = context.host_buffer(bytes)?;
        let (start, mapped) = queue.begin_map(&buffer, bytes)?;
        let mapped = queue.flush().and_then(|()| watch.wait(&mapped, PATIENCE));
        if watch.is_lost() {
            // The device may map it yet.
            mem::forget((buffer, context.clone()));
            return Err(launcher::Error::SILENT);
        }
        mapped?;
        // SAFETY: so many bytes are mapped there, for writing.
        unsafe { start.write_bytes(0, bytes) };
        let mapped = Mapped { buffer, queue: queue.clone(), context: context.clone() };
        Ok(Self { start, bytes, mapped: ManuallyDrop::new(mapped) })
    }

    /// Whether the samples of `frame` are in such a block, of whatever context: drivers with one address space for
    /// all their devices read it as fast as a block of their own.
    pub fn holds(frame: &Frame) -> bool {
        let Some(block) = frame.block().and_then(|handle| handle.downcast_ref::<Self>()) else {
            return false;
        };
        let (start, samples) = (block.start.as_ptr() as usize, frame.view());
        let samples = samples.as_bytes().as_ptr_range();
        start <= samples.start as usize && samples.end as usize <= start + block.bytes
    }

    /// Its first byte, for the device to write to.
    pub fn target(&self) -> NonNull<u8> {
        self.start
    }

    /// How many there are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// All of them.
    ///
    /// # Safety
    /// Neither host nor device writes to them while the slice lives.
    pub unsafe fn as_slice(&self) -> &[u8] {
        // SAFETY: they are mapped and were written; the rest is the caller's promise.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    /// All of them.
    ///
    /// # Safety
    /// Neither host nor device uses them otherwise while the slice lives, but that the device may
    /// read them.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn as_mut_slice(&self) -> &mut [u8] {
        // SAFETY: as above; what the device reads while they change is undefined, and memory of
        // its own alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for PinnedBlock {
    fn drop(&mut self) {
        let Mapped { buffer, queue, context } = &*self.mapped;
        let watch = context.watch();
        let unmap = || {
            watch.check()?;
            // SAFETY: it was mapped by `begin_map`, and its one owner is gone.
            let unmapped = unsafe { queue.begin_unmap(buffer, self.start)? };
            queue.flush()?;
            watch.wait(&unmapped, PATIENCE)
        };
        // What a device refuses to unmap is released with the buffer; what one that hangs may still use
        // is left to it.
        let _ = unmap();
        if !watch.is_lost() {
            // SAFETY: it is dropped here alone, and used no more.
            unsafe { ManuallyDrop::drop(&mut self.mapped) };
        }
    }
}

/// Page-locked memory of a device, as others see it.
#[derive(Clone)]
pub struct PinnedMemory {
    /// Where it is used.
    pub context: Arc<Context>,
    /// Whose it is.
    pub device: OpenClDevice,
    /// What maps it.
    pub queue: Arc<Queue>,
}

impl PinnedMemory {
    /// A block of `bytes`, at least 1, all zero.
    pub fn block(&self, bytes: usize) -> launcher::Result<Box<dyn HostBlock>> {
        let block = PinnedBlock::map(&self.context, &self.queue, bytes)?;
        Ok(Box::new(SharedBlock(Arc::new(block))))
    }
}

impl HostMemory for PinnedMemory {
    fn allocate(&self, bytes: usize) -> Result<Box<dyn HostBlock>, SetupError> {
        if self.context.watch().is_lost() {
            // The stream goes on without the device, in memory from here.
            return Ok(Box::new(vec![0; bytes]));
        }
        self.block(bytes).map_err(|error| self.device.refused(error))
    }
}

/// A block that its user writes to and reads. A device that loads a frame from it keeps it allocated and
/// reads it.
struct SharedBlock(Arc<PinnedBlock>);

impl AsRef<[u8]> for SharedBlock {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: only the owner of `self` can write, and `self` is borrowed; the device does not write.
        unsafe { self.0.as_slice() }
    }
}

impl AsMut<[u8]> for SharedBlock {
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: `self` is borrowed alone, and the device only reads.
        unsafe { self.0.as_mut_slice() }
    }
}

impl HostBlock for SharedBlock {
    fn handle(&self) -> Option<BlockHandle> {
        Some(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opencl::devices;
    use crate::opencl::launcher::QueueKind;
    use motion_base::{FrameSource, Launcher};

    struct InBlock(Box<dyn HostBlock>, Option<BlockHandle>);

    impl FrameSource for InBlock {
        fn bytes(&self) -> &[u8] {
            (*self.0).as_ref()
        }

        fn block(&self) -> Option<&BlockHandle> {
            self.1.as_ref()
        }
    }

    #[test]
    fn frames_in_page_locked_memory_are_recognised() {
        let devices = devices();
        assert!(!devices.is_empty(), "no OpenCL device: install one, for instance pocl-opencl-icd");
        for device in devices {
            let context = Arc::new(device.new_context(Launcher::OpenCl).unwrap());
            let queue = Arc::new(context.queue(QueueKind::Ordered).unwrap());
            let memory = PinnedMemory { context, device: device.clone(), queue };
            let block = || {
                let block = memory.allocate(100).unwrap();
                assert_eq!((*block).as_ref(), [0; 100]);
                (block.handle(), block)
            };
            let ((handle, block), (foreign, _)) = (block(), block());
            let frame = |source: InBlock| Frame::new(Arc::new(source), 10, 9, 11).unwrap();
            let there = frame(InBlock(block, handle));
            assert!(PinnedBlock::holds(&there));
            // A wrong handle is not believed.
            assert!(!PinnedBlock::holds(&frame(InBlock(Box::new(vec![0; 100]), foreign))));
            assert!(!PinnedBlock::holds(&Frame::from_fn(10, 9, |_, _| 0)));
        }
    }
}
