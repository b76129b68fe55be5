//! What the comparison of a frame with the previous or the next one tells about its noise.

use super::super::limits::{
    ALL, AREA, BARS, EVEN, LEAST_OF_AREA, LEAST_OF_SHADE, LITTLE, LOST, MOST_ASKED, MOST_OF_SHADE,
    MOST_SAMPLED, REPEATS, SHADES, ShadeNoise, TRUST,
};
use super::blocks::{Blocks, DefinedChromaBlock, DefinedLumaBlock};
use super::estimate::{self, is_flat_repeat, is_found, is_lost};
use super::prediction::Prediction;

/// What blocks tell, by shade, and all of it behind.
type DefinedTold = [Vec<u64>; SHADES + 1];

/// What luma, or chroma, tells in comparison with one other frame.
pub(super) struct Comparison {
    /// What each block tells; in large frames every second one tells what the block before it does.
    pub estimates: Vec<Option<u64>>,
    /// The noise of the frame, before it is reduced by the trust.
    pub frame: ShadeNoise,
    /// How much of that counts, in 256ths.
    pub trust: u64,
    pub areas: Vec<ShadeNoise>,
    /// The part of the blocks that are not found, in 256ths.
    pub lost: u64,
    /// Whether most of the frame repeats the other one so often that it has no noise as a whole.
    pub is_clean: bool,
    /// Whether enough blocks are flat and repeat the other frame.
    pub has_bars: bool,
}

/// The areas of a frame: of so many columns and rows of blocks, as many columns and rows of areas.
#[derive(Clone, Copy, Debug)]
pub(super) struct DefinedAreas {
    pub blocks: (usize, usize),
    pub areas: (usize, usize),
}

impl DefinedAreas {
    pub fn of(blocks: (usize, usize)) -> Self {
        Self { blocks, areas: ((blocks.0 / AREA).max(1), (blocks.1 / AREA).max(1)) }
    }

    pub fn count(&self) -> usize {
        self.areas.0 * self.areas.1
    }

    /// The area of a block.
    pub fn of_block(&self, block: usize) -> usize {
        let (column, row) = (block % self.blocks.0, block / self.blocks.0);
        row * self.areas.1 / self.blocks.1 * self.areas.0 + column * self.areas.0 / self.blocks.0
    }

    /// Whether two areas are the same, or beside each other, diagonally too.
    pub fn are_near(&self, one: usize, other: usize) -> bool {
        let columns = (one % self.areas.0).abs_diff(other % self.areas.0);
        let rows = (one / self.areas.0).abs_diff(other / self.areas.0);
        columns <= 1 && rows <= 1
    }
}

impl Comparison {
    /// What luma tells.
    pub fn of_luma(blocks: &Blocks<'_>, luma: &[DefinedLumaBlock], prediction: &Prediction) -> Self {
        let (areas, depth) = (DefinedAreas::of((blocks.columns, blocks.rows)), blocks.depth());
        let (asked, sampled) = (asked(luma.len()), sampled(luma.len()));
        let difference = |block: usize| prediction.luma_difference(block);
        let estimates = estimates(luma.len(), |block| {
            estimate::of_luma(&luma[block], &prediction.luma[block], difference(block), depth)
        });
        let (mut flat_repeats, mut repeats) = (0, 0);
        for &block in &sampled {
            let is_flat_repeat = is_flat_repeat(&luma[block], &prediction.luma[block]);
            // Flat blocks of the darkest and the brightest shade are those of bars.
            let is_extreme = luma[block].shade == 0 || luma[block].shade == SHADES - 1;
            flat_repeats += usize::from(is_flat_repeat);
            repeats += usize::from(estimates[block] == Some(0) || is_flat_repeat && !is_extreme);
        }
        let has_bars = BARS * flat_repeats >= sampled.len();
        let is_clean = REPEATS * repeats > sampled.len();
        let told = told(luma, sampled.iter().copied(), &estimates, 0);
        let is_even =
            told[ALL].len() >= LEAST_OF_SHADE && part(&told[ALL], 15, 16) <= EVEN * part(&told[ALL], 1, 4);
        let least = u64::from(is_clean);
        let told = self::told(luma, sampled.iter().copied(), &estimates, least);
        let smooth = smooth(luma, &sampled, &estimates, least);
        let are_smooth = smooth.is_some();
        let telling = smooth.unwrap_or(sampled.clone());
        let mut frame = of_frame(&self::told(luma, telling, &estimates, least), white_quartile(64));
        let agree = told[ALL].len() >= LEAST_OF_SHADE && part(&told[ALL], 1, 2) <= 2 * part(&told[ALL], 1, 4);
        if is_clean && !agree {
            frame = frame.map(|noise| noise.map(|_| 0));
        }
        if is_even
            && !are_smooth
            && let Some(white) = white_of_flat(luma, &sampled, &estimates, frame[ALL])
        {
            frame = of_frame(&told, (64 + 5 * white / 4).min(white_quartile(64)));
        }
        let coarse =
            coarse_noise(luma, &sampled, &estimates, difference).or(if is_even { frame[ALL] } else { None });
        // Whether a block is not found, by the noise of its shade in the area, or else in the frame.
        let is_lost = |block: usize, area: &ShadeNoise| {
            let shade = luma[block].shade;
            let noise = area[shade].or(area[ALL]).or(frame[shade]).or(frame[ALL]).unwrap_or(0);
            is_lost(&luma[block], difference(block), noise, coarse, depth)
        };
        let (mut all, mut lost) = (0_u64, 0_u64);
        for &block in sampled.iter().filter(|block| estimates[**block].is_some()) {
            all += 1;
            lost += u64::from(is_lost(block, &[None; SHADES + 1]));
        }
        // In full up to 3/16 of all blocks, not at all from 4/16 on.
        let trust = match all {
            0 => 0,
            all => (TRUST * (4 * all).saturating_sub(16 * lost) / all).min(TRUST),
        };
        let mut of_areas =
            of_areas(areas, luma, &estimates, |shade| of_shade(&frame, shade) * trust / TRUST, 64);
        for (area, shades) in of_areas.iter_mut().enumerate() {
            let (mut all, mut lost) = (0, 0);
            for &block in asked.iter().filter(|block| areas.of_block(**block) == area) {
                if estimates[block].is_some_and(|noise| noise > 0) {
                    all += 1;
                    lost += usize::from(is_lost(block, shades));
                }
            }
            if LOST * lost > all {
                *shades = [None; SHADES + 1];
            }
        }
        let lost = (256 * lost).checked_div(all).unwrap_or(0);
        Self { estimates, frame, trust, areas: of_areas, lost, is_clean, has_bars }
    }

    /// What chroma tells in blocks whose luma is found: in comparison with the same frame, luma tells `by_luma`, and
    /// `luma_noise` is the noise of each block.
    pub fn of_chroma(
        blocks: &Blocks<'_>,
        (luma, chroma): (&[DefinedLumaBlock], &[DefinedChromaBlock]),
        prediction: &Prediction,
        by_luma: &Self,
        luma_noise: impl Fn(usize) -> u64,
    ) -> Self {
        let (areas, depth) = (DefinedAreas::of((blocks.columns, blocks.rows)), blocks.depth());
        let estimates = estimates(luma.len(), |block| {
            let most = 2 * luma_noise(block).max(estimate::square_of_one(depth));
            let is_found =
                luma[block].is_whole() && by_luma.estimates[block].is_none_or(|noise| noise <= most);
            is_found.then(|| estimate::of_chroma(&chroma[block], &prediction.chroma[block], depth))
        });
        // Incomplete blocks do not tell.
        let samples = chroma[0].samples;
        let frame = of_frame(&told(luma, sampled(luma.len()), &estimates, 0), white_quartile(samples));
        let trust = by_luma.trust;
        let of_frame = |shade| of_shade(&frame, shade) * trust / TRUST;
        let areas = of_areas(areas, luma, &estimates, of_frame, samples);
        Self { estimates, frame, trust, areas, ..*by_luma }
    }
}

/// The noise of a shade; of all shades, if it has none of its own.
pub(super) fn of_shade(shades: &ShadeNoise, shade: usize) -> u64 {
    shades[shade].or(shades[ALL]).unwrap_or(0)
}

/// The blocks of a frame that are asked: in large frames every second one.
fn asked(count: usize) -> Vec<usize> {
    (0..count).step_by(if count > MOST_ASKED { 2 } else { 1 }).collect()
}

/// Those of them that tell of the frame as a whole: with the least odd step that leaves at most 2048.
fn sampled(count: usize) -> Vec<usize> {
    let asked = asked(count);
    let step = (1..).step_by(2).find(|step| asked.len() <= step * MOST_SAMPLED).unwrap_or(1);
    asked.into_iter().step_by(step).collect()
}

/// What each of so many blocks tells. Those that are not asked tell what the one before them does.
fn estimates(count: usize, estimate: impl Fn(usize) -> Option<u64>) -> Vec<Option<u64>> {
    let mut estimates: Vec<Option<u64>> = vec![None; count];
    for block in asked(count) {
        estimates[block] = estimate(block);
        if count > MOST_ASKED && block + 1 < count {
            estimates[block + 1] = estimates[block];
        }
    }
    estimates
}

/// The estimates of `asked` blocks that are at least `least`, by shade.
fn told(
    luma: &[DefinedLumaBlock],
    asked: impl IntoIterator<Item = usize>,
    estimates: &[Option<u64>],
    least: u64,
) -> DefinedTold {
    let mut told = DefinedTold::default();
    for block in asked {
        if let Some(noise) = estimates[block]
            && noise >= least
        {
            told[luma[block].shade].push(noise);
            told[ALL].push(noise);
        }
    }
    told
}

/// The quarter of the `asked` blocks with an estimate of at least `least` that has the least structure, and others that have
/// no more; `None` if less than 5/8 of their variation is in the differences of neighbouring samples.
fn smooth(
    luma: &[DefinedLumaBlock],
    asked: &[usize],
    estimates: &[Option<u64>],
    least: u64,
) -> Option<Vec<usize>> {
    let structure = |block: usize| luma[block].variation - luma[block].white;
    let mut telling = asked.to_vec();
    telling.retain(|block| estimates[*block].is_some_and(|noise| noise >= least));
    let structures: Vec<_> = telling.iter().map(|block| structure(*block)).collect();
    if structures.is_empty() {
        return None;
    }
    let most = part(&structures, 1, 4);
    telling.retain(|block| structure(*block) <= most);
    let (mut white, mut variation) = (0, 0);
    for &block in &telling {
        white += luma[block].white;
        variation += luma[block].variation;
    }
    if 8 * white < 5 * variation { None } else { Some(telling) }
}

/// The least number that this part of all numbers does not exceed.
fn part(numbers: &[u64], part: usize, of: usize) -> u64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted[numbers.len() * part / of]
}

/// The lower quartile of the estimates of blocks of so many samples, as a part of their mean, in 256ths, with white noise.
fn white_quartile(samples: u64) -> u64 {
    match samples {
        0..=48 => 209,
        49..=96 => 224,
        97.. => 234,
    }
}

/// The noise of blocks by their lower quartile; `None` if there are no blocks.
fn noise_of(told: &[u64], quartile: u64) -> Option<u64> {
    if told.is_empty() { None } else { Some(256 * part(told, 1, 4) / quartile) }
}

/// The noise of the frame.
fn of_frame(told: &DefinedTold, quartile: u64) -> ShadeNoise {
    let all = noise_of(&told[ALL], quartile);
    let mut shades = [None; SHADES + 1];
    for shade in 0..SHADES {
        if told[shade].len() >= LEAST_OF_SHADE {
            let noise = noise_of(&told[shade], quartile);
            shades[shade] = noise.map(|noise| noise.min(MOST_OF_SHADE * all.unwrap_or(0)));
        }
    }
    shades[ALL] = all;
    shades
}

/// The part of the variation of flat blocks that is in the differences of neighbouring samples, in 256ths; `None` if less than
/// half of the blocks are flat.
fn white_of_flat(
    luma: &[DefinedLumaBlock],
    asked: &[usize],
    estimates: &[Option<u64>],
    noise: Option<u64>,
) -> Option<u64> {
    let most = 2 * noise?;
    let (mut all, mut flat, mut white, mut variation) = (0, 0, 0, 0);
    for &block in asked.iter().filter(|block| estimates[**block].is_some()) {
        all += 1;
        if luma[block].variation <= most {
            flat += 1;
            white += luma[block].white;
            variation += luma[block].variation;
        }
    }
    if 2 * flat >= all && variation > 0 { Some(256 * white / variation) } else { None }
}

/// The noise of the blocks whose texture is found, if there are enough of them.
fn coarse_noise(
    luma: &[DefinedLumaBlock],
    asked: &[usize],
    estimates: &[Option<u64>],
    difference: impl Fn(usize) -> u64,
) -> Option<u64> {
    let mut found = Vec::new();
    for &block in asked {
        if let Some(noise @ 1..) = estimates[block]
            && is_found(&luma[block], difference(block))
        {
            found.push(noise);
        }
    }
    if found.len() < LEAST_OF_AREA { None } else { noise_of(&found, white_quartile(64)) }
}

/// The noise of the areas, and of the shades in them, whose blocks agree as white noise does in blocks of so many samples.
fn of_areas(
    areas: DefinedAreas,
    luma: &[DefinedLumaBlock],
    estimates: &[Option<u64>],
    of_frame: impl Fn(usize) -> u64,
    samples: u64,
) -> Vec<ShadeNoise> {
    let mut all = Vec::new();
    for area in 0..areas.count() {
        let blocks = asked(luma.len()).into_iter().filter(|block| areas.of_block(*block) == area);
        let told = told(luma, blocks, estimates, 1);
        let mut shades = [None; SHADES + 1];
        for shade in 0..=ALL {
            if told[shade].len() < LEAST_OF_AREA {
                continue;
            }
            let noise = 256 * part(&told[shade], 1, 4) / white_quartile(samples);
            let most = (4 * noise / 3).max(of_frame(shade) / LITTLE);
            let more = told[shade].iter().filter(|noise| **noise > most).count();
            if 8 * more <= told[shade].len() {
                shades[shade] = Some(noise);
            }
        }
        all.push(shades);
    }
    all
}
