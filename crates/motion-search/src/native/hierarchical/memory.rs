//! Memory that is allocated once for frames of one size.

use crate::estimator::SetupError;
use crate::native::aligned::Line;
use crate::native::plane::{available_memory, zeroed};

/// Bytes of a cache line.
pub const LINE: usize = size_of::<Line>();

/// Memory for `length` values, all zero, of `what`.
///
/// # Errors
/// [`SetupError::Memory`] if there is too little.
pub fn values<T: Copy + Default>(what: &'static str, length: usize) -> Result<Vec<T>, SetupError> {
    zeroed(what, length as u64, available_memory())
}

/// The same for bytes that begin with a cache line.
///
/// # Errors
/// As [`values`].
pub fn lines(what: &'static str, bytes: usize) -> Result<Vec<Line>, SetupError> {
    values(what, bytes.div_ceil(LINE))
}

/// The bytes of `lines`.
#[inline(always)]
pub fn bytes(lines: &[Line]) -> &[u8] {
    bytemuck::cast_slice(lines)
}

/// The same to be written.
#[inline(always)]
pub fn bytes_mut(lines: &mut [Line]) -> &mut [u8] {
    bytemuck::cast_slice_mut(lines)
}

/// The `N` values from `at` on.
///
/// # Panics
/// If there are fewer.
#[inline(always)]
pub fn chunk<T, const N: usize>(values: &[T], at: usize) -> &[T; N] {
    values[at..].first_chunk().expect("the layout has room for whole chunks")
}

/// The same to be written.
///
/// # Panics
/// As [`chunk`].
#[inline(always)]
pub fn chunk_mut<T, const N: usize>(values: &mut [T], at: usize) -> &mut [T; N] {
    values[at..].first_chunk_mut().expect("the layout has room for whole chunks")
}
