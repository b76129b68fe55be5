//! The writable properties.

use glib::prelude::*;
use glib::{ParamSpecDouble, ParamSpecEnum, ParamSpecUInt};
use gst::prelude::*;

use super::DenoiseSpatial;
use crate::settings::{DeviceSettings, LevelSettings, settings};
use motion_frames::denoising::{NoiseLevel, Strength};
use motion_search::estimator::References;

settings! {
    /// The values of the writable properties.
    DenoiseSettings with devices: DeviceSettings, with levels: LevelSettings;
    strength: f64 = 1.0,
        "strength", "Strength",
        "How much noise is taken out: factor of the variance of the noise that is measured, or set by noise-level (0 = frames pass untouched)",
        |name, default| ParamSpecDouble::builder(name).minimum(0.0).maximum(16.0).default_value(default);
    noise_level: f64 = -1.0,
        "noise-level", "Noise level",
        "Standard deviation of the noise in levels of 8 bits, in all planes (-1 = measured in each frame)",
        |name, default| {
            ParamSpecDouble::builder(name).minimum(-1.0).maximum(NoiseLevel::MOST).default_value(default)
        };
    spatial: DenoiseSpatial = DenoiseSpatial::Auto,
        "spatial", "Spatial",
        "Whether noise that time leaves is taken out inside frames, too",
        ParamSpecEnum::builder_with_default;
    past: u32 = 2,
        "past", "Past frames", "Earlier frames that each frame is averaged with",
        |name, default| ParamSpecUInt::builder(name).maximum(References::MOST as u32).default_value(default);
    future: u32 = 2,
        "future", "Future frames",
        "Later frames that each frame is averaged with, by which it is delayed (0 = no delay)",
        |name, default| ParamSpecUInt::builder(name).maximum(References::MOST as u32).default_value(default);
    significant_bits: u32 = 16,
        "significant-bits", "Significant bits",
        "Lower bits of each sample that count, with formats of 16 bits: 12 for cameras that deliver Mono12 as GRAY16",
        |name, default| ParamSpecUInt::builder(name).minimum(9).maximum(16).default_value(default);
}

impl DenoiseSettings {
    /// The frames that each frame is averaged with; `None` if nothing is to change.
    pub fn references(&self) -> Option<References> {
        let references = References { backward: self.past as usize, forward: self.future as usize };
        (references.is_usable() && !self.strength().is_none()).then_some(references)
    }

    /// How many frames wait behind the one that leaves next.
    pub fn delay(&self) -> usize {
        self.future as usize + self.devices.pipeline_depth as usize - 1
    }

    /// How many frames are there at once to be averaged.
    pub fn loaded(&self) -> usize {
        self.past as usize + 1 + self.delay()
    }

    /// How many buffers are held: a repeat of a frame leaves behind it, and what it was averaged with stays until then.
    pub fn held(&self) -> usize {
        self.loaded() + 1
    }

    pub fn strength(&self) -> Strength {
        Strength::new(self.strength)
    }

    /// What is taken out. A noise level that is less than 0 is measured.
    pub fn removal(&self) -> Removal {
        Removal {
            level: NoiseLevel::known(self.noise_level).unwrap_or(NoiseLevel::MEASURED),
            strength: self.strength(),
            is_spatial: self.spatial == DenoiseSpatial::Auto,
        }
    }
}

/// What is taken out of frames.
#[derive(Clone, Copy)]
pub struct Removal {
    /// The noise that they have.
    pub level: NoiseLevel,
    pub strength: Strength,
    /// Whether it is also taken out inside frames.
    pub is_spatial: bool,
}
