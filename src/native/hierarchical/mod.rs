//! Hierarchical search: motion near the true one, from coarse to fine over the pyramids of both frames.
//!
//! A search goes down the levels. On each the cells `start` with vectors and choose anew in a few iterations (`iterate`,
//! with the `candidates` of many cells at once); on levels that are searched both ways a `check` replaces the vectors that
//! do not lead back. On the finest level `refine` finds parts of a quarter sample, and `field` makes the records of blocks.
//!
//! Samples lie in `planes` with margins, interpolated at half samples (`filters`), so that `matching` compares a cell at
//! any quarter sample by averaging two of them. The values of cells lie in a `grid` with margins, each in memory of its own.
//! All memory is allocated with the search and the pyramids.

mod brightness;
mod candidates;
mod check;
mod choice;
mod facts;
mod field;
mod filters;
mod grid;
mod iterate;
mod matching;
mod memory;
mod planes;
mod pyramid;
mod refine;
mod slots;
mod start;
mod state;

pub use pyramid::Pyramid;
pub use slots::HierarchicalSlots;

use crate::estimator::pyramid::{CELL, level_sizes};
use crate::estimator::{FrameView, MotionVector, Parameters, SetupError};
use crate::native::level::Instructions;
use brightness::BrightnessOffsets;
use check::{Agreement, Checker};
use field::BlockField;
use grid::CellGrid;
use matching::{Brightness, CellMatcher, QuarterSamples};
use refine::FineField;
use start::Coarser;
use state::{LevelField, LevelRules};

/// How well the vectors of a level in quarter samples have to agree.
const COARSE_AGREEMENT: Agreement = Agreement { units: 4, tolerance: 8 };

/// The same for the vectors of the finest level in 64ths.
const FINE_AGREEMENT: Agreement = Agreement { units: 64, tolerance: 96 };

/// Hierarchical search in frames of one size, with the memory for a search.
pub struct HierarchicalSearch {
    instructions: Instructions,
    block_size: usize,
    /// Blocks across.
    columns: usize,
    /// The finest first.
    levels: Vec<LevelRules>,
    /// The field of the current frame in the reference frame.
    forward: Direction,
    /// The field of the reference frame in the current frame, where both are searched.
    backward: Direction,
}

impl HierarchicalSearch {
    /// The search for `parameters`, of which the sizes and the quality count.
    ///
    /// # Errors
    /// [`SetupError::BlockSize`] if blocks do not consist of whole cells, [`SetupError::Memory`] if there is too little.
    pub fn new(parameters: &Parameters, instructions: Instructions) -> Result<Self, SetupError> {
        parameters.validate()?;
        let &Parameters { width, height, block_size, .. } = parameters;
        let preset = parameters.quality.preset();
        let count = level_sizes(width, height).count();
        let sizes = level_sizes(width, height).enumerate();
        let levels = sizes.map(|(index, size)| LevelRules::new(&preset, (index, count), size));
        let levels: Vec<_> = levels.collect();
        let first_checked = levels.iter().take_while(|rules| !rules.both_ways).count();
        Ok(Self {
            instructions,
            block_size,
            columns: parameters.grid().columns,
            forward: Direction::new(&levels, 0)?,
            backward: Direction::new(&levels, first_checked)?,
            levels,
        })
    }

    /// Memory for a frame: its samples and the planes of its pyramid.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn pyramid(&self) -> Result<Pyramid, SetupError> {
        Pyramid::new(&self.levels)
    }

    /// Computes all that depends on this frame alone.
    pub fn load(&self, frame: &FrameView<'_>, pyramid: &mut Pyramid) {
        // Inside the pool from here on, which every parallel step would otherwise enter and leave.
        rayon::scope(|_| pyramid.fill(self.instructions, frame, &self.levels));
    }

    /// Writes the field of `current` in `reference`, one vector a block.
    pub fn search(&mut self, current: &Pyramid, reference: &Pyramid, vectors: &mut [MotionVector]) {
        rayon::scope(|_| self.search_in_pool(current, reference, vectors));
    }

    fn search_in_pool(&mut self, current: &Pyramid, reference: &Pyramid, vectors: &mut [MotionVector]) {
        let Self { instructions, levels, forward, backward, .. } = self;
        let instructions = *instructions;
        for rules in levels.iter().rev() {
            if rules.both_ways {
                rayon::join(
                    || forward.search_level(instructions, rules, [current, reference]),
                    || backward.search_level(instructions, rules, [reference, current]),
                );
                if rules.index > 0 {
                    check_level(rules, [forward, backward], [current, reference]);
                }
            } else {
                forward.search_level(instructions, rules, [current, reference]);
            }
        }
        let finest = &levels[0];
        if finest.both_ways {
            rayon::join(
                || forward.refine(instructions, finest, [current, reference]),
                || backward.refine(instructions, finest, [reference, current]),
            );
            check_finest(finest, [forward, backward], current);
        } else {
            forward.refine(instructions, finest, [current, reference]);
        }
        let Some(fine) = &forward.fine else { return };
        let field = BlockField {
            current: current.samples(),
            reference: reference.samples(),
            grid: &finest.grid,
            vectors: fine.vectors.each_ref().map(|components| &components[..]),
            cell_size: CELL,
            block_size: self.block_size,
            columns: self.columns,
        };
        field.write(instructions, vectors);
    }
}

/// Checks the fields of both directions on a level with each other.
fn check_level(rules: &LevelRules, directions: [&mut Direction; 2], [current, reference]: [&Pyramid; 2]) {
    let [forward, backward] = directions;
    let (grid, index) = (&rules.grid, rules.index);
    let field = forward.fields[index - forward.first].vectors.components();
    let back = backward.fields[index - backward.first].vectors.components();
    forward.checker.check(grid, COARSE_AGREEMENT, field, back);
    backward.checker.check(grid, COARSE_AGREEMENT, back, field);
    for (direction, frame) in [(forward, current), (backward, reference)] {
        let vectors = &mut direction.fields[index - direction.first].vectors;
        direction.checker.refill(grid, &frame.level(index).facts, [&mut vectors.x, &mut vectors.y]);
        vectors.repeat_edges(grid);
    }
}

/// Checks the refined field of the first direction with that of the other.
fn check_finest(rules: &LevelRules, [forward, backward]: [&mut Direction; 2], current: &Pyramid) {
    let (Some(fine), Some(back)) = (&mut forward.fine, &backward.fine) else { return };
    let [field, back] =
        [&fine.vectors, &back.vectors].map(|field| field.each_ref().map(|values| &values[..]));
    forward.checker.check(&rules.grid, FINE_AGREEMENT, field, back);
    let field = fine.vectors.each_mut().map(|components| &mut components[..]);
    forward.checker.refill(&rules.grid, &current.level(rules.index).facts, field);
}

/// The memory for the search in one direction.
struct Direction {
    /// The first level that is searched in this direction.
    first: usize,
    /// The fields of the levels from it on.
    fields: Vec<LevelField>,
    /// The brightness of the second level's cells, if it decides that of the first.
    brightness: Option<BrightnessOffsets>,
    /// The brightness of the first level's cells.
    offsets: Vec<i8>,
    /// The refined field of the first level.
    fine: Option<FineField>,
    checker: Checker,
}

impl Direction {
    /// Memory for the levels from `first` on.
    fn new(levels: &[LevelRules], first: usize) -> Result<Self, SetupError> {
        let finest = levels.first().filter(|_| first == 0).map(|rules| &rules.grid);
        let second = levels.get(1).filter(|_| first == 0).map(|rules| &rules.grid);
        let largest = levels.get(first).map_or(CellGrid::new(1, 1), |rules| rules.grid);
        let fields = levels[first..].iter().map(|rules| LevelField::new(*rules));
        Ok(Self {
            first,
            fields: fields.collect::<Result<_, _>>()?,
            brightness: second.map(BrightnessOffsets::new).transpose()?,
            offsets: second.and(finest).map(CellGrid::values).transpose()?.unwrap_or_default(),
            fine: finest.map(FineField::new).transpose()?,
            checker: Checker::new(&largest)?,
        })
    }

    /// Finds the vectors of a level in quarter samples, from those of the coarser level.
    fn search_level(&mut self, instructions: Instructions, rules: &LevelRules, frames: [&Pyramid; 2]) {
        let (field, coarser) = self.fields[rules.index - self.first..].split_at_mut(1);
        let (Some(field), coarser) = (field.first_mut(), coarser.first()) else { return };
        if let (0, Some(coarser), Some(brightness)) = (rules.index, coarser, &mut self.brightness) {
            let matcher = matcher(&coarser.rules, &[], frames);
            brightness.hand_down(instructions, &matcher, coarser, (&rules.grid, &mut self.offsets));
        }
        let matcher = matcher(rules, &self.offsets, frames);
        let coarser = coarser.map(|field| Coarser { grid: &field.rules.grid, vectors: &field.vectors });
        start::start(instructions, &matcher, coarser, field);
        iterate::iterate(instructions, &matcher, &frames[0].level(rules.index).facts, field);
    }

    /// Finds the vectors of the finest level in 64ths.
    fn refine(&mut self, instructions: Instructions, finest: &LevelRules, frames: [&Pyramid; 2]) {
        let field = &self.fields[finest.index - self.first];
        let matcher = matcher(finest, &self.offsets, frames);
        if let Some(fine) = &mut self.fine {
            fine.refine(instructions, &matcher, &frames[0].level(finest.index).facts, field);
        }
    }
}

/// The comparison of the cells of the first frame with the second on a level. `offsets` are those of the finest one.
fn matcher<'a>(
    rules: &LevelRules,
    offsets: &'a [i8],
    [current, reference]: [&'a Pyramid; 2],
) -> CellMatcher<'a> {
    let level = current.level(rules.index);
    let brightness = match rules.brightness_of_vectors {
        true => Brightness::OfEachVector(&level.facts.sums),
        false => Brightness::OfEachCell(offsets),
    };
    CellMatcher {
        current: &level.planes,
        reference: QuarterSamples::new(&reference.level(rules.index).planes),
        brightness,
        cut: rules.cut,
    }
}
