//! Frames without noise that OpenCL devices make, compared with the oracle.

use motion_frames::compensation::{PlaneMut, Sampling};
use motion_frames::denoising::{
    BlockNoise, Denoiser, FrameDenoiser, LoadedFrame, LumaSlot, NoiseLevel, NoiseMap, Reference,
    ReferenceFrame, Strength, oracle,
};
use motion_frames::interpolation::FrameFormat;
use motion_frames::opencl::OpenClDenoiser;
use motion_search::estimator::{Frame, FrameView, MotionVector};
use motion_search::opencl::OpenClDevice;
use test_support::{Content, some_of};

use crate::all_devices;
use crate::denoising::{HALVED, INTERLEAVED, OFFSETS, Sequence, WIDE, flickering, noisy, samples};

/// What takes the noise out of frames of a format, by name: all devices, and the CPU by what it has in common with them.
fn denoisers(
    format: &FrameFormat,
    references: usize,
    loaded: usize,
) -> Vec<(String, Box<dyn FrameDenoiser>)> {
    let mut opened: Vec<(String, Box<dyn FrameDenoiser>)> =
        vec![("native".into(), Box::new(Denoiser::new(format, references, loaded, 2).unwrap()))];
    for device in all_devices() {
        let denoiser = OpenClDenoiser::new(&device, format, references, loaded).unwrap();
        opened.push((device.name, Box::new(denoiser)));
    }
    opened
}

/// A device that has loaded the frames of a stream.
pub struct StreamOnDevice<'a> {
    pub name: String,
    denoiser: OpenClDenoiser,
    frames: Vec<LoadedFrame<'a>>,
}

/// All devices, which have loaded `frames`.
pub fn on_devices<'a>(
    format: &FrameFormat,
    references: usize,
    frames: &'a [Vec<Frame>],
) -> Vec<StreamOnDevice<'a>> {
    let on_device = |device: OpenClDevice| {
        let mut denoiser = OpenClDenoiser::new(&device, format, references, frames.len()).unwrap();
        let load = |planes: &'a Vec<Frame>| LoadedFrame { slot: denoiser.load(planes).unwrap().1, planes };
        let frames = frames.iter().map(load).collect();
        StreamOnDevice { name: device.name, denoiser, frames }
    };
    all_devices().into_iter().map(on_device).collect()
}

impl StreamOnDevice<'_> {
    /// The noise of frame `time`, and its planes without it: by the `others`, how many frames after it each comes, its number, and
    /// the motion to it.
    pub fn denoise(
        &mut self,
        time: usize,
        others: &[(isize, usize, &[MotionVector])],
        level: NoiseLevel,
        strength: Strength,
    ) -> (Vec<BlockNoise>, Vec<Vec<u16>>) {
        let Self { denoiser, frames, .. } = self;
        let reference =
            |&(offset, at, vectors): &(_, usize, _)| ReferenceFrame { frame: frames[at], vectors, offset };
        let references: Vec<_> = others.iter().map(reference).collect();
        denoiser.set_noise_level(level);
        // What the device does ahead changes nothing, of use or not.
        let beside = others.iter().rposition(|(offset, ..)| offset.abs() == 1).map_or(0, |last| last + 1);
        match time % 5 {
            0 => (),
            1 => denoiser.look_ahead(frames[time], &references[..beside]),
            2 => denoiser.look_ahead(frames[time], &references),
            3 => denoiser.look_ahead(frames[(time + 1) % frames.len()], &references),
            _ => denoiser.look_ahead(frames[time], &references[..beside.saturating_sub(1)]),
        }
        let noise = denoiser.measure(frames[time], &references, strength).unwrap().blocks().to_vec();
        (noise, written(denoiser, frames[time], &references))
    }
}

fn views(planes: &[Frame]) -> Vec<FrameView<'_>> {
    planes.iter().map(Frame::view).collect()
}

/// The planes of the frame that was measured last. Rows are a few bytes apart, which must not be written.
fn written(
    denoiser: &mut dyn FrameDenoiser,
    frame: LoadedFrame<'_>,
    references: &[ReferenceFrame<'_>],
) -> Vec<Vec<u16>> {
    const GAP: usize = 5;
    let write = |(index, plane): (usize, &Frame)| {
        let plane = plane.view();
        let stride = plane.row_bytes() + GAP;
        let mut memory = vec![0xa5_u8; stride * plane.height()];
        let mut out = PlaneMut::with_format(&mut memory, plane.size(), stride, plane.format()).unwrap();
        denoiser.write_plane(index, frame, references, &mut out).unwrap();
        let made = samples(&out.view());
        for row in memory.chunks_exact(stride) {
            assert_eq!(row[plane.row_bytes()..], [0xa5; GAP], "bytes between rows");
        }
        made
    };
    frame.planes.iter().enumerate().map(write).collect()
}

/// Compares the noise and the planes without it with the oracle's.
fn check(sequence: &Sequence, fields: &[Vec<MotionVector>], level: NoiseLevel, strength: f64) -> NoiseMap {
    let strength = Strength::new(strength);
    let planes = views(&sequence.frame);
    let others: Vec<_> = sequence.others.iter().map(|planes| views(planes)).collect();
    let pairs = others.iter().zip(fields).zip(OFFSETS);
    let slot = LumaSlot::default();
    let expected_of: Vec<_> =
        pairs.map(|((planes, vectors), offset)| Reference { slot, planes, vectors, offset }).collect();
    let mut noise = oracle::StreamNoise::new(planes[0].size(), planes[0].format().depth());
    noise.set_level(level);
    let expected = oracle::denoise(
        &mut noise,
        &sequence.samplings,
        &planes,
        &expected_of,
        (strength, sequence.is_spatial),
    )
    .unwrap();
    let mut found = None;
    for (name, mut denoiser) in denoisers(&sequence.format(), others.len(), others.len() + 1) {
        denoiser.rehearse().unwrap();
        denoiser.set_noise_level(level);
        denoiser.set_spatial(sequence.is_spatial);
        // Those that were loaded before are gone.
        for planes in sequence.others.iter().take(2) {
            denoiser.load(planes).unwrap();
        }
        let mut load = |planes| LoadedFrame { slot: denoiser.load(planes).unwrap().1, planes };
        let frame = load(&sequence.frame);
        let frames: Vec<_> = sequence.others.iter().map(|planes| load(planes)).collect();
        let references = frames.into_iter().zip(fields).zip(OFFSETS);
        let references: Vec<_> =
            references.map(|((frame, vectors), offset)| ReferenceFrame { frame, vectors, offset }).collect();
        // What was there before does not matter.
        for references in [&references[..0], &references[..]] {
            let measured = denoiser.measure(frame, references, strength).unwrap().clone();
            let made = written(&mut *denoiser, frame, references);
            let name = format!("{:?}, {} frames, {name}", sequence.format(), references.len());
            if references.is_empty() {
                assert!(measured.is_none(), "{name}");
                assert!(made.iter().zip(&planes).all(|(made, plane)| *made == samples(plane)), "{name}");
                continue;
            }
            assert!(measured.blocks() == noise.blocks(), "noise of {name}");
            for (index, (made, expected)) in made.iter().zip(&expected).enumerate() {
                assert!(*made == samples(&expected.view()), "plane {index} of {name}");
            }
            found = Some(measured);
        }
    }
    found.expect("a device")
}

fn check_measured(sequence: &Sequence, fields: &[Vec<MotionVector>], strength: f64) -> NoiseMap {
    check(sequence, fields, NoiseLevel::MEASURED, strength)
}

#[test]
fn search_frames_equal_those_of_the_cpu() {
    for (size, depth) in [((45, 35), 8), ((1090, 482), 8), ((600, 300), 10)] {
        let sequence = Sequence::new(Content::Noise, size, &[HALVED, HALVED], (depth, 0));
        let expected = oracle::search_frame(&sequence.frame[0].view());
        for (name, mut denoiser) in denoisers(&sequence.format(), 0, 1) {
            assert!(denoiser.load(&sequence.frame).unwrap().0 == expected, "{size:?}, {name}");
        }
    }
}

#[test]
fn frames_of_any_size_equal_the_oracle() {
    for size in [(1, 1), (2, 1), (1, 9), (7, 5), (8, 8), (9, 17), (16, 15), (33, 40), (65, 47)] {
        for content in some_of(1, [Content::Moved, Content::Noise, Content::Flat, Content::Checkerboard]) {
            let sequence = Sequence::new(content, size, &[HALVED, HALVED], (8, 4));
            check_measured(&sequence, &sequence.found_fields(), 1.0);
            check_measured(&sequence, &sequence.random_fields(64), 16.0);
        }
    }
}

#[test]
fn vectors_of_any_length_equal_the_oracle() {
    for (size, longest) in [((1, 1), i16::MAX), ((24, 40), 200), ((57, 31), 2000), ((40, 48), i16::MAX)] {
        let sequence = Sequence::new(Content::Noise, size, &[INTERLEAVED], (8, 3));
        check_measured(&sequence, &sequence.random_fields(longest), 4.0);
    }
}

#[test]
fn planes_of_any_format_and_depth_equal_the_oracle() {
    let planes =
        [&[][..], &[HALVED, HALVED], &[INTERLEAVED], &[WIDE, WIDE], &[Sampling::LUMA, Sampling::LUMA]];
    // PoCL takes seconds to compile for each of them.
    let depths = [8, 10, 12, 16].into_iter().cycle();
    for (chroma, depth) in some_of(4, planes.into_iter().flat_map(|chroma| [chroma; 4]).zip(depths)) {
        let sequence = Sequence::new(Content::Moved, (45, 35), chroma, (depth, 2));
        check_measured(&sequence, &sequence.random_fields(30), 4.0);
        check_measured(&sequence, &sequence.found_fields(), 0.7);
        check(&sequence, &sequence.random_fields(30), NoiseLevel::known(64.0).unwrap(), 16.0);
    }
}

#[test]
fn any_number_of_references_equals_the_oracle() {
    for others in 1..=8 {
        let sequence = Sequence::new(Content::Noise, (40, 24), &[HALVED, HALVED], (8, others));
        check_measured(&sequence, &sequence.random_fields(40), 2.0);
    }
}

#[test]
fn frames_that_are_searched_at_a_quarter_of_their_size_equal_the_oracle() {
    // More blocks than are asked.
    for chroma in some_of(1, [&[HALVED, HALVED][..], &[INTERLEAVED], &[Sampling::LUMA; 2]]) {
        let sequence = Sequence::new(Content::Noise, (1090, 482), chroma, (8, 2));
        let noise = check_measured(&sequence, &sequence.random_fields(300), 1.0);
        assert!(noise.chroma_deviation(0, 0) > 1.0);
    }
}

#[test]
fn frames_of_another_light_equal_the_oracle() {
    for depth in [8, 12] {
        let sequence = flickering(depth);
        check_measured(&sequence, &sequence.random_fields(20), 1.0);
        let sequence = Sequence { is_spatial: false, ..sequence };
        check_measured(&sequence, &sequence.random_fields(20), 1.0);
    }
}

#[test]
fn noise_is_found_as_by_the_oracle() {
    for (deviation, depth) in [(1.0, 8), (5.0, 8), (15.0, 8), (3.0, 10)] {
        let (sequence, _) = noisy(|_| deviation, depth);
        let noise = check_measured(&sequence, &sequence.found_fields(), 1.0);
        let ratio = noise.mean_deviation() / (deviation * f64::from(1 << (depth - 8)));
        assert!((0.85..1.15).contains(&ratio), "{deviation}: {ratio}");
    }
}
