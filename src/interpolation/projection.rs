//! The fields of a search, brought to the time of a made frame.

use super::rules::{BLOCK, HalfVector, LEAST_OVERLAP};
use super::starts::Starts;
use crate::estimator::{Grid, MotionVector};

/// A field between the two frames, for each block of the grid.
pub(super) struct FoundField {
    /// From the next to the previous frame?
    is_backward: bool,
    /// From the previous to the next frame in either case, and the cost of the match that was found.
    vectors: Vec<(HalfVector, u32)>,
}

impl FoundField {
    /// Memory for `blocks` vectors.
    pub fn new(blocks: usize, is_backward: bool) -> Self {
        Self { is_backward, vectors: vec![Default::default(); blocks] }
    }

    /// Takes the vectors that a search found in frames halved this often, of which a row has `found_columns`.
    pub fn set(&mut self, found: &[MotionVector], found_columns: usize, grid: Grid, halvings: u32) {
        for (index, to) in self.vectors.iter_mut().enumerate() {
            let (row, column) = (index / grid.columns, index % grid.columns);
            let found = found[(row >> halvings) * found_columns + (column >> halvings)];
            let vector = HalfVector::found(found, halvings);
            *to = (if self.is_backward { vector.opposite() } else { vector }, found.cost);
        }
    }

    /// Writes for each block the vector that goes through it at the phase of `starts`: of those that cover a part of it
    /// the one with the least cost, of several the first; the block's own where nothing covers it. `costs` is memory for
    /// as many blocks.
    pub fn project(&self, starts: &Starts, grid: Grid, costs: &mut [u32], projected: &mut [HalfVector]) {
        for ((to, cost), (vector, _)) in projected.iter_mut().zip(&mut *costs).zip(&self.vectors) {
            (*to, *cost) = (*vector, u32::MAX);
        }
        let side = BLOCK as i32;
        for (index, &(vector, cost)) in self.vectors.iter().enumerate() {
            let (row, column) = (index / grid.columns, index % grid.columns);
            let way = starts.ends(vector)[usize::from(self.is_backward)];
            let x = side * column as i32 + (-way.0 >> 2);
            let y = side * row as i32 + (-way.1 >> 2);
            // It shares samples with at most two columns and two rows of blocks.
            let touched = |at: i32, count: usize| {
                let first = at.div_euclid(side);
                (first..=first + 1).filter(move |block| (0..count as i32).contains(block))
            };
            for row in touched(y, grid.rows) {
                for column in touched(x, grid.columns) {
                    let shared = (side - (side * column - x).abs()) * (side - (side * row - y).abs());
                    let to = row as usize * grid.columns + column as usize;
                    if shared >= LEAST_OVERLAP && cost < costs[to] {
                        (projected[to], costs[to]) = (vector, cost);
                    }
                }
            }
        }
    }
}
