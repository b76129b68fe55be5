//! The noise of a stream: that of each frame, and that of areas, which follows from frame to frame.

use super::super::BlockNoise;
use super::super::limits::{ALL, LEAST, LITTLE, LOST_OF_SCENE, MORE_NOISE, SHADES, ShadeNoise, TRUST};
use super::super::rules::{BLOCK, NoiseLevel, SAMPLES};
use super::blocks::{Blocks, DefinedChromaBlock, DefinedLumaBlock};
use super::comparison::{Comparison, DefinedAreas, of_shade};
use super::estimate::{cut_off, square_of_one};
use super::prediction::Prediction;

/// The noise of a stream's frames, as the definition estimates it.
#[derive(Clone, Debug)]
pub struct StreamNoise {
    depth: u32,
    level: NoiseLevel,
    areas: DefinedAreas,
    /// The noise of the areas of luma, and of chroma.
    luma: Vec<ShadeNoise>,
    chroma: Vec<ShadeNoise>,
    /// The part of the blocks that were not found between the last frame and the one after it, in 256ths.
    lost: u64,
    blocks: Vec<BlockNoise>,
}

/// The noise of a frame and of its areas, of luma or of chroma.
struct FrameNoise {
    frame: ShadeNoise,
    /// For each area and shade the noise that is used in place of the frame's.
    own: Vec<[Option<u64>; SHADES]>,
}

impl StreamNoise {
    /// For frames of `width` x `height` luma samples of `depth` bits.
    pub fn new((width, height): (usize, usize), depth: u32) -> Self {
        let (columns, rows) = (width.div_ceil(BLOCK), height.div_ceil(BLOCK));
        let areas = DefinedAreas::of((columns, rows));
        let none = vec![[None; SHADES + 1]; areas.count()];
        let blocks = vec![BlockNoise::default(); columns * rows];
        let level = NoiseLevel::MEASURED;
        Self { depth, level, areas, luma: none.clone(), chroma: none, lost: 0, blocks }
    }

    /// Sets whether the noise of the frames from now on is measured, or known.
    pub fn set_level(&mut self, level: NoiseLevel) {
        self.level = level;
    }

    /// Forgets the noise of the frames up to now.
    pub fn restart(&mut self) {
        self.luma.fill([None; SHADES + 1]);
        self.chroma.fill([None; SHADES + 1]);
        self.lost = 0;
    }

    /// The noise of the blocks of the last frame, row by row.
    pub fn blocks(&self) -> &[BlockNoise] {
        &self.blocks
    }

    /// Estimates the noise of the next frame.
    pub(super) fn follow(
        &mut self,
        blocks: &Blocks<'_>,
        (luma, chroma): (&[DefinedLumaBlock], &[DefinedChromaBlock]),
        predictions: &[Prediction],
    ) {
        // The frames beside this one tell.
        let beside: Vec<_> = predictions.iter().filter(|other| other.offset.abs() == 1).take(2).collect();
        if let NoiseLevel(Some(known)) = self.level {
            self.restart();
            let of_samples = (SAMPLES * u64::from(known) / 256) << (2 * (self.depth - 8));
            return self.set_known(if beside.is_empty() { 0 } else { of_samples }, luma, chroma);
        }
        let mut told = Vec::new();
        for prediction in &beside {
            told.push(Comparison::of_luma(blocks, luma, prediction));
        }
        self.follow_scene(&beside, &told);
        let is_clean = told.iter().any(|told| told.is_clean);
        let has_bars = told.iter().any(|told| told.has_bars);
        let noise = follow(self.areas, &mut self.luma, &told);
        for (block, of_block) in luma.iter().enumerate() {
            let mut known = noise.of_block(self.areas, block, of_block.shade, &told, Some(of_block.white));
            // What coding leaves.
            if is_clean && 2 * known < square_of_one(self.depth) {
                known = 0;
            }
            let is_bar = has_bars && of_block.is_flat();
            self.blocks[block].luma =
                if is_bar { 0 } else { worthwhile(cut_off(known, of_block, self.depth)) };
        }
        if !blocks.has_chroma() {
            return;
        }
        let mut told_by_chroma = Vec::new();
        for (prediction, by_luma) in beside.iter().zip(&told) {
            let luma_noise = |block: usize| self.blocks[block].luma;
            told_by_chroma.push(Comparison::of_chroma(
                blocks,
                (luma, chroma),
                prediction,
                by_luma,
                luma_noise,
            ));
        }
        let noise = follow(self.areas, &mut self.chroma, &told_by_chroma);
        for (block, of_block) in luma.iter().enumerate() {
            let of_luma = self.blocks[block].luma;
            let mut known = noise.of_block(self.areas, block, of_block.shade, &told_by_chroma, None);
            if is_clean && 2 * of_luma < square_of_one(self.depth) && known < 2 * square_of_one(self.depth) {
                known = 0;
            }
            let is_flat = of_block.is_flat() && chroma[block].variation == 0;
            self.blocks[block].chroma = if has_bars && is_flat { 0 } else { worthwhile(known) };
        }
    }

    /// Sets the noise of all blocks that are not flat to what is known.
    fn set_known(&mut self, known: u64, luma: &[DefinedLumaBlock], chroma: &[DefinedChromaBlock]) {
        for (block, of_block) in luma.iter().enumerate() {
            let mut noise = BlockNoise::default();
            if !of_block.is_flat() {
                noise.luma = worthwhile(cut_off(known, of_block, self.depth));
            }
            let is_flat = of_block.is_flat() && chroma.get(block).is_some_and(|chroma| chroma.variation == 0);
            if !chroma.is_empty() && !is_flat {
                noise.chroma = worthwhile(known);
            }
            self.blocks[block] = noise;
        }
    }

    /// Starts anew at a scene cut: where most blocks are not found in the previous frame. Without a previous frame what the frame
    /// before has told of its next one counts.
    fn follow_scene(&mut self, beside: &[&Prediction], told: &[Comparison]) {
        let lost_in = |is_previous: bool| {
            let at = beside.iter().position(|other| (other.offset < 0) == is_previous)?;
            Some(told[at].lost)
        };
        if lost_in(true).unwrap_or(self.lost) > LOST_OF_SCENE as u64 {
            self.restart();
        }
        self.lost = lost_in(false).unwrap_or(0);
    }
}

/// Noise that rounding makes counts as none.
fn worthwhile(noise: u64) -> u64 {
    if noise < LEAST { 0 } else { noise }
}

/// Follows the noise of the areas of a stream to what comparisons tell.
fn follow(areas: DefinedAreas, of_areas: &mut [ShadeNoise], told: &[Comparison]) -> FrameNoise {
    // The noise of the frame is what the comparison tells that tells the least. It does not follow.
    let mut frame = [None; SHADES + 1];
    let telling = told.iter().filter(|told| told.frame[ALL].is_some());
    if let Some(least) = telling.min_by_key(|told| told.frame[ALL]) {
        frame = least.frame.map(|noise| noise.map(|noise| noise * least.trust / TRUST));
    }
    let mut own = vec![[None; SHADES]; areas.count()];
    for area in 0..areas.count() {
        for (shade, followed) in of_areas[area].iter_mut().enumerate() {
            let least = told.iter().filter_map(|told| told.areas[area][shade]).min();
            // Without an estimate it stays.
            *followed = least.or(*followed);
        }
        for shade in 0..SHADES {
            let of_frame = of_shade(&frame, shade);
            if let Some(noise) = of_areas[area][shade].or(of_areas[area][ALL])
                && (LITTLE * noise < of_frame || noise > MORE_NOISE * of_frame)
            {
                own[area][shade] = Some(noise);
            }
        }
    }
    FrameNoise { frame, own }
}

impl FrameNoise {
    /// The noise of a block of this shade. Neighbouring samples differ by `white` of its variation, where that is known.
    fn of_block(
        &self,
        areas: DefinedAreas,
        block: usize,
        shade: usize,
        told: &[Comparison],
        white: Option<u64>,
    ) -> u64 {
        let area = areas.of_block(block);
        let known = self.own[area][shade].unwrap_or(of_shade(&self.frame, shade));
        let Some(estimate) = told.iter().filter_map(|told| told.estimates[block]).min() else {
            return known;
        };
        if estimate <= known {
            return known;
        }
        // It may belong to an area around it, if it is of another kind than its own.
        let most = 2 * white.map_or(estimate, |white| white.min(estimate));
        let mut noise = known;
        for other in (0..areas.count()).filter(|other| areas.are_near(area, *other)) {
            if let Some(of_other) = self.own[other][shade]
                && of_other > 2 * known
                && of_other <= most
            {
                noise = noise.max(of_other);
            }
        }
        noise
    }
}
