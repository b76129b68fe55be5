//! Misuse of what makes frames on OpenCL devices. See `misuse`.

use motion_frames::compensation::{CompensationError, PlaneMut, Sampling};
use motion_frames::denoising::{
    DenoisingError, FrameDenoiser as _, LoadedFrame, LumaSlot, MOST_REFERENCES, ReferenceFrame, Strength,
};
use motion_frames::interpolation::{FrameFormat, FrameMaker as _, FrameQuality, InterpolationError, Phase};
use motion_frames::opencl::{OpenClDenoiser, OpenClInterpolator};
use motion_search::estimator::{Frame, MotionVector};
use test_support::misuse::frame;
use test_support::{fails, panics};

use crate::all_devices;
use crate::misuse::format;

#[test]
fn made_frames_on_devices() {
    for device in all_devices() {
        for wrong in [
            FrameFormat { size: (0, 12), ..format() },
            FrameFormat { size: (16, 0), ..format() },
            FrameFormat { size: (usize::MAX, usize::MAX), ..format() },
            FrameFormat { samplings: vec![], ..format() },
        ] {
            assert!(OpenClInterpolator::new(&device, &wrong, FrameQuality::Fast).is_err(), "{wrong:?}");
        }
        let (small, frame) = (Frame::from_fn(8, 8, |_, _| 0), frame());
        let deep = Frame::deep_from_fn(16, 12, 10, |_, _| 0);
        let is_planes = |error: &InterpolationError| matches!(error, InterpolationError::Planes(_));
        let is_device = |error: &InterpolationError| matches!(error, InterpolationError::Device(_));
        let mut maker = OpenClInterpolator::new(&device, &format(), FrameQuality::Balanced).unwrap();
        fails("load_frame", maker.load_frame(&[]), is_planes);
        fails("load_frame", maker.load_frame(&[small.view()]), is_planes);
        fails("load_frame", maker.load_frame(&[deep.view()]), is_planes);
        fails("set_motion", maker.set_motion(&[]), is_planes);
        fails("finish_frame", maker.finish_frame(), is_device);
        for _ in 0..maker.depth() {
            maker.start_frame(Phase::MIDDLE).unwrap();
        }
        fails("start_frame", maker.start_frame(Phase::MIDDLE), is_device);
        maker.finish_frame().unwrap();
        let mut samples = vec![0; 16 * 12];
        let mut out = PlaneMut::new(&mut samples[..64], 8, 8, 8).unwrap();
        fails("write_plane", maker.write_plane(0, [&frame.view(), &frame.view()], &mut out), |error| {
            matches!(error, CompensationError::PlaneSize(..))
        });
        let mut out = PlaneMut::new(&mut samples, 16, 12, 16).unwrap();
        panics("write_plane", || maker.write_plane(1, [&frame.view(), &frame.view()], &mut out));
    }
}

#[test]
fn denoised_frames_on_devices() {
    let halved = Sampling { halved_x: true, halved_y: true, interleaved: false };
    let luma = Sampling::LUMA;
    for device in all_devices() {
        let open = |format: &_, references, loaded| OpenClDenoiser::new(&device, format, references, loaded);
        for wrong in [
            FrameFormat { size: (0, 12), ..format() },
            FrameFormat { size: (usize::MAX, usize::MAX), ..format() },
            FrameFormat { samplings: vec![], ..format() },
            FrameFormat { samplings: vec![luma, Sampling { interleaved: true, ..luma }], ..format() },
            FrameFormat { samplings: vec![luma, halved, luma], ..format() },
        ] {
            assert!(open(&wrong, 1, 2).is_err(), "{wrong:?}");
        }
        panics("references", || open(&format(), MOST_REFERENCES + 1, 2).map(drop));
        panics("loaded", || open(&format(), 1, 0).map(drop));
        let (small, frame) = (Frame::from_fn(8, 8, |_, _| 0), frame());
        let deep = Frame::deep_from_fn(16, 12, 10, |_, _| 0);
        let is_planes = |error: &DenoisingError| matches!(error, DenoisingError::Planes(_));
        let mut denoiser = open(&format(), 1, 2).unwrap();
        fails("load", denoiser.load(&[]), is_planes);
        fails("load", denoiser.load(std::slice::from_ref(&small)), is_planes);
        fails("load", denoiser.load(std::slice::from_ref(&deep)), is_planes);
        fails("is_repeat", denoiser.is_repeat(&[]), is_planes);
        // Frames of the host are compared there.
        assert_eq!(denoiser.is_repeat(std::slice::from_ref(&frame)).unwrap(), None);
        let (planes, wrong) = ([frame.clone()], [small]);
        let slot = denoiser.load(&planes).unwrap().1;
        let (loaded, field) = (LoadedFrame { slot, planes: &planes }, [MotionVector::default(); 4]);
        let reference = ReferenceFrame { frame: loaded, vectors: &field, offset: 1 };
        let strength = Strength::new(1.0);
        let of_wrong = LoadedFrame { slot, planes: &wrong };
        let short = ReferenceFrame { vectors: &field[..3], ..reference };
        fails("measure", denoiser.measure(of_wrong, &[], strength).map(drop), is_planes);
        fails("measure", denoiser.measure(loaded, &[short], strength).map(drop), is_planes);
        let other = ReferenceFrame { frame: of_wrong, ..reference };
        fails("measure", denoiser.measure(loaded, &[other], strength).map(drop), is_planes);
        panics("measure", || denoiser.measure(loaded, &[reference; 2], strength).map(drop));
        // Frames that have not been loaded.
        let nowhere =
            ReferenceFrame { frame: LoadedFrame { slot: LumaSlot::default(), ..loaded }, ..reference };
        denoiser.measure(loaded, &[nowhere], strength).unwrap();
        assert!(!denoiser.copy_to_blocks(&[]).unwrap());
        let mut samples = vec![0; 16 * 12];
        let mut out = PlaneMut::new(&mut samples[..64], 8, 8, 8).unwrap();
        fails("write_plane", denoiser.write_plane(0, loaded, &[reference], &mut out), is_planes);
        let mut out = PlaneMut::new(&mut samples, 16, 12, 16).unwrap();
        panics("write_plane", || denoiser.write_plane(1, loaded, &[reference], &mut out));
    }
}
