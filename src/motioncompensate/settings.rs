//! The properties.

use glib::ParamSpecEnum;
use glib::prelude::*;
use gst::prelude::*;

use super::{MotionCompensateMeasure, MotionCompensateMode};
use crate::meta::offset_spec;
use crate::settings::settings;

settings! {
    /// The values of the properties.
    CompensateSettings;
    mode: MotionCompensateMode = Default::default(),
        "mode", "Mode", "What to send downstream",
        ParamSpecEnum::builder_with_default;
    measure: MotionCompensateMeasure = Default::default(),
        "measure", "Measure",
        "What to measure of each prediction; the result is attached to the buffer and posted on the bus",
        ParamSpecEnum::builder_with_default;
    reference_offset: i32 = 0,
        "reference-offset", "Reference offset",
        "Frames from each frame to the one that it is predicted from: -1 is the previous frame, +1 the next one (0 = the \
         first field, which must be for the previous frame); each later frame adds one frame of latency",
        offset_spec;
}

impl CompensateSettings {
    /// Frames from each frame to the one that it is predicted from: by default -1.
    pub fn offset(&self) -> i32 {
        if self.reference_offset == 0 { -1 } else { self.reference_offset }
    }

    /// The frames that wait for a later reference frame.
    pub fn delay(&self) -> usize {
        self.reference_offset.max(0) as usize
    }

    /// The buffers that are held besides the current one: its reference frame, and all between them.
    pub fn held(&self) -> usize {
        self.offset().unsigned_abs() as usize
    }

    /// Whether frames are sent as they came.
    pub fn is_in_place(&self) -> bool {
        self.mode == MotionCompensateMode::Original
    }

    pub fn is_measured(&self) -> bool {
        self.measure == MotionCompensateMeasure::Psnr
    }
}
