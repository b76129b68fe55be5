//! Prediction of motion vectors: what a decoder knows of a vector before it is sent.
//!
//! Neighbouring blocks move alike, so encoders send the difference from a predictor made of the
//! vectors sent before. This is the median prediction of H.264 (ITU-T H.264, 8.4.1.3) for blocks
//! of one partition and one reference frame. M. F. Halldal's thesis (2012, section 5.2) describes
//! it; what he measures is another recurrence (`benches/src/papers/halldal/recurrence.rs`).
//!
//! # The rule
//!
//! A is the block to the left, B the one above, C above and to the right, D above and to the left.
//! A block outside the grid is not *available*. With one reference frame every available block
//! refers to the frame that the current block refers to, and the standard's comparison of
//! reference indexes asks for availability alone. In this order:
//!
//! 1. Where C is not available, D takes its place (8.4.1.3.2).
//! 2. Where then neither B nor C is available and A is, A's vector takes the place of both
//!    (8.4.1.3.1).
//! 3. Where exactly one of A, B and C is available, its vector is the predictor.
//! 4. Else each component is the median of the three, a block not available counting as zero.
//!
//! The cases that follow, and no others:
//!
//! | block | available | predictor |
//! |---|---|---|
//! | the first of all | none | zero |
//! | first row, any other | A | A (rule 2) |
//! | first column, below, of several columns | B, C | median of zero, B, C |
//! | any below the first, of one column | B | B (rule 3) |
//! | last column, below, of several columns | A, B, D for C | median of A, B, D |
//! | all others | A, B, C | median of A, B, C |
//!
//! An encoder's own slices and intra blocks change what is available there; the grid knows of
//! neither.

use crate::{Grid, MotionVector};

/// Whether and how vectors are predicted from their neighbours, beside being found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Prediction {
    /// They are not.
    #[default]
    None,
    /// By the median of H.264: see the [module](self).
    Median,
}

/// What a block's vector is expected to be: 4 bytes in host byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(C)]
pub struct Predictor {
    /// To the right, in the units of the vectors.
    pub x: i16,
    /// Down, in the units of the vectors.
    pub y: i16,
}

impl Predictor {
    /// The median of three, each component by itself.
    #[inline]
    pub fn median(a: Self, b: Self, c: Self) -> Self {
        Self { x: median(a.x, b.x, c.x), y: median(a.y, b.y, c.y) }
    }
}

impl From<MotionVector> for Predictor {
    fn from(vector: MotionVector) -> Self {
        Self { x: vector.x, y: vector.y }
    }
}

/// The middle one of three.
#[inline]
pub fn median(a: i16, b: i16, c: i16) -> i16 {
    a.min(b).max(a.max(b).min(c))
}

/// The predictors of `vectors`, `rows × columns`, row-major: the definition, one block after the
/// other. It is not meant to be fast.
///
/// # Panics
/// Where there is not one vector a block.
pub fn median_predictors(grid: Grid, vectors: &[MotionVector]) -> Vec<Predictor> {
    assert_eq!(vectors.len(), grid.blocks(), "one vector a block");
    let at = |column: Option<usize>, row: Option<usize>| {
        let (column, row) = (column.filter(|&column| column < grid.columns)?, row?);
        Some(Predictor::from(vectors[row * grid.columns + column]))
    };
    let predictor = |index: usize| {
        let (column, row) = (index % grid.columns, index / grid.columns);
        let (left, above) = (column.checked_sub(1), row.checked_sub(1));
        let a = at(left, Some(row));
        let mut b = at(Some(column), above);
        let d = at(left, above);
        let mut c = at(Some(column + 1), above).or(d);
        if b.is_none() && c.is_none() {
            (b, c) = (a, a);
        }
        match (a, b, c) {
            (Some(only), None, None) | (None, Some(only), None) | (None, None, Some(only)) => only,
            _ => Predictor::median(a.unwrap_or_default(), b.unwrap_or_default(), c.unwrap_or_default()),
        }
    };
    (0..grid.blocks()).map(predictor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predictors(columns: usize, rows: usize, vectors: &[(i16, i16)]) -> Vec<(i16, i16)> {
        let vectors: Vec<_> = vectors.iter().map(|&(x, y)| MotionVector { x, y, cost: 9 }).collect();
        let found = median_predictors(Grid { columns, rows }, &vectors);
        found.into_iter().map(|Predictor { x, y }| (x, y)).collect()
    }

    #[test]
    fn median_is_the_middle_one_in_any_order() {
        for [a, b, c] in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(median(a, b, c), 1);
        }
        assert_eq!(median(i16::MIN, i16::MAX, -4), -4);
        assert_eq!(median(7, 7, -9), 7);
    }

    #[test]
    fn every_case_of_the_table_by_hand() {
        // The first row: nothing, then the left neighbour, though the median with two zeros is zero.
        assert_eq!(predictors(3, 1, &[(5, -6), (8, 1), (2, 2)]), [(0, 0), (5, -6), (8, 1)]);
        // One column: the block above alone.
        assert_eq!(predictors(1, 3, &[(5, -6), (8, 1), (2, 2)]), [(0, 0), (5, -6), (8, 1)]);
        let found = predictors(3, 2, &[(4, 40), (-8, 20), (12, -4), (16, 8), (3, 5), (1, 1)]);
        // First column: zero, (4, 40), (-8, 20).
        assert_eq!(found[3], (0, 20));
        // Inside: (16, 8), (-8, 20), (12, -4).
        assert_eq!(found[4], (12, 8));
        // Last column: (3, 5), (12, -4) and, in the place of what is missing, (-8, 20).
        assert_eq!(found[5], (3, 5));
        // Two columns: the second is the last, and the first has a neighbour above to the right.
        assert_eq!(predictors(2, 2, &[(4, 4), (8, -8), (6, 6), (0, 0)])[2..], [(4, 0), (6, 4)]);
        assert_eq!(predictors(0, 0, &[]), []);
    }
}
