//! Frames in, regions out.

use motion_base::simd::Instructions;
use motion_base::{FrameView, SetupError, memory};

use crate::affine::Affine;
use crate::align::{self, Aligned, Aligner, Before};
use crate::camera::{self, Camera, Field};
use crate::evidence::{Evidence, Judging};
use crate::ghosts::{Pictures, Profile, is_light, join_strips, without_ghost};
use crate::light::Light;
use crate::mask::Mask;
use crate::regions::{Blob, MOST_BOXES, RegionFinder, STEP, Thresholds};
use crate::scene::{DEVIATION, Learning, MEMORY, Scene};
use crate::settings::{DetectionError, Settings};
use crate::tracks::{Circumstances, MOST_TRACKS, Track, Tracks};

/// Something that moves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Region {
    /// Its number: the same in all frames, and of no other region of the detector.
    pub id: u64,
    /// The left edge, in samples of the full frame.
    pub x: u32,
    /// The upper edge.
    pub y: u32,
    /// Samples across.
    pub width: u32,
    /// Samples down.
    pub height: u32,
    /// Its motion in samples a second, right and down, without that of the camera.
    pub velocity: (f64, f64),
    /// The time of the frame in which it was first seen, in ns.
    pub begin: u64,
    /// The time of the frame in which it was last seen, in ns.
    pub last: u64,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
}

/// What a frame shows.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// How the camera has moved.
    pub camera: Camera,
    /// What moves.
    pub regions: Vec<Region>,
    /// What has begun to move with this frame. It is among `regions` too.
    pub begun: Vec<Region>,
    /// What has ended with it.
    pub ended: Vec<Region>,
    /// Whether the light has just changed, or the scene is new.
    pub is_settling: bool,
}

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
    /// The frame at the places of the model.
    seen: Vec<f32>,
    is_seen: Vec<u8>,
    /// Where motion does not count, of each cell.
    is_masked: Option<Vec<u8>>,
    /// Which 2 x 2 samples of the model show an object.
    is_object: Vec<u8>,
    texture: Vec<u32>,
    order: Vec<(i32, u32)>,
    levels: Vec<f32>,
    profile: Profile,
    /// Where a place of the frame is in the model.
    to_model: Affine,
    /// Frames since the camera last moved.
    still: u32,
    noise: f32,
    before: Option<u64>,
    elapsed: f64,
    /// Until when the light settles, in ns.
    settles: u64,
    /// Frames one after the other that do not look like the model.
    strange: u32,
    observation: Observation,
}

/// The share of the frame that something that moves may cover. More is another light or scene.
const MOST_OF_FRAME: f64 = 0.6;

/// Frames after which a camera that does not move is still.
const STILL: u32 = 12;

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
        let light = Light::new(small, instructions)?;
        let tiles = light.tiles.0 * light.tiles.1;
        Ok(Self {
            size,
            small,
            factor: f64::from(1u32 << halvings),
            settings,
            instructions,
            aligner: Aligner::new(small, instructions)?,
            scene: Scene::new(small, instructions)?,
            finder: RegionFinder::new(evidence.cells, small),
            light,
            evidence,
            tracks: Tracks::default(),
            seen: memory::values("a frame", samples)?,
            is_seen: memory::values("a frame", samples)?,
            is_masked,
            is_object: memory::values("objects", blocks.0 * blocks.1)?,
            texture: Vec::with_capacity(samples / 16),
            order: Vec::with_capacity(samples / 16),
            levels: Vec::with_capacity(tiles),
            profile: Profile::new(small.0.max(small.1)),
            to_model: Affine::IDENTITY,
            still: STILL,
            noise: 2.0,
            before: None,
            elapsed: 0.04,
            settles: 0,
            strange: 0,
            observation: Observation {
                regions: Vec::with_capacity(MOST_TRACKS),
                begun: Vec::with_capacity(MOST_TRACKS),
                ended: Vec::with_capacity(MOST_TRACKS),
                ..Observation::default()
            },
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
        f64::from(self.noise)
    }

    /// Forgets the scene, and ends all regions: what comes next has nothing to do with what was before.
    pub fn finish(&mut self) -> &[Region] {
        self.restart();
        self.before = None;
        self.tracks.finish();
        self.report();
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
        align::resample(self.instructions, luma, &self.to_model, &mut self.seen, &mut self.is_seen);
        self.scene.fill(&self.seen, &self.is_seen, self.noise);
        self.scene.measure_texture();
        self.light.measure(&self.scene, &self.seen, &self.is_seen, self.noise, time < self.settles);
        self.notice_changes(time);
        let is_settling = time < self.settles;
        let is_moving = self.still < STILL;
        let judging = Judging {
            noise: self.noise,
            displacement: if is_moving { 0.3 } else { 0.06 } + if is_settling { 0.2 } else { 0.0 },
            lighting: 0.25,
            is_settling,
        };
        self.evidence.measure(&self.scene, &self.light, &self.seen, &self.is_seen, &judging);
        self.measure_noise();
        if let Some(is_masked) = &self.is_masked {
            for (sure, &is_masked) in self.evidence.sure.iter_mut().zip(is_masked) {
                *sure *= f32::from(1 - is_masked);
            }
        }
        let seed = 12.0 - 12.0 * self.settings.sensitivity as f32 + 0.5 * (self.settings.sensitivity as f32);
        let seed = seed.max(3.5) * if is_settling { 1.3 } else { 1.0 };
        let thresholds = Thresholds { seed, member: 0.55 * seed };
        self.finder.find(&self.evidence.as_cells(), thresholds);
        self.forget_ghosts();
        self.follow(time, &moved, field.as_ref(), is_settling);
        self.learn(is_settling, is_moving);
        self.evidence.learn_habits(self.elapsed as f32, seed);
        self.observation.is_settling = is_settling;
        self.report();
        &self.observation
    }

    /// Notes the time of a frame.
    fn tick(&mut self, time: u64) {
        if let Some(before) = self.before
            && time > before
        {
            self.elapsed = ((time - before) as f64 / 1e9).clamp(0.001, 1.0);
        }
        if self.before.is_none() {
            self.settles = time.saturating_add(self.settle());
        }
        self.before = Some(time);
    }

    fn settle(&self) -> u64 {
        u64::try_from(self.settings.settle.as_nanos()).unwrap_or(u64::MAX)
    }

    fn restart(&mut self) {
        self.scene.restart();
        self.evidence.restart();
        self.to_model = Affine::IDENTITY;
        self.still = STILL;
        self.strange = 0;
    }

    /// Finds how the camera has moved, and sees the frame from where the model was made. Returns where a place of the frame before is in
    /// this one.
    fn align(&mut self, luma: &FrameView<'_>, field: Option<&Field<'_>>) -> Affine {
        let earlier = self.to_model;
        let fit = field.and_then(|field| {
            self.measure_block_texture(field);
            camera::fit(field, &self.texture, self.size, &mut self.order)
        });
        let limit = 4.0 + 2.0 * self.noise;
        let before = Before {
            scene: &self.scene,
            light: self.light.global,
            limit,
            to_model: earlier,
            is_still: self.still >= STILL,
        };
        let Aligned { to_model, error } = self.aligner.find(luma, &before, fit.as_ref(), self.factor);
        let moved = to_model.inverse().map_or(Affine::IDENTITY, |to_frame| to_frame.after(&earlier));
        let moved = if to_model == earlier { Affine::IDENTITY } else { moved };
        self.still = if moved.reach(self.small) > 0.1 { 0 } else { (self.still + 1).min(STILL) };
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
        if rest.reach(self.small) > 5.0 || comes_to_rest {
            let to_model = self.to_model;
            self.scene.transform(&to_model);
            self.to_model = Affine::IDENTITY;
        } else if right != 0.0 || down != 0.0 {
            self.scene.scroll(right as isize, down as isize);
            self.to_model = rest;
        }
    }

    /// How much texture the model has in each block of `field`.
    fn measure_block_texture(&mut self, field: &Field<'_>) {
        let (width, height) = self.small;
        self.texture.clear();
        let blocks = field.grid.blocks();
        let floor = self.noise;
        for index in 0..blocks {
            let (x, y) = field.middle(index);
            let (x, y) = ((x / self.factor) as usize, (y / self.factor) as usize);
            let reach_x = ((field.block.0 as f64 / self.factor / 2.0) as usize).clamp(1, 4);
            let reach_y = ((field.block.1 as f64 / self.factor / 2.0) as usize).clamp(1, 4);
            let (mut across, mut down, mut count) = (0.0f32, 0.0f32, 0.0f32);
            for y in y.saturating_sub(reach_y)..(y + reach_y).min(height - 1) {
                for x in x.saturating_sub(reach_x)..(x + reach_x).min(width - 1) {
                    let at = y * width + x;
                    let mean = &self.scene.mean;
                    across += (mean[at + 1] - mean[at]).abs();
                    down += (mean[at + width] - mean[at]).abs();
                    count += 1.0;
                }
            }
            // Texture of one direction alone does not say where a block is from.
            let texture = across.min(down) / count.max(1.0) * 4.0 - floor;
            self.texture.push(texture.clamp(0.0, 64.0) as u32);
        }
    }

    /// Notices that the light, or the whole scene, has changed.
    fn notice_changes(&mut self, time: u64) {
        let Light { changed, unexplained, sudden, correlation, .. } = self.light;
        let is_sudden = sudden > 0.25 && self.still >= STILL && changed > 0.25;
        if is_sudden || unexplained > 0.4 {
            self.settles = self.settles.max(time.saturating_add(self.settle()));
        }
        let is_strange = correlation < 0.25 && unexplained > 0.3;
        self.strange = if is_strange { self.strange + 1 } else { 0 };
        if self.strange >= 3 {
            self.restart();
            self.scene.fill(&self.seen, &self.is_seen, self.noise);
            self.light.measure(&self.scene, &self.seen, &self.is_seen, self.noise, true);
        }
    }

    /// The noise: the lower quartile of the mean deviations of tiles, which objects do not have.
    fn measure_noise(&mut self) {
        let (width, height) = self.small;
        self.levels.clear();
        for y in (0..height).step_by(16) {
            for x in (0..width).step_by(16) {
                let (mut sum, mut count) = (0.0f32, 0.0f32);
                for y in (y..(y + 16).min(height)).step_by(4) {
                    let row = y * width + x..y * width + (x + 16).min(width);
                    for (&seen, &expected) in self.seen[row.clone()].iter().zip(&self.evidence.expected[row])
                    {
                        sum += (seen - expected).abs();
                        count += 1.0;
                    }
                }
                self.levels.push(sum / count.max(1.0));
            }
        }
        self.levels.sort_unstable_by(f32::total_cmp);
        let quartile = self.levels.get(self.levels.len() / 4).copied().unwrap_or(0.0);
        let noise = (DEVIATION * quartile).clamp(0.3, 20.0);
        self.noise += (self.elapsed as f32 / 0.5).min(0.2) * (noise - self.noise);
    }

    /// Takes from the boxes what is only in the model, and takes what is seen there as the scene.
    fn forget_ghosts(&mut self) {
        let Self { finder, scene, evidence, seen, profile, noise, .. } = self;
        let (width, height) = self.small;
        let pictures = Pictures { width, height, seen, expected: &evidence.expected, noise: *noise };
        // As the scene was when the model was made: with the light of the place, light could not be told.
        let model = Pictures { expected: &scene.mean, ..pictures };
        finder.blobs.retain(|blob| !is_light(blob, &model));
        join_strips(&mut finder.blobs, &pictures, profile);
        finder.blobs.retain_mut(|blob| {
            let is_ghost = without_ghost(blob, &pictures, profile);
            if is_ghost {
                let (left, top) = (blob.x as usize - 1, blob.y as usize - 1);
                let columns = left..left + blob.width as usize + 2;
                (top..top + blob.height as usize + 2)
                    .for_each(|y| scene.adopt(y, columns.clone(), seen, *noise));
            }
            !is_ghost
        });
    }

    /// Follows the regions to the boxes of this frame.
    fn follow(&mut self, time: u64, moved: &Affine, field: Option<&Field<'_>>, is_settling: bool) {
        let to_frame = self.to_model.inverse().unwrap_or(Affine::IDENTITY);
        let area = (self.small.0 * self.small.1) as f64;
        let count = self.finder.blobs.len();
        self.finder.blobs.retain(|blob| blob.area() <= MOST_OF_FRAME * area);
        if self.finder.blobs.len() < count {
            self.settles = self.settles.max(time.saturating_add(self.settle()));
        }
        for blob in &mut self.finder.blobs {
            blob.is_usual = self.evidence.is_usual(blob);
            let (x, y) = blob.middle();
            let (to_x, to_y) = to_frame.apply(x, y);
            blob.x += to_x - x;
            blob.y += to_y - y;
        }
        let (elapsed, factor, moved) = (self.elapsed, self.factor, *moved);
        let motion_at = |x: f64, y: f64| {
            let Some(field) = field else { return (0.0, 0.0) };
            let block = |at: f64, block: usize, blocks: usize| {
                ((at * factor / block as f64).max(0.0) as usize).min(blocks - 1)
            };
            let column = block(x, field.block.0, field.grid.columns);
            let row = block(y, field.block.1, field.grid.rows);
            let (back_x, back_y) = field.vector(row * field.grid.columns + column);
            let (from_x, from_y) = (x + back_x / factor, y + back_y / factor);
            let (to_x, to_y) = moved.apply(from_x, from_y);
            ((x - to_x) / elapsed, (y - to_y) / elapsed)
        };
        let least_size =
            (f64::from(self.settings.least_size.0) / factor, f64::from(self.settings.least_size.1) / factor);
        let now = Circumstances {
            now: time,
            elapsed,
            camera: moved,
            is_settling,
            area,
            least_size,
            least_duration: self.settings.least_duration,
            hold: self.settings.hold,
            reach: 48.0 / factor + 2.0,
        };
        self.tracks.follow(&mut self.finder.blobs, &now, motion_at);
    }

    /// Learns the scene from this frame.
    fn learn(&mut self, is_settling: bool, is_moving: bool) {
        let (columns, rows) = self.evidence.blocks();
        self.is_object.fill(0);
        for track in self.tracks.tracks.iter().filter(|track| track.is_open() && track.misses <= 1) {
            let (x, y) = track.blob.middle();
            let (to_x, to_y) = self.to_model.apply(x, y);
            let (left, top) = (track.blob.x + to_x - x - 1.0, track.blob.y + to_y - y - 1.0);
            let at = |place: f64, most: usize| ((place / STEP as f64).max(0.0) as usize).min(most);
            let columns_of = at(left, columns)..(at(left + track.blob.width + 2.0, columns) + 1).min(columns);
            for y in at(top, rows)..(at(top + track.blob.height + 2.0, rows) + 1).min(rows) {
                self.is_object
                    [y * columns + columns_of.start.min(columns_of.end)..y * columns + columns_of.end]
                    .fill(1);
            }
        }
        for track in &self.tracks.begun {
            let (x, y) = track.blob.middle();
            let [from, to] = [track.origin, (x, y)].map(|(x, y)| self.to_model.apply(x, y));
            let (across, down) = (track.blob.width / 2.0, track.blob.height / 2.0);
            let range = |from: f64, to: f64, reach: f64| from.min(to) - reach..from.max(to) + reach;
            self.evidence.touch(range(from.0, to.0, across), range(from.1, to.1, down));
        }
        let elapsed = self.elapsed as f32;
        let memory = match (is_settling, is_moving) {
            (_, true) => MEMORY / 2.0,
            (true, false) => MEMORY / 8.0,
            (false, false) => MEMORY,
        };
        let stay = if is_settling { self.settings.settle.as_secs_f32() / 2.0 } else { 2.0 * MEMORY };
        let learning = Learning { elapsed, rate: (elapsed / memory).min(0.5), stay, noise: self.noise };
        let width = self.small.0;
        for y in 0..self.small.1 {
            let row = y * width..(y + 1) * width;
            let is_object = &self.is_object[(y / STEP).min(rows - 1) * columns..][..columns];
            self.scene.learn_row(
                y,
                &self.seen[row.clone()],
                &self.is_seen[row.clone()],
                &self.evidence.expected[row],
                is_object,
                &learning,
            );
        }
        self.evidence.learn(&self.is_object, (elapsed / MEMORY).min(0.5));
    }

    /// Writes what the tracks say to the observation.
    fn report(&mut self) {
        let (size, factor) = (self.size, self.factor);
        let region = |track: &Track| region(track, factor, size);
        let Observation { regions, begun, ended, .. } = &mut self.observation;
        regions.clear();
        regions.extend(
            self.tracks.tracks.iter().filter(|track| track.is_open() && track.misses <= 3).map(region),
        );
        begun.clear();
        begun.extend(self.tracks.begun.iter().map(region));
        ended.clear();
        ended.extend(self.tracks.ended.iter().map(region));
    }
}

/// Checks that the settings can be used.
fn check(settings: &Settings) -> Result<(), DetectionError> {
    match settings.sensitivity {
        sensitivity if (0.0..=1.0).contains(&sensitivity) => Ok(()),
        sensitivity => Err(DetectionError::Sensitivity(sensitivity)),
    }
}

/// The region that a track is, inside of a frame of this size.
fn region(track: &Track, factor: f64, (width, height): (usize, usize)) -> Region {
    let Blob { x, y, width: across, height: down, .. } = track.blob;
    let within = |start: f64, length: f64, most: usize| {
        let first = (start * factor + 0.5).clamp(0.0, most as f64 - 1.0) as u32;
        let end = ((start + length) * factor + 0.5).clamp(0.0, most as f64) as u32;
        (first, end.saturating_sub(first).max(1))
    };
    let ((x, width), (y, height)) = (within(x, across, width), within(y, down, height));
    Region {
        id: track.id,
        x,
        y,
        width,
        height,
        velocity: (track.velocity.0 * factor, track.velocity.1 * factor),
        begin: track.first,
        last: track.last,
        confidence: (track.score / 44.0).clamp(0.0, 1.0),
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

const _: () = assert!(MOST_BOXES <= MOST_TRACKS);
