//! What differs from the model by another light alone: the shadow of a cloud, the beam of a headlight.

use crate::ghosts::Pictures;
use crate::regions::Blob;

/// The side of the cells whose means are compared, in samples: less noise than samples have, and as wide as the edge of an object.
const CELL: usize = 4;

/// The least side and area of what may be light alone, in samples.
const LEAST_SIDE: f64 = 3.0;
const LEAST_AREA: f64 = 20.0;

/// The deviations of a cell's mean that are noise: the edge of an object is steeper.
const NOISE: f32 = 2.1;

/// The share of the mean difference by which light changes from cell to cell at most.
const SOFT: f32 = 0.3;

/// The share of the mean difference by which the cells of an object's edge change in excess of that, on average.
const STEEP: f32 = 0.3;

/// The change of a dark place says little of its light: as if all were so many levels brighter.
const DARK: f32 = 8.0;

/// The means of a cell in the frame, and in the model.
#[derive(Clone, Copy)]
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

/// Whether `blob` differs from the model by gains that change slowly from place to place, without an edge that the model does not have.
/// `light` is the gain and the offset of the whole frame.
///
/// The edges of something that has come are as steep as its contrast; those of a shadow of a cloud or of a headlight's beam are not.
pub fn is_light(blob: &Blob, pictures: &Pictures<'_>, light: (f32, f32)) -> bool {
    if blob.area() < LEAST_AREA || blob.width.min(blob.height) < LEAST_SIDE {
        return false;
    }
    let first = |start: f64| (start as usize).saturating_sub(CELL);
    let count = |start: f64, length: f64, most: usize| {
        // One more behind its end, or the edge there would not be seen.
        let cells = ((start + length) as usize + CELL - first(start)).div_ceil(CELL);
        cells.min((most - first(start)) / CELL)
    };
    let (left, top) = (first(blob.x), first(blob.y));
    let columns = count(blob.x, blob.width, pictures.width);
    let rows = count(blob.y, blob.height, pictures.height);
    let cell = |x: usize, y: usize| Means::of(pictures, (left + x * CELL, top + y * CELL), light);
    let mut difference = 0.0f32;
    for y in 0..rows {
        for x in 0..columns {
            let Means { seen, expected } = cell(x, y);
            difference += (seen - expected).abs();
        }
    }
    difference /= (columns * rows).max(1) as f32;
    let floor = NOISE * pictures.noise / CELL as f32;
    if 0.5 * difference < floor {
        return false;
    }
    let least = floor.max(SOFT * difference);
    let mut steep = 0.0f32;
    for y in 0..rows {
        for x in 0..columns {
            let here = cell(x, y);
            let excess = |other: Means| {
                let level = 0.5 * (here.expected + other.expected) + DARK;
                ((here.ratio() - other.ratio()).abs() * level - least).max(0.0)
            };
            if x + 1 < columns {
                steep += excess(cell(x + 1, y));
            }
            if y + 1 < rows {
                steep += excess(cell(x, y + 1));
            }
        }
    }
    steep < STEEP * difference * 2.0 * (columns + rows) as f32
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
        is_light(&blob, &pictures, light)
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
        // At the edges of the frame as well.
        assert!(judged(
            Blob { x: 0.0, y: 0.0, width: 40.0, height: 96.0, ..Blob::default() },
            shadow,
            (1.0, 0.0)
        ));
    }
}
