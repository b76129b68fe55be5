//! The pyramid of a frame: all that depends on the frame alone.

use crate::estimator::{FrameView, SetupError};
use crate::native::hierarchical::facts::CellFacts;
use crate::native::hierarchical::grid::CellGrid;
use crate::native::hierarchical::rules::LevelRules;
use crate::native::hierarchical::small_cells::SmallCellFacts;
use motion_base::pyramid::planes::{LevelFrame, LevelLayout};
use motion_base::pyramid::strips::HalfSamples;
use motion_base::simd::Instructions;

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
            level.frame.fill_halved(instructions, finer);
            finer = &level.frame;
        }
        for level in finest.iter_mut() {
            level.frame.fill_smoothed(instructions, samples);
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
