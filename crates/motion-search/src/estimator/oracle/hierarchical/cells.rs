//! Values of cells, and vectors of cells.

use std::ops::{Add, Index};

/// The column and the row of a cell.
pub(super) type CellIndex = (i32, i32);

/// A value for each cell of a level, row-major.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cells<T> {
    columns: i32,
    rows: i32,
    values: Vec<T>,
}

impl<T: Copy> Cells<T> {
    pub(super) fn from_fn(columns: i32, rows: i32, value: impl FnMut(CellIndex) -> T) -> Self {
        let indices = (0..rows).flat_map(|y| (0..columns).map(move |x| (x, y)));
        Self { columns, rows, values: indices.map(value).collect() }
    }

    /// A value for each of the same cells.
    pub(super) fn map<U: Copy>(&self, value: impl FnMut(CellIndex) -> U) -> Cells<U> {
        Cells::from_fn(self.columns, self.rows, value)
    }

    /// The value of a cell; `None` outside the grid.
    pub(super) fn get(&self, (x, y): CellIndex) -> Option<T> {
        let is_inside = (0..self.columns).contains(&x) && (0..self.rows).contains(&y);
        is_inside.then(|| self[(x, y)])
    }

    /// The cell of the grid that is nearest to `(x, y)`.
    pub(super) fn clamped(&self, (x, y): CellIndex) -> CellIndex {
        (x.clamp(0, self.columns - 1), y.clamp(0, self.rows - 1))
    }

    /// The value of the cell of the grid that is nearest to `(x, y)`.
    pub(super) fn nearest(&self, at: CellIndex) -> T {
        self[self.clamped(at)]
    }

    /// The cells of the grid among the 3 x 3 around a cell, itself included, row by row.
    pub(super) fn around(&self, (x, y): CellIndex) -> impl Iterator<Item = CellIndex> {
        let cells = (y - 1..=y + 1).flat_map(move |y| (x - 1..=x + 1).map(move |x| (x, y)));
        cells.filter(|&at| self.get(at).is_some())
    }

    /// The cell of this grid that contains the cell at `(x, y)` of a grid of cells half as large.
    pub(super) fn parent(&self, (x, y): CellIndex) -> CellIndex {
        self.clamped((x >> 1, y >> 1))
    }

    /// The cells of this grid that are nearest to the cell at `(x, y)` of a grid of cells half as large: the parent,
    /// and the nearest in its row, in its column and diagonally.
    pub(super) fn parents(&self, (x, y): CellIndex) -> [CellIndex; 4] {
        let (parent_x, parent_y) = self.parent((x, y));
        let towards = |coordinate: i32| if coordinate & 1 == 1 { 1 } else { -1 };
        let (beside_x, beside_y) = (parent_x + towards(x), parent_y + towards(y));
        [(parent_x, parent_y), (beside_x, parent_y), (parent_x, beside_y), (beside_x, beside_y)]
            .map(|at| self.clamped(at))
    }
}

impl<T> Index<CellIndex> for Cells<T> {
    type Output = T;

    fn index(&self, (x, y): CellIndex) -> &T {
        &self.values[y as usize * self.columns as usize + x as usize]
    }
}

/// A vector of a cell: in quarter samples of its level up to pass 8, in 1/64 sample from pass 9 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CellVector {
    pub(super) x: i32,
    pub(super) y: i32,
}

impl CellVector {
    pub(super) fn new(x: i32, y: i32) -> Self {
        Self { x, y }
    }

    /// The vector, `factor` times as long.
    pub(super) fn times(self, factor: i32) -> Self {
        Self { x: factor * self.x, y: factor * self.y }
    }

    /// The vector in units `divisor` times as large, rounded to the nearest, a half away from zero.
    pub(super) fn rounded_to(self, divisor: i32) -> Self {
        let component = |value: i32| value.signum() * ((value.abs() + divisor / 2) / divisor);
        Self { x: component(self.x), y: component(self.y) }
    }

    /// `|x| + |y|`.
    pub(super) fn length(self) -> i32 {
        self.x.abs() + self.y.abs()
    }

    /// The length of the difference of two vectors.
    pub(super) fn distance(self, other: Self) -> i32 {
        (self + other.times(-1)).length()
    }
}

impl Add for CellVector {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { x: self.x + other.x, y: self.y + other.y }
    }
}
