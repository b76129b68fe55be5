//! Sums of square parts of the reference, from which lower bounds of costs follow.
//!
//! For every position of the padded picture there is the sum of the 4 × 4 samples from it on, and
//! where larger parts are wanted those of 8 × 8 and of 16 × 16. They lie in *tiles* of 4 × 4
//! positions, tile after tile across the picture: the sums of two adjacent tiles, which are 8 × 4
//! candidates, are one stretch of memory, and so are those of any part of their blocks, as parts
//! begin at multiples of four.

use rayon::prelude::*;

use super::level::Functions;
use super::plane::{self, Layout, Plane};
use crate::estimator::SetupError;

/// Side of a tile.
pub(super) const TILE: usize = 4;

/// Positions of a tile.
const TILE_POSITIONS: usize = TILE * TILE;

/// Tiles of a *group*: 8 × 4 candidates that are eliminated together where possible.
pub(super) const GROUP_TILES: usize = 2;

/// Positions of a group.
pub(super) const GROUP: usize = GROUP_TILES * TILE_POSITIONS;

/// Groups that are looked at together at most, and so may be read past the last.
pub(super) const SPARE_GROUPS: usize = 32;

/// Tile rows a task computes.
const ROWS_A_TASK: usize = 16;

/// Positions that one step along a row computes.
const STEP: usize = 32;

/// The sums of one size of part.
pub(super) struct Level {
    /// Side of a part.
    pub(super) side: usize,
    sums: Vec<u16>,
}

/// The least and the largest sum of each group: of the groups that begin with an even tile, and of
/// those that begin with an odd one.
struct Extremes {
    least: [Vec<u16>; 2],
    most: [Vec<u16>; 2],
}

/// The sums of a reference.
pub(super) struct Sums {
    /// Tiles from one row of tiles to the next.
    tiles: usize,
    /// Rows of tiles.
    rows: usize,
    /// 4 × 4, 8 × 8, 16 × 16, as far as they are needed.
    levels: Vec<Level>,
    extremes: Extremes,
}

impl Sums {
    /// Room for the sums of parts of up to `side` samples of a picture that lies as `layout` says.
    ///
    /// # Errors
    /// [`SetupError::Memory`] where it needs more than `limit` bytes, or more than there are.
    pub(super) fn new(layout: &Layout, side: usize, limit: u64) -> Result<Self, SetupError> {
        let (tiles, rows) = (layout.pitch / TILE, layout.rows().div_ceil(TILE));
        let mut left = limit;
        let mut room = |length: usize| -> Result<Vec<u16>, SetupError> {
            let room = plane::room("the sums of a picture", length as u64, left)?;
            left = left.saturating_sub(2 * length as u64);
            Ok(room)
        };
        let sides = std::iter::successors(Some(TILE), |side| Some(2 * side)).take_while(|s| *s <= side);
        let levels = sides
            .map(|side| Ok(Level { side, sums: room(tiles * rows * TILE_POSITIONS)? }))
            .collect::<Result<_, SetupError>>()?;
        let mut groups = || room(tiles / GROUP_TILES * rows + SPARE_GROUPS);
        let extremes = Extremes { least: [groups()?, groups()?], most: [groups()?, groups()?] };
        Ok(Self { tiles, rows, levels, extremes })
    }

    /// Sums up `plane`, of the layout these sums were made for.
    pub(super) fn fill(&mut self, functions: &Functions, plane: &Plane) {
        let Self { tiles, rows, levels, extremes } = self;
        let row = *tiles * TILE_POSITIONS;
        let (smallest, larger) = levels.split_first_mut().expect("4 x 4 at least");
        smallest.sums.par_chunks_mut(row * ROWS_A_TASK).enumerate().for_each(|(task, sums)| {
            for (index, sums) in sums.chunks_mut(row).enumerate() {
                (functions.sum_samples)(plane, TILE * (task * ROWS_A_TASK + index), sums);
            }
        });
        let mut below = &*smallest;
        for level in larger {
            // A part is four of half its side.
            let (right, down) = (below.side / TILE * TILE_POSITIONS, below.side / TILE);
            level.sums.par_chunks_mut(row * ROWS_A_TASK).enumerate().for_each(|(task, sums)| {
                for (index, sums) in sums.chunks_mut(row).enumerate() {
                    let upper = task * ROWS_A_TASK + index;
                    let lower = (upper + down).min(*rows - 1);
                    let [upper, lower] =
                        [upper, lower].map(|row_index| &below.sums[row_index * row..][..row]);
                    (functions.sum_parts)(upper, lower, right, sums);
                }
            });
            below = level;
        }
        let groups = *tiles / GROUP_TILES;
        let coarse = &below.sums;
        for (odd, (least, most)) in extremes.least.iter_mut().zip(&mut extremes.most).enumerate() {
            if odd == 1 && below.side > TILE {
                break;
            }
            let chunks = least[..groups * *rows].par_chunks_mut(groups * ROWS_A_TASK);
            chunks.zip(most.par_chunks_mut(groups * ROWS_A_TASK)).enumerate().for_each(
                |(task, (least, most))| {
                    for (index, (least, most)) in
                        least.chunks_mut(groups).zip(most.chunks_mut(groups)).enumerate()
                    {
                        let sums = &coarse[(task * ROWS_A_TASK + index) * row..][..row];
                        (functions.find_extremes)(&sums[odd * TILE_POSITIONS..], least, most);
                    }
                },
            );
        }
    }

    /// The largest parts, whose extremes are known.
    pub(super) fn coarse(&self) -> &Level {
        self.levels.last().expect("4 x 4 at least")
    }

    /// Parts of half the side, where there are any.
    pub(super) fn fine(&self) -> Option<&Level> {
        self.levels.len().checked_sub(2).map(|index| &self.levels[index])
    }

    /// Where in a [`Level`] the sums of the group at `column` and `row` of groups are, displaced by
    /// `(x, y)` samples, multiples of four.
    #[inline(always)]
    pub(super) fn offset(&self, (column, row): (usize, usize), (x, y): (usize, usize)) -> usize {
        ((row + y / TILE) * self.tiles + GROUP_TILES * column + x / TILE) * TILE_POSITIONS
    }

    /// The least and the largest coarse sums of groups from the one at `offset`, of
    /// [`Self::offset`], on: row by row, [`Self::groups`] a row, and at least [`SPARE_GROUPS`].
    #[inline(always)]
    pub(super) fn extremes(&self, offset: usize) -> (&[u16], &[u16]) {
        let (start, odd) = (offset / GROUP, offset / TILE_POSITIONS % GROUP_TILES);
        (&self.extremes.least[odd][start..], &self.extremes.most[odd][start..])
    }

    /// Groups from one row of them to the next.
    #[inline(always)]
    pub(super) fn groups(&self) -> usize {
        self.tiles / GROUP_TILES
    }
}

impl Level {
    /// The sums of the group at `offset`, of [`Sums::offset`].
    #[inline(always)]
    pub(super) fn group(&self, offset: usize) -> &[u16; GROUP] {
        self.sums[offset..].first_chunk().expect("a group's sums")
    }
}

/// Sums 4 × 4 samples from each position of the tile row that begins with row `top` of `plane`. The
/// last positions of a row, which are further right than any candidate, are left out.
#[inline(always)]
pub(super) fn sum_samples(plane: &Plane, top: usize, sums: &mut [u16]) {
    let layout = plane.layout();
    let (pitch, last) = (layout.pitch, layout.rows() - 1);
    let rows: [&[u8]; 2 * TILE - 1] =
        std::array::from_fn(|y| &plane.samples()[(top + y).min(last) * pitch..][..pitch]);
    let steps = sums.chunks_exact_mut(STEP * TILE).take(pitch / STEP - 1);
    for (index, sums) in steps.enumerate() {
        let mut across = [[0_u16; STEP]; 2 * TILE - 1];
        for (across, row) in across.iter_mut().zip(rows) {
            let row: &[u8; STEP + TILE] = row[index * STEP..].first_chunk().expect("not the last step");
            for x in 0..STEP {
                across[x] =
                    u16::from(row[x]) + u16::from(row[x + 1]) + u16::from(row[x + 2]) + u16::from(row[x + 3]);
            }
        }
        let mut twos = [[0_u16; STEP]; 2 * TILE - 2];
        for y in 0..2 * TILE - 2 {
            for x in 0..STEP {
                twos[y][x] = across[y][x] + across[y + 1][x];
            }
        }
        for y in 0..TILE {
            for x in 0..STEP {
                sums[x / TILE * TILE_POSITIONS + y * TILE + x % TILE] = twos[y][x] + twos[y + 2][x];
            }
        }
    }
}

/// Sums four parts each: two in `upper`, the second one `right` further, and two in `lower`.
#[inline(always)]
pub(super) fn sum_parts(upper: &[u16], lower: &[u16], right: usize, sums: &mut [u16]) {
    let [upper_right, lower_right] = [upper, lower].map(|row| &row[right..]);
    let uppers = upper.iter().zip(upper_right);
    let lowers = lower.iter().zip(lower_right);
    for (sum, ((a, b), (c, d))) in sums.iter_mut().zip(uppers.zip(lowers)) {
        *sum = a.wrapping_add(*b).wrapping_add(*c).wrapping_add(*d);
    }
}

/// The least and the largest of every [`GROUP`] sums.
#[inline(always)]
pub(super) fn find_extremes(sums: &[u16], least: &mut [u16], most: &mut [u16]) {
    let groups = sums.as_chunks::<GROUP>().0;
    for (group, (least, most)) in groups.iter().zip(least.iter_mut().zip(most)) {
        *least = group.iter().copied().fold(u16::MAX, u16::min);
        *most = group.iter().copied().fold(0, u16::max);
    }
}
