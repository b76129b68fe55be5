//! A part of the window whose search area fits local memory.

use crate::estimator::Window;

/// So many columns and rows of candidates, and the pitch of their search area in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) area_words: usize,
    area_rows: usize,
}

impl Tile {
    fn new(columns: usize, rows: usize, block_size: usize) -> Self {
        let area_words = (columns + block_size + 2) / 4 + 1;
        Self { columns, rows, area_words, area_rows: rows + block_size - 1 }
    }

    /// Bytes of the area of one candidate: no tile takes less.
    pub(super) fn least_bytes(block_size: usize) -> usize {
        Self::new(1, 1, block_size).area_bytes()
    }

    pub(super) fn area_bytes(&self) -> usize {
        4 * self.area_words * self.area_rows
    }

    /// How many such tiles cover `window`.
    pub(super) fn count(&self, window: &Window) -> usize {
        window.columns().div_ceil(self.columns) * window.rows().div_ceil(self.rows)
    }

    /// The largest tile of `window` with at most `candidates`, at least 1, whose area fits `bytes`:
    /// whole rows of candidates if one fits, else part of a row. `None` where not even one
    /// candidate fits.
    pub(super) fn largest(
        window: &Window,
        block_size: usize,
        bytes: usize,
        candidates: usize,
    ) -> Option<Self> {
        let fits = |tile: &Self| tile.area_bytes() <= bytes;
        let row = Self::new(window.columns(), 1, block_size);
        let (columns, rows) = if fits(&row) && row.columns <= candidates {
            let rows = bytes / (4 * row.area_words) + 1 - block_size;
            (row.columns, rows.min(candidates / row.columns).min(window.rows()))
        } else {
            let words = bytes / (4 * block_size);
            // The most columns whose `area_words` are no more than these words.
            let columns = (4 * words).checked_sub(block_size + 3)?;
            (columns.min(candidates).min(window.columns()), 1)
        };
        // Tiles of one size: the last is not left with a few candidates for the whole group.
        let across = window.columns().div_ceil(columns);
        let down = window.rows().div_ceil(rows);
        let tile = Self::new(window.columns().div_ceil(across), window.rows().div_ceil(down), block_size);
        fits(&tile).then_some(tile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_fit_and_cover_every_window() {
        for block_size in (4..=64).step_by(4) {
            for (x, y) in [(0, 0), (1, 0), (16, 16), (500, 1), (2000, 2000), (8191, 8191)] {
                let window = Window::symmetric(x, y).unwrap();
                for bytes in [6 << 10, 24 << 10, 1 << 20] {
                    for candidates in [1, 3, 1024, usize::MAX] {
                        let tile = Tile::largest(&window, block_size, bytes, candidates).unwrap();
                        assert!(tile.area_bytes() <= bytes, "{tile:?} in {bytes}");
                        assert!(tile.columns * tile.rows <= candidates, "{tile:?} of {candidates}");
                        assert!(1 <= tile.columns && tile.columns <= window.columns());
                        assert!(1 <= tile.rows && tile.rows <= window.rows());
                        assert!(tile.count(&window) * tile.columns * tile.rows >= window.candidates());
                    }
                }
            }
        }
        // One candidate's area is room enough for a tile, and one byte less is not.
        for block_size in (4..=64).step_by(4) {
            let window = Window::symmetric(20, 20).unwrap();
            let least = Tile::least_bytes(block_size);
            assert!(Tile::largest(&window, block_size, least, usize::MAX).is_some(), "{block_size}");
            assert!(Tile::largest(&window, block_size, least - 1, usize::MAX).is_none(), "{block_size}");
        }
        assert!(Tile::largest(&Window::symmetric(1, 1).unwrap(), 64, 4000, usize::MAX).is_none());
    }
}
