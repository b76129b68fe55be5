//! The second least cost: how much worse the best other match is.

use crate::estimator::{CostKind, FrameView, MotionVector, Parameters, Window};

/// Candidates further away than this beyond those that can win cost the same as nearer ones: a block that holds nothing
/// but repeated samples of an axis holds the same further out. Those nearer than two samples to the vector are left out,
/// so that the next ones count.
const BEYOND: i32 = 4;

/// Units of vectors a sample: hierarchical search has no window.
const UNITS: i32 = crate::estimator::UNITS_PER_SAMPLE;

/// The candidates of the blocks in `columns` and `rows` of the grid whose costs differ.
fn window(parameters: &Parameters, columns: (usize, usize), rows: (usize, usize)) -> Window {
    let winning = parameters.winning_window_of(columns.0..=columns.1, rows.0..=rows.1);
    let across = winning.x0() - BEYOND..=winning.x1() + BEYOND;
    let down = winning.y0() - BEYOND..=winning.y1() + BEYOND;
    match columns.0 == columns.1 && rows.0 == rows.1 {
        true => parameters.window_of_block(columns.0, rows.0).clipped(across, down),
        false => parameters.window.clipped(across, down),
    }
}

/// The samples that [`second_costs`] needs memory for.
pub(super) fn second_memory(parameters: &Parameters) -> usize {
    if !parameters.costs.contains(CostKind::Second) {
        return 0;
    }
    let (grid, side) = (parameters.grid(), parameters.block_size);
    let window = window(parameters, (0, grid.columns - 1), (0, grid.rows - 1));
    side * side + (window.columns() + side - 1) * (window.rows() + side - 1)
}

/// Writes the second least cost of each block in row `row`, whose vectors are `vectors`: the cost of the best candidate
/// at least two samples away on one axis; [`u32::MAX`] if there is none.
#[inline(always)]
pub(super) fn second_costs<'a>(
    parameters: &Parameters,
    [current, reference]: [&FrameView<'_>; 2],
    row: usize,
    vectors: &[MotionVector],
    memory: &mut [u16],
    costs: impl Iterator<Item = &'a mut u32>,
) {
    let side = parameters.block_size;
    let (block, area) = memory.split_at_mut(side * side);
    for ((column, vector), cost) in vectors.iter().enumerate().zip(costs) {
        let (left, top) = ((column * side) as i32, (row * side) as i32);
        let window = window(parameters, (column, column), (row, row));
        let pitch = window.columns() + side - 1;
        for (y, samples) in (top..).zip(block.chunks_exact_mut(side)) {
            current.read_pixels::<1>(left, y, samples);
        }
        let first = (left + window.x0(), top + window.y0());
        let rows = window.rows() + side - 1;
        for (y, samples) in (first.1..).zip(area.chunks_exact_mut(pitch)).take(rows) {
            reference.read_pixels::<1>(first.0, y, samples);
        }
        *cost = u32::MAX;
        for (x, y) in window.iter() {
            let (right, down) = (UNITS * x - i32::from(vector.x), UNITS * y - i32::from(vector.y));
            if right.abs().max(down.abs()) < 2 * UNITS {
                continue;
            }
            let at = (y - window.y0()) as usize * pitch + (x - window.x0()) as usize;
            let mut sum = 0;
            for (block, candidate) in block.chunks_exact(side).zip(area[at..].chunks(pitch)) {
                for (c, r) in block.iter().zip(&candidate[..side]) {
                    sum += parameters.metric.term(c.abs_diff(*r));
                }
                if sum >= *cost {
                    break;
                }
            }
            *cost = sum.min(*cost);
        }
    }
}
