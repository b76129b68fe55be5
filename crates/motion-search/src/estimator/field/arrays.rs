//! A field as arrays.

use ndarray::{Array3, ArrayView, ArrayView2, ArrayView3, Dimension, StrideShape};

use super::{FieldError, Grid, MotionField, MotionVector};

/// `records` in an array of this shape, of which [`MotionField::check`] says that it fits.
fn view<T, D: Dimension>(
    shape: impl Into<StrideShape<D>>,
    records: &[T],
) -> Result<ArrayView<'_, T, D>, FieldError> {
    let (what, present) = ("records", records.len());
    ArrayView::from_shape(shape, records).map_err(|_| FieldError::Records {
        what,
        present,
        expected: present,
    })
}

#[cfg_attr(docsrs, doc(cfg(feature = "ndarray")))]
impl MotionField {
    /// The vectors as an array, `rows × columns`.
    ///
    /// ```
    /// # use motion_search::estimator::{MotionField, Parameters, Window};
    /// # let field = MotionField::new(&Parameters::new(64, 48, 16, Window::symmetric(4, 4)?));
    /// let vectors = field.vector_array()?;
    /// assert_eq!(vectors.dim(), (3, 4));
    /// let costs = vectors.map(|vector| vector.cost);
    /// assert_eq!(costs.sum(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FieldError`] as [`Self::check`].
    pub fn vector_array(&self) -> Result<ArrayView2<'_, MotionVector>, FieldError> {
        self.check()?;
        let Grid { columns, rows } = self.grid;
        view((rows, columns), &self.vectors)
    }

    /// The motion in samples as an array, `rows × columns × 2`: to the right, and down.
    ///
    /// ```
    /// # use motion_search::estimator::{MotionField, Parameters, Window};
    /// # let field = MotionField::new(&Parameters::new(64, 48, 16, Window::symmetric(4, 4)?));
    /// let motion = field.motion_array()?;
    /// assert_eq!(motion.dim(), (3, 4, 2));
    /// assert_eq!(motion[[2, 3, 0]], 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FieldError`] as [`Self::check`].
    pub fn motion_array(&self) -> Result<Array3<f32>, FieldError> {
        let vectors = self.vector_array()?;
        let (rows, columns) = vectors.dim();
        Ok(Array3::from_shape_fn((rows, columns, 2), |(row, column, axis)| {
            <[f32; 2]>::from(self.samples(vectors[[row, column]]))[axis]
        }))
    }

    /// The costs that were asked for besides those of the vectors, `rows × columns × kinds`, in the order of
    /// [`CostKind::ALL`](super::CostKind::ALL).
    ///
    /// # Errors
    /// [`FieldError`] as [`Self::check`].
    pub fn cost_array(&self) -> Result<ArrayView3<'_, u32>, FieldError> {
        self.check()?;
        let Grid { columns, rows } = self.grid;
        view((rows, columns, self.cost_kinds.count()), &self.costs)
    }
}
