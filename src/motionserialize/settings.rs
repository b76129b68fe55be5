//! The properties.

use glib::prelude::*;
use gst::prelude::*;

use crate::meta::offset_spec;
use crate::settings::settings;

settings! {
    /// The values of the properties.
    SerializeSettings;
    reference_offset: i32 = 0,
        "reference-offset", "Reference offset",
        "Frames from the current frame to the reference frame of the field to write: -1 is the previous frame, +1 the next \
         one (0 = every field; in a .flo file, which has room for one, the first)",
        offset_spec;
}
