//! `motionestimate`: finds the motion of every frame and attaches it to the frame's buffer.
/**
 * element-motionestimate:
 * @short_description: Finds a motion vector for every block of a frame
 *
 * `motionestimate` keeps the luma plane of the frame before, searches it for the best match of
 * every block of the current frame, and attaches the vectors and their matching costs to the
 * buffer as a `MotionVectorMeta`. Pixels pass untouched and uncopied, and with no delay unless
 * `pipeline-depth` asks for it. Vectors are bit for bit the same on every device and with every kernel; what they are, `algorithm` decides.
 *
 * The first frame of a stream has nothing to be compared with, nor has the first after a
 * discontinuity, a gap, a flush, a new segment or new caps: such a frame passes with no meta.
 * A `MotionVectorMeta` that a buffer brings along is always removed, so that behind this element
 * every such meta is its own.
 *
 * ## Algorithms
 *
 * `algorithm=full` compares every candidate of the search window and takes the best: the lowest
 * cost, among equals the shortest |x| + |y|, then the upper, then the left one.
 *
 * `algorithm=three-step` compares few. With R the longest way from no motion to an edge of the
 * window, the steps are s = ceil(R / 2), then each half of the one before, rounded up, down to 1:
 * 4, 2, 1 of R = 7. It starts at no motion; in each step it compares the nine candidates that lie
 * s, or not at all, to either side and up or down, and goes on from the best, by the same order of
 * whole vectors. Candidates outside the window do not count, nor with `border=restrict` those
 * outside the frame. It is much faster than full search, and the longer the motion the more often
 * it ends at a match that is not the best one.
 *
 * ## Devices
 *
 * `device=auto` takes the best OpenCL GPU and, where there is none, the CPU without OpenCL. A
 * device that is asked for and missing is an error whose text lists every device that is there.
 *
 * Several devices work as one where `device` lists them: `gpu,native`, `0:0,0:1`, or `all`. `split`
 * says how they divide the work, `balance` how much each gets; the vectors are the same whatever
 * is chosen. With `balance=adaptive` the share of each follows its rate, measured with every
 * frame, and a device that does not help is left idle but for a few frames now and then.
 * `gpu@0.9,native@0.1` has weights, which hold as they are, even where one device would be faster alone. With `split=frames` as many devices
 * are busy as frames are in flight: raise `pipeline-depth`.
 *
 * A device of a list that fails is put out, and a warning on the bus says so. Its part is done again by
 * the others, or, where it was the last, by the CPU without OpenCL: no frame goes without its
 * vectors. So is one that gives no answer for ten seconds, or for fifty times what its frames take
 * on average where that is longer (its first: for a minute, or what it takes at 0.1 G absolute differences
 * a second).
 *
 * An OpenCL device by itself that fails is left in the same way, and the CPU finds what was in flight.
 * For that the buffer of the reference is held where the device reads it in place (see *Buffers*). So
 * is one that gives no answer for as long as one of a list may; what it holds is not given back.
 * `on-device-failure=error` makes the failure of the last device an error.
 *
 * ## Properties while playing
 *
 * Every property may be changed while playing and holds from the next frame on. The reference
 * frame is kept, so no frame goes without vectors for it. Settings that cannot be followed
 * are an error on the bus, as they are at start.
 *
 * ## Tuning
 *
 * `tuning` is a structure named `motion-tuning` that says how an OpenCL device is used. It changes
 * the speed and never the vectors; what a device or kernel has no use for is ignored. A field
 * that is not known, or a value that cannot be followed, is an error that names it.
 *
 * | field | type | value |
 * |---|---|---|
 * | `group-size` | integer | work-items of a work-group, 1 or more; without it the kernel's own for the device. `kernel=reference-naive` needs none for large windows with it |
 * | `cost-bytes` | integer | most bytes of costs kept on the device at once, 268435456 without it: kernels that keep costs work in parts where they need more |
 * | `launch` | string | for the `collaborative` kernels, whose jobs are displacements of the whole frame: `once` (all jobs in one launch, the default), `out-of-order` (one queue that starts launches in any order), `queues` (several queues, in turn) |
 * | `queues` | integer | with `launch=queues` how many, 1 to 64 |
 * | `launches` | integer | into how many launches the jobs are cut; without it one a job |
 * | `run` | integer | for `tiled` and `elimination`: candidates, one under the other, that a work-item takes at once |
 * | `blocks-across`, `blocks-down` | integer | for `tiled` and `elimination`: blocks of a work-group |
 *
 * What `kernel` and `tuning` leave open is chosen by the user's file
 * `gst-plugin-motionestimate/tuning.toml` in the configuration folder (`$XDG_CONFIG_HOME`, else
 * `~/.config`), else by the shipped table, else by the kind of device. A mistake in the file is a
 * warning, and the shipped table holds. The example `tune` measures a device and writes the file.
 *
 * ## Prediction
 *
 * With `prediction=median` the meta has one field more, `predictors`: a GBytes of `columns · rows`
 * records `gint16 x`, `gint16 y` in quarter samples, host byte order. Each is what an H.264 encoder
 * would predict for that block's vector from those of its neighbours: the median of the vectors
 * to the left, above, and above to the right (above to the left in the last column); in the first
 * row the vector to the left, in a frame of one column the one above. Vectors and costs are the
 * same with and without it.
 *
 * ## Frames in flight
 *
 * With `pipeline-depth=1` each buffer leaves before the next is taken. With more, buffers wait
 * while their frames are being searched, so that on an OpenCL device the upload of one frame,
 * the search of the one before and the download of the vectors before that go on at once. The
 * LATENCY query tells `pipeline-depth - 1` frame durations, or nothing more than upstream where
 * the caps have no frame rate, and a latency message is posted where that changes.
 *
 * Order and number of buffers and events are the same at every depth. A frame that has no
 * reference waits for nobody. Every serialized event or query lets all buffers that wait leave
 * before it; a flush drops them, and so does going to READY. After an error that comes up while
 * searching, those that wait are dropped.
 *
 * `threads` is the number of threads that search with `device=native`. All elements of a process
 * with the same number share them.
 *
 * ## Buffers
 *
 * The reference is a copy in the memory of the device, made by the one upload that each frame
 * needs anyway. With `pipeline-depth=1` no buffer is held back; with more, up to
 * `pipeline-depth - 1` are, and the answer to the ALLOCATION query asks for as many more. From a
 * pool that cannot give so many, fewer are held.
 *
 * A buffer that an OpenCL device reads in place is held until the next has its vectors, one more then,
 * as the CPU needs it should the device fail. Whoever writes to it downstream gets a copy of it
 * meanwhile. With `on-device-failure=error`, or from a pool that has too few, it is not held.
 *
 * The ALLOCATION query passes through: pools, and strides that need `GstVideoMeta`, are for the
 * element downstream to accept, whom the very same memory reaches. Where an OpenCL device searches
 * and downstream has nothing against plain system memory, an allocator is added whose memory the
 * device reads without a copy between, page-locked as a rule. To all other elements it is memory
 * like any other, and it may be held for as long as they like.
 *
 * ## Interlaced video
 *
 * Frames with two interleaved fields are searched as whole frames, and a warning says so once.
 * Where the fields differ in time, deinterlace before. Fields in buffers of their own
 * (`interlace-mode=alternate`) are not accepted.
 *
 * ## Statistics
 *
 * The `stats` property is a structure named `motion-stats`. At EOS it is also posted on the bus,
 * as an element message of that name.
 *
 * | field | type | value |
 * |---|---|---|
 * | `frames` | guint64 | frames seen since start |
 * | `frames-with-vectors` | guint64 | those that got vectors |
 * | `upload-time` | guint64 | mean time to bring a frame to the device, ns |
 * | `search-time` | guint64 | mean time of a search, by the device's clock where it has one, ns |
 * | `download-time` | guint64 | mean time to bring the vectors back, ns |
 * | `prediction-time` | guint64 | mean time to predict them, with bringing the predictors back, ns |
 * | `effective-rate` | gdouble | width · height · candidates / search time: absolute differences a second, as if each were computed. Candidates of `three-step`: the most it tries, 1 + 8 · steps |
 * | `mean-cost` | gdouble | matching cost a sample: how well the vectors predict |
 * | `devices` | GstValueArray | a structure `motion-device` for each of several devices: `device` (string), `share` (gdouble, of the last frame), `effective-rate` (gdouble, while it works), `busy-time` (guint64, ns since start), `failed` (gboolean); empty for the CPU alone |
 * | `device`, `kernel` | string | what is in use, NULL before the first caps; the CPU without OpenCL is the device `native`, and the kernel too where it has but one |
 *
 * ## Example launch lines
 * ```text
 * gst-launch-1.0 videotestsrc num-buffers=100 pattern=ball ! motionestimate ! fakesink
 * ```
 * Searches moving test frames with the best device.
 * ```text
 * gst-launch-1.0 -m videotestsrc num-buffers=100 ! video/x-raw,format=I420,width=1280,height=720 ! motionestimate device=native search-range=32 ! fakesink
 * ```
 * The same on the CPU with longer vectors; `-m` prints the `motion-stats` message.
 *
 * ```text
 * gst-launch-1.0 videotestsrc num-buffers=100 ! motionestimate kernel=collaborative tuning="motion-tuning,group-size=20,launch=queues,queues=4,launches=64" ! fakesink
 * ```
 * A group a row of blocks, and 64 launches on four queues.
 *
 * Since: plugins-motionestimate-0.1.0
 */
use glib::prelude::*;

use crate::backend::OnDeviceFailure;
use crate::estimator::{Algorithm, Border, Kernel, Metric, Prediction};
use crate::session::{Balance, Split};

mod imp;
mod memory;
mod messages;
mod settings;
mod several;
mod statistics;
mod stream;
mod tuning;

pub use several::{MotionEstimateBalance, MotionEstimateOnDeviceFailure, MotionEstimateSplit};

/// Which vectors are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateAlgorithm")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionEstimateAlgorithm {
    /// The best of all candidates.
    #[default]
    #[enum_value(name = "Full search: the best match in the whole search window", nick = "full")]
    Full = 0,
    /// See [`Algorithm::ThreeStep`].
    #[enum_value(name = "Three-step search: few candidates, far ones first", nick = "three-step")]
    ThreeStep = 1,
}

/// How the algorithm is carried out on the device: the `kernel` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateKernel")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionEstimateKernel {
    /// See [`Kernel::Auto`].
    #[default]
    #[enum_value(name = "The fastest for the device", nick = "auto")]
    Auto = 0,
    /// See [`Kernel::ReferenceNaive`].
    #[enum_value(
        name = "A work-group a block, all reads from global memory (small windows only)",
        nick = "reference-naive"
    )]
    ReferenceNaive = 1,
    /// See [`Kernel::Reference`].
    #[enum_value(name = "A work-group a block, block and search area in local memory", nick = "reference")]
    Reference = 2,
    /// See [`Kernel::CollaborativeNaive`].
    #[enum_value(
        name = "A displacement of the whole frame at a time, from global memory",
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
        name = "All displacements at once, unaligned reads (for CPU devices)",
        nick = "collaborative-unaligned"
    )]
    CollaborativeUnaligned = 5,
    /// See [`Kernel::TwoPass`].
    #[enum_value(name = "All costs into memory, then the best of each block", nick = "two-pass")]
    TwoPass = 6,
    /// See [`Kernel::Tiled`].
    #[enum_value(name = "Runs of candidates share each sample (the fastest on GPUs)", nick = "tiled")]
    Tiled = 7,
    /// See [`Kernel::Exhaustive`].
    #[enum_value(name = "Every cost computed (device native only)", nick = "exhaustive")]
    Exhaustive = 8,
    /// See [`Kernel::Elimination`].
    #[enum_value(name = "What cannot win left out by lower bounds of its cost", nick = "elimination")]
    Elimination = 9,
    /// See [`Kernel::ThreeStepNaive`].
    #[enum_value(
        name = "algorithm=three-step, a work-group a block and candidate, one launch a step",
        nick = "three-step-naive"
    )]
    ThreeStepNaive = 10,
    /// See [`Kernel::ThreeStep`].
    #[enum_value(name = "algorithm=three-step, all steps in one launch", nick = "three-step")]
    ThreeStep = 11,
    /// See [`Kernel::ThreeStepUnaligned`].
    #[enum_value(
        name = "algorithm=three-step, a work-item a block, unaligned reads (for CPU devices)",
        nick = "three-step-unaligned"
    )]
    ThreeStepUnaligned = 12,
}

/// How two blocks are compared: the `metric` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateMetric")]
#[repr(i32)]
pub enum MotionEstimateMetric {
    /// See [`Metric::Sad`].
    #[default]
    #[enum_value(name = "Sum of absolute differences", nick = "sad")]
    Sad = 0,
    /// See [`Metric::Ssd`].
    #[enum_value(name = "Sum of squared differences", nick = "ssd")]
    Ssd = 1,
}

/// What lies outside the reference frame: the `border` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimateBorder")]
#[repr(i32)]
pub enum MotionEstimateBorder {
    /// See [`Border::Extend`].
    #[default]
    #[enum_value(name = "The edge samples, repeated: vectors may point outside", nick = "extend")]
    Extend = 0,
    /// See [`Border::Restrict`].
    #[enum_value(name = "Nothing: vectors stay inside the frame", nick = "restrict")]
    Restrict = 1,
}

/// Whether vectors are predicted from their neighbours: the `prediction` property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstMotionEstimatePrediction")]
#[non_exhaustive]
#[repr(i32)]
pub enum MotionEstimatePrediction {
    /// See [`Prediction::None`].
    #[default]
    #[enum_value(name = "None: the meta has no predictors", nick = "none")]
    None = 0,
    /// See [`Prediction::Median`].
    #[enum_value(name = "The median of the neighbours, as H.264 has it", nick = "median")]
    Median = 1,
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

conversions! {
    MotionEstimateAlgorithm => Algorithm { Full, ThreeStep }
    MotionEstimateKernel => Kernel {
        Auto, ReferenceNaive, Reference, CollaborativeNaive, Collaborative, CollaborativeUnaligned, TwoPass, Tiled,
        Exhaustive, Elimination, ThreeStepNaive, ThreeStep, ThreeStepUnaligned
    }
    MotionEstimateMetric => Metric { Sad, Ssd }
    MotionEstimateBorder => Border { Extend, Restrict }
    MotionEstimatePrediction => Prediction { None, Median }
    MotionEstimateSplit => Split { Auto, Rows, Candidates, Frames }
    MotionEstimateBalance => Balance { Adaptive, Fit, Static }
    MotionEstimateOnDeviceFailure => OnDeviceFailure { Native, Error }
}

glib::wrapper! {
    /// The element `motionestimate`.
    pub struct MotionEstimate(ObjectSubclass<imp::MotionEstimate>)
        @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers the element with `plugin`.
///
/// # Errors
/// Where GStreamer refuses it.
pub fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "motionestimate", gst::Rank::NONE, MotionEstimate::static_type())
}
