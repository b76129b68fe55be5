//! Where between the quarter samples a cell matches best: the lowest point of a parabola through costs on both
//! sides.

use crate::native::hierarchical::grid::{LANES, LaneWords};
use crate::native::hierarchical::level_search::LevelSearch;
use crate::native::hierarchical::rows::FieldRows;
use motion_base::memory::{chunk, chunk_mut};
use motion_base::simd::InstructionSet;

/// 64ths of a quarter sample.
const FINE: i32 = 16;

/// The distance, in quarter samples, of the costs through which the parabola goes.
const ARM: i32 = 2;

/// Fits the parabolas of the cells of `row`.
#[inline(always)]
pub fn fit_row<E: InstructionSet>(engine: E, search: &LevelSearch<'_>, rows: &mut FieldRows<'_>, row: usize) {
    let (matcher, grid) = (&search.matcher, search.rules.grid);
    let cells = &rows.cells[rows.chunks(&grid, row)];
    for ((column, count), cells) in grid.chunks().zip(cells) {
        let to = rows.at(&grid, column, row);
        let vectors = &rows.vectors[search.rules.iterations % 2];
        let (mut before, mut after) = ([[0; LANES]; 2], [[0; LANES]; 2]);
        for lane in 0..count {
            let (x, y) = (i32::from(vectors[0][to + lane]), i32::from(vectors[1][to + lane]));
            let cost = |x, y| matcher.cost::<E, false>(engine, cells, lane, (x, y)) as i32;
            for (axis, (right, down)) in [(ARM, 0), (0, ARM)].into_iter().enumerate() {
                before[axis][lane] = cost(x - right, y - down);
                after[axis][lane] = cost(x + right, y + down);
            }
        }
        let costs = chunk(rows.costs, to);
        for axis in 0..2 {
            let (shift, steep) = parabola(&before[axis], costs, &after[axis]);
            let vectors: &[i16; LANES] = chunk(vectors[axis], to);
            let lowest = chunk_mut::<i32, LANES>(rows.lowest[axis], to);
            for i in 0..LANES {
                lowest[i] = FINE * i32::from(vectors[i]) + shift[i];
            }
            *chunk_mut(rows.steepness[axis], to) = steep;
        }
    }
}

/// In each lane the lowest point of a parabola in 64ths, at most a quarter sample away, and how steep it is.
#[inline(always)]
fn parabola(before: &LaneWords, costs: &[u16; LANES], after: &LaneWords) -> (LaneWords, LaneWords) {
    let (mut lowest, mut steepness) = ([0; LANES], [0; LANES]);
    for i in 0..LANES {
        steepness[i] = (before[i] + after[i] - 2 * i32::from(costs[i])).max(0);
        let shift = divide((before[i] - after[i]) * FINE, steepness[i].max(1)).clamp(-FINE, FINE);
        // An exact match needs no correction: what does not change does not move.
        lowest[i] = if steepness[i] > 0 && costs[i] > 0 { shift } else { 0 };
    }
    (lowest, steepness)
}

/// `a / b`, rounded towards zero. In 64-bit floating point this is exact: a quotient that is not a whole number
/// is at least 1 / b from one, which is more than the rounding of a quotient of 32-bit numbers.
#[inline(always)]
pub fn divide(a: i32, b: i32) -> i32 {
    (f64::from(a) / f64::from(b)) as i32
}
