//! Whether elimination pays.

use crate::native::exhaustive::engine::TileEngine;
use crate::native::exhaustive::tile::COLUMNS;

/// Leaves out what has failed: after each failure for longer, up to a limit.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// Turns yet to be left out.
    pause: u32,
    /// Turns to be left out after the next failure.
    next: u32,
    longest: u32,
}

impl Backoff {
    /// Leaves out `next` turns after the first failure, and `longest` at most.
    pub fn new(next: u32, longest: u32) -> Self {
        Self { pause: 0, next, longest }
    }

    /// Whether this turn is to be left out.
    pub fn pauses(&mut self) -> bool {
        let pauses = self.pause > 0;
        self.pause -= u32::from(pauses);
        pauses
    }

    /// Notes a turn. One that was begun before a failure was noted counts as left out.
    pub fn note(&mut self, has_failed: bool) {
        if self.pause > 0 {
            self.pause -= 1;
        } else if has_failed {
            self.pause = self.next;
            self.next = (2 * self.next + 1).min(self.longest);
        } else {
            self.next /= 2;
        }
    }
}

/// What elimination has cost in a row of blocks.
#[derive(Clone, Copy, Debug)]
pub struct RowHistory {
    /// Leaves blocks to exhaustive search.
    pub backoff: Backoff,
    /// Cost of a group that is not eliminated as a whole, in the units of [`StepCosts`]: a running mean.
    group_cost: usize,
    /// Blocks of the last frame that were searched exhaustively.
    pub exhaustive: usize,
    /// Candidates of the others that the large parts left in groups with many of them.
    pub crowded: usize,
}

impl RowHistory {
    /// The most blocks that are left out after one failure, which makes trying cheap.
    const LONGEST_PAUSE: u32 = 31;

    /// From this pause on little is to be gained.
    const WARY: u32 = 8;

    pub fn new() -> Self {
        Self { backoff: Backoff::new(0, Self::LONGEST_PAUSE), group_cost: 0, exhaustive: 0, crowded: 0 }
    }

    /// Whether to search `groups` groups is expected to take longer than `candidates` candidates exhaustively.
    pub fn expects_failure(&self, groups: usize, candidates: usize) -> bool {
        groups * self.group_cost > StepCosts::CANDIDATE * candidates
    }

    /// Whether elimination has failed so often that blocks are to be tried one by one.
    pub fn is_wary(&self) -> bool {
        self.backoff.next >= Self::WARY
    }

    /// Notes what `groups` groups have cost.
    pub fn note_cost(&mut self, groups: usize, cost: usize) {
        self.group_cost = (7 * self.group_cost + cost / groups) / 8;
    }
}

/// Costs of the steps of elimination, in sixteenths of what exhaustive search spends on a candidate, as measured with
/// 16 × 16 SAD.
#[derive(Clone, Copy, Debug)]
pub struct StepCosts {
    /// Bounding a group's candidates.
    pub bounds: usize,
    /// Computing the cost of one candidate.
    pub one: usize,
    /// Computing the costs of all candidates of a group.
    pub group: usize,
    /// Everything else, for a block.
    pub block: usize,
}

impl StepCosts {
    /// A candidate of exhaustive search.
    pub const CANDIDATE: usize = 16;

    pub const fn of<E: TileEngine>() -> Self {
        if E::LANES >= COLUMNS {
            // A candidate takes exhaustive search a nanosecond, and five alone.
            return Self { bounds: 80, one: 75, group: 540, block: 2400 };
        }
        // Less than measured: where there is more to gain, a needless try costs little.
        let unit = if E::LANES > COLUMNS / 4 { E::LANES / (COLUMNS / 4) } else { 1 };
        Self { bounds: 32 * unit, one: 16 * unit, group: 300 * unit, block: 640 * unit }
    }
}
