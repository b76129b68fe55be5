//! What the model still shows where it has gone: an object that was there when the model was made.
//!
//! The frame then differs from the model where the object is, and where it was. At the edges of the place where it was, the model has
//! edges that the frame does not have.

use std::ops::Range;

use crate::regions::Blob;

/// Samples before and behind the edge of a box in which its edge may be.
const NEAR: usize = 2;

/// The differences of samples two apart in noise alone, in its standard deviations: that much is no edge. The model, a mean of many
/// frames, has this share of the noise.
const NOISE: f32 = 1.6;
const SHARE_IN_MODEL: f32 = 0.4;

/// An edge has at least so many levels more than noise, on average along it.
const LEAST_EDGE: f32 = 1.5;

/// By how much an edge of the model must be stronger than that of the frame for the end of a ghost, and the reverse for that of an object.
const STRONGER_IN_MODEL: f32 = 1.5;
const STRONGER_IN_FRAME: f32 = 1.2;

/// The end of an object inside a box is the first place from the ghost's end on where so much of the largest gain of the frame's edges over
/// the model's is reached, in boxes of more samples than this: shorter ones are all edge.
const NEARLY_MOST: f32 = 0.6;
const LEAST_LENGTH: usize = 4 * NEAR;

/// The ends of a box, of four, that are those of a ghost if all of it is one.
const GHOST_ENDS: usize = 3;

/// Where the edges are less clear, all sides of a box must have shown the same for so many seconds, in this share of their samples, up to so
/// many samples inside it: noise changes some.
const REST: f32 = 1.0;
const AT_REST: f32 = 0.7;
const SIDE: usize = 2;

/// The differences across the sides may then be as much larger in the frame than in the model as chance makes them: by so many standard
/// deviations of their sum, for a side on average.
const BY_CHANCE: f32 = 0.5;

/// The edges of both strips are about as strong: at least this share of each other.
const ALIKE: f32 = 0.5;

/// A strip is at most so wide, in lengths of it. Two are apart by at most so many lengths, and differ in their places along it and in their
/// lengths by at most this share, and a sample.
const THIN: f64 = 0.6;
const APART: f64 = 1.6;
const SLACK: f64 = 0.2;

/// The model, light as in the frame, and the frame, both at the places of the model.
pub struct Pictures<'a> {
    /// Samples a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The frame.
    pub seen: &'a [f32],
    /// The model.
    pub expected: &'a [f32],
    /// The standard deviation of the noise of the frame.
    pub noise: f32,
}

/// The edges across a box: for each of its columns or rows how much both pictures change there.
pub struct Profile {
    seen: Vec<f32>,
    expected: Vec<f32>,
}

/// What an end of a box is the end of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Something that is in the frame.
    Object,
    /// Something that is only in the model.
    Ghost,
    /// It cannot be said.
    Unknown,
}

/// How much a picture changes at a sample, between those `step` before and behind it.
fn change(picture: &[f32], at: usize, step: usize) -> f32 {
    (picture[at + step] - picture[at - step]).abs()
}

impl Profile {
    /// For pictures whose longer side has so many samples.
    pub fn new(longest: usize) -> Self {
        Self {
            seen: Vec::with_capacity(longest + 2 * NEAR),
            expected: Vec::with_capacity(longest + 2 * NEAR),
        }
    }

    /// Measures the edges on one axis, from [`NEAR`] places before the range `along` to as many behind it, in the rows or columns `across`.
    /// `step` and `side` are the distances of samples along both axes.
    fn measure(
        &mut self,
        pictures: &Pictures<'_>,
        along: &Range<usize>,
        across: &Range<usize>,
        (step, side): (usize, usize),
    ) {
        self.seen.clear();
        self.expected.clear();
        let floor = NOISE * pictures.noise;
        for at in along.start - NEAR..along.end + NEAR {
            let (mut seen, mut expected) = (0.0f32, 0.0f32);
            for other in across.clone() {
                let index = at * step + other * side;
                seen += (change(pictures.seen, index, step) - floor).max(0.0);
                expected += (change(pictures.expected, index, step) - SHARE_IN_MODEL * floor).max(0.0);
            }
            self.seen.push(seen);
            self.expected.push(expected);
        }
    }

    fn end(&self, range: Range<usize>, samples: usize) -> End {
        let most = |sums: &[f32]| sums[range.clone()].iter().fold(0.0f32, |most, &sum| most.max(sum));
        let (seen, expected) = (most(&self.seen), most(&self.expected));
        let least = LEAST_EDGE * samples as f32;
        if expected > STRONGER_IN_MODEL * seen + least {
            End::Ghost
        } else if seen > STRONGER_IN_FRAME * expected + least {
            End::Object
        } else {
            End::Unknown
        }
    }

    /// The part of an axis without what is only in the model, and what both ends are.
    fn trim(&self, samples: usize) -> (usize, usize, [End; 2]) {
        let length = self.seen.len();
        let ends = [self.end(0..2 * NEAR, samples), self.end(length - 2 * NEAR..length, samples)];
        let gain = |at: &usize| self.seen[*at] - self.expected[*at];
        let inside = 2 * NEAR..length - 2 * NEAR;
        let most = inside.clone().map(|at| gain(&at)).fold(0.0f32, f32::max);
        let is_edge = |at: &usize| gain(at) >= NEARLY_MOST * most;
        let (mut first, mut last) = (NEAR, length - NEAR);
        if most > LEAST_EDGE * samples as f32 && length > LEAST_LENGTH + 2 * NEAR {
            match ends {
                [End::Ghost, End::Object] => first = inside.clone().find(is_edge).unwrap_or(first),
                [End::Object, End::Ghost] => last = inside.rev().find(is_edge).map_or(last, |at| at + 1),
                _ => {}
            }
        }
        (first - NEAR, length - NEAR - last, ends)
    }
}

/// Which way the edges of a thin box have gone on an axis: 1 to higher, -1 to lower places, 0 if that cannot be said.
fn way(profile: &Profile, samples: usize) -> i32 {
    let peak = |sums: &[f32]| {
        let most = sums.iter().fold(0.0f32, |most, &sum| most.max(sum));
        (most, sums.iter().position(|&sum| sum >= most).unwrap_or(0))
    };
    let ((seen, to), (expected, from)) = (peak(&profile.seen), peak(&profile.expected));
    let is_clear = seen > LEAST_EDGE * samples as f32 && expected > ALIKE * seen && seen > ALIKE * expected;
    if is_clear { (to as i32 - from as i32).signum() } else { 0 }
}

/// Joins the two strips that an object without texture leaves when it moves by little: the one that it now covers and the one that it
/// no longer covers. The edges of both have gone the same way.
pub fn join_strips(blobs: &mut Vec<Blob>, pictures: &Pictures<'_>, profile: &mut Profile) {
    let mut first = 0;
    while first < blobs.len() {
        let a = blobs[first];
        let is_upright = a.width <= THIN * a.height;
        let is_flat = a.height <= THIN * a.width;
        let mut ways = |blob: &Blob| strip_way(blob, is_upright, pictures, profile);
        let a_way = if is_upright || is_flat { ways(&a) } else { 0 };
        let other = (first + 1..blobs.len()).find(|&other| {
            let b = &blobs[other];
            let (gap, length, start, other_length, other_start, thin) = if is_upright {
                ((a.x - b.x).abs(), a.height, a.y, b.height, b.y, b.width <= THIN * b.height)
            } else {
                ((a.y - b.y).abs(), a.width, a.x, b.width, b.x, b.height <= THIN * b.width)
            };
            let slack = SLACK * length + 1.0;
            let is_beside = (start - other_start).abs() <= slack && (length - other_length).abs() <= slack;
            a_way != 0 && thin && is_beside && gap <= APART * length && ways(b) == a_way
        });
        match other {
            Some(other) => {
                blobs[first] = a.union(&blobs[other]);
                blobs.remove(other);
            }
            None => first += 1,
        }
    }
}

fn strip_way(blob: &Blob, is_upright: bool, pictures: &Pictures<'_>, profile: &mut Profile) -> i32 {
    let Some((columns, rows)) = inner(blob, pictures) else { return 0 };
    if is_upright {
        profile.measure(pictures, &columns, &rows, (1, pictures.width));
        way(profile, rows.len())
    } else {
        profile.measure(pictures, &rows, &columns, (pictures.width, 1));
        way(profile, columns.len())
    }
}

/// The columns and rows of a box, if it is not at the edge of the frame, where it has ends that nobody sees.
fn inner(blob: &Blob, pictures: &Pictures<'_>) -> Option<(Range<usize>, Range<usize>)> {
    let (left, top) = (blob.x as usize, blob.y as usize);
    let (right, bottom) = (left + blob.width as usize, top + blob.height as usize);
    let is_inside = left.min(top) > NEAR && right + NEAR < pictures.width && bottom + NEAR < pictures.height;
    is_inside.then_some((left..right, top..bottom))
}

/// Takes from `blob` the part where something was and is no more. Returns whether that is all of it.
pub fn without_ghost(blob: &mut Blob, pictures: &Pictures<'_>, stay: &[f32], profile: &mut Profile) -> bool {
    let Some((columns, rows)) =
        inner(blob, pictures).filter(|(columns, rows)| columns.len().min(rows.len()) >= SIDE)
    else {
        return false;
    };
    let width = pictures.width;
    profile.measure(pictures, &columns, &rows, (1, width));
    let (from_left, from_right, across) = profile.trim(rows.len());
    profile.measure(pictures, &rows, &columns, (width, 1));
    let (from_top, from_bottom, down) = profile.trim(columns.len());
    let ends = [across[0], across[1], down[0], down[1]];
    let count = |kind: End| ends.iter().filter(|&&end| end == kind).count();
    if count(End::Ghost) >= GHOST_ENDS && count(End::Object) == 0 || has_gone(columns, rows, pictures, stay) {
        return true;
    }
    blob.x += from_left as f64;
    blob.width -= (from_left + from_right) as f64;
    blob.y += from_top as f64;
    blob.height -= (from_top + from_bottom) as f64;
    false
}

/// Whether all sides of a box are at rest, and the frame does not show an object there better than the model. `stay` tells for how many
/// seconds each sample has shown the same.
fn has_gone(columns: Range<usize>, rows: Range<usize>, pictures: &Pictures<'_>, stay: &[f32]) -> bool {
    let width = pictures.width;
    let rests = |columns: Range<usize>, rows: Range<usize>| {
        let resting =
            |y: usize| stay[y * width..][columns.clone()].iter().filter(|&&stay| stay >= REST).count();
        let samples = columns.len() * rows.len();
        rows.map(resting).sum::<usize>() as f32 >= AT_REST * samples as f32
    };
    let is_at_rest = rests(columns.start..columns.start + SIDE, rows.clone())
        && rests(columns.end - SIDE..columns.end, rows.clone())
        && rests(columns.clone(), rows.start..rows.start + SIDE)
        && rests(columns.clone(), rows.end - SIDE..rows.end);
    if !is_at_rest {
        return false;
    }
    // The sum of the differences across a line of samples, in its standard deviations: the model's less the frame's.
    let stronger_in_model = |first: usize, step: usize, side: usize, samples: usize| {
        let (mut sum, mut squares) = (0.0f32, 1.0f32);
        for at in (0..samples).map(|sample| first + sample * side) {
            let gain = change(pictures.expected, at, step) - change(pictures.seen, at, step);
            sum += gain;
            squares += gain * gain;
        }
        sum / squares.sqrt()
    };
    let upright = |x: usize| stronger_in_model(rows.start * width + x, 1, width, rows.len());
    let flat = |y: usize| stronger_in_model(y * width + columns.start, width, 1, columns.len());
    let [left, right] = [columns.start, columns.end].map(|x| upright(x - 1) + upright(x));
    let [top, bottom] = [rows.start, rows.end].map(|y| flat(y - 1) + flat(y));
    (left + right + top + bottom) / 8.0 >= -BY_CHANCE
}
