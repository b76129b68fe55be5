//! From the boxes of a frame to regions that are followed.

use super::Detector;
use crate::affine::Affine;
use crate::camera::Field;
use crate::ghosts::{Pictures, join_strips, without_ghost};
use crate::regions::Blob;
use crate::tracks::Circumstances;

/// The share of the frame that something that moves may cover. More is another light or scene.
const MOST_OF_FRAME: f64 = 0.6;

/// How far something may move from one frame to the next while its speed is not known: in samples of the full frame, and small ones.
const REACH: f64 = 48.0;
const SMALL_REACH: f64 = 2.0;

/// How much the samples of what moves change from frame to frame at least, in noise. Noise alone changes them more; a decoder that repeats
/// what it has shown changes nothing.
const LEAST_CHANGE: f32 = 0.5;

impl Detector {
    /// Takes from the boxes what is light alone, or only in the model, and takes what is seen there as the scene.
    pub(super) fn forget_ghosts(&mut self) {
        let Self { finder, scene, evidence, seen, profile, shadows, .. } = self;
        let ((width, height), noise) = (self.small, self.noise.level);
        let pictures = Pictures { width, height, seen, expected: &evidence.expected, noise };
        // As the scene was when the model was made: with the light of the place, light could not be told.
        let model = Pictures { expected: &scene.mean, ..pictures };
        finder.blobs.retain(|blob| !shadows.is_light(blob, &model, self.light.global));
        join_strips(&mut finder.blobs, &pictures, profile);
        finder.blobs.retain_mut(|blob| {
            let is_ghost = without_ghost(blob, &pictures, &scene.stay, profile);
            if is_ghost {
                let (left, top) = (blob.x as usize - 1, blob.y as usize - 1);
                let columns = left..left + blob.width as usize + 2;
                (top..top + blob.height as usize + 2)
                    .for_each(|y| scene.adopt(y, columns.clone(), seen, noise));
            }
            !is_ghost
        });
    }

    /// Follows the regions to the boxes of this frame.
    pub(super) fn follow(&mut self, time: u64, moved: &Affine, field: Option<&Field<'_>>, is_settling: bool) {
        let to_frame = self.to_model.inverse().unwrap_or(Affine::IDENTITY);
        let area = (self.small.0 * self.small.1) as f64;
        let count = self.finder.blobs.len();
        self.finder.blobs.retain(|blob| blob.area() <= MOST_OF_FRAME * area);
        if self.finder.blobs.len() < count {
            self.changes.settle(self.settled(time));
        }
        for index in 0..self.finder.blobs.len() {
            let blob = &self.finder.blobs[index];
            let (is_usual, change) = (self.evidence.is_usual(blob), self.change(blob));
            let (x, y) = blob.middle();
            let (to_x, to_y) = to_frame.apply(x, y);
            self.finder.blobs[index] =
                Blob { x: blob.x + to_x - x, y: blob.y + to_y - y, is_usual, change, ..*blob };
        }
        let (elapsed, factor, moved) = (self.elapsed, self.factor, *moved);
        let motion_at = |x: f64, y: f64| {
            let Some(field) = field else { return (0.0, 0.0) };
            let block = |at: f64, block: usize, blocks: usize| {
                ((at * factor / block as f64).max(0.0) as usize).min(blocks - 1)
            };
            let column = block(x, field.block.0, field.grid.columns);
            let row = block(y, field.block.1, field.grid.rows);
            let (back_x, back_y) = field.vector(row * field.grid.columns + column);
            let (from_x, from_y) = (x + back_x / factor, y + back_y / factor);
            let (to_x, to_y) = moved.apply(from_x, from_y);
            ((x - to_x) / elapsed, (y - to_y) / elapsed)
        };
        let (least_width, least_height) = self.settings.least_size;
        let now = Circumstances {
            now: time,
            elapsed,
            camera: moved,
            is_settling,
            size: (self.small.0 as f64, self.small.1 as f64),
            least_change: LEAST_CHANGE * self.noise.level,
            least_size: (f64::from(least_width) / factor, f64::from(least_height) / factor),
            least_duration: self.settings.least_duration,
            hold: self.settings.hold,
            reach: REACH / factor + SMALL_REACH,
        };
        self.tracks.follow(&self.finder.blobs, &now, motion_at);
    }

    /// How much the samples of a box of the model have changed since the frame before, on average.
    fn change(&self, blob: &Blob) -> f32 {
        if !self.is_still() {
            return f32::INFINITY;
        }
        let rows = blob.y as usize..(blob.y + blob.height) as usize;
        let columns = blob.x as usize..(blob.x + blob.width) as usize;
        let mut sum = 0.0f32;
        for y in rows {
            let row = y * self.small.0 + columns.start..y * self.small.0 + columns.end;
            for (now, before) in self.seen[row.clone()].iter().zip(&self.seen_before[row]) {
                sum += (now - before).abs();
            }
        }
        sum / (blob.area().max(1.0) as f32)
    }
}
