//! Memory that begins with a cache line.

/// A value that begins with a cache line, so that no register loaded at a multiple of its size crosses one.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub struct Aligned<T>(pub T);

/// A cache line of 16-bit numbers.
pub type Line = Aligned<[u16; 32]>;

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
