//! Where vectors start and end at a phase.

use super::Phase;
use super::rules::{HalfVector, LONGEST};

/// The starts of all vectors at a phase: a look-up takes less time than a division.
pub(super) struct Starts {
    phase: Phase,
    /// From the shortest component, [`-LONGEST`](LONGEST), on.
    starts: Vec<i16>,
}

impl Starts {
    /// Those at `phase`.
    pub fn new(phase: Phase) -> Self {
        let mut starts = Self { phase, starts: Vec::new() };
        starts.compute();
        starts
    }

    /// Makes them those at `phase`.
    pub fn set(&mut self, phase: Phase) {
        if self.phase != phase {
            self.phase = phase;
            self.compute();
        }
    }

    fn compute(&mut self) {
        self.starts.clear();
        self.starts.extend((-LONGEST..=LONGEST).map(|length| self.phase.start(length as i16)));
    }

    /// The phase.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Where `vector` starts in the previous frame and ends in the next, from the place that it is for: quarter samples.
    #[inline(always)]
    pub fn ends(&self, vector: HalfVector) -> [(i32, i32); 2] {
        let start = |length: i16| i32::from(self.starts[(i32::from(length) + LONGEST) as usize]);
        let (x, y) = (start(vector.x), start(vector.y));
        [(x, y), (x + 2 * i32::from(vector.x), y + 2 * i32::from(vector.y))]
    }
}
