//! Macroblocks that equal those of the frame before.

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
    /// A flag for each of columns by rows of macroblocks of the frame in `buffer`, if there may be constant ones: `field`
    /// tells where a comparison is worth it, and planes decide.
    ///
    /// # Errors
    /// [`PlaneError`] if a buffer does not hold a frame.
    pub fn find(
        &mut self,
        layout: &FrameLayout,
        (buffer, field): (&gst::Buffer, Option<&MotionVectorMeta>),
        (columns, rows): (usize, usize),
    ) -> Result<Option<Vec<u8>>, PlaneError> {
        let previous = self.previous.take();
        let Some(field) = field else { return Ok(None) };
        self.previous = Some(buffer.clone());
        let Some(previous) = previous else { return Ok(None) };
        let still = StillBlocks::new(field);
        let (previous, current) = (layout.read(&previous)?, layout.read(buffer)?);
        let planes: Vec<_> = previous.planes()?.into_iter().zip(current.planes()?).collect();
        let samplings = &layout.format().samplings;
        let is_constant = |index: usize| {
            let place = (index % columns, index / columns);
            still.may_hold(place)
                && planes.iter().zip(samplings).all(|((a, b), sampling)| is_equal(a, b, sampling, place))
        };
        let flag = |index| if is_constant(index) { ffi::X264_MBINFO_CONSTANT as u8 } else { 0 };
        Ok(Some((0..columns * rows).map(flag).collect()))
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

/// Whether two planes are equal in the macroblock at a column and a row.
fn is_equal(
    a: &FrameView<'_>,
    b: &FrameView<'_>,
    sampling: &Sampling,
    (column, row): (usize, usize),
) -> bool {
    let bytes = a.format().bytes() * if sampling.interleaved { 2 } else { 1 };
    let range = |index: usize, is_halved: bool, unit: usize, end: usize| {
        let side = MACROBLOCK >> u8::from(is_halved);
        (index * side * unit).min(end)..((index + 1) * side * unit).min(end)
    };
    let columns = range(column, sampling.halved_x, bytes, a.row_bytes());
    range(row, sampling.halved_y, 1, a.height())
        .all(|y| a.row(y)[columns.clone()] == b.row(y)[columns.clone()])
}
