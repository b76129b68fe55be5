//! The costs of samples of more than eight bits, in loops that the compiler vectorizes.

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

    /// Adds the cost of a row of a part to those of neighbouring candidates.
    fn add_row<E: Engine>(engine: E, costs: &mut [u32; COLUMNS], c: &[u16], r: &[u16; WIDE]);
}

impl<const TERMS: usize> DeepCost for DeepSad<TERMS> {
    #[inline(always)]
    fn of_rows<const WIDTH: usize, const HEIGHT: usize>(c: &[u16], r: &[u16], pitch: usize) -> u32 {
        const { assert!(TERMS == 1 || HEIGHT <= TERMS) };
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
        sums.iter().map(|sum| u32::from(*sum)).sum()
    }

    #[inline(always)]
    fn add_row<E: Engine>(_: E, costs: &mut [u32; COLUMNS], c: &[u16], r: &[u16; WIDE]) {
        const { assert!(COLUMNS == SUMS) };
        for (group, c) in c.chunks(TERMS).enumerate() {
            let r = &r[group * TERMS..];
            let mut sums = [0; SUMS];
            // SAFETY: the engine proves that the CPU has the instructions.
            unsafe {
                let mut differences = E::Sums::zero();
                for (x, c) in c.iter().enumerate() {
                    let r = r[x..].first_chunk().expect("WIDE samples");
                    differences = if TERMS == 1 {
                        differences.plus_differences::<false>(r, *c)
                    } else {
                        differences.plus_differences::<true>(r, *c)
                    };
                }
                differences.store(&mut sums);
            }
            for u in 0..COLUMNS {
                costs[u] += u32::from(sums[u]);
            }
        }
    }
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
    fn add_row<E: Engine>(_: E, costs: &mut [u32; COLUMNS], c: &[u16], r: &[u16; WIDE]) {
        for (x, c) in c.iter().enumerate() {
            let r: &[u16; COLUMNS] = r[x..].first_chunk().expect("WIDE samples");
            for u in 0..COLUMNS {
                costs[u] = costs[u].wrapping_add(square(*c, r[u]));
            }
        }
    }
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
            let fours =
                (0..height).step_by(4).flat_map(|y| (0..width).step_by(4).map(move |x| y * pitch + x));
            fours.map(|start| C::of_rows::<4, 4>(&c[start..], &r[start..], pitch)).sum()
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
    for (x, y) in (0..side).step_by(PART).flat_map(|y| (0..side).step_by(PART).map(move |x| (x, y))) {
        let (start, size) = (y * pitch + x, (PART.min(side - x), PART.min(side - y)));
        sum += of_part::<C>((&c[start..], &r[start..]), size, pitch);
    }
    sum
}

/// Writes the cost of every candidate of `task` to its row and column.
#[inline(always)]
pub fn tile<E: Engine, C: DeepCost>(engine: E, task: &TileTask<'_, u16>, costs: &mut TileCosts<u32>) {
    for (v, costs) in costs[..task.rows()].iter_mut().enumerate() {
        let mut sums = [0; COLUMNS];
        for k in 0..task.height() {
            let c = &task.current()[k * task.pitch()..][..task.width()];
            let r = task.reference()[(v + k) * task.pitch()..].first_chunk().expect("READ samples a row");
            C::add_row(engine, &mut sums, c, r);
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
