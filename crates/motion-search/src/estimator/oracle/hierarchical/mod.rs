//! Hierarchical search, one sample, one candidate and one cell at a time.
//!
//! [`algorithms`](motion_base::algorithms) defines the passes that the comments here number. Each pass makes new values of all cells from
//! those of the passes before it, so the order of the cells does not matter.

mod blocks;
mod cells;
mod check;
mod frames;
mod level;
mod refine;
mod search;
mod small_cells;
#[cfg(test)]
mod tests;

use crate::estimator::{Frame, FrameView, MotionField, Parameters};
use cells::{CellVector, Cells};
use check::Check;
pub use frames::eight_bits;
use level::SearchLevel;
use motion_base::hierarchy::{CELL, Preset};

/// The field of hierarchical search.
///
/// # Panics
/// If the block size is 0, or a frame does not have the size in `parameters`.
pub fn hierarchical(
    parameters: &Parameters,
    current: &FrameView<'_>,
    reference: &FrameView<'_>,
) -> MotionField {
    current.check(parameters).expect("current frame");
    reference.check(parameters).expect("reference frame");
    let [current, reference] = [current, reference].map(frames::eight_bits);
    let (current, reference) = (&current.view(), &reference.view());
    let Direction { level, vectors } = search_levels(&parameters.quality.preset(), current, reference);
    let (grid, side) = (parameters.grid(), parameters.block_size);
    let vectors = if side < CELL {
        small_cells::vectors_of_small_cells(&level, &vectors, grid.columns as i32, grid.rows as i32)
    } else {
        blocks::vectors_of_blocks(grid, side, &vectors)
    };
    blocks::field(parameters, current, reference, &vectors)
}

/// Level 0 of the search of `current` in `reference`, with the vectors of its cells in 1/64 sample.
fn search_levels(preset: &Preset, current: &FrameView<'_>, reference: &FrameView<'_>) -> Direction {
    let frames = [current, reference].map(frames::pyramid);
    let mut directions: Vec<Direction> = Vec::new();
    for index in (0..frames[0].len()).rev() {
        let searched = if index >= preset.checked_from { 2 } else { 1 };
        directions = (0..searched)
            .map(|of| {
                let (frame, other) = (&frames[of][index], &frames[1 - of][index]);
                Direction::search(index, frame, other, preset, directions.get(of))
            })
            .collect();
        if index > 0 {
            check_each_other(&mut directions, &Check::COARSE);
        }
    }
    for Direction { level, vectors } in &mut directions {
        let refined = refine::refined(level, vectors);
        *vectors = check::medians(&level.means, &refined);
    }
    check_each_other(&mut directions, &Check::FINEST);
    directions.swap_remove(0)
}

/// The motion from one of the frames to the other, on one level.
struct Direction {
    level: SearchLevel,
    vectors: Cells<CellVector>,
}

impl Direction {
    /// The motion from `frame` to `other` on level `index`. `coarser` is that of the next coarser level.
    fn search(
        index: usize,
        frame: &Frame,
        other: &Frame,
        preset: &Preset,
        coarser: Option<&Direction>,
    ) -> Self {
        let offsets =
            coarser.filter(|_| index == 0).map(|coarser| check::offsets(&coarser.level, &coarser.vectors));
        let level = SearchLevel::new(index, frame, other, preset, offsets);
        let vectors = search::search(&level, preset, coarser.map(|coarser| &coarser.vectors));
        Self { level, vectors }
    }
}

/// Checks both directions with each other, if both are searched.
fn check_each_other(directions: &mut [Direction], check: &Check) {
    if let [forward, backward] = directions {
        let checked = check.refilled(&forward.level.means, &forward.vectors, &backward.vectors);
        backward.vectors = check.refilled(&backward.level.means, &backward.vectors, &forward.vectors);
        forward.vectors = checked;
    }
}
