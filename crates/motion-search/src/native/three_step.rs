//! Three-step search of a row of blocks: few candidates, which share nothing with their neighbours.

use crate::estimator::{MotionVector, OrderKey};
use crate::native::candidates::AROUND;
use crate::native::cost::{ComputeCosts, Cost, by_cost};
use crate::native::job::{JobBlock, SearchJob};
use crate::native::sample::SearchSample;
use motion_base::simd::{InstructionSet, Work};

/// Writes the vectors of the blocks in row `row` of the grid.
pub fn search_row(job: &SearchJob<'_>, row: usize, vectors: &mut [MotionVector]) {
    by_cost!(job.parameters, C => {
        let compute_costs = C::compute_costs(job.parameters.bit_depth);
        job.instructions.run(ThreeStepRow { job, row, vectors, compute_costs });
    });
}

/// The search of a row of blocks.
struct ThreeStepRow<'a, S> {
    job: &'a SearchJob<'a>,
    row: usize,
    vectors: &'a mut [MotionVector],
    compute_costs: ComputeCosts<S>,
}

impl<S: SearchSample, E: InstructionSet> Work<E> for ThreeStepRow<'_, S> {
    #[inline(always)]
    fn run(self, _: E) {
        let Self { job, row, vectors, compute_costs } = self;
        for (column, vector) in vectors.iter_mut().enumerate() {
            *vector = search(JobBlock { job, column, row }, compute_costs).vector();
        }
    }
}

/// The last centre of `block`.
#[inline(always)]
fn search<S: SearchSample>(block: JobBlock<'_>, compute_costs: ComputeCosts<S>) -> OrderKey {
    let SearchJob { parameters, instructions, .. } = *block.job;
    let window = parameters.window_of_block(block.column, block.row);
    // Candidates further out have the same samples as those at the edge of this window, but their own displacements.
    let readable = block.window();
    let offset = |(x, y): (i32, i32)| {
        let nearest = (x.clamp(readable.x0(), readable.x1()), y.clamp(readable.y0(), readable.y1()));
        block.offset((0, 0), nearest) as u32
    };
    let candidates = block.candidates();
    let mut centre = [0];
    compute_costs(instructions, &candidates, &[0], &[offset((0, 0))], &mut centre);
    let mut best = OrderKey::new(centre[0], 0, 0);
    for step in parameters.window.steps() {
        let centre = best.displacement();
        let (mut displacements, mut offsets, mut count) = ([(0, 0); AROUND.len()], [0; AROUND.len()], 0);
        // The cost of the centre is known.
        for (right, down) in AROUND {
            let displacement = (centre.0 + right * step, centre.1 + down * step);
            if window.contains(displacement) {
                (displacements[count], offsets[count]) = (displacement, offset(displacement));
                count += 1;
            }
        }
        let mut costs = [0; AROUND.len()];
        compute_costs(instructions, &candidates, &[0; AROUND.len()][..count], &offsets[..count], &mut costs);
        for ((x, y), cost) in displacements[..count].iter().zip(costs) {
            best = best.min(OrderKey::new(cost, *x, *y));
        }
    }
    best
}
