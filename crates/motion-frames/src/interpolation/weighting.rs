//! How well the vectors around each block match: what [`FrameQuality::Balanced`](super::FrameQuality::Balanced) weights them by.

mod hypotheses;

use rayon::prelude::*;

use super::choice::block_difference;
use super::rules::{
    BADNESS_SHIFT, BLOCK, COARSE_BADNESS, COARSE_LENGTH, COARSE_REACH, COARSE_SQUARES, FINE, HYPOTHESES,
    LONE_BITS, LONE_COST, MOST_COARSE, WEIGHT_BITS, coarse_grid,
};
use super::starts::BlockEnds;
use hypotheses::{INTERVALS, LoneWeights, RowOfHypotheses};
use motion_base::memory;
use motion_base::pyramid::quarter_samples::QuarterSamples;
use motion_base::simd::{InstructionSet, Instructions, Samples, Work};
use motion_base::threads::each_band;
use motion_base::{Grid, SetupError};

pub(super) use hypotheses::{Hypotheses, LoneEnds};

/// What is known of the vectors that were chosen.
pub(super) struct Weighting {
    grid: Grid,
    /// How many blocks wide half a coarse block is.
    halves: usize,
    coarse_grid: Grid,
    /// How badly vectors match around each block.
    badness: Vec<u32>,
    /// For the sums of rows of the grid.
    across: Vec<u32>,
    /// A row of the grid, with what is repeated at its ends.
    padded: Vec<u32>,
    /// The vectors of coarse blocks; only of those that count anywhere.
    coarse: Vec<BlockEnds>,
    hypotheses: Vec<Hypotheses>,
    /// Where ends may predict alone.
    lone: Vec<LoneWeights>,
    /// Whether they do in the frame that is made.
    has_lone: bool,
}

/// The coarse blocks around a block.
#[derive(Clone, Copy)]
pub(super) struct CoarseAround {
    /// The column and the row of the first, which may be before the frame.
    pub first: [i32; 2],
    /// How much they count.
    pub share: u32,
}

impl Weighting {
    /// Memory for the blocks of `grid`, of frames that are halved so often to be searched. `has_lone`: ends may predict alone.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(grid: Grid, halvings: u32, has_lone: bool) -> Result<Self, SetupError> {
        let (halves, coarse_grid) = (1 << halvings, coarse_grid(grid, halvings));
        Ok(Self {
            grid,
            halves,
            coarse_grid,
            badness: memory::values("the badness of matches", grid.blocks())?,
            across: memory::values("the badness of matches", grid.blocks())?,
            padded: memory::values("the badness of matches", grid.columns + 2 * halves)?,
            coarse: memory::values("a field", coarse_grid.blocks())?,
            hypotheses: memory::values("weights", grid.blocks())?,
            lone: memory::values("weights", if has_lone { grid.blocks() } else { 0 })?,
            has_lone: false,
        })
    }

    /// Where the differences at both ends of the vectors of all blocks are written before [`Self::compute`].
    pub fn differences_mut(&mut self) -> &mut [u32] {
        &mut self.badness
    }

    /// Weights the vectors with these `ends`, and each of their ends alone if `lone_ends` are known.
    pub fn compute(
        &mut self,
        instructions: Instructions,
        luma: [QuarterSamples<'_>; 2],
        lone_ends: Option<&LoneEnds<'_>>,
        ends: &[BlockEnds],
    ) {
        let (columns, luma) = (self.grid.columns, &luma);
        self.has_lone = lone_ends.is_some();
        if let Some(lone_ends) = lone_ends {
            let rows = self.badness.par_chunks_mut(columns).zip(ends.par_chunks(columns)).enumerate();
            rows.for_each(|(row, (badness, ends))| {
                instructions.run(RowOfBadness { lone_ends, row, ends, badness });
            });
        }
        self.combine_around(u32::max);
        self.combine_around(|a, b| a + b);
        let count = (2 * self.halves as u32 + 1).pow(2);
        self.badness.iter_mut().for_each(|sum| *sum /= count);

        let mut coarse = std::mem::take(&mut self.coarse);
        each_band(&mut coarse, self.coarse_grid.columns, &|row, coarse| {
            instructions.run(RowOfCoarse { weighting: self, luma, row, ends, coarse });
        });
        self.coarse = coarse;

        let (mut hypotheses, mut lone) =
            (std::mem::take(&mut self.hypotheses), std::mem::take(&mut self.lone));
        let weigh = |row, hypotheses: &mut [Hypotheses], lone| {
            instructions.run(RowOfHypotheses { weighting: self, luma, row, ends, hypotheses, lone });
        };
        let rows = hypotheses.par_chunks_mut(columns).enumerate();
        match lone_ends {
            None => rows.for_each(|(row, hypotheses)| weigh(row, hypotheses, None)),
            Some(ends) => rows
                .zip(lone.par_chunks_mut(columns))
                .for_each(|((row, hypotheses), lone)| weigh(row, hypotheses, Some((ends, lone)))),
        }
        (self.hypotheses, self.lone) = (hypotheses, lone);
    }

    /// Replaces the badness of each block by those around it, combined. The blocks at the edges repeat.
    fn combine_around(&mut self, combine: impl Fn(u32, u32) -> u32) {
        let Self { grid, halves: reach, badness, across, padded, .. } = self;
        let combine_row = |to: &mut [u32], row: &[u32]| {
            to.iter_mut().zip(row).for_each(|(to, &value)| *to = combine(*to, value));
        };
        for (row, across) in badness.chunks_exact(grid.columns).zip(across.chunks_exact_mut(grid.columns)) {
            padded[..*reach].fill(row[0]);
            padded[*reach..][..grid.columns].copy_from_slice(row);
            padded[*reach + grid.columns..].fill(row[grid.columns - 1]);
            across.copy_from_slice(&padded[..grid.columns]);
            (1..=2 * *reach).for_each(|first| combine_row(across, &padded[first..]));
        }
        let across = |row: usize| &across[row * grid.columns..][..grid.columns];
        for (row, badness) in badness.chunks_exact_mut(grid.columns).enumerate() {
            badness.copy_from_slice(across(row.saturating_sub(*reach)));
            for below in 1..=2 * *reach {
                combine_row(badness, across((row + below).saturating_sub(*reach).min(grid.rows - 1)));
            }
        }
    }

    /// The blocks that have vectors.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// How badly vectors match around a block.
    #[inline(always)]
    pub fn badness(&self, (column, row): (usize, usize)) -> u32 {
        self.badness[row * self.grid.columns + column]
    }

    /// How much coarse vectors count in a block.
    #[inline(always)]
    fn share(&self, block: usize) -> u32 {
        (self.badness[block].saturating_sub(COARSE_BADNESS) >> BADNESS_SHIFT).min(MOST_COARSE)
    }

    /// The coarse blocks around a block: those whose centres are on either side.
    #[inline(always)]
    pub fn coarse_around(&self, (column, row): (usize, usize)) -> CoarseAround {
        let halves = self.halves as i32;
        CoarseAround {
            first: [column, row].map(|at| (at as i32 - halves).div_euclid(2 * halves)),
            share: self.share(row * self.grid.columns + column),
        }
    }

    /// Samples between the centres of coarse blocks.
    pub fn coarse_side(&self) -> usize {
        2 * BLOCK * self.halves
    }

    /// The vectors that predict the samples of a block.
    #[inline(always)]
    pub fn hypotheses(&self, (column, row): (usize, usize)) -> &Hypotheses {
        &self.hypotheses[row * self.grid.columns + column]
    }

    /// The weights of their ends alone, if these predict.
    #[inline(always)]
    pub fn lone_weights(&self, (column, row): (usize, usize)) -> Option<&LoneWeights> {
        self.lone.get(row * self.grid.columns + column).filter(|_| self.has_lone)
    }

    /// How many bits of products of weights are left out.
    pub fn weight_bits(&self) -> u32 {
        if self.has_lone { LONE_BITS } else { WEIGHT_BITS }
    }

    /// The vectors at the places around a block, of `ends` of all blocks, and how many there are.
    #[inline(always)]
    pub fn around(
        &self,
        ends: &[BlockEnds],
        block: (usize, usize),
        coarse: CoarseAround,
    ) -> (usize, [BlockEnds; HYPOTHESES]) {
        let near = |at: usize, count: usize| [at.saturating_sub(1), at, (at + 1).min(count - 1)];
        let (columns, rows) = (near(block.0, self.grid.columns), near(block.1, self.grid.rows));
        let mut around = [BlockEnds::default(); HYPOTHESES];
        for place in 0..FINE {
            around[place] = ends[rows[place / 3] * self.grid.columns + columns[place % 3]];
        }
        if coarse.share == 0 {
            return (FINE, around);
        }
        for (corner, around) in around[FINE..].iter_mut().enumerate() {
            let near = |at: i32, count: usize| at.clamp(0, count as i32 - 1) as usize;
            let column = near(coarse.first[0] + (corner % 2) as i32, self.coarse_grid.columns);
            let row = near(coarse.first[1] + (corner / 2) as i32, self.coarse_grid.rows);
            *around = self.coarse[row * self.coarse_grid.columns + column];
        }
        (HYPOTHESES, around)
    }

    /// Whether the vector of a coarse block counts anywhere.
    fn is_used(&self, (column, row): (usize, usize)) -> bool {
        // From the centre of the coarse block before to that of the one behind.
        let blocks = |at: usize, count: usize| {
            let first = (2 * at * self.halves).saturating_sub(self.halves);
            first..count.min((2 * at + 3) * self.halves)
        };
        blocks(row, self.grid.rows).any(|row| {
            blocks(column, self.grid.columns).any(|column| self.share(row * self.grid.columns + column) > 0)
        })
    }
}

/// A place in luma, in quarter samples.
#[inline(always)]
pub(super) fn quarters(x: i32, y: i32) -> (i32, i32) {
    (4 * x, 4 * y)
}

/// A row of blocks, with the differences at both ends of their vectors.
struct RowOfBadness<'a> {
    lone_ends: &'a LoneEnds<'a>,
    row: usize,
    ends: &'a [BlockEnds],
    badness: &'a mut [u32],
}

impl<E: InstructionSet> Work<E> for RowOfBadness<'_> {
    #[inline(always)]
    fn run(self, engine: E) {
        for (column, (badness, ends)) in self.badness.iter_mut().zip(self.ends).enumerate() {
            // No match of one end costs less.
            if *badness <= LONE_COST {
                continue;
            }
            let origin = quarters((BLOCK * column) as i32, (BLOCK * self.row) as i32);
            for (luma, intervals) in self.lone_ends.luma.iter().zip(INTERVALS) {
                let lone = block_difference(engine, luma, origin, ends.carried(intervals)) + LONE_COST;
                *badness = lone.min(*badness);
            }
        }
    }
}

/// A row of coarse blocks.
struct RowOfCoarse<'a> {
    weighting: &'a Weighting,
    luma: &'a [QuarterSamples<'a>; 2],
    row: usize,
    /// Of all blocks.
    ends: &'a [BlockEnds],
    coarse: &'a mut [BlockEnds],
}

impl RowOfCoarse<'_> {
    /// What `ends` cost in a coarse block, or a part of it that is no less than `least`.
    #[inline(always)]
    fn cost<E: InstructionSet>(&self, engine: E, column: usize, ends: BlockEnds, least: u32) -> u32 {
        let at = |block: usize, square: i32| {
            let (side, halves) = (BLOCK as i32, self.weighting.halves as i32);
            side * halves * (2 * block as i32 + square) - side / 2
        };
        let mut cost = COARSE_LENGTH * ends.length();
        for y in 0..COARSE_SQUARES {
            if cost >= least {
                break;
            }
            for x in 0..COARSE_SQUARES {
                cost += square_difference(engine, self.luma, quarters(at(column, x), at(self.row, y)), ends);
            }
        }
        cost
    }
}

/// The candidates of a coarse block: those around it, and zero.
const CANDIDATES: usize = ((2 * COARSE_REACH + 1) * (2 * COARSE_REACH + 1)) as usize + 1;

impl<E: InstructionSet> Work<E> for RowOfCoarse<'_> {
    #[inline(always)]
    fn run(self, engine: E) {
        let Weighting { grid, halves, .. } = self.weighting;
        for column in 0..self.coarse.len() {
            if !self.weighting.is_used((column, self.row)) {
                continue;
            }
            // The last one stays zero.
            let mut candidates = [BlockEnds::default(); CANDIDATES];
            let steps = -COARSE_REACH..=COARSE_REACH;
            let around = steps.clone().flat_map(|down| steps.clone().map(move |right| (right, down)));
            for (candidate, (right, down)) in candidates.iter_mut().zip(around) {
                let near = |at: usize, step: i32, count: usize| {
                    (2 * *halves as i32 * (at as i32 + step)).clamp(0, count as i32 - 1) as usize
                };
                let row = near(self.row, down, grid.rows);
                *candidate = self.ends[row * grid.columns + near(column, right, grid.columns)];
            }
            let (mut best, mut least) = (candidates[0], u32::MAX);
            for (index, &ends) in candidates.iter().enumerate() {
                if candidates[..index].contains(&ends) {
                    continue;
                }
                let cost = self.cost(engine, column, ends, least);
                if cost < least {
                    (best, least) = (ends, cost);
                }
            }
            self.coarse[column] = best;
        }
    }
}

/// The sum of the absolute differences at both `ends` of a vector, in every second row of 8 x 8 samples, twice.
#[inline(always)]
fn square_difference<E: InstructionSet>(
    engine: E,
    luma: &[QuarterSamples<'_>; 2],
    origin: (i32, i32),
    ends: BlockEnds,
) -> u32 {
    let [start, end] = ends.ways().map(|(x, y)| (origin.0 + x, origin.1 + y));
    let start = luma[0].load_second_rows::<E, BLOCK, 2>(engine, start);
    let end = luma[1].load_second_rows::<E, BLOCK, 2>(engine, end);
    let upper = Samples::zero(engine).plus_differences(start[0], end[0]);
    2 * upper.plus_differences(start[1], end[1]).total()
}
