//! Contexts and memory of other libraries in the process.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use cudarc::driver::sys;

/// A context of CUDA that another library made, in which kernels are launched and whose memory is read.
#[derive(Clone)]
pub struct CudaContext {
    raw: usize,
    owner: Arc<dyn Any + Send + Sync>,
}

impl CudaContext {
    /// The `CUcontext` `handle`, which lives at least as long as `owner`.
    ///
    /// # Safety
    /// That is so, and CUDA's driver made it.
    pub unsafe fn new(handle: *mut c_void, owner: Arc<dyn Any + Send + Sync>) -> Self {
        Self { raw: handle as usize, owner }
    }

    pub(super) fn raw(&self) -> sys::CUcontext {
        self.raw as sys::CUcontext
    }

    /// What tells it from others.
    pub(in crate::opencl) fn id(&self) -> usize {
        self.raw
    }
}

impl PartialEq for CudaContext {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Eq for CudaContext {}

impl fmt::Debug for CudaContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaContext({:#x}, held by {} users)", self.raw, Arc::strong_count(&self.owner))
    }
}

/// A plane of samples on a device: what [`FrameSource::block`](motion_base::FrameSource::block) returns for it.
#[derive(Debug)]
pub struct CudaPlane {
    pub(super) context: CudaContext,
    pub(super) address: u64,
    pub(super) stream: usize,
    pub(super) is_writable: bool,
}

impl CudaPlane {
    /// The plane in memory of `context` whose first sample is at `address`, and which is written on the `CUstream` `stream`, or
    /// on the default stream if that is null.
    ///
    /// # Safety
    /// The frame's source keeps the memory allocated and unchanged, and has as many bytes there as
    /// [`FrameSource::len`](motion_base::FrameSource::len) says. The stream is of this context, and lives as long.
    pub unsafe fn new(context: CudaContext, address: u64, stream: *mut c_void) -> Self {
        Self { context, address, stream: stream as usize, is_writable: false }
    }

    /// As [`Self::new`], of a plane that may be written to: what
    /// `FrameMaker::copy_to_blocks` of `motion-frames` takes.
    ///
    /// # Safety
    /// The memory has all rows of such a plane. While this lives it is allocated, and nobody else uses it.
    pub unsafe fn writable(context: CudaContext, address: u64, stream: *mut c_void) -> Self {
        Self { context, address, stream: stream as usize, is_writable: true }
    }
}
