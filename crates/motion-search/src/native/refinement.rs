//! Sub-sample refinement, a row of blocks at a time: the eight vectors half a sample around the winner of whole samples,
//! then the eight a quarter around the best of these.
//!
//! The half samples of all these candidates are those of one square, a sample larger than the block on each side. It is
//! interpolated for each block into memory that stays in the first cache, which is faster than planes of the whole
//! frame, and needs no memory beside them.

use rayon::prelude::*;

use crate::estimator::{MotionVector, PooledRecords, RecordPool};
use crate::native::candidates::{AROUND, Candidates};
use crate::native::cost::{ComputeCosts, Cost, by_cost};
use crate::native::job::{JobBlock, SearchJob};
use crate::native::sample::SearchSample;
use motion_base::half_samples::{filter, half_samples_around};
use motion_base::memory::Line;
use motion_base::simd::{InstructionSet, Instructions, Work};
use motion_base::threads::is_over;

/// Candidates of a step.
const COMPARED: usize = AROUND.len();

/// The step of half a sample, in quarter samples.
const HALF: i32 = 2;

/// The planes of half samples: whole samples, half a sample to the right, half below, and both.
const PLANES: usize = 4;

/// Rows of samples that a filter reads.
const TAPS: usize = 6;

/// Samples that a filter reads before a point.
const BEFORE: usize = 2;

/// Rows of a patch are a multiple of as many samples.
const MULTIPLE: usize = 8;

/// Refines `vectors`, of whole samples, of the rows of blocks from `first` on. The memory for it comes from `pool`.
pub fn refine(job: &SearchJob<'_>, first: usize, vectors: &mut [MotionVector], pool: &RecordPool<Line>) {
    let is_over = is_over();
    let rows = vectors.par_chunks_mut(job.parameters.grid().columns).enumerate();
    rows.for_each_init(
        || by_cost!(job.parameters, C => RefinedPatch::new::<<C as Cost>::Sample>(job.parameters.block_size, pool)),
        |patch, (row, vectors)| {
            let row = first + row;
            if is_over() {
                return;
            }
            by_cost!(job.parameters, C => {
                let compute_costs = C::compute_costs(job.parameters.bit_depth);
                job.instructions.run(RefinedRow { job, row, patch, vectors, compute_costs });
            });
        },
    );
}

/// The samples that a block is compared with, and its own.
struct RefinedPatch {
    layout: PatchLayout,
    lines: PooledRecords<Line>,
}

/// The layout of a [`RefinedPatch`]. All its samples have one pitch, so that the filters are loops over all rows: what they make
/// of the end of a row and the beginning of the next is never compared.
#[derive(Clone, Copy)]
struct PatchLayout {
    /// Samples of a block on an axis.
    side: usize,
    pitch: usize,
}

/// The parts of a [`RefinedPatch`].
struct PatchParts<'a, S: SearchSample> {
    /// The reference frame from three samples left of and above the block on, and the other planes of half samples,
    /// each from half a sample before the block's first row and column on.
    planes: &'a mut [S],
    /// For each candidate of a step its samples between half samples.
    averages: &'a mut [S],
    /// The block.
    current: &'a mut [S],
    /// The samples of the reference frame as numbers.
    numbers: &'a mut [S::Sum],
    /// The filter's sums down the columns, before rounding.
    sums: &'a mut [S::Sum],
}

impl PatchLayout {
    /// For blocks of `side` samples.
    fn new(side: usize) -> Self {
        // A filter reads five samples more than it makes points, which are two more than the block has.
        Self { side, pitch: (side + 2 + TAPS - 1).next_multiple_of(MULTIPLE) }
    }

    /// Samples of the reference frame.
    #[inline(always)]
    fn read(&self) -> usize {
        (self.side + 1 + TAPS - 1) * self.pitch
    }

    /// Samples of a plane of half samples.
    #[inline(always)]
    fn plane(&self) -> usize {
        (self.side + 2) * self.pitch
    }

    /// Samples of a block.
    #[inline(always)]
    fn block(&self) -> usize {
        self.side * self.pitch
    }

    /// The bytes of the parts, in whole cache lines.
    #[inline(always)]
    fn lengths<S: SearchSample>(&self) -> [usize; 5] {
        let (read, plane, block) = (self.read(), self.plane(), self.block());
        let samples = [read + (PLANES - 1) * plane, COMPARED * block, block];
        let [planes, averages, current] = samples.map(|length| length * size_of::<S>());
        let [numbers, sums] = [read, plane + TAPS].map(|length| length * size_of::<S::Sum>());
        [planes, averages, current, numbers, sums].map(|length| length.next_multiple_of(size_of::<Line>()))
    }

    /// The index in the planes of the first sample of the block at `(x, y)` half samples, -2 to 2, from the winner of
    /// whole samples.
    #[inline(always)]
    fn point(&self, (x, y): (i32, i32)) -> usize {
        let plane = match (2 * (y & 1) + (x & 1)) as usize {
            0 => BEFORE * self.pitch + BEFORE,
            half => self.read() + (half - 1) * self.plane(),
        };
        plane + ((y >> 1) + 1) as usize * self.pitch + ((x >> 1) + 1) as usize
    }

    /// Writes the samples of the block at `(x, y)` quarter samples from the winner of whole samples, given the planes.
    #[inline(always)]
    fn average<S: SearchSample>(&self, planes: &[S], (x, y): (i32, i32), averages: &mut [S]) {
        let points = half_samples_around((x & 3) as usize, (y & 3) as usize);
        let point = |(right, down): (usize, usize)| {
            self.point(((x >> 2) * 2 + right as i32, (y >> 2) * 2 + down as i32))
        };
        let length = averages.len();
        let (first, second) = (&planes[point(points[0])..][..length], &planes[point(points[1])..][..length]);
        for ((average, first), second) in averages.iter_mut().zip(first).zip(second) {
            *average = first.average(*second);
        }
    }
}

impl RefinedPatch {
    /// For blocks of `side` samples, with memory of `pool`.
    fn new<S: SearchSample>(side: usize, pool: &RecordPool<Line>) -> Self {
        let layout = PatchLayout::new(side);
        let bytes = layout.lengths::<S>().into_iter().sum::<usize>();
        Self { layout, lines: pool.take(bytes / size_of::<Line>()) }
    }

    #[inline(always)]
    fn parts<S: SearchSample>(&mut self) -> PatchParts<'_, S> {
        let [planes, averages, current, numbers, _] = self.layout.lengths::<S>();
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.lines);
        let (planes, rest) = bytes.split_at_mut(planes);
        let (averages, rest) = rest.split_at_mut(averages);
        let (current, rest) = rest.split_at_mut(current);
        let (numbers, sums) = rest.split_at_mut(numbers);
        let [planes, averages, current] = [planes, averages, current].map(bytemuck::cast_slice_mut);
        let [numbers, sums] = [numbers, sums].map(bytemuck::cast_slice_mut);
        PatchParts { planes, averages, current, numbers, sums }
    }

    /// Copies `block`, and interpolates around the block displaced by `(x, y)` whole samples.
    #[inline(always)]
    fn fill<S: SearchSample>(&mut self, block: JobBlock<'_>, (x, y): (i32, i32)) {
        let PatchLayout { side, pitch } = self.layout;
        let (read, plane) = (self.layout.read(), self.layout.plane());
        let (layout, parameters) = (block.layout(), block.job.parameters);
        let peak = layout.format.peak();
        let PatchParts { planes, current, numbers, sums, .. } = self.parts::<S>();
        copy_rows((current, pitch), (block.samples(), layout.pitch));
        let reach = parameters.sub_sample.reach();
        // Further outside, the filters read nothing but repeated samples: the same as at this distance.
        let first = |at: i32, extended: usize| {
            at.clamp(-((side - 1 + reach) as i32), (extended - 1 + reach) as i32) - reach as i32
        };
        let (left, top) = block.origin();
        let left = first(left + x, parameters.extended_width());
        let top = first(top + y, parameters.extended_height());
        let reference = &block.job.reference.samples()[layout.offset(left, top)..];
        let (samples, halves) = planes.split_at_mut(read);
        copy_rows((samples, pitch), (reference, layout.pitch));
        for (number, sample) in numbers.iter_mut().zip(&*samples) {
            *number = (*sample).into();
        }
        let (right, halves) = halves.split_at_mut(plane);
        let (below, both) = halves.split_at_mut(plane);
        let tap = |k: usize| &numbers[BEFORE * pitch + k..];
        filter(right, [tap(0), tap(1), tap(2), tap(3), tap(4), tap(5)], |taps| {
            S::half_sample(S::six_taps(taps), peak)
        });
        // The last row has no half samples below it.
        let length = plane - pitch;
        let tap = |k: usize| &numbers[k * pitch..];
        filter(&mut sums[..length], [tap(0), tap(1), tap(2), tap(3), tap(4), tap(5)], S::six_taps);
        for (below, sum) in below[..length].iter_mut().zip(&sums[BEFORE..]) {
            *below = S::half_sample(*sum, peak);
        }
        let tap = |k: usize| &sums[k..];
        filter(&mut both[..length], [tap(0), tap(1), tap(2), tap(3), tap(4), tap(5)], |taps| {
            S::half_sample_of_sums(taps, peak)
        });
    }

    /// The costs of the candidates around `centre`, a `step` away, both in quarter samples from the winner of whole
    /// samples.
    #[inline(always)]
    fn costs<S: SearchSample>(
        &mut self,
        (instructions, compute_costs): (Instructions, ComputeCosts<S>),
        (x, y): (i32, i32),
        step: i32,
    ) -> [u32; COMPARED] {
        let layout = self.layout;
        let PatchParts { planes, averages, current, .. } = self.parts();
        let (mut offsets, mut costs) = ([0; COMPARED], [0; COMPARED]);
        let is_half = step == HALF;
        for (index, (right, down)) in AROUND.into_iter().enumerate() {
            let at = (x + step * right, y + step * down);
            if is_half {
                offsets[index] = layout.point((at.0 / 2, at.1 / 2)) as u32;
            } else {
                let first = index * layout.block();
                offsets[index] = first as u32;
                layout.average(planes, at, &mut averages[first..][..layout.block()]);
            }
        }
        let reference = if is_half { planes } else { averages };
        let candidates = Candidates::new(current, reference, layout.pitch, layout.side);
        compute_costs(instructions, &candidates, &[0; COMPARED], &offsets, &mut costs);
        costs
    }
}

/// Copies as many rows as `to` has, each as long as its pitch. The rows of blocks of 8 and 16 are of known length.
#[inline(always)]
fn copy_rows<S: SearchSample>((to, pitch): (&mut [S], usize), (from, from_pitch): (&[S], usize)) {
    match pitch {
        16 => copy_rows_of::<S, 16>(to, (from, from_pitch)),
        24 => copy_rows_of::<S, 24>(to, (from, from_pitch)),
        _ => {
            for (to, from) in to.chunks_exact_mut(pitch).zip(from.chunks(from_pitch)) {
                to.copy_from_slice(&from[..pitch]);
            }
        }
    }
}

/// The same for rows of `PITCH` samples.
#[inline(always)]
fn copy_rows_of<S: SearchSample, const PITCH: usize>(to: &mut [S], (mut from, from_pitch): (&[S], usize)) {
    for to in to.as_chunks_mut::<PITCH>().0 {
        let Some(row) = from.first_chunk() else { return };
        *to = *row;
        from = from.get(from_pitch..).unwrap_or_default();
    }
}

/// The refinement of a row of blocks.
struct RefinedRow<'a, S> {
    job: &'a SearchJob<'a>,
    row: usize,
    patch: &'a mut RefinedPatch,
    vectors: &'a mut [MotionVector],
    compute_costs: ComputeCosts<S>,
}

impl<S: SearchSample, E: InstructionSet> Work<E> for RefinedRow<'_, S> {
    #[inline(always)]
    fn run(self, _: E) {
        let Self { job, row, patch, vectors, compute_costs } = self;
        for (column, vector) in vectors.iter_mut().enumerate() {
            let (block, whole) = (JobBlock { job, column, row }, vector.full_samples());
            patch.fill::<S>(block, whole);
            let (left, up) = (4 * whole.0, 4 * whole.1);
            for &step in job.parameters.sub_sample.steps() {
                let (x, y) = (i32::from(vector.x), i32::from(vector.y));
                let costs = patch.costs((job.instructions, compute_costs), (x - left, y - up), step);
                for ((right, down), cost) in AROUND.into_iter().zip(costs) {
                    let (x, y) = ((x + step * right) as i16, (y + step * down) as i16);
                    *vector = vector.better(MotionVector { x, y, cost });
                }
            }
        }
    }
}
