/// Why a plane cannot be predicted or compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompensationError {
    /// Two planes that must be of one size are not, in bytes a row and rows.
    #[error("a plane of {0} x {1} samples is needed, not one of {2} x {3}")]
    PlaneSize(usize, usize, usize, usize),
    /// The frame or its blocks have no samples.
    #[error("a frame of {0} x {1} samples cannot have blocks of {2} x {3}")]
    Blocks(usize, usize, usize, usize),
    /// There is not one vector a block.
    #[error("{needed} vectors are needed, {present} were given")]
    #[allow(missing_docs)]
    FieldSize { needed: usize, present: usize },
}
