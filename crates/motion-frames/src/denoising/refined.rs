//! Vectors of blocks, refined by those of their neighbours and to quarter samples.
//!
//! Predictions of blocks overlap, and neighbours with other vectors have other noise. Vectors that were found in smaller frames are
//! not known to quarter samples.

use super::errors::ReferenceErrorsMut;
use super::map::BlockNoise;
use super::measure::luma_error;
use super::noise::{LumaBlock, LumaError};
use super::rules::{BLOCK, FoundVectors, end};
use crate::interpolation::{CellSource, PixelPlane, PlaneCell};
use motion_base::FrameView;
use motion_base::simd::{InstructionSet, Instructions, Work};

/// A row of blocks of luma whose vectors in another frame are refined.
pub(super) struct RefinedRow<'a> {
    pub plane: &'a FrameView<'a>,
    pub blocks: &'a [LumaBlock],
    pub noise: &'a [BlockNoise],
    pub found: &'a FoundVectors,
    pub vectors: &'a mut [(i32, i32)],
    /// Whether light flickers between both frames.
    pub flickers: bool,
    pub row: usize,
}

impl RefinedRow<'_> {
    /// Sets the vectors, and the `errors` of the prediction from `source`, the luma of the other frame.
    pub fn set<S: CellSource<BLOCK, BLOCK>>(
        self,
        instructions: Instructions,
        source: &S,
        errors: ReferenceErrorsMut<'_, LumaError>,
    ) {
        S::run(instructions, Refining { of: self, source, errors });
    }
}

/// Refines the vectors of a row.
struct Refining<'a, 'e, S> {
    of: RefinedRow<'a>,
    source: &'a S,
    errors: ReferenceErrorsMut<'e, LumaError>,
}

impl<S: CellSource<BLOCK, BLOCK>, E: InstructionSet> Work<E> for Refining<'_, '_, S> {
    #[inline(always)]
    fn run(self, engine: E) {
        let Self {
            of: RefinedRow { plane, blocks, noise, found, vectors, flickers, row },
            source,
            mut errors,
        } = self;
        let pixels = PixelPlane { view: *plane, pixel: 1 };
        let (y, rows) = (row * BLOCK, BLOCK.min(plane.height() - row * BLOCK));
        for (column, (block, vector)) in blocks.iter().zip(vectors).enumerate() {
            let error = errors.of_column(column);
            if noise[column] == BlockNoise::default() || error.sum == 0 || block.is_plain(noise[column].luma)
            {
                continue;
            }
            let x = column * BLOCK;
            let samples = S::Cell::<E>::read(engine, &pixels, (x as i32, y as i32));
            let inside = (BLOCK.min(plane.width() - x), rows);
            let (own, beside) = (*vector, found.beside(column, row));
            let (mut least, mut best, mut was_better) = (error.difference(flickers), [0; 2], false);
            // In one loop, so that a difference is computed in one place, which is compiled for the instructions.
            for step in 0..beside.len() + found.steps() {
                let other = match beside.get(step) {
                    Some(None) => continue,
                    Some(&Some(other)) if other == own => continue,
                    Some(&Some(other)) => other,
                    // The other way.
                    None if step % 2 == 1 && was_better => continue,
                    None => found.step(*vector, step - beside.len()),
                };
                let position = end((column, row), other);
                let sums = samples.error_and_sum(source.cell(engine, position), inside);
                let difference = if flickers { luma_error(block, sums, position).variation } else { sums[0] };
                was_better = difference < least;
                if was_better {
                    (least, best, *vector) = (difference, sums, other);
                }
            }
            if *vector != own {
                *error = luma_error(block, best, end((column, row), *vector));
            }
        }
    }
}
