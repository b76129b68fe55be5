//! What a frame teaches: the scene where nothing moves, and how sure its cells usually are.

use std::ops::Range;

use super::Detector;
use crate::affine::Affine;
use crate::regions::{Blob, STEP};
use crate::scene::{Learning, MEMORY};
use crate::tracks::Track;

/// A moving camera brings errors that are to be forgotten soon, and another light is to be learned before it has settled.
const MEMORY_IN_MOTION: f32 = MEMORY / 2.0;
const MEMORY_IN_SETTLING: f32 = MEMORY / 8.0;

/// What stays so long becomes part of the scene, in seconds.
const STAY: f32 = 2.0 * MEMORY;

/// The most of one frame that the model takes, however long ago the frame before was.
const MOST_OF_FRAME: f32 = 0.5;

/// Samples around an object that may show some of it.
const AROUND: f64 = 1.0;

/// The share of its larger side by which an object may reach beyond its box, as a part of it looks like the scene: what is seen there
/// comes of it.
const BESIDE: f64 = 0.5;

impl Detector {
    /// Learns the scene from this frame.
    pub(super) fn learn(&mut self, is_settling: bool, is_moving: bool) {
        self.mark_objects();
        for track in &self.tracks.begun {
            let [x, y] = way(track, &self.to_model);
            self.evidence.touch(x, y);
        }
        let elapsed = self.elapsed as f32;
        let memory = match (is_settling, is_moving) {
            (_, true) => MEMORY_IN_MOTION,
            (true, false) => MEMORY_IN_SETTLING,
            (false, false) => MEMORY,
        };
        let stay = if is_settling { self.settings.settle.as_secs_f32() / 2.0 } else { STAY };
        let rate = (elapsed / memory).min(MOST_OF_FRAME);
        let learning = Learning { elapsed, rate, stay, noise: self.noise.level };
        let (columns, rows) = self.evidence.blocks();
        let width = self.small.0;
        for y in 0..self.small.1 {
            let row = y * width..(y + 1) * width;
            let is_object = &self.is_object[(y / STEP).min(rows - 1) * columns..][..columns];
            self.scene.learn_row(
                y,
                &self.seen[row.clone()],
                &self.is_seen[row.clone()],
                &self.evidence.expected[row],
                is_object,
                &learning,
            );
        }
        self.evidence.learn(&self.is_object, (elapsed / MEMORY).min(MOST_OF_FRAME));
    }

    /// Marks the samples of the model that show what moves, or has just done so, and the cells around it, in which nothing is learned as usual.
    fn mark_objects(&mut self) {
        let (columns, rows) = self.evidence.blocks();
        self.is_object.fill(0);
        for track in self.tracks.tracks.iter().filter(|track| track.is_open() && track.misses <= 1) {
            let (x, y) = track.blob.middle();
            let (to_x, to_y) = self.to_model.apply(x, y);
            let Blob { width, height, .. } = track.blob;
            let (left, top) = (track.blob.x + to_x - x, track.blob.y + to_y - y);
            let beside = BESIDE * width.max(height);
            self.evidence.touch(left - beside..left + width + beside, top - beside..top + height + beside);
            let blocks = |start: f64, length: f64, most: usize| {
                let at = |place: f64| ((place / STEP as f64).max(0.0) as usize).min(most);
                let end = (at(start - AROUND + length + 2.0 * AROUND) + 1).min(most);
                at(start - AROUND).min(end)..end
            };
            let across = blocks(left, width, columns);
            for y in blocks(top, height, rows) {
                self.is_object[y * columns + across.start..y * columns + across.end].fill(1);
            }
        }
    }
}

/// The columns and rows of the model over which something has moved so far.
fn way(track: &Track, to_model: &Affine) -> [Range<f64>; 2] {
    let (x, y) = track.blob.middle();
    let [from, to] = [track.origin, (x, y)].map(|(x, y)| to_model.apply(x, y));
    let range = |from: f64, to: f64, reach: f64| from.min(to) - reach..from.max(to) + reach;
    [range(from.0, to.0, track.blob.width / 2.0), range(from.1, to.1, track.blob.height / 2.0)]
}
