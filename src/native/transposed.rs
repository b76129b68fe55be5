//! Columns and rows exchanged: the few columns of candidates that whole registers leave over, as
//! ±16 leaves one of 33, become rows of candidates, which are compared a register at a time.

#[cfg(target_arch = "x86_64")]
use super::sse2::Row;
use super::tile::{COLUMNS, PART, READ, Task};

/// Samples from one row to the next of what is exchanged: as many as may be read.
const PITCH: usize = READ;

/// The most columns of candidates that are exchanged at once.
pub(super) const MOST_COLUMNS: usize = COLUMNS / 4;

/// Sides of the squares that are exchanged one by one.
const SQUARE: usize = 16;

/// Samples of a row of such a square.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Clone, Copy)]
struct Row([u8; SQUARE]);

#[cfg(not(target_arch = "x86_64"))]
impl Row {
    fn from(samples: [u8; SQUARE]) -> Self {
        Self(samples)
    }

    fn into(self) -> [u8; SQUARE] {
        self.0
    }

    /// A sample of the one and a sample of the other in turn, in two rows.
    #[inline(always)]
    fn interleaved(self, other: Self) -> [Self; 2] {
        let half = |start| Self(std::array::from_fn(|x| [self, other][x % 2].0[start + x / 2]));
        [half(0), half(SQUARE / 2)]
    }
}

/// Room for a part and its candidates.
pub(super) struct Transposed {
    current: [u8; PART * PITCH],
    reference: [u8; 2 * PART * PITCH],
}

impl Transposed {
    pub(super) fn new() -> Self {
        const { assert!(PART + MOST_COLUMNS <= 2 * PART && PART + COLUMNS <= PITCH) };
        Self { current: [0; PART * PITCH], reference: [0; 2 * PART * PITCH] }
    }

    /// `task` with rows for columns: its candidate at row `v` and column `u` is at row `u` and
    /// column `v` now. At most [`COLUMNS`] rows and [`MOST_COLUMNS`] columns of candidates.
    #[inline(always)]
    pub(super) fn of(&mut self, task: &Task<'_>) -> Task<'_> {
        let part = (task.width(), task.height());
        transpose(task.current(), task.pitch(), part, &mut self.current);
        let area = (task.width() + task.columns() - 1, task.height() + task.rows() - 1);
        transpose(task.reference(), task.pitch(), area, &mut self.reference);
        let samples = (&self.current[..], &self.reference[..], PITCH);
        Task::new(samples, (task.height(), task.width()), (task.columns(), task.rows()))
    }
}

/// Writes the samples of column `x` to row `x` of `to`; what lies outside `width × height` in the
/// last squares is anything.
#[inline(always)]
fn transpose(from: &[u8], pitch: usize, (width, height): (usize, usize), to: &mut [u8]) {
    for left in (0..width).step_by(SQUARE) {
        for top in (0..height).step_by(SQUARE) {
            let mut rows = [[0; SQUARE]; SQUARE];
            for (row, y) in rows.iter_mut().zip(top..height) {
                let samples = &from[y * pitch + left..];
                match samples.first_chunk() {
                    Some(samples) => *row = *samples,
                    // The last row of a narrow part.
                    None => (0..SQUARE).for_each(|x| row[x] = samples.get(x).copied().unwrap_or(0)),
                }
            }
            for (x, column) in transposed(rows).into_iter().enumerate() {
                to[(left + x) * PITCH + top..][..SQUARE].copy_from_slice(&column);
            }
        }
    }
}

/// Rows for columns: four times every row is interleaved with the one half a square further down.
#[inline(always)]
fn transposed(rows: [[u8; SQUARE]; SQUARE]) -> [[u8; SQUARE]; SQUARE] {
    let mut mixed = [Row::from(rows[0]); SQUARE];
    for (i, row) in rows.iter().enumerate() {
        mixed[i] = Row::from(*row);
    }
    for _ in 0..SQUARE.ilog2() {
        let rows = mixed;
        for i in 0..SQUARE / 2 {
            [mixed[2 * i], mixed[2 * i + 1]] = rows[i].interleaved(rows[i + SQUARE / 2]);
        }
    }
    let mut columns = rows;
    for (i, row) in mixed.iter().enumerate() {
        columns[i] = Row::into(*row);
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        let sample = |x: usize, y: usize| (x * 7 + y * 31) as u8;
        let (width, height, pitch) = (21, 47, 64);
        let from: Vec<u8> = (0..height * pitch).map(|i| sample(i % pitch, i / pitch)).collect();
        let mut to = [0; 2 * PART * PITCH];
        // The last row ends early, as that of a part does.
        transpose(&from[..(height - 1) * pitch + width], pitch, (width, height), &mut to);
        for x in 0..width {
            for y in 0..height {
                assert_eq!(to[x * PITCH + y], sample(x, y), "{x}, {y}");
            }
        }
    }
}
