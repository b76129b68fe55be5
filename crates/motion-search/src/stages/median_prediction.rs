//! Median prediction: one predictor a block, on the cores of the CPU.
//!
//! The search has found all vectors, so no predictor waits for another one: the threads share the rows.
//! Within a row, the blocks between the edges are loops without branches over adjacent numbers, which the
//! compiler turns into vector instructions.

use rayon::prelude::*;

use super::{SearchedFrames, Stage};
use crate::estimator::prediction::median;
use crate::estimator::{EstimateError, Grid, MotionVector, Output, Predictor, RecordPool};

/// The stage that fills [`Output::predictors`].
pub struct MedianPrediction {
    grid: Grid,
    predictors: RecordPool<Predictor>,
}

impl MedianPrediction {
    /// Prediction of fields of `grid`.
    pub fn new(grid: Grid) -> Self {
        Self { grid, predictors: RecordPool::default() }
    }
}

impl Stage for MedianPrediction {
    fn reads_frames(&self) -> bool {
        false
    }

    fn apply(
        &mut self,
        _frames: Option<SearchedFrames<'_>>,
        output: &mut Output,
    ) -> Result<(), EstimateError> {
        let mut predictors = self.predictors.take(self.grid.blocks());
        median_predictors(self.grid, &output.vectors, &mut predictors)?;
        output.predictors = Some(predictors);
        Ok(())
    }
}

/// The fewest blocks that a thread predicts: handing over fewer takes longer than predicting them.
const BLOCKS_A_THREAD: usize = 8192;

/// Blocks whose vectors are packed together on the stack.
const STRETCH: usize = 128;

/// Writes the median predictors of `vectors` to `predictors`, both `rows × columns`, row-major.
/// [`crate::estimator::prediction::median_predictors`] defines them. It runs in the rayon pool it is called
/// from.
///
/// # Errors
/// [`EstimateError::FieldSize`] if either does not have one record a block.
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
    predictors.par_chunks_mut(columns).with_min_len(BLOCKS_A_THREAD.div_ceil(columns)).enumerate().for_each(
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

/// The first row: only the left neighbour exists.
fn predict_first_row(vectors: &[MotionVector], predictors: &mut [Predictor]) {
    predictors[0] = Predictor::default();
    for (predictor, &left) in predictors[1..].iter_mut().zip(vectors) {
        *predictor = left.into();
    }
}

/// A row of at least one block below another row with the vectors `above`.
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

/// At most [`STRETCH`] blocks that have all neighbours. `above` and `left` begin with the neighbours of the
/// first block; `above` has one vector more.
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

/// Packs the displacements of `vectors`, one in each word.
fn drop_costs(vectors: &[MotionVector], words: &mut [u32]) {
    for (word, &[displacement, _cost]) in words.iter_mut().zip(bytemuck::cast_slice::<_, [u32; 2]>(vectors)) {
        *word = displacement;
    }
}
