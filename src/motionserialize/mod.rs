/*!
 * `motionserialize`: writes motion fields as NDJSON, CSV, packed binary or `.flo`.
 *
 * Each frame gives one output buffer with the same timestamp and duration; pixels are not read. The caps downstream select the
 * format. `docs/elements/motionserialize.md` is its reference, with the formats.
 *
 * ```text
 * gst-launch-1.0 videotestsrc num-buffers=30 pattern=ball ! motionestimate ! motionserialize ! filesink location=vectors.ndjson
 * ```
 */
mod flo;
mod format;
mod imp;
mod settings;
mod stream;

use gst::glib;
use gst::prelude::*;

glib::wrapper! {
    /// The element `motionserialize`.
    pub struct MotionSerialize(ObjectSubclass<imp::MotionSerialize>)
        @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers the element with `plugin`.
///
/// # Errors
/// If GStreamer refuses the element.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    crate::settings::mark_choices(&settings::SerializeSettings::param_specs());
    gst::Element::register(Some(plugin), "motionserialize", gst::Rank::NONE, MotionSerialize::static_type())
}
