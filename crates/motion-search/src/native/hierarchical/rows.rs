//! The rows of a field that one task works on, so that several tasks share a field without a lock.

use std::ops::Range;

use crate::native::hierarchical::candidates::{ChunkStarts, LaneCosts};
use crate::native::hierarchical::grid::{CellGrid, MARGIN};
use crate::native::hierarchical::matching::ChunkCells;
use crate::native::hierarchical::state::{LevelField, LevelParabolas};

/// Neighbouring rows of a field, with the margins next to them. No other task reads or writes them.
pub struct FieldRows<'a> {
    /// The first row.
    first: usize,
    /// The index of the first value in the whole field.
    start: usize,
    /// The vectors after an even number of iterations, and after an odd one: across and down.
    pub vectors: [[&'a mut [i16]; 2]; 2],
    /// Which of them the last iteration has changed.
    pub moved: [&'a mut [u8]; 2],
    /// The cost of each vector without its smoothness.
    pub costs: &'a mut [u16],
    /// Of the finest level the lowest points of the parabolas, across and down.
    pub lowest: [&'a mut [i32]; 2],
    /// How steep these are.
    pub steepness: [&'a mut [i32]; 2],
    /// What the candidates of the last iteration cost, by chunks, without margins.
    known: &'a mut [LaneCosts],
    /// The samples of the cells, by chunks, without margins.
    pub cells: &'a mut [ChunkCells],
    /// What the cells could start from, by chunks, without margins.
    pub starts: &'a mut [ChunkStarts],
}

fn slices<T>(values: &mut [Vec<T>; 2]) -> [&mut [T]; 2] {
    values.each_mut().map(|values| &mut values[..])
}

/// Takes the first `count` values of `values`.
fn take<'a, T>(values: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    values.split_off_mut(..count).unwrap_or_default()
}

impl<'a> FieldRows<'a> {
    /// All rows of `field`.
    pub fn all(field: &'a mut LevelField) -> Self {
        let LevelField { vectors, moved, costs, known_costs, cells, starts, parabolas, .. } = field;
        let (lowest, steepness) = match parabolas {
            Some(LevelParabolas { lowest, steepness }) => (slices(lowest), slices(steepness)),
            None => Default::default(),
        };
        Self {
            first: 0,
            start: 0,
            vectors: vectors.each_mut().map(|vectors| [&mut vectors.x[..], &mut vectors.y[..]]),
            moved: moved.each_mut().map(|moved| &mut moved[..]),
            costs,
            lowest,
            steepness,
            known: known_costs,
            cells,
            starts,
        }
    }

    /// Takes the rows before `row`, or all if this is the last of the grid.
    pub fn take_before(&mut self, grid: &CellGrid, row: usize) -> Self {
        let end = if row == grid.rows { grid.length() } else { (MARGIN + row) * grid.pitch };
        let (count, chunks) = (end - self.start, (row - self.first) * grid.chunks().count());
        let taken = Self {
            first: self.first,
            start: self.start,
            vectors: self
                .vectors
                .each_mut()
                .map(|vectors| vectors.each_mut().map(|values| take(values, count))),
            moved: self.moved.each_mut().map(|moved| take(moved, count)),
            costs: take(&mut self.costs, count),
            lowest: self.lowest.each_mut().map(|values| take(values, count)),
            steepness: self.steepness.each_mut().map(|values| take(values, count)),
            known: take(&mut self.known, chunks),
            cells: take(&mut self.cells, chunks),
            starts: take(&mut self.starts, chunks),
        };
        (self.first, self.start) = (row, end);
        taken
    }

    /// The index of a cell's values.
    #[inline(always)]
    pub fn at(&self, grid: &CellGrid, column: usize, row: usize) -> usize {
        grid.at(column, row) - self.start
    }

    /// The indices of the chunks of a row.
    #[inline(always)]
    pub fn chunks(&self, grid: &CellGrid, row: usize) -> Range<usize> {
        let count = grid.chunks().count();
        (row - self.first) * count..(row - self.first + 1) * count
    }

    /// What is read and written in iteration `number`, counted from 1, and the known costs of the chunks of `row`.
    #[inline(always)]
    pub fn iteration(&mut self, grid: &CellGrid, number: usize, row: usize) -> (Before<'_>, After<'_>) {
        let chunks = self.chunks(grid, row);
        let ([even_vectors, odd_vectors], [even_moved, odd_moved]) = (&mut self.vectors, &mut self.moved);
        let (before, after) = match number % 2 {
            1 => ((even_vectors, even_moved), (odd_vectors, odd_moved)),
            _ => ((odd_vectors, odd_moved), (even_vectors, even_moved)),
        };
        let read = Before {
            start: self.start,
            vectors: before.0.each_ref().map(|values| &**values),
            moved: before.1,
            cells: &self.cells[chunks.clone()],
            starts: &self.starts[chunks.clone()],
        };
        let written = After {
            vectors: after.0.each_mut().map(|values| &mut **values),
            moved: after.1,
            costs: &mut *self.costs,
            known: &mut self.known[chunks],
        };
        (read, written)
    }

    /// Repeats the edges of a row after iteration `number` in the margins.
    #[inline(always)]
    pub fn repeat_edges(&mut self, grid: &CellGrid, number: usize, row: usize) {
        let first = self.at(grid, 0, row);
        for vectors in &mut self.vectors[number % 2] {
            grid.repeat_row(vectors, first, row);
        }
        grid.repeat_row(self.moved[number % 2], first, row);
    }
}

/// What an iteration reads.
#[derive(Clone, Copy)]
pub struct Before<'a> {
    /// The index in the whole field of the value at index 0 here.
    pub start: usize,
    /// The vectors before it.
    pub vectors: [&'a [i16]; 2],
    /// Which of them the iteration before has changed.
    pub moved: &'a [u8],
    /// The samples of the cells, by the chunks of the row.
    pub cells: &'a [ChunkCells],
    /// What the cells could start from, by the chunks of the row.
    pub starts: &'a [ChunkStarts],
}

/// What it writes.
pub struct After<'a> {
    /// The vectors after it.
    pub vectors: [&'a mut [i16]; 2],
    /// Which of them it has changed.
    pub moved: &'a mut [u8],
    /// What they cost.
    pub costs: &'a mut [u16],
    /// What the candidates cost, by the chunks of the row.
    pub known: &'a mut [LaneCosts],
}
