//! Middlebury's `.flo`: one vector a sample, as optical flow is scored.

use crate::meta::MotionVectorMeta;
use motion_search::estimator::MotionVector;

/// The most samples of a frame: 2 GiB of floats. Caps may promise 2^62.
pub(super) const MOST_SAMPLES: u64 = 1 << 28;

/// The value for motion that is not known.
const UNKNOWN: f32 = 1e10;

/// Appends the file of a frame of `width × height` samples, which have at most [`MOST_SAMPLES`]: tag, width and height, then x and y of each sample as 32-bit floats, little-endian.
///
/// The vectors are those of the blocks at their middles, and between these bilinear.
pub(super) fn write((width, height): (u32, u32), field: Option<&MotionVectorMeta>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"PIEH");
    for side in [width, height] {
        out.extend_from_slice(&side.to_le_bytes());
    }
    let samples = width as usize * height as usize;
    out.reserve(8 * samples);
    let Some(field) = field else {
        (0..2 * samples).for_each(|_| out.extend_from_slice(&UNKNOWN.to_le_bytes()));
        return;
    };
    let description = field.description();
    let columns = description.columns as usize;
    let unit = 1.0 / description.scale as f32;
    let across = Middles { block: description.block_width, blocks: description.columns };
    let down = Middles { block: description.block_height, blocks: description.rows };
    let columns_around: Vec<_> = (0..width).map(|x| across.around(x)).collect();
    for y in 0..height {
        let (above, below, share_below) = down.around(y);
        let row = |row: usize| &field.vectors()[row * columns..][..columns];
        let (above, below) = (row(above), row(below));
        for &(left, right, share_right) in &columns_around {
            let between = |component: fn(&MotionVector) -> i16| {
                let mix = |a: f32, b: f32, share: f32| a + (b - a) * share;
                let of = |row: &[MotionVector], column: usize| f32::from(component(&row[column])) * unit;
                let above = mix(of(above, left), of(above, right), share_right);
                let below = mix(of(below, left), of(below, right), share_right);
                mix(above, below, share_below)
            };
            out.extend_from_slice(&between(|vector| vector.x).to_le_bytes());
            out.extend_from_slice(&between(|vector| vector.y).to_le_bytes());
        }
    }
}

/// The middles of the blocks on an axis.
struct Middles {
    /// Samples of a block.
    block: u32,
    blocks: u32,
}

impl Middles {
    /// The blocks whose middles are before and after sample `at`, and the share of the second: those of the first or
    /// last block, where there is no other.
    fn around(&self, at: u32) -> (usize, usize, f32) {
        let position = (at as f32 - (self.block - 1) as f32 / 2.0) / self.block as f32;
        let position = position.clamp(0.0, (self.blocks - 1) as f32);
        let last = self.blocks as usize - 1;
        // The last block's number is rounded up where there are more than 2^24.
        let before = (position as usize).min(last);
        (before, (before + 1).min(last), position.fract())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_lie_between_the_middles_of_two_blocks() {
        let middles = Middles { block: 8, blocks: 3 };
        assert_eq!(middles.around(0), (0, 1, 0.0));
        assert_eq!(middles.around(4), (0, 1, 0.0625));
        assert_eq!(middles.around(11), (0, 1, 0.9375));
        assert_eq!(middles.around(12), (1, 2, 0.0625));
        assert_eq!(middles.around(23), (2, 2, 0.0));
        assert_eq!(Middles { block: 16, blocks: 1 }.around(5), (0, 0, 0.0));
        let many = (1 << 24) + 4;
        let (before, after, _) = Middles { block: 1, blocks: many }.around(many - 1);
        assert!(before < many as usize && after < many as usize, "{before} {after}");
    }
}
