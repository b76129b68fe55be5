//! The choice of each block's vector by the samples of both frames.

use rayon::prelude::*;

use super::chroma_pairs::ChromaPairs;
use super::rules::{
    AHEAD, BLOCK, CHROMA_COST, HalfVector, MOST_DIFFERENCE, MOTION_COST, PREFETCHED, SMOOTHNESS,
    STILL_DETAIL, STILL_DIFFERENCE, STILL_SAMPLES,
};
use super::starts::{BlockEnds, Starts};
use motion_base::Grid;
use motion_base::pyramid::quarter_samples::QuarterSamples;
use motion_base::simd::{InstructionSet, Instructions, Samples, Work};

/// Registers that hold the samples of a block, two rows each.
const REGISTERS: usize = BLOCK / 2;

/// The candidates of the projected field: the block's own and its neighbours, columns and rows from that above left.
const PLACES: [(usize, usize); 9] = [(1, 1), (0, 0), (1, 0), (2, 0), (0, 1), (2, 1), (0, 2), (1, 2), (2, 2)];

/// The vectors that a block chooses from: those of one or three projected fields, and zero.
const OF_ONE_FIELD: usize = PLACES.len() + 1;
const OF_THREE_FIELDS: usize = 3 * PLACES.len() + 1;

/// The sum of the absolute differences at both `ends` of a vector, of 8 x 8 samples from `origin` on, in quarter samples.
#[inline(always)]
pub(super) fn block_difference<E: InstructionSet>(
    engine: E,
    luma: &[QuarterSamples<'_>; 2],
    origin: (i32, i32),
    ends: BlockEnds,
) -> u32 {
    let [start, end] = ends.ways().map(|(x, y)| (origin.0 + x, origin.1 + y));
    let start = luma[0].load_anywhere::<E, BLOCK, REGISTERS>(engine, start);
    let end = luma[1].load_anywhere::<E, BLOCK, REGISTERS>(engine, end);
    let mut sums = Samples::zero(engine);
    for n in 0..REGISTERS {
        sums = sums.plus_differences(start[n], end[n]);
    }
    sums.total()
}

/// The choice at a phase.
pub(super) struct VectorChoice<'a> {
    /// The luma of the previous and of the next frame.
    pub luma: [QuarterSamples<'a>; 2],
    /// Their chroma, if it is compared.
    pub chroma: Option<[&'a ChromaPairs; 2]>,
    pub starts: &'a Starts,
    pub grid: Grid,
    /// One projected field or three. A vector should resemble those of the first.
    pub projected: &'a [Vec<HalfVector>],
}

impl VectorChoice<'_> {
    /// Writes the ends of the vector of each block, and the differences of luma there.
    pub fn choose(
        &self,
        instructions: Instructions,
        chosen: &mut [BlockEnds],
        differences: Option<&mut [u32]>,
    ) {
        let columns = self.grid.columns;
        let choose = |row, chosen: &mut [BlockEnds], differences: Option<&mut [u32]>| {
            let row = ChosenRow { choice: self, row, chosen, differences };
            match self.projected.len() {
                1 => instructions.run(VectorCandidates::<OF_ONE_FIELD>(row)),
                _ => instructions.run(VectorCandidates::<OF_THREE_FIELDS>(row)),
            }
        };
        let rows = chosen.par_chunks_mut(columns).enumerate();
        match differences {
            None => rows.for_each(|(row, chosen)| choose(row, chosen, None)),
            Some(all) => rows
                .zip(all.par_chunks_mut(columns))
                .for_each(|((row, chosen), differences)| choose(row, chosen, Some(differences))),
        }
    }

    /// The positions that `vector` leads to from a block at `origin`, in quarter samples.
    #[inline(always)]
    fn ends(&self, origin: (i32, i32), vector: HalfVector) -> [(i32, i32); 2] {
        self.starts.ends(vector).ways().map(|(x, y)| (origin.0 + x, origin.1 + y))
    }

    /// Prefetches the samples at both ends of `vector`.
    #[inline(always)]
    fn prefetch<E: InstructionSet>(&self, engine: E, origin: (i32, i32), vector: HalfVector) {
        for (luma, end) in self.luma.iter().zip(self.ends(origin, vector)) {
            luma.prefetch_anywhere::<E, BLOCK>(engine, end);
        }
    }

    /// The samples of the block at `origin`, in quarter samples, those to their right and those below.
    #[inline(always)]
    fn around<E: InstructionSet>(
        engine: E,
        luma: &QuarterSamples<'_>,
        origin: (i32, i32),
    ) -> [[Samples<E>; REGISTERS]; 3] {
        let (x, y) = (origin.0 >> 2, origin.1 >> 2);
        // One by one: `map` is not always inlined, and then runs without the instructions of `E`.
        [
            luma.load_half::<E, BLOCK, REGISTERS>(engine, (x, y), (0, 0)),
            luma.load_half::<E, BLOCK, REGISTERS>(engine, (x + 1, y), (0, 0)),
            luma.load_half::<E, BLOCK, REGISTERS>(engine, (x, y + 1), (0, 0)),
        ]
    }

    /// Whether the block at `origin`, in quarter samples, stands still.
    #[inline(always)]
    fn stands_still<E: InstructionSet>(&self, engine: E, origin: (i32, i32)) -> bool {
        let previous = Self::around(engine, &self.luma[0], origin);
        let [zero, one, most] = [0, 1, u8::MAX].map(|sample| Samples::all(engine, sample));
        let (detail_beside, change_between) =
            (Samples::all(engine, STILL_DETAIL - 1), Samples::all(engine, STILL_DIFFERENCE));
        // One where there is detail.
        let mut details = [zero; REGISTERS];
        let mut count = zero;
        for n in 0..REGISTERS {
            let [own, right, below] = [previous[0][n], previous[1][n], previous[2][n]];
            let detail = own.cut_differences(right, most).largest(own.cut_differences(below, most));
            details[n] = detail.minus(detail_beside).cut_differences(zero, one);
            count = count.plus_differences(details[n], zero);
        }
        // Most blocks have none.
        if count.total() < STILL_SAMPLES {
            return false;
        }
        let next = Self::around(engine, &self.luma[1], origin);
        let mut count = zero;
        for n in 0..REGISTERS {
            let mut change = zero;
            for at in 0..3 {
                change = change.largest(previous[at][n].cut_differences(next[at][n], most));
            }
            // Zero where it changes.
            let still = details[n].minus(change.minus(change_between));
            count = count.plus_differences(still, zero);
        }
        count.total() >= STILL_SAMPLES
    }
}

/// Blocks of a row whose candidates are compared with their neighbours at once.
const LANES: usize = 16;

/// The `C` candidates of some blocks of a row.
struct BlockChunk<const C: usize> {
    x: [[i16; LANES]; C],
    y: [[i16; LANES]; C],
}

impl<const C: usize> BlockChunk<C> {
    /// The blocks of a row from `first` on. After the last one it is repeated.
    #[inline(always)]
    fn new(choice: &VectorChoice<'_>, first: usize, row: usize) -> Self {
        let Grid { columns, rows } = choice.grid;
        let mut chunk = Self { x: [[0; LANES]; C], y: [[0; LANES]; C] };
        for (field, projected) in choice.projected.iter().enumerate() {
            // The rows above and below, and one more column on either side.
            let mut around = [[HalfVector::default(); LANES + 2]; 3];
            for (around, row) in around.iter_mut().zip([row.saturating_sub(1), row, (row + 1).min(rows - 1)])
            {
                let vectors = &projected[row * columns..][..columns];
                for at in 0..LANES + 2 {
                    around[at] = vectors[(first + at).saturating_sub(1).min(columns - 1)];
                }
            }
            for lane in 0..LANES {
                for (place, (right, down)) in PLACES.into_iter().enumerate() {
                    let (vector, candidate) = (around[down][lane + right], PLACES.len() * field + place);
                    (chunk.x[candidate][lane], chunk.y[candidate][lane]) = (vector.x, vector.y);
                }
            }
        }
        chunk
    }

    /// What each candidate of each block costs whatever the samples are: for its differences from the neighbours, and
    /// unless it is zero. The most for candidates that equal one before them.
    #[inline(always)]
    fn penalties(&self) -> [[u16; LANES]; C] {
        let mut all = [[0; LANES]; C];
        for (candidate, to) in all.iter_mut().enumerate() {
            let (mut sums, mut is_known) = ([0; LANES], [0; LANES]);
            for other in 0..PLACES.len().max(candidate) {
                let is_neighbour = u16::from((1..PLACES.len()).contains(&other));
                let is_before = u16::from(other < candidate);
                for lane in 0..LANES {
                    let x = self.x[candidate][lane].wrapping_sub(self.x[other][lane]).unsigned_abs();
                    let y = self.y[candidate][lane].wrapping_sub(self.y[other][lane]).unsigned_abs();
                    let difference = (x + y).min(MOST_DIFFERENCE as u16);
                    sums[lane] += SMOOTHNESS as u16 * is_neighbour * difference;
                    is_known[lane] |= is_before * u16::from(difference == 0);
                }
            }
            for lane in 0..LANES {
                let moves = u16::from((self.x[candidate][lane] | self.y[candidate][lane]) != 0);
                let penalty = sums[lane] + MOTION_COST as u16 * moves;
                to[lane] = if is_known[lane] != 0 { u16::MAX } else { penalty };
            }
        }
        all
    }
}

/// A row of blocks.
struct ChosenRow<'a> {
    choice: &'a VectorChoice<'a>,
    row: usize,
    chosen: &'a mut [BlockEnds],
    differences: Option<&'a mut [u32]>,
}

/// A row of blocks that have `C` candidates each.
struct VectorCandidates<'a, const C: usize>(ChosenRow<'a>);

impl<const C: usize, E: InstructionSet> Work<E> for VectorCandidates<'_, C> {
    #[inline(always)]
    fn run(self, engine: E) {
        let ChosenRow { choice, row, chosen, mut differences } = self.0;
        for (chunk, chosen) in chosen.chunks_mut(LANES).enumerate() {
            let first = LANES * chunk;
            let blocks = BlockChunk::<C>::new(choice, first, row);
            let penalties = blocks.penalties();
            let mut least_penalty = [u16::MAX; LANES];
            for penalties in &penalties[1..] {
                for lane in 0..LANES {
                    least_penalty[lane] = least_penalty[lane].min(penalties[lane]);
                }
            }
            for (lane, chosen) in chosen.iter_mut().enumerate() {
                let origin = ((4 * BLOCK * (first + lane)) as i32, (4 * BLOCK * row) as i32);
                let candidate =
                    |index: usize| HalfVector { x: blocks.x[index][lane], y: blocks.y[index][lane] };
                if lane % PREFETCHED == 0 {
                    choice.prefetch(engine, (origin.0 + (4 * BLOCK * AHEAD) as i32, origin.1), candidate(0));
                }
                let (mut best, mut best_difference) = (candidate(0), None);
                // If all candidates are equal, there is nothing to compare.
                if least_penalty[lane] != u16::MAX {
                    let mut least = u32::MAX;
                    for (index, penalties) in penalties.iter().enumerate() {
                        let penalty = u32::from(penalties[lane]);
                        if penalty >= least {
                            continue;
                        }
                        let vector = candidate(index);
                        let ends = choice.starts.ends(vector);
                        let difference = block_difference(engine, &choice.luma, origin, ends);
                        let mut cost = difference + penalty;
                        if cost < least
                            && let Some(chroma) = &choice.chroma
                        {
                            let block = (first + lane, row);
                            cost += CHROMA_COST * ChromaPairs::difference(engine, chroma, block, ends);
                        }
                        if cost < least {
                            (best, best_difference, least) = (vector, Some(difference), cost);
                        }
                    }
                }
                if best != HalfVector::default() && choice.stands_still(engine, origin) {
                    (best, best_difference) = (HalfVector::default(), None);
                }
                *chosen = choice.starts.ends(best);
                if let Some(differences) = &mut differences {
                    differences[first + lane] = match best_difference {
                        Some(difference) => difference,
                        None => block_difference(engine, &choice.luma, origin, *chosen),
                    };
                }
            }
        }
    }
}
