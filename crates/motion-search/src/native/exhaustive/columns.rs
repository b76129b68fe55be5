//! Candidates compared column by column: the rows of a column lie end to end, so that every candidate is one run of
//! samples, and whole registers of them are compared.

use crate::native::cost::{CostValue, RegisterCost};
use crate::native::exhaustive::tile::{COLUMNS, PART, ROWS, TileCosts, TileTask};
use motion_base::memory::Aligned;
use motion_base::simd::InstructionSet;
use motion_base::simd::proven::{Compared, Proof};
use motion_base::simd::register::Register;

/// Where the cost of a candidate is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CostLayout {
    /// To its row and column.
    Tile,
    /// Transposed: its column is the row of costs. For at most [`COLUMNS`] rows of candidates.
    Transposed,
}

/// Writes the cost of every candidate of `task`.
#[inline(always)]
pub fn compare<E: InstructionSet, C: RegisterCost>(
    engine: E,
    task: &TileTask<'_>,
    layout: CostLayout,
    costs: &mut TileCosts<C::Value>,
) {
    let proof = Proof::of(engine);
    // A part has a multiple of four rows, each of at least four samples.
    if (stride(task.width()) * task.height()).is_multiple_of(E::Register::SAMPLES) {
        compare_registers::<E::Register, C>(proof, task, layout, costs);
    } else {
        compare_registers::<E::Samples, C>(proof.narrow(), task, layout, costs);
    }
}

/// Samples from one row of a column to the next.
#[inline(always)]
fn stride(width: usize) -> usize {
    if width == 12 { 16 } else { width }
}

/// Copies the first `width` samples of `rows` rows, which are `pitch` apart in `samples`, to each [`stride`] samples of
/// `packed`. The samples between stay zero, in the part and the candidates alike, so that they cost nothing.
#[inline(always)]
fn pack(packed: &mut [u8], samples: &[u8], (pitch, width): (usize, usize), rows: usize) {
    match width {
        4 => pack_rows::<4, 4>(packed, samples, pitch, rows),
        8 => pack_rows::<8, 8>(packed, samples, pitch, rows),
        12 => pack_rows::<12, 16>(packed, samples, pitch, rows),
        _ => pack_rows::<16, 16>(packed, samples, pitch, rows),
    }
}

#[inline(always)]
fn pack_rows<const W: usize, const S: usize>(packed: &mut [u8], samples: &[u8], pitch: usize, rows: usize) {
    for (index, row) in packed.chunks_exact_mut(S).enumerate().take(rows) {
        row[..W].copy_from_slice(&samples[index * pitch..][..W]);
    }
}

/// The same as [`compare`], with a part of whole registers.
#[inline(always)]
fn compare_registers<R: Register, C: RegisterCost>(
    proof: Proof<R>,
    task: &TileTask<'_>,
    layout: CostLayout,
    costs: &mut TileCosts<C::Value>,
) {
    const { assert!(ROWS.is_multiple_of(4) && COLUMNS.is_multiple_of(4)) };
    assert!(layout == CostLayout::Tile || task.rows() <= COLUMNS);
    let (stride, size) = (stride(task.width()), (task.pitch(), task.width()));
    let length = stride * task.height();
    let (mut part, mut column) = (Aligned([0; 16 * PART]), Aligned([0; 16 * (PART + ROWS)]));
    pack(&mut part.0, task.current(), size, task.height());
    for u in 0..task.columns() {
        pack(&mut column.0, &task.reference()[u..], size, task.height() + task.rows() - 1);
        for v in (0..task.rows()).step_by(4) {
            // All have whole registers, as many as the part.
            let registers = |i: usize| column.0[stride * (v + i)..][..length].chunks_exact(R::SAMPLES);
            let pairs = registers(0).zip(registers(1)).zip(registers(2).zip(registers(3)));
            let mut sums = [proof.zero(); 4];
            for (c, ((first, second), (third, fourth))) in
                part.0[..length].chunks_exact(R::SAMPLES).zip(pairs)
            {
                let c = proof.load(c);
                sums[0] = C::add(sums[0], c, proof.load(first));
                sums[1] = C::add(sums[1], c, proof.load(second));
                sums[2] = C::add(sums[2], c, proof.load(third));
                sums[3] = C::add(sums[3], c, proof.load(fourth));
            }
            for (i, total) in Compared::totals(sums).into_iter().enumerate() {
                let (row, column) = match layout {
                    CostLayout::Tile => (v + i, u),
                    CostLayout::Transposed => (u, v + i),
                };
                costs[row][column] = C::Value::from_cost(total);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::candidates::ROW_SAMPLES;
    use crate::native::cost::{Sad, Ssd};
    use crate::native::exhaustive::engine::{TileCost, TileEngine};
    use motion_base::simd::{InstructionSetName, Work};

    /// Compares tiles with the definition, in both layouts and in parts of all shapes.
    struct CheckTiles;

    impl<E: TileEngine> Work<E> for CheckTiles {
        fn run(self, engine: E) {
            check::<E, Sad>(engine, |difference| difference);
            check::<E, Ssd>(engine, |difference| difference * difference);
        }
    }

    fn check<E: TileEngine, C: TileCost + RegisterCost>(engine: E, metric: fn(u32) -> u32) {
        let pitch = 96;
        let samples = |seed: usize| -> Vec<u8> {
            (0..60 * pitch).map(|i: usize| ((i + seed).wrapping_mul(2_654_435_761) >> 16) as u8).collect()
        };
        let (current, reference) = (samples(1), samples(77));
        for (width, height) in (1..=4).flat_map(|w| (1..=4).map(move |h| (4 * w, 4 * h))) {
            for (rows, columns) in [(1, 1), (2, 3), (7, 8), (31, 5), (32, 2)] {
                let task = TileTask::new(
                    (&current[..], &reference[..(height + rows - 2) * pitch + ROW_SAMPLES], pitch),
                    (width, height),
                    (rows, columns),
                    8,
                );
                let mut of_tile = [[C::Value::default(); COLUMNS]; ROWS];
                let mut of_columns = of_tile;
                C::tile_costs(engine, &task, CostLayout::Tile, &mut of_tile);
                compare::<E, C>(engine, &task, CostLayout::Transposed, &mut of_columns);
                for (v, u) in (0..rows).flat_map(|v| (0..columns).map(move |u| (v, u))) {
                    let samples = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
                    let difference = |(x, y): (usize, usize)| {
                        current[y * pitch + x].abs_diff(reference[(v + y) * pitch + u + x])
                    };
                    let expected: u32 = samples.map(|at| metric(u32::from(difference(at)))).sum();
                    let found: [u32; 2] = [of_tile[v][u].into(), of_columns[u][v].into()];
                    assert_eq!(found, [expected; 2], "{width} {height} {v} {u}");
                }
            }
        }
    }

    #[test]
    fn every_engine_finds_the_costs_of_every_shape() {
        InstructionSetName::available()
            .for_each(|instruction_set| instruction_set.instructions().unwrap().run_widest(CheckTiles));
    }
}
