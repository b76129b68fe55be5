//! Sub-sample refinement, a row of blocks at a time: the eight vectors half a sample around the winner of whole samples,
//! then the eight a quarter around the best of these.
//!
//! The half samples of all these candidates are those of one square, a sample larger than the block on each side. It is
//! interpolated for each block into memory that stays in the first cache, which is faster than planes of the whole
//! frame, and needs no memory beside them.

use rayon::prelude::*;

use crate::estimator::{Metric, MotionVector, PooledRecords, RecordPool, half_samples_around};
use crate::native::aligned::Line;
use crate::native::candidates::Candidates;
use crate::native::cost::{Sad, Ssd};
use crate::native::elimination::engine::BoundCost;
use crate::native::half_samples::{PLANES, interpolate_span};
use crate::native::hierarchical::memory::{bytes_mut, chunk, chunk_mut};
use crate::native::job::{JobBlock, SearchJob};
use crate::native::level::{InstructionSet, Work};

/// The candidates of a step around its centre, in steps.
const AROUND: [(i32, i32); COMPARED] = [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)];

/// Candidates of a step.
const COMPARED: usize = 8;

/// The step of half a sample, in quarter samples.
const HALF: i32 = 2;

/// Samples that a filter reads before a point.
const BEFORE: usize = 2;

/// Refines `vectors`, of whole samples, of the rows of blocks from `first` on. The memory for it comes from `pool`.
pub fn refine(job: &SearchJob<'_>, first: usize, vectors: &mut [MotionVector], pool: &RecordPool<Line>) {
    let rows = vectors.par_chunks_mut(job.parameters.grid().columns).enumerate();
    rows.for_each_init(
        || Patch::new(job.parameters.block_size, pool),
        |patch, (row, vectors)| job.instructions.run(RefinedRow { job, row: first + row, patch, vectors }),
    );
}

/// Samples that are averaged at once: rows of a square are a multiple.
const SPAN_OF_AVERAGES: usize = 64;

/// The samples that a block is compared with, and its own, in squares of one pitch.
struct Patch {
    /// Samples of a block on an axis.
    side: usize,
    pitch: usize,
    /// The squares: see [`Self::squares`].
    lines: PooledRecords<Line>,
}

/// The squares of a [`Patch`].
struct Squares<'a> {
    /// For each plane of half samples a square from one sample before the block to one after it.
    planes: &'a mut [u8],
    /// For each candidate of a step its samples between half samples.
    averages: &'a mut [u8],
    /// The block.
    current: &'a mut [u8],
}

impl Patch {
    /// For blocks of `side` samples.
    fn new(side: usize, pool: &RecordPool<Line>) -> Self {
        let pitch = if side + 2 <= 16 { 16 } else { (side + 2).next_multiple_of(32) };
        let rows = PLANES * (side + 2) + COMPARED * side + side;
        let bytes = rows * pitch + SPAN_OF_AVERAGES;
        Self { side, pitch, lines: pool.take(bytes.div_ceil(size_of::<Line>())) }
    }

    /// Samples of a plane.
    #[inline(always)]
    fn plane(&self) -> usize {
        (self.side + 2) * self.pitch
    }

    /// Samples of a block.
    #[inline(always)]
    fn block(&self) -> usize {
        self.side * self.pitch
    }

    #[inline(always)]
    fn squares(&mut self) -> Squares<'_> {
        // Averages read whole spans, from the middle of a row on: past the last plane too.
        let (planes, averages) = (PLANES * self.plane() + SPAN_OF_AVERAGES, COMPARED * self.block());
        let (planes, rest) = bytes_mut(&mut self.lines).split_at_mut(planes);
        let (averages, current) = rest.split_at_mut(averages);
        Squares { planes, averages, current }
    }

    /// Copies `block`, and interpolates around the block displaced by `(x, y)` whole samples. `READ` is at least
    /// `SPAN + 5`.
    #[inline(always)]
    fn fill<const SPAN: usize, const READ: usize>(&mut self, block: JobBlock<'_>, (x, y): (i32, i32)) {
        let (side, pitch, plane) = (self.side, self.pitch, self.plane());
        let (layout, parameters) = (block.layout(), block.job.parameters);
        let Squares { planes, current, .. } = self.squares();
        for (to, from) in current.chunks_exact_mut(pitch).zip(block.samples().chunks(layout.pitch)) {
            to[..side].copy_from_slice(&from[..side]);
        }
        let reach = parameters.sub_sample.reach();
        // Further outside, the filters read nothing but repeated samples: the same as at this distance.
        let first = |at: i32, extended: usize| {
            at.clamp(-((side - 1 + reach) as i32), (extended - 1 + reach) as i32) - reach as i32
        };
        let (left, top) = block.origin();
        let left = first(left + x, parameters.extended_width());
        let top = first(top + y, parameters.extended_height());
        let reference = &block.job.reference.samples()[layout.offset(left, top)..];
        let mut planes = planes.chunks_exact_mut(plane);
        let mut planes: [&mut [u8]; PLANES] = std::array::from_fn(|_| planes.next().unwrap_or_default());
        // The half samples below the last row are not needed.
        let last = side + 2 * reach - 1;
        for row in 0..side + 2 {
            for column in (0..pitch).step_by(SPAN) {
                let mut rows = [&[0; READ]; 6];
                for (k, samples) in rows.iter_mut().enumerate() {
                    *samples = chunk(reference, (row + k).min(last) * layout.pitch + column);
                }
                let [whole, right, below, both] = &mut planes;
                let at = row * pitch + column;
                let spans =
                    [chunk_mut(whole, at), chunk_mut(right, at), chunk_mut(below, at), chunk_mut(both, at)];
                interpolate_span::<SPAN, READ, BEFORE>(rows, spans);
            }
        }
    }

    /// The index in the planes of the first sample of the block at `(x, y)` half samples, -2 to 2, from the winner of
    /// whole samples.
    #[inline(always)]
    fn point(&self, (x, y): (i32, i32)) -> usize {
        let plane = (2 * (y & 1) + (x & 1)) as usize;
        plane * self.plane() + ((y >> 1) + 1) as usize * self.pitch + ((x >> 1) + 1) as usize
    }

    /// Writes the samples of the block at `(x, y)` quarter samples from the winner of whole samples as those of candidate
    /// `index`.
    #[inline(always)]
    fn average(&mut self, index: usize, (x, y): (i32, i32)) {
        let points = half_samples_around((x & 3) as usize, (y & 3) as usize);
        let point = |(right, down): (usize, usize)| {
            self.point(((x >> 2) * 2 + right as i32, (y >> 2) * 2 + down as i32))
        };
        let (first, second) = (point(points[0]), point(points[1]));
        let length = self.block();
        let Squares { planes, averages, .. } = self.squares();
        let (first, _) = planes[first..][..length].as_chunks::<SPAN_OF_AVERAGES>();
        let (second, _) = planes[second..][..length].as_chunks::<SPAN_OF_AVERAGES>();
        let (averages, _) = averages[index * length..][..length].as_chunks_mut::<SPAN_OF_AVERAGES>();
        for ((average, first), second) in averages.iter_mut().zip(first).zip(second) {
            for i in 0..SPAN_OF_AVERAGES {
                average[i] = ((u16::from(first[i]) + u16::from(second[i]) + 1) >> 1) as u8;
            }
        }
    }

    /// The costs of the candidates around `centre`, a `step` away, both in quarter samples from the winner of whole
    /// samples.
    #[inline(always)]
    fn costs<E: InstructionSet, C: BoundCost<Sample = u8>>(
        &mut self,
        engine: E,
        (x, y): (i32, i32),
        step: i32,
    ) -> [u32; COMPARED] {
        let (mut offsets, mut costs) = ([0; COMPARED], [0; COMPARED]);
        let is_half = step == HALF;
        for (index, (right, down)) in AROUND.into_iter().enumerate() {
            let at = (x + step * right, y + step * down);
            if is_half {
                offsets[index] = self.point((at.0 / 2, at.1 / 2)) as u32;
            } else {
                offsets[index] = (index * self.block()) as u32;
                self.average(index, at);
            }
        }
        let (side, pitch) = (self.side, self.pitch);
        let Squares { planes, averages, current } = self.squares();
        let candidates = Candidates::new(current, if is_half { planes } else { averages }, pitch, side);
        C::costs(engine, &candidates, (&[0; COMPARED], &offsets), &mut costs);
        costs
    }
}

/// The refinement of a row of blocks.
struct RefinedRow<'a> {
    job: &'a SearchJob<'a>,
    row: usize,
    patch: &'a mut Patch,
    vectors: &'a mut [MotionVector],
}

impl Work for RefinedRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<E: InstructionSet>(self, engine: E) {
        match self.job.parameters.metric {
            Metric::Sad => self.refine::<E, Sad>(engine),
            Metric::Ssd => self.refine::<E, Ssd>(engine),
        }
    }
}

impl RefinedRow<'_> {
    #[inline(always)]
    fn refine<E: InstructionSet, C: BoundCost<Sample = u8>>(self, engine: E) {
        let Self { job, row, patch, vectors } = self;
        for (column, vector) in vectors.iter_mut().enumerate() {
            let (block, whole) = (JobBlock { job, column, row }, vector.full_samples());
            // As few spans as there may be.
            match patch.pitch {
                16 => patch.fill::<16, 24>(block, whole),
                _ => patch.fill::<32, 40>(block, whole),
            }
            let (left, up) = (4 * whole.0, 4 * whole.1);
            for &step in job.parameters.sub_sample.steps() {
                let (x, y) = (i32::from(vector.x), i32::from(vector.y));
                let costs = patch.costs::<E, C>(engine, (x - left, y - up), step);
                for ((right, down), cost) in AROUND.into_iter().zip(costs) {
                    let (x, y) = ((x + step * right) as i16, (y + step * down) as i16);
                    *vector = vector.better(MotionVector { x, y, cost });
                }
            }
        }
    }
}
