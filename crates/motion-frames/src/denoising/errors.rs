//! The errors of the predictions of blocks from other frames.

use rayon::prelude::*;

use motion_base::SetupError;
use motion_base::memory;

/// For each block the errors of its predictions from other frames, beside each other: its weights need all of them.
pub(super) struct Errors<T> {
    errors: Vec<T>,
    /// How many there are of a block.
    references: usize,
}

impl<T: Copy + Default + Send + Sync> Errors<T> {
    /// Of so many blocks, each predicted from `references` other frames.
    pub fn new(blocks: usize, references: usize) -> Result<Self, SetupError> {
        // At least one, so that there are rows.
        let references = references.max(1);
        Ok(Self { errors: memory::values("the errors of blocks", blocks * references)?, references })
    }

    /// Those of a block.
    #[inline(always)]
    pub fn of_block(&self, block: usize) -> &[T] {
        &self.errors[block * self.references..][..self.references]
    }

    /// Those of predictions from one of the other frames.
    pub fn of_reference(&self, reference: usize) -> ReferenceErrors<'_, T> {
        ReferenceErrors { errors: &self.errors, first: reference, step: self.references }
    }

    /// Those of rows of so many blocks.
    pub fn rows(&mut self, columns: usize) -> impl IndexedParallelIterator<Item = RowErrors<'_, T>> {
        let references = self.references;
        self.errors.par_chunks_mut(columns * references).map(move |errors| RowErrors { errors, references })
    }
}

/// The errors of the predictions of all blocks from one frame.
#[derive(Clone, Copy)]
pub(super) struct ReferenceErrors<'a, T> {
    errors: &'a [T],
    first: usize,
    /// From the error of one block to that of the next.
    step: usize,
}

impl<'a, T> ReferenceErrors<'a, T> {
    #[inline(always)]
    pub fn of(self, block: usize) -> &'a T {
        &self.errors[block * self.step + self.first]
    }
}

/// The errors of the predictions of a row of blocks.
pub(super) struct RowErrors<'a, T> {
    errors: &'a mut [T],
    references: usize,
}

impl<T: Clone> RowErrors<'_, T> {
    /// Sets all of them.
    pub fn fill(&mut self, error: T) {
        self.errors.fill(error);
    }

    /// Those of predictions from one of the other frames.
    pub fn of_reference(&mut self, reference: usize) -> ReferenceErrorsMut<'_, T> {
        ReferenceErrorsMut { errors: self.errors, reference, references: self.references }
    }
}

/// The errors of the predictions of a row of blocks from one frame.
pub(super) struct ReferenceErrorsMut<'a, T> {
    errors: &'a mut [T],
    reference: usize,
    references: usize,
}

impl<T> ReferenceErrorsMut<'_, T> {
    /// How many blocks there are.
    pub fn len(&self) -> usize {
        self.errors.len() / self.references
    }

    /// That of the block in this column.
    #[inline(always)]
    pub fn of_column(&mut self, column: usize) -> &mut T {
        &mut self.errors[column * self.references + self.reference]
    }
}
