//! The areas of a frame, which may have a noise of their own.

use super::rules::BLOCK;

/// The blocks of an area on each axis, or a few more.
const AREA: usize = 8;

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

    /// The area of a block.
    pub fn of(&self, block: usize) -> usize {
        let (column, row) = (block % self.blocks.0, block / self.blocks.0);
        row * self.count.1 / self.blocks.1 * self.count.0 + column * self.count.0 / self.blocks.0
    }

    /// The blocks of an area.
    pub fn blocks(&self, area: usize) -> impl Iterator<Item = usize> + Clone + use<> {
        let within = |at: usize, count: usize, blocks: usize| {
            (at * blocks).div_ceil(count)..((at + 1) * blocks).div_ceil(count)
        };
        let columns = within(area % self.count.0, self.count.0, self.blocks.0);
        let rows = within(area / self.count.0, self.count.1, self.blocks.1);
        let width = self.blocks.0;
        rows.flat_map(move |row| columns.clone().map(move |column| row * width + column))
    }

    /// The areas around an area, and itself.
    pub fn around(&self, area: usize) -> impl Iterator<Item = usize> + use<> {
        let (column, row, count) = (area % self.count.0, area / self.count.0, self.count);
        let near = |at: usize, count: usize| at.saturating_sub(1)..(at + 2).min(count);
        near(row, count.1)
            .flat_map(move |row| near(column, count.0).map(move |column| row * count.0 + column))
    }
}
