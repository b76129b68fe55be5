//! Regions followed from frame to frame, until they are sure enough to begin and long enough unseen to end.

use std::time::Duration;

use crate::affine::Affine;
use crate::regions::{Blob, MOST_BOXES};

/// The most regions that are followed at once.
pub const MOST_TRACKS: usize = 64;

/// The score from which a region begins: the logarithm of how much likelier it is that something moves than that what is seen in
/// these places is there by chance.
const SURE: f64 = 11.0;

/// The most that it grows to.
const MOST_SCORE: f64 = 4.0 * SURE;

/// The most that one more frame adds.
const MOST_GAIN: f64 = 5.5;

/// What a frame in which it is not seen takes away.
const LOSS: f64 = 3.0;

/// Frames one after the other in which something that has not begun may be unseen: noise hides it for as long.
const MOST_MISSES: u32 = 3;

/// The share of a step in the speed: edges of boxes jump by a sample or two.
const STEERING: f64 = 0.35;

/// The product of a step and the way so far, in samples, from which on it is a step onward: half a sample each.
const LEAST_ADVANCE: f64 = 0.25;

/// Boxes of a frame that are there by chance, from which on there is rain or snow.
const CLUTTERED: f64 = 1.5;

/// Seconds in which the number of these boxes is averaged, the most of one frame, the share of one box in their mean size, and the least
/// number: nothing is impossible.
const CLUTTER_MEMORY: f64 = 1.0;
const MOST_OF_CLUTTER: f64 = 0.1;
const SHARE_OF_SIZE: f64 = 0.02;
const LEAST_CLUTTER: f64 = 0.02;

/// Among these something begins at once only if it is so many times as large as all of them together: the more there are, the larger is the
/// largest of them.
const LARGER: f64 = 1.8;

/// What is smaller needs time: what has travelled for so long, in ns, is no chance, if it is larger than a flake. Such things are not counted
/// among the others either, as people among people would wait for each other.
const LONG: u64 = 500_000_000;

/// The share of the frame that a flake of snow shows at most. Flakes do not begin where something is often seen of which nothing comes, as what
/// falls there for long is learned and hardly any are left to be counted; nor at the edges of the frame, beyond which the light is not known.
const FLAKE: f64 = 1.0 / 1900.0;

/// The share of its frames in which something that begins changes: a coder sends what does not move anew now and then, and a decoder
/// repeats it in between.
const CHANGING: f64 = 0.75;

/// The share of a region that is in the box of another one too when they cross, and for how many seconds each goes on as before.
const MOSTLY: f64 = 0.7;
const CROSSING: f64 = 1.0;

/// What is followed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Track {
    /// Its number; 0 until it begins.
    pub id: u64,
    /// Where it is, in samples of the small frame.
    pub blob: Blob,
    /// Its own motion in samples a second, without that of the camera.
    pub velocity: (f64, f64),
    /// When it was first and last seen, in ns.
    pub first: u64,
    /// The same for the last time.
    pub last: u64,
    /// How likely it is something.
    pub score: f64,
    /// Frames in which it was seen.
    pub hits: u32,
    /// Frames since then.
    pub misses: u32,
    /// Where it was first seen, moved along with the camera.
    pub origin: (f64, f64),
    /// The sum of its samples in the frames in which it was seen.
    samples: f64,
    /// Frames since it was first seen in which its samples changed from the frame before.
    changes: u32,
    /// The way of its middle since then.
    path: f64,
    /// Frames in which it moved on in the direction in which it had moved so far.
    steps: u32,
    /// For how many seconds it has shared a box with others.
    crossing: f64,
    /// The way that it seemed to take when it was first seen.
    guess: (f64, f64),
}

impl Track {
    /// How far it is from where it was first seen.
    fn way(&self) -> f64 {
        let (x, y) = self.blob.middle();
        let (right, down) = (x - self.origin.0, y - self.origin.1);
        (right * right + down * down).sqrt()
    }

    /// Whether it has left the place where it was first seen, in about one direction: where something is often seen of which nothing comes,
    /// half as far again.
    pub fn travels(&self) -> bool {
        let way = self.way();
        // Boxes there change their form, which is a way too.
        let (steps, far, straight) = if self.blob.is_usual { (5, 1.5, 0.4) } else { (3, 1.0, 0.7) };
        let least = (0.4 * self.blob.width.min(self.blob.height)).max(3.0);
        self.steps >= steps && way >= far * least && way >= straight * self.path
    }

    /// How sure it is, 0 to 1.
    pub fn confidence(&self) -> f64 {
        (self.score / MOST_SCORE).clamp(0.0, 1.0)
    }

    /// Whether it has begun.
    pub fn is_open(&self) -> bool {
        self.id != 0
    }
}

/// What holds for the regions of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// The time of the frame in ns.
    pub now: u64,
    /// Seconds since the frame before.
    pub elapsed: f64,
    /// Where a place of the frame before is in this frame.
    pub camera: Affine,
    /// Whether only what travels may begin.
    pub is_settling: bool,
    /// How much the samples of a region must change from frame to frame, on average, in [`CHANGING`] of its frames.
    pub least_change: f32,
    /// Samples of the small frame across and down.
    pub size: (f64, f64),
    /// Samples of the small frame on each side that a region must have.
    pub least_size: (f64, f64),
    /// How long a region must have been followed before it begins.
    pub least_duration: Duration,
    /// How long a region stays open unseen.
    pub hold: Duration,
    /// How far the middle of something may move from one frame to the next while its speed is not known.
    pub reach: f64,
}

impl Circumstances {
    /// Samples of the small frame.
    fn area(&self) -> f64 {
        self.size.0 * self.size.1
    }

    /// Whether so many samples are no more than a flake of snow shows.
    fn is_flake(&self, samples: f64) -> bool {
        samples <= FLAKE * self.area()
    }

    /// Whether a box is at an edge of the frame.
    fn is_at_edge(&self, blob: &Blob) -> bool {
        let (right, bottom) = (self.size.0 - blob.x - blob.width, self.size.1 - blob.y - blob.height);
        blob.x.min(blob.y).min(right).min(bottom) < 1.0
    }
}

/// A region and a box that may be the same.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    cost: f64,
    track: usize,
    blob: usize,
    distance: f64,
}

/// The regions of a stream.
pub struct Tracks {
    /// Those that are followed, oldest first.
    pub tracks: Vec<Track>,
    next_id: u64,
    pairs: Vec<Pair>,
    is_taken: Vec<bool>,
    /// Boxes of a frame that are there by chance, on average.
    clutter: f64,
    /// Their samples on average.
    clutter_samples: f64,
    /// Those that have begun with this frame.
    pub begun: Vec<Track>,
    /// Those that have ended with it.
    pub ended: Vec<Track>,
}

impl Default for Tracks {
    fn default() -> Self {
        Self {
            tracks: Vec::with_capacity(MOST_TRACKS),
            next_id: 1,
            pairs: Vec::with_capacity(MOST_TRACKS * MOST_BOXES),
            is_taken: Vec::with_capacity(MOST_BOXES),
            clutter: 0.0,
            clutter_samples: 0.0,
            begun: Vec::with_capacity(MOST_TRACKS),
            ended: Vec::with_capacity(MOST_TRACKS),
        }
    }
}

impl Tracks {
    /// Forgets what has not begun and ends the others.
    pub fn finish(&mut self) {
        self.begun.clear();
        self.ended.clear();
        self.ended.extend(self.tracks.iter().filter(|track| track.is_open()));
        self.tracks.clear();
        self.clutter = 0.0;
    }

    /// Moves the regions along with the camera and by their own motion.
    fn predict(&mut self, now: &Circumstances) {
        for track in &mut self.tracks {
            let (x, y) = track.blob.middle();
            let (to_x, to_y) = now.camera.apply(x, y);
            track.blob.x += to_x - x + track.velocity.0 * now.elapsed;
            track.blob.y += to_y - y + track.velocity.1 * now.elapsed;
            track.origin = now.camera.apply(track.origin.0, track.origin.1);
        }
    }

    /// Follows the regions to the boxes of a frame. `motion_at` says how a place has moved from the frame before, in samples a second, without
    /// the camera, as far as vectors tell.
    pub fn follow(
        &mut self,
        blobs: &[Blob],
        now: &Circumstances,
        motion_at: impl Fn(f64, f64) -> (f64, f64),
    ) {
        self.begun.clear();
        self.ended.clear();
        self.predict(now);
        self.pair(blobs, now);
        self.is_taken.clear();
        self.is_taken.resize(blobs.len(), false);
        for track in &mut self.tracks {
            track.misses += 1;
        }
        self.cross(blobs, now);
        for index in 0..self.pairs.len() {
            let Pair { track, blob, distance, .. } = self.pairs[index];
            if self.is_taken[blob] || self.tracks[track].misses == 0 {
                continue;
            }
            self.is_taken[blob] = true;
            let density = self.clutter.max(LEAST_CLUTTER) / now.area();
            self.tracks[track].take(&blobs[blob], distance, density, now);
        }
        // What two regions share belongs to both while they cross: each goes on as before.
        for track in self.tracks.iter_mut().filter(|track| track.is_open() && track.misses > 0) {
            if blobs.iter().any(|blob| blob.overlap(&track.blob) >= MOSTLY * track.blob.area()) {
                track.last = now.now;
                track.misses = 1;
            }
        }
        for (blob, _) in blobs.iter().zip(&self.is_taken).filter(|(_, is_taken)| !**is_taken) {
            self.clutter_samples += SHARE_OF_SIZE * (blob.samples - self.clutter_samples);
        }
        let unknown = self.is_taken.iter().filter(|is_taken| !**is_taken).count();
        // Flakes count too where they are followed.
        let is_cluttered = self.clutter > CLUTTERED;
        let is_clutter = |track: &&Track| {
            let is_flake = now.is_flake(track.blob.samples);
            let is_new = now.now.saturating_sub(track.first) < LONG;
            let counts = if track.is_open() { is_flake && is_cluttered } else { is_flake || is_new };
            counts && track.misses == 0
        };
        let tentative = self.tracks.iter().filter(is_clutter).count();
        let share = (now.elapsed / CLUTTER_MEMORY).min(MOST_OF_CLUTTER);
        self.clutter += share * ((unknown + tentative) as f64 - self.clutter);
        for (blob, _) in blobs.iter().zip(&self.is_taken).filter(|(_, is_taken)| !**is_taken) {
            if self.tracks.len() < MOST_TRACKS {
                let (x, y) = blob.middle();
                self.tracks.push(Track {
                    blob: *blob,
                    first: now.now,
                    last: now.now,
                    hits: 1,
                    origin: (x, y),
                    samples: blob.samples,
                    guess: motion_at(x, y),
                    ..Track::default()
                });
            }
        }
        self.begin_and_end(now);
    }

    /// Regions that share a box go on inside it as before, while they cross. The parts of something slow share one too, and are joined by it:
    /// until one has moved by more than the size of the box, nothing crosses.
    fn cross(&mut self, blobs: &[Blob], now: &Circumstances) {
        for (blob, is_taken) in blobs.iter().zip(&mut self.is_taken) {
            let shares = |track: &Track| {
                track.is_open()
                    && track.misses <= MOST_MISSES + 1
                    && track.crossing < CROSSING
                    && blob.overlap(&track.blob) >= MOSTLY * track.blob.area()
            };
            let size = blob.width.max(blob.height);
            let sharing = || self.tracks.iter().filter(|track| shares(track));
            if sharing().count() < 2 || !sharing().any(|track| track.way() > size) {
                continue;
            }
            *is_taken = true;
            for track in self.tracks.iter_mut().filter(|track| shares(track)) {
                track.crossing += now.elapsed;
                track.blob.confine(blob);
                (track.last, track.misses) = (now.now, 0);
            }
        }
    }

    /// The samples that a region must have to begin at once.
    fn least_samples(&self) -> f64 {
        if self.clutter > CLUTTERED { LARGER * self.clutter * self.clutter_samples } else { 0.0 }
    }

    fn begin_and_end(&mut self, now: &Circumstances) {
        let least_samples = self.least_samples();
        let Self { tracks, next_id, begun, ended, .. } = self;
        let nanoseconds = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        tracks.retain_mut(|track| {
            let unseen = now.now.saturating_sub(track.last);
            if track.is_open() {
                let is_over = unseen > nanoseconds(now.hold);
                if is_over {
                    ended.push(*track);
                }
                return !is_over;
            }
            if track.misses > 0 {
                track.score -= LOSS;
                return track.score > 0.0 && track.misses <= MOST_MISSES;
            }
            let followed = now.now.saturating_sub(track.first);
            let samples = track.samples / f64::from(track.hits);
            let is_flake = now.is_flake(samples);
            let is_large = track.blob.width >= now.least_size.0
                && track.blob.height >= now.least_size.1
                && !(is_flake && (track.blob.is_usual || now.is_at_edge(&track.blob)))
                && (samples >= least_samples || followed >= LONG && !is_flake && track.travels());
            let is_long = followed >= nanoseconds(now.least_duration);
            if track.score >= SURE
                && is_large
                && is_long
                && f64::from(track.changes) >= CHANGING * f64::from(track.hits - 1)
                && (!now.is_settling && !track.blob.is_usual || track.travels())
            {
                track.id = *next_id;
                *next_id += 1;
                begun.push(*track);
            }
            true
        });
    }

    /// The pairs that may be the same, likeliest first.
    fn pair(&mut self, blobs: &[Blob], now: &Circumstances) {
        self.pairs.clear();
        for (index, track) in self.tracks.iter().enumerate() {
            let size = track.blob.width.max(track.blob.height);
            let speed = (track.velocity.0 * track.velocity.0 + track.velocity.1 * track.velocity.1).sqrt()
                * now.elapsed;
            let is_new = track.hits < 2;
            let reach = if is_new { now.reach + 0.5 * size } else { 3.0 + 0.5 * size + 0.5 * speed };
            let (x, y) = track.blob.middle();
            for (blob_index, blob) in blobs.iter().enumerate() {
                let (to_x, to_y) = blob.middle();
                let distance = |x: f64, y: f64| ((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y)).sqrt();
                let mut way = distance(x, y);
                if is_new {
                    way = way.min(distance(x + track.guess.0 * now.elapsed, y + track.guess.1 * now.elapsed));
                }
                let overlap = blob.overlap(&track.blob);
                let share = overlap / blob.area().min(track.blob.area()).max(1.0);
                let ratio = blob.area().max(1.0) / track.blob.area().max(1.0);
                let ratio = ratio.max(1.0 / ratio);
                let is_same = share >= 0.5 || way <= reach && ratio <= 6.0;
                if is_same {
                    // In sizes of the region, and those that have begun first.
                    let cost = way / (4.0 + size)
                        + 0.2 * (ratio - 1.0).min(5.0)
                        + if track.is_open() { 0.0 } else { 2.0 };
                    self.pairs.push(Pair { cost, track: index, blob: blob_index, distance: way });
                }
            }
        }
        self.pairs.sort_unstable_by(|a, b| {
            a.cost.total_cmp(&b.cost).then(a.track.cmp(&b.track)).then(a.blob.cmp(&b.blob))
        });
    }
}

impl Track {
    /// It is seen as `blob`, which is so far from where it was expected, among other boxes of this density.
    fn take(&mut self, blob: &Blob, distance: f64, density: f64, now: &Circumstances) {
        let before = {
            let (x, y) = self.blob.middle();
            (x - self.velocity.0 * now.elapsed, y - self.velocity.1 * now.elapsed)
        };
        let (x, y) = blob.middle();
        let (right, down) = (x - before.0, y - before.1);
        let frames = f64::from(self.misses.max(1));
        let seconds = (now.elapsed * if self.hits == 1 { frames } else { 1.0 }).max(1e-3);
        let share = if self.hits == 1 { 1.0 } else { STEERING };
        self.velocity.0 += share * (right / seconds - self.velocity.0);
        self.velocity.1 += share * (down / seconds - self.velocity.1);
        let (so_far_x, so_far_y) = (before.0 - self.origin.0, before.1 - self.origin.1);
        self.steps += u32::from(right * so_far_x + down * so_far_y > LEAST_ADVANCE);
        self.path += (right * right + down * down).sqrt();
        let chance = density * std::f64::consts::PI * (distance * distance + 2.0);
        self.score = (self.score + logarithm(1.0 / chance).clamp(-LOSS, MOST_GAIN)).min(MOST_SCORE);
        self.changes += u32::from(blob.change >= now.least_change);
        self.samples += blob.samples;
        self.blob = *blob;
        self.last = now.now;
        self.hits += 1;
        self.misses = 0;
        self.crossing = 0.0;
    }
}

const _: () = assert!(MOST_BOXES <= MOST_TRACKS);

/// The natural logarithm, the same on every machine: that of the standard library differs.
fn logarithm(value: f64) -> f64 {
    if value.is_nan() || value <= 0.0 {
        return -700.0;
    }
    let bits = value.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    // ln m = 2 artanh((m - 1) / (m + 1)), whose series converges fast for 1 <= m < 2.
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let square = t * t;
    let mut term = t;
    let mut sum = 0.0;
    for odd in 0..12 {
        sum += term / f64::from(2 * odd + 1);
        term *= square;
    }
    2.0 * sum + exponent as f64 * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regions::LEAST_NEAR;

    #[test]
    fn the_logarithm_is_that_of_the_standard_library() {
        for value in [1e-9, 0.3, 0.999, 1.0, 1.5, 2.0, 10.0, 1e12] {
            assert!((logarithm(value) - value.ln()).abs() < 1e-9, "{value}");
        }
    }

    /// What holds for a still camera at 25 frames/s.
    fn circumstances(now: u64) -> Circumstances {
        Circumstances {
            now,
            elapsed: 0.04,
            camera: Affine::IDENTITY,
            is_settling: false,
            least_change: 0.0,
            size: (320.0, 180.0),
            least_size: (0.0, 0.0),
            least_duration: Duration::from_millis(100),
            hold: Duration::from_secs(1),
            reach: 26.0,
        }
    }

    /// Two boxes that meet, are one while they touch, stop for a few frames, and go on. Returns the ids where both are before they meet,
    /// and in the end.
    fn cross(speeds: [f64; 2], stop: i32) -> [[Option<u64>; 2]; 2] {
        const MEETING: i32 = 60;
        let at = |x: f64| Blob { x, y: 80.0, width: 12.0, height: 12.0, ..Blob::default() };
        let (mut tracks, mut found) = (Tracks::default(), Vec::new());
        for frame in 0..2 * MEETING + stop {
            let walked = frame.min(MEETING).max(frame - stop) - MEETING;
            let [a, b] = speeds.map(|speed| at(150.0 + speed * f64::from(walked)));
            let is_one = a.gaps(&b).0 <= LEAST_NEAR;
            let blobs = if is_one { vec![a.union(&b)] } else { vec![a, b] };
            tracks.follow(&blobs, &circumstances(frame as u64 * 40_000_000), |_, _| (0.0, 0.0));
            let id = |blob: Blob| {
                let mut there = tracks.tracks.iter().filter(|track| track.is_open() && track.blob == blob);
                there.next().map(|track| track.id)
            };
            if !is_one {
                found.push([id(a), id(b)]);
            }
        }
        [found[10], found[found.len() - 1]]
    }

    #[test]
    fn regions_that_cross_keep_their_ids() {
        for speeds in [[2.0, -2.0], [2.0, -1.0], [0.5, 2.5]] {
            for stop in [0, 10, 20] {
                let [before, after] = cross(speeds, stop);
                assert_eq!((before, after), ([Some(1), Some(2)], [Some(1), Some(2)]), "{speeds:?} {stop}");
            }
        }
    }

    /// The regions that have begun after six frames with a box that has changed by so many levels in each.
    fn begun(changes: [f32; 6]) -> usize {
        let mut tracks = Tracks::default();
        for (frame, change) in changes.into_iter().enumerate() {
            let blob = Blob { x: 100.0, y: 80.0, width: 8.0, height: 8.0, change, ..Blob::default() };
            let now = Circumstances { least_change: 1.0, ..circumstances(frame as u64 * 40_000_000) };
            tracks.follow(&[blob], &now, |_, _| (0.0, 0.0));
        }
        tracks.tracks.iter().filter(|track| track.is_open()).count()
    }

    #[test]
    fn what_a_decoder_repeats_does_not_begin() {
        assert_eq!(begun([2.0; 6]), 1);
        // One large change, as a coder sends a block anew, and some small ones.
        assert_eq!(begun([2.0, 9.0, 0.5, 0.5, 2.0, 0.5]), 0);
    }

    /// The regions that begin of boxes that fall like flakes of snow at `x`, of which so many samples show something.
    fn falling(x: f64, samples: f64, is_usual: bool) -> usize {
        let mut tracks = Tracks::default();
        for frame in 0..20 {
            let y = 20.0 + 2.0 * f64::from(frame);
            let blob = Blob { x, y, width: 6.0, height: 7.0, samples, is_usual, ..Blob::default() };
            tracks.follow(&[blob], &circumstances(frame as u64 * 40_000_000), |_, _| (0.0, 0.0));
        }
        tracks.tracks.iter().filter(|track| track.is_open()).count()
    }

    #[test]
    fn flakes_do_not_begin_where_snow_has_been_learned_nor_at_the_edges() {
        // Two flakes in one box, and something that fills it.
        let [flakes, object] = [20.0, 36.0];
        for (x, is_usual, begun) in [(100.0, true, [0, 1]), (0.5, false, [0, 1]), (100.0, false, [1, 1])] {
            assert_eq!(
                [flakes, object].map(|samples| falling(x, samples, is_usual)),
                begun,
                "{x} {is_usual}"
            );
        }
    }
}
