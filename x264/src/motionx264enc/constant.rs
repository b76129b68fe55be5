//! Macroblocks that equal those of the frame before.

use std::ops::Range;

use gstmotionestimate::meta::{FieldCosts, MotionVectorMeta};
use gstmotionestimate::shared::{FrameLayout, PlaneError};
use motion_search::compensation::Sampling;
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
    /// The costs, and the place of `zero` among those of a block, if it is there.
    zero: Option<(&'a FieldCosts, usize)>,
}

impl<'a> StillBlocks<'a> {
    fn new(field: &'a MotionVectorMeta) -> Self {
        let zero = field.costs().and_then(|costs| Some((costs, costs.place_of("zero")?)));
        Self { field, zero }
    }

    /// Whether the block at the centre of a macroblock, column and row, is.
    fn may_hold(&self, (column, row): (usize, usize)) -> bool {
        let of = self.field.description();
        let block = |index: usize, samples: u32, side: u32| {
            (index * MACROBLOCK + MACROBLOCK / 2).min(samples as usize - 1) / side as usize
        };
        let (x, y) = (block(column, of.width, of.block_width), block(row, of.height, of.block_height));
        let index = y * of.columns as usize + x;
        match self.zero {
            Some((costs, place)) => costs.values()[index * costs.names().len() + place] == 0,
            None => {
                let vector = self.field.vectors()[index];
                (vector.x, vector.y, vector.cost) == (0, 0, 0)
            }
        }
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
