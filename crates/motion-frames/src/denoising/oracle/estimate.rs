//! What a block tells about noise by the error of its prediction.

use super::super::limits::{CLIPPED, FOUND, LEFT, LOSS, MORE_TEXTURE, TEXTURE};
use super::super::rules::SAMPLES;
use super::blocks::{DefinedChromaBlock, DefinedLumaBlock};
use super::prediction::{DefinedChromaError, DefinedLumaError};

/// The variation of 64 samples with a deviation of 1 in eight bits.
pub(super) fn square_of_one(depth: u32) -> u64 {
    let one = 1 << (depth - 8);
    SAMPLES * one * one
}

/// The most noise that a block with this variation can have, as 64 samples have it.
fn most_noise(variation: u64, samples: u64, depth: u32) -> u64 {
    (SAMPLES * variation / samples).max(square_of_one(depth))
}

/// Whether a block is flat and repeats the other frame.
pub(super) fn is_flat_repeat(block: &DefinedLumaBlock, error: &DefinedLumaError) -> bool {
    error.squares == 0 && block.is_flat()
}

/// The noise of a block of luma whose squared difference is `difference`, as 64 samples have it; `None` if the block does not tell.
pub(super) fn of_luma(
    block: &DefinedLumaBlock,
    error: &DefinedLumaError,
    difference: u64,
    depth: u32,
) -> Option<u64> {
    if !block.is_whole() || is_flat_repeat(block, error) {
        return None;
    }
    let noise = (256 * difference / (256 + error.gain)).min(most_noise(block.variation, SAMPLES, depth));
    if noise == 0 {
        return Some(0);
    }
    // The noise that it would have if no sample was cut off. Nearer to the limit than half a deviation that cannot be told.
    let left = part_left(&LEFT, noise, block, depth);
    if left < LEFT[2] { None } else { Some(256 * noise / left) }
}

/// What is left of `noise` in a block whose samples are cut off at black and white.
pub(super) fn cut_off(noise: u64, block: &DefinedLumaBlock, depth: u32) -> u64 {
    if noise == 0 { 0 } else { noise * part_left(&CLIPPED, noise, block, depth) / 256 }
}

/// The value of `table` for the distance of the block's mean from black or white in deviations of `noise`: straight lines
/// between values at each quarter of a deviation.
fn part_left(table: &[u64; 12], noise: u64, block: &DefinedLumaBlock, depth: u32) -> u64 {
    let white = block.samples * ((1 << depth) - 1);
    let distance = block.sum.min(white - block.sum);
    // The deviation is an eighth of the root of the noise of 64 samples. This is in 256ths of a quarter of it.
    let quarters = (distance << 21) / block.samples / (noise << 16).isqrt();
    let (quarter, part) = ((quarters / 256) as usize, quarters % 256);
    if quarter >= table.len() - 1 {
        return 256;
    }
    table[quarter] + (table[quarter + 1] - table[quarter]) * part / 256
}

/// The noise of a block of chroma, as 64 samples have it.
pub(super) fn of_chroma(block: &DefinedChromaBlock, error: &DefinedChromaError, depth: u32) -> u64 {
    // f (1 - f) / 2 on each axis, in 128ths.
    let (x, y) = error.fraction;
    let (x, y) = ((x * (8 - x)) as i64, (y * (8 - y)) as i64);
    // What linear interpolation loses, and what it loses of white noise of variance 256: its second differences have a
    // variance of 6, and the product of both has a mean of 4.
    let lost =
        (x * x * block.along + y * y * block.down + 2 * x * y * block.both).max(0) as u64 / (128 * 128);
    let lost_of_noise = (6 * (x * x + y * y) + 2 * 4 * x * y) as u64 / 64;
    let difference = error.squares.saturating_sub(LOSS * lost / 2);
    let of_noise = 256 + error.gain - LOSS * lost_of_noise / 2;
    let mut noise = 256 * SAMPLES * difference / (block.samples * of_noise);
    // Only blocks that repeat the other frame have none.
    if noise == 0 && error.squares > 0 {
        noise = 1;
    }
    noise.min(most_noise(block.variation, block.samples, depth))
}

/// Whether the search has found the texture of a block with this difference.
pub(super) fn is_found(block: &DefinedLumaBlock, difference: u64) -> bool {
    FOUND * difference <= block.variation
}

/// Whether the search has not found a block with this difference, by the `noise` that is estimated for it. `coarse` is the
/// noise of the frame where it is known to be noise however coarse.
pub(super) fn is_lost(
    block: &DefinedLumaBlock,
    difference: u64,
    noise: u64,
    coarse: Option<u64>,
    depth: u32,
) -> bool {
    if is_found(block, difference) {
        return false;
    }
    let has_texture = block.variation >= TEXTURE * noise;
    let has_more_texture = difference > MORE_TEXTURE * most_noise(block.variation, block.samples, depth);
    let structure = block.variation - block.white;
    let is_structure = structure >= 3 * block.variation / 4 && block.variation > square_of_one(depth);
    let is_coarse_noise = match coarse {
        Some(coarse) => difference <= 2 * MORE_TEXTURE * coarse,
        None => false,
    };
    has_texture || has_more_texture || is_structure && difference > block.variation && !is_coarse_noise
}
