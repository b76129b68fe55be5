//! The definition in plain loops, one sample at a time. It shares with other code only numbers, such as sizes and
//! limits, and the types of what goes in and comes out.
//!
//! # The definition
//!
//! ## The noise
//!
//! Where the motion of a block is found, `D / (1 + g)` is its noise; elsewhere it is more. The noise is estimated for
//! each of eight shades of brightness in the whole frame, and for areas of 64 x 64 samples (8 x 8 blocks, up to 15 on
//! an axis where the frame does not divide) whose noise is another:
//!
//! 1. **A block** is compared with the previous and with the next frame. Its estimate is `D / (1 + g)`, limited to the
//!    larger of the block's own variance, of which noise is a part, and one level² of eight bits, by which coded video
//!    flickers. Flat blocks that equal the other frame, such as bars, have no estimate; nor have incomplete blocks at
//!    the right and lower edge. Where light flickers, `D` is taken without the difference of the means. Light flickers
//!    if in more than half of all blocks the square of this difference is more than 16 times what noise makes of it.
//! 2. **Clipping.** Samples near black or white cannot go further, which leaves less noise. How much is left follows
//!    from the distance of the block's mean to the limit, in deviations of the noise; two tables have it for each
//!    quarter of a deviation. Estimates are divided by it, and the noise of each block is multiplied by it. A block
//!    whose mean is less than half a deviation from the limit has no estimate.
//! 3. **The frame.** The noise of a shade is the lower quartile of its blocks' estimates, of luma only of *smooth*
//!    blocks, divided by the ratio of this quartile to the mean for white noise (224/256 for 64 samples, 209/256 for
//!    the 32 samples of chroma in 4:2:0, 234/256 for 128). A shade with fewer than 64 blocks takes the quartile of all
//!    blocks, and no shade takes more than 16 times that. Errors of prediction count as noise where there is texture:
//!    so smooth blocks are the quarter of all with an estimate that has the least structure, which is the part of a
//!    block's variance that is not in the differences of neighbouring samples. If less than 5/8 of their variance is in
//!    these differences, the noise is coarse, or there are no smooth blocks: then all blocks count. (Noise of 5 was
//!    measured as 6.3 in *mobile* and 5.7 in *city* by all blocks, and is as 5.2 and 5.4.) A frame is *even* if 15 of
//!    16 of at least 64 blocks have an estimate of at most five times the quartile: then all of it is noise. (Noise
//!    blurred by 1.5 samples: 3 times. Clips without added noise, *cube* apart, which has noise of its own: 7 times and
//!    more.) Coarse noise has fewer independent samples, and a smaller quartile. In an even frame of which at least
//!    half of the blocks is flat, and of which all blocks count, with a variance of at most twice the noise, the ratio
//!    is at most `64 + 5/4 s` in 256ths, where `s` is the part of the variance of these blocks that is in the
//!    differences of neighbouring samples. So a sky with noise of 5 that is scaled up by two has 2.86 left in place of
//!    2.95.
//! 4. **Trust.** A block whose variance is at least 16 times the noise has texture. Its motion counts as found if the
//!    difference has at most a quarter of the texture's variance. A block also counts as not found if its difference is
//!    more than four times the most noise that it can have, or is more than its variance although that is mostly
//!    structure (more than one level², of which at least 3/4 are not in the differences of neighbouring samples),
//!    unless it is coarse noise: then the difference is at most eight times the noise of the blocks whose texture is
//!    found, by their lower quartile, if there are 16 of them; else, in an even frame, eight times the noise of the
//!    frame. If more than 3/16 of all blocks are not found, the noise of the frame is reduced, from 4/16 on to zero. So
//!    scene cuts, flashes, fast limbs and water are not taken for noise.
//! 5. In frames of more than 8192 blocks only every second block is asked. The blocks between take the estimate of the
//!    block before. The rules about all blocks of the frame use at most 2048 of those that are asked: every n-th one, with
//!    the least odd n that leaves no more.
//! 6. Of the two frames the one with the smaller quartile of all blocks decides: at a scene cut only one of them shows
//!    the same scene. Noise below a twelfth of a level² counts as none: rounding makes as much.
//! 7. **Clean frames.** If more than a quarter of the blocks repeats one of the two frames, as in animation and
//!    recordings of screens, the frame has the noise of the blocks that do not repeat, if these are at least 64 and
//!    agree: half of them tell at most twice what their lower quartile tells, as beside bars and slides. Else it has no
//!    noise, and only areas of it may. Blocks with an estimate of 0 repeat it, and so do flat ones without an estimate,
//!    except in the darkest and the brightest shade, in which bars are. Coding makes areas of such frames seem noisy:
//!    noise of luma below half a level² of eight bits counts as none there, and so does noise of chroma below two where
//!    luma has less than half a level².
//! 8. **Bars.** A flat block has no noise, nor has its chroma if that is flat too, in frames of which at least 1/32 of
//!    the blocks are flat and repeat one of the two frames. Its neighbours move, and between samples a noisy picture
//!    would be mixed into the bar beside it, by 0.2 to 1.6 levels on the mean of the bars. Were all flat blocks taken
//!    so, *foreman* would lose 0.4 % of its gain: on the mean 2.1 % of its blocks are flat and repeat the frame before
//!    at the same place, at most 3.09 % (first 40 frames).
//!
//! ### Areas
//!
//! On an axis with `C` blocks there are `n = max(1, floor(C / 8))` areas; block `c` belongs to area `floor(c n / C)`.
//!
//! Clean parts of a frame hide the noise of the others: a slide beside a camera, a split screen, a still that an
//! encoder repeats. An area, or a shade of brightness in it, therefore has an estimate of its own if at least 16 of
//! its blocks differ from the other frame and agree as white noise does: at most one of eight has more than the larger
//! of 4/3 of the area's noise and 1/16 of the frame's. Coding, and texture whose motion is not found, do not agree in
//! this way. An area in which more than a quarter of the blocks with an estimate above 0 is not found, by the noise of
//! the area, has no estimate. Of the previous and the next frame the smaller estimate counts.
//!
//! Without an estimate an area keeps the noise of the frame before. Everything starts anew at a scene cut, where more
//! than half of the blocks are not found in the previous frame. With `past=0` the share counts that was not found
//! between the previous frame and this one when the previous frame was denoised.
//!
//! The noise of an area is used in place of the frame's if it is less than 1/16 or more than four times that. Between
//! these limits the frame's is used, because encoders lost where areas had a little more noise than the frame. At the
//! edge of an area with much more noise, a block whose estimate is above the noise of its own area takes that of a
//! neighbouring area instead. Neighbours with more than twice the noise of the block's own area count; the largest of
//! them is taken, limited to twice the block's estimate and, for luma, to twice the part of its variance that is in
//! the differences of neighbouring samples.
//!
//! A prediction that equals the block, or an earlier prediction of it, tells nothing new: its weight is 0. Two
//! predictions of luma count as equal if they have the same `D`, `V`, `g` and difference of the means, rounded to
//! levels; those of chroma, if luma's do and they have the same `D` and the same place between samples. Where light
//! flickers, the mismatch of luma, too, is taken without the difference of the means, and the predicted samples of a
//! block are made brighter by this difference, in whole levels. So frames of different brightness are averaged like
//! others.
//!
//! No sample changes by more than two and a half deviations of its block's noise plus one level, and none without
//! noise: larger changes come from something small and fast, such as rain, and not from noise.
//!
//! A frame that repeats the one before, as `videorate` makes them, leaves with the same samples as that one. Other
//! frames are not averaged with it, and do not wait for it. A still that repeats without end must hold up nothing: a
//! frame waits for at most six times as many frames, repeats included, as it would without repeats; in a live pipeline
//! for no longer than the latency.
//!
//! ## Colour
//!
//! Chroma has a noise and an error of its own, of both planes together. With `v_c` and `N_c` for its mismatch and
//! noise, `v_l` and `N_l` for those of luma, the weight of a frame in chroma follows from the larger of both
//! mismatches, in units of the noise of each:
//!
//! ```text
//! w = 1 / (g_c + max(v_c / N_c, v_l / N_l))
//! ```
//!
//! so it is the smaller of the weights that luma and chroma allow. Luma's mismatch and noise are taken for twice the
//! noise here, so that it limits chroma only beyond doubt: where luma shows that the motion is wrong, it is wrong for
//! chroma too; where luma looks the same, chroma decides. `N_l` is at least one level² here, so that chroma alone may
//! have noise. Luma is averaged where luma looks the same, whatever its colour.
//!
//! Chroma is predicted bilinearly, which loses more than the six taps. At `f` between two samples the loss is `f (1 -
//! f) / 2` times the second difference on that axis; `L` is the sum of its squares over the block. `3/2 L` is
//! subtracted from the difference before the noise is estimated, and the part of it that noise itself causes is
//! subtracted from `1 + g`. So chroma that is cleaner than its prediction is left alone. The noise of moving chroma is
//! underestimated by up to 35 %.
//!
//! The noise of chroma is estimated like that of luma, by the brightness of luma, from blocks whose luma is found:
//! those whose estimate of luma is at most twice luma's noise, or two levels², and whole ones without an estimate of
//! luma, such as bars. It is trusted as luma is.
//!
//! ## In integers
//!
//! - The search is `algorithm=hierarchical quality=fast` in frames that are halved, as for `motioninterpolate`, until
//!   they have at most 2^17 samples; the vectors are those of the current frame's blocks, rounded to quarter samples.
//!   Search frames of up to 2^19 samples would take four times as long.
//! - Luma is predicted by H.264's six taps and means, chroma bilinearly, as in made frames.
//! - With sums over the `k` samples of a block (64 of luma, fewer at the right and lower edge; all planes of chroma
//!   together): `D` the squared differences, `G = 256 g` rounded, `N = 64 σ²` times `strength` in 64ths, `N_b = N k /
//!   64`, all divisions rounded down. A block's estimate is `256 D / (256 + G)`. Light flickers with `V` in place of
//!   `D`, if `64 (D - V) > 16 V` in more than half of all blocks, with `V = D - S² / k`, where `S` is the difference of
//!   the sums.
//! - Chroma's `g` is `((8 - x)² + x²) ((8 - y)² + y²) / 4096` at `(x, y)` eighths.
//! - With `a = x (8 - x)` and `b = y (8 - y)`, `h` and `v` for the second differences along rows and columns (samples
//!   at the edge repeat), and sums over the block, `L = max(a² Σh² + b² Σv² + 2ab Σhv, 0) / 2^14`. White noise of
//!   variance 256 has `L_n = (6 a² + 6 b² + 8ab) / 64`. A block's estimate of chroma is `256 · 64 max(D - 3/2 L, 0) /
//!   (k (256 + G - 3/2 L_n))`, but at least 1 where `D` is not 0, with the limits of luma's.
//! - The mismatch is `m = max(256 D - (256 + G) N_b, 0)`, and `w = 65536 N_b / (G N_b + m)`, in luma `65536 N_b / (G
//!   N_b + 2m)`; 0 if `N_b` is. Chroma has the smaller of its weight and of that with twice `N_b` of luma and the `m`
//!   that follows from it, not doubled.
//! - A block that has noise, of luma or chroma, and whose structure is more than half of luma's noise before
//!   `strength`, takes the vector of the block of the search frame above, on the left, on the right or below, in this
//!   order, if its `D` is less.
//! - Where light flickers, `V` takes the place of `D`, and predicted samples become brighter by `S / k`, rounded, from
//!   0 to the largest sample.
//! - Weights with the sum 256: `W_i = (256 w_i + S/2) / S` with `S = 256 + Σ w_i`, `W_0 = 256 - Σ W_i`. A sample of
//!   chroma becomes `(W_0 x + Σ W_i r_i + 128) >> 8`. In luma a block makes `b = (W_0 x + Σ W_i r_i + 2) >> 2` of a
//!   sample, and the four blocks between whose centres the sample lies make `(Σ h v b + 8192) >> 14` of it, where `h`
//!   and `v` fall from 15 at a block's centre by 2 a sample, and add up to 16; at the edges of the frame two of the
//!   blocks are the same. Outside the frame samples of its edge repeat.
//! - With `m` for the 64 means of a cell so made, `a` and `b` from -7 to 7 by 2 for the places of its columns and rows,
//!   `S = Σm`, `A = Σam`, `B = Σbm`: `E = max(64 Σm² - S² - (A² + B²) / 21, 0)`. A block leaves `R = N' Σ W² / 65536`
//!   of its noise, with `N'` for the least of `N` and `(512 D / (256 + G)) 64 / k` of each prediction, or 0 without
//!   one; a cell has the least `R` of its blocks. If that is more than 0, `K = 64` where `4 · 32 R >= 3 E`, else `K =
//!   256 - 256 · 32 R / E`, and `m` becomes `(64 m K + p (256 - K) + 8192) >> 14`, where `p = S + a (A / 21) + b (B /
//!   21)`, divided towards 0, is limited to 0 and 64 times the largest sample.
//! - No sample becomes more than `floor(sqrt(floor(25 N / 256))) + 1` larger or smaller than `x`, by the `N` of its own
//!   block, and none changes where that is 0.

mod blocks;
mod comparison;
mod estimate;
mod prediction;
mod spatial;
mod stream;
mod weights;

pub use stream::StreamNoise;

use super::Reference;
use super::rules::{BLOCK, MOST_REFERENCES, Strength};
use crate::compensation::{CompensationError, Sampling};
use crate::interpolation::FrameFormat;
use blocks::{Blocks, DefinedChromaBlock, DefinedLumaBlock};
use motion_base::{Frame, FrameView};
use motion_search::scenes::oracle::halved_frame;
use prediction::{Prediction, halvings};
use weights::DefinedAverage;

/// The frame that is searched in place of a luma plane.
pub fn search_frame(luma: &FrameView<'_>) -> Frame {
    halved_frame(luma, halvings(luma.size()))
}

/// The frame with these `planes`, which are sampled as `samplings` say, without its noise. `noise` is that of the previous
/// frame at first, and then of this one. What time leaves of it is taken out, too, if `is_spatial`.
///
/// # Errors
/// [`CompensationError`] if planes or fields have other sizes.
///
/// # Panics
/// If there is no plane, `noise` is of another size of frames, or there are more than [`MOST_REFERENCES`] references.
pub fn denoise(
    noise: &mut StreamNoise,
    samplings: &[Sampling],
    planes: &[FrameView<'_>],
    references: &[Reference<'_>],
    (strength, is_spatial): (Strength, bool),
) -> Result<Vec<Frame>, CompensationError> {
    let luma = &planes[0];
    let format = FrameFormat { size: luma.size(), samplings: samplings.to_vec(), samples: luma.format() };
    format.check_all(planes)?;
    references.iter().try_for_each(|reference| format.check_all(reference.planes))?;
    assert!(references.len() <= MOST_REFERENCES, "{} references", references.len());
    let blocks = Blocks::new(planes, samplings);
    assert_eq!(noise.blocks().len(), blocks.count(), "the noise of other frames");
    let (mut luma, mut chroma) = (Vec::new(), Vec::new());
    for block in 0..blocks.count() {
        luma.push(DefinedLumaBlock::of(&blocks, block));
        if blocks.has_chroma() {
            chroma.push(DefinedChromaBlock::of(&blocks, block));
        }
    }
    let mut predictions = Vec::new();
    for reference in references {
        predictions.push(Prediction::new(&blocks, &luma, reference)?);
    }
    noise.follow(&blocks, (&luma, &chroma), &predictions);
    for (prediction, reference) in predictions.iter_mut().zip(references) {
        prediction.refine(&blocks, &luma, noise.blocks(), reference);
    }
    let (mut of_luma, mut of_chroma) = (Vec::new(), Vec::new());
    for block in 0..blocks.count() {
        let (luma, noise) = (&luma[block], noise.blocks()[block]);
        of_luma.push(weights::of_luma(&predictions, block, luma, noise, strength));
        if blocks.has_chroma() {
            let limits = (strength, blocks.depth());
            let both = (luma, &chroma[block]);
            of_chroma.push(weights::of_chroma(&predictions, block, both, noise, limits));
        }
    }
    let mut made = vec![mean_of_luma(&blocks, &predictions, &of_luma, is_spatial)];
    for plane in 1..planes.len() {
        made.push(mean(&blocks, plane, &predictions, &of_chroma));
    }
    Ok(made)
}

/// The mean of luma and its predictions, in cells of 8 x 8 samples between the centres of four blocks each.
fn mean_of_luma(
    blocks: &Blocks<'_>,
    predictions: &[Prediction],
    averages: &[DefinedAverage],
    is_spatial: bool,
) -> Frame {
    let view = &blocks.planes[0];
    let (width, height) = view.size();
    let mut made = vec![0; width * height];
    for row in 0..=blocks.rows {
        for column in 0..=blocks.columns {
            let cell = Cell::new(blocks, (column, row));
            let mut samples = cell.mean(blocks, predictions, averages);
            let left = cell.blocks().map(|block| averages[block].left).into_iter().min().unwrap_or(0);
            if is_spatial && left > 0 {
                samples = spatial::nearer_to_plane(&samples, left, view.format().peak().into());
            }
            for (y, samples) in samples.iter().enumerate() {
                for (x, made_sample) in samples.iter().enumerate() {
                    let (x, y) = cell.place(x, y);
                    if x < 0 || y < 0 || x >= width as i32 || y >= height as i32 {
                        continue;
                    }
                    let sample = u64::from(view.sample(x, y));
                    let (x, y) = (x as usize, y as usize);
                    let most = averages[blocks.block_of(0, x, y)].most;
                    made[y * width + x] =
                        (*made_sample).clamp(sample.saturating_sub(most), sample + most) as u16;
                }
            }
        }
    }
    Frame::deep_from_fn(width, height, blocks.depth(), |x, y| made[y * width + x])
}

/// A cell of 8 x 8 samples of luma.
struct Cell {
    /// Its first sample, which may be outside the frame.
    first: (i32, i32),
    /// The columns and the rows of the blocks between whose centres it is. At the edges of the frame both are the same.
    columns: [usize; 2],
    rows: [usize; 2],
    blocks_of_row: usize,
}

impl Cell {
    fn new(blocks: &Blocks<'_>, (column, row): (usize, usize)) -> Self {
        let first = |at: usize| (BLOCK * at) as i32 - BLOCK as i32 / 2;
        let beside = |at: usize, count: usize| [at.max(1) - 1, at.min(count - 1)];
        Self {
            first: (first(column), first(row)),
            columns: beside(column, blocks.columns),
            rows: beside(row, blocks.rows),
            blocks_of_row: blocks.columns,
        }
    }

    fn place(&self, x: usize, y: usize) -> (i32, i32) {
        (self.first.0 + x as i32, self.first.1 + y as i32)
    }

    fn blocks(&self) -> [usize; 4] {
        let block = |row: usize, column: usize| self.rows[row] * self.blocks_of_row + self.columns[column];
        [block(0, 0), block(0, 1), block(1, 0), block(1, 1)]
    }

    /// The mean by the weights and vectors of the four blocks. The window of each falls from 15 to 1 from its centre to the
    /// others'. Outside the frame its edge samples repeat.
    fn mean(
        &self,
        blocks: &Blocks<'_>,
        predictions: &[Prediction],
        averages: &[DefinedAverage],
    ) -> [[u64; BLOCK]; BLOCK] {
        let view = &blocks.planes[0];
        let peak = i64::from(view.format().peak());
        let mut made = [[0; BLOCK]; BLOCK];
        for (y, made) in made.iter_mut().enumerate() {
            for (x, made) in made.iter_mut().enumerate() {
                let place = self.place(x, y);
                let sample = u64::from(view.sample(place.0, place.1));
                // Four times the sample, rounded down to 64ths of a level: the mean that a block makes.
                let of_block = |block: usize| {
                    let mut sum = averages[block].weights[0] * sample;
                    for (prediction, weight) in predictions.iter().zip(&averages[block].weights[1..]) {
                        let mut predicted = prediction.luma_sample(blocks, block, place);
                        // In flickering light predicted luma becomes as bright as the block.
                        if prediction.flickers {
                            predicted = (predicted + prediction.luma[block].brighter).clamp(0, peak);
                        }
                        sum += weight * predicted as u64;
                    }
                    (sum + 2) / 4
                };
                let falling = |at: usize| [15 - 2 * at as u64, 1 + 2 * at as u64];
                let (across, down) = (falling(x), falling(y));
                let mut sum = 0;
                for (n, block) in self.blocks().into_iter().enumerate() {
                    sum += across[n % 2] * down[n / 2] * of_block(block);
                }
                // 64 times the windows, which add up to 16 on each axis.
                *made = (sum + 8192) / 16384;
            }
        }
        made
    }
}

/// The mean of a plane of chroma and its predictions.
fn mean(blocks: &Blocks<'_>, plane: usize, predictions: &[Prediction], averages: &[DefinedAverage]) -> Frame {
    let view = &blocks.planes[plane];
    let pixel = blocks.samplings[plane].pixel();
    Frame::deep_from_fn(view.width(), view.height(), blocks.depth(), |x, y| {
        let DefinedAverage { weights, most, .. } = &averages[blocks.block_of(plane, x / pixel, y)];
        let (x, y) = (x as i32, y as i32);
        let sample = u64::from(view.sample(x, y));
        let mut sum = weights[0] * sample;
        for (prediction, weight) in predictions.iter().zip(&weights[1..]) {
            sum += weight * u64::from(prediction.chroma_planes[plane - 1].view().sample(x, y));
        }
        ((sum + 128) / 256).clamp(sample.saturating_sub(*most), sample + most) as u16
    })
}
