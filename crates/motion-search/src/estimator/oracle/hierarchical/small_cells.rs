//! The vectors of small cells, quarters of cells with 4 x 4 samples each (pass 13).

use super::cells::{CellIndex, CellVector, Cells};
use super::check::medians;
use super::level::{SearchLevel, likeness};
use super::refine::pull;

/// What one unit of a data cost weighs against one unit of distance to the vectors of the nearest cells.
const DATA_WEIGHT: i32 = 512;

/// The weights of the four nearest cells by their distance to the small cell: those of bilinear interpolation.
const NEARNESS: [i32; 4] = [9, 3, 3, 1];

/// The weight of a small cell's own vector against those of its neighbours.
const OWN_WEIGHT: i32 = 16;

/// The vectors of `columns` x `rows` small cells in 1/64 sample, from those of the cells of `level`.
pub(super) fn vectors_of_small_cells(
    level: &SearchLevel,
    vectors: &Cells<CellVector>,
    columns: i32,
    rows: i32,
) -> Cells<CellVector> {
    let means = Cells::from_fn(columns, rows, |at| level.mean_of_small_cell(at));
    let chosen = means.map(|at| best_of_nearest(level, vectors, at, means[at]));
    let drawn = chosen.map(|at| {
        let (weights, sum) = pull(&means, at, &chosen);
        let all = OWN_WEIGHT + weights;
        chosen[at] + CellVector::new(sum.x / all, sum.y / all)
    });
    medians(&means, &drawn)
}

/// Of the vectors of the four nearest cells, the one that agrees best with the samples and with these vectors.
fn best_of_nearest(level: &SearchLevel, vectors: &Cells<CellVector>, at: CellIndex, mean: i32) -> CellVector {
    let cells = vectors.parents(at);
    let energy = |vector: &CellVector| {
        let distances = cells.iter().zip(NEARNESS).map(|(&cell, nearness)| {
            nearness * likeness(level.means[cell], mean) * vector.distance(vectors[cell])
        });
        DATA_WEIGHT * level.cost_of_small_cell(at, vector.rounded_to(16)) + distances.sum::<i32>()
    };
    cells.map(|cell| vectors[cell]).into_iter().min_by_key(energy).unwrap_or_default()
}
