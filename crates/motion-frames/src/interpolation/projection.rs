//! The field of a search, brought to the time of a made frame.

use super::rules::{BLOCK, HalfVector, LEAST_OVERLAP, shown_elsewhere};
use super::starts::Starts;
use motion_base::memory;
use motion_base::{Grid, MotionVector, SetupError};

/// `BLOCK` is two to this power.
const SIDE_BITS: u32 = BLOCK.ilog2();

/// The field of a pair of frames, for each block of the grid.
pub(super) struct FoundField {
    /// From the first to the second frame, and the cost of the match that was found.
    vectors: Vec<(HalfVector, u32)>,
    /// Those of the projected vectors.
    costs: Vec<u32>,
}

impl FoundField {
    /// Memory for `blocks` vectors.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(blocks: usize) -> Result<Self, SetupError> {
        Ok(Self { vectors: memory::values("a field", blocks)?, costs: memory::values("costs", blocks)? })
    }

    /// Takes the vectors that a search found in frames halved this often, of which a row has `found_columns`.
    pub fn set(&mut self, found: &[MotionVector], found_columns: usize, grid: Grid, halvings: u32) {
        for (row, vectors) in self.vectors.chunks_exact_mut(grid.columns).enumerate() {
            let found = &found[(row >> halvings) * found_columns..][..found_columns];
            // Each is that of several blocks.
            for (&found, vectors) in found.iter().zip(vectors.chunks_mut(1 << halvings)) {
                vectors.fill((HalfVector::found(found, halvings), found.cost));
            }
        }
    }

    /// Writes for each block the vector that goes through it at the phase of `starts`, in the pair of frames so many intervals
    /// later: of those that cover a part of it the one with the least cost, of several the first; the block's own where nothing
    /// covers it.
    pub fn project(&mut self, starts: &Starts, intervals: i16, grid: Grid, projected: &mut [HalfVector]) {
        let Self { vectors, costs } = self;
        for ((to, cost), (vector, _)) in projected.iter_mut().zip(&mut *costs).zip(&*vectors) {
            (*to, *cost) = (*vector, u32::MAX);
        }
        let moved = |vector| {
            let [way, _] = starts.ends(vector).carried(intervals).ways();
            (-way.0 >> 2, -way.1 >> 2)
        };
        cover(vectors, grid, moved, |to, vector, cost| {
            if cost < costs[to] {
                (projected[to], costs[to]) = (vector, cost);
            }
        });
    }

    /// Writes how much what the blocks of the previous and of the next frame show may be left out of a made frame.
    pub fn find_shown_elsewhere(&mut self, grid: Grid, [of_previous, of_next]: &mut [Vec<u8>; 2]) {
        let Self { vectors, costs } = self;
        costs.fill(u32::MAX);
        let moved = |vector: HalfVector| (i32::from(vector.x) >> 1, i32::from(vector.y) >> 1);
        cover(vectors, grid, moved, |to, _, cost| costs[to] = costs[to].min(cost));
        let share = |cost| shown_elsewhere(cost) as u8;
        of_previous.iter_mut().zip(vectors).for_each(|(to, (_, cost))| *to = share(*cost));
        of_next.iter_mut().zip(costs).for_each(|(to, cost)| *to = share(*cost));
    }
}

/// Calls `visit` with the vector and the cost of each block, and with the number of each block that it then covers enough of: at
/// first it moves by as many whole samples as `moved` says.
fn cover(
    vectors: &[(HalfVector, u32)],
    grid: Grid,
    moved: impl Fn(HalfVector) -> (i32, i32),
    mut visit: impl FnMut(usize, HalfVector, u32),
) {
    let side = BLOCK as i32;
    for (row, vectors) in vectors.chunks_exact(grid.columns).enumerate() {
        for (column, &(vector, cost)) in vectors.iter().enumerate() {
            let way = moved(vector);
            let (x, y) = (side * column as i32 + way.0, side * row as i32 + way.1);
            let (right, below) = (x & (side - 1), y & (side - 1));
            // It shares samples with at most two columns and two rows of blocks: each block, and what it shares.
            for (row, height) in [(y >> SIDE_BITS, side - below), ((y >> SIDE_BITS) + 1, below)] {
                for (column, width) in [(x >> SIDE_BITS, side - right), ((x >> SIDE_BITS) + 1, right)] {
                    let (row, column) = (row as usize, column as usize);
                    if width * height >= LEAST_OVERLAP && row < grid.rows && column < grid.columns {
                        visit(row * grid.columns + column, vector, cost);
                    }
                }
            }
        }
    }
}
