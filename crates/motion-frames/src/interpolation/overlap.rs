//! Overlapped motion compensation of a plane.
//!
//! A plane is divided into cells between the centres of blocks: each is predicted by the vectors of the four blocks
//! around it, whose windows overlap there. Most cells have one vector only.

use super::Phase;
use super::cell_sources::CellSource;
use super::cells::{CellNumbers, PlaneCell};
use super::rules::{AHEAD, MOST_BEYOND, PREFETCHED, TOLERANCE, window};
use super::starts::BlockEnds;
use super::stored_samples::BandMut;
use crate::compensation::{PlaneMut, Sampling};
use motion_base::simd::{InstructionSet, Instructions, Work};
use motion_base::threads::each_band;
use motion_base::{FrameView, Grid};

/// The size of a plane in pixels, and what a vector is in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaneShape {
    columns: i32,
    rows: i32,
    /// Samples of a pixel.
    pub pixel: usize,
    /// Positions in a sample on each axis: 4 in luma, else 8.
    units: i32,
    /// Of a quarter luma sample across and down.
    steps: (i32, i32),
}

impl PlaneShape {
    /// The shape of `plane`.
    pub fn new(plane: &FrameView<'_>, sampling: Sampling, is_luma: bool) -> Self {
        let step = |is_halved: bool| if is_luma || is_halved { 1 } else { 2 };
        Self {
            columns: (plane.width() / sampling.pixel()) as i32,
            rows: plane.height() as i32,
            pixel: sampling.pixel(),
            units: if is_luma { 4 } else { 8 },
            steps: (step(sampling.halved_x), step(sampling.halved_y)),
        }
    }

    /// The positions that a vector leads to from a pixel.
    #[inline(always)]
    pub fn positions(&self, (x, y): (i32, i32), ends: BlockEnds) -> [(i32, i32); 2] {
        let (x, y) = (self.units * x, self.units * y);
        ends.ways().map(|way| (x + self.steps.0 * way.0, y + self.steps.1 * way.1))
    }

    /// Whether both frames show something at all `columns` x `rows` pixels from two positions on.
    #[inline(always)]
    pub fn are_inside(&self, [a, b]: [(i32, i32); 2], (columns, rows): (i32, i32)) -> bool {
        let tolerance = TOLERANCE * self.units / 4;
        let is_inside = |a: i32, b: i32, length: i32, read: i32| {
            a.min(b) >= -tolerance && a.max(b) <= self.units * (length - read) + tolerance
        };
        is_inside(a.0, b.0, self.columns, columns) && is_inside(a.1, b.1, self.rows, rows)
    }

    /// The weights of the previous frame for the `W` samples and `H` rows from positions in both frames on, and the limits
    /// of both ends: those of `both` where both show something or neither does, else 64 or 0, and `unlimited`.
    #[cold]
    pub fn weights<const W: usize, const H: usize>(
        &self,
        [a, b]: [(i32, i32); 2],
        both: Both,
        unlimited: u16,
    ) -> [CellNumbers<W, H>; 2] {
        let tolerance = TOLERANCE * self.units / 4;
        let is_inside = |at: i32, pixels: usize, length: i32| {
            let range = -tolerance..=self.units * (length - 1) + tolerance;
            range.contains(&(at + self.units * pixels as i32))
        };
        let (mut weights, mut limits) = ([[both.weight; W]; H], [[both.limit; W]; H]);
        for (y, (weights, limits)) in weights.iter_mut().zip(&mut limits).enumerate() {
            let down = [a, b].map(|at| is_inside(at.1, y, self.rows));
            for x in 0..W {
                let across = [a, b].map(|at| is_inside(at.0, x / self.pixel, self.columns));
                match (across[0] && down[0], across[1] && down[1]) {
                    (true, false) => (weights[x], limits[x]) = (64, unlimited),
                    (false, true) => (weights[x], limits[x]) = (0, unlimited),
                    _ => {}
                }
            }
        }
        [weights, limits]
    }
}

/// How samples are predicted from both ends of a vector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Both {
    /// The weight of the previous frame, in 64ths.
    weight: u16,
    /// The most by which an end may lie beyond the other end and the place itself.
    limit: u16,
}

impl Both {
    /// For frames at `phase`, of samples of `depth` bits.
    pub fn new(phase: Phase, depth: u32) -> Self {
        Self { weight: phase.previous_weight() as u16, limit: MOST_BEYOND << (depth - 8) }
    }
}

/// What a plane is predicted from.
pub(super) struct Overlap<'a, S> {
    pub shape: PlaneShape,
    /// The plane of the previous and of the next frame.
    pub sources: [S; 2],
    pub both: Both,
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
        each_band(rest, H * stride, &|index, bytes| write(index + 1, bytes));
    }

    /// The cells at these positions in both frames.
    #[inline(always)]
    fn cells<E: InstructionSet, const W: usize, const H: usize>(
        &self,
        engine: E,
        positions: [(i32, i32); 2],
    ) -> [S::Cell<E>; 2]
    where
        S: CellSource<W, H>,
    {
        [self.sources[0].cell(engine, positions[0]), self.sources[1].cell(engine, positions[1])]
    }

    /// 64 times the samples that a vector with these ends predicts for the cell whose first pixel is `origin`. `own` has the
    /// least and the largest samples of both frames there, once a vector needs them.
    #[inline(always)]
    pub fn predict<E: InstructionSet, const W: usize, const H: usize>(
        &self,
        engine: E,
        origin: (i32, i32),
        own: &mut Option<[S::Cell<E>; 2]>,
        ends: BlockEnds,
    ) -> S::Cell<E>
    where
        S: CellSource<W, H>,
    {
        S::run_part(engine, PredictedCell { overlap: self, origin, own, ends })
    }

    /// 64 times the samples that one end alone predicts, 0 the start and 1 the end; the other one where that alone lies inside
    /// its frame.
    #[inline(always)]
    pub fn predict_alone<E: InstructionSet, const W: usize, const H: usize>(
        &self,
        engine: E,
        origin: (i32, i32),
        ends: BlockEnds,
        end: usize,
    ) -> S::Cell<E>
    where
        S: CellSource<W, H>,
    {
        let positions = self.shape.positions(origin, ends);
        if self.shape.are_inside(positions, ((W / self.shape.pixel) as i32, H as i32)) {
            return self.sources[end].cell(engine, positions[end]).times(S::Cell::<E>::all(engine, 64));
        }
        let alone = Both { weight: [64, 0][end], ..self.both };
        let [weights, _] = self.shape.weights(positions, alone, S::Cell::<E>::UNLIMITED);
        PlaneCell::blend(self.cells(engine, positions), S::Cell::<E>::numbers(engine, &weights))
    }

    /// Prefetches what the cell [`AHEAD`] columns behind the one at `origin` is predicted from, by a vector with these `ends`.
    #[inline(always)]
    pub fn prefetch<E: InstructionSet, const W: usize, const H: usize>(
        &self,
        engine: E,
        origin: (i32, i32),
        ends: BlockEnds,
    ) where
        S: CellSource<W, H>,
    {
        let ahead = (origin.0 + (W / self.shape.pixel * AHEAD) as i32, origin.1);
        for (source, position) in self.sources.iter().zip(self.shape.positions(ahead, ends)) {
            source.prefetch(engine, position);
        }
    }
}

/// Predicts a cell: see [`Overlap::predict`].
struct PredictedCell<'a, S: CellSource<W, H>, E: InstructionSet, const W: usize, const H: usize> {
    overlap: &'a Overlap<'a, S>,
    origin: (i32, i32),
    own: &'a mut Option<[S::Cell<E>; 2]>,
    ends: BlockEnds,
}

impl<E: InstructionSet, S: CellSource<W, H>, const W: usize, const H: usize> Work<E, S::Cell<E>>
    for PredictedCell<'_, S, E, W, H>
{
    #[inline(always)]
    fn run(self, engine: E) -> S::Cell<E> {
        let Overlap { shape, both, .. } = self.overlap;
        let positions = shape.positions(self.origin, self.ends);
        let pixels = (W / shape.pixel) as i32;
        // Numbers that are all the same take one register each.
        if shape.are_inside(positions, (pixels, H as i32)) {
            let numbers = [S::Cell::<E>::all(engine, both.weight), S::Cell::<E>::all(engine, both.limit)];
            self.within(engine, positions, numbers)
        } else {
            let numbers = shape.weights(positions, *both, S::Cell::<E>::UNLIMITED);
            let numbers =
                [S::Cell::<E>::numbers(engine, &numbers[0]), S::Cell::<E>::numbers(engine, &numbers[1])];
            self.within(engine, positions, numbers)
        }
    }
}

impl<S: CellSource<W, H>, E: InstructionSet, const W: usize, const H: usize> PredictedCell<'_, S, E, W, H> {
    /// What the samples at `positions` predict, with the weights of the previous frame and the limits of both ends.
    #[inline(always)]
    fn within(
        self,
        engine: E,
        positions: [(i32, i32); 2],
        [weights, limits]: [<S::Cell<E> as PlaneCell<E, W, H>>::Numbers; 2],
    ) -> S::Cell<E> {
        let Self { overlap, origin, own, ends } = self;
        let [start, end] = overlap.cells(engine, positions);
        // Most ends are within the limit of each other.
        if ends == BlockEnds::default() || !start.differs(end, overlap.both.limit) {
            return PlaneCell::blend([start, end], weights);
        }
        let [least, largest] = match *own {
            Some(own) => own,
            None => {
                let positions = overlap.shape.positions(origin, BlockEnds::default());
                let [previous, next] = overlap.cells(engine, positions);
                *own.insert([previous.least(next), previous.largest(next)])
            }
        };
        let within = [
            start.within(least.least(end), largest.largest(end), limits),
            end.within(least.least(start), largest.largest(start), limits),
        ];
        PlaneCell::blend(within, weights)
    }
}

/// A row of cells.
struct CellRow<'a, S, const W: usize, const H: usize> {
    overlap: &'a Overlap<'a, S>,
    row: usize,
    band: BandMut<'a>,
}

impl<S: CellSource<W, H>, const W: usize, const H: usize, E: InstructionSet> Work<E>
    for CellRow<'_, S, W, H>
{
    #[inline(always)]
    fn run(self, engine: E) {
        let Self { overlap, row, mut band } = self;
        let Overlap { shape, grid, ends, .. } = overlap;
        let windows = S::Cell::<E>::windows(engine, &windows(shape.pixel));
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
                overlap.prefetch::<E, W, H>(engine, origin, ends);
            }
            let mut own = None;
            let first = overlap.predict::<E, W, H>(engine, origin, &mut own, around[0]);
            let cell = if around == [around[0]; 4] {
                first.round::<6>().samples()
            } else {
                let mut predicted = [first; 4];
                for corner in 1..4 {
                    // Neighbours often have the same vector.
                    let same = around[..corner].iter().position(|ends| *ends == around[corner]);
                    predicted[corner] = match same {
                        Some(same) => predicted[same],
                        None => overlap.predict::<E, W, H>(engine, origin, &mut own, around[corner]),
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
pub(crate) fn windows<const W: usize, const H: usize>(pixel: usize) -> [CellNumbers<W, H>; 4] {
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
