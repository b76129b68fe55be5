//! The properties: those of `x264enc`, and `motion-strength`.

use std::ops::RangeInclusive;

use glib::prelude::*;
use glib::translate::{FromGlib, IntoGlib};
use glib::{ParamSpecBoolean, ParamSpecDouble, ParamSpecEnum, ParamSpecFlags, ParamSpecString};
use gst::prelude::*;

use super::values::*;

/// Declares the values and their properties. An entry has the field, its type and default, then the property's name, the option
/// of x264 that it sets if it sets one, when it may change, nick, blurb, and what makes a builder of its specification from
/// name and default.
macro_rules! settings {
    ($(
        $field:ident: $type:ty = $default:expr,
        $name:literal $(as $option:literal)?, $mutable:ident, $nick:literal, $blurb:literal, $spec:expr;
    )+) => {
        /// The values of the properties.
        #[derive(Clone, Debug)]
        pub struct Settings {
            $(pub $field: $type,)+
            /// The options of properties that were set, in that order.
            options: Vec<(&'static str, String)>,
        }

        impl Default for Settings {
            fn default() -> Self {
                Self { $($field: $default,)+ options: Vec::new() }
            }
        }

        impl Settings {
            /// The specifications of the properties.
            pub fn param_specs() -> Vec<glib::ParamSpec> {
                let default = Self::default();
                vec![$({
                    let spec = $spec;
                    spec($name, default.$field).nick($nick).blurb($blurb).$mutable().build()
                },)+]
            }

            /// Sets the property `name` to `value`, which GObject has checked to be of its type. It sets no property but
            /// those of [`Self::param_specs`].
            pub fn set(&mut self, name: &str, value: &glib::Value) {
                let value = &*gst_motion_fields::properties::readable(value);
                match name {
                    $($name => {
                        self.$field = value.get().unwrap_or(Self::default().$field);
                        $(if let Some(text) = self.$field.option_text() {
                            self.options.retain(|(option, _)| *option != $option);
                            self.options.push(($option, text));
                        })?
                    })+
                    _ => (),
                }
            }

            /// The value of the property of `spec`, one of [`Self::param_specs`].
            pub fn value(&self, spec: &glib::ParamSpec) -> glib::Value {
                match spec.name() {
                    $($name => self.$field.to_value(),)+
                    _ => spec.default_value().clone(),
                }
            }

            /// The options of x264 that stand for the defaults of all properties, in the order of these.
            pub fn default_options() -> Vec<(&'static str, String)> {
                let default = Self::default();
                let options = [$($(($option, default.$field.option_text()),)?)+];
                let of_properties = options.into_iter().filter_map(|(option, text)| Some((option, text?)));
                let others = OTHER_DEFAULTS.iter().map(|&(option, text)| (option, text.to_owned()));
                of_properties.chain(others).collect()
            }
        }
    };
}

/// The default of x264 without preset and tuning, beside those of the properties.
const OTHER_DEFAULTS: [(&str, &str); 3] = [("interlaced", "0"), ("deblock", "0,0"), ("weightp", "0")];

const INT_MAX: u32 = i32::MAX as u32;

/// The default of `multipass-cache-file`.
const CACHE_FILE: &str = "x264.log";

settings! {
    motion_strength: f64 = 1.0,
        "motion-strength", mutable_playing, "Motion strength",
        "Strength of the quantiser offsets that follow from motion fields with costs (0 = x264 as it is). It changes between \
         frames; 0 at the start also leaves out what is prepared for blocks that stay as they are",
        |name, default| ParamSpecDouble::builder(name).minimum(0.0).maximum(4.0).default_value(default);
    pass: MotionX264EncPass = Default::default(),
        "pass", mutable_ready, "Pass", "How bits are spent, and which pass it is", choice;
    quantizer: u32 = 21,
        "quantizer", mutable_ready, "Quantiser", "Quantiser of pass=quant, quality of pass=qual: lower is better",
        uint(0..=50);
    bitrate: u32 = 2048,
        "bitrate", mutable_playing, "Bit rate", "Bit rate in kbit/s", uint(1..=2_048_000);
    vbv_buf_capacity: u32 = 600,
        "vbv-buf-capacity", mutable_playing, "VBV buffer capacity", "What the decoder buffers, in milliseconds",
        uint(0..=10_000);
    speed_preset: MotionX264EncPreset = Default::default(),
        "speed-preset", mutable_ready, "Speed preset",
        "Speed against compression. A preset may use what a decoder does not know: limit the profile in the caps", choice;
    psy_tune: MotionX264EncPsyTune = Default::default(),
        "psy-tune", mutable_ready, "Psychovisual tuning", "What the compression is tuned for", choice;
    tune: MotionX264EncTune = MotionX264EncTune::empty(),
        "tune", mutable_ready, "Tuning", "What the stream is tuned for", flags;
    option_string: Option<String> = Some(String::new()),
        "option-string", mutable_ready, "Option string",
        "Options of x264, as key1=value1:key2=value2; properties that are set win", string("");
    frame_packing: MotionX264EncFramePacking = Default::default(),
        "frame-packing", mutable_ready, "Frame packing", "How the two views of stereoscopic video lie in frames", choice;
    insert_vui: bool = true,
        "insert-vui", mutable_ready, "Insert VUI", "Write usability information (colours)", boolean;
    nal_hrd: MotionX264EncNalHrd = Default::default(),
        "nal-hrd", mutable_ready, "NAL HRD", "Signalling for the hypothetical reference decoder", choice;
    threads: u32 = 0,
        "threads" as "threads", mutable_ready, "Threads", "Threads (0 = as many as are useful)", uint(0..=INT_MAX);
    sliced_threads: bool = false,
        "sliced-threads" as "sliced-threads", mutable_ready, "Sliced threads",
        "Threads share a frame: less latency, less compression", boolean;
    sync_lookahead: i32 = -1,
        "sync-lookahead" as "sync-lookahead", mutable_ready, "Sync lookahead",
        "Frames between lookahead and encoder (-1 = automatic)", int(-1..=250);
    multipass_cache_file: Option<String> = Some(CACHE_FILE.into()),
        "multipass-cache-file" as "stats", mutable_ready, "Multipass cache file", "File between several passes",
        string(CACHE_FILE);
    byte_stream: bool = false,
        "byte-stream", mutable_ready, "Byte stream", "Write start codes, where the caps downstream leave it open", boolean;
    intra_refresh: bool = false,
        "intra-refresh" as "intra-refresh", mutable_ready, "Intra refresh",
        "Refresh column by column in place of key units", boolean;
    me: MotionX264EncMe = Default::default(),
        "me" as "me", mutable_ready, "Motion estimation", "Search of whole samples", choice;
    subme: u32 = 1,
        "subme" as "subme", mutable_ready, "Subpixel motion estimation",
        "Search between samples, and decisions: 1 is fast, 10 is best", uint(1..=10);
    analyse: MotionX264EncAnalyse = MotionX264EncAnalyse::empty(),
        "analyse" as "partitions", mutable_ready, "Analyse", "Partitions that are tried", flags;
    dct8x8: bool = false,
        "dct8x8" as "8x8dct", mutable_ready, "DCT 8x8", "Choose the size of the transform", boolean;
    references: u32 = 3,
        "ref" as "ref", mutable_ready, "Reference frames", "Number of reference frames", uint(1..=16);
    bframes: u32 = 0,
        "bframes" as "bframes", mutable_ready, "B-frames", "B-frames between others", uint(0..=16);
    b_adapt: bool = true,
        "b-adapt" as "b-adapt", mutable_ready, "B-adapt", "Decide how many B-frames to use", boolean;
    b_pyramid: bool = false,
        "b-pyramid" as "b-pyramid", mutable_ready, "B-pyramid", "B-frames may be references", boolean;
    weightb: bool = false,
        "weightb" as "weightb", mutable_ready, "Weighted B-frames", "Weighted prediction of B-frames", boolean;
    sps_id: u32 = 0,
        "sps-id" as "sps-id", mutable_ready, "SPS ID", "Number of the parameter sets", uint(0..=31);
    aud: bool = true,
        "aud" as "aud", mutable_ready, "AUD", "Write access unit delimiters", boolean;
    trellis: bool = true,
        "trellis" as "trellis", mutable_ready, "Trellis", "Quantise by trellis search", boolean;
    key_int_max: u32 = 0,
        "key-int-max" as "keyint", mutable_ready, "Key unit interval",
        "Most frames from one key unit to the next (0 = automatic)", uint(0..=INT_MAX);
    cabac: bool = true,
        "cabac" as "cabac", mutable_ready, "CABAC", "Arithmetic coding", boolean;
    qp_min: u32 = 10,
        "qp-min" as "qpmin", mutable_ready, "Minimum quantiser", "Least quantiser", uint(0..=63);
    qp_max: u32 = 51,
        "qp-max" as "qpmax", mutable_ready, "Maximum quantiser", "Largest quantiser", uint(0..=63);
    qp_step: u32 = 4,
        "qp-step" as "qpstep", mutable_ready, "Quantiser step", "Largest difference between frames", uint(0..=63);
    ip_factor: f32 = 1.4,
        "ip-factor" as "ip-factor", mutable_ready, "IP factor", "Quantisers of P-frames over those of I-frames", float;
    pb_factor: f32 = 1.3,
        "pb-factor" as "pb-factor", mutable_ready, "PB factor", "Quantisers of B-frames over those of P-frames", float;
    mb_tree: bool = true,
        "mb-tree" as "mbtree", mutable_ready, "Macroblock tree", "Spend bits where later frames refer to", boolean;
    rc_lookahead: i32 = 40,
        "rc-lookahead" as "rc-lookahead", mutable_ready, "Rate control lookahead", "Frames that rate control looks ahead",
        int(0..=250);
    noise_reduction: u32 = 0,
        "noise-reduction" as "nr", mutable_ready, "Noise reduction", "Strength of noise reduction", uint(0..=100_000);
    interlaced: bool = false,
        "interlaced", mutable_ready, "Interlaced", "Without effect: the caps say it", boolean;
}

impl Settings {
    /// The options of properties that were set, in that order.
    pub fn options(&self) -> &[(&'static str, String)] {
        &self.options
    }
}

fn uint(range: RangeInclusive<u32>) -> impl Fn(&'static str, u32) -> glib::ParamSpecUIntBuilder<'static> {
    move |name, default| {
        let builder = glib::ParamSpecUInt::builder(name).minimum(*range.start()).maximum(*range.end());
        builder.default_value(default)
    }
}

fn int(range: RangeInclusive<i32>) -> impl Fn(&'static str, i32) -> glib::ParamSpecIntBuilder<'static> {
    move |name, default| {
        let builder = glib::ParamSpecInt::builder(name).minimum(*range.start()).maximum(*range.end());
        builder.default_value(default)
    }
}

fn float(name: &'static str, default: f32) -> glib::ParamSpecFloatBuilder<'static> {
    glib::ParamSpecFloat::builder(name).minimum(0.0).maximum(2.0).default_value(default)
}

fn boolean(name: &'static str, default: bool) -> glib::ParamSpecBooleanBuilder<'static> {
    ParamSpecBoolean::builder(name).default_value(default)
}

fn string(
    default: &'static str,
) -> impl Fn(&'static str, Option<String>) -> glib::ParamSpecStringBuilder<'static> {
    move |name, _| ParamSpecString::builder(name).default_value(default)
}

fn choice<T>(name: &'static str, default: T) -> glib::ParamSpecEnumBuilder<'static, T>
where
    T: StaticType + FromGlib<i32> + IntoGlib<GlibType = i32>,
{
    ParamSpecEnum::builder_with_default(name, default)
}

fn flags<T>(name: &'static str, default: T) -> glib::ParamSpecFlagsBuilder<'static, T>
where
    T: StaticType + FromGlib<u32> + IntoGlib<GlibType = u32>,
{
    ParamSpecFlags::builder(name).default_value(default)
}

/// The value of a property as x264 reads it.
trait OptionText {
    /// `None` if it says nothing.
    fn option_text(&self) -> Option<String>;
}

impl OptionText for bool {
    fn option_text(&self) -> Option<String> {
        Some(u8::from(*self).to_string())
    }
}

impl OptionText for u32 {
    fn option_text(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl OptionText for i32 {
    fn option_text(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl OptionText for f32 {
    fn option_text(&self) -> Option<String> {
        Some(format!("{self:.6}"))
    }
}

impl OptionText for Option<String> {
    fn option_text(&self) -> Option<String> {
        self.clone()
    }
}

impl OptionText for MotionX264EncMe {
    fn option_text(&self) -> Option<String> {
        Some(nick(*self))
    }
}

impl OptionText for MotionX264EncAnalyse {
    fn option_text(&self) -> Option<String> {
        let names: Vec<_> = self.iter_names().map(|(name, _)| name.to_lowercase()).collect();
        (!names.is_empty()).then(|| names.join(","))
    }
}

/// The nick of a choice.
pub fn nick(choice: impl ToValue) -> String {
    glib::EnumValue::from_value(&choice.to_value())
        .map(|(_, value)| value.nick().to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(options: &[(&'static str, String)]) -> Vec<String> {
        options.iter().map(|(option, text)| format!("{option}={text}")).collect()
    }

    #[test]
    fn defaults_as_options_of_x264() {
        gst::init().unwrap();
        let expected = "threads=0 sliced-threads=0 sync-lookahead=-1 stats=x264.log intra-refresh=0 me=hex subme=1 8x8dct=0 \
                        ref=3 bframes=0 b-adapt=1 b-pyramid=0 weightb=0 sps-id=0 aud=1 trellis=1 keyint=0 cabac=1 qpmin=10 \
                        qpmax=51 qpstep=4 ip-factor=1.400000 pb-factor=1.300000 mbtree=1 rc-lookahead=40 nr=0 interlaced=0 \
                        deblock=0,0 weightp=0";
        assert_eq!(lines(&Settings::default_options()), expected.split(' ').collect::<Vec<_>>());
        for spec in Settings::param_specs() {
            let default = Settings::default().value(&spec);
            assert_eq!(format!("{default:?}"), format!("{:?}", spec.default_value()), "{}", spec.name());
        }
    }

    #[test]
    fn what_is_set_becomes_options_in_that_order() {
        gst::init().unwrap();
        let mut settings = Settings::default();
        settings.set("ref", &5u32.to_value());
        settings.set("pass", &MotionX264EncPass::Quality.to_value());
        settings.set("analyse", &(MotionX264EncAnalyse::P8X8 | MotionX264EncAnalyse::I4X4).to_value());
        settings.set("me", &MotionX264EncMe::UnevenMultiHexagon.to_value());
        settings.set("ip-factor", &1.25f32.to_value());
        settings.set("cabac", &false.to_value());
        settings.set("ref", &2u32.to_value());
        let expected = ["partitions=i4x4,p8x8", "me=umh", "ip-factor=1.250000", "cabac=0", "ref=2"];
        assert_eq!(lines(settings.options()), expected);
        assert_eq!((settings.references, settings.pass), (2, MotionX264EncPass::Quality));
        // What says nothing changes no option.
        settings.set("multipass-cache-file", &None::<String>.to_value());
        settings.set("analyse", &MotionX264EncAnalyse::empty().to_value());
        assert_eq!(lines(settings.options()), expected);
        let specs = Settings::param_specs();
        let value = |name: &str| settings.value(specs.iter().find(|spec| spec.name() == name).unwrap());
        assert_eq!(value("multipass-cache-file").get::<Option<String>>(), Ok(None));
        assert_eq!(value("ref").get::<u32>(), Ok(2));
        // A property of another element changes nothing, and has its default.
        let before = format!("{settings:?}");
        settings.set("search-range", &7u32.to_value());
        assert_eq!(format!("{settings:?}"), before);
        let other = glib::ParamSpecUInt::builder("search-range").default_value(16).build();
        assert_eq!(settings.value(&other).get::<u32>(), Ok(16));
        assert!(settings.analyse.is_empty());
    }
}
