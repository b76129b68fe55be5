//! The costs of samples of more than eight bits, in loops that the compiler vectorizes. (Loops and no closures: only what
//! is written in a function, or inlined always, is compiled for its instruction set.)

use crate::native::arch::register::{DeepRegister, SUMS};
use crate::native::candidates::Candidates;
use crate::native::cost::{Cost, DeepSad, DeepSsd};
use crate::native::engine::Engine;
use crate::native::exhaustive::tile::{COLUMNS, PART, ROWS, TileCosts, TileTask};

/// Samples of a row of candidates that one row of a part is compared with.
const WIDE: usize = COLUMNS + PART;

/// A metric of deep samples.
pub trait DeepCost: Cost<Sample = u16, Value = u32> {
    /// The cost of `HEIGHT` rows of `WIDTH` samples, the rows of both sides `pitch` apart.
    fn of_rows<const WIDTH: usize, const HEIGHT: usize>(c: &[u16], r: &[u16], pitch: usize) -> u32;
}

impl<const TERMS: usize> DeepCost for DeepSad<TERMS> {
    #[inline(always)]
    fn of_rows<const WIDTH: usize, const HEIGHT: usize>(c: &[u16], r: &[u16], pitch: usize) -> u32 {
        const { assert!(TERMS == 1 || WIDTH * HEIGHT <= 4 * TERMS) };
        // The differences, wrapping, and their upper eight bits.
        let (mut all, mut upper) = ([0_u16; WIDTH], [0_u16; WIDTH]);
        check_rows::<WIDTH, HEIGHT>(c, pitch);
        check_rows::<WIDTH, HEIGHT>(r, pitch);
        for y in 0..HEIGHT {
            // SAFETY: checked above.
            let (c, r) = unsafe { (checked_row::<WIDTH>(c, y * pitch), checked_row::<WIDTH>(r, y * pitch)) };
            for x in 0..WIDTH {
                if TERMS == 1 {
                    let difference = c[x].abs_diff(r[x]);
                    all[x] = all[x].wrapping_add(difference);
                    upper[x] = upper[x].wrapping_add(difference >> 8);
                } else {
                    // Fewer instructions than the general one, as a difference of ten bits is one of signed numbers.
                    all[x] = all[x].wrapping_add((c[x].wrapping_sub(r[x]) as i16).unsigned_abs());
                }
            }
        }
        if TERMS == 1 {
            const { assert!(TERMS > 1 || WIDTH * HEIGHT <= 256) };
            let (mut sum, mut of_upper) = (0_u16, 0_u16);
            for x in 0..WIDTH {
                sum = sum.wrapping_add(all[x]);
                of_upper = of_upper.wrapping_add(upper[x]);
            }
            return joined(sum, of_upper);
        }
        // As few lanes as fit 16 bits: the widest sums are the slowest.
        let mut four = [0_u16; 4];
        for x in 0..WIDTH {
            four[x % 4] += all[x];
        }
        four.map(u32::from).iter().sum()
    }
}

/// A sum of up to 256 numbers of 16 bits, from its lower 16 bits and the sum of their upper eight bits: what the lower
/// eight bits add up to fits 16 bits.
#[inline(always)]
fn joined(all: u16, upper: u16) -> u32 {
    (u32::from(upper) << 8) + u32::from(all.wrapping_sub(upper << 8))
}

impl DeepCost for DeepSsd {
    #[inline(always)]
    fn of_rows<const WIDTH: usize, const HEIGHT: usize>(c: &[u16], r: &[u16], pitch: usize) -> u32 {
        let mut sums = [0_u32; WIDTH];
        check_rows::<WIDTH, HEIGHT>(c, pitch);
        check_rows::<WIDTH, HEIGHT>(r, pitch);
        for y in 0..HEIGHT {
            // SAFETY: checked above.
            let (c, r) = unsafe { (checked_row::<WIDTH>(c, y * pitch), checked_row::<WIDTH>(r, y * pitch)) };
            for x in 0..WIDTH {
                sums[x] = sums[x].wrapping_add(square(c[x], r[x]));
            }
        }
        sums.iter().sum()
    }
}

/// The squared difference. Samples have at most ten bits here.
#[inline(always)]
fn square(c: u16, r: u16) -> u32 {
    let difference = i32::from(c.wrapping_sub(r) as i16);
    difference.wrapping_mul(difference) as u32
}

/// Checks that `samples` has `HEIGHT` rows of `WIDTH` samples, `pitch` apart.
#[inline(always)]
fn check_rows<const WIDTH: usize, const HEIGHT: usize>(samples: &[u16], pitch: usize) {
    assert!(samples.len() >= (HEIGHT - 1) * pitch + WIDTH);
}

/// The `WIDTH` samples from `start` on, without a check.
///
/// # Safety
/// `samples` must have them.
#[inline(always)]
unsafe fn checked_row<const WIDTH: usize>(samples: &[u16], start: usize) -> &[u16; WIDTH] {
    debug_assert!(start + WIDTH <= samples.len());
    // SAFETY: the caller's promise.
    unsafe { &*samples.as_ptr().add(start).cast() }
}

/// The `WIDTH` samples from `start` on.
#[inline(always)]
fn row<const WIDTH: usize>(samples: &[u16], start: usize) -> &[u16; WIDTH] {
    samples[start..].first_chunk().expect("a row of the block")
}

/// The cost of `width × height` samples: multiples of four, 16 at most.
#[inline(always)]
fn of_part<C: DeepCost>((c, r): (&[u16], &[u16]), (width, height): (usize, usize), pitch: usize) -> u32 {
    match (width, height) {
        (16, 16) => C::of_rows::<16, 16>(c, r, pitch),
        (8, 8) => C::of_rows::<8, 8>(c, r, pitch),
        _ => {
            let mut sum = 0;
            for y in (0..height).step_by(4) {
                for x in (0..width).step_by(4) {
                    let start = y * pitch + x;
                    sum += C::of_rows::<4, 4>(&c[start..], &r[start..], pitch);
                }
            }
            sum
        }
    }
}

/// The cost of the candidate at `offset` for block `block`.
#[inline(always)]
pub fn cost<C: DeepCost>(candidates: &Candidates<'_, u16>, block: u16, offset: u32) -> u32 {
    let (c, r, side, pitch) =
        (candidates.block(block), candidates.at(offset), candidates.side(), candidates.pitch());
    if side == PART {
        return C::of_rows::<PART, PART>(c, r, pitch);
    }
    let mut sum = 0;
    for y in (0..side).step_by(PART) {
        for x in (0..side).step_by(PART) {
            let (start, size) = (y * pitch + x, (PART.min(side - x), PART.min(side - y)));
            sum += of_part::<C>((&c[start..], &r[start..]), size, pitch);
        }
    }
    sum
}

/// Rows of candidates that are compared at once: as many sums as leave registers for samples.
const BAND: usize = 4;
const DEEPEST_BAND: usize = 3;

/// Sums of 16 bits: of samples, wrapping, and of their upper eight bits, of up to 256 samples.
#[derive(Clone, Copy)]
struct SplitSums<D> {
    all: D,
    upper: D,
}

impl<D: DeepRegister> SplitSums<D> {
    /// # Safety
    /// The CPU must have the instructions of `D`, here and below.
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self { all: D::all(0), upper: D::all(0) } }
    }

    /// Adds a sample each; the upper bits only where `UPPER`.
    #[inline(always)]
    unsafe fn add<const UPPER: bool>(&mut self, samples: D) {
        // SAFETY: the caller's promise.
        unsafe {
            self.all = self.all.plus(samples);
            if UPPER {
                self.upper = self.upper.plus(samples.upper());
            }
        }
    }

    /// The sums as numbers: the wrapping ones, and those of the upper bits.
    #[inline(always)]
    unsafe fn store(self) -> [[u16; SUMS]; 2] {
        let mut sums = [[0; SUMS]; 2];
        // SAFETY: the caller's promise.
        unsafe {
            self.all.store(&mut sums[0]);
            self.upper.store(&mut sums[1]);
        }
        sums
    }
}

/// Writes the SAD of every candidate of `task` to its row and column.
///
/// The absolute difference of two samples is twice the larger one minus both, so `Σ|c - r| = 2 Σ max(c, r) - Σc - Σr`,
/// which takes two instructions a sample. The sums of neighbouring candidates have most rows in common.
#[inline(always)]
pub fn sad_tile<E: Engine, const TERMS: usize>(
    engine: E,
    task: &TileTask<'_, u16>,
    costs: &mut TileCosts<u32>,
) {
    const { assert!(COLUMNS == SUMS) };
    // The sums of the width of the part, of all rows above each row.
    let mut rows = [[[0; SUMS]; 2]; PART + ROWS];
    // SAFETY: the engine proves that the CPU has the instructions.
    let mut sums = unsafe { SplitSums::<E::Deep>::zero() };
    for (k, above) in rows[1..task.height() + task.rows()].iter_mut().enumerate() {
        let row = row::<WIDE>(task.reference(), k * task.pitch());
        for x in 0..task.width() {
            let samples = row[x % PART..].first_chunk().expect("WIDE samples");
            // SAFETY: as above.
            unsafe {
                match TERMS {
                    1 => sums.add::<true>(E::Deep::load(samples)),
                    _ => sums.add::<false>(E::Deep::load(samples)),
                }
            }
        }
        // SAFETY: as above.
        *above = unsafe { sums.store() };
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
fn sads_of_band<E: Engine, const TERMS: usize, const V: usize>(
    _: E,
    task: &TileTask<'_, u16>,
    first: usize,
    rows: &[[[u16; SUMS]; 2]],
    costs: &mut [[u32; COLUMNS]],
) -> usize {
    let costs = &mut costs[first..first + V];
    costs.as_flattened_mut().fill(0);
    // So many rows that the sums do not overflow.
    let at_once = if TERMS == 1 { PART } else { TERMS / task.width() };
    for start in (0..task.height()).step_by(at_once) {
        let end = task.height().min(start + at_once);
        let mut current = 0_u32;
        // SAFETY: the engine proves that the CPU has the instructions, here and below.
        let mut sums = [unsafe { SplitSums::<E::Deep>::zero() }; V];
        for k in start..end {
            let mut of_candidates = [row::<WIDE>(task.reference(), 0); V];
            for (v, of_candidate) in of_candidates.iter_mut().enumerate() {
                *of_candidate = row(task.reference(), (first + v + k) * task.pitch());
            }
            let of_part = &task.current()[k * task.pitch()..][..task.width()];
            for (x, sample) in of_part.iter().enumerate() {
                current += u32::from(*sample);
                // SAFETY: as above.
                unsafe {
                    let sample = E::Deep::all(*sample);
                    for v in 0..V {
                        let samples = of_candidates[v][x % PART..].first_chunk().expect("WIDE samples");
                        let larger = E::Deep::load(samples).largest(sample);
                        match TERMS {
                            1 => sums[v].add::<true>(larger),
                            _ => sums[v].add::<false>(larger),
                        }
                    }
                }
            }
        }
        for v in 0..V {
            // SAFETY: as above.
            let [all, upper] = unsafe { sums[v].store() };
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
            let r = row::<WIDE>(task.reference(), (v + k) * task.pitch());
            let c = &task.current()[k * task.pitch()..][..task.width()];
            for (x, c) in c.iter().enumerate() {
                let r: &[u16; COLUMNS] = r[x % PART..].first_chunk().expect("WIDE samples");
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
