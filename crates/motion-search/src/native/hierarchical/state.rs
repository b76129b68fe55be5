//! The field of one level while it is searched.

use crate::estimator::SetupError;
use crate::native::hierarchical::candidates::{ChunkStarts, LaneCosts};
use crate::native::hierarchical::grid::CellGrid;
use crate::native::hierarchical::matching::ChunkCells;
use crate::native::hierarchical::rules::LevelRules;
use motion_base::memory::values;

/// The parabolas of all cells, across and down.
pub struct LevelParabolas {
    /// The vectors at their lowest points, in 64ths of a sample.
    pub lowest: [Vec<i32>; 2],
    /// How steep they are.
    pub steepness: [Vec<i32>; 2],
}

impl LevelParabolas {
    /// Memory for those of `grid`.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(grid: &CellGrid) -> Result<Self, SetupError> {
        let pair = || Ok::<_, SetupError>([grid.values()?, grid.values()?]);
        Ok(Self { lowest: pair()?, steepness: pair()? })
    }
}

/// A vector a cell, in quarter samples.
///
/// They stay below 8192 on an axis: at most 32 at the beginning of the coarsest level, 6 or 7 more after the
/// iterations of a level, and twice as much on the next of at most 8 levels.
pub struct CellVectors {
    /// To the right.
    pub x: Vec<i16>,
    /// Down.
    pub y: Vec<i16>,
}

impl CellVectors {
    /// Memory for those of `grid`.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(grid: &CellGrid) -> Result<Self, SetupError> {
        Ok(Self { x: grid.values()?, y: grid.values()? })
    }

    /// The vector with this index.
    #[inline(always)]
    pub fn get(&self, at: usize) -> (i32, i32) {
        (self.x[at].into(), self.y[at].into())
    }

    /// Both components of all.
    pub fn components(&self) -> [&[i16]; 2] {
        [&self.x, &self.y]
    }

    /// Repeats the vectors at the edges of the grid in its margins.
    pub fn repeat_edges(&mut self, grid: &CellGrid) {
        grid.repeat_edges(&mut self.x);
        grid.repeat_edges(&mut self.y);
    }
}

/// The field of one frame in the other on one level.
pub struct LevelField {
    /// What the level is.
    pub rules: LevelRules,
    /// The vectors after an even number of iterations, and after an odd one.
    pub vectors: [CellVectors; 2],
    /// 1 where the iteration has changed the vector, or nothing is known yet.
    pub moved: [Vec<u8>; 2],
    /// The cost of each vector without its smoothness.
    pub costs: Vec<u16>,
    /// What the candidates of the last iteration cost, by chunks.
    pub known_costs: Vec<LaneCosts>,
    /// The samples of the cells, by chunks.
    pub cells: Vec<ChunkCells>,
    /// What the cells could start from, by chunks.
    pub starts: Vec<ChunkStarts>,
    /// The parabolas of the finest level.
    pub parabolas: Option<LevelParabolas>,
}

impl LevelField {
    /// Memory for a field of the level.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(rules: LevelRules) -> Result<Self, SetupError> {
        let grid = &rules.grid;
        let vectors = || CellVectors::new(grid);
        let chunks = grid.chunks().count() * grid.rows;
        Ok(Self {
            vectors: [vectors()?, vectors()?],
            moved: [grid.values()?, grid.values()?],
            costs: grid.values()?,
            known_costs: values("the costs of candidates", chunks)?,
            cells: values("the samples of cells", chunks)?,
            starts: values("the vectors of parents", chunks)?,
            parabolas: (rules.index == 0).then(|| LevelParabolas::new(grid)).transpose()?,
            rules,
        })
    }

    /// The vectors after all iterations.
    pub fn vectors(&self) -> &CellVectors {
        &self.vectors[self.rules.iterations % 2]
    }

    /// The same, to be changed.
    pub fn vectors_mut(&mut self) -> &mut CellVectors {
        &mut self.vectors[self.rules.iterations % 2]
    }
}
