//! Samples as planes have them.

use motion_base::{FrameView, SampleFormat};

/// A plane, of pixels of so many samples: one, or two where it holds both components of chroma.
#[derive(Clone, Copy)]
pub(crate) struct PixelPlane<'a> {
    pub view: FrameView<'a>,
    pub pixel: usize,
}

/// A sample that is read from planes and written to them.
pub(crate) trait StoredSample: Copy + Default + Into<u32> {
    /// Reads the `W` samples and `H` rows from the pixel at `(x, y)` on. Outside the plane, its edge pixels repeat.
    fn read<const W: usize, const H: usize>(plane: &PixelPlane<'_>, at: (i32, i32)) -> [[Self; W]; H];

    /// Writes samples in `format` to the beginning of `to`.
    fn store(format: SampleFormat, samples: &[Self], to: &mut [u8]);
}

impl StoredSample for u8 {
    #[inline(always)]
    fn read<const W: usize, const H: usize>(plane: &PixelPlane<'_>, (x, y): (i32, i32)) -> [[u8; W]; H] {
        let Some((samples, pitch)) = plane.view.inside((x * plane.pixel as i32, y), (W, H)) else {
            return read_repeated(plane, (x, y));
        };
        let mut cell = [[0; W]; H];
        for (row, cell) in cell.iter_mut().enumerate() {
            cell.copy_from_slice(&samples[row * pitch..][..W]);
        }
        cell
    }

    #[inline(always)]
    fn store(_: SampleFormat, samples: &[u8], to: &mut [u8]) {
        to[..samples.len()].copy_from_slice(samples);
    }
}

/// The same of samples of eight bits of which some lie outside the plane.
#[cold]
fn read_repeated<const W: usize, const H: usize>(plane: &PixelPlane<'_>, at: (i32, i32)) -> [[u8; W]; H] {
    u16::read::<W, H>(plane, at).map(|row| row.map(|sample| sample as u8))
}

impl StoredSample for u16 {
    #[inline(always)]
    fn read<const W: usize, const H: usize>(plane: &PixelPlane<'_>, (x, y): (i32, i32)) -> [[u16; W]; H] {
        let mut cell = [[0; W]; H];
        for (cell, y) in cell.iter_mut().zip(y..) {
            plane.view.read_pixels(plane.pixel, (x, y), cell);
        }
        cell
    }

    #[inline(always)]
    fn store(format: SampleFormat, samples: &[u16], to: &mut [u8]) {
        to.as_chunks_mut().0.iter_mut().zip(samples).for_each(|(to, sample)| *to = format.bytes_of(*sample));
    }
}

/// Some rows of a plane, to be written.
pub(crate) struct BandMut<'a> {
    pub bytes: &'a mut [u8],
    pub stride: usize,
    /// Samples a row.
    pub width: usize,
    pub format: SampleFormat,
}

impl BandMut<'_> {
    /// Writes the part of a cell that is inside. Its first row is `above` rows above the band, its first sample `left`
    /// samples from the plane's first.
    #[inline(always)]
    pub fn write<T: StoredSample, const W: usize, const H: usize>(
        &mut self,
        (left, above): (i32, usize),
        cell: &[[T; W]; H],
    ) {
        let (first, end) = ((-left).max(0) as usize, (self.width as i32 - left).min(W as i32));
        if first as i32 >= end {
            return;
        }
        let inside = first..end as usize;
        let start = (left + first as i32) as usize * size_of::<T>();
        let mut rows = self.bytes.chunks_mut(self.stride);
        for cell in &cell[above..] {
            let Some(row) = rows.next() else { break };
            let row = &mut row[start..];
            // Of constant length.
            match row.get_mut(..W * size_of::<T>()).filter(|_| inside.len() == W) {
                Some(row) => T::store(self.format, cell, row),
                None => T::store(self.format, &cell[inside.clone()], row),
            }
        }
    }
}
