//! Objects that move by less than their size: their two places are one region, or their edges are two.

use std::borrow::Cow;

use super::regions::Region;
use super::{
    BETTER, FramePair, GAP, LEAST_DIFFERENCE, LEAST_SAMPLES, MOST_SIDE, MUCH_PLAINER, TRIED_SAMPLES, Way,
    add, subtract,
};

/// The two regions that an object leaves and enters, if `regions` show the places of one that moves by less than its size.
pub(super) fn split<'a>(frames: FramePair<'_>, regions: &[&Region<'_>]) -> Option<[Region<'a>; 2]> {
    let span = Span::of(regions)?;
    let by = |cost: &dyn Fn(Way, Way) -> u8| best_split(frames, regions, &span, cost);
    // What is thin lies otherwise between samples in each frame. Only before a plain background is it known all the same.
    let is_plain =
        |parts: &[Region<'_>; 2]| parts.iter().all(|part| part.is_background_plainer(MUCH_PLAINER));
    by(&|place, motion| frames.difference(place, motion))
        .or_else(|| by(&|place, motion| frames.mismatch(place, motion)).filter(is_plain))
}

/// The best split by how badly the sample of the previous frame at a place matches that of the next frame so much further.
fn best_split<'a>(
    frames: FramePair<'_>,
    regions: &[&Region<'_>],
    span: &Span,
    cost: &dyn Fn(Way, Way) -> u8,
) -> Option<[Region<'a>; 2]> {
    let background = regions[0].background;
    let count: i32 = regions.iter().map(|region| region.count()).sum();
    let places = || regions.iter().flat_map(|region| region.places());
    let tried = || places().step_by(count as usize / TRIED_SAMPLES + 1);
    let unexplained = |place: Way| u32::from(cost(place, background));
    let reach = span.size.map(|length| (length as i32 + GAP) / 2);
    let mut least = tried().map(unexplained).sum::<u32>() / BETTER + 1;
    let mut best = None;
    for down in -reach[1]..=reach[1] {
        for right in -reach[0]..=reach[0] {
            let way = [right, down];
            let motion = add(way, background);
            // A sample shows the object before it moves, or after.
            let cost_of = |place: Way| {
                let of = |from: Way, other: Way| span.has(other).then(|| cost(from, motion));
                let before = of(place, add(place, way));
                let after = of(subtract(place, way), subtract(place, way));
                before.into_iter().chain(after).map(u32::from).min().unwrap_or_else(|| unexplained(place))
            };
            let mut sum = 0;
            let is_better = tried().all(|place| {
                sum += cost_of(place);
                sum < least
            });
            if is_better && let Some(parts) = parts(frames, background, span, way, cost) {
                (best, least) = (Some(parts), sum);
            }
        }
    }
    best
}

/// The regions that an object leaves and enters if it moves so, and if that is what it does.
fn parts<'a>(
    frames: FramePair<'_>,
    background: Way,
    span: &Span,
    way: Way,
    cost: &dyn Fn(Way, Way) -> u8,
) -> Option<[Region<'a>; 2]> {
    let motion = add(way, background);
    let is_left = |&place: &Way| {
        let other = add(place, way);
        span.has(place)
            && span.has(other)
            && (span.is_of_region(place) || span.is_of_region(other))
            && cost(place, motion) <= LEAST_DIFFERENCE
    };
    let left: Vec<_> = span.rectangle().filter(is_left).collect();
    if left.len() < LEAST_SAMPLES {
        return None;
    }
    let part = |way: Way| {
        let samples: Cow<'_, _> = left.iter().map(|&place| add(place, way).map(|at| at as i16)).collect();
        Region::new(frames, samples, background, |place| !span.has(place))
    };
    let [from, to] = [part([0; 2]), part(way)];
    (from.excess() > 0 && to.excess() < 0).then_some([from, to])
}

/// What regions enclose: the samples between theirs in each row, and between these in each column, that the other order has too.
struct Span {
    first: Way,
    size: [usize; 2],
    /// Of each sample of the rectangle around them.
    samples: Vec<Kind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Outside,
    Between,
    OfRegion,
}

impl Span {
    /// Around regions before one background, unless it is too large.
    fn of(regions: &[&Region<'_>]) -> Option<Self> {
        if regions.iter().any(|region| region.background != regions[0].background) {
            return None;
        }
        let corners = |of: fn(&Region<'_>) -> Way, more: fn(i32, i32) -> i32| {
            let all = regions.iter().map(|region| of(region));
            all.reduce(|a, b| [more(a[0], b[0]), more(a[1], b[1])])
        };
        let first = corners(|region| region.first, i32::min)?;
        let last = corners(|region| region.last, i32::max)?;
        let size = subtract(last, first).map(|length| (length + 1) as usize);
        if size.iter().any(|&length| length > MOST_SIDE as usize) {
            return None;
        }
        let places = || regions.iter().flat_map(|region| region.places()).map(|place| subtract(place, first));
        let mut of_regions = vec![false; size[0] * size[1]];
        places().for_each(|[x, y]| of_regions[y as usize * size[0] + x as usize] = true);
        let by_columns = fill(&fill(&of_regions, size, 0), size, 1);
        let by_rows = fill(&fill(&of_regions, size, 1), size, 0);
        let kind = |at: usize| match (of_regions[at], by_columns[at] && by_rows[at]) {
            (true, _) => Kind::OfRegion,
            (_, true) => Kind::Between,
            _ => Kind::Outside,
        };
        let samples = (0..of_regions.len()).map(kind).collect();
        Some(Self { first, size, samples })
    }

    /// The places of its rectangle, row by row.
    fn rectangle(&self) -> impl Iterator<Item = Way> {
        let [columns, rows] = self.size.map(|length| length as i32);
        let [left, top] = self.first;
        (top..top + rows).flat_map(move |y| (left..left + columns).map(move |x| [x, y]))
    }

    fn kind(&self, place: Way) -> Kind {
        let [x, y] = subtract(place, self.first).map(|at| at as usize);
        if x < self.size[0] && y < self.size[1] { self.samples[y * self.size[0] + x] } else { Kind::Outside }
    }

    fn has(&self, place: Way) -> bool {
        self.kind(place) != Kind::Outside
    }

    fn is_of_region(&self, place: Way) -> bool {
        self.kind(place) == Kind::OfRegion
    }
}

/// The same samples and those between them on one axis.
fn fill(samples: &[bool], size: [usize; 2], axis: usize) -> Vec<bool> {
    let strides = [1, size[0]];
    let mut filled = samples.to_vec();
    for line in 0..size[1 - axis] {
        let at = |place: usize| line * strides[1 - axis] + place * strides[axis];
        let first = (0..size[axis]).find(|&place| samples[at(place)]);
        let last = (0..size[axis]).rfind(|&place| samples[at(place)]);
        if let (Some(first), Some(last)) = (first, last) {
            (first..=last).for_each(|place| filled[at(place)] = true);
        }
    }
    filled
}
