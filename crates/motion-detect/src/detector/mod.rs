//! Frames in, regions out.

mod following;
mod learning;

use motion_base::simd::Instructions;
use motion_base::{FrameView, SetupError, memory};

use crate::affine::Affine;
use crate::align::{self, Aligned, Aligner, Before};
use crate::camera::{self, Camera, Field};
use crate::changes::Changes;
use crate::evidence::{Evidence, Judging};
use crate::ghosts::Profile;
use crate::light::Light;
use crate::mask::Mask;
use crate::noise::Noise;
use crate::observation::{Observation, Region};
use crate::regions::{RegionFinder, STEP, Thresholds};
use crate::scene::Scene;
use crate::settings::{DetectionError, Settings};
use crate::shadows::Shadows;
use crate::tracks::Tracks;

/// Finds what moves in the frames of a stream.
pub struct Detector {
    size: (usize, usize),
    small: (usize, usize),
    /// Samples of the full frame on the side of a small one.
    factor: f64,
    settings: Settings,
    instructions: Instructions,
    aligner: Aligner,
    scene: Scene,
    light: Light,
    evidence: Evidence,
    finder: RegionFinder,
    tracks: Tracks,
    /// The frame at the places of the model, and the frame before.
    seen: Vec<f32>,
    seen_before: Vec<f32>,
    is_seen: Vec<u8>,
    /// Where motion does not count, of each cell.
    is_masked: Option<Vec<u8>>,
    /// Which 2 x 2 samples of the model show an object.
    is_object: Vec<u8>,
    texture: Vec<u32>,
    order: Vec<(i32, u32)>,
    profile: Profile,
    shadows: Shadows,
    /// Where a place of the frame is in the model.
    to_model: Affine,
    /// Frames since the camera last moved.
    still: u32,
    noise: Noise,
    before: Option<u64>,
    /// Seconds since the frame before.
    elapsed: f64,
    changes: Changes,
    observation: Observation,
}

/// Frames after which a camera that does not move is still.
const STILL: u32 = 12;

/// A camera moves from frame to frame by at least so many small samples: less is the error of what was measured.
const LEAST_STEP: f64 = 0.1;

/// What is left of a zoom or rotation is resampled once it is so many small samples: resampling blurs the model.
const MOST_REST: f64 = 5.0;

/// Errors between frame and model count at most so many levels, and so much noise, in the camera's motion.
const MOST_ERROR: f32 = 4.0;
const MOST_ERROR_IN_NOISE: f32 = 2.0;

/// The share of its texture that a sample may be off: at least, and by how much more than the misfit of most of the frame.
const LEAST_DISPLACEMENT: f32 = 0.06;
const DISPLACEMENT: f32 = 1.5;

/// The share of a local change of light that a sample may be off.
const LIGHTING: f32 = 0.25;

/// The deviations that the surest cell of a region must have with a sensitivity of 0, how many fewer with one of 1, and the least.
const SEED: f32 = 12.0;
const BY_SENSITIVITY: f32 = 11.5;
const LEAST_SEED: f32 = 3.5;

/// The share of them that all its cells must have.
const MEMBER: f32 = 0.55;

impl Detector {
    /// The most samples of the frames that are looked at. Larger ones are halved before.
    pub const MOST_SAMPLES: usize = 1 << 17;

    /// The least samples of a side of them.
    pub const LEAST_SIDE: usize = 32;

    /// For frames of `size`, of which [`Self::observe`] gets luma that has been halved `halvings` times, each time rounded up.
    ///
    /// # Errors
    /// [`DetectionError`] if frames or settings are not usable.
    pub fn new(size: (usize, usize), halvings: u32, settings: Settings) -> Result<Self, DetectionError> {
        let halved = |length: usize| length.div_ceil(1usize.checked_shl(halvings).unwrap_or(usize::MAX));
        let small = (halved(size.0), halved(size.1));
        let (least, most) = (Self::LEAST_SIDE, Self::MOST_SAMPLES);
        let is_usable = small.0.min(small.1) >= least
            && small.0.checked_mul(small.1).is_some_and(|samples| samples <= most);
        if !is_usable {
            return Err(DetectionError::FrameSize { width: size.0, height: size.1, halvings, least, most });
        }
        check(&settings)?;
        Self::with_memory(size, small, halvings, settings, Instructions::best())
            .map_err(|_| DetectionError::FrameSize { width: size.0, height: size.1, halvings, least, most })
    }

    fn with_memory(
        size: (usize, usize),
        small: (usize, usize),
        halvings: u32,
        settings: Settings,
        instructions: Instructions,
    ) -> Result<Self, SetupError> {
        let samples = small.0 * small.1;
        let evidence = Evidence::new(small, instructions)?;
        let is_masked = settings.mask.as_ref().map(|mask| masked(mask, evidence.cells, small));
        let blocks = evidence.blocks();
        Ok(Self {
            size,
            small,
            factor: f64::from(1u32 << halvings),
            settings,
            instructions,
            aligner: Aligner::new(small, instructions)?,
            scene: Scene::new(small, instructions)?,
            finder: RegionFinder::new(evidence.cells, small),
            light: Light::new(small, instructions)?,
            evidence,
            tracks: Tracks::default(),
            seen: memory::values("a frame", samples)?,
            seen_before: memory::values("a frame", samples)?,
            is_seen: memory::values("a frame", samples)?,
            is_masked,
            is_object: memory::values("objects", blocks.0 * blocks.1)?,
            texture: Vec::with_capacity(samples / 16),
            order: Vec::with_capacity(samples / 16),
            profile: Profile::new(small.0.max(small.1)),
            shadows: Shadows::new(small)?,
            to_model: Affine::IDENTITY,
            still: STILL,
            noise: Noise::new(small)?,
            before: None,
            elapsed: 0.04,
            changes: Changes::default(),
            observation: Observation::with_room(),
        })
    }

    /// Looks for something else from the next frame on. The scene and the regions stay.
    ///
    /// # Errors
    /// [`DetectionError`] if the settings are not usable; the earlier ones then hold.
    pub fn set_settings(&mut self, settings: Settings) -> Result<(), DetectionError> {
        check(&settings)?;
        self.is_masked = settings.mask.as_ref().map(|mask| masked(mask, self.evidence.cells, self.small));
        self.settings = settings;
        Ok(())
    }

    /// The size of the frames that [`Self::observe`] gets.
    pub fn small_size(&self) -> (usize, usize) {
        self.small
    }

    /// The standard deviation of the noise that was measured in small frames, in levels.
    pub fn noise(&self) -> f64 {
        f64::from(self.noise.level)
    }

    /// What the last frame has shown.
    pub fn observation(&self) -> &Observation {
        &self.observation
    }

    /// Forgets the scene, and ends all regions: what comes next has nothing to do with what was before.
    pub fn finish(&mut self) -> &[Region] {
        self.restart();
        self.before = None;
        self.tracks.finish();
        self.observation.report(&self.tracks, self.factor, self.size);
        &self.observation.ended
    }

    /// Looks at the next frame, whose time is `time` in ns, and whose luma was halved to [`Self::small_size`]. `field` has its
    /// vectors to the frame before, in samples of the full frame, if they are known.
    ///
    /// # Panics
    /// If `luma` has another size, or samples of more than eight bits.
    pub fn observe(&mut self, time: u64, luma: &FrameView<'_>, field: Option<Field<'_>>) -> &Observation {
        assert_eq!(
            (luma.size(), luma.row_bytes()),
            (self.small, self.small.0),
            "the frame is not as it was promised"
        );
        self.tick(time);
        let field = field.filter(|field| field.covers(self.size));
        self.observation.camera = Camera::default();
        let moved = if self.scene.is_known() { self.align(luma, field.as_ref()) } else { Affine::IDENTITY };
        std::mem::swap(&mut self.seen, &mut self.seen_before);
        align::resample(self.instructions, luma, &self.to_model, &mut self.seen, &mut self.is_seen);
        self.take_light(time);
        let is_settling = self.changes.is_settling(time);
        let misfit = self.noise.misfit(&self.scene, &self.light, &self.seen, &self.is_seen);
        let judging = Judging {
            noise: self.noise.level,
            displacement: (DISPLACEMENT * misfit).max(LEAST_DISPLACEMENT),
            lighting: LIGHTING,
            is_settling,
        };
        self.evidence.measure(&self.scene, &self.light, &self.seen, &self.is_seen, &judging);
        let elapsed = self.elapsed as f32;
        self.noise.measure(&self.seen, &self.evidence.expected, self.small, elapsed);
        if let Some(is_masked) = &self.is_masked {
            for (sure, &is_masked) in self.evidence.sure.iter_mut().zip(is_masked) {
                *sure *= f32::from(1 - is_masked);
            }
        }
        let seed = (SEED - BY_SENSITIVITY * self.settings.sensitivity as f32).max(LEAST_SEED);
        self.finder.find(&self.evidence.as_cells(), Thresholds { seed, member: MEMBER * seed });
        self.forget_ghosts();
        self.follow(time, &moved, field.as_ref(), is_settling);
        self.learn(is_settling, !self.is_still());
        self.evidence.learn_habits(elapsed, seed);
        self.observation.is_settling = is_settling;
        self.observation.report(&self.tracks, self.factor, self.size);
        &self.observation
    }

    /// Notes the time of a frame.
    fn tick(&mut self, time: u64) {
        match self.before {
            Some(before) if time > before => {
                self.elapsed = ((time - before) as f64 / 1e9).clamp(0.001, 1.0);
            }
            Some(_) => {}
            None => self.changes.restart(self.settled(time)),
        }
        self.before = Some(time);
    }

    /// When the light has settled if it changes at `time`.
    fn settled(&self, time: u64) -> u64 {
        time.saturating_add(u64::try_from(self.settings.settle.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Whether the camera has not moved for a while.
    fn is_still(&self) -> bool {
        self.still >= STILL
    }

    fn restart(&mut self) {
        self.scene.restart();
        self.evidence.restart();
        self.to_model = Affine::IDENTITY;
        self.still = STILL;
    }

    /// Measures the light of the frame, and takes the frame for the scene if that is another one.
    fn take_light(&mut self, time: u64) {
        let settled = self.settled(time);
        self.measure_light(self.changes.is_settling(time));
        if self.changes.note(&self.light, self.is_still(), settled) {
            self.restart();
            self.measure_light(true);
        }
    }

    fn measure_light(&mut self, is_settling: bool) {
        let noise = self.noise.level;
        self.scene.fill(&self.seen, &self.is_seen, noise);
        self.scene.measure_texture();
        self.light.measure(&self.scene, &self.seen, &self.is_seen, noise, is_settling);
    }

    /// Finds how the camera has moved, and sees the frame from where the model was made. Returns where a place of the frame before is in
    /// this one.
    fn align(&mut self, luma: &FrameView<'_>, field: Option<&Field<'_>>) -> Affine {
        let earlier = self.to_model;
        let fit = field.and_then(|field| {
            let (scene, noise) = (&self.scene, self.noise.level);
            camera::measure_texture(field, scene, self.factor, noise, &mut self.texture);
            camera::fit(field, &self.texture, self.size, &mut self.order)
        });
        let limit = MOST_ERROR + MOST_ERROR_IN_NOISE * self.noise.level;
        let before = Before {
            scene: &self.scene,
            light: self.light.global,
            limit,
            to_model: earlier,
            is_still: self.is_still(),
        };
        let Aligned { to_model, error } = self.aligner.find(luma, &before, fit.as_ref(), self.factor);
        let moved = to_model.inverse().map_or(Affine::IDENTITY, |to_frame| to_frame.after(&earlier));
        let moved = if to_model == earlier { Affine::IDENTITY } else { moved };
        self.still = if moved.reach(self.small) > LEAST_STEP { 0 } else { (self.still + 1).min(STILL) };
        self.to_model = to_model;
        self.observation.camera = Camera {
            matrix: moved.scaled(self.factor).0,
            following: fit.map_or(0.0, |fit| fit.following),
            confidence: (1.0 - error / f64::from(limit)).clamp(0.0, 1.0),
        };
        self.anchor();
        moved
    }

    /// Keeps the model near the frame: whole samples are scrolled, and what is left of a zoom or rotation is resampled when it is large.
    fn anchor(&mut self) {
        let (width, height) = self.small;
        let (middle_x, middle_y) = (width as f64 / 2.0, height as f64 / 2.0);
        let (x, y) = self.to_model.apply(middle_x, middle_y);
        let (right, down) = ((x - middle_x + 0.5).floor(), (y - middle_y + 0.5).floor());
        let rest = Affine::translation(-right, -down).after(&self.to_model);
        // Once the camera is still again, the model is that of the frame.
        let comes_to_rest = self.still == STILL - 1 && rest != Affine::IDENTITY;
        if rest.reach(self.small) > MOST_REST || comes_to_rest {
            let to_model = self.to_model;
            self.scene.transform(&to_model);
            self.to_model = Affine::IDENTITY;
        } else if right != 0.0 || down != 0.0 {
            self.scene.scroll(right as isize, down as isize);
            self.to_model = rest;
        }
    }
}

/// Checks that the settings can be used.
fn check(settings: &Settings) -> Result<(), DetectionError> {
    match settings.sensitivity {
        sensitivity if (0.0..=1.0).contains(&sensitivity) => Ok(()),
        sensitivity => Err(DetectionError::Sensitivity(sensitivity)),
    }
}

/// The cells in which motion does not count.
fn masked(mask: &Mask, (columns, rows): (usize, usize), (width, height): (usize, usize)) -> Vec<u8> {
    let middle = |cell: usize, length: usize| ((cell + 1) * STEP) as f64 / length as f64;
    let mut is_masked = Vec::with_capacity(columns * rows);
    for y in 0..rows {
        is_masked.extend((0..columns).map(|x| u8::from(!mask.counts(middle(x, width), middle(y, height)))));
    }
    is_masked
}

#[cfg(test)]
mod tests {
    use motion_base::simd::InstructionSetName;
    use motion_base::{Grid, MotionVector};

    use super::*;

    const SIZE: (usize, usize) = (322, 182);

    /// A number of 32 bits that looks random for each number.
    fn scrambled(number: u32) -> u32 {
        let mut bits = number.wrapping_mul(0x9e37_79b9) ^ 0x85eb_ca6b;
        for _ in 0..3 {
            bits = (bits ^ (bits >> 15)).wrapping_mul(0x2c1b_3c6d);
        }
        bits ^ (bits >> 16)
    }

    /// A texture that is the same on every machine: the mean of four corners of a lattice, each weighted by how near it is.
    fn texture(x: i32, y: i32) -> i32 {
        let (column, row) = (x.div_euclid(8), y.div_euclid(8));
        let (right, down) = (x.rem_euclid(8), y.rem_euclid(8));
        let corner = |x: i32, y: i32| (scrambled((x * 7919 + y) as u32) % 160) as i32;
        let upper = corner(column, row) * (8 - right) + corner(column + 1, row) * right;
        let lower = corner(column, row + 1) * (8 - right) + corner(column + 1, row + 1) * right;
        (upper * (8 - down) + lower * down) / 64
    }

    /// A frame: a pan after a rest, another light, two objects, noise.
    fn frame(number: i32, luma: &mut [u8]) -> i32 {
        let camera = (number - 110).clamp(0, 40);
        for (at, sample) in luma.iter_mut().enumerate() {
            let (x, y) = ((at % SIZE.0) as i32, (at / SIZE.0) as i32);
            let is_first = (0..20).contains(&(x - 3 * (number - 60))) && (40..64).contains(&y);
            let is_second = (100..112).contains(&x) && (0..9).contains(&(y - (number - 70)));
            let seen = 30 + texture(x + 2 * camera, y) + 50 * i32::from(is_first) - 25 * i32::from(is_second);
            let lit = if number >= 160 { seen * 5 / 8 } else { seen };
            let noise = (scrambled((number * 65536 + at as i32) as u32) % 7) as i32 - 3;
            *sample = (lit + noise).clamp(0, 255) as u8;
        }
        if (1..40).contains(&camera) || number == 150 { 2 } else { 0 }
    }

    /// What is decided in the frames, as numbers.
    fn decisions(instructions: Instructions) -> Vec<u64> {
        let mut detector = Detector::with_memory(SIZE, SIZE, 0, Settings::default(), instructions).unwrap();
        let grid = Grid { columns: SIZE.0.div_ceil(16), rows: SIZE.1.div_ceil(16) };
        let (mut luma, mut found) = (vec![0; SIZE.0 * SIZE.1], Vec::new());
        for number in 0..200 {
            let step = frame(number, &mut luma);
            let vectors = vec![MotionVector { x: step as i16 * 4, y: 0, cost: 0 }; grid.blocks()];
            let field = Field { vectors: &vectors, grid, block: (16, 16), scale: 4.0 };
            let view = FrameView::new(&luma, SIZE.0, SIZE.1, SIZE.0).unwrap();
            let seen = detector.observe(number as u64 * 40_000_000, &view, Some(field));
            let Observation { camera, regions, begun, ended, is_settling } = seen;
            found.extend(camera.matrix.as_flattened().iter().map(|value| value.to_bits()));
            found.push(u64::from(*is_settling));
            for region in regions.iter().chain(begun).chain(ended) {
                let Region { id, x, y, width, height, velocity, begin, last, confidence } = *region;
                found.extend([id, x.into(), y.into(), width.into(), height.into(), begin, last]);
                found.extend([velocity.0.to_bits(), velocity.1.to_bits(), confidence.to_bits()]);
            }
        }
        found
    }

    #[test]
    fn decisions_are_the_same_bits_on_every_machine() {
        let mut first = None;
        for name in InstructionSetName::available() {
            let found = decisions(name.required().unwrap());
            assert!(*first.get_or_insert_with(|| found.clone()) == found, "{name}");
        }
        let found = first.unwrap();
        // Regions were open in some of the frames: the matrices and the settling alone are seven numbers each.
        assert!(found.len() > 200 * 7 + 500, "{}", found.len());
        // FNV-1a, so that machines of other architectures can be compared.
        let hash = found
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            });
        assert_eq!(hash, 14_166_806_794_414_379_556);
    }
}
