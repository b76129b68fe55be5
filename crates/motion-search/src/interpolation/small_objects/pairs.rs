//! Pairs of regions between which objects move.

use super::{BETTER, FramePair, MOST_OBJECTS, REACH, Region, Way, add, subtract};

/// An object that moves from one region to another.
pub(super) struct Object<'a> {
    pub from: &'a Region<'a>,
    pub to: &'a Region<'a>,
    /// From its place in the previous frame to that in the next.
    pub motion: Way,
    /// How well it matches.
    ratio: u32,
}

/// What moves between regions, the best matches first; no region is of two objects.
pub(super) fn objects<'a>(frames: FramePair<'_>, regions: &'a [Region<'a>]) -> Vec<Object<'a>> {
    let departures = regions.iter().filter(|region| region.excess > 0);
    let arrivals = || regions.iter().filter(|region| region.excess < 0);
    let pairs = departures.flat_map(|from| arrivals().map(move |to| (from, to)));
    let mut all: Vec<_> = pairs.filter_map(|(from, to)| object(frames, from, to)).collect();
    all.sort_by_key(|object| object.ratio);
    let mut best: Vec<Object<'_>> = Vec::new();
    for object in all {
        let is_used =
            |used: &Object<'_>| std::ptr::eq(used.from, object.from) || std::ptr::eq(used.to, object.to);
        if best.len() < MOST_OBJECTS && !best.iter().any(is_used) {
            best.push(object);
        }
    }
    best
}

/// What moves from one region to another, if an object does.
fn object<'a>(frames: FramePair<'_>, from: &'a Region<'a>, to: &'a Region<'a>) -> Option<Object<'a>> {
    let are_alike = |a: i32, b: i32| a <= 3 * b && b <= 3 * a;
    let are_sides_alike = |axis: usize| are_alike(from.side(axis) + 4, to.side(axis) + 4);
    if !are_alike(from.count(), to.count()) || !are_sides_alike(0) || !are_sides_alike(1) {
        return None;
    }
    // From centre to centre, where the background is still.
    let first = subtract(add(to.first, to.last), add(from.first, from.last)).map(|twice| twice >> 1);
    // What matches worse is no object.
    let (mut best, mut least) = (None, from.left / BETTER + 1);
    for down in -REACH..=REACH {
        for right in -REACH..=REACH {
            let way = add(first, [right, down]);
            let motion = add(way, to.background);
            let mut cost = 0;
            for place in from.places() {
                cost += u32::from(frames.difference(place, motion));
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
    let back: u32 = to.places().map(|place| u32::from(frames.difference(subtract(place, way), motion))).sum();
    let ratio = 1024 * (least + back) / (from.left + to.left).max(1);
    (BETTER * back <= to.left).then_some(Object { from, to, motion, ratio })
}
