//! What blocks, areas and shades of brightness tell about noise in comparison with one other frame.

use rayon::prelude::*;

use super::areas::Areas;
use super::errors::ReferenceErrors;
use super::limits::{
    ALL, BARS, LEAST_OF_AREA, LEAST_OF_SHADE, LITTLE, LOST, MOST_ASKED, MOST_OF_AREA, MOST_OF_SHADE,
    MOST_SAMPLED, REPEATS, SHADES, ShadeNoise, TRUST, WHITE,
};
use super::noise::{
    LowerQuartile, LumaBlock, LumaError, are_alike, are_even, are_of_one_kind, noise_of, per_sample,
};
use super::rules::SAMPLES;
use motion_base::SetupError;
use motion_base::memory;

/// How many blocks, and areas, a thread is given at least: handing them over takes time.
const TOGETHER: usize = 1024;
const AREAS_TOGETHER: usize = 32;

/// Each block is asked, of so many, whose number is a multiple of this: where every second one is enough, 2.
pub(crate) fn step_of_asked(blocks: usize) -> usize {
    if blocks > MOST_ASKED { 2 } else { 1 }
}

/// What blocks tell, by shade, and all of it.
type Sorted = [Vec<u64>; SHADES + 1];

/// What the blocks of an area tell, and their shades.
struct AreaTold {
    blocks: [(u8, u64); MOST_OF_AREA],
    count: usize,
    /// Memory to sort in.
    room: [u64; MOST_OF_AREA],
}

impl AreaTold {
    const NOTHING: Self = Self { blocks: [(0, 0); MOST_OF_AREA], count: 0, room: [0; MOST_OF_AREA] };

    fn fill(&mut self, told: impl Iterator<Item = (u8, u64)>) {
        self.count = 0;
        for of_block in told {
            self.blocks[self.count] = of_block;
            self.count += 1;
        }
    }

    /// What the blocks of a shade tell.
    fn of_shade(&mut self, shade: usize) -> &mut [u64] {
        let mut count = 0;
        for &(of_block, noise) in &self.blocks[..self.count] {
            if shade == ALL || usize::from(of_block) == shade {
                self.room[count] = noise;
                count += 1;
            }
        }
        &mut self.room[..count]
    }
}

/// What luma, or chroma, tells in comparison with one other frame. Its memory is used for all frames.
#[derive(Default)]
pub(super) struct Told {
    /// For each block that is asked the noise that it tells.
    blocks: Vec<Option<u64>>,
    /// From one block that is asked to the next.
    step: usize,
    pub frame: ShadeNoise,
    /// How much `frame` counts, of [`TRUST`].
    pub trust: u64,
    pub areas: Vec<ShadeNoise>,
    /// The part of the blocks that the search has lost, in 256ths.
    pub lost: usize,
    /// Whether so many blocks repeat the other frame that noise is in areas at most.
    pub is_clean: bool,
    /// Whether so many blocks are flat and repeat the other frame that flat ones are those of bars.
    pub has_bars: bool,
    /// What blocks tell, by shade, and all of it.
    sorted: Sorted,
    /// The structure of blocks.
    structures: Vec<u64>,
}

/// The noise that a block tells, or the one before it that was asked.
#[derive(Clone, Copy)]
pub(super) struct ToldOfBlock {
    /// In comparison with the frame that tells least.
    pub least: u64,
    /// The part of its variation by which neighbouring samples differ, if that is known.
    white: u64,
}

impl ToldOfBlock {
    pub fn new(told: &[Told], block: usize, white: u64) -> Option<Self> {
        let least = told.iter().filter_map(|told| told.of(block)).min()?;
        Some(Self { least, white })
    }

    /// Whether the block may have this noise.
    pub fn may_have(self, noise: u64) -> bool {
        noise <= 2 * self.least.min(self.white)
    }
}

/// The shade of the brightness of a block.
pub(super) fn shade(luma: &LumaBlock, depth: u32) -> u8 {
    ((per_sample(SHADES as u64 * luma.sum(), luma.samples()) >> depth) as u8).min(SHADES as u8 - 1)
}

impl Told {
    /// Memory for so many blocks in areas.
    pub fn reserve(&mut self, areas: Areas) -> Result<(), SetupError> {
        let blocks = areas.blocks.0 * areas.blocks.1;
        self.blocks = memory::values("what blocks tell", blocks)?;
        for sorted in &mut self.sorted {
            *sorted = memory::values("what blocks tell, sorted", MOST_SAMPLED)?;
        }
        self.structures = memory::values("the structure of blocks", MOST_SAMPLED)?;
        self.areas = memory::values("what areas tell", areas.count.0 * areas.count.1)?;
        Ok(())
    }

    /// Sets it to what luma tells.
    pub fn by_luma(
        &mut self,
        areas: Areas,
        depth: u32,
        blocks: &[LumaBlock],
        (errors, flickers): (ReferenceErrors<'_, LumaError>, bool),
    ) {
        self.by_blocks(blocks.len(), |block| {
            let of_block = &blocks[block];
            of_block.is_whole().then(|| errors.of(block).noise(of_block, flickers, depth)).flatten()
        });
        let (mut sampled, mut flat_repeats, mut repeats) = (0, 0, 0);
        for (block, told) in self.sampled() {
            let is_flat_repeat = told.is_none() && errors.of(block).is_flat_repeat(&blocks[block]);
            // Flat blocks near black and white are those of bars.
            let is_extreme = || [0, SHADES as u8 - 1].contains(&shade(&blocks[block], depth));
            sampled += 1;
            flat_repeats += usize::from(is_flat_repeat);
            repeats += usize::from(told == Some(0) || is_flat_repeat && !is_extreme());
        }
        self.has_bars = BARS * flat_repeats >= sampled;
        self.is_clean = REPEATS * repeats > sampled;
        let white = LowerQuartile::of_white(SAMPLES);
        let shade = |block: usize| shade(&blocks[block], depth);
        self.sort_frame(shade, |_, _| true);
        let is_even = self.sorted[ALL].len() >= LEAST_OF_SHADE && are_even(&mut self.sorted[ALL]);
        // Beside bars, or a slide, there may be noise.
        let is_clean = self.is_clean;
        let may_tell = |noise: u64| noise > 0 || !is_clean;
        if is_clean {
            self.sorted.iter_mut().for_each(|told| told.retain(|noise| *noise > 0));
        }
        let are_noise =
            !is_clean || self.sorted[ALL].len() >= LEAST_OF_SHADE && are_of_one_kind(&mut self.sorted[ALL]);
        let most_of_smooth = self.most_of_smooth(blocks, may_tell);
        if let Some(most) = most_of_smooth {
            self.sort_frame(shade, |block, noise| may_tell(noise) && blocks[block].structure() <= most);
        }
        self.set_frame(white);
        if !are_noise {
            self.frame.iter_mut().flatten().for_each(|noise| *noise = 0);
        }
        if is_even
            && most_of_smooth.is_none()
            && let Some(white) = self.white_of_flat(blocks)
        {
            self.set_frame(LowerQuartile::of_coarse(white));
        }
        let found = self.where_found(|block| blocks[block].is_found(errors.of(block).difference(flickers)));
        let sure = found.or(self.frame[ALL].filter(|_| is_even));
        // Where the search does not find what it must find, differences do not tell noise.
        let is_lost = |told: &Self, shades: &ShadeNoise, block: usize| {
            let shade = usize::from(shade(block));
            let noise = shades[shade].or(shades[ALL]).or(told.frame[shade]).or(told.frame[ALL]);
            blocks[block].is_lost(noise.unwrap_or(0), sure, errors.of(block).difference(flickers), depth)
        };
        let (mut all, mut lost) = (0, 0);
        for (block, _) in self.sampled().filter(|(_, told)| told.is_some()) {
            all += 1;
            lost += usize::from(is_lost(self, &ShadeNoise::default(), block));
        }
        self.trust = TRUST.min(TRUST * (4 * all as u64).saturating_sub(16 * lost as u64) / all.max(1) as u64);
        self.lost = 256 * lost / all.max(1);
        self.of_areas(areas, shade, SAMPLES, is_lost);
    }

    /// Sets what blocks tell, of so many.
    pub fn by_blocks(&mut self, count: usize, tell: impl Fn(usize) -> Option<u64> + Sync) {
        self.step = step_of_asked(count);
        let step = self.step;
        self.blocks.resize(count.div_ceil(step), None);
        let blocks = self.blocks.par_iter_mut().enumerate().with_min_len(TOGETHER);
        blocks.for_each(|(number, told)| *told = tell(number * step));
    }

    /// The blocks that are asked, and what they tell.
    fn asked(&self) -> impl Iterator<Item = (usize, Option<u64>)> + Clone {
        (0..).step_by(self.step).zip(self.blocks.iter().copied())
    }

    /// Some of them, spread evenly, which tell of the frame as a whole.
    fn sampled(&self) -> impl Iterator<Item = (usize, Option<u64>)> + Clone {
        self.asked().step_by(self.blocks.len().div_ceil(MOST_SAMPLED) | 1)
    }

    /// What a block tells, or the one before it if that is asked in its place.
    pub fn of(&self, block: usize) -> Option<u64> {
        self.blocks[block >> self.step.trailing_zeros()]
    }

    /// What a quarter of the blocks tells at most of those whose texture was found, if there are enough.
    fn where_found(&mut self, is_found: impl Fn(usize) -> bool) -> Option<u64> {
        let mut sorted = std::mem::take(&mut self.sorted);
        let told = &mut sorted[ALL];
        told.clear();
        let telling =
            self.sampled().filter_map(|(block, told)| Some((block, told.filter(|told| *told > 0)?)));
        told.extend(telling.filter(|(block, _)| is_found(*block)).map(|(_, told)| told));
        let found =
            (told.len() >= LEAST_OF_AREA).then(|| noise_of(told, LowerQuartile::of_white(SAMPLES))).flatten();
        self.sorted = sorted;
        found
    }

    /// The part of the variation by which neighbouring samples differ in flat blocks, which have little but noise, in 256ths;
    /// `None` if fewer than half of the blocks are flat: others tell the lower quartile, too.
    fn white_of_flat(&self, blocks: &[LumaBlock]) -> Option<u64> {
        let most = 2 * self.frame[ALL]?;
        let telling = self.sampled().filter(|(_, told)| told.is_some()).map(|(block, _)| &blocks[block]);
        let flat = telling.clone().filter(|block| block.variation <= most);
        let sum = |(count, white, variation), block: &LumaBlock| {
            (count + 1, white + block.white(), variation + block.variation)
        };
        let (count, white, variation) = flat.fold((0, 0, 0), sum);
        (2 * count >= telling.count() && variation > 0).then(|| 256 * white / variation)
    }

    /// Sorts by the `shade` of the blocks what those tell of which, by their number and what they tell, this is wanted.
    fn sort_frame(&mut self, shade: impl Fn(usize) -> u8, is_wanted: impl Fn(usize, u64) -> bool) {
        let mut sorted = std::mem::take(&mut self.sorted);
        sorted.iter_mut().for_each(Vec::clear);
        for (block, told) in self.sampled() {
            if let Some(noise) = told.filter(|noise| is_wanted(block, *noise)) {
                sorted[usize::from(shade(block))].push(noise);
                sorted[ALL].push(noise);
            }
        }
        self.sorted = sorted;
    }

    /// The lower quartile of the structure of the `blocks` that tell what counts, if those that have no more have mostly white
    /// noise.
    fn most_of_smooth(&mut self, blocks: &[LumaBlock], counts: impl Fn(u64) -> bool) -> Option<u64> {
        let mut structures = std::mem::take(&mut self.structures);
        structures.clear();
        let telling =
            self.sampled().filter(|(_, told)| told.is_some_and(&counts)).map(|(block, _)| &blocks[block]);
        structures.extend(telling.clone().map(LumaBlock::structure));
        let at = structures.len() / 4;
        let most = (!structures.is_empty()).then(|| *structures.select_nth_unstable(at).1);
        let smooth = telling.filter(|block| most.is_some_and(|most| block.structure() <= most));
        let sum = |(white, all), block: &LumaBlock| (white + block.white(), all + block.variation);
        let (white, all) = smooth.fold((0, 0), sum);
        self.structures = structures;
        most.filter(|_| WHITE[1] * white >= WHITE[0] * all)
    }

    /// Sets the noise of the frame by what all blocks tell.
    pub fn of_frame(&mut self, shade: impl Fn(usize) -> u8, quartile: LowerQuartile) {
        self.sort_frame(shade, |_, _| true);
        self.set_frame(quartile);
    }

    /// Sets the noise of the frame by what was sorted.
    fn set_frame(&mut self, quartile: LowerQuartile) {
        let sorted = &mut self.sorted;
        self.frame = std::array::from_fn(|shade| {
            let is_told = shade == ALL || sorted[shade].len() >= LEAST_OF_SHADE;
            is_told.then(|| noise_of(&mut sorted[shade], quartile)).flatten()
        });
        let most = MOST_OF_SHADE * self.frame[ALL].unwrap_or(0);
        self.frame[..ALL].iter_mut().flatten().for_each(|noise| *noise = most.min(*noise));
    }

    /// Sets the noise of areas in which blocks of so many `samples` agree, and few are lost, by the noise of the area and their number.
    pub fn of_areas(
        &mut self,
        areas: Areas,
        shade: impl Fn(usize) -> u8 + Sync,
        samples: u64,
        is_lost: impl Fn(&Self, &ShadeNoise, usize) -> bool + Sync,
    ) {
        let mut of_areas = std::mem::take(&mut self.areas);
        of_areas.resize(areas.count.0 * areas.count.1, ShadeNoise::default());
        let this = &*self;
        let in_parts = of_areas.par_iter_mut().enumerate().with_min_len(AREAS_TOGETHER);
        in_parts.for_each_init(
            || AreaTold::NOTHING,
            |told, (area, shades)| {
                let asked = areas.blocks(area, this.step);
                let telling =
                    asked.filter_map(|block| Some((block, this.of(block).filter(|noise| *noise > 0)?)));
                told.fill(telling.clone().map(|(block, noise)| (shade(block), noise)));
                *shades = std::array::from_fn(|shade| this.of_area(told, shade, samples));
                if *shades != ShadeNoise::default() {
                    let lost = telling.filter(|(block, _)| is_lost(this, shades, *block)).count();
                    if LOST * lost > told.count {
                        *shades = ShadeNoise::default();
                    }
                }
            },
        );
        self.areas = of_areas;
    }

    /// The noise of a shade of an area whose blocks, of so many `samples`, tell this, if they agree.
    fn of_area(&self, told: &mut AreaTold, shade: usize, samples: u64) -> Option<u64> {
        let told = told.of_shade(shade);
        if told.len() < LEAST_OF_AREA {
            return None;
        }
        let noise = noise_of(told, LowerQuartile::of_white(samples))?;
        let of_frame = self.frame[shade].or(self.frame[ALL]).unwrap_or(0) * self.trust / TRUST;
        are_alike(told, noise, of_frame / LITTLE).then_some(noise)
    }
}
