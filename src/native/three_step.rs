//! Three-step search of one row of blocks: few candidates, one after the other.
//!
//! Neighbouring candidates share nothing here, so that each is compared by itself, sixteen samples
//! at a time: a row of sixteen, two of eight or four of four, as the block is wide. The block is
//! copied into that order once and serves all its candidates.

use crate::estimator::{Metric, MotionVector, OrderKey};
use crate::native::exhaustive::Job;

/// Sixteen samples: as many rows of a strip as they hold.
pub type Group = [u8; 16];

/// Groups of the largest block.
const GROUPS: usize = 64 * 64 / size_of::<Group>();

/// An instruction set. A value of the type is the proof that this CPU has it.
pub trait Compare: Copy {
    /// The SAD of `strip` and the rows of `W` samples that are `pitch` apart in `reference`.
    ///
    /// # Panics
    /// Where `reference` ends before the last row does.
    fn sad<const W: usize>(self, strip: &[Group], reference: &[u8], pitch: usize) -> u32;

    /// The SSD of the same.
    ///
    /// # Panics
    /// As [`Self::sad`].
    fn ssd<const W: usize>(self, strip: &[Group], reference: &[u8], pitch: usize) -> u32;
}

/// Plain Rust, for every CPU.
#[derive(Clone, Copy)]
pub struct Portable;

impl Compare for Portable {
    #[inline(always)]
    fn sad<const W: usize>(self, strip: &[Group], reference: &[u8], pitch: usize) -> u32 {
        sum_of_groups::<W>(strip, reference, pitch, |c, r| {
            i32::from(c).wrapping_sub(i32::from(r)).unsigned_abs()
        })
    }

    #[inline(always)]
    fn ssd<const W: usize>(self, strip: &[Group], reference: &[u8], pitch: usize) -> u32 {
        sum_of_groups::<W>(strip, reference, pitch, |c, r| {
            let difference = i32::from(i16::from(c).wrapping_sub(i16::from(r)));
            difference.wrapping_mul(difference) as u32
        })
    }
}

/// The sums wrap, so that no addition is checked; none is that large.
#[inline(always)]
fn sum_of_groups<const W: usize>(
    strip: &[Group],
    reference: &[u8],
    pitch: usize,
    cost: impl Fn(u8, u8) -> u32,
) -> u32 {
    let mut sum = 0_u32;
    for (index, group) in strip.iter().enumerate() {
        let candidate = gather::<W>(&reference[index * (16 / W) * pitch..], pitch);
        let costs: [u32; 16] = std::array::from_fn(|i| cost(group[i], candidate[i]));
        sum = sum.wrapping_add(costs.into_iter().fold(0, u32::wrapping_add));
    }
    sum
}

/// The group whose first sample is the first of `samples`, of rows `pitch` apart.
#[inline(always)]
fn gather<const W: usize>(samples: &[u8], pitch: usize) -> Group {
    let mut group = [0; 16];
    for (row, part) in group.chunks_exact_mut(W).enumerate() {
        part.copy_from_slice(&samples[row * pitch..][..W]);
    }
    group
}

/// Writes the vectors of the blocks in row `row` of the grid.
#[inline(always)]
pub fn search_row<C: Compare>(compare: C, job: &Job<'_>, row: usize, vectors: &mut [MotionVector]) {
    let side = job.parameters.block_size;
    let mut groups = [[0; 16]; GROUPS];
    let groups = &mut groups[..side * side / size_of::<Group>()];
    let sad = |strips: Strips<'_>, candidate: &[u8], pitch| {
        strips.sum(
            |x, strip| compare.sad::<16>(strip, &candidate[x..], pitch),
            |x, strip| compare.sad::<8>(strip, &candidate[x..], pitch),
            |x, strip| compare.sad::<4>(strip, &candidate[x..], pitch),
        )
    };
    let ssd = |strips: Strips<'_>, candidate: &[u8], pitch| {
        strips.sum(
            |x, strip| compare.ssd::<16>(strip, &candidate[x..], pitch),
            |x, strip| compare.ssd::<8>(strip, &candidate[x..], pitch),
            |x, strip| compare.ssd::<4>(strip, &candidate[x..], pitch),
        )
    };
    for (column, vector) in vectors.iter_mut().enumerate() {
        let best = match job.parameters.metric {
            Metric::Sad => search_block(sad, groups, job, column, row),
            Metric::Ssd => search_block(ssd, groups, job, column, row),
        };
        *vector = best.vector();
    }
}

/// The last centre of the block at `column`, `row`, with `cost` to compare the block's strips with
/// the candidate at the start of the samples given; `groups` has room for the block.
#[inline(always)]
fn search_block(
    cost: impl Fn(Strips<'_>, &[u8], usize) -> u32,
    groups: &mut [Group],
    job: &Job<'_>,
    column: usize,
    row: usize,
) -> OrderKey {
    let Job { parameters, current, reference, .. } = job;
    let layout = current.layout();
    let side = parameters.block_size;
    let origin = ((column * side) as i32, (row * side) as i32);
    arrange(groups, &current.samples()[layout.offset(origin.0, origin.1)..], layout.pitch, side);
    let strips = Strips { groups, side };

    let window = parameters.window_of_block(column, row);
    // Further out lie the same samples. What is compared there is a candidate all the same.
    let readable = parameters.winning_window(column, row);
    let key = |(x, y): (i32, i32)| {
        let near = (x.clamp(readable.x0(), readable.x1()), y.clamp(readable.y0(), readable.y1()));
        let candidate = &reference.samples()[layout.offset(origin.0 + near.0, origin.1 + near.1)..];
        OrderKey::new(cost(strips, candidate, layout.pitch), x, y)
    };
    let mut best = key((0, 0));
    for step in parameters.window.steps() {
        let centre = best.displacement();
        for (right, down) in AROUND {
            let displacement = (centre.0 + right * step, centre.1 + down * step);
            if window.contains(displacement) {
                best = best.min(key(displacement));
            }
        }
    }
    best
}

/// The eight candidates around the centre, whose own cost is known.
const AROUND: [(i32, i32); 8] = [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)];

/// A block of `side` samples cut into strips: as many of 16 samples as fit, then one of 8 and one of
/// 4 if there is a rest. One strip's groups lie after the other's.
#[derive(Clone, Copy)]
struct Strips<'a> {
    groups: &'a [Group],
    side: usize,
}

impl Strips<'_> {
    /// The sum of the costs of the strips, each with its first column; a function for each width.
    #[inline(always)]
    fn sum(
        self,
        sixteen: impl Fn(usize, &[Group]) -> u32,
        eight: impl Fn(usize, &[Group]) -> u32,
        four: impl Fn(usize, &[Group]) -> u32,
    ) -> u32 {
        let Self { groups, side } = self;
        let (wide, narrow) = groups.split_at(side / 16 * side);
        let mut sum = 0;
        for (index, strip) in wide.chunks_exact(side).enumerate() {
            sum += sixteen(16 * index, strip);
        }
        let (wide, narrow) = narrow.split_at(if side & 8 == 0 { 0 } else { side / 2 });
        if !wide.is_empty() {
            sum += eight(side & !15, wide);
        }
        if !narrow.is_empty() {
            sum += four(side - 4, narrow);
        }
        sum
    }
}

/// Copies the block of `side` samples at the start of `samples` into `groups`, as [`Strips`] has them.
#[inline(always)]
fn arrange(groups: &mut [Group], samples: &[u8], pitch: usize, side: usize) {
    let (wide, narrow) = groups.split_at_mut(side / 16 * side);
    for (index, strip) in wide.chunks_exact_mut(side).enumerate() {
        gather_strip::<16>(strip, &samples[16 * index..], pitch);
    }
    let (wide, narrow) = narrow.split_at_mut(if side & 8 == 0 { 0 } else { side / 2 });
    gather_strip::<8>(wide, &samples[side & !15..], pitch);
    gather_strip::<4>(narrow, &samples[side - 4..], pitch);
}

/// Copies the rows of `W` samples at the start of `samples`, `pitch` apart, into `strip`.
#[inline(always)]
fn gather_strip<const W: usize>(strip: &mut [Group], samples: &[u8], pitch: usize) {
    for (index, group) in strip.iter_mut().enumerate() {
        *group = gather::<W>(&samples[index * (16 / W) * pitch..], pitch);
    }
}
