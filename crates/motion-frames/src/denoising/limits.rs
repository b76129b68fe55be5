//! The numbers by which noise is estimated, as the definition fixes them.

use super::rules::SAMPLES;

/// Brightness is divided into as many shades, each with its own noise.
pub(crate) const SHADES: usize = 8;

/// The place of all shades together, behind them.
pub(super) const ALL: usize = SHADES;

/// The noise of each shade of brightness, and of all.
pub(super) type ShadeNoise = [Option<u64>; SHADES + 1];

/// The blocks of an area on each axis, or a few more.
pub(super) const AREA: usize = 8;

/// The most blocks of an area.
pub(super) const MOST_OF_AREA: usize = (2 * AREA - 1) * (2 * AREA - 1);

/// A frame of more blocks is estimated from every second one.
pub(super) const MOST_ASKED: usize = 1 << 13;

/// What a frame tells as a whole is told by at most as many of the blocks that are asked: with the least odd step from one to the next
/// that leaves no more, so that they are seldom in the same columns of all rows.
pub(super) const MOST_SAMPLED: usize = 1 << 11;

/// A shade of an area, or all of it, has its own estimate if at least as many blocks tell it.
pub(super) const LEAST_OF_AREA: usize = 16;

/// A shade of the frame.
pub(super) const LEAST_OF_SHADE: usize = 64;

/// The noise of a shade of the frame is at most as many times that of the frame: in a frame without noise a shade whose
/// blocks all move would seem to have some.
pub(super) const MOST_OF_SHADE: u64 = 16;

/// A block whose texture has as many times the variance of the noise must be found by the search.
pub(super) const TEXTURE: u64 = 16;

/// Such a block is found if its texture has at least as many times the variance of the difference.
pub(super) const FOUND: u64 = 4;

/// A block whose difference has more than as many times its own variance is not found either: the other block has more
/// texture.
pub(super) const MORE_TEXTURE: u64 = 4;

/// The difference of two means has other reasons than noise if its square is more than as many times what noise makes of
/// it.
pub(super) const LIGHT: u64 = 16;

/// As many halves of what linear interpolation seems to lose are no noise: where samples change fast, it loses more.
pub(super) const LOSS: u64 = 3;

/// Noise of less is none: the variance 1/12, which is what rounding makes.
pub(super) const LEAST: u64 = SAMPLES / 12;

/// All that blocks tell is noise if 15 of 16 tell at most as many times what the lower quartile of them tells. With noise
/// blurred by 1.5 samples they tell 3 times as much; where textures are not found, and in what coding leaves, 7 times and more.
pub(super) const EVEN: u64 = 5;

/// A block is plain if as many times its structure is not more than its noise.
pub(super) const PLAIN: u64 = 2;

/// Blocks have mostly white noise if at least this part of their variation is in the differences of neighbouring samples.
pub(super) const WHITE: [u64; 2] = [5, 8];

/// What is left of the variance of noise where its lower or upper half is cut off, in 256ths: for means that are 0, 1, …
/// quarters of the noise's deviation away from the limit.
pub(super) const CLIPPED: [u64; 12] = [0, 54, 107, 150, 183, 207, 226, 238, 246, 250, 253, 256];

/// The same for means in quarters of the deviation that is left. Below two quarters it cannot be told.
pub(super) const LEFT: [u64; 12] = [0, 12, 49, 102, 154, 192, 218, 234, 244, 250, 253, 256];

/// What the frame tells counts in full, which is this, if the search has lost at most 3 of 16 blocks, and not at all if it
/// has lost 4.
pub(super) const TRUST: u64 = 256;

/// Differences tell no noise where the search has lost more than this part of the blocks.
pub(super) const LOST: usize = 4;

/// The previous frame shows another scene if more than this part of all blocks are lost in it, in 256ths.
pub(super) const LOST_OF_SCENE: usize = 128;

/// A frame of which more than this part of the blocks repeats the other frame is clean.
pub(super) const REPEATS: usize = 4;

/// A frame of which at least this part of the blocks is flat and repeats the other frame has bars.
pub(super) const BARS: usize = 32;

/// An area has its own noise if that is more than as many times the noise of the frame, or less than the noise of the frame
/// divided by [`LITTLE`].
pub(super) const MORE_NOISE: u64 = 4;

/// Blocks of an area are alike if all tell less than this part of the noise of the frame: they have none.
pub(super) const LITTLE: u64 = 16;
