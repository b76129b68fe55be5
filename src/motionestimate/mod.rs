/*!
 * `motionestimate`: finds a motion vector for every block of a frame.
 *
 * It searches the luma plane of other frames for the best match of every block of the current frame, and attaches the vectors
 * and their costs to the buffer as a `MotionVectorMeta`. Pixels are neither changed nor copied, and no latency is added unless
 * `pipeline-depth` or `direction` asks for it. Every device and kernel returns the same vectors, bit for bit.
 *
 * `docs/elements/motionestimate.md` is its reference; `docs/how/` defines the search, the metadata, devices, and what is
 * held in memory.
 *
 * A sequence is a run of frames without an interruption. It ends at a discontinuity, a gap, a flush, a segment or its end
 * (SEGMENT_DONE), a new stream or the end of its group, other caps, the beginning of a still frame, and EOS. The order and
 * number of buffers and events is the same at every `pipeline-depth`: before a serialized event or query all buffers are sent
 * that wait for no later frame; an event behind one that does waits with it.
 *
 * ```text
 * gst-launch-1.0 -m videotestsrc num-buffers=100 ! video/x-raw,format=I420,width=1280,height=720 ! motionestimate device=native search-range=32 ! fakesink
 * ```
 */
use glib::prelude::*;

use crate::settings::conversions;
use motion_search::estimator::{Algorithm, Border, Metric, Prediction, Quality, SubSample};
use motion_search::tuning::Kernel;

mod costs;
mod duplicates;
mod flow;
mod imp;
mod memory;
mod messages;
mod settings;
mod state;
mod statistics;
mod stream;
mod tuning;
mod unused_bits;

pub use costs::MotionEstimateCosts;

pub use crate::settings::{MotionEstimateBalance, MotionEstimateOnDeviceFailure, MotionEstimateSplit};

/// Which candidates are compared: the `algorithm` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateAlgorithm")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionEstimateAlgorithm {
    /// See [`Algorithm::Full`].
    #[default]
    #[enum_value(name = "Full search: the best match in the whole search window", nick = "full")]
    Full = 0,
    /// See [`Algorithm::ThreeStep`].
    #[enum_value(name = "Three-step search: few candidates, in decreasing steps", nick = "three-step")]
    ThreeStep = 1,
    /// See [`Algorithm::Hierarchical`].
    #[enum_value(
        name = "Hierarchical search: near the true motion, in 1/32 sample; search-range, metric and border do not apply",
        nick = "hierarchical"
    )]
    Hierarchical = 2,
}

/// How much hierarchical search does: the `quality` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateQuality")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionEstimateQuality {
    /// See [`Quality::Balanced`].
    #[default]
    #[enum_value(name = "Nearly as true as high, in about two thirds of its time", nick = "balanced")]
    Balanced = 0,
    /// See [`Quality::Fast`].
    #[enum_value(name = "Half the time of balanced", nick = "fast")]
    Fast = 1,
    /// See [`Quality::High`].
    #[enum_value(name = "Searches both ways: better where something is covered or uncovered", nick = "high")]
    High = 2,
}

/// How fine the vectors of full and three-step search are: the `sub-sample` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateSubSample")]
#[repr(i32)]
#[non_exhaustive]
pub enum MotionEstimateSubSample {
    /// See [`SubSample::None`].
    #[default]
    #[enum_value(name = "Whole samples", nick = "none")]
    None = 0,
    /// See [`SubSample::Half`].
    #[enum_value(
        name = "Half samples: the best of the eight vectors around that of whole samples",
        nick = "half"
    )]
    Half = 1,
    /// See [`SubSample::Quarter`].
    #[enum_value(name = "Quarter samples: then the best of the eight around that", nick = "quarter")]
    Quarter = 2,
}

/// The implementation of the algorithm on the device: the `kernel` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateKernel")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionEstimateKernel {
    /// See [`Kernel::Auto`].
    #[default]
    #[enum_value(name = "The fastest for the device and settings", nick = "auto")]
    Auto = 0,
    /// See [`Kernel::ReferenceNaive`].
    #[enum_value(
        name = "One work-group per block, reads from global memory (small windows only)",
        nick = "reference-naive"
    )]
    ReferenceNaive = 1,
    /// See [`Kernel::Reference`].
    #[enum_value(name = "One work-group per block, samples in local memory", nick = "reference")]
    Reference = 2,
    /// See [`Kernel::CollaborativeNaive`].
    #[enum_value(
        name = "One displacement of the whole frame at a time, reads from global memory",
        nick = "collaborative-naive"
    )]
    CollaborativeNaive = 3,
    /// See [`Kernel::Collaborative`].
    #[enum_value(
        name = "All displacements of the whole frame at once, rows in local memory",
        nick = "collaborative"
    )]
    Collaborative = 4,
    /// See [`Kernel::CollaborativeUnaligned`].
    #[enum_value(
        name = "All displacements of the whole frame at once, unaligned reads (for CPU devices)",
        nick = "collaborative-unaligned"
    )]
    CollaborativeUnaligned = 5,
    /// See [`Kernel::TwoPass`].
    #[enum_value(name = "First all costs, then the best of each block", nick = "two-pass")]
    TwoPass = 6,
    /// See [`Kernel::Tiled`].
    #[enum_value(name = "Runs of candidates share samples (the fastest on most GPUs)", nick = "tiled")]
    Tiled = 7,
    /// See [`Kernel::Exhaustive`].
    #[enum_value(name = "Every cost is computed (device=native only)", nick = "exhaustive")]
    Exhaustive = 8,
    /// See [`Kernel::Elimination`].
    #[enum_value(name = "Lower bounds skip candidates that cannot win", nick = "elimination")]
    Elimination = 9,
    /// See [`Kernel::ThreeStepNaive`].
    #[enum_value(
        name = "algorithm=three-step: one work-group per block and candidate, one launch per step",
        nick = "three-step-naive"
    )]
    ThreeStepNaive = 10,
    /// See [`Kernel::ThreeStep`].
    #[enum_value(name = "algorithm=three-step: all steps in one launch", nick = "three-step")]
    ThreeStep = 11,
    /// See [`Kernel::ThreeStepUnaligned`].
    #[enum_value(
        name = "algorithm=three-step: one work-item per block, unaligned reads (for CPU devices)",
        nick = "three-step-unaligned"
    )]
    ThreeStepUnaligned = 12,
    /// See [`Kernel::Hierarchical`].
    #[enum_value(name = "algorithm=hierarchical: a launch a pass", nick = "hierarchical")]
    Hierarchical = 13,
    /// See [`Kernel::ReferenceSamples`].
    #[enum_value(
        name = "One work-group per block, local memory read sample by sample (for comparisons)",
        nick = "reference-samples"
    )]
    ReferenceSamples = 14,
    /// See [`Kernel::CollaborativeSamples`].
    #[enum_value(
        name = "Displacements of the whole frame, local memory read sample by sample (for comparisons)",
        nick = "collaborative-samples"
    )]
    CollaborativeSamples = 15,
    /// See [`Kernel::ReferenceInts`].
    #[enum_value(
        name = "One work-group per block, local memory with an int a sample (for comparisons)",
        nick = "reference-ints"
    )]
    ReferenceInts = 16,
}

/// The matching cost: the `metric` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateMetric")]
#[repr(i32)]
#[non_exhaustive]
pub enum MotionEstimateMetric {
    /// See [`Metric::Sad`].
    #[default]
    #[enum_value(name = "Sum of absolute differences", nick = "sad")]
    Sad = 0,
    /// See [`Metric::Ssd`].
    #[enum_value(name = "Sum of squared differences", nick = "ssd")]
    Ssd = 1,
}

/// How candidates outside the reference frame are treated: the `border` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateBorder")]
#[repr(i32)]
#[non_exhaustive]
pub enum MotionEstimateBorder {
    /// See [`Border::Extend`].
    #[default]
    #[enum_value(name = "Edge samples are repeated: vectors may point outside the frame", nick = "extend")]
    Extend = 0,
    /// See [`Border::Restrict`].
    #[enum_value(name = "Candidates outside are skipped: vectors stay inside the frame", nick = "restrict")]
    Restrict = 1,
}

/// Whether predicted vectors are attached: the `prediction` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimatePrediction")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionEstimatePrediction {
    /// See [`Prediction::None`].
    #[default]
    #[enum_value(name = "No predictors", nick = "none")]
    None = 0,
    /// See [`Prediction::Median`].
    #[enum_value(name = "The median of the neighbouring vectors, as in H.264", nick = "median")]
    Median = 1,
}

/// What happens where a frame begins another scene: the `scene-cut` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateSceneCut")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionEstimateSceneCut {
    /// Nothing, and nothing is looked for.
    #[default]
    #[enum_value(name = "Nothing", nick = "off")]
    Off = 0,
    /// A message, and a field of the meta.
    #[enum_value(name = "An element message is posted, and the meta says so", nick = "message")]
    Message = 1,
    /// The same, and an event.
    #[enum_value(name = "The same, and encoders are asked to begin with a key unit there", nick = "key-unit")]
    KeyUnit = 2,
}

/// In which frames each frame is searched: the `direction` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateDirection")]
#[repr(i32)]
#[non_exhaustive]
pub enum MotionEstimateDirection {
    /// In earlier frames.
    #[default]
    #[enum_value(name = "Earlier frames", nick = "backward")]
    Backward = 0,
    /// In later frames.
    #[enum_value(name = "Later frames: buffers wait for them", nick = "forward")]
    Forward = 1,
    /// In earlier and in later frames.
    #[enum_value(name = "Earlier frames and later frames", nick = "both")]
    Both = 2,
}

conversions! {
    MotionEstimateAlgorithm => Algorithm { Full, ThreeStep, Hierarchical }
    MotionEstimateQuality => Quality { Balanced, Fast, High }
    MotionEstimateSubSample => SubSample { None, Half, Quarter }
    MotionEstimateKernel => Kernel {
        Auto, ReferenceNaive, Reference, CollaborativeNaive, Collaborative, CollaborativeUnaligned, TwoPass, Tiled,
        Exhaustive, Elimination, ThreeStepNaive, ThreeStep, ThreeStepUnaligned, Hierarchical, ReferenceSamples,
        CollaborativeSamples, ReferenceInts
    }
    MotionEstimateMetric => Metric { Sad, Ssd }
    MotionEstimateBorder => Border { Extend, Restrict }
    MotionEstimatePrediction => Prediction { None, Median }
}

glib::wrapper! {
    /// The element `motionestimate`.
    pub struct MotionEstimate(ObjectSubclass<imp::MotionEstimate>)
        @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers the element with `plugin`.
///
/// # Errors
/// If GStreamer refuses the element.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    crate::settings::mark_choices(&settings::Settings::param_specs());
    gst::Element::register(Some(plugin), "motionestimate", gst::Rank::NONE, MotionEstimate::static_type())
}
