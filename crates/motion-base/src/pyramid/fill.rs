//! Computes the samples of levels, and those between them.

use crate::FrameView;
use crate::pyramid::filters::{halve_row, interpolate_row, repeat_ends, smooth_row, span_row};
use crate::pyramid::planes::{ABOVE, BELOW, LevelFrame, LevelLayout, SIDE};
use crate::pyramid::strips::{ADVANCE, HalfSamples};
use crate::simd::{InstructionSet, Instructions, Work};
use crate::threads::each_band;

/// Samples that a task writes: with fewer, starting the task costs more than it saves.
const SAMPLES_A_TASK: usize = 1 << 16;

impl LevelFrame {
    /// Rows that a task writes.
    fn rows_a_task(&self) -> usize {
        (SAMPLES_A_TASK / self.layout.pitch).max(1)
    }

    /// Copies the eight bits of `frame`, and writes the margins.
    pub fn copy_from(&mut self, frame: &FrameView<'_>) {
        self.write_rows(|y, row| frame.read_row(y, &mut row[SIDE..][..frame.width()]));
    }

    /// Computes those of a frame of twice the width and height.
    pub fn fill_halved(&mut self, instructions: Instructions, from: &LevelFrame) {
        self.write_bands(|first, rows, to| instructions.run(HalvedBand { from, to, first, rows }));
    }

    /// Computes those of a frame of the same size, smoothed.
    pub fn fill_smoothed(&mut self, instructions: Instructions, from: &LevelFrame) {
        self.write_bands(|first, rows, _| instructions.run(SmoothBand { from, first, rows }));
    }

    /// Writes the frame by `write`, given the number of each row, and its margins.
    fn write_rows(&mut self, write: impl Fn(usize, &mut [u8]) + Sync) {
        self.write_bands(|first, rows, layout| {
            for (y, row) in rows.chunks_exact_mut(layout.pitch).enumerate() {
                write(first + y, row);
                repeat_ends(row, layout.width);
            }
        });
    }

    /// Writes the frame by `write`, given the number of the first of some rows, which writes margins at their
    /// sides too.
    pub fn write_bands(&mut self, write: impl Fn(usize, &mut [u8], &LevelLayout) + Sync) {
        let (layout, rows_a_task) = (self.layout, self.rows_a_task());
        let samples = self.samples_mut();
        let inside = &mut samples[ABOVE * layout.pitch..][..layout.height * layout.pitch];
        each_band(inside, layout.pitch * rows_a_task, &|band, rows| write(band * rows_a_task, rows, &layout));
        let row = |y: usize| y * layout.pitch..(y + 1) * layout.pitch;
        let last = ABOVE + layout.height - 1;
        (0..ABOVE).for_each(|y| samples.copy_within(row(ABOVE), row(y).start));
        (0..BELOW).for_each(|y| samples.copy_within(row(last), row(last + 1 + y).start));
    }
}

impl HalfSamples {
    /// Computes those of `frame`.
    pub fn fill(&mut self, instructions: Instructions, frame: &LevelFrame) {
        let length = Self::strip_length(&self.layout);
        each_band(self.samples_mut(), length, &|index, strip| {
            instructions.run(InterpolatedStrip { frame, column: index * ADVANCE, strip });
        });
    }
}

/// Some rows of a frame of half the size.
struct HalvedBand<'a> {
    from: &'a LevelFrame,
    to: &'a LevelLayout,
    /// The first row.
    first: usize,
    rows: &'a mut [u8],
}

impl<E: InstructionSet> Work<E> for HalvedBand<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        let (from, samples) = (&self.from.layout, self.from.samples());
        for (y, row) in self.rows.chunks_exact_mut(self.to.pitch).enumerate() {
            halve_row(from, samples, (self.first + y) as isize, (row, self.to.width));
            repeat_ends(row, self.to.width);
        }
    }
}

/// Some rows of a smoothed frame.
struct SmoothBand<'a> {
    from: &'a LevelFrame,
    /// The first row.
    first: usize,
    rows: &'a mut [u8],
}

impl<E: InstructionSet> Work<E> for SmoothBand<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        let (layout, samples) = (&self.from.layout, self.from.samples());
        for (y, row) in self.rows.chunks_exact_mut(layout.pitch).enumerate() {
            smooth_row(layout, samples, (self.first + y) as isize, row);
            repeat_ends(row, layout.width);
        }
    }
}

/// A strip of half samples.
struct InterpolatedStrip<'a> {
    frame: &'a LevelFrame,
    /// Its first column.
    column: usize,
    strip: &'a mut [u8],
}

impl<E: InstructionSet> Work<E> for InterpolatedStrip<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        let (layout, samples) = (&self.frame.layout, self.frame.samples());
        let row = |y: isize| span_row(layout, samples, (self.column, y));
        let first = -(ABOVE as isize);
        let [mut a, mut b, mut c] = [row(first - 2), row(first - 1), row(first)];
        let [mut d, mut e] = [row(first + 1), row(first + 2)];
        for (y, strip) in self.strip.as_chunks_mut().0.iter_mut().enumerate() {
            let f = row(first + y as isize + 3);
            interpolate_row([a, b, c, d, e, f], strip);
            [a, b, c, d, e] = [b, c, d, e, f];
        }
    }
}
