//! Memory of the host's that the device reads and writes without help: page-locked, as a rule.

use std::mem::{self, ManuallyDrop};
use std::ptr::NonNull;
use std::sync::Arc;

use super::cl::{self, Buffer, Queue};
use super::context::Context;
use super::device::Device;
use crate::estimator::pace::PATIENCE;
use crate::estimator::{HostBlock, HostMemory, SetupError};

/// A block of such memory, mapped as long as it lives.
#[derive(Debug)]
pub(super) struct Block {
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
unsafe impl Send for Block {}

// SAFETY: as above; through a shared reference the memory is not touched.
unsafe impl Sync for Block {}

impl Block {
    /// A block of `bytes`, at least 1, all zero. `queue` maps it.
    pub(super) fn new(
        context: &Arc<Context>,
        device: &Device,
        queue: &Arc<Queue>,
        bytes: usize,
    ) -> Result<Self, SetupError> {
        let watch = context.watch();
        let map = || {
            watch.check()?;
            let buffer = context.host_buffer(bytes)?;
            let (start, mapped) = queue.begin_map(&buffer, bytes)?;
            queue.flush()?;
            let mapped = watch.wait(&mapped, PATIENCE);
            if watch.is_lost() {
                // The device may map it yet.
                mem::forget((buffer, context.clone()));
                return Err(cl::Error::SILENT);
            }
            mapped.map(|()| (buffer, start))
        };
        let (buffer, start) = map().map_err(|error| device.refused(error))?;
        // SAFETY: so many bytes are mapped there, for writing.
        unsafe { start.write_bytes(0, bytes) };
        let mapped = Mapped { buffer, queue: queue.clone(), context: context.clone() };
        Ok(Self { start, bytes, mapped: ManuallyDrop::new(mapped) })
    }

    /// The address of its first byte.
    pub(super) fn start(&self) -> usize {
        self.start.as_ptr() as usize
    }

    /// Its first byte, for the device to write to.
    pub(super) fn target(&mut self) -> NonNull<u8> {
        self.start
    }

    /// How many there are.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// All of them.
    ///
    /// # Safety
    /// Neither host nor device writes to them while the slice lives.
    pub(super) unsafe fn as_slice(&self) -> &[u8] {
        // SAFETY: they are mapped and were written; the rest is the caller's promise.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    /// All of them.
    ///
    /// # Safety
    /// Neither host nor device uses them otherwise while the slice lives, but that the device may
    /// read them.
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn as_mut_slice(&self) -> &mut [u8] {
        // SAFETY: as above; what the device reads while they change is undefined, and memory of
        // its own alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Block {
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

/// Blocks for others, in which a context finds the frames that it need not copy.
pub(super) struct Host {
    pub(super) context: Arc<Context>,
    pub(super) device: Device,
    pub(super) queue: Arc<Queue>,
}

impl HostMemory for Host {
    fn allocate(&self, bytes: usize) -> Result<Box<dyn HostBlock>, SetupError> {
        if self.context.watch().is_lost() {
            // The stream goes on without the device, in memory that came from here.
            return Ok(Box::new(vec![0; bytes]));
        }
        let block = Arc::new(Block::new(&self.context, &self.device, &self.queue, bytes)?);
        self.context.register(&block);
        Ok(Box::new(Lent(block)))
    }
}

/// A block that others write to and read. An estimator that shares it keeps it alive and lets the
/// device read it, nothing else.
struct Lent(Arc<Block>);

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: only who has this alone, and to itself, can write to it; the device does not.
        unsafe { self.0.as_slice() }
    }
}

impl AsMut<[u8]> for Lent {
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: nobody else reaches the bytes but the device, which reads alone.
        unsafe { self.0.as_mut_slice() }
    }
}

impl HostBlock for Lent {}
