use std::ops::Range;

use super::{EstimateError, Grid, Parameters, Window};

/// A part of a search: some rows of the grid, and some displacements of the window.
///
/// The displacements of a window are numbered row by row, from the top left one on.
///
/// Several devices may search the parts of one search. Parts with different rows of blocks are adjacent bands of the
/// field. Of parts with different displacements, each block gets the better vector
/// ([`MotionVector::better`](super::MotionVector::better)). A block without an admissible displacement in the part gets
/// a vector of cost [`u32::MAX`], which no match has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    first_row: usize,
    end_row: usize,
    first_displacement: usize,
    end_displacement: usize,
}

impl Part {
    /// The whole search.
    ///
    /// # Panics
    /// If the block size is 0, which [`Parameters::validate`] refuses.
    pub fn whole(parameters: &Parameters) -> Self {
        Self {
            first_row: 0,
            end_row: parameters.grid().rows,
            first_displacement: 0,
            end_displacement: parameters.window.candidates(),
        }
    }

    /// The same for these rows of blocks only.
    #[must_use]
    pub fn with_rows(self, rows: Range<usize>) -> Self {
        Self { first_row: rows.start, end_row: rows.end, ..self }
    }

    /// The same for the displacements with these numbers only.
    #[must_use]
    pub fn with_displacements(self, numbers: Range<usize>) -> Self {
        Self { first_displacement: numbers.start, end_displacement: numbers.end, ..self }
    }

    /// The rows of blocks.
    pub fn rows(&self) -> Range<usize> {
        self.first_row..self.end_row
    }

    /// The numbers of its displacements.
    pub fn displacements(&self) -> Range<usize> {
        self.first_displacement..self.end_displacement
    }

    /// Its share of the grid.
    ///
    /// # Panics
    /// If the block size is 0, which [`Parameters::validate`] refuses.
    pub fn grid(&self, parameters: &Parameters) -> Grid {
        Grid { columns: parameters.grid().columns, rows: self.end_row.saturating_sub(self.first_row) }
    }

    /// The rows of `window` that hold its displacements, which are those of `parameters`. `window` may be smaller than that
    /// of `parameters`.
    pub(crate) fn window(&self, parameters: &Parameters, window: &Window) -> Window {
        let all = parameters.window;
        let y = |number: usize| all.y0() + (number / all.columns()) as i32;
        window.with_rows(y(self.first_displacement), y(self.end_displacement.saturating_sub(1)))
    }

    /// The numbers that its displacements, which are those of `parameters`, have in `window`; all of `window` if its rows
    /// have other displacements.
    #[cfg(any(feature = "opencl", test))]
    pub(crate) fn displacements_in(&self, parameters: &Parameters, window: &Window) -> Range<usize> {
        let (all, count) = (parameters.window, window.candidates());
        let before = (i64::from(window.y0()) - i64::from(all.y0())) * all.columns() as i64;
        let number = |number: usize| (number as i64 - before).clamp(0, count as i64) as usize;
        let found = number(self.first_displacement)..number(self.end_displacement);
        let has_whole_rows = (all.x0(), all.x1()) == (window.x0(), window.x1());
        if has_whole_rows && !found.is_empty() { found } else { 0..count }
    }

    /// Checks that it is a part of the search of `parameters`, and not empty.
    ///
    /// # Errors
    /// [`EstimateError::NoSuchPart`], also if the displacements of a search are divided that goes from one to the next
    /// or on from the best of them, or anything of one that searches whole frames.
    ///
    /// # Panics
    /// If the block size is 0, which [`Parameters::validate`] refuses.
    pub fn check(&self, parameters: &Parameters) -> Result<(), EstimateError> {
        let whole = Self::whole(parameters);
        let is_divisible = parameters.algorithm.divides_rows();
        let has_rows = self.first_row < self.end_row && self.end_row <= whole.end_row;
        let has_rows = has_rows && (is_divisible || self.rows() == whole.rows());
        let has_displacements = self.first_displacement < self.end_displacement
            && self.end_displacement <= whole.end_displacement;
        let can_be_cut = parameters.divides_displacements() || self.displacements() == whole.displacements();
        if has_rows && has_displacements && can_be_cut {
            Ok(())
        } else {
            Err(EstimateError::NoSuchPart { rows: self.rows(), displacements: self.displacements() })
        }
    }

    /// The rows of the current frame that are compared.
    pub fn current_samples(&self, parameters: &Parameters) -> Range<usize> {
        self.reached(parameters, 0, 0)
    }

    /// The rows of the reference frame that are compared, at least one.
    ///
    /// Rows outside the frame repeat its first or last row, which is then included.
    pub fn reference_samples(&self, parameters: &Parameters) -> Range<usize> {
        // Those of the whole window: a device may compare more displacements than those of the part. None of
        // them is better than the result of the whole search.
        let reach = parameters.sub_sample.reach() as i32;
        self.reached(parameters, parameters.window.y0() - reach, parameters.window.y1() + reach)
    }

    /// The rows inside the frame from `up` above the blocks, a negative number, to `down` below them; all of an
    /// algorithm that searches whole frames.
    fn reached(&self, parameters: &Parameters, up: i32, down: i32) -> Range<usize> {
        if !parameters.algorithm.divides_rows() {
            return 0..parameters.height;
        }
        let last = parameters.height.max(1) as i64 - 1;
        let sample = |row: usize| row.saturating_mul(parameters.block_size).min(i64::MAX as usize) as i64;
        let first = sample(self.first_row).saturating_add(i64::from(up));
        let end = sample(self.end_row).saturating_add(i64::from(down));
        first.clamp(0, last) as usize..end.clamp(1, last + 1) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::{Algorithm, SubSample};

    fn parameters() -> Parameters {
        Parameters::new(61, 47, 8, Window::new(-3, 3, -10, 4).unwrap())
    }

    #[test]
    fn samples_of_a_part_stay_in_the_frame() {
        let parameters = parameters();
        let whole = Part::whole(&parameters);
        assert_eq!(whole.rows(), 0..6);
        assert_eq!(whole.current_samples(&parameters), 0..47);
        assert_eq!(whole.reference_samples(&parameters), 0..47);
        let middle = whole.with_rows(2..4);
        assert_eq!(middle.grid(&parameters), Grid { columns: 8, rows: 2 });
        assert_eq!(middle.current_samples(&parameters), 16..32);
        assert_eq!(middle.reference_samples(&parameters), 6..36);
        assert_eq!(middle.with_displacements(84..105).reference_samples(&parameters), 6..36);
        assert_eq!(whole.with_rows(5..6).with_displacements(98..105).reference_samples(&parameters), 30..47);
        assert_eq!(whole.with_rows(0..1).with_displacements(0..14).reference_samples(&parameters), 0..12);
        let half = Parameters { sub_sample: SubSample::Half, ..parameters.clone() };
        assert_eq!(middle.reference_samples(&half), 3..39);
        assert_eq!(middle.current_samples(&half), 16..32);
        let low = Parameters { height: 41, ..parameters };
        assert_eq!(whole.with_rows(5..6).with_displacements(98..105).reference_samples(&low), 30..41);
    }

    #[test]
    fn displacements_are_found_in_smaller_windows() {
        // Rows of 7 displacements, from y = -10 on.
        let parameters = parameters();
        let part = Part::whole(&parameters).with_displacements(16..30);
        let rows = part.window(&parameters, &parameters.window);
        assert_eq!((rows.x0(), rows.x1(), rows.y0(), rows.y1()), (-3, 3, -8, -6));
        assert_eq!(part.displacements_in(&parameters, &rows), 2..16);
        assert_eq!(part.displacements_in(&parameters, &parameters.window), 16..30);
        // Its last row alone, and a row that it does not have.
        assert_eq!(part.displacements_in(&parameters, &rows.with_rows(-6, -6)), 0..2);
        assert_eq!(part.displacements_in(&parameters, &parameters.window.with_rows(4, 4)), 0..7);
        // Narrower rows.
        let narrow = rows.clipped(-2..=2, -20..=20);
        assert_eq!(part.displacements_in(&parameters, &narrow), 0..15);
    }

    #[test]
    fn parts_of_other_searches_are_refused() {
        let parameters = parameters();
        let whole = Part::whole(&parameters);
        assert!(whole.check(&parameters).is_ok());
        assert!(whole.with_rows(5..6).with_displacements(104..105).check(&parameters).is_ok());
        for wrong in [
            whole.with_rows(3..3),
            whole.with_rows(5..7),
            whole.with_displacements(0..106),
            whole.with_displacements(105..106),
            whole.with_displacements(3..3),
            whole.with_displacements(Range { start: 3, end: 2 }),
        ] {
            assert!(
                matches!(wrong.check(&parameters), Err(EstimateError::NoSuchPart { rows, .. }) if rows == wrong.rows())
            );
        }
        let three_step = Parameters { algorithm: Algorithm::ThreeStep, ..parameters.clone() };
        assert!(whole.with_rows(1..2).check(&three_step).is_ok());
        assert!(whole.with_displacements(70..105).check(&three_step).is_err());
        let half = Parameters { sub_sample: SubSample::Half, ..parameters.clone() };
        assert!(whole.with_rows(1..2).check(&half).is_ok());
        assert!(whole.with_displacements(70..105).check(&half).is_err());
        let hierarchical = Parameters { algorithm: Algorithm::Hierarchical, ..three_step };
        assert!(whole.check(&hierarchical).is_ok());
        assert!(whole.with_rows(1..2).check(&hierarchical).is_err());
    }
}
