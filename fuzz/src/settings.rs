//! Any values of properties: the element says what is wrong with them, or works.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use glib::prelude::*;
use glib::translate::{ToGlibPtr, ToGlibPtrMut};
use gst::prelude::*;
use gst_video::{VideoFormat, VideoInfo};

use crate::plan::Plan;
use crate::setup;
use test_support::gstreamer::ElementBus;

const ELEMENTS: [&str; 7] = [
    "motionestimate",
    "motioninterpolate",
    "motiondenoise",
    "motiondetect",
    "motioncompensate",
    "motionoverlay",
    "motionserialize",
];

/// What lists of devices are made of.
/// What search windows are made of.
const WINDOWS: [&str; 8] = ["47", "16", "-3", "3", "0", ",", "-4,4,0,2", " "];

const DEVICES: [&str; 20] = [
    "native",
    "auto",
    "gpu",
    "cpu",
    "accelerator",
    "all",
    "0:0",
    "7:",
    "18446744073709551616",
    ",",
    "@",
    "@1",
    "@0.5",
    "@nan",
    "@inf",
    "@-1",
    "@1e308",
    "@1e-320",
    " ",
    "a name",
];

/// What structures for `tuning` are made of.
const TUNING: [&str; 20] = [
    "launch=(string)",
    ",",
    "group-size=",
    "cost-bytes=",
    "launch=",
    "launches=",
    "queues=",
    "run=",
    "blocks-across=",
    "once",
    "queues",
    "out-of-order",
    "(int)",
    "(guint64)",
    "(string)",
    "1",
    "-1",
    "0",
    "99999999999999999999",
    ";",
];

/// What numbers, flags and names of enum values are made of.
const VALUES: [&str; 35] = [
    "0",
    "1",
    "2",
    "-1",
    "4",
    "8",
    "12",
    "0.5",
    "75",
    "100",
    "nan",
    "inf",
    "-inf",
    "1e300",
    "true",
    "false",
    "full",
    "three-step",
    "hierarchical",
    "quarter",
    "half",
    "ssd",
    "restrict",
    "both",
    "forward",
    "median",
    "zero+intra",
    "second",
    "confidence",
    "message",
    "rows",
    "candidates",
    "frames",
    "fast",
    "balanced",
];

/// Runs the target.
pub fn run(data: &[u8]) {
    setup::init();
    let plan = &mut Plan::new(data);
    let element =
        gst::ElementFactory::make(plan.one_of(&ELEMENTS)).build().expect("an element of the plugin");
    let bus = ElementBus::new(element.clone());
    for _ in 0..plan.number(1..=6u8) {
        set_any(plan, &element);
    }
    if element.set_state(gst::State::Paused).is_err() {
        check_error(&bus);
        element.set_state(gst::State::Null).expect("NULL");
        return;
    }
    let mut harness = gst_check::Harness::with_element(&element, Some("sink"), Some("src"));
    let formats = [VideoFormat::I420, VideoFormat::Gray8, VideoFormat::P01010le];
    let info = VideoInfo::builder(plan.one_of(&formats), 24, 20).fps(gst::Fraction::new(25, 1)).build();
    let info = info.expect("video of a small size");
    // An element whose settings do not fit these frames refuses them.
    if harness.push_event(gst::event::Caps::new(&info.to_caps().expect("caps"))) {
        harness.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
        for time in 0..4 {
            if plan.once_in(4) {
                set_any(plan, &element);
            }
            let mut buffer = gst::Buffer::from_mut_slice(
                (0..info.size()).map(|index| ((index + 3 * time) * 37 % 251) as u8).collect::<Vec<_>>(),
            );
            buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(40) * time as u64);
            match harness.push(buffer) {
                Ok(_) => {}
                Err(gst::FlowError::Error) => check_error(&bus),
                Err(error) => assert_eq!(error, gst::FlowError::NotNegotiated),
            }
        }
        harness.push_event(gst::event::Eos::new());
    } else {
        check_error(&bus);
    }
    drop(harness);
    element.set_state(gst::State::Null).expect("NULL");
}

/// Checks that `bus` has an error with a text.
fn check_error(bus: &gst::Bus) {
    let text = setup::error_on(bus).expect("an error on the bus");
    assert!(text.len() > 10, "an error that says what is wrong: {text:?}");
}

/// Sets one property of `element` to any value that GObject lets through.
fn set_any(plan: &mut Plan<'_>, element: &gst::Element) {
    let is_ours = |pspec: &glib::ParamSpec| {
        pspec.flags().contains(glib::ParamFlags::WRITABLE) && pspec.owner_type() == element.type_()
    };
    let pspecs: Vec<_> = element.list_properties().iter().filter(|pspec| is_ours(pspec)).cloned().collect();
    // Strings can hold most, so they are chosen most often.
    let first = pspecs.iter().position(|pspec| plan.once_in(2) && pspec.value_type() == glib::Type::STRING);
    let pspec = first.map_or_else(|| plan.one_of(&pspecs), |index| pspecs[index].clone());
    let Some(mut value) = any_value(plan, &pspec) else { return };
    if is_slow(pspec.name(), &value) {
        return;
    }
    // As C sets it, without the checks of the Rust bindings.
    // SAFETY: all are alive, and the value has the type of the property.
    unsafe {
        let (object, pspec_ptr) = (element.as_ptr().cast(), pspec.to_glib_none());
        let value = value.to_glib_none_mut();
        // GLib changes what is out of range, and refuses NaN for ever.
        glib::gobject_ffi::g_param_value_validate(pspec_ptr.0, value.0);
        if glib::gobject_ffi::g_param_value_validate(pspec_ptr.0, value.0) == glib::ffi::GFALSE {
            glib::gobject_ffi::g_object_set_property(object, pspec.name().to_glib_none().0, value.0);
        }
    }
    element.property_value(pspec.name());
}

fn any_value(plan: &mut Plan<'_>, pspec: &glib::ParamSpec) -> Option<glib::Value> {
    let kind = pspec.value_type();
    if kind == glib::Type::STRING {
        let is_window = pspec.name() == "search-window";
        let text = plan.text(if is_window { &WINDOWS } else { &DEVICES });
        // Windows of hundreds of samples are slow.
        if is_window && text.split(|byte| !byte.is_ascii_digit()).any(|number| number.len() > 2) {
            return None;
        }
        return Some(if plan.once_in(20) {
            None::<&str>.to_value()
        } else {
            Path::new(OsStr::from_bytes(&text)).to_value()
        });
    }
    if kind == gst::Structure::static_type() {
        let name = if plan.once_in(16) { "other" } else { "motion-tuning" };
        let text = plan.text(&TUNING);
        // Text behind the end of a structure is a warning of GStreamer's parser.
        let text = text.split_inclusive(|&byte| byte == b';').next().unwrap_or_default();
        let text = format!("{name},{}", String::from_utf8_lossy(text));
        return text.parse::<gst::Structure>().ok().map(|structure| structure.to_value());
    }
    if kind == glib::Type::F64 {
        let bits = plan.bytes(8);
        let any = f64::from_ne_bytes(bits.try_into().expect("eight bytes"));
        return Some(plan.one_of(&[0.5, 1.0, 0.0, f64::NAN, f64::INFINITY, 2.0, 1e-300, any]).to_value());
    }
    let text = if plan.once_in(8) { plan.any_u32().to_string() } else { plan.one_of(&VALUES).to_owned() };
    glib::Value::deserialize(&text, kind).ok()
}

/// Whether a run with this value of the property `name` takes much longer than others.
fn is_slow(name: &str, value: &glib::Value) -> bool {
    let most = match name {
        "search-range" | "search-range-y" => 12,
        "threads" => 2,
        _ => return false,
    };
    value.transform::<i64>().is_ok_and(|value| value.get::<i64>().is_ok_and(|value| value > most))
}
