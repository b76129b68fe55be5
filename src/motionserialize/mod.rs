/*!
 * `motionserialize`: writes motion fields as NDJSON, CSV, packed binary or `.flo`.
 *
 * Converts the motion fields on raw video buffers to NDJSON, CSV, packed binary or Middlebury's `.flo`.
 * Each frame gives one output buffer with the same timestamp and duration; pixels are not read. The
 * caps downstream select the format: `application/x-ndjson` (the default), `text/csv`,
 * `application/x-motion-vectors` or `application/x-flo`.
 *
 * ```text
 * gst-launch-1.0 videotestsrc num-buffers=30 pattern=ball ! motionestimate ! motionserialize ! filesink location=vectors.ndjson
 * gst-launch-1.0 videotestsrc num-buffers=30 pattern=ball ! motionestimate ! motionserialize ! text/csv ! filesink location=vectors.csv
 * gst-launch-1.0 videotestsrc num-buffers=30 pattern=ball ! motionestimate ! motionserialize ! application/x-motion-vectors ! filesink location=vectors.bin
 * gst-launch-1.0 videotestsrc num-buffers=30 pattern=ball ! motionestimate algorithm=hierarchical block-size=8 ! motionserialize ! application/x-flo ! multifilesink location=%05d.flo
 * ```
 *
 * In the first three formats vectors are row-major, `x` to the right and `y` down, `scale` units per sample (4, and
 * 32 for `algorithm=hierarchical`); the block at column `c` and row `r` begins at sample
 * `(c · block_width, r · block_height)`; times are in nanoseconds; `frame` counts frames from 0.
 * A frame without vectors (the first of a stream, and the first after a discontinuity) has an entry
 * without vectors, but no row in CSV. A frame with several fields gives one object, set of rows or record per field,
 * all with the same `frame`. With `reference-offset` only the field for that reference frame is written: -1
 * for the previous frame, +1 for the next one, and so on; a frame that lacks it counts as without vectors.
 *
 * ## NDJSON
 *
 * One object per line:
 *
 * ```text
 * {"frame":1,"pts":33333333,"duration":33333333,"width":64,"height":48,"block_width":16,
 *  "block_height":16,"columns":4,"rows":3,"scale":4,"reference_offset":-1,"reference_pts":0,
 *  "metric":"sad","vectors":[[x,y,cost],[x,y,cost],…]}
 * ```
 *
 * (wrapped here for readability). `vectors` has `rows · columns` entries. Unknown times are `null`.
 * For costs of samples of more than eight bits `"bit_depth"` follows the metric.
 * A frame without vectors has `null` for `vectors` and for every field from `block_width` on. With
 * predictors (`motionestimate prediction=median`), `"predictors":[[x,y],…]` follows the vectors, with
 * as many entries. If several devices each searched whole rows of blocks, `"devices":["name",…]`
 * holds their names and `"row_devices":[index,…]` one index per row of blocks. With `scene-cut` each
 * frame that was compared has `"scene_cut":true` or `false`, and a frame whose luma equals that of its
 * reference frame has `"duplicate":true`. With costs (`motionestimate
 * costs=zero+intra`), `"cost_names":["zero","intra"],"costs":[[zero,intra],…]` come last, with an entry
 * for each block. CSV and packed binary do not contain the bit depth, predictors, devices, scene cuts and duplicates, and CSV no costs.
 *
 * Behind `motiondetect` the first object of each frame also has, after the height, `"camera":[a,b,c,d,e,f]`, `"camera_following"`,
 * `"camera_confidence"`, `"settling"`, `"regions":[{"id":1,"x":…,"y":…,"width":…,"height":…,"velocity":[x,y],"begin":…,"last":…,
 * "confidence":…},…]`, `"begun":[id,…]` and `"ended":[id,…]`, as [`camera`](crate::camera) says.
 *
 * ## CSV
 *
 * One header line, then one row per vector:
 *
 * ```text
 * frame,pts,duration,width,height,block_width,block_height,reference_offset,reference_pts,metric,scale,column,row,x,y,cost
 * ```
 *
 * Unknown times are empty. A frame without vectors has no row, so that columns of numbers have numbers alone; its
 * number is missing in the column `frame`, and its output buffer is empty, or has the header line alone.
 *
 * ## Packed binary
 *
 * Little-endian. One header of 16 bytes: the 8 characters `GSTMVECS`, `u32` version (1), `u32` size
 * of the fixed part of a record in bytes (72). Then one record per frame:
 *
 * | offset | type | value |
 * |---|---|---|
 * | 0 | u32 | size of the record in bytes, all that follows included |
 * | 4 | u32 | metric: 0 SAD, 1 SSD |
 * | 8 | u64 | frame |
 * | 16 | u64 | pts, all ones if unknown |
 * | 24 | u64 | duration, all ones if unknown |
 * | 32 | u64 | timestamp of the reference frame, all ones if unknown |
 * | 40 | u32, u32 | frame width, height |
 * | 48 | u32, u32 | block width, height |
 * | 56 | u32, u32 | columns, rows |
 * | 64 | i32 | reference offset: -1 the previous frame, +1 the next one |
 * | 68 | u32 | scale: units per sample |
 * | 72 | | `rows · columns` times `i16` x, `i16` y, `u32` cost |
 * | then, only with costs | u32 | number of costs of a block, n |
 * | | | n names of 16 characters, filled up with zeros |
 * | | | `rows · columns` times n `u32` |
 *
 * Readers skip records whose metric is all ones: these are no frames, but notes of programs, with text behind offset 72.
 * `motion-vectors` begins a file with one, and ends it with one.
 *
 * In the record of a frame without vectors everything from offset 48 on is 0, and the timestamp at
 * offset 32 is unknown.
 *
 * The header `gst/motion/gstmotionpacked.h` reads the format in C without any library, `examples/read_packed.py` in Python
 * with numpy.
 *
 * ## .flo
 *
 * Each buffer is a file, to be written by `multifilesink`: the 4 characters `PIEH`, `u32` width and
 * height of the frame, and for each sample x and y in samples as 32-bit floats, little-endian. The
 * vectors are those of the blocks at their middles, and bilinear in between. A frame without vectors
 * has 1e10 everywhere; of several fields the first is written, or the one at `reference-offset`.
 *
 * By default `motionestimate` searches the previous frame (`direction=backward`): the vectors lead from a frame back to the
 * one before it. Middlebury's and Sintel's true motion leads from a frame to the next one. To compare with it, search with
 * `direction=forward`; `examples/flow_error.py` computes the error.
 */
mod flo;
mod format;
mod imp;
mod settings;
mod stream;

use gst::glib;
use gst::prelude::*;

glib::wrapper! {
    /// The element `motionserialize`.
    pub struct MotionSerialize(ObjectSubclass<imp::MotionSerialize>)
        @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers the element with `plugin`.
///
/// # Errors
/// If GStreamer refuses the element.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    crate::settings::mark_choices(&settings::SerializeSettings::param_specs());
    gst::Element::register(Some(plugin), "motionserialize", gst::Rank::NONE, MotionSerialize::static_type())
}
