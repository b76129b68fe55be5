//! Frames in memory: extended to whole blocks and padded by their edge samples, so that the inner loops need not know
//! where a frame ends.

use std::ops::Range;

use crate::estimator::{Border, FrameView, Parameters, Sample, SampleFormat, SetupError};
use crate::native::candidates::ROW_SAMPLES;
use motion_base::memory::zeroed;
use motion_base::threads::each_band;

/// Rows that one task pads: with fewer, starting the task costs more than the copy.
const ROWS_A_TASK: usize = 64;

/// Samples that one cache line holds.
const LINE: usize = 64;

/// The layout of a padded frame. It depends on the parameters alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneLayout {
    /// Samples before the first column.
    left: usize,
    /// Rows above the first.
    top: usize,
    /// Samples from one row to the next.
    pub pitch: usize,
    /// Rows in all.
    rows: usize,
    /// How the samples lie in memory.
    pub format: SampleFormat,
}

impl PlaneLayout {
    pub fn new(parameters: &Parameters) -> Self {
        let side = parameters.block_size;
        let (window, reach) = (parameters.window, parameters.sub_sample.reach());
        // The first sample of a block goes from `-before` to `furthest`, see `Parameters::winning_window_of`. With
        // refinement three-step search goes further: until the filters read nothing but repeated samples.
        let axis = |first: i32, last: i32, extended: usize| match parameters.border {
            Border::Restrict => (0, extended - side),
            Border::Extend => {
                let before = (side - 1 + reach).min(first.unsigned_abs() as usize);
                (before, (extended - 1 + reach).min(extended - side + last as usize))
            }
        };
        let (left, furthest_x) = axis(window.x0(), window.x1(), parameters.extended_width());
        let (top, furthest_y) = axis(window.y0(), window.y1(), parameters.extended_height());
        let (left, top) = (left + reach, top + reach);
        let columns = left + furthest_x + side + ROW_SAMPLES;
        // An odd number of cache lines a row spreads the rows of a search area over the whole cache.
        let pitch = columns.next_multiple_of(LINE) | LINE;
        let format = SampleFormat::new(parameters.bit_depth, 0)
            .unwrap_or_else(|error| unreachable!("the parameters are valid: {error}"));
        Self { left, top, pitch, rows: top + furthest_y + side + reach, format }
    }

    /// Rows in all.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The column and row of the sample at `(x, y)` of the frame.
    #[inline(always)]
    pub fn position(&self, x: i32, y: i32) -> (usize, usize) {
        let (column, row) = (x + self.left as i32, y + self.top as i32);
        debug_assert!(column >= 0 && row >= 0);
        (column as usize, row as usize)
    }

    /// Bytes of one frame. (Frames and blocks have a largest size: no overflow.)
    pub fn bytes(&self) -> u64 {
        self.pitch as u64 * self.rows as u64 * self.format.bytes() as u64
    }

    /// The index of the sample at `(x, y)` of the frame, as far outside as candidates go.
    #[inline(always)]
    pub fn offset(&self, x: i32, y: i32) -> usize {
        let (column, row) = self.position(x, y);
        row * self.pitch + column
    }
}

/// A padded frame.
pub struct Plane {
    layout: PlaneLayout,
    /// Deep samples, or eight-bit samples in pairs.
    memory: Vec<u16>,
}

impl Plane {
    /// Memory for a frame.
    ///
    /// # Errors
    /// [`SetupError::Memory`] where it needs more than `limit` bytes, or more than there are.
    pub fn new(layout: PlaneLayout, limit: u64) -> Result<Self, SetupError> {
        Ok(Self { layout, memory: zeroed("a frame", layout.bytes() / 2, limit)? })
    }

    pub fn layout(&self) -> &PlaneLayout {
        &self.layout
    }

    /// Every sample, `pitch` apart from row to row; `S` is the type for the layout's format.
    #[inline(always)]
    pub fn samples<S: Sample>(&self) -> &[S] {
        debug_assert!(size_of::<S>() == self.layout.format.bytes());
        bytemuck::cast_slice(&self.memory)
    }

    /// Copies `rows` of `frame` and repeats its edges.
    pub fn fill(&mut self, frame: &FrameView<'_>, rows: &Range<usize>) {
        match self.layout.format.bytes() {
            1 => self.fill_samples::<u8>(frame, rows),
            _ => self.fill_samples::<u16>(frame, rows),
        }
    }

    fn fill_samples<S: Sample>(&mut self, frame: &FrameView<'_>, rows: &Range<usize>) {
        let PlaneLayout { left, top, pitch, .. } = self.layout;
        let last = frame.height() - 1;
        // The rows above and below go with the first and last.
        let first = if rows.start == 0 { 0 } else { (rows.start + top).min(self.layout.rows) };
        let end = if rows.end > last { self.layout.rows } else { (rows.end + top).min(self.layout.rows) };
        let pad = |(row, padded): (usize, &mut [S])| {
            let (before, rest) = padded.split_at_mut(left);
            let (inside, after) = rest.split_at_mut(frame.width());
            frame.read_row(row.saturating_sub(top).min(last), inside);
            before.fill(inside[0]);
            after.fill(inside[inside.len() - 1]);
        };
        let samples: &mut [S] = bytemuck::cast_slice_mut(&mut self.memory);
        let samples = samples.get_mut(pitch * first..pitch * end).unwrap_or_default();
        each_band(samples, pitch * ROWS_A_TASK, &|task, rows: &mut [S]| {
            rows.chunks_mut(pitch)
                .enumerate()
                .for_each(|(row, padded)| pad((first + task * ROWS_A_TASK + row, padded)));
        });
    }

    /// The frame without its padding.
    pub fn frame(&self, width: usize, height: usize) -> FrameView<'_> {
        let (format, bytes) = (self.layout.format, self.layout.format.bytes());
        let samples = &bytemuck::cast_slice(&self.memory)[bytes * self.layout.offset(0, 0)..];
        FrameView::with_format(samples, (width, height), bytes * self.layout.pitch, format)
            .unwrap_or_else(|_| unreachable!("the layout has room for the frame"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::{Frame, Window};

    fn parameters(size: usize, range: i32, border: Border) -> Parameters {
        let window = Window::symmetric(range, range).unwrap();
        Parameters { border, ..Parameters::new(size, size, 16, window) }
    }

    #[test]
    fn every_sample_in_reach_is_the_extended_one() {
        for (size, range, border) in
            [(37, 5, Border::Extend), (5, 90, Border::Extend), (37, 5, Border::Restrict)]
        {
            let parameters = parameters(size, range, border);
            let frame = Frame::from_fn(size, size, |x, y| (x * 7 + y * 31) as u8);
            let layout = PlaneLayout::new(&parameters);
            let mut plane = Plane::new(layout, u64::MAX).unwrap();
            plane.fill(&frame.view(), &(0..size));
            for y in 0..layout.rows {
                for x in 0..layout.pitch {
                    let expected =
                        frame.view().extended(x as i32 - layout.left as i32, y as i32 - layout.top as i32);
                    assert_eq!(plane.samples::<u8>()[y * layout.pitch + x], expected, "{x}, {y}");
                }
            }
            let kept = plane.frame(size, size);
            (0..size).for_each(|y| assert_eq!(kept.row(y), frame.view().row(y)));
        }
    }

    #[test]
    fn the_largest_window_costs_no_more_than_a_block_of_padding() {
        let layout = PlaneLayout::new(&parameters(1000, 8191, Border::Extend));
        assert!(layout.bytes() < 1200 * 1100, "{layout:?}");
    }

    #[test]
    fn too_little_memory_is_an_error() {
        let layout = PlaneLayout::new(&parameters(1000, 16, Border::Extend));
        let error = Plane::new(layout, layout.bytes() - 1).err();
        assert!(matches!(error, Some(SetupError::Memory { .. })), "{error:?}");
        assert!(Plane::new(layout, layout.bytes()).is_ok());
    }
}
