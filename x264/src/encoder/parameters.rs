//! x264's parameters.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;
use std::sync::LazyLock;

use crate::ffi;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("x264", gst::DebugColorFlags::empty(), Some("Messages of the library x264"))
});

/// Why x264 does not take an option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// There is no such option.
    #[error("x264 has no option \"{0}\"")]
    Name(String),
    /// It has no such value.
    #[error("x264 does not take \"{1}\" for the option \"{0}\"")]
    Value(String, String),
    /// There is no such preset or tuning.
    #[error("x264 has no preset {0:?} with the tuning {1:?}")]
    Preset(Option<String>, Option<String>),
}

/// The parameters of an encoder.
pub struct Parameters {
    raw: Box<ffi::x264_param_t>,
    /// The name in messages, to which x264 has a pointer.
    sender: CString,
}

// SAFETY: the pointers in it are to memory of its own.
unsafe impl Send for Parameters {}

/// `text` for C, up to the first zero byte.
fn for_c(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_else(|_| unreachable!("no zero byte is left"))
}

fn pointer(text: &Option<CString>) -> *const c_char {
    text.as_deref().map_or(ptr::null(), CStr::as_ptr)
}

impl Parameters {
    /// The parameters of this preset and tuning; the encoder's messages are logged as those of `sender`.
    ///
    /// # Errors
    /// [`OptionError::Preset`].
    pub fn new(preset: Option<&str>, tune: Option<&str>, sender: &str) -> Result<Self, OptionError> {
        // SAFETY: all fields are numbers, raw pointers or optional functions, for which zero is a value.
        let mut raw: Box<ffi::x264_param_t> = Box::new(unsafe { std::mem::zeroed() });
        let (preset_text, tune_text) = (preset.map(for_c), tune.map(for_c));
        // SAFETY: both are null or strings that live as long as the call.
        let result =
            unsafe { ffi::x264_param_default_preset(&mut *raw, pointer(&preset_text), pointer(&tune_text)) };
        let sender = for_c(sender);
        // From here on x264 frees what is in it.
        let mut parameters = Self { raw, sender };
        if result < 0 {
            return Err(OptionError::Preset(preset.map(Into::into), tune.map(Into::into)));
        }
        // SAFETY: the sender lives as long as the parameters, and these longer than their encoder.
        unsafe { ffi::motionx264_log_to(&mut *parameters.raw, parameters.sender.as_ptr(), Some(log)) };
        Ok(parameters)
    }

    /// Sets the option `name`; without a value, to true.
    ///
    /// # Errors
    /// [`OptionError::Name`] and [`OptionError::Value`].
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), OptionError> {
        let (name_text, value_text) = (for_c(name), value.map(for_c));
        // SAFETY: both strings live as long as the call, and the value may be null.
        let result =
            unsafe { ffi::x264_param_parse(&mut *self.raw, name_text.as_ptr(), pointer(&value_text)) };
        match result {
            0 => Ok(()),
            ffi::X264_PARAM_BAD_NAME => Err(OptionError::Name(name.into())),
            _ => Err(OptionError::Value(name.into(), value.unwrap_or_default().into())),
        }
    }

    /// Reduces them to what `profile` allows. Returns whether x264 knows it.
    pub fn limit_to_profile(&mut self, profile: &str) -> bool {
        let profile = for_c(profile);
        // SAFETY: the string lives as long as the call.
        unsafe { ffi::x264_param_apply_profile(&mut *self.raw, profile.as_ptr()) == 0 }
    }

    /// Reduces them to what is useful in the first of several passes.
    pub fn limit_to_first_pass(&mut self) {
        // SAFETY: the parameters are initialised.
        unsafe { ffi::x264_param_apply_fastfirstpass(&mut *self.raw) };
    }

    /// x264's structure.
    pub fn raw(&mut self) -> &mut ffi::x264_param_t {
        &mut self.raw
    }

    /// x264's structure, to read.
    pub fn raw_ref(&self) -> &ffi::x264_param_t {
        &self.raw
    }
}

impl Drop for Parameters {
    fn drop(&mut self) {
        // SAFETY: x264 has initialised them, and frees only what it has allocated.
        unsafe { ffi::x264_param_cleanup(&mut *self.raw) };
    }
}

/// Logs a message of x264.
///
/// # Safety
/// `sender` and `text` are strings.
unsafe extern "C" fn log(sender: *const c_char, level: c_int, text: *const c_char) {
    let level = match level as u32 {
        ffi::X264_LOG_ERROR => gst::DebugLevel::Error,
        ffi::X264_LOG_WARNING => gst::DebugLevel::Warning,
        ffi::X264_LOG_INFO => gst::DebugLevel::Info,
        _ => gst::DebugLevel::Log,
    };
    if level > CAT.threshold() {
        return;
    }
    // SAFETY: the caller's.
    let (sender, text) = unsafe { (CStr::from_ptr(sender), CStr::from_ptr(text)) };
    let (sender, text) = (sender.to_string_lossy(), text.to_string_lossy());
    gst::log_with_level!(CAT, level, "{sender}: {}", text.trim_end());
}

/// The limits of H.264's level `level_idc`.
pub fn level(level_idc: u8) -> Option<&'static ffi::x264_level_t> {
    let first = &raw const ffi::x264_levels as *const ffi::x264_level_t;
    // SAFETY: x264's table never changes, and ends with an entry whose `level_idc` is zero.
    unsafe { (0..).map(|index| &*first.add(index)).take_while(|level| level.level_idc != 0) }
        .find(|level| level.level_idc == level_idc)
}
