//! Records for `x265_picture.analysisData` of x265 3.5, with `analysis-load-reuse-level=10` and without an analysis file.
//!
//! The arrays are those of `x265_analysis_inter_data` in `x265.h`, with one record for each coding unit: coding tree units
//! in raster order, in each its coding units in coding order, also those beyond the frame. The header does not say so, nor
//! what `MODE_INTER` and `SIZE_2Nx2N` are: that is in `Encoder::readAnalysisFile` and `cudata.h` of its sources.
//!
//! The records are decisions. With `refine-inter=0` the encoder takes partitions and vectors as they are; from 1 on it
//! searches around the vectors, and more.
//!
//! Besides, the application must set `poc`, `sliceType`, `numCUsInFrame`, `numPartitions`, `depthBytes` (the number of
//! records) and `saveParam` (of the first frame), and give `wt` and `intraData`, which x265 also copies for P frames: for
//! these any values will do. I frames need the records of an earlier encode.

use super::{PackError, check_blocks, check_frame, displacement};
use crate::compensation::Field;

const MODE_INTER: u8 = 1;
const SIZE_2NX2N: u8 = 0;
const LIST_0: u8 = 1;
/// The least side of a coding unit, x265's default `min-cu-size`.
const LEAST_UNIT: usize = 8;

/// The side of coding tree units (`ctu`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodingTree {
    /// 16 samples.
    Side16 = 16,
    /// 32 samples.
    Side32 = 32,
    /// 64 samples, x265's default.
    Side64 = 64,
}

/// An `x265_analysis_MV`, in quarter samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct AnalysisVector {
    /// To the right.
    pub x: i32,
    /// Down.
    pub y: i32,
}

/// The arrays of an `x265_analysis_inter_data` under their names there, of list 0 where there are two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalysisRecords {
    /// `depth`: how often the coding tree unit is divided.
    pub depth: Vec<u8>,
    /// `modes`: all `MODE_INTER`.
    pub modes: Vec<u8>,
    /// `partSize`: all `SIZE_2Nx2N`.
    pub part_size: Vec<u8>,
    /// `mergeFlag`: none.
    pub merge_flag: Vec<u8>,
    /// `interDir`: all list 0.
    pub inter_dir: Vec<u8>,
    /// `mvpIdx[0]`: all the first predictor.
    pub mvp_idx: Vec<u8>,
    /// `refIdx[0]`: all the first reference frame.
    pub ref_idx: Vec<i8>,
    /// `mv[0]`.
    pub mv: Vec<AnalysisVector>,
}

/// The records of a P frame: a coding unit for each block, smaller ones down to 8 x 8 where the frame ends inside a block,
/// as HEVC has none across its edge.
///
/// Vectors are clipped to the 16 bits of HEVC. A block without a match gets (0, 0), as there is no record without a
/// vector; a coding unit beyond the frame gets the vector of the nearest block.
///
/// # Errors
/// [`PackError::BlockSize`] unless the blocks are of 8 x 8, 16 x 16, 32 x 32 or 64 x 64, [`PackError::FrameSize`].
pub fn analysis_records(field: &Field<'_>, coding_tree: CodingTree) -> Result<AnalysisRecords, PackError> {
    let (width, height) = check_frame(field)?;
    let side = check_blocks(field, "x265's analysis records", &[8, 16, 32, 64])?;
    let (mut depth, mut mv) = (Vec::new(), Vec::new());
    for top in (0..height).step_by(coding_tree as usize) {
        for left in (0..width).step_by(coding_tree as usize) {
            let mut record = |x: usize, y: usize, unit: usize| {
                let found = displacement(field, field.block(x / side, y / side), 4);
                let (x, y) = found.unwrap_or_default();
                let clip = |quarters: i32| quarters.clamp(i16::MIN.into(), i16::MAX.into());
                mv.push(AnalysisVector { x: clip(x), y: clip(y) });
                depth.push((coding_tree as usize / unit).ilog2() as u8);
            };
            divide((left, top), coding_tree as usize, side, (width, height), &mut record);
        }
    }
    let count = depth.len();
    Ok(AnalysisRecords {
        depth,
        modes: vec![MODE_INTER; count],
        part_size: vec![SIZE_2NX2N; count],
        merge_flag: vec![0; count],
        inter_dir: vec![LIST_0; count],
        mvp_idx: vec![0; count],
        ref_idx: vec![0; count],
        mv,
    })
}

/// Calls `record` with the place and side of each coding unit of the `unit` x `unit` samples at `(x, y)`.
fn divide(
    (x, y): (usize, usize),
    unit: usize,
    side: usize,
    (width, height): (usize, usize),
    record: &mut impl FnMut(usize, usize, usize),
) {
    let is_across_edge = (x < width && width < x + unit) || (y < height && height < y + unit);
    if unit > LEAST_UNIT && (unit > side || is_across_edge) {
        let half = unit / 2;
        for (x, y) in [(x, y), (x + half, y), (x, y + half), (x + half, y + half)] {
            divide((x, y), half, side, (width, height), record);
        }
    } else {
        record(x, y, unit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motion_base::MotionVector;

    /// A field whose vectors are their block's number across.
    fn numbers(count: i16) -> Vec<MotionVector> {
        (0..count).map(|x| MotionVector { x, y: 0, cost: 1 }).collect()
    }

    fn found(records: &AnalysisRecords) -> Vec<i32> {
        records.mv.iter().map(|vector| vector.x).collect()
    }

    #[test]
    fn coding_units() {
        // 12 of 32 units are 1.5 quarters, 11 are 1.375.
        let mut vectors = vec![MotionVector { x: 12, y: -12, cost: 7 }; 6];
        vectors[4] = MotionVector { x: -32, y: 11, cost: u32::MAX - 1 };
        let field = Field::new((48, 32), (16, 16), &vectors).unwrap().with_scale(32);
        let records = analysis_records(&field, CodingTree::Side32).unwrap();
        // Two coding tree units; of the second one, the right half is beyond the frame.
        assert_eq!(records.depth, [1; 8]);
        let mut mv = [AnalysisVector { x: 2, y: -2 }; 8];
        mv[3] = AnalysisVector { x: -4, y: 1 };
        assert_eq!(records.mv, mv);
        assert_eq!(
            (&records.modes[..], &records.inter_dir[..], &records.ref_idx[..]),
            (&[1; 8][..], &[1; 8][..], &[0; 8][..])
        );
        for zeros in [&records.part_size, &records.merge_flag, &records.mvp_idx] {
            assert_eq!(zeros[..], [0; 8]);
        }
        assert_eq!(bytemuck::bytes_of(&records.mv[0]), [2, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff]);
    }

    #[test]
    fn coding_order() {
        let (vectors, side) = (numbers(16), CodingTree::Side64);
        let records = analysis_records(&Field::new((64, 64), (16, 16), &vectors).unwrap(), side).unwrap();
        assert_eq!(found(&records), [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]);
        assert_eq!(records.depth, [2; 16]);
        // Blocks larger than a coding tree unit.
        let large = Field::new((128, 64), (64, 64), &vectors[..2]).unwrap();
        let records = analysis_records(&large, CodingTree::Side16).unwrap();
        assert_eq!((records.depth, records.mv.len()), (vec![0; 32], 32));
        let records = analysis_records(&large, side).unwrap();
        assert_eq!((found(&records), records.depth), (vec![0, 1], vec![0, 0]));
    }

    #[test]
    fn edges() {
        // 24 x 16 in one coding tree unit: the frame ends inside the second block and above the lower half.
        let vectors = numbers(2);
        let records =
            analysis_records(&Field::new((24, 16), (16, 16), &vectors).unwrap(), CodingTree::Side32).unwrap();
        assert_eq!(records.depth, [1, 2, 2, 2, 2, 1, 2, 2, 2, 2]);
        assert_eq!(found(&records), [0, 1, 1, 1, 1, 0, 1, 1, 1, 1]);
        // Each coding tree unit is whole, whatever the size of the frame.
        for (width, height) in [(1_usize, 1_usize), (7, 130), (65, 63), (200, 104)] {
            for side in [8, 16, 32, 64_usize] {
                let vectors = numbers((width.div_ceil(side) * height.div_ceil(side)) as i16);
                let field = Field::new((width, height), (side, side), &vectors).unwrap();
                for tree in [CodingTree::Side16, CodingTree::Side32, CodingTree::Side64] {
                    let records = analysis_records(&field, tree).unwrap();
                    let unit = tree as usize;
                    let samples: usize = records.depth.iter().map(|depth| (unit >> depth).pow(2)).sum();
                    assert_eq!(samples, width.next_multiple_of(unit) * height.next_multiple_of(unit));
                }
            }
        }
    }

    #[test]
    fn limits() {
        let vectors =
            [MotionVector { x: i16::MAX, y: i16::MIN, cost: 1 }, MotionVector { x: 9, y: 9, cost: u32::MAX }];
        let field = Field::new((32, 16), (16, 16), &vectors).unwrap().with_scale(1);
        let records = analysis_records(&field, CodingTree::Side16).unwrap();
        assert_eq!(records.mv, [AnalysisVector { x: 32767, y: -32768 }, AnalysisVector::default()]);
    }
}
