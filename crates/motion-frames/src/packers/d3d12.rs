//! Motion vectors for the video encoder of Direct3D 12, in quarter samples
//! (`D3D12_VIDEO_ENCODER_FRAME_INPUT_MOTION_UNIT_PRECISION_QUARTER_PIXEL`), for blocks of any size.
//!
//! The layouts are those of Microsoft's specification "D3D12 Video Encoding Quantization matrix, Dirty pixel, Motion
//! Vectors" and of `d3d12video.h`. Blocks without a match have no vector in them.

use super::{PackError, check_frame, displacement};
use crate::compensation::Field;

/// A `D3D12_VIDEO_ENCODER_MOVE_RECT`, all in quarter samples: `SourcePoint`, and `DestRect` without its right column and
/// lower row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
#[allow(missing_docs)]
pub struct MoveRect {
    pub source_x: i32,
    pub source_y: i32,
    pub left: i32,
    pub top: i32,
    pub right: i32,
    pub bottom: i32,
}

/// A map of vectors and its metadata, `height` rows of `width` texels, without padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MotionMaps {
    /// `ppMotionVectorMaps`, `DXGI_FORMAT_R16G16_SINT`: to the right, down.
    pub vectors: Vec<[i16; 2]>,
    /// `ppMotionVectorMapsMetadata`, `DXGI_FORMAT_R8_UINT`: the index of the reference frame, or 255 for no vector.
    pub metadata: Vec<u8>,
}

/// `pMoveRegions` of a `D3D12_VIDEO_ENCODER_MOVEREGION_INFO`, for vectors in a CPU buffer: the part of each block that
/// lies inside the frame, in raster order. They do not overlap.
///
/// # Errors
/// [`PackError::FrameSize`].
pub fn move_rects(field: &Field<'_>) -> Result<Vec<MoveRect>, PackError> {
    let (width, height) = check_frame(field)?;
    let (block_width, block_height) = field.block_size();
    let mut rects = Vec::with_capacity(width.div_ceil(block_width) * height.div_ceil(block_height));
    for (row, top) in (0..height).step_by(block_height).enumerate() {
        for (column, left) in (0..width).step_by(block_width).enumerate() {
            let Some((x, y)) = displacement(field, field.block(column, row), 4) else { continue };
            // At most `MAX_FRAME_SIDE` samples: they fit.
            let quarters = |samples: usize| 4 * samples as i32;
            let (right, bottom) = ((left + block_width).min(width), (top + block_height).min(height));
            let (left, top) = (quarters(left), quarters(top));
            let (right, bottom) = (quarters(right), quarters(bottom));
            rects.push(MoveRect { source_x: left + x, source_y: top + y, left, top, right, bottom });
        }
    }
    Ok(rects)
}

/// A map of `D3D12_VIDEO_ENCODER_INPUT_MAP_DATA_MOTION_VECTORS`, for vectors in textures: each texel has the vector of
/// its block, and metadata the index `reference` of the reference frame in the picture parameters' descriptors. A vector
/// of more than 16 bits is left out.
///
/// # Errors
/// [`PackError::FrameSize`].
pub fn motion_maps(field: &Field<'_>, reference: u8) -> Result<MotionMaps, PackError> {
    let (width, height) = check_frame(field)?;
    let (block_width, block_height) = field.block_size();
    let mut maps = MotionMaps { vectors: Vec::new(), metadata: Vec::new() };
    maps.vectors.reserve_exact(width * height);
    maps.metadata.reserve_exact(width * height);
    for y in 0..height {
        for left in (0..width).step_by(block_width) {
            let vector = field.block(left / block_width, y / block_height);
            let texel = displacement(field, vector, 4)
                .and_then(|(x, y)| Some([i16::try_from(x).ok()?, i16::try_from(y).ok()?]));
            let end = y * width + (left + block_width).min(width);
            maps.vectors.resize(end, texel.unwrap_or_default());
            maps.metadata.resize(end, texel.map_or(u8::MAX, |_| reference));
        }
    }
    Ok(maps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use motion_base::MotionVector;

    fn vector(x: i16, y: i16) -> MotionVector {
        MotionVector { x, y, cost: 1 }
    }

    #[test]
    fn rects() {
        // 20 x 10 in blocks of 16: all partial but for the first one's width.
        let vectors = [vector(-3, 6), MotionVector { cost: u32::MAX, ..vector(0, 0) }];
        let field = Field::new((20, 10), (16, 16), &vectors).unwrap();
        let rects = move_rects(&field).unwrap();
        let expected = MoveRect { source_x: -3, source_y: 6, left: 0, top: 0, right: 64, bottom: 40 };
        assert_eq!(rects, [expected]);
        let bytes: &[u8] = bytemuck::bytes_of(&rects[0]);
        assert_eq!(bytes[..12], [0xfd, 0xff, 0xff, 0xff, 6, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[12..], [0, 0, 0, 0, 64, 0, 0, 0, 40, 0, 0, 0]);

        let vectors = [vector(1, 0), vector(16, -16), vector(-16, 15), vector(i16::MIN, i16::MAX)];
        let field = Field::new((9, 16), (8, 8), &vectors).unwrap().with_scale(32);
        let found: Vec<_> =
            move_rects(&field).unwrap().iter().map(|r| [r.source_x - r.left, r.source_y - r.top]).collect();
        // 0.125 quarters are none, 2 are 2, 1.875 are 2, 4096 and 4095.875 are 4096.
        assert_eq!(found, [[0, 0], [2, -2], [-2, 2], [-4096, 4096]]);
        let last = move_rects(&field).unwrap()[3];
        assert_eq!([last.left, last.top, last.right, last.bottom], [32, 32, 36, 64]);
    }

    #[test]
    fn maps() {
        let vectors = [
            vector(-3, 6),
            vector(8191, -8192),
            vector(8192, 0),
            MotionVector { cost: u32::MAX, ..vector(5, 5) },
        ];
        let field = Field::new((5, 3), (4, 2), &vectors).unwrap();
        let maps = motion_maps(&field, 3).unwrap();
        let (a, b, c, none) = ([-3, 6], [8191, -8192], [8192, 0], [0, 0]);
        assert_eq!(maps.vectors, [a, a, a, a, b, a, a, a, a, b, c, c, c, c, none]);
        assert_eq!(maps.metadata, [3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 255]);
        assert_eq!(bytemuck::cast_slice::<_, u8>(&maps.vectors)[..4], [0xfd, 0xff, 6, 0]);

        // Whole samples beyond 16 bits of quarters are left out; -8192 samples are the most.
        let field = field.with_scale(1);
        let maps = motion_maps(&field, 0).unwrap();
        assert_eq!((maps.vectors[4], maps.metadata[4]), ([32764, -32768], 0));
        assert_eq!((maps.vectors[10], maps.metadata[10]), ([0, 0], 255));
    }
}
