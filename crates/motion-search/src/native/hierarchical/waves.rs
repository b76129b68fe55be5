//! The order in which the rows of a level are searched.
//!
//! Each iteration reads the vectors of the one before up to two rows away. So a task follows with iteration 1 a
//! little behind the start, with iteration 2 a little behind iteration 1, and so on: the samples of a row come
//! from far memory once, not in every iteration. Two copies of the vectors suffice: where an iteration writes,
//! the one before it reads no more.
//!
//! With several threads each has a band of rows, whose iterations end where they would need rows of the next
//! band. When all bands are done, the gaps around their borders are filled in the same way.

use std::ops::Range;

use rayon::prelude::*;

use crate::native::hierarchical::candidates::LaneCandidates;
use crate::native::hierarchical::iterate::iterate_row;
use crate::native::hierarchical::level_search::LevelSearch;
use crate::native::hierarchical::parabola::fit_row;
use crate::native::hierarchical::rows::FieldRows;
use crate::native::hierarchical::start::start_row;
use crate::native::hierarchical::state::LevelField;
use motion_base::simd::{InstructionSet, Instructions, Work};

impl LevelSearch<'_> {
    /// Finds the vectors of the level.
    pub fn run(&self, instructions: Instructions, field: &mut LevelField) {
        let threads = rayon::current_num_threads();
        let iterations = self.rules.iterations;
        // Few stages at a time leave room for more bands.
        let together = (1..=iterations).rev().find(|count| self.most_bands(*count) >= threads).unwrap_or(1);
        let mut first = 0;
        while first <= iterations {
            let end = first.max(1) + together;
            // The parabolas follow the last iteration.
            let end =
                if end <= iterations { end } else { iterations + 1 + usize::from(self.rules.index == 0) };
            self.run_stages(instructions, field, first..end, threads.min(self.most_bands(together)).max(1));
            first = end;
        }
    }

    /// The rows on each side that an iteration reads.
    fn reach(&self) -> usize {
        if self.rules.jumps { 2 } else { 1 }
    }

    /// The most bands for which each is high enough for `count` iterations, and for the gaps that they leave.
    fn most_bands(&self, count: usize) -> usize {
        self.rules.grid.rows / (2 * self.reach() * (count + 1))
    }

    /// Runs `stages` in this number of bands. 0 is the start; the iterations count from 1; the parabolas follow
    /// them.
    fn run_stages(
        &self,
        instructions: Instructions,
        field: &mut LevelField,
        stages: Range<usize>,
        bands: usize,
    ) {
        let (grid, rows) = (&self.rules.grid, self.rules.grid.rows);
        let border = |index: usize| rows * index / bands;
        let run = |(rows, place): (FieldRows<'_>, Place)| {
            instructions.run(Wave { search: self, rows, place, stages: stages.clone() });
        };
        if bands == 1 {
            run((FieldRows::all(field), Place::Band(0..rows)));
            return;
        }
        let mut all = FieldRows::all(field);
        let band = |index: usize| {
            let (first, end) = (border(index), border(index + 1));
            (all.take_before(grid, end), Place::Band(first..end))
        };
        let tasks: Vec<_> = (0..bands).map(band).collect();
        tasks.into_par_iter().for_each(run);
        let mut all = FieldRows::all(field);
        let gap = |index: usize| {
            let end = if index + 1 == bands { rows } else { (border(index) + border(index + 1)) / 2 };
            (all.take_before(grid, end), Place::Gap(border(index)))
        };
        let tasks: Vec<_> = (1..bands).map(gap).collect();
        tasks.into_par_iter().for_each(run);
    }
}

/// Which rows a task computes.
enum Place {
    /// Those of a band, as far as they need no others.
    Band(Range<usize>),
    /// Those around this border that no band has computed.
    Gap(usize),
}

/// Some stages of the search of some rows.
struct Wave<'a> {
    search: &'a LevelSearch<'a>,
    rows: FieldRows<'a>,
    place: Place,
    stages: Range<usize>,
}

impl Wave<'_> {
    /// The rows that the task computes in a stage.
    #[inline(always)]
    fn rows_of(&self, stage: usize) -> Range<usize> {
        let iterations = match stage.min(self.search.rules.iterations) {
            0 => 0,
            iteration => iteration - self.stages.start.max(1) + 1,
        };
        let (missing, rows) = (self.search.reach() * iterations, self.search.rules.grid.rows);
        match &self.place {
            Place::Band(band) => {
                let first = if band.start == 0 { 0 } else { band.start + missing };
                let end = if band.end == rows { rows } else { band.end - missing };
                first..end
            }
            Place::Gap(border) => border - missing..border + missing,
        }
    }
}

impl<E: InstructionSet> Work<E> for Wave<'_> {
    #[inline(always)]
    fn run(mut self, engine: E) {
        let grid = self.search.rules.grid;
        let mut candidates = LaneCandidates::default();
        let last_lag = self.search.reach() * (self.stages.len() - 1);
        for front in 0..grid.rows + last_lag {
            for stage in self.stages.clone() {
                let lag = self.search.reach() * (stage - self.stages.start);
                let Some(row) = front.checked_sub(lag).filter(|row| self.rows_of(stage).contains(row)) else {
                    continue;
                };
                let (search, candidates, rows) = (self.search, &mut candidates, &mut self.rows);
                match stage {
                    0 => start_row(engine, search, candidates, rows, row),
                    _ if stage > search.rules.iterations => {
                        fit_row(engine, search, rows, row);
                        continue;
                    }
                    _ => iterate_row(engine, search, candidates, rows, (stage, row)),
                }
                rows.repeat_edges(&grid, stage, row);
            }
        }
    }
}
