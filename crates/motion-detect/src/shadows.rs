//! What differs from the model by another light alone: the shadow of a cloud, the beam of a headlight.

use std::ops::Range;

use motion_base::{SetupError, memory};

use crate::ghosts::Pictures;
use crate::regions::Blob;

/// The side of the cells whose means are compared, in samples: less noise than samples have, and as wide as the edge of an object.
const CELL: usize = 4;

/// The least side of what may be light alone, in samples.
const LEAST_SIDE: f64 = 3.0;

/// The deviations of a cell's mean that are noise: the edge of an object is steeper.
const NOISE: f32 = 2.1;

/// The share of the mean difference by which light changes from cell to cell at most.
const SOFT: f32 = 0.3;

/// The share of the mean difference by which the cells of an object's edge change in excess of that, on average.
const STEEP: f32 = 0.5;

/// The change of a dark place says little of its light: as if all were so many levels brighter.
const DARK: f32 = 8.0;

/// The means of a cell in the frame, and in the model.
#[derive(Clone, Copy, Debug, Default)]
struct Means {
    seen: f32,
    expected: f32,
}

impl Means {
    fn of(pictures: &Pictures<'_>, (left, top): (usize, usize), (gain, offset): (f32, f32)) -> Self {
        let (mut seen, mut expected) = (0.0f32, 0.0f32);
        for y in top..top + CELL {
            let row = y * pictures.width + left..y * pictures.width + left + CELL;
            for (a, b) in pictures.seen[row.clone()].iter().zip(&pictures.expected[row]) {
                seen += a;
                expected += b;
            }
        }
        let share = 1.0 / (CELL * CELL) as f32;
        Self { seen: seen * share, expected: (gain * expected * share + offset).max(0.0) }
    }

    /// How much lighter the frame is than the model.
    fn ratio(self) -> f32 {
        (self.seen + DARK) / (self.expected + DARK)
    }
}

/// Finds boxes in which nothing but the light is another one.
pub struct Shadows {
    /// The cells of a box and around it.
    cells: Vec<Means>,
}

impl Shadows {
    /// For pictures of this size.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new((width, height): (usize, usize)) -> Result<Self, SetupError> {
        Ok(Self { cells: memory::values("the light of boxes", (width / CELL) * (height / CELL))? })
    }

    /// Whether `blob` differs from the model by gains that change slowly from place to place, or evenly, without an edge that the model
    /// does not have. `light` is the gain and the offset of the whole frame.
    ///
    /// The edges of something that has come are as steep as its contrast, and end after a cell or two; those of a shadow of a cloud or of
    /// a headlight's beam do not.
    pub fn is_light(&mut self, blob: &Blob, pictures: &Pictures<'_>, light: (f32, f32)) -> bool {
        if blob.width.min(blob.height) < LEAST_SIDE {
            return false;
        }
        let across = CellRange::new(blob.x, blob.width, pictures.width);
        let down = CellRange::new(blob.y, blob.height, pictures.height);
        let columns = across.count;
        for y in 0..down.count {
            for x in 0..columns {
                let corner = (across.first + x * CELL, down.first + y * CELL);
                self.cells[y * columns + x] = Means::of(pictures, corner, light);
            }
        }
        let cells = &self.cells[..columns * down.count];
        let mut difference = 0.0f32;
        for y in down.of_box.clone() {
            for cell in &cells[y * columns..][across.of_box.clone()] {
                difference += (cell.seen - cell.expected).abs();
            }
        }
        let (of_columns, of_rows) = (across.of_box.len(), down.of_box.len());
        difference /= (of_columns * of_rows) as f32;
        let floor = NOISE * pictures.noise / CELL as f32;
        if 0.5 * difference < floor {
            return false;
        }
        let least = floor.max(SOFT * difference);
        let mut steep = 0.0f32;
        for y in down.of_box.clone() {
            let row = Line { cells: &cells[y * columns..], step: 1, count: columns };
            for x in across.pairs() {
                steep += (row.edge(x) - least).max(0.0);
            }
        }
        for x in across.of_box.clone() {
            let column = Line { cells: &cells[x..], step: columns, count: down.count };
            for y in down.pairs() {
                steep += (column.edge(y) - least).max(0.0);
            }
        }
        steep < STEEP * difference * 2.0 * (of_columns + of_rows) as f32
    }
}

/// The cells of a box on one axis, and one more on each side as far as the frame reaches.
struct CellRange {
    /// The first sample of the first cell.
    first: usize,
    count: usize,
    /// Those of the box, with its edges: at least one.
    of_box: Range<usize>,
}

impl CellRange {
    fn new(start: f64, length: f64, most: usize) -> Self {
        // From one before its start to one behind its end, or the edges there would not be seen.
        let first = (start as usize).saturating_sub(CELL);
        let end = ((start + length) as usize + CELL).min(most);
        let count = (end - first).div_ceil(CELL).min(most / CELL);
        let first = first.min(most - count * CELL);
        let before = usize::from(first >= CELL);
        let behind = usize::from(first + (count + 1) * CELL <= most);
        Self { first: first - before * CELL, count: before + count + behind, of_box: before..before + count }
    }

    /// The first cells of pairs.
    fn pairs(&self) -> Range<usize> {
        self.of_box.start..self.of_box.end - 1
    }
}

/// Cells along one axis.
struct Line<'a> {
    cells: &'a [Means],
    step: usize,
    count: usize,
}

impl Line<'_> {
    /// By how much the light changes from a cell to the next.
    fn change(&self, at: usize) -> f32 {
        self.cells[(at + 1) * self.step].ratio() - self.cells[at * self.step].ratio()
    }

    /// The height of the edge between a cell and the next, in levels: the change of the light, as far as the change before or behind differs
    /// from it. On a slope they are alike.
    fn edge(&self, at: usize) -> f32 {
        let change = self.change(at);
        let before = if at > 0 { (change - self.change(at - 1)).abs() } else { 0.0 };
        let behind = if at + 2 < self.count { (change - self.change(at + 1)).abs() } else { 0.0 };
        let level =
            0.5 * (self.cells[at * self.step].expected + self.cells[(at + 1) * self.step].expected) + DARK;
        change.abs().min(before.max(behind)) * level
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 96;

    fn judged(blob: Blob, gain: impl Fn(usize, usize) -> f32, light: (f32, f32)) -> bool {
        let texture = |at: usize| 100.0 + (at % SIZE * 7 % 23) as f32 + (at / SIZE * 5 % 19) as f32;
        let expected: Vec<f32> = (0..SIZE * SIZE).map(texture).collect();
        let seen: Vec<f32> = (0..SIZE * SIZE).map(|at| gain(at % SIZE, at / SIZE) * expected[at]).collect();
        let pictures = Pictures { width: SIZE, height: SIZE, seen: &seen, expected: &expected, noise: 1.0 };
        Shadows::new((SIZE, SIZE)).unwrap().is_light(&blob, &pictures, light)
    }

    #[test]
    fn soft_shadows_are_light_and_edges_are_not() {
        let blob = |side: f64| Blob { x: 30.0, y: 34.0, width: side, height: side, ..Blob::default() };
        // A shadow that deepens over forty samples.
        let shadow = |x: usize, _: usize| 1.0 - 0.4 * (x as f32 / 40.0).min(1.0);
        assert!(judged(blob(24.0), shadow, (1.0, 0.0)));
        let object = |x: usize, y: usize| {
            if (30..54).contains(&x) && (34..58).contains(&y) { 0.8 } else { 1.0 }
        };
        assert!(!judged(blob(24.0), object, (1.0, 0.0)));
        // Nor is one that comes in at a side, whatever it has of a cell.
        for width in 3..12 {
            let coming = |x: usize, y: usize| if x < width && (34..58).contains(&y) { 0.8 } else { 1.0 };
            let part = Blob { x: 0.0, width: width as f64, ..blob(24.0) };
            assert!(!judged(part, coming, (1.0, 0.0)), "{width}");
        }
        // In another light of the whole frame, the object is one still.
        assert!(!judged(blob(24.0), |x, y| 0.5 * object(x, y), (0.5, 0.0)));
        // Of a few samples it cannot be told.
        assert!(!judged(blob(2.0), shadow, (1.0, 0.0)));
        // The soft edge of one, lighter than the frame on one side and darker on the other.
        let edge = |x: usize, _: usize| 1.2 - 0.4 * ((x as f32 - 30.0) / 24.0).clamp(0.0, 1.0);
        assert!(judged(blob(24.0), edge, (1.0, 0.0)));
        // At the edges of the frame as well, where cells end with it.
        let crossing = |x: usize, _: usize| 1.0 + 0.02 * (x as f32 - 90.5);
        assert!(judged(Blob { x: SIZE as f64 - 3.0, width: 3.0, ..blob(24.0) }, crossing, (1.0, 0.0)));
        assert!(judged(
            Blob { x: 0.0, y: 0.0, width: 40.0, height: 96.0, ..Blob::default() },
            shadow,
            (1.0, 0.0)
        ));
    }
}
