//! Blocks and the candidates that they are compared with, as samples in memory.

/// Samples of a reference row that may be read from the first candidate's first sample on.
pub const ROW_SAMPLES: usize = 64;

/// The eight candidates around another one, in steps of a search.
pub const AROUND: [(i32, i32); 8] = [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)];

/// Blocks of a row and the frame that holds their candidates; rows of both are `pitch` apart.
#[derive(Clone, Copy)]
pub struct Candidates<'a, S = u8> {
    current: &'a [S],
    reference: &'a [S],
    pitch: usize,
    side: usize,
}

impl<'a, S> Candidates<'a, S> {
    /// Blocks of `side` samples, the first of them at the start of `current` and the others to its right, and the
    /// samples of the reference frame.
    ///
    /// # Panics
    /// Where `side` is no multiple of four.
    #[inline(always)]
    pub fn new(current: &'a [S], reference: &'a [S], pitch: usize, side: usize) -> Self {
        assert!(side.is_multiple_of(4) && side >= 4 && pitch >= side);
        Self { current, reference, pitch, side }
    }

    /// Samples from the first of a block, or of a candidate, to its last.
    #[inline(always)]
    fn length(&self) -> usize {
        (self.side - 1) * self.pitch + self.side
    }

    /// The samples of block `block`, to its last.
    ///
    /// # Panics
    /// Where there is no such block.
    #[inline(always)]
    pub fn block(&self, block: u16) -> &'a [S] {
        &self.current[usize::from(block) * self.side..][..self.length()]
    }

    /// The samples of the candidate whose first is at `offset` of the reference, to its last.
    ///
    /// # Panics
    /// Where the reference ends before.
    #[inline(always)]
    pub fn at(&self, offset: u32) -> &'a [S] {
        &self.reference[offset as usize..][..self.length()]
    }

    /// Samples that `rows` rows of neighbouring candidates read: to [`ROW_SAMPLES`] past the beginning of the last row.
    #[inline(always)]
    fn length_of_rows(&self, rows: usize) -> usize {
        (self.side + rows - 2) * self.pitch + ROW_SAMPLES
    }

    /// Whether the reference has all samples that `rows` rows of candidates read, the first candidate at `offset`.
    #[inline(always)]
    pub fn has_rows(&self, offset: u32, rows: usize) -> bool {
        offset as usize + self.length_of_rows(rows) <= self.reference.len()
    }

    /// These samples.
    ///
    /// # Panics
    /// Where the reference ends before.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn rows(&self, offset: u32, rows: usize) -> &'a [S] {
        &self.reference[offset as usize..][..self.length_of_rows(rows)]
    }

    /// Samples from one row to the next.
    #[inline(always)]
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// Samples an axis.
    #[inline(always)]
    pub fn side(&self) -> usize {
        self.side
    }
}

/// Candidates, or groups of them: the block that each belongs to, and where its first sample is.
pub type Listed<'a> = (&'a [u16], &'a [u32]);
