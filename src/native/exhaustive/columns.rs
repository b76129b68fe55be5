//! Columns of candidates, each brought together first: its rows of samples lie end to end, so that
//! every candidate is as many neighbouring samples as the part has, and whole registers of them are
//! compared.

use crate::native::exhaustive::tile::{COLUMNS, Cost, Costs, PART, ROWS, Task};

/// A register of samples, or of shares of costs.
///
/// # Safety
/// An implementation loads no more than its [`Self::SAMPLES`].
pub unsafe trait Register: Copy {
    /// Samples in a register: 16 or a multiple.
    const SAMPLES: usize;

    /// A register of 16 samples.
    type Narrow: Register;

    /// No costs.
    ///
    /// # Safety
    /// The CPU must have the instructions, here and below.
    unsafe fn zero() -> Self;

    /// The samples from `samples` on.
    ///
    /// # Safety
    /// They must be readable.
    unsafe fn load(samples: *const u8) -> Self;

    /// `sums` and the absolute differences of `c` and `r`, or their squares if `SQUARED`.
    ///
    /// # Safety
    /// As [`Self::zero`].
    unsafe fn add<const SQUARED: bool>(sums: Self, c: Self, r: Self) -> Self;

    /// The total of each of four sums.
    ///
    /// # Safety
    /// As [`Self::zero`].
    unsafe fn totals(sums: [Self; 4]) -> [u32; 4];
}

/// Where the cost of a candidate goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// To its row and column.
    Tile,
    /// To its column's row, that is columns for rows: of at most [`COLUMNS`] rows of candidates.
    Transposed,
}

impl Order {
    /// The row and column of costs for the candidate in column `u` and row `v` of the tile.
    #[inline(always)]
    pub fn place(self, u: usize, v: usize) -> (usize, usize) {
        match self {
            Order::Tile => (v, u),
            Order::Transposed => (u, v),
        }
    }
}

/// The SAD, or if `SQUARED` the SSD, of every candidate of `task`.
///
/// # Safety
/// The CPU must have the instructions of `R`.
#[inline(always)]
pub unsafe fn compare<R: Register, C: Cost, const SQUARED: bool>(
    task: &Task<'_>,
    order: Order,
    costs: &mut Costs<C>,
) {
    // SAFETY: by the caller's promise.
    unsafe {
        match task.width() {
            4 => compare_rows::<R, C, 4, 4, SQUARED>(task, order, costs),
            8 => compare_rows::<R, C, 8, 8, SQUARED>(task, order, costs),
            12 => compare_rows::<R, C, 12, 16, SQUARED>(task, order, costs),
            _ => compare_rows::<R, C, 16, 16, SQUARED>(task, order, costs),
        }
    }
}

/// The same with rows of `W` samples, which begin `S` apart in a column.
///
/// # Safety
/// As [`compare`].
#[inline(always)]
unsafe fn compare_rows<R: Register, C: Cost, const W: usize, const S: usize, const SQUARED: bool>(
    task: &Task<'_>,
    order: Order,
    costs: &mut Costs<C>,
) {
    // SAFETY: by the caller's promise, and a part has a multiple of four rows, each of four samples.
    unsafe {
        if (S * task.height()).is_multiple_of(R::SAMPLES) {
            compare_registers::<R, C, W, S, SQUARED>(task, order, costs);
        } else {
            compare_registers::<R::Narrow, C, W, S, SQUARED>(task, order, costs);
        }
    }
}

/// Rows of samples end to end.
#[repr(align(64))]
struct Rows<const N: usize>([u8; N]);

impl<const N: usize> Rows<N> {
    /// Takes the first `W` samples of `rows` rows, which are `pitch` apart in `samples`. What is not
    /// written stays zero, in part and candidates alike, so that it costs nothing.
    #[inline(always)]
    fn take<const W: usize, const S: usize>(&mut self, samples: &[u8], pitch: usize, rows: usize) {
        for (index, row) in self.0.chunks_exact_mut(S).enumerate().take(rows) {
            row[..W].copy_from_slice(&samples[index * pitch..][..W]);
        }
    }
}

/// The same with a part of whole registers.
///
/// # Safety
/// As [`compare`], and `S * task.height()` must be a multiple of the register's samples.
#[inline(always)]
unsafe fn compare_registers<R: Register, C: Cost, const W: usize, const S: usize, const SQUARED: bool>(
    task: &Task<'_>,
    order: Order,
    costs: &mut Costs<C>,
) {
    const { assert!(W <= S && S <= 16 && ROWS.is_multiple_of(4) && COLUMNS.is_multiple_of(4)) };
    assert!(order != Order::Transposed || task.rows() <= COLUMNS);
    let (mut part, mut column) = (Rows([0; 16 * PART]), Rows([0; 16 * (PART + ROWS)]));
    part.take::<W, S>(task.current(), task.pitch(), task.height());
    for u in 0..task.columns() {
        let rows = task.height() + task.rows() - 1;
        column.take::<W, S>(&task.reference()[u..], task.pitch(), rows);
        for v in (0..task.rows()).step_by(4) {
            // SAFETY: the registers end at S * height samples of at most 16 * PART, and from
            // S * (v + 3) on, as v + 3 is less than ROWS, within 16 * (PART + ROWS).
            let totals = unsafe {
                let mut sums = [R::zero(); 4];
                let mut start = 0;
                while start < S * task.height() {
                    let c = R::load(part.0.as_ptr().add(start));
                    for (i, sum) in sums.iter_mut().enumerate() {
                        let r = R::load(column.0.as_ptr().add(S * (v + i) + start));
                        *sum = R::add::<SQUARED>(*sum, c, r);
                    }
                    start += R::SAMPLES;
                }
                R::totals(sums)
            };
            for (i, total) in totals.into_iter().enumerate() {
                let (row, column) = order.place(u, v + i);
                costs[row][column] = C::from_sum(total);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::arch::portable::Portable;
    #[cfg(target_arch = "x86_64")]
    use crate::native::arch::{avx2::Avx2, avx512::Avx512, sse41::*};
    use crate::native::exhaustive::tile::{Engine, READ};

    /// Whether `engine` finds the tile's costs both ways, and in parts of all shapes.
    fn check<E: Engine>(engine: E) {
        let pitch = 96;
        let samples = |seed: usize| -> Vec<u8> {
            (0..60 * pitch).map(|i: usize| ((i + seed).wrapping_mul(2_654_435_761) >> 16) as u8).collect()
        };
        let (current, reference) = (samples(1), samples(77));
        for (width, height) in (1..=4).flat_map(|w| (1..=4).map(move |h| (4 * w, 4 * h))) {
            for (rows, columns) in [(1, 1), (2, 3), (7, 8), (31, 5), (32, 2)] {
                let task = Task::new(
                    (&current[..], &reference[..(height + rows - 2) * pitch + READ], pitch),
                    (width, height),
                    (rows, columns),
                );
                let (mut sad, mut ssd) = ([[0; COLUMNS]; ROWS], [[0; COLUMNS]; ROWS]);
                let (mut sad_of_columns, mut ssd_of_columns) = (sad, ssd);
                engine.sad(&task, &mut sad);
                engine.ssd(&task, &mut ssd);
                engine.sad_of_columns(&task, &mut sad_of_columns);
                engine.ssd_of_columns(&task, &mut ssd_of_columns);
                for (v, u) in (0..rows).flat_map(|v| (0..columns).map(move |u| (v, u))) {
                    let of = |metric: fn(u32) -> u32| -> u32 {
                        let samples = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
                        let difference = |(x, y): (usize, usize)| {
                            current[y * pitch + x].abs_diff(reference[(v + y) * pitch + u + x])
                        };
                        samples.map(|at| metric(u32::from(difference(at)))).sum()
                    };
                    let expected = (of(|d| d), of(|d| d * d));
                    let found = (u32::from(sad[v][u]), ssd[v][u]);
                    let of_columns = (u32::from(sad_of_columns[u][v]), ssd_of_columns[u][v]);
                    assert_eq!((found, of_columns), (expected, expected), "{width} {height} {v} {u}");
                }
            }
        }
    }

    #[test]
    fn every_engine_finds_the_costs_of_every_shape() {
        check(Portable::new());
        #[cfg(target_arch = "x86_64")]
        {
            check(Sse2);
            Sse41::new().into_iter().for_each(check);
            Avx2::new().into_iter().for_each(check);
            Avx512::new().into_iter().for_each(check);
        }
        #[cfg(target_arch = "aarch64")]
        crate::native::arch::neon::Neon::new().into_iter().for_each(check);
    }
}
