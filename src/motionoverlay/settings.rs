//! The properties.

use glib::prelude::*;
use glib::{ParamSpecBoolean, ParamSpecDouble, ParamSpecEnum};
use gst::prelude::*;

use super::MotionOverlayStyle;
use crate::meta::{FieldDescription, offset_spec};
use crate::settings::settings;
use motion_search::estimator::MotionVector;

settings! {
    /// The values of the properties.
    OverlaySettings;
    style: MotionOverlayStyle = Default::default(),
        "style", "Style", "How the vectors are drawn",
        ParamSpecEnum::builder_with_default;
    scale: f64 = 1.0,
        "scale", "Scale", "Factor by which the drawn length of vectors is multiplied",
        |name, default| ParamSpecDouble::builder(name).minimum(0.0).maximum(100.0).default_value(default);
    threshold: f64 = 0.5,
        "threshold", "Threshold", "Vectors shorter than this many samples are not drawn",
        |name, default| ParamSpecDouble::builder(name).minimum(0.0).maximum(65536.0).default_value(default);
    legend: bool = false,
        "legend", "Legend", "With style=color, draw the colours of all directions at the bottom right",
        |name, default| ParamSpecBoolean::builder(name).default_value(default);
    reference_offset: i32 = 0,
        "reference-offset", "Reference offset",
        "Frames from the current frame to the reference frame of the field to draw: -1 is the previous frame, +1 the next \
         one (0 = the first field)",
        offset_spec;
}

impl OverlaySettings {
    /// The movement described by `vector` of `field`, in samples; `None` if it is too short to be drawn.
    /// The sign of the reference offset says whether the vector points to an earlier or a later frame.
    pub fn movement(&self, vector: MotionVector, field: &FieldDescription) -> Option<(f32, f32)> {
        let unit = field.scale as f32;
        let (x, y) = (f32::from(vector.x) / unit, f32::from(vector.y) / unit);
        let length = x.hypot(y);
        let seen = length > 0.0 && f64::from(length) >= self.threshold;
        let sign = if field.reference_offset > 0 { 1.0 } else { -1.0 };
        seen.then_some((sign * x, sign * y))
    }
}
