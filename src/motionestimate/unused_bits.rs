//! Samples of 16 bits of which the upper ones are never used, as those of 10 or 12 bits in GRAY16. Hierarchical search, which
//! sees the upper eight, then sees next to nothing.

use motion_search::estimator::FrameView;

/// Frames that must agree before anything is concluded: a fade leaves a depth sooner.
const FRAMES: u32 = 12;

/// Depths of cameras that hardly show in the upper eight of 16 bits, and the bits from which on a peak is taken for theirs.
const DEPTHS: [(u32, u32); 2] = [(9, 10), (11, 12)];

/// Watches the peaks of frames until they tell how many bits are used.
#[derive(Debug, Default)]
pub struct UnusedBits {
    /// The most bits of the peaks so far.
    bits: u32,
    /// Frames since then whose peaks have as many.
    frames: u32,
    is_known: bool,
}

impl UnusedBits {
    /// What watches nothing.
    pub fn off() -> Self {
        Self { is_known: true, ..Self::default() }
    }

    /// Takes the next frame. Returns the depth that the samples seem to have, once, if it is at most 12 bits.
    ///
    /// Frames that are darker than others say nothing: the brightest ones must have the same number of bits, [`FRAMES`] times.
    pub fn next(&mut self, frame: &FrameView<'_>) -> Option<u32> {
        if self.is_known {
            return None;
        }
        let peak = (0..frame.height()).flat_map(|y| frame.row(y).chunks_exact(2));
        let peak = peak.map(|sample| u16::from_le_bytes([sample[0], sample[1]])).max().unwrap_or(0);
        self.next_peak(peak)
    }

    fn next_peak(&mut self, peak: u16) -> Option<u32> {
        let bits = u16::BITS - peak.leading_zeros();
        if bits > self.bits {
            (self.bits, self.frames) = (bits, 0);
        }
        self.frames += u32::from(bits == self.bits);
        let (first, deepest) = (DEPTHS[0].0, DEPTHS[DEPTHS.len() - 1].1);
        if self.bits > deepest {
            self.is_known = true;
        }
        if self.is_known || self.bits < first || self.frames < FRAMES {
            return None;
        }
        self.is_known = true;
        DEPTHS.into_iter().map(|(_, depth)| depth).find(|&depth| self.bits <= depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(peaks: impl IntoIterator<Item = u16>) -> Vec<(usize, u32)> {
        let mut unused = UnusedBits::default();
        let found = peaks.into_iter().enumerate();
        found.filter_map(|(index, peak)| Some((index, unused.next_peak(peak)?))).collect()
    }

    #[test]
    fn cameras_are_told_once() {
        assert_eq!(told([1023; 40]), [(11, 10)]);
        assert_eq!(told([300; 40]), [(11, 10)]);
        assert_eq!(told([4095; 40]), [(11, 12)]);
        assert_eq!(told([1100; 40]), [(11, 12)]);
        // Black frames before, and darker ones between.
        assert_eq!(told([[0; 30], [64; 30]].concat()), []);
        let dark = |index: u16| if index.is_multiple_of(2) { 700 } else { 200 };
        assert_eq!(told((0..40).map(dark)), [(22, 10)]);
        // A fade into a scene of 12 bits.
        assert_eq!(told((0..80).map(|index: u16| (index * 100).min(4000))), [(32, 12)]);
    }

    #[test]
    fn pictures_of_all_bits_are_not() {
        assert_eq!(told([65535; 40]), []);
        assert_eq!(told([4096; 40]), []);
        // A fade into one, in four seconds.
        assert_eq!(told((0..200).map(|index: u16| index * 300)), []);
        // One bright frame tells.
        assert_eq!(told([&[1000; 5][..], &[30000], &[1000; 40]].concat()), []);
    }
}
