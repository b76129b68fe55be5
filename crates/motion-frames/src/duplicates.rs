//! Frames that differ from the frame before by coding noise alone.
//!
//! An encoder changes a frame that is repeated a little: by rounding, and where it spends bits on what it has left out
//! before. Where something moves, samples differ by more than their neighbours do.
//!
//! # The definition
//!
//! 1. Each plane, upper eight bits, is divided into blocks of 16 x 16. The excess of a block is the sum of absolute
//!    differences between both frames, less a quarter of those between each sample of the frame before and its
//!    neighbours to the right and below, for each sample of the block. Texture that moves by a small part of a sample
//!    does not explain this excess.
//! 2. The difference of a plane is its third largest excess; the second largest of less than 200 blocks, the largest of
//!    less than 100. That of the frame is the largest of its planes.
//! 3. It is a duplicate up to a difference of 1.5 levels. If the largest difference of the last eight frames is at
//!    least four times the least, frames that move and duplicates take turns: then the limit is three times the least,
//!    from 1.5 to 4 levels.

use std::collections::VecDeque;

use crate::compensation::{CompensationError, Sampling};
use motion_base::FrameView;

/// The side of a block, in samples.
const BLOCK: usize = 16;

/// A difference of 1 of eight bits in each sample of a block, in the unit of differences: a quarter of a sample's difference.
const ONE_A_SAMPLE: u32 = 4 * (BLOCK * BLOCK) as u32;

/// Differences up to this one are always noise.
const LEAST: u32 = ONE_A_SAMPLE * 3 / 2;

/// Larger differences are never noise.
const MOST: u32 = ONE_A_SAMPLE * 4;

/// Noise varies up to this factor.
const VARIATION: u32 = 3;

/// The difference of frames that move is at least this many times the noise.
const CONTRAST: u32 = 4;

/// The noise is the least difference of so many frames.
const FRAMES: usize = 8;

/// One block in so many may differ by more, but at most [`OUTLIERS`] blocks.
const BLOCKS_AN_OUTLIER: usize = 100;

const OUTLIERS: usize = 2;

/// Tells which frames of a stream are duplicates. What it knows of the noise it has from earlier frames, so that none has to
/// wait.
///
/// ```
/// use motion_frames::compensation::Sampling;
/// use motion_frames::duplicates::DuplicateFinder;
/// use motion_search::Frame;
///
/// let frame = |moved, noise| Frame::from_fn(64, 48, move |x, y| (16 * (x + moved) + 8 * y + noise * (x ^ y) % 2) as u8);
/// let (first, again, moved) = (frame(0, 0), frame(0, 1), frame(3, 0));
/// let mut finder = DuplicateFinder::default();
/// let mut is_duplicate = |next: &Frame| finder.is_duplicate(&[first.view()], &[next.view()], &[Sampling::LUMA]);
/// assert!(is_duplicate(&again)?);
/// assert!(!is_duplicate(&moved)?);
/// # Ok::<(), motion_frames::compensation::CompensationError>(())
/// ```
#[derive(Debug, Default)]
pub struct DuplicateFinder {
    /// The differences of the last frames, oldest first.
    differences: VecDeque<u32>,
    rows: SampleRows,
}

/// Samples of eight bits of a row of blocks: those of the next frame, and those of the previous one with the row below.
#[derive(Debug, Default)]
struct SampleRows {
    next: Vec<u8>,
    previous: Vec<u8>,
}

impl DuplicateFinder {
    /// Whether `next` differs from `previous` by noise alone, in all planes. `samplings` are those of the planes. Of deeper
    /// samples the upper eight bits count.
    ///
    /// # Errors
    /// [`CompensationError::Planes`] if there is not one plane of each frame for each of `samplings`,
    /// [`CompensationError::PlaneSize`] if the frames differ in size.
    pub fn is_duplicate(
        &mut self,
        previous: &[FrameView<'_>],
        next: &[FrameView<'_>],
        samplings: &[Sampling],
    ) -> Result<bool, CompensationError> {
        if let Some(planes) = [previous, next].into_iter().find(|planes| planes.len() != samplings.len()) {
            return Err(CompensationError::Planes(samplings.len(), planes.len()));
        }
        let mut difference = 0;
        for ((previous, next), sampling) in previous.iter().zip(next).zip(samplings) {
            let ((width, height), (other_width, other_height)) = (previous.size(), next.size());
            if previous.size() != next.size() {
                return Err(CompensationError::PlaneSize(width, height, other_width, other_height));
            }
            let distance = sampling.pixel();
            difference = difference.max(self.rows.difference([previous, next], distance));
        }
        let limit = self.limit();
        if self.differences.len() == FRAMES {
            self.differences.pop_front();
        }
        self.differences.push_back(difference);
        Ok(difference <= limit)
    }

    /// The largest difference of a duplicate. It depends on the noise where frames that move and frames that do not take turns.
    fn limit(&self) -> u32 {
        let of_frames = self.differences.iter().copied();
        let (Some(noise), Some(most)) = (of_frames.clone().min(), of_frames.max()) else { return LEAST };
        let is_known = most >= noise.saturating_mul(CONTRAST);
        if is_known { noise.saturating_mul(VARIATION).clamp(LEAST, MOST) } else { LEAST }
    }
}

impl SampleRows {
    /// How two planes differ, outliers left out. Neighbouring samples of one component are `distance` apart in a row.
    fn difference(&mut self, [previous, next]: [&FrameView<'_>; 2], distance: usize) -> u32 {
        let (width, height) = previous.size();
        let blocks = width.div_ceil(BLOCK) * height.div_ceil(BLOCK);
        // The largest differences, in descending order.
        let mut largest = [0; OUTLIERS + 1];
        let outliers = (blocks / BLOCKS_AN_OUTLIER).min(OUTLIERS);
        self.next.resize(width * BLOCK, 0);
        self.previous.resize(width * (BLOCK + 1), 0);
        for top in (0..height).step_by(BLOCK) {
            let rows = BLOCK.min(height - top);
            for (y, row) in (top..top + rows).zip(self.next.chunks_exact_mut(width)) {
                next.read_row(y, row);
            }
            for (y, row) in (top..=top + rows).zip(self.previous.chunks_exact_mut(width)) {
                previous.read_row(y.min(height - 1), row);
            }
            for left in (0..width).step_by(BLOCK) {
                let mut difference = self.block(width, rows, left, distance);
                for largest in &mut largest[..=outliers] {
                    if difference > *largest {
                        std::mem::swap(largest, &mut difference);
                    }
                }
            }
        }
        largest[outliers]
    }

    /// The sum of absolute differences of the block that begins with sample `left`, less a quarter of those between
    /// neighbouring samples of the previous frame; four times that, as if the block was whole.
    fn block(&self, width: usize, rows: usize, left: usize, distance: usize) -> u32 {
        let right = (left + BLOCK).min(width);
        let (mut differences, mut steps) = (0, 0);
        for (next, previous) in
            self.next.chunks_exact(width).zip(self.previous.windows(2 * width).step_by(width)).take(rows)
        {
            let (previous, below) = previous.split_at(width);
            let sum =
                |a: &[u8], b: &[u8]| -> u32 { a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(*b))).sum() };
            let here = &previous[left..right];
            differences += sum(here, &next[left..right]);
            steps += sum(here, &below[left..right]) + sum(here, &previous[(left + distance).min(width)..]);
        }
        let samples = (rows * (right - left)) as u32;
        (4 * differences).saturating_sub(steps) * (BLOCK * BLOCK) as u32 / samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motion_base::Frame;

    /// A frame of `width` x 64 samples with texture, which is moved by `moved` samples to the left, with noise of up to
    /// `noise`.
    fn frame(width: usize, moved: usize, noise: u32, seed: u32) -> Frame {
        Frame::from_fn(width, 64, move |x, y| {
            let texture = 40 + ((x + moved) * (x + moved) / 7 + 3 * y * y) % 160;
            let random =
                ((x as u32 * 7919) ^ (y as u32 * 104_729) ^ (seed * 15_485_863)).wrapping_mul(2_654_435_761);
            (texture as u32 + (random >> 16) % (noise + 1)) as u8
        })
    }

    fn found(frames: impl IntoIterator<Item = Frame>) -> Vec<bool> {
        let mut finder = DuplicateFinder::default();
        let mut previous: Option<Frame> = None;
        let mut is_duplicate = |next: Frame| {
            let is_one = previous.as_ref().is_some_and(|previous| {
                finder.is_duplicate(&[previous.view()], &[next.view()], &[Sampling::LUMA]).unwrap()
            });
            if !is_one {
                previous = Some(next);
            }
            is_one
        };
        frames.into_iter().map(&mut is_duplicate).collect()
    }

    #[test]
    fn what_repeats_with_noise_is_found_and_what_moves_is_not() {
        for noise in [0, 2, 4] {
            let twos = found((0..20).map(|number| frame(160, number as usize / 2, noise, number)));
            let expected: Vec<_> = (0..20).map(|number| number % 2 == 1).collect();
            assert_eq!(twos, expected, "noise of {noise}");
            let ones = found((0..20).map(|number| frame(160, number as usize, noise, number)));
            assert!(!ones.contains(&true), "noise of {noise}");
        }
    }

    #[test]
    fn strong_noise_is_learnt_where_frames_take_turns() {
        // Flat, so that texture excuses nothing: a difference of two to three a sample.
        let flat = |number: u32| {
            let grey = 60 + 40 * (number / 2 % 2);
            Frame::from_fn(64, 64, move |x, y| {
                let random = ((x as u32 * 7919) ^ (y as u32 * 104_729) ^ (number * 15_485_863))
                    .wrapping_mul(2_654_435_761);
                (grey + (random >> 16) % 12) as u8
            })
        };
        let twos = found((0..20).map(flat));
        assert!(!twos[1], "nothing is known yet");
        assert!(twos[9..].iter().zip(9..).all(|(&is_one, number)| is_one == (number % 2 == 1)), "{twos:?}");
        // The same noise without frames that differ by more.
        let still = found((0..20).map(|number| flat(4 * number)));
        assert!(!still.contains(&true));
    }

    #[test]
    fn a_block_that_moves_is_enough_in_a_small_frame() {
        let small = |moved: usize| {
            Frame::from_fn(64, 48, move |x, y| if (x + 64 - moved) % 64 < 8 && y < 8 { 200 } else { 60 })
        };
        assert_eq!(found([small(0), small(0), small(2), small(2)]), [false, true, false, true]);
    }

    #[test]
    fn a_change_in_any_plane_is_a_change() {
        let gray = Frame::from_fn(32, 32, |_, _| 100);
        let colour = |u| Frame::from_fn(32, 16, move |x, _| if x % 2 == 0 { u } else { 90 });
        let interleaved = Sampling { interleaved: true, ..Sampling::LUMA };
        let (before, after) = (colour(60), colour(64));
        let mut finder = DuplicateFinder::default();
        let mut is_duplicate = |next: &Frame| {
            let samplings = [Sampling::LUMA, interleaved];
            finder
                .is_duplicate(&[gray.view(), before.view()], &[gray.view(), next.view()], &samplings)
                .unwrap()
        };
        assert_eq!([is_duplicate(&before), is_duplicate(&after)], [true, false]);
        let other = Frame::from_fn(16, 32, |_, _| 100);
        assert!(finder.is_duplicate(&[gray.view()], &[other.view()], &[Sampling::LUMA]).is_err());
    }
}
