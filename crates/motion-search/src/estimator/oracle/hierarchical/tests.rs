use super::blocks::{record_vector, vectors_of_blocks};
use super::cells::{CellVector, Cells};
use super::check::{Check, medians, offsets};
use super::frames::pyramid;
use super::level::SearchLevel;
use super::refine::pull;
use crate::estimator::oracle::interpolation::{Interpolated, point_of};
use crate::estimator::{
    Algorithm, Frame, Grid, MotionField, MotionVector, Parameters, Quality, Window, oracle,
};

const QUALITIES: [Quality; 3] = [Quality::Fast, Quality::Balanced, Quality::High];

fn search(quality: Quality, block_size: usize, current: &Frame, reference: &Frame) -> MotionField {
    let (width, height) = (current.view().width(), current.view().height());
    let parameters = Parameters {
        algorithm: Algorithm::Hierarchical,
        quality,
        ..Parameters::new(width, height, block_size, Window::default())
    };
    oracle::search(&parameters, &current.view(), &reference.view())
}

/// A texture from 28 to 228 that does not repeat, seen `shift` samples to the right of its origin.
fn texture(width: usize, height: usize, shift: f64) -> Frame {
    Frame::from_fn(width, height, |x, y| {
        let (x, y) = (x as f64 + shift, y as f64);
        let waves = (x / 2.5 + (y / 4.5).sin()).sin() + (y / 2.1 + (x / 5.5).cos()).sin();
        (128.0 + 50.0 * waves).round() as u8
    })
}

/// The frame whose motion in `reference` is (`dx`, `dy`) quarter samples.
fn moved(reference: &Frame, dx: i32, dy: i32) -> Frame {
    let samples = Interpolated::new(&reference.view());
    let (width, height) = (reference.view().width(), reference.view().height());
    Frame::from_fn(width, height, |x, y| samples.sample(4 * x as i32 + dx, 4 * y as i32 + dy) as u8)
}

/// Samples without any motion.
fn noise(width: usize, height: usize, seed: u32) -> Frame {
    let mut state = seed;
    Frame::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
}

/// A vector of a record in quarter samples.
fn quarters(vector: &MotionVector) -> CellVector {
    CellVector::new(vector.x.into(), vector.y.into()).rounded_to(8)
}

/// The records of the blocks that are at least `margin` blocks from every edge.
fn inner(field: &MotionField, margin: usize) -> impl Iterator<Item = &MotionVector> {
    let Grid { columns, rows } = field.grid;
    let indices = (margin..rows - margin)
        .flat_map(move |row| (margin..columns - margin).map(move |column| row * columns + column));
    indices.map(|index| &field.vectors[index])
}

fn row_of(vectors: &[i32]) -> Cells<CellVector> {
    Cells::from_fn(vectors.len() as i32, 1, |(x, _)| CellVector::new(vectors[x as usize], 0))
}

#[test]
fn a_moved_texture_is_found() {
    let reference = texture(120, 96, 0.0);
    // Whole samples, half samples, quarter samples, and more than the coarsest level compares.
    for (dx, dy) in [(0, 0), (12, -8), (10, -6), (-2, 1), (28, 16), (-36, 26)] {
        let current = moved(&reference, dx, dy);
        for (quality, block_size) in QUALITIES.into_iter().flat_map(|q| [4, 8, 16].map(|side| (q, side))) {
            let field = search(quality, block_size, &current, &reference);
            for vector in inner(&field, 32 / block_size) {
                let found = (quarters(vector), vector.cost);
                assert_eq!(found, (CellVector::new(dx, dy), 0), "{quality:?}, blocks of {block_size}");
            }
        }
    }
}

/// The parabolas find what is between quarter samples.
#[test]
fn motion_of_eighths_of_a_sample_is_found() {
    let reference = texture(120, 96, 0.0);
    for eighths in [1, 3, -5, 23] {
        let current = texture(120, 96, f64::from(eighths) / 8.0);
        let field = search(Quality::Balanced, 8, &current, &reference);
        for vector in inner(&field, 4) {
            let error = (i32::from(vector.x) - 4 * eighths).abs();
            assert!(error <= 2 && vector.y.abs() <= 1, "{eighths}: {vector:?}");
        }
    }
}

#[test]
fn what_does_not_change_does_not_move() {
    for frame in [noise(90, 61, 1), texture(64, 64, 0.0), noise(23, 41, 2), noise(9, 5, 3)] {
        for (quality, block_size) in QUALITIES.into_iter().flat_map(|q| [4, 8, 32].map(|side| (q, side))) {
            let field = search(quality, block_size, &frame, &frame);
            assert!(field.vectors.iter().all(|&vector| vector == MotionVector::default()));
        }
    }
}

#[test]
fn flat_frames_do_not_move() {
    for (width, height) in [(1, 1), (70, 65)] {
        let [dark, bright] = [60, 80].map(|sample| Frame::from_fn(width, height, |_, _| sample));
        for block_size in [4, 8, 16, 64] {
            let field = search(Quality::Balanced, block_size, &dark, &bright);
            assert_eq!(field.vectors.len(), width.div_ceil(block_size) * height.div_ceil(block_size));
            let expected = MotionVector { x: 0, y: 0, cost: 20 * (block_size * block_size) as u32 };
            assert!(field.vectors.iter().all(|&vector| vector == expected));
        }
    }
}

/// The frame gets brighter by more than the cuts while it moves: without compensation, no candidate would match.
#[test]
fn a_flash_is_no_motion() {
    let reference = texture(120, 96, 0.0);
    let view = reference.view();
    let bright = Frame::from_fn(120, 96, |x, y| view.row(y)[x] + 27);
    for (quality, dx) in QUALITIES.into_iter().flat_map(|quality| [0, 12].map(|dx| (quality, dx))) {
        let field = search(quality, 8, &moved(&reference, dx, 0), &bright);
        for vector in inner(&field, 3) {
            assert_eq!((quarters(vector), vector.cost), (CellVector::new(dx, 0), 27 * 64), "{quality:?}");
        }
    }
}

/// The edge between two motions is in the middle of cells: blocks of 4 follow it better than those of 8.
#[test]
fn small_blocks_follow_edges_inside_cells() {
    let motion = |x: usize| if x < 44 { -12 } else { 12 };
    let reference = texture(96, 96, 0.0);
    let [left, right] = [0, 95].map(|x| moved(&reference, motion(x), 0));
    let current =
        Frame::from_fn(96, 96, |x, y| if x < 44 { left.view().row(y)[x] } else { right.view().row(y)[x] });
    let wrong = |block_size: usize| {
        let field = search(Quality::Balanced, block_size, &current, &reference);
        let is_wrong = |&(x, y): &(usize, usize)| {
            let found = quarters(&field.vectors[y / block_size * field.grid.columns + x / block_size]);
            found.distance(CellVector::new(motion(x), 0)) > 1
        };
        (16..80).flat_map(|y| (32..56).map(move |x| (x, y))).filter(is_wrong).count()
    };
    let (with_4, with_8) = (wrong(4), wrong(8));
    assert!(2 * with_4 < with_8, "{with_4} of {with_8} samples");
}

#[test]
fn every_size_has_a_field() {
    for (width, height) in [(1, 1), (1, 9), (3, 2), (7, 5), (8, 8), (17, 9), (33, 70), (61, 60)] {
        let frames = [noise(width, height, 3), noise(width, height, 4)];
        for quality in QUALITIES {
            for block_size in [4, 8, 12, 16, 20, 32, 64] {
                let field = search(quality, block_size, &frames[0], &frames[1]);
                assert_eq!(field.grid.columns, width.div_ceil(block_size));
                assert_eq!(field.vectors.len(), field.grid.blocks());
            }
        }
    }
}

#[test]
fn each_quality_has_its_own_field() {
    let frames = [noise(130, 70, 5), noise(130, 70, 6)];
    let [fast, balanced, high] = QUALITIES.map(|quality| search(quality, 8, &frames[0], &frames[1]));
    assert!(fast != balanced && balanced != high);
}

/// Two motions, with samples that move with neither: the whole definition takes part in these fields.
#[test]
fn fields_are_what_they_were() {
    let reference = pyramid(&noise(260, 250, 10).view()).swap_remove(1);
    let [left, right] = [(9, -6), (-43, 14)].map(|(dx, dy)| moved(&reference, dx, dy));
    let current = Frame::from_fn(130, 125, |x, y| match (x, y) {
        (90..110, 30..70) => ((7 * x) ^ (5 * y)) as u8,
        (0..60, _) => left.view().row(y)[x],
        _ => right.view().row(y)[x],
    });
    let sums = QUALITIES.map(|quality| {
        [4, 8, 16].map(|block_size| {
            let field = search(quality, block_size, &current, &reference);
            field.vectors.iter().fold(0_u32, |sum, vector| {
                let record = [i32::from(vector.x) as u32, i32::from(vector.y) as u32, vector.cost];
                record.into_iter().fold(sum, |sum, value| sum.wrapping_mul(31).wrapping_add(value))
            })
        })
    });
    let expected = [
        [2_315_558_288, 3_612_325_820, 3_395_479_932],
        [1_264_357_726, 2_761_613_660, 353_803_564],
        [2_264_756_882, 3_923_648_670, 4_219_112_554],
    ];
    assert_eq!(sums, expected);
}

#[test]
fn a_block_takes_the_median_of_its_cells() {
    let vectors = [[0, 10, 7], [12, 100, 8]];
    let cells = Cells::from_fn(3, 2, |(x, y)| CellVector::new(0, vectors[y as usize][x as usize]));
    let of_blocks = |columns, rows, side| {
        let blocks = vectors_of_blocks(Grid { columns, rows }, side, &cells);
        (0..columns as i32).map(|x| blocks[(x, 0)].y).collect::<Vec<_>>()
    };
    // 10 and 12 have the same sum of distances, as have 7 and 8, and 10 and 8 of all six: the first one wins.
    assert_eq!(of_blocks(2, 1, 16), [10, 7]);
    assert_eq!(of_blocks(1, 1, 32), [10]);
    assert_eq!(of_blocks(3, 2, 8), [0, 10, 7]);
}

#[test]
fn halves_are_rounded_away_from_zero() {
    let rounded = |divisor, values: &[i32]| {
        let component = |&value: &i32| CellVector::new(value, -value).rounded_to(divisor);
        values.iter().map(component).map(|v| (v.x, v.y)).collect::<Vec<_>>()
    };
    assert_eq!(rounded(2, &[0, 1, 2, -3]), [(0, 0), (1, -1), (1, -1), (-2, 2)]);
    assert_eq!(rounded(8, &[3, 4, 11, 12]), [(0, 0), (1, -1), (1, -1), (2, -2)]);
    assert_eq!(rounded(16, &[-7, -8, 24]), [(0, 0), (-1, 1), (2, -2)]);
    let long = record_vector(CellVector::new(70_000, -70_000));
    assert_eq!((long.x, long.y), (32_767, -32_767));
}

/// An edge from 50 to 150 after the fourth column. Half a sample before it: (32 · 50 - 4 · 100 + 16) / 32.
#[test]
fn samples_between_samples_by_hand() {
    let edge = Frame::from_fn(9, 9, |x, _| if x < 4 { 50 } else { 150 });
    let across = Interpolated::new(&edge.view());
    let row: Vec<_> = (8..=18).map(|x| across.sample(x, 16)).collect();
    assert_eq!(row, [50, 44, 38, 44, 50, 75, 100, 125, 150, 157, 163]);
    let turned = Frame::from_fn(9, 9, |_, y| if y < 4 { 50 } else { 150 });
    let down = Interpolated::new(&turned.view());
    for (at, sample) in (8..).zip(row) {
        assert_eq!([across.sample(at, 18), down.sample(16, at), down.sample(18, at)], [sample; 3]);
    }
}

/// A quarter sample on both axes is the mean of the two nearest points that are halfway on one axis.
#[test]
fn diagonal_quarters_are_between_points_on_two_axes() {
    let frame = noise(12, 12, 7);
    let samples = Interpolated::new(&frame.view());
    let half = |x, y| i32::from(point_of(&frame.view(), x, y));
    for (x, y, across, down) in [
        (1, 1, half(1, 0), half(0, 1)),
        (3, 1, half(1, 0), half(2, 1)),
        (1, 3, half(1, 2), half(0, 1)),
        (3, 3, half(1, 2), half(2, 1)),
    ] {
        assert_eq!(samples.sample(x, y), (across + down + 1) >> 1);
    }
}

#[test]
fn interpolation_is_exact_at_any_distance() {
    for frame in [noise(1, 1, 8), noise(7, 5, 9)] {
        let samples = Interpolated::new(&frame.view());
        for (x, y) in (-30..30).flat_map(|y| (-30..30).map(move |x| (x, y))) {
            assert_eq!(samples.sample(2 * x, 2 * y), i32::from(point_of(&frame.view(), x, y)));
        }
    }
}

#[test]
fn pyramids_by_hand() {
    // Column x is 4 x. Two columns and those around: (4 (2x - 1) + 3 · 8x + 3 · 4 (2x + 1) + 4 (2x + 2)) / 8 = 8x + 2.
    let slope = Frame::from_fn(62, 61, |x, _| 4 * x as u8);
    let levels = pyramid(&slope.view());
    assert_eq!(levels.len(), 2);
    let (finest, coarse) = (levels[0].view(), levels[1].view());
    assert_eq!((coarse.width(), coarse.height()), (31, 30));
    assert_eq!([0, 1, 2, 30].map(|x| coarse.row(29)[x]), [3, 10, 18, 242]);
    // The first column has itself as its neighbour: (5 · 0 + 4 + 2 · 0 + 4) / 8.
    assert_eq!([0, 1, 60, 61].map(|x| finest.row(7)[x]), [1, 4, 240, 244]);
}

#[test]
fn costs_by_hand() {
    let flat = |sample| Frame::from_fn(16, 8, move |_, _| sample);
    let cost = |quality: Quality, index, offsets: Option<i32>, reference| {
        let offsets = offsets.map(|offset| Cells::from_fn(1, 1, |_| offset));
        let level = SearchLevel::new(index, &flat(100), &flat(reference), &quality.preset(), offsets);
        assert_eq!(level.offset((1, 0), CellVector::new(3, -5)), (100 - i32::from(reference)).clamp(-48, 48));
        level.cost((1, 0), CellVector::new(3, -5))
    };
    // Offsets up to 48 are free but for a penalty of 8 each.
    assert_eq!(cost(Quality::Fast, 1, None, 110), 80);
    assert_eq!(cost(Quality::Fast, 0, None, 160), 48 * 8 + 12 * 64);
    // Larger differences are cut at 16 on level 0, and at 24 on the others.
    assert_eq!(cost(Quality::Balanced, 0, None, 200), 48 * 8 + 16 * 64);
    assert_eq!(cost(Quality::Balanced, 1, None, 200), 48 * 8 + 24 * 64);
    // A given offset has no penalty.
    assert_eq!(cost(Quality::Balanced, 0, Some(-10), 112), 2 * 64);
    assert_eq!(cost(Quality::Fast, 0, Some(0), 112), 12 * 64);
}

/// The centre of the candidate stays within 8 samples of the frame; that of the cell is at (4, 4).
#[test]
fn candidates_stay_near_the_frame() {
    let frame = Frame::from_fn(1, 3, |_, _| 0);
    let level = SearchLevel::new(0, &frame, &frame, &Quality::Fast.preset(), None);
    let limited = |x, y| level.limited((0, 0), CellVector::new(x, y));
    assert_eq!(limited(100, 100), CellVector::new(4 * (1 + 8 - 4), 4 * (3 + 8 - 4)));
    assert_eq!(limited(-100, -100), CellVector::new(4 * (-8 - 4), 4 * (-8 - 4)));
    assert_eq!(limited(20, -48), CellVector::new(20, -48));
}

/// Three cells in a row. To the left of the second a cell that looks like it, to the right one that does not.
#[test]
fn distances_to_neighbours_by_hand() {
    let frame = Frame::from_fn(24, 8, |x, _| if x < 16 { 100 } else { 150 });
    let mut vectors = [CellVector::default(); 8];
    vectors[3] = CellVector::new(100, 0);
    let cost = |index| {
        let level = SearchLevel::new(index, &frame, &frame, &Quality::Fast.preset(), None);
        level.smoothness_cost((1, 0), CellVector::new(3, -2), &vectors)
    };
    // The left one has weight 16 and is 5 away; the right one has weight 2, and is as far away as it counts.
    assert_eq!(cost(1), 2 * (16 * 5 + 2 * 48));
    assert_eq!(cost(0), 5 * (16 * 5 + 2 * 24));
}

/// Neighbours draw the more the nearer their vectors are, and not from 2 samples on.
#[test]
fn near_vectors_draw_a_vector() {
    let means = Cells::from_fn(4, 1, |_| 100);
    let vectors = row_of(&[0, 64, 192, 194]);
    let pulls = [0, 1, 2].map(|x| pull(&means, (x, 0), &vectors));
    // The weight is 16 (128 - distance) / 128, rounded down.
    let expected = [(8, 8 * 64), (8, 8 * -64), (15, 15 * 2)];
    assert_eq!(pulls, expected.map(|(weights, x)| (weights, CellVector::new(x, 0))));
}

#[test]
fn contradicted_vectors_are_refilled() {
    let means = Cells::from_fn(5, 1, |_| 100);
    let check = |vectors: [i32; 5], backward: [i32; 5]| {
        let checked = Check::COARSE.refilled(&means, &row_of(&vectors), &row_of(&backward));
        [0, 1, 2, 3, 4].map(|x| checked[(x, 0)].x)
    };
    // There and back, the way may miss by less than 8 quarter samples.
    assert_eq!(check([0, 0, 7, 0, 0], [0; 5]), [0, 0, 7, 0, 0]);
    assert_eq!(check([0, 0, 8, 0, 0], [0; 5]), [0; 5]);
    // The first vector leads to the fourth cell. It may miss by one more for each 32 that it is long.
    assert_eq!(check([0, 64, 0, 0, 0], [0, 0, 0, -55, 0]), [0, 64, 0, 0, 0]);
    assert_eq!(check([0, 64, 0, 0, 0], [0, 0, 0, -54, 0]), [0; 5]);
    // Cells with only one good neighbour stay as they are.
    assert_eq!(check([0, 4, 30, 30, 0], [0; 5]), [0, 4, 30, 30, 0]);
    // The second vector leads out of the frame, to just beside the first cell.
    assert_eq!(check([32, -49, 0, 0, 0], [49, -32, 0, 0, 0]), [32, 32, 0, 0, 0]);
}

#[test]
fn medians_count_cells_that_look_alike() {
    let medians_of = |mean: i32, vectors: [i32; 3]| {
        let medians =
            medians(&Cells::from_fn(3, 1, |(x, _)| if x == 1 { mean } else { 100 }), &row_of(&vectors));
        [0, 1, 2].map(|x| medians[(x, 0)].x)
    };
    assert_eq!(medians_of(100, [9, 0, 9]), [9, 9, 9]);
    assert_eq!(medians_of(150, [9, 0, 9]), [9, 0, 9]);
}

/// The differences are 20, 10 and -10. Of two with the same sum of distances the smaller one counts, then the first.
#[test]
fn offsets_are_medians() {
    let current = Frame::from_fn(24, 8, |x, _| [120, 110, 90][x / 8]);
    let reference = Frame::from_fn(24, 8, |_, _| 100);
    let level = SearchLevel::new(1, &current, &reference, &Quality::Fast.preset(), None);
    let offsets = offsets(&level, &row_of(&[0, 0, 0]));
    assert_eq!([0, 1, 2].map(|x| offsets[(x, 0)]), [10, 10, 10]);
}
