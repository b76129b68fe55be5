//! Made frames, compared with the oracle.

mod common;

use common::{Content, Noise, deepened, frames};
use gstmotionestimate::compensation::{CompensationError, PlaneMut, Sampling};
use gstmotionestimate::estimator::{Frame, FrameView, MotionVector, oracle as search};
use gstmotionestimate::interpolation::{Interpolator, Phase, oracle, search_parameters};
use gstmotionestimate::native::Level;

const HALVED: Sampling = Sampling { halved_x: true, halved_y: true, interleaved: false };
const INTERLEAVED: Sampling = Sampling { interleaved: true, ..HALVED };
const WIDE: Sampling = Sampling { halved_y: false, ..HALVED };

/// Two frames of planes, and how these are sampled.
struct Pair {
    samplings: Vec<Sampling>,
    frames: [Vec<Frame>; 2],
}

impl Pair {
    /// Luma of `content`, and chroma of noise.
    fn new(content: Content, (width, height): (usize, usize), chroma: &[Sampling], depth: u32) -> Self {
        let luma = frames(content, width, height);
        let mut noise = Noise::new(width as u32);
        let mut planes = |luma: Frame| {
            let mut planes = vec![deepened(&luma, depth, true)];
            for sampling in chroma {
                let (width, height) = sampling.plane_size(width, height);
                planes.push(deepened(&Frame::from_fn(width, height, |_, _| noise.next()), depth, true));
            }
            planes
        };
        let frames = [planes(luma.1), planes(luma.0)];
        Self { samplings: [&[Sampling::LUMA], chroma].concat(), frames }
    }

    fn views(&self) -> [Vec<FrameView<'_>>; 2] {
        self.frames.each_ref().map(|planes| planes.iter().map(Frame::view).collect())
    }

    /// The fields that the search finds, forward and backward.
    fn fields(&self) -> [Vec<MotionVector>; 2] {
        let size = self.frames[0][0].view().size();
        let parameters = search_parameters(size.0, size.1).unwrap();
        let [previous, next] = self.frames.each_ref().map(|planes| oracle::search_frame(&planes[0].view()));
        let found = |current: &Frame, reference: &Frame| {
            search::hierarchical(&parameters, &current.view(), &reference.view()).vectors
        };
        [found(&previous, &next), found(&next, &previous)]
    }

    /// Fields of as many vectors, of any length.
    fn random_fields(&self, longest: i16) -> [Vec<MotionVector>; 2] {
        let size = self.frames[0][0].view().size();
        let blocks = search_parameters(size.0, size.1).unwrap().grid().blocks();
        let mut noise = Noise::new(blocks as u32);
        let mut number = || i16::from_le_bytes([noise.next(), noise.next()]);
        let mut vector = || {
            let [x, y] =
                [number(), number()].map(|number| ((i32::from(number) * i32::from(longest)) >> 15) as i16);
            MotionVector { x, y, cost: number().unsigned_abs().into() }
        };
        [(); 2].map(|()| (0..blocks).map(|_| vector()).collect())
    }

    /// Compares the frame at each of `phases` with the oracle's, in the instructions of all levels.
    fn check(&self, fields: &[Vec<MotionVector>; 2], phases: &[(u32, u32)]) {
        let [previous, next] = self.views();
        let sources = [&previous[..], &next[..]];
        let fields = fields.each_ref().map(|field| &field[..]);
        let phases: Vec<_> = phases.iter().map(|&(n, d)| Phase::new(n, d).unwrap()).collect();
        let expected: Vec<_> = phases
            .iter()
            .map(|&phase| oracle::interpolate(sources, &self.samplings, fields, phase))
            .collect();
        for level in Level::available() {
            let size = previous[0].size();
            let mut interpolator = Interpolator::with_level(size, &self.samplings, 1, level).unwrap();
            for luma in [&previous[0], &next[0]] {
                let loaded = interpolator.load(luma).unwrap();
                assert_eq!(samples(&loaded), samples(&oracle::search_frame(luma)), "{level}, {size:?}");
            }
            interpolator.set_motion(fields).unwrap();
            for (phase, expected) in phases.iter().zip(&expected) {
                let made = made(&mut interpolator, sources, *phase);
                for (index, (made, expected)) in made.iter().zip(expected).enumerate() {
                    assert_eq!(made, &samples(expected), "plane {index} of {size:?} at {phase:?}, {level}");
                }
            }
        }
    }
}

/// The samples of a frame.
fn samples(frame: &Frame) -> Vec<u8> {
    let view = frame.view();
    (0..view.height()).flat_map(|y| view.row(y)).copied().collect()
}

/// The planes that an interpolator makes. Rows are a few bytes apart, which it must not write.
fn made(interpolator: &mut Interpolator, sources: [&[FrameView<'_>]; 2], phase: Phase) -> Vec<Vec<u8>> {
    const GAP: usize = 5;
    let views = sources[0];
    let mut memory: Vec<_> =
        views.iter().map(|view| vec![0xa5_u8; (view.row_bytes() + GAP) * view.height()]).collect();
    interpolator.choose(phase);
    for (index, (view, memory)) in views.iter().zip(&mut memory).enumerate() {
        let stride = view.row_bytes() + GAP;
        let mut plane = PlaneMut::with_format(memory, view.size(), stride, view.format()).unwrap();
        interpolator.make_plane(index, [view, &sources[1][index]], &mut plane).unwrap();
    }
    let rows = |(view, memory): (&FrameView<'_>, Vec<u8>)| {
        let rows = memory.chunks_exact(view.row_bytes() + GAP);
        rows.flat_map(|row| {
            assert_eq!(row[view.row_bytes()..], [0xa5; GAP], "bytes between rows");
            row[..view.row_bytes()].to_vec()
        })
        .collect()
    };
    views.iter().zip(memory).map(rows).collect()
}

const PHASES: [(u32, u32); 5] = [(1, 2), (1, 3), (2, 5), (4, 5), (63, 64)];

#[test]
fn frames_of_any_size_equal_the_oracle() {
    for size in [(1, 1), (2, 1), (1, 9), (7, 5), (8, 8), (9, 17), (16, 15), (33, 40), (65, 47)] {
        for content in [Content::Moved, Content::Noise, Content::Flat] {
            let pair = Pair::new(content, size, &[HALVED, HALVED], 8);
            pair.check(&pair.fields(), &PHASES);
        }
    }
}

#[test]
fn vectors_of_any_length_equal_the_oracle() {
    for (size, longest) in [((1, 1), i16::MAX), ((24, 40), 200), ((57, 31), 2000), ((40, 48), i16::MAX)] {
        let pair = Pair::new(Content::Noise, size, &[INTERLEAVED], 8);
        pair.check(&pair.random_fields(longest), &PHASES);
    }
}

#[test]
fn planes_of_all_kinds_equal_the_oracle() {
    let size = (45, 35);
    for chroma in
        [&[][..], &[HALVED, HALVED], &[INTERLEAVED], &[WIDE, WIDE], &[Sampling::LUMA, Sampling::LUMA]]
    {
        for depth in [8, 10, 16] {
            let pair = Pair::new(Content::Moved, size, chroma, depth);
            pair.check(&pair.random_fields(300), &PHASES[..3]);
            pair.check(&pair.fields(), &PHASES[2..3]);
        }
    }
}

/// Those that are searched at half and at a quarter of the size.
#[test]
fn large_frames_equal_the_oracle() {
    for size in [(1025, 513), (2051, 1027)] {
        let pair = Pair::new(Content::Moved, size, &[], 8);
        let luma = &pair.views()[0][0].clone();
        let mut interpolator = Interpolator::new(size, &pair.samplings, 0).unwrap();
        assert_eq!(samples(&interpolator.load(luma).unwrap()), samples(&oracle::search_frame(luma)));
    }
    let pair = Pair::new(Content::Moved, (1090, 482), &[], 8);
    pair.check(&pair.random_fields(100), &PHASES[1..2]);
}

#[test]
fn planes_of_another_size_are_refused() {
    let pair = Pair::new(Content::Moved, (32, 32), &[HALVED, HALVED], 8);
    let other = Pair::new(Content::Moved, (32, 30), &[HALVED, HALVED], 8);
    let mut interpolator = Interpolator::new((32, 32), &pair.samplings, 1).unwrap();
    let size = |error| matches!(error, CompensationError::PlaneSize(..));
    assert!(interpolator.load(&other.views()[0][0]).is_err_and(size));
    interpolator.load(&pair.views()[0][0]).unwrap();
    interpolator.load(&pair.views()[1][0]).unwrap();
    let fields = other.random_fields(10);
    let too_few = &fields[0][1..];
    assert!(
        interpolator
            .set_motion([too_few, too_few])
            .is_err_and(|error| matches!(error, CompensationError::FieldSize { .. }))
    );
}

/// Whether the interpolator finds a scene cut between two frames.
fn is_scene_cut(previous: &Frame, next: &Frame) -> bool {
    let pair = Pair { samplings: vec![Sampling::LUMA], frames: [vec![previous.clone()], vec![next.clone()]] };
    let size = previous.view().size();
    let mut interpolator = Interpolator::new(size, &pair.samplings, 1).unwrap();
    interpolator.load(&previous.view()).unwrap();
    interpolator.load(&next.view()).unwrap();
    let fields = pair.fields();
    interpolator.set_motion(fields.each_ref().map(|field| &field[..])).unwrap()
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
