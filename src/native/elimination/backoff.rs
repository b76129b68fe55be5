//! Whether elimination pays: what it has cost in a row of blocks, and for how long it is left alone.

use crate::native::exhaustive::tile::{COLUMNS, Engine};

/// Whether elimination has paid in a row of blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Experience {
    /// What a group that is not eliminated as a whole costs, in sixteenths of what a candidate costs
    /// exhaustive search: a running mean.
    group_cost: usize,
    /// Blocks yet to be searched exhaustively without asking.
    pause: usize,
    /// How long the next pause is.
    next_pause: usize,
    /// Blocks of the last frame that were searched exhaustively.
    pub exhaustive: usize,
    /// Candidates of the others that the large parts left in groups with many of them.
    pub crowded: usize,
}

impl Experience {
    /// So many blocks at most are not asked: enough that asking is no burden.
    const LONGEST_PAUSE: usize = 31;

    /// A pause of more blocks than that tells that there is little to be gained.
    const WARY: usize = 7;

    /// Whether the next block is to be searched exhaustively without asking.
    pub fn pauses(&mut self) -> bool {
        let pauses = self.pause > 0;
        self.pause -= usize::from(pauses);
        pauses
    }

    /// Whether to search `groups` groups promises to take longer than to search `candidates`
    /// exhaustively.
    pub fn expects_failure(&self, groups: usize, candidates: usize) -> bool {
        groups * self.group_cost > StepCosts::CANDIDATE * candidates
    }

    /// Whether it has failed so often of late that as little as possible is to be spent on another try.
    pub fn is_wary(&self) -> bool {
        self.next_pause > Self::WARY
    }

    /// Notes whether elimination of a block took longer than exhaustive search would have. A block tried
    /// together with one that has failed would not have been asked after it, and says nothing.
    pub fn note(&mut self, has_failed: bool) {
        if self.pause > 0 {
            self.pause -= 1;
        } else if has_failed {
            self.pause = self.next_pause;
            self.next_pause = (2 * self.next_pause + 1).min(Self::LONGEST_PAUSE);
        } else {
            self.next_pause /= 2;
        }
    }

    /// Notes what `groups` groups have cost.
    pub fn note_cost(&mut self, groups: usize, cost: usize) {
        self.group_cost = (7 * self.group_cost + cost / groups) / 8;
    }
}

/// What the steps of elimination cost, in sixteenths of what one candidate of many costs exhaustive
/// search ([`Self::CANDIDATE`]), as measured with 16 × 16 SAD.
#[derive(Clone, Copy, Debug)]
pub struct StepCosts {
    /// To bound a group's candidates.
    pub bounds: usize,
    /// To compute the cost of one.
    pub one: usize,
    /// To compute those of a group's candidates at once.
    pub group: usize,
    /// What a block costs besides.
    pub block: usize,
}

impl StepCosts {
    /// What a candidate costs exhaustive search.
    pub const CANDIDATE: usize = 16;

    pub const fn of<E: Engine>() -> Self {
        if E::LANES >= COLUMNS {
            // A candidate costs exhaustive search a nanosecond, and alone five.
            return Self { bounds: 80, one: 75, group: 540, block: 2400 };
        }
        // So little that elimination is rather tried than not, where it has more to gain.
        let unit = if E::LANES > COLUMNS / 4 { E::LANES / (COLUMNS / 4) } else { 1 };
        Self { bounds: 32 * unit, one: 16 * unit, group: 300 * unit, block: 640 * unit }
    }
}
