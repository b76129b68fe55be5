//! What elimination keeps beside the frames.

pub mod area;
pub mod backoff;
pub mod bounds;
pub mod row;
pub mod sums;
pub mod workspace;

use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;

use crate::estimator::{MotionVector, Parameters, SetupError};
use crate::lock::lock;
use crate::native::exhaustive::Job;
use crate::native::level::Functions;
use crate::native::plane::{Layout, available_memory};
use crate::native::search_rows;
use backoff::Experience;
use row::{CROWDED, rows_of_tiles};
use workspace::{Taken, Workspace};

/// What elimination keeps beside the frames.
pub struct Elimination {
    /// One for each thread, and as many as could be had.
    workspaces: Mutex<Vec<Workspace>>,
    sides: (usize, Option<usize>),
    /// What was learnt in each row of blocks.
    rows: Vec<Experience>,
    /// The field found last; zero vectors before the first.
    last: Vec<MotionVector>,
    /// Frames yet to be searched exhaustively, as hardly any block of the last one was better off.
    pause: u32,
    /// Whether the last frame left so many candidates that smaller parts pay.
    is_fine: bool,
}

/// So many frames are searched exhaustively where elimination did not pay.
const PAUSE: u32 = 15;

impl Elimination {
    pub fn new(functions: &Functions, parameters: &Parameters, layout: &Layout) -> Result<Self, SetupError> {
        let sides = (functions.sides_of_parts)(parameters);
        let first = Workspace::new(parameters, layout, sides, available_memory())?;
        let grid = parameters.grid();
        let (rows, last) =
            (vec![Experience::default(); grid.rows], vec![MotionVector::default(); grid.blocks()]);
        Ok(Self { workspaces: Mutex::new(vec![first]), sides, rows, last, pause: 0, is_fine: false })
    }

    /// Makes workspaces ready for the threads that search now.
    fn begin(&mut self, parameters: &Parameters, layout: &Layout) {
        let mut workspaces = lock(&self.workspaces);
        while workspaces.len() < rayon::current_num_threads() {
            match Workspace::new(parameters, layout, self.sides, available_memory()) {
                Ok(more) => workspaces.push(more),
                // Who gets none searches exhaustively.
                Err(_) => break,
            }
        }
        workspaces.iter_mut().for_each(|workspace| workspace.sums.begin(self.is_fine));
    }

    pub fn search(
        &mut self,
        functions: &Functions,
        job: Job<'_>,
        searched: Range<usize>,
        vectors: &mut [MotionVector],
    ) {
        if self.pause == 0 {
            self.begin(job.parameters, job.reference.layout());
        }
        let Self { workspaces, rows, last, pause, is_fine, .. } = self;
        let grid = job.parameters.grid();
        let (first, rows) = (searched.start, &mut rows[searched.clone()]);
        if *pause > 0 {
            *pause -= 1;
            search_rows(functions.search_row, &job, first, vectors);
        } else {
            let job = Job { last: &*last, ..job };
            let rows_of_vectors = vectors.par_chunks_mut(grid.columns).enumerate();
            rows_of_vectors.zip(rows.par_iter_mut()).for_each_init(
                || Taken::from(workspaces),
                |workspace, ((index, vectors), experience)| match workspace {
                    Some(workspace) => {
                        let row = first + index;
                        let rows = rows_of_tiles(&job, row);
                        workspace.sums.hold(functions, job.reference, rows);
                        (functions.eliminate_row)(&job, workspace, (row, vectors), experience);
                    }
                    None => (functions.search_row)(&job, first + index, vectors),
                },
            );
            let exhaustive: usize = rows.iter().map(|experience| experience.exhaustive).sum();
            let crowded: usize = rows.iter().map(|experience| experience.crowded).sum();
            *is_fine = crowded > CROWDED * (vectors.len() - exhaustive);
            if exhaustive > vectors.len() * 3 / 4 {
                *pause = PAUSE;
            }
        }
        last[searched.start * grid.columns..searched.end * grid.columns].copy_from_slice(vectors);
    }
}

#[cfg(test)]
mod tests;
