//! The writable properties: their values, their texts, and what they ask for.

use glib::prelude::*;
use gst::prelude::*;

use super::tuning::tuning;
use super::{
    MotionEstimateAlgorithm, MotionEstimateBalance, MotionEstimateBorder, MotionEstimateKernel,
    MotionEstimateMetric, MotionEstimateOnDeviceFailure, MotionEstimatePrediction, MotionEstimateSplit,
};
use crate::backend;
use crate::estimator::{Parameters, SetupError, Tuning, Window};
use crate::session::Session;

/// `search-range-y` for the same range on both axes.
const SAME_RANGE: i32 = -1;

/// The longest `search-range`.
const MAX_RANGE: u32 = 1024;

/// What the writable properties hold, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub algorithm: MotionEstimateAlgorithm,
    pub kernel: MotionEstimateKernel,
    pub device: String,
    pub block_size: u32,
    pub search_range: u32,
    pub search_range_y: i32,
    pub metric: MotionEstimateMetric,
    pub border: MotionEstimateBorder,
    pub tuning: Option<gst::Structure>,
    pub prediction: MotionEstimatePrediction,
    pub pipeline_depth: u32,
    pub threads: u32,
    pub split: MotionEstimateSplit,
    pub balance: MotionEstimateBalance,
    pub on_device_failure: MotionEstimateOnDeviceFailure,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            algorithm: MotionEstimateAlgorithm::default(),
            kernel: MotionEstimateKernel::default(),
            device: "auto".into(),
            block_size: 16,
            search_range: 16,
            search_range_y: SAME_RANGE,
            metric: MotionEstimateMetric::default(),
            border: MotionEstimateBorder::default(),
            tuning: None,
            prediction: MotionEstimatePrediction::default(),
            pipeline_depth: 1,
            threads: 0,
            split: MotionEstimateSplit::default(),
            balance: MotionEstimateBalance::default(),
            on_device_failure: MotionEstimateOnDeviceFailure::default(),
        }
    }
}

impl Settings {
    /// What is searched in frames of `width × height` samples.
    ///
    /// # Errors
    /// [`SetupError::Window`] for ranges that no window has.
    pub fn parameters(&self, width: u32, height: u32) -> Result<Parameters, SetupError> {
        let x = self.search_range as i32;
        let y = if self.search_range_y == SAME_RANGE { x } else { self.search_range_y };
        Ok(Parameters {
            width: width as usize,
            height: height as usize,
            block_size: self.block_size as usize,
            window: Window::symmetric(x, y)?,
            algorithm: self.algorithm.into(),
            metric: self.metric.into(),
            border: self.border.into(),
            prediction: self.prediction.into(),
        })
    }

    /// The session for frames of `width × height` samples.
    ///
    /// # Errors
    /// As [`backend::open`], and [`SetupError::Tuning`].
    pub fn open<T>(&self, width: u32, height: u32) -> Result<(Session<T>, backend::Choice), SetupError> {
        // Any text is a device's name, if not of one that is there.
        let Ok(device) = self.device.parse();
        let tuning = Tuning {
            depth: Some(self.pipeline_depth as usize),
            threads: Some(self.threads as usize),
            ..tuning(self.tuning.as_deref())?
        };
        let grouping = backend::Grouping {
            split: self.split.into(),
            balance: self.balance.into(),
            on_failure: self.on_device_failure.into(),
        };
        let parameters = self.parameters(width, height)?;
        backend::open(&device, self.kernel.into(), &tuning, grouping, &parameters)
    }

    /// The properties that set them.
    pub fn param_specs() -> Vec<glib::ParamSpec> {
        let default = Self::default();
        vec![
            glib::ParamSpecEnum::builder_with_default("algorithm", default.algorithm)
                .nick("Algorithm")
                .blurb("Which vectors are found")
                .mutable_playing()
                .build(),
            glib::ParamSpecEnum::builder_with_default("kernel", default.kernel)
                .nick("Kernel")
                .blurb("How an OpenCL device searches: changes the speed, never the vectors")
                .mutable_playing()
                .build(),
            glib::ParamSpecString::builder("device")
                .nick("Device")
                .blurb(
                    "Who searches: auto (the best OpenCL GPU, else the CPU); native (the CPU without \
                         OpenCL); gpu, cpu, accelerator (the first OpenCL device of that type); P:D \
                         (OpenCL platform and device index); a part of an OpenCL device's name; or several \
                         together: a list with commas, as gpu,native or gpu@0.9,native@0.1 with weights, \
                         or all",
                )
                .default_value(Some(default.device.as_str()))
                .mutable_playing()
                .build(),
            glib::ParamSpecUInt::builder("block-size")
                .nick("Block size")
                .blurb("Side of a block in samples, a multiple of 4: every block gets a vector")
                .minimum(4)
                .maximum(64)
                .default_value(default.block_size)
                .mutable_playing()
                .build(),
            glib::ParamSpecUInt::builder("search-range")
                .nick("Search range")
                .blurb("Longest vector to the left, right, top and bottom, in samples")
                .minimum(1)
                .maximum(MAX_RANGE)
                .default_value(default.search_range)
                .mutable_playing()
                .build(),
            glib::ParamSpecInt::builder("search-range-y")
                .nick("Vertical search range")
                .blurb("Longest vector to the top and bottom, in samples (-1 = as search-range, 0 = none)")
                .minimum(SAME_RANGE)
                .maximum(MAX_RANGE as i32)
                .default_value(default.search_range_y)
                .mutable_playing()
                .build(),
            glib::ParamSpecEnum::builder_with_default("metric", default.metric)
                .nick("Metric")
                .blurb("How two blocks are compared; the best match has the lowest cost")
                .mutable_playing()
                .build(),
            glib::ParamSpecEnum::builder_with_default("border", default.border)
                .nick("Border")
                .blurb("What lies outside the frame that is searched")
                .mutable_playing()
                .build(),
            glib::ParamSpecBoxed::builder::<gst::Structure>("tuning")
                .nick("Tuning")
                .blurb(
                    "How an OpenCL device is used, as motion-tuning,group-size=64: changes the speed, \
                     never the vectors",
                )
                .mutable_playing()
                .build(),
            glib::ParamSpecEnum::builder_with_default("prediction", default.prediction)
                .nick("Prediction")
                .blurb("Whether each vector is predicted from its neighbours: the meta then has predictors")
                .mutable_playing()
                .build(),
            glib::ParamSpecUInt::builder("pipeline-depth")
                .nick("Pipeline depth")
                .blurb(
                    "Frames in flight at once: more keep a device busy, and each but the first adds a \
                     frame's duration of latency",
                )
                .minimum(1)
                .maximum(Tuning::MAX_DEPTH as u32)
                .default_value(default.pipeline_depth)
                .mutable_playing()
                .build(),
            glib::ParamSpecEnum::builder_with_default("split", default.split)
                .nick("Split")
                .blurb("How several devices divide the work: changes the speed, never the vectors")
                .mutable_playing()
                .build(),
            glib::ParamSpecEnum::builder_with_default("balance", default.balance)
                .nick("Balance")
                .blurb("How much of the work each of several devices gets")
                .mutable_playing()
                .build(),
            glib::ParamSpecEnum::builder_with_default("on-device-failure", default.on_device_failure)
                .nick("On device failure")
                .blurb(
                    "What happens when an OpenCL device, or the last of several devices, has failed; before, the \
                     others take its work",
                )
                .mutable_playing()
                .build(),
            glib::ParamSpecUInt::builder("threads")
                .nick("Threads")
                .blurb("Threads of the CPU without OpenCL, shared by all elements with this number (0 = one a core)")
                .maximum(Tuning::MAX_THREADS as u32)
                .default_value(default.threads)
                .mutable_playing()
                .build(),
        ]
    }

    /// Sets the property `name`, one of [`Self::param_specs`], to a `value` of its type.
    pub fn set(&mut self, name: &str, value: &glib::Value) {
        match name {
            "algorithm" => self.algorithm = of_type(value),
            "kernel" => self.kernel = of_type(value),
            "device" => {
                self.device = of_type::<Option<String>>(value).unwrap_or_else(|| Self::default().device)
            }
            "block-size" => self.block_size = of_type(value),
            "search-range" => self.search_range = of_type(value),
            "search-range-y" => self.search_range_y = of_type(value),
            "metric" => self.metric = of_type(value),
            "border" => self.border = of_type(value),
            "tuning" => self.tuning = of_type(value),
            "prediction" => self.prediction = of_type(value),
            "pipeline-depth" => self.pipeline_depth = of_type(value),
            "threads" => self.threads = of_type(value),
            "split" => self.split = of_type(value),
            "balance" => self.balance = of_type(value),
            "on-device-failure" => self.on_device_failure = of_type(value),
            _ => unreachable!("no property {name} is writable"),
        }
    }

    /// The value of the property `name`, one of [`Self::param_specs`].
    pub fn value(&self, name: &str) -> glib::Value {
        match name {
            "algorithm" => self.algorithm.to_value(),
            "kernel" => self.kernel.to_value(),
            "device" => self.device.to_value(),
            "block-size" => self.block_size.to_value(),
            "search-range" => self.search_range.to_value(),
            "search-range-y" => self.search_range_y.to_value(),
            "metric" => self.metric.to_value(),
            "border" => self.border.to_value(),
            "tuning" => self.tuning.to_value(),
            "prediction" => self.prediction.to_value(),
            "pipeline-depth" => self.pipeline_depth.to_value(),
            "threads" => self.threads.to_value(),
            "split" => self.split.to_value(),
            "balance" => self.balance.to_value(),
            "on-device-failure" => self.on_device_failure.to_value(),
            _ => unreachable!("no property {name} is readable"),
        }
    }
}

/// What `value` holds. GObject has checked its type against the property's.
fn of_type<'v, T: glib::value::FromValue<'v>>(value: &'v glib::Value) -> T {
    value.get().unwrap_or_else(|_| unreachable!("{value:?} is not of the property's type"))
}
