//! Vectors of blocks, refined by those of their neighbours.
//!
//! Predictions of blocks overlap, and neighbours with other vectors have other noise.

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
            let own = *vector;
            for other in found.beside(column, row).into_iter().flatten().filter(|other| *other != own) {
                let position = end((column, row), other);
                let of_other = luma_error(engine, (block, samples, inside), source, position);
                if of_other.difference(flickers) < error.difference(flickers) {
                    *error = of_other;
                    *vector = other;
                }
            }
        }
    }
}
