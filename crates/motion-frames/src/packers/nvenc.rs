//! External motion hints of NVIDIA's encoder: whole samples, in list 0.
//!
//! The layouts are those of `nvEncodeAPI.h` of the Video Codec SDK, version 13.0. Its bit fields begin with the least
//! significant bit, as compilers for x86 and Arm lay them out. A vector that a hint cannot hold would lead the search
//! astray if it were clipped, so the hint becomes invalid (`refidx` 31), as that of a block without a match does.
//!
//! HEVC has the records of H.264, but no document says in which order those of a coding tree block are expected, so
//! there is no function for it.

use std::ops::RangeInclusive;

use super::{PackError, check_blocks, check_frame, displacement, place_in_coding_order};
use crate::compensation::Field;
use motion_base::MotionVector;

/// The `refidx` of an invalid hint.
const INVALID: u32 = 31;

/// An `NVENC_EXTERNAL_ME_HINT`: from bit 0 on `mvx` (12 bits), `mvy` (10), `refidx` (5), `dir` (1), `partType` (2),
/// `lastofPart` (1), `lastOfMB` (1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct H264Hint(pub u32);

/// An `NVENC_EXTERNAL_ME_SB_HINT`, from bit 0 of each word on: `refidx` (5 bits), `direction` (1), `bi` (1),
/// `partition_type` (3), `x8` (3), `last_of_cu` (1), `last_of_sb` (1), 1 unused; `mvx` (14), `cu_size` (2); `mvy` (12),
/// `y8` (3), 1 unused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Av1Hint(pub [u16; 3]);

/// An `NVENC_EXTERNAL_ME_HINT_COUNTS_PER_BLOCKTYPE`: from bit 0 of the first word on the candidates per block of
/// 16 x 16, 16 x 8, 8 x 16 and 8 x 8 (4 bits each) and per superblock (8). The other words are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct HintCounts(pub [u32; 4]);

/// The hints of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hints<T> {
    /// The hints, in the order of the encoder.
    pub records: Vec<T>,
    /// What to set for list 0 in `maxMEHintCountsPerBlock` of the session and `meHintCountsPerBlock` of the frame.
    pub counts: HintCounts,
}

/// Hints for H.264, macroblocks in raster order: one for each of 16 x 16, or four of its blocks of 8 x 8.
///
/// Blocks of 8 x 8 beyond the frame, which the last macroblocks have, get the hint of the nearest block.
///
/// # Errors
/// [`PackError::BlockSize`] unless the blocks are of 8 x 8 or 16 x 16, [`PackError::FrameSize`].
pub fn h264_hints(field: &Field<'_>) -> Result<Hints<H264Hint>, PackError> {
    let (width, height) = check_frame(field)?;
    let side = check_blocks(field, "NVENC's hints for H.264", &[8, 16])?;
    let (across, part_type, counts) = if side == 16 { (1, 0, 1) } else { (2, 3, 1 << 12) };
    let mut records = Vec::with_capacity(width.div_ceil(16) * height.div_ceil(16) * across * across);
    for row in 0..height.div_ceil(16) {
        for column in 0..width.div_ceil(16) {
            for index in 0..across * across {
                let (x, y) = place_in_coding_order(index);
                let vector = field.block(across * column + x, across * row + y);
                let (refidx, x, y) = hint(field, vector, -2048..=2047, -512..=511);
                let is_last = u32::from(index + 1 == across * across);
                let place = part_type << 28 | 1 << 30 | is_last << 31;
                records.push(H264Hint((x as u32 & 0xfff) | (y as u32 & 0x3ff) << 12 | refidx << 22 | place));
            }
        }
    }
    Ok(Hints { records, counts: HintCounts([counts, 0, 0, 0]) })
}

/// Hints for AV1, superblocks of 64 x 64 in raster order, in each one hint for each block inside the frame, in coding
/// order. Their number is `meSbHintsCount`.
///
/// The vectors have two fractional bits, but the header calls them vectors of whole samples: the fraction is zero.
///
/// # Errors
/// [`PackError::BlockSize`] unless the blocks are of 8 x 8, 16 x 16, 32 x 32 or 64 x 64, [`PackError::FrameSize`].
pub fn av1_hints(field: &Field<'_>) -> Result<Hints<Av1Hint>, PackError> {
    let (width, height) = check_frame(field)?;
    let side = check_blocks(field, "NVENC's hints for AV1", &[8, 16, 32, 64])?;
    let (across, cu_size) = (64 / side, side.ilog2() - 3);
    let mut records = Vec::with_capacity(width.div_ceil(side) * height.div_ceil(side));
    for top in (0..height).step_by(64) {
        for left in (0..width).step_by(64) {
            for index in 0..across * across {
                let (x, y) = place_in_coding_order(index);
                if left + x * side >= width || top + y * side >= height {
                    continue;
                }
                let vector = field.block(left / side + x, top / side + y);
                let (refidx, mv_x, mv_y) = hint(field, vector, -1023..=1023, -511..=511);
                let (x8, y8) = ((x * side / 8) as u32, (y * side / 8) as u32);
                let first = refidx | x8 << 10 | 1 << 13;
                let second = ((mv_x << 2) as u32 & 0x3fff) | cu_size << 14;
                let third = ((mv_y << 2) as u32 & 0xfff) | y8 << 12;
                records.push(Av1Hint([first as u16, second as u16, third as u16]));
            }
            if let Some(Av1Hint([first, ..])) = records.last_mut() {
                *first |= 1 << 14;
            }
        }
    }
    Ok(Hints { records, counts: HintCounts([((across * across) as u32) << 16, 0, 0, 0]) })
}

/// `refidx` and the vector in whole samples: invalid if there is none or a range does not hold it.
fn hint(
    field: &Field<'_>,
    vector: MotionVector,
    across: RangeInclusive<i32>,
    down: RangeInclusive<i32>,
) -> (u32, i32, i32) {
    match displacement(field, vector, 1) {
        Some((x, y)) if across.contains(&x) && down.contains(&y) => (0, x, y),
        _ => (INVALID, 0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(x: i16, y: i16) -> MotionVector {
        MotionVector { x, y, cost: 1 }
    }

    #[test]
    fn h264_macroblocks() {
        // Two macroblocks across and two down, the last ones partial.
        let vectors =
            [vector(4, -4), vector(-6, 5), vector(0, 0), MotionVector { cost: u32::MAX, ..vector(8, 8) }];
        let hints = h264_hints(&Field::new((20, 30), (16, 16), &vectors).unwrap()).unwrap();
        assert_eq!(hints.counts, HintCounts([1, 0, 0, 0]));
        // (1, -1), (-1.5 → -2, 1.25 → 1), (0, 0), none; each the last of its partition and macroblock.
        let expected = [0xc03f_f001, 0xc000_1ffe, 0xc000_0000, 0xc7c0_0000].map(H264Hint);
        assert_eq!(hints.records, expected);
        assert_eq!(bytemuck::bytes_of(&hints.records[0]), [0x01, 0xf0, 0x3f, 0xc0]);
        assert_eq!((size_of::<H264Hint>(), size_of::<HintCounts>()), (4, 16));
    }

    #[test]
    fn h264_blocks_of_8() {
        // Three columns and one row: the second macroblock repeats the last column, both the row.
        let vectors = [vector(32, 0), vector(64, 0), vector(0, -32)];
        let field = Field::new((24, 8), (8, 8), &vectors).unwrap().with_scale(32);
        let hints = h264_hints(&field).unwrap();
        assert_eq!(hints.counts.0[0], 0x1000);
        let (one, two, up) = (0x7000_0001, 0x7000_0002, 0x703f_f000);
        let last = 1 << 31;
        let expected = [one, two, one, two | last, up, up, up, up | last].map(H264Hint);
        assert_eq!(hints.records, expected);
    }

    #[test]
    fn h264_limits() {
        let (ok, invalid) = (0xc000_0000_u32, 0xc7c0_0000);
        for (x, y, expected) in [
            (2047, 511, ok | 0x1f_f7ff),
            (-2048, -512, ok | 0x20_0800),
            (2048, 0, invalid),
            (-2049, 0, invalid),
            (0, 512, invalid),
            (0, -513, invalid),
            (i16::MAX, i16::MIN, invalid),
        ] {
            let vectors = [vector(x, y)];
            let field = Field::new((16, 16), (16, 16), &vectors).unwrap().with_scale(1);
            assert_eq!(h264_hints(&field).unwrap().records, [H264Hint(expected)], "({x}, {y})");
        }
    }

    #[test]
    fn av1_superblocks() {
        // 80 x 40: two superblocks. The first has 4 x 3 blocks of 16, the second 1 x 3.
        let mut vectors = vec![vector(0, 0); 15];
        vectors[4] = vector(-4, 12);
        vectors[8] = vector(4 * 1023, -4 * 511);
        vectors[9] = vector(4 * 1024, 0);
        vectors[14] = vector(0, 4 * 512);
        let hints = av1_hints(&Field::new((80, 40), (16, 16), &vectors).unwrap()).unwrap();
        assert_eq!(hints.counts.0, [16 << 16, 0, 0, 0]);
        let places: Vec<_> =
            hints.records.iter().map(|hint| (hint.0[0] >> 10 & 7, hint.0[2] >> 12)).collect();
        let first =
            [(0, 0), (2, 0), (0, 2), (2, 2), (4, 0), (6, 0), (4, 2), (6, 2), (0, 4), (2, 4), (4, 4), (6, 4)];
        assert_eq!(places[..12], first);
        assert_eq!(places[12..], [(0, 0), (0, 2), (0, 4)]);
        let hint = |at: usize| hints.records[at].0;
        // Block (3, 2) of the first superblock: the last one, x8 6, y8 4.
        assert_eq!(hint(11), [0x6000 | 6 << 10, 1 << 14, 4 << 12]);
        // Block (4, 0) of the frame: (-1, 3), so -4 and 12 in quarters.
        assert_eq!(hint(12), [0x2000, 0x7ffc, 12]);
        // Block (3, 1): the largest vector; (4, 1): one too far, invalid; (4, 2): too far down, and the last.
        assert_eq!(hint(7), [0x2000 | 6 << 10, 1 << 14 | 4092, 2 << 12 | 0x804]);
        assert_eq!(hint(13), [0x2000 | 31, 1 << 14, 2 << 12]);
        assert_eq!(hint(14), [0x6000 | 31, 1 << 14, 4 << 12]);
        assert_eq!(bytemuck::cast_slice::<_, u8>(&hints.records).len(), 15 * 6);
    }

    #[test]
    fn av1_block_sizes() {
        for (side, blocks, cu_size) in [(8, 64, 0), (16, 16, 1), (32, 4, 2), (64, 1, 3)] {
            let vectors = vec![vector(0, 0); blocks];
            let hints = av1_hints(&Field::new((64, 64), (side, side), &vectors).unwrap()).unwrap();
            assert_eq!((hints.records.len(), hints.counts.0[0] as usize), (blocks, blocks << 16));
            assert!(hints.records.iter().all(|hint| hint.0[1] >> 14 == cu_size), "{side}");
            let last = hints.records.iter().filter(|hint| hint.0[0] >> 14 & 1 == 1).count();
            assert_eq!(last, 1);
        }
        // Smaller than a block.
        let vectors = [vector(4, 4)];
        let field = Field::new((10, 6), (64, 64), &vectors).unwrap();
        assert_eq!(av1_hints(&field).unwrap().records, [Av1Hint([0x6000, 3 << 14 | 4, 4])]);
    }
}
