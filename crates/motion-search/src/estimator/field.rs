use super::{Grid, MotionVector, Parameters};

/// What a search finds: one vector a block, `rows × columns`, row-major.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MotionField {
    /// The size in blocks.
    pub grid: Grid,
    /// Samples on a side of a block.
    pub block_size: usize,
    /// Units of the vectors per sample.
    pub scale: i32,
    /// The vectors, row by row.
    pub vectors: Vec<MotionVector>,
}

impl MotionField {
    /// A field of zero vectors, as large as a search with `parameters` finds.
    pub fn new(parameters: &Parameters) -> Self {
        Self::of(parameters, vec![MotionVector::default(); parameters.grid().blocks()])
    }

    /// The field of these vectors, which a search with `parameters` has found.
    pub(crate) fn of(parameters: &Parameters, vectors: Vec<MotionVector>) -> Self {
        let Parameters { block_size, algorithm, .. } = *parameters;
        Self { grid: parameters.grid(), block_size, scale: algorithm.scale(), vectors }
    }

    /// The vector of the block in `column` and `row` of the grid; `None` outside the grid.
    pub fn vector(&self, column: usize, row: usize) -> Option<MotionVector> {
        let is_inside = column < self.grid.columns && row < self.grid.rows;
        is_inside.then(|| self.vectors.get(row * self.grid.columns + column).copied()).flatten()
    }

    /// The motion at the sample in column `x` and row `y` of the frame, in samples to the right and down: what is there in
    /// the current frame is at `(x, y)` plus the motion in the reference frame. `None` outside the grid.
    pub fn motion_at(&self, x: usize, y: usize) -> Option<(f32, f32)> {
        let block = |sample: usize| sample.checked_div(self.block_size);
        let vector = self.vector(block(x)?, block(y)?)?;
        let samples = |units: i16| f32::from(units) / self.scale as f32;
        Some((samples(vector.x), samples(vector.y)))
    }
}
