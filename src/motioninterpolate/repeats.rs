//! Input frames that repeat the one before but for coding noise, where `drop-lossy-duplicates` is set.

use super::metas;
use super::planes::{InputFrame, Planes};
use motion_frames::duplicates::DuplicateFinder;

/// So many are dropped in a row, as in animations of which each frame is shown four times. The next one passes: in a longer run
/// nothing moves, and the motion that follows it is not spread over all of it.
const MOST: u32 = 3;

/// Which frames are dropped, and what remains of them.
#[derive(Default)]
pub struct Repeats {
    finder: DuplicateFinder,
    /// How many were dropped since the newest frame.
    count: u32,
    /// Their metadata that belongs to a moment, oldest first.
    metas: Vec<gst::Buffer>,
}

impl Repeats {
    /// Whether `buffer` repeats `newest`, so that it is dropped.
    pub fn take(&mut self, newest: &InputFrame, buffer: &gst::Buffer, planes: &mut Planes) -> bool {
        // What cannot be read repeats nothing.
        let next = InputFrame::new(buffer.clone());
        let is_one = planes.is_duplicate(newest, &next, &mut self.finder).unwrap_or(false);
        if is_one && self.count < MOST {
            self.count += 1;
            self.metas.extend(metas::of_moment(buffer));
            return true;
        }
        self.count = 0;
        false
    }

    /// The metadata of those that were dropped since the previous call.
    pub fn take_metas(&mut self) -> Vec<gst::Buffer> {
        std::mem::take(&mut self.metas)
    }

    /// The next frame is the first of a sequence.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}
