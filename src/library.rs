//! Libraries of GStreamer that are opened at run time: the plugin does not depend on them, and works where they are missing.

use std::ffi::{CStr, OsStr};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libloading::Library;
use libloading::os::unix;

/// Opens the library of GStreamer 1.24 or later with this file name.
///
/// It must be in the folder of the core library that this process runs, or be loaded already, as where each package has a folder
/// of its own: one of another installation may not fit, and elements that are loaded later would get it instead of their own.
pub fn open(name: &str) -> Option<Library> {
    if gst::version() < (1, 24, 0, 0) {
        return None;
    }
    let mut core = MaybeUninit::<libc::Dl_info>::uninit();
    let function = gst::ffi::gst_version as *const libc::c_void;
    // SAFETY: any address will do, and there is space for what is written.
    if unsafe { libc::dladdr(function, core.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: it has been written. The name ends with a zero and lives as long as the core library, which is never closed.
    let core = unsafe { CStr::from_ptr(core.assume_init().dli_fname) };
    let path = Path::new(OsStr::from_bytes(core.to_bytes())).with_file_name(name);
    // SAFETY: it is GStreamer's library, by its name and its folder; it is safe to load.
    let opened = unsafe { Library::new(path) };
    // SAFETY: it is loaded, so that nothing of it runs now.
    let loaded = || unsafe { unix::Library::open(Some(name), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    opened.or_else(|_| loaded().map(Library::from)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_the_running_gstreamer_are_found_from_1_24_on() {
        // A library that is surely there, one that is loaded from another folder, and one that is not there.
        let is_new = gst::version() >= (1, 24, 0, 0);
        assert_eq!(open("libgstreamer-1.0.so.0").is_some(), is_new);
        assert_eq!(open("libc.so.6").is_some(), is_new);
        assert!(open("libgstnone-1.0.so.0").is_none());
    }
}
