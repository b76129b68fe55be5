//! Three-step search of a row of blocks: few candidates, which share nothing with their neighbours.

use std::marker::PhantomData;

use crate::estimator::{MotionVector, OrderKey};
use crate::native::cost::{CandidateEngine, Cost, by_cost};
use crate::native::job::{JobBlock, SearchJob};
use motion_base::simd::{Instructions, Work};

/// Writes the vectors of the blocks in row `row` of the grid.
pub fn search_row(job: &SearchJob<'_>, row: usize, vectors: &mut [MotionVector]) {
    by_cost!(job.parameters, C, run => run(job.instructions, ThreeStepRow::<C> { job, row, vectors, cost: PhantomData }));
}

/// The search of a row of blocks.
struct ThreeStepRow<'a, C> {
    job: &'a SearchJob<'a>,
    row: usize,
    vectors: &'a mut [MotionVector],
    cost: PhantomData<C>,
}

impl<C: Cost, E: CandidateEngine> Work<E> for ThreeStepRow<'_, C> {
    #[inline(always)]
    fn run(self, engine: E) {
        for (column, vector) in self.vectors.iter_mut().enumerate() {
            *vector = search::<E, C>(engine, JobBlock { job: self.job, column, row: self.row }).vector();
        }
    }
}

/// The eight candidates around the centre, whose own cost is known.
const AROUND: [(i32, i32); 8] = [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)];

/// The last centre of `block`.
#[inline(always)]
fn search<E: CandidateEngine, C: Cost>(engine: E, block: JobBlock<'_>) -> OrderKey {
    let parameters = block.job.parameters;
    let window = parameters.window_of_block(block.column, block.row);
    // Candidates further out have the same samples as those at the edge of this window, but their own displacements.
    let readable = block.window();
    let offset = |(x, y): (i32, i32)| {
        let nearest = (x.clamp(readable.x0(), readable.x1()), y.clamp(readable.y0(), readable.y1()));
        block.offset((0, 0), nearest) as u32
    };
    let candidates = block.candidates();
    let centre = C::cost(engine, &candidates, 0, offset((0, 0)));
    let mut best = OrderKey::new(centre, 0, 0);
    for step in parameters.window.steps() {
        let centre = best.displacement();
        let (mut displacements, mut offsets, mut count) = ([(0, 0); 8], [0; 8], 0);
        for (right, down) in AROUND {
            let displacement = (centre.0 + right * step, centre.1 + down * step);
            if window.contains(displacement) {
                (displacements[count], offsets[count]) = (displacement, offset(displacement));
                count += 1;
            }
        }
        let mut costs = [0; 8];
        C::costs(engine, &candidates, (&[0; 8][..count], &offsets[..count]), &mut costs);
        for ((x, y), cost) in displacements[..count].iter().zip(costs) {
            best = best.min(OrderKey::new(cost, *x, *y));
        }
    }
    best
}
