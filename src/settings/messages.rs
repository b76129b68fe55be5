//! Messages for the bus about the devices of a search: settings that cannot hold, and what becomes of devices.

use std::collections::BTreeSet;

use gst::prelude::*;

use motion_search::backend::{Choice, TuningWarning};
use motion_search::estimator::{EstimateError, Notice, SetupError};

/// The debug text of an error: the compiler's log if a kernel did not build.
fn setup_debug(error: &SetupError) -> String {
    match error {
        SetupError::KernelBuild { log, .. } => log.clone(),
        _ => format!("{error:?}"),
    }
}

/// The error message for the bus about a search that failed.
pub fn search_message(error: &EstimateError) -> gst::ErrorMessage {
    gst::error_msg!(gst::LibraryError::Failed, ("The search failed: {error}"), ["{error:?}"])
}

/// What `error` says, and the properties that would work where it does not name them.
pub fn setup_text(error: &SetupError) -> String {
    let properties = match error {
        SetupError::SubSample { .. } => "sub-sample=none",
        SetupError::WindowAlgorithm => "search-window=\"\"",
        SetupError::SceneCut => "direction=backward or both",
        _ => return error.to_string(),
    };
    format!("{error} ({properties})")
}

/// The error message for the bus.
pub fn setup_message(error: &SetupError) -> gst::ErrorMessage {
    let (text, debug) = (setup_text(error), setup_debug(error));
    match error {
        SetupError::NoSuchDevice { .. } => {
            gst::error_msg!(gst::ResourceError::NotFound, ("{text}"), ["{debug}"])
        }
        SetupError::Memory { .. } => {
            gst::error_msg!(gst::ResourceError::NoSpaceLeft, ("{text}"), ["{debug}"])
        }
        SetupError::Device { .. } => gst::error_msg!(gst::ResourceError::Failed, ("{text}"), ["{debug}"]),
        SetupError::KernelBuild { .. } => gst::error_msg!(gst::LibraryError::Init, ("{text}"), ["{debug}"]),
        _ => gst::error_msg!(gst::LibraryError::Settings, ("{text}"), ["{debug}"]),
    }
}

/// Warnings that have been posted since the start of an element: each is posted once, and logged each time.
#[derive(Debug, Default)]
pub struct PostedWarnings(BTreeSet<String>);

impl PostedWarnings {
    /// Whether `warning` has not been posted; from now on it has.
    pub fn is_new(&mut self, warning: &str) -> bool {
        !self.0.contains(warning) && self.0.insert(warning.to_owned())
    }

    /// Warns that `element` does `what`, such as "Searching", on `device`, because of `reason`, and not where it was asked
    /// to.
    pub fn fallback(
        &mut self,
        (element, category): (&impl IsA<gst::Element>, gst::DebugCategory),
        what: &str,
        device: &str,
        reason: &SetupError,
    ) {
        let text = format!("{what} on {device} instead: {reason}");
        gst::warning!(category, obj = element, "{text}");
        if self.is_new(&text) {
            let debug = setup_debug(reason);
            gst::element_warning!(element, gst::ResourceError::Failed, ("{text}"), ["{debug}"]);
        }
    }

    /// Warns of what was not chosen for a search as `element` was asked, and goes on `device`.
    pub fn choice(
        &mut self,
        (element, category): (&impl IsA<gst::Element>, gst::DebugCategory),
        device: &str,
        choice: &Choice,
    ) {
        if let Some(reason) = &choice.fallback {
            self.fallback((element, category), "Searching", device, reason);
        }
        for warning in &choice.warnings {
            self.tuning((element, category), warning);
        }
    }

    /// Warns of a tuning that `element` cannot use.
    fn tuning(
        &mut self,
        (element, category): (&impl IsA<gst::Element>, gst::DebugCategory),
        warning: &TuningWarning,
    ) {
        let text = format!("Tuning: {warning}");
        gst::warning!(category, obj = element, "{text}");
        if self.is_new(&text) {
            gst::element_warning!(element, gst::LibraryError::Settings, ("{text}"), ["{warning:?}"]);
        }
    }
}

/// Says what has happened to the devices of `element`: on the bus what the user should know, all of it in the log.
pub fn tell_notices(element: &impl IsA<gst::Element>, category: gst::DebugCategory, notices: Vec<Notice>) {
    for notice in notices {
        match notice {
            Notice::Failure(text) => {
                gst::warning!(category, obj = element, "{text}");
                gst::element_warning!(element, gst::ResourceError::Failed, ("{text}"));
            }
            Notice::Split(text) => {
                gst::warning!(category, obj = element, "{text}");
                gst::element_warning!(element, gst::ResourceError::Settings, ("{text}"));
            }
            Notice::Balance(text) => gst::info!(category, obj = element, "{text}"),
            other => gst::info!(category, obj = element, "{other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motion_search::tuning::Kernel;

    #[test]
    fn each_warning_is_posted_once() {
        gst::init().unwrap();
        let (element, bus) = (gst::Bin::new(), gst::Bus::new());
        element.set_bus(Some(&bus));
        let category = gst::DebugCategory::new("test-warnings", gst::DebugColorFlags::empty(), None);
        let mut warnings = PostedWarnings::default();
        let reason = |device: &str| SetupError::Device { device: device.into(), message: "lost".into() };
        for device in ["one", "one", "another", "one", "another"] {
            warnings.fallback((&element, category), "Searching", "native", &reason(device));
        }
        let posted: Vec<_> = std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Warning])).collect();
        element.set_bus(None);
        assert_eq!(posted.len(), 2, "{posted:?}");
    }

    #[test]
    fn a_failed_build_shows_the_compilers_log_as_debug_text() {
        let log = "line 3: undeclared name".to_owned();
        let error = SetupError::KernelBuild {
            kernel: Kernel::Reference.name(),
            device: "a GPU".into(),
            log: log.clone(),
        };
        assert_eq!(setup_debug(&error), log);
        let message = format!("{:?}", setup_message(&error));
        assert!(message.contains(&log) && message.contains("reference does not build on a GPU"), "{message}");
    }
}
