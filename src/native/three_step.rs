//! Three-step search of one row of blocks: few candidates, one after the other.
//!
//! Neighbouring candidates share nothing here, so that each is compared by itself, sixteen samples
//! at a time: a row of sixteen, two of eight or four of four, as the block is wide. The block is
//! copied into that order once and serves all its candidates.

use super::plane::useful_window;
use super::search::Job;
use crate::estimator::{Metric, MotionVector, OrderKey, Parameters};

/// Sixteen samples: as many rows of a strip as they hold.
pub(super) type Group = [u8; 16];

/// Groups of the largest block.
const GROUPS: usize = 64 * 64 / size_of::<Group>();

/// An instruction set. A value of the type is the proof that this CPU has it.
pub(super) trait Compare: Copy {
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
pub(super) struct Portable;

impl Compare for Portable {
    #[inline(always)]
    fn sad<const W: usize>(self, strip: &[Group], reference: &[u8], pitch: usize) -> u32 {
        sum_of_groups::<W>(strip, reference, pitch, |c, r| u32::from(c.abs_diff(r)))
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
        let costs = group.iter().zip(&candidate).map(|(c, r)| cost(*c, *r));
        sum = sum.wrapping_add(costs.fold(0, u32::wrapping_add));
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
pub(super) fn search_row<C: Compare>(compare: C, job: &Job<'_>, row: usize, vectors: &mut [MotionVector]) {
    for (column, vector) in vectors.iter_mut().enumerate() {
        *vector = search_block(compare, job, column, row).vector();
    }
}

/// The last centre of the block at `column`, `row`.
#[inline(always)]
fn search_block<C: Compare>(compare: C, job: &Job<'_>, column: usize, row: usize) -> OrderKey {
    let Job { parameters, current, reference } = job;
    let layout = current.layout();
    let side = parameters.block_size;
    let origin = ((column * side) as i32, (row * side) as i32);
    let mut groups = [[0; 16]; GROUPS];
    let groups = &mut groups[..side * side / size_of::<Group>()];
    arrange(groups, &current.samples()[layout.offset(origin.0, origin.1)..], layout.pitch, side);

    let window = parameters.window_of_block(column, row);
    // Further out lie the same samples. What is compared there is a candidate all the same.
    let readable = useful_window(parameters, column, row);
    let key = |(x, y): (i32, i32)| {
        let near = (x.clamp(readable.x0(), readable.x1()), y.clamp(readable.y0(), readable.y1()));
        let candidate = &reference.samples()[layout.offset(origin.0 + near.0, origin.1 + near.1)..];
        OrderKey::new(cost(compare, parameters, groups, candidate, layout.pitch), x, y)
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

/// The cost of `groups`, a block as [`arrange`] lays it out, and the block at the start of
/// `candidate`.
#[inline(always)]
fn cost<C: Compare>(
    compare: C,
    parameters: &Parameters,
    groups: &[Group],
    candidate: &[u8],
    pitch: usize,
) -> u32 {
    match parameters.metric {
        Metric::Sad => sum_of_strips(groups, parameters.block_size, |width, strip, x| {
            let candidate = &candidate[x..];
            match width {
                16 => compare.sad::<16>(strip, candidate, pitch),
                8 => compare.sad::<8>(strip, candidate, pitch),
                _ => compare.sad::<4>(strip, candidate, pitch),
            }
        }),
        Metric::Ssd => sum_of_strips(groups, parameters.block_size, |width, strip, x| {
            let candidate = &candidate[x..];
            match width {
                16 => compare.ssd::<16>(strip, candidate, pitch),
                8 => compare.ssd::<8>(strip, candidate, pitch),
                _ => compare.ssd::<4>(strip, candidate, pitch),
            }
        }),
    }
}

/// The sum of `cost(width, strip, x)` over the strips of a block.
#[inline(always)]
fn sum_of_strips(groups: &[Group], side: usize, cost: impl Fn(usize, &[Group], usize) -> u32) -> u32 {
    let mut rest = groups;
    let mut sum = 0;
    for (width, x) in strips(side) {
        let (strip, others) = rest.split_at(width * side / size_of::<Group>());
        sum += cost(width, strip, x);
        rest = others;
    }
    sum
}

/// The strips that a block of `side` samples is cut into: as many of 16 samples as fit, then one of
/// 8 and one of 4 if there is a rest. Width and first column of each.
#[inline(always)]
fn strips(side: usize) -> impl Iterator<Item = (usize, usize)> {
    let whole = side / 16;
    let wide = (0..whole).map(|strip| (16, 16 * strip));
    let eight = (side & 8 != 0).then_some((8, 16 * whole));
    let four = (side & 4 != 0).then_some((4, side - 4));
    wide.chain(eight).chain(four)
}

/// Copies the block of `side` samples at the start of `samples` into `groups`, strip after strip.
#[inline(always)]
fn arrange(groups: &mut [Group], samples: &[u8], pitch: usize, side: usize) {
    let mut rest = groups;
    for (width, x) in strips(side) {
        let (strip, others) = rest.split_at_mut(width * side / size_of::<Group>());
        for (index, group) in strip.iter_mut().enumerate() {
            let samples = &samples[index * (16 / width) * pitch + x..];
            *group = match width {
                16 => gather::<16>(samples, pitch),
                8 => gather::<8>(samples, pitch),
                _ => gather::<4>(samples, pitch),
            };
        }
        rest = others;
    }
}
