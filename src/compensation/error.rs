/// Why a plane cannot be predicted or compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompensationError {
    /// A plane has the wrong size, in bytes per row and rows.
    #[error("a plane of {0} x {1} samples is needed, got {2} x {3}")]
    PlaneSize(usize, usize, usize, usize),
    /// The frame or its blocks are empty or too large.
    #[error("a frame of {0} x {1} samples cannot have blocks of {2} x {3}")]
    Blocks(usize, usize, usize, usize),
    /// The number of vectors is not the number of blocks.
    #[error("{needed} vectors are needed, got {present}")]
    #[allow(missing_docs)]
    FieldSize { needed: usize, present: usize },
}
