//! Frames without noise, compared with the oracle; the noise that is estimated, compared with what was added.

use motion_frames::compensation::oracle::squared_error;
use motion_frames::compensation::{CompensationError, PlaneMut, Sampling, mse};
use motion_frames::denoising::{
    Denoiser, LumaSlot, NoiseLevel, NoiseMap, Reference, Strength, oracle, search_parameters,
};
use motion_frames::interpolation::FrameFormat;
use motion_search::estimator::{Frame, FrameView, MotionVector, References, oracle as search};
use motion_search::native::InstructionSetName;
use test_support::{Content, Noise, deepened, frames, padded};

pub const HALVED: Sampling = Sampling { halved_x: true, halved_y: true, interleaved: false };
pub const INTERLEAVED: Sampling = Sampling { interleaved: true, ..HALVED };
pub const WIDE: Sampling = Sampling { halved_y: false, ..HALVED };
/// How many frames after a frame its references come.
pub const OFFSETS: [isize; 8] = [-1, 1, -2, 2, -3, 3, -4, 4];
const REFERENCES: References = References { backward: 2, forward: 2 };

/// A frame of planes and others, the first two beside it.
pub struct Sequence {
    pub samplings: Vec<Sampling>,
    pub frame: Vec<Frame>,
    pub others: Vec<Vec<Frame>>,
    /// Whether noise that time leaves is taken out, too.
    pub is_spatial: bool,
}

impl Sequence {
    /// Luma of `content`, and chroma like it.
    pub fn new(
        content: Content,
        (width, height): (usize, usize),
        chroma: &[Sampling],
        (depth, others): (u32, usize),
    ) -> Self {
        let planes = |reference: bool| -> Vec<Frame> {
            let plane = |sampling: &Sampling| {
                let (width, height) = sampling.plane_size(width, height);
                let (one, other) = frames(content, width, height);
                padded(&deepened(if reference { &one } else { &other }, depth, true), 6)
            };
            [&[Sampling::LUMA], chroma].concat().iter().map(plane).collect()
        };
        let others = (0..others).map(|index| planes(index % 2 == 0)).collect();
        Self {
            samplings: [&[Sampling::LUMA], chroma].concat(),
            frame: planes(false),
            others,
            is_spatial: true,
        }
    }

    pub fn format(&self) -> FrameFormat {
        let luma = self.frame[0].view();
        FrameFormat { size: luma.size(), samplings: self.samplings.clone(), samples: luma.format() }
    }

    /// For each other frame a field of any vectors up to `longest` 32nds of a sample; half of them are zero.
    pub fn random_fields(&self, longest: i16) -> Vec<Vec<MotionVector>> {
        let (width, height) = self.format().size;
        let blocks = search_parameters(width, height, REFERENCES).unwrap().grid().blocks();
        let mut noise = Noise::new(blocks as u32);
        let mut number = || {
            let number = i16::from_le_bytes([noise.next(), noise.next()]);
            if noise.next().is_multiple_of(2) {
                0
            } else {
                ((i32::from(number) * i32::from(longest)) >> 15) as i16
            }
        };
        let mut vector = || MotionVector { x: number(), y: number(), cost: 0 };
        self.others.iter().map(|_| (0..blocks).map(|_| vector()).collect()).collect()
    }

    /// For each other frame the field that the search finds.
    pub fn found_fields(&self) -> Vec<Vec<MotionVector>> {
        let (width, height) = self.format().size;
        let parameters = search_parameters(width, height, REFERENCES).unwrap();
        let frame = oracle::search_frame(&self.frame[0].view());
        let field = |other: &Vec<Frame>| {
            let other = oracle::search_frame(&other[0].view());
            search::hierarchical(&parameters, &frame.view(), &other.view()).vectors
        };
        self.others.iter().map(field).collect()
    }

    /// The noise and the planes without it, by the oracle and by the CPU with each of its instruction sets.
    fn check(&self, fields: &[Vec<MotionVector>], strength: f64) -> (NoiseMap, Vec<Frame>) {
        self.check_with(fields, NoiseLevel::MEASURED, strength)
    }

    /// The same of noise of this `level`.
    fn check_with(
        &self,
        fields: &[Vec<MotionVector>],
        level_of_noise: NoiseLevel,
        strength: f64,
    ) -> (NoiseMap, Vec<Frame>) {
        let strength = Strength::new(strength);
        let planes: Vec<_> = self.frame.iter().map(Frame::view).collect();
        let others: Vec<Vec<_>> =
            self.others.iter().map(|planes| planes.iter().map(Frame::view).collect()).collect();
        let slot = LumaSlot::default();
        let reference =
            |(index, (planes, vectors))| Reference { slot, planes, vectors, offset: OFFSETS[index] };
        let pairs = others.iter().map(|planes| &planes[..]).zip(fields.iter().map(|field| &field[..]));
        let mut references: Vec<_> = pairs.enumerate().map(reference).collect();
        let mut noise = oracle::StreamNoise::new(planes[0].size(), planes[0].format().depth());
        noise.set_level(level_of_noise);
        let expected =
            oracle::denoise(&mut noise, &self.samplings, &planes, &references, (strength, self.is_spatial))
                .unwrap();
        let mut found = None;
        for instruction_set in InstructionSetName::available() {
            let format = self.format();
            let loaded = references.len() + 1;
            let mut denoiser =
                Denoiser::with_instruction_set(&format, references.len(), loaded, 2, instruction_set)
                    .unwrap();
            denoiser.set_noise_level(level_of_noise);
            denoiser.set_spatial(self.is_spatial);
            // Those that were loaded before are gone.
            for _ in 0..3 {
                denoiser.load(&planes[0]).unwrap();
            }
            for reference in &mut references {
                reference.slot = denoiser.load(&reference.planes[0]).unwrap().1;
            }
            // What was there before does not matter.
            for references in [&references[..0], &references[..]] {
                let measured = denoiser.measure(&planes, references, strength).unwrap().clone();
                for (index, (plane, expected)) in planes.iter().zip(&expected).enumerate() {
                    let made = written(&mut denoiser, index, plane, references);
                    let name = format!("plane {index} of {:?}, {instruction_set}", format.size);
                    if references.is_empty() {
                        assert!(measured.is_none());
                        assert!(made == samples(plane), "{name} alone");
                    } else {
                        assert!(made == samples(&expected.view()), "{name}");
                        assert!(measured.blocks() == noise.blocks(), "{name}");
                    }
                }
                found = Some(measured);
            }
        }
        (found.expect("an instruction set"), expected)
    }
}

pub fn samples(plane: &FrameView<'_>) -> Vec<u16> {
    let (width, height) = plane.size();
    let at = |y: usize| (0..width).map(move |x| plane.sample(x as i32, y as i32));
    (0..height).flat_map(at).collect()
}

/// A plane that `denoiser` writes. Rows are a few bytes apart, which must not be written.
pub fn written(
    denoiser: &mut Denoiser,
    index: usize,
    plane: &FrameView<'_>,
    references: &[Reference<'_>],
) -> Vec<u16> {
    const GAP: usize = 5;
    let stride = plane.row_bytes() + GAP;
    let mut memory = vec![0xa5_u8; stride * plane.height()];
    let mut out = PlaneMut::with_format(&mut memory, plane.size(), stride, plane.format()).unwrap();
    denoiser.write_plane(index, plane, references, &mut out).unwrap();
    let made = samples(&out.view());
    for row in memory.chunks_exact(stride) {
        assert_eq!(row[plane.row_bytes()..], [0xa5; GAP], "bytes between rows");
    }
    made
}

#[test]
fn frames_of_any_size_equal_the_oracle() {
    for size in [(1, 1), (2, 1), (1, 9), (7, 5), (8, 8), (9, 17), (16, 15), (33, 40), (65, 47)] {
        for content in [Content::Moved, Content::Noise, Content::Flat, Content::Checkerboard] {
            let sequence = Sequence::new(content, size, &[HALVED, HALVED], (8, 4));
            sequence.check(&sequence.found_fields(), 1.0);
            sequence.check(&sequence.random_fields(64), 16.0);
        }
    }
}

#[test]
fn vectors_of_any_length_equal_the_oracle() {
    for (size, longest) in [((1, 1), i16::MAX), ((24, 40), 200), ((57, 31), 2000), ((40, 48), i16::MAX)] {
        let sequence = Sequence::new(Content::Noise, size, &[INTERLEAVED], (8, 3));
        sequence.check(&sequence.random_fields(longest), 4.0);
    }
}

#[test]
fn planes_of_any_format_and_depth_equal_the_oracle() {
    for chroma in
        [&[][..], &[HALVED, HALVED], &[INTERLEAVED], &[WIDE, WIDE], &[Sampling::LUMA, Sampling::LUMA]]
    {
        for depth in [8, 10, 16] {
            let sequence = Sequence::new(Content::Moved, (45, 35), chroma, (depth, 2));
            sequence.check(&sequence.random_fields(30), 4.0);
            sequence.check(&sequence.found_fields(), 0.7);
        }
    }
}

#[test]
fn any_number_of_references_equals_the_oracle() {
    for others in 1..=8 {
        let sequence = Sequence::new(Content::Noise, (40, 24), &[HALVED, HALVED], (8, others));
        sequence.check(&sequence.random_fields(40), 2.0);
    }
}

#[test]
fn frames_that_are_searched_at_a_quarter_of_their_size_equal_the_oracle() {
    // Blocks of chroma side by side have the same vector.
    for chroma in [&[HALVED, HALVED][..], &[INTERLEAVED], &[WIDE], &[Sampling::LUMA]] {
        let sequence = Sequence::new(Content::Noise, (1090, 482), chroma, (8, 2));
        let (noise, _) = sequence.check(&sequence.random_fields(300), 1.0);
        assert!(noise.chroma_deviation(0, 0) > 1.0);
    }
}

/// Frames of luma, between one that is darker and one that is brighter.
pub fn flickering(depth: u32) -> Sequence {
    let mut noise = Noise::new(depth);
    let mut luma = |light: u16| {
        let plane = Frame::deep_from_fn(70, 45, depth, |x, y| {
            let texture = ((x + 2 * y) % 50) as u16 + u16::from(noise.next() % 16);
            (texture + light) << (depth - 8)
        });
        vec![plane]
    };
    let (frame, others) = (luma(100), vec![luma(0), luma(190)]);
    Sequence { samplings: vec![Sampling::LUMA], frame, others, is_spatial: true }
}

#[test]
fn frames_of_another_light_equal_the_oracle() {
    for depth in [8, 12] {
        let sequence = flickering(depth);
        let (_, made) = sequence.check(&sequence.random_fields(20), 1.0);
        let change =
            squared_error(&made[0].view(), &sequence.frame[0].view()).unwrap() as f64 / (70.0 * 45.0);
        assert!(change > 1.0, "{depth}: {change}");
    }
}

/// A scene with texture of all sizes that moves by `(3, 1)` samples a frame, with its brightness.
fn scene(x: usize, y: usize, frame: i32) -> f64 {
    let (x, y) = (f64::from(x as i32 - 3 * frame), f64::from(y as i32 - frame));
    let waves = (x / 7.0).sin() * (y / 5.0).cos() + (x / 23.0 + y / 31.0).sin();
    110.0 + 25.0 * waves + 12.0 * ((x * 0.9).sin() * (y * 1.1).sin())
}

/// Numbers with the normal distribution, as a sum of twelve.
struct Normal(Noise);

impl Normal {
    fn next(&mut self) -> f64 {
        let mut number = || f64::from(u16::from_le_bytes([self.0.next(), self.0.next()])) / 65536.0;
        (0..12).map(|_| number()).sum::<f64>() - 6.0
    }
}

/// Five frames of luma of the scene, with noise of the `deviation` that each brightness has, and the third one
/// without.
pub fn noisy(deviation: impl Fn(f64) -> f64, depth: u32) -> (Sequence, Frame) {
    const SIZE: (usize, usize) = (320, 240);
    let mut normal = Normal(Noise::new(7));
    let scale = f64::from(1 << (depth - 8));
    let peak = f64::from((1 << depth) - 1);
    let mut luma = |frame: i32, is_clean: bool| {
        Frame::deep_from_fn(SIZE.0, SIZE.1, depth, |x, y| {
            let clean = scene(x, y, frame);
            let noise = if is_clean { 0.0 } else { deviation(clean) * normal.next() };
            ((clean + noise) * scale).round().clamp(0.0, peak) as u16
        })
    };
    let others = [-1, 1, -2, 2].map(|frame| vec![luma(frame, false)]).into();
    let frame = vec![luma(0, false)];
    (Sequence { samplings: vec![Sampling::LUMA], frame, others, is_spatial: true }, luma(0, true))
}

#[test]
fn the_noise_that_was_added_is_found_and_taken_out() {
    for deviation in [1.0, 2.0, 3.0, 5.0, 8.0, 11.0, 15.0] {
        let (sequence, clean) = noisy(|_| deviation, 8);
        let (noise, made) = sequence.check(&sequence.found_fields(), 1.0);
        let ratio = noise.mean_deviation() / deviation;
        assert!((0.85..1.15).contains(&ratio), "{deviation}: {ratio}");
        let error = |frame: &Frame| mse(&frame.view(), &clean.view()).unwrap();
        let (before, after) = (error(&sequence.frame[0]), error(&made[0]));
        assert!(after < 0.4 * before, "{deviation}: {before} -> {after}");
    }
}

#[test]
fn noise_that_time_leaves_is_taken_out_of_slopes() {
    for depth in [8, 12, 16] {
        let mut normal = Normal(Noise::new(depth));
        let scale = f64::from(1 << (depth - 8));
        let mut luma = |deviation: f64| {
            Frame::deep_from_fn(203, 150, depth, |x, y| {
                let clean = 40.0 + 0.6 * x as f64 + 0.4 * y as f64;
                ((clean + deviation * normal.next()) * scale).round() as u16
            })
        };
        let clean = luma(0.0);
        let [frame, previous, next] = [5.0; 3].map(|deviation| vec![luma(deviation)]);
        let (samplings, others) = (vec![Sampling::LUMA], vec![previous, next]);
        let mut sequence = Sequence { samplings, frame, others, is_spatial: true };
        let fields = sequence.found_fields();
        let [with, without] = [true, false].map(|is_spatial| {
            sequence.is_spatial = is_spatial;
            let (_, made) = sequence.check(&fields, 1.0);
            let squares = squared_error(&made[0].view(), &clean.view()).unwrap();
            (squares as f64 / (203.0 * 150.0)).sqrt() / scale
        });
        assert!(with < 1.6 && without > 1.7 * with, "{depth}: {without} without, {with} with");
    }
}

#[test]
fn the_noise_of_deep_samples_is_found() {
    let (sequence, _) = noisy(|_| 3.0, 10);
    let (noise, _) = sequence.check(&sequence.found_fields(), 1.0);
    let ratio = noise.mean_deviation() / 12.0;
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
}

#[test]
fn noise_depends_on_brightness() {
    let deviation = |brightness: f64| if brightness < 96.0 { 6.0 } else { 2.0 };
    let (sequence, clean) = noisy(deviation, 8);
    let (noise, _) = sequence.check(&sequence.found_fields(), 1.0);
    for (brightness, deviation) in [(40..80, 6.0), (140..200, 2.0)] {
        let is_within = |&(x, y): &(usize, usize)| {
            let sample = |at: usize| clean.view().sample((x + at % 8) as i32, (y + at / 8) as i32);
            brightness.contains(&((0..64).map(|at| u32::from(sample(at))).sum::<u32>() / 64))
        };
        let blocks = (0..30 * 40).map(|block| (block % 40 * 8, block / 40 * 8)).filter(is_within);
        let found: Vec<_> = blocks.map(|(x, y)| noise.luma_deviation(x, y)).collect();
        let ratio = found.iter().sum::<f64>() / found.len() as f64 / deviation;
        assert!((0.85..1.2).contains(&ratio), "{brightness:?}: {ratio}");
    }
}

#[test]
fn nothing_changes_without_noise_strength_or_a_match() {
    let unchanged = |sequence: &Sequence, made: &[Frame]| {
        assert!(samples(&made[0].view()) == samples(&sequence.frame[0].view()));
    };
    let (clean, _) = noisy(|_| 0.0, 8);
    // Equal frames, as of animation.
    let still = Sequence { others: vec![clean.frame.clone(), clean.frame.clone()], ..clean };
    let (noise, made) = still.check(&still.found_fields(), 4.0);
    assert!(noise.is_none());
    unchanged(&still, &made);
    let (sequence, _) = noisy(|_| 4.0, 8);
    let (noise, made) = sequence.check(&sequence.found_fields(), 0.0);
    assert!(!noise.is_none());
    unchanged(&sequence, &made);
    // A scene that is in no other frame: the search does not find its textures.
    let flat = || vec![Frame::from_fn(320, 240, |x, y| ((x * x + 3 * y * y) / 37) as u8)];
    let cut = Sequence { others: vec![flat(), flat()], ..sequence };
    let (noise, made) = cut.check(&cut.found_fields(), 1.0);
    assert!(noise.is_none(), "{noise:?}");
    unchanged(&cut, &made);
}

#[test]
fn a_known_noise_level_equals_the_oracle_and_holds_where_none_is_measured() {
    for (depth, chroma) in [(8, &[HALVED, HALVED][..]), (10, &[INTERLEAVED]), (16, &[])] {
        let sequence = Sequence::new(Content::Moved, (45, 35), chroma, (depth, 2));
        for deviation in [0.0, 0.5, 3.0, 64.0] {
            let level = NoiseLevel::known(deviation).unwrap();
            sequence.check_with(&sequence.random_fields(30), level, 1.0);
            let (noise, _) = sequence.check_with(&sequence.found_fields(), level, 0.7);
            assert_eq!(noise.is_none(), deviation == 0.0, "{deviation}");
        }
    }
    // Little noise that is set although much is measured, and much although none is.
    for (added, known) in [(5.0, 2.0), (0.0, 3.0)] {
        let (sequence, _) = noisy(|_| added, 10);
        let level = NoiseLevel::known(known).unwrap();
        let (noise, _) = sequence.check_with(&sequence.found_fields(), level, 1.0);
        assert!((noise.mean_deviation() / (4.0 * known) - 1.0).abs() < 0.01, "{}", noise.mean_deviation());
    }
    for wrong in [-0.1, 64.1, f64::NAN, f64::INFINITY] {
        let error = NoiseLevel::known(wrong).unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "the noise level is {wrong}: it must be a standard deviation from 0 to 64 levels of eight bits"
            )
        );
    }
}

#[test]
fn wrong_planes_and_fields_are_errors() {
    let sequence = Sequence::new(Content::Moved, (40, 24), &[], (8, 1));
    let mut denoiser = Denoiser::new(&sequence.format(), 1, 1, 1).unwrap();
    let (frame, other) = (sequence.frame[0].view(), sequence.others[0][0].view());
    let small = Frame::from_fn(39, 24, |_, _| 0);
    let field = &sequence.random_fields(9)[0];
    let mut measure = |plane, other, vectors| {
        let planes = [other];
        let reference = Reference { slot: LumaSlot::default(), planes: &planes, vectors, offset: 1 };
        denoiser.measure(&[plane], &[reference], Strength::new(1.0)).map(|_| ())
    };
    assert!(measure(frame, other, field).is_ok());
    let size = CompensationError::PlaneSize(40, 24, 39, 24);
    assert_eq!(measure(small.view(), other, field), Err(size.clone()));
    assert_eq!(measure(frame, small.view(), field), Err(size));
    let length = CompensationError::FieldSize { needed: 15, present: 14 };
    assert_eq!(measure(frame, other, &field[1..]), Err(length));
    let depth = deepened(&sequence.frame[0], 10, false);
    assert_eq!(measure(depth.view(), other, field), Err(CompensationError::BitDepth(8, 10)));
    assert_eq!(measure(frame, depth.view(), field), Err(CompensationError::BitDepth(8, 10)));
}
