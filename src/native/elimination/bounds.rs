//! Lower bounds of costs, from the sums of a block's parts and of a candidate's.

use crate::native::elimination::sums::{GROUP, Level, Sums, TILE};
use crate::native::exhaustive::tile::{Candidates, Engine, Listed};

/// Parts of a block at most: 4 × 4 samples of 60 × 60.
const MOST_PARTS: usize = 225;

/// Parts of all the blocks that are searched together.
const MOST_SUMS: usize = 256;

/// Samples of a block's row that are summed at once.
pub const SUMMED: usize = 16;

/// A lower bound, and how a difference of sums adds to it.
pub trait Bound: Copy + Ord + Default + Into<u32> {
    /// As bad as can be.
    const WORST: Self;

    /// What `cost` is compared as. A bound past the largest is the largest, and then so is the cost.
    fn from_cost(cost: u32) -> Self;

    /// The bound with the difference of the sums of one part more; `shift` is the logarithm of the
    /// part's samples.
    fn plus(self, difference: u16, shift: u32) -> Self;

    /// A bit for each of `bounds` that is at most `limit`.
    fn at_most<E: Engine>(engine: E, bounds: &[Self; GROUP], limit: Self) -> u32;

    /// The bounds, by `parts`, of the groups listed, by where their sums are in `level`.
    fn of_groups<E: Engine>(
        engine: E,
        parts: &Parts,
        level: &Level,
        listed: Listed<'_>,
        bounds: &mut [[Self; GROUP]],
    );

    /// [`bound_area`], in that metric.
    fn of_area<E: Engine, const N: usize>(
        engine: E,
        quarters: &Quarters<'_>,
        shift: u32,
        bounds: &mut [Self],
    ) -> Self;

    /// The costs of the candidates listed, in the metric that this bounds.
    fn costs<E: Engine>(engine: E, candidates: &Candidates<'_>, listed: Listed<'_>, costs: &mut [u32]);

    /// [`Engine::worth_a_group`], in that metric.
    fn worth_a_group<E: Engine>(side: usize) -> Option<u32>;

    /// The costs of the groups listed, where they are worth it.
    fn costs_of_groups<E: Engine>(
        engine: E,
        candidates: &Candidates<'_>,
        listed: Listed<'_>,
        costs: &mut [[Self; GROUP]],
    );
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

    #[inline(always)]
    fn of_groups<E: Engine>(
        engine: E,
        parts: &Parts,
        level: &Level,
        listed: Listed<'_>,
        bounds: &mut [[Self; GROUP]],
    ) {
        engine.bounds(parts, level, listed, bounds);
    }

    #[inline(always)]
    fn of_area<E: Engine, const N: usize>(
        engine: E,
        quarters: &Quarters<'_>,
        _: u32,
        bounds: &mut [Self],
    ) -> Self {
        engine.bound_area::<N>(quarters, bounds)
    }

    #[inline(always)]
    fn costs<E: Engine>(engine: E, candidates: &Candidates<'_>, listed: Listed<'_>, costs: &mut [u32]) {
        engine.sads(candidates, listed, costs);
    }

    #[inline(always)]
    fn worth_a_group<E: Engine>(side: usize) -> Option<u32> {
        E::worth_a_group(side)
    }

    #[inline(always)]
    fn costs_of_groups<E: Engine>(
        engine: E,
        candidates: &Candidates<'_>,
        listed: Listed<'_>,
        costs: &mut [[Self; GROUP]],
    ) {
        engine.sads_of_groups(candidates, listed, costs);
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

    #[inline(always)]
    fn of_groups<E: Engine>(
        _: E,
        parts: &Parts,
        level: &Level,
        listed: Listed<'_>,
        bounds: &mut [[Self; GROUP]],
    ) {
        for ((block, start), bounds) in listed.0.iter().zip(listed.1).zip(bounds) {
            *bounds = parts.bound(level, *block, *start as usize);
        }
    }

    #[inline(always)]
    fn of_area<E: Engine, const N: usize>(
        _: E,
        quarters: &Quarters<'_>,
        shift: u32,
        bounds: &mut [Self],
    ) -> Self {
        bound_area::<Self, N>(quarters, shift, bounds)
    }

    #[inline(always)]
    fn costs<E: Engine>(engine: E, candidates: &Candidates<'_>, listed: Listed<'_>, costs: &mut [u32]) {
        for ((block, offset), cost) in listed.0.iter().zip(listed.1).zip(costs) {
            *cost = engine.ssd_of_one(&candidates.pair(*block, *offset));
        }
    }

    #[inline(always)]
    fn worth_a_group<E: Engine>(_: usize) -> Option<u32> {
        None
    }

    #[inline(always)]
    fn costs_of_groups<E: Engine>(_: E, _: &Candidates<'_>, _: Listed<'_>, _: &mut [[Self; GROUP]]) {
        unreachable!("no group is worth it")
    }
}

/// The least and the largest sums of groups.
pub type Extremes<'a> = (&'a [u16], &'a [u16]);

/// Adds to the bounds of `N` groups what a part does whose sum is `of_block`.
#[inline(always)]
pub fn add_extremes<B: Bound, const N: usize>(
    mut bounds: [B; N],
    of_block: u16,
    (least, most): Extremes<'_>,
    shift: u32,
) -> [B; N] {
    let least: &[u16; N] = least.first_chunk().expect("SPARE_GROUPS at the end");
    let most: &[u16; N] = most.first_chunk().expect("SPARE_GROUPS at the end");
    for i in 0..N {
        let difference = least[i].saturating_sub(of_block) | of_block.saturating_sub(most[i]);
        bounds[i] = bounds[i].plus(difference, shift);
    }
    bounds
}

/// An area of groups, `rows` rows of `columns`, and what bounds the cost of their candidates: the sums of a block's
/// quarters and theirs.
pub struct Quarters<'a> {
    pub rows: usize,
    pub columns: usize,
    /// The sums of the block's, row by row.
    pub of_block: [u16; 4],
    /// Those of the candidates' left quarters, and of the right ones, `pitch` from one row of groups to the next.
    pub extremes: [Extremes<'a>; 2],
    pub pitch: usize,
    /// Rows of groups from the upper quarters to the lower ones.
    pub down: usize,
}

/// Bounds the groups of an area, a row of them in `N` bounds, those past the last as bad as can be; the least.
/// What follows in the last [`GROUP`] of the bounds is anything.
#[inline(always)]
pub fn bound_area<B: Bound, const N: usize>(quarters: &Quarters<'_>, shift: u32, bounds: &mut [B]) -> B {
    let Quarters { rows, columns, of_block, extremes, pitch, down } = *quarters;
    let quarters = [(0, 0), (1, 0), (0, down), (1, down)];
    let mut least_of_all = [B::WORST; N];
    for (bounds, row) in bounds.chunks_exact_mut(N).zip(0..rows) {
        let mut sums = [B::default(); N];
        for (of_block, (right, down)) in of_block.into_iter().zip(quarters) {
            let ((least, most), at) = (extremes[right], (row + down) * pitch);
            sums = add_extremes(sums, of_block, (&least[at..], &most[at..]), shift);
        }
        for i in 0..N {
            sums[i] = if i < columns { sums[i] } else { B::WORST };
            least_of_all[i] = least_of_all[i].min(sums[i]);
        }
        bounds.copy_from_slice(&sums);
    }
    least_of_all.into_iter().fold(B::WORST, B::min)
}

/// Makes `bounds`, which bounds the groups listed by where their sums are in `level`, of what is beside it: `zero`,
/// `add` and `add_small` of a register, or a few of them, and `store`. (A macro, as only what is written in a function
/// is compiled for its instruction set.)
#[cfg(target_arch = "x86_64")]
macro_rules! bounds_of_groups {
    ($features:literal) => {
        /// The bounds of the groups listed, by where their sums are in `level`.
        #[target_feature(enable = $features)]
        #[inline]
        pub fn bounds(parts: &Parts, level: &Level, listed: Listed<'_>, bounds: &mut [[u16; GROUP]]) {
            match (parts.count, parts.are_small()) {
                (4, true) => bounds_by::<4, true>(parts, level, listed, bounds),
                (4, false) => bounds_by::<4, false>(parts, level, listed, bounds),
                (16, true) => bounds_by::<16, true>(parts, level, listed, bounds),
                (16, false) => bounds_by::<16, false>(parts, level, listed, bounds),
                _ => {
                    for ((block, start), bounds) in listed.0.iter().zip(listed.1).zip(bounds) {
                        let mut sums = zero();
                        for (sum, step) in parts.of_block(usize::from(*block)).iter().zip(&parts.steps) {
                            sums = add(sums, level.group(*start as usize + step), *sum);
                        }
                        store(bounds, sums);
                    }
                }
            }
        }

        /// The same by `N` parts, which may be [`Parts::are_small`].
        #[target_feature(enable = $features)]
        #[inline]
        fn bounds_by<const N: usize, const SMALL: bool>(
            parts: &Parts,
            level: &Level,
            (blocks, starts): Listed<'_>,
            bounds: &mut [[u16; GROUP]],
        ) {
            let steps: &[usize; N] = parts.steps.first_chunk().expect("more than N");
            for ((block, start), bounds) in blocks.iter().zip(starts).zip(bounds) {
                let of_block: &[u16; N] = parts.of_block(usize::from(*block)).first_chunk().expect("N");
                // All steps are at most the last one.
                let groups = level.groups(*start as usize, steps[N - 1]).as_ptr();
                let mut sums = zero();
                for (sum, step) in of_block.iter().zip(steps) {
                    debug_assert!(*step <= steps[N - 1]);
                    // SAFETY: the sums of a group are there at each step up to the last.
                    let group: &[u16; GROUP] = unsafe { &*groups.add(*step).cast() };
                    sums = if SMALL { add_small(sums, group, *sum) } else { add(sums, group, *sum) };
                }
                store(bounds, sums);
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use bounds_of_groups;

/// The sums of the parts of `SIDE` samples a side that lie in as many rows, left to right; what is
/// past the last is anything.
#[inline(always)]
pub fn sum_parts<const SIDE: usize>(rows: &[&[u8; SUMMED]; SIDE]) -> [u16; SUMMED / TILE] {
    let mut down = [0_u16; SUMMED];
    for row in rows {
        for x in 0..SUMMED {
            down[x] += u16::from(row[x]);
        }
    }
    let mut sums = [0; SUMMED / TILE];
    for (sum, columns) in sums.iter_mut().zip(down.chunks_exact(SIDE)) {
        *sum = columns.iter().sum();
    }
    sums
}

/// The parts of blocks: their sums, and where those of a candidate are.
pub struct Parts {
    pub count: usize,
    /// Logarithm of the samples of a part.
    pub shift: u32,
    /// Block by block.
    sums: [u16; MOST_SUMS],
    /// From the sums of a candidate's group to those of the part, least first.
    pub steps: [usize; MOST_PARTS],
    /// Samples a side of a part, and of the block.
    sides: (usize, usize),
}

impl Parts {
    pub fn new(sums: &Sums, level: Option<&Level>, side: usize) -> Self {
        let mut parts =
            Self { count: 0, shift: 0, sums: [0; MOST_SUMS], steps: [0; MOST_PARTS], sides: (side, side) };
        let Some(level) = level else { return parts };
        parts.sides.0 = level.side;
        parts.shift = 2 * level.side.ilog2();
        for y in (0..side).step_by(level.side) {
            for x in (0..side).step_by(level.side) {
                parts.steps[parts.count] = sums.step((x, y));
                parts.count += 1;
            }
        }
        parts
    }

    /// Whether each sum fits signed 16 bits, and the differences of all of them, added, unsigned ones.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn are_small(&self) -> bool {
        (255 << self.shift) <= i16::MAX as usize && (255 * self.count) << self.shift <= usize::from(u16::MAX)
    }

    /// So many blocks at most may be searched together.
    pub fn most_blocks(&self) -> usize {
        MOST_SUMS / self.count.max(1)
    }

    /// The sums of block `block` of those that are searched together.
    #[inline(always)]
    pub fn of_block(&self, block: usize) -> &[u16] {
        &self.sums[block * self.count..][..self.count]
    }

    /// The bounds of all candidates of the group whose sums in `level` are at `start`.
    #[inline(always)]
    pub fn bound<B: Bound>(&self, level: &Level, block: u16, start: usize) -> [B; GROUP] {
        let mut bounds = [B::default(); GROUP];
        for (sum, step) in self.of_block(usize::from(block)).iter().zip(&self.steps) {
            let sums = level.group(start + step);
            for i in 0..GROUP {
                bounds[i] = bounds[i].plus(sums[i].abs_diff(*sum), self.shift);
            }
        }
        bounds
    }

    /// Sums the parts of block `block`, whose samples begin `samples`, its rows `pitch` apart.
    #[inline(always)]
    pub fn sum<E: Engine>(&mut self, engine: E, block: usize, samples: &[u8], pitch: usize) {
        match self.sides.0 {
            4 => self.sum_of_side::<E, 4>(engine, block, samples, pitch),
            8 => self.sum_of_side::<E, 8>(engine, block, samples, pitch),
            _ => self.sum_of_side::<E, 16>(engine, block, samples, pitch),
        }
    }

    #[inline(always)]
    fn sum_of_side<E: Engine, const SIDE: usize>(
        &mut self,
        engine: E,
        block: usize,
        samples: &[u8],
        pitch: usize,
    ) {
        const { assert!(SUMMED.is_multiple_of(SIDE)) };
        let (across, at_once) = (self.sides.1 / SIDE, SUMMED / SIDE);
        let sums = &mut self.sums[block * self.count..][..self.count];
        for y in 0..across {
            for x in (0..across).step_by(at_once) {
                // More samples than the block has across may be read, but not used.
                let part = &samples[y * SIDE * pitch + x * SIDE..][..(SIDE - 1) * pitch + SUMMED];
                let rows = std::array::from_fn(|y| {
                    debug_assert!(y < SIDE);
                    // SAFETY: `part` has as many samples from the start of each of its SIDE rows on.
                    unsafe { &*part.as_ptr().add(y * pitch).cast() }
                });
                let of_rows = engine.sum_parts::<SIDE>(&rows);
                let sums = &mut sums[y * across + x..][..at_once.min(across - x)];
                for (sum, of_rows) in sums.iter_mut().zip(of_rows) {
                    *sum = of_rows;
                }
            }
        }
    }
}
