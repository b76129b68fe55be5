//! Messages for the bus about the devices of a search: settings that cannot hold, and what becomes of devices.

use gst::prelude::*;

use motion_search::backend::TuningWarning;
use motion_search::estimator::{Notice, SetupError};

/// The debug text of an error: the compiler's log if a kernel did not build.
fn setup_debug(error: &SetupError) -> String {
    match error {
        SetupError::KernelBuild { log, .. } => log.clone(),
        _ => format!("{error:?}"),
    }
}

/// The error message for the bus.
pub fn setup_message(error: &SetupError) -> gst::ErrorMessage {
    let debug = setup_debug(error);
    match error {
        SetupError::NoSuchDevice { .. } => {
            gst::error_msg!(gst::ResourceError::NotFound, ("{error}"), ["{debug}"])
        }
        SetupError::Memory { .. } => {
            gst::error_msg!(gst::ResourceError::NoSpaceLeft, ("{error}"), ["{debug}"])
        }
        SetupError::Device { .. } => gst::error_msg!(gst::ResourceError::Failed, ("{error}"), ["{debug}"]),
        SetupError::KernelBuild { .. } => gst::error_msg!(gst::LibraryError::Init, ("{error}"), ["{debug}"]),
        _ => gst::error_msg!(gst::LibraryError::Settings, ("{error}"), ["{debug}"]),
    }
}

/// Warns that `element` does `what`, such as "Searching", on `device`, because of `reason`, and not where it was asked to.
pub fn warn_of_fallback(element: &impl IsA<gst::Element>, what: &str, device: &str, reason: &SetupError) {
    let debug = setup_debug(reason);
    gst::element_warning!(
        element,
        gst::ResourceError::Failed,
        ("{what} on {device} instead: {reason}"),
        ["{debug}"]
    );
}

/// Warns of a tuning that `element` cannot use.
pub fn warn_of_tuning(element: &impl IsA<gst::Element>, warning: &TuningWarning) {
    gst::element_warning!(element, gst::LibraryError::Settings, ("Tuning: {warning}"), ["{warning:?}"]);
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
