//! The metrics of samples of more than eight bits, in loops that the compiler vectorizes. (Loops and no closures: only
//! what is written in a function, or inlined always, is compiled for its instruction set.)

use crate::native::candidates::{Candidates, Listed};
use crate::native::cost::metric::{CandidateEngine, ComputeCosts, Cost, ListedCosts, compute_costs};
use motion_base::simd::Work;

/// Side of the largest part of a block whose cost is computed at once.
const PART: usize = 16;

/// The sum of absolute differences of deep samples.
#[derive(Clone, Copy)]
pub struct DeepSad;

impl Cost for DeepSad {
    type Sample = u16;
    type Value = u32;
    type Bound = u16;

    #[inline]
    fn compute_costs(depth: u32) -> ComputeCosts<u16> {
        match depth {
            ..=10 => compute_costs::<Differences<64>, u16>,
            _ => compute_costs::<Differences<1>, u16>,
        }
    }
}

/// The sum of squared differences of deep samples.
#[derive(Clone, Copy)]
pub struct DeepSsd;

impl Cost for DeepSsd {
    type Sample = u16;
    type Value = u32;
    type Bound = u32;

    #[inline]
    fn compute_costs(_: u32) -> ComputeCosts<u16> {
        compute_costs::<Squares, u16>
    }
}

/// How deep samples are compared.
pub trait DeepCost {
    /// The cost of `HEIGHT` rows of `WIDTH` samples, the rows of both sides `pitch` apart.
    fn of_rows<const WIDTH: usize, const HEIGHT: usize>(c: &[u16], r: &[u16], pitch: usize) -> u32;
}

/// By absolute differences, of which `TERMS` fit 16 bits: 64 of ten bits, one of sixteen.
pub struct Differences<const TERMS: usize>;

/// By squared differences.
pub struct Squares;

impl<const TERMS: usize> DeepCost for Differences<TERMS> {
    #[inline(always)]
    fn of_rows<const WIDTH: usize, const HEIGHT: usize>(c: &[u16], r: &[u16], pitch: usize) -> u32 {
        const { assert!(TERMS == 1 || WIDTH * HEIGHT <= 4 * TERMS) };
        // The differences, wrapping, and their upper eight bits. Sums of so few of ten bits do not wrap: their own upper
        // bits are taken in the end.
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
        const { assert!(WIDTH * HEIGHT <= 256) };
        let (mut sum, mut of_upper) = (0_u16, 0_u16);
        for x in 0..WIDTH {
            sum = sum.wrapping_add(all[x]);
            of_upper = of_upper.wrapping_add(if TERMS == 1 { upper[x] } else { all[x] >> 8 });
        }
        joined(sum, of_upper)
    }
}

/// A sum of up to 256 numbers of 16 bits, from its lower 16 bits and the sum of their upper eight bits: what the lower
/// eight bits add up to fits 16 bits.
#[inline(always)]
pub fn joined(all: u16, upper: u16) -> u32 {
    (u32::from(upper) << 8) + u32::from(all.wrapping_sub(upper << 8))
}

impl DeepCost for Squares {
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
pub fn square(c: u16, r: u16) -> u32 {
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

/// The cost of `width × height` samples: multiples of four, 16 at most.
#[inline(always)]
pub fn of_part<C: DeepCost>((c, r): (&[u16], &[u16]), (width, height): (usize, usize), pitch: usize) -> u32 {
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

impl<C: DeepCost, E: CandidateEngine> Work<E> for ListedCosts<'_, C, u16> {
    #[inline(always)]
    fn run(self, _: E) {
        let Self { candidates, listed, costs, .. } = self;
        // Constants for the most frequent sides.
        match candidates.side() {
            8 => costs_of_side::<C>(candidates, 8, listed, costs),
            16 => costs_of_side::<C>(candidates, 16, listed, costs),
            side => costs_of_side::<C>(candidates, side, listed, costs),
        }
    }
}

/// Writes the cost of each of the candidates listed, of `side` samples an axis.
#[inline(always)]
fn costs_of_side<C: DeepCost>(
    candidates: &Candidates<'_, u16>,
    side: usize,
    (blocks, offsets): Listed<'_>,
    costs: &mut [u32],
) {
    // A copy: costs that are written might alias what is behind the reference.
    let candidates = *candidates;
    // Without this the compiler prepares for rows that are one sample apart, and does worse with others.
    assert!(candidates.pitch() >= side);
    for ((block, offset), to) in blocks.iter().zip(offsets).zip(costs) {
        *to = cost::<C>((candidates.block(*block), candidates.at(*offset)), side, candidates.pitch());
    }
}

/// The cost of a candidate, given its block's samples and its own.
#[inline(always)]
fn cost<C: DeepCost>((c, r): (&[u16], &[u16]), side: usize, pitch: usize) -> u32 {
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
