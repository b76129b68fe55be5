//! Quantiser offsets of frames, beside plain loops.

use gst_video::VideoRegionOfInterestMeta;
use gstmotionestimate::meta::{self, Extras, FieldCosts, FieldDescription, MotionVectorMeta};
use gstmotionestimate::quantizer::{MAX_OFFSET, Origins, QuantizerOffsets, Rule, field_of};
use motion_frames::quantizer::{BlockMotion, MotionOffsets};
use motion_search::estimator::MotionVector;

use crate::fields;
use crate::init;

/// A buffer with a field in blocks of these sides, whose vectors and costs differ from block to block.
fn buffer(size: (u32, u32), block: (u32, u32), names: &[&str]) -> gst::Buffer {
    init();
    let (columns, rows) = (size.0.div_ceil(block.0), size.1.div_ceil(block.1));
    let description = FieldDescription {
        block_width: block.0,
        block_height: block.1,
        columns,
        rows,
        ..fields::description(size.0, size.1, 16)
    };
    let count = columns * rows;
    let vectors: Vec<_> = (0..count)
        .map(|i| MotionVector { x: (i * 37 % 130) as i16 - 65, y: (i * 23 % 90) as i16 - 45, cost: i })
        .collect();
    let cost = |block: u32, index: usize| match names[index] {
        "intra" => 1000 + block * 7919 % 5000,
        "satd" => block * 3001 % 4000,
        _ => 77,
    };
    let costs: Vec<u32> =
        (0..count).flat_map(|block| (0..names.len()).map(move |i| cost(block, i))).collect();
    let bytes = glib::Bytes::from_owned(bytemuck::cast_slice::<u32, u8>(&costs).to_vec());
    let costs = (!names.is_empty())
        .then(|| FieldCosts::new(names.iter().map(|name| (*name).into()).collect(), bytes).unwrap());
    let vectors = glib::Bytes::from_owned(bytemuck::cast_slice::<MotionVector, u8>(&vectors).to_vec());
    let mut buffer = gst::Buffer::new();
    meta::attach(buffer.make_mut(), &description, vectors, Extras { costs, ..Extras::default() }).unwrap();
    buffer
}

const COSTS: [&str; 3] = ["zero", "intra", "satd"];

/// The motion of macroblocks sample by sample: each sample has an equal part of its block's costs.
fn by_samples(field: &MotionVectorMeta) -> Vec<BlockMotion> {
    let of = field.description();
    let [intra, satd] =
        ["intra", "satd"].map(|name| field.costs().unwrap().of(name).unwrap().collect::<Vec<_>>());
    let (block_width, block_height) = (of.block_width as usize, of.block_height as usize);
    let block = |x: usize, y: usize| (y / block_height) * of.columns as usize + x / block_width;
    let mut found = Vec::new();
    for top in (0..of.height as usize).step_by(16) {
        for left in (0..of.width as usize).step_by(16) {
            let centre = |start: usize, size: u32| (start + 8).min(size as usize - 1);
            let vector = field.vectors()[block(centre(left, of.width), centre(top, of.height))];
            let unit = 1.0 / (16.0 * of.scale as f32);
            let mut sums = [0.0_f64; 3];
            for y in top..(top + 16).min(of.rows as usize * block_height) {
                for x in left..(left + 16).min(of.columns as usize * block_width) {
                    let area = (block_width * block_height) as f64;
                    sums[0] += f64::from(intra[block(x, y)]) / area;
                    sums[1] += f64::from(satd[block(x, y)]) / area;
                    sums[2] += 1.0;
                }
            }
            found.push(BlockMotion {
                vector: [f32::from(vector.x) * unit, f32::from(vector.y) * unit],
                intra: (sums[0] * 256.0 / sums[2]) as f32,
                satd: (sums[1] * 256.0 / sums[2]) as f32,
            });
        }
    }
    found
}

#[test]
fn fields_of_any_blocks() {
    for size in [(64, 48), (61, 47), (100, 30), (16, 16), (1, 1), (7, 200)] {
        for block in [(16, 16), (8, 8), (4, 4), (12, 12), (32, 32), (64, 64), (1, 1), (5, 20), (4096, 3)] {
            let buffer = buffer(size, block, &COSTS);
            let field = field_of(&buffer, size).unwrap().unwrap();
            let mut quantizer = QuantizerOffsets::new(size);
            let (columns, rows) = quantizer.grid();
            let mut expected = MotionOffsets::new(columns, rows);
            for rule in [Rule::Past, Rule::Pulse, Rule::Pulse] {
                let origins = quantizer.next(&buffer, Some(&field), (1.5, rule));
                assert_eq!(origins, Origins { motion: true, regions: false });
                let expected = expected.next(&by_samples(&field), rule);
                let is_near = |(found, expected): (&f32, &f32)| (found - 1.5 * expected).abs() < 1e-2;
                assert!(quantizer.offsets().iter().zip(expected).all(is_near), "{size:?} {block:?} {rule:?}");
            }
        }
    }
}

#[test]
fn fields_that_say_too_little() {
    let size = (64, 48);
    for names in [&[][..], &["zero", "intra"], &["satd"]] {
        let buffer = buffer(size, (16, 16), names);
        let field = field_of(&buffer, size).unwrap();
        assert!(field.is_some());
        let mut quantizer = QuantizerOffsets::new(size);
        assert!(!quantizer.next(&buffer, field.as_ref(), (1.0, Rule::Pulse)).any());
        assert!(quantizer.offsets().iter().all(|offset| *offset == 0.0));
    }
    let buffer = buffer(size, (16, 16), &COSTS);
    // A field of another frame is none of this one.
    assert!(field_of(&buffer, (64, 64)).is_err());
    let field = field_of(&buffer, size).unwrap();
    assert!(!QuantizerOffsets::new((64, 64)).next(&buffer, field.as_ref(), (1.0, Rule::Pulse)).any());
}

#[test]
fn regions_add_to_motion() {
    let size = (64, 48);
    let mut buffer = buffer(size, (16, 16), &COSTS);
    let field = field_of(&buffer, size).unwrap();
    let mut plain = QuantizerOffsets::new(size);
    plain.next(&buffer, field.as_ref(), (1.0, Rule::Pulse));
    let mut region = |place, structure: gst::Structure| {
        VideoRegionOfInterestMeta::add(buffer.make_mut(), "face", place).add_param(structure);
    };
    let of = |name: &str| gst::Structure::builder(name);
    // Columns 0 and 1 of row 1, 1 and 2 of rows 1 and 2; what is not understood; beyond all quantisers at the corner.
    region((3, 20, 20, 5), of("roi/x264enc").field("delta-qp", -4).build());
    region((31, 17, 2, 16), of("roi/motionx264enc").field("delta-qp", 2.5).build());
    region((0, 0, 64, 48), of("roi/x264enc").field("delta-qp", "-9").build());
    region((0, 0, 64, 48), of("roi/x264enc").field("delta-qp", f64::NAN).build());
    region((0, 0, 64, 48), of("roi/msdk").field("delta-qp", -9).build());
    region((63, 47, 1, 1), of("roi/x264enc").field("delta-qp", 1000).build());
    let mut quantizer = QuantizerOffsets::new(size);
    let origins = quantizer.next(&buffer, field.as_ref(), (1.0, Rule::Pulse));
    assert_eq!(origins, Origins { motion: true, regions: true });
    #[rustfmt::skip]
    let added = [
        0.0, 0.0, 0.0, 0.0,
        -4.0, -4.0, 2.5, 0.0,
        0.0, 2.5, 2.5, 1000.0,
    ];
    for ((found, plain), added) in quantizer.offsets().iter().zip(plain.offsets()).zip(added) {
        assert_eq!(*found, (plain + added).clamp(-MAX_OFFSET, MAX_OFFSET));
    }
}
