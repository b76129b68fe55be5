//! Made frames, compared with the oracle.

use motion_frames::compensation::{CompensationError, PlaneMut, Sampling};
use motion_frames::interpolation::{
    FrameFormat, FrameMaker, FrameQuality, InterpolationError, Interpolator, LoadedPair, Phase, SearchInput,
    oracle, oracle::Neighbours, search_parameters,
};
#[cfg(feature = "opencl")]
use motion_frames::opencl::OpenClInterpolator;
use motion_search::estimator::{Frame, FrameView, MotionVector, oracle as search};
use motion_search::native::InstructionSetName;
#[cfg(feature = "opencl")]
use motion_search::opencl::{DeviceKind, OpenClDevice};
use test_support::{Content, Noise, deepened, frames, some_of};

pub(crate) const HALVED: Sampling = Sampling { halved_x: true, halved_y: true, interleaved: false };
pub(crate) const INTERLEAVED: Sampling = Sampling { interleaved: true, ..HALVED };
pub(crate) const WIDE: Sampling = Sampling { halved_y: false, ..HALVED };

/// Two frames of planes, and how these are sampled.
pub(crate) struct Pair {
    pub(crate) samplings: Vec<Sampling>,
    pub(crate) frames: [Vec<Frame>; 2],
}

impl Pair {
    /// Luma of `content`, and chroma of noise.
    pub(crate) fn new(
        content: Content,
        (width, height): (usize, usize),
        chroma: &[Sampling],
        depth: u32,
    ) -> Self {
        let (next, previous) = frames(content, width, height);
        Self::with_luma([previous, next], chroma, depth)
    }

    /// The same with lettering that stands still, or nearly so.
    fn with_lettering(content: Content, size: (usize, usize), chroma: &[Sampling], depth: u32) -> Self {
        let (next, previous) = frames(content, size.0, size.1);
        let mut noise = Noise::new(7);
        let mut lettered = |frame: Frame| {
            Frame::from_fn(size.0, size.1, |x, y| match (x / 5 + y / 5) % 3 {
                0 => 16 + 200 * ((x + y) % 2) as u8 + noise.next() % 6,
                _ => frame.view().row(y)[x],
            })
        };
        Self::with_luma([lettered(previous), lettered(next)], chroma, depth)
    }

    pub(crate) fn with_luma(luma: [Frame; 2], chroma: &[Sampling], depth: u32) -> Self {
        let (width, height) = luma[0].view().size();
        let mut noise = Noise::new(width as u32);
        let mut planes = |luma: Frame| {
            let mut planes = vec![deepened(&luma, depth, true)];
            for sampling in chroma {
                let (width, height) = sampling.plane_size(width, height);
                planes.push(deepened(&Frame::from_fn(width, height, |_, _| noise.next()), depth, true));
            }
            planes
        };
        let frames = luma.map(&mut planes);
        Self { samplings: [&[Sampling::LUMA], chroma].concat(), frames }
    }

    /// The same, of whose deep luma samples those from `black` to `white` are seen.
    fn with_levels(mut self, black: u16, white: u16) -> Self {
        self.frames.iter_mut().for_each(|planes| planes[0] = planes[0].with_levels(black, white));
        self
    }

    pub(crate) fn views(&self) -> [Vec<FrameView<'_>>; 2] {
        self.frames.each_ref().map(|planes| planes.iter().map(Frame::view).collect())
    }

    /// The field that the search finds for the previous frame in the next one.
    pub(crate) fn field(&self) -> Vec<MotionVector> {
        let size = self.frames[0][0].view().size();
        let parameters = search_parameters(size.0, size.1).unwrap();
        let [previous, next] = self.frames.each_ref().map(|planes| oracle::search_frame(&planes[0].view()));
        search::hierarchical(&parameters, &previous.view(), &next.view()).vectors
    }

    /// A field of as many vectors, of any length.
    pub(crate) fn random_field(&self, longest: i16) -> Vec<MotionVector> {
        self.other_field(longest, 0)
    }

    /// The same with other vectors for each `seed`.
    pub(crate) fn other_field(&self, longest: i16, seed: u32) -> Vec<MotionVector> {
        let size = self.frames[0][0].view().size();
        let blocks = search_parameters(size.0, size.1).unwrap().grid().blocks();
        let mut noise = Noise::new(blocks as u32 + seed);
        let mut number = || i16::from_le_bytes([noise.next(), noise.next()]);
        let mut vector = || {
            let [x, y] =
                [number(), number()].map(|number| ((i32::from(number) * i32::from(longest)) >> 15) as i16);
            // Half of them are so bad that nothing they are for may be left out.
            MotionVector { x, y, cost: u32::from(number().unsigned_abs()) >> 2 }
        };
        (0..blocks).map(|_| vector()).collect()
    }

    pub(crate) fn format(&self) -> FrameFormat {
        let luma = self.frames[0][0].view();
        FrameFormat { size: luma.size(), samplings: self.samplings.clone(), samples: luma.format() }
    }

    /// Compares the frame at each of `phases` with the oracle's, in all qualities and by all of `makers`.
    fn check(&self, makers: Makers, field: &[MotionVector], phases: &[(u32, u32)]) {
        QUALITIES.into_iter().for_each(|quality| self.check_quality(quality, makers, field, phases));
    }

    fn check_quality(
        &self,
        quality: FrameQuality,
        makers: Makers,
        field: &[MotionVector],
        phases: &[(u32, u32)],
    ) {
        let [previous, next] = self.views();
        let sources = [&previous[..], &next[..]];
        let has_neighbours = quality == FrameQuality::High;
        // Before and after it moves back.
        let fields = [self.other_field(200, 1), self.other_field(200, 2)];
        let neighbours =
            Neighbours { luma: [next[0], previous[0]], fields: fields.each_ref().map(Vec::as_slice) };
        let phases: Vec<_> = phases.iter().map(|&(n, d)| Phase::new(n, d).unwrap()).collect();
        let expected = |&phase| match has_neighbours {
            true => oracle::interpolate_with_neighbours(sources, &self.samplings, field, &neighbours, phase),
            false => oracle::interpolate(sources, &self.samplings, field, quality, phase),
        };
        let expected: Vec<_> = phases.iter().map(expected).collect();
        let size = previous[0].size();
        for (name, mut maker) in makers(&self.format(), quality) {
            if has_neighbours {
                maker.load_frame(sources[1]).unwrap();
                maker.load_frame(sources[0]).unwrap();
                maker.set_motion(&fields[0]).unwrap();
                maker.load_frame(sources[1]).unwrap();
                maker.set_motion(field).unwrap();
                maker.load_frame(sources[0]).unwrap();
                maker.set_motion(&fields[1]).unwrap();
                maker.select(LoadedPair::BeforeNewest { has_neighbours }).unwrap();
            } else {
                for planes in sources {
                    maker.load_frame(planes).unwrap();
                }
                maker.set_motion(field).unwrap();
            }
            // As many at a time as there may be.
            let mut begun = 0;
            for (index, (phase, expected)) in phases.iter().zip(&expected).enumerate() {
                while begun < phases.len().min(index + maker.depth()) {
                    maker.start_frame(phases[begun]).unwrap();
                    begun += 1;
                }
                maker.finish_frame().unwrap();
                for (index, (made, expected)) in made(&*maker, sources).iter().zip(expected).enumerate() {
                    let expected = &samples(expected);
                    assert_eq!(made, expected, "plane {index} of {size:?} at {phase:?}, {quality:?}, {name}");
                }
            }
        }
    }
}

pub(crate) const QUALITIES: [FrameQuality; 3] =
    [FrameQuality::Fast, FrameQuality::Balanced, FrameQuality::High];

/// What makes frames of a format, by name.
pub(crate) type Makers = fn(&FrameFormat, FrameQuality) -> Vec<(String, Box<dyn FrameMaker>)>;

/// The CPU with each of its instruction sets.
pub(crate) fn cpu(format: &FrameFormat, quality: FrameQuality) -> Vec<(String, Box<dyn FrameMaker>)> {
    let maker = |instruction_set: InstructionSetName| -> (String, Box<dyn FrameMaker>) {
        (
            instruction_set.to_string(),
            Box::new(Interpolator::with_instruction_set(format, quality, 1, instruction_set).unwrap()),
        )
    };
    InstructionSetName::available().map(maker).collect()
}

/// All OpenCL devices, with the groups of their kind and with those of a GPU.
#[cfg(feature = "opencl")]
pub(crate) fn opencl(format: &FrameFormat, quality: FrameQuality) -> Vec<(String, Box<dyn FrameMaker>)> {
    let mut devices = crate::all_devices();
    for mut device in devices.clone() {
        if device.kind != DeviceKind::Gpu {
            device.kind = DeviceKind::Gpu;
            devices.push(device);
        }
    }
    let maker = |device: &OpenClDevice| -> (String, Box<dyn FrameMaker>) {
        let name = format!("{} as {}", device.name, device.kind.name());
        (name, Box::new(OpenClInterpolator::new(device, format, quality).unwrap()))
    };
    devices.iter().map(maker).collect()
}

/// The samples of a frame.
pub(crate) fn samples(frame: &Frame) -> Vec<u8> {
    let view = frame.view();
    (0..view.height()).flat_map(|y| view.row(y)).copied().collect()
}

/// The planes of the finished frame. Rows are a few bytes apart, which must not be written.
pub(crate) fn made(maker: &dyn FrameMaker, sources: [&[FrameView<'_>]; 2]) -> Vec<Vec<u8>> {
    const GAP: usize = 5;
    let plane = |(index, view): (usize, &FrameView<'_>)| {
        let stride = view.row_bytes() + GAP;
        let mut memory = vec![0xa5_u8; stride * view.height()];
        let mut plane = PlaneMut::with_format(&mut memory, view.size(), stride, view.format()).unwrap();
        maker.write_plane(index, [view, &sources[1][index]], &mut plane).unwrap();
        let rows = memory.chunks_exact(stride).flat_map(|row| {
            assert_eq!(row[view.row_bytes()..], [0xa5; GAP], "bytes between rows");
            row[..view.row_bytes()].to_vec()
        });
        rows.collect()
    };
    sources[0].iter().enumerate().map(plane).collect()
}

pub(crate) const PHASES: [(u32, u32); 5] = [(1, 2), (1, 3), (2, 5), (4, 5), (63, 64)];

fn check_sizes(makers: Makers, contents: &[Content]) {
    let sizes = [(1, 1), (2, 1), (1, 9), (7, 5), (8, 8), (9, 17), (16, 15), (33, 40), (65, 47)];
    for &content in contents {
        for size in some_of(2, sizes) {
            let pair = Pair::new(content, size, &[HALVED, HALVED], 8);
            pair.check(makers, &pair.field(), &PHASES);
        }
    }
}

fn check_vectors(makers: Makers) {
    for (size, longest) in [((1, 1), i16::MAX), ((24, 40), 200), ((57, 31), 2000), ((40, 48), i16::MAX)] {
        let pair = Pair::new(Content::Noise, size, &[INTERLEAVED], 8);
        pair.check(makers, &pair.random_field(longest), &PHASES);
    }
}

fn check_planes(makers: Makers) {
    let size = (45, 35);
    let planes =
        [&[][..], &[HALVED, HALVED], &[INTERLEAVED], &[WIDE, WIDE], &[Sampling::LUMA, Sampling::LUMA]];
    // Each kind of planes with two depths, and in the quick form with one: PoCL takes seconds to compile each of them.
    let depths = [8, 10, 16].into_iter().cycle();
    for (chroma, depth) in some_of(2, planes.into_iter().flat_map(|chroma| [chroma; 2]).zip(depths)) {
        let pair = Pair::new(Content::Moved, size, chroma, depth);
        pair.check(makers, &pair.random_field(300), &PHASES[..3]);
        pair.check(makers, &pair.field(), &PHASES[2..3]);
    }
}

/// Alpha, and colours behind chroma: more planes than are compared, which are predicted as luma is if they have its size.
fn check_more_planes(makers: Makers) {
    let alpha = &[HALVED, HALVED, Sampling::LUMA];
    let colours = [[HALVED; 2].as_slice(), &[Sampling::LUMA; 4]].concat();
    let others = &[HALVED, HALVED, WIDE, Sampling::LUMA, HALVED];
    for (chroma, depth) in [(&alpha[..], 8), (alpha, 10), (&colours, 8), (others, 8)] {
        let pair = Pair::new(Content::Moved, (45, 35), chroma, depth);
        pair.check(makers, &pair.random_field(300), &PHASES[1..2]);
    }
}

fn check_lettering(makers: Makers) {
    for (chroma, depth) in [(HALVED, 8), (INTERLEAVED, 10)] {
        for content in [Content::Moved, Content::Noise] {
            let pair = Pair::with_lettering(content, (65, 47), &[chroma], depth);
            pair.check(makers, &pair.random_field(60), &PHASES[..3]);
            pair.check(makers, &pair.field(), &PHASES[..1]);
        }
    }
}

fn check_levels(makers: Makers) {
    for (depth, black, white) in [(10, 200, 700), (16, 20000, 24095)] {
        let pair = Pair::new(Content::Moved, (45, 35), &[HALVED, HALVED], depth).with_levels(black, white);
        pair.check(makers, &pair.field(), &PHASES[1..3]);
        pair.check(makers, &pair.random_field(300), &PHASES[2..3]);
    }
}

/// A frame that is searched at half its size.
fn check_halved(makers: Makers) {
    let pair = Pair::new(Content::Moved, (1090, 482), &[], 8);
    for quality in some_of(3, QUALITIES.into_iter().rev()) {
        pair.check_quality(quality, makers, &pair.random_field(100), &PHASES[1..2]);
    }
}

#[test]
fn frames_of_any_size_equal_the_oracle() {
    check_sizes(cpu, &[Content::Moved, Content::Noise, Content::Flat]);
}

#[test]
fn vectors_of_any_length_equal_the_oracle() {
    check_vectors(cpu);
}

#[test]
fn planes_of_all_kinds_equal_the_oracle() {
    check_planes(cpu);
    check_more_planes(cpu);
    check_levels(cpu);
}

#[test]
fn still_lettering_equals_the_oracle() {
    check_lettering(cpu);
}

#[test]
fn large_frames_equal_the_oracle() {
    check_halved(cpu);
}

/// The luma half way between two frames, where all blocks move by `columns`.
fn made_luma(luma: [Frame; 2], columns: i16) -> Frame {
    let pair = Pair::with_luma(luma, &[], 8);
    let vector = MotionVector { x: 32 * columns, y: 0, cost: 0 };
    let field = vec![vector; pair.random_field(0).len()];
    let [previous, next] = pair.views();
    oracle::interpolate([&previous, &next], &pair.samplings, &field, FrameQuality::Fast, Phase::MIDDLE)
        .remove(0)
}

/// Grain from `darkest` on, of so many levels, that moves by `columns`, and what is before it.
fn moved_grain(
    (darkest, levels): (u8, u8),
    columns: usize,
    before: impl Fn(usize, usize) -> Option<u8>,
) -> [Frame; 2] {
    let (mut noise, width) = (Noise::new(3), 80);
    let grain: Vec<_> = (0..(width + columns) * 40).map(|_| darkest + noise.next() % levels).collect();
    [columns, 0].map(|moved| {
        let grain = |x, y| grain[(width + columns) * y + x + moved];
        Frame::from_fn(width, 40, |x, y| before(x, y).unwrap_or_else(|| grain(x, y)))
    })
}

#[test]
fn bars_beside_what_moves_leave_no_streaks() {
    let is_bar = |x: usize| x < 8;
    let made = made_luma(moved_grain((116, 33), 16, |x, _| is_bar(x).then_some(16)), 16);
    for y in 0..40 {
        for (x, &sample) in made.view().row(y).iter().enumerate() {
            let expected = if is_bar(x) { 16..=24 } else { 108..=156 };
            assert!(expected.contains(&sample), "{sample} at ({x}, {y})");
        }
    }
}

#[test]
fn lettering_before_what_moves_stands_still() {
    let lettering = |x: usize, y: usize| {
        let is_lettering = (24..48).contains(&x) && (8..33).contains(&y) && [3, 4].contains(&(x % 8));
        is_lettering.then_some(16 + 219 * ((x + y) % 2) as u8)
    };
    let made = made_luma(moved_grain((0, 255), 12, lettering), 12);
    // Up to the centres of the outer blocks.
    for y in 12..28 {
        for x in 28..44 {
            if let Some(expected) = lettering(x, y) {
                assert_eq!(made.view().row(y)[x], expected, "({x}, {y})");
            }
        }
    }
}

/// On the devices of OPENCL_TEST_DEVICE, else on all.
#[cfg(feature = "opencl")]
mod opencl_devices {
    use motion_search::estimator::{SampleFormat, SetupError};

    use super::*;

    #[test]
    fn frames_of_any_size_equal_the_oracle() {
        check_sizes(opencl, &[Content::Moved, Content::Noise]);
    }

    #[test]
    fn vectors_of_any_length_equal_the_oracle() {
        check_vectors(opencl);
    }

    #[test]
    fn planes_of_all_kinds_equal_the_oracle() {
        check_planes(opencl);
        check_more_planes(opencl);
        check_levels(opencl);
    }

    #[test]
    fn still_lettering_equals_the_oracle() {
        check_lettering(opencl);
    }

    #[test]
    fn large_frames_equal_the_oracle() {
        check_halved(opencl);
    }

    #[test]
    fn small_groups_and_little_local_memory_are_enough() {
        fn limited(format: &FrameFormat, quality: FrameQuality) -> Vec<(String, Box<dyn FrameMaker>)> {
            let mut makers: Vec<(String, Box<dyn FrameMaker>)> = Vec::new();
            // The memory for the candidates of blocks, ten of them: with neighbours there are 28.
            let of_candidates =
                |memory: usize| if quality == FrameQuality::High { 28 * memory / 10 } else { memory };
            for mut device in crate::all_devices() {
                device.kind = DeviceKind::Gpu;
                for (largest_group, local_memory) in [(4, 280), (7, 1000), (24, 2000), (1024, 440)] {
                    (device.largest_group, device.local_memory) =
                        (largest_group, of_candidates(local_memory));
                    device.largest_second = largest_group;
                    let maker = Box::new(OpenClInterpolator::new(&device, format, quality).unwrap());
                    makers.push((format!("groups of {largest_group}"), maker));
                }
                for (largest_group, local_memory) in [(3, 2000), (1024, 439)] {
                    (device.largest_group, device.local_memory) =
                        (largest_group, of_candidates(local_memory));
                    let refused = OpenClInterpolator::new(&device, format, quality).err();
                    assert!(matches!(refused, Some(SetupError::DeviceUnsupported { .. })), "{refused:?}");
                }
            }
            makers
        }
        let pair = Pair::new(Content::Moved, (45, 35), &[INTERLEAVED], 8);
        pair.check(limited, &pair.field(), &PHASES[..2]);
    }

    #[test]
    fn frames_of_too_many_samples_are_refused() {
        let samplings = vec![Sampling::LUMA];
        let format = FrameFormat { size: (1 << 16, 1 << 15), samplings, samples: SampleFormat::EIGHT_BITS };
        for device in crate::all_devices() {
            let refused = OpenClInterpolator::new(&device, &format, FrameQuality::Balanced).err();
            assert!(matches!(refused, Some(SetupError::FrameSize { .. })), "{refused:?}");
        }
    }
}

/// Those that are searched at once, at half and at a quarter of the size.
#[test]
fn search_frames_equal_the_oracle() {
    for size in [(1, 1), (33, 40), (1025, 513), (2051, 1027)] {
        for depth in [8, 10] {
            let pair = Pair::new(Content::Moved, size, &[], depth);
            let luma = &pair.views()[0][0].clone();
            for instruction_set in InstructionSetName::available() {
                let mut searched = SearchInput::with_instruction_set(size, 0, instruction_set).unwrap();
                assert_eq!(samples(&searched.frame(luma).unwrap()), samples(&oracle::search_frame(luma)));
            }
        }
    }
}

#[test]
fn planes_of_another_size_are_refused() {
    let pair = Pair::new(Content::Moved, (32, 32), &[HALVED, HALVED], 8);
    let other = Pair::new(Content::Moved, (32, 30), &[HALVED, HALVED], 8);
    let deep = Pair::new(Content::Moved, (32, 32), &[HALVED, HALVED], 10);
    let size = |error: &CompensationError| matches!(error, CompensationError::PlaneSize(..));
    let too_few = &other.random_field(10)[1..];
    let field_size = |error: &CompensationError| matches!(error, CompensationError::FieldSize { .. });
    let makers = cpu(&pair.format(), FrameQuality::Balanced).into_iter();
    #[cfg(feature = "opencl")]
    let makers = makers.chain(opencl(&pair.format(), FrameQuality::Balanced));
    for (name, mut maker) in makers {
        let of_planes = |error: InterpolationError| match error {
            InterpolationError::Planes(error) => error,
            error => panic!("{name}: {error}"),
        };
        assert!(size(&of_planes(maker.load_frame(&other.views()[0]).unwrap_err())));
        assert!(matches!(of_planes(maker.load_frame(&[]).unwrap_err()), CompensationError::Planes(3, 0)));
        let depth = of_planes(maker.load_frame(&deep.views()[0]).unwrap_err());
        assert!(matches!(depth, CompensationError::BitDepth(8, 10)), "{depth}");
        maker.load_frame(&pair.views()[0]).unwrap();
        maker.load_frame(&pair.views()[1]).unwrap();
        assert!(field_size(&of_planes(maker.set_motion(too_few).unwrap_err())));
        // Nothing has begun, and no more may begin than there is room for.
        assert!(maker.finish_frame().is_err(), "{name}");
        (0..maker.depth()).for_each(|_| maker.start_frame(Phase::MIDDLE).unwrap());
        assert!(maker.start_frame(Phase::MIDDLE).is_err(), "{name}");
        maker.cancel();
        assert!(maker.finish_frame().is_err(), "{name}");
    }
    for (size, samplings) in
        [((0, 32), vec![Sampling::LUMA]), ((32, 0), vec![Sampling::LUMA]), ((32, 32), vec![])]
    {
        let format = FrameFormat { size, samplings, samples: pair.format().samples };
        assert!(Interpolator::new(&format, FrameQuality::Balanced, 1).is_err(), "{format:?}");
        #[cfg(feature = "opencl")]
        for device in motion_search::opencl::devices() {
            assert!(OpenClInterpolator::new(&device, &format, FrameQuality::Balanced).is_err(), "{format:?}");
        }
    }
    let mut searched = SearchInput::new((32, 32), 1).unwrap();
    assert!(size(&searched.frame(&other.views()[0][0]).unwrap_err()));
    let frames = [&pair.frames[0][0], &pair.frames[1][0]];
    assert!(field_size(&searched.is_scene_cut(frames, too_few).unwrap_err()));
}

/// Whether a scene cut is found between two frames.
fn is_scene_cut(previous: &Frame, next: &Frame) -> bool {
    let pair = Pair { samplings: vec![Sampling::LUMA], frames: [vec![previous.clone()], vec![next.clone()]] };
    let size = previous.view().size();
    let mut searched = SearchInput::new(size, 1).unwrap();
    let frames = [previous, next].map(|frame| searched.frame(&frame.view()).unwrap());
    searched.is_scene_cut(frames.each_ref(), &pair.field()).unwrap()
}

/// A still scene of coarse grain, of which `part` is shown in 16ths over black.
fn scene(seed: usize, part: usize) -> Frame {
    let (mut noise, columns) = (Noise::new(seed as u32 + 1), 96 / 3);
    let grain: Vec<_> = (0..columns * 80 / 2).map(|_| usize::from(noise.next())).collect();
    Frame::from_fn(96, 80, |x, y| (16 + (40 + grain[y / 3 * columns + x / 3] / 2) * part / 16) as u8)
}

#[test]
fn cuts_are_told_from_fades() {
    assert!(is_scene_cut(&scene(0, 16), &scene(3, 16)));
    assert!(is_scene_cut(&scene(3, 16), &scene(0, 16)));
    // Out of black, and into it.
    assert!(is_scene_cut(&scene(0, 0), &scene(0, 16)));
    assert!(is_scene_cut(&scene(0, 16), &scene(0, 0)));
    assert!(!is_scene_cut(&scene(0, 16), &scene(0, 16)));
    for part in 4..16 {
        assert!(!is_scene_cut(&scene(0, part), &scene(0, part + 1)), "{part}");
        assert!(!is_scene_cut(&scene(0, part + 1), &scene(0, part)), "{part}");
    }
    assert!(!is_scene_cut(&scene(0, 0), &scene(0, 0)), "black");
}

/// `picture` in the middle of a black frame of `width`.
fn barred(picture: &Frame, width: usize) -> Frame {
    let view = picture.view();
    let left = (width - view.width()) / 2;
    Frame::from_fn(width, view.height(), |x, y| {
        let x = x.checked_sub(left).filter(|&x| x < view.width());
        x.map_or(16, |x| view.sample(x as i32, y as i32) as u8)
    })
}

#[test]
fn bars_beside_a_picture_hide_no_cut() {
    for width in [128, 320, 640] {
        let [first, other] = [0, 3].map(|seed| barred(&scene(seed, 16), width));
        assert!(is_scene_cut(&first, &other) && is_scene_cut(&other, &first), "{width}");
        assert!(!is_scene_cut(&first, &first), "{width}");
    }
    // A small object is no scene: it may have moved too far to be found.
    let [here, there] = [0, 3].map(|seed| barred(&scene(seed, 16), 960));
    assert!(!is_scene_cut(&here, &there));
}

#[test]
fn a_strobe_is_no_cut() {
    let bright = scene(0, 16);
    for percent in [35, 60, 150] {
        let other = Frame::from_fn(96, 80, |x, y| {
            (u32::from(bright.view().sample(x as i32, y as i32)) * percent / 100).min(255) as u8
        });
        assert!(!is_scene_cut(&bright, &other) && !is_scene_cut(&other, &bright), "{percent} %");
    }
}
