//! A part of the window whose search area fits local memory.

use crate::opencl::families::equal_part;
use crate::opencl::frame::Geometry;
use crate::opencl::kernel_family::BuildContext;

/// Local memory that a group uses if one candidate needs no more, so that several groups fit a compute
/// unit.
const LOCAL_MEMORY: usize = 32 << 10;

/// A block, and how its samples are kept in local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TileBlock {
    size: usize,
    /// Samples of a word of a frame.
    pub(super) word_samples: usize,
    /// Bytes that these take in local memory.
    pub(super) word_bytes: usize,
}

impl TileBlock {
    /// The block of a search, in words as in the frame.
    pub(super) fn of(build: &BuildContext<'_>) -> Self {
        Self { size: build.parameters.block_size, word_samples: build.word_samples(), word_bytes: 4 }
    }

    /// Bytes of the block.
    pub(super) fn bytes(&self) -> usize {
        self.size * self.size / self.word_samples * self.word_bytes
    }
}

/// Columns and rows of candidates, and the words of a row of their search area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowTile {
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) area_words: usize,
    area_rows: usize,
    word_bytes: usize,
}

impl WindowTile {
    fn new(columns: usize, rows: usize, block: TileBlock) -> Self {
        let area_words = (columns + block.size - 2) / block.word_samples + 2;
        Self { columns, rows, area_words, area_rows: rows + block.size - 1, word_bytes: block.word_bytes }
    }

    /// The tile for a group that needs `fixed` bytes of local memory besides, with at most `most`
    /// candidates. `None` if local memory is too small.
    pub(super) fn for_group(
        build: &BuildContext<'_>,
        block: TileBlock,
        fixed: usize,
        most: usize,
    ) -> Option<Self> {
        let Geometry { window_columns, window_rows, .. } = build.layout.geometry;
        let window = [window_columns as usize, window_rows as usize];
        let has = build.device.local_memory;
        [LOCAL_MEMORY.min(has), has]
            .into_iter()
            .find_map(|bytes| Self::largest(window, block, bytes.checked_sub(fixed)?, most))
    }

    /// Bytes of the area of one candidate: no tile needs less.
    pub(super) fn least_bytes(block: TileBlock) -> usize {
        Self::new(1, 1, block).area_bytes()
    }

    pub(super) fn area_bytes(&self) -> usize {
        self.word_bytes * self.area_words * self.area_rows
    }

    /// How many such tiles cover the window of `geometry`.
    pub(super) fn count(&self, geometry: &Geometry) -> usize {
        let (columns, rows) = (geometry.window_columns as usize, geometry.window_rows as usize);
        columns.div_ceil(self.columns) * rows.div_ceil(self.rows)
    }

    /// The largest tile of a window of `[columns, rows]` with at most `most` candidates, at least 1, whose
    /// area fits `bytes`: whole rows of candidates if one fits, else part of a row. `None` if not even one
    /// candidate fits.
    fn largest([columns, rows]: [usize; 2], block: TileBlock, bytes: usize, most: usize) -> Option<Self> {
        let fits = |tile: &Self| tile.area_bytes() <= bytes;
        let row = Self::new(columns, 1, block);
        let (tile_columns, tile_rows) = if fits(&row) && columns <= most {
            let fit = bytes / (block.word_bytes * row.area_words) + 1 - block.size;
            (columns, fit.min(most / columns).min(rows))
        } else {
            let words = bytes / (block.word_bytes * block.size);
            // The most columns whose `area_words` are no more than `words`.
            let fit = (block.word_samples * words).checked_sub(block.size + block.word_samples - 1)?;
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

    /// Blocks of all sizes with words of bytes, of deep samples, and of bytes that take an int each.
    fn blocks() -> impl Iterator<Item = TileBlock> {
        let forms = [(4, 4), (2, 4), (4, 16)];
        (4..=64).step_by(4).flat_map(move |size| {
            forms.map(|(word_samples, word_bytes)| TileBlock { size, word_samples, word_bytes })
        })
    }

    #[test]
    fn tiles_fit_and_are_of_the_window() {
        for block in blocks() {
            for window in [[1, 1], [3, 1], [33, 33], [1001, 3], [4001, 4001], [16383, 16383]] {
                for bytes in [36 << 10, 96 << 10, 4 << 20] {
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
        for block in blocks() {
            let least = WindowTile::least_bytes(block);
            let largest = |bytes| WindowTile::largest([41, 41], block, bytes, usize::MAX);
            assert!(largest(least).is_some() && largest(least - 1).is_none(), "{block:?}");
        }
    }
}
