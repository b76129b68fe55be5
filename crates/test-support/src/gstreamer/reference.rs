//! The parts of an element's page in `docs/elements` that are made from the element itself: formats and properties.

use std::path::{Path, PathBuf};

use gst::prelude::*;

/// Where the made part of a page begins and ends.
const MARKS: [&str; 2] = ["<!-- made from the element -->\n", "<!-- end -->\n"];

/// The element whose properties others share: of these its page has the description.
const FIRST: &str = "motionestimate";

/// The element that has the properties of GStreamer's `x264enc`, and the beginning of the names of its own ones.
const ENCODER: (&str, &str) = ("motionx264enc", "motion-");

/// The properties of an element, each with the value that a new element has.
fn pspecs(element: &str) -> Vec<(glib::ParamSpec, glib::Value)> {
    let made = gst::ElementFactory::make(element).build().expect("an element");
    let mut specs = made.list_properties().to_vec();
    specs.retain(|spec| !["name", "parent"].contains(&spec.name()));
    specs.sort_by(|a, b| a.name().cmp(b.name()));
    specs.into_iter().map(|spec| (spec.clone(), made.property_value(spec.name()))).collect()
}

/// Prose in a cell of a table, where what looks like HTML or a border would be one.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

/// The values that a property takes, and their descriptions, if it has a list of them.
fn values(spec: &glib::ParamSpec) -> (String, Vec<String>) {
    let described = |nick: &str, name: &str| {
        if nick == name { format!("`{nick}`") } else { format!("`{nick}`: {}", cell(name)) }
    };
    if let Some(class) = glib::EnumClass::with_type(spec.value_type()) {
        let values: Vec<_> =
            class.values().iter().map(|value| described(value.nick(), value.name())).collect();
        return ("choice".into(), values);
    }
    if let Some(class) = glib::FlagsClass::with_type(spec.value_type()) {
        let values: Vec<_> =
            class.values().iter().map(|value| described(value.nick(), value.name())).collect();
        return ("flags".into(), values);
    }
    macro_rules! range {
        ($($spec:ty: $number:ty),*) => {
            $(if let Some(spec) = spec.downcast_ref::<$spec>() {
                let (least, most) = (spec.minimum(), spec.maximum());
                let values = match (least <= <$number>::MIN && least != 0 as $number, most >= <$number>::MAX) {
                    (true, true) => "any".into(),
                    (_, true) => format!("{least} and more"),
                    _ => format!("{least} to {most}"),
                };
                return (values, Vec::new());
            })*
        };
    }
    range!(
        glib::ParamSpecUInt: u32,
        glib::ParamSpecInt: i32,
        glib::ParamSpecUInt64: u64,
        glib::ParamSpecInt64: i64,
        glib::ParamSpecDouble: f64,
        glib::ParamSpecFloat: f32
    );
    let kind = match spec.value_type() {
        glib::Type::BOOL => "`true`, `false`",
        glib::Type::STRING => "string",
        _ => "structure",
    };
    (kind.into(), Vec::new())
}

fn default(spec: &glib::ParamSpec, value: &glib::Value) -> String {
    if !spec.flags().contains(glib::ParamFlags::WRITABLE) {
        return "read-only".into();
    }
    if let Some((_, value)) = glib::EnumValue::from_value(value) {
        return format!("`{}`", value.nick());
    }
    if glib::FlagsClass::with_type(spec.value_type()).is_some() {
        let set = glib::FlagsValue::from_value(value);
        let nicks: Vec<_> = set.iter().flat_map(|(_, set)| set).map(|value| value.nick()).collect();
        return if nicks.is_empty() { "none".into() } else { format!("`{}`", nicks.join("+")) };
    }
    if let Ok(text) = value.get::<Option<String>>() {
        return text.filter(|text| !text.is_empty()).map_or("empty".into(), |text| format!("`{text}`"));
    }
    // Structures have no default, and GLib cannot write those that are not there.
    if value.type_().is_a(glib::Type::BOXED) {
        return "none".into();
    }
    let text =
        value.transform::<String>().ok().and_then(|text| text.get::<String>().ok()).unwrap_or_default();
    text.parse::<f64>().map_or(text.to_lowercase(), |number| number.to_string())
}

/// The row of a property in the table.
fn row((spec, value): &(glib::ParamSpec, glib::Value)) -> String {
    let (values, described) = values(spec);
    let blurb = cell(spec.blurb().unwrap_or_default());
    let meaning = if described.is_empty() { blurb } else { format!("{blurb}. {}", described.join("; ")) };
    // That of GStreamer's base class says nothing, but may be set at any time.
    let at_any_time = [gst::PARAM_FLAG_MUTABLE_PLAYING, gst::PARAM_FLAG_CONTROLLABLE]
        .iter()
        .any(|flag| spec.flags().contains(*flag));
    let is_fixed = spec.flags().contains(glib::ParamFlags::WRITABLE) && !at_any_time && spec.name() != "qos";
    let when = if is_fixed { " *" } else { "" };
    format!("| `{}`{when} | {} | {values} | {meaning} |\n", spec.name(), default(spec, value))
}

fn properties(element: &str) -> String {
    let shared: Vec<String> =
        if element == FIRST { Vec::new() } else { pspecs_if_known(FIRST).iter().map(row).collect() };
    let (mut table, mut as_first) =
        (String::from("| property | default | values | what |\n|---|---|---|---|\n"), Vec::new());
    let mut as_x264enc = Vec::new();
    for property in pspecs(element) {
        let (row, name) = (row(&property), property.0.name());
        if element == ENCODER.0 && !name.starts_with(ENCODER.1) {
            as_x264enc.push(format!("`{name}` ({})", default(&property.0, &property.1)));
            continue;
        }
        if shared.contains(&row) && name != "qos" {
            as_first.push(format!("`{name}`"));
        } else {
            table += &row;
        }
    }
    if !as_first.is_empty() {
        table += &format!("\nAs of [{FIRST}]({FIRST}.md#properties): {}.\n", as_first.join(", "));
    }
    if !as_x264enc.is_empty() {
        table += &format!("\nAs of `x264enc`, with the default in brackets: {}.\n", as_x264enc.join(", "));
    }
    if table.contains("` *") {
        table += "\n\\* Set before the element plays.\n";
    }
    table
}

fn pspecs_if_known(element: &str) -> Vec<(glib::ParamSpec, glib::Value)> {
    gst::ElementFactory::find(element).map(|_| pspecs(element)).unwrap_or_default()
}

/// The formats of a pad template in memory of the host.
fn formats(element: &str, direction: gst::PadDirection) -> String {
    let factory = gst::ElementFactory::find(element).expect("an element");
    let template =
        factory.static_pad_templates().into_iter().find(|template| template.direction() == direction);
    let caps = template.expect("a template").caps();
    // The media types, each with whether any memory will do, and its formats.
    let mut known: Vec<(String, bool, Vec<String>)> = Vec::new();
    for (structure, features) in caps.iter_with_features() {
        let any = features.is_any();
        if !any && !features.contains(gst::CAPS_FEATURE_MEMORY_SYSTEM_MEMORY) && features.size() > 0 {
            continue;
        }
        let names = structure.get::<gst::List>("format").map_or_else(
            |_| structure.get::<String>("format").into_iter().collect(),
            |list| list.iter().map(|name| name.get::<String>().expect("a name")).collect::<Vec<_>>(),
        );
        let place =
            known.iter().position(|(name, of_any, _)| (&**name, *of_any) == (structure.name().as_str(), any));
        let place = place.unwrap_or_else(|| {
            known.push((structure.name().to_string(), any, Vec::new()));
            known.len() - 1
        });
        known[place].2.extend(names);
    }
    let line = |(name, any, formats): (String, bool, Vec<String>)| {
        let separator = if formats.is_empty() { "" } else { ": " };
        let memory = if any { ", in any memory" } else { "" };
        format!("`{name}`{separator}{}{memory}", formats.join(", "))
    };
    known.into_iter().map(line).collect::<Vec<_>>().join("; ")
}

fn made(element: &str) -> String {
    let [sink, source] =
        [gst::PadDirection::Sink, gst::PadDirection::Src].map(|direction| formats(element, direction));
    let source = if source == sink { "the same".into() } else { source };
    format!("## Formats\n\n- In: {sink}.\n- Out: {source}.\n\n## Properties\n\n{}", properties(element))
}

/// Compares the made part of the page of `element` with what it would be now. With `MOTION_DOCUMENTS=write` in the environment
/// it is written.
///
/// # Panics
/// If the page differs.
pub fn check_page(element: &str) {
    let path: PathBuf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/elements/{element}.md"));
    let page = std::fs::read_to_string(&path).expect("a page");
    let parts =
        page.split_once(MARKS[0]).and_then(|(before, rest)| Some((before, rest.split_once(MARKS[1])?)));
    let Some((before, (found, behind))) = parts else { panic!("{} lacks {MARKS:?}", path.display()) };
    let expected = format!("\n{}\n", made(element));
    if std::env::var_os("MOTION_DOCUMENTS").is_some_and(|how| how == "write") {
        std::fs::write(&path, [before, MARKS[0], &expected, MARKS[1], behind].concat()).expect("a file");
        return;
    }
    assert!(
        found == expected,
        "docs/elements/{element}.md is not that of the element: run the test with MOTION_DOCUMENTS=write\n{expected}"
    );
}
