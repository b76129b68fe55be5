//! What elements share: the declaration of properties, the devices of a search, messages about settings that cannot
//! hold, and statistics.

use glib::prelude::*;
use glib::{ParamSpecEnum, ParamSpecString, ParamSpecUInt};
use gst::prelude::*;

use motion_frames::backend::{DenoisedStream, OpenedDenoiser, OpenedMaker, open_denoiser, open_maker};
use motion_frames::interpolation::{FrameFormat, FrameQuality};
use motion_search::backend::{self, DeviceSelector, OnDeviceFailure, Opener};
use motion_search::estimator::{Parameters, SetupError};
use motion_search::session::{Balance, Session, Split};
use motion_search::tuning::{Kernel, Tuning};

// What tells the memory of frames on a GPU; there are none without CUDA.
#[cfg(feature = "cuda")]
use motion_search::opencl::CudaContext as FrameContext;
#[cfg(not(feature = "cuda"))]
use std::convert::Infallible as FrameContext;

mod messages;
mod opening;
mod several;
pub mod statistics;
mod stream_error;
mod tuning_file;

pub use gst_motion_fields::missing::MissingFields;
pub use gst_motion_fields::properties::{mark_choices, readable};
pub use messages::{PostedWarnings, search_message, setup_message, tell_notices};
pub use opening::{OpenError, log_compilations, refuse, replace};
pub use several::{MotionEstimateBalance, MotionEstimateOnDeviceFailure, MotionEstimateSplit};
pub use stream_error::StreamError;
pub use tuning_file::tuning_file;

/// Declares a structure of values and their properties. An entry has the field, its type and default, then the
/// property's name, nick, blurb, and what makes a builder of its specification from name and default. Each `with field: Type`
/// behind the structure's name adds the properties of another such structure, which is the field; in brackets is a field
/// that is no property.
macro_rules! settings {
    (
        $(#[$doc:meta])*
        $settings:ident $([$other:ident: $others:ty])? $(with $part:ident: $parts:ty),*;
        $($field:ident: $type:ty = $default:expr, $name:literal, $nick:literal, $blurb:literal, $spec:expr;)+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $settings {
            $(pub $field: $type,)+
            $(pub $part: $parts,)*
            $(pub $other: $others,)?
        }

        impl Default for $settings {
            fn default() -> Self {
                Self {
                    $($field: $default,)+
                    $($part: Default::default(),)*
                    $($other: Default::default(),)?
                }
            }
        }

        impl $settings {
            /// The specifications of the properties.
            pub fn param_specs() -> Vec<glib::ParamSpec> {
                let default = Self::default();
                let specs = vec![$({
                    let spec = $spec;
                    spec($name, default.$field).nick($nick).blurb($blurb).mutable_playing().build()
                },)+];
                $(let specs = [specs, <$parts>::param_specs()].concat();)*
                specs
            }

            /// Whether there is a property `name`: only structures that are parts of others are asked.
            #[allow(dead_code)]
            pub fn has(name: &str) -> bool {
                matches!(name, $($name)|+) $(|| <$parts>::has(name))*
            }

            /// Sets the property `name` to `value`, which GObject has checked to be of its type. NULL
            /// stands for the default. GObject sets no property but those of [`Self::param_specs`].
            pub fn set(&mut self, name: &str, value: &glib::Value) {
                let value = &*$crate::settings::readable(value);
                match name {
                    $($name => self.$field = value.get().unwrap_or(Self::default().$field),)+
                    $(_ if <$parts>::has(name) => self.$part.set(name, value),)*
                    _ => (),
                }
            }

            /// The value of the property of `spec`, one of [`Self::param_specs`].
            pub fn value(&self, spec: &glib::ParamSpec) -> glib::Value {
                match spec.name() {
                    $($name => self.$field.to_value(),)+
                    $(name if <$parts>::has(name) => self.$part.value(spec),)*
                    _ => spec.default_value().clone(),
                }
            }
        }
    };
}

pub(crate) use settings;

settings! {
    /// The part of deep samples that is searched, where not all of their bits are.
    LevelSettings;
    black: u32 = 0,
        "black-level", "Black level",
        "Deep samples up to this level are black to hierarchical search, which sees what is between in eight bits",
        |name, default| ParamSpecUInt::builder(name).maximum(u16::MAX.into()).default_value(default);
    white: u32 = u16::MAX.into(),
        "white-level", "White level",
        "Deep samples from this level on are white to hierarchical search, which sees what is between in eight bits",
        |name, default| ParamSpecUInt::builder(name).maximum(u16::MAX.into()).default_value(default);
}

impl LevelSettings {
    /// The black and the white level.
    pub fn get(&self) -> [u16; 2] {
        [self.black, self.white].map(|level| u16::try_from(level).unwrap_or(u16::MAX))
    }
}

/// The default of `device`.
const BEST_DEVICE: &str = "auto";

settings! {
    /// Which devices search, how many frames at once, and how they divide the work. It changes the speed, never the
    /// vectors. Where frames are in memory of CUDA, `memory` is their context.
    DeviceSettings [memory: Option<FrameContext>];
    device: String = BEST_DEVICE.into(),
        "device", "Device",
        "Device to search on: auto (the best OpenCL GPU, else the CPU); native (the CPU without OpenCL); gpu, cpu, \
         accelerator (the first OpenCL device of that type); P:D (OpenCL platform and device index); a part of an \
         OpenCL device's name; all; or a list of devices, with weights if wanted: gpu,native or gpu@0.9,native@0.1",
        |name, _| ParamSpecString::builder(name).default_value(BEST_DEVICE);
    split: MotionEstimateSplit = Default::default(),
        "split", "Split", "How several devices divide the work. It changes the speed, never the vectors",
        ParamSpecEnum::builder_with_default;
    balance: MotionEstimateBalance = Default::default(),
        "balance", "Balance", "How the shares of several devices are chosen",
        ParamSpecEnum::builder_with_default;
    on_device_failure: MotionEstimateOnDeviceFailure = Default::default(),
        "on-device-failure", "On device failure",
        "What happens when an OpenCL device by itself, or the last of several devices, fails. While others remain, \
         they take over its work",
        ParamSpecEnum::builder_with_default;
    pipeline_depth: u32 = 1,
        "pipeline-depth", "Pipeline depth",
        "Frames in flight. More keep a GPU busy; each after the first adds one frame of latency",
        |name, default| {
            let most = Tuning::MAX_DEPTH as u32;
            ParamSpecUInt::builder(name).minimum(1).maximum(most).default_value(default)
        };
    threads: u32 = 0,
        "threads", "Threads",
        "Threads of device=native, shared by all elements with the same number (0 = one per core)",
        |name, default| ParamSpecUInt::builder(name).maximum(Tuning::MAX_THREADS as u32).default_value(default);
}

impl DeviceSettings {
    /// A session on these devices, for searches as `parameters` say, which has been rehearsed. `tuning` is that of an OpenCL
    /// device.
    ///
    /// # Errors
    /// As [`Opener::open`] and [`Session::rehearse`].
    pub fn open<T: Default>(
        &self,
        kernel: Kernel,
        tuning: Tuning,
        parameters: &Parameters,
    ) -> Result<(Session<T>, backend::Choice), SetupError> {
        let grouping = backend::Grouping {
            split: self.split.into(),
            balance: self.balance.into(),
            on_failure: self.on_device_failure.into(),
        };
        let opener = Opener::with_tuning_file(tuning_file());
        let (mut session, choice) =
            opener.open(&self.selector()?, kernel, &self.tuned(tuning), grouping, parameters)?;
        session.rehearse()?;
        Ok((session, choice))
    }

    /// Checks what can be known before the devices are opened.
    ///
    /// # Errors
    /// As [`backend::check`].
    pub fn check(&self, kernel: Kernel, tuning: Tuning, parameters: &Parameters) -> Result<(), SetupError> {
        backend::check(&self.selector()?, kernel, &self.tuned(tuning), parameters)
    }

    /// The CPU in their place.
    fn native(&self) -> Self {
        Self { device: DeviceSelector::Native.to_string(), ..self.clone() }
    }

    /// The CPU in their place, if it takes over where devices fail.
    pub fn fallback(&self) -> Option<Self> {
        (self.on_device_failure == MotionEstimateOnDeviceFailure::Native).then(|| self.native())
    }

    /// The CPU in their place, if it is to search with `kernel` until the OpenCL device that is best is open.
    pub fn until_open(&self, kernel: Kernel) -> Option<Self> {
        let is_best = self.selector().is_ok_and(|selector| selector == DeviceSelector::Auto);
        let is_late = is_best && backend::prefers_opencl(kernel);
        is_late.then(|| self.native())
    }

    /// The devices. For frames in memory of CUDA `auto` is the GPU that has them, and so must be one that is named.
    fn selector(&self) -> Result<DeviceSelector, SetupError> {
        let named: DeviceSelector = self.device.parse()?;
        #[cfg(feature = "cuda")]
        if let Some(context) = &self.memory {
            let of_memory = DeviceSelector::Cuda(context.clone());
            return match named {
                DeviceSelector::Native | DeviceSelector::Several(_) => Ok(named),
                DeviceSelector::Auto if backend::find_opencl(&of_memory).is_ok() => Ok(of_memory),
                // Its OpenCL is not installed: frames are copied to the host.
                DeviceSelector::Auto => Ok(named),
                one if backend::find_opencl(&one)?.has_cuda_context(context) => Ok(of_memory),
                one => Err(SetupError::DeviceUnsupported {
                    wanted: one.to_string(),
                    reason: "the frames are in the memory of another GPU: choose device=auto, or put cudadownload before"
                        .into(),
                }),
            };
        }
        Ok(named)
    }

    fn tuned(&self, tuning: Tuning) -> Tuning {
        Tuning { threads: Some(self.threads as usize), depth: Some(self.pipeline_depth as usize), ..tuning }
    }

    /// What makes frames of `format` on one of these devices.
    ///
    /// # Errors
    /// As [`open_maker`].
    pub fn open_maker(&self, format: &FrameFormat, quality: FrameQuality) -> Result<OpenedMaker, SetupError> {
        open_maker(&self.selector()?, format, quality, self.threads as usize)
    }

    /// What takes the noise out of the frames of `stream` on one of these devices.
    ///
    /// # Errors
    /// As [`open_denoiser`].
    pub fn open_denoiser(&self, stream: &DenoisedStream) -> Result<OpenedDenoiser, SetupError> {
        open_denoiser(&self.selector()?, stream, self.threads as usize)
    }
}

/// Converts enums of properties to those of the search with the same variants.
macro_rules! conversions {
    ($($property:ident => $to:ident { $($variant:ident),+ })+) => {$(
        impl From<$property> for $to {
            fn from(value: $property) -> Self {
                match value {
                    $($property::$variant => Self::$variant,)+
                }
            }
        }
    )+};
}

pub(crate) use conversions;

conversions! {
    MotionEstimateSplit => Split { Auto, Rows, Candidates, Frames }
    MotionEstimateBalance => Balance { Adaptive, Fit, Static }
    MotionEstimateOnDeviceFailure => OnDeviceFailure { Native, Error }
}

#[cfg(test)]
mod tests {
    use gst::prelude::*;
    use gst_motion_fields::missing::is_behind_estimate;

    use crate::motionestimate::MotionEstimate;

    /// Without a factory, and behind the edges of bins.
    #[test]
    fn an_element_of_any_origin_is_found_by_its_type() {
        gst::init().unwrap();
        let identity = || gst::ElementFactory::make("identity").build().unwrap();
        let estimate: gst::Element = glib::Object::new::<MotionEstimate>().upcast();
        assert!(estimate.factory().is_none());
        let (inner, bin) = (identity(), gst::Bin::new());
        bin.add_many([&estimate, &inner]).unwrap();
        estimate.link(&inner).unwrap();
        bin.add_pad(&gst::GhostPad::with_target(&inner.static_pad("src").unwrap()).unwrap()).unwrap();
        let (behind, pipeline) = (identity(), gst::Pipeline::new());
        pipeline.add_many([bin.upcast_ref::<gst::Element>(), &behind]).unwrap();
        assert!(!is_behind_estimate(&behind));
        bin.link(&behind).unwrap();
        assert!(is_behind_estimate(&behind));
        assert!(is_behind_estimate(&inner));
        assert!(!is_behind_estimate(&estimate));
    }
}
