//! Overlapped motion compensation of a plane.
//!
//! A plane is divided into cells between the centres of blocks: each is predicted by the vectors of the four blocks
//! around it, whose windows overlap there. Most cells have one vector only.

use std::marker::PhantomData;

use rayon::prelude::*;

use super::cells::{CellSource, PlaneShape, Weighted};
use super::rules::{HalfVector, window};
use super::starts::Starts;
use crate::compensation::PlaneMut;
use crate::estimator::{Grid, SampleFormat};
use crate::native::level::{InstructionSet, Instructions, Work};

/// What a plane is predicted from.
pub(super) struct Overlap<'a, S> {
    pub shape: PlaneShape,
    /// The plane of the previous and of the next frame.
    pub sources: [S; 2],
    pub starts: &'a Starts,
    pub grid: Grid,
    /// Of each block.
    pub vectors: &'a [HalfVector],
}

impl<S> Overlap<'_, S> {
    /// Writes the plane. Its cells have `W` samples across, those of all components, and `H` down; `T` holds 64 times a
    /// sample.
    pub fn write<T: Weighted, const W: usize, const H: usize>(
        &self,
        instructions: Instructions,
        plane: &mut PlaneMut<'_>,
    ) where
        S: CellSource<W, H>,
    {
        let (format, width, stride) = (plane.view().format(), plane.view().width(), plane.stride());
        let bytes = plane.bytes_mut();
        // The first row of cells has half as many rows as the others.
        let (first, rest) = bytes.split_at_mut((H / 2 * stride).min(bytes.len()));
        let write = |row: usize, bytes: &mut [u8]| {
            let band = BandMut { bytes, stride, width, format };
            T::run(instructions, CellRow::<T, S, W, H> { overlap: self, row, band, number: PhantomData });
        };
        write(0, first);
        rest.par_chunks_mut(H * stride).enumerate().for_each(|(index, bytes)| write(index + 1, bytes));
    }

    /// The samples that `vector` predicts for the cell whose first pixel is `origin`.
    #[inline(always)]
    fn predict<T: Weighted, E: InstructionSet, const W: usize, const H: usize>(
        &self,
        origin: (i32, i32),
        vector: HalfVector,
    ) -> [[T; W]; H]
    where
        S: CellSource<W, H>,
    {
        let Self { shape, sources, starts, .. } = self;
        let [start, end] = starts.ends(vector);
        let ends = [shape.position(origin, start), shape.position(origin, end)];
        let (previous, next) = (sources[0].cell::<E>(ends[0]), sources[1].cell::<E>(ends[1]));
        let both = starts.phase().previous_weight() as u16;
        let mut predicted = [[T::default(); W]; H];
        let last = ((W / shape.pixel - 1) as i32, H as i32 - 1);
        let is_inside = shape.is_inside(ends[0])
            && shape.is_inside(shape.further(ends[0], last))
            && shape.is_inside(ends[1])
            && shape.is_inside(shape.further(ends[1], last));
        if is_inside {
            for y in 0..H {
                for x in 0..W {
                    predicted[y][x] = T::weigh([previous[y][x], next[y][x]], [both, 64 - both]);
                }
            }
        } else {
            for y in 0..H {
                for x in 0..W {
                    let pixel = ((x / shape.pixel) as i32, y as i32);
                    let is_inside = (
                        shape.is_inside(shape.further(ends[0], pixel)),
                        shape.is_inside(shape.further(ends[1], pixel)),
                    );
                    let weight = match is_inside {
                        (true, false) => 64,
                        (false, true) => 0,
                        _ => both,
                    };
                    predicted[y][x] = T::weigh([previous[y][x], next[y][x]], [weight, 64 - weight]);
                }
            }
        }
        predicted
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
    fn write<const W: usize, const H: usize>(&mut self, (left, above): (i32, usize), cell: &[[u16; W]; H]) {
        let (first, end) = ((-left).max(0) as usize, (self.width as i32 - left).min(W as i32));
        if first as i32 >= end {
            return;
        }
        let inside = first..end as usize;
        let start = (left + first as i32) as usize * self.format.bytes();
        for (row, cell) in self.bytes.chunks_mut(self.stride).zip(&cell[above..]) {
            if self.format.bytes() == 1 {
                let row = &mut row[start..];
                if inside.len() == W && row.len() >= W {
                    for x in 0..W {
                        row[x] = cell[x] as u8;
                    }
                } else {
                    row.iter_mut().zip(&cell[inside.clone()]).for_each(|(to, sample)| *to = *sample as u8);
                }
            } else {
                let row = row[start..].as_chunks_mut().0;
                let samples = &cell[inside.clone()];
                row.iter_mut().zip(samples).for_each(|(to, sample)| *to = self.format.bytes_of(*sample));
            }
        }
    }
}

/// A row of cells.
struct CellRow<'a, T, S, const W: usize, const H: usize> {
    overlap: &'a Overlap<'a, S>,
    row: usize,
    band: BandMut<'a>,
    number: PhantomData<T>,
}

impl<T: Weighted, S: CellSource<W, H>, const W: usize, const H: usize> Work for CellRow<'_, T, S, W, H> {
    type Output = ();

    #[inline(always)]
    fn run<E: InstructionSet>(self, _: E) {
        let Self { overlap, row, mut band, .. } = self;
        let Overlap { shape, grid, vectors, .. } = overlap;
        let windows = windows::<W, H>(shape.pixel);
        let above = &vectors[row.saturating_sub(1) * grid.columns..][..grid.columns];
        let below = &vectors[row.min(grid.rows - 1) * grid.columns..][..grid.columns];
        let y = (H * row) as i32 - (H / 2) as i32;
        for column in 0..=grid.columns {
            let (left, right) = (column.saturating_sub(1), column.min(grid.columns - 1));
            let around = [above[left], above[right], below[left], below[right]];
            let x = (W * column) as i32 - (W / 2) as i32;
            let origin = (x / shape.pixel as i32, y);
            let first = overlap.predict::<T, E, W, H>(origin, around[0]);
            let mut cell = [[0; W]; H];
            if around == [around[0]; 4] {
                for y in 0..H {
                    for x in 0..W {
                        cell[y][x] = first[y][x].round();
                    }
                }
            } else {
                let mut sums = [[0_u32; W]; H];
                let mut predicted = first;
                for corner in 0..4 {
                    // Neighbours often have the same vector.
                    if corner > 0 && around[corner] != around[corner - 1] {
                        predicted = overlap.predict::<T, E, W, H>(origin, around[corner]);
                    }
                    for y in 0..H {
                        for x in 0..W {
                            sums[y][x] += predicted[y][x].wide() * u32::from(windows[corner][y][x]);
                        }
                    }
                }
                let shift = 6 + (4 * H * (W / shape.pixel)).ilog2();
                for y in 0..H {
                    for x in 0..W {
                        cell[y][x] = ((sums[y][x] + (1 << (shift - 1))) >> shift) as u16;
                    }
                }
            }
            band.write((x, if row == 0 { H / 2 } else { 0 }), &cell);
        }
    }
}

/// The windows of the blocks above left, above right, below left and below right of a cell.
#[inline(always)]
fn windows<const W: usize, const H: usize>(pixel: usize) -> [[[u16; W]; H]; 4] {
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
