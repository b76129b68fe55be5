//! Streams whose noise is estimated from frame to frame, compared with the oracle: what is made of each frame, and the noise.

mod limits;

use motion_frames::compensation::Sampling;
use motion_frames::denoising::{
    BlockNoise, Denoiser, NoiseLevel, Reference, Strength, oracle, search_parameters,
};
use motion_frames::interpolation::FrameFormat;
use motion_search::estimator::{Frame, FrameView, MotionVector, References};

use crate::denoising::{HALVED, INTERLEAVED, WIDE, samples, written};

/// A place in a frame: a plane or component, in samples of luma, and the number of the frame.
#[derive(Clone, Copy)]
struct Place {
    plane: usize,
    x: usize,
    y: usize,
    time: usize,
}

/// A number that seems random for each place.
fn hashed(place: Place) -> u64 {
    let mut hash = (place.x as u64) << 40
        | (place.y as u64) << 20
        | (place.time as u64) << 4
        | place.plane as u64
        | 1 << 63;
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ hash >> 33).wrapping_mul(factor);
    }
    hash ^ hash >> 33
}

/// White noise of deviation 1.
fn noise(place: Place) -> f64 {
    let hash = hashed(place);
    let sum: f64 = (0..4).map(|part| ((hash >> (16 * part)) & 0xffff) as f64 / 65536.0 - 0.5).sum();
    3_f64.sqrt() * sum
}

/// Noise that is scaled up by two.
fn coarse(place: Place) -> f64 {
    noise(Place { x: place.x / 2, y: place.y / 2, ..place })
}

/// Texture that moves by [`MOTION`] samples a frame.
fn moving(place: Place) -> f64 {
    let x = place.x as f64 - f64::from(MOTION.0) * place.time as f64;
    let y = place.y as f64 - f64::from(MOTION.1) * place.time as f64;
    let waves = (x / 7.0).sin() * (y / 5.0).cos() + (x / 23.0 + y / 31.0).sin();
    let texture = 25.0 * waves + 12.0 * (x * 0.9).sin() * (y * 1.1).sin();
    if place.plane == 0 { 110.0 + texture } else { 128.0 + 0.3 * texture }
}

const MOTION: (i32, i32) = (3, 1);

/// Texture that stands still.
fn slide(place: Place) -> f64 {
    let is_ink = (place.x / 3 * 7 + place.y / 4 * 5) % 11 < 3 && (place.y / 8).is_multiple_of(2);
    if place.plane == 0 && is_ink { 30.0 } else { 150.0 }
}

/// Samples of eight bits by place.
type Scene = fn(Place) -> f64;

/// Whether the scene moves in the block whose first sample is at a place.
type Moves = fn(usize, usize) -> bool;

/// A stream, and how it is denoised.
#[derive(Clone, Copy)]
struct Stream {
    size: (usize, usize),
    chroma: &'static [Sampling],
    depth: u32,
    frames: usize,
    scene: Scene,
    moves: Moves,
    /// One of so many blocks has another vector than its motion.
    wrong: u64,
    past: isize,
    future: isize,
    /// The noise level that is set for this frame alone.
    known: Option<(usize, f64)>,
    strength: f64,
}

const STREAM: Stream = Stream {
    size: (256, 128),
    chroma: &[HALVED, HALVED],
    depth: 8,
    frames: 5,
    scene: |place| moving(place) + 5.0 * noise(place),
    moves: |_, _| true,
    wrong: 12,
    past: 2,
    future: 2,
    known: None,
    strength: 1.0,
};

impl Stream {
    fn samplings(&self) -> Vec<Sampling> {
        [&[Sampling::LUMA], self.chroma].concat()
    }

    fn frame(&self, time: usize) -> Vec<Frame> {
        let peak = f64::from((1_u32 << self.depth) - 1);
        let planes = self.samplings().into_iter().enumerate().map(|(index, sampling)| {
            let (width, height) = sampling.plane_size(self.size.0, self.size.1);
            Frame::deep_from_fn(width, height, self.depth, |x, y| {
                let (x, component) = (x / sampling.pixel(), x % sampling.pixel());
                let place = Place {
                    plane: index + component,
                    x: x << u32::from(sampling.halved_x),
                    y: y << u32::from(sampling.halved_y),
                    time,
                };
                ((self.scene)(place) * f64::from(1 << (self.depth - 8))).round().clamp(0.0, peak) as u16
            })
        });
        planes.collect()
    }

    /// The motion to the frame `offset` frames later, with wrong vectors in some blocks.
    fn vectors(&self, time: usize, offset: isize) -> Vec<MotionVector> {
        let references = References { backward: 2, forward: 2 };
        let parameters = search_parameters(self.size.0, self.size.1, references).unwrap();
        let (columns, blocks) = (parameters.grid().columns, parameters.grid().blocks());
        let scale = self.size.0.div_ceil(parameters.width);
        let vector = |block: usize| {
            let (x, y) = (8 * scale * (block % columns), 8 * scale * (block / columns));
            let hash = hashed(Place { plane: 9, x: block, y: (offset + 8) as usize, time });
            let length = |motion: i32| (motion * offset as i32 * 32 / scale as i32) as i16;
            match (hash.is_multiple_of(self.wrong), (self.moves)(x, y)) {
                (true, _) => {
                    MotionVector { x: (hash >> 8) as i16 / 128, y: (hash >> 24) as i16 / 128, cost: 0 }
                }
                (false, true) => MotionVector { x: length(MOTION.0), y: length(MOTION.1), cost: 0 },
                (false, false) => MotionVector::default(),
            }
        };
        (0..blocks).map(vector).collect()
    }

    /// Compares all frames with the oracle. Returns the noise of the blocks of each.
    fn check(&self, name: &str) -> Vec<Vec<BlockNoise>> {
        let frames: Vec<_> = (0..self.frames).map(|time| self.frame(time)).collect();
        let views: Vec<Vec<FrameView<'_>>> =
            frames.iter().map(|planes| planes.iter().map(Frame::view).collect()).collect();
        let samplings = self.samplings();
        let format =
            FrameFormat { size: self.size, samplings: samplings.clone(), samples: views[0][0].format() };
        let offsets: Vec<_> = (-self.past..=self.future).filter(|offset| *offset != 0).collect();
        let mut denoiser = Denoiser::new(&format, offsets.len(), self.frames, 2).unwrap();
        let slots: Vec<_> = views.iter().map(|planes| denoiser.load(&planes[0]).unwrap().1).collect();
        #[cfg(feature = "opencl")]
        let mut devices = crate::denoising_devices::on_devices(&format, offsets.len(), &frames);
        let mut expected_noise = oracle::StreamNoise::new(self.size, self.depth);
        let strength = Strength::new(self.strength);
        let mut all = Vec::new();
        for (time, planes) in views.iter().enumerate() {
            let level = match self.known {
                Some((at, deviation)) if at == time => NoiseLevel::known(deviation).unwrap(),
                _ => NoiseLevel::MEASURED,
            };
            denoiser.set_noise_level(level);
            expected_noise.set_level(level);
            let there = |offset: &isize| {
                let at = time.checked_add_signed(*offset).filter(|at| *at < self.frames)?;
                Some((*offset, at, self.vectors(time, *offset)))
            };
            let others: Vec<_> = offsets.iter().filter_map(there).collect();
            let reference = |other| {
                let &(offset, at, ref vectors): &(isize, usize, Vec<MotionVector>) = other;
                Reference { slot: slots[at], planes: &views[at], vectors, offset }
            };
            let references: Vec<_> = others.iter().map(reference).collect();
            let expected =
                oracle::denoise(&mut expected_noise, &samplings, planes, &references, (strength, true))
                    .unwrap();
            let noise = denoiser.measure(planes, &references, strength).unwrap().blocks().to_vec();
            for (block, (found, expected)) in noise.iter().zip(expected_noise.blocks()).enumerate() {
                assert_eq!(found, expected, "{name}: the noise of block {block} of frame {time}");
            }
            for (index, (plane, expected)) in planes.iter().zip(&expected).enumerate() {
                let made = written(&mut denoiser, index, plane, &references);
                assert!(made == samples(&expected.view()), "{name}: plane {index} of frame {time}");
            }
            #[cfg(feature = "opencl")]
            for device in &mut devices {
                let others = others.iter().map(|(offset, at, vectors)| (*offset, *at, &vectors[..]));
                let (noise, made) = device.denoise(time, &others.collect::<Vec<_>>(), level, strength);
                let name = format!("{name} on {}, frame {time}", device.name);
                assert!(noise == expected_noise.blocks(), "{name}: noise");
                for (index, (made, expected)) in made.iter().zip(&expected).enumerate() {
                    assert!(*made == samples(&expected.view()), "{name}: plane {index}");
                }
            }
            all.push(noise);
        }
        all
    }
}

/// How many blocks have noise, of luma and of chroma.
fn noisy(noise: &[BlockNoise]) -> [usize; 2] {
    let count = |of: fn(&BlockNoise) -> u64| noise.iter().filter(|noise| of(noise) > 0).count();
    [count(|noise| noise.luma), count(|noise| noise.chroma)]
}

#[test]
fn denoised_streams_of_any_format_equal_the_oracle() {
    for (chroma, depth, size) in [
        (&[][..], 8, (256, 128)),
        (&[HALVED, HALVED], 10, (250, 133)),
        (&[INTERLEAVED], 8, (131, 250)),
        (&[WIDE, WIDE], 12, (256, 120)),
        (&[Sampling::LUMA, Sampling::LUMA], 16, (200, 129)),
        (&[INTERLEAVED], 16, (144, 136)),
    ] {
        let name = format!("{chroma:?} of {depth} bits");
        let noise = Stream { chroma, depth, size, ..STREAM }.check(&name);
        let counts = noisy(&noise[2]);
        assert!(counts[0] > 100 && (counts[1] > 100 || chroma.is_empty()), "{name}: {counts:?}");
    }
}

#[test]
fn denoised_scene_cuts_equal_the_oracle() {
    // One scene has much noise, the next one little, and in some parts none.
    let scene: Scene = |place| match (place.time < 3, place.x < 96) {
        (true, _) => moving(place) + 9.0 * noise(place),
        (false, true) => 255.0 - moving(Place { y: place.y * 2, ..place }),
        (false, false) => 255.0 - moving(Place { x: place.x * 2, ..place }) + 2.0 * noise(place),
    };
    for (past, future) in [(2, 2), (0, 2), (2, 0), (1, 1)] {
        let stream = Stream { scene, past, future, frames: 7, wrong: 40, ..STREAM };
        stream.check(&format!("past {past}, future {future}"));
    }
    // What is known in one frame is not remembered.
    Stream { known: Some((2, 8.0)), ..STREAM }.check("a known frame");
}

#[test]
fn denoised_areas_of_their_own_noise_equal_the_oracle() {
    let beside: Moves = |x, _| x >= 104;
    let scenes: [(&str, Moves, Scene); 6] = [
        (
            "a slide",
            beside,
            |place| if place.x < 104 { slide(place) } else { moving(place) + 6.0 * noise(place) },
        ),
        ("a grey bar", beside, |place| if place.x < 40 { 126.0 } else { moving(place) + 4.0 * noise(place) }),
        ("a white bar", beside, |place| {
            let value = if place.x < 104 { 245.0 } else { moving(place) + 4.0 * noise(place) };
            if place.plane == 0 || place.x >= 104 { value } else { 128.0 }
        }),
        ("three kinds of noise", STREAM.moves, |place| {
            let deviation = [1.0, 6.0, 14.0][place.x / 8 * 3 / 32 % 3];
            moving(place) + deviation * noise(place)
        }),
        ("noise that changes", STREAM.moves, |place| {
            let deviation = if place.x < 104 { 3.0 + 4.0 * (place.time % 3) as f64 } else { 0.7 };
            moving(place) + deviation * noise(place)
        }),
        ("noise of chroma", STREAM.moves, |place| {
            moving(place) + if place.plane > 0 && place.x > 104 { 5.0 } else { 0.0 } * noise(place)
        }),
    ];
    for (name, moves, scene) in scenes {
        for strength in [1.0, 5.3] {
            let stream = Stream { scene, moves, strength, wrong: 25, ..STREAM };
            stream.check(&format!("{name}, strength {strength}"));
        }
    }
}

#[test]
fn denoised_clean_and_cut_off_frames_equal_the_oracle() {
    let scenes: [(&str, Scene); 6] = [
        ("animation", |place| if place.y < 48 { 170.0 } else { moving(place) + 0.5 * noise(place) }),
        ("coded animation", |place| {
            if place.y < 48 {
                170.0
            } else {
                moving(place) + if place.plane == 0 { 0.8 } else { 1.5 } * noise(place)
            }
        }),
        (
            "dark",
            |place| if place.plane == 0 { 4.0 + 9.0 * noise(place) } else { 128.0 + 3.0 * noise(place) },
        ),
        ("bright", |place| if place.plane == 0 { 247.0 + 7.0 * noise(place) } else { 128.0 }),
        ("a slope from black to white", |place| place.x as f64 + 12.0 * noise(place)),
        ("a flash", |place| moving(place) + if place.time == 2 { 90.0 } else { 5.0 * noise(place) }),
    ];
    for (name, scene) in scenes {
        Stream { scene, moves: |_, y| y >= 48, ..STREAM }.check(name);
    }
}

#[test]
fn denoised_coarse_noise_and_light_equal_the_oracle() {
    let scenes: [(&str, Scene); 5] = [
        ("a sky", |place| 120.0 + place.x as f64 / 20.0 + 5.0 * coarse(place)),
        ("a sky above texture", |place| {
            if place.y < 72 { 120.0 + 5.0 * coarse(place) } else { moving(place) + 5.0 * coarse(place) }
        }),
        ("faint texture", |place| 100.0 + 0.1 * moving(place) + 2.0 * coarse(place) + noise(place)),
        ("water", |place| if place.y < 72 { 110.0 + 15.0 * coarse(place) } else { moving(place) }),
        ("flickering light", |place| {
            let light = if place.plane == 0 { [1.05, 0.95, 1.0][place.time % 3] } else { 1.0 };
            light * moving(place) + 4.0 * noise(place)
        }),
    ];
    for (name, scene) in scenes {
        for wrong in [9, 1000] {
            Stream { scene, wrong, ..STREAM }.check(&format!("{name}, one of {wrong} vectors wrong"));
        }
    }
}

#[test]
fn large_denoised_frames_equal_the_oracle() {
    // More than 8192 blocks, an odd number in a row; the frames are searched at a quarter of their size.
    let stream = Stream { size: (1030, 515), frames: 3, past: 1, future: 1, ..STREAM };
    let noise = stream.check("large");
    assert!(noisy(&noise[1])[0] > 4000);
}
