//! Tile costs in plain Rust, written so that the compiler finds the wide instructions itself.

use crate::native::exhaustive::columns::Order;
use crate::native::exhaustive::tile::{Cost, Costs, Engine, PART, Pair, ROWS, Task};

/// Any CPU.
///
/// Where there is AVX2, the innermost loops are taken from a second compilation of the same source
/// that may use it.
#[derive(Clone, Copy)]
pub struct Portable {
    sad: fn(&[Row], &[Row], &mut [u32]),
    ssd: fn(&[Row], &[Row], &mut [u32]),
}

/// A row of a part, filled up with zeros where the part is narrower.
type Row = [u8; 16];

impl Portable {
    /// The compilation that suits this CPU best.
    pub fn new() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            return Self::for_avx2();
        }
        Self::for_any()
    }

    fn for_any() -> Self {
        fn sad(part: &[Row], column: &[Row], sums: &mut [u32]) {
            add_sad(part, column, sums);
        }
        fn ssd(part: &[Row], column: &[Row], sums: &mut [u32]) {
            add_ssd(part, column, sums);
        }
        Self { sad, ssd }
    }

    /// To be called only where there is AVX2.
    #[cfg(target_arch = "x86_64")]
    fn for_avx2() -> Self {
        #[target_feature(enable = "avx2")]
        fn sad(part: &[Row], column: &[Row], sums: &mut [u32]) {
            add_sad(part, column, sums);
        }
        #[target_feature(enable = "avx2")]
        fn ssd(part: &[Row], column: &[Row], sums: &mut [u32]) {
            add_ssd(part, column, sums);
        }
        Self {
            // SAFETY: this CPU has AVX2, as `new` alone calls this function and asks before.
            sad: |part, column, sums| unsafe { sad(part, column, sums) },
            // SAFETY: as above.
            ssd: |part, column, sums| unsafe { ssd(part, column, sums) },
        }
    }
}

impl Engine for Portable {
    /// The more, the more candidates a copied row serves.
    const ROWS: usize = ROWS;
    const LANES: usize = 1;

    #[inline(always)]
    fn sad(self, task: &Task<'_>, costs: &mut Costs<u16>) {
        compare(task, Order::Tile, costs, self.sad);
    }

    #[inline(always)]
    fn ssd(self, task: &Task<'_>, costs: &mut Costs<u32>) {
        compare(task, Order::Tile, costs, self.ssd);
    }

    #[inline(always)]
    fn sad_of_columns(self, task: &Task<'_>, costs: &mut Costs<u16>) {
        compare(task, Order::Transposed, costs, self.sad);
    }

    #[inline(always)]
    fn ssd_of_columns(self, task: &Task<'_>, costs: &mut Costs<u32>) {
        compare(task, Order::Transposed, costs, self.ssd);
    }

    #[inline(always)]
    fn sad_of_one(self, pair: &Pair<'_>) -> u32 {
        of_one(pair, |difference| difference)
    }

    #[inline(always)]
    fn ssd_of_one(self, pair: &Pair<'_>) -> u32 {
        of_one(pair, |difference| difference * difference)
    }

    #[inline(always)]
    fn at_most(self, values: &[u16; 32], limit: u16) -> u32 {
        values.iter().enumerate().fold(0, |bits, (lane, value)| bits | u32::from(*value <= limit) << lane)
    }
}

/// Adds to `sums[v]` the SAD of `part` and the rows of `column` from `v` on.
///
/// Four rows of the part at a time against every candidate: in this shape rustc 1.95 was seen to
/// make one `psadbw` of each row. (The sums wrap, so that no addition is checked; none is that
/// large.)
#[inline(always)]
fn add_sad(part: &[Row], column: &[Row], sums: &mut [u32]) {
    add_costs(part, column, sums, |part, candidate| {
        let mut lanes = [0_u32; 16];
        for (c, r) in part.iter().zip(candidate) {
            for i in 0..16 {
                let difference = i32::from(c[i]).wrapping_sub(i32::from(r[i])).unsigned_abs();
                lanes[i] = lanes[i].wrapping_add(difference);
            }
        }
        lanes.into_iter().fold(0, u32::wrapping_add)
    });
}

/// The same with squares.
#[inline(always)]
fn add_ssd(part: &[Row], column: &[Row], sums: &mut [u32]) {
    add_costs(part, column, sums, |part, candidate| {
        let mut sum = 0_i32;
        for (c, r) in part.as_flattened().iter().zip(candidate.as_flattened()) {
            let difference = i32::from(i16::from(*c).wrapping_sub(i16::from(*r)));
            sum = sum.wrapping_add(difference.wrapping_mul(difference));
        }
        sum as u32
    });
}

#[inline(always)]
fn add_costs(part: &[Row], column: &[Row], sums: &mut [u32], cost: impl Fn(&[Row; 4], &[Row; 4]) -> u32) {
    for (quarter, part) in part.as_chunks::<4>().0.iter().enumerate() {
        let candidates = column[4 * quarter..].windows(4);
        for (candidate, sum) in candidates.zip(&mut *sums) {
            let candidate = candidate.first_chunk().expect("windows of four rows");
            *sum = sum.wrapping_add(cost(part, candidate));
        }
    }
}

/// Compares `task`'s candidates, with `add_costs` to compare a part with a column of them.
#[inline(always)]
fn compare<C: Cost>(
    task: &Task<'_>,
    order: Order,
    costs: &mut Costs<C>,
    add_costs: fn(&[Row], &[Row], &mut [u32]),
) {
    match task.width() {
        4 => compare_columns::<4, C>(task, order, costs, add_costs),
        8 => compare_columns::<8, C>(task, order, costs, add_costs),
        12 => compare_columns::<12, C>(task, order, costs, add_costs),
        _ => compare_columns::<16, C>(task, order, costs, add_costs),
    }
}

/// Compares one column of candidates after the other; a row once copied serves every candidate of
/// the column that it belongs to.
#[inline(always)]
fn compare_columns<const W: usize, C: Cost>(
    task: &Task<'_>,
    order: Order,
    costs: &mut Costs<C>,
    add_costs: fn(&[Row], &[Row], &mut [u32]),
) {
    let (mut part, mut column) = ([[0; 16]; PART], [[0; 16]; PART + ROWS - 1]);
    let part = &mut part[..task.height()];
    let column = &mut column[..task.height() + task.rows() - 1];
    gather::<W>(part, task.current(), task.pitch());
    for u in 0..task.columns() {
        gather::<W>(column, &task.reference()[u..], task.pitch());
        let mut sums = [0; ROWS];
        add_costs(part, column, &mut sums[..task.rows()]);
        for (v, sum) in sums[..task.rows()].iter().enumerate() {
            let (row, column) = order.place(u, v);
            costs[row][column] = C::from_sum(*sum);
        }
    }
}

/// Copies the first `W` samples of each row, which are `pitch` apart in `samples`. The samples
/// after them stay zero, in part and candidates alike, so that they cost nothing.
#[inline(always)]
fn gather<const W: usize>(rows: &mut [Row], samples: &[u8], pitch: usize) {
    for (index, row) in rows.iter_mut().enumerate() {
        row[..W].copy_from_slice(&samples[index * pitch..][..W]);
    }
}

/// The cost of one candidate, four samples at a time.
#[inline(always)]
fn of_one(pair: &Pair<'_>, cost: impl Fn(u32) -> u32) -> u32 {
    let mut lanes = [0; 4];
    for y in 0..pair.side() {
        for x in (0..pair.side()).step_by(4) {
            // SAFETY: y and x are less than the side, which is a multiple of four.
            let [c, r] = unsafe { pair.samples::<4>(x, y) };
            for i in 0..4 {
                lanes[i] += cost(u32::from(c[i].abs_diff(r[i])));
            }
        }
    }
    lanes.into_iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever this machine has, what runs on the others is run too.
    #[test]
    fn the_compilation_for_any_cpu_finds_the_same() {
        let (any, best) = (Portable::for_any(), Portable::new());
        let row = |seed: usize| std::array::from_fn(|i| (seed * 97 + i * 61 + seed * i * 13) as u8);
        let part: Vec<Row> = (0..PART).map(row).collect();
        let column: Vec<Row> = (100..100 + PART + ROWS - 1).map(row).collect();
        for height in (4..=PART).step_by(4) {
            for rows in 1..=ROWS {
                let (part, column) = (&part[..height], &column[..height + rows - 1]);
                let sums = |add: fn(&[Row], &[Row], &mut [u32])| {
                    let mut sums = [0; ROWS];
                    add(part, column, &mut sums[..rows]);
                    sums
                };
                let expected = |metric: fn(u32) -> u32| -> Vec<u32> {
                    let candidate = |v: usize| {
                        let samples = part.iter().zip(&column[v..]).flat_map(|(c, r)| c.iter().zip(r));
                        samples.map(|(c, r)| metric(u32::from(c.abs_diff(*r)))).sum()
                    };
                    (0..rows).map(candidate).collect()
                };
                assert_eq!(sums(any.sad)[..rows], expected(|difference| difference));
                assert_eq!(sums(any.ssd)[..rows], expected(|difference| difference * difference));
                assert_eq!((sums(any.sad), sums(any.ssd)), (sums(best.sad), sums(best.ssd)));
            }
        }
    }
}
