//! What time leaves of the noise, taken out where there is nothing but noise and a slope.

use super::rules::{BLOCK, BlockWeights, SAMPLES, WEIGHTS};
use crate::interpolation::{Moments, Plane};

/// Cells keep at least as many 256ths of what differs from their plane: a rest of noise hides the edges of cells, and that
/// of faint texture.
pub(super) const LEAST_KEPT: u64 = 64;

/// The squared distances of a block's samples from its centre on one axis, in half samples, added up.
const SPREAD: i64 = {
    let (mut sum, mut at) = (0, 0);
    while at < BLOCK as i64 {
        sum += (2 * at - (BLOCK as i64 - 1)).pow(2);
        at += 1;
    }
    BLOCK as i64 * sum
};

/// The same for each sample: what a slope adds to the moments is as many times it.
pub(super) const PER_SLOPE: i64 = SPREAD / SAMPLES as i64;

/// What the mean with these weights leaves of `noise`, of which every frame has another.
pub(super) fn left_noise(noise: u64, weights: &BlockWeights) -> u64 {
    let squares: u64 = weights.iter().map(|weight| u64::from(*weight).pow(2)).sum();
    noise * squares / u64::from(WEIGHTS).pow(2)
}

/// The plane that differs least from the samples of a cell with these moments, and how many 256ths of the difference the cell
/// keeps, of whose noise its blocks have `left` at least: by Wiener's filter.
///
/// Blocks that overlap leave less noise than each of them; half of that is surely no texture.
#[inline(always)]
pub(super) fn plane_and_kept(moments: Moments, left: u64) -> (Plane, u16) {
    let Moments { sum, across, down, squares } = moments;
    let plane = Plane { middle: sum, across: across / PER_SLOPE, down: down / PER_SLOPE };
    // 64 times the squared differences from the plane.
    let on_plane = sum * sum + (across * across + down * down) / PER_SLOPE;
    let differing = (SAMPLES * squares).saturating_sub(on_plane as u64);
    let noise = SAMPLES * left / 2;
    let kept = match 256 * noise {
        taken if taken >= (256 - LEAST_KEPT) * differing => LEAST_KEPT,
        // Exact, because the dividend has less than 53 bits, and faster than integer arithmetic.
        taken => 256 - (taken as f64 / differing as f64) as u64,
    };
    (plane, kept as u16)
}
