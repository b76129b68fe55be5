use std::ops::{Range, RangeInclusive};

use super::{Algorithm, EstimateError, Grid, Parameters, Window};

/// A part of a search: some rows of the grid, and some rows of the window.
///
/// Parts of one search may be found by several estimators. Those of other rows of blocks lie side
/// by side in the field; of those of other displacements, the better of each block by
/// [`OrderKey`](super::OrderKey) counts. A block for which no displacement of the part counts gets
/// a vector of cost [`u32::MAX`], which no other has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    first_row: usize,
    end_row: usize,
    first_y: i32,
    last_y: i32,
}

impl Part {
    /// All of the search that `parameters` ask for.
    pub fn whole(parameters: &Parameters) -> Self {
        let window = parameters.window;
        Self { first_row: 0, end_row: parameters.grid().rows, first_y: window.y0(), last_y: window.y1() }
    }

    /// The same for these rows of blocks alone.
    #[must_use]
    pub fn with_rows(self, rows: Range<usize>) -> Self {
        Self { first_row: rows.start, end_row: rows.end, ..self }
    }

    /// The same for displacements `(x, y)` of these y alone, in samples.
    #[must_use]
    pub fn with_displacements(self, y: RangeInclusive<i32>) -> Self {
        Self { first_y: *y.start(), last_y: *y.end(), ..self }
    }

    /// The rows of blocks.
    pub fn rows(&self) -> Range<usize> {
        self.first_row..self.end_row
    }

    /// Each y of the displacements `(x, y)`, in samples.
    pub fn displacements(&self) -> RangeInclusive<i32> {
        self.first_y..=self.last_y
    }

    /// Its share of the grid.
    pub fn grid(&self, parameters: &Parameters) -> Grid {
        Grid { columns: parameters.grid().columns, rows: self.end_row.saturating_sub(self.first_row) }
    }

    /// Its share of the window.
    pub(crate) fn window(&self, window: &Window) -> Window {
        window.with_rows(self.first_y, self.last_y)
    }

    /// Checks that it is a part of the search that `parameters` ask for, and not empty.
    ///
    /// # Errors
    /// [`EstimateError::NoSuchPart`]: also where not all displacements are asked for of an
    /// algorithm that goes from one to the next.
    pub fn check(&self, parameters: &Parameters) -> Result<(), EstimateError> {
        let whole = Self::whole(parameters);
        let has_rows = self.first_row < self.end_row && self.end_row <= whole.end_row;
        let has_displacements =
            whole.first_y <= self.first_y && self.first_y <= self.last_y && self.last_y <= whole.last_y;
        let can_be_cut =
            self.can_be_cut(parameters) || (self.first_y, self.last_y) == (whole.first_y, whole.last_y);
        if has_rows && has_displacements && can_be_cut {
            Ok(())
        } else {
            Err(EstimateError::NoSuchPart { rows: self.rows(), displacements: self.displacements() })
        }
    }

    /// Whether its displacements can be divided: not those of an algorithm that goes from one to the
    /// next.
    pub(crate) fn can_be_cut(&self, parameters: &Parameters) -> bool {
        parameters.algorithm == Algorithm::Full
    }

    /// The rows of samples that it compares of the current frame.
    pub fn current_samples(&self, parameters: &Parameters) -> Range<usize> {
        self.reached(parameters, 0, 0)
    }

    /// The rows of samples that it compares of the reference.
    ///
    /// Where the frame goes on outside by its edge samples, the first or last row is among them.
    /// It is never empty.
    pub fn reference_samples(&self, parameters: &Parameters) -> Range<usize> {
        // All of the window's, whatever the displacements: an estimator may try more of them than it was
        // asked for, as none of those is better than what the whole search finds.
        self.reached(parameters, parameters.window.y0(), parameters.window.y1())
    }

    /// The rows of samples within the frame from `up` above its blocks, a negative number, to
    /// `down` below them.
    fn reached(&self, parameters: &Parameters, up: i32, down: i32) -> Range<usize> {
        let last = parameters.height as i64 - 1;
        let first = (self.first_row * parameters.block_size) as i64 + i64::from(up);
        let end = (self.end_row * parameters.block_size) as i64 + i64::from(down);
        first.clamp(0, last) as usize..end.clamp(1, last + 1) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(middle.with_displacements(2..=4).reference_samples(&parameters), 6..36);
        assert_eq!(whole.with_rows(5..6).with_displacements(4..=4).reference_samples(&parameters), 30..47);
        assert_eq!(whole.with_rows(0..1).with_displacements(-10..=-9).reference_samples(&parameters), 0..12);
        let low = Parameters { height: 41, ..parameters };
        assert_eq!(whole.with_rows(5..6).with_displacements(4..=4).reference_samples(&low), 30..41);
    }

    #[test]
    fn parts_of_other_searches_are_refused() {
        let parameters = parameters();
        let whole = Part::whole(&parameters);
        assert!(whole.check(&parameters).is_ok());
        assert!(whole.with_rows(5..6).with_displacements(4..=4).check(&parameters).is_ok());
        for wrong in [
            whole.with_rows(3..3),
            whole.with_rows(5..7),
            whole.with_displacements(-11..=0),
            whole.with_displacements(0..=5),
            whole.with_displacements(RangeInclusive::new(2, 1)),
        ] {
            assert!(
                matches!(wrong.check(&parameters), Err(EstimateError::NoSuchPart { rows, .. }) if rows == wrong.rows())
            );
        }
        let three_step = Parameters { algorithm: Algorithm::ThreeStep, ..parameters };
        assert!(whole.with_rows(1..2).check(&three_step).is_ok());
        assert!(whole.with_displacements(0..=4).check(&three_step).is_err());
    }
}
