//! Macroblocks that equal those of the frame before.

use std::ops::Range;

use gst_motion_fields::frame::{FrameLayout, PlaneError};
use gst_motion_fields::meta::{FieldCosts, MotionVectorMeta};
use motion_base::sampling::Sampling;
use motion_search::estimator::FrameView;
use motion_search::quantizer::MACROBLOCK;

use crate::ffi;

/// Finds macroblocks in which nothing changes, which x264 then skips without a search.
#[derive(Default)]
pub struct ConstantBlocks {
    /// The frame before, if it may be compared with.
    previous: Option<gst::Buffer>,
}

impl ConstantBlocks {
    /// A flag for each of columns by rows of macroblocks of the frame in `buffer` with these planes, if there may be constant
    /// ones: `field` tells where a comparison is worth it, and planes decide.
    ///
    /// # Errors
    /// [`PlaneError`] if the buffer before does not hold a frame.
    pub fn find(
        &mut self,
        layout: &FrameLayout,
        (buffer, planes): (&gst::Buffer, &[FrameView<'_>]),
        field: Option<&MotionVectorMeta>,
        (columns, rows): (usize, usize),
    ) -> Result<Option<Vec<u8>>, PlaneError> {
        let previous = self.previous.take();
        let Some(field) = field else { return Ok(None) };
        self.previous = Some(buffer.clone());
        let Some(previous) = previous else { return Ok(None) };
        let previous = layout.read(&previous)?;
        let previous = previous.planes()?;
        let is_equal = |columns: Range<usize>, row| {
            let mut pairs = previous.iter().zip(planes).zip(&layout.format().samplings);
            pairs.all(|((a, b), sampling)| is_equal(a, b, sampling, (columns.clone(), row)))
        };
        let still = StillBlocks::new(field);
        let mut flags = vec![0; columns * rows];
        for (row, flags) in flags.chunks_exact_mut(columns).enumerate() {
            let mut column = 0;
            while column < columns {
                // Long pieces of rows are compared faster than short ones.
                let run = (column..columns).take_while(|&at| still.may_hold((at, row))).count();
                let run = column..column + run;
                column = run.end + 1;
                if run.is_empty() {
                    continue;
                }
                let is_all = is_equal(run.clone(), row);
                for at in run {
                    if is_all || is_equal(at..at + 1, row) {
                        flags[at] = ffi::X264_MBINFO_CONSTANT as u8;
                    }
                }
            }
        }
        Ok(Some(flags))
    }
}

/// The blocks of a field that are as they were, as far as the search can tell.
struct StillBlocks<'a> {
    field: &'a MotionVectorMeta,
    costs: Option<&'a FieldCosts>,
    /// The places of `zero` and `intra` among the costs of a block.
    zero: Option<usize>,
    intra: Option<usize>,
}

impl<'a> StillBlocks<'a> {
    fn new(field: &'a MotionVectorMeta) -> Self {
        let costs = field.costs();
        let place_of = |name| costs.and_then(|costs| costs.place_of(name));
        Self { field, costs, zero: place_of("zero"), intra: place_of("intra") }
    }

    /// Whether the block at the centre of a macroblock, column and row, is. Not if it is flat: x264 gives constant macroblocks
    /// the vector zero. It skips a flat one fast by itself, with the vector of its neighbours, as between lines of text that
    /// scroll, where zero would cost bits.
    fn may_hold(&self, (column, row): (usize, usize)) -> bool {
        let of = self.field.description();
        let block = |index: usize, samples: u32, side: u32| {
            (index * MACROBLOCK + MACROBLOCK / 2).min(samples as usize - 1) / side as usize
        };
        let (x, y) = (block(column, of.width, of.block_width), block(row, of.height, of.block_height));
        let index = y * of.columns as usize + x;
        let cost = |place: Option<usize>| {
            let (costs, place) = self.costs.zip(place)?;
            costs.values().get(index * costs.names().len() + place).copied()
        };
        if cost(self.intra) == Some(0) {
            return false;
        }
        cost(self.zero).map_or_else(
            || {
                let vector = self.field.vectors()[index];
                (vector.x, vector.y, vector.cost) == (0, 0, 0)
            },
            |zero| zero == 0,
        )
    }
}

/// Whether two planes are equal in the macroblocks of some columns and a row.
fn is_equal(
    a: &FrameView<'_>,
    b: &FrameView<'_>,
    sampling: &Sampling,
    (columns, row): (Range<usize>, usize),
) -> bool {
    let bytes = a.format().bytes() * if sampling.interleaved { 2 } else { 1 };
    let range = |of: Range<usize>, is_halved: bool, unit: usize, end: usize| {
        let side = (MACROBLOCK >> u8::from(is_halved)) * unit;
        (of.start * side).min(end)..(of.end * side).min(end)
    };
    let columns = range(columns, sampling.halved_x, bytes, a.row_bytes());
    range(row..row + 1, sampling.halved_y, 1, a.height())
        .all(|y| a.row(y)[columns.clone()] == b.row(y)[columns.clone()])
}

#[cfg(test)]
mod tests {
    use gst_motion_fields::meta::{self, Extras, FieldDescription};
    use motion_search::estimator::Metric;

    use super::*;

    #[test]
    fn blocks_that_are_still_and_not_flat() {
        gst::init().unwrap();
        let description = FieldDescription {
            width: 80,
            height: 16,
            block_width: 16,
            block_height: 16,
            columns: 5,
            rows: 1,
            scale: 4,
            reference_offset: -1,
            reference_pts: None,
            metric: Metric::Sad,
            bit_depth: 8,
        };
        // The costs `zero` and `intra`: still, flat, changed, flat and changed, and still but for a sample.
        let values: Vec<u8> = [[0, 90], [0, 0], [50, 90], [50, 0], [1, 90]]
            .into_iter()
            .flatten()
            .flat_map(u32::to_ne_bytes)
            .collect();
        let found = |names: [&str; 2]| -> Vec<bool> {
            let names: Vec<std::sync::Arc<str>> = names.into_iter().map(Into::into).collect();
            let costs = FieldCosts::new(names, glib::Bytes::from_owned(values.clone())).unwrap();
            let mut buffer = gst::Buffer::new();
            let vectors = glib::Bytes::from_owned(vec![0_u8; 5 * 8]);
            let extras = Extras { costs: Some(costs), ..Extras::default() };
            meta::attach(buffer.get_mut().unwrap(), &description, vectors, extras).unwrap();
            let field = MotionVectorMeta::at_offset(&buffer, -1).unwrap().unwrap();
            let still = StillBlocks::new(&field);
            (0..5).map(|column| still.may_hold((column, 0))).collect()
        };
        assert_eq!(found(["zero", "intra"]), [true, false, false, false, false]);
        // Without `zero` the vectors and their costs tell, which are all zero here; without `intra` nothing is flat.
        assert_eq!(found(["satd", "intra"]), [true, false, true, false, true]);
        assert_eq!(found(["zero", "satd"]), [true, true, false, false, false]);
    }
}
