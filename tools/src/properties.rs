//! Properties of `motionestimate` as `name=value`.

use gst::glib;
use gst::glib::prelude::*;
use gst::prelude::*;
use gstmotionestimate::motionestimate::{MotionEstimate, MotionEstimateDirection};

use crate::error::Error;

/// Where and how it is searched: these never change the vectors.
const SPEED: [&str; 8] =
    ["balance", "device", "kernel", "on-device-failure", "pipeline-depth", "split", "threads", "tuning"];

/// The properties that can be set.
fn specs(element: &MotionEstimate) -> Vec<glib::ParamSpec> {
    let is_own = |spec: &&glib::ParamSpec| {
        spec.owner_type() == MotionEstimate::static_type()
            && spec.flags().contains(glib::ParamFlags::WRITABLE)
    };
    let mut specs: Vec<_> = element.list_properties().iter().filter(is_own).cloned().collect();
    specs.sort_by(|a, b| a.name().cmp(b.name()));
    specs
}

/// An element with the properties that `words` set.
///
/// # Errors
/// [`Error::Usage`] for what is no property, or no value of it, with what would be.
pub fn element(words: &[String]) -> Result<MotionEstimate, Error> {
    let element: MotionEstimate = glib::Object::new();
    let specs = specs(&element);
    for word in words {
        let names = || specs.iter().map(|spec| spec.name()).collect::<Vec<_>>().join(", ");
        let (name, text) = word.split_once('=').ok_or_else(|| {
            Error::Usage(format!("\"{word}\" is no property: write NAME=VALUE, with one of {}", names()))
        })?;
        let spec = specs.iter().find(|spec| spec.name() == name).ok_or_else(|| {
            Error::Usage(format!("motionestimate has no property \"{name}\"; there are {}", names()))
        })?;
        let value =
            glib::Value::deserialize_with_pspec(text, spec).ok().filter(|value| is_in_range(spec, value));
        let value = value.ok_or_else(|| {
            Error::Usage(format!("\"{text}\" is no value of {name}, which is {}", values(spec)))
        })?;
        element.set_property_from_value(name, &value);
    }
    Ok(element)
}

/// Whether a number is one that the property takes.
fn is_in_range(spec: &glib::ParamSpec, value: &glib::Value) -> bool {
    if let Some(spec) = spec.downcast_ref::<glib::ParamSpecUInt>() {
        value.get::<u32>().is_ok_and(|value| (spec.minimum()..=spec.maximum()).contains(&value))
    } else if let Some(spec) = spec.downcast_ref::<glib::ParamSpecInt>() {
        value.get::<i32>().is_ok_and(|value| (spec.minimum()..=spec.maximum()).contains(&value))
    } else {
        true
    }
}

/// What a property takes, in words.
fn values(spec: &glib::ParamSpec) -> String {
    if let Some(spec) = spec.downcast_ref::<glib::ParamSpecUInt>() {
        format!("a number from {} to {}", spec.minimum(), spec.maximum())
    } else if let Some(spec) = spec.downcast_ref::<glib::ParamSpecInt>() {
        format!("a number from {} to {}", spec.minimum(), spec.maximum())
    } else if let Some(spec) = spec.downcast_ref::<glib::ParamSpecEnum>() {
        let nicks: Vec<_> = spec.enum_class().values().iter().map(|value| value.nick()).collect();
        format!("one of {}", nicks.join(", "))
    } else if let Some(spec) = spec.downcast_ref::<glib::ParamSpecFlags>() {
        let nicks: Vec<_> = spec.flags_class().values().iter().map(|value| value.nick()).collect();
        format!("one or several, joined by +, of {}", nicks.join(", "))
    } else if spec.is::<glib::ParamSpecBoolean>() {
        "true or false".into()
    } else {
        format!("a {}", spec.value_type())
    }
}

/// The properties that change the vectors and have another value than the default one, as `name=value`.
pub fn text(element: &MotionEstimate) -> String {
    let shown = |value: &glib::Value| value.serialize().map_or_else(|_| format!("{value:?}"), Into::into);
    let mut words = Vec::new();
    for spec in specs(element).iter().filter(|spec| !SPEED.contains(&spec.name())) {
        let (value, default) = (element.property_value(spec.name()), spec.default_value());
        let (value, default): (String, String) = (shown(&value), shown(default));
        if value != default {
            words.push(format!("{}={value}", spec.name()));
        }
    }
    words.join(" ")
}

/// The frames before and after a range in which its frames are searched.
pub fn references(element: &MotionEstimate) -> (usize, usize) {
    let references = element.property::<u32>("references") as usize;
    let direction = element.property::<MotionEstimateDirection>("direction");
    let only = |is_searched| if is_searched { references } else { 0 };
    (
        only(direction != MotionEstimateDirection::Forward),
        only(direction != MotionEstimateDirection::Backward),
    )
}
