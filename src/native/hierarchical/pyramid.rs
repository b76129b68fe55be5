//! The pyramid of a frame: all that depends on the frame alone.

use rayon::prelude::*;

use crate::estimator::{FrameView, SetupError};
use crate::native::hierarchical::facts::CellFacts;
use crate::native::hierarchical::filters::{halve_row, interpolate_row, repeat_ends, smooth_row};
use crate::native::hierarchical::planes::{ABOVE, BELOW, LevelLayout, LevelPlanes, PLANES, SIDE};
use crate::native::hierarchical::state::LevelRules;
use crate::native::level::{InstructionSet, Instructions, Work};

/// Samples that a task writes: with fewer, starting the task costs more than it saves.
const SAMPLES_A_TASK: usize = 1 << 16;

/// A frame with its pyramid.
pub struct Pyramid {
    /// The frame itself.
    frame: LevelPlanes,
    /// Its levels, the finest first, which is the frame smoothed.
    levels: Vec<PyramidLevel>,
}

/// A level of a frame's pyramid.
pub struct PyramidLevel {
    /// The samples.
    pub planes: LevelPlanes,
    /// What its cells are.
    pub facts: CellFacts,
}

impl Pyramid {
    /// Memory for a frame with these levels.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(levels: &[LevelRules]) -> Result<Self, SetupError> {
        let planes = |rules: &LevelRules| LevelPlanes::new(rules.layout, PLANES);
        let level = |rules: &LevelRules| {
            Ok::<_, SetupError>(PyramidLevel { planes: planes(rules)?, facts: CellFacts::new(&rules.grid)? })
        };
        Ok(Self { frame: planes(&levels[0])?, levels: levels.iter().map(level).collect::<Result<_, _>>()? })
    }

    /// The frame without margins.
    pub fn frame(&self) -> FrameView<'_> {
        let LevelLayout { width, height, pitch } = self.frame.layout;
        let samples = &self.frame.samples()[self.frame.layout.row(0)..];
        FrameView::new(samples, width, height, pitch)
            .unwrap_or_else(|_| unreachable!("the layout has room for the frame"))
    }

    /// The planes of the frame itself.
    pub fn samples(&self) -> &LevelPlanes {
        &self.frame
    }

    /// A level.
    pub fn level(&self, index: usize) -> &PyramidLevel {
        &self.levels[index]
    }

    /// Computes everything from `frame`.
    pub fn fill(&mut self, instructions: Instructions, frame: &FrameView<'_>, rules: &[LevelRules]) {
        let Self { frame: samples, levels } = self;
        samples.write_rows(|y, row| row[SIDE..][..frame.width()].copy_from_slice(frame.row(y)));
        let mut finer = &*samples;
        let (finest, coarser) = levels.split_at_mut(1);
        for level in coarser.iter_mut() {
            level.planes.write_bands(|first, rows, layout| {
                instructions.run(HalvedBand { from: finer, to: layout, first, rows });
            });
            finer = &level.planes;
        }
        for level in finest.iter_mut() {
            level.planes.write_bands(|first, rows, _| {
                instructions.run(SmoothBand { from: samples, first, rows });
            });
        }
        samples.interpolate(instructions);
        for (level, rules) in levels.iter_mut().zip(rules) {
            level.planes.interpolate(instructions);
            level.facts.fill(instructions, &level.planes, &rules.grid, rules.index == 0);
        }
    }
}

impl LevelPlanes {
    /// Rows that a task writes.
    fn rows_a_task(&self) -> usize {
        (SAMPLES_A_TASK / self.layout.pitch).max(1)
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

    /// Writes the frame by `write`, given the number of the first of some rows, which writes margins at their sides too.
    fn write_bands(&mut self, write: impl Fn(usize, &mut [u8], &LevelLayout) + Sync) {
        let (layout, rows_a_task) = (self.layout, self.rows_a_task());
        let samples = self.frame_mut();
        let inside = &mut samples[ABOVE * layout.pitch..][..layout.height * layout.pitch];
        let bands = inside.par_chunks_mut(layout.pitch * rows_a_task).enumerate();
        bands.for_each(|(band, rows)| write(band * rows_a_task, rows, &layout));
        let row = |y: usize| y * layout.pitch..(y + 1) * layout.pitch;
        let last = ABOVE + layout.height - 1;
        (0..ABOVE).for_each(|y| samples.copy_within(row(ABOVE), row(y).start));
        (0..BELOW).for_each(|y| samples.copy_within(row(last), row(last + 1 + y).start));
    }

    /// Computes the planes of half samples.
    fn interpolate(&mut self, instructions: Instructions) {
        let (layout, rows_a_task) = (self.layout, self.rows_a_task());
        let (frame, half_samples) = self.split();
        let (right, rest) = half_samples.split_at_mut(layout.length());
        let (below, both) = rest.split_at_mut(layout.length());
        let both = &mut both[..layout.length()];
        let [right, below, both] = [right, below, both].map(|p| p.par_chunks_mut(layout.pitch * rows_a_task));
        let frame = &*frame;
        (right, below, both).into_par_iter().enumerate().for_each(|(band, (right, below, both))| {
            let first = band * rows_a_task;
            instructions.run(InterpolatedBand {
                frame,
                layout: &layout,
                first,
                planes: [right, below, both],
            });
        });
    }
}

/// Some rows of a frame of half the size.
struct HalvedBand<'a> {
    from: &'a LevelPlanes,
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
    from: &'a LevelPlanes,
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

/// Some rows of the planes of half samples, margins included.
struct InterpolatedBand<'a> {
    frame: &'a [u8],
    layout: &'a LevelLayout,
    /// The first row, counted from the top margin's.
    first: usize,
    planes: [&'a mut [u8]; 3],
}

impl Work for InterpolatedBand<'_> {
    type Output = ();

    #[inline(always)]
    fn run<E: InstructionSet>(self, _: E) {
        let Self { frame, layout, first, planes: [right, below, both] } = self;
        let rows = right.chunks_exact_mut(layout.pitch).zip(below.chunks_exact_mut(layout.pitch));
        let rows = rows.zip(both.chunks_exact_mut(layout.pitch));
        for (row, ((right, below), both)) in rows.enumerate() {
            let y = (first + row) as isize - ABOVE as isize;
            interpolate_row(layout, frame, y, [right, below, both]);
        }
    }
}
