//! Opening the devices of an element while the streaming thread waits.

use std::fmt::Debug;
use std::sync::LazyLock;

use gst::prelude::*;
use parking_lot::Mutex;

use super::messages::setup_text;
use super::{DeviceSettings, setup_message};
use crate::video::interrupt::Interrupt;
use motion_search::backend::DeviceSelector;
use motion_search::compilation::{self, Compilation};
use motion_search::estimator::SetupError;

/// Why devices are not open.
#[derive(Debug)]
pub enum OpenError {
    /// They cannot be opened.
    Setup(SetupError),
    /// A flush, or the end of the stream, has ended the wait for them.
    Interrupted,
}

impl OpenError {
    /// What the streaming thread returns: `fail` tells of an error.
    pub fn into_flow(self, fail: impl FnOnce(gst::ErrorMessage) -> gst::FlowError) -> gst::FlowError {
        match self {
            Self::Interrupted => gst::FlowError::Flushing,
            Self::Setup(error) => fail(setup_message(&error)),
        }
    }
}

impl From<SetupError> for OpenError {
    fn from(error: SetupError) -> Self {
        Self::Setup(error)
    }
}

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "motiondevice",
        gst::DebugColorFlags::empty(),
        Some("Opening of devices for motion elements"),
    )
});

/// Logs what drivers compile for the elements of this process.
pub fn log_compilations() {
    compilation::observe(|Compilation { device, kernels, took, .. }| match took {
        None => gst::info!(CAT, "Compiling {kernels} kernels for {device}"),
        Some(took) => gst::info!(CAT, "{kernels} kernels for {device} done in {:.1} s", took.as_secs_f64()),
    });
}

/// Says that the settings `refused` of `element` cannot hold, because of `error`, and sets those that do, `current`, in
/// their place.
pub fn refuse<S: Clone + PartialEq + Debug>(
    (element, category): (&impl IsA<gst::Element>, gst::DebugCategory),
    settings: &Mutex<S>,
    [refused, current]: [&S; 2],
    error: &SetupError,
) {
    gst::warning!(category, obj = element, "Refused: {refused:?}");
    let text = format!("The new settings are refused, the earlier ones hold on: {}", setup_text(error));
    gst::element_warning!(element, gst::LibraryError::Settings, ("{text}"), ["{error:?}"]);
    replace(settings, [refused, current]);
}

/// Sets `settings` to the second of these, if they are the first: others may have been set meanwhile.
pub fn replace<S: Clone + PartialEq>(settings: &Mutex<S>, [from, to]: [&S; 2]) {
    let mut settings = settings.lock();
    if *settings == *from {
        settings.clone_from(to);
    }
}

impl DeviceSettings {
    /// What `open` makes of these devices for `element`, on a thread of its own: `interrupt` ends the wait for drivers that
    /// compile.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open_apart<R: Send + 'static>(
        &self,
        (element, interrupt): (&impl IsA<gst::Element>, &Interrupt),
        open: impl FnOnce() -> Result<R, SetupError> + Send + 'static,
    ) -> Result<R, OpenError> {
        let Self { device, .. } = self;
        if self.selector()? == DeviceSelector::Native {
            return Ok(open()?);
        }
        let text = format!("Opening device {device}: its driver may compile kernels");
        match interrupt.wait_for(element, &text, open) {
            Ok(None) => Err(OpenError::Interrupted),
            Ok(Some(opened)) => Ok(opened?),
            Err(error) => {
                let message = format!("there is no thread to open it on: {error}");
                Err(SetupError::Device { device: device.clone(), message }.into())
            }
        }
    }
}
