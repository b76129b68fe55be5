//! Hierarchical search, one sample, one candidate and one cell at a time.
//!
//! Each pass makes new values of all cells from those of the passes before it, so the order of the cells does not matter. The
//! comments here and the kernels name passes by their numbers.
//!
//! # The passes
//!
//! All numbers are signed integers of 32 bits. `>>` rounds down, `/` toward zero. clamp(v, a, b) limits v to a … b;
//! clip(v) = clamp(v, 0, 255). Vectors point from the current frame A to the reference frame B: the sample at p in A
//! matches the one at p + v in B. The length of a vector is |x| + |y|; the distance of two is the length of their
//! difference. Of equal values the first one wins, if no other rule is given. Every pass, and every iteration of a pass,
//! reads only values of earlier ones, so the order of cells does not matter.
//!
//! Outside a frame, its edge samples repeat. A filter outside a frame reads such samples; the frames that passes 1 and 2
//! make repeat their own edge samples.
//!
//! The passes use these constants of `quality`:
//!
//! | | `fast` | `balanced` | `high` |
//! |---|---|---|---|
//! | cut on level 0 | none | 16 | 16 |
//! | cut on other levels | none | 24 | 24 |
//! | jumps on level 0 | no | yes | yes |
//! | iterations on level 0 | 3 | 5 | 5 |
//! | iterations on other levels | 4 | 4 | 4 |
//! | lowest level searched both ways | 2 | 1 | 0 |
//!
//! ## Levels
//!
//! **Pass 1, pyramid.** Both frames have levels. Level 0 is the frame, w x h samples. Level l + 1 has half as many samples
//! on each axis as level l, rounded down; it exists if l + 1 is at most 7 and its shorter side has at least 30 samples. A
//! frame below 60 samples on a side has level 0 alone. With S, the frame of level l, and the weights k = 1, 3, 3, 1, a
//! sample of level l + 1 is
//!
//! ```text
//! (Σ k[i] k[j] S(2x + i - 1, 2y + j - 1) + 32) >> 6    over i, j = 0 … 3.
//! ```
//!
//! **Pass 2, smoothing.** After pass 1, level 0 alone is smoothed: (4 S + the four samples beside S + 4) >> 3.
//!
//! **Pass 3, interpolation.** Samples between samples are those of H.264 luma. With f(a, b, c, d, e, f) = a - 5b + 20c +
//! 20d - 5e + f, applied to the samples from 2 before to 3 after:
//!
//! | halfway on | sample |
//! |---|---|
//! | one axis | clip((f along this axis + 16) >> 5) |
//! | both axes | clip((f along x of the unrounded f along y + 512) >> 10) |
//!
//! P(i, j) is the sample at i, j half samples. The sample at (x, y) quarter samples is, with i = x >> 1 and j = y >> 1, the
//! rounded mean (a + b + 1) >> 1 of two of these:
//!
//! | odd | a, b |
//! |---|---|
//! | neither x nor y | P(i, j) itself |
//! | x | P(i, j), P(i + 1, j) |
//! | y | P(i, j), P(i, j + 1) |
//! | both, i + j is odd | P(i, j), P(i + 1, j + 1) |
//! | both, i + j is even | P(i + 1, j), P(i, j + 1) |
//!
//! ## Cells and costs
//!
//! **Pass 4.** On each level a cell is 8 x 8 samples, and the grid has ceil(width / 8) x ceil(height / 8) cells. *sum* is
//! the sum of a cell's 64 samples, *mean* = (sum + 32) >> 6, *detail* = Σ |sample - mean|.
//!
//! - *likeness*(m, n) of two means is max(2, 16 - (|m - n| >> 1)).
//! - The *neighbours* k = 0 … 7 of a cell are at (0, -1), (0, 1), (-1, 0), (1, 0), (-1, -1), (1, -1), (-1, 1), (1, 1) from
//!   it, as (column, row). The weight W[k] is the likeness of both means, or 0 if the neighbour is outside the grid. Pass 7
//!   takes a vector outside the grid from the nearest cell (each coordinate clamped).
//! - The *smoothness* λ is 5 on level 0, and (5 · clamp(detail >> 4, 8, 16)) >> 4 on the others.
//! - A vector of the cell at column c and row r is *limited* as follows: x to 4 (-8 - X) … 4 (width + 8 - X), with X =
//!   8c + 4 and the width of the level; y likewise.
//!
//! On the levels vectors are in quarter samples. For a cell with samples a, and the 64 samples b of the reference at vector
//! v from it (passes 2 and 3):
//!
//! ```text
//! brightness(v) = clamp((sum - Σ b + 32) >> 6, -48, 48)
//! SAD(v, o) = Σ min(|clip(a - o) - b|, cut)
//! D(v) = SAD(v, o) with the offset o of pass 8           on level 0, if there are other levels
//! D(v) = SAD(v, o) + 8 |o| with o = brightness(v)        otherwise
//! ```
//!
//! ## The search
//!
//! Levels are searched from the coarsest to level 0, each by passes 5 or 6, 7 and 8. Levels from the *lowest level searched
//! both ways* upwards are also searched with A and B exchanged, from the backward vectors of the coarser level.
//!
//! **Pass 5, the coarsest level.** The candidates are the 17 x 17 vectors of whole samples from -8 to 8, row by row,
//! limited. The least 64 D(v) + 2 · length(v) wins.
//!
//! **Pass 6, other levels.** The *parent* of the cell at (c, r) is (c >> 1, r >> 1) in the grid of the coarser level,
//! clamped to it. With dx = 1 for odd c, else -1, and dy likewise from r, the four *nearest parents* are the parent and the
//! cells at (dx, 0), (0, dy), (dx, dy) from it, each clamped to the grid. The candidates are twice their vectors, limited.
//! The least D(v) wins.
//!
//! **Pass 7, iterations.** With u the vectors before the iteration, the energy of a vector is
//!
//! ```text
//! E(v) = 64 D(v) + λ Σ W[k] · min(distance(v, u[k]), T)    over the neighbours k; T = 24 on level 0, otherwise 48.
//! ```
//!
//! The candidates in their order, all but the first limited; the least E wins:
//!
//! 1. the cell's own u;
//! 2. the u of the cells twice as far as the neighbours 0 … 7; on level 0 only with *jumps*;
//! 3. the u of the neighbours 0 … 3;
//! 4. twice the vector of the parent; not on the coarsest level;
//! 5. (the sum of the u of the neighbours 0 … 3, plus 2) >> 2, each component by itself;
//! 6. own u plus s times the direction of the neighbours 0 … 3: s = 2 in the first two iterations, then 1.
//!
//! **Pass 8, after a level other than 0.** If it is searched both ways, each direction is checked with the other, both with
//! the vectors before this pass. With U = 4 units per sample and tolerance t = 8:
//!
//! - The vector v of the cell at (c, r) leads to the cell at (floor((U (8c + 4) + x) / 8U), floor((U (8r + 4) + y) / 8U)).
//!   It is *good* if the grid has this cell, and length(v + its vector in the other direction) < t + (length(v) >> 5).
//! - Eight times: a cell that is not good and has at least two good cells around it (3 x 3) takes their *median* and is
//!   good from then on. The median for a cell, of cells with weights likeness(their mean, its mean), is the vector with
//!   the least weighted sum of distances to all of them. Of equal sums the cell's own vector wins, then the first row by
//!   row. Means are those of the frame whose vectors these are.
//!
//! After that, on level 1: o = brightness(v) of each cell at its vector; then the median of these over the existing cells
//! of 3 x 3: the value with the least sum of distances |o - o'|; of equal sums the least |o|, then the first row by row.
//! The offset of a cell of level 0 is that of its parent. Each direction that goes on to level 0 has its own.
//!
//! ## Finer than a quarter sample
//!
//! From here on vectors are those of level 0, and their unit is 1/64 sample.
//!
//! **Pass 9, parabolas.** With D = D(v) at the final v, L = D(v - (2, 0)) and R = D(v + (2, 0)), not limited: the curvature
//! is C = max(0, L + R - 2D), and x' = 16 x + clamp(16 (L - R) / C, -16, 16), or 16 x if C or D is 0. y' and its curvature
//! likewise.
//!
//! **Pass 10, smoothing.** v starts as v'. Four times, for the neighbours k in the grid whose distance d[k] to v is below
//! 128: q[k] = (W[k] (128 - d[k])) >> 7, and with Q = Σ q[k]
//!
//! ```text
//! x += (4 C (x' - x) + 5 Σ q[k] (x[k] - x)) / (4 C + 5 Q), or nothing if the divisor is 0; y likewise.
//! ```
//!
//! **Pass 11, median.** Each cell takes the median (pass 8) of the existing cells of 3 x 3, itself included.
//!
//! **Pass 12.** If level 0 is searched both ways, passes 9 to 11 run for both directions, and the vectors of A are checked
//! and refilled as in pass 8, with U = 64 and t = 96.
//!
//! ## Blocks
//!
//! **Pass 13, blocks of 4.** A small cell is 4 x 4 samples; the grid has ceil(w / 4) x ceil(h / 4) of them. Its mean m is
//! (the sum of its 16 samples of level 0 + 8) >> 4. The candidates are the vectors v[j], j = 0 … 3, of its nearest parents
//! in the grid of cells (as in pass 6, but neither doubled nor limited). The least of this wins:
//!
//! ```text
//! 512 SAD(v, o) + Σ n[j] · likeness(mean of parent j, m) · distance(v, v[j])    with n = 9, 3, 3, 1.
//! ```
//!
//! SAD(v, o) is over the 16 samples, at v rounded to the nearest quarter sample (halves away from zero); o is the offset of
//! the cell that contains the small cell, or 0 if there is only one level. Then once, with W from the means of small cells
//! and q and Q as in pass 10: x += Σ q[k] (x[k] - x) / (16 + Q), y likewise. Then pass 11 among small cells.
//!
//! **Pass 14, larger blocks.** With `block-size=8` each block is a cell. A larger block takes, of the vectors of its cells
//! in the grid, the one with the least sum of distances to the others; of equal sums the first row by row.
//!
//! **Pass 15, records.** The record has the vector in 1/32 sample, halved and clamped to -32767 … 32767. Its cost is the
//! SAD of the block and the reference frame at this vector in quarter samples, from the frames as they are: without pass 2,
//! interpolated by pass 3. Both roundings are to the nearest, halves away from zero, and the second starts from the first.

// The formulas have indexes in brackets, which are no links.
#![allow(rustdoc::broken_intra_doc_links)]

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
