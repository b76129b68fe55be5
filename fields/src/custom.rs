//! What the custom metas have in common.

use std::ffi::{CStr, c_char};
use std::ptr;

use crate::meta::MetaError;

/// Called by GStreamer to transform a custom meta of one buffer onto another.
pub type Transform = unsafe extern "C" fn(
    *mut gst::ffi::GstBuffer,
    *mut gst::ffi::GstCustomMeta,
    *mut gst::ffi::GstBuffer,
    glib::ffi::GQuark,
    glib::ffi::gpointer,
    glib::ffi::gpointer,
) -> glib::ffi::gboolean;

/// Registers the meta `name` with GStreamer, unless it is registered.
///
/// # Panics
/// If GStreamer is not initialised.
///
/// # Safety
/// GStreamer may call `transform` as `GstCustomMetaTransformFunction` describes it, without user data.
pub unsafe fn register(name: &'static CStr, transform: Transform) {
    // The process may hold this code twice, as plugin and as library: register only once.
    if gst::meta::CustomMeta::is_registered(&name.to_string_lossy()) {
        return;
    }
    // With these tags converters and scalers call `transform`, and other filters drop the meta.
    let mut tags: [*const c_char; 4] =
        [c"video".as_ptr(), c"size".as_ptr(), c"orientation".as_ptr(), ptr::null()];
    // SAFETY: name and tags are NUL-terminated and copied by GStreamer, the list of tags ends with a null pointer, and
    // `transform` is a function that lives as long as the program; the rest is the caller's promise.
    unsafe {
        gst::ffi::gst_meta_register_custom(
            name.as_ptr(),
            tags.as_mut_ptr(),
            Some(transform),
            ptr::null_mut(),
            None,
        );
    }
}

/// A field of a meta's structure.
///
/// # Errors
/// [`MetaError::Field`] if it is missing, or has another type.
pub fn field<'a, T: glib::value::FromValue<'a>>(
    structure: &'a gst::StructureRef,
    name: &'static str,
) -> Result<T, MetaError> {
    structure.get(name).map_err(|_| MetaError::Field(name))
}
