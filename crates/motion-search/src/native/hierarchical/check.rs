//! The check of a field with the field of the other direction, and the replacement of vectors that fail it.

use crate::estimator::SetupError;
use crate::native::hierarchical::grid::CellGrid;
use crate::native::hierarchical::weights::{LARGEST_WEIGHT, NeighbourWeights};
use motion_base::hierarchy::{CELL, NEIGHBOURS};
use motion_base::memory::values;

/// How often the neighbours of a cell are asked for a vector.
const ROUNDS: usize = 8;

/// Good cells that a cell needs around it to get a vector from them.
const ENOUGH: usize = 2;

/// A longer vector may miss its way back by this part of its length: `length >> SLACK`.
const SLACK: u32 = 5;

/// The unit of the vectors that are checked, and how well they have to agree.
#[derive(Clone, Copy, Debug)]
pub struct Agreement {
    /// Units of a sample.
    pub units: i32,
    /// Units by which the way back may miss.
    pub tolerance: i32,
}

/// The components of the vectors of a field.
pub type Components<'a, T> = [&'a [T]; 2];

/// Which cells are good, and room to work in.
pub struct Checker {
    /// 1 for cells that are; margins are not.
    good: Vec<u8>,
    /// The indices of those that are not yet.
    open: Vec<u32>,
    /// The indices of cells that become good, with the index of the cell whose vector they take.
    found: Vec<(u32, u32)>,
}

impl Checker {
    /// Room for the cells of `grid`.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(grid: &CellGrid) -> Result<Self, SetupError> {
        let cells = grid.cells();
        Ok(Self { good: grid.values()?, open: values("cells", cells)?, found: values("cells", cells)? })
    }

    /// Finds which vectors of `field` agree with those of `back`, the field of the reference frame.
    pub fn check<T: Copy + Into<i32>>(
        &mut self,
        grid: &CellGrid,
        agreement: Agreement,
        field: Components<'_, T>,
        back: Components<'_, T>,
    ) {
        self.open.clear();
        // The margins of this grid were cells of another level's.
        self.good[..grid.length()].fill(0);
        for row in 0..grid.rows {
            for column in 0..grid.columns {
                let at = grid.at(column, row);
                let vector = field.map(|components| components[at].into());
                let target = target(grid, agreement.units, (column, row), vector);
                let agrees = target.is_some_and(|target| {
                    let back = back.map(|components| components[target].into());
                    let missed = (vector[0] + back[0]).abs() + (vector[1] + back[1]).abs();
                    missed < agreement.tolerance + ((vector[0].abs() + vector[1].abs()) >> SLACK)
                });
                self.good[at] = u8::from(agrees);
                if !agrees {
                    self.open.push(at as u32);
                }
            }
        }
    }

    /// Replaces the vectors of `field` that did not agree by the medians of good ones around them, as far as
    /// there are.
    pub fn refill<T: Copy + Into<i32>>(
        &mut self,
        grid: &CellGrid,
        weights: &NeighbourWeights,
        field: [&mut [T]; 2],
    ) {
        let [x, y] = field;
        for _ in 0..ROUNDS {
            let Self { good, open, found } = self;
            found.clear();
            open.retain(|at| {
                let median = median_of_good(grid, weights, good, [x, y], *at as usize);
                found.extend(median.map(|from| (*at, from as u32)));
                median.is_none()
            });
            // A cell that becomes good now did not yet serve others: no vector that is read here is written.
            for (at, from) in found.drain(..) {
                (x[at as usize], y[at as usize]) = (x[from as usize], y[from as usize]);
                good[at as usize] = 1;
            }
        }
    }
}

/// The index of the cell in which the centre of a cell lies once moved by `vector`.
#[inline(always)]
fn target(grid: &CellGrid, units: i32, (column, row): (usize, usize), vector: [i32; 2]) -> Option<usize> {
    let cell = CELL as i32 * units;
    let moved = |cells: usize, component: i32| cells as i32 * cell + cell / 2 + component;
    let (x, y) = (moved(column, vector[0]), moved(row, vector[1]));
    let (column, row) = (usize::try_from(x).ok()? / cell as usize, usize::try_from(y).ok()? / cell as usize);
    (column < grid.columns && row < grid.rows).then(|| grid.at(column, row))
}

/// The index of the cell whose vector is the weighted median of the good ones around a cell, if they are enough.
fn median_of_good<T: Copy + Into<i32>>(
    grid: &CellGrid,
    weights: &NeighbourWeights,
    good: &[u8],
    [x, y]: Components<'_, T>,
    at: usize,
) -> Option<usize> {
    let (mut around, mut count) = ([(0, 0, 0, 0); 9], 0);
    for (across, down) in (-1..=1).flat_map(|down| (-1..=1).map(move |across| (across, down))) {
        let other = grid.beside(at, (across, down));
        if good[other] == 1 {
            let k = NEIGHBOURS.iter().position(|neighbour| *neighbour == (across, down));
            let weight = k.map_or(LARGEST_WEIGHT, |k| weights.one(grid, at, k));
            around[count] = (other, x[other].into(), y[other].into(), i32::from(weight));
            count += 1;
        }
    }
    let around = &around[..count];
    let distances = |&(_, x, y, _): &(usize, i32, i32, i32)| {
        let weighted = around.iter().map(|other| other.3 * ((x - other.1).abs() + (y - other.2).abs()));
        weighted.sum::<i32>()
    };
    // The first of equal ones.
    around.iter().min_by_key(|cell| distances(cell)).filter(|_| count >= ENOUGH).map(|cell| cell.0)
}
