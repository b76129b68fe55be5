//! Hierarchical search: motion near the true one, from coarse to fine over the pyramids of both frames.
//!
//! A search goes down the levels. On each, `waves` takes the rows through all stages: the cells `start` with
//! vectors, then `iterate`: in each iteration a cell makes a `choice` among the `candidates`, computed for many
//! cells at once; on the finest level a `parabola` follows. On levels that are searched both ways a `check`
//! replaces vectors that do not lead back. Then `refine` smooths the vectors, `small_cells` divides them if asked
//! for, and `field` makes the records of blocks, whose costs are those of the frames as they are (`unsmoothed`).
//!
//! `matching` compares a cell with the samples of [`motion_base::pyramid`] at any quarter position. The values of cells, such
//! as the `facts` of a frame's cells, their `weights` and the `state` of a search, lie in a `grid` with margins. All
//! memory is allocated with the search and the pyramids.

mod brightness;
mod candidates;
mod check;
mod choice;
mod facts;
mod field;
mod grid;
mod iterate;
mod level_search;
mod matching;
mod parabola;
mod pyramid;
mod refine;
mod rows;
mod rules;
mod slots;
mod small_cells;
mod start;
mod state;
mod unsmoothed;
mod waves;
mod weights;

pub use pyramid::Pyramid;
pub use slots::HierarchicalSlots;

use crate::estimator::{FrameView, MotionVector, Parameters, SetupError};
use brightness::BrightnessOffsets;
use check::{Agreement, Checker};
use field::BlockField;
use grid::CellGrid;
use level_search::{Coarser, LevelSearch};
use matching::{Brightness, CellMatcher};
use motion_base::hierarchy::{CELL, level_sizes};
use motion_base::pyramid::quarter_samples::QuarterSamples;
use motion_base::simd::Instructions;
use refine::FineField;
use rules::LevelRules;
use small_cells::{SMALL_CELL, SmallCells};
use state::LevelField;

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
    forward: SearchDirection,
    /// The field of the reference frame in the current frame, where both are searched.
    backward: SearchDirection,
    /// The small cells and their vectors, if blocks are as small.
    small_cells: Option<(CellGrid, FineField)>,
}

impl HierarchicalSearch {
    /// The search for `parameters`, which are valid; the sizes and the quality count.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(parameters: &Parameters, instructions: Instructions) -> Result<Self, SetupError> {
        let &Parameters { width, height, block_size, .. } = parameters;
        let preset = parameters.quality.preset();
        let count = level_sizes(width, height).count();
        let sizes = level_sizes(width, height).enumerate();
        let levels = sizes.map(|(index, size)| LevelRules::new(&preset, (index, count), size));
        let levels: Vec<_> = levels.collect();
        let small_cells = (block_size == SMALL_CELL).then(|| {
            let grid = CellGrid::of_side(SMALL_CELL, width, height);
            FineField::new(&grid).map(|field| (grid, field))
        });
        let first_checked = levels.iter().take_while(|rules| !rules.both_ways).count();
        Ok(Self {
            instructions,
            block_size,
            columns: parameters.grid().columns,
            forward: SearchDirection::new(&levels, 0)?,
            backward: SearchDirection::new(&levels, first_checked)?,
            small_cells: small_cells.transpose()?,
            levels,
        })
    }

    /// Memory for a frame: its samples and the planes of its pyramid.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn pyramid(&self) -> Result<Pyramid, SetupError> {
        Pyramid::new(&self.levels, self.small_grid())
    }

    fn small_grid(&self) -> Option<&CellGrid> {
        self.small_cells.as_ref().map(|(grid, _)| grid)
    }

    /// Computes all that depends on this frame alone.
    pub fn load(&self, frame: &FrameView<'_>, pyramid: &mut Pyramid) {
        // Inside the pool from here on, which every parallel step would otherwise enter and leave.
        rayon::scope(|_| pyramid.fill(self.instructions, frame, &self.levels, self.small_grid()));
    }

    /// Writes the field of `current` in `reference`, one vector a block.
    pub fn search(&mut self, current: &Pyramid, reference: &Pyramid, vectors: &mut [MotionVector]) {
        rayon::scope(|_| self.search_in_pool(current, reference, vectors));
    }

    fn search_in_pool(&mut self, current: &Pyramid, reference: &Pyramid, records: &mut [MotionVector]) {
        let Self { instructions, levels, forward, backward, small_cells, .. } = self;
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
                || forward.refine(instructions, finest, current),
                || backward.refine(instructions, finest, reference),
            );
            check_finest(finest, [forward, backward], current);
        } else {
            forward.refine(instructions, finest, current);
        }
        let Some(fine) = &forward.fine else { return };
        let (mut grid, mut cell_size, mut vectors) = (&finest.grid, CELL, fine.components());
        if let (Some((small_grid, small_field)), Some(small_facts)) = (small_cells, current.small_cells()) {
            let matcher = matcher(finest, &forward.offsets, [current, reference]);
            let facts = &current.level(finest.index).facts;
            SmallCells { grid, facts, vectors, matcher, small_grid, small_facts }
                .run(instructions, small_field);
            (grid, cell_size, vectors) = (small_grid, SMALL_CELL, small_field.components());
        }
        let (current, reference) = (current.samples(), reference.samples());
        let (block_size, columns) = (self.block_size, self.columns);
        let field = BlockField { current, reference, grid, vectors, cell_size, block_size, columns };
        field.write(instructions, records);
    }
}

/// Checks the fields of both directions on a level with each other.
fn check_level(
    rules: &LevelRules,
    directions: [&mut SearchDirection; 2],
    [current, reference]: [&Pyramid; 2],
) {
    let [forward, backward] = directions;
    let (grid, index) = (&rules.grid, rules.index);
    let field = forward.fields[index - forward.first].vectors().components();
    let back = backward.fields[index - backward.first].vectors().components();
    forward.checker.check(grid, COARSE_AGREEMENT, field, back);
    backward.checker.check(grid, COARSE_AGREEMENT, back, field);
    for (direction, frame) in [(forward, current), (backward, reference)] {
        let vectors = direction.fields[index - direction.first].vectors_mut();
        direction.checker.refill(grid, &frame.level(index).facts.weights, [&mut vectors.x, &mut vectors.y]);
        vectors.repeat_edges(grid);
    }
}

/// Checks the refined field of the first direction with that of the other.
fn check_finest(rules: &LevelRules, [forward, backward]: [&mut SearchDirection; 2], current: &Pyramid) {
    let (Some(fine), Some(back)) = (&mut forward.fine, &backward.fine) else { return };
    let [field, back] =
        [&fine.vectors, &back.vectors].map(|field| field.each_ref().map(|values| &values[..]));
    forward.checker.check(&rules.grid, FINE_AGREEMENT, field, back);
    let field = fine.vectors.each_mut().map(|components| &mut components[..]);
    forward.checker.refill(&rules.grid, &current.level(rules.index).facts.weights, field);
}

/// The memory for the search in one direction.
struct SearchDirection {
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

impl SearchDirection {
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
        let coarser = coarser.map(|field| Coarser { grid: &field.rules.grid, vectors: field.vectors() });
        let facts = &frames[0].level(rules.index).facts;
        let matcher = matcher(rules, &self.offsets, frames);
        LevelSearch { rules, facts, matcher, coarser }.run(instructions, field);
    }

    /// Finds the vectors of the finest level in 64ths, in a field of `current`.
    fn refine(&mut self, instructions: Instructions, finest: &LevelRules, current: &Pyramid) {
        let parabolas = self.fields.first().and_then(|field| field.parabolas.as_ref());
        if let (Some(fine), Some(parabolas)) = (&mut self.fine, parabolas) {
            fine.refine(instructions, &finest.grid, &current.level(finest.index).facts.weights, parabolas);
        }
    }
}

/// The comparison of the cells of the first frame with the second on a level. `offsets` are those of the finest
/// one.
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
        current: &level.frame,
        reference: QuarterSamples::new(&reference.level(rules.index).half_samples),
        brightness,
        cut: rules.cut,
    }
}
