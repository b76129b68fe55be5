//! Blending into one component of a frame, independent of the frame's layout.

use std::ops::Range;

use motion_search::estimator::SampleFormat;

/// The samples of one component: luma, one chroma component or one colour.
pub(super) struct Component<'a> {
    /// Bytes, starting with the component's first sample.
    pub(super) samples: &'a mut [u8],
    /// Bytes from one row to the next.
    pub(super) stride: usize,
    /// Bytes from one sample to the next.
    pub(super) pixel_stride: usize,
    /// Samples per row.
    pub(super) width: usize,
    /// Rows.
    pub(super) height: usize,
    /// Subsampling: one sample stands for `1 << shift.0` columns and `1 << shift.1` rows of the frame.
    pub(super) shift: (u32, u32),
    /// How samples of more than eight bits lie in memory; `None` for eight bits.
    pub(super) deep: Option<SampleFormat>,
}

/// Coverage of each frame sample, 0 to 255, row-major.
#[derive(Clone, Copy)]
pub(super) struct Coverage<'a> {
    pub(super) data: &'a [u8],
    pub(super) width: usize,
    pub(super) height: usize,
}

/// `from` mixed with `part` / 255 of `to`.
#[inline]
fn mix(from: u32, to: u32, part: u32) -> u32 {
    (from * (255 - part) + to * part + 127) / 255
}

/// Mixes `part` / 255 of `value`, of eight bits, into the sample at the beginning of `bytes`.
#[inline]
fn mix_into(bytes: &mut [u8], deep: Option<SampleFormat>, value: u8, part: u32) {
    match (deep, bytes) {
        (None, [sample, ..]) => *sample = mix(u32::from(*sample), u32::from(value), part) as u8,
        (Some(format), [low, high, ..]) => {
            let sample = u32::from((u16::from_le_bytes([*low, *high]) >> format.shift()) & format.peak());
            // From black to white in both.
            let value = u32::from(value) << (format.depth() - 8);
            [*low, *high] = ((mix(sample, value, part) as u16) << format.shift()).to_le_bytes();
        }
        _ => (),
    }
}

impl Component<'_> {
    /// The bytes from each sample of `columns` in row `y` to the next; fewer if the plane ends early.
    fn row(&mut self, y: usize, columns: Range<usize>) -> impl Iterator<Item = &mut [u8]> {
        let start = (y * self.stride + columns.start * self.pixel_stride).min(self.samples.len());
        self.samples[start..].chunks_mut(self.pixel_stride.max(1)).take(columns.len())
    }

    /// Mixes in `value` with the weight `coverage` times `opacity` / 255.
    pub(super) fn blend(&mut self, coverage: Coverage<'_>, value: u8, opacity: u8) {
        /// Frame samples that are skipped together if none is covered.
        const STEP: usize = 32;
        let (across, down) = (1 << self.shift.0, 1 << self.shift.1);
        let deep = self.deep;
        for y in 0..self.height.min(coverage.height.div_ceil(down)) {
            let rows = y * down..((y + 1) * down).min(coverage.height);
            let rows = &coverage.data[rows.start * coverage.width..rows.end * coverage.width];
            for first in (0..coverage.width).step_by(STEP) {
                let end = (first + STEP).min(coverage.width);
                let covered = |row: &[u8]| row[first..end].iter().fold(0, |any, &part| any | part) != 0;
                if !rows.chunks_exact(coverage.width).any(covered) {
                    continue;
                }
                let columns = first / across..end.div_ceil(across).min(self.width);
                let first_column = columns.start;
                for (index, sample) in self.row(y, columns).enumerate() {
                    let x = (first_column + index) * across;
                    let end = (x + across).min(coverage.width);
                    let footprint = rows.chunks_exact(coverage.width).flat_map(|row| &row[x..end]);
                    let (sum, count) =
                        footprint.fold((0, 0), |(sum, count), &part| (sum + u32::from(part), count + 1));
                    let part = sum * u32::from(opacity) / (count * 255).max(1);
                    mix_into(sample, deep, value, part);
                }
            }
        }
    }

    /// Mixes `value` with the weight `opacity` / 255 into the samples of the component whose frame
    /// samples lie in `columns` × `rows`.
    pub(super) fn tint(&mut self, columns: Range<usize>, rows: Range<usize>, value: u8, opacity: u8) {
        let samples = |range: Range<usize>, shift: u32, size: usize| {
            range.start.div_ceil(1 << shift).min(size)..range.end.div_ceil(1 << shift).min(size)
        };
        let columns = samples(columns, self.shift.0, self.width);
        let deep = self.deep;
        for y in samples(rows, self.shift.1, self.height) {
            for sample in self.row(y, columns.clone()) {
                mix_into(sample, deep, value, u32::from(opacity));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(samples: &mut [u8], width: usize, height: usize, shift: (u32, u32)) -> Component<'_> {
        Component { samples, stride: width, pixel_stride: 1, width, height, shift, deep: None }
    }

    #[test]
    fn chroma_takes_the_mean_of_its_footprint() {
        // A 3 × 3 frame with 2 × 2 chroma samples: the last column and row stand for fewer.
        let data = [255, 255, 0, 255, 255, 0, 0, 0, 255];
        let mut chroma = [100; 4];
        component(&mut chroma, 2, 2, (1, 1)).blend(Coverage { data: &data, width: 3, height: 3 }, 200, 255);
        assert_eq!(chroma, [200, 100, 100, 200]);
    }

    #[test]
    fn tints_of_neighbours_neither_overlap_nor_leave_gaps() {
        // Blocks of 3 samples: chroma samples 0 and 1 begin in the first block, 2 in the second.
        let mut chroma = [0; 3];
        let mut component = component(&mut chroma, 3, 1, (1, 1));
        component.tint(0..3, 0..3, 10, 255);
        component.tint(3..6, 0..3, 20, 255);
        assert_eq!(chroma, [10, 10, 20]);
    }

    #[test]
    fn a_short_plane_is_no_panic() {
        let mut samples = [0; 5];
        let mut component = component(&mut samples, 4, 4, (0, 0));
        component.tint(0..4, 0..4, 9, 255);
        component.blend(Coverage { data: &[255; 16], width: 4, height: 4 }, 7, 255);
        assert_eq!(samples, [7; 5]);
    }
}
