//! Where vectors start and end at a phase.

use super::Phase;
use super::rules::{HalfVector, LONGEST};

/// Where the vector of a block starts in the previous frame and ends in the next, from the place that it is for: quarter
/// luma samples.
///
/// One number, so that a comparison is one instruction: x in the previous and in the next frame, then y.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockEnds(u64);

impl BlockEnds {
    /// The way in the previous frame and that in the next.
    #[inline(always)]
    pub fn ways(self) -> [(i32, i32); 2] {
        let [x0, x1, y0, y1] = bytemuck::cast::<_, [i16; 4]>(self.0).map(i32::from);
        [(x0, y0), (x1, y1)]
    }

    /// The ends of the same vector in frames so many intervals later: where what moves along it goes on, or comes from.
    #[inline(always)]
    pub fn carried(self, intervals: i16) -> Self {
        let [x0, x1, y0, y1] = bytemuck::cast::<_, [i16; 4]>(self.0);
        let (x, y) = (intervals * (x1 - x0), intervals * (y1 - y0));
        Self(bytemuck::cast([x0 + x, x1 + x, y0 + y, y1 + y]))
    }

    /// The length of the vector on both axes, in half luma samples.
    #[inline(always)]
    pub fn length(self) -> u32 {
        let [(x0, y0), (x1, y1)] = self.ways();
        (x0.abs_diff(x1) + y0.abs_diff(y1)) / 2
    }
}

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

    /// The ends of `vector`.
    #[inline(always)]
    pub fn ends(&self, vector: HalfVector) -> BlockEnds {
        let axis = |length: i16| {
            let start = self.starts[(i32::from(length) + LONGEST) as usize];
            [start, start + 2 * length]
        };
        BlockEnds(bytemuck::cast([axis(vector.x), axis(vector.y)]))
    }
}
