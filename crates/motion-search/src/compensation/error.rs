/// Why a plane cannot be predicted or compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompensationError {
    /// A plane has the wrong size, in samples per row and rows.
    #[error("a plane of {0} x {1} samples is needed, got {2} x {3}")]
    PlaneSize(usize, usize, usize, usize),
    /// Planes are missing, or there are too many.
    #[error("{0} planes are needed, got {1}")]
    Planes(usize, usize),
    /// The samples of two planes have different depths.
    #[error("planes of samples of {0} and of {1} bits cannot be compared: both need the same depth")]
    BitDepth(u32, u32),
    /// The frame or its blocks are empty or too large.
    #[error("a frame of {0} x {1} samples cannot have blocks of {2} x {3}")]
    Blocks(usize, usize, usize, usize),
    /// The number of vectors is not the number of blocks.
    #[error("{needed} vectors are needed, got {present}")]
    #[allow(missing_docs)]
    FieldSize { needed: usize, present: usize },
}
