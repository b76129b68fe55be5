//! The writable properties, and the parameters and device session that they ask for.

use glib::prelude::*;
use glib::{
    ParamSpecBoolean, ParamSpecBoxed, ParamSpecEnum, ParamSpecFlags, ParamSpecInt, ParamSpecString,
    ParamSpecUInt,
};
use gst::prelude::*;

use super::tuning::tuning;
use super::{
    MotionEstimateAlgorithm, MotionEstimateBorder, MotionEstimateCosts, MotionEstimateDirection,
    MotionEstimateKernel, MotionEstimateMetric, MotionEstimatePrediction, MotionEstimateQuality,
    MotionEstimateSceneCut, MotionEstimateSubSample,
};
use crate::settings::{DeviceSettings, LevelSettings, settings};
use motion_search::backend;
use motion_search::estimator::{Algorithm, Parameters, References, SetupError, Window};
use motion_search::session::Session;

/// `search-range-y` for the same range on both axes.
const SAME_RANGE: i32 = -1;

/// The largest `search-range`.
const MAX_RANGE: u32 = 1024;

settings! {
    /// The values of the writable properties.
    Settings with devices: DeviceSettings, with levels: LevelSettings;
    algorithm: MotionEstimateAlgorithm = Default::default(),
        "algorithm", "Algorithm", "Search algorithm. It decides which vectors are found",
        ParamSpecEnum::builder_with_default;
    quality: MotionEstimateQuality = Default::default(),
        "quality", "Quality", "How much algorithm=hierarchical does for the truth of its vectors",
        ParamSpecEnum::builder_with_default;
    sub_sample: MotionEstimateSubSample = Default::default(),
        "sub-sample", "Sub-sample", "Precision of the vectors of algorithm=full and three-step",
        ParamSpecEnum::builder_with_default;
    kernel: MotionEstimateKernel = Default::default(),
        "kernel", "Kernel", "Method of the search on the device. It changes the speed, never the vectors",
        ParamSpecEnum::builder_with_default;
    block_size: u32 = 16,
        "block-size", "Block size", "Side of a block in samples, a multiple of 4. Each block gets one vector",
        |name, default| ParamSpecUInt::builder(name).minimum(4).maximum(64).default_value(default);
    search_range: u32 = 16,
        "search-range", "Search range", "Maximum displacement to the left, right, top and bottom, in samples",
        |name, default| ParamSpecUInt::builder(name).minimum(1).maximum(MAX_RANGE).default_value(default);
    search_range_y: i32 = SAME_RANGE,
        "search-range-y", "Vertical search range",
        "Maximum displacement to the top and bottom, in samples (-1 = as search-range, 0 = none)",
        |name, default| {
            ParamSpecInt::builder(name).minimum(SAME_RANGE).maximum(MAX_RANGE as i32).default_value(default)
        };
    search_window: String = String::new(),
        "search-window", "Search window",
        "Displacements of the candidates, instead of the search ranges: the side of the searched area in samples, such as \
         47, or x0,x1,y0,y1, such as -16,15,-16,15 (empty = by the search ranges)",
        |name, _| ParamSpecString::builder(name).default_value(Some(""));
    metric: MotionEstimateMetric = Default::default(),
        "metric", "Metric", "Cost of a match between two blocks. The match with the lowest cost wins",
        ParamSpecEnum::builder_with_default;
    border: MotionEstimateBorder = Default::default(),
        "border", "Border", "How candidates outside the reference frame are treated",
        ParamSpecEnum::builder_with_default;
    direction: MotionEstimateDirection = Default::default(),
        "direction", "Direction", "Whether each frame is searched in earlier frames, in later ones, or in both",
        ParamSpecEnum::builder_with_default;
    references: u32 = 1,
        "references", "References",
        "Frames in which each frame is searched, each way. Each gives a MotionVectorMeta; each later one adds one frame \
         of latency",
        |name, default| {
            ParamSpecUInt::builder(name).minimum(1).maximum(References::MOST as u32).default_value(default)
        };
    tuning: Option<gst::Structure> = None,
        "tuning", "Tuning",
        "Tuning of an OpenCL device, for example motion-tuning,group-size=64. It changes the speed, never the vectors",
        |name, _| ParamSpecBoxed::builder::<gst::Structure>(name);
    prediction: MotionEstimatePrediction = Default::default(),
        "prediction", "Prediction", "Also attach vectors predicted from the neighbouring blocks, as H.264 defines them",
        ParamSpecEnum::builder_with_default;
    costs: MotionEstimateCosts = MotionEstimateCosts::empty(),
        "costs", "Costs", "Also attach these numbers of each block, for encoders and analysis",
        |name, default| ParamSpecFlags::builder(name).default_value(default);
    scene_cut: MotionEstimateSceneCut = Default::default(),
        "scene-cut", "Scene cut", "What happens where a frame begins another scene",
        ParamSpecEnum::builder_with_default;
    keep_fields: bool = false,
        "keep-fields", "Keep fields",
        "Keep the motion fields that buffers come with, before those of this element, instead of removing them",
        |name, default| ParamSpecBoolean::builder(name).default_value(default);
    drop_duplicates: bool = false,
        "drop-duplicates", "Drop duplicates", "Drop frames that equal the frame before in all their planes",
        |name, default| ParamSpecBoolean::builder(name).default_value(default);
    drop_lossy_duplicates: bool = false,
        "drop-lossy-duplicates", "Drop lossy duplicates",
        "Drop frames that differ from the frame before by coding noise alone",
        |name, default| ParamSpecBoolean::builder(name).default_value(default);
}

impl Settings {
    /// Whether frames that repeat the frame before are dropped.
    pub fn drops_duplicates(&self) -> bool {
        self.drop_duplicates || self.drop_lossy_duplicates
    }

    /// The displacements of the candidates.
    ///
    /// # Errors
    /// As [`Window::from_text`], and [`SetupError::WindowAlgorithm`].
    fn window(&self) -> Result<Window, SetupError> {
        if !self.search_window.is_empty() {
            let window = Window::from_text(&self.search_window, self.block_size as usize)?;
            let has_window = self.algorithm != MotionEstimateAlgorithm::Hierarchical;
            return if has_window { Ok(window) } else { Err(SetupError::WindowAlgorithm) };
        }
        let x = self.search_range as i32;
        let y = if self.search_range_y == SAME_RANGE { x } else { self.search_range_y };
        Window::symmetric(x, y)
    }

    /// The parameters of searches in frames of `width × height` samples of `bit_depth` bits.
    ///
    /// # Errors
    /// [`SetupError`] of the search window.
    pub fn parameters(&self, (width, height): (u32, u32), bit_depth: u32) -> Result<Parameters, SetupError> {
        let references = |is_searched| if is_searched { self.references as usize } else { 0 };
        let algorithm: Algorithm = self.algorithm.into();
        Ok(Parameters {
            width: width as usize,
            height: height as usize,
            block_size: self.block_size as usize,
            window: self.window()?,
            // Hierarchical search has no other costs than those of eight bits.
            bit_depth: if algorithm == Algorithm::Hierarchical { 8 } else { bit_depth },
            algorithm,
            quality: self.quality.into(),
            sub_sample: self.sub_sample.into(),
            metric: self.metric.into(),
            border: self.border.into(),
            prediction: self.prediction.into(),
            costs: self.costs.into(),
            scene_cut: self.scene_cut != MotionEstimateSceneCut::Off,
            references: References {
                backward: references(self.direction != MotionEstimateDirection::Forward),
                forward: references(self.direction != MotionEstimateDirection::Backward),
            },
        })
    }

    /// The session for frames of this size, width and height, with samples of `bit_depth` bits.
    ///
    /// # Errors
    /// As [`backend::Opener::open`], and [`SetupError::Tuning`].
    pub fn open<T: Default>(
        &self,
        size: (u32, u32),
        bit_depth: u32,
    ) -> Result<(Session<T>, backend::Choice), SetupError> {
        let parameters = self.parameters(size, bit_depth)?;
        self.devices.open(self.kernel.into(), tuning(self.tuning.as_deref())?, &parameters)
    }

    /// Checks what no frame can make right: settings that do not go together, and devices that do not exist.
    ///
    /// # Errors
    /// As [`backend::check`], and [`SetupError::Tuning`].
    pub fn check(&self) -> Result<(), SetupError> {
        let parameters = self.parameters((self.block_size, self.block_size), 8)?;
        self.devices.check(self.kernel.into(), tuning(self.tuning.as_deref())?, &parameters)
    }
}
