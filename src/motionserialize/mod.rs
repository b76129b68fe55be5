/*!
 * element-motionserialize:
 *
 * Turns the motion fields on raw video buffers into NDJSON, CSV or packed binary. One buffer comes
 * out for every frame that goes in, with its timestamp and duration; pixels are not looked at.
 * Downstream's caps choose the format: `application/x-ndjson` (taken where anything will do),
 * `text/csv` or `application/x-motion-vectors`.
 *
 * ```text
 * gst-launch-1.0 videotestsrc num-buffers=30 pattern=ball ! motionestimate ! motionserialize ! filesink location=vectors.ndjson
 * gst-launch-1.0 videotestsrc num-buffers=30 pattern=ball ! motionestimate ! motionserialize ! text/csv ! filesink location=vectors.csv
 * gst-launch-1.0 videotestsrc num-buffers=30 pattern=ball ! motionestimate ! motionserialize ! application/x-motion-vectors ! filesink location=vectors.bin
 * ```
 *
 * What holds for all three: vectors are row-major, `x` to the right and `y` down, in quarter samples
 * (`scale` is 4 units a sample); the block at column `c` and row `r` begins at sample
 * `(c · block_width, r · block_height)`; times are nanoseconds; `frame` counts the frames from 0.
 * A frame without vectors (the first, and the first after a cut in the stream) is written too, and
 * says so. A frame with several fields gives one object, set of rows or record a field, all with
 * the same `frame`.
 *
 * ## NDJSON
 *
 * One object a line:
 *
 * ```text
 * {"frame":1,"pts":33333333,"duration":33333333,"width":64,"height":48,"block_width":16,
 *  "block_height":16,"columns":4,"rows":3,"scale":4,"reference_offset":-1,"reference_pts":0,
 *  "metric":"sad","vectors":[[x,y,cost],[x,y,cost],…]}
 * ```
 *
 * (here broken for reading). `vectors` has `rows · columns` entries. Unknown times are `null`. A
 * frame without vectors has `"vectors":null`, and `null` for all that describes them. Where vectors
 * were predicted (`motionestimate prediction=median`), `"predictors":[[x,y],…]` follows them, with
 * as many entries. Where several devices each searched whole rows of blocks, `"devices":["name",…]`
 * has their names and `"row_devices":[index,…]` one index into them a row. CSV and packed binary
 * leave these out.
 *
 * ## CSV
 *
 * A header line once, then a row for every vector:
 *
 * ```text
 * frame,pts,duration,width,height,block_width,block_height,reference_offset,reference_pts,metric,column,row,x,y,cost
 * ```
 *
 * Unknown times are empty. A frame without vectors has one row with all from `block_width` on
 * empty.
 *
 * ## Packed binary
 *
 * Little-endian. A header of 16 bytes once: the 8 characters `GSTMVECS`, `u32` version (1), `u32`
 * bytes of a record's fixed part (72). Then a record for every frame:
 *
 * | offset | type | value |
 * |---|---|---|
 * | 0 | u32 | bytes of the whole record, vectors included |
 * | 4 | u32 | metric: 0 SAD, 1 SSD |
 * | 8 | u64 | frame |
 * | 16 | u64 | pts, all ones where unknown |
 * | 24 | u64 | duration, all ones where unknown |
 * | 32 | u64 | timestamp of the reference frame, all ones where unknown |
 * | 40 | u32, u32 | frame width, height |
 * | 48 | u32, u32 | block width, height |
 * | 56 | u32, u32 | columns, rows |
 * | 64 | i32 | reference offset: -1 the frame before, +1 the one after |
 * | 68 | u32 | scale: units a sample |
 * | 72 | | `rows · columns` times `i16` x, `i16` y, `u32` cost |
 *
 * A frame without vectors has 0 for everything from offset 48 on, and unknown at 32.
 */
mod format;
mod imp;

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
/// Where GStreamer refuses it.
pub fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "motionserialize", gst::Rank::NONE, MotionSerialize::static_type())
}
