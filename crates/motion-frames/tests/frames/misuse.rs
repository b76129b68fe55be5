//! Public functions with arguments that make no sense: the answer is an error, a documented panic, or a value that says
//! nothing. `misuse_values` has the oracles and duplicates, `misuse_devices` what takes OpenCL devices.

use motion_frames::backend;
use motion_frames::compensation::{
    self, Compensated, CompensationError, Field, PlaneMut, Sampling, SquaredError, compensate, mse, psnr,
    squared_error, weighted_mean,
};
use motion_frames::denoising::{self, Denoiser, MOST_REFERENCES, Reference, Strength};
use motion_frames::interpolation::{
    self, FrameFormat, FrameMaker, FrameQuality, InterpolationError, Interpolator, Phase, SearchInput,
};
use motion_frames::packers::x265::{self, CodingTree};
use motion_frames::packers::{d3d12, nvenc};
use motion_search::backend::DeviceSelector;
use motion_search::estimator::{Frame, MotionVector, Parameters, References, SampleFormat};
use motion_search::native::InstructionSetName;
use test_support::misuse::{frame, parameters};
use test_support::{fails, panics};

pub fn format() -> FrameFormat {
    FrameFormat { size: (16, 12), samplings: vec![Sampling::LUMA], samples: SampleFormat::EIGHT_BITS }
}

#[test]
fn planes_and_fields() {
    let deep = SampleFormat::new(10, 0).unwrap();
    let frame = frame();
    let view = frame.view();
    assert!(PlaneMut::new(&mut [0; 9], 4, 4, 4).is_err());
    assert!(PlaneMut::with_format(&mut [0; 9], (0, 4), 4, deep).is_err());
    let (mut samples, mut deeper) = (vec![0; 16 * 12], vec![0; 2 * 16 * 12]);
    let mut plane = PlaneMut::new(&mut samples, 16, 12, 16).unwrap();
    let other = Frame::from_fn(12, 16, |_, _| 0);
    assert!(matches!(plane.copy_from(&other.view()), Err(CompensationError::PlaneSize(..))));
    let mut plane = PlaneMut::with_format(&mut deeper, (16, 12), 32, deep).unwrap();
    assert!(matches!(plane.copy_from(&view), Err(CompensationError::BitDepth(..))));

    let vector = MotionVector::default();
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
        compensation::predict(&field.with_scale(scale), Sampling::LUMA, &view, &mut out).unwrap();
    }
}

#[test]
fn names_of_devices() {
    for device in [DeviceSelector::Name("missing".into()), DeviceSelector::Index(9, 9)] {
        assert!(backend::open_maker(&device, &format(), FrameQuality::Fast, 1).is_err(), "{device}");
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
        assert!(SearchInput::new(size, 1).is_err());
        assert!(denoising::search_parameters(size.0, size.1, References::default()).is_err());
    }
    let no_planes = FrameFormat { samplings: vec![], ..format() };
    assert!(Interpolator::new(&no_planes, FrameQuality::Fast, 1).is_err());
    assert!(Denoiser::new(&no_planes, 1, 2, 1).is_err());
    let interleaved = Sampling { interleaved: true, ..Sampling::LUMA };
    let odd = FrameFormat { samplings: vec![Sampling::LUMA, interleaved], ..format() };
    assert!(Interpolator::new(&odd, FrameQuality::Fast, 1).is_err());
    let (quality, instruction_set) = (FrameQuality::Fast, InstructionSetName::best());
    assert!(Interpolator::with_instruction_set(&format(), quality, usize::MAX, instruction_set).is_err());
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
    assert!(SearchInput::with_instruction_set((16, 0), 1, InstructionSetName::best()).is_err());
}

#[test]
fn denoised_frames() {
    panics("Denoiser::new", || Denoiser::new(&format(), MOST_REFERENCES + 1, 9, 1));
    panics("Denoiser::new", || Denoiser::new(&format(), 1, 0, 1));
    assert!([f64::NAN, -1.0, f64::NEG_INFINITY].into_iter().all(|factor| Strength::new(factor).is_none()));
    let mut denoiser = Denoiser::new(&format(), 1, 2, 1).unwrap();
    let (small, frame) = (Frame::from_fn(8, 8, |_, _| 0), frame());
    let is_size = |error: &CompensationError| matches!(error, CompensationError::PlaneSize(..));
    fails("load", denoiser.load(&small.view()), is_size);
    let (search_frame, slot) = denoiser.load(&frame.view()).unwrap();
    assert_eq!(search_frame.view().size(), (16, 12));
    let strength = Strength::new(1.0);
    let map = denoiser.measure(&[frame.view()], &[], strength).unwrap().clone();
    panics("luma_deviation", || map.luma_deviation(0, 99));
    panics("luma_deviation", || map.luma_deviation(16, 0));
    panics("chroma_deviation", || map.chroma_deviation(99, 99));
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
