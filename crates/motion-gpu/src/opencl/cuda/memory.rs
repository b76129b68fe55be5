//! Memory on the device and on the host.

use std::ptr;
use std::sync::Arc;

use super::{HeldContext, Result, call};
use crate::opencl::launcher::{Buffer, Owner};

/// Memory on the device, by its address.
#[derive(Debug)]
pub(super) struct DeviceMemory {
    address: u64,
    bytes: usize,
    context: Arc<HeldContext>,
}

/// Page-locked memory of the host, by its address.
#[derive(Debug)]
pub(super) struct CudaHostMemory {
    address: usize,
    bytes: usize,
    context: Arc<HeldContext>,
}

impl Owner for DeviceMemory {}

impl Owner for CudaHostMemory {}

/// Allocates `bytes` on the device.
pub(super) fn on_device(context: &Arc<HeldContext>, bytes: usize) -> Result<Buffer> {
    let _current = context.enter()?;
    let mut address = 0;
    // SAFETY: there is space for one address; no memory has 0 bytes.
    unsafe { call!(cuMemAlloc_v2(&mut address, bytes.max(1)))? };
    Ok(Buffer::new(address as usize, DeviceMemory { address, bytes, context: context.clone() }))
}

/// Allocates `bytes` on the host, which every device reads as page-locked memory.
pub(super) fn on_host(context: &Arc<HeldContext>, bytes: usize) -> Result<Buffer> {
    const PORTABLE: u32 = 1;
    let _current = context.enter()?;
    let mut start = ptr::null_mut();
    // SAFETY: there is space for one address.
    unsafe { call!(cuMemHostAlloc(&mut start, bytes.max(1), PORTABLE))? };
    let address = start as usize;
    Ok(Buffer::new(address, CudaHostMemory { address, bytes, context: context.clone() }))
}

impl DeviceMemory {
    /// The address of byte `first`, behind which there are `bytes` more; `None` if there are not.
    pub(super) fn at(&self, first: usize, bytes: usize) -> Option<u64> {
        (first.checked_add(bytes)? <= self.bytes).then(|| self.address + first as u64)
    }
}

impl CudaHostMemory {
    /// Its start, if it has `bytes`.
    pub(super) fn start(&self, bytes: usize) -> Option<ptr::NonNull<u8>> {
        if bytes <= self.bytes { ptr::NonNull::new(self.address as *mut u8) } else { None }
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // SAFETY: it was allocated in this context, and what used it is over.
            let _ = unsafe { call!(cuMemFree_v2(self.address)) };
        }
    }
}

impl Drop for CudaHostMemory {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // SAFETY: as above.
            let _ = unsafe { call!(cuMemFreeHost(self.address as *mut _)) };
        }
    }
}
