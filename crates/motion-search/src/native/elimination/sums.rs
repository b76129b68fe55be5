//! Sums of square parts of the reference frame, from which lower bounds of costs follow.
//!
//! For every position of the padded frame that a row of blocks reaches there is the sum of the square of samples from
//! it on. The sums lie in tiles of 4 × 4 positions, tile after tile across the frame. So the sums of a group of 8 × 4
//! candidates (two neighbouring tiles) are one run of memory, and so are those of any part of their blocks, because
//! parts begin at multiples of four.
//!
//! Each thread has sums of its own for the rows that it searches and moves down the frame with them: they stay in its
//! cache, where those of a whole frame would not.

use std::ops::Range;

use crate::estimator::{Parameters, SetupError};
use crate::native::plane::PlaneLayout;
use motion_base::memory::{self, Line, numbers};

/// Side of a tile.
pub const TILE: usize = 4;

/// Positions of a tile.
pub const TILE_POSITIONS: usize = TILE * TILE;

/// Tiles of a group.
const GROUP_TILES: usize = 2;

/// Positions across a group.
pub const ACROSS: usize = GROUP_TILES * TILE;

/// Positions of a group: the candidates that are eliminated together where possible.
pub const GROUP: usize = GROUP_TILES * TILE_POSITIONS;

/// Groups that may be read past the last, as up to as many are bounded together.
pub const SPARE_GROUPS: usize = 32;

/// Rows of tiles that there is memory for beside those that a row of blocks reaches, at least, and for each of those:
/// when it is used up, what is still wanted moves.
const ROWS_MORE: usize = 16;
const PART_MORE: usize = 4;

/// The sums of parts of one size.
pub struct PartSums {
    /// Side of a part.
    pub side: usize,
    pub(super) lines: Vec<Line>,
}

/// The least and the largest sum of each group: of the groups that begin with an even tile, and of those that begin
/// with an odd one.
pub(super) struct GroupExtremes {
    pub(super) least: [Vec<u16>; 2],
    pub(super) most: [Vec<u16>; 2],
}

/// The sums of some rows of a reference frame.
pub struct ReferenceSums {
    /// Tiles from one row of tiles to the next.
    pub(super) tiles: usize,
    /// Rows of tiles that there is memory for.
    pub(super) room: usize,
    /// The row of the frame whose tiles are the first in memory.
    pub(super) first: usize,
    /// Rows whose sums are there.
    pub(super) there: Range<usize>,
    pub(super) coarse: PartSums,
    pub(super) fine: Option<PartSums>,
    /// Whether fine sums are computed too.
    pub(super) is_fine: bool,
    /// The lowest bits of sums that are not kept: those of a sample beyond eight, so that sums fit 16 bits.
    pub(super) lower: u32,
    pub(super) extremes: GroupExtremes,
}

impl ReferenceSums {
    /// Memory for the sums that a row of blocks reaches of parts of `coarse` and perhaps `fine` samples an axis, each
    /// 4, 8 or 16.
    ///
    /// # Errors
    /// [`SetupError::Memory`] where it needs more than `limit` bytes, or more than there are.
    pub fn new(
        parameters: &Parameters,
        layout: &PlaneLayout,
        (coarse, fine): (usize, Option<usize>),
        limit: u64,
    ) -> Result<Self, SetupError> {
        const WHAT: &str = "the sums of a frame";
        let reached = (parameters.window.rows() + parameters.block_size).div_ceil(TILE) + 1;
        let (tiles, all) = (layout.pitch / TILE, layout.rows().div_ceil(TILE));
        let rows = all.min(reached + ROWS_MORE.max(reached / PART_MORE));
        let (lines, groups) = (tiles * rows / GROUP_TILES + 1, tiles / GROUP_TILES * rows + SPARE_GROUPS);
        let odd = coarse == TILE;
        let sides = if fine.is_some() { 2 } else { 1 };
        let needed = (sides * lines * size_of::<Line>() + if odd { 8 } else { 4 } * groups) as u64;
        if needed > limit {
            return Err(memory::too_large(WHAT, needed, limit));
        }
        let part_sums = |side| Ok(PartSums { side, lines: memory::zeroed(WHAT, lines as u64, limit)? });
        let of_groups =
            |is_needed: bool| memory::zeroed(WHAT, if is_needed { groups as u64 } else { 0 }, limit);
        Ok(Self {
            tiles,
            room: rows,
            first: 0,
            there: 0..0,
            coarse: part_sums(coarse)?,
            fine: fine.map(part_sums).transpose()?,
            is_fine: false,
            lower: parameters.bit_depth - 8,
            extremes: GroupExtremes {
                least: [of_groups(true)?, of_groups(odd)?],
                most: [of_groups(true)?, of_groups(odd)?],
            },
        })
    }

    /// Forgets the sums. Those of smaller parts are computed too from now on where `is_fine`.
    pub fn forget(&mut self, is_fine: bool) {
        (self.first, self.there, self.is_fine) = (0, 0..0, is_fine);
    }

    /// The lowest bits of sums that are not kept.
    pub fn lower(&self) -> u32 {
        self.lower
    }

    /// The largest parts, whose extremes are known.
    pub fn coarse(&self) -> &PartSums {
        &self.coarse
    }

    /// Smaller parts, where they are summed.
    pub fn fine(&self) -> Option<&PartSums> {
        self.fine.as_ref().filter(|_| self.is_fine)
    }

    /// The index in a [`PartSums`] of the sums of the group at `column` and `row` of groups.
    #[inline(always)]
    pub fn offset(&self, (column, row): (usize, usize)) -> usize {
        ((row - self.first) * self.tiles + GROUP_TILES * column) * TILE_POSITIONS
    }

    /// From there to the sums of the group that is `(x, y)` samples, multiples of four, further on.
    #[inline(always)]
    pub fn step(&self, (x, y): (usize, usize)) -> usize {
        (y / TILE * self.tiles + x / TILE) * TILE_POSITIONS
    }

    /// The least and the largest coarse sums of groups from the one at `offset`, of [`Self::offset`], on: row by row,
    /// [`Self::groups`] a row, and at least [`SPARE_GROUPS`].
    #[inline(always)]
    pub fn extremes(&self, offset: usize) -> (&[u16], &[u16]) {
        let (start, odd) = (offset / GROUP, offset / TILE_POSITIONS % GROUP_TILES);
        (&self.extremes.least[odd][start..], &self.extremes.most[odd][start..])
    }

    /// Groups from one row of them to the next.
    #[inline(always)]
    pub fn groups(&self) -> usize {
        self.tiles / GROUP_TILES
    }
}

impl PartSums {
    /// The sums of the groups from the one at `offset`, of [`ReferenceSums::offset`], to the one `last` further on.
    #[inline(always)]
    pub fn groups(&self, offset: usize, last: usize) -> &[u16] {
        &numbers(&self.lines)[offset..][..last + GROUP]
    }

    /// The sums of the group at `offset`, of [`ReferenceSums::offset`].
    #[inline(always)]
    pub fn group(&self, offset: usize) -> &[u16; GROUP] {
        numbers(&self.lines)[offset..].first_chunk().expect("a group's sums")
    }
}
