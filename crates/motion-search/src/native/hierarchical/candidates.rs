//! The candidates of the cells of a chunk, compared in one list, so that no branch depends on a single cell.

use std::ops::Range;

use crate::native::hierarchical::grid::LANES;
use crate::native::hierarchical::matching::{CellMatcher, ChunkCells};
use crate::native::hierarchical::rules::LevelRules;
use motion_base::simd::InstructionSet;
use motion_base::simd::register::WIDE;

/// The same value of each cell of a chunk.
pub type LaneShorts = [i16; LANES];

/// The weight of a cost against smoothness.
pub const COST_WEIGHT: u32 = 64;

/// The most candidates of a cell.
pub const MOST: usize = 19;

/// What the candidates of the cells of a chunk cost, as far as it is known; otherwise [`UNKNOWN`].
pub type LaneCosts = [[u16; LANES]; MOST];

/// More than any cost.
pub const UNKNOWN: u16 = u16::MAX;

/// Bits that hold the number of a candidate.
const NUMBER_BITS: u32 = 5;

const _: () = assert!(LANES == WIDE && MOST <= 1 << NUMBER_BITS);

/// The most vectors that a cell starts from.
pub const STARTS: usize = 4;

/// The vectors that the cells of a chunk could start from, and what they cost, as far as it is known.
#[derive(Clone, Copy, Default)]
pub struct ChunkStarts {
    /// Across. The first is that of the parent.
    pub x: [LaneShorts; STARTS],
    /// Down.
    pub y: [LaneShorts; STARTS],
    /// What they cost; otherwise [`UNKNOWN`].
    pub costs: [[u16; LANES]; STARTS],
}

/// The candidates of the cells of a chunk. Earlier ones win against later ones that are as good.
pub struct LaneCandidates {
    /// Across.
    pub x: [LaneShorts; MOST],
    /// Down.
    pub y: [LaneShorts; MOST],
    /// The weighted smoothness.
    pub smoothness: [LaneShorts; MOST],
    /// A bit for each cell whose candidate may win.
    pub possible: [u32; MOST],
    /// A bit for each cell whose candidate may win and has no known cost.
    pub open: [u32; MOST],
    list: [u32; MOST * LANES],
}

impl Default for LaneCandidates {
    #[inline(always)]
    fn default() -> Self {
        let none = [[0; LANES]; MOST];
        Self {
            x: none,
            y: none,
            smoothness: none,
            possible: [0; MOST],
            open: [0; MOST],
            list: [0; MOST * LANES],
        }
    }
}

/// A number that orders the candidates of a cell: by energy, then by their own number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u32);

impl Rank {
    /// Worse than every candidate.
    pub const WORST: Self = Self(u32::MAX);

    /// The rank of candidate `number` with this cost and weighted smoothness.
    #[inline(always)]
    pub fn new(number: usize, cost: u32, smoothness: i16) -> Self {
        Self((COST_WEIGHT * cost + smoothness as u32) << NUMBER_BITS | number as u32)
    }

    /// The number of the candidate.
    #[inline(always)]
    pub fn number(self) -> usize {
        (self.0 & ((1 << NUMBER_BITS) - 1)) as usize
    }

    /// The cost, given the weighted smoothness.
    #[inline(always)]
    pub fn cost(self, smoothness: i16) -> u16 {
        (((self.0 >> NUMBER_BITS) - smoothness as u32) / COST_WEIGHT) as u16
    }
}

impl LaneCandidates {
    /// Clamps the candidates `numbers` to what the cells from `column` on may have.
    #[inline(always)]
    pub fn clamp(&mut self, rules: &LevelRules, (column, row): (usize, usize), numbers: Range<usize>) {
        let (mut least, mut most) = ([0; LANES], [0; LANES]);
        for i in 0..LANES {
            [least[i], most[i]] = rules.bounds_across(column + i);
        }
        let [top, bottom] = rules.bounds_down(row);
        for number in numbers {
            for i in 0..LANES {
                self.x[number][i] = self.x[number][i].max(least[i]).min(most[i]);
                self.y[number][i] = self.y[number][i].max(top).min(bottom);
            }
        }
    }

    /// Marks for which of the cells of `tried` candidate `number` may win, and of these where it has no known cost.
    ///
    /// It may not if it equals the candidate `known` or a possible one before it, or if its smoothness alone
    /// reaches the limit.
    #[inline(always)]
    pub fn open<E: InstructionSet>(
        &mut self,
        engine: E,
        number: usize,
        (known, tried): (Option<usize>, u32),
        limits: &LaneShorts,
        costs: &LaneCosts,
    ) {
        let (mut closed, mut is_known) = ([0; LANES], [0; LANES]);
        for i in 0..LANES {
            closed[i] = u16::from(self.smoothness[number][i] >= limits[i]);
            is_known[i] = costs[number][i] ^ UNKNOWN;
        }
        let mut possible = tried & engine.at_most(&closed, 0);
        if let Some(known) = known {
            possible &= !self.equal(engine, number, known);
        }
        for earlier in 0..number {
            if possible & self.possible[earlier] != 0 {
                possible &= !self.equal(engine, number, earlier);
            }
        }
        self.possible[number] = possible;
        self.open[number] = possible & engine.at_most(&is_known, 0);
    }

    /// Notes what the candidates `numbers` cost that are also vectors to start from: neighbours started from the same ones.
    #[inline(always)]
    pub fn recall(&self, numbers: Range<usize>, starts: &ChunkStarts, costs: &mut LaneCosts) {
        for number in numbers {
            let (x, y) = (&self.x[number], &self.y[number]);
            for start in 0..STARTS {
                let (start_x, start_y, known) = (&starts.x[start], &starts.y[start], &starts.costs[start]);
                for i in 0..LANES {
                    let different = (x[i] ^ start_x[i]) | (y[i] ^ start_y[i]);
                    let unknown = UNKNOWN * u16::from(different != 0);
                    costs[number][i] = costs[number][i].min(known[i] | unknown);
                }
            }
        }
    }

    /// Lowers the rank of each cell to that of the best of the candidates `numbers` whose costs are known.
    #[inline(always)]
    pub fn compare(&self, numbers: Range<usize>, costs: &LaneCosts, ranks: &mut [Rank; LANES]) {
        for number in numbers {
            let (costs, smoothness) = (&costs[number], &self.smoothness[number]);
            for i in 0..LANES {
                ranks[i] = ranks[i].min(Rank::new(number, costs[i].into(), smoothness[i]));
            }
        }
    }

    /// A bit for each cell of which two candidates are equal.
    #[inline(always)]
    fn equal<E: InstructionSet>(&self, engine: E, a: usize, b: usize) -> u32 {
        let mut different = [0; LANES];
        for (i, different) in different.iter_mut().enumerate() {
            *different = ((self.x[a][i] ^ self.x[b][i]) | (self.y[a][i] ^ self.y[b][i])) as u16;
        }
        engine.at_most(&different, 0)
    }

    /// Computes what the open candidates cost. `IS_START` is for the first comparison of the row: it finds the
    /// samples of the next row far away, and all vectors are even.
    #[inline(always)]
    pub fn compute_costs<E: InstructionSet, const IS_START: bool>(
        &mut self,
        engine: E,
        matcher: &CellMatcher<'_>,
        cells: &ChunkCells,
        costs: &mut LaneCosts,
    ) {
        let mut lanes = [0; LANES];
        for (lane, number) in lanes.iter_mut().enumerate() {
            *number = lane as u32;
        }
        let mut count = 0;
        for (number, open) in self.open.iter().enumerate() {
            if let Some(to) = self.list[count..].first_chunk_mut() {
                engine.list(*open, (number * LANES) as u32, &lanes, to);
                count += open.count_ones() as usize;
            }
        }
        let [x, y] = [&self.x, &self.y].map(|lanes| &lanes.as_flattened()[..MOST * LANES]);
        let costs = &mut costs.as_flattened_mut()[..MOST * LANES];
        for entry in &self.list[..count] {
            let (entry, lane) = (*entry as usize, *entry as usize % LANES);
            let vector = (x[entry].into(), y[entry].into());
            if IS_START {
                matcher.prefetch_below(engine, cells, lane, vector);
            }
            costs[entry] = matcher.cost::<E, IS_START>(engine, cells, lane, vector) as u16;
        }
    }
}
