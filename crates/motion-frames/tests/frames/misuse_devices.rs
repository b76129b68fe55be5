//! Misuse of what makes frames on OpenCL devices. See `misuse`.

use motion_frames::compensation::{CompensationError, PlaneMut};
use motion_frames::interpolation::{FrameFormat, FrameMaker as _, FrameQuality, InterpolationError, Phase};
use motion_frames::opencl::OpenClInterpolator;
use motion_search::estimator::Frame;
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
