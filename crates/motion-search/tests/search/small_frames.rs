//! Small cases for every kernel and device: quick by themselves, and small enough for oclgrind's device, which finds races
//! and bad addresses.

use motion_search::compensation::{PlaneMut, Sampling};
use motion_search::estimator::{
    Algorithm, Border, Frame, Metric, MotionVector, Parameters, Quality, SubSample, Window,
};
use motion_search::interpolation::{FrameFormat, FrameMaker, FrameQuality, Phase, oracle};
use motion_search::opencl::{DeviceKind, OpenCl, OpenClInterpolator};
use motion_search::tuning::{Kernel, Launch, Tuning};
use test_support::{Case, Content, Noise, check, frames};

use crate::all_devices;

/// Three steps of a window that is wider than the frames are high, one block size for each number
/// of items a candidate, and blocks that fill no group.
#[test]
fn three_steps_of_small_frames_are_exact() {
    let sizes = [(12, 26, 13, Metric::Ssd, Border::Extend), (20, 37, 23, Metric::Sad, Border::Restrict)];
    for device in all_devices() {
        for kernel in Kernel::OPENCL_THREE_STEP {
            for (block_size, width, height, metric, border) in sizes {
                let window = Window::new(-7, 5, -2, 6).unwrap();
                let parameters = Parameters {
                    algorithm: Algorithm::ThreeStep,
                    metric,
                    border,
                    ..Parameters::new(width, height, block_size, window)
                };
                let (reference, current) = frames(Content::Noise, width, height);
                let mut estimator = OpenCl::new(&device, kernel, &Tuning::default(), &parameters).unwrap();
                let name = format!("{kernel} {parameters:?}");
                check(&Case { name, parameters, reference, current }, &mut estimator);
            }
        }
    }
}

/// Refinement with a block a group and with several, which leave a part of the last group idle, and of tiles of half a
/// block where local memory has no more.
#[test]
fn sub_samples_of_small_frames_are_exact() {
    let sizes = [
        (4, 13, 11, 8, SubSample::Quarter, Border::Extend, DeviceKind::Gpu, 32 << 10),
        (16, 37, 18, 8, SubSample::Quarter, Border::Extend, DeviceKind::Gpu, 32 << 10),
        (20, 26, 13, 8, SubSample::Half, Border::Restrict, DeviceKind::Cpu, 32 << 10),
        (4, 13, 11, 9, SubSample::Quarter, Border::Extend, DeviceKind::Gpu, 32 << 10),
        (16, 37, 18, 16, SubSample::Quarter, Border::Extend, DeviceKind::Gpu, 4 << 10),
        (20, 26, 13, 10, SubSample::Half, Border::Restrict, DeviceKind::Cpu, 32 << 10),
    ];
    for device in all_devices() {
        for (block_size, width, height, depth, sub_sample, border, kind, local_memory) in sizes {
            let mut device = device.clone();
            (device.kind, device.local_memory) = (kind, device.local_memory.min(local_memory));
            let window = Window::new(-30, 1, -1, 40).unwrap();
            let parameters = Parameters {
                algorithm: Algorithm::ThreeStep,
                sub_sample,
                border,
                ..Parameters::new(width, height, block_size, window)
            };
            let (reference, current) = frames(Content::Noise, width, height);
            let name = format!("{:?} {parameters:?}", Content::Noise);
            let case = test_support::deep_case(Case { name, parameters, reference, current }, depth);
            let kernel = Kernel::ThreeStepUnaligned;
            let mut estimator = OpenCl::new(&device, kernel, &Tuning::default(), &case.parameters).unwrap();
            check(&case, &mut estimator);
        }
    }
}

/// Hierarchical search of one level and of two, with blocks that are smaller and larger than a cell.
#[test]
fn hierarchical_searches_of_small_frames_are_exact() {
    for device in all_devices() {
        for (quality, block_size, width, height) in
            [(Quality::Fast, 4, 37, 18), (Quality::High, 4, 61, 60), (Quality::Balanced, 16, 130, 121)]
        {
            let window = Window::symmetric(1, 1).unwrap();
            let parameters = Parameters {
                algorithm: Algorithm::Hierarchical,
                quality,
                ..Parameters::new(width, height, block_size, window)
            };
            let (reference, current) = frames(Content::Noise, width, height);
            let mut estimator =
                OpenCl::new(&device, Kernel::Hierarchical, &Tuning::default(), &parameters).unwrap();
            let name = format!("{parameters:?}");
            check(&Case { name, parameters, reference, current }, &mut estimator);
        }
    }
}

#[test]
fn small_frames_are_exact() {
    let devices = all_devices();
    // Lopsided windows, an odd number of candidates, one aligned and one misaligned block size,
    // a grid that fills no group.
    let sizes = [(16, 37, 18, Metric::Sad, Border::Extend), (12, 26, 13, Metric::Ssd, Border::Restrict)];
    for device in devices {
        for kernel in Kernel::OPENCL {
            for (block_size, width, height, metric, border) in sizes {
                let window = Window::new(-3, 1, -1, 1).unwrap();
                let parameters =
                    Parameters { metric, border, ..Parameters::new(width, height, block_size, window) };
                let (reference, current) = frames(Content::Noise, width, height);
                // Batches of four jobs, bands of one or two blocks.
                let cost_bytes = Some(16 * parameters.grid().blocks() as u64);
                let plain = Tuning { cost_bytes, ..Tuning::default() };
                // Odd groups, and launches beside one another.
                let odd = Tuning { group_size: Some(7), launch: Some(Launch::Queues(2)), ..plain };
                for tuning in [plain, odd] {
                    let mut estimator = OpenCl::new(&device, kernel, &tuning, &parameters).unwrap();
                    let (parameters, name) =
                        (parameters.clone(), format!("{kernel} {tuning:?} {parameters:?}"));
                    let (reference, current) = (reference.clone(), current.clone());
                    check(&Case { name, parameters, reference, current }, &mut estimator);
                }
            }
        }
    }
}

/// Blocks so large that several items share a task of `tiled`, as it is cut for GPUs.
#[test]
fn shared_tasks_are_exact() {
    for mut device in all_devices() {
        device.kind = DeviceKind::Gpu;
        device.local_memory = device.local_memory.min(48 << 10);
        let window = Window::new(-3, 1, -1, 1).unwrap();
        for border in [Border::Extend, Border::Restrict] {
            let parameters = Parameters { border, ..Parameters::new(70, 66, 64, window) };
            let (reference, current) = frames(Content::Noise, 70, 66);
            let mut estimator = OpenCl::new(&device, Kernel::Tiled, &Tuning::default(), &parameters).unwrap();
            let name = format!("{parameters:?}");
            check(&Case { name, parameters, reference, current }, &mut estimator);
        }
    }
}

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
