//! What the definition fixes: sizes, vectors, windows and weights.

use crate::compensation::{CompensationError, Sampling};
use motion_base::hierarchy::Quality;
use motion_base::{Algorithm, Grid, MotionVector, Parameters, References, SetupError, Window};
use motion_search::scenes::halvings_to;
pub(crate) use motion_search::scenes::{SEARCHED_SAMPLES, halved, halvings};

/// The side of a block in luma samples. Each has one vector.
pub(crate) const BLOCK: usize = 8;

/// The largest component of a vector, in half samples.
pub(crate) const LONGEST: i32 = 2048;

/// The largest difference of a vector to one of its eight neighbours that counts, in half samples.
pub(crate) const MOST_DIFFERENCE: u32 = 32;

/// What half a sample of that difference costs.
pub(super) const SMOOTHNESS: u32 = 4;

/// What a vector costs that is not zero: a difference of three a sample. Where nothing moves, others follow the noise, which the
/// mean of both frames takes away.
pub(super) const MOTION_COST: u32 = 192;

/// What a difference of 1 in chroma costs, in pixels of half of luma's size on both axes.
pub(super) const CHROMA_COST: u32 = 4;

/// A block stands still if at least so many of its samples are still detail.
pub(super) const STILL_SAMPLES: u32 = 8;

/// The most by which a sample of still detail, that to its right and that below differ between both frames.
pub(super) const STILL_DIFFERENCE: u8 = 4;

/// The least by which a sample of still detail differs from that to its right or that below.
pub(super) const STILL_DETAIL: u8 = 64;

/// The most by which a sample at the end of a vector may lie outside the range of the other end and of the two samples
/// at the place that the vector is for, of eight bits.
pub(super) const MOST_BEYOND: u16 = 8;

/// The side of a cell in luma samples: how well a vector matches is measured around each of the four cells of a block.
pub(crate) const CELL: usize = BLOCK / 2;

/// The vectors that predict the samples of a block: those of the block and of its neighbours, and coarse ones.
pub(crate) const FINE: usize = 9;
pub(crate) const HYPOTHESES: usize = FINE + 4;

/// What is added to the difference of a match, of 64 samples, before it is compared with others; and 3/4 of the badness.
pub(crate) const SOFTNESS: u32 = 256;

/// From this badness on coarse vectors count, with one more of [`MOST_COARSE`] parts for every `2^BADNESS_SHIFT`.
pub(crate) const COARSE_BADNESS: u32 = 1024;
pub(crate) const BADNESS_SHIFT: u32 = 6;
pub(crate) const MOST_COARSE: u32 = 16;

/// 7 times the windows of coarse vectors and their parts is divided by `2^COARSE_BITS`.
pub(crate) const COARSE_BITS: u32 = 7;

/// A spatial weight times that of a match is divided by `2^WEIGHT_BITS`. The weights of a sample then add up to 9630 at most:
/// the spatial ones to 39 · 39 + 896, and 255 of a match. So the sum of what is weighted, in quarters of the samples' unit, is
/// below 2^24 with samples of eight bits, and below 2^32 with 16.
pub(crate) const WEIGHT_BITS: u32 = 6;

/// The same where ends also predict alone: the weights of the three matches of a vector add up to 765 at most, those of a sample
/// to 14445.
pub(crate) const LONE_BITS: u32 = WEIGHT_BITS + 1;

/// How much an end of a vector counts alone at most.
pub(crate) const MOST_LONE: u32 = 16;

/// By how much the match of an end with the frame beyond it must be better than that of both ends, of 64 samples.
pub(crate) const LONE_COST: u32 = 256;

/// An end counts alone from this difference of both ends on, of 64 samples, with one more of [`MOST_LONE`] parts for every
/// `2^LONE_SHIFT`.
pub(crate) const LONE_DIFFERENCE: u32 = 128;
pub(crate) const LONE_SHIFT: u32 = 5;

/// It leaves out a block that the search found in the other frame at less than this cost, with one part for every
/// `2^FOUND_SHIFT` less.
pub(crate) const FOUND_COST: u32 = 4096;
pub(crate) const FOUND_SHIFT: u32 = 7;

/// The candidates of a coarse block are the vectors of coarse blocks up to so many away on each axis: those of their first
/// blocks.
pub(crate) const COARSE_REACH: i32 = 2;

/// The matches of a coarse vector are compared in so many squares of 8 x 8 samples on each axis.
pub(crate) const COARSE_SQUARES: i32 = 3;

/// Coarse vectors, and the vectors around a cell, are compared in every second row; the sums count as often.
pub(super) const ROW_STEP: usize = 2;

/// What half a sample of a coarse vector costs.
pub(crate) const COARSE_LENGTH: u32 = 8;

/// How far outside a frame, in quarter luma samples, a sample still counts as one of it.
pub(crate) const TOLERANCE: i32 = 2;

/// The luma samples that a projected block must share with a block of the grid.
pub(crate) const LEAST_OVERLAP: i32 = 16;

/// The luma of a block is prefetched as many blocks before.
pub(crate) const AHEAD: usize = 8;

/// One block in as many is prefetched: those beside it lie mostly in the same cache lines.
pub(crate) const PREFETCHED: usize = 4;

/// Lines of C that define for kernels, by the same names, these constants.
#[cfg(feature = "opencl")]
macro_rules! lines_for_kernels {
    ($($name:ident)+) => { [$(format!("#define {} {}\n", stringify!($name), $name)),+].concat() };
}
#[cfg(feature = "opencl")]
pub(crate) use lines_for_kernels;

/// Definitions of the constants that kernels use.
#[cfg(feature = "opencl")]
pub(crate) fn constants_for_kernels() -> String {
    lines_for_kernels!(
        LONGEST MOST_DIFFERENCE SMOOTHNESS MOTION_COST CHROMA_COST STILL_SAMPLES STILL_DIFFERENCE STILL_DETAIL
        MOST_BEYOND FINE HYPOTHESES SOFTNESS COARSE_BADNESS BADNESS_SHIFT MOST_COARSE COARSE_BITS WEIGHT_BITS
        MOST_LONE LONE_COST LONE_DIFFERENCE LONE_SHIFT FOUND_COST FOUND_SHIFT COARSE_REACH COARSE_SQUARES
        ROW_STEP COARSE_LENGTH LEAST_OVERLAP
    )
}

/// The parameters of the search for the motion between frames of `width` x `height` luma samples: of the previous frame in
/// the next one, in frames of the size that [`SearchInput::frame`](super::SearchInput::frame) returns.
///
/// # Errors
/// [`SetupError`] if such frames cannot be searched.
pub fn search_parameters(width: usize, height: usize) -> Result<Parameters, SetupError> {
    halved_parameters((width, height), SEARCHED_SAMPLES, References { backward: 0, forward: 1 })
}

/// The parameters of the search between frames of this size that are halved until they have at most `most` samples.
///
/// # Errors
/// [`SetupError`] if such frames cannot be searched.
pub(crate) fn halved_parameters(
    (width, height): (usize, usize),
    most: usize,
    references: References,
) -> Result<Parameters, SetupError> {
    Parameters::check_frame_size((width, height))?;
    let halvings = halvings_to((width, height), most);
    let (width, height) = (halved(width, halvings), halved(height, halvings));
    let parameters = Parameters {
        algorithm: Algorithm::Hierarchical,
        quality: Quality::Fast,
        references,
        ..Parameters::new(width, height, BLOCK, Window::symmetric(1, 1)?)
    };
    parameters.validate()?;
    Ok(parameters)
}

/// The blocks of the field that the search finds for frames of this size.
pub(super) fn found_grid((width, height): (usize, usize)) -> Grid {
    let halvings = halvings(width, height);
    grid(halved(width, halvings), halved(height, halvings))
}

/// Checks that `field` is such a field.
///
/// # Errors
/// [`CompensationError::FieldSize`].
pub(crate) fn check_field(size: (usize, usize), field: &[MotionVector]) -> Result<(), CompensationError> {
    let (needed, present) = (found_grid(size).blocks(), field.len());
    if present == needed { Ok(()) } else { Err(CompensationError::FieldSize { needed, present }) }
}

/// The blocks of a frame.
pub(crate) fn grid(width: usize, height: usize) -> Grid {
    Grid { columns: width.div_ceil(BLOCK), rows: height.div_ceil(BLOCK) }
}

/// The coarse blocks of a frame with these blocks that is halved so often to be searched: each has 2 << halvings blocks on a
/// side.
pub(crate) fn coarse_grid(grid: Grid, halvings: u32) -> Grid {
    let coarse = |blocks: usize| blocks.div_ceil(2 << halvings);
    Grid { columns: coarse(grid.columns), rows: coarse(grid.rows) }
}

/// A vector from the previous to the next frame, in half luma samples. Quarter samples gain nothing: both ends of half
/// samples lie at quarter samples in the middle, and those of finer vectors would be rounded differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HalfVector {
    pub x: i16,
    pub y: i16,
}

impl HalfVector {
    /// A vector that was found in frames halved this often, in 32nds of a sample; halves are rounded up.
    pub fn found(vector: MotionVector, halvings: u32) -> Self {
        let half_samples = |units: i16| {
            let rounded = ((i32::from(units) << halvings) + 8) >> 4;
            rounded.clamp(-LONGEST, LONGEST) as i16
        };
        Self { x: half_samples(vector.x), y: half_samples(vector.y) }
    }
}

/// The window of a block over `side` samples between its centre and that of the next block, as far as it falls; it rises
/// the other way. Both together are twice `side`.
#[inline(always)]
pub(crate) fn window(side: usize, at: usize) -> u32 {
    2 * (side - at) as u32 - 1
}

/// The window of a block `step` blocks away on an axis, -1 to 1, at sample `at` of a block with so many samples on a side. It
/// falls from 23 in the middle of its block by 2 for each luma sample.
#[inline(always)]
pub(crate) fn fine_window(side: usize, at: usize, step: i32) -> u32 {
    let block = BLOCK as i32;
    let sample = (block / side as i32) * (2 * at as i32 + 1);
    (3 * block - (sample - block - 2 * block * step).abs()).max(0) as u32
}

/// The weight of a match with this error, of which the `least` one of its cell is known. Numbers have signs, because all CPUs
/// have instructions that convert those.
#[inline(always)]
pub(super) fn match_weight(least: i32, error: i32) -> i32 {
    // Both numbers are below 2^24, so that no quotient is rounded up to a whole number.
    let ratio = ((least << 8) as f32 / error as f32) as i32;
    ((ratio * ratio) >> 8).clamp(1, 255)
}

/// How much the ends of a vector may count alone by their difference, of [`MOST_LONE`].
#[inline(always)]
pub(crate) fn unlikeness(difference: u32) -> u32 {
    (difference.saturating_sub(LONE_DIFFERENCE) >> LONE_SHIFT).min(MOST_LONE)
}

/// How much what a block shows may be left out, of [`MOST_LONE`]: the search found it elsewhere at this cost.
pub(crate) fn shown_elsewhere(cost: u32) -> u32 {
    (FOUND_COST.saturating_sub(cost) >> FOUND_SHIFT).min(MOST_LONE)
}

/// Whether plane `index` is predicted as luma is: luma itself, and behind two planes of chroma those with all of luma's samples,
/// as alpha and colours.
pub(crate) fn is_like_luma(index: usize, sampling: Sampling) -> bool {
    index == 0 || (index > 2 && sampling == Sampling::LUMA)
}

/// The samples of a block on each axis in a plane.
pub(crate) fn block_of(sampling: Sampling) -> (usize, usize) {
    (BLOCK >> u32::from(sampling.halved_x), BLOCK >> u32::from(sampling.halved_y))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halved_sides_are_rounded_up() {
        let parameters = search_parameters(17, 1 << 15).unwrap();
        assert_eq!((parameters.width, parameters.height), (9, 1 << 14));
    }

    #[test]
    fn vectors_are_rounded_to_half_samples_of_the_frame() {
        let found = |x: i16, y: i16, halvings| {
            let HalfVector { x, y } = HalfVector::found(MotionVector { x, y, cost: 0 }, halvings);
            (x, y)
        };
        assert_eq!(found(32, -32, 0), (2, -2));
        assert_eq!(found(8, -8, 0), (1, 0));
        assert_eq!(found(7, -9, 0), (0, -1));
        assert_eq!(found(32, -32, 2), (8, -8));
        assert_eq!(found(i16::MAX, i16::MIN, 2), (2048, -2048));
    }

    #[test]
    fn windows_of_neighbours_add_up() {
        for side in [4, 8] {
            assert!((0..side).all(|at| window(side, at) + window(side, side - 1 - at) == 2 * side as u32));
        }
    }
}
