//! Messages for the bus about settings that cannot hold.

use crate::estimator::SetupError;

/// The debug text of an error: the compiler's log if a kernel did not build.
pub fn setup_debug(error: &SetupError) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::Kernel;

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
