//! From vectors in 1/64 sample to the records of blocks.

use super::cells::{CellVector, Cells};
use crate::estimator::oracle::interpolation::Interpolated;
use crate::estimator::{FrameView, Grid, MotionField, MotionVector, Parameters};
use motion_base::hierarchy::CELL;

/// The vectors of the blocks of `grid`, `side` samples wide and high, from those of their cells.
pub(super) fn vectors_of_blocks(grid: Grid, side: usize, vectors: &Cells<CellVector>) -> Cells<CellVector> {
    let cells = |index: i32| {
        let first = index as usize * side;
        (first / CELL) as i32..(first + side).div_ceil(CELL) as i32
    };
    Cells::from_fn(grid.columns as i32, grid.rows as i32, |(column, row)| {
        let indices = cells(row).flat_map(|y| cells(column).map(move |x| (x, y)));
        vector_median(&indices.filter_map(|at| vectors.get(at)).collect::<Vec<_>>())
    })
}

/// The vector with the least sum of distances to all; of equal sums the first.
fn vector_median(vectors: &[CellVector]) -> CellVector {
    let sum = |vector: CellVector| vectors.iter().map(|&other| vector.distance(other)).sum::<i32>();
    vectors.iter().copied().min_by_key(|&vector| sum(vector)).unwrap_or_default()
}

/// The field of these vectors of blocks, with the costs of the frames as they are.
pub(super) fn field(
    parameters: &Parameters,
    current: &FrameView<'_>,
    reference: &FrameView<'_>,
    vectors: &Cells<CellVector>,
) -> MotionField {
    let side = parameters.block_size as i32;
    let reference = Interpolated::new(reference);
    let mut field = MotionField::new(parameters);
    let columns = field.grid.columns;
    for (index, record) in field.vectors.iter_mut().enumerate() {
        let (column, row) = ((index % columns) as i32, (index / columns) as i32);
        let vector = record_vector(vectors[(column, row)]);
        let cost = cost(side, current, &reference, (side * column, side * row), vector.rounded_to(8));
        *record = MotionVector { x: vector.x as i16, y: vector.y as i16, cost };
    }
    field
}

/// A vector as records have it, in 1/32 sample.
pub(super) fn record_vector(vector: CellVector) -> CellVector {
    const LONGEST: i32 = i16::MAX as i32;
    let CellVector { x, y } = vector.rounded_to(2);
    CellVector::new(x.clamp(-LONGEST, LONGEST), y.clamp(-LONGEST, LONGEST))
}

/// The SAD of the block that starts at `left`, `top`, and the reference frame at `vector` from it, in quarter samples.
fn cost(
    side: i32,
    current: &FrameView<'_>,
    reference: &Interpolated,
    (left, top): (i32, i32),
    vector: CellVector,
) -> u32 {
    let positions = (top..top + side).flat_map(|y| (left..left + side).map(move |x| (x, y)));
    let differences = positions.map(|(x, y)| {
        let match_sample = reference.sample(4 * x + vector.x, 4 * y + vector.y);
        i32::from(current.extended(x, y)).abs_diff(match_sample)
    });
    differences.sum()
}
