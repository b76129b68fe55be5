#[cfg(feature = "ndarray")]
mod arrays;
mod color;
#[cfg(feature = "image")]
mod picture;
#[cfg(feature = "serde")]
mod stored;

pub use color::motion_color;

use super::{CostKind, CostKinds, Grid, MotionVector, Output, Parameters, Predictor};

/// What a search finds: one vector a block, `rows × columns`, row-major, and for each block what was asked for besides.
///
/// With the feature `serde` a field is read and written, and one that [`Self::check`] refuses is not read. Its form may gain
/// fields:
///
/// ```
/// # #[cfg(feature = "serde")] {
/// # use motion_search::estimator::{MotionField, Parameters, Window};
/// # let field = MotionField::new(&Parameters::new(64, 48, 16, Window::symmetric(4, 4)?));
/// let text = serde_json::to_string(&field)?;
/// assert_eq!(serde_json::from_str::<MotionField>(&text)?, field);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self"))]
pub struct MotionField {
    /// The size of the frame in samples: across, and down.
    pub size: (usize, usize),
    /// The size in blocks.
    pub grid: Grid,
    /// Samples on a side of a block.
    pub block_size: usize,
    /// Units of the vectors per sample.
    pub scale: i32,
    /// Frames from the current frame to the reference frame: -1 for the frame before.
    pub offset: i64,
    /// The vectors, row by row.
    pub vectors: Vec<MotionVector>,
    /// What each vector is expected to be, if [`Parameters::prediction`] asks for it; else empty.
    pub predictors: Vec<Predictor>,
    /// The kinds of [`Self::costs`].
    pub cost_kinds: CostKinds,
    /// The costs that [`Parameters::costs`] asks for, besides those of the vectors: those of the first block in the order of
    /// [`CostKind::ALL`], then those of the second, and so on. [`Self::cost`] finds one.
    pub costs: Vec<u32>,
    /// Whether the current frame begins another scene than the frame before shows, if [`Parameters::scene_cut`] asks for it
    /// and the reference frame is the frame before.
    pub is_scene_cut: Option<bool>,
}

impl MotionField {
    /// A field of zero vectors in the frame before, as large as a search with `parameters` finds.
    pub fn new(parameters: &Parameters) -> Self {
        Self { vectors: vec![MotionVector::default(); parameters.grid().blocks()], ..Self::empty(parameters) }
    }

    /// What a search with `parameters` has found in the frame at `offset`.
    pub(crate) fn of(parameters: &Parameters, offset: i64, found: &Output) -> Self {
        let costs = found.costs.as_deref();
        Self {
            offset,
            vectors: found.vectors.to_vec(),
            predictors: found.predictors.as_deref().map(<[_]>::to_vec).unwrap_or_default(),
            cost_kinds: costs.map_or(CostKinds::NONE, |_| parameters.costs),
            costs: costs.map(<[_]>::to_vec).unwrap_or_default(),
            is_scene_cut: found.is_scene_cut,
            ..Self::empty(parameters)
        }
    }

    /// A field in the frame before, still without vectors.
    fn empty(parameters: &Parameters) -> Self {
        let Parameters { width, height, block_size, algorithm, .. } = *parameters;
        let (size, grid) = ((width, height), parameters.grid());
        Self { size, grid, block_size, scale: algorithm.scale(), offset: -1, ..Self::default() }
    }

    /// Checks that all parts belong to blocks of one frame: a search finds no other field, but a program can make one.
    ///
    /// # Errors
    /// [`FieldError`] says what does not fit.
    pub fn check(&self) -> Result<(), FieldError> {
        let Self { size, grid, block_size, scale, .. } = *self;
        if block_size == 0 || scale < 1 {
            return Err(FieldError::Units { block_size, scale });
        }
        let Grid { columns, rows } = grid;
        let (width, height) = size;
        if (width.div_ceil(block_size), height.div_ceil(block_size)) != (columns, rows) {
            return Err(FieldError::Grid { width, height, block_size, columns, rows });
        }
        let blocks = grid.blocks();
        let predictors = if self.predictors.is_empty() { 0 } else { blocks };
        for (what, present, expected) in [
            ("vectors", self.vectors.len(), blocks),
            ("predictors", self.predictors.len(), predictors),
            ("costs", self.costs.len(), blocks.saturating_mul(self.cost_kinds.count())),
        ] {
            if present != expected {
                return Err(FieldError::Records { what, present, expected });
            }
        }
        Ok(())
    }

    /// The place of the block in `column` and `row` of the grid.
    fn index(&self, column: usize, row: usize) -> Option<usize> {
        let is_inside = column < self.grid.columns && row < self.grid.rows;
        is_inside.then(|| row.checked_mul(self.grid.columns)?.checked_add(column)).flatten()
    }

    /// The vector of the block in `column` and `row` of the grid; `None` outside the grid.
    pub fn vector(&self, column: usize, row: usize) -> Option<MotionVector> {
        self.vectors.get(self.index(column, row)?).copied()
    }

    /// The predictor of the block in `column` and `row` of the grid; `None` outside the grid, and if none was asked for.
    pub fn predictor(&self, column: usize, row: usize) -> Option<Predictor> {
        self.predictors.get(self.index(column, row)?).copied()
    }

    /// The cost of this `kind` of the block in `column` and `row` of the grid; `None` outside the grid, and for a kind that
    /// was not asked for.
    pub fn cost(&self, kind: CostKind, column: usize, row: usize) -> Option<u32> {
        let place = self.cost_kinds.iter().position(|other| other == kind)?;
        let first = self.index(column, row)?.checked_mul(self.cost_kinds.count())?;
        self.costs.get(first.checked_add(place)?).copied()
    }

    /// The motion at the sample in column `x` and row `y` of the frame, in samples to the right and down: what is there in
    /// the current frame is at `(x, y)` plus the motion in the reference frame. `None` outside the grid.
    pub fn motion_at(&self, x: usize, y: usize) -> Option<(f32, f32)> {
        let block = |sample: usize| sample.checked_div(self.block_size);
        self.vector(block(x)?, block(y)?).map(|vector| self.samples(vector))
    }

    /// `vector` in samples to the right and down.
    fn samples(&self, vector: MotionVector) -> (f32, f32) {
        let samples = |units: i16| f32::from(units) / self.scale as f32;
        (samples(vector.x), samples(vector.y))
    }
}

/// Why the parts of a [`MotionField`] do not belong together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// Blocks without samples, or vectors without units.
    #[error(
        "a field has blocks of 1 sample or more and 1 unit a sample or more, not {block_size} and {scale}"
    )]
    #[allow(missing_docs)]
    Units { block_size: usize, scale: i32 },
    /// Another grid than that of the frame.
    #[error(
        "blocks of {block_size} samples in a frame of {width} x {height} are not {columns} x {rows} blocks"
    )]
    #[allow(missing_docs)]
    Grid { width: usize, height: usize, block_size: usize, columns: usize, rows: usize },
    /// Another number of records than the grid has blocks.
    #[error("the field has {present} {what} where its grid has room for {expected}")]
    #[allow(missing_docs)]
    Records { what: &'static str, present: usize, expected: usize },
}
