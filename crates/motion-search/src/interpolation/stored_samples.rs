//! Samples as planes have them.

use crate::estimator::{FrameView, SampleFormat};

/// A sample that is read from planes and written to them.
pub(crate) trait StoredSample: Copy + Default + Into<u32> {
    /// Reads the `W` samples and `H` rows from a pixel on; a pixel has `P` samples. Outside the plane, its edge pixels
    /// repeat.
    fn read<const P: usize, const W: usize, const H: usize>(
        plane: &FrameView<'_>,
        pixel: (i32, i32),
    ) -> [[Self; W]; H];

    /// The sample, brought to at most `most` from `other`.
    fn near(self, other: Self, most: u16) -> Self;

    /// Writes samples in `format` to the beginning of `to`.
    fn store(format: SampleFormat, samples: &[Self], to: &mut [u8]);
}

impl StoredSample for u8 {
    #[inline(always)]
    fn read<const P: usize, const W: usize, const H: usize>(
        plane: &FrameView<'_>,
        (x, y): (i32, i32),
    ) -> [[u8; W]; H] {
        let mut cell = [[0; W]; H];
        if let Some((samples, pitch)) = plane.inside((x * P as i32, y), (W, H)) {
            for (row, cell) in cell.iter_mut().enumerate() {
                cell.copy_from_slice(&samples[row * pitch..][..W]);
            }
            return cell;
        }
        for (cell, samples) in cell.iter_mut().zip(u16::read::<P, W, H>(plane, (x, y))) {
            for (to, sample) in cell.iter_mut().zip(samples) {
                *to = sample as u8;
            }
        }
        cell
    }

    #[inline(always)]
    fn near(self, other: u8, most: u16) -> u8 {
        let most = most.min(u8::MAX.into()) as u8;
        self.max(other.saturating_sub(most)).min(other.saturating_add(most))
    }

    #[inline(always)]
    fn store(_: SampleFormat, samples: &[u8], to: &mut [u8]) {
        to[..samples.len()].copy_from_slice(samples);
    }
}

impl StoredSample for u16 {
    #[inline(always)]
    fn read<const P: usize, const W: usize, const H: usize>(
        plane: &FrameView<'_>,
        (x, y): (i32, i32),
    ) -> [[u16; W]; H] {
        let mut cell = [[0; W]; H];
        for (cell, y) in cell.iter_mut().zip(y..) {
            plane.read_pixels::<P>(x, y, cell);
        }
        cell
    }

    #[inline(always)]
    fn near(self, other: u16, most: u16) -> u16 {
        self.max(other.saturating_sub(most)).min(other.saturating_add(most))
    }

    #[inline(always)]
    fn store(format: SampleFormat, samples: &[u16], to: &mut [u8]) {
        to.as_chunks_mut().0.iter_mut().zip(samples).for_each(|(to, sample)| *to = format.bytes_of(*sample));
    }
}
