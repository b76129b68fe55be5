//! Halldal's recurrence on the CPU: the definition of the kernels `recurrence_*` of `prediction.cl`.
//!
//! M. F. Halldal, "Exploring computational capabilities of GPUs using H.264 prediction algorithms" (2012),
//! listing 6.5:
//!
//! ```text
//! d[i] = v[i] - median(d[left of i], d[above i], d[above and left of i])
//! ```
//!
//! for each component. Every difference needs three earlier differences: that dependency is what the
//! thesis measures. The text of its section 5.2, like H.264, takes the median of *vectors*, to the
//! left, above and above to the *right*. All vectors are known after the search, so that prediction
//! ([`motion_search::estimator::prediction`]) has no dependency between blocks.
//!
//! The listing does not define two cases. A neighbour outside the grid, where it reads before its
//! array, counts as zero here. A difference is 16 bits wide, like a vector, and wraps around; nothing
//! is lost, because `d + median`, wrapped in the same way, is the vector again.

use motion_search::estimator::prediction::median;
use motion_search::estimator::{Grid, MotionVector};

/// Writes the differences of `vectors`, x and y in quarter samples, to `differences`. Both are
/// `rows × columns`, row-major. This is also the thesis' version for the CPU.
///
/// # Panics
/// If either slice does not have one record per block.
pub fn serial(grid: Grid, vectors: &[MotionVector], differences: &mut [[i16; 2]]) {
    assert_eq!((vectors.len(), differences.len()), (grid.blocks(), grid.blocks()), "one record per block");
    let columns = grid.columns;
    for (index, vector) in vectors.iter().enumerate() {
        let (has_left, has_above) = (!index.is_multiple_of(columns), index >= columns);
        let at = |is_inside: bool, back: usize| if is_inside { differences[index - back] } else { [0; 2] };
        let left = at(has_left, 1);
        let above = at(has_above, columns);
        let above_left = at(has_left && has_above, columns + 1);
        let median = |axis: usize| median(left[axis], above[axis], above_left[axis]);
        differences[index] = [vector.x.wrapping_sub(median(0)), vector.y.wrapping_sub(median(1))];
    }
}
