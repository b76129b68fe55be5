//! The least costs of blocks near their vectors and far from them: how much worse the best other match is.
//!
//! Every candidate is computed: bounds exclude those that are worse than the best one, not than the second best.

use crate::estimator::{FrameView, MotionVector, Parameters, RecordPool, Sample, UNITS_PER_SAMPLE, Window};
use crate::native::candidates::Candidates;
use crate::native::cost::{ComputeCosts, Cost, by_cost};
use crate::native::sample::SearchSample;
use motion_base::memory::Line;
use motion_base::simd::{InstructionSet, Instructions, Work};

/// Candidates further than this beyond those that can win cost the same as nearer ones: a block of nothing but repeated
/// samples of an axis is the same further out. Nearer ones may be too near to the vector to count.
const BEYOND: i32 = 4;

/// Candidates that are compared together.
const TOGETHER: usize = 32;

/// A row of blocks whose least costs near and far are wanted.
pub struct SecondCosts<'a> {
    /// What was searched for: not by hierarchical search, which has no window.
    pub parameters: &'a Parameters,
    /// The current frame.
    pub current: &'a FrameView<'a>,
    /// The reference frame.
    pub reference: &'a FrameView<'a>,
    /// The row in the grid.
    pub row: usize,
    /// Its vectors.
    pub vectors: &'a [MotionVector],
    /// Takes the costs of each column.
    pub found: &'a mut dyn FnMut(usize, LeastCosts),
}

/// The least costs of a block's candidates, [`u32::MAX`] without such a candidate.
#[derive(Clone, Copy, Debug)]
pub struct LeastCosts {
    /// Of those less than two samples away from the vector on both axes.
    pub near: u32,
    /// Of the others.
    pub far: u32,
}

impl SecondCosts<'_> {
    /// Computes them, in memory of `pool`.
    pub fn write(self, instructions: Instructions, pool: &RecordPool<Line>) {
        let area = SearchArea::new(self.parameters, self.row);
        let samples = area.pitch * (area.rows + self.parameters.block_size);
        by_cost!(self.parameters, C => {
            let bytes = samples * size_of::<<C as Cost>::Sample>();
            let mut lines = pool.take(bytes.div_ceil(size_of::<Line>()));
            let samples = bytemuck::cast_slice_mut(&mut lines);
            let compute_costs = C::compute_costs(self.parameters.bit_depth);
            instructions.run(SecondWork { job: self, area, samples, instructions, compute_costs });
        });
    }
}

/// The samples that all candidates of a row of blocks have.
#[derive(Clone, Copy)]
struct SearchArea {
    window: Window,
    pitch: usize,
    rows: usize,
}

/// `window`, without most of what costs as much as other candidates of blocks whose winner is in `winning`.
fn near(window: Window, winning: Window) -> Window {
    let across = winning.x0() - BEYOND..=winning.x1() + BEYOND;
    window.clipped(across, winning.y0() - BEYOND..=winning.y1() + BEYOND)
}

impl SearchArea {
    fn new(parameters: &Parameters, row: usize) -> Self {
        let last = parameters.grid().columns - 1;
        let window = near(parameters.window, parameters.winning_window_of(0..=last, row..=row));
        let pitch = parameters.extended_width() + window.columns() - 1;
        Self { window, pitch, rows: parameters.block_size + window.rows() - 1 }
    }
}

struct SecondWork<'a, 'm, S> {
    job: SecondCosts<'a>,
    area: SearchArea,
    samples: &'m mut [S],
    instructions: Instructions,
    compute_costs: ComputeCosts<S>,
}

impl<S: SearchSample, E: InstructionSet> Work<E> for SecondWork<'_, '_, S> {
    #[inline(always)]
    fn run(self, _: E) {
        let Self { job, area: SearchArea { window: all, pitch, rows }, samples, instructions, compute_costs } =
            self;
        let SecondCosts { parameters, current, reference, row, vectors, found } = job;
        let side = parameters.block_size;
        let top = (row * side) as i32;
        let (area, block_rows) = samples.split_at_mut(pitch * rows);
        read(reference, (all.x0(), top + all.y0()), &mut area[..pitch * rows], pitch);
        read(current, (0, top), &mut block_rows[..pitch * side], pitch);
        for (column, vector) in vectors.iter().enumerate() {
            let left = column * side;
            let candidates = Candidates::new(&block_rows[left..], &*area, pitch, side);
            let window =
                near(parameters.window_of_block(column, row), parameters.winning_window(column, row));
            let is_near = |units: i16, samples: i32| {
                (UNITS_PER_SAMPLE * samples - i32::from(units)).abs() < 2 * UNITS_PER_SAMPLE
            };
            let mut least = LeastCosts { near: u32::MAX, far: u32::MAX };
            for y in window.y0()..=window.y1() {
                let start = (y - all.y0()) as usize * pitch + left;
                let is_near_row = is_near(vector.y, y);
                let mut x = window.x0();
                while x <= window.x1() {
                    let (mut offsets, mut costs) = ([0; TOGETHER], [u32::MAX; TOGETHER]);
                    let count = TOGETHER.min((window.x1() - x + 1) as usize);
                    for (offset, x) in offsets[..count].iter_mut().zip(x..) {
                        *offset = (start + (x - all.x0()) as usize) as u32;
                    }
                    let (blocks, offsets) = (&[0; TOGETHER][..count], &offsets[..count]);
                    compute_costs(instructions, &candidates, blocks, offsets, &mut costs);
                    for (cost, x) in costs[..count].iter().zip(x..) {
                        let least = if is_near_row && is_near(vector.x, x) {
                            &mut least.near
                        } else {
                            &mut least.far
                        };
                        *least = (*least).min(*cost);
                    }
                    x += count as i32;
                }
            }
            found(column, least);
        }
    }
}

/// Reads the samples of `frame` from `(x, y)` on. Outside the frame, its edge samples repeat.
fn read<S: Sample>(frame: &FrameView<'_>, (x, y): (i32, i32), to: &mut [S], pitch: usize) {
    let (width, height) = frame.size();
    let before = x.unsigned_abs() as usize;
    debug_assert!(x <= 0 && before + width <= pitch);
    for (y, to) in (y..).zip(to.chunks_exact_mut(pitch)) {
        let (left, rest) = to.split_at_mut(before);
        let (inside, right) = rest.split_at_mut(width);
        frame.read_row(y.clamp(0, height as i32 - 1) as usize, inside);
        left.fill(inside[0]);
        right.fill(inside[width - 1]);
    }
}
