//! The costs of samples of more than eight bits, in loops that the compiler vectorizes. (Loops and no closures: only what
//! is written in a function, or inlined always, is compiled for its instruction set.)

use std::ops::Range;

use crate::native::arch::register::{SUMS, SumRegister};
use crate::native::candidates::Candidates;
use crate::native::cost::{Cost, DeepSad, DeepSsd};
use crate::native::engine::Engine;
use crate::native::exhaustive::tile::{COLUMNS, PART, TileCosts, TileTask};

/// Samples of a row of candidates that one row of a part is compared with.
const WIDE: usize = COLUMNS + PART;

/// A metric of deep samples.
pub trait DeepCost: Cost<Sample = u16, Value = u32> {
    /// The cost of `HEIGHT` rows of `WIDTH` samples, the rows of both sides `pitch` apart.
    fn of_rows<const WIDTH: usize, const HEIGHT: usize>(c: &[u16], r: &[u16], pitch: usize) -> u32;

    /// Adds the cost of part of `task`, `rows` of it, to those of the neighbouring candidates of its row `v`.
    fn add_rows<E: Engine>(
        engine: E,
        costs: &mut [u32; COLUMNS],
        task: &TileTask<'_, u16>,
        v: usize,
        rows: Range<usize>,
    );

    /// Rows of 16 samples that [`Self::add_rows`] takes at once.
    const ROWS_AT_ONCE: usize;
}

impl<const TERMS: usize> DeepCost for DeepSad<TERMS> {
    #[inline(always)]
    fn of_rows<const WIDTH: usize, const HEIGHT: usize>(c: &[u16], r: &[u16], pitch: usize) -> u32 {
        const { assert!(TERMS == 1 || HEIGHT <= TERMS && PART <= TERMS) };
        if TERMS == 1 {
            let mut sums = [0_u32; WIDTH];
            for y in 0..HEIGHT {
                let (c, r) = (row::<WIDTH>(c, y * pitch), row::<WIDTH>(r, y * pitch));
                for x in 0..WIDTH {
                    sums[x] += u32::from(c[x].abs_diff(r[x]));
                }
            }
            return sums.iter().sum();
        }
        let mut sums = [0_u16; WIDTH];
        for y in 0..HEIGHT {
            let (c, r) = (row::<WIDTH>(c, y * pitch), row::<WIDTH>(r, y * pitch));
            for x in 0..WIDTH {
                sums[x] = sums[x].wrapping_add(c[x].abs_diff(r[x]));
            }
        }
        let mut sum = 0;
        for lane in sums {
            sum += u32::from(lane);
        }
        sum
    }

    #[inline(always)]
    fn add_rows<E: Engine>(
        _: E,
        costs: &mut [u32; COLUMNS],
        task: &TileTask<'_, u16>,
        v: usize,
        rows: Range<usize>,
    ) {
        const { assert!(COLUMNS == SUMS) };
        let mut sums = [0; SUMS];
        // SAFETY: the engine proves that the CPU has the instructions.
        unsafe {
            let mut differences = E::Sums::zero();
            for k in rows {
                let (c, r) = rows_of(task, v, k);
                for (x, c) in c.iter().enumerate() {
                    let r = r[x..].first_chunk().expect("WIDE samples");
                    if TERMS == 1 {
                        E::Sums::zero().plus_differences::<false>(r, *c).store(&mut sums);
                        for u in 0..COLUMNS {
                            costs[u] += u32::from(sums[u]);
                        }
                    } else {
                        differences = differences.plus_differences::<true>(r, *c);
                    }
                }
            }
            differences.store(&mut sums);
        }
        if TERMS > 1 {
            for u in 0..COLUMNS {
                costs[u] += u32::from(sums[u]);
            }
        }
    }

    const ROWS_AT_ONCE: usize = if TERMS == 1 { PART } else { TERMS / PART };
}

impl DeepCost for DeepSsd {
    #[inline(always)]
    fn of_rows<const WIDTH: usize, const HEIGHT: usize>(c: &[u16], r: &[u16], pitch: usize) -> u32 {
        let mut sums = [0_u32; WIDTH];
        for y in 0..HEIGHT {
            let (c, r) = (row::<WIDTH>(c, y * pitch), row::<WIDTH>(r, y * pitch));
            for x in 0..WIDTH {
                sums[x] = sums[x].wrapping_add(square(c[x], r[x]));
            }
        }
        sums.iter().sum()
    }

    #[inline(always)]
    fn add_rows<E: Engine>(
        _: E,
        costs: &mut [u32; COLUMNS],
        task: &TileTask<'_, u16>,
        v: usize,
        rows: Range<usize>,
    ) {
        for k in rows {
            let (c, r) = rows_of(task, v, k);
            for (x, c) in c.iter().enumerate() {
                let r: &[u16; COLUMNS] = r[x..].first_chunk().expect("WIDE samples");
                for u in 0..COLUMNS {
                    costs[u] = costs[u].wrapping_add(square(*c, r[u]));
                }
            }
        }
    }

    const ROWS_AT_ONCE: usize = PART;
}

/// Row `k` of the part, and that of the candidates in row `v` of the tile.
#[inline(always)]
fn rows_of<'a>(task: &TileTask<'a, u16>, v: usize, k: usize) -> (&'a [u16], &'a [u16; WIDE]) {
    let c = &task.current()[k * task.pitch()..][..task.width()];
    (c, task.reference()[(v + k) * task.pitch()..].first_chunk().expect("READ samples a row"))
}

/// The squared difference. Samples have at most ten bits here.
#[inline(always)]
fn square(c: u16, r: u16) -> u32 {
    let difference = i32::from(c.wrapping_sub(r) as i16);
    difference.wrapping_mul(difference) as u32
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

/// Writes the cost of every candidate of `task` to its row and column.
#[inline(always)]
pub fn tile<E: Engine, C: DeepCost>(engine: E, task: &TileTask<'_, u16>, costs: &mut TileCosts<u32>) {
    for (v, costs) in costs[..task.rows()].iter_mut().enumerate() {
        let mut sums = [0; COLUMNS];
        for first in (0..task.height()).step_by(C::ROWS_AT_ONCE) {
            let rows = first..task.height().min(first + C::ROWS_AT_ONCE);
            C::add_rows(engine, &mut sums, task, v, rows);
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
