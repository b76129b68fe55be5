//! Samples of eight bits, and of more.

use crate::FrameError;

/// How the samples of a plane lie in memory: a byte each, or two bytes each, the lower byte first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SampleFormat {
    depth: u32,
    shift: u32,
    /// Of the eight bits that hierarchical search sees: what is taken from a sample, and the bits left out below them.
    black: u16,
    lower: u32,
}

impl SampleFormat {
    /// A byte a sample.
    pub const EIGHT_BITS: Self = Self { depth: 8, shift: 0, black: 0, lower: 0 };

    /// Samples of `depth` bits: one byte for 8, two bytes for 9 to 16. In two bytes `shift` bits are below the sample,
    /// which are ignored as those above it are: 0 for formats such as `I420_10LE`, 6 for `P010_10LE`.
    ///
    /// # Errors
    /// [`FrameError::Depth`] if such samples do not exist.
    pub fn new(depth: u32, shift: u32) -> Result<Self, FrameError> {
        let is_known = (depth, shift) == (8, 0) || (9..=16).contains(&depth) && shift <= 16 - depth;
        if !is_known {
            return Err(FrameError::Depth { depth, shift });
        }
        Ok(Self { depth, shift, black: 0, lower: depth - 8 })
    }

    /// The same samples, of which hierarchical search and all that is built on it see those from `black` to `white` in eight
    /// bits, instead of the upper eight bits: [`Self::eight_bits`]. Samples of eight bits are seen as they are.
    ///
    /// Thermal and medical frames vary in a small part of their range: with samples from 7500 to 11595 in 16 bits, these are
    /// the levels. Both frames of a search need the same ones.
    #[must_use]
    pub fn with_levels(self, black: u16, white: u16) -> Self {
        if self.depth == 8 {
            return self;
        }
        let span = white.min(self.peak()).saturating_sub(black);
        Self { black, lower: (u16::BITS - span.leading_zeros()).saturating_sub(8), ..self }
    }

    /// What hierarchical search sees of `sample`: (sample - black) >> n, from 0 to 255, with the least n with which 255 is
    /// not exceeded at the white level.
    #[inline(always)]
    pub fn eight_bits(self, sample: u16) -> u8 {
        (sample.saturating_sub(self.black) >> self.lower).min(255) as u8
    }

    /// The black level, and the bits that are left out below the eight of [`Self::eight_bits`].
    #[inline]
    pub fn levels(self) -> (u16, u32) {
        (self.black, self.lower)
    }

    /// Bits of a sample: 8 to 16.
    #[inline]
    pub fn depth(self) -> u32 {
        self.depth
    }

    /// Bytes of a sample: 1 or 2.
    #[inline]
    pub fn bytes(self) -> usize {
        if self.depth == 8 { 1 } else { 2 }
    }

    /// Bits below a sample that do not count.
    #[inline]
    pub fn shift(self) -> u32 {
        self.shift
    }

    /// The largest sample.
    #[inline]
    pub fn peak(self) -> u16 {
        u16::MAX >> (16 - self.depth)
    }

    /// The sample in two bytes of this format.
    #[inline(always)]
    pub fn value(self, bytes: [u8; 2]) -> u16 {
        (u16::from_le_bytes(bytes) >> self.shift) & self.peak()
    }

    /// The two bytes of this format that hold `sample`. The bits beside it are zero.
    #[inline(always)]
    pub fn bytes_of(self, sample: u16) -> [u8; 2] {
        (sample << self.shift).to_le_bytes()
    }

    /// The format of the same samples without bits below them.
    #[inline]
    pub fn normal(self) -> Self {
        Self { shift: 0, ..self }
    }
}

/// A sample in memory of this crate: `u8` for eight bits, `u16` for more.
pub trait Sample: bytemuck::Pod + Ord + Into<u32> + Send + Sync {
    /// Writes the samples in `row`, which are in `format`. Deeper samples than `Self` holds become their
    /// [eight bits](SampleFormat::eight_bits).
    ///
    /// # Panics
    /// If `row` and `to` have different numbers of samples.
    fn read_row(format: SampleFormat, row: &[u8], to: &mut [Self]);
}

impl Sample for u8 {
    #[inline]
    fn read_row(format: SampleFormat, row: &[u8], to: &mut [Self]) {
        if format.bytes() == 1 {
            return to.copy_from_slice(row);
        }
        assert!(row.len() == 2 * to.len(), "two bytes a sample");
        for (to, bytes) in to.iter_mut().zip(row.as_chunks::<2>().0) {
            *to = format.eight_bits(format.value(*bytes));
        }
    }
}

impl Sample for u16 {
    #[inline(always)]
    fn read_row(format: SampleFormat, row: &[u8], to: &mut [Self]) {
        assert!(row.len() == format.bytes() * to.len(), "as many bytes as the format has");
        if format.bytes() == 1 {
            to.iter_mut().zip(row).for_each(|(to, sample)| *to = u16::from(*sample));
        } else {
            let samples = row.as_chunks::<2>().0;
            to.iter_mut().zip(samples).for_each(|(to, bytes)| *to = format.value(*bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_from_their_bits() {
        let ten_up = SampleFormat::new(10, 6).unwrap();
        let mut samples = [0_u16; 3];
        // The lowest six bits do not count.
        u16::read_row(ten_up, &[0x3f, 0x00, 0x40, 0x00, 0xff, 0xff], &mut samples);
        assert_eq!(samples, [0, 1, 1023]);
        let ten = SampleFormat::new(10, 0).unwrap();
        // Nor do those above the sample.
        u16::read_row(ten, &[0xff, 0x03, 0x01, 0x00, 0x02, 0xfc], &mut samples);
        assert_eq!(samples, [1023, 1, 2]);
        let mut upper = [0_u8; 3];
        u8::read_row(ten, &[0xff, 0x03, 0x03, 0x00, 0x04, 0x00], &mut upper);
        assert_eq!(upper, [255, 0, 1]);
        assert_eq!([ten_up.bytes_of(1023), ten.bytes_of(1023)], [[0xc0, 0xff], [0xff, 0x03]]);
        assert_eq!([ten.peak(), SampleFormat::new(16, 0).unwrap().peak()], [1023, 65535]);
    }

    #[test]
    fn eight_bits_are_those_between_the_levels() {
        let of = |depth, black, white| SampleFormat::new(depth, 0).unwrap().with_levels(black, white);
        let seen = |format: SampleFormat, samples: [u16; 4]| samples.map(|sample| format.eight_bits(sample));
        // 4095 levels in steps of 16; what lies outside is black or white.
        assert_eq!(seen(of(16, 7500, 11595), [0, 7500, 7516, 11595]), [0, 0, 1, 255]);
        assert_eq!(seen(of(16, 7500, 11595), [7515, 11580, 11596, 65535]), [0, 255, 255, 255]);
        // One level more needs a bit more.
        assert_eq!(seen(of(16, 7500, 11596), [7500, 7531, 7532, 11596]), [0, 0, 1, 128]);
        // Fewer than 256 are seen as they are.
        assert_eq!(seen(of(12, 100, 200), [99, 100, 137, 4095]), [0, 0, 37, 255]);
        // White is not above black.
        assert_eq!(seen(of(12, 200, 100), [199, 200, 201, 4095]), [0, 0, 1, 255]);
        // All levels are the upper eight bits.
        for depth in 9..=16 {
            assert_eq!(of(depth, 0, u16::MAX), SampleFormat::new(depth, 0).unwrap(), "{depth}");
        }
        assert_eq!(SampleFormat::EIGHT_BITS.with_levels(20, 30).eight_bits(200), 200);
    }

    #[test]
    fn only_samples_that_fit_two_bytes_exist() {
        for (depth, shift) in [(7, 0), (8, 1), (10, 7), (16, 1), (17, 0)] {
            assert_eq!(SampleFormat::new(depth, shift), Err(FrameError::Depth { depth, shift }));
        }
    }
}
