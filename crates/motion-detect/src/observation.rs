//! What a frame shows.

use crate::camera::Camera;
use crate::regions::Blob;
use crate::tracks::{MOST_TRACKS, Track, Tracks};

/// Something that moves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Region {
    /// Its number: the same in all frames, and of no other region of the detector.
    pub id: u64,
    /// The left edge, in samples of the full frame.
    pub x: u32,
    /// The upper edge.
    pub y: u32,
    /// Samples across.
    pub width: u32,
    /// Samples down.
    pub height: u32,
    /// Its motion in samples a second, right and down, without that of the camera.
    pub velocity: (f64, f64),
    /// The time of the frame in which it was first seen, in ns.
    pub begin: u64,
    /// The time of the frame in which it was last seen, in ns.
    pub last: u64,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
}

/// What a frame shows.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// How the camera has moved.
    pub camera: Camera,
    /// What moves.
    pub regions: Vec<Region>,
    /// What has begun to move with this frame. It is among `regions` too.
    pub begun: Vec<Region>,
    /// What has ended with it.
    pub ended: Vec<Region>,
    /// Whether the light has just changed, or the scene is new.
    pub is_settling: bool,
}

/// Frames without it, one after the other, in which a region is still shown.
const MOST_MISSES: u32 = 3;

impl Observation {
    /// With room for all regions.
    pub(crate) fn with_room() -> Self {
        let room = || Vec::with_capacity(MOST_TRACKS);
        Self { regions: room(), begun: room(), ended: room(), ..Self::default() }
    }

    /// Writes what the tracks say. `factor` is the side of a small sample in samples of the full frame, whose size is `size`.
    pub(crate) fn report(&mut self, tracks: &Tracks, factor: f64, size: (usize, usize)) {
        let region = |track: &Track| region(track, factor, size);
        let is_shown = |track: &&Track| track.is_open() && track.misses <= MOST_MISSES;
        self.regions.clear();
        self.regions.extend(tracks.tracks.iter().filter(is_shown).map(region));
        self.begun.clear();
        self.begun.extend(tracks.begun.iter().map(region));
        self.ended.clear();
        self.ended.extend(tracks.ended.iter().map(region));
    }
}

/// The region that a track is, inside of a frame of this size.
fn region(track: &Track, factor: f64, (width, height): (usize, usize)) -> Region {
    let Blob { x, y, width: across, height: down, .. } = track.blob;
    let within = |start: f64, length: f64, most: usize| {
        let first = (start * factor + 0.5).clamp(0.0, most as f64 - 1.0) as u32;
        let end = ((start + length) * factor + 0.5).clamp(0.0, most as f64) as u32;
        (first, end.saturating_sub(first).max(1))
    };
    let ((x, width), (y, height)) = (within(x, across, width), within(y, down, height));
    Region {
        id: track.id,
        x,
        y,
        width,
        height,
        velocity: (track.velocity.0 * factor, track.velocity.1 * factor),
        begin: track.first,
        last: track.last,
        confidence: track.confidence(),
    }
}
