//! From the vectors of cells to the records of blocks: the vector of a block, and what it costs.

use crate::estimator::MotionVector;
use crate::native::hierarchical::grid::CellGrid;
use crate::native::hierarchical::unsmoothed::sum_of_differences;
use motion_base::hierarchy::CELL;
use motion_base::pyramid::planes::LevelFrame;
use motion_base::simd::{InstructionSet, Instructions, Work};
use motion_base::threads::each_band;

/// The most cells of a block on an axis.
const MOST_CELLS: usize = 64 / CELL;

/// 64ths of a sample in a unit of a record.
const RECORD: i32 = 2;

/// Units of a record in a quarter sample.
const QUARTER: i32 = 8;

/// What the records of blocks are made of.
#[derive(Clone, Copy)]
pub struct BlockField<'a> {
    /// The current frame.
    pub current: &'a LevelFrame,
    /// The reference frame.
    pub reference: &'a LevelFrame,
    /// The cells of `cell_size` samples on a side.
    pub grid: &'a CellGrid,
    /// Their vectors in 64ths.
    pub vectors: [&'a [i32]; 2],
    /// Samples on a side of a cell: 8, or 4 if the blocks are as small.
    pub cell_size: usize,
    /// Samples on a side of a block.
    pub block_size: usize,
    /// Blocks across.
    pub columns: usize,
}

impl BlockField<'_> {
    /// Writes the record of every block.
    pub fn write(&self, instructions: Instructions, records: &mut [MotionVector]) {
        each_band(records, self.columns, &|row, records| {
            instructions.run(BlockRow { field: *self, row, records });
        });
    }
}

/// The records of a row of blocks.
struct BlockRow<'a> {
    field: BlockField<'a>,
    row: usize,
    records: &'a mut [MotionVector],
}

impl<E: InstructionSet> Work<E> for BlockRow<'_> {
    #[inline(always)]
    fn run(self, engine: E) {
        for (column, record) in self.records.iter_mut().enumerate() {
            let vector = self.field.vector_of_block(column, self.row).map(to_record_units);
            let quarters = (quarters(vector[0]), quarters(vector[1]));
            let cost = self.field.cost(engine, (column, self.row), quarters);
            *record = MotionVector { x: vector[0], y: vector[1], cost };
        }
    }
}

/// 64ths of a sample in the units of a record.
#[inline(always)]
fn to_record_units(component: i32) -> i16 {
    divided(component, RECORD).clamp(-i32::from(i16::MAX), i16::MAX.into()) as i16
}

/// Units of a record in quarter samples.
#[inline(always)]
fn quarters(component: i16) -> i32 {
    divided(component.into(), QUARTER)
}

/// `component / by`, rounded, halves away from zero.
#[inline(always)]
pub fn divided(component: i32, by: i32) -> i32 {
    (component + component.signum() * (by / 2)) / by
}

impl BlockField<'_> {
    /// Of the vectors of a block's cells, the one with the least sum of distances to the others.
    #[inline(always)]
    fn vector_of_block(&self, column: usize, row: usize) -> [i32; 2] {
        let side = self.block_size / self.cell_size;
        if side == 1 {
            let at = self.grid.at(column, row);
            return self.vectors.map(|components| components[at]);
        }
        let columns = side.min(self.grid.columns - column * side);
        let rows = side.min(self.grid.rows - row * side);
        let mut cells = [[0; MOST_CELLS * MOST_CELLS]; 2];
        for y in 0..rows {
            let at = self.grid.at(column * side, row * side + y);
            for (cells, components) in cells.iter_mut().zip(self.vectors) {
                cells[y * columns..][..columns].copy_from_slice(&components[at..][..columns]);
            }
        }
        let [x, y] = cells.each_ref().map(|components| &components[..columns * rows]);
        median(x, y)
    }

    /// The sum of absolute differences of a block and the reference at a vector in quarter samples.
    #[inline(always)]
    fn cost<E: InstructionSet>(&self, engine: E, (column, row): (usize, usize), vector: (i32, i32)) -> u32 {
        let (current, reference) = (self.current, self.reference);
        let (left, top) = ((column * self.block_size) as i32, (row * self.block_size) as i32);
        if self.block_size < CELL {
            return sum_of_differences::<E, 4, 1>(engine, current, reference, (left, top), vector);
        }
        let (cells, mut cost) = (self.block_size / CELL, 0);
        for y in 0..cells {
            for x in 0..cells {
                let at = (left + (x * CELL) as i32, top + (y * CELL) as i32);
                cost += sum_of_differences::<E, 8, 4>(engine, current, reference, at, vector);
            }
        }
        cost
    }
}

/// The first of the vectors whose sum of distances to the others is the least.
#[inline(always)]
fn median(x: &[i32], y: &[i32]) -> [i32; 2] {
    let (mut best, mut median) = (i32::MAX, [0; 2]);
    for (&own_x, &own_y) in x.iter().zip(y) {
        let distances = x.iter().zip(y).map(|(x, y)| (x - own_x).abs() + (y - own_y).abs());
        let sum = distances.sum();
        if sum < best {
            (best, median) = (sum, [own_x, own_y]);
        }
    }
    median
}
