//! The definition of made frames in plain loops, a sample at a time. All other code makes the same frames. It shares
//! with that only numbers, the types of what goes in and comes out, and the check of the format of planes.
//!
//! # The definition, with `quality=fast`
//!
//! How `motioninterpolate mode=motion` makes the frame at phase t = n/d between the frames P (previous) and N (next),
//! with `quality=fast`; below is what `quality=balanced` and `quality=high` do instead. `>>` rounds down; samples
//! outside a frame are its edge samples. All is integer arithmetic, and no step depends on the order in which blocks
//! are computed: every device makes the same frame.
//!
//! 1. **Search frames.** Luma's eight bits. While a frame has more than 2^19 samples it is halved: each sample is
//!    `(a + b + c + d + 2) >> 2` of 2 × 2. 1080p is searched at 960 × 540.
//! 2. **Field.** `algorithm=hierarchical quality=fast` in blocks of 8, with P as the current frame and N as the
//!    reference frame. Small frames cost little to search on any device; their blocks of 8 are blocks of 16 or 32 of
//!    the frame itself. The blocks of the following steps are 8 × 8 luma samples; each takes the vector of the block
//!    that holds it, in half luma samples: `((v << halvings) + 8) >> 4`, at most ±2048.
//! 3. **Ends of a vector.** A vector of h half samples on an axis that goes through a place at time t starts in P, `s =
//!    -floor((4hn + d) / 2d)` quarter samples from this place, and ends in N, `s + 2h` quarter samples from it.
//! 4. **Projection** to time t. At time t a block of P has moved by `-s >> 2` whole samples on each axis. Each block of
//!    the grid gets a vector of the blocks that then share at least 16 samples with it: the vector for which the search
//!    found the least cost, of equal costs the first. Where there is no such block, it keeps its own vector.
//! 5. **Choice.** The candidates of a block are, in this order, its vector of the projected field, those of the eight
//!    neighbours row by row, and zero. The least `SAD + 4 · Σ min(|Δx| + |Δy|, 32)` wins, of equals the first; vectors
//!    that are not zero have 192 added. The SAD is that of the 8 × 8 samples at both ends, in P and N, the same eight
//!    bits, at quarter samples as H.264 defines them; the sum goes over the eight neighbours. But a block with eight or
//!    more samples of *still detail* takes zero. A sample has still detail if it, the sample to its right and the
//!    sample below it each differ by at most 4 between P and N, and if in P it differs by at least 64 from one of these
//!    two neighbours.
//! 6. **Compensation.** Blocks overlap: a sample between the centres of four blocks is the mean of what their four
//!    vectors predict, weighted by windows that fall by 15, 13, … 1 across eight samples (7, 5, 3, 1 across four). A
//!    prediction is `w · P + (64 - w) · N` at the two ends of the vector, with `w = (64 (d - n) + d/2) / d`. If just
//!    one end lies inside its frame, or at most half a luma sample outside, it alone counts. Otherwise the sample at
//!    each end is first limited to the range of three other samples, extended by 8 levels (of eight bits): the sample
//!    at the other end, and those of P and N at the place itself. The sum is rounded once. Luma is read at quarter
//!    samples as H.264 defines them; chroma linearly between its samples, at eighths. Planes behind two planes of
//!    chroma are read as luma is if they have its size: alpha, and the colours of RGB.
//! 7. **Scene cut.** The same rule, from the search frames on, for P with matches in N.
//! 8. **Fades from and to a plain frame.** The detail of a search frame is the sum of the differences between samples
//!    that are 8 apart on one axis. If that of P is less than an eighth of that of N, or the other way, all vectors of
//!    the field become zero: nothing can be found in a frame that does not show the picture. This is done before step
//!    3, unless it is a cut.

mod searched;
mod sizes;
mod small_objects;
mod weighted;

pub use searched::{search_and_interpolate, search_and_interpolate_with_neighbours};
pub use small_objects::{correct, draw};

use super::rules::{
    BLOCK, CHROMA_COST, HalfVector, LEAST_OVERLAP, LONGEST, MOST_BEYOND, MOST_DIFFERENCE, MOTION_COST,
    SMOOTHNESS, STILL_DETAIL, STILL_DIFFERENCE, STILL_SAMPLES, TOLERANCE,
};
use super::{FrameFormat, FrameQuality, Phase};
use crate::compensation::Sampling;
use motion_base::{Frame, FrameView, Grid, MotionVector};
use motion_search::estimator::oracle::eight_bits;
use motion_search::estimator::oracle::interpolation::Interpolated;
use motion_search::scenes::oracle::halved_frame;
pub(crate) use sizes::halvings_to;
use sizes::{block_sides, grid, halvings, is_like_luma, searched_grid};

/// The frame that is searched in place of a luma plane: its [eight bits](motion_base::SampleFormat::eight_bits), at
/// half the size as often as it takes.
pub fn search_frame(luma: &FrameView<'_>) -> Frame {
    halved_frame(luma, halvings(luma.size()))
}

/// The planes of the frame at `phase` between the planes of `previous` and `next`, luma first, sampled as `samplings`
/// say. `field` is what the search of [`search_frame`] finds for the previous frame in the next one.
///
/// # Panics
/// If there is no plane, or numbers of planes or sizes do not agree.
pub fn interpolate(
    frames: [&[FrameView<'_>]; 2],
    samplings: &[Sampling],
    field: &[MotionVector],
    quality: FrameQuality,
    phase: Phase,
) -> Vec<Frame> {
    make(frames, samplings, field, quality, None, phase)
}

/// What is known of the frames before and after two others.
pub struct Neighbours<'a> {
    /// The luma of the frame before the previous one, and of that after the next one.
    pub luma: [FrameView<'a>; 2],
    /// The fields of the pairs before and after: what the search finds for the first frame of each in the second.
    pub fields: [&'a [MotionVector]; 2],
}

/// As [`interpolate`], in [`FrameQuality::High`].
///
/// # Panics
/// As [`interpolate`].
pub fn interpolate_with_neighbours(
    frames: [&[FrameView<'_>]; 2],
    samplings: &[Sampling],
    field: &[MotionVector],
    neighbours: &Neighbours<'_>,
    phase: Phase,
) -> Vec<Frame> {
    make(frames, samplings, field, FrameQuality::High, Some(neighbours), phase)
}

fn make(
    [previous, next]: [&[FrameView<'_>]; 2],
    samplings: &[Sampling],
    field: &[MotionVector],
    quality: FrameQuality,
    neighbours: Option<&Neighbours<'_>>,
    phase: Phase,
) -> Vec<Frame> {
    let format = FrameFormat {
        size: previous[0].size(),
        samplings: samplings.to_vec(),
        samples: previous[0].format(),
    };
    [previous, next]
        .into_iter()
        .try_for_each(|planes| format.check_all(planes))
        .expect("planes of one format");
    let size = format.size;
    let mut fields = vec![field];
    fields.extend(neighbours.map(|neighbours| neighbours.fields).into_iter().flatten());
    for field in &fields {
        assert_eq!(field.len(), searched_grid(size).blocks(), "a field of search frames");
    }
    let searched = |luma| Interpolated::new(&eight_bits(luma).view());
    let luma = [&previous[0], &next[0]].map(searched);
    let luma = luma.each_ref();
    let chroma = match quality {
        FrameQuality::Fast => Vec::new(),
        FrameQuality::Balanced | FrameQuality::High => {
            weighted::chroma_pairs([&previous[1..], &next[1..]], &samplings[1..])
        }
    };
    let time = PairTime::between(phase);
    let times = [time, time.after_pair(), time.before_pair()];
    let projected: Vec<_> =
        fields.iter().zip(times).map(|(field, time)| project(size, field, time)).collect();
    let vectors = choose(luma, &chroma, &projected, time);
    let planes = previous.iter().zip(next).zip(samplings).enumerate();
    let pairs = planes.map(|(index, ((previous, next), &sampling))| PlanePair {
        frames: [previous, next],
        sampling,
        luma: is_like_luma(index, sampling).then(|| [previous, next].map(Interpolated::new)),
        phase,
    });
    match quality {
        FrameQuality::Fast => {
            let grid = grid(size);
            pairs.map(|planes| compensate(&planes, grid, &vectors)).collect()
        }
        FrameQuality::Balanced | FrameQuality::High => {
            let around = neighbours.map(|neighbours| neighbours.luma.each_ref().map(searched));
            let lone_ends = around
                .as_ref()
                .map(|around| weighted::EndsAlone::new([&around[0], luma[0], luma[1], &around[1]], field));
            let weighted = weighted::WeightedVectors::new(luma, vectors, lone_ends, time);
            pairs.map(|planes| weighted.compensate(&planes)).collect()
        }
    }
}

/// The blocks of a frame: column and row, row by row.
fn blocks(size: (usize, usize)) -> impl Iterator<Item = (usize, usize)> + Clone {
    let grid = grid(size);
    (0..grid.rows).flat_map(move |row| (0..grid.columns).map(move |column| (column, row)))
}

/// When the frame is made, in a pair of frames: at the phase between the two, or whole intervals later or earlier.
#[derive(Clone, Copy)]
struct PairTime {
    phase: Phase,
    later: i32,
}

impl PairTime {
    /// The time at `phase` between both frames.
    fn between(phase: Phase) -> Self {
        Self { phase, later: 0 }
    }

    /// The same time in the pair before: behind its second frame.
    fn after_pair(self) -> Self {
        Self { later: self.later + 1, ..self }
    }

    /// The same time in the pair after: ahead of its first frame.
    fn before_pair(self) -> Self {
        Self { later: self.later - 1, ..self }
    }

    /// Where a vector of the pair starts in the first frame and ends in the second on an axis, in quarter luma samples from the
    /// place that it is for.
    fn ends(self, length: i16) -> [i32; 2] {
        let (quarters, length_of_interval) = (2 * i64::from(length), 2 * i32::from(length));
        // The part of the way that is gone at the phase; halves are rounded up.
        let gone = rounded(quarters * i64::from(self.phase.numerator()), self.phase.denominator().into());
        let start = -(gone as i32) - self.later * length_of_interval;
        [start, start + length_of_interval]
    }
}

/// `dividend / divisor` as a whole number; halves are rounded up.
fn rounded(dividend: i64, divisor: i64) -> i64 {
    (2 * dividend + divisor).div_euclid(2 * divisor)
}

/// The weight of the previous frame at `phase`, of 64.
fn previous_weight(phase: Phase) -> u32 {
    let (numerator, denominator) = (i64::from(phase.numerator()), i64::from(phase.denominator()));
    rounded(64 * (denominator - numerator), denominator) as u32
}

/// A vector that was found in frames halved so often, in 1/32 sample of these, in half samples of the frame; halves are rounded
/// up.
fn in_half_samples(vector: MotionVector, halvings: u32) -> HalfVector {
    let axis = |length: i16| {
        let length = i32::from(length) << halvings;
        (length + 8).div_euclid(16).clamp(-LONGEST, LONGEST) as i16
    };
    HalfVector { x: axis(vector.x), y: axis(vector.y) }
}

/// By how much two vectors differ on both axes together, as far as it counts.
fn differ(one: HalfVector, other: HalfVector) -> u32 {
    let across = i32::from(one.x) - i32::from(other.x);
    let down = i32::from(one.y) - i32::from(other.y);
    (across.unsigned_abs() + down.unsigned_abs()).min(MOST_DIFFERENCE)
}

/// For each block the vector of a pair of frames that goes through it at `time`.
fn project(size: (usize, usize), field: &[MotionVector], time: PairTime) -> Vec<HalfVector> {
    let halvings = halvings(size);
    let columns = searched_grid(size).columns;
    let sources = blocks(size).map(|(column, row)| {
        let found = field[(row >> halvings) * columns + (column >> halvings)];
        let vector = in_half_samples(found, halvings);
        // Where the block of the first frame is at the time, in whole samples.
        let moved = |block: usize, length: i16| (BLOCK * block) as i32 + (-time.ends(length)[0] >> 2);
        (found.cost, vector, (moved(column, vector.x), moved(row, vector.y)))
    });
    let sources: Vec<_> = sources.collect();
    let projected = blocks(size).zip(&sources).map(|((column, row), (_, own, _))| {
        let shared = |at: i32, block: usize| (BLOCK as i32 - (at - (BLOCK * block) as i32).abs()).max(0);
        let covering =
            sources.iter().filter(|(_, _, (x, y))| shared(*x, column) * shared(*y, row) >= LEAST_OVERLAP);
        // The first of those with the least cost; a block that nothing covers keeps its own vector.
        covering.min_by_key(|(cost, _, _)| *cost).map_or(*own, |(_, vector, _)| *vector)
    });
    projected.collect()
}

/// For each block the best vector among those of projected fields around it, by the luma of both frames and these components of
/// their chroma. It should resemble those of the first field.
fn choose(
    luma: [&Interpolated; 2],
    chroma: &[[Frame; 2]],
    projected: &[Vec<HalfVector>],
    time: PairTime,
) -> Vec<HalfVector> {
    let grid = grid(luma[0].size());
    let best = |(column, row): (usize, usize)| {
        if stands_still(luma, (BLOCK * column) as i32, (BLOCK * row) as i32) {
            return HalfVector::default();
        }
        let neighbour = |field: &[HalfVector], right: i32, down: i32| {
            let near =
                |at: usize, step: i32, count: usize| (at as i32 + step).clamp(0, count as i32 - 1) as usize;
            field[near(row, down, grid.rows) * grid.columns + near(column, right, grid.columns)]
        };
        let steps = (-1..=1).flat_map(|down| (-1..=1).map(move |right| (right, down)));
        let steps: Vec<_> = steps.filter(|&step| step != (0, 0)).collect();
        let around = |field: &[HalfVector]| -> Vec<_> {
            steps.iter().map(|&(right, down)| neighbour(field, right, down)).collect()
        };
        let similar = around(&projected[0]);
        let cost = |vector: HalfVector| {
            let place = [column, row].map(|at| (BLOCK * at) as i32);
            let difference = block_difference(luma, place, vector, time);
            let differences: u32 = similar.iter().map(|&other| differ(vector, other)).sum();
            let moves = u32::from(vector != HalfVector::default());
            let of_chroma = |pair: &[Frame; 2]| {
                weighted::chroma_difference(&pair.each_ref().map(Frame::view), (column, row), vector, time)
            };
            let chroma: u32 = chroma.iter().map(of_chroma).sum();
            difference + CHROMA_COST * chroma + SMOOTHNESS * differences + MOTION_COST * moves
        };
        let of_field = |field: &Vec<HalfVector>| {
            [neighbour(field, 0, 0)].into_iter().chain(around(field)).collect::<Vec<_>>()
        };
        let candidates = projected.iter().flat_map(of_field).chain([HalfVector::default()]);
        // The first of those with the least cost.
        candidates.min_by_key(|&vector| cost(vector)).unwrap_or_default()
    };
    blocks(luma[0].size()).map(best).collect()
}

/// The sum of absolute differences between both ends of `vector` over 8 x 8 samples of luma from `place` on.
fn block_difference(luma: [&Interpolated; 2], place: [i32; 2], vector: HalfVector, time: PairTime) -> u32 {
    row_differences(luma, place, vector, time, 1)
}

/// The same in every row of `step`, `step` times.
fn row_differences(
    pair: [&Interpolated; 2],
    place: [i32; 2],
    vector: HalfVector,
    time: PairTime,
    step: usize,
) -> u32 {
    let differences = compared(pair, place, vector, time, step);
    step as u32 * differences.map(|[start, end]| start.abs_diff(end)).sum::<u32>()
}

/// The difference between the sums of the samples that [`row_differences`] compares.
fn brightness_difference(
    pair: [&Interpolated; 2],
    place: [i32; 2],
    vector: HalfVector,
    time: PairTime,
    step: usize,
) -> u32 {
    let differences = compared(pair, place, vector, time, step);
    step as u32 * differences.map(|[start, end]| start - end).sum::<i32>().unsigned_abs()
}

/// The samples at both ends of `vector` over 8 x 8 places from `place` on, in every row of `step`.
fn compared(
    pair: [&Interpolated; 2],
    place: [i32; 2],
    vector: HalfVector,
    time: PairTime,
    step: usize,
) -> impl Iterator<Item = [i32; 2]> {
    let samples = move |at: usize| {
        let [x, y] = [place[0] + (at % BLOCK) as i32, place[1] + (at / BLOCK) as i32].map(|at| 4 * at);
        let [[x, to_x], [y, to_y]] =
            [(x, vector.x), (y, vector.y)].map(|(at, length)| time.ends(length).map(|way| at + way));
        [pair[0].sample(x, y), pair[1].sample(to_x, to_y)]
    };
    (0..BLOCK * BLOCK).filter(move |at| (at / BLOCK).is_multiple_of(step)).map(samples)
}

/// Whether the block at `(x, y)` has enough samples of still detail: they, the next one to the right and that below are
/// alike in both frames, and they differ from one of these.
fn stands_still([previous, next]: [&Interpolated; 2], x: i32, y: i32) -> bool {
    let is_still_detail = |&at: &i32| {
        let (x, y) = (x + at % BLOCK as i32, y + at / BLOCK as i32);
        let around = [(x, y), (x + 1, y), (x, y + 1)].map(|(x, y)| (4 * x, 4 * y));
        let [own, others @ ..] = around.map(|(x, y)| previous.sample(x, y));
        let is_still = |&(x, y): &(i32, i32)| {
            previous.sample(x, y).abs_diff(next.sample(x, y)) <= u32::from(STILL_DIFFERENCE)
        };
        let is_detail = |other: i32| own.abs_diff(other) >= u32::from(STILL_DETAIL);
        around.iter().all(is_still) && others.into_iter().any(is_detail)
    };
    (0..(BLOCK * BLOCK) as i32).filter(is_still_detail).count() >= STILL_SAMPLES as usize
}

/// A plane of both frames, from which that of a made frame is predicted.
struct PlanePair<'a> {
    frames: [&'a FrameView<'a>; 2],
    sampling: Sampling,
    /// The same between samples, of luma.
    luma: Option<[Interpolated; 2]>,
    phase: Phase,
}

impl PlanePair<'_> {
    /// 64 times what `vector` predicts for a component of the pixel at `(x, y)`: by both ends, by its start alone and by its
    /// end alone.
    fn predict(&self, (x, y): (usize, usize), component: usize, vector: HalfVector) -> [u32; 3] {
        let Self { frames: [previous, next], sampling, ref luma, phase } = *self;
        let is_luma = luma.is_some();
        let axis = |at: usize, length: i16, halved: bool| {
            // Quarter samples of luma; eighths in the other planes.
            let (unit, finer) = if is_luma { (4, 0) } else { (8, u32::from(!halved)) };
            PairTime::between(phase).ends(length).map(|way| unit * at as i32 + (way << finer))
        };
        let [own_x, own_y] = [x, y].map(|at| axis(at, 0, true)[0]);
        let [[x, to_x], [y, to_y]] =
            [axis(x, vector.x, sampling.halved_x), axis(y, vector.y, sampling.halved_y)];
        let (columns, rows) = (previous.width() / sampling.pixel(), previous.height());
        let is_inside = |x: i32, y: i32| {
            let is_inside = |at: i32, count: usize| {
                let (unit, tolerance) = if is_luma { (4, TOLERANCE) } else { (8, 2 * TOLERANCE) };
                (-tolerance..=unit * (count as i32 - 1) + tolerance).contains(&at)
            };
            is_inside(x, columns) && is_inside(y, rows)
        };
        let sample = |frame: usize, x, y| match luma {
            Some(luma) => luma[frame].sample(x, y) as u32,
            None => chroma_sample([previous, next][frame], (sampling.pixel(), component), x, y),
        };
        let [start, end] = [sample(0, x, y), sample(1, to_x, to_y)];
        match [is_inside(x, y), is_inside(to_x, to_y)] {
            [true, false] => [64 * start; 3],
            [false, true] => [64 * end; 3],
            _ => {
                let own = [0, 1].map(|frame| sample(frame, own_x, own_y));
                // At most so far outside the range of the other end and of the place itself.
                let limit = u32::from(MOST_BEYOND) << (previous.format().depth() - 8);
                let within = |sample: u32, other: u32| {
                    let (least, largest) = (own[0].min(own[1]).min(other), own[0].max(own[1]).max(other));
                    sample.clamp(least.saturating_sub(limit), largest + limit)
                };
                let weight = previous_weight(phase);
                let both = weight * within(start, end) + (64 - weight) * within(end, start);
                [both, 64 * start, 64 * end]
            }
        }
    }

    /// The plane whose samples `sample` returns, given a pixel and the component.
    fn made(&self, sample: impl Fn((usize, usize), usize) -> u32) -> Frame {
        let (plane, pixel) = (self.frames[0], self.sampling.pixel());
        Frame::deep_from_fn(plane.width(), plane.height(), plane.format().depth(), |column, y| {
            sample((column / pixel, y), column % pixel) as u16
        })
    }
}

/// A plane of the frame at `phase`: each sample is predicted by the vectors of the four blocks whose centres are
/// nearest, weighted by their windows.
fn compensate(planes: &PlanePair<'_>, grid: Grid, vectors: &[HalfVector]) -> Frame {
    let (block_width, block_height) = block_sides(planes.sampling);
    let shift = 6 + (4 * block_width * block_height).ilog2();
    planes.made(|(x, y), component| {
        // Between the centres of two blocks: the number of the second, and the weight of each.
        let between = |at: usize, side: usize| {
            let (second, at) = ((at + side / 2) / side, (at + side / 2) % side);
            [(second.saturating_sub(1), (2 * (side - at) - 1) as u32), (second, (2 * at + 1) as u32)]
        };
        let sum: u32 = between(y, block_height)
            .into_iter()
            .flat_map(|(row, weight)| {
                let row = row.min(grid.rows - 1);
                between(x, block_width).map(|(column, other)| {
                    let vector = vectors[row * grid.columns + column.min(grid.columns - 1)];
                    weight * other * planes.predict((x, y), component, vector)[0]
                })
            })
            .sum();
        (sum + (1 << (shift - 1))) >> shift
    })
}

/// The sample of one component of a plane at `(x, y)`, in eighths of a pixel: the mean of the four around it, weighted.
pub(crate) fn chroma_sample(
    plane: &FrameView<'_>,
    (pixel, component): (usize, usize),
    x: i32,
    y: i32,
) -> u32 {
    let last = (plane.width() / pixel) as i32 - 1;
    let sample = |right: i32, down: i32| {
        let column = (x.div_euclid(8) + right).clamp(0, last) * pixel as i32 + component as i32;
        u32::from(plane.sample(column, y.div_euclid(8) + down))
    };
    let [x, y] = [x, y].map(|at| at.rem_euclid(8) as u32);
    let [above, below] = [0, 1].map(|down| (8 - x) * sample(0, down) + x * sample(1, down));
    ((8 - y) * above + y * below + 32) >> 6
}
