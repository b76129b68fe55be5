/*!
 * `motionestimate`: finds a motion vector for every block of a frame.
 *
 * `motionestimate` searches the luma plane of the previous frame (the reference frame) for the best
 * match of every block of the current frame. It attaches the vectors and their matching costs to the
 * buffer as a `MotionVectorMeta`. Other reference frames, also later ones, can be searched too. Pixels
 * are neither changed nor copied, and no latency is added unless `pipeline-depth` or `direction` asks
 * for it. Every device and kernel returns the same vectors, bit for bit;
 * only `algorithm` and the search parameters change them.
 *
 * A sequence is a run of frames without an interruption. It ends at a discontinuity, a gap, a flush, a segment or its end
 * (SEGMENT_DONE), a new stream or the end of its group, other caps, the beginning of a still frame, and EOS. The first frame
 * of a sequence has no reference frame: it passes without a meta. A `MotionVectorMeta` on an input
 * buffer is removed, so that every such meta behind this element was attached by it. With `keep-fields=true` it stays, and
 * the fields of this element follow it: of another block size or algorithm, for example. Readers tell them apart by what
 * the meta says of its field; those that want one field take the first with their `reference-offset`.
 *
 * ## Algorithms
 *
 * `algorithm=full` compares every candidate of the search window. The candidate with the lowest cost
 * wins; among equal costs, the one with the smallest |x| + |y|, then the upper, then the left one.
 *
 * `algorithm=three-step` compares few candidates. R is the longest distance from (0, 0) to an edge of
 * the window. The first step size is s = ceil(R / 2); each following one is half of the previous,
 * rounded up, down to 1 (4, 2, 1 for R = 7). The search starts at (0, 0). Each step compares the nine
 * candidates at distance 0 or s on each axis and continues at the best one, in the same order as
 * `full`. Candidates outside the window are skipped, and with `border=restrict` those outside the
 * frame. Three-step search is much faster than computing every cost. The longer the motion, the more
 * often its result is not the best match.
 *
 * `algorithm=hierarchical` finds vectors near the true motion, in 1/32 sample. It searches small
 * versions of the frames first, and weighs how well a block matches against the vectors around it, so
 * that flat areas move with what surrounds them. `quality` is `balanced`, `fast` or `high`.
 * `block-size` is 4, 8, 16, 32 or 64. `search-range`, `metric` and `border` do not apply: how far it
 * reaches follows from the frame size (±256 samples at 1080p), and costs are SAD; a `search-window` is refused. Several
 * devices divide whole frames, whatever `split` says. Its vectors are for what follows objects; the
 * block that looks most alike is found by `full`.
 *
 * `sub-sample` refines the vectors of `full` and `three-step`: `half` compares the eight vectors half a
 * sample around that of whole samples, `quarter` then the eight a quarter sample around the best of
 * these, in the same order. Samples between samples are interpolated as H.264 does. Neither the window
 * nor the border limits the refinement, so a vector may end up to 3/4 of a sample outside. The cost is
 * that of the refined vector. `split=candidates` then divides rows. With `hierarchical` it is an error.
 *
 * Samples have 8, 10, 12 or 16 bits. Costs are those of the samples with all their bits, as the meta's
 * `bit-depth` says; `metric=ssd` takes at most 10 bits. `algorithm=hierarchical` searches the upper
 * eight bits, and its costs are those of eight bits.
 *
 * Vectors are in units of 1 / `scale` sample: 4 for `full` and `three-step`, 32 for `hierarchical`.
 *
 * ## References
 *
 * `direction=backward` searches earlier frames, `forward` later ones, `both` first the earlier and then
 * the later ones; `references`, 1 to 4, is the number of frames each way. Each frame that is searched
 * gives a `MotionVectorMeta` of its own on the buffer, in the order of the offsets -1, -2, -3, -4, +1,
 * +2, +3, +4. Its `reference-offset` and `reference-pts` tell which frame it was.
 * `gst_buffer_get_custom_meta` returns the first. However many searches a frame takes part in, it is
 * uploaded to a device once.
 *
 * With later references each buffer waits until they have arrived: `references` frame durations more
 * of latency. Near the start and the end of a sequence frames have fewer fields. At the end of a sequence, and at a
 * change of properties, the buffers that wait leave with the fields that exist. A flush drops them.
 *
 * ## Devices
 *
 * `device=auto` selects the best OpenCL GPU, and without one the CPU path `native`, which needs no
 * OpenCL. If a requested device does not exist, the error lists all devices that do. Where the CPU searches in place of a
 * device that cannot, a warning says why: once from start to stop for each reason.
 *
 * Devices are opened with the caps, on a thread of their own, as a driver may compile kernels for many seconds. With `device=auto`
 * the CPU searches until the GPU is open. For other devices frames wait, and progress messages with the code `open` tell of it.
 *
 * A list selects several devices: `gpu,native`, `0:0,0:1`, or `all`. `split` selects how they divide
 * the work and `balance` how much each gets; the vectors are the same for every choice. With
 * `balance=adaptive` the share of each device follows its measured rate, and a device that does not
 * shorten the frame time is left idle and tried again from time to time. `gpu@0.9,native@0.1` sets
 * fixed weights, which are used even if one device alone were faster. With `split=frames` only as
 * many devices work as frames are in flight, so raise `pipeline-depth`.
 *
 * A device of a list that fails is removed, with a warning on the bus. The other devices repeat its
 * part; if it was the last, the CPU does. Every frame still gets its vectors. A device that does not
 * answer counts as failed: after ten seconds, or fifty times the mean time of its frames if that is
 * longer; in its first frame after a minute, or the time that the search takes at 0.1 G absolute
 * differences per second.
 *
 * The same holds for a single OpenCL device: when it fails, the CPU repeats the searches in flight
 * and continues. For this purpose the buffer of the reference frame is held if the device reads it in
 * place (see *Buffers*). The memory of a device that does not answer is leaked, because its driver
 * may still use it. With `on-device-failure=error` the failure of the last device is an error.
 *
 * ## Changing properties while playing
 *
 * Every property may be changed while playing; the change holds from the next frame on. The earlier
 * reference frames are kept; buffers that wait for later ones leave with the fields they have. If they cannot hold, a
 * warning says why, and the earlier settings hold on.
 *
 * ## Tuning
 *
 * `tuning` is a structure named `motion-tuning` that controls how an OpenCL device is used. It changes
 * the speed, never the vectors. Fields that the device or kernel does not use are ignored. An unknown
 * field or an invalid value is an error that names the field.
 *
 * | field | type | value |
 * |---|---|---|
 * | `group-size` | integer | work-items per work-group, 1 or more; default: chosen by the kernel for the device. With it, `kernel=reference-naive` also runs windows with more candidates than a work-group has work-items |
 * | `cost-bytes` | integer | limit of the memory for costs on the device, in bytes; default 268435456. Kernels that store costs work in several parts if they need more |
 * | `launch` | string | for the `collaborative` kernels, whose jobs are displacements of the whole frame: `once` (all jobs in one launch, the default), `out-of-order` (one out-of-order queue), `queues` (several queues in turn) |
 * | `queues` | integer | with `launch=queues`: the number of queues, 1 to 64 |
 * | `launches` | integer | the number of launches into which the jobs are divided; default: one per job |
 * | `run` | integer | for `tiled` and `elimination`: vertically adjacent candidates per work-item |
 * | `blocks-across`, `blocks-down` | integer | for `tiled` and `elimination`: blocks per work-group |
 * | `launcher` | string | what launches the kernels: `auto` (CUDA on a GPU of NVIDIA where it can, else OpenCL; the default), `opencl`, `cuda` |
 *
 * What `kernel` and `tuning` leave open is chosen by the user's file
 * `gst-plugin-motionestimate/tuning.toml` in the configuration directory (`$XDG_CONFIG_HOME`, else
 * `~/.config`), then by the built-in table, then by the type of the device. If the file has an error,
 * a warning is posted and the file is ignored. The example `tune` measures a device and writes the
 * file.
 *
 * ## Prediction
 *
 * With `prediction=median` the meta has an additional field `predictors`: a GBytes of
 * `columns · rows` records `gint16 x`, `gint16 y` in the units of the vectors, host byte order. Each is the
 * vector that H.264 predicts for the block from its neighbours: the median of the vectors to the
 * left, above, and above right (above left in the last column); in the first row the vector to the
 * left; in a frame with one column the vector above. It does not change vectors and costs.
 *
 * ## Costs, scene cuts and duplicates
 *
 * `costs` attaches further numbers of each block, for encoders and analysis: `zero`, `intra` and `satd`
 * are sums of absolute transformed differences between the block and the same place of the reference
 * frame, the best of four predictions from its own frame, and what its vector leads to; `second` is the
 * least cost of the candidates at least two samples away from the vector, `variance` the sum of
 * squared differences from the mean, and `confidence` says how much the vector is to be trusted, 0 to 255. The
 * meta has two more fields: `cost-names`, an array of strings, and `costs`, a GBytes of one `guint32` for each
 * name a block. `docs/algorithms.md` defines each exactly.
 * They are computed on the CPU, in `threads` threads, also for other devices; `second` takes as long as
 * several searches and is an error with `algorithm=hierarchical`, which has no search window; `confidence` is made of it,
 * of `satd` and `intra` with `algorithm=hierarchical`.
 *
 * With `scene-cut=message` the meta of offset -1 has the field `scene-cut`, and where it is true an element
 * message `motion-scene-cut` is posted with `timestamp`, `stream-time`, `running-time` and `duration` of the
 * frame. With `scene-cut=key-unit` a force-key-unit event is sent before the frame, too, so that encoders
 * begin with a key unit there. Fades and flashes are no cuts. It needs the frame before: `direction=forward`
 * is an error.
 *
 * The field `duplicate` of the meta is true where luma equals that of the reference frame. With
 * `drop-duplicates=true` frames that equal the frame before in all planes are dropped, with
 * `drop-lossy-duplicates=true` also frames that differ from it by coding noise alone.
 *
 * With any of these the frame before is held as for an OpenCL device (see *Buffers*).
 *
 * ## Frames in flight
 *
 * With `pipeline-depth=1` each buffer is sent before the next one is accepted. With a larger value
 * buffers wait while their frames are searched. On an OpenCL device the upload of one frame, the
 * search of another and the download of the vectors of a third then overlap. The element reports
 * `pipeline-depth - 1` frame durations in the LATENCY query, and one for each later reference (none if
 * the caps have no frame rate), and posts a latency message when that changes. While the frames of a live
 * source are further apart than the caps say, their distance counts: the median of the last five. If none
 * comes for twice the latency, and half a second, those that wait leave. `qos=true` is refused while frames wait:
 * input that is dropped would let them wait longer.
 *
 * The order and number of buffers and events is the same at every depth. A frame without a reference
 * frame does not wait. Before a serialized event or query, all buffers are sent that wait for no later
 * frame; an event behind one that does waits with it. A flush and the change to READY drop what waits,
 * except sticky events behind a flush. After a search error the waiting buffers are dropped.
 *
 * `threads` is the number of threads of `device=native`. All elements of a process with the same
 * number share one thread pool.
 *
 * ## Buffers
 *
 * A reference frame is the copy in device memory that was made when that frame was uploaded. The
 * buffers that are held are those that wait: with one frame in flight and no later references none; the
 * answer to the ALLOCATION query asks for as many more. If the upstream pool has fewer buffers, fewer
 * are held; if it has too few for the later references, each buffer is copied. What waits is also
 * copied for a serialized query, before which upstream needs its buffers back.
 *
 * If an OpenCL device reads a buffer in place, that buffer is held until no search needs it any more
 * (with `references=1`, until the next frame has its vectors), because the CPU needs it if the device fails. While it is held, a downstream writer
 * triggers copy-on-write. With `on-device-failure=error`, or if the pool is too small, it is not held.
 *
 * The ALLOCATION query is forwarded: the downstream element decides about pools and strides that need
 * `GstVideoMeta`, because it receives the same memory. If an OpenCL device searches and downstream
 * accepts system memory, an allocator is offered whose memory the device reads without a copy
 * (page-locked memory as a rule). For all other elements it is ordinary memory that may be held for
 * any time.
 *
 * ## Interlaced video
 *
 * Frames with two interleaved fields are searched as whole frames, with one warning. Deinterlace first
 * if the fields differ in time. Fields in separate buffers (`interlace-mode=alternate`) are not
 * accepted.
 *
 * ## Damaged and undeclared frames
 *
 * A buffer that is too short for its caps is dropped with one warning; the frames that wait leave before, and the next one begins
 * a sequence. Samples of 10 or
 * 12 bits in GRAY16, of whose 16 bits `algorithm=hierarchical` sees the upper eight, are told by one warning, after 12 frames
 * in which the upper four bits are not used: it names the `white-level` to set.
 *
 * ## Statistics
 *
 * The `stats` property is a structure named `motion-stats`. At EOS it is also posted on the bus, as an
 * element message of that name.
 *
 * | field | type | value |
 * |---|---|---|
 * | `frames` | guint64 | frames since start |
 * | `frames-with-vectors` | guint64 | frames with vectors |
 * | `frames-dropped` | guint64 | frames that were dropped because they repeat the one before |
 * | `fields` | guint64 | motion fields: several for each frame with several references |
 * | `upload-time` | guint64 | mean time to copy a frame to the device, ns |
 * | `search-time` | guint64 | mean time of a search, ns: by the device's clock if one search is in flight and it has one, otherwise between its begin or the end of the search before and its end |
 * | `download-time` | guint64 | mean time to copy the vectors from the device, ns |
 * | `prediction-time` | guint64 | mean time to compute predictors, costs and scene cuts, ns |
 * | `effective-rate` | gdouble | width · height · candidates / search time: absolute differences per second, as if each were computed. Candidates of `three-step`: the most it compares, 1 + 8 · steps; `sub-sample` adds 8 or 16; of `hierarchical`: the most it compares on its finest level |
 * | `mean-cost` | gdouble | mean matching cost per sample |
 * | `devices` | GstValueArray | with several devices, one structure `motion-device` for each: `device` (string), `share` (gdouble, of the last frame), `effective-rate` (gdouble, while it works), `busy-time` (guint64, ns since start), `failed` (gboolean); empty for the CPU alone |
 * | `device`, `kernel` | string | device and kernel in use, NULL before the first caps; the CPU without OpenCL is the device `native`, and also the kernel if it has only one |
 * | `launcher` | string | what launches the kernels of an OpenCL device: `opencl`, or `cuda` on a GPU of NVIDIA; else NULL |
 *
 * ## Example launch lines
 * ```text
 * gst-launch-1.0 videotestsrc num-buffers=100 pattern=ball ! motionestimate ! fakesink
 * ```
 * Searches a moving test pattern on the best device.
 * ```text
 * gst-launch-1.0 -m videotestsrc num-buffers=100 ! video/x-raw,format=I420,width=1280,height=720 ! motionestimate device=native search-range=32 ! fakesink
 * ```
 * Searches on the CPU with a larger range; `-m` prints the `motion-stats` message.
 *
 * ```text
 * gst-launch-1.0 videotestsrc num-buffers=100 pattern=ball ! motionestimate direction=both references=2 ! motionserialize ! fakesink
 * ```
 * Searches each frame in the two before it and the two after it.
 * ```text
 * gst-launch-1.0 -m videotestsrc num-buffers=100 pattern=ball ! motionestimate costs=zero+intra+satd scene-cut=message drop-duplicates=true ! motionserialize ! fakesink
 * ```
 * Attaches costs, tells where a scene begins, and drops frames that repeat the one before.
 * ```text
 * gst-launch-1.0 videotestsrc num-buffers=100 ! motionestimate kernel=collaborative tuning="motion-tuning,group-size=20,launch=queues,queues=4,launches=64" ! fakesink
 * ```
 * One work-group per row of blocks, and 64 launches on four queues.
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
