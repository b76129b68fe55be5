//! Pairs of regions between which objects move.

use super::split::split;
use super::{BETTER, FramePair, MOST_OBJECTS, PLAINER, REACH, Region, Way, add, subtract};

/// An object that moves from one region to another.
pub(super) struct Object<'a> {
    pub from: Region<'a>,
    pub to: Region<'a>,
    /// From its place in the previous frame to that in the next.
    pub motion: Way,
}

/// What moves between regions, the best matches first; no region is of two objects.
pub(super) fn objects<'a>(frames: FramePair<'_>, regions: &[Region<'a>]) -> Vec<Object<'a>> {
    let departures = regions.iter().filter(|region| region.excess() > 0);
    let arrivals = || regions.iter().filter(|region| region.excess() < 0);
    let pairs = departures.flat_map(|from| arrivals().map(move |to| [from, to]));
    let mut all: Vec<_> =
        pairs.filter_map(|pair| found(frames, pair).map(|(motion, ratio)| (pair, motion, ratio))).collect();
    all.sort_by_key(|&(.., ratio)| ratio);
    let mut best: Vec<([&Region<'a>; 2], Way)> = Vec::new();
    for (pair, motion, _) in all {
        let is_used =
            |region: &Region<'_>| best.iter().flat_map(|best| best.0).any(|used| std::ptr::eq(used, region));
        if best.len() < MOST_OBJECTS && !pair.into_iter().any(is_used) {
            best.push((pair, motion));
        }
    }
    let object = |([from, to], motion): ([&Region<'a>; 2], Way)| {
        larger(frames, [from, to], motion).unwrap_or_else(|| Object {
            from: from.clone(),
            to: to.clone(),
            motion,
        })
    };
    best.into_iter().map(object).collect()
}

/// An object of which two regions are the edges, if one that is larger and moves less than from one to the other explains both.
fn larger<'a>(frames: FramePair<'_>, pair: [&Region<'a>; 2], motion: Way) -> Option<Object<'a>> {
    let [from, to] = split(frames, &pair)?;
    let (shorter, _) = found(frames, [&from, &to])?;
    let length =
        |motion: Way| subtract(motion, to.background).map(|length| length * length).iter().sum::<i32>();
    (length(shorter) < length(motion)).then_some(Object { from, to, motion: shorter })
}

/// The motion of what moves from one region to another, if an object does, and how badly it matches.
fn found(frames: FramePair<'_>, [from, to]: [&Region<'_>; 2]) -> Option<(Way, u32)> {
    let are_alike = |a: i32, b: i32| a <= 3 * b && b <= 3 * a;
    let are_sides_alike = |axis: usize| are_alike(from.side(axis) + 4, to.side(axis) + 4);
    if !are_alike(from.count(), to.count()) || !are_sides_alike(0) || !are_sides_alike(1) {
        return None;
    }
    let is_plain = [from, to].into_iter().all(|region| region.is_background_plainer(PLAINER));
    let cost_of = |place: Way, motion: Way| {
        u32::from(if is_plain { frames.mismatch(place, motion) } else { frames.difference(place, motion) })
    };
    let [left, to_left] =
        [from, to].map(|region| region.places().map(|place| cost_of(place, region.background)).sum::<u32>());
    // From centre to centre, where the background is still.
    let first = subtract(add(to.first, to.last), add(from.first, from.last)).map(|twice| twice >> 1);
    // What matches worse is no object.
    let (mut best, mut least) = (None, left / BETTER + 1);
    for down in -REACH..=REACH {
        for right in -REACH..=REACH {
            let way = add(first, [right, down]);
            let motion = add(way, to.background);
            let mut cost = 0;
            for place in from.places() {
                cost += cost_of(place, motion);
                if cost >= least {
                    break;
                }
            }
            if cost < least {
                (best, least) = (Some(way), cost);
            }
        }
    }
    let way = best?;
    let motion = add(way, to.background);
    let back: u32 = to.places().map(|place| cost_of(subtract(place, way), motion)).sum();
    let ratio = 1024 * (least + back) / (left + to_left).max(1);
    (BETTER * back <= to_left).then_some((motion, ratio))
}
