//! Exact search that computes the costs of few candidates: successive elimination.
//!
//! The sum of a part of a block and that of the same part of a candidate differ by no more than their samples do. So
//! the differences of the sums, added over the parts, are a lower bound of the SAD (and their squares over the samples
//! of a part, added, of the SSD), and a candidate whose bound is worse than the best cost so far cannot win. Bounds,
//! each tighter and dearer than the one before, thin the candidates out:
//!
//! 1. a group of 8 × 4 candidates, by the least and the largest sums among them;
//! 2. each candidate of a group, by the same large parts;
//! 3. each candidate of a group with many left, by parts of half the side. Used where the last frame left so many that
//!    these sums pay, and only where the engine cannot compute the costs of a whole group at once.
//!
//! The costs of the remaining candidates are computed, one by one or a whole group at once, and decide. Equal costs are
//! decided by the order of full search: a bound that equals the best cost eliminates only candidates that are further
//! away than the best. The result is therefore that of exhaustive search, whatever is tried first; but the sooner a
//! good candidate is found, the more are eliminated. So the vectors of the row above and of the last field come first,
//! then the group of the least bound.

mod area;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod backoff;
mod batch;
mod bounds;
mod engine;
mod row;
mod strips;
mod sums;
mod target;
mod workspace;

use std::marker::PhantomData;
use std::ops::Range;

use parking_lot::Mutex;
use rayon::prelude::*;

use crate::estimator::{MotionVector, Parameters, SetupError};
use crate::native::cost::by_cost;
use crate::native::exhaustive;
use crate::native::job::{JobBlock, SearchJob};
use crate::native::plane::PlaneLayout;
use backoff::{Backoff, RowHistory};
use engine::{EliminationEngine, GroupCost};
use motion_base::memory::{available_bytes, zeroed};
use motion_base::simd::{Instructions, Work};
use motion_base::threads::is_over;
use row::RowElimination;
use sums::TILE;
use workspace::{BorrowedWorkspace, Workspace};

/// The most frames that are searched exhaustively after one for which elimination did not pay.
const LONGEST_PAUSE: u32 = 15;

/// Candidates a block that the large parts leave in groups with many: from here on the sums of smaller parts pay.
const CROWDED: usize = 100;

/// What elimination keeps from frame to frame.
pub struct Eliminator {
    /// One for each thread, and fewer where there is not enough memory.
    workspaces: Mutex<Vec<Workspace>>,
    /// Sides of the parts of blocks.
    sides: (usize, Option<usize>),
    /// One for each offset of the references.
    histories: Vec<SearchHistory>,
}

/// What elimination keeps from one search to the next with the same offset.
#[derive(Clone)]
struct SearchHistory {
    /// One for each row of blocks.
    rows: Vec<RowHistory>,
    /// The field found last; zero vectors before the first.
    last: Vec<MotionVector>,
    /// Leaves frames to exhaustive search.
    backoff: Backoff,
    /// Whether the last frame left so many candidates that smaller parts pay.
    is_fine: bool,
}

impl Eliminator {
    /// # Errors
    /// [`SetupError::Memory`] where there is not enough for one thread.
    pub fn new(
        instructions: Instructions,
        parameters: &Parameters,
        layout: &PlaneLayout,
    ) -> Result<Self, SetupError> {
        let sides = instructions.run_widest(SidesOfParts(parameters));
        let first = Workspace::new(parameters, layout, sides, available_bytes())?;
        let grid = parameters.grid();
        let history = |_| {
            Ok(SearchHistory {
                rows: vec![RowHistory::new(); grid.rows],
                last: zeroed("a field", grid.blocks() as u64, available_bytes())?,
                backoff: Backoff::new(LONGEST_PAUSE, LONGEST_PAUSE),
                is_fine: false,
            })
        };
        Ok(Self {
            workspaces: Mutex::new(vec![first]),
            sides,
            histories: (0..parameters.references.count()).map(history).collect::<Result<_, _>>()?,
        })
    }

    /// Searches `searched`, rows of blocks, and writes their vectors. Uses and updates the history with the index
    /// `history`.
    pub fn search(
        &mut self,
        job: &SearchJob<'_>,
        history: usize,
        searched: Range<usize>,
        vectors: &mut [MotionVector],
    ) {
        let columns = job.parameters.grid().columns;
        if self.histories[history].backoff.pauses() {
            job.search_rows(exhaustive::search_row, searched.start, vectors);
        } else {
            self.eliminate(job, history, searched.clone(), vectors);
        }
        self.histories[history].last[searched.start * columns..searched.end * columns]
            .copy_from_slice(vectors);
    }

    fn eliminate(
        &mut self,
        job: &SearchJob<'_>,
        history: usize,
        searched: Range<usize>,
        vectors: &mut [MotionVector],
    ) {
        self.prepare_workspaces(job, self.histories[history].is_fine);
        let Self { workspaces, histories, .. } = self;
        let SearchHistory { rows, last, backoff, is_fine } = &mut histories[history];
        let rows = &mut rows[searched.clone()];
        let is_over = is_over();
        let rows_of_vectors = vectors.par_chunks_mut(job.parameters.grid().columns).enumerate();
        rows_of_vectors.zip(rows.par_iter_mut()).for_each_init(
            || BorrowedWorkspace::from(workspaces),
            |borrowed, ((index, vectors), history)| {
                let row = searched.start + index;
                if is_over() {
                    return;
                }
                match &mut borrowed.workspace {
                    Some(workspace) => {
                        workspace.sums.compute_missing(
                            job.instructions,
                            job.reference,
                            rows_of_tiles(job, row),
                        );
                        by_cost!(job.parameters, C, run => {
                            let cost = PhantomData::<C>;
                            let search = EliminationRow { job, last, workspace, row, vectors, history, cost };
                            run(job.instructions, search);
                        });
                    }
                    None => exhaustive::search_row(job, row, vectors),
                }
            },
        );
        let exhaustive: usize = rows.iter().map(|history| history.exhaustive).sum();
        let crowded: usize = rows.iter().map(|history| history.crowded).sum();
        *is_fine = crowded > CROWDED * (vectors.len() - exhaustive);
        backoff.note(exhaustive > vectors.len() * 3 / 4);
    }

    /// Makes workspaces ready for the current thread pool. Threads that get none search exhaustively. `is_fine` tells
    /// whether sums of smaller parts are needed.
    fn prepare_workspaces(&mut self, job: &SearchJob<'_>, is_fine: bool) {
        let mut workspaces = self.workspaces.lock();
        while workspaces.len() < rayon::current_num_threads() {
            let layout = job.reference.layout();
            match Workspace::new(job.parameters, layout, self.sides, available_bytes()) {
                Ok(more) => workspaces.push(more),
                Err(_) => break,
            }
        }
        workspaces.iter_mut().for_each(|workspace| workspace.sums.forget(is_fine));
    }
}

/// The rows of tiles whose sums row `row` of blocks reaches.
fn rows_of_tiles(job: &SearchJob<'_>, row: usize) -> Range<usize> {
    let block = JobBlock { job, column: 0, row };
    let (window, (_, y), layout) = (block.window(), block.origin(), block.layout());
    let row_at = |y: i32| layout.position(0, y).1 / TILE;
    row_at(y + window.y0())..row_at(y + window.y1()) + block.side() / TILE
}

/// The sides of the parts that bound the cost of a block: the large parts and, where a candidate costs so much that
/// they may pay, smaller ones.
struct SidesOfParts<'a>(&'a Parameters);

impl<E: EliminationEngine> Work<E, (usize, Option<usize>)> for SidesOfParts<'_> {
    #[inline(always)]
    fn run(self, _: E) -> (usize, Option<usize>) {
        let side = self.0.block_size;
        let (large, small) = match side {
            _ if side.is_multiple_of(16) && side > 16 => (16, Some(8)),
            _ if side.is_multiple_of(8) && side > 8 => (8, Some(TILE)),
            _ => (TILE, None),
        };
        let worth_a_group = by_cost!(self.0, C => C::worth_a_group::<E>(side));
        (large, small.filter(|_| worth_a_group.is_none()))
    }
}

/// The search of row `row` of the grid.
struct EliminationRow<'a, C> {
    job: &'a SearchJob<'a>,
    last: &'a [MotionVector],
    workspace: &'a mut Workspace,
    row: usize,
    vectors: &'a mut [MotionVector],
    history: &'a mut RowHistory,
    cost: PhantomData<C>,
}

impl<C: GroupCost, E: EliminationEngine> Work<E> for EliminationRow<'_, C> {
    #[inline(always)]
    fn run(self, engine: E) {
        let Self { job, last, workspace, row, vectors, history, .. } = self;
        let (sums, last_row, buffers) = workspace.parts::<C>();
        let of_last_field = || last.chunks_exact(vectors.len()).nth(row.checked_sub(1)?);
        let above = last_row.above(row).or_else(of_last_field).unwrap_or_default();
        RowElimination::<E, C>::new(engine, job, (sums, buffers), history, row, (last, above))
            .search(vectors);
        last_row.keep(row, vectors);
    }
}

#[cfg(test)]
mod tests;
