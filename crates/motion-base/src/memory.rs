//! Memory that is allocated once for frames of one size, in whole cache lines where registers are read from it.

mod limits;

pub use limits::available_bytes;

use crate::{NATIVE, SetupError};

/// A value that begins with a cache line, so that no register loaded at a multiple of its size crosses one.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Aligned<T>(pub T);

/// A cache line of 16-bit numbers.
pub type Line = Aligned<[u16; 32]>;

/// Bytes of a cache line.
pub const LINE: usize = size_of::<Line>();

// SAFETY: a line is its 64 bytes of numbers, without padding, and all zero is one.
unsafe impl bytemuck::Zeroable for Line {}
// SAFETY: as above; any bytes are numbers.
unsafe impl bytemuck::Pod for Line {}

/// The numbers of `lines`.
#[inline(always)]
pub fn numbers(lines: &[Line]) -> &[u16] {
    bytemuck::cast_slice(lines)
}

/// The same to be written.
#[inline(always)]
pub fn numbers_mut(lines: &mut [Line]) -> &mut [u16] {
    bytemuck::cast_slice_mut(lines)
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

/// Memory for `length` values, all zero, of `what`.
///
/// # Errors
/// [`SetupError::Memory`] if there is too little.
pub fn values<T: Copy + Default>(what: &'static str, length: usize) -> Result<Vec<T>, SetupError> {
    zeroed(what, length as u64, available_bytes())
}

/// The same for bytes that begin with a cache line.
///
/// # Errors
/// As [`values`].
pub fn lines(what: &'static str, bytes: usize) -> Result<Vec<Line>, SetupError> {
    values(what, bytes.div_ceil(LINE))
}

/// Memory for `length` values, all zero, of `what`.
///
/// # Errors
/// [`SetupError::Memory`] where they need more than `limit` bytes, or more than there are.
pub fn zeroed<T: Copy + Default>(what: &'static str, length: u64, limit: u64) -> Result<Vec<T>, SetupError> {
    let needed = length.saturating_mul(size_of::<T>() as u64);
    let refused = || too_large(what, needed, limit);
    let length = usize::try_from(length).ok().filter(|_| needed <= limit).ok_or_else(refused)?;
    let mut values = Vec::new();
    values.try_reserve_exact(length).map_err(|_| too_large(what, needed, limit.min(available_bytes())))?;
    values.resize(length, T::default());
    Ok(values)
}

/// The error for `what`, which needs `needed` bytes.
pub fn too_large(what: &'static str, needed: u64, limit: u64) -> SetupError {
    SetupError::Memory { device: NATIVE.into(), what, needed, limit }
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
