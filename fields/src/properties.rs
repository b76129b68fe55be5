//! What elements do with any property.

use std::borrow::Cow;
use std::path::PathBuf;

use glib::prelude::*;
use gst::prelude::*;

/// `value`; if it is a string that is not UTF-8, as C can pass, with replacement characters. Reading it would panic.
pub fn readable(value: &glib::Value) -> Cow<'_, glib::Value> {
    match value.get::<Option<PathBuf>>() {
        Ok(Some(text)) if text.to_str().is_none() => Cow::Owned(text.to_string_lossy().to_value()),
        _ => Cow::Borrowed(value),
    }
}

/// Tells GStreamer that the enums and flags of these properties are those of a plugin, so that its documentation lists their values.
pub fn mark_choices(properties: &[glib::ParamSpec]) {
    let types = properties.iter().map(glib::ParamSpec::value_type);
    for choice in types.filter(|kind| kind.is_a(glib::Type::ENUM) || kind.is_a(glib::Type::FLAGS)) {
        choice.mark_as_plugin_api(gst::PluginAPIFlags::empty());
    }
}
