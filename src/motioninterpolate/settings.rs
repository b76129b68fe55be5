//! The writable properties.

use glib::prelude::*;
use glib::{ParamSpecBoolean, ParamSpecDouble, ParamSpecEnum};
use gst::prelude::*;

use super::ratio::Ratio;
use super::{MotionInterpolateMode, MotionInterpolateQuality, MotionInterpolateSceneCut};
use crate::settings::{DeviceSettings, LevelSettings, settings};
use motion_frames::interpolation::SceneCutThreshold;

settings! {
    /// The values of the writable properties.
    InterpolationSettings with devices: DeviceSettings, with levels: LevelSettings;
    mode: MotionInterpolateMode = Default::default(),
        "mode", "Mode", "What a frame between two input frames is made of",
        ParamSpecEnum::builder_with_default;
    quality: MotionInterpolateQuality = Default::default(),
        "quality", "Quality", "How much mode=motion does for the frames that it makes",
        ParamSpecEnum::builder_with_default;
    scene_cut: MotionInterpolateSceneCut = Default::default(),
        "scene-cut", "Scene cut", "What mode=motion does between two input frames of different scenes",
        ParamSpecEnum::builder_with_default;
    scene_cut_threshold: f64 = SceneCutThreshold::DEFAULT_PERCENT,
        "scene-cut-threshold", "Scene cut threshold",
        "Percentage of the detail that must have no match in the next frame for scene-cut=auto to find a scene cut: less \
         finds more cuts, 100 none",
        |name, default| ParamSpecDouble::builder(name).minimum(0.0).maximum(100.0).default_value(default);
    rate: f64 = 1.0,
        "rate", "Rate",
        "Speed of the output: 0.5 is slow motion of half the speed, which takes twice as long",
        |name, default| {
            ParamSpecDouble::builder(name).minimum(0.01).maximum(100.0).default_value(default).controllable()
        };
    drop_lossy_duplicates: bool = false,
        "drop-lossy-duplicates", "Drop lossy duplicates",
        "Drop frames that differ from the frame before by coding noise alone",
        |name, default| ParamSpecBoolean::builder(name).default_value(default);
}

impl InterpolationSettings {
    /// The same for frames of which none can be made: they are repeated.
    pub fn repeating(self) -> Self {
        Self { mode: MotionInterpolateMode::Repeat, drop_lossy_duplicates: false, ..self }
    }

    /// The frames that may wait while they are searched.
    pub fn delay(&self) -> usize {
        if self.mode == MotionInterpolateMode::Motion { self.devices.pipeline_depth as usize - 1 } else { 0 }
    }

    /// Whether a frame waits until the motion of the one after it is known.
    pub fn looks_ahead(&self) -> bool {
        self.mode == MotionInterpolateMode::Motion && self.quality == MotionInterpolateQuality::High
    }

    /// How much two frames must differ to show different scenes: so much that none do where no cut is wanted.
    pub fn scene_cut_threshold(&self) -> SceneCutThreshold {
        let percent = match self.scene_cut {
            MotionInterpolateSceneCut::Auto => self.scene_cut_threshold,
            MotionInterpolateSceneCut::Off => 100.0,
        };
        SceneCutThreshold::new(percent).unwrap_or_default()
    }

    /// The speed as the simplest ratio that is the property's number.
    pub fn speed(&self) -> Ratio {
        gst::Fraction::approximate_f64(self.rate)
            .and_then(|rate| Ratio::new(rate.numer(), rate.denom()))
            .unwrap_or(Ratio::ONE)
    }
}
