//! Motion fields in the layouts in which encoders take vectors from outside.
//!
//! Pure functions from a [`Field`] to records, which an application hands to the encoder. `docs/how/encoders.md` has the
//! layouts in a table, and what is known of their use. All are little-endian, as the encoders' hosts are.
//!
//! A field must be that of the frame in the one frame that the encoder refers to. Vectors have the direction of those
//! of H.264 in each of these layouts: from a block of the frame to its match in the reference frame.

pub mod d3d12;
mod error;
pub mod nvenc;
pub mod x265;

pub use error::PackError;

use crate::compensation::Field;
use motion_base::MotionVector;

/// The most samples of a frame on an axis, those of the largest texture of Direct3D 12.
pub const MAX_FRAME_SIDE: usize = 16384;

fn check_frame(field: &Field<'_>) -> Result<(usize, usize), PackError> {
    let (width, height) = field.frame_size();
    if width.max(height) > MAX_FRAME_SIDE {
        Err(PackError::FrameSize(width, height))
    } else {
        Ok((width, height))
    }
}

/// The side of the field's blocks, which must be one of `sides`.
fn check_blocks(
    field: &Field<'_>,
    layout: &'static str,
    sides: &'static [usize],
) -> Result<usize, PackError> {
    let (width, height) = field.block_size();
    if width == height && sides.contains(&width) {
        Ok(width)
    } else {
        Err(PackError::BlockSize { layout, sides, width, height })
    }
}

/// `vector` in `parts` of a sample, across and down; `None` if the block has no match.
fn displacement(field: &Field<'_>, vector: MotionVector, parts: i64) -> Option<(i32, i32)> {
    (vector.cost != u32::MAX).then(|| (field.rounded(vector.x, parts), field.rounded(vector.y, parts)))
}

/// The place of the `index`-th block of a square in coding order, across and down: its even and its odd bits.
fn place_in_coding_order(index: usize) -> (usize, usize) {
    let even_bits = |n: usize| (n & 1) | (n >> 1 & 2) | (n >> 2 & 4);
    (even_bits(index), even_bits(index >> 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coding_order() {
        let places: Vec<_> = (0..8).map(place_in_coding_order).collect();
        assert_eq!(places, [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (3, 0), (2, 1), (3, 1)]);
        assert_eq!((place_in_coding_order(32), place_in_coding_order(63)), ((0, 4), (7, 7)));
    }

    #[test]
    fn what_no_layout_holds() {
        let vectors = [MotionVector::default(); 4];
        let large = Field::new((usize::MAX, 1), (usize::MAX, 16), &vectors[..1]).unwrap();
        let size = PackError::FrameSize(usize::MAX, 1);
        assert_eq!(d3d12::move_rects(&large), Err(size.clone()));
        assert_eq!(d3d12::motion_maps(&large, 0), Err(size));
        assert!(nvenc::h264_hints(&large).is_err() && nvenc::av1_hints(&large).is_err());
        assert!(x265::analysis_records(&large, x265::CodingTree::Side64).is_err());

        let wide = Field::new((16 * MAX_FRAME_SIDE / 8, 16), (MAX_FRAME_SIDE / 2, 16), &vectors).unwrap();
        assert!(d3d12::move_rects(&wide).is_err());
        let oblong = Field::new((32, 16), (16, 8), &vectors).unwrap();
        let error = nvenc::h264_hints(&oblong).unwrap_err();
        assert_eq!(
            error.to_string(),
            "NVENC's hints for H.264 need blocks with a side of 8 or 16, got 16 x 8"
        );
        let small = Field::new((8, 8), (4, 4), &vectors).unwrap();
        assert!(nvenc::av1_hints(&small).is_err());
        let error = x265::analysis_records(&small, x265::CodingTree::Side32).unwrap_err();
        assert_eq!(
            error.to_string(),
            "x265's analysis records need blocks with a side of 8 or 16 or 32 or 64, got 4 x 4"
        );
    }
}
