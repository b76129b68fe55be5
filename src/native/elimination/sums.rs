//! Sums of square parts of the reference, from which lower bounds of costs follow.
//!
//! For every position of the padded frame that a row of blocks reaches there is the sum of the
//! square of samples from it on. The sums lie in *tiles* of 4 × 4 positions, tile after tile across
//! the frame: those of two adjacent tiles, which are 8 × 4 candidates, are one stretch of memory,
//! and so are those of any part of their blocks, as parts begin at multiples of four.
//!
//! Each thread has sums of its own for the rows that it searches, and goes down the frame with them:
//! they stay in its cache, where those of a whole frame would go to memory and back.

use std::ops::{Deref, DerefMut, Range};

use crate::estimator::{Parameters, SetupError};
use crate::native::exhaustive::tile::{Engine, READ};
use crate::native::level::Functions;
use crate::native::plane::{self, Layout, Plane};

/// Side of a tile.
pub const TILE: usize = 4;

/// Positions of a tile.
const TILE_POSITIONS: usize = TILE * TILE;

/// Tiles of a *group*: 8 × 4 candidates that are eliminated together where possible.
pub const GROUP_TILES: usize = 2;

/// Positions across a group.
pub const ACROSS: usize = GROUP_TILES * TILE;

/// Positions of a group.
pub const GROUP: usize = GROUP_TILES * TILE_POSITIONS;

/// Groups that are looked at together at most, and so may be read past the last.
pub const SPARE_GROUPS: usize = 32;

/// Rows of tiles that are summed at a time: the more, the less is summed twice, above and below.
const ROWS_AT_ONCE: usize = 8;

/// Rows of tiles that there is room for beside those that a row of blocks reaches, at least, and for each
/// of those: when it is used up, what is still wanted moves.
const ROWS_MORE: usize = 16;
const PART_MORE: usize = 4;

/// Columns of positions that are summed at once.
pub const STRIP: usize = 32;

/// Numbers in a cache line.
const LINE: usize = 32;

/// Numbers the first of which begins a cache line, and with it every group's.
struct Aligned {
    values: Vec<u16>,
    start: usize,
}

impl Aligned {
    /// All but [`LINE`] of `values`.
    fn new(values: Vec<u16>) -> Self {
        let start = values.as_ptr().align_offset(LINE * size_of::<u16>()).min(LINE);
        Self { values, start }
    }
}

impl Deref for Aligned {
    type Target = [u16];

    #[inline(always)]
    fn deref(&self) -> &[u16] {
        &self.values[self.start..]
    }
}

impl DerefMut for Aligned {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u16] {
        &mut self.values[self.start..]
    }
}

/// The sums of one size of part.
pub struct Level {
    /// Side of a part.
    pub side: usize,
    sums: Aligned,
}

/// The least and the largest sum of each group: of the groups that begin with an even tile, and of
/// those that begin with an odd one.
struct Extremes {
    least: [Vec<u16>; 2],
    most: [Vec<u16>; 2],
}

/// The sums of some rows of a reference.
pub struct Sums {
    /// Tiles from one row of tiles to the next.
    tiles: usize,
    /// Rows of tiles that there is room for, and which of the frame's is the first.
    room: usize,
    first: usize,
    /// Those whose sums are there.
    there: Range<usize>,
    coarse: Level,
    fine: Option<Level>,
    /// Whether fine sums are computed too.
    is_fine: bool,
    extremes: Extremes,
}

impl Sums {
    /// Room for the sums of parts of `coarse` and perhaps `fine` samples a side, each 4, 8 or 16, that
    /// rows of blocks reach in a frame that lies as `layout` says.
    ///
    /// # Errors
    /// [`SetupError::Memory`] where it needs more than `limit` bytes, or more than there are.
    pub fn new(
        parameters: &Parameters,
        layout: &Layout,
        (coarse, fine): (usize, Option<usize>),
        limit: u64,
    ) -> Result<Self, SetupError> {
        let reached = (parameters.window.rows() + parameters.block_size).div_ceil(TILE) + 1;
        let (tiles, all) = (layout.pitch / TILE, layout.rows().div_ceil(TILE));
        let rows = all.min(reached + ROWS_MORE.max(reached / PART_MORE));
        let mut left = limit;
        let mut room = |length: usize| -> Result<Vec<u16>, SetupError> {
            let room = plane::room("the sums of a frame", length as u64, left)?;
            left = left.saturating_sub(2 * length as u64);
            Ok(room)
        };
        let mut level =
            |side| Ok(Level { side, sums: Aligned::new(room(tiles * rows * TILE_POSITIONS + LINE)?) });
        let (coarse, fine) = (level(coarse)?, fine.map(level).transpose()?);
        let mut groups = |is_needed: bool| match is_needed {
            true => room(tiles / GROUP_TILES * rows + SPARE_GROUPS),
            false => Ok(Vec::new()),
        };
        let odd = coarse.side == TILE;
        let extremes = Extremes { least: [groups(true)?, groups(odd)?], most: [groups(true)?, groups(odd)?] };
        Ok(Self { tiles, room: rows, first: 0, there: 0..0, coarse, fine, is_fine: false, extremes })
    }

    /// Begins with another frame; smaller parts are summed too where `is_fine`.
    pub fn begin(&mut self, is_fine: bool) {
        (self.first, self.there, self.is_fine) = (0, 0..0, is_fine);
    }

    /// Has the sums of the rows of tiles `wanted` there, which begin no further up than those wanted last
    /// where these are to be of use.
    pub fn hold(&mut self, functions: &Functions, plane: &Plane, wanted: Range<usize>) {
        debug_assert!(wanted.len() <= self.room);
        if !(self.there.start..=self.there.end).contains(&wanted.start) {
            (self.first, self.there) = (wanted.start, wanted.start..wanted.start);
        }
        if wanted.end <= self.there.end {
            return;
        }
        let all = plane.layout().rows().div_ceil(TILE);
        let end = (self.there.end + ROWS_AT_ONCE).max(wanted.end).min(all);
        if end > self.first + self.room {
            self.move_up(wanted.start);
        }
        self.fill(functions, plane, self.there.end..end.min(self.first + self.room));
    }

    /// Makes the row of tiles `start` the first.
    fn move_up(&mut self, start: usize) {
        let kept = start - self.first..self.there.end - self.first;
        let (row, groups) = (self.tiles * TILE_POSITIONS, self.groups());
        let move_up = |values: &mut [u16], a_row: usize| {
            // Of what is not needed there is no memory.
            if !values.is_empty() {
                values.copy_within(kept.start * a_row..kept.end * a_row, 0);
            }
        };
        move_up(&mut self.coarse.sums, row);
        if let Some(fine) = self.fine.as_mut().filter(|_| self.is_fine) {
            move_up(&mut fine.sums, row);
        }
        let Extremes { least, most } = &mut self.extremes;
        least.iter_mut().chain(most).for_each(|extremes| move_up(extremes, groups));
        (self.first, self.there.start) = (start, start);
    }

    /// Sums up `rows` of tiles of `plane`, of the layout these sums were made for.
    fn fill(&mut self, functions: &Functions, plane: &Plane, rows: Range<usize>) {
        let (row, groups, top) = (self.tiles * TILE_POSITIONS, self.groups(), rows.start * TILE);
        self.there.end = rows.end;
        let rows = rows.start - self.first..rows.end - self.first;
        let (of_sums, of_groups) = (rows.start * row..rows.end * row, rows.start * groups..rows.end * groups);
        if let Some(Level { side, sums }) = self.fine.as_mut().filter(|_| self.is_fine) {
            (functions.sum)((plane, *side, top), &mut sums[of_sums.clone()], None);
        }
        let Level { side, sums } = &mut self.coarse;
        let Extremes { least: [least, least_odd], most: [most, most_odd] } = &mut self.extremes;
        let extremes = [&mut least[of_groups.clone()], &mut most[of_groups.clone()]];
        (functions.sum)((plane, *side, top), &mut sums[of_sums.clone()], Some(extremes));
        if *side == TILE {
            // All groups that begin with an odd tile, one after the other: where a row of tiles goes over
            // into the next there is no candidate.
            let sums = &sums[of_sums.start + TILE_POSITIONS..of_sums.end];
            (functions.find_extremes)(sums, &mut least_odd[of_groups.clone()], &mut most_odd[of_groups]);
        }
    }

    /// The largest parts, whose extremes are known.
    pub fn coarse(&self) -> &Level {
        &self.coarse
    }

    /// Smaller parts, where they were summed.
    pub fn fine(&self) -> Option<&Level> {
        self.fine.as_ref().filter(|_| self.is_fine)
    }

    /// Where in a [`Level`] the sums of the group at `column` and `row` of groups are.
    #[inline(always)]
    pub fn offset(&self, (column, row): (usize, usize)) -> usize {
        ((row - self.first) * self.tiles + GROUP_TILES * column) * TILE_POSITIONS
    }

    /// From there to the sums of the group that is `(x, y)` samples, multiples of four, further on.
    #[inline(always)]
    pub fn step(&self, (x, y): (usize, usize)) -> usize {
        (y / TILE * self.tiles + x / TILE) * TILE_POSITIONS
    }

    /// The least and the largest coarse sums of groups from the one at `offset`, of
    /// [`Self::offset`], on: row by row, [`Self::groups`] a row, and at least [`SPARE_GROUPS`].
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

impl Level {
    /// The sums of the groups from the one at `offset`, of [`Sums::offset`], to the one `last` further on.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn groups(&self, offset: usize, last: usize) -> &[u16] {
        &self.sums[offset..][..last + GROUP]
    }

    /// The sums of the group at `offset`, of [`Sums::offset`].
    #[inline(always)]
    pub fn group(&self, offset: usize) -> &[u16; GROUP] {
        self.sums[offset..].first_chunk().expect("a group's sums")
    }
}

/// Sums `side` × `side` samples from each position of the tile rows that begin with row `top` of
/// `plane`, and finds the least and the largest sum of each group there. The last positions of a row,
/// which are further right than any candidate, are left out.
#[inline(always)]
pub fn sum<E: Engine>(
    engine: E,
    (plane, side, top): (&Plane, usize, usize),
    sums: &mut [u16],
    mut extremes: Option<[&mut [u16]; 2]>,
) {
    let layout = plane.layout();
    for index in 0..layout.pitch / STRIP - 1 {
        let samples = &plane.samples()[index * STRIP..];
        let strip = Strip { samples, pitch: layout.pitch, top, last: layout.rows() - 1 };
        let extremes = extremes.as_mut().map(|[least, most]| [&mut **least, &mut **most]);
        let mut sums = StripSums { sums: &mut *sums, extremes, pitch: layout.pitch, strip: index };
        match side {
            4 => engine.sum_strip::<4>(&strip, &mut sums),
            8 => engine.sum_strip::<8>(&strip, &mut sums),
            _ => engine.sum_strip::<16>(&strip, &mut sums),
        }
    }
}

/// Columns of a frame, [`STRIP`] of positions and those that their sums need besides.
pub struct Strip<'a> {
    samples: &'a [u8],
    pitch: usize,
    top: usize,
    last: usize,
}

impl<'a> Strip<'a> {
    /// Samples of a row of it: those of the positions from column `x` on begin with element `x`.
    #[inline(always)]
    pub fn row(&self, y: usize) -> &'a [u8; READ] {
        let samples = &self.samples[(self.top + y).min(self.last) * self.pitch..];
        samples.first_chunk().expect("the last strip of a row is left out")
    }
}

/// Where the sums of a strip go.
pub struct StripSums<'a> {
    sums: &'a mut [u16],
    extremes: Option<[&'a mut [u16]; 2]>,
    pitch: usize,
    strip: usize,
}

impl StripSums<'_> {
    /// Rows of tiles.
    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.sums.len() / (TILE * self.pitch)
    }

    /// The tiles of a row of them.
    #[inline(always)]
    pub fn tiles(&mut self, row: usize) -> &mut [u16; STRIP * TILE] {
        let start = (row * self.pitch + self.strip * STRIP) * TILE;
        self.sums[start..].first_chunk_mut().expect("the last strip of a row is left out")
    }

    /// The least and the largest sums of the groups in a row of tiles, where they are wanted.
    #[inline(always)]
    pub fn extremes(&mut self, row: usize) -> Option<[&mut [u16; STRIP / ACROSS]; 2]> {
        let start = row * (self.pitch / ACROSS) + self.strip * (STRIP / ACROSS);
        let extremes = self.extremes.as_mut()?;
        Some(
            extremes.each_mut().map(|groups| {
                groups[start..].first_chunk_mut().expect("the last strip of a row is left out")
            }),
        )
    }
}

/// The sums of a strip, in any instructions.
#[inline(always)]
pub fn sum_strip<const SIDE: usize>(strip: &Strip<'_>, sums: &mut StripSums<'_>) {
    // The rows that `down` is the sum of; the one to come replaces the oldest.
    let mut rows = [[0; STRIP]; SIDE];
    let mut down = [0_u16; STRIP];
    for (y, row) in rows[..SIDE - 1].iter_mut().enumerate() {
        *row = sum_across::<SIDE>(strip.row(y));
        for x in 0..STRIP {
            down[x] += row[x];
        }
    }
    for index in 0..sums.rows() {
        let mut tile_row = [[0_u16; STRIP]; TILE];
        for (y, positions) in tile_row.iter_mut().enumerate() {
            let y = index * TILE + y + SIDE - 1;
            let (oldest, next) = (&mut rows[y % SIDE], sum_across::<SIDE>(strip.row(y)));
            for x in 0..STRIP {
                down[x] = down[x].wrapping_add(next[x]).wrapping_sub(oldest[x]);
            }
            (*oldest, *positions) = (next, down);
        }
        let tiles = sums.tiles(index);
        for x in 0..STRIP {
            for y in 0..TILE {
                tiles[x / TILE * TILE_POSITIONS + y * TILE + x % TILE] = tile_row[y][x];
            }
        }
        if let Some([least, most]) = sums.extremes(index) {
            [*least, *most] = extremes_of(&tile_row);
        }
    }
}

/// The sums of `SIDE` samples of a row from each column of a strip on.
#[inline(always)]
fn sum_across<const SIDE: usize>(samples: &[u8; READ]) -> [u16; STRIP] {
    let mut sums = [0; STRIP];
    for i in 0..SIDE {
        for x in 0..STRIP {
            sums[x] += u16::from(samples[x + i]);
        }
    }
    sums
}

/// The least and the largest of each group.
#[inline(always)]
fn extremes_of(tile_row: &[[u16; STRIP]; TILE]) -> [[u16; STRIP / ACROSS]; 2] {
    let (mut least, mut most) = (tile_row[0], tile_row[0]);
    for row in &tile_row[1..] {
        for x in 0..STRIP {
            (least[x], most[x]) = (least[x].min(row[x]), most[x].max(row[x]));
        }
    }
    let of_group = |sums: &[u16; STRIP], start: u16, better: fn(u16, u16) -> u16| {
        std::array::from_fn(|group| sums[group * ACROSS..][..ACROSS].iter().copied().fold(start, better))
    };
    [of_group(&least, u16::MAX, u16::min), of_group(&most, 0, u16::max)]
}

/// The least and the largest of every [`GROUP`] sums.
#[inline(always)]
pub fn find_extremes(sums: &[u16], least: &mut [u16], most: &mut [u16]) {
    let groups = sums.as_chunks::<GROUP>().0;
    for (group, (least, most)) in groups.iter().zip(least.iter_mut().zip(most)) {
        *least = group.iter().copied().fold(u16::MAX, u16::min);
        *most = group.iter().copied().fold(0, u16::max);
    }
}
