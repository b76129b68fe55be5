//! The samples of a level: a frame, and margins of repeated edge samples around it.
//!
//! Some samples outside the frame even interpolated samples become constant across its edge. So a position
//! further out is moved to where it does, and no margin depends on the length of a vector.

use crate::SetupError;
use crate::memory::Line;
use crate::memory::{LINE, bytes, bytes_mut, lines};

/// Samples before the first column, and at least as many after the last one.
pub const SIDE: usize = 32;

/// Rows above the first one.
pub const ABOVE: usize = 16;

/// Rows below the last one.
pub const BELOW: usize = 24;

/// Further than this from the frame, no sample differs from the next across its edge: six taps only reach
/// repeated edge samples.
pub const CONSTANT: i32 = 8;

/// The most samples on an axis that are read from a position on.
const LONGEST_SIDE: i32 = 8;

/// The layout of a frame with its margins.
#[derive(Clone, Copy, Debug)]
pub struct LevelLayout {
    /// Samples a row of the frame.
    pub width: usize,
    /// Rows of the frame.
    pub height: usize,
    /// Samples from one row to the next.
    pub pitch: usize,
}

impl LevelLayout {
    /// The layout for frames of this size.
    pub fn new(width: usize, height: usize) -> Self {
        // An odd number of cache lines a row spreads the rows of a block over the whole cache.
        let pitch = (SIDE + width + SIDE).next_multiple_of(LINE) | LINE;
        Self { width, height, pitch }
    }

    /// Rows with margins.
    #[inline]
    pub fn rows(&self) -> usize {
        ABOVE + self.height + BELOW
    }

    /// Samples in all.
    #[inline]
    pub fn length(&self) -> usize {
        self.pitch * self.rows()
    }

    /// The index of the first sample of the frame's row nearest to `y`.
    #[inline(always)]
    pub fn row(&self, y: isize) -> usize {
        let nearest = y.clamp(0, self.height as isize - 1) as usize;
        (ABOVE + nearest) * self.pitch + SIDE
    }

    /// The index of the sample at `(x, y)`, which lies in the margins at most.
    #[inline(always)]
    pub fn at(&self, x: i32, y: i32) -> usize {
        (y + ABOVE as i32) as usize * self.pitch + (x + SIDE as i32) as usize
    }

    /// The position of the first of at most 8 × 8 samples that are equal to those at `(x, y)`, in the margins at
    /// most.
    #[inline(always)]
    pub fn near(&self, x: i32, y: i32) -> (i32, i32) {
        let near = |at: i32, length: usize| at.max(-CONSTANT - LONGEST_SIDE).min(length as i32 + CONSTANT);
        (near(x, self.width), near(y, self.height))
    }
}

/// A frame with its margins.
pub struct LevelFrame {
    /// Its layout.
    pub layout: LevelLayout,
    lines: Vec<Line>,
}

impl LevelFrame {
    /// Memory for a frame.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(layout: LevelLayout) -> Result<Self, SetupError> {
        Ok(Self { layout, lines: lines("a frame", layout.length())? })
    }

    /// Every sample, row by row.
    #[inline(always)]
    pub fn samples(&self) -> &[u8] {
        bytes(&self.lines)
    }

    /// The same, to be written.
    #[inline]
    pub fn samples_mut(&mut self) -> &mut [u8] {
        bytes_mut(&mut self.lines)
    }
}
