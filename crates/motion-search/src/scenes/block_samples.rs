//! The samples of blocks of search frames, as they are.

use super::BLOCK;
use crate::estimator::FrameView;

/// The 8 x 8 samples of a block.
pub struct BlockSamples(pub [[u8; BLOCK]; BLOCK]);

impl BlockSamples {
    /// Those of `frame` from `(x, y)` on. Outside the frame, its edge samples repeat.
    #[inline(always)]
    pub fn load(frame: &FrameView<'_>, (x, y): (i32, i32)) -> Self {
        let mut samples = [[0; BLOCK]; BLOCK];
        match frame.inside((x, y), (BLOCK, BLOCK)) {
            Some((inside, stride)) => {
                for (row, inside) in samples.iter_mut().zip(inside.chunks(stride)) {
                    row.copy_from_slice(&inside[..BLOCK]);
                }
            }
            None => {
                for (row, y) in samples.iter_mut().zip(y..) {
                    for (sample, x) in row.iter_mut().zip(x..) {
                        *sample = frame.extended(x, y);
                    }
                }
            }
        }
        Self(samples)
    }

    /// Means of `1 << halvings` samples on each axis of `frame` from `(x, y)` on. Outside the frame, its edge samples repeat.
    #[inline(always)]
    pub fn load_halved(frame: &FrameView<'_>, (x, y): (i32, i32), halvings: u32) -> Self {
        let side = BLOCK << halvings;
        let mut sums = [[0_u16; BLOCK]; BLOCK];
        let mut add = |row: usize, column: usize, sample: u8| {
            sums[row >> halvings][column >> halvings] += u16::from(sample);
        };
        match frame.inside((x, y), (side, side)) {
            Some((inside, stride)) => {
                for (row, inside) in inside.chunks(stride).take(side).enumerate() {
                    inside[..side].iter().enumerate().for_each(|(column, sample)| add(row, column, *sample));
                }
            }
            None => {
                for (row, y) in (0..side).zip(y..) {
                    (0..side).zip(x..).for_each(|(column, x)| add(row, column, frame.extended(x, y)));
                }
            }
        }
        let half = (1 << (2 * halvings)) >> 1;
        Self(sums.map(|row| row.map(|sum| ((sum + half) >> (2 * halvings)) as u8)))
    }

    /// The numbers of the samples that differ from those of `other` by more than `most`.
    #[inline(always)]
    pub fn differing(&self, other: &Self, most: u8) -> impl Iterator<Item = usize> {
        let pairs = self.0.as_flattened().iter().zip(other.0.as_flattened());
        // In most blocks there is none, and then one look at all is enough.
        let mut largest = 0;
        for (a, b) in pairs.clone() {
            largest = largest.max(a.abs_diff(*b));
        }
        let count = if largest > most { BLOCK * BLOCK } else { 0 };
        let differ = pairs.take(count).enumerate().filter(move |(_, (a, b))| a.abs_diff(**b) > most);
        differ.map(|(number, _)| number)
    }
}
