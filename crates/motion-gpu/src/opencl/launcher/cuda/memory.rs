//! Memory on the device and on the host.

use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::{HeldContext, Result, call};
use crate::opencl::launcher::Error;

/// Memory, by its address.
#[derive(Debug)]
pub struct CudaMemory {
    address: u64,
    bytes: usize,
    /// Page-locked memory of the host; else it is on the device.
    is_on_host: bool,
    context: Arc<HeldContext>,
}

impl CudaMemory {
    /// Allocates `bytes` on the device.
    pub(super) fn on_device(context: &Arc<HeldContext>, bytes: usize) -> Result<Self> {
        let _current = context.enter()?;
        let mut address = 0;
        // SAFETY: there is space for one address; no memory has 0 bytes.
        unsafe { call!(cuMemAlloc_v2(&mut address, bytes.max(1)))? };
        Ok(Self { address, bytes, is_on_host: false, context: context.clone() })
    }

    /// Allocates `bytes` on the host, which every device reads as page-locked memory.
    pub(super) fn on_host(context: &Arc<HeldContext>, bytes: usize) -> Result<Self> {
        const PORTABLE: u32 = 1;
        let _current = context.enter()?;
        let mut start = ptr::null_mut();
        // SAFETY: there is space for one address.
        unsafe { call!(cuMemHostAlloc(&mut start, bytes.max(1), PORTABLE))? };
        Ok(Self { address: start as u64, bytes, is_on_host: true, context: context.clone() })
    }

    /// The address on the device of byte `first`, behind which there are `bytes` more.
    ///
    /// # Errors
    /// If it is memory of the host, or too small.
    pub(super) fn at(&self, first: usize, bytes: usize) -> Result<u64> {
        match first.checked_add(bytes) {
            _ if self.is_on_host => Err(Error::UNSUPPORTED),
            Some(end) if end <= self.bytes => Ok(self.address + first as u64),
            _ => Err(Error { call: "a copy", code: 1 }),
        }
    }

    /// The start of `bytes` on the host.
    ///
    /// # Errors
    /// If it is memory of the device, or too small.
    pub(super) fn start(&self, bytes: usize) -> Result<NonNull<u8>> {
        match NonNull::new(self.address as *mut u8) {
            _ if !self.is_on_host => Err(Error::UNSUPPORTED),
            Some(start) if bytes <= self.bytes => Ok(start),
            _ => Err(Error { call: "mapping memory", code: 1 }),
        }
    }
}

impl Drop for CudaMemory {
    fn drop(&mut self) {
        let Ok(_current) = self.context.enter() else { return };
        // SAFETY: it was allocated there in this context, and what used it is over.
        let _ = unsafe {
            match self.is_on_host {
                true => call!(cuMemFreeHost(self.address as *mut _)),
                false => call!(cuMemFree_v2(self.address)),
            }
        };
    }
}
