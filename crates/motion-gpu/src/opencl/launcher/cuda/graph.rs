//! Launches that are recorded once and repeated: a graph takes the host less time than its launches one after the other.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys;

use super::{Result, call};

/// A launch, with all that it is called with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordedLaunch {
    /// The address of the kernel's handle, which lives as long as the program.
    function: usize,
    groups: [u32; 3],
    items: [u32; 3],
    /// The arguments one after the other, each at a multiple of eight bytes.
    arguments: Vec<u8>,
    /// Where each begins.
    starts: Vec<usize>,
}

impl RecordedLaunch {
    /// Makes it a launch of `function` over so many groups of items, as yet without arguments.
    pub(super) fn begin(&mut self, function: sys::CUfunction, groups: [u32; 3], items: [u32; 3]) {
        (self.function, self.groups, self.items) = (function as usize, groups, items);
        self.arguments.clear();
        self.starts.clear();
    }

    /// Appends an argument.
    pub(super) fn push(&mut self, argument: &[u8]) {
        self.arguments.resize(self.arguments.len().next_multiple_of(8), 0);
        self.starts.push(self.arguments.len());
        self.arguments.extend_from_slice(argument);
    }

    /// The address of each argument, as the driver takes them. They are valid until the launch changes.
    fn addresses(&self) -> Vec<*mut c_void> {
        self.starts.iter().map(|&start| self.arguments[start..].as_ptr().cast_mut().cast()).collect()
    }

    /// Launches it on `stream`. The context is current.
    ///
    /// # Safety
    /// The arguments are those of the kernel, which stays within its buffers.
    pub(super) unsafe fn run(&self, stream: sys::CUstream) -> Result<()> {
        let ([x, y, z], [width, height, depth]) = (self.groups, self.items);
        let (function, mut addresses) = (self.function as sys::CUfunction, self.addresses());
        // SAFETY: the driver reads the arguments before it returns; the caller guarantees the rest.
        unsafe {
            call!(cuLaunchKernel(
                function,
                x,
                y,
                z,
                width,
                height,
                depth,
                0,
                stream,
                addresses.as_mut_ptr(),
                ptr::null_mut(),
            ))
        }
    }
}

/// Launches one after the other, ready to be repeated.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) launches: Vec<RecordedLaunch>,
    executable: sys::CUgraphExec,
}

// SAFETY: it is used from one thread at a time, in which its context is current.
unsafe impl Send for Graph {}

impl Graph {
    /// Records `launches`. The context is current.
    ///
    /// # Safety
    /// As [`RecordedLaunch::run`] of each, whenever the graph is launched.
    pub(super) unsafe fn record(launches: &[RecordedLaunch]) -> Result<Self> {
        let mut graph = ptr::null_mut();
        // SAFETY: there is space for one handle; no flags.
        unsafe { call!(cuGraphCreate(&mut graph, 0))? };
        let mut executable = ptr::null_mut();
        let mut before = ptr::null_mut();
        let added = launches.iter().try_for_each(|launch| {
            let mut addresses = launch.addresses();
            let ([x, y, z], [width, height, depth]) = (launch.groups, launch.items);
            let node = sys::CUDA_KERNEL_NODE_PARAMS {
                func: launch.function as sys::CUfunction,
                gridDimX: x,
                gridDimY: y,
                gridDimZ: z,
                blockDimX: width,
                blockDimY: height,
                blockDimZ: depth,
                sharedMemBytes: 0,
                kernelParams: addresses.as_mut_ptr(),
                extra: ptr::null_mut(),
            };
            let previous = before;
            let count = usize::from(!ptr::addr_eq(previous, ptr::null_mut::<c_void>()));
            // SAFETY: the node waits for the one before; the driver copies the arguments.
            unsafe { call!(cuGraphAddKernelNode(&mut before, graph, &previous, count, &node)) }
        });
        // SAFETY: the graph is complete; without a buffer there is no log.
        let made =
            added.and_then(|()| unsafe { call!(cuGraphInstantiateWithFlags(&mut executable, graph, 0)) });
        // SAFETY: the executable graph does not need it.
        let _ = unsafe { call!(cuGraphDestroy(graph)) };
        made.map(|()| Self { launches: launches.to_vec(), executable })
    }

    /// Repeats the launches on `stream`. The context is current.
    pub(super) fn launch(&self, stream: sys::CUstream) -> Result<()> {
        // SAFETY: the caller of `record` guarantees that it may be launched.
        unsafe { call!(cuGraphLaunch(self.executable, stream)) }
    }

    /// Destroys it. The context is current, and the graph does not run.
    pub(super) fn destroy(self) {
        // SAFETY: it is not used any more.
        let _ = unsafe { call!(cuGraphExecDestroy(self.executable)) };
    }
}
