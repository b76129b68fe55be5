//! Public functions with arguments that make no sense: the answer is an error, a documented panic, or a value that says
//! nothing. Here are the functions of frames, fields, settings, sessions and stages;
//! `misuse_values` has the oracles and what computes values, `misuse_devices` what takes OpenCL devices or names them.

// They are among the arguments.
#![allow(clippy::reversed_empty_ranges)]

use std::sync::Arc;

use motion_search::backend::{self, DeviceSelector, Grouping};
use motion_search::estimator::prediction::median_predictors;
use motion_search::estimator::{
    Algorithm, CostKind, Device, EstimateError, Frame, FrameError, FrameView, Grid, Metric, MotionField,
    MotionVector, OrderKey, Output, Parameters, Part, Predictor, References, SampleFormat, SetupError, Slot,
    SubSample, Window, search,
};
use motion_search::native::{InstructionSetName, Native};
use motion_search::session::{Options, Session};
use motion_search::stages::{SearchedFrames, block_costs, stages};
use motion_search::tuning::{Kernel, Tuning};
use motion_search::{MotionSearch, devices};
use test_support::misuse::{frame, parameters};
use test_support::{fails, panics};

fn window() -> Window {
    parameters().window
}

fn native() -> Native {
    Native::new(parameters()).unwrap()
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
        assert!(
            Native::with_instruction_set(parameters.clone(), InstructionSetName::best()).is_err(),
            "{name}"
        );
        assert!(
            Native::with_kernel(parameters.clone(), Kernel::Auto, InstructionSetName::best()).is_err(),
            "{name}"
        );
        assert!(stages(&parameters).is_err(), "{name}");
        assert!(block_costs(&parameters, InstructionSetName::best()).is_err(), "{name}");
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
        assert!(Window::from_text(&side.to_string(), block_size).is_err(), "{side} {block_size}");
    }
    for text in ["", ",", "1,2", "-1,1,-1", "a,b,c,d", "0,0,0,0,0", "-8", "4.5", "9".repeat(40).as_str()] {
        fails("Window::from_text", Window::from_text(text, 16), |error| {
            matches!(error, SetupError::WindowText { .. })
        });
    }
    assert_eq!(Window::from_text(" -3,9, -5,0 ", 16).unwrap(), Window::new(-3, 9, -5, 0).unwrap());
    assert_eq!(Window::from_text("47", 16).unwrap(), Window::new(-16, 15, -16, 15).unwrap());
    panics("clipped", || window().clipped(5..=-5, 0..=0));
    panics("clipped", || window().clipped(0..=0, 1..=i32::MAX));
    assert!(!window().contains((i32::MIN, i32::MAX)));
    fails("threads", native().with_threads(usize::MAX), |error| matches!(error, SetupError::Count { .. }));
    fails("depth", native().with_depth(usize::MAX), |error| matches!(error, SetupError::Count { .. }));
    assert!(Kernel::ThreeStep.check_algorithm(Algorithm::Full, "native").is_err());
    assert!(Native::with_kernel(parameters(), Kernel::ThreeStep, InstructionSetName::best()).is_err());
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
}

#[test]
fn fields_and_parts() {
    let vector = MotionVector::default();
    let grid = Grid { columns: 2, rows: 2 };
    fails("check", grid.check(&[vector; 3]), |error| matches!(error, EstimateError::FieldSize(3, 4)));
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
        whole.with_displacements(3..3),
        whole.with_displacements(std::ops::Range { start: 3, end: 2 }),
        whole.with_displacements(0..whole.displacements().end + 1),
        whole.with_displacements(0..usize::MAX),
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
