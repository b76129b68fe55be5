//! The noise of a stream: how much there is where, and at which brightness.

use rayon::prelude::*;

use super::areas::Areas;
use super::noise::{
    Block, BlockError, are_alike, flickers, least_noise, noise_of, per_sample, with_clipping, worthwhile,
};
use super::rules::{BLOCK, SAMPLES};
use crate::estimator::{Parameters, SetupError};
use crate::memory;

/// Brightness is divided into as many levels, each with its own noise.
const LEVELS: usize = 8;

/// The place of all levels together, behind them.
const ALL: usize = LEVELS;

/// A level of an area, or all of it, has its own estimate if at least as many blocks tell it.
const LEAST_OF_AREA: usize = 16;

/// A level of the frame.
const LEAST_OF_LEVEL: usize = 64;

/// Of more blocks every second one is asked.
const ENOUGH: usize = 1 << 13;

/// From one block of a frame of `count` blocks that is asked to the next.
fn step(count: usize) -> usize {
    if count > ENOUGH { 2 } else { 1 }
}

/// The noise of a level of the frame is at most as many times that of the frame: in a frame without noise a level whose
/// blocks all move would seem to have some.
const MOST_OF_LEVEL: u64 = 16;

/// Of what is above the known noise of an area this part is added with each frame, of what is below this part subtracted.
const RISE: u64 = 4;
const FALL: u64 = 8;

/// Differences tell no noise where the search has lost more than this part of the blocks.
const LOST: usize = 4;

/// What the frame tells counts in full, which is this, if the search has lost at most 3 of 16 blocks, and not at all if it
/// has lost 4.
const TRUST: u64 = 256;

/// Blocks of an area are alike if all tell less than this part of the noise of the frame: they have none.
const LITTLE: u64 = 16;

/// An area has its own noise if that is more than as many times the noise of the frame, or that little.
const OTHER: u64 = 4;

/// The previous frame shows another scene if more than this part of all blocks are lost in it, in 256ths, and more than
/// as many times those that were lost from frame to frame before.
const LOST_OF_SCENE: usize = 128;
const MORE_LOST: usize = 2;

/// The noise of each level of brightness, and of all.
type Levels = [Option<u64>; LEVELS + 1];

/// The noise of a block, as 64 samples have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockNoise {
    pub luma: u64,
    pub chroma: u64,
}

/// The errors of a frame's prediction from the frame before or after it.
pub(super) struct Evidence<'a> {
    /// Whether it is the frame before.
    pub is_previous: bool,
    pub luma: &'a [BlockError],
    pub chroma: &'a [BlockError],
}

/// What luma, or chroma, tells in comparison with one other frame. Its memory is used for all frames.
#[derive(Default)]
struct Told {
    /// For each block the noise that it tells.
    blocks: Vec<Option<u64>>,
    frame: Levels,
    /// How much `frame` counts, of [`TRUST`].
    trust: u64,
    areas: Vec<Levels>,
    /// The part of the blocks that the search has lost, in 256ths.
    lost: usize,
    /// What blocks tell, by level.
    sorted: Vec<u64>,
}

/// Memory that is used for all frames: the level of each block, and what luma and chroma tell in comparison with the
/// frames before and after.
#[derive(Default)]
pub(super) struct NoiseMemory {
    levels: Vec<u8>,
    luma: [Told; 2],
    chroma: [Told; 2],
}

impl NoiseMemory {
    /// For frames of `size` luma samples, with chroma or without.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(size: (usize, usize), has_chroma: bool) -> Result<Self, SetupError> {
        let (areas, mut memory) = (Areas::of_frame(size), Self::default());
        memory.levels = memory::values("the levels of blocks", areas.blocks.0 * areas.blocks.1)?;
        memory.luma.iter_mut().try_for_each(|told| told.reserve(areas))?;
        if has_chroma {
            memory.chroma.iter_mut().try_for_each(|told| told.reserve(areas))?;
        }
        Ok(memory)
    }
}

/// The noise of a frame, and that of its areas, which follows what frames tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Followed {
    frame: Levels,
    areas: Vec<Levels>,
    /// The levels of which an area has a noise of its own.
    of_areas: [bool; LEVELS],
}

/// The noise of a stream's frames, which follows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoiseMap {
    depth: u32,
    areas: Areas,
    luma: Followed,
    chroma: Followed,
    /// The part of the blocks that were lost between the last frame and that before it, and that after it.
    lost: [usize; 2],
    /// The noise of the last frame.
    blocks: Vec<BlockNoise>,
}

impl NoiseMap {
    /// For frames of `size` luma samples of `depth` bits.
    ///
    /// # Errors
    /// [`SetupError::FrameSize`] if they are empty or too large; [`SetupError::Memory`] if there is too little.
    ///
    /// # Panics
    /// If `depth` is not from 8 to 16.
    pub fn new(size: (usize, usize), depth: u32) -> Result<Self, SetupError> {
        assert!((8..=16).contains(&depth), "no samples have {depth} bits");
        Parameters::check_frame_size(size)?;
        let areas = Areas::of_frame(size);
        let [luma, chroma] = [Followed::new(areas)?, Followed::new(areas)?];
        let blocks = memory::values("the noise of blocks", areas.blocks.0 * areas.blocks.1)?;
        Ok(Self { depth, areas, luma, chroma, lost: [0; 2], blocks })
    }

    /// Forgets the noise of the frames up to now.
    pub fn restart(&mut self) {
        self.luma.restart();
        self.chroma.restart();
        self.lost = [0; 2];
    }

    /// Whether the last frame has none.
    pub fn is_none(&self) -> bool {
        self.blocks.iter().all(|noise| *noise == BlockNoise::default())
    }

    /// The mean standard deviation of luma's noise in the last frame.
    pub fn mean_deviation(&self) -> f64 {
        self.blocks.iter().map(|noise| deviation(noise.luma)).sum::<f64>() / self.blocks.len() as f64
    }

    /// The standard deviation of luma's noise in the last frame at this luma sample.
    ///
    /// # Panics
    /// If no block holds such a sample.
    pub fn luma_deviation(&self, x: usize, y: usize) -> f64 {
        deviation(self.block_at(x, y).luma)
    }

    /// The same of chroma's noise.
    ///
    /// # Panics
    /// If no block holds such a sample.
    pub fn chroma_deviation(&self, x: usize, y: usize) -> f64 {
        deviation(self.block_at(x, y).chroma)
    }

    fn block_at(&self, x: usize, y: usize) -> &BlockNoise {
        let (columns, column) = (self.areas.blocks.0, x / BLOCK);
        assert!(column < columns, "no block holds luma sample ({x}, {y})");
        &self.blocks[y / BLOCK * columns + column]
    }

    /// The noise of the blocks of the last frame.
    pub(super) fn blocks(&self) -> &[BlockNoise] {
        &self.blocks
    }

    /// Whether chroma has noise.
    pub(super) fn has_chroma(&self) -> bool {
        self.blocks.iter().any(|noise| noise.chroma > 0)
    }

    /// Follows the noise to a frame of the blocks `luma` and, of the same number or none, `chroma`. There are at most two
    /// frames of evidence.
    pub(super) fn follow(
        &mut self,
        [luma, chroma]: [&[Block]; 2],
        evidence: &[Evidence<'_>],
        memory: &mut NoiseMemory,
    ) {
        let Self { depth, areas, .. } = *self;
        let NoiseMemory { levels, luma: told, chroma: told_of_chroma } = memory;
        levels.clear();
        levels.extend(luma.iter().map(|block| level(block, depth)));
        let evidence = &evidence[..evidence.len().min(told.len())];
        let told = &mut told[..evidence.len()];
        told.par_iter_mut()
            .zip(evidence)
            .for_each(|(told, evidence)| told.by_luma(areas, depth, levels, luma, evidence.luma));
        let lost_in = |is_previous: bool| {
            let found = evidence.iter().zip(&*told).find(|(evidence, _)| evidence.is_previous == is_previous);
            found.map(|(_, told)| told.lost)
        };
        let lost = lost_in(true).unwrap_or(self.lost[1]);
        let lost_later = lost_in(false).unwrap_or(0);
        if lost > LOST_OF_SCENE.max(MORE_LOST * self.lost[0]) {
            self.restart();
        }
        self.lost = [lost, lost_later];
        self.luma.follow(told);
        let Self { luma: of_luma, chroma: of_chroma, blocks, .. } = self;
        blocks.par_iter_mut().enumerate().with_min_len(areas.blocks.0).for_each(|(block, noise)| {
            let of_block = &luma[block];
            let told = || ToldOfBlock::new(told, block, of_block.white());
            let known = of_luma.of(areas, block, levels[block].into(), told);
            noise.luma = worthwhile(with_clipping(known, of_block, depth));
        });
        if chroma.is_empty() {
            return;
        }
        let told_by_luma = &*told;
        let told = &mut told_of_chroma[..evidence.len()];
        told.par_iter_mut().zip(evidence).zip(told_by_luma).for_each(|((told, evidence), by_luma)| {
            let of_block = |block: usize| {
                let most = 2 * blocks[block].luma.max(least_noise(depth));
                // Where its luma is found.
                let is_found =
                    luma[block].samples == SAMPLES && by_luma.blocks[block].is_none_or(|noise| noise <= most);
                is_found.then(|| evidence.chroma[block].chroma_noise(&chroma[block], depth))
            };
            told.by_blocks(luma.len(), of_block);
            told.trust = by_luma.trust;
            told.of_frame(levels, chroma[0].samples);
            told.of_areas(areas, levels, chroma[0].samples);
        });
        of_chroma.follow(told);
        blocks.par_iter_mut().enumerate().with_min_len(areas.blocks.0).for_each(|(block, noise)| {
            let told = || ToldOfBlock::new(told, block, u64::MAX);
            let known = of_chroma.of(areas, block, levels[block].into(), told);
            noise.chroma = worthwhile(known);
        });
    }
}

/// The noise that a block tells, or the one before it that was asked.
#[derive(Clone, Copy)]
struct ToldOfBlock {
    /// In comparison with the frame that tells least.
    least: u64,
    /// The part of its variation by which neighbouring samples differ, if that is known.
    white: u64,
}

impl ToldOfBlock {
    fn new(told: &[Told], block: usize, white: u64) -> Option<Self> {
        let least =
            told.iter().filter_map(|told| told.blocks[block - block % step(told.blocks.len())]).min()?;
        Some(Self { least, white })
    }

    /// Whether the block may have this noise.
    fn may_have(self, noise: u64) -> bool {
        noise <= 2 * self.least.min(self.white)
    }
}

/// The standard deviation of the noise of 64 samples.
fn deviation(noise: u64) -> f64 {
    (noise as f64 / SAMPLES as f64).sqrt()
}

/// The level of the brightness of a block.
fn level(luma: &Block, depth: u32) -> u8 {
    ((per_sample(LEVELS as u64 * luma.sum, luma.samples) >> depth) as u8).min(LEVELS as u8 - 1)
}

impl Told {
    /// Memory for so many blocks in areas.
    fn reserve(&mut self, areas: Areas) -> Result<(), SetupError> {
        let blocks = areas.blocks.0 * areas.blocks.1;
        self.blocks = memory::values("what blocks tell", blocks)?;
        self.sorted = memory::values("what blocks tell, sorted", blocks)?;
        self.areas = memory::values("what areas tell", areas.count.0 * areas.count.1)?;
        Ok(())
    }

    /// Sets it to what luma tells.
    fn by_luma(
        &mut self,
        areas: Areas,
        depth: u32,
        of_blocks: &[u8],
        blocks: &[Block],
        errors: &[BlockError],
    ) {
        let flickers = flickers(errors);
        self.by_blocks(blocks.len(), |block| {
            let is_whole = blocks[block].samples == SAMPLES;
            is_whole.then(|| errors[block].luma_noise(&blocks[block], flickers, depth)).flatten()
        });
        self.of_frame(of_blocks, SAMPLES);
        // Where the search does not find what it must find, differences do not tell noise.
        let is_lost = |told: &Self, levels: &Levels, block: usize| {
            let level = usize::from(of_blocks[block]);
            let noise = levels[level].or(levels[ALL]).or(told.frame[level]).or(told.frame[ALL]);
            blocks[block].is_lost(noise.unwrap_or(0), errors[block].difference(flickers), depth)
        };
        let telling = (0..blocks.len()).filter(|&block| self.blocks[block].is_some());
        let all = telling.clone().count();
        let lost = telling.filter(|&block| is_lost(self, &Levels::default(), block)).count();
        self.trust = TRUST.min(TRUST * (4 * all as u64).saturating_sub(16 * lost as u64) / all.max(1) as u64);
        self.lost = 256 * lost / all.max(1);
        self.of_areas(areas, of_blocks, SAMPLES);
        for area in 0..self.areas.len() {
            let levels = self.areas[area];
            let telling =
                areas.blocks(area).filter(|&block| self.blocks[block].is_some_and(|noise| noise > 0));
            let lost = telling.clone().filter(|&block| is_lost(self, &levels, block)).count();
            if LOST * lost > telling.count() {
                self.areas[area] = Levels::default();
            }
        }
    }

    /// Sets what blocks tell.
    fn by_blocks(&mut self, count: usize, tell: impl Fn(usize) -> Option<u64>) {
        self.blocks.clear();
        let step = step(count);
        self.blocks.extend((0..count).map(|block| if block % step == 0 { tell(block) } else { None }));
    }

    /// Sorts what those of `within` tell that `counts` by level. Returns where each level ends.
    fn sort(
        &mut self,
        levels: &[u8],
        within: impl Iterator<Item = usize> + Clone,
        counts: impl Fn(u64) -> bool,
    ) -> [usize; LEVELS] {
        let Self { blocks, sorted, .. } = self;
        let telling = within.filter_map(|block| {
            let noise = blocks[block].filter(|noise| counts(*noise))?;
            Some((usize::from(levels[block]), noise))
        });
        let mut ends = [0; LEVELS];
        telling.clone().for_each(|(level, _)| ends[level] += 1);
        let mut start = 0;
        for end in &mut ends {
            (*end, start) = (start, start + *end);
        }
        sorted.clear();
        sorted.resize(start, 0);
        for (level, noise) in telling {
            sorted[ends[level]] = noise;
            ends[level] += 1;
        }
        ends
    }

    /// Sets the noise of the frame, whose blocks have so many `samples`.
    fn of_frame(&mut self, levels: &[u8], samples: u64) {
        let ends = self.sort(levels, 0..levels.len(), |_| true);
        let mut start = 0;
        for (level, end) in ends.into_iter().enumerate() {
            let told = &mut self.sorted[start..end];
            self.frame[level] = if told.len() < LEAST_OF_LEVEL { None } else { noise_of(told, samples) };
            start = end;
        }
        self.frame[ALL] = noise_of(&mut self.sorted, samples);
        let most = MOST_OF_LEVEL * self.frame[ALL].unwrap_or(0);
        self.frame[..ALL].iter_mut().flatten().for_each(|noise| *noise = most.min(*noise));
    }

    /// Sets the noise of areas in which blocks agree.
    fn of_areas(&mut self, areas: Areas, of_blocks: &[u8], samples: u64) {
        self.areas.clear();
        for area in 0..areas.count.0 * areas.count.1 {
            let ends = self.sort(of_blocks, areas.blocks(area), |noise| noise > 0);
            let Self { frame, trust, sorted, .. } = self;
            let of = |told: &mut [u64], level: usize| {
                if told.len() < LEAST_OF_AREA {
                    return None;
                }
                let noise = noise_of(told, samples)?;
                let of_frame = frame[level].or(frame[ALL]).unwrap_or(0) * *trust / TRUST;
                are_alike(told, noise, samples, of_frame / LITTLE).then_some(noise)
            };
            let mut levels = Levels::default();
            let mut start = 0;
            for (level, end) in ends.into_iter().enumerate() {
                levels[level] = of(&mut sorted[start..end], level);
                start = end;
            }
            levels[ALL] = of(&mut sorted[..], ALL);
            self.areas.push(levels);
        }
    }
}

impl Followed {
    fn new(areas: Areas) -> Result<Self, SetupError> {
        let areas = memory::values("the noise of areas", areas.count.0 * areas.count.1)?;
        Ok(Self { frame: Levels::default(), areas, of_areas: [false; LEVELS] })
    }

    fn restart(&mut self) {
        self.frame = Levels::default();
        self.areas.fill(Levels::default());
    }

    /// Follows what other frames tell: for the frame that which tells the least, for each area the least.
    fn follow(&mut self, told: &[Told]) {
        self.frame = Levels::default();
        let least = told.iter().filter(|told| told.frame[ALL].is_some()).min_by_key(|told| told.frame[ALL]);
        if let Some(told) = least {
            self.frame = told.frame.map(|noise| noise.map(|noise| noise * told.trust / TRUST));
        }
        for (area, levels) in self.areas.iter_mut().enumerate() {
            let least = |level: usize| told.iter().filter_map(|told| told.areas[area][level]).min();
            follow(levels, std::array::from_fn(least));
        }
        self.of_areas = std::array::from_fn(|level| {
            (0..self.areas.len()).any(|area| self.of_area(area, level).is_some())
        });
    }

    /// The noise of a level of an area, if that is another than that of the frame.
    fn of_area(&self, area: usize, level: usize) -> Option<u64> {
        let of_frame = self.of_frame(level);
        let noise = self.areas[area][level].or(self.areas[area][ALL])?;
        (LITTLE * noise < of_frame || noise > OTHER * of_frame).then_some(noise)
    }

    /// The noise of a level of the frame.
    fn of_frame(&self, level: usize) -> u64 {
        self.frame[level].or(self.frame[ALL]).unwrap_or(0)
    }

    /// The noise of a block of a level, of which frames tell `told`.
    fn of(
        &self,
        areas: Areas,
        block: usize,
        level: usize,
        told: impl FnOnce() -> Option<ToldOfBlock>,
    ) -> u64 {
        let of_frame = self.of_frame(level);
        if !self.of_areas[level] {
            return of_frame;
        }
        let area = areas.of(block);
        let known = self.of_area(area, level).unwrap_or(of_frame);
        match told() {
            // Of another kind than most of its area, or in an area that tells nothing.
            Some(told) if told.least > known => {
                let others = areas.around(area).filter_map(|area| self.of_area(area, level));
                others.filter(|noise| *noise > 2 * known && told.may_have(*noise)).max().unwrap_or(known)
            }
            _ => known,
        }
    }
}

/// Follows what is told of each level.
fn follow(levels: &mut Levels, told: Levels) {
    for (noise, told) in levels.iter_mut().zip(told) {
        if let Some(told) = told {
            let known = noise.unwrap_or(told);
            *noise = Some(known + told.saturating_sub(known) / RISE - known.saturating_sub(told) / FALL);
        }
    }
}
