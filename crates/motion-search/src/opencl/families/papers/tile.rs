//! A part of the window whose search area fits local memory.

use crate::opencl::families::equal_part;
use crate::opencl::frame::Geometry;
use crate::opencl::kernel_family::BuildContext;

/// Local memory that a group uses if one candidate needs no more, so that several groups fit a compute
/// unit.
const LOCAL_MEMORY: usize = 32 << 10;

/// Columns and rows of candidates, and the words of a row of their search area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowTile {
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) area_words: usize,
    area_rows: usize,
}

impl WindowTile {
    fn new(columns: usize, rows: usize, (block_size, word): (usize, usize)) -> Self {
        let area_words = (columns + block_size - 2) / word + 2;
        Self { columns, rows, area_words, area_rows: rows + block_size - 1 }
    }

    /// The tile for a group that needs `fixed` bytes of local memory besides, with at most `most`
    /// candidates. `None` if local memory is too small.
    pub(super) fn for_group(build: &BuildContext<'_>, fixed: usize, most: usize) -> Option<Self> {
        let Geometry { window_columns, window_rows, .. } = build.layout.geometry;
        let window = [window_columns as usize, window_rows as usize];
        let has = build.device.local_memory;
        [LOCAL_MEMORY.min(has), has].into_iter().find_map(|bytes| {
            let block = (build.parameters.block_size, build.word_samples());
            Self::largest(window, block, bytes.checked_sub(fixed)?, most)
        })
    }

    /// Bytes of the area of one candidate: no tile needs less. `block`: its side, and the samples of a word.
    pub(super) fn least_bytes(block: (usize, usize)) -> usize {
        Self::new(1, 1, block).area_bytes()
    }

    pub(super) fn area_bytes(&self) -> usize {
        4 * self.area_words * self.area_rows
    }

    /// How many such tiles cover the window of `geometry`.
    pub(super) fn count(&self, geometry: &Geometry) -> usize {
        let (columns, rows) = (geometry.window_columns as usize, geometry.window_rows as usize);
        columns.div_ceil(self.columns) * rows.div_ceil(self.rows)
    }

    /// The largest tile of a window of `[columns, rows]` with at most `most` candidates, at least 1, whose
    /// area fits `bytes`: whole rows of candidates if one fits, else part of a row. `None` if not even one
    /// candidate fits.
    fn largest(
        [columns, rows]: [usize; 2],
        block: (usize, usize),
        bytes: usize,
        most: usize,
    ) -> Option<Self> {
        let (block_size, word) = block;
        let fits = |tile: &Self| tile.area_bytes() <= bytes;
        let row = Self::new(columns, 1, block);
        let (tile_columns, tile_rows) = if fits(&row) && columns <= most {
            let fit = bytes / (4 * row.area_words) + 1 - block_size;
            (columns, fit.min(most / columns).min(rows))
        } else {
            let words = bytes / (4 * block_size);
            // The most columns whose `area_words` are no more than `words`.
            let fit = (word * words).checked_sub(block_size + word - 1)?;
            (fit.min(most).min(columns), 1)
        };
        // Equal tiles, so that the last has not just a few candidates for the whole group.
        let tile = Self::new(equal_part(columns, tile_columns), equal_part(rows, tile_rows), block);
        fits(&tile).then_some(tile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_fit_and_are_of_the_window() {
        for block in (4..=64).step_by(4).flat_map(|side| [(side, 4), (side, 2)]) {
            for window in [[1, 1], [3, 1], [33, 33], [1001, 3], [4001, 4001], [16383, 16383]] {
                for bytes in [9 << 10, 24 << 10, 1 << 20] {
                    for most in [1, 3, 1024, usize::MAX] {
                        let tile = WindowTile::largest(window, block, bytes, most).unwrap();
                        assert!(tile.area_bytes() <= bytes, "{tile:?} in {bytes}");
                        assert!(tile.columns * tile.rows <= most, "{tile:?} of {most}");
                        assert!((1..=window[0]).contains(&tile.columns), "{tile:?}");
                        assert!((1..=window[1]).contains(&tile.rows), "{tile:?}");
                    }
                }
            }
        }
        // The area of one candidate is enough for a tile, and one byte less is not.
        for block in (4..=64).step_by(4).flat_map(|side| [(side, 4), (side, 2)]) {
            let least = WindowTile::least_bytes(block);
            let largest = |bytes| WindowTile::largest([41, 41], block, bytes, usize::MAX);
            assert!(largest(least).is_some() && largest(least - 1).is_none(), "{block:?}");
        }
    }
}
