//! What a field of any blocks says of macroblocks.

use motion_search::quantizer::{BlockMotion, MACROBLOCK};

use crate::meta::MotionVectorMeta;

/// How the macroblocks of an axis cover the blocks of a field.
#[derive(Default)]
struct MacroblockShares {
    /// Samples of the frame, and the side of the field's blocks.
    of: (u32, u32),
    /// For each macroblock: the block that holds its centre, and where its shares begin.
    macroblocks: Vec<(usize, usize)>,
    /// Blocks, and the share of each one's cost that the macroblock has.
    shares: Vec<(usize, f32)>,
}

impl MacroblockShares {
    /// Brings it up to date for `samples` of the frame in blocks of `side`.
    fn set(&mut self, samples: u32, side: u32) {
        if std::mem::replace(&mut self.of, (samples, side)) == (samples, side) {
            return;
        }
        self.macroblocks.clear();
        self.shares.clear();
        let (samples, side) = (samples as usize, side as usize);
        let count = samples.div_ceil(side);
        for start in (0..samples).step_by(MACROBLOCK) {
            let centre = (start + MACROBLOCK / 2).min(samples - 1);
            self.macroblocks.push((centre / side, self.shares.len()));
            // Blocks at the edge are whole, but a macroblock may reach beyond them.
            let end = (start + MACROBLOCK).min(count * side);
            for block in start / side..end.div_ceil(side) {
                let overlap = end.min((block + 1) * side) - start.max(block * side);
                let scale = MACROBLOCK as f32 / (end - start) as f32;
                self.shares.push((block, overlap as f32 / side as f32 * scale));
            }
        }
    }

    /// The block at the centre of macroblock `index`, and all that it covers.
    fn at(&self, index: usize) -> (usize, &[(usize, f32)]) {
        let (centre, start) = self.macroblocks[index];
        let end = self.macroblocks.get(index + 1).map_or(self.shares.len(), |&(_, next)| next);
        (centre, &self.shares[start..end])
    }
}

/// Gives macroblocks what fields say of their blocks.
#[derive(Default)]
pub struct Resampler {
    across: MacroblockShares,
    down: MacroblockShares,
    blocks: Vec<BlockMotion>,
}

impl Resampler {
    /// The motion of the macroblocks, columns by rows, of the frame of `field`: the vector of the block at the centre, and
    /// its share of the costs of all blocks. `None` if `field` lacks the costs `intra` or `satd`, or has another grid.
    pub fn resample(
        &mut self,
        field: &MotionVectorMeta,
        (columns, rows): (usize, usize),
    ) -> Option<&[BlockMotion]> {
        let (description, costs) = (field.description(), field.costs()?);
        let (intra, satd) = (costs.place_of("intra")?, costs.place_of("satd")?);
        self.across.set(description.width, description.block_width);
        self.down.set(description.height, description.block_height);
        if (self.across.macroblocks.len(), self.down.macroblocks.len()) != (columns, rows) {
            return None;
        }
        let (values, names) = (costs.values(), costs.names().len());
        let unit = 1.0 / (description.scale as f32 * MACROBLOCK as f32);
        let block_columns = description.columns as usize;
        self.blocks.clear();
        for row in 0..rows {
            let (block_row, covered_rows) = self.down.at(row);
            for column in 0..columns {
                let (block_column, covered_columns) = self.across.at(column);
                let vector = field.vectors()[block_row * block_columns + block_column];
                let mut block = BlockMotion {
                    vector: [f32::from(vector.x) * unit, f32::from(vector.y) * unit],
                    ..BlockMotion::default()
                };
                for &(y, share_of_rows) in covered_rows {
                    for &(x, share_of_columns) in covered_columns {
                        let of_block = &values[(y * block_columns + x) * names..][..names];
                        let share = share_of_rows * share_of_columns;
                        block.intra += share * of_block[intra] as f32;
                        block.satd += share * of_block[satd] as f32;
                    }
                }
                self.blocks.push(block);
            }
        }
        Some(&self.blocks)
    }
}
