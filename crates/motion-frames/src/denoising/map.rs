//! The noise of a stream: how much there is where, and at which brightness.

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use super::areas::Areas;
use super::errors::{Errors, ReferenceErrors};
use super::limits::{ALL, LITTLE, LOST_OF_SCENE, MORE_NOISE, SHADES, ShadeNoise, TRUST};
use super::noise::{
    ChromaBlock, ChromaError, LowerQuartile, LumaBlock, LumaError, least_noise, with_clipping, worthwhile,
};
use super::reference::Reference;
use super::rules::{BLOCK, NoiseLevel, SAMPLES};
use super::told::{Told, ToldOfBlock, shade};
use motion_base::memory;
use motion_base::threads::each_band;
use motion_base::{Parameters, SetupError};

/// In clean frames areas seem to have noise by coding: luma less than half the variance 1 of eight bits, and chroma,
/// where luma has none, less than two.
fn is_coding([luma, chroma]: [u64; 2], depth: u32) -> bool {
    2 * luma < least_noise(depth) && chroma < 2 * least_noise(depth)
}

/// The noise of a block of 8 x 8 luma samples: 64 times its variance.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable, PartialEq, Eq)]
#[repr(C)]
pub struct BlockNoise {
    /// That of luma.
    pub luma: u64,
    /// That of chroma, of all its planes together; 0 without chroma.
    pub chroma: u64,
}

/// The errors of a frame's prediction from the frame before or after it.
pub(super) struct Evidence<'a> {
    /// Whether it is the frame before.
    pub is_previous: bool,
    /// Whether light flickers between them.
    pub flickers: bool,
    pub luma: ReferenceErrors<'a, LumaError>,
    pub chroma: ReferenceErrors<'a, ChromaError>,
}

impl<'a> Evidence<'a> {
    /// That of the `references` that are beside the frame, by whether light flickers, and the errors.
    pub(super) fn of(
        references: &[Reference<'_>],
        lights: &[bool],
        luma: &'a Errors<LumaError>,
        chroma: &'a Errors<ChromaError>,
    ) -> Vec<Self> {
        let beside = references.iter().zip(lights).enumerate();
        let beside = beside.filter(|(_, (reference, _))| reference.is_beside());
        let evidence = beside.map(|(index, (reference, &flickers))| {
            let is_previous = reference.offset < 0;
            let (luma, chroma) = (luma.of_reference(index), chroma.of_reference(index));
            Self { is_previous, flickers, luma, chroma }
        });
        evidence.collect()
    }
}

/// Memory that is used for all frames: what luma and chroma tell in comparison with the frames before and after.
#[derive(Default)]
pub(super) struct NoiseMemory {
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
    frame: ShadeNoise,
    areas: Vec<ShadeNoise>,
    /// For each area the noise of each shade that it has of its own.
    own: Vec<[Option<u64>; SHADES]>,
    /// The most of these in the area and those around it.
    most_around: Vec<[u64; SHADES]>,
}

/// The noise of a stream's frames, which follows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoiseMap {
    depth: u32,
    level: NoiseLevel,
    areas: Areas,
    luma: Followed,
    chroma: Followed,
    /// The part of the blocks that were lost between the last frame and that after it, in 256ths.
    lost: usize,
    /// The noise of the last frame.
    blocks: Vec<BlockNoise>,
}

impl NoiseMap {
    /// For frames of `size` luma samples of `depth` bits.
    ///
    /// # Errors
    /// [`SetupError::FrameSize`] if they are empty or too large; [`SetupError::Memory`] if there is too little.
    ///
    pub(crate) fn new(size: (usize, usize), depth: u32) -> Result<Self, SetupError> {
        Parameters::check_frame_size(size)?;
        let areas = Areas::of_frame(size);
        let [luma, chroma] = [Followed::new(areas)?, Followed::new(areas)?];
        let blocks = memory::values("the noise of blocks", areas.blocks.0 * areas.blocks.1)?;
        Ok(Self { depth, level: NoiseLevel::MEASURED, areas, luma, chroma, lost: 0, blocks })
    }

    /// Sets whether the noise of the frames from now on is measured, or known.
    pub(super) fn set_level(&mut self, level: NoiseLevel) {
        self.level = level;
    }

    /// Sets the noise of the blocks of a frame to what is known. Flat blocks have none.
    fn set_known(&mut self, known: u64, luma: &[LumaBlock], chroma: &[ChromaBlock]) {
        let no_chroma = ChromaBlock::default();
        for (block, noise) in self.blocks.iter_mut().enumerate() {
            let (luma, chroma) = (&luma[block], chroma.get(block).unwrap_or(&no_chroma));
            let of_luma = if luma.variation == 0 { 0 } else { with_clipping(known, luma, self.depth) };
            let of_chroma = if luma.variation == 0 && chroma.variation == 0 { 0 } else { known };
            *noise = BlockNoise {
                luma: worthwhile(of_luma),
                chroma: if chroma.samples == 0 { 0 } else { worthwhile(of_chroma) },
            };
        }
    }

    /// Forgets the noise of the frames up to now.
    pub(crate) fn restart(&mut self) {
        self.luma.restart();
        self.chroma.restart();
        self.lost = 0;
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

    /// The noise of the blocks of the last frame, row by row.
    pub fn blocks(&self) -> &[BlockNoise] {
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
        luma: &[LumaBlock],
        chroma: &[ChromaBlock],
        evidence: &[Evidence<'_>],
        memory: &mut NoiseMemory,
    ) {
        let Self { depth, level: noise_level, areas, .. } = *self;
        if let Some(known) = noise_level.of_samples(depth) {
            self.restart();
            return self.set_known(if evidence.is_empty() { 0 } else { known }, luma, chroma);
        }
        let NoiseMemory { luma: told, chroma: told_of_chroma } = memory;
        let shade = |block: usize| shade(&luma[block], depth);
        let evidence = &evidence[..evidence.len().min(told.len())];
        let told = &mut told[..evidence.len()];
        told.par_iter_mut().zip(evidence).for_each(|(told, evidence)| {
            told.by_luma(areas, depth, luma, (evidence.luma, evidence.flickers));
        });
        let lost_in = |is_previous: bool| {
            let found = evidence.iter().zip(&*told).find(|(evidence, _)| evidence.is_previous == is_previous);
            found.map(|(_, told)| told.lost)
        };
        if lost_in(true).unwrap_or(self.lost) > LOST_OF_SCENE {
            self.restart();
        }
        self.lost = lost_in(false).unwrap_or(0);
        let is_clean = told.iter().any(|told| told.is_clean);
        let has_bars = told.iter().any(|told| told.has_bars);
        self.luma.follow(areas, told);
        let Self { luma: of_luma, chroma: of_chroma, blocks, .. } = self;
        of_luma.each(areas, blocks, |followed, noise| {
            let of_block = &luma[followed.block];
            let shade = shade(followed.block).into();
            let known = followed.noise(shade, || ToldOfBlock::new(told, followed.block, of_block.white()));
            let known = if is_clean && is_coding([known, 0], depth) { 0 } else { known };
            // A block of a bar has none: between samples the picture beside it would be mixed into it.
            let is_bar = has_bars && of_block.variation == 0;
            noise.luma = if is_bar { 0 } else { worthwhile(with_clipping(known, of_block, depth)) };
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
                let is_found = luma[block].is_whole() && by_luma.of(block).is_none_or(|noise| noise <= most);
                is_found.then(|| evidence.chroma.of(block).noise(&chroma[block], depth))
            };
            told.by_blocks(luma.len(), of_block);
            told.trust = by_luma.trust;
            told.of_frame(shade, LowerQuartile::of_white(chroma[0].samples));
            told.of_areas(areas, shade, chroma[0].samples, |_, _, _| false);
        });
        of_chroma.follow(areas, told);
        of_chroma.each(areas, blocks, |followed, noise| {
            let shade = shade(followed.block).into();
            let known = followed.noise(shade, || ToldOfBlock::new(told, followed.block, u64::MAX));
            let known = if is_clean && is_coding([noise.luma, known], depth) { 0 } else { known };
            let (luma, chroma) = (&luma[followed.block], &chroma[followed.block]);
            let are_flat = luma.variation == 0 && chroma.variation == 0;
            noise.chroma = if has_bars && are_flat { 0 } else { worthwhile(known) };
        });
    }
}

/// What the noise of the next frame follows.
#[cfg(feature = "opencl")]
#[derive(Default)]
pub(crate) struct NoiseHistory {
    areas: [Vec<ShadeNoise>; 2],
    lost: usize,
}

#[cfg(feature = "opencl")]
impl NoiseMap {
    /// Areas of a row, and rows.
    pub(crate) fn areas(&self) -> (usize, usize) {
        self.areas.count
    }

    /// Sets the noise of a frame that a device has measured, block by block. `state` is what the noise of the next frame follows, as
    /// `kernels/noise.cl` writes it; `None` if the noise is known.
    pub(crate) fn set_measured(&mut self, blocks: &[BlockNoise], state: Option<&[u64]>) {
        self.blocks.copy_from_slice(blocks);
        let Some((lost, of_areas)) = state.and_then(<[u64]>::split_first) else {
            return self.restart();
        };
        self.lost = *lost as usize;
        let areas = self.luma.areas.iter_mut().chain(&mut self.chroma.areas);
        for (area, found) in areas.zip(of_areas.as_chunks::<{ SHADES + 1 }>().0) {
            *area = found.map(|noise| (noise != u64::MAX).then_some(noise));
        }
    }

    /// Writes down what the noise of the next frame follows.
    pub(crate) fn note(&self, history: &mut NoiseHistory) {
        for (noted, followed) in history.areas.iter_mut().zip([&self.luma, &self.chroma]) {
            noted.clone_from(&followed.areas);
        }
        history.lost = self.lost;
    }

    /// Forgets the frames since `history` was noted.
    pub(crate) fn go_back(&mut self, history: &NoiseHistory) {
        for (followed, noted) in [&mut self.luma, &mut self.chroma].into_iter().zip(&history.areas) {
            followed.areas.clone_from(noted);
        }
        self.lost = history.lost;
    }
}

/// The standard deviation of the noise of 64 samples.
fn deviation(noise: u64) -> f64 {
    (noise as f64 / SAMPLES as f64).sqrt()
}

impl Followed {
    fn new(areas: Areas) -> Result<Self, SetupError> {
        let count = areas.count.0 * areas.count.1;
        let areas = memory::values("the noise of areas", count)?;
        let own = memory::values("the noise of the shades of areas", count)?;
        let most_around = memory::values("the most noise around areas", count)?;
        Ok(Self { frame: ShadeNoise::default(), areas, own, most_around })
    }

    fn restart(&mut self) {
        self.frame = ShadeNoise::default();
        self.areas.fill(ShadeNoise::default());
    }

    /// Follows what other frames tell: for the frame that which tells the least, for each area the least.
    fn follow(&mut self, areas: Areas, told: &[Told]) {
        self.frame = ShadeNoise::default();
        let least = told.iter().filter(|told| told.frame[ALL].is_some()).min_by_key(|told| told.frame[ALL]);
        if let Some(told) = least {
            self.frame = told.frame.map(|noise| noise.map(|noise| noise * told.trust / TRUST));
        }
        for (area, shades) in self.areas.iter_mut().enumerate() {
            let least = |shade: usize| told.iter().filter_map(|told| told.areas[area][shade]).min();
            *shades = std::array::from_fn(|shade| least(shade).or(shades[shade]));
        }
        for area in 0..self.areas.len() {
            for shade in 0..SHADES {
                self.own[area][shade] = self.of_area(area, shade);
            }
        }
        self.most_around.fill([0; SHADES]);
        // Few areas have noise of their own.
        for (area, own) in self.own.iter().enumerate().filter(|(_, own)| own.iter().any(Option::is_some)) {
            for near in areas.around(area) {
                for (most, own) in self.most_around[near].iter_mut().zip(own) {
                    *most = own.unwrap_or(0).max(*most);
                }
            }
        }
    }

    /// The noise of a shade of an area, if that is another than that of the frame.
    fn of_area(&self, area: usize, shade: usize) -> Option<u64> {
        let of_frame = self.of_frame(shade);
        let noise = self.areas[area][shade].or(self.areas[area][ALL])?;
        (LITTLE * noise < of_frame || noise > MORE_NOISE * of_frame).then_some(noise)
    }

    /// The noise of a shade of the frame.
    fn of_frame(&self, shade: usize) -> u64 {
        self.frame[shade].or(self.frame[ALL]).unwrap_or(0)
    }

    /// Calls `set` with each block, and what is known of its area.
    fn each(
        &self,
        areas: Areas,
        blocks: &mut [BlockNoise],
        set: impl Fn(FollowedBlock<'_>, &mut BlockNoise) + Sync,
    ) {
        each_band(blocks, areas.blocks.0, &|row, blocks| {
            for (area, columns) in areas.of_row(row) {
                for column in columns {
                    let block = row * areas.blocks.0 + column;
                    set(FollowedBlock { followed: self, areas, area, block }, &mut blocks[column]);
                }
            }
        });
    }
}

/// A block, and the noise that is followed.
struct FollowedBlock<'a> {
    followed: &'a Followed,
    areas: Areas,
    area: usize,
    block: usize,
}

impl FollowedBlock<'_> {
    /// Its noise, if it is of this shade, and frames tell `told` of it.
    #[inline(always)]
    fn noise(&self, shade: usize, told: impl FnOnce() -> Option<ToldOfBlock>) -> u64 {
        let Self { followed, areas, area, .. } = *self;
        let known = followed.own[area][shade].unwrap_or_else(|| followed.of_frame(shade));
        if followed.most_around[area][shade] <= 2 * known {
            return known;
        }
        match told() {
            // Of another kind than most of its area, or in an area that tells nothing.
            Some(told) if told.least > known => {
                let others = areas.around(area).filter_map(|area| followed.own[area][shade]);
                others.filter(|noise| *noise > 2 * known && told.may_have(*noise)).max().unwrap_or(known)
            }
            _ => known,
        }
    }
}
