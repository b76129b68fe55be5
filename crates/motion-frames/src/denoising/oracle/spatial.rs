//! What time leaves of the noise, where there is nothing but noise and a slope.

use super::super::rules::BLOCK;

/// A cell of luma of which `left` is left of the noise, as 64 samples have it, nearer to the plane that differs least from it.
pub(super) fn nearer_to_plane(cell: &[[u64; BLOCK]; BLOCK], left: u64, peak: i64) -> [[u64; BLOCK]; BLOCK] {
    // In half samples from the centre.
    let distance = |at: usize| 2 * at as i64 - 7;
    let (mut sum, mut across, mut down, mut squares) = (0, 0, 0, 0);
    for (y, row) in cell.iter().enumerate() {
        for (x, &sample) in row.iter().enumerate() {
            let sample = sample as i64;
            sum += sample;
            across += distance(x) * sample;
            down += distance(y) * sample;
            squares += sample * sample;
        }
    }
    // The squared distances of 64 samples add up to 64 * 21. All is in 64ths.
    let difference = (64 * squares - sum * sum - (across * across + down * down) / 21).max(0) as u64;
    // Half of what one block leaves is noise for sure, as blocks overlap. Wiener's filter keeps the rest, and a quarter at least.
    let noise = 64 * left / 2;
    let kept = if 4 * noise >= 3 * difference { 64 } else { 256 - 256 * noise / difference } as i64;
    let mut nearer = [[0; BLOCK]; BLOCK];
    for (y, row) in nearer.iter_mut().enumerate() {
        for (x, nearer) in row.iter_mut().enumerate() {
            let of_plane = sum + across / 21 * distance(x) + down / 21 * distance(y);
            let of_plane = of_plane.clamp(0, 64 * peak);
            *nearer = ((64 * cell[y][x] as i64 * kept + of_plane * (256 - kept) + 8192) / 16384) as u64;
        }
    }
    nearer
}
