//! The areas of a frame, which may have a noise of their own.

use std::ops::Range;

use super::limits::AREA;
use super::rules::BLOCK;

/// The areas of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Areas {
    /// Blocks of a row, and rows.
    pub blocks: (usize, usize),
    /// Areas of a row, and rows.
    pub count: (usize, usize),
}

impl Areas {
    /// Those of a frame of `width` x `height` luma samples.
    pub fn of_frame((width, height): (usize, usize)) -> Self {
        let blocks = (width.div_ceil(BLOCK), height.div_ceil(BLOCK));
        let count = |blocks: usize| (blocks / AREA).max(1);
        Self { blocks, count: (count(blocks.0), count(blocks.1)) }
    }

    /// The areas of a row of blocks, and the columns of each.
    pub fn of_row(&self, row: usize) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
        let Self { blocks, count } = *self;
        let first = row * count.1 / blocks.1 * count.0;
        (0..count.0).map(move |column| (first + column, within(column, count.0, blocks.0)))
    }

    /// The blocks of an area whose numbers are multiples of `step`.
    pub fn blocks(&self, area: usize, step: usize) -> impl Iterator<Item = usize> + Clone + use<> {
        let columns = within(area % self.count.0, self.count.0, self.blocks.0);
        let rows = within(area / self.count.0, self.count.1, self.blocks.1);
        let width = self.blocks.0;
        rows.flat_map(move |row| {
            let (start, end) = (row * width + columns.start, row * width + columns.end);
            (start.next_multiple_of(step)..end).step_by(step)
        })
    }

    /// The areas around an area, and itself.
    pub fn around(&self, area: usize) -> impl Iterator<Item = usize> + use<> {
        let (column, row, count) = (area % self.count.0, area / self.count.0, self.count);
        let near = |at: usize, count: usize| at.saturating_sub(1)..(at + 2).min(count);
        near(row, count.1)
            .flat_map(move |row| near(column, count.0).map(move |column| row * count.0 + column))
    }
}

/// The columns or rows of one of `count` areas, of `blocks`.
fn within(area: usize, count: usize, blocks: usize) -> Range<usize> {
    (area * blocks).div_ceil(count)..((area + 1) * blocks).div_ceil(count)
}
