use super::*;
use crate::backend::DeviceSelector;
use crate::estimator::prediction::median_predictors;
use crate::estimator::{Algorithm, CostKind, Prediction, SetupError, SubSample, Window, oracle};

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
        assert_eq!(search.search_next(&frame(2)).unwrap(), [expected[1].clone()]);
        search.restart();
        for n in 0..6 {
            let fields = search.search_next(&frame(n)).unwrap();
            assert_eq!(fields, expected[n.saturating_sub(1)..n]);
        }
        // An iterator that is not used up leaves nothing behind.
        assert_eq!(search.fields((0..6).map(frame)).next().unwrap().unwrap(), (1, expected[0].clone()));
        assert!(search.search_next(&frame(4)).unwrap().is_empty());
        let all: Vec<_> = search.fields((0..6).map(frame)).map(Result::unwrap).collect();
        assert_eq!(all, (1..).zip(expected).collect::<Vec<_>>());
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
    let deep = Frame::deep_from_fn(SIZE.0, SIZE.1, 10, |_, _| 0);
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
        assert!(search.search_next(&frame(1)).unwrap().is_empty());
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
    for (builder, text) in [
        (
            builder().search_window(1..=3, -2..=2),
            "search window x 1..=3, y -2..=2 is not usable: it must hold (0, 0) and stay within ±8191 samples",
        ),
        (
            builder().search_window(-3..=3, -9000..=2),
            "search window x -3..=3, y -9000..=2 is not usable: it must hold (0, 0) and stay within ±8191 samples",
        ),
        (
            builder().references(0, 0),
            "0 earlier and 0 later reference frames cannot be searched: use 1 or more, at most 4 each way",
        ),
        (
            builder().references(1, 5),
            "1 earlier and 5 later reference frames cannot be searched: use 1 or more, at most 4 each way",
        ),
        (
            builder().references(0, 1).scene_cut(true),
            "scene cuts are found by comparing each frame with the frame before, which is not searched: search at least \
             one earlier reference frame",
        ),
        (
            builder().algorithm(Algorithm::Hierarchical).costs([CostKind::Second]),
            "the cost second is the least of other candidates of the search window, which algorithm hierarchical does not \
             have: leave it out, or use algorithm full or three-step",
        ),
        (
            builder().algorithm(Algorithm::Hierarchical).sub_sample(SubSample::Quarter),
            "refinement to quarter samples does not apply to algorithm hierarchical, whose vectors are in 1/32 sample: \
             leave it out, or use algorithm full or three-step",
        ),
        (builder().device("gpu@,native"), "device \"gpu@,native\": \"\" is no weight: use a number above 0"),
    ] {
        assert_eq!(error(builder).to_string(), text);
    }
    assert!(matches!(error(builder().device("no such device")), SetupError::NoSuchDevice { .. }));
    assert!(builder().device(DeviceSelector::Native).build().is_ok());
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
    let deep = |n| Frame::deep_from_fn(SIZE.0, SIZE.1, 10, |x, y| 4 * u16::from(frame(n).view().row(y)[x]));
    let field = search.search(&deep(1), &deep(0)).unwrap();
    assert_eq!((field.scale, &field), (32, &expected(&search, 1, 0)));
}

#[test]
fn a_search_finds_all_that_its_parameters_ask_for() {
    let costs = [CostKind::Confidence, CostKind::Zero, CostKind::Second];
    let builder = builder().prediction(Prediction::Median).costs(costs).scene_cut(true);
    let mut search = builder.search_window(-2..=7, -1..=3).build().unwrap();
    let window = Window::new(-2, 7, -1, 3).unwrap();
    let expected = Parameters {
        prediction: Prediction::Median,
        costs: costs.into_iter().collect(),
        scene_cut: true,
        ..Parameters::new(SIZE.0, SIZE.1, 8, window)
    };
    assert_eq!(*search.parameters(), expected);

    let field = search.search(&frame(2), &frame(4)).unwrap();
    let vectors = oracle::search(&expected, &frame(2).view(), &frame(4).view()).vectors;
    assert_eq!(field.vectors, vectors);
    assert!(vectors.iter().all(|vector| window.contains(vector.full_samples())));
    assert_eq!(field.predictors, median_predictors(field.grid, &vectors));
    assert_eq!(field.predictor(3, 4), Some(field.predictors[4 * 9 + 3]));
    let (current, reference) = (frame(2), frame(4));
    let all = oracle::costs(&expected, &current.view(), &reference.view(), &vectors);
    assert_eq!(field.costs, all);
    assert_eq!(field.cost(CostKind::Zero, 3, 4), Some(all[3 * (4 * 9 + 3)]));
    assert_eq!(field.cost(CostKind::Second, 8, 6), Some(all[3 * 62 + 1]));
    assert_eq!(field.cost(CostKind::Confidence, 0, 1), Some(all[3 * 9 + 2]));
    for absent in [(CostKind::Intra, 0, 0), (CostKind::Zero, 9, 0), (CostKind::Zero, 0, 7)] {
        assert_eq!(field.cost(absent.0, absent.1, absent.2), None);
    }
    assert_eq!((field.is_scene_cut, field.offset, field.size), (Some(false), -1, SIZE));
    assert!(field.check().is_ok());
    let other = Frame::from_fn(SIZE.0, SIZE.1, |x, y| (7 * (x / 9) * (y / 5) + 90) as u8);
    assert_eq!(search.search(&other, &frame(4)).unwrap().is_scene_cut, Some(true));
}

#[test]
fn each_frame_is_searched_in_all_its_references() {
    let frames = || (0..7).map(frame);
    for (earlier, later) in [(2, 1), (0, 1), (4, 4), (1, 3), (3, 0)] {
        for (device, in_flight) in [("native", 1), ("native", 3), ("all", 2)] {
            let name = format!("{earlier} earlier, {later} later, {device}, {in_flight} in flight");
            let builder = builder().references(earlier, later).device(device).in_flight(in_flight);
            let mut search = builder.build().unwrap();
            // With each frame come its fields in earlier frames, then those of earlier frames in it.
            let pairs = |newest: usize| {
                let own = (1..=earlier.min(newest)).map(move |distance| (newest, newest - distance));
                own.chain((1..=later.min(newest)).map(move |distance| (newest - distance, newest)))
            };
            let expected: Vec<Vec<_>> = (0..7)
                .map(|newest| {
                    let of = |(current, reference)| {
                        let offset = reference as i64 - current as i64;
                        (current, MotionField { offset, ..expected(&search, current, reference) })
                    };
                    pairs(newest).map(of).collect()
                })
                .collect();
            let found: Vec<_> = search.fields(frames()).map(Result::unwrap).collect();
            assert_eq!(found, expected.concat(), "{name}");
            for (newest, expected) in expected.iter().enumerate() {
                let found = search.search_next(&frame(newest)).unwrap();
                let expected: Vec<_> = expected.iter().map(|(_, field)| field.clone()).collect();
                assert_eq!(found, expected, "{name}, frame {newest}");
            }
            // Of a pair the reference counts as the frame before.
            let pair = search.search(&frame(3), &frame(5)).unwrap();
            assert_eq!(pair, self::expected(&search, 3, 5), "{name}");
        }
    }
}
