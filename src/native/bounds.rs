//! Lower bounds of costs, from the sums of a block's parts and of a candidate's.

use super::sums::{GROUP, Level, Sums};
use super::tile::Engine;

/// Parts of a block at most: 4 × 4 samples of 60 × 60.
const MOST_PARTS: usize = 225;

/// Parts whose sums are kept as registers of them: as many as most blocks have.
const REPEATED: usize = 16;

/// A lower bound, and how a difference of sums adds to it.
pub(super) trait Bound: Copy + Ord + Default + Into<u32> {
    /// As bad as can be.
    const WORST: Self;

    /// What `cost` is compared as. A bound past the largest is the largest, and then so is the cost.
    fn from_cost(cost: u32) -> Self;

    /// The bound with the difference of the sums of one part more; `shift` is the logarithm of the
    /// part's samples.
    fn plus(self, difference: u16, shift: u32) -> Self;

    /// A bit for each of `bounds` that is at most `limit`.
    fn at_most<E: Engine>(engine: E, bounds: &[Self; GROUP], limit: Self) -> u32;
}

/// SAD. It may be larger, for blocks of more than 16 × 16 samples: then nothing is eliminated.
impl Bound for u16 {
    const WORST: Self = Self::MAX;

    #[inline(always)]
    fn from_cost(cost: u32) -> Self {
        cost.min(u32::from(u16::MAX)) as u16
    }

    #[inline(always)]
    fn plus(self, difference: u16, _: u32) -> Self {
        self.saturating_add(difference)
    }

    #[inline(always)]
    fn at_most<E: Engine>(engine: E, bounds: &[Self; GROUP], limit: Self) -> u32 {
        engine.at_most(bounds, limit)
    }
}

/// SSD, by the inequality of the quadratic mean.
impl Bound for u32 {
    const WORST: Self = Self::MAX;

    #[inline(always)]
    fn from_cost(cost: u32) -> Self {
        cost
    }

    #[inline(always)]
    fn plus(self, difference: u16, shift: u32) -> Self {
        let difference = u32::from(difference);
        self.wrapping_add(difference.wrapping_mul(difference) >> shift)
    }

    #[inline(always)]
    fn at_most<E: Engine>(engine: E, bounds: &[Self; GROUP], limit: Self) -> u32 {
        let mut is_more = [0; GROUP];
        for i in 0..GROUP {
            is_more[i] = u16::from(bounds[i] > limit);
        }
        engine.at_most(&is_more, 0)
    }
}

/// The parts of a block: their sums, and where those of a candidate are.
pub(super) struct Parts {
    pub(super) count: usize,
    /// Logarithm of the samples of a part.
    pub(super) shift: u32,
    pub(super) sums: [u16; MOST_PARTS],
    /// The first of them, each as often as a group has candidates.
    repeated: [[u16; GROUP]; REPEATED],
    /// From the sums of a candidate's group to those of the part.
    pub(super) steps: [usize; MOST_PARTS],
}

impl Parts {
    pub(super) fn new(sums: &Sums, level: Option<&Level>, side: usize) -> Self {
        let mut parts = Self {
            count: 0,
            shift: 0,
            sums: [0; MOST_PARTS],
            repeated: [[0; GROUP]; REPEATED],
            steps: [0; MOST_PARTS],
        };
        let Some(level) = level else { return parts };
        parts.shift = 2 * level.side.ilog2();
        for y in (0..side).step_by(level.side) {
            for x in (0..side).step_by(level.side) {
                parts.steps[parts.count] = sums.offset((0, 0), (x, y));
                parts.count += 1;
            }
        }
        parts
    }

    /// Bounds all candidates of the group whose sums in `level` are at `start`.
    #[inline(always)]
    pub(super) fn bound<B: Bound>(&self, level: &Level, start: usize) -> [B; GROUP] {
        match self.count {
            4 => self.bound_by::<B, 4>(level, start),
            16 => self.bound_by::<B, 16>(level, start),
            _ => {
                let mut bounds = [B::default(); GROUP];
                for part in 0..self.count {
                    bounds = self.add(part, bounds, level, start);
                }
                bounds
            }
        }
    }

    /// The same with a count that the compiler knows, so that the bounds stay in registers.
    #[inline(always)]
    pub(super) fn bound_by<B: Bound, const N: usize>(&self, level: &Level, start: usize) -> [B; GROUP] {
        const { assert!(N <= REPEATED) };
        let mut bounds = [B::default(); GROUP];
        for part in 0..N {
            let (sum, sums) = (&self.repeated[part], level.group(start + self.steps[part]));
            for i in 0..GROUP {
                bounds[i] = bounds[i].plus(sums[i].abs_diff(sum[i]), self.shift);
            }
        }
        bounds
    }

    #[inline(always)]
    pub(super) fn add<B: Bound>(
        &self,
        part: usize,
        mut bounds: [B; GROUP],
        level: &Level,
        start: usize,
    ) -> [B; GROUP] {
        let (sum, sums) = (self.sums[part], level.group(start + self.steps[part]));
        for i in 0..GROUP {
            bounds[i] = bounds[i].plus(sums[i].abs_diff(sum), self.shift);
        }
        bounds
    }

    /// Takes the sums of a block's parts.
    #[inline(always)]
    pub(super) fn set(&mut self, sums: &[u16]) {
        self.sums[..self.count].copy_from_slice(&sums[..self.count]);
        for (repeated, sum) in self.repeated.iter_mut().zip(&sums[..self.count]) {
            *repeated = [*sum; GROUP];
        }
    }
}
