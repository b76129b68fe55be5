//! Motion compensation as it is done against its definition, on hostile sizes and vectors.

use motion_frames::compensation::{
    self, Compensated, CompensationError, Field, PlaneMut, Sampling, compensate, oracle,
};
use motion_search::estimator::{
    Device as _, Frame, FrameView, Metric, MotionVector, Output, Parameters, SampleFormat, Slot, SubSample,
    Window, oracle as oracle_search, search,
};
use motion_search::native::Native;
use test_support::{Noise, some_of, with_stride};

const SAMPLINGS: [Sampling; 6] = {
    const fn sampling(halved_x: bool, halved_y: bool, interleaved: bool) -> Sampling {
        Sampling { halved_x, halved_y, interleaved }
    }
    [
        Sampling::LUMA,
        sampling(true, true, false),
        sampling(true, false, false),
        sampling(true, true, true),
        sampling(false, true, false),
        sampling(false, false, true),
    ]
};

const SIZES: [(usize, usize); 10] =
    [(1, 1), (2, 1), (1, 3), (15, 15), (61, 47), (64, 64), (130, 3), (3, 130), (200, 37), (77, 70)];

const BLOCKS: [(usize, usize); 9] =
    [(4, 4), (16, 16), (64, 64), (5, 3), (20, 20), (1, 1), (8, 12), (300, 2), (usize::MAX, usize::MAX)];

/// Where vectors point.
#[derive(Clone, Copy, Debug)]
enum Vectors {
    /// Whole samples, close by; neighbours are often equal.
    Whole,
    /// Anywhere between samples, close by.
    Quarters,
    /// Far outside, to the last that a vector can hold.
    Extreme,
    /// Anything at all.
    Any,
}

fn vector(kind: Vectors, noise: &mut Noise) -> MotionVector {
    let mut component = || match kind {
        Vectors::Whole => i16::from(noise.next() % 5) * 4 - 8,
        Vectors::Quarters => i16::from(noise.next() as i8) / 2,
        Vectors::Extreme => [i16::MIN, i16::MAX, i16::MIN + 1, -4, 3, 400, -401][noise.next() as usize % 7],
        Vectors::Any => i16::from_ne_bytes([noise.next(), noise.next()]),
    };
    MotionVector { x: component(), y: component(), cost: 0 }
}

fn noise_plane(noise: &mut Noise, (width, height): (usize, usize)) -> Frame {
    Frame::from_fn(width, height, |_, _| noise.next())
}

/// Runs `work` on a plane of the size of `like` with room between its rows, and gives what it holds
/// then; what is between the rows must stay as it is.
fn written(like: &FrameView<'_>, work: impl FnOnce(&mut PlaneMut<'_>)) -> Frame {
    let (width, height) = (like.width(), like.height());
    let stride = width + 7;
    let mut bytes = vec![0x5a; stride * height];
    work(&mut PlaneMut::new(&mut bytes, width, height, stride).unwrap());
    for row in bytes.chunks(stride) {
        assert!(row[width..].iter().all(|&byte| byte == 0x5a), "written past a row");
    }
    Frame::from_fn(width, height, |x, y| bytes[y * stride + x])
}

fn check(field: &Field<'_>, sampling: Sampling, size: (usize, usize), noise: &mut Noise, name: &str) {
    let plane_size = sampling.plane_size(size.0, size.1);
    let (current, reference) = (noise_plane(noise, plane_size), noise_plane(noise, plane_size));
    let padded = with_stride(&reference.view(), plane_size.0 + 3);
    let reference = FrameView::new(&padded, plane_size.0, plane_size.1, plane_size.0 + 3).unwrap();
    let current = current.view();

    let expected = oracle::predict(field, sampling, &reference).unwrap();
    let found = written(&current, |out| compensation::predict(field, sampling, &reference, out).unwrap());
    assert!(found == expected, "prediction of {name}");

    let sum = oracle::squared_error(&current, &expected.view()).unwrap();
    let residual = oracle::residual(&current, &expected.view()).unwrap();
    for (output, expected) in [(Compensated::Prediction, &expected), (Compensated::Residual, &residual)] {
        for measured in [false, true] {
            let found = written(&current, |out| {
                let planes = (&current, &reference);
                let error = compensate(field, sampling, planes, (output, measured), out).unwrap();
                let samples = if measured { plane_size.0 * plane_size.1 } else { 0 };
                let sum = if measured { sum } else { 0 };
                assert_eq!((error.sum, error.samples), (sum, samples as u64), "error of {name}");
            });
            assert!(&found == expected, "{output:?} of {name}");
        }
    }
}

/// Deep samples in their formats: two bytes each, some above other bits, which are noise, and stay so between rows.
fn check_deep(field: &Field<'_>, sampling: Sampling, size: (usize, usize), noise: &mut Noise, name: &str) {
    let plane_size = sampling.plane_size(size.0, size.1);
    let stride = 2 * plane_size.0 + 5;
    for (depth, shift) in [(10, 0), (10, 6), (16, 0)] {
        let format = SampleFormat::new(depth, shift).unwrap();
        let bytes = [0; 2].map(|_| (0..stride * plane_size.1).map(|_| noise.next()).collect::<Vec<_>>());
        let [current, reference] =
            bytes.each_ref().map(|bytes| FrameView::with_format(bytes, plane_size, stride, format).unwrap());
        let expected = oracle::predict(field, sampling, &reference).unwrap();
        let sum = oracle::squared_error(&current, &expected.view()).unwrap();
        let residual = oracle::residual(&current, &expected.view()).unwrap();
        for (output, expected) in [(Compensated::Prediction, &expected), (Compensated::Residual, &residual)] {
            let mut written = vec![0x5a; stride * plane_size.1];
            let mut out = PlaneMut::with_format(&mut written, plane_size, stride, format).unwrap();
            let error =
                compensate(field, sampling, (&current, &reference), (output, true), &mut out).unwrap();
            assert_eq!(error.sum, sum, "error of {name}, {format:?}");
            let found = FrameView::with_format(&written, plane_size, stride, format).unwrap();
            let sample = |frame: &FrameView<'_>, x: usize, y: usize| frame.sample(x as i32, y as i32);
            for (x, y) in (0..plane_size.1).flat_map(|y| (0..plane_size.0).map(move |x| (x, y))) {
                let samples = [sample(&found, x, y), sample(&expected.view(), x, y)];
                assert!(
                    samples[0] == samples[1],
                    "{output:?} of {name}, {format:?}: {samples:?} at {x}, {y}"
                );
            }
            assert!(
                written.chunks(stride).all(|row| row[2 * plane_size.0..].iter().all(|byte| *byte == 0x5a))
            );
        }
    }
}

#[test]
fn every_case_is_as_defined() {
    for size in SIZES {
        for block in BLOCKS {
            for kind in [Vectors::Whole, Vectors::Quarters, Vectors::Extreme, Vectors::Any] {
                let mut noise = Noise::new((size.0 * 7 + size.1 * 3 + block.0 % 91) as u32);
                let blocks = size.0.div_ceil(block.0) * size.1.div_ceil(block.1);
                let vectors: Vec<_> = (0..blocks).map(|_| vector(kind, &mut noise)).collect();
                let field = Field::new(size, block, &vectors).unwrap();
                for sampling in SAMPLINGS {
                    let name = format!("{size:?} in {block:?}, {kind:?} vectors, {sampling:?}");
                    check(&field, sampling, size, &mut noise, &name);
                    check_deep(&field, sampling, size, &mut noise, &name);
                }
            }
        }
    }
}

/// Large enough to be shared among threads; block sizes that the bands cut through.
#[test]
fn large_frames_are_as_defined() {
    let size = (1920usize, 531usize);
    for block in some_of(2, [(16, 16), (64, 64), (4, 4), (48, 37usize)]) {
        let mut noise = Noise::new(block.0 as u32);
        let blocks = size.0.div_ceil(block.0) * size.1.div_ceil(block.1);
        let vectors: Vec<_> = (0..blocks).map(|_| vector(Vectors::Quarters, &mut noise)).collect();
        let field = Field::new(size, block, &vectors).unwrap();
        for sampling in [SAMPLINGS[0], SAMPLINGS[1], SAMPLINGS[3]] {
            check(&field, sampling, size, &mut noise, &format!("{block:?} {sampling:?}"));
            check_deep(&field, sampling, size, &mut noise, &format!("{block:?} {sampling:?}"));
        }
    }
}

/// The definition itself, on numbers worked out by hand.
#[test]
fn samples_are_those_of_the_formula() {
    let reference = Frame::from_samples(vec![10, 20, 40, 50, 90, 130], 3, 2).unwrap();
    let predicted = |sampling, size, x, y| {
        let vectors = [MotionVector { x, y, cost: 0 }];
        let field = Field::new(size, (16, 16), &vectors).unwrap();
        let plane = oracle::predict(&field, sampling, &reference.view()).unwrap();
        (0..2).map(|y| plane.view().row(y).to_vec()).collect::<Vec<_>>()
    };
    let luma = |x, y| predicted(Sampling::LUMA, (3, 2), x, y);
    assert_eq!(luma(4, 0), [[20, 40, 40], [90, 130, 130]]);
    assert_eq!(luma(0, -4), [[10, 20, 40], [10, 20, 40]]);
    assert_eq!(luma(-32768, 32767), [[50, 50, 50], [50, 50, 50]]);
    // Half to the right, by six taps: (10 - 5 · 10 + 20 · 10 + 20 · 20 - 5 · 40 + 40 + 16) / 32.
    assert_eq!(luma(2, 0)[0], [13, 31, 42]);
    // A quarter: the mean of the sample and the half, rounded up.
    assert_eq!(luma(1, 0)[0], [12, 26, 41]);
    // Half down, between rows of which one repeats above and the other below.
    assert_eq!(luma(0, 2)[0], [30, 55, 85]);
    // Three quarters down: the mean of the half and the row below.
    assert_eq!(luma(0, 3)[0], [40, 73, 108]);
    // One quarter of luma is an eighth of chroma: (7 · 10 + 20 + 4) / 8 = 11.75.
    let chroma = Sampling { halved_x: true, halved_y: true, interleaved: false };
    assert_eq!(predicted(chroma, (6, 4), 1, 0)[0], [11, 23, 40]);
    // One luma sample is half a chroma sample.
    assert_eq!(predicted(chroma, (5, 3), 4, 0)[0], [15, 30, 40]);
}

#[test]
fn chroma_takes_the_vector_of_its_top_left_luma_sample() {
    // Blocks 5 wide: chroma samples 0 to 2 have luma samples 0, 2, 4; sample 3 begins the next.
    let reference = Frame::from_fn(5, 1, |x, _| 10 * x as u8);
    let vectors = [MotionVector::default(), MotionVector { x: 8, y: 0, cost: 0 }];
    let field = Field::new((10, 1), (5, 5), &vectors).unwrap();
    let sampling = Sampling { halved_x: true, halved_y: true, interleaved: false };
    let predicted = oracle::predict(&field, sampling, &reference.view()).unwrap();
    assert_eq!(predicted.view().row(0), [0, 10, 20, 40, 40]);
}

#[test]
fn a_field_of_zero_vectors_predicts_the_reference() {
    let parameters = Parameters::new(61, 47, 16, Window::symmetric(4, 4).unwrap());
    let reference = noise_plane(&mut Noise::new(3), (61, 47));
    let vectors = vec![MotionVector::default(); parameters.grid().blocks()];
    let prediction = compensation::predict_luma(&parameters, &reference.view(), &vectors).unwrap();
    assert_eq!(prediction, reference);
    assert_eq!(compensation::mse(&prediction.view(), &reference.view()), Ok(0.0));
    assert_eq!(compensation::psnr(&prediction.view(), &reference.view()), Ok(f64::INFINITY));
}

#[test]
fn errors_of_opposite_planes_do_not_overflow() {
    let (black, white) = (vec![0; 70000 * 3], vec![255; 70000 * 3]);
    let view = |bytes| FrameView::new(bytes, 70000, 3, 70000).unwrap();
    let error = compensation::squared_error(&view(&black), &view(&white)).unwrap();
    assert_eq!((error.sum, error.samples), (255 * 255 * 210_000, 210_000));
    assert_eq!((error.mse(), error.psnr()), (65025.0, 0.0));
}

#[test]
fn what_does_not_fit_is_an_error() {
    let vectors = [MotionVector::default(); 4];
    let new = |size, block| Field::new(size, block, &vectors).map(|_| ()).unwrap_err();
    assert_eq!(new((0, 4), (4, 4)), CompensationError::Blocks(0, 4, 4, 4));
    assert_eq!(new((4, 4), (4, 0)), CompensationError::Blocks(4, 4, 4, 0));
    assert_eq!(new((9, 8), (4, 4)), CompensationError::FieldSize { needed: 6, present: 4 });
    new((usize::MAX, usize::MAX), (1, 1));

    let field = Field::new((8, 8), (4, 4), &vectors).unwrap();
    let (fits, larger) = (Frame::from_fn(8, 8, |_, _| 0), Frame::from_fn(9, 8, |_, _| 0));
    let mismatch = CompensationError::PlaneSize(8, 8, 9, 8);
    assert_eq!(oracle::predict(&field, Sampling::LUMA, &larger.view()), Err(mismatch.clone()));
    assert_eq!(compensation::mse(&fits.view(), &larger.view()), Err(mismatch.clone()));
    let mut bytes = [0; 72];
    let mut out = PlaneMut::new(&mut bytes, 9, 8, 9).unwrap();
    let result = compensation::predict(&field, Sampling::LUMA, &fits.view(), &mut out);
    assert_eq!(result, Err(mismatch.clone()));
    let planes = (&larger.view(), &fits.view());
    let wanted = (Compensated::Prediction, true);
    assert_eq!(compensate(&field, Sampling::LUMA, planes, wanted, &mut out), Err(mismatch));
}

/// Motion by fractions of a sample: each step of refinement predicts better.
#[test]
fn sub_samples_predict_better() {
    let (width, height) = (160, 120);
    // From 5 to 12 samples a period, sampled a quarter or three quarters of a sample further.
    let frame = |right: f64, down: f64| {
        Frame::from_fn(width, height, |x, y| {
            let (x, y) = (x as f64 + right, y as f64 + down);
            (128.0 + 50.0 * (x * 1.1 + y * 0.2).sin() + 50.0 * (y * 0.9 - (x * 0.07).cos() * 3.0).cos()) as u8
        })
    };
    let reference = frame(0.0, 0.0);
    for (right, down) in [(2.25, -1.75), (-0.75, 0.25), (3.5, 0.25)] {
        let current = frame(right, down);
        let psnr = [SubSample::None, SubSample::Half, SubSample::Quarter].map(|sub_sample| {
            let window = Window::symmetric(5, 5).unwrap();
            let parameters = Parameters { sub_sample, ..Parameters::new(width, height, 8, window) };
            let mut native = Native::new(parameters.clone()).unwrap();
            native.load_frame(Slot::A, &reference).unwrap();
            native.load_frame(Slot::B, &current).unwrap();
            let mut output = Output::new(parameters.grid().blocks());
            search(&mut native, Slot::B, Slot::A, &mut output).unwrap();
            let prediction = compensation::predict_luma(&parameters, &reference.view(), &output.vectors);
            compensation::psnr(&current.view(), &prediction.unwrap().view()).unwrap()
        });
        assert!(psnr[1] > psnr[0] + 0.5 && psnr[2] > psnr[1] + 0.5, "({right}, {down}): {psnr:?}");
    }
}

/// Search and prediction interpolate alike: each block differs from its prediction by its cost.
#[test]
fn blocks_differ_from_their_predictions_by_their_costs() {
    let (width, height, side) = (64, 48, 8);
    for depth in [8, 9, 10, 12, 16] {
        for content in [test_support::Content::Noise, test_support::Content::Moved] {
            let (reference, current) = test_support::frames(content, width, height);
            let [reference, current] =
                [&reference, &current].map(|frame| test_support::deepened(frame, depth, true));
            let parameters = Parameters {
                bit_depth: depth,
                sub_sample: SubSample::Quarter,
                ..Parameters::new(width, height, side, Window::symmetric(5, 5).unwrap())
            };
            let mut native = Native::new(parameters.clone()).unwrap();
            native.load_frame(Slot::A, &reference).unwrap();
            native.load_frame(Slot::B, &current).unwrap();
            let mut output = Output::new(parameters.grid().blocks());
            search(&mut native, Slot::B, Slot::A, &mut output).unwrap();
            let prediction =
                compensation::predict_luma(&parameters, &reference.view(), &output.vectors).unwrap();
            let quarters = output.vectors.iter().filter(|vector| (vector.x | vector.y) % 4 != 0);
            assert!(quarters.count() > 10, "{depth} bits, {content:?}");
            for (index, vector) in output.vectors.iter().enumerate() {
                let (left, top) = (index % (width / side) * side, index / (width / side) * side);
                let difference = |at: usize| {
                    let (x, y) = ((left + at % side) as i32, (top + at / side) as i32);
                    u32::from(current.view().sample(x, y).abs_diff(prediction.view().sample(x, y)))
                };
                let cost: u32 = (0..side * side).map(difference).sum();
                assert_eq!(vector.cost, cost, "block {index}, {depth} bits, {content:?}");
            }
        }
    }
}

/// Frames predicted from the vectors of full search on any number of threads are those of the oracle's vectors.
/// (Bonanno's check of three-step search is in `opencl.rs`.)
#[test]
fn full_search_on_any_number_of_threads_gives_the_same_prediction() {
    for (size, block_size) in [((61, 47), 8), ((200, 133), 16)] {
        let window = Window::symmetric(7, 7).unwrap();
        let parameters =
            Parameters { metric: Metric::Ssd, ..Parameters::new(size.0, size.1, block_size, window) };
        let (reference, current) = test_support::frames(test_support::Content::Moved, size.0, size.1);
        let serial = oracle_search::full_search(&parameters, &current.view(), &reference.view()).vectors;
        let expected = compensation::predict_luma(&parameters, &reference.view(), &serial).unwrap();
        for threads in [1, 4] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let found = pool.install(|| {
                let mut native = Native::new(parameters.clone()).unwrap();
                let mut output = Output::new(parameters.grid().blocks());
                native.load_frame(Slot::A, &reference).unwrap();
                native.load_frame(Slot::B, &current).unwrap();
                search(&mut native, Slot::B, Slot::A, &mut output).unwrap();
                compensation::predict_luma(&parameters, &reference.view(), &output.vectors).unwrap()
            });
            let difference = oracle::residual(&expected.view(), &found.view()).unwrap();
            assert!(difference.view().as_bytes().iter().all(|&sample| sample == 128));
            // And the reconstruction is closer to the frame than its reference is.
            let mse = |frame: &Frame| compensation::mse(&current.view(), &frame.view()).unwrap();
            assert!(4.0 * mse(&found) < mse(&reference), "{} {}", mse(&found), mse(&reference));
        }
    }
}
