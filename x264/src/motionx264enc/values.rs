//! The values of properties that are choices: those of `x264enc`, with its nicks.
// The macro of flags makes items whose documentation it does not take, and presets say enough by their names.
#![allow(missing_docs)]

use gst::glib;

/// How bits are spent: the property `pass`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[repr(i32)]
#[enum_type(name = "GstMotionX264EncPass")]
#[non_exhaustive]
pub enum MotionX264EncPass {
    /// Constant bit rate.
    #[default]
    #[enum_value(name = "Constant bit rate", nick = "cbr")]
    Cbr = 0,
    /// Constant quantiser.
    #[enum_value(name = "Constant quantiser", nick = "quant")]
    Quantizer = 4,
    /// Constant quality.
    #[enum_value(name = "Constant quality", nick = "qual")]
    Quality = 5,
    /// The first of several passes.
    #[enum_value(name = "Variable bit rate, first pass", nick = "pass1")]
    First = 17,
    /// The last of several passes.
    #[enum_value(name = "Variable bit rate, second pass", nick = "pass2")]
    Second = 18,
    /// A pass between.
    #[enum_value(name = "Variable bit rate, a pass between the first and the last", nick = "pass3")]
    Third = 19,
}

/// Speed against compression: the property `speed-preset`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[repr(i32)]
#[enum_type(name = "GstMotionX264EncPreset")]
#[non_exhaustive]
pub enum MotionX264EncPreset {
    #[enum_value(name = "No preset: the properties' defaults count", nick = "None")]
    None = 0,
    #[enum_value(name = "ultrafast", nick = "ultrafast")]
    Ultrafast = 1,
    #[enum_value(name = "superfast", nick = "superfast")]
    Superfast = 2,
    #[enum_value(name = "veryfast", nick = "veryfast")]
    Veryfast = 3,
    #[enum_value(name = "faster", nick = "faster")]
    Faster = 4,
    #[enum_value(name = "fast", nick = "fast")]
    Fast = 5,
    #[default]
    #[enum_value(name = "medium", nick = "medium")]
    Medium = 6,
    #[enum_value(name = "slow", nick = "slow")]
    Slow = 7,
    #[enum_value(name = "slower", nick = "slower")]
    Slower = 8,
    #[enum_value(name = "veryslow", nick = "veryslow")]
    Veryslow = 9,
    #[enum_value(name = "placebo", nick = "placebo")]
    Placebo = 10,
}

/// What the eye is to like: the property `psy-tune`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[repr(i32)]
#[enum_type(name = "GstMotionX264EncPsyTune")]
#[non_exhaustive]
pub enum MotionX264EncPsyTune {
    #[default]
    #[enum_value(name = "No tuning", nick = "none")]
    None = 0,
    #[enum_value(name = "Film", nick = "film")]
    Film = 1,
    #[enum_value(name = "Animation", nick = "animation")]
    Animation = 2,
    #[enum_value(name = "Grain", nick = "grain")]
    Grain = 3,
    #[enum_value(name = "PSNR", nick = "psnr")]
    Psnr = 4,
    #[enum_value(name = "SSIM", nick = "ssim")]
    Ssim = 5,
}

/// How two views lie in a frame: the property `frame-packing`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[repr(i32)]
#[enum_type(name = "GstMotionX264EncFramePacking")]
#[non_exhaustive]
pub enum MotionX264EncFramePacking {
    #[default]
    #[enum_value(name = "As the caps say", nick = "auto")]
    Auto = -1,
    #[enum_value(name = "Samples of both views alternate in both directions", nick = "checkerboard")]
    Checkerboard = 0,
    #[enum_value(name = "Columns of both views alternate", nick = "column-interleaved")]
    ColumnInterleaved = 1,
    #[enum_value(name = "Rows of both views alternate", nick = "row-interleaved")]
    RowInterleaved = 2,
    #[enum_value(name = "The left view in the left half", nick = "side-by-side")]
    SideBySide = 3,
    #[enum_value(name = "The left view in the upper half", nick = "top-bottom")]
    TopBottom = 4,
    #[enum_value(name = "Frames of both views alternate", nick = "frame-interleaved")]
    FrameInterleaved = 5,
}

impl MotionX264EncFramePacking {
    /// The mode in caps; `None` for [`Self::Auto`].
    pub(super) fn multiview_mode(self) -> Option<&'static str> {
        match self {
            Self::Auto => None,
            Self::Checkerboard => Some("checkerboard"),
            Self::ColumnInterleaved => Some("column-interleaved"),
            Self::RowInterleaved => Some("row-interleaved"),
            Self::SideBySide => Some("side-by-side"),
            Self::TopBottom => Some("top-bottom"),
            Self::FrameInterleaved => Some("frame-by-frame"),
        }
    }
}

/// Signalling for the hypothetical decoder: the property `nal-hrd`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[repr(i32)]
#[enum_type(name = "GstMotionX264EncNalHrd")]
#[non_exhaustive]
pub enum MotionX264EncNalHrd {
    #[default]
    #[enum_value(name = "None", nick = "none")]
    None = 0,
    #[enum_value(name = "Variable bit rate", nick = "vbr")]
    Vbr = 1,
    #[enum_value(name = "Constant bit rate, with padding", nick = "cbr")]
    Cbr = 2,
}

/// How x264 searches whole samples: the property `me`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[repr(i32)]
#[enum_type(name = "GstMotionX264EncMe")]
#[non_exhaustive]
pub enum MotionX264EncMe {
    #[enum_value(name = "dia", nick = "dia")]
    Diamond = 0,
    #[default]
    #[enum_value(name = "hex", nick = "hex")]
    Hexagon = 1,
    #[enum_value(name = "umh", nick = "umh")]
    UnevenMultiHexagon = 2,
    #[enum_value(name = "esa", nick = "esa")]
    Exhaustive = 3,
    #[enum_value(name = "tesa", nick = "tesa")]
    TransformedExhaustive = 4,
}

/// Partitions of macroblocks: the property `analyse`.
#[glib::flags(name = "GstMotionX264EncAnalyse")]
pub enum MotionX264EncAnalyse {
    #[flags_value(name = "i4x4", nick = "i4x4")]
    I4X4 = 0x1,
    #[flags_value(name = "i8x8", nick = "i8x8")]
    I8X8 = 0x2,
    #[flags_value(name = "p8x8", nick = "p8x8")]
    P8X8 = 0x10,
    #[flags_value(name = "p4x4", nick = "p4x4")]
    P4X4 = 0x20,
    #[flags_value(name = "b8x8", nick = "b8x8")]
    B8X8 = 0x100,
}

/// What the stream is for: the property `tune`.
#[glib::flags(name = "GstMotionX264EncTune")]
pub enum MotionX264EncTune {
    #[flags_value(name = "Still image", nick = "stillimage")]
    STILL_IMAGE = 0x1,
    #[flags_value(name = "Fast decoding", nick = "fastdecode")]
    FAST_DECODE = 0x2,
    #[flags_value(name = "No frame is held back", nick = "zerolatency")]
    ZERO_LATENCY = 0x4,
}
