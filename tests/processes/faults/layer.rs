//! The layer of this process, which the ICD loader has loaded.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};

/// Functions of the layer.
#[derive(Clone, Copy)]
pub struct Layer(*mut c_void);

// SAFETY: a handle of the dynamic linker, which any thread may use.
unsafe impl Send for Layer {}

// SAFETY: as above.
unsafe impl Sync for Layer {}

impl Layer {
    /// The layer that `OPENCL_LAYERS` names.
    pub fn loaded() -> Self {
        // The loader opens it with the first call.
        assert!(!motion_search::opencl::devices().is_empty(), "no OpenCL device: install one");
        let path = CString::new(std::env::var("OPENCL_LAYERS").expect("a layer")).expect("a path");
        // SAFETY: the path ends with NUL.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        assert!(!library.is_null(), "the ICD loader has not loaded {path:?}");
        Self(library)
    }

    fn symbol(&self, name: &CStr) -> *mut c_void {
        // SAFETY: the library is loaded, and the name ends with NUL.
        let symbol = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!symbol.is_null(), "the layer has no {name:?}");
        symbol
    }

    /// Sets another fault; an empty text sets none.
    pub fn set(&self, fault: &str) {
        let text = CString::new(fault).expect("no NUL");
        // SAFETY: a function of this type in the layer's source.
        let set: extern "C" fn(*const c_char) -> c_int =
            unsafe { std::mem::transmute(self.symbol(c"fault_set")) };
        assert_eq!(set(text.as_ptr()), 1, "{fault}");
    }

    /// How many calls had the fault, and the number of the first of them among the calls that count.
    pub fn fired(&self) -> (i64, usize) {
        // SAFETY: a function of this type in the layer's source.
        let fired: extern "C" fn(&mut c_long) -> c_long =
            unsafe { std::mem::transmute(self.symbol(c"fault_fired")) };
        let mut first = 0;
        (fired(&mut first), first as usize)
    }

    /// The OpenCL objects that there are.
    pub fn live(&self) -> i64 {
        // SAFETY: a function of this type in the layer's source.
        let live: extern "C" fn() -> c_long = unsafe { std::mem::transmute(self.symbol(c"fault_live")) };
        live()
    }

    /// The function of call `number` since the fault was set.
    pub fn call(&self, number: usize) -> Option<String> {
        // SAFETY: a function of this type in the layer's source.
        let call: extern "C" fn(usize) -> *const c_char =
            unsafe { std::mem::transmute(self.symbol(c"fault_call")) };
        let name = call(number);
        // SAFETY: a name in the layer, which is not unloaded.
        (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }

    /// The number of calls since the fault was set.
    pub fn calls(&self) -> usize {
        (0..).find(|&number| self.call(number).is_none()).unwrap_or(0)
    }
}
