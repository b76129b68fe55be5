//! Overlapped motion compensation of a plane.
//!
//! A plane is divided into cells between the centres of blocks: each is predicted by the vectors of the four blocks
//! around it, whose windows overlap there. Most cells have one vector only.

use rayon::prelude::*;

use super::cells::{CellNumbers, CellSource, PlaneCell, PlaneShape, StoredSample};
use super::rules::{AHEAD, PREFETCHED, window};
use super::starts::BlockEnds;
use crate::compensation::PlaneMut;
use crate::estimator::{Grid, SampleFormat};
use crate::native::level::{InstructionSet, Instructions, Work};

/// What a plane is predicted from.
pub(super) struct Overlap<'a, S> {
    pub shape: PlaneShape,
    /// The plane of the previous and of the next frame.
    pub sources: [S; 2],
    /// The weight of the previous plane where both are shown, in 64ths.
    pub both: u16,
    pub grid: Grid,
    /// Of the vector of each block.
    pub ends: &'a [BlockEnds],
}

impl<S> Overlap<'_, S> {
    /// Writes the plane. Its cells have `W` samples across, those of all components, and `H` down.
    pub fn write<const W: usize, const H: usize>(&self, instructions: Instructions, plane: &mut PlaneMut<'_>)
    where
        S: CellSource<W, H>,
    {
        let (format, width, stride) = (plane.view().format(), plane.view().width(), plane.stride());
        let bytes = plane.bytes_mut();
        // The first row of cells has half as many rows as the others.
        let (first, rest) = bytes.split_at_mut((H / 2 * stride).min(bytes.len()));
        let write = |row: usize, bytes: &mut [u8]| {
            let band = BandMut { bytes, stride, width, format };
            S::run(instructions, CellRow::<S, W, H> { overlap: self, row, band });
        };
        write(0, first);
        rest.par_chunks_mut(H * stride).enumerate().for_each(|(index, bytes)| write(index + 1, bytes));
    }

    /// 64 times the samples that a vector with these ends predicts for the cell whose first pixel is `origin`.
    #[inline(always)]
    fn predict<E: InstructionSet, const W: usize, const H: usize>(
        &self,
        origin: (i32, i32),
        ends: BlockEnds,
    ) -> S::Cell<E>
    where
        S: CellSource<W, H>,
    {
        let Self { shape, sources, both, .. } = self;
        let positions = shape.positions(origin, ends);
        let cells = [sources[0].cell::<E>(positions[0]), sources[1].cell::<E>(positions[1])];
        let weights = if shape.are_inside(positions, ((W / shape.pixel) as i32, H as i32)) {
            [[*both; W]; H]
        } else {
            shape.weights(positions, *both)
        };
        PlaneCell::blend(cells, &weights)
    }
}

/// Some rows of a plane, to be written.
struct BandMut<'a> {
    bytes: &'a mut [u8],
    stride: usize,
    /// Samples a row.
    width: usize,
    format: SampleFormat,
}

impl BandMut<'_> {
    /// Writes the part of a cell that is inside. Its first row is `above` rows above the band, its first sample `left`
    /// samples from the plane's first.
    #[inline(always)]
    fn write<T: StoredSample, const W: usize, const H: usize>(
        &mut self,
        (left, above): (i32, usize),
        cell: &[[T; W]; H],
    ) {
        let (first, end) = ((-left).max(0) as usize, (self.width as i32 - left).min(W as i32));
        if first as i32 >= end {
            return;
        }
        let inside = first..end as usize;
        let start = (left + first as i32) as usize * size_of::<T>();
        for (row, cell) in self.bytes.chunks_mut(self.stride).zip(&cell[above..]) {
            let row = &mut row[start..];
            // Of constant length.
            match row.get_mut(..W * size_of::<T>()).filter(|_| inside.len() == W) {
                Some(row) => T::store(self.format, cell, row),
                None => T::store(self.format, &cell[inside.clone()], row),
            }
        }
    }
}

/// A row of cells.
struct CellRow<'a, S, const W: usize, const H: usize> {
    overlap: &'a Overlap<'a, S>,
    row: usize,
    band: BandMut<'a>,
}

impl<S: CellSource<W, H>, const W: usize, const H: usize> Work for CellRow<'_, S, W, H> {
    type Output = ();

    #[inline(always)]
    fn run<E: InstructionSet>(self, engine: E) {
        let Self { overlap, row, mut band } = self;
        let Overlap { shape, sources, grid, ends, .. } = overlap;
        let windows = S::Cell::<E>::windows(&windows(shape.pixel));
        let above = &ends[row.saturating_sub(1) * grid.columns..][..grid.columns];
        let below = &ends[row.min(grid.rows - 1) * grid.columns..][..grid.columns];
        let side = W / shape.pixel;
        let shift = 6 + (4 * H * side).ilog2();
        let y = (H * row) as i32 - (H / 2) as i32;
        for column in 0..=grid.columns {
            let (left, right) = (column.saturating_sub(1), column.min(grid.columns - 1));
            let around = [above[left], above[right], below[left], below[right]];
            let origin = ((side * column) as i32 - (side / 2) as i32, y);
            if column % PREFETCHED == 0
                && let Some(&ends) = below.get(column + AHEAD)
            {
                let ahead = (origin.0 + (side * AHEAD) as i32, origin.1);
                for (source, position) in sources.iter().zip(shape.positions(ahead, ends)) {
                    source.prefetch(engine, position);
                }
            }
            let first = overlap.predict::<E, W, H>(origin, around[0]);
            let cell = if around == [around[0]; 4] {
                first.round()
            } else {
                let mut predicted = [first; 4];
                for corner in 1..4 {
                    // Neighbours often have the same vector.
                    let same = around[..corner].iter().position(|ends| *ends == around[corner]);
                    predicted[corner] = match same {
                        Some(same) => predicted[same],
                        None => overlap.predict::<E, W, H>(origin, around[corner]),
                    };
                }
                S::Cell::<E>::overlap(&predicted, &windows, shift)
            };
            let x = (W * column) as i32 - (W / 2) as i32;
            band.write((x, if row == 0 { H / 2 } else { 0 }), &cell);
        }
    }
}

/// The windows of the blocks above left, above right, below left and below right of a cell.
#[inline(always)]
fn windows<const W: usize, const H: usize>(pixel: usize) -> [CellNumbers<W, H>; 4] {
    let mut windows = [[[0; W]; H]; 4];
    for (corner, rows) in windows.iter_mut().enumerate() {
        for (y, row) in rows.iter_mut().enumerate() {
            for (x, weight) in row.iter_mut().enumerate() {
                let (side, x) = (W / pixel, x / pixel);
                let across = if corner % 2 == 0 { window(side, x) } else { window(side, side - 1 - x) };
                let down = if corner / 2 == 0 { window(H, y) } else { window(H, H - 1 - y) };
                *weight = (across * down) as u16;
            }
        }
    }
    windows
}
