//! Lower bounds of costs, from the sums of a block's parts and those of a candidate's.

use crate::native::candidates::Listed;
use crate::native::cost::CostValue;
use crate::native::elimination::sums::{GROUP, PartSums, ReferenceSums};
use crate::native::sample::SearchSample;
use motion_base::simd::InstructionSet;
use motion_base::simd::proven::Wide;

/// The most parts that a block has: 4 × 4 samples of 60 × 60.
const MOST_PARTS: usize = 225;

/// The most parts of all the blocks that are searched together.
const MOST_SUMS: usize = 256;

/// Samples of a block's row that are summed at once.
const SUMMED: usize = 16;

/// The least sums of groups, and the largest.
pub type SumRange<'a> = (&'a [u16], &'a [u16]);

/// Raises the bounds of `N` groups by those of a part whose sum is `of_block`.
#[inline(always)]
pub fn raise_by_range<S: SearchSample, B: CostValue, const N: usize>(
    mut bounds: [B; N],
    of_block: u16,
    (least, most): SumRange<'_>,
    shift: u32,
) -> [B; N] {
    let least: &[u16; N] = least.first_chunk().expect("SPARE_GROUPS at the end");
    let most: &[u16; N] = most.first_chunk().expect("SPARE_GROUPS at the end");
    for i in 0..N {
        let difference = least[i].saturating_sub(of_block) | of_block.saturating_sub(most[i]);
        bounds[i] = bounds[i].raise::<S>(difference, shift);
    }
    bounds
}

/// An area of `rows × columns` groups, and what bounds the costs of their candidates: the sums of the quarters of a
/// block, and the ranges of those of the candidates.
pub struct Quarters<'a> {
    pub rows: usize,
    pub columns: usize,
    /// The sums of the block's quarters, row by row.
    pub of_block: [u16; 4],
    /// The ranges of the candidates' left quarters, and of the right ones, `pitch` from one row of groups to the next.
    pub ranges: [SumRange<'a>; 2],
    pub pitch: usize,
    /// Rows of groups from the upper quarters to the lower ones.
    pub down: usize,
}

/// Bounds the groups of an area, a row of them in `N` bounds, of which those past the last column are the largest
/// value. Returns the least. The last [`GROUP`] of `bounds` may be overwritten with anything.
#[inline(always)]
pub fn bound_area<S: SearchSample, B: CostValue, const N: usize>(
    quarters: &Quarters<'_>,
    shift: u32,
    bounds: &mut [B],
) -> B {
    let Quarters { rows, columns, of_block, ranges, pitch, down } = *quarters;
    let quarters = [(0, 0), (1, 0), (0, down), (1, down)];
    let mut least_of_all = [B::MAX; N];
    for (bounds, row) in bounds.chunks_exact_mut(N).zip(0..rows) {
        let mut sums = [B::default(); N];
        for (of_block, (right, down)) in of_block.into_iter().zip(quarters) {
            let ((least, most), at) = (ranges[right], (row + down) * pitch);
            sums = raise_by_range::<S, B, N>(sums, of_block, (&least[at..], &most[at..]), shift);
        }
        for i in 0..N {
            sums[i] = if i < columns { sums[i] } else { B::MAX };
            least_of_all[i] = least_of_all[i].min(sums[i]);
        }
        bounds.copy_from_slice(&sums);
    }
    least_of_all.into_iter().fold(B::MAX, Ord::min)
}

/// Writes the bounds of the SAD of the candidates of the groups listed, by where their sums are in `part_sums`.
#[inline(always)]
pub fn bounds_of_groups<E: InstructionSet>(
    engine: E,
    parts: &BlockParts,
    part_sums: &PartSums,
    listed: Listed<'_>,
    bounds: &mut [[u16; GROUP]],
) {
    match (parts.count, parts.are_small()) {
        (4, true) => bounds_by::<E, 4, true>(engine, parts, part_sums, listed, bounds),
        (4, false) => bounds_by::<E, 4, false>(engine, parts, part_sums, listed, bounds),
        (16, true) => bounds_by::<E, 16, true>(engine, parts, part_sums, listed, bounds),
        (16, false) => bounds_by::<E, 16, false>(engine, parts, part_sums, listed, bounds),
        _ => {
            for ((block, start), bounds) in listed.0.iter().zip(listed.1).zip(bounds) {
                let mut sums = Wide::all(engine, 0);
                for (of_block, step) in parts.of_block(usize::from(*block)).iter().zip(&parts.steps) {
                    let group = part_sums.group(*start as usize + step);
                    sums = sums.plus_differences::<false>(group, *of_block);
                }
                sums.store(bounds);
            }
        }
    }
}

/// The same by `N` parts, which are [`BlockParts::are_small`] where `SMALL`.
#[inline(always)]
fn bounds_by<E: InstructionSet, const N: usize, const SMALL: bool>(
    engine: E,
    parts: &BlockParts,
    part_sums: &PartSums,
    (blocks, starts): Listed<'_>,
    bounds: &mut [[u16; GROUP]],
) {
    let steps: &[usize; N] = parts.steps.first_chunk().expect("more than N");
    for ((block, start), bounds) in blocks.iter().zip(starts).zip(bounds) {
        let of_block: &[u16; N] = parts.of_block(usize::from(*block)).first_chunk().expect("N");
        // The last step is the largest.
        let groups = part_sums.groups(*start as usize, steps[N - 1]).as_ptr();
        let mut sums = Wide::all(engine, 0);
        for (of_block, step) in of_block.iter().zip(steps) {
            debug_assert!(*step <= steps[N - 1]);
            // SAFETY: a group's sums are there at each step up to the last.
            let group = unsafe { &*groups.add(*step).cast() };
            sums = sums.plus_differences::<SMALL>(group, *of_block);
        }
        sums.store(bounds);
    }
}

/// The parts of the blocks that are searched together: their sums, and where those of a candidate are.
pub struct BlockParts {
    /// Parts of a block.
    pub count: usize,
    /// Logarithm of the samples of a part.
    pub shift: u32,
    /// Block by block.
    sums: [u16; MOST_SUMS],
    /// From the sums of a candidate's group to those of the part, least first.
    pub steps: [usize; MOST_PARTS],
    /// Samples an axis of a part, and of the block.
    sides: (usize, usize),
    /// The bits that sums lose.
    lower: u32,
}

impl BlockParts {
    /// The parts of blocks of `side` samples an axis that `part_sums` has the sums of.
    pub fn new(sums: &ReferenceSums, part_sums: Option<&PartSums>, side: usize) -> Self {
        let mut parts = Self {
            count: 0,
            shift: 0,
            sums: [0; MOST_SUMS],
            steps: [0; MOST_PARTS],
            sides: (side, side),
            lower: sums.lower(),
        };
        let Some(part_sums) = part_sums else { return parts };
        parts.sides.0 = part_sums.side;
        parts.shift = 2 * part_sums.side.ilog2();
        for y in (0..side).step_by(part_sums.side) {
            for x in (0..side).step_by(part_sums.side) {
                parts.steps[parts.count] = sums.step((x, y));
                parts.count += 1;
            }
        }
        parts
    }

    /// Whether each sum fits signed 16 bits, and the added differences of all of them unsigned 16 bits.
    #[inline(always)]
    fn are_small(&self) -> bool {
        (255 << self.shift) <= i16::MAX as usize && (255 * self.count) << self.shift <= usize::from(u16::MAX)
    }

    /// The most blocks that may be searched together.
    pub fn most_blocks(&self) -> usize {
        MOST_SUMS / self.count.max(1)
    }

    /// The sums of block `block` of those that are searched together.
    #[inline(always)]
    pub fn of_block(&self, block: usize) -> &[u16] {
        &self.sums[block * self.count..][..self.count]
    }

    /// The bounds of all candidates of the group whose sums in `part_sums` are at `start`.
    #[inline(always)]
    pub fn bound<S: SearchSample, B: CostValue>(
        &self,
        part_sums: &PartSums,
        block: u16,
        start: usize,
    ) -> [B; GROUP] {
        let mut bounds = [B::default(); GROUP];
        for (sum, step) in self.of_block(usize::from(block)).iter().zip(&self.steps) {
            let sums = part_sums.group(start + step);
            for i in 0..GROUP {
                bounds[i] = bounds[i].raise::<S>(sums[i].abs_diff(*sum), self.shift);
            }
        }
        bounds
    }

    /// Sums the parts of block `block`, whose samples begin `samples`, its rows `pitch` apart.
    #[inline(always)]
    pub fn sum<E: InstructionSet, S: SearchSample>(
        &mut self,
        engine: E,
        block: usize,
        samples: &[S],
        pitch: usize,
    ) {
        match self.sides.0 {
            4 => self.sum_of_side::<E, S, 4>(engine, block, samples, pitch),
            8 => self.sum_of_side::<E, S, 8>(engine, block, samples, pitch),
            _ => self.sum_of_side::<E, S, 16>(engine, block, samples, pitch),
        }
    }

    #[inline(always)]
    fn sum_of_side<E: InstructionSet, S: SearchSample, const SIDE: usize>(
        &mut self,
        engine: E,
        block: usize,
        samples: &[S],
        pitch: usize,
    ) {
        const { assert!(SUMMED.is_multiple_of(SIDE)) };
        let (across, at_once) = (self.sides.1 / SIDE, SUMMED / SIDE);
        let sums = &mut self.sums[block * self.count..][..self.count];
        for y in 0..across {
            for x in (0..across).step_by(at_once) {
                // Samples to the right of the block may be read, but are not used.
                let part = &samples[y * SIDE * pitch + x * SIDE..][..(SIDE - 1) * pitch + SUMMED];
                let rows = std::array::from_fn(|y| {
                    debug_assert!(y < SIDE);
                    // SAFETY: `part` has SUMMED samples from the start of each of its SIDE rows on.
                    unsafe { &*part.as_ptr().add(y * pitch).cast() }
                });
                let of_rows = S::sum_parts::<E, SIDE>(engine, &rows, self.lower);
                let sums = &mut sums[y * across + x..][..at_once.min(across - x)];
                for (sum, of_rows) in sums.iter_mut().zip(of_rows) {
                    *sum = of_rows;
                }
            }
        }
    }
}
