//! Halldal's dependent recurrence: a prediction that cannot be made for all blocks at once.
//!
//! T. Halldal, "H.264 prediction on GPUs" (2012), listing 6.5:
//!
//! ```text
//! d[i] = v[i] - median(d[left of i], d[above i], d[above and left of i])
//! ```
//!
//! for each component. Each difference needs three others first: that is what the thesis measures.
//!
//! The text of his section 5.2 (and H.264) has it otherwise: the median is that of the *vectors* to
//! the left, above and above to the *right*. Since all vectors are known once the search is done,
//! the predictors of [`super::prediction`] depend on nothing and any number is made at a time. The
//! recurrence is here because it is what was measured, and to compare the two.
//!
//! The listing does not say what holds at the edges, where it reads before its array: a missing
//! neighbour counts as zero here. Nor does it say what happens when a difference does not fit:
//! where signs alternate along the diagonals its size grows with every diagonal. Differences here
//! are 16 bits wide, as the vectors are, and wrap around. They lose nothing by it: `d + median`,
//! wrapped in the same way, is the vector.

use super::prediction::median;
use super::{EstimateError, Grid, MotionVector};

/// What is left of a vector when its prediction is taken off: 4 bytes in host byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Difference {
    /// To the right, in quarter samples.
    pub x: i16,
    /// Down, in quarter samples.
    pub y: i16,
}

/// Writes the differences of `vectors` to `differences`, both `rows × columns`, row-major, one
/// block after the other: the definition, and the thesis' version for the CPU.
///
/// # Errors
/// [`EstimateError::FieldSize`] where either has not one record a block.
pub fn serial(
    grid: Grid,
    vectors: &[MotionVector],
    differences: &mut [Difference],
) -> Result<(), EstimateError> {
    grid.check(vectors)?;
    grid.check(differences)?;
    let columns = grid.columns;
    for index in 0..grid.blocks() {
        let is_first_column = index.is_multiple_of(columns);
        let at = |back: usize, is_missing: bool| {
            if is_missing { Difference::default() } else { differences[index - back] }
        };
        let left = at(1, is_first_column);
        let above = at(columns, index < columns);
        let above_left = at(columns + 1, is_first_column || index < columns);
        let MotionVector { x, y, .. } = vectors[index];
        differences[index] = Difference {
            x: x.wrapping_sub(median(left.x, above.x, above_left.x)),
            y: y.wrapping_sub(median(left.y, above.y, above_left.y)),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(grid: Grid, vectors: &[(i16, i16)]) -> Vec<(i16, i16)> {
        let vectors: Vec<_> = vectors.iter().map(|&(x, y)| MotionVector { x, y, cost: 1 }).collect();
        let mut found = vec![Difference { x: -1, y: -1 }; vectors.len()];
        serial(grid, &vectors, &mut found).unwrap();
        found.into_iter().map(|Difference { x, y }| (x, y)).collect()
    }

    #[test]
    fn a_field_by_hand() {
        let grid = Grid { columns: 3, rows: 2 };
        let found = differences(grid, &[(4, -4), (9, 1), (-3, 2), (8, 8), (10, 0), (0, 5)]);
        // The first row and the first column have two zeros in the median, which is then zero.
        assert_eq!(found[..4], [(4, -4), (9, 1), (-3, 2), (8, 8)]);
        // Medians of 8, 9, 4 and 8, 1, -4; then of 2, -3, 9 and -1, 2, 1.
        assert_eq!(found[4..], [(2, -1), (-2, 4)]);
    }

    #[test]
    fn differences_wrap_and_the_vectors_come_back() {
        let grid = Grid { columns: 9, rows: 9 };
        let sign = |index: usize| if (index % 9 + index / 9).is_multiple_of(2) { 1 } else { -1 };
        let vectors: Vec<_> = (0..81).map(|index| (8000 * sign(index), -7000 * sign(index))).collect();
        let found = differences(grid, &vectors);
        let diagonal: Vec<_> = (0..5).map(|index| i32::from(found[10 * index].0)).collect();
        assert_eq!(diagonal, [8000, 16000, 24000, 32000, 40000 - 65536]);
        let back = |index: usize, component: fn((i16, i16)) -> i16| {
            let at = |back: usize| {
                if !index.is_multiple_of(9) && index >= 9 { component(found[index - back]) } else { 0 }
            };
            component(found[index]).wrapping_add(median(at(1), at(9), at(10)))
        };
        for (index, &(x, y)) in vectors.iter().enumerate() {
            assert_eq!((back(index, |d| d.0), back(index, |d| d.1)), (x, y), "{index}");
        }
    }

    #[test]
    fn wrong_lengths_are_errors() {
        let grid = Grid { columns: 2, rows: 2 };
        let (vectors, mut room) = ([MotionVector::default(); 4], [Difference::default(); 4]);
        assert!(matches!(serial(grid, &vectors[1..], &mut room), Err(EstimateError::FieldSize(3, 4))));
        assert!(matches!(serial(grid, &vectors, &mut room[1..]), Err(EstimateError::FieldSize(3, 4))));
        let none = Grid::default();
        assert!(serial(none, &[], &mut []).is_ok());
    }
}
