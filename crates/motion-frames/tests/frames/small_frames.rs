//! Small frames on every device, for oclgrind's too, which finds races and bad addresses.

use motion_frames::compensation::{PlaneMut, Sampling};
use motion_frames::denoising::{
    self, FrameDenoiser, LoadedFrame, LumaSlot, NoiseLevel, Reference, ReferenceFrame, Strength,
};
use motion_frames::interpolation::{FrameFormat, FrameMaker, FrameQuality, Phase, oracle};
use motion_frames::opencl::{OpenClDenoiser, OpenClInterpolator};
use motion_search::estimator::{Frame, MotionVector};
use motion_search::opencl::DeviceKind;
use test_support::Noise;

use crate::all_devices;

/// Frames of a few blocks, of eight bits and of ten, in the groups of a CPU and of a GPU.
#[test]
fn made_frames_are_exact() {
    let halved = Sampling { halved_x: true, halved_y: true, interleaved: false };
    let interleaved = Sampling { interleaved: true, ..halved };
    for mut device in all_devices() {
        for (kind, depth, chroma) in
            [(DeviceKind::Cpu, 8, vec![halved, halved]), (DeviceKind::Gpu, 10, vec![interleaved])]
        {
            device.kind = kind;
            let (size, mut noise) = ((37, 18), Noise::new(depth));
            let samplings = [&[Sampling::LUMA], &chroma[..]].concat();
            let mut planes = || -> Vec<Frame> {
                let mut plane = |sampling: &Sampling| {
                    let size = sampling.plane_size(size.0, size.1);
                    Frame::deep_from_fn(size.0, size.1, depth, |_, _| u16::from(noise.next()) << (depth - 8))
                };
                samplings.iter().map(&mut plane).collect()
            };
            let frames = [planes(), planes()];
            let [previous, next] =
                frames.each_ref().map(|planes| planes.iter().map(Frame::view).collect::<Vec<_>>());
            let mut vector = |cost: u32| {
                let [x, y] = [noise.next(), noise.next()].map(|byte| 8 * (i16::from(byte) - 128));
                MotionVector { x, y, cost: cost % 4 }
            };
            let field: Vec<_> = (0..15).map(&mut vector).collect();
            let phase = Phase::new(2, 5).unwrap();
            let format = FrameFormat { size, samplings: samplings.clone(), samples: previous[0].format() };
            let quality = FrameQuality::Balanced;
            let mut maker = OpenClInterpolator::new(&device, &format, quality).unwrap();
            maker.load_frame(&previous).unwrap();
            maker.load_frame(&next).unwrap();
            maker.set_motion(&field).unwrap();
            maker.start_frame(phase).unwrap();
            maker.finish_frame().unwrap();
            let expected = oracle::interpolate([&previous, &next], &samplings, &field, quality, phase);
            for (index, expected) in expected.iter().enumerate() {
                let expected = expected.view();
                let mut memory = vec![0; expected.row_bytes() * expected.height()];
                let (size, stride, format) = (expected.size(), expected.row_bytes(), expected.format());
                let mut plane = PlaneMut::with_format(&mut memory, size, stride, format).unwrap();
                maker.write_plane(index, [&previous[index], &next[index]], &mut plane).unwrap();
                assert_eq!(memory, expected.as_bytes(), "{kind:?}, plane {index}");
            }
        }
    }
}

/// The same without noise, and where planes of chroma are as large as luma.
#[test]
fn denoised_frames_are_exact() {
    let halved = Sampling { halved_x: true, halved_y: true, interleaved: false };
    for mut device in all_devices() {
        for (kind, depth, chroma) in
            [(DeviceKind::Cpu, 8, [halved; 2]), (DeviceKind::Gpu, 10, [Sampling::LUMA; 2])]
        {
            device.kind = kind;
            let (size, mut noise) = ((37, 18), Noise::new(depth));
            let samplings = [&[Sampling::LUMA], &chroma[..]].concat();
            let mut planes = || -> Vec<Frame> {
                let mut plane = |sampling: &Sampling| {
                    let size = sampling.plane_size(size.0, size.1);
                    Frame::deep_from_fn(size.0, size.1, depth, |x, _| {
                        (u16::from(noise.next() % 32) + 4 * x as u16) << (depth - 8)
                    })
                };
                samplings.iter().map(&mut plane).collect()
            };
            let frames = [planes(), planes(), planes()];
            let views = frames.each_ref().map(|planes| planes.iter().map(Frame::view).collect::<Vec<_>>());
            let field: Vec<_> =
                (0..15).map(|x| MotionVector { x: 9 * x - 70, y: 60 - 8 * x, cost: 0 }).collect();
            let (level, strength) = (NoiseLevel::known(9.0).unwrap(), Strength::new(1.0));
            let mut oracle = denoising::oracle::StreamNoise::new(size, depth);
            oracle.set_level(level);
            let slot = LumaSlot::default();
            let others = [(1, -1), (2, 1)];
            let references =
                others.map(|(at, offset)| Reference { slot, planes: &views[at], vectors: &field, offset });
            let expected =
                denoising::oracle::denoise(&mut oracle, &samplings, &views[0], &references, (strength, true))
                    .unwrap();
            let format = FrameFormat { size, samplings: samplings.clone(), samples: views[0][0].format() };
            let mut denoiser = OpenClDenoiser::new(&device, &format, 2, 3).unwrap();
            denoiser.set_noise_level(level);
            let loaded = frames
                .each_ref()
                .map(|planes| LoadedFrame { slot: denoiser.load(planes).unwrap().1, planes });
            let references =
                others.map(|(at, offset)| ReferenceFrame { frame: loaded[at], vectors: &field, offset });
            denoiser.measure(loaded[0], &references, strength).unwrap();
            for (index, expected) in expected.iter().enumerate() {
                let expected = expected.view();
                let mut memory = vec![0; expected.row_bytes() * expected.height()];
                let (size, stride, format) = (expected.size(), expected.row_bytes(), expected.format());
                let mut plane = PlaneMut::with_format(&mut memory, size, stride, format).unwrap();
                denoiser.write_plane(index, loaded[0], &references, &mut plane).unwrap();
                assert_eq!(memory, expected.as_bytes(), "{kind:?}, plane {index}");
                assert_ne!(memory, views[0][index].as_bytes(), "{kind:?}, plane {index}");
            }
        }
    }
}
