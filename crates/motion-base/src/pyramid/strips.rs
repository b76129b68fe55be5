//! Half samples in vertical strips.
//!
//! A row of a strip has a cache line of each of four planes: whole samples, half a sample to the right, half
//! below, and both. Strips overlap, so that twelve samples from any position on lie in one cache line of one
//! strip; and as all rows are equally far apart in every frame, the distances between them are constants of the
//! compiled code.

use crate::SetupError;
use crate::memory::Line;
use crate::memory::{LINE, bytes, bytes_mut, lines};
use crate::pyramid::planes::{ABOVE, CONSTANT, LevelLayout, SIDE};

/// The planes of a frame: see the [module](self).
pub const PLANES: usize = 4;

/// Samples from one row to the next.
pub const ROW: usize = PLANES * LINE;

/// Samples that are read at once: twelve, and one more for half a sample.
const READ_AT_ONCE: usize = 13;

/// Columns from one strip to the next.
pub const ADVANCE: usize = LINE - READ_AT_ONCE + 1;

/// `column / ADVANCE` is `column * RECIPROCAL >> SHIFT`, as far as frames with margins go.
const RECIPROCAL: usize = (1 << SHIFT) / ADVANCE + 1;
const SHIFT: u32 = 22;
const _: () = assert!((40000 * RECIPROCAL) >> SHIFT == 40000 / ADVANCE && 40000 / ADVANCE * ADVANCE == 39988);

/// The half samples of a frame.
pub struct HalfSamples {
    /// The layout of the frame.
    pub layout: LevelLayout,
    lines: Vec<Line>,
}

impl HalfSamples {
    /// Memory for those of a frame.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(layout: LevelLayout) -> Result<Self, SetupError> {
        let columns = SIDE + layout.width + CONSTANT as usize + READ_AT_ONCE;
        let strips = columns.div_ceil(ADVANCE);
        Ok(Self {
            layout,
            lines: lines("the half samples of a frame", strips * Self::strip_length(&layout))?,
        })
    }

    /// Samples of a strip.
    #[inline(always)]
    pub fn strip_length(layout: &LevelLayout) -> usize {
        layout.rows() * ROW
    }

    /// All samples.
    #[inline(always)]
    pub fn samples(&self) -> &[u8] {
        bytes(&self.lines)
    }

    /// All samples, to be written.
    #[inline]
    pub fn samples_mut(&mut self) -> &mut [u8] {
        bytes_mut(&mut self.lines)
    }
}

/// Where the sample at `(x, y)`, in the margins at most, lies in strips of this length.
#[inline(always)]
pub fn at(strip_length: usize, x: i32, y: i32) -> usize {
    let (column, row) = ((x + SIDE as i32) as usize, (y + ABOVE as i32) as usize);
    let strip = (column * RECIPROCAL) >> SHIFT;
    strip * (strip_length - ADVANCE) + column + row * ROW
}
