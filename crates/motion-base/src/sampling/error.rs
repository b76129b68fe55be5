//! Planes that do not fit.

use crate::FrameView;

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

/// Checks that `plane` has this size and depth.
///
/// # Errors
/// [`CompensationError::PlaneSize`], [`CompensationError::BitDepth`].
pub fn check_plane(plane: &FrameView<'_>, size: (usize, usize), depth: u32) -> Result<(), CompensationError> {
    check_size(plane.size(), size, [plane.format().depth(), depth])
}

/// Checks that a plane of this size has the `wanted` one, and of two depths that the second is the wanted one too.
///
/// # Errors
/// As [`check_plane`].
pub fn check_size(
    (width, height): (usize, usize),
    wanted: (usize, usize),
    [depth, wanted_depth]: [u32; 2],
) -> Result<(), CompensationError> {
    if (width, height) != wanted {
        return Err(CompensationError::PlaneSize(wanted.0, wanted.1, width, height));
    }
    if depth != wanted_depth {
        return Err(CompensationError::BitDepth(wanted_depth, depth));
    }
    Ok(())
}

/// Checks that two planes have the same size and depth.
///
/// # Errors
/// [`CompensationError::PlaneSize`], [`CompensationError::BitDepth`].
pub fn check_sizes(a: &FrameView<'_>, b: &FrameView<'_>) -> Result<(), CompensationError> {
    if a.size() == b.size() {
        check_depths(a, b)
    } else {
        Err(CompensationError::PlaneSize(a.width(), a.height(), b.width(), b.height()))
    }
}

/// Checks that two planes have the same depth.
///
/// # Errors
/// [`CompensationError::BitDepth`].
pub fn check_depths(a: &FrameView<'_>, b: &FrameView<'_>) -> Result<(), CompensationError> {
    let depths = [a, b].map(|plane| plane.format().depth());
    if depths[0] == depths[1] { Ok(()) } else { Err(CompensationError::BitDepth(depths[0], depths[1])) }
}
