//! Squared error, MSE and PSNR of two planes.

use std::ops::AddAssign;

use super::CompensationError;
use motion_base::FrameView;
use motion_base::sampling::check_sizes;
use rayon::prelude::*;

/// Bytes that one task writes. With fewer, starting a task costs more than the copy; with more, the
/// prediction leaves the cache before it is compared with the frame.
pub(super) const BAND_BYTES: usize = 1 << 17;

/// A sum of squared differences and the number of samples in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SquaredError {
    /// `Σ(a - b)²`.
    pub sum: u64,
    /// Number of pairs of samples.
    pub samples: u64,
}

impl SquaredError {
    /// Mean squared error; 0 if the planes are equal or nothing was compared.
    pub fn mse(&self) -> f64 {
        if self.samples == 0 { 0.0 } else { self.sum as f64 / self.samples as f64 }
    }

    /// Peak signal-to-noise ratio of 8-bit samples in decibels, `10 log10(255² / MSE)`; infinite
    /// if the MSE is 0.
    pub fn psnr(&self) -> f64 {
        self.psnr_of(u8::MAX.into())
    }

    /// The same of samples up to `peak`.
    pub fn psnr_of(&self, peak: u16) -> f64 {
        10.0 * (f64::from(peak).powi(2) / self.mse()).log10()
    }
}

impl AddAssign for SquaredError {
    fn add_assign(&mut self, other: Self) {
        self.sum += other.sum;
        self.samples += other.samples;
    }
}

/// The sum of squared differences of two rows of the same length.
#[inline(always)]
pub(super) fn squared_error_of_row(a: &[u8], b: &[u8]) -> u64 {
    /// Number of samples whose sum of squared differences fits 32 bits.
    const CHUNK: usize = 1 << 15;
    let chunks = a.chunks(CHUNK).zip(b.chunks(CHUNK));
    let sum = |(a, b): (&[u8], &[u8])| {
        let squares = a.iter().zip(b).map(|(&a, &b)| {
            let difference = i16::from(a) - i16::from(b);
            i32::from(difference) * i32::from(difference)
        });
        // Wrapping i32 addition gives the bits of the u32 sum, which does not overflow.
        u64::from(squares.fold(0, i32::wrapping_add) as u32)
    };
    chunks.map(sum).sum()
}

/// The squared error of two planes of the same size, of samples of eight bits.
///
/// # Errors
/// [`CompensationError::PlaneSize`] if the sizes differ, [`CompensationError::BitDepth`] if samples have more
/// than eight bits.
pub fn squared_error(a: &FrameView<'_>, b: &FrameView<'_>) -> Result<SquaredError, CompensationError> {
    check_sizes(a, b)?;
    let depth = a.format().depth();
    if depth != 8 {
        return Err(CompensationError::BitDepth(8, depth));
    }
    let rows_a_task = (BAND_BYTES / a.width()).max(1);
    let row = |y: usize| squared_error_of_row(a.row(y), b.row(y));
    let sum = (0..a.height()).into_par_iter().with_min_len(rows_a_task).map(row).sum();
    Ok(SquaredError { sum, samples: (a.width() * a.height()) as u64 })
}

/// Mean squared error of two planes of the same size.
///
/// # Errors
/// As [`squared_error`].
pub fn mse(a: &FrameView<'_>, b: &FrameView<'_>) -> Result<f64, CompensationError> {
    squared_error(a, b).map(|error| error.mse())
}

/// Peak signal-to-noise ratio of two planes of the same size, in decibels, as [`SquaredError::psnr`].
///
/// # Errors
/// As [`squared_error`].
pub fn psnr(a: &FrameView<'_>, b: &FrameView<'_>) -> Result<f64, CompensationError> {
    squared_error(a, b).map(|error| error.psnr())
}
