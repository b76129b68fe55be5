//! Prediction on the CPU's cores.
//!
//! All vectors are known once the search is done, so no predictor waits for another: rows go to the
//! threads, and within a row the blocks between the edges are loops without branches over adjacent
//! numbers, which the compiler turns into vector instructions.

use rayon::prelude::*;

use crate::estimator::prediction::median;
use crate::estimator::{EstimateError, Grid, MotionVector, Parameters, Prediction, Predictor};

/// Blocks of a thread's share at least: less is not worth a hand-over.
const SHARE: usize = 8192;

/// Blocks whose vectors are laid side by side at a time, on the stack.
const STRETCH: usize = 128;

/// Writes the median predictors of `vectors` to `predictors`, both `rows × columns`, row-major:
/// what [`crate::estimator::prediction::median_predictors`] defines. It runs in the rayon pool it
/// is called from.
///
/// # Errors
/// [`EstimateError::FieldSize`] where either has not one record a block.
pub fn median_predictors(
    grid: Grid,
    vectors: &[MotionVector],
    predictors: &mut [Predictor],
) -> Result<(), EstimateError> {
    grid.check(vectors)?;
    grid.check(predictors)?;
    if vectors.is_empty() {
        return Ok(());
    }
    let columns = grid.columns;
    predictors.par_chunks_mut(columns).with_min_len(SHARE.div_ceil(columns)).enumerate().for_each(
        |(row, predictors)| {
            let from_row = |row: usize| &vectors[row * columns..][..columns];
            match row.checked_sub(1) {
                None => predict_first_row(from_row(0), predictors),
                Some(above) => predict_row(from_row(above), from_row(row), predictors),
            }
        },
    );
    Ok(())
}

/// The left neighbour, alone.
fn predict_first_row(vectors: &[MotionVector], predictors: &mut [Predictor]) {
    predictors[0] = Predictor::default();
    for (predictor, &left) in predictors[1..].iter_mut().zip(vectors) {
        *predictor = left.into();
    }
}

/// A row of at least one block with the vectors `above` it.
fn predict_row(above: &[MotionVector], vectors: &[MotionVector], predictors: &mut [Predictor]) {
    let of = |vector: MotionVector| Predictor::from(vector);
    let last = vectors.len() - 1;
    if last == 0 {
        predictors[0] = of(above[0]);
        return;
    }
    predictors[0] = Predictor::median(Predictor::default(), of(above[0]), of(above[1]));
    let stretches = predictors[1..last].chunks_mut(STRETCH).zip(vectors.chunks(STRETCH));
    for (index, (predictors, left)) in stretches.enumerate() {
        let blocks = predictors.len();
        predict_stretch(&above[1 + index * STRETCH..][..blocks + 1], &left[..blocks], predictors);
    }
    predictors[last] = Predictor::median(of(vectors[last - 1]), of(above[last]), of(above[last - 1]));
}

/// Blocks with all neighbours: `above` and `left` begin with those of the first, and `above` has one
/// more. At most [`STRETCH`] of them.
fn predict_stretch(above: &[MotionVector], left: &[MotionVector], predictors: &mut [Predictor]) {
    let (mut a, mut bc) = ([0; STRETCH], [0; STRETCH + 1]);
    drop_costs(left, &mut a);
    drop_costs(above, &mut bc);
    let components = bytemuck::cast_slice_mut::<_, i16>(predictors);
    let [a, b, c] = [&a[..], &bc[..], &bc[1..]].map(bytemuck::cast_slice::<u32, i16>);
    for (((component, &a), &b), &c) in components.iter_mut().zip(a).zip(b).zip(c) {
        *component = median(a, b, c);
    }
}

/// Puts the vectors side by side, both components of one in a word.
fn drop_costs(vectors: &[MotionVector], words: &mut [u32]) {
    for (word, &[displacement, _cost]) in words.iter_mut().zip(bytemuck::cast_slice::<_, [u32; 2]>(vectors)) {
        *word = displacement;
    }
}

/// The field found last, kept to be predicted.
pub(super) struct LastField {
    vectors: Vec<MotionVector>,
    is_found: bool,
}

impl LastField {
    /// Room for a field, where `parameters` ask for prediction.
    pub(super) fn new(parameters: &Parameters) -> Option<Self> {
        match parameters.prediction {
            Prediction::None => None,
            Prediction::Median => Some(Self {
                vectors: vec![MotionVector::default(); parameters.grid().blocks()],
                is_found: false,
            }),
        }
    }

    /// Forgets the field.
    pub(super) fn clear(&mut self) {
        self.is_found = false;
    }

    /// Takes `vectors`, one a block, for the field found last.
    pub(super) fn keep(&mut self, vectors: &[MotionVector]) {
        self.vectors.copy_from_slice(vectors);
        self.is_found = true;
    }

    /// The predictors of the field on `grid`.
    ///
    /// # Errors
    /// As [`crate::estimator::Estimator::predict`].
    pub(super) fn predict(&self, grid: Grid, predictors: &mut [Predictor]) -> Result<(), EstimateError> {
        if !self.is_found {
            return Err(EstimateError::NoField);
        }
        median_predictors(grid, &self.vectors, predictors)
    }
}
