//! A search in flight, and its parts put together.

use std::sync::Arc;
use std::time::Duration;

use super::shared_frame::SharedFrame;
use crate::estimator::{MotionVector, OrderKey, Part, Slot, StageTimes};

/// A part of a search and who does it.
pub(super) struct Share {
    pub(super) member: usize,
    pub(super) part: Part,
    /// Once it is done.
    pub(super) vectors: Option<Vec<MotionVector>>,
    /// From when the device was free for it to when its vectors were there.
    pub(super) busy: Duration,
    /// How long it kept the device from the next.
    pub(super) occupied: Duration,
}

impl Share {
    /// That part, which `member` has not done yet.
    pub(super) fn new(member: usize, part: Part) -> Self {
        Self { member, part, vectors: None, busy: Duration::ZERO, occupied: Duration::ZERO }
    }
}

/// A search in flight.
pub(super) struct Search {
    pub(super) number: u64,
    /// Where current frame and reference were loaded.
    pub(super) slots: [Slot; 2],
    /// Both; `None` where one device, which has them, is asked directly.
    pub(super) frames: Option<(Arc<SharedFrame>, Arc<SharedFrame>)>,
    /// How long it took to copy the current frame.
    pub(super) copying: Duration,
    /// How long it took besides, once, to bring frames to where others did not expect them.
    pub(super) moving: Duration,
    pub(super) shares: Vec<Share>,
    /// The longest of each stage so far.
    pub(super) stages: StageTimes,
    /// Whether everyone did what it was given: nobody failed.
    pub(super) is_as_planned: bool,
}

impl Search {
    /// A search that nobody does yet.
    pub(super) fn new(
        number: u64,
        slots: [Slot; 2],
        frames: Option<(Arc<SharedFrame>, Arc<SharedFrame>)>,
        copying: Duration,
        moving: Duration,
    ) -> Self {
        let (shares, stages) = (Vec::new(), StageTimes::default());
        Self { number, slots, frames, copying, moving, shares, stages, is_as_planned: true }
    }
}

/// The better of two candidates of a block.
pub(super) fn better(one: MotionVector, other: MotionVector) -> MotionVector {
    let key = |vector: MotionVector| {
        let (x, y) = vector.displacement();
        OrderKey::new(vector.cost, x, y)
    };
    match (one.cost, other.cost) {
        // Neither is a candidate by its cost.
        (_, u32::MAX) => one,
        (u32::MAX, _) => other,
        _ => {
            if key(other) < key(one) {
                other
            } else {
                one
            }
        }
    }
}
