//! How much samples differ from those around them.

use super::{FrameView, SetupError, Way};
use motion_base::memory;
use motion_base::simd::{InstructionSet, Instructions, Work};

/// The ranges of the 3 x 3 samples around each sample of a frame.
pub(super) struct Ranges {
    size: [usize; 2],
    ranges: Vec<u8>,
}

impl Ranges {
    /// For search frames of this size.
    ///
    /// # Errors
    /// [`SetupError::Memory`].
    pub fn new((width, height): (usize, usize)) -> Result<Self, SetupError> {
        Ok(Self { size: [width, height], ranges: memory::values("ranges of samples", width * height)? })
    }

    /// Makes them those of `frame`.
    pub fn set(&mut self, instructions: Instructions, frame: &FrameView<'_>) {
        instructions.run(Set { ranges: self, frame });
    }

    /// That around the sample at a place, or around the one of the frame that is nearest to it.
    #[inline]
    pub fn at(&self, place: Way) -> u8 {
        let [x, y] = [0, 1].map(|axis| place[axis].clamp(0, self.size[axis] as i32 - 1) as usize);
        self.ranges[y * self.size[0] + x]
    }
}

struct Set<'a> {
    ranges: &'a mut Ranges,
    frame: &'a FrameView<'a>,
}

impl<E: InstructionSet> Work<E> for Set<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        let Ranges { size: [width, height], ranges } = self.ranges;
        // Of three rows, with the first and the last column twice.
        let [mut least, mut largest] = [vec![0; *width + 2], vec![0; *width + 2]];
        for (y, ranges) in ranges.chunks_exact_mut(*width).enumerate() {
            let [above, row, below] =
                [y.saturating_sub(1), y, (y + 1).min(*height - 1)].map(|y| self.frame.row(y));
            let limits = least[1..].iter_mut().zip(&mut largest[1..]);
            for (((least, largest), sample), (above, below)) in limits.zip(row).zip(above.iter().zip(below)) {
                *least = *sample.min(above).min(below);
                *largest = *sample.max(above).max(below);
            }
            for limit in [&mut least, &mut largest] {
                (limit[0], limit[*width + 1]) = (limit[1], limit[*width]);
            }
            let three =
                |limit: &[u8], of: fn(u8, u8) -> u8, x: usize| of(of(limit[x], limit[x + 1]), limit[x + 2]);
            for (x, range) in ranges.iter_mut().enumerate() {
                *range = three(&largest, u8::max, x) - three(&least, u8::min, x);
            }
        }
    }
}
