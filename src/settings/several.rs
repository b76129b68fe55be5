//! The enums of the properties for several devices.

/// How several devices divide the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateSplit")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionEstimateSplit {
    /// As [`Self::Rows`].
    #[default]
    #[enum_value(name = "As rows", nick = "auto")]
    Auto,
    /// Each device searches a band of rows of blocks.
    #[enum_value(name = "Each device searches a band of rows of blocks", nick = "rows")]
    Rows,
    /// Each device tries a share of the displacements.
    #[enum_value(
        name = "Each device tries a share of the displacements, for the whole frame",
        nick = "candidates"
    )]
    Candidates,
    /// Each device searches whole frames.
    #[enum_value(name = "Each device searches whole frames of those in flight", nick = "frames")]
    Frames,
}

/// How the shares of several devices are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateBalance")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionEstimateBalance {
    /// Shares follow the measured rates.
    #[default]
    #[enum_value(name = "Shares follow the rates measured with every frame", nick = "adaptive")]
    Adaptive,
    /// Shares are computed once, after the first frames.
    #[enum_value(name = "Shares follow curves fitted to the times of the first frames", nick = "fit")]
    Fit,
    /// Shares follow the weights.
    #[enum_value(name = "Shares follow the weights in the list of devices", nick = "static")]
    Static,
}

/// What happens when the last device fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateOnDeviceFailure")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionEstimateOnDeviceFailure {
    /// The CPU continues.
    #[default]
    #[enum_value(name = "The CPU without OpenCL continues, and a warning is posted", nick = "native")]
    Native,
    /// The stream ends with an error.
    #[enum_value(name = "An error ends the stream", nick = "error")]
    Error,
}
