//! The candidates of the cells of a chunk, compared in one list, so that no branch depends on a single cell.

use std::ops::Range;

use crate::native::arch::register::SUMS;
use crate::native::hierarchical::grid::LANES;
use crate::native::hierarchical::matching::{CellMatcher, ChunkCells};
use crate::native::hierarchical::state::LevelRules;
use crate::native::level::InstructionSet;

/// The same value of each cell of a chunk.
pub type Lanes = [i16; LANES];

/// The weight of a cost against smoothness.
pub const COST_WEIGHT: u32 = 64;

/// The most candidates of a cell.
pub const MOST: usize = 19;

/// Bits that hold the number of a candidate.
const NUMBER_BITS: u32 = 5;

const _: () = assert!(LANES == SUMS && MOST <= 1 << NUMBER_BITS);

/// The candidates of the cells of a chunk. Earlier ones win against later ones that are as good.
pub struct LaneCandidates {
    /// Across.
    pub x: [Lanes; MOST],
    /// Down.
    pub y: [Lanes; MOST],
    /// The weighted smoothness.
    pub smoothness: [Lanes; MOST],
    /// A bit for each cell whose candidate is to be compared.
    pub open: [u32; MOST],
    list: [u32; MOST * LANES],
}

impl Default for LaneCandidates {
    #[inline(always)]
    fn default() -> Self {
        let none = [[0; LANES]; MOST];
        Self { x: none, y: none, smoothness: none, open: [0; MOST], list: [0; MOST * LANES] }
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

    /// Marks candidate `number` as open for the cells of `tried`, unless it equals the candidate `known` or an open one
    /// before it, or its smoothness alone reaches the limit.
    #[inline(always)]
    pub fn open<E: InstructionSet>(
        &mut self,
        engine: E,
        number: usize,
        known: Option<usize>,
        tried: u32,
        limits: &Lanes,
    ) {
        let mut closed = [0; LANES];
        for i in 0..LANES {
            closed[i] = u16::from(self.smoothness[number][i] >= limits[i]);
        }
        let mut open = tried & engine.at_most(&closed, 0);
        if let Some(known) = known {
            open &= !self.equal(engine, number, known);
        }
        for earlier in 0..number {
            if open & self.open[earlier] != 0 {
                open &= !self.equal(engine, number, earlier);
            }
        }
        self.open[number] = open;
    }

    /// A bit for each cell of which two candidates are equal.
    #[inline(always)]
    fn equal<E: InstructionSet>(&self, engine: E, a: usize, b: usize) -> u32 {
        let mut different = [0; LANES];
        for i in 0..LANES {
            different[i] = ((self.x[a][i] ^ self.x[b][i]) | (self.y[a][i] ^ self.y[b][i])) as u16;
        }
        engine.at_most(&different, 0)
    }

    /// Lowers the rank of each cell to that of its best open candidate.
    #[inline(always)]
    pub fn compare<E: InstructionSet>(
        &mut self,
        engine: E,
        matcher: &CellMatcher<'_>,
        cells: &ChunkCells,
        ranks: &mut [Rank; LANES],
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
        for entry in &self.list[..count] {
            let (number, lane) = (*entry as usize / LANES, *entry as usize % LANES);
            let vector = (self.x[number][lane].into(), self.y[number][lane].into());
            let cost = matcher.cost::<E>(cells, lane, vector);
            let rank = Rank::new(number, cost, self.smoothness[number][lane]);
            ranks[lane] = ranks[lane].min(rank);
        }
    }
}
