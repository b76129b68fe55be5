//! Programs and their kernels.

use std::ffi::CStr;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUfunction_attribute};

use super::{HeldContext, call, ptx};
use crate::opencl::launcher::{Error, KernelObject, Result};

/// A loaded program. Kernels hold it.
#[derive(Debug)]
struct ModuleOwner {
    raw: sys::CUmodule,
    context: Arc<HeldContext>,
}

// SAFETY: a module may be used from any thread in which its context is current.
unsafe impl Send for ModuleOwner {}

// SAFETY: as above.
unsafe impl Sync for ModuleOwner {}

impl Drop for ModuleOwner {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // SAFETY: no kernel of it is used any more.
            let _ = unsafe { call!(cuModuleUnload(self.raw)) };
        }
    }
}

/// A program, and the parameters of its kernels.
#[derive(Debug)]
pub struct Module {
    owner: Arc<ModuleOwner>,
    kernels: Vec<ptx::PtxKernel>,
}

impl Module {
    /// Loads a `binary` of NVIDIA's OpenCL.
    ///
    /// # Errors
    /// If it is not PTX as that compiler writes it, or the driver refuses it.
    pub(super) fn new(context: &Arc<HeldContext>, binary: &[u8]) -> Result<Self> {
        let program = ptx::for_cuda(binary).map_err(|reason| Error { call: reason, code: 218 })?;
        let _current = context.enter()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the text ends with NUL; there is space for one handle.
        let loaded = unsafe { call!(cuModuleLoadData(&mut raw, program.text.as_ptr().cast())) };
        // Some drivers refuse the whole program for it, as an invalid image.
        loaded.map_err(|error| if program.takes_local_memory() { Error::LOCAL_MEMORY } else { error })?;
        let owner = Arc::new(ModuleOwner { raw, context: context.clone() });
        Ok(Self { owner, kernels: program.kernels })
    }

    pub(in crate::opencl) fn kernel(&self, name: &CStr) -> Result<KernelObject> {
        let known = self.kernels.iter().find(|kernel| kernel.name.as_bytes() == name.to_bytes());
        let known = known.ok_or(Error { call: "cuModuleGetFunction", code: 500 })?;
        if known.takes_local_memory {
            return Err(Error::LOCAL_MEMORY);
        }
        let _current = self.owner.context.enter()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the module is loaded, the name ends with NUL; there is space for one handle.
        unsafe { call!(cuModuleGetFunction(&mut raw, self.owner.raw, name.as_ptr()))? };
        let (parameters, module) = (known.parameters.clone(), self.owner.clone());
        Ok(KernelObject::Cuda(Function { raw, parameters, module }))
    }
}

/// A kernel.
#[derive(Debug)]
pub struct Function {
    pub(super) raw: sys::CUfunction,
    /// The bytes of each parameter.
    pub(super) parameters: Vec<usize>,
    module: Arc<ModuleOwner>,
}

// SAFETY: as a module.
unsafe impl Send for Function {}

// SAFETY: as above.
unsafe impl Sync for Function {}

impl Function {
    pub(in crate::opencl) fn largest_group(&self) -> Result<usize> {
        const MOST_THREADS: CUfunction_attribute =
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
        let _current = self.module.context.enter()?;
        let mut most = 0;
        // SAFETY: the function is loaded; there is space for one number.
        unsafe { call!(cuFuncGetAttribute(&mut most, MOST_THREADS, self.raw))? };
        Ok(most.max(0) as usize)
    }
}
