//! The writable properties.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use glib::prelude::*;
use glib::{
    ParamSpecBoolean, ParamSpecDouble, ParamSpecEnum, ParamSpecInt, ParamSpecString, ParamSpecUInt,
    ParamSpecUInt64,
};
use gst::prelude::*;

use super::DetectDrop;
use crate::settings::{LevelSettings, settings};
use motion_detect::{Mask, MaskError, Settings};
use motion_search::estimator::Parameters;

const MILLISECOND: u64 = 1_000_000;

/// An hour, in ns: the longest of the times that can be set.
const LONGEST: u64 = 3_600_000 * MILLISECOND;

/// The most bytes of a file with a mask: 2^26 samples, and a header with comments.
const MOST_BYTES: u64 = (1 << 26) + (1 << 16);

settings! {
    /// The values of the writable properties.
    DetectSettings with levels: LevelSettings;
    sensitivity: f64 = 0.5,
        "sensitivity", "Sensitivity",
        "How faint motion may be: 0 = only what is unmistakable, 1 = the faintest, with false alarms",
        |name, default| ParamSpecDouble::builder(name).minimum(0.0).maximum(1.0).default_value(default);
    least_size: u32 = 0,
        "least-size", "Least size",
        "Regions that have fewer samples across or down are ignored",
        |name, default| {
            ParamSpecUInt::builder(name).maximum(Parameters::MAX_FRAME_SIDE as u32).default_value(default)
        };
    least_duration: u64 = 100 * MILLISECOND,
        "least-duration", "Least duration",
        "How long something must be seen before its region begins, in ns",
        |name, default| ParamSpecUInt64::builder(name).maximum(LONGEST).default_value(default);
    hold: u64 = 1000 * MILLISECOND,
        "hold", "Hold",
        "How long a region stays open after it was last seen, in ns",
        |name, default| ParamSpecUInt64::builder(name).maximum(LONGEST).default_value(default);
    settle: u64 = 2000 * MILLISECOND,
        "settle", "Settle",
        "How long after a change of light, or in a new scene, only what travels begins a region, in ns",
        |name, default| ParamSpecUInt64::builder(name).maximum(LONGEST).default_value(default);
    mask: String = String::new(),
        "mask", "Mask",
        "Where motion counts: polygons of corners x,y as shares of the frame, such as \"0,0.5 1,0.5 1,1 0,1\", several separated by \
         semicolons; or the name of a PGM file of at most 2^26 samples that is white there and ends with .pgm (empty = everywhere)",
        |name, _| ParamSpecString::builder(name).default_value("");
    delta_qp: i32 = 0,
        "delta-qp", "Delta QP",
        "Offset of the quantiser in regions, as x264enc reads it from regions of interest: negative = better (0 = none)",
        |name, default| ParamSpecInt::builder(name).minimum(-51).maximum(51).default_value(default);
    drop: DetectDrop = DetectDrop::None,
        "drop", "Drop", "Which frames are dropped",
        ParamSpecEnum::builder_with_default;
    pre_roll: u64 = 0,
        "pre-roll", "Pre-roll",
        "With drop=still, for how long before a region begins frames pass, in ns; all frames are delayed by this",
        |name, default| ParamSpecUInt64::builder(name).maximum(LONGEST).default_value(default);
    post_roll: u64 = 2000 * MILLISECOND,
        "post-roll", "Post-roll",
        "With drop=still, for how long frames pass after the last region has ended, in ns",
        |name, default| ParamSpecUInt64::builder(name).maximum(LONGEST).default_value(default);
    messages: bool = true,
        "messages", "Messages", "Whether motion-begin and motion-end are posted on the bus",
        |name, default| ParamSpecBoolean::builder(name).default_value(default);
}

/// Why the mask cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MaskSettingError {
    #[error(transparent)]
    Mask(#[from] MaskError),
    #[error("cannot read the mask {0}: {1}")]
    File(String, io::Error),
    #[error(
        "the mask {0} has more than {MOST_BYTES} bytes: save it with fewer samples, it is stretched over the frame"
    )]
    Size(String),
}

/// The bytes of `file`, which holds a mask.
fn read_mask(file: &str) -> Result<Vec<u8>, MaskSettingError> {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|opened| opened.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) if bytes.len() as u64 > MOST_BYTES => Err(MaskSettingError::Size(file.into())),
        Ok(_) => Ok(bytes),
        Err(error) => Err(MaskSettingError::File(file.into(), error)),
    }
}

impl DetectSettings {
    /// What the detector is told.
    ///
    /// # Errors
    /// [`MaskSettingError`].
    pub fn detector(&self) -> Result<Settings, MaskSettingError> {
        let is_file = Path::new(&self.mask).extension().is_some_and(|name| name.eq_ignore_ascii_case("pgm"));
        let mask = match is_file {
            true => Some(Mask::from_pgm(&read_mask(&self.mask)?)?),
            false => Mask::parse(&self.mask)?,
        };
        Ok(Settings {
            sensitivity: self.sensitivity,
            least_size: (self.least_size, self.least_size),
            least_duration: Duration::from_nanos(self.least_duration),
            hold: Duration::from_nanos(self.hold),
            settle: Duration::from_nanos(self.settle),
            mask,
        })
    }

    /// Whether the detector is told the same.
    pub fn detects_as(&self, other: &Self) -> bool {
        let told = |settings: &Self| {
            let Self { least_size, least_duration, hold, settle, .. } = *settings;
            (settings.sensitivity.to_bits(), least_size, least_duration, hold, settle)
        };
        told(self) == told(other) && self.mask == other.mask
    }

    /// How long frames wait.
    pub fn wait(&self) -> gst::ClockTime {
        match self.drop {
            DetectDrop::None => gst::ClockTime::ZERO,
            DetectDrop::Still => gst::ClockTime::from_nseconds(self.pre_roll),
        }
    }
}
