//! Tiles of samples of more than eight bits.

use crate::native::cost::{DeepCost, joined, of_part, square};
use crate::native::exhaustive::tile::{COLUMNS, PART, ROWS, TileCosts, TileTask};
use motion_base::simd::InstructionSet;
use motion_base::simd::proven::Wide;
use motion_base::simd::register::WIDE;

/// Samples of a row of candidates that one row of a part is compared with.
const CANDIDATE_ROW: usize = COLUMNS + PART;

/// The `WIDTH` samples from `start` on.
#[inline(always)]
fn row<const WIDTH: usize>(samples: &[u16], start: usize) -> &[u16; WIDTH] {
    samples[start..].first_chunk().expect("a row of the block")
}

/// Rows of candidates that are compared at once: as many sums as leave registers for samples.
const BAND: usize = 4;
const DEEPEST_BAND: usize = 3;

/// Sums of 16 bits: of samples, wrapping, and of their upper eight bits, of up to 256 samples.
#[derive(Clone, Copy)]
struct SplitSums<E: InstructionSet> {
    all: Wide<E>,
    upper: Wide<E>,
}

impl<E: InstructionSet> SplitSums<E> {
    #[inline(always)]
    fn zero(engine: E) -> Self {
        Self { all: Wide::all(engine, 0), upper: Wide::all(engine, 0) }
    }

    /// Adds a sample each; the upper bits only where `UPPER`.
    #[inline(always)]
    fn add<const UPPER: bool>(&mut self, samples: Wide<E>) {
        self.all = self.all.plus(samples);
        if UPPER {
            self.upper = self.upper.plus(samples.upper());
        }
    }

    /// The sums as numbers: the wrapping ones, and those of the upper bits.
    #[inline(always)]
    fn store(self) -> [[u16; WIDE]; 2] {
        let mut sums = [[0; WIDE]; 2];
        self.all.store(&mut sums[0]);
        self.upper.store(&mut sums[1]);
        sums
    }
}

/// Writes the SAD of every candidate of `task` to its row and column.
///
/// The absolute difference of two samples is twice the larger one minus both, so `Σ|c - r| = 2 Σ max(c, r) - Σc - Σr`,
/// which takes two instructions a sample. The sums of neighbouring candidates have most rows in common.
#[inline(always)]
pub fn sad_tile<E: InstructionSet, const TERMS: usize>(
    engine: E,
    task: &TileTask<'_, u16>,
    costs: &mut TileCosts<u32>,
) {
    const { assert!(COLUMNS == WIDE) };
    // The sums of the width of the part, of all rows above each row.
    let mut rows = [[[0; WIDE]; 2]; PART + ROWS];
    let mut sums = SplitSums::zero(engine);
    for (k, above) in rows[1..task.height() + task.rows()].iter_mut().enumerate() {
        let row = row::<CANDIDATE_ROW>(task.reference(), k * task.pitch());
        for x in 0..task.width() {
            let samples = row[x % PART..].first_chunk().expect("a row of CANDIDATE_ROW");
            match TERMS {
                1 => sums.add::<true>(Wide::load(engine, samples)),
                _ => sums.add::<false>(Wide::load(engine, samples)),
            }
        }
        *above = sums.store();
    }
    let (mut v, costs) = (0, &mut costs[..task.rows()]);
    while v < costs.len() {
        v += match TERMS {
            1 if v + DEEPEST_BAND <= costs.len() => {
                sads_of_band::<E, TERMS, DEEPEST_BAND>(engine, task, v, &rows, costs)
            }
            2.. if v + BAND <= costs.len() => sads_of_band::<E, TERMS, BAND>(engine, task, v, &rows, costs),
            _ => sads_of_band::<E, TERMS, 1>(engine, task, v, &rows, costs),
        };
    }
}

/// Writes the costs of `V` rows of candidates, the first of which is row `first`; `rows` has the sums of the width of the
/// part, of all rows of samples above each row. Returns `V`.
#[inline(always)]
fn sads_of_band<E: InstructionSet, const TERMS: usize, const V: usize>(
    engine: E,
    task: &TileTask<'_, u16>,
    first: usize,
    rows: &[[[u16; WIDE]; 2]],
    costs: &mut [[u32; COLUMNS]],
) -> usize {
    let costs = &mut costs[first..first + V];
    costs.as_flattened_mut().fill(0);
    // So many rows that the sums do not overflow.
    let at_once = if TERMS == 1 { PART } else { TERMS / task.width() };
    for start in (0..task.height()).step_by(at_once) {
        let end = task.height().min(start + at_once);
        let mut current = 0_u32;
        let mut sums = [SplitSums::zero(engine); V];
        for k in start..end {
            let mut of_candidates = [row::<CANDIDATE_ROW>(task.reference(), 0); V];
            for (v, of_candidate) in of_candidates.iter_mut().enumerate() {
                *of_candidate = row(task.reference(), (first + v + k) * task.pitch());
            }
            let of_part = &task.current()[k * task.pitch()..][..task.width()];
            for (x, sample) in of_part.iter().enumerate() {
                current += u32::from(*sample);
                let sample = Wide::all(engine, *sample);
                for v in 0..V {
                    let samples = of_candidates[v][x % PART..].first_chunk().expect("a row of CANDIDATE_ROW");
                    let larger = Wide::load(engine, samples).largest(sample);
                    match TERMS {
                        1 => sums[v].add::<true>(larger),
                        _ => sums[v].add::<false>(larger),
                    }
                }
            }
        }
        for v in 0..V {
            let [all, upper] = sums[v].store();
            let [above, below] = [&rows[first + v + start], &rows[first + v + end]];
            for u in 0..COLUMNS {
                let of_candidate = below[0][u].wrapping_sub(above[0][u]);
                costs[v][u] += if TERMS == 1 {
                    let of_candidate = joined(of_candidate, below[1][u].wrapping_sub(above[1][u]));
                    (2 * joined(all[u], upper[u])).wrapping_sub(of_candidate).wrapping_sub(current)
                } else {
                    let cost = all[u].wrapping_mul(2).wrapping_sub(of_candidate);
                    u32::from(cost.wrapping_sub(current as u16))
                };
            }
        }
    }
    V
}

/// Writes the SSD of every candidate of `task` to its row and column.
#[inline(always)]
pub fn ssd_tile(task: &TileTask<'_, u16>, costs: &mut TileCosts<u32>) {
    for (v, costs) in costs[..task.rows()].iter_mut().enumerate() {
        let mut sums = [0_u32; COLUMNS];
        for k in 0..task.height() {
            let r = row::<CANDIDATE_ROW>(task.reference(), (v + k) * task.pitch());
            let c = &task.current()[k * task.pitch()..][..task.width()];
            for (x, c) in c.iter().enumerate() {
                let r: &[u16; COLUMNS] = r[x % PART..].first_chunk().expect("a row of CANDIDATE_ROW");
                for u in 0..COLUMNS {
                    sums[u] = sums[u].wrapping_add(square(*c, r[u]));
                }
            }
        }
        *costs = sums;
    }
}

/// Writes the cost of every candidate of `task` to its column and row.
#[inline(always)]
pub fn columns<C: DeepCost>(task: &TileTask<'_, u16>, costs: &mut TileCosts<u32>) {
    for (u, costs) in costs[..task.columns()].iter_mut().enumerate() {
        for (v, cost) in costs[..task.rows()].iter_mut().enumerate() {
            let r = &task.reference()[v * task.pitch() + u..];
            *cost = of_part::<C>((task.current(), r), (task.width(), task.height()), task.pitch());
        }
    }
}
