//! Tile costs in plain Rust, written so that the compiler finds the wide instructions itself.

use super::tile::{Costs, Engine, PART, ROWS, Task};

/// Any CPU.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Engine for Portable {
    #[inline(always)]
    fn sad(self, task: &Task<'_>, costs: &mut Costs<u16>) {
        compare(task, costs, |current, reference| sad(current, reference) as u16);
    }

    #[inline(always)]
    fn ssd(self, task: &Task<'_>, costs: &mut Costs<u32>) {
        compare(task, costs, ssd);
    }
}

/// Rows of samples laid end to end, sixteen an array.
type Rows<const N: usize> = [[u8; 16]; N];

/// The SAD of 16 × 16 samples where both slices hold as many.
#[inline(always)]
fn sad(current: &[u8], reference: &[u8]) -> u32 {
    let (current, reference) = (current.as_chunks::<16>().0, reference.as_chunks::<16>().0);
    match (current.try_into(), reference.try_into()) {
        (Ok(current), Ok(reference)) => sad_16x16(current, reference),
        _ => current.iter().zip(reference).map(|(c, r)| sad_16x1(c, r)).fold(0, u32::wrapping_add),
    }
}

/// The shape in which the compiler finds the instruction that sums absolute differences, sixteen
/// a time: sixteen sums, added up at the end, in a function of its own. Inlined, the loops around
/// it draw the vectorizer elsewhere, and it is three times slower. (The sums wrap, as a check of
/// each addition would spoil it too; none is that large.)
#[inline(never)]
fn sad_16x16(current: &Rows<16>, reference: &Rows<16>) -> u32 {
    let mut sums = [0_u32; 16];
    for quarter in 0..4 {
        for row in 4 * quarter..4 * quarter + 4 {
            for i in 0..16 {
                sums[i] = sums[i].wrapping_add(difference(current[row][i], reference[row][i]));
            }
        }
    }
    sums.into_iter().fold(0, u32::wrapping_add)
}

#[inline(never)]
fn sad_16x1(current: &[u8; 16], reference: &[u8; 16]) -> u32 {
    let mut sum = 0_u32;
    for i in 0..16 {
        sum = sum.wrapping_add(difference(current[i], reference[i]));
    }
    sum
}

#[inline(always)]
fn difference(c: u8, r: u8) -> u32 {
    i32::from(c).wrapping_sub(i32::from(r)).unsigned_abs()
}

/// The same with squares.
#[inline(always)]
fn ssd(current: &[u8], reference: &[u8]) -> u32 {
    sum(current, reference, |c, r| {
        let difference = i32::from(i16::from(c).wrapping_sub(i16::from(r)));
        difference.wrapping_mul(difference) as u32
    })
}

#[inline(always)]
fn sum(current: &[u8], reference: &[u8], term: impl Fn(u8, u8) -> u32) -> u32 {
    let mut sums = [0_u32; 16];
    for (c, r) in current.as_chunks::<16>().0.iter().zip(reference.as_chunks::<16>().0) {
        for i in 0..16 {
            sums[i] = sums[i].wrapping_add(term(c[i], r[i]));
        }
    }
    sums.into_iter().fold(0, u32::wrapping_add)
}

/// Gives the usual parts loops of constant length.
#[inline(always)]
fn compare<C: Copy>(task: &Task<'_>, costs: &mut Costs<C>, cost: impl Fn(&[u8], &[u8]) -> C) {
    match (task.width(), task.height()) {
        (16, 16) => compare_columns::<16, C>(task, 16, costs, cost),
        (16, height) => compare_columns::<16, C>(task, height, costs, cost),
        (12, height) => compare_columns::<12, C>(task, height, costs, cost),
        (8, 8) => compare_columns::<8, C>(task, 8, costs, cost),
        (8, height) => compare_columns::<8, C>(task, height, costs, cost),
        (_, 4) => compare_columns::<4, C>(task, 4, costs, cost),
        (_, height) => compare_columns::<4, C>(task, height, costs, cost),
    }
}

/// Compares one column of candidates after the other.
///
/// The `W` samples of each of its rows are laid end to end: the samples of any candidate in the
/// column are then one slice, compared with the part's in one plain loop, and one copy of a row
/// serves every candidate it belongs to.
#[inline(always)]
fn compare_columns<const W: usize, C: Copy>(
    task: &Task<'_>,
    height: usize,
    costs: &mut Costs<C>,
    cost: impl Fn(&[u8], &[u8]) -> C,
) {
    let mut part = [0; PART * PART];
    gather::<W>(&mut part, height, task.current(), task.pitch());
    let mut column = [0; PART * (PART + ROWS - 1)];
    for u in 0..task.columns() {
        gather::<W>(&mut column, height + task.rows() - 1, &task.reference()[u..], task.pitch());
        for (v, costs) in costs[..task.rows()].iter_mut().enumerate() {
            costs[u] = cost(&part[..W * height], &column[v * W..][..W * height]);
        }
    }
}

/// Lays the first `W` samples of `rows` rows of `samples`, `pitch` apart, end to end.
#[inline(always)]
fn gather<const W: usize>(gathered: &mut [u8], rows: usize, samples: &[u8], pitch: usize) {
    let (gathered, _) = gathered.as_chunks_mut::<W>();
    for (row, gathered) in gathered[..rows].iter_mut().enumerate() {
        *gathered = *samples[row * pitch..].first_chunk().expect("a task's rows hold READ samples");
    }
}
