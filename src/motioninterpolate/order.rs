//! Wrong timestamps among right ones.
//!
//! A frame far ahead may come after a pause, or have a wrong timestamp. The next frame tells: if it is earlier again, the one
//! ahead is dropped. A frame that is not after the one before is dropped, but a few in a row that follow each other show that
//! the source counts anew.

/// So many frames that follow each other, but not those before them, are believed.
const CONVINCING: u32 = 3;

/// Frames follow each other if they are at most this far apart, in nanoseconds, or as [`farthest`] says.
const FAR: u64 = 1_000_000_000;

/// How far apart frames with this usual distance may be, in nanoseconds, to follow each other.
pub fn farthest(distance: u64) -> u64 {
    FAR.max(distance.saturating_mul(4))
}

/// How long the frame in `buffer` lasts: for its own duration, else the `usual` one. A longer one than between frames that follow
/// each other is none.
pub fn believed(buffer: &gst::BufferRef, usual: Option<u64>) -> Option<u64> {
    let own = buffer.duration().map(gst::ClockTime::nseconds);
    own.filter(|&own| usual.is_none_or(|usual| own <= farthest(usual))).or(usual)
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is after the frame before.
    Next,
    /// It is far ahead: the next frame tells what becomes of it.
    Doubtful,
    /// It is not after the frame before, and dropped.
    Dropped,
    /// It is earlier than the frame before: the source has begun anew.
    Anew,
}

/// What is known of frames that were not after the one before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Order {
    /// The time of the last one, in nanoseconds, and how many have followed each other.
    dropped: Option<(u64, u32)>,
}

impl Order {
    /// What becomes of a frame at `time` after one at `newest`, in nanoseconds. `distance` is the usual one of frames.
    pub fn judge(&mut self, time: u64, newest: u64, distance: Option<u64>) -> Verdict {
        let far = distance.map(farthest);
        if time > newest {
            self.dropped = None;
            return if far.is_some_and(|far| time - newest > far) {
                Verdict::Doubtful
            } else {
                Verdict::Next
            };
        }
        let follows = |last: u64| last < time && time - last <= far.unwrap_or(FAR);
        let count = match self.dropped {
            Some((last, count)) if follows(last) => count + 1,
            _ => 1,
        };
        self.dropped = (count < CONVINCING).then_some((time, count));
        if count < CONVINCING { Verdict::Dropped } else { Verdict::Anew }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_far_ahead_is_doubtful() {
        let mut order = Order::default();
        let judge = |order: &mut Order, time, distance| order.judge(time, 1_000, distance);
        assert_eq!(judge(&mut order, 1_001, Some(40_000_000)), Verdict::Next);
        assert_eq!(judge(&mut order, 1_000 + FAR, Some(40_000_000)), Verdict::Next);
        assert_eq!(judge(&mut order, 1_001 + FAR, Some(40_000_000)), Verdict::Doubtful);
        assert_eq!(judge(&mut order, 1_001 + FAR, Some(FAR / 4)), Verdict::Doubtful);
        // Slides.
        assert_eq!(judge(&mut order, 5 * FAR, Some(5 * FAR)), Verdict::Next);
        assert_eq!(judge(&mut order, 5 * FAR, None), Verdict::Next);
    }

    #[test]
    fn a_few_frames_that_follow_each_other_are_believed() {
        let (frame, newest) = (40_000_000, 3600 * FAR);
        let verdicts = |numbers: &[u64]| -> Vec<Verdict> {
            let mut order = Order::default();
            numbers.iter().map(|number| order.judge(number * frame, newest, Some(frame))).collect()
        };
        use Verdict::{Anew, Dropped, Next};
        assert_eq!(verdicts(&[0, 1, 2]), [Dropped, Dropped, Anew]);
        // The same one again, one that goes back, a hole, and one that is after all.
        assert_eq!(verdicts(&[0, 0, 1, 2]), [Dropped, Dropped, Dropped, Anew]);
        assert_eq!(verdicts(&[5, 6, 0, 1, 2]), [Dropped, Dropped, Dropped, Dropped, Anew]);
        assert_eq!(verdicts(&[0, 1, 100, 101, 102]), [Dropped, Dropped, Dropped, Dropped, Anew]);
        assert_eq!(verdicts(&[0, 1, 90_001, 2, 3]), [Dropped, Dropped, Next, Dropped, Dropped]);
    }
}
