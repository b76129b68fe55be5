use super::*;
use crate::estimator::{Algorithm, SetupError, SubSample, oracle};

const SIZE: (usize, usize) = (70, 50);

/// A texture in which no block is twice, moved by `n` samples to the right and `2 n` up.
fn frame(n: usize) -> Frame {
    Frame::from_fn(SIZE.0, SIZE.1, |x, y| {
        let (x, y) = ((x + 100 - n) as u32, (y + 2 * n) as u32);
        (x.wrapping_mul(2_654_435_761).wrapping_add(y.wrapping_mul(2_246_822_519)) >> 7) as u8
    })
}

fn builder() -> MotionSearchBuilder {
    MotionSearch::builder(SIZE.0, SIZE.1).device("native").search_range(6, 7).block_size(8)
}

fn expected(search: &MotionSearch, current: usize, reference: usize) -> MotionField {
    oracle::search(search.parameters(), &frame(current).view(), &frame(reference).view())
}

#[test]
fn pairs_streams_and_iterators_find_what_the_oracle_finds() {
    for (device, in_flight) in [("native", 1), ("native", 3), ("all", 3)] {
        let builder = builder().device(device).in_flight(in_flight);
        let mut search = builder.sub_sample(SubSample::Half).build().unwrap();
        let expected: Vec<MotionField> = (1..6).map(|n| expected(&search, n, n - 1)).collect();
        assert_eq!(search.search(&frame(1), &frame(0)).unwrap(), expected[0]);
        // The stream goes on from the current frame of a pair, and begins anew where it is told to.
        assert_eq!(search.search_next(&frame(2)).unwrap().unwrap(), expected[1]);
        search.restart();
        for n in 0..6 {
            let field = search.search_next(&frame(n)).unwrap();
            assert_eq!(field.as_ref(), n.checked_sub(1).map(|n| &expected[n]));
        }
        // An iterator that is not used up leaves nothing behind.
        assert_eq!(search.fields((0..6).map(frame)).next().unwrap().unwrap(), expected[0]);
        assert!(search.search_next(&frame(4)).unwrap().is_none());
        let all: Vec<MotionField> = search.fields((0..6).map(frame)).map(Result::unwrap).collect();
        assert_eq!(all, expected);
        assert_eq!(search.fields((0..1).map(frame)).count(), 0);
    }
}

#[test]
fn a_field_is_read_by_block_and_by_sample() {
    let field = builder().build().unwrap().search(&frame(3), &frame(0)).unwrap();
    assert_eq!((field.grid.columns, field.grid.rows, field.block_size, field.scale), (9, 7, 8, 4));
    let inner = field.vector(4, 2).unwrap();
    assert_eq!((inner.x, inner.y, inner.cost), (-12, 24, 0));
    assert_eq!(field.motion_at(39, 23), Some((-3.0, 6.0)));
    // The last blocks end outside the frame; then the field ends.
    assert_eq!(field.vector(8, 6), field.vectors.last().copied());
    assert!(field.motion_at(71, 55).is_some());
    assert_eq!((field.vector(9, 0), field.vector(0, 7), field.motion_at(72, 0)), (None, None, None));
    assert_eq!(MotionField::default().motion_at(0, 0), None);
}

#[test]
fn frames_of_another_kind_are_refused_and_the_next_search_works() {
    let mut search = builder().in_flight(2).build().unwrap();
    let small = Frame::from_fn(8, 8, |_, _| 0);
    let deep = Frame::deep_from_fn(10, SIZE, |_, _| 0);
    for (wrong, is_expected) in [
        (
            &small,
            (|error| matches!(error, EstimateError::FrameSize(8, 8, 70, 50))) as fn(&EstimateError) -> bool,
        ),
        (&deep, |error| matches!(error, EstimateError::BitDepth(10, 8))),
    ] {
        assert!(is_expected(&search.search(wrong, &frame(0)).unwrap_err()));
        assert!(is_expected(&search.search(&frame(1), wrong).unwrap_err()));
        assert_eq!(search.search(&frame(1), &frame(0)).unwrap(), expected(&search, 1, 0));
        assert!(is_expected(&search.search_next(wrong).unwrap_err()));
        assert!(search.search_next(&frame(1)).unwrap().is_none());
        let items: Vec<_> = search.fields([frame(0), frame(1), wrong.clone(), frame(2)]).collect();
        assert!(items.last().unwrap().as_ref().is_err_and(is_expected), "{items:?}");
        assert_eq!(search.search(&frame(1), &frame(0)).unwrap(), expected(&search, 1, 0));
    }
}

#[test]
fn settings_that_cannot_be_are_typed_errors() {
    let error = |builder: MotionSearchBuilder| builder.build().err().unwrap();
    assert!(matches!(error(MotionSearch::builder(0, 50)), SetupError::FrameSize { .. }));
    assert!(matches!(error(MotionSearch::builder(usize::MAX, 50)), SetupError::FrameSize { .. }));
    assert!(matches!(error(builder().block_size(0)), SetupError::BlockSize { .. }));
    assert!(matches!(error(builder().search_range(u32::MAX, 1)), SetupError::Window { .. }));
    assert!(matches!(error(builder().bit_depth(0)), SetupError::BitDepth { .. }));
    // They name methods of the builder, and what these take.
    for (builder, text) in [
        (builder().in_flight(0), "in_flight: 0 is not usable: use 1 to 16"),
        (builder().in_flight(17), "in_flight: 17 is not usable: use 1 to 16"),
        (builder().threads(1025), "threads: 1025 is not usable: use 0 to 1024"),
        (
            builder().threads(usize::MAX).device("all"),
            &format!("threads: {} is not usable: use 0 to 1024", usize::MAX),
        ),
    ] {
        assert_eq!(error(builder).to_string(), text);
    }
    assert!(matches!(error(builder().device("no such device")), SetupError::NoSuchDevice { .. }));
    assert!(matches!(error(builder().device("gpu@,native")), SetupError::DeviceUnsupported { .. }));
    let hierarchical = builder().algorithm(Algorithm::Hierarchical);
    assert!(matches!(error(hierarchical.clone().sub_sample(SubSample::Half)), SetupError::SubSample { .. }));
    for bits in [7, 17] {
        assert!(matches!(error(hierarchical.clone().bit_depth(bits)), SetupError::BitDepth { .. }));
    }
}

#[test]
fn hierarchical_search_takes_deep_frames() {
    let mut search = builder().algorithm(Algorithm::Hierarchical).bit_depth(10).build().unwrap();
    let deep = |n| Frame::deep_from_fn(10, SIZE, |x, y| 4 * u16::from(frame(n).view().row(y)[x]));
    let field = search.search(&deep(1), &deep(0)).unwrap();
    assert_eq!((field.scale, &field), (32, &expected(&search, 1, 0)));
}
