//! Small objects, and pictures that one of two frames hardly shows.
//!
//! # The definition
//!
//! What is small and moves by more than its size is not found block by block: between its two places both frames show
//! the background there, which matches perfectly. With every quality it is found as a whole in the search frames, by
//! the CPU, after step 2 and unless it is a cut, and drawn over the made frame.
//!
//! - *Suspects.* A block is looked at if its match costs at least 512 more than the mean of all blocks (rounded down),
//!   or if its vector differs by more than two samples, `|Δx| + |Δy|`, from that to its right or below. If more than
//!   one block in eight is, or none, there are no small objects.
//! - *Motion around a block*: on each axis the median of 25 vectors, those of the blocks -4, -2, 0, 2 and 4 away on
//!   both axes (outside the grid the nearest one), in whole samples.
//! - *Mismatch* of a sample and the one to which a motion leads: by how much their difference exceeds half the range,
//!   rounded down, of the 3 × 3 samples around either, of which the greater one counts; around a place outside its
//!   frame those around the nearest sample. The edge of an object that moves by half a sample differs by half its
//!   contrast.
//! - *Regions.* In suspects and the blocks beside them, a sample of P is left if it differs from the one to which the
//!   motion around its block leads in N by d > 24, and 2 (d - 24) is more than the range of the 3 × 3 samples around
//!   it, in P or in N. Samples that are at most 2 apart on each axis are one region, of 8 samples or more and at most
//!   64 on a side. The background of a region moves as the block of its first sample says. With more than 32 regions
//!   there are no objects.
//! - *Departures and arrivals.* The contrast of a region is the sum of differences between each of its samples and
//!   those of the four beside it that are not in the region. An object departs from a region if this is more in P than
//!   in N, where the background has gone on; it arrives if it is less.
//! - *Objects that move by less than their size* leave and enter one region R, or two that are their edges. Its hull:
//!   the samples between two of R in a row are added, then those between two of these in a column; the same with
//!   columns first; what both have counts. For each way of at most `(side of R + 2) / 2` samples on each axis, row by
//!   row, each sample p of R costs the least of two differences: between p in P and p plus the way in N, if that is in
//!   the hull; and between p less the way in P, if it is in the hull, and p in N (N is where the background has gone
//!   on). A sample with neither costs their difference without a way. All n samples of R count, or from 129 on every
//!   `floor(n / 128) + 1`st. The object leaves the places from which the way leads from hull to hull, at least one end
//!   of them in R, with a difference of at most 24; it enters their other ends. The way with the least cost is taken,
//!   of equals the first, whose places are 8 or more, and from which an object departs (next rule; in the hull counts
//!   as in the region) and in whose ends one arrives. If it costs at most an eighth of the differences that the
//!   background leaves, its places and their ends replace R. If there is no such way, mismatches take the place of all
//!   these differences, and the result counts if sixteen times the contrast of its places in N is at most that in P,
//!   and for their ends the other way round. So is each pair of regions below tried together, if its backgrounds are
//!   the same and both are within 64 × 64 samples: an object that moves less than from one to the other, compared as
//!   below, replaces the pair.
//! - *Pairs.* An object moves from region A, which it departs from, to region B, in which it arrives, if these have
//!   sides, plus 4, and numbers of samples that differ by at most three times, and if it is found: of the 81 ways from
//!   A to B, from centre to centre and up to 4 samples more or less on each axis, the one with the least sum of
//!   differences between the samples of A in P and those in N, of equals the first. This sum must be at most an eighth
//!   of what the motion of the background leaves in A; so must the sum over B, carried back to P, of what it leaves in
//!   B. If the background is plain, mismatches count in place of differences: if four times the contrast of A in N is
//!   at most that in P, and for B the other way round. Of all pairs the best by both sums, divided by what the
//!   background leaves, are taken, at most 8, no region twice.
//! - *Field.* The blocks that show A or B get the motion around them as their vectors.
//! - *Drawing.* Three patches: A, moving with its background, as N shows it; B likewise as P shows it, both without
//!   what both cover; and the object, as the frame nearer in time shows it. A patch is at `floor((2nL + d) / 2d)` luma
//!   samples from its place in P for a motion of L. Regions are extended by 2 samples; the object has the samples of
//!   both, extended, that differ by at most 24 between P and N, and those of both with a mismatch of at most 24.
//!   Samples of search frames that are halved are 2 × 2 or 4 × 4 luma samples; a pixel of chroma is copied if one of
//!   its luma samples is.

use std::collections::HashSet;

use super::super::fading::{DISTANCE, LEAST_PART};
use super::super::patches::{Mask, Patch, Shown};
use super::super::rules::BLOCK;
use super::super::small_objects::{
    AROUND, BETTER, BLOCKS_A_SUSPECT, EDGE, GAP, LEAST_COST, LEAST_DIFFERENCE, LEAST_SAMPLES, MOST_OBJECTS,
    MOST_REGIONS, MOST_SIDE, MOST_UNLIKE, MUCH_PLAINER, PLAINER, REACH, TRIED_SAMPLES,
};
use super::rounded;
use super::sizes::{grid, halvings};
use crate::compensation::Sampling;
use crate::interpolation::Phase;
use motion_base::{Frame, FrameView, Grid, MotionVector};

/// A place or a way: columns and rows.
type Offset = [i32; 2];

fn add(a: Offset, b: Offset) -> Offset {
    [a[0] + b[0], a[1] + b[1]]
}

fn subtract(a: Offset, b: Offset) -> Offset {
    [a[0] - b[0], a[1] - b[1]]
}

/// All places from `first` to `last`, row by row.
fn rectangle(first: Offset, last: Offset) -> impl Iterator<Item = Offset> {
    (first[1]..=last[1]).flat_map(move |y| (first[0]..=last[0]).map(move |x| [x, y]))
}

/// What frames between two frames are made by: the field that the search finds for the first of two
/// [search frames](super::search_frame) in the second, corrected, and what is drawn over the frames.
///
/// # Panics
/// If it is no field of these frames.
pub fn correct(frames: [&Frame; 2], field: &[MotionVector]) -> (Vec<MotionVector>, Vec<Patch>) {
    let frames = frames.map(Frame::view);
    let pair = SearchedPair { frames: &frames, grid: grid(frames[0].size()), field };
    assert_eq!(field.len(), pair.grid.blocks(), "a field of search frames");
    let [previous, next] = [0, 1].map(|frame| pair.detail(frame));
    if LEAST_PART * previous.min(next) < previous.max(next) {
        return (vec![MotionVector::default(); field.len()], Vec::new());
    }
    let parts = |region| match pair.split(&[&region]) {
        Some(parts) => Vec::from(parts),
        None => vec![region],
    };
    let regions: Vec<_> = pair.regions().into_iter().flat_map(parts).collect();
    let (mut corrected, mut patches) = (field.to_vec(), Vec::new());
    for object in pair.objects(&regions) {
        for region in [&object.from, &object.to] {
            for block in pair.blocks_near(region) {
                (corrected[block].x, corrected[block].y) = pair.vector_around(block);
            }
        }
        patches.extend(pair.patches(&object));
    }
    (corrected, patches)
}

/// Samples that the motion around them does not explain, in the order in which they were reached.
#[derive(Clone)]
struct DefinedRegion {
    samples: Vec<Offset>,
    /// What counts as the region where its contrast is asked for.
    inside: Vec<Offset>,
    /// How what is around them moves.
    background: Offset,
}

impl DefinedRegion {
    /// The first and the last column and row.
    fn corners(&self) -> [Offset; 2] {
        let of = |axis: usize| self.samples.iter().map(move |place| place[axis]);
        let least = |axis: usize| of(axis).min().unwrap_or_default();
        let largest = |axis: usize| of(axis).max().unwrap_or_default();
        [[least(0), least(1)], [largest(0), largest(1)]]
    }
}

/// What moves from one region to another.
struct DefinedObject {
    from: DefinedRegion,
    to: DefinedRegion,
    motion: Offset,
}

/// Two search frames and the field of the first in the second.
struct SearchedPair<'a> {
    frames: &'a [FrameView<'a>; 2],
    grid: Grid,
    field: &'a [MotionVector],
}

impl SearchedPair<'_> {
    fn sample(&self, frame: usize, [x, y]: Offset) -> i32 {
        self.frames[frame].extended(x, y).into()
    }

    fn difference(&self, place: Offset, motion: Offset) -> i32 {
        (self.sample(0, place) - self.sample(1, add(place, motion))).abs()
    }

    /// The range of the 3 × 3 samples around the one of a frame that is nearest to a place.
    fn range(&self, frame: usize, [x, y]: Offset) -> i32 {
        let (width, height) = self.frames[frame].size();
        let [x, y] = [x.clamp(0, width as i32 - 1), y.clamp(0, height as i32 - 1)];
        let around = || rectangle([x - 1, y - 1], [x + 1, y + 1]).map(|place| self.sample(frame, place));
        around().max().unwrap_or_default() - around().min().unwrap_or_default()
    }

    /// The difference less half the greater range, if it is more.
    fn mismatch(&self, place: Offset, motion: Offset) -> i32 {
        let range = self.range(0, place).max(self.range(1, add(place, motion)));
        (self.difference(place, motion) - range / 2).max(0)
    }

    /// How much the samples of a frame differ from those a block to the right and below.
    fn detail(&self, frame: usize) -> u64 {
        let (width, height) = self.frames[frame].size();
        let distance = DISTANCE as i32;
        let mut detail = 0;
        for [x, y] in rectangle([0, 0], [width as i32 - 1, height as i32 - 1]) {
            for other in [[x + distance, y], [x, y + distance]] {
                if other[0] < width as i32 && other[1] < height as i32 {
                    let difference = self.sample(frame, [x, y]) - self.sample(frame, other);
                    detail += u64::from(difference.unsigned_abs());
                }
            }
        }
        detail
    }

    /// The number of the block `right` and `down` from another, or of the one of the grid that is nearest to it.
    fn block_near(&self, block: usize, [right, down]: Offset) -> usize {
        let Grid { columns, rows } = self.grid;
        let column = ((block % columns) as i32 + right).clamp(0, columns as i32 - 1);
        let row = ((block / columns) as i32 + down).clamp(0, rows as i32 - 1);
        row as usize * columns + column as usize
    }

    /// The median of the vectors around a block.
    fn vector_around(&self, block: usize) -> (i16, i16) {
        let around: Vec<_> = rectangle([-AROUND; 2], [AROUND; 2])
            .filter(|[right, down]| right % 2 == 0 && down % 2 == 0)
            .map(|step| self.field[self.block_near(block, step)])
            .collect();
        let median = |mut values: Vec<i16>| {
            values.sort_unstable();
            values[values.len() / 2]
        };
        let axis = |of: fn(&MotionVector) -> i16| median(around.iter().map(of).collect());
        (axis(|vector| vector.x), axis(|vector| vector.y))
    }

    /// The same in whole samples.
    fn motion_around(&self, block: usize) -> Offset {
        let (x, y) = self.vector_around(block);
        [x, y].map(|units| (i32::from(units) + 16) >> 5)
    }

    fn is_suspect(&self, block: usize) -> bool {
        let own = self.field[block];
        let is_unlike = |step: Offset| {
            let other = self.field[self.block_near(block, step)];
            u32::from(own.x.abs_diff(other.x)) + u32::from(own.y.abs_diff(other.y)) > MOST_UNLIKE
        };
        let costs: u64 = self.field.iter().map(|vector| u64::from(vector.cost)).sum();
        let least = costs / self.field.len() as u64 + u64::from(LEAST_COST);
        u64::from(own.cost) >= least || is_unlike([1, 0]) || is_unlike([0, 1])
    }

    /// Whether the motion around a sample explains it.
    fn is_explained(&self, place: Offset, motion: Offset) -> bool {
        let more = self.difference(place, motion) - i32::from(LEAST_DIFFERENCE);
        more <= 0 || 2 * more <= self.range(0, place).min(self.range(1, add(place, motion)))
    }

    fn regions(&self) -> Vec<DefinedRegion> {
        let blocks = self.grid.blocks();
        let suspects: Vec<_> = (0..blocks).filter(|&block| self.is_suspect(block)).collect();
        if BLOCKS_A_SUSPECT * suspects.len() > blocks {
            return Vec::new();
        }
        let (width, height) = self.frames[0].size();
        let block_of = |[x, y]: Offset| y as usize / BLOCK * self.grid.columns + x as usize / BLOCK;
        let mut is_near = vec![false; blocks];
        for &block in &suspects {
            rectangle([-1, -1], [1, 1]).for_each(|step| is_near[self.block_near(block, step)] = true);
        }
        let all = || rectangle([0, 0], [width as i32 - 1, height as i32 - 1]);
        let is_left = |&place: &Offset| {
            is_near[block_of(place)] && !self.is_explained(place, self.motion_around(block_of(place)))
        };
        let mut left: Vec<_> = all().filter(is_left).collect();
        let mut regions = Vec::new();
        while !left.is_empty() {
            let mut samples = vec![left.remove(0)];
            let mut at = 0;
            while let Some(&[x, y]) = samples.get(at) {
                let is_reached =
                    |place: &Offset| place[0].abs_diff(x) <= GAP as u32 && place[1].abs_diff(y) <= GAP as u32;
                samples.extend(left.extract_if(.., |place| is_reached(place)));
                at += 1;
            }
            let background = self.motion_around(block_of(samples[0]));
            let region = DefinedRegion { background, inside: samples.clone(), samples };
            let [first, last] = region.corners();
            let is_small = (0..2).all(|axis| last[axis] - first[axis] < MOST_SIDE);
            if region.samples.len() >= LEAST_SAMPLES && is_small {
                regions.push(region);
            }
        }
        if regions.len() > MOST_REGIONS { Vec::new() } else { regions }
    }

    /// How much the samples of a region, `away` from its place, differ from those around it.
    fn contrast(&self, frame: usize, region: &DefinedRegion, away: Offset) -> i32 {
        let mut sum = 0;
        for &place in &region.samples {
            for step in [[1, 0], [-1, 0], [0, 1], [0, -1]] {
                let other = add(place, step);
                if !region.inside.contains(&other) {
                    let samples = [place, other].map(|place| self.sample(frame, add(place, away)));
                    sum += (samples[0] - samples[1]).abs();
                }
            }
        }
        sum
    }

    /// The contrast of a region in the previous frame, and where the background has gone on in the next one.
    fn contrasts(&self, region: &DefinedRegion) -> [i32; 2] {
        [self.contrast(0, region, [0, 0]), self.contrast(1, region, region.background)]
    }

    fn excess(&self, region: &DefinedRegion) -> i32 {
        let [previous, next] = self.contrasts(region);
        previous - next
    }

    /// Whether the contrast of the background of an object that moves from one region to another is so much less than its own.
    fn is_background_plainer(&self, [from, to]: [&DefinedRegion; 2], times: i32) -> bool {
        let [[object, left], [entered, moved]] = [from, to].map(|region| self.contrasts(region));
        times * left <= object && times * entered <= moved
    }

    /// The regions that an object leaves and enters that moves by less than its size, if `regions` show one.
    fn split(&self, regions: &[&DefinedRegion]) -> Option<[DefinedRegion; 2]> {
        let is_plain =
            |parts: &[DefinedRegion; 2]| self.is_background_plainer(parts.each_ref(), MUCH_PLAINER);
        let by_differences = self.split_by(regions, |place, motion| self.difference(place, motion));
        let by_mismatches =
            || self.split_by(regions, |place, motion| self.mismatch(place, motion)).filter(is_plain);
        by_differences.or_else(by_mismatches)
    }

    /// The same by how badly a sample of the previous frame and that of the next one so much further match.
    fn split_by(
        &self,
        regions: &[&DefinedRegion],
        unlikeness: impl Fn(Offset, Offset) -> i32,
    ) -> Option<[DefinedRegion; 2]> {
        let background = regions[0].background;
        let all = DefinedRegion {
            samples: regions.iter().flat_map(|region| region.samples.clone()).collect(),
            inside: Vec::new(),
            background,
        };
        let [first, last] = all.corners();
        if regions.iter().any(|region| region.background != background)
            || (0..2).any(|axis| last[axis] - first[axis] >= MOST_SIDE)
        {
            return None;
        }
        // The samples between those of `within` on an axis.
        let between_on = |axis: usize, within: &HashSet<Offset>| -> HashSet<Offset> {
            let is_between = |place: &Offset| {
                let line = || within.iter().filter(|other| other[1 - axis] == place[1 - axis]);
                line().any(|other| other[axis] <= place[axis])
                    && line().any(|other| other[axis] >= place[axis])
            };
            rectangle(first, last).filter(is_between).collect()
        };
        let of_region: HashSet<_> = all.samples.iter().copied().collect();
        let [by_columns, by_rows] = [0, 1].map(|axis| between_on(1 - axis, &between_on(axis, &of_region)));
        let between: HashSet<_> = by_columns.intersection(&by_rows).copied().collect();
        let tried: Vec<_> =
            all.samples.iter().copied().step_by(all.samples.len() / TRIED_SAMPLES + 1).collect();
        let left: u32 = tried.iter().map(|&place| unlikeness(place, background) as u32).sum();
        let cost = |way: Offset| {
            let motion = add(way, background);
            let of_sample = |&place: &Offset| {
                let mut all = Vec::new();
                if between.contains(&add(place, way)) {
                    all.push(unlikeness(place, motion));
                }
                if between.contains(&subtract(place, way)) {
                    all.push(unlikeness(subtract(place, way), motion));
                }
                all.into_iter().min().unwrap_or(unlikeness(place, background)) as u32
            };
            tried.iter().map(of_sample).sum::<u32>()
        };
        let parts = |way: Offset| {
            let is_left = |&place: &Offset| {
                let other = add(place, way);
                between.contains(&place)
                    && between.contains(&other)
                    && (of_region.contains(&place) || of_region.contains(&other))
                    && unlikeness(place, add(way, background)) <= LEAST_DIFFERENCE.into()
            };
            let from: Vec<_> = rectangle(first, last).filter(is_left).collect();
            let to = from.iter().map(|&place| add(place, way)).collect();
            [from, to].map(|samples| DefinedRegion {
                samples,
                inside: between.iter().copied().collect(),
                background,
            })
        };
        let reach = [0, 1].map(|axis| (last[axis] - first[axis] + 1 + GAP) / 2);
        let mut ways: Vec<_> = rectangle(reach.map(|length| -length), reach)
            .map(|way| (cost(way), way))
            .filter(|(cost, _)| BETTER * cost <= left)
            .collect();
        ways.sort_by_key(|(cost, _)| *cost);
        let is_object = |[from, to]: &[DefinedRegion; 2]| {
            from.samples.len() >= LEAST_SAMPLES && self.excess(from) > 0 && self.excess(to) < 0
        };
        ways.into_iter().map(|(_, way)| parts(way)).find(is_object)
    }

    /// The motion of what moves from region `from` to region `to`, if an object does, and how badly it matches.
    fn found(&self, from: &DefinedRegion, to: &DefinedRegion) -> Option<(Offset, u32)> {
        if self.excess(from) <= 0 || self.excess(to) >= 0 {
            return None;
        }
        let are_alike = |a: i32, b: i32| a <= 3 * b && b <= 3 * a;
        let [first, last] = from.corners();
        let [to_first, to_last] = to.corners();
        let side = |first: Offset, last: Offset, axis: usize| last[axis] - first[axis] + 5;
        let are_sides_alike = |axis| are_alike(side(first, last, axis), side(to_first, to_last, axis));
        if !are_alike(from.samples.len() as i32, to.samples.len() as i32)
            || !are_sides_alike(0)
            || !are_sides_alike(1)
        {
            return None;
        }
        let middle = [0, 1].map(|axis| (to_first[axis] + to_last[axis] - first[axis] - last[axis]) >> 1);
        let is_plain = self.is_background_plainer([from, to], PLAINER);
        let sum = |places: &[Offset], motion: Offset| -> u32 {
            let of =
                |place| if is_plain { self.mismatch(place, motion) } else { self.difference(place, motion) };
            places.iter().map(|&place| of(place) as u32).sum()
        };
        let cost = |way: Offset| sum(&from.samples, add(way, to.background));
        let ways = rectangle([-REACH; 2], [REACH; 2]).map(|step| add(middle, step));
        let way = ways.min_by_key(|&way| cost(way))?;
        let motion = add(way, to.background);
        let entered: Vec<_> = to.samples.iter().map(|&place| subtract(place, way)).collect();
        let back = sum(&entered, motion);
        let left = [from, to].map(|region| sum(&region.samples, region.background));
        let is_found = BETTER * cost(way) <= left[0] && BETTER * back <= left[1];
        let ratio = 1024 * (cost(way) + back) / (left[0] + left[1]).max(1);
        is_found.then_some((motion, ratio))
    }

    /// The best of all pairs of regions.
    fn objects(&self, regions: &[DefinedRegion]) -> Vec<DefinedObject> {
        let numbers = || 0..regions.len();
        let pairs = numbers().flat_map(|from| numbers().map(move |to| [from, to]));
        let mut all: Vec<_> = pairs
            .filter_map(|[from, to]| {
                let (motion, ratio) = self.found(&regions[from], &regions[to])?;
                Some(([from, to], motion, ratio))
            })
            .collect();
        all.sort_by_key(|&(.., ratio)| ratio);
        let mut used = Vec::new();
        let mut chosen = Vec::new();
        for ([from, to], motion, _) in all {
            if chosen.len() < MOST_OBJECTS && !used.contains(&from) && !used.contains(&to) {
                used.extend([from, to]);
                chosen.push(self.whole_object(&regions[from], &regions[to], motion));
            }
        }
        chosen
    }

    /// What moves from one region to another, or the object that moves less and of which these are the edges.
    fn whole_object(&self, from: &DefinedRegion, to: &DefinedRegion, motion: Offset) -> DefinedObject {
        let length = |motion: Offset| {
            let [right, down] = subtract(motion, to.background);
            right * right + down * down
        };
        if let Some([left, entered]) = self.split(&[from, to])
            && let Some((shorter, _)) = self.found(&left, &entered)
            && length(shorter) < length(motion)
        {
            return DefinedObject { from: left, to: entered, motion: shorter };
        }
        DefinedObject { from: from.clone(), to: to.clone(), motion }
    }

    /// The blocks that show a region.
    fn blocks_near(&self, region: &DefinedRegion) -> Vec<usize> {
        let [first, last] = region.corners();
        let shows = |block: &usize| {
            let [column, row] = [block % self.grid.columns, block / self.grid.columns];
            [(0, column, self.grid.columns), (1, row, self.grid.rows)].into_iter().all(|(axis, at, count)| {
                let last_block = count as i32 - 1;
                let block = |sample: i32| (sample.max(0) / BLOCK as i32).min(last_block);
                (block(first[axis] - EDGE)..=block(last[axis] + EDGE)).contains(&(at as i32))
            })
        };
        (0..self.grid.blocks()).filter(shows).collect()
    }

    /// What is drawn of an object.
    fn patches(&self, DefinedObject { from, to, motion }: &DefinedObject) -> [Patch; 3] {
        let back = subtract(*motion, to.background);
        let all: Vec<_> =
            from.samples.iter().copied().chain(to.samples.iter().map(|&at| subtract(at, back))).collect();
        let is_alike = |place: Offset| {
            self.difference(place, *motion) <= LEAST_DIFFERENCE.into()
                || all.contains(&place) && self.mismatch(place, *motion) <= LEAST_DIFFERENCE.into()
        };
        let is_near = |region: &DefinedRegion, [x, y]: Offset| {
            let is_near =
                |place: &Offset| place[0].abs_diff(x) <= EDGE as u32 && place[1].abs_diff(y) <= EDGE as u32;
            region.samples.iter().any(is_near)
        };
        let left = extended(&from.samples, |place| !is_near(to, place));
        let entered = extended(&to.samples, |place| !is_near(from, place));
        [
            Patch { mask: left, motion: from.background, shown: Shown::Next },
            Patch { mask: entered, motion: to.background, shown: Shown::Previous },
            Patch { mask: extended(&all, is_alike), motion: *motion, shown: Shown::Nearer },
        ]
    }
}

/// The samples up to [`EDGE`] away from those at `places` that are `wanted`.
fn extended(places: &[Offset], wanted: impl Fn(Offset) -> bool) -> Mask {
    let of = |axis: usize| places.iter().map(move |place| place[axis]);
    let first = [0, 1].map(|axis| of(axis).min().unwrap_or_default() - EDGE);
    let last = [0, 1].map(|axis| of(axis).max().unwrap_or_default() + EDGE);
    let has = |[x, y]: Offset| {
        let near =
            |place: &Offset| place[0].abs_diff(x) <= EDGE as u32 && place[1].abs_diff(y) <= EDGE as u32;
        wanted([x, y]) && places.iter().any(near)
    };
    Mask {
        first,
        size: [0, 1].map(|axis| (last[axis] - first[axis] + 1) as usize),
        samples: rectangle(first, last).map(|place| u8::from(has(place))).collect(),
    }
}

/// The planes `made` of the frame at `phase` between the planes of two frames, with `patches` drawn over them.
pub fn draw(
    made: &[Frame],
    patches: &[Patch],
    frames: [&[FrameView<'_>]; 2],
    samplings: &[Sampling],
    phase: Phase,
) -> Vec<Frame> {
    let halvings = halvings(frames[0][0].size());
    let (n, d) = (i64::from(phase.numerator()), i64::from(phase.denominator()));
    let plane = |(index, (made, sampling)): (usize, (&Frame, &Sampling))| {
        let (made, halved) = (made.view(), [sampling.halved_x, sampling.halved_y].map(i32::from));
        let pixel = sampling.pixel() as i32;
        let last = [made.width() as i32 / pixel - 1, made.height() as i32 - 1];
        Frame::deep_from_fn(made.width(), made.height(), made.format().depth(), |column, y| {
            let [column, y] = [column, y].map(|at| at as i32);
            let [x, component] = [column / pixel, column % pixel];
            let mut sample = made.sample(column, y);
            for patch in patches {
                let motion = patch.motion.map(|length| length << halvings);
                let to = motion.map(|length| rounded(n * i64::from(length), d) as i32);
                let luma = rectangle(
                    [x << halved[0], y << halved[1]],
                    [(x << halved[0]) + halved[0], (y << halved[1]) + halved[1]],
                );
                let is_drawn = luma.map(|place| subtract(place, to)).any(|place| {
                    let [column, row] = [0, 1].map(|axis| (place[axis] >> halvings) - patch.mask.first[axis]);
                    let [columns, rows] = patch.mask.size.map(|length| length as i32);
                    (0..columns).contains(&column)
                        && (0..rows).contains(&row)
                        && patch.mask.samples[(row * columns + column) as usize] == 1
                });
                if !is_drawn {
                    continue;
                }
                let shows_next = match patch.shown {
                    Shown::Previous => false,
                    Shown::Next => true,
                    // Half way it is the next one.
                    Shown::Nearer => 2 * n >= d,
                };
                let from = if shows_next { motion } else { [0, 0] };
                let [x, y] = [0, 1].map(|axis| {
                    let away = (from[axis] - to[axis]) >> halved[axis];
                    ([x, y][axis] + away).clamp(0, last[axis])
                });
                sample = frames[usize::from(shows_next)][index].sample(pixel * x + component, y);
            }
            sample
        })
    };
    made.iter().zip(samplings).enumerate().map(plane).collect()
}
