//! The definition of [`FrameQuality::Balanced`](super::super::FrameQuality::Balanced): a sample is the mean of what all
//! vectors around its block predict, weighted by their distance and by how well their two ends match around it. In
//! [`FrameQuality::High`](super::super::FrameQuality::High) one end predicts alone where the frame beyond it matches better.
//!
//! # The definition
//!
//! With `quality=balanced` a sample is the mean of what all vectors around its block predict: vectors whose two ends match
//! well around the sample count more. Steps 1 to 4 and 7 are those above.
//!
//! - **5. Choice.** Chroma counts too: 4 times the SAD of the 4 × 4 samples of each of its two components at both ends of a
//!   vector is added to what the vector costs. This chroma has half of luma's columns and rows: where a plane has all of
//!   them, 2 × 1, 1 × 2 or 2 × 2 samples are averaged, `(a + b + 1) >> 1` or `(a + b + c + d + 2) >> 2`. Then the upper
//!   eight bits are taken, and samples are read linearly at eighths, rounded to whole levels.
//! - **5a. Badness.** Each block has S, the SAD of luma at both ends of its vector. With m = 1 << halvings of step 1: G is
//!   the greatest S of the (2m + 1)² blocks around a block, and its badness D the mean of their G, rounded down. Blocks
//!   outside the frame are those at its edge.
//! - **5b. Coarse vectors.** A coarse block has 2m × 2m blocks. Its candidates are the vectors of the first blocks, those at
//!   the upper left, of the 5 × 5 coarse blocks around it, row by row; outside the grid the nearest block counts; and zero.
//!   The least `SAD + 8 (|x| + |y|)` wins, of equals the first, for a vector of x and y half samples. The SAD is twice
//!   that of luma in every second row of nine squares of 8 × 8 samples, from the first row on, whose corners are 4 samples
//!   before the coarse block, and 8m and 16m samples further, on each axis.
//! - **5c. Vectors of a block.** The vectors of the 3 × 3 blocks around it predict its samples. If its *share*
//!   `min(max(D - 1024, 0) >> 6, 16)` is not 0, so do those of the four coarse blocks whose centres are on either side of
//!   it, on each axis: number `floor((c - m) / 2m)` for column or row c of the block, and the next; outside their grid the
//!   nearest counts.
//! - **5d. Weights of matches.** In each of the four cells of 4 × 4 luma samples of a block, a vector has the error E =
//!   twice the SAD of luma at its two ends, in every second row of the cell and two samples around it (8 × 8), from the
//!   first row on, plus `256 + (3D >> 2)`. With the least E of the vectors of 5c, and `r = (least << 8) / E` rounded down,
//!   its weight is `r² >> 8`, from 1 to 255. A large D makes the weights more alike.
//! - **6. Compensation.** The window of a block on an axis is 23 in the middle of it and falls by 2 a luma sample to 1: `24
//!   - |2x - 7 - 16b|` at luma sample x of the block that is made, for the block b = -1, 0 or 1 away; for chroma with half
//!   the samples `24 - |4x - 6 - 16b|`. The window of a coarse block falls from 32 at its centre to 0 at those of its
//!   neighbours: `(32m - a) / m` at twice the distance a, in luma samples, between the centres of the sample and of the coarse
//!   block. The spatial weight of a vector is the sum, over the blocks of 5c that have this vector, of the products of their
//!   windows on both axes; those of coarse blocks are multiplied by their share before, and `>> 7`, after a multiplication by 7.
//!   Its weight is `W = (spatial weight · weight of the match in the sample's cell) >> 6`. The sample is
//!   `(ΣWp + 2ΣW) / (4ΣW)`, rounded down, over the different vectors of 5c, where p is what step 6 above predicts from a vector in
//!   quarter levels: `(w · P + (64 - w) · N + 8) >> 4`, with the same rules for ends outside their frames, and the same limits.
//!
//! ΣW is at least 4, by the block's own vector, and at most 9630, because spatial weights add up to 39² + 896. So ΣWp + 2ΣW
//! is below 2^24 with samples of eight bits and below 2^32 with 16: everything is 32-bit arithmetic.
//!
//! With `quality=high`:
//!
//! With `quality=high` the frame P0 before P and the frame N1 after N also tell the motion between the two, and show what
//! is hidden in N or in P. F0 is the field of step 2 for the pair P0 and P, F that for P and N, F1 that for N and N1. All
//! is as with `quality=balanced`, but:
//!
//! - **3. Ends of a vector.** With the phase t + 1 in place of t, step 3 gives the ends of a vector in P0 and P, `s - 2h` and
//!   `s`; with t - 1 those in N and N1, `s + 2h` and `s + 4h`. The motion of the pair before is thus carried on to time t, and
//!   that of the pair after carried back.
//! - **4. Projection.** F0 and F1 are projected to t as F is, by where their vectors start in P0 and in N.
//! - **5. Choice.** The candidates are nine of F, nine of F0, nine of F1, each in the order of step 5, and zero. The sum over
//!   the eight neighbours is over those in F for all candidates.
//! - **5a. Badness.** S is the least of three numbers: the SAD of the block at both ends; that at its start in P and where the
//!   same vector leads to in P0, plus 256; and that at its end in N and where it leads to in N1, plus 256.
//! - **5d. Weights of matches.** One end of a vector may predict alone, because the other frame may hide what it shows. It does
//!   so only where what it leaves out is shown elsewhere: with the cost c of a block, what this block shows may be left out by
//!   the share `x = min(max(4096 - c, 0) >> 7, 16)`. For a block of P, c is what the search found as cost in F for the block that
//!   holds it. For a block of N it is the least cost of those blocks of P that share at least 16 samples with it when their
//!   vectors have moved them by `h >> 1` whole samples on each axis; where there is none, x is 0.
//!   - In a cell, S is twice the SAD at both ends, as above, L twice the difference between the sums of the same samples at both
//!     ends, and `f = min(max(S - L - 128, 0) >> 5, 16)`. A change of light makes all samples brighter, or all darker: it hides
//!     nothing. The start alone counts by
//!     the share `f · x >> 4`, with x of the block of N in which the vector ends; the end alone with x of the block of P in which
//!     it starts. The vector leads the third sample of the third row of the cell to a place in that block, rounded down to
//!     whole samples; outside the grid it is the nearest block.
//!   - The error E of the start alone is twice the SAD between P and P0, in the same rows, plus 256, plus what is added for both
//!     ends; that of the end alone has N and N1. The least E is the least of all three errors of all vectors, without those
//!     whose share is 0. The weight of one end alone follows from its E as that of both ends, then it is multiplied by its
//!     share and `>> 4`.
//! - **6. Compensation.** A vector predicts three times, each with a weight W of its own: by both ends, by its start alone, `4P`,
//!   and by its end alone, `4N`, the last two without limits. Where just one end lies inside its frame, all three are this
//!   end. W is `>> 7`, not `>> 6`.
//!
//! ΣW is at least 2, and at most 14445, because the three weights of a match add up to 765 at most: the sums are below 2^24
//! and 2^32 as above.
//!
//! Where a neighbour is missing, the frame is that of `quality=balanced`: at the start and the end, at scene cuts, and where a
//! pair before or after was not searched, or is shorter or longer by more than a quarter. One neighbour alone is worse than
//! none, because it favours one of the two frames.

use super::super::rules::{
    BADNESS_SHIFT, BLOCK, CELL, COARSE_BADNESS, COARSE_BITS, COARSE_LENGTH, COARSE_REACH, COARSE_SQUARES,
    FOUND_COST, FOUND_SHIFT, HalfVector, LONE_BITS, LONE_COST, LONE_DIFFERENCE, LONE_SHIFT, MOST_COARSE,
    MOST_LONE, ROW_STEP, SOFTNESS, WEIGHT_BITS,
};
use super::sizes::{block_sides, chroma_components, coarse_grid, grid, halvings, searched_grid};
use super::{
    LEAST_OVERLAP, PairTime, PlanePair, block_difference, blocks, brightness_difference, chroma_sample,
    in_half_samples, row_differences,
};
use crate::compensation::Sampling;
use motion_base::{Frame, FrameView, Grid, MotionVector};
use motion_search::estimator::oracle::interpolation::Interpolated;

/// The components of chroma that are compared, in eight bits and at half of luma's size on both axes: samples of planes that
/// are not halved are averaged.
pub(super) fn chroma_pairs(planes: [&[FrameView<'_>]; 2], samplings: &[Sampling]) -> Vec<[Frame; 2]> {
    let pair = |(plane, component): (usize, usize)| {
        let sampling = samplings[plane];
        planes.map(|planes| {
            let view = &planes[plane];
            let [across, down] =
                [sampling.halved_x, sampling.halved_y].map(|is_halved| if is_halved { 1 } else { 2 });
            let columns = view.width() / sampling.pixel();
            Frame::from_fn(columns.div_ceil(across), view.height().div_ceil(down), |x, y| {
                let sample = |at: usize| {
                    let column = (across * x + at % across).min(columns - 1) * sampling.pixel() + component;
                    u32::from(view.sample(column as i32, (down * y + at / across) as i32))
                };
                let count = (across * down) as u32;
                let mean = ((0..across * down).map(sample).sum::<u32>() + count / 2) / count;
                (mean >> (view.format().depth() - 8)) as u8
            })
        })
    };
    chroma_components(samplings).into_iter().map(pair).collect()
}

/// The sum of absolute differences of a component between both ends of `vector`, over the 4 x 4 samples of a block.
pub(super) fn chroma_difference(
    [previous, next]: &[FrameView<'_>; 2],
    (column, row): (usize, usize),
    vector: HalfVector,
    time: PairTime,
) -> u32 {
    let difference = |at: usize| {
        let [x, y] = [CELL * column + at % CELL, CELL * row + at / CELL].map(|at| 8 * at as i32);
        let [[x, to_x], [y, to_y]] =
            [(x, vector.x), (y, vector.y)].map(|(at, length)| time.ends(length).map(|way| at + way));
        chroma_sample(previous, (1, 0), x, y).abs_diff(chroma_sample(next, (1, 0), to_x, to_y))
    };
    (0..CELL * CELL).map(difference).sum()
}

/// What tells whether an end of a vector predicts alone.
pub(super) struct EndsAlone<'a> {
    /// The luma of the frame before the previous one, of both frames and of that after the next one, in eight bits.
    luma: [&'a Interpolated; 4],
    grid: Grid,
    /// How well the other frame shows what each block of the previous and of the next frame shows.
    shown_elsewhere: [Vec<u32>; 2],
}

impl<'a> EndsAlone<'a> {
    /// `field` is that of the previous frame in the next one.
    pub fn new(luma: [&'a Interpolated; 4], field: &[MotionVector]) -> Self {
        let size = luma[1].size();
        let (grid, halvings) = (grid(size), halvings(size));
        let columns = searched_grid(size).columns;
        let found = |(column, row): (usize, usize)| field[(row >> halvings) * columns + (column >> halvings)];
        let of_previous = blocks(size).map(|block| found(block).cost);
        let of_next = blocks(size).map(|(column, row)| {
            // The blocks of the previous frame that the field leads to this one.
            let shared = |block: usize, length: i16, to: usize| {
                let at = (BLOCK * block) as i32 + (i32::from(length) >> 1);
                (BLOCK as i32 - (at - (BLOCK * to) as i32).abs()).max(0)
            };
            let leads_here = |&block: &(usize, usize)| {
                let vector = in_half_samples(found(block), halvings);
                shared(block.0, vector.x, column) * shared(block.1, vector.y, row) >= LEAST_OVERLAP
            };
            let costs = blocks(size).filter(leads_here).map(|block| found(block).cost);
            costs.min().unwrap_or(u32::MAX)
        });
        let shown_elsewhere =
            [of_previous.map(shown_elsewhere).collect(), of_next.map(shown_elsewhere).collect()];
        Self { luma, grid, shown_elsewhere }
    }

    /// The differences, in 8 x 8 samples from `place` on, between the start of `vector` and where it comes from in the frame
    /// before, and between its end and where it leads to in the frame after: in every row of `step`, `step` times.
    fn differences(&self, place: [i32; 2], vector: HalfVector, time: PairTime, step: usize) -> [u32; 2] {
        [
            row_differences([self.luma[0], self.luma[1]], place, vector, time.after_pair(), step),
            row_differences([self.luma[2], self.luma[3]], place, vector, time.before_pair(), step),
        ]
    }

    /// How much the start and the end of `vector` count alone in the cell whose first sample is `cell`, of [`MOST_LONE`],
    /// where both ends have this `difference`, whatever the light.
    fn shares(&self, cell: [i32; 2], vector: HalfVector, time: PairTime, difference: u32) -> [u32; 2] {
        let [x, y] = [(cell[0], vector.x), (cell[1], vector.y)].map(|(at, length)| {
            // The blocks with the ends of its third sample.
            time.ends(length).map(|way| (4 * (at + 2) + way) >> 5)
        });
        let shown = |end: usize| nearest(&self.shown_elsewhere[end], self.grid, [x[end], y[end]]);
        // Each end leaves out what the other one shows.
        [1, 0].map(|other| unlikeness(difference) * shown(other) / MOST_LONE)
    }
}

/// How much the ends of a vector may count alone by their difference, of [`MOST_LONE`].
fn unlikeness(difference: u32) -> u32 {
    if difference < LONE_DIFFERENCE {
        return 0;
    }
    ((difference - LONE_DIFFERENCE) / (1 << LONE_SHIFT)).min(MOST_LONE)
}

/// How much what a block shows may be left out, of [`MOST_LONE`], if the search found it in the other frame at this cost.
fn shown_elsewhere(cost: u32) -> u32 {
    if cost > FOUND_COST {
        return 0;
    }
    ((FOUND_COST - cost) / (1 << FOUND_SHIFT)).min(MOST_LONE)
}

/// The window of a block `step` blocks away on an axis at sample `at` of a block with so many samples on a side: 24 in the block's
/// centre, less by 2 for each luma sample, at least 0.
fn fine_window(side: usize, at: usize, step: i32) -> u32 {
    // In half luma samples from the start of the sample's block.
    let sample = BLOCK / side * (2 * at + 1);
    let centre = BLOCK as i32 * (2 * step + 1);
    (3 * BLOCK as i32 - (sample as i32 - centre).abs()).max(0) as u32
}

/// The weights of a vector in a cell: of both ends together, of its start alone and of its end alone.
type OracleWeights = [u32; 3];

/// The vectors around blocks, and how they are weighted.
pub(super) struct WeightedVectors<'a> {
    grid: Grid,
    /// How many blocks wide half a coarse block is.
    halves: usize,
    vectors: Vec<HalfVector>,
    /// How badly vectors match around each block.
    badness: Vec<u32>,
    coarse_grid: Grid,
    coarse: Vec<HalfVector>,
    lone_ends: Option<EndsAlone<'a>>,
    /// For each block, its different vectors with their weights in each of its four cells.
    weights: Vec<Vec<(HalfVector, [OracleWeights; 4])>>,
}

/// A vector beside a sample: the block that it is of, counted from the sample's block.
#[derive(Clone, Copy)]
enum VectorPlace {
    Fine([i32; 2]),
    /// The first or second of the coarse blocks whose centres are on either side.
    Coarse([i32; 2]),
}

/// The element of a grid nearest to a column and a row.
fn nearest<T: Copy>(of: &[T], grid: Grid, [column, row]: [i32; 2]) -> T {
    let [column, row] =
        [(column, grid.columns), (row, grid.rows)].map(|(at, count)| at.clamp(0, count as i32 - 1) as usize);
    of[row * grid.columns + column]
}

impl<'a> WeightedVectors<'a> {
    /// `vectors` of the blocks of `luma`, eight bits of both frames.
    pub fn new(
        luma: [&Interpolated; 2],
        vectors: Vec<HalfVector>,
        lone_ends: Option<EndsAlone<'a>>,
        time: PairTime,
    ) -> Self {
        let size = luma[0].size();
        let (grid, halves) = (grid(size), 1 << halvings(size));
        let coarse_grid = coarse_grid(grid, halves);
        let mut weighted = Self {
            grid,
            halves,
            vectors,
            badness: Vec::new(),
            coarse_grid,
            coarse: Vec::new(),
            lone_ends,
            weights: Vec::new(),
        };
        weighted.badness = weighted.badness(luma, time);
        weighted.coarse = weighted.coarse(luma, time);
        weighted.weights = blocks(size).map(|block| weighted.weights(luma, block, time)).collect();
        weighted
    }

    /// The differences of the blocks: the greatest around each block, and then the mean around each.
    fn badness(&self, luma: [&Interpolated; 2], time: PairTime) -> Vec<u32> {
        let difference = |((column, row), &vector): ((usize, usize), &HalfVector)| {
            let place = [column, row].map(|at| (BLOCK * at) as i32);
            let both = block_difference(luma, place, vector, time);
            let of_lone = |ends: &EndsAlone<'_>| {
                ends.differences(place, vector, time, 1).map(|lone| lone + LONE_COST).into_iter().min()
            };
            self.lone_ends.as_ref().and_then(of_lone).map_or(both, |lone| both.min(lone))
        };
        let differences: Vec<_> = blocks(luma[0].size()).zip(&self.vectors).map(difference).collect();
        let reach = self.halves as i32;
        let around = |of: &[u32], (column, row): (usize, usize)| -> Vec<u32> {
            let near =
                |down: i32| (-reach..=reach).map(move |right| [column as i32 + right, row as i32 + down]);
            (-reach..=reach).flat_map(near).map(|block| nearest(of, self.grid, block)).collect()
        };
        let greatest = |block| around(&differences, block).into_iter().max().unwrap_or_default();
        let greatest: Vec<_> = blocks(luma[0].size()).map(greatest).collect();
        let mean = |block| {
            let around = around(&greatest, block);
            around.iter().sum::<u32>() / around.len() as u32
        };
        blocks(luma[0].size()).map(mean).collect()
    }

    /// The vector of each coarse block: the one among those of some blocks around it, and zero, whose ends match best in a
    /// few squares.
    fn coarse(&self, luma: [&Interpolated; 2], time: PairTime) -> Vec<HalfVector> {
        let halves = self.halves as i32;
        let vector = |number: usize| {
            let block =
                [number % self.coarse_grid.columns, number / self.coarse_grid.columns].map(|at| at as i32);
            let steps = || -COARSE_REACH..=COARSE_REACH;
            let around = steps().flat_map(|down| steps().map(move |right| [right, down]));
            // Of the first blocks of the coarse blocks around.
            let around = around.map(|step| {
                let first = [0, 1].map(|axis| 2 * halves * (block[axis] + step[axis]));
                nearest(&self.vectors, self.grid, first)
            });
            let cost = |vector: &HalfVector| {
                let squares = (0..COARSE_SQUARES).flat_map(|y| (0..COARSE_SQUARES).map(move |x| [x, y]));
                let difference = |square: [i32; 2]| {
                    let side = BLOCK as i32;
                    let at = [0, 1].map(|axis| side * halves * (2 * block[axis] + square[axis]) - side / 2);
                    row_differences(luma, at, *vector, time, ROW_STEP)
                };
                let length = u32::from(vector.x.unsigned_abs()) + u32::from(vector.y.unsigned_abs());
                squares.map(difference).sum::<u32>() + COARSE_LENGTH * length
            };
            around.chain([HalfVector::default()]).min_by_key(cost).unwrap_or_default()
        };
        (0..self.coarse_grid.blocks()).map(vector).collect()
    }

    /// How much coarse vectors count in a block.
    fn share(&self, (column, row): (usize, usize)) -> u32 {
        let badness = self.badness[row * self.grid.columns + column];
        (badness.saturating_sub(COARSE_BADNESS) >> BADNESS_SHIFT).min(MOST_COARSE)
    }

    /// The vectors that predict the samples of a block.
    fn around(&self, (column, row): (usize, usize)) -> Vec<(VectorPlace, HalfVector)> {
        let block = [column as i32, row as i32];
        let mut around = Vec::new();
        for down in -1..=1 {
            for right in -1..=1 {
                let vector = nearest(&self.vectors, self.grid, [block[0] + right, block[1] + down]);
                around.push((VectorPlace::Fine([right, down]), vector));
            }
        }
        if self.share((column, row)) > 0 {
            // The blocks whose centres are before this block or at its beginning.
            let halves = self.halves as i32;
            let before = block.map(|at| (at - halves).div_euclid(2 * halves));
            for down in 0..=1 {
                for right in 0..=1 {
                    let at = [before[0] + right, before[1] + down];
                    around.push((VectorPlace::Coarse(at), nearest(&self.coarse, self.coarse_grid, at)));
                }
            }
        }
        around
    }

    /// The different vectors around a block with their weights in its cells.
    fn weights(
        &self,
        luma: [&Interpolated; 2],
        block: (usize, usize),
        time: PairTime,
    ) -> Vec<(HalfVector, [OracleWeights; 4])> {
        let mut weights: Vec<(HalfVector, [OracleWeights; 4])> = Vec::new();
        for (_, vector) in self.around(block) {
            if weights.iter().all(|(known, _)| *known != vector) {
                weights.push((vector, [[0; 3]; 4]));
            }
        }
        let badness = self.badness[block.1 * self.grid.columns + block.0];
        let softness = SOFTNESS + 3 * badness / 4;
        for cell in 0..4 {
            let first = [(block.0, cell % 2), (block.1, cell / 2)]
                .map(|(block, cell)| (BLOCK * block + CELL * cell) as i32);
            // Two samples around the cell of 4 x 4.
            let place = first.map(|at| at - 2);
            // The errors, and how much they count.
            let matches = weights.iter().map(|&(vector, _)| {
                let both = row_differences(luma, place, vector, time, ROW_STEP);
                let mut of_ends = [(both + softness, MOST_LONE), (0, 0), (0, 0)];
                if let Some(ends) = &self.lone_ends {
                    let differences = ends.differences(place, vector, time, ROW_STEP);
                    // A change of light makes all samples brighter, or all darker.
                    let light = brightness_difference(luma, place, vector, time, ROW_STEP);
                    let shares = ends.shares(first, vector, time, both - light);
                    for end in 0..2 {
                        of_ends[1 + end] = (differences[end] + LONE_COST + softness, shares[end]);
                    }
                }
                of_ends
            });
            let matches: Vec<_> = matches.collect();
            let counted = matches.iter().flatten().filter(|(_, share)| *share > 0);
            let least = counted.map(|(error, _)| *error).min().unwrap_or_default();
            for ((_, weights), of_ends) in weights.iter_mut().zip(matches) {
                weights[cell] = of_ends.map(|(error, share)| match share {
                    0 => 0,
                    _ => {
                        let ratio = (least << 8) / error;
                        ((ratio * ratio) >> 8).clamp(1, 255) * share / MOST_LONE
                    }
                });
            }
        }
        weights
    }

    /// A plane of the frame.
    pub fn compensate(&self, planes: &PlanePair<'_>) -> Frame {
        let (width, height) = block_sides(planes.sampling);
        let weight_bits = if self.lone_ends.is_some() { LONE_BITS } else { WEIGHT_BITS };
        planes.made(|(x, y), component| {
            let (block, at) = ((x / width, y / height), [x % width, y % height]);
            let cell = 2 * (at[1] / (height / 2)) + at[0] / (width / 2);
            let (sides, around) = ([width, height], self.around(block));
            let nearness = |place: VectorPlace| match place {
                VectorPlace::Fine(steps) => {
                    [0, 1].map(|axis| fine_window(sides[axis], at[axis], steps[axis])).iter().product()
                }
                VectorPlace::Coarse(blocks) => {
                    let window = |axis: usize| {
                        let halves = self.halves as i32;
                        // Twice the distance between the sample and the centre of the coarse block, in luma samples.
                        let (block, finer) = ([block.0, block.1][axis], BLOCK / sides[axis]);
                        let sample = 2 * BLOCK * block + finer * (2 * at[axis] + 1);
                        let centre = 2 * BLOCK as i32 * halves * (2 * blocks[axis] + 1);
                        let beyond = 4 * BLOCK as i32 * halves - (sample as i32 - centre).abs();
                        (beyond / halves) as u32
                    };
                    (window(0) * window(1) * self.share(block) * 7) >> COARSE_BITS
                }
            };
            let (mut sum, mut total) = (0, 0);
            for (vector, weights) in &self.weights[block.1 * self.grid.columns + block.0] {
                let same = around.iter().filter(|(_, other)| other == vector);
                let spatial: u32 = same.map(|(place, _)| nearness(*place)).sum();
                let predictions = planes.predict((x, y), component, *vector);
                for (of_match, prediction) in weights[cell].into_iter().zip(predictions) {
                    let weight = (spatial * of_match) >> weight_bits;
                    // In quarters of the samples' unit.
                    sum += weight * ((prediction + 8) >> 4);
                    total += weight;
                }
            }
            (sum + 2 * total) / (4 * total)
        })
    }
}
