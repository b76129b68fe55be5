//! The vectors that predict the samples of a block, and how well they match in each of its cells.

use super::super::rules::{
    BLOCK, CELL, HYPOTHESES, LONE_COST, LONE_DIFFERENCE, MOST_LONE, SOFTNESS, match_weight, unlikeness,
};
use super::super::starts::BlockEnds;
use super::{Weighting, quarters};
use motion_base::Grid;
use motion_base::pyramid::quarter_samples::QuarterSamples;
use motion_base::simd::{InstructionSet, Samples, Work};

/// The different vectors that predict the samples of a block.
#[derive(Clone, Copy, Default)]
pub(in crate::interpolation) struct Hypotheses {
    /// None if there is only the block's own, and both its ends predict together.
    count: u8,
    /// For each a bit for every place around the block whose vector it is: those of the blocks around row by row, then those
    /// of the coarse blocks.
    places: [u16; HYPOTHESES],
    /// The weights of their matches in each cell of the block.
    weights: [[u8; 4]; HYPOTHESES],
}

impl Hypotheses {
    /// The places of each, and its weights.
    #[inline(always)]
    pub fn all(&self) -> impl Iterator<Item = (u16, [u8; 4])> {
        self.places.iter().copied().zip(self.weights.iter().copied()).take(self.count.into())
    }

    /// Whether there is only the block's own vector.
    #[inline(always)]
    pub fn is_single(&self) -> bool {
        self.count == 0
    }
}

/// The weights of the matches of one end alone, for each of the [`Hypotheses`] of a block: in each cell, of its start and of its
/// end.
pub(in crate::interpolation) type LoneWeights = [[[u8; 4]; 2]; HYPOTHESES];

/// What tells whether an end of a vector predicts alone.
#[derive(Clone, Copy)]
pub(in crate::interpolation) struct LoneEnds<'a> {
    /// The luma of the pairs of frames before and after.
    pub luma: [[QuarterSamples<'a>; 2]; 2],
    /// How much what each block of the previous and of the next frame shows may be left out.
    pub shown_elsewhere: &'a [Vec<u8>; 2],
}

/// The intervals from a pair to that before and to that after: in these two the start and the end of a vector are compared.
pub(in crate::interpolation) const INTERVALS: [i16; 2] = [-1, 1];

impl LoneEnds<'_> {
    /// How much the start and the end of a vector with these `ends` count alone in each cell of a block, where both ends have
    /// these `differences`, and the start and the end this `brightness`.
    #[inline(always)]
    fn shares(
        &self,
        grid: Grid,
        block: (usize, usize),
        ends: BlockEnds,
        differences: [u32; 4],
        brightness: [[u32; 4]; 2],
    ) -> [[u32; 4]; 2] {
        let mut shares = [[0; 4]; 2];
        for (cell, difference) in differences.into_iter().enumerate() {
            // A change of light makes all samples brighter, or all darker.
            let light = brightness[0][cell].abs_diff(brightness[1][cell]);
            let unlikeness = unlikeness(difference - light);
            if unlikeness == 0 {
                continue;
            }
            let at = |block: usize, cell: usize| (4 * (BLOCK * block + CELL * cell + CELL / 2)) as i32;
            let near = |at: i32, count: usize| (at >> 5).clamp(0, count as i32 - 1) as usize;
            let (x, y) = (at(block.0, cell % 2), at(block.1, cell / 2));
            for (end, way) in ends.ways().into_iter().enumerate() {
                let (column, row) = (near(x + way.0, grid.columns), near(y + way.1, grid.rows));
                let shown = u32::from(self.shown_elsewhere[end][row * grid.columns + column]);
                // What this end shows is left out where the other one counts alone.
                shares[1 - end][cell] = unlikeness * shown / MOST_LONE;
            }
        }
        shares
    }
}

/// The vectors that predict the samples of a row of blocks.
pub(in crate::interpolation) struct RowOfHypotheses<'a> {
    pub weighting: &'a Weighting,
    pub luma: &'a [QuarterSamples<'a>; 2],
    pub row: usize,
    /// Of all blocks.
    pub ends: &'a [BlockEnds],
    pub hypotheses: &'a mut [Hypotheses],
    /// If ends also predict alone.
    pub lone: Option<(&'a LoneEnds<'a>, &'a mut [LoneWeights])>,
}

impl<E: InstructionSet> Work<E> for RowOfHypotheses<'_> {
    #[inline(always)]
    fn run(mut self, engine: E) {
        for (column, hypotheses) in self.hypotheses.iter_mut().enumerate() {
            let block = (column, self.row);
            let origin = quarters((BLOCK * column) as i32, (BLOCK * self.row) as i32);
            let coarse = self.weighting.coarse_around(block);
            let (end, around) = self.weighting.around(self.ends, block, coarse);
            hypotheses.count = 0;
            let all = (1 << end) - 1;
            let is_single = places_of(&around, 0) & all == all;
            if is_single && self.lone.is_none() {
                continue;
            }
            let softness = SOFTNESS + 3 * self.weighting.badness(block) / 4;
            let (mut errors, mut least) = ([[i32::MAX; 4]; HYPOTHESES], [i32::MAX; 4]);
            let mut lone_errors = [[[i32::MAX; 4]; 2]; HYPOTHESES];
            let mut shares = [[[0; 4]; 2]; HYPOTHESES];
            let (mut count, mut left) = (0, all);
            while left != 0 {
                let place = left.trailing_zeros() as usize;
                let places = places_of(&around, place) & all;
                left &= !places;
                hypotheses.places[count] = places;
                let differences = cell_differences(engine, self.luma, origin, around[place]);
                for cell in 0..4 {
                    errors[count][cell] = (differences[cell] + softness) as i32;
                    least[cell] = least[cell].min(errors[count][cell]);
                }
                if let Some((lone, _)) = &self.lone
                    && differences.iter().any(|&difference| difference > LONE_DIFFERENCE)
                {
                    let brightness = cell_brightness(engine, self.luma, origin, around[place]);
                    shares[count] =
                        lone.shares(self.weighting.grid(), block, around[place], differences, brightness);
                    for end in 0..2 {
                        if shares[count][end] == [0; 4] {
                            continue;
                        }
                        let ends = around[place].carried(INTERVALS[end]);
                        let differences = cell_differences(engine, &lone.luma[end], origin, ends);
                        for cell in 0..4 {
                            let error = (differences[cell] + LONE_COST + softness) as i32;
                            lone_errors[count][end][cell] = error;
                            if shares[count][end][cell] > 0 {
                                least[cell] = least[cell].min(error);
                            }
                        }
                    }
                }
                count += 1;
            }
            if is_single && shares[0] == [[0; 4]; 2] {
                continue;
            }
            hypotheses.count = count as u8;
            for (weights, errors) in hypotheses.weights.iter_mut().zip(errors).take(count) {
                for cell in 0..4 {
                    weights[cell] = match_weight(least[cell], errors[cell]) as u8;
                }
            }
            if let Some((_, lone_weights)) = &mut self.lone {
                for (n, weights) in lone_weights[column].iter_mut().enumerate().take(count) {
                    for end in 0..2 {
                        for cell in 0..4 {
                            let weight = match_weight(least[cell], lone_errors[n][end][cell]) as u32;
                            weights[end][cell] = (weight * shares[n][end][cell] / MOST_LONE) as u8;
                        }
                    }
                }
            }
        }
    }
}

/// A bit for each vector that equals the one at `place`. Of constant length: the compiler compares several at once.
#[inline(always)]
fn places_of(around: &[BlockEnds; HYPOTHESES], place: usize) -> u16 {
    let mut places = 0;
    for (other, ends) in around.iter().enumerate() {
        places |= u16::from(*ends == around[place]) << other;
    }
    places
}

/// The sums of the absolute differences at both `ends` of a vector around each cell of the block at `origin`, in quarter
/// samples: of the cell and of two samples around it, in every second row, twice. No closure: the compiler does not always
/// inline those, and then they run without the instructions of `E`.
#[inline(always)]
fn cell_differences<E: InstructionSet>(
    engine: E,
    luma: &[QuarterSamples<'_>; 2],
    origin: (i32, i32),
    ends: BlockEnds,
) -> [u32; 4] {
    let [start, end] = ends.ways().map(|(x, y)| (origin.0 - 8 + x, origin.1 - 8 + y));
    let start = luma[0].load_overlapping_rows::<E, 6>(engine, start);
    let end = luma[1].load_overlapping_rows::<E, 6>(engine, end);
    // The upper cells share two rows with the lower ones.
    let mut sums = [Samples::zero(engine); 2];
    for (sum, rows) in sums.iter_mut().zip([[2, 3, 0, 1], [2, 3, 4, 5]]) {
        for row in rows {
            *sum = sum.plus_differences(start[row], end[row]);
        }
    }
    Samples::half_totals(sums).map(|half| 2 * half)
}

/// The sums of the samples that [`cell_differences`] compares, at the start and at the end.
#[inline(always)]
fn cell_brightness<E: InstructionSet>(
    engine: E,
    luma: &[QuarterSamples<'_>; 2],
    origin: (i32, i32),
    ends: BlockEnds,
) -> [[u32; 4]; 2] {
    let [start, end] = ends.ways().map(|(x, y)| (origin.0 - 8 + x, origin.1 - 8 + y));
    let start = luma[0].load_overlapping_rows::<E, 6>(engine, start);
    let end = luma[1].load_overlapping_rows::<E, 6>(engine, end);
    let zero = Samples::zero(engine);
    let mut totals = [[0; 4]; 2];
    for (totals, samples) in totals.iter_mut().zip([start, end]) {
        let mut sums = [zero; 2];
        for (sum, rows) in sums.iter_mut().zip([[2, 3, 0, 1], [2, 3, 4, 5]]) {
            for row in rows {
                *sum = sum.plus_differences(samples[row], zero);
            }
        }
        *totals = Samples::half_totals(sums).map(|half| 2 * half);
    }
    totals
}
