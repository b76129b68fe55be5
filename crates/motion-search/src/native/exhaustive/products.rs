//! SSD by products: `Σ(c - r)² = Σc² + Σr² - 2Σcr`. Only the products differ for every candidate: the rows of `Σr²` are
//! shared with neighbours.

use crate::native::exhaustive::tile::{COLUMNS, PART, ROWS, TileCosts, TileTask};
use crate::native::sample::SearchSample;

/// Columns of samples of a tile's candidates, rounded up to whole registers.
pub const WIDE: usize = COLUMNS + PART;

/// Turns the products `Σcr` in `costs` into costs.
#[inline(always)]
pub fn squares_from_dots<S: SearchSample>(task: &TileTask<'_, S>, costs: &mut TileCosts<u32>) {
    match task.width() {
        4 => of_width::<S, 4>(task, costs),
        8 => of_width::<S, 8>(task, costs),
        12 => of_width::<S, 12>(task, costs),
        _ => of_width::<S, 16>(task, costs),
    }
}

#[inline(always)]
fn of_width<S: SearchSample, const W: usize>(task: &TileTask<'_, S>, costs: &mut TileCosts<u32>) {
    let current = task.current().chunks(task.pitch()).flat_map(|row| &row[..W]);
    let current: u32 = current.map(|sample| square(*sample)).sum();
    // A row's squares are added before its first candidate and subtracted after its last.
    let mut rows = [[0; COLUMNS]; PART + ROWS - 1];
    let rows = &mut rows[..task.height() + task.rows() - 1];
    for (k, row) in rows.iter_mut().enumerate() {
        let samples = &task.reference()[k * task.pitch()..];
        let samples: &[S; WIDE] = samples.first_chunk().expect("rows of ROW_SAMPLES");
        *row = sums_of::<S, W>(samples);
    }
    let mut squares = [current; COLUMNS];
    for row in &rows[..task.height() - 1] {
        for u in 0..COLUMNS {
            squares[u] = squares[u].wrapping_add(row[u]);
        }
    }
    for (v, costs) in costs[..task.rows()].iter_mut().enumerate() {
        let (first, last) = (&rows[v], &rows[v + task.height() - 1]);
        for u in 0..COLUMNS {
            let sum = squares[u].wrapping_add(last[u]);
            costs[u] = sum.wrapping_sub(costs[u].wrapping_mul(2));
            squares[u] = sum.wrapping_sub(first[u]);
        }
    }
}

/// The sum of `W` neighbours from each of [`COLUMNS`] on, by sums of four.
#[inline(always)]
fn sums_of<S: SearchSample, const W: usize>(samples: &[S; WIDE]) -> [u32; COLUMNS] {
    let mut squares = [0; WIDE];
    for (to, sample) in squares.iter_mut().zip(samples) {
        *to = square(*sample);
    }
    let mut fours = [0; WIDE - 3];
    for u in 0..WIDE - 3 {
        fours[u] = (squares[u] + squares[u + 1]) + (squares[u + 2] + squares[u + 3]);
    }
    let mut sums = [0; COLUMNS];
    for u in 0..COLUMNS {
        sums[u] = (0..W).step_by(4).map(|x| fours[u + x]).sum();
    }
    sums
}

#[inline(always)]
fn square(sample: impl Into<u32>) -> u32 {
    let sample = sample.into();
    sample * sample
}
