//! The pyramid of a frame: all that depends on the frame alone.

use rayon::prelude::*;

use crate::estimator::{FrameView, SetupError};
use crate::native::hierarchical::facts::CellFacts;
use crate::native::hierarchical::filters::{halve_row, interpolate_row, repeat_ends, smooth_row, span_row};
use crate::native::hierarchical::grid::CellGrid;
use crate::native::hierarchical::planes::{ABOVE, BELOW, LevelFrame, LevelLayout, SIDE};
use crate::native::hierarchical::rules::LevelRules;
use crate::native::hierarchical::small_cells::SmallCellFacts;
use crate::native::hierarchical::strips::{ADVANCE, HalfSamples};
use crate::native::level::{InstructionSet, Instructions, Work};

/// Samples that a task writes: with fewer, starting the task costs more than it saves.
const SAMPLES_A_TASK: usize = 1 << 16;

/// A frame with its pyramid.
pub struct Pyramid {
    /// The frame itself.
    frame: LevelFrame,
    /// Its levels, the finest first, which is the frame smoothed.
    levels: Vec<PyramidLevel>,
    /// What its small cells are, if these are searched.
    small_cells: Option<SmallCellFacts>,
}

/// A level of a frame's pyramid.
pub struct PyramidLevel {
    /// The samples.
    pub frame: LevelFrame,
    /// The samples between them.
    pub half_samples: HalfSamples,
    /// What its cells are.
    pub facts: CellFacts,
}

impl Pyramid {
    /// Memory for a frame with these levels, and with small cells if there are any.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(levels: &[LevelRules], small_cells: Option<&CellGrid>) -> Result<Self, SetupError> {
        let level = |rules: &LevelRules| {
            let (frame, half_samples) = (LevelFrame::new(rules.layout)?, HalfSamples::new(rules.layout)?);
            Ok::<_, SetupError>(PyramidLevel { frame, half_samples, facts: CellFacts::new(&rules.grid)? })
        };
        Ok(Self {
            frame: LevelFrame::new(levels[0].layout)?,
            levels: levels.iter().map(level).collect::<Result<_, _>>()?,
            small_cells: small_cells.map(SmallCellFacts::new).transpose()?,
        })
    }

    /// The frame without margins.
    pub fn frame(&self) -> FrameView<'_> {
        let LevelLayout { width, height, pitch } = self.frame.layout;
        let samples = &self.frame.samples()[self.frame.layout.row(0)..];
        FrameView::new(samples, width, height, pitch)
            .unwrap_or_else(|_| unreachable!("the layout has room for the frame"))
    }

    /// The frame itself.
    pub fn samples(&self) -> &LevelFrame {
        &self.frame
    }

    /// A level.
    pub fn level(&self, index: usize) -> &PyramidLevel {
        &self.levels[index]
    }

    /// What the small cells are, if they are searched.
    pub fn small_cells(&self) -> Option<&SmallCellFacts> {
        self.small_cells.as_ref()
    }

    /// Computes everything from `frame`, as [`Self::new`] was asked for it.
    pub fn fill(
        &mut self,
        instructions: Instructions,
        frame: &FrameView<'_>,
        rules: &[LevelRules],
        small_grid: Option<&CellGrid>,
    ) {
        let Self { frame: samples, levels, small_cells } = self;
        samples.copy_from(frame);
        let mut finer = &*samples;
        let (finest, coarser) = levels.split_at_mut(1);
        for level in coarser.iter_mut() {
            level.frame.write_bands(|first, rows, layout| {
                instructions.run(HalvedBand { from: finer, to: layout, first, rows });
            });
            finer = &level.frame;
        }
        for level in finest.iter_mut() {
            level.frame.write_bands(|first, rows, _| {
                instructions.run(SmoothBand { from: samples, first, rows });
            });
        }
        for (level, rules) in levels.iter_mut().zip(rules) {
            level.half_samples.fill(instructions, &level.frame);
            level.facts.fill(instructions, &level.frame, &rules.grid, rules.index == 0);
        }
        if let (Some(small_cells), Some(grid), Some(finest)) = (small_cells, small_grid, levels.first()) {
            small_cells.fill(instructions, &finest.frame, grid);
        }
    }
}

impl LevelFrame {
    /// Rows that a task writes.
    fn rows_a_task(&self) -> usize {
        (SAMPLES_A_TASK / self.layout.pitch).max(1)
    }

    /// Copies the upper eight bits of `frame`, and writes the margins.
    pub fn copy_from(&mut self, frame: &FrameView<'_>) {
        self.write_rows(|y, row| frame.read_row(y, &mut row[SIDE..][..frame.width()]));
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
    fn write_bands(&mut self, write: impl Fn(usize, &mut [u8], &LevelLayout) + Sync) {
        let (layout, rows_a_task) = (self.layout, self.rows_a_task());
        let samples = self.samples_mut();
        let inside = &mut samples[ABOVE * layout.pitch..][..layout.height * layout.pitch];
        let bands = inside.par_chunks_mut(layout.pitch * rows_a_task).enumerate();
        bands.for_each(|(band, rows)| write(band * rows_a_task, rows, &layout));
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
        self.samples_mut().par_chunks_mut(length).enumerate().for_each(|(index, strip)| {
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

impl Work for HalvedBand<'_> {
    type Output = ();

    #[inline(always)]
    fn run<E: InstructionSet>(self, _: E) {
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

impl Work for SmoothBand<'_> {
    type Output = ();

    #[inline(always)]
    fn run<E: InstructionSet>(self, _: E) {
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

impl Work for InterpolatedStrip<'_> {
    type Output = ();

    #[inline(always)]
    fn run<E: InstructionSet>(self, _: E) {
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
