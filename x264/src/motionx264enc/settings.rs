//! The properties: those of `x264enc`, and `motion-strength`.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use glib::prelude::*;
use glib::translate::{FromGlib, IntoGlib};
use gst::prelude::*;

use super::values::*;

/// A property.
struct Property {
    spec: glib::ParamSpec,
    /// The option of x264 that it sets, if it sets one.
    option: Option<&'static str>,
}

impl Property {
    const fn plain(spec: glib::ParamSpec) -> Self {
        Self { spec, option: None }
    }

    const fn of(option: &'static str, spec: glib::ParamSpec) -> Self {
        Self { spec, option: Some(option) }
    }
}

type Names = (&'static str, &'static str, &'static str);

fn uint((name, nick, blurb): Names, range: RangeInclusive<u32>, default: u32) -> glib::ParamSpec {
    let builder = glib::ParamSpecUInt::builder(name).nick(nick).blurb(blurb);
    let builder = builder.minimum(*range.start()).maximum(*range.end()).default_value(default);
    if MUTABLE.contains(&name) { builder.mutable_playing().build() } else { builder.mutable_ready().build() }
}

fn int((name, nick, blurb): Names, range: RangeInclusive<i32>, default: i32) -> glib::ParamSpec {
    let builder = glib::ParamSpecInt::builder(name).nick(nick).blurb(blurb).mutable_ready();
    builder.minimum(*range.start()).maximum(*range.end()).default_value(default).build()
}

fn float((name, nick, blurb): Names, default: f32) -> glib::ParamSpec {
    let builder = glib::ParamSpecFloat::builder(name).nick(nick).blurb(blurb).mutable_ready();
    builder.minimum(0.0).maximum(2.0).default_value(default).build()
}

fn boolean((name, nick, blurb): Names, default: bool) -> glib::ParamSpec {
    let builder = glib::ParamSpecBoolean::builder(name).nick(nick).blurb(blurb).mutable_ready();
    builder.default_value(default).build()
}

fn text((name, nick, blurb): Names, default: &str) -> glib::ParamSpec {
    let builder = glib::ParamSpecString::builder(name).nick(nick).blurb(blurb).mutable_ready();
    builder.default_value(default).build()
}

fn choice<T>((name, nick, blurb): Names) -> glib::ParamSpec
where
    T: Default + StaticType + FromGlib<i32> + IntoGlib<GlibType = i32>,
{
    glib::ParamSpecEnum::builder::<T>(name)
        .nick(nick)
        .blurb(blurb)
        .mutable_ready()
        .default_value(T::default())
        .build()
}

fn flags<T>((name, nick, blurb): Names) -> glib::ParamSpec
where
    T: StaticType + FromGlib<u32> + IntoGlib<GlibType = u32>,
{
    glib::ParamSpecFlags::builder::<T>(name).nick(nick).blurb(blurb).mutable_ready().build()
}

/// What may change while frames are encoded, besides `motion-strength`.
const MUTABLE: [&str; 2] = ["bitrate", "vbv-buf-capacity"];

/// All of them, those with an option of x264 in the order in which their defaults are set.
static PROPERTIES: LazyLock<Vec<Property>> = LazyLock::new(|| {
    const INT_MAX: u32 = i32::MAX as u32;
    vec![
        Property::plain(
            glib::ParamSpecDouble::builder("motion-strength")
                .nick("Motion strength")
                .blurb(
                    "Strength of the quantiser offsets that follow from motion fields with costs (0 = x264 as it is). It \
                     changes between frames; 0 at the start also leaves out what is prepared for blocks that stay as they are",
                )
                .maximum(4.0)
                .default_value(1.0)
                .mutable_playing()
                .build(),
        ),
        Property::plain(choice::<MotionX264EncPass>(("pass", "Pass", "How bits are spent, and which pass it is"))),
        Property::plain(uint(
            ("quantizer", "Quantiser", "Quantiser of pass=quant, quality of pass=qual: lower is better"),
            0..=50,
            21,
        )),
        Property::plain(uint(("bitrate", "Bit rate", "Bit rate in kbit/s"), 1..=2_048_000, 2048)),
        Property::plain(uint(
            ("vbv-buf-capacity", "VBV buffer capacity", "What the decoder buffers, in milliseconds"),
            0..=10_000,
            600,
        )),
        Property::plain(choice::<MotionX264EncPreset>((
            "speed-preset",
            "Speed preset",
            "Speed against compression. A preset may use what a decoder does not know: limit the profile in the caps",
        ))),
        Property::plain(choice::<MotionX264EncPsyTune>((
            "psy-tune",
            "Psychovisual tuning",
            "What the compression is tuned for",
        ))),
        Property::plain(flags::<MotionX264EncTune>(("tune", "Tuning", "What the stream is tuned for"))),
        Property::plain(text(
            (
                "option-string",
                "Option string",
                "Options of x264, as key1=value1:key2=value2; properties that are set win",
            ),
            "",
        )),
        Property::plain(choice::<MotionX264EncFramePacking>((
            "frame-packing",
            "Frame packing",
            "How the two views of stereoscopic video lie in frames",
        ))),
        Property::plain(boolean(("insert-vui", "Insert VUI", "Write usability information (colours)"), true)),
        Property::plain(choice::<MotionX264EncNalHrd>((
            "nal-hrd",
            "NAL HRD",
            "Signalling for the hypothetical reference decoder",
        ))),
        Property::of("threads", uint(("threads", "Threads", "Threads (0 = as many as are useful)"), 0..=INT_MAX, 0)),
        Property::of(
            "sliced-threads",
            boolean(("sliced-threads", "Sliced threads", "Threads share a frame: less latency, less compression"), false),
        ),
        Property::of(
            "sync-lookahead",
            int(("sync-lookahead", "Sync lookahead", "Frames between lookahead and encoder (-1 = automatic)"), -1..=250, -1),
        ),
        Property::of(
            "stats",
            text(("multipass-cache-file", "Multipass cache file", "File between several passes"), "x264.log"),
        ),
        Property::plain(boolean(
            ("byte-stream", "Byte stream", "Write start codes, where the caps downstream leave it open"),
            false,
        )),
        Property::of(
            "intra-refresh",
            boolean(("intra-refresh", "Intra refresh", "Refresh column by column in place of key units"), false),
        ),
        Property::of("me", choice::<MotionX264EncMe>(("me", "Motion estimation", "Search of whole samples"))),
        Property::of(
            "subme",
            uint(("subme", "Subpixel motion estimation", "Search between samples, and decisions: 1 is fast, 10 is best"), 1..=10, 1),
        ),
        Property::of("partitions", flags::<MotionX264EncAnalyse>(("analyse", "Analyse", "Partitions that are tried"))),
        Property::of("8x8dct", boolean(("dct8x8", "DCT 8x8", "Choose the size of the transform"), false)),
        Property::of("ref", uint(("ref", "Reference frames", "Number of reference frames"), 1..=16, 3)),
        Property::of("bframes", uint(("bframes", "B-frames", "B-frames between others"), 0..=16, 0)),
        Property::of("b-adapt", boolean(("b-adapt", "B-adapt", "Decide how many B-frames to use"), true)),
        Property::of("b-pyramid", boolean(("b-pyramid", "B-pyramid", "B-frames may be references"), false)),
        Property::of("weightb", boolean(("weightb", "Weighted B-frames", "Weighted prediction of B-frames"), false)),
        Property::of("sps-id", uint(("sps-id", "SPS ID", "Number of the parameter sets"), 0..=31, 0)),
        Property::of("aud", boolean(("aud", "AUD", "Write access unit delimiters"), true)),
        Property::of("trellis", boolean(("trellis", "Trellis", "Quantise by trellis search"), true)),
        Property::of(
            "keyint",
            uint(("key-int-max", "Key unit interval", "Most frames from one key unit to the next (0 = automatic)"), 0..=INT_MAX, 0),
        ),
        Property::of("cabac", boolean(("cabac", "CABAC", "Arithmetic coding"), true)),
        Property::of("qpmin", uint(("qp-min", "Minimum quantiser", "Least quantiser"), 0..=63, 10)),
        Property::of("qpmax", uint(("qp-max", "Maximum quantiser", "Largest quantiser"), 0..=63, 51)),
        Property::of("qpstep", uint(("qp-step", "Quantiser step", "Largest difference between frames"), 0..=63, 4)),
        Property::of("ip-factor", float(("ip-factor", "IP factor", "Quantisers of P-frames over those of I-frames"), 1.4)),
        Property::of("pb-factor", float(("pb-factor", "PB factor", "Quantisers of B-frames over those of P-frames"), 1.3)),
        Property::of("mbtree", boolean(("mb-tree", "Macroblock tree", "Spend bits where later frames refer to"), true)),
        Property::of(
            "rc-lookahead",
            int(("rc-lookahead", "Rate control lookahead", "Frames that rate control looks ahead"), 0..=250, 40),
        ),
        Property::of("nr", uint(("noise-reduction", "Noise reduction", "Strength of noise reduction"), 0..=100_000, 0)),
        Property::plain(boolean(("interlaced", "Interlaced", "Without effect: the caps say it"), false)),
    ]
});

/// The default of x264 without preset and tuning, beside those of the properties.
const OTHER_DEFAULTS: [(&str, &str); 3] = [("interlaced", "0"), ("deblock", "0,0"), ("weightp", "0")];

/// The values of the properties.
#[derive(Clone, Debug)]
pub struct Settings {
    values: HashMap<&'static str, glib::Value>,
    /// The options of properties that were set, in that order.
    options: Vec<(&'static str, String)>,
}

// SAFETY: the values are numbers, choices and text, none of which is tied to a thread.
unsafe impl Send for Settings {}

impl Default for Settings {
    fn default() -> Self {
        let value = |property: &Property| (property.spec.name(), property.spec.default_value().clone());
        Self { values: PROPERTIES.iter().map(value).collect(), options: Vec::new() }
    }
}

/// `value` as x264 reads it; `None` if it says nothing.
fn option_text(value: &glib::Value) -> Option<String> {
    if let Ok(is_on) = value.get::<bool>() {
        Some(u8::from(is_on).to_string())
    } else if let Ok(number) = value.get::<u32>() {
        Some(number.to_string())
    } else if let Ok(number) = value.get::<i32>() {
        Some(number.to_string())
    } else if let Ok(number) = value.get::<f32>() {
        Some(format!("{number:.6}"))
    } else if let Ok(flags) = value.get::<MotionX264EncAnalyse>() {
        let nicks: Vec<_> = flags.iter_names().map(|(name, _)| name.to_lowercase()).collect();
        (!nicks.is_empty()).then(|| nicks.join(","))
    } else if let Some((_, of)) = glib::EnumValue::from_value(value) {
        Some(of.nick().into())
    } else {
        value.get::<Option<String>>().ok().flatten()
    }
}

impl Settings {
    /// The specifications of the properties.
    pub fn param_specs() -> Vec<glib::ParamSpec> {
        PROPERTIES.iter().map(|property| property.spec.clone()).collect()
    }

    /// Sets the property of `spec` to `value`, which GObject has checked to be of its type.
    pub fn set(&mut self, spec: &glib::ParamSpec, value: &glib::Value) {
        let Some(property) = PROPERTIES.iter().find(|property| property.spec.name() == spec.name()) else {
            unreachable!("no property {}", spec.name())
        };
        let value = gstmotionestimate::shared::readable(value).into_owned();
        if let (Some(option), Some(text)) = (property.option, option_text(&value)) {
            self.options.retain(|(set, _)| *set != option);
            self.options.push((option, text));
        }
        self.values.insert(property.spec.name(), value);
    }

    /// The value of a property.
    pub fn value(&self, name: &str) -> glib::Value {
        self.values[name].clone()
    }

    /// The value of a property, of type `T`.
    pub fn get<T: for<'a> glib::value::FromValue<'a>>(&self, name: &str) -> T {
        self.values[name].get().unwrap_or_else(|error| unreachable!("the property {name}: {error}"))
    }

    /// The text of a property; empty for NULL.
    pub fn text(&self, name: &str) -> String {
        self.get::<Option<String>>(name).unwrap_or_default()
    }

    /// The options of x264 that stand for the defaults of all properties.
    pub fn default_options() -> impl Iterator<Item = (&'static str, String)> {
        let of = |property: &Property| Some((property.option?, option_text(property.spec.default_value())?));
        let others = OTHER_DEFAULTS.iter().map(|&(option, text)| (option, text.to_owned()));
        PROPERTIES.iter().filter_map(of).chain(others)
    }

    /// The options of properties that were set, in that order.
    pub fn options(&self) -> &[(&'static str, String)] {
        &self.options
    }
}
