//! Public functions with arguments that make no sense: the answer is an error, a documented panic, or a value that says
//! nothing. Here are the functions of frames, fields, settings, sessions, stages, made frames and packers;
//! `misuse_values` has the oracles and what computes values, `misuse_devices` what takes OpenCL devices or names them.

// They are among the arguments.
#![allow(clippy::reversed_empty_ranges)]

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use motion_search::backend::{self, DeviceSelector, Grouping};
use motion_search::compensation::{
    self, Compensated, CompensationError, Field, PlaneMut, Sampling, SquaredError, compensate, mse, psnr,
    squared_error, weighted_mean,
};
use motion_search::denoising::{self, Denoiser, MOST_REFERENCES, NoiseMap, Reference, Strength};
use motion_search::estimator::prediction::median_predictors;
use motion_search::estimator::{
    Algorithm, CostKind, Device, EstimateError, Frame, FrameError, FrameView, Grid, Metric, MotionField,
    MotionVector, OrderKey, Output, Parameters, Part, Predictor, References, SampleFormat, SetupError, Slot,
    SubSample, Window, search,
};
use motion_search::interpolation::{
    self, FrameFormat, FrameMaker, FrameQuality, InterpolationError, Interpolator, Phase, SearchInput,
};
use motion_search::native::{Level, Native};
use motion_search::packers::x265::{self, CodingTree};
use motion_search::packers::{d3d12, nvenc};
use motion_search::session::{Options, Session};
use motion_search::stages::{SearchedFrames, block_costs, stages};
use motion_search::tuning::{Kernel, Tuning};
use motion_search::{MotionSearch, devices};

/// Checks that `call` panics, as its documentation says.
pub fn panics<T>(name: &str, call: impl FnOnce() -> T) {
    assert!(catch_unwind(AssertUnwindSafe(call)).is_err(), "{name} does not panic");
}

/// Checks that `result` is the error that `is_expected` describes.
pub fn fails<T, E: Debug>(name: &str, result: Result<T, E>, is_expected: impl FnOnce(&E) -> bool) {
    match result {
        Ok(_) => panic!("{name} is accepted"),
        Err(error) => assert!(is_expected(&error), "{name}: {error:?}"),
    }
}

pub fn window() -> Window {
    Window::symmetric(3, 3).unwrap()
}

pub fn parameters() -> Parameters {
    Parameters::new(16, 12, 8, window())
}

pub fn frame() -> Frame {
    Frame::from_fn(16, 12, |x, y| (x * 13 + y * 7) as u8)
}

fn native() -> Native {
    Native::new(parameters()).unwrap()
}

pub fn format() -> FrameFormat {
    FrameFormat { size: (16, 12), samplings: vec![Sampling::LUMA], samples: SampleFormat::EIGHT_BITS }
}

/// Settings of a search that are refused.
pub fn wrong_parameters() -> Vec<Parameters> {
    let p = parameters;
    vec![
        Parameters { width: 0, ..p() },
        Parameters { height: usize::MAX, ..p() },
        Parameters { block_size: 0, ..p() },
        Parameters { block_size: 6, ..p() },
        Parameters { block_size: 68, ..p() },
        Parameters { bit_depth: 7, ..p() },
        Parameters { bit_depth: 17, ..p() },
        Parameters { bit_depth: 11, metric: Metric::Ssd, ..p() },
        Parameters { bit_depth: 10, algorithm: Algorithm::Hierarchical, ..p() },
        Parameters { block_size: 12, algorithm: Algorithm::Hierarchical, ..p() },
        Parameters { sub_sample: SubSample::Half, algorithm: Algorithm::Hierarchical, ..p() },
        Parameters {
            costs: [CostKind::Second].into_iter().collect(),
            algorithm: Algorithm::Hierarchical,
            ..p()
        },
        Parameters { references: References { backward: 0, forward: 0 }, ..p() },
        Parameters { references: References { backward: 99, forward: 0 }, ..p() },
        Parameters { references: References { backward: 0, forward: 1 }, scene_cut: true, ..p() },
    ]
}

#[test]
fn settings() {
    for parameters in wrong_parameters() {
        let name = format!("{parameters:?}");
        assert!(parameters.validate().is_err(), "{name}");
        assert!(Native::new(parameters.clone()).is_err(), "{name}");
        assert!(Native::with_level(parameters.clone(), Level::best()).is_err(), "{name}");
        assert!(Native::with_kernel(parameters.clone(), Kernel::Auto, Level::best()).is_err(), "{name}");
        assert!(stages(&parameters).is_err(), "{name}");
        assert!(block_costs(&parameters, Level::best()).is_err(), "{name}");
        let native = &DeviceSelector::Native;
        let (auto, tuning, grouping) = (Kernel::Auto, &Tuning::default(), Grouping::default());
        assert!(backend::check(native, auto, tuning, &parameters).is_err(), "{name}");
        assert!(backend::open_device(native, auto, tuning, &parameters).is_err(), "{name}");
        assert!(backend::open::<()>(native, auto, tuning, grouping, &parameters).is_err(), "{name}");
    }
    let no_blocks = Parameters { block_size: 0, ..parameters() };
    panics("Parameters::grid", || no_blocks.grid());
    fails("Window::new", Window::new(1, 3, -3, 3), |error| matches!(error, SetupError::Window { .. }));
    fails("Window::new", Window::new(3, -3, 0, 0), |error| matches!(error, SetupError::Window { .. }));
    fails("Window::symmetric", Window::symmetric(-1, 0), |error| matches!(error, SetupError::Window { .. }));
    fails("Window::symmetric", Window::symmetric(i32::MAX, i32::MIN), |error| {
        matches!(error, SetupError::Window { .. })
    });
    for (side, block_size) in [(0, 16), (16, 0), (0, 0), (usize::MAX, 1), (15, 16)] {
        assert!(Window::of_area(side, block_size).is_err(), "{side} {block_size}");
    }
    panics("clipped", || window().clipped(5..=-5, 0..=0));
    panics("clipped", || window().clipped(0..=0, 1..=i32::MAX));
    assert!(!window().contains((i32::MIN, i32::MAX)));
    fails("threads", native().with_threads(usize::MAX), |error| matches!(error, SetupError::Count { .. }));
    fails("depth", native().with_depth(usize::MAX), |error| matches!(error, SetupError::Count { .. }));
    assert!(Kernel::ThreeStep.check_algorithm(Algorithm::Full, "native").is_err());
    assert!(Native::with_kernel(parameters(), Kernel::ThreeStep, Level::best()).is_err());
    let threads = Tuning { threads: Some(usize::MAX), ..Tuning::default() };
    assert!(threads.validate().is_err());
}

#[test]
fn names_of_devices() {
    let (kernel, tuning, grouping) = (Kernel::Auto, &Tuning::default(), Grouping::default());
    for name in ["missing", "9:9", "native,native", "native@0", "auto,native", ",", "99999999999999999999:0"]
    {
        // What is no device, index or list is refused by then.
        let Ok(device) = &name.parse::<DeviceSelector>() else { continue };
        assert!(!["missing", "native@0", "auto,native", ","].contains(&name), "{name}");
        assert!(backend::check(device, kernel, tuning, &parameters()).is_err(), "{name}");
        assert!(backend::open_device(device, kernel, tuning, &parameters()).is_err(), "{name}");
        assert!(backend::open::<()>(device, kernel, tuning, grouping, &parameters()).is_err(), "{name}");
    }
    let absent = DeviceSelector::Name("missing".into());
    for device in [absent, DeviceSelector::Index(9, 9)] {
        assert!(backend::open_maker(&device, &format(), FrameQuality::Fast, 1).is_err(), "{device}");
    }
    assert!(!devices().is_empty());
}

#[test]
fn the_front_door() {
    type Change = fn(motion_search::MotionSearchBuilder) -> motion_search::MotionSearchBuilder;
    let changes: [Change; 8] = [
        |builder| builder.block_size(0),
        |builder| builder.block_size(usize::MAX),
        |builder| builder.bit_depth(0),
        |builder| builder.search_range(u32::MAX, u32::MAX),
        |builder| builder.device("missing"),
        |builder| builder.in_flight(0).threads(usize::MAX),
        |builder| builder.in_flight(usize::MAX),
        |builder| builder.kernel(Kernel::ThreeStep).device("native"),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        assert!(change(MotionSearch::builder(16, 12)).build().is_err(), "change {index}");
    }
    assert!(MotionSearch::builder(0, 12).build().is_err());
    assert!(MotionSearch::builder(usize::MAX, usize::MAX).build().is_err());

    let mut search = MotionSearch::builder(16, 12).block_size(8).device("native").build().unwrap();
    let other = Frame::from_fn(16, 13, |_, _| 0);
    let deep = Frame::deep_from_fn(16, 12, 10, |_, _| 0);
    let is_size = |error: &EstimateError| matches!(error, EstimateError::FrameSize(16, 13, 16, 12));
    fails("search", search.search(&other, &frame()), is_size);
    fails("search", search.search(&frame(), &other), is_size);
    fails("search_next", search.search_next(&deep), |error| matches!(error, EstimateError::BitDepth(10, 8)));
    let fields: Vec<_> = search.fields([frame(), other, frame()]).collect();
    assert_eq!(fields.len(), 1);
    fails("fields", fields.into_iter().next().unwrap(), is_size);
    // After an error the next search is the first of a sequence.
    assert!(search.search_next(&frame()).unwrap().is_empty());
    let field = search.search_next(&frame()).unwrap().remove(0);
    assert_eq!((field.vector(2, 0), field.vector(usize::MAX, usize::MAX)), (None, None));
    assert_eq!((field.motion_at(16, 0), field.motion_at(usize::MAX, usize::MAX)), (None, None));
}

#[test]
fn frames() {
    let is_empty = |error: &FrameError| matches!(error, FrameError::Empty(..));
    fails("from_samples", Frame::from_samples(vec![], 0, 0), is_empty);
    fails("from_samples", Frame::from_samples(vec![0; 9], 10, 1), |error| {
        matches!(error, FrameError::Short { needed: 10, present: 9 })
    });
    fails("from_samples", Frame::from_samples(vec![0; 9], usize::MAX, usize::MAX), |error| {
        matches!(error, FrameError::Short { .. })
    });
    let is_stride = |error: &FrameError| matches!(error, FrameError::Stride { width: 4, stride: 3 });
    fails("new", Frame::new(Arc::new(vec![0; 99]), 4, 4, 3), is_stride);
    fails("FrameView::new", FrameView::new(&[0; 99], 4, 4, 3), is_stride);
    let deep = SampleFormat::new(10, 0).unwrap();
    // Two bytes a sample.
    assert!(Frame::with_format(Arc::new(vec![0; 99]), (4, 4), 7, deep).is_err());
    assert!(FrameView::with_format(&[0; 99], (4, 4), 7, deep).is_err());
    for (depth, shift) in [(0, 0), (8, 1), (10, 7), (16, 1), (17, 0), (u32::MAX, u32::MAX)] {
        fails("SampleFormat", SampleFormat::new(depth, shift), |e| matches!(e, FrameError::Depth { .. }));
    }
    assert_eq!(deep.with_levels(u16::MAX, 0).eight_bits(u16::MAX), 0);
    panics("from_fn", || Frame::from_fn(0, 1, |_, _| 0));
    panics("deep_from_fn", || Frame::deep_from_fn(1, 1, 17, |_, _| 0));
    panics("deep_from_fn", || Frame::deep_from_fn(1, 0, 10, |_, _| 0));
    // At least one row is needed.
    assert_eq!(frame().with_rows(99..0).rows(), 11..12);
    assert_eq!(frame().with_rows(0..usize::MAX).rows(), 0..12);
    let frame = frame();
    let view = frame.view();
    panics("row", || view.row(12));
    panics("row", || view.row(usize::MAX));
    panics("band", || view.band(3..3));
    panics("band", || view.band(3..13));
    let corner = view.sample(15, 11);
    assert_eq!((view.sample(i32::MAX, i32::MAX), view.extended(i32::MAX, i32::MAX)), (corner, corner as u8));
    assert!(view.check(&Parameters { bit_depth: 9, ..parameters() }).is_err());
    assert!(PlaneMut::new(&mut [0; 9], 4, 4, 4).is_err());
    assert!(PlaneMut::with_format(&mut [0; 9], (0, 4), 4, deep).is_err());
    let (mut samples, mut deeper) = (vec![0; 16 * 12], vec![0; 2 * 16 * 12]);
    let mut plane = PlaneMut::new(&mut samples, 16, 12, 16).unwrap();
    let other = Frame::from_fn(12, 16, |_, _| 0);
    assert!(matches!(plane.copy_from(&other.view()), Err(CompensationError::PlaneSize(..))));
    let mut plane = PlaneMut::with_format(&mut deeper, (16, 12), 32, deep).unwrap();
    assert!(matches!(plane.copy_from(&view), Err(CompensationError::BitDepth(..))));
}

#[test]
fn fields_and_parts() {
    let vector = MotionVector::default();
    let grid = Grid { columns: 2, rows: 2 };
    fails("check", grid.check(&[vector; 3]), |error| matches!(error, EstimateError::FieldSize(3, 4)));
    for sizes in [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]] {
        let [width, height, across, down] = sizes;
        fails("Field::new", Field::new((width, height), (across, down), &[vector]), |error| {
            matches!(error, CompensationError::Blocks(..))
        });
    }
    let is_size = |error: &CompensationError| matches!(error, CompensationError::FieldSize { .. });
    fails("Field::new", Field::new((usize::MAX, usize::MAX), (1, 1), &[vector]), is_size);
    fails("Field::of", Field::of(&parameters(), &[vector]), is_size);
    fails("Field::of", Field::of(&Parameters { block_size: 0, ..parameters() }, &[]), |error| {
        matches!(error, CompensationError::Blocks(..))
    });
    let vectors = [vector; 4];
    let field = Field::of(&parameters(), &vectors).unwrap();
    // Units of 0 or of more than fit count as the next that exist.
    for scale in [0, u32::MAX] {
        let mut samples = vec![0; 16 * 12];
        let mut out = PlaneMut::new(&mut samples, 16, 12, 16).unwrap();
        compensation::predict(&field.with_scale(scale), Sampling::LUMA, &frame().view(), &mut out).unwrap();
    }
    panics("MotionField::new", || MotionField::new(&Parameters { block_size: 0, ..parameters() }));
    panics("median_predictors", || median_predictors(grid, &[vector; 3]));
    let ends = [i16::MIN, i16::MAX];
    for (x, y) in ends.into_iter().flat_map(|x| ends.map(|y| (x, y))) {
        let extreme = MotionVector { x, y, cost: u32::MAX };
        assert_eq!(extreme.better(extreme), extreme);
        let predictor = Predictor { x, y };
        assert_eq!(Predictor::median(predictor, predictor, predictor), predictor);
    }
    let whole = Part::whole(&parameters());
    let wrong = [
        whole.with_rows(0..0),
        whole.with_rows(2..1),
        whole.with_rows(1..3),
        whole.with_rows(usize::MAX..usize::MAX),
        whole.with_displacements(1..=0),
        whole.with_displacements(-4..=3),
        whole.with_displacements(i32::MIN..=i32::MAX),
    ];
    for part in wrong {
        fails("check", part.check(&parameters()), |error| matches!(error, EstimateError::NoSuchPart { .. }));
    }
    assert_eq!(whole.with_rows(2..1).grid(&parameters()).rows, 0);
    assert_eq!(OrderKey::new(u32::MAX, 0, 0), OrderKey::new(u32::MAX, 0, 0));
    assert_eq!([Metric::Sad, Metric::Ssd].map(|metric| metric.term(u16::MAX)), [65535, 65535 * 65535]);
}

#[test]
fn devices_and_sessions() {
    let (mut device, mut output) = (native(), Output::new(4));
    fails("search", search(&mut device, Slot::B, Slot::A, &mut output), |error| {
        matches!(error, EstimateError::EmptySlot(_))
    });
    let far = Slot::new(usize::MAX);
    fails("load", device.load_frame(far, &frame()), |error| matches!(error, EstimateError::NoSuchSlot(..)));
    assert!(matches!(device.unload_frame(far), Ok(None)));
    let other = Frame::from_fn(1, 1, |_, _| 0);
    let is_size = |error: &EstimateError| matches!(error, EstimateError::FrameSize(..));
    fails("load", device.load_frame(Slot::A, &other), is_size);
    [Slot::A, Slot::B].into_iter().for_each(|slot| device.load_frame(slot, &frame()).unwrap());
    let mut short = Output::new(3);
    fails("search", search(&mut device, Slot::B, Slot::A, &mut short), |error| {
        matches!(error, EstimateError::FieldSize(3, 4))
    });

    let options = Options::default;
    assert!(Session::<()>::new(&parameters(), 1, vec![], options()).is_err());
    let devices = |device: Native| vec![(Box::new(device) as Box<dyn Device>).into()];
    let others = Parameters { block_size: 4, ..parameters() };
    assert!(Session::<()>::new(&others, 1, devices(native()), options()).is_err());
    let mut session = Session::<()>::new(&parameters(), 0, devices(native()), options()).unwrap();
    assert_eq!(session.depth(), 1);
    fails("finish", session.finish_search(), |error| matches!(error, EstimateError::NothingInFlight));
    fails("add", session.add_frame(other), is_size);
    let slot = session.add_frame(frame()).unwrap();
    let second = session.add_frame(frame()).unwrap();
    session.start_search(second, slot, ()).unwrap();
    fails("start", session.start_search(second, slot, ()), |e| matches!(e, EstimateError::InFlight(1)));
    fails("load", session.load_frame(slot, frame()), |e| matches!(e, EstimateError::SlotInUse(_)));
    session.cancel();
    session.release_frame(slot);
    session.release_frame(slot);
    session.own_frames(usize::MAX);
    // A slot of a session with more of them.
    let deep = native().with_depth(16).unwrap();
    let mut large = Session::<()>::new(&parameters(), 16, devices(deep), options()).unwrap();
    let slots: Vec<_> = (0..10).map(|_| large.add_frame(frame()).unwrap()).collect();
    let last = slots[9];
    session.release_frame(last);
    assert!(matches!(session.unload_frame(last), Ok(None)));
    fails("load", session.load_frame(last, frame()), |e| matches!(e, EstimateError::NoSuchSlot(..)));
    fails("start", session.start_search(last, slot, ()), |e| matches!(e, EstimateError::EmptySlot(..)));
}

#[test]
fn stages_that_need_frames() {
    let wanted =
        Parameters { costs: [CostKind::Confidence].into_iter().collect(), scene_cut: true, ..parameters() };
    for mut stage in stages(&wanted).unwrap() {
        if stage.reads_frames() {
            let mut output = Output::new(4);
            fails("apply", stage.apply(None, &mut output), |error| matches!(error, EstimateError::NoFrame));
            let (small, frame) = (Frame::from_fn(8, 8, |_, _| 0), frame());
            let frames = |current, reference| Some(SearchedFrames { current, reference, offset: -1 });
            assert!(stage.apply(frames(small.view(), frame.view()), &mut output).is_err());
            assert!(stage.apply(frames(frame.view(), small.view()), &mut output).is_err());
            assert!(stage.apply(frames(frame.view(), frame.view()), &mut Output::new(3)).is_err());
        }
    }
}

#[test]
fn compensation_of_planes_that_do_not_fit() {
    let vectors = [MotionVector::default(); 4];
    let field = Field::of(&parameters(), &vectors).unwrap();
    let (frame, small) = (frame(), Frame::from_fn(8, 8, |_, _| 0));
    let is_size = |error: &CompensationError| matches!(error, CompensationError::PlaneSize(..));
    let mut samples = vec![0; 16 * 12];
    let mut out = PlaneMut::new(&mut samples, 16, 12, 16).unwrap();
    fails("predict", compensation::predict(&field, Sampling::LUMA, &small.view(), &mut out), is_size);
    fails("predict_luma", compensation::predict_luma(&parameters(), &small.view(), &vectors), is_size);
    let wanted = (Compensated::Prediction, true);
    for planes in [(&small.view(), &frame.view()), (&frame.view(), &small.view())] {
        fails("compensate", compensate(&field, Sampling::LUMA, planes, wanted, &mut out), is_size);
    }
    fails("weighted_mean", weighted_mean(&small.view(), &frame.view(), 1, &mut out), is_size);
    panics("weighted_mean", || weighted_mean(&frame.view(), &frame.view(), 65, &mut out));
    fails("squared_error", squared_error(&small.view(), &frame.view()), is_size);
    let deep = Frame::deep_from_fn(16, 12, 10, |_, _| 0);
    fails("squared_error", squared_error(&deep.view(), &deep.view()), |error| {
        matches!(error, CompensationError::BitDepth(8, 10))
    });
    fails("mse", mse(&small.view(), &frame.view()), is_size);
    fails("psnr", psnr(&small.view(), &frame.view()), is_size);
    assert_eq!(SquaredError::default().psnr_of(255), f64::INFINITY);
    assert_eq!(Sampling::LUMA.plane_size(usize::MAX, 0), (usize::MAX, 0));
    // Records of blocks that encoders do not have.
    let wide = Field::new((16, 12), (16, 3), &vectors).unwrap();
    assert!(nvenc::h264_hints(&wide).is_err() && nvenc::av1_hints(&wide).is_err());
    let huge = Field::new((1 << 40, 1), (1 << 40, 1), &vectors[..1]).unwrap();
    assert!(d3d12::move_rects(&huge).is_err() && d3d12::motion_maps(&huge, 0).is_err());
    assert!(x265::analysis_records(&wide, CodingTree::Side64).is_err());
}

#[test]
fn made_frames() {
    for size in [(0, 12), (16, 0), (usize::MAX, 1), (usize::MAX, usize::MAX)] {
        let empty = FrameFormat { size, ..format() };
        assert!(Interpolator::new(&empty, FrameQuality::Balanced, 1).is_err());
        assert!(backend::native_maker(&empty, FrameQuality::Fast, 1).is_err());
        assert!(Denoiser::new(&empty, 1, 2, 1).is_err());
        assert!(interpolation::search_parameters(size.0, size.1).is_err());
        assert!(NoiseMap::new(size, 8).is_err() && SearchInput::new(size, 1).is_err());
        assert!(denoising::search_parameters(size.0, size.1, References::default()).is_err());
    }
    let no_planes = FrameFormat { samplings: vec![], ..format() };
    assert!(Interpolator::new(&no_planes, FrameQuality::Fast, 1).is_err());
    assert!(Denoiser::new(&no_planes, 1, 2, 1).is_err());
    let interleaved = Sampling { interleaved: true, ..Sampling::LUMA };
    let odd = FrameFormat { samplings: vec![Sampling::LUMA, interleaved], ..format() };
    assert!(Interpolator::new(&odd, FrameQuality::Fast, 1).is_err());
    let (quality, level) = (FrameQuality::Fast, Level::best());
    assert!(Interpolator::with_level(&format(), quality, usize::MAX, level).is_err());
    panics("plane_size", || format().plane_size(1));
    assert_eq!(
        (Phase::new(0, 1), Phase::new(1, 1), Phase::new(1, 0), Phase::new(2, 1)),
        (None, None, None, None)
    );

    let (small, frame) = (Frame::from_fn(8, 8, |_, _| 0), frame());
    let deep = Frame::deep_from_fn(16, 12, 10, |_, _| 0);
    let is_planes = |error: &InterpolationError| matches!(error, InterpolationError::Planes(_));
    let is_device = |error: &InterpolationError| matches!(error, InterpolationError::Device(_));
    let mut maker = Interpolator::new(&format(), FrameQuality::Balanced, 1).unwrap();
    fails("load_frame", maker.load_frame(&[]), is_planes);
    fails("load_frame", maker.load_frame(&[small.view()]), is_planes);
    fails("load_frame", maker.load_frame(&[deep.view()]), is_planes);
    fails("load_frame", maker.load_frame(&[frame.view(), frame.view()]), is_planes);
    fails("set_motion", maker.set_motion(&[]), is_planes);
    fails("finish_frame", maker.finish_frame(), is_device);
    // Before anything is loaded the frames are black.
    maker.start_frame(Phase::MIDDLE).unwrap();
    fails("start_frame", maker.start_frame(Phase::MIDDLE), is_device);
    maker.finish_frame().unwrap();
    let mut samples = vec![0; 16 * 12];
    let mut out = PlaneMut::new(&mut samples, 16, 12, 16).unwrap();
    fails("write_plane", maker.write_plane(0, [&small.view(), &frame.view()], &mut out), |error| {
        matches!(error, CompensationError::PlaneSize(..))
    });
    panics("write_plane", || maker.write_plane(1, [&frame.view(), &frame.view()], &mut out));

    let mut input = SearchInput::new((16, 12), 1).unwrap();
    fails("frame", input.frame(&small.view()), |error| matches!(error, CompensationError::PlaneSize(..)));
    fails("is_scene_cut", input.is_scene_cut([&frame, &frame], &[]), |error| {
        matches!(error, CompensationError::FieldSize { .. })
    });
    for frames in [[&small, &frame], [&frame, &small]] {
        fails("is_scene_cut", input.is_scene_cut(frames, &[MotionVector::default(); 4]), |error| {
            matches!(error, CompensationError::PlaneSize(16, 12, 8, 8))
        });
    }
    fails("is_scene_cut", input.is_scene_cut([&frame, &deep], &[MotionVector::default(); 4]), |error| {
        matches!(error, CompensationError::BitDepth(8, 10))
    });
    assert!(SearchInput::with_level((16, 0), 1, Level::best()).is_err());
}

#[test]
fn denoised_frames() {
    panics("Denoiser::new", || Denoiser::new(&format(), MOST_REFERENCES + 1, 9, 1));
    panics("Denoiser::new", || Denoiser::new(&format(), 1, 0, 1));
    let map = NoiseMap::new((16, 12), 8).unwrap();
    panics("NoiseMap::new", || NoiseMap::new((16, 12), 64));
    panics("luma_deviation", || map.luma_deviation(0, 99));
    panics("luma_deviation", || map.luma_deviation(16, 0));
    panics("chroma_deviation", || map.chroma_deviation(99, 99));
    assert!([f64::NAN, -1.0, f64::NEG_INFINITY].into_iter().all(|factor| Strength::new(factor).is_none()));
    let mut denoiser = Denoiser::new(&format(), 1, 2, 1).unwrap();
    let (small, frame) = (Frame::from_fn(8, 8, |_, _| 0), frame());
    let is_size = |error: &CompensationError| matches!(error, CompensationError::PlaneSize(..));
    fails("load", denoiser.load(&small.view()), is_size);
    let (search_frame, slot) = denoiser.load(&frame.view()).unwrap();
    assert_eq!(search_frame.view().size(), (16, 12));
    let strength = Strength::new(1.0);
    let (planes, wrong) = ([frame.view()], [small.view()]);
    let vectors = [MotionVector::default(); 4];
    let reference = |planes, vectors| Reference { slot, planes, vectors, offset: -1 };
    fails("measure", denoiser.measure(&wrong, &[], strength), is_size);
    assert!(denoiser.measure(&[], &[], strength).is_err());
    assert!(denoiser.measure(&planes, &[reference(&[], &vectors)], strength).is_err());
    assert!(denoiser.measure(&planes, &[reference(&wrong, &vectors)], strength).is_err());
    assert!(denoiser.measure(&planes, &[reference(&planes, &vectors[1..])], strength).is_err());
    let two = [reference(&planes, &vectors); 2];
    panics("measure", || denoiser.measure(&planes, &two, strength).map(drop));
    let mut samples = vec![0; 16 * 12];
    let mut out = PlaneMut::new(&mut samples, 16, 12, 16).unwrap();
    fails("write_plane", denoiser.write_plane(0, &small.view(), &[], &mut out), is_size);
    panics("write_plane", || denoiser.write_plane(1, &frame.view(), &[], &mut out));
}
