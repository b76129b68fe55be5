//! What the search of a level in one direction works with.

use crate::native::hierarchical::facts::CellFacts;
use crate::native::hierarchical::grid::CellGrid;
use crate::native::hierarchical::matching::CellMatcher;
use crate::native::hierarchical::rules::LevelRules;
use crate::native::hierarchical::state::CellVectors;

/// The vectors of the coarser level.
#[derive(Clone, Copy)]
pub struct Coarser<'a> {
    /// Its cells.
    pub grid: &'a CellGrid,
    /// Its vectors.
    pub vectors: &'a CellVectors,
}

/// The search of a level in one direction.
pub struct LevelSearch<'a> {
    /// What the level is.
    pub rules: &'a LevelRules,
    /// What each cell of the current frame is.
    pub facts: &'a CellFacts,
    /// The comparison with the reference frame.
    pub matcher: CellMatcher<'a>,
    /// The vectors of the coarser level, if there is one.
    pub coarser: Option<Coarser<'a>>,
}
