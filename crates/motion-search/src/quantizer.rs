//! Quantiser offsets for an encoder that may not look ahead, from vectors and costs of frames that have passed.
//!
//! What was well predicted so far will likely be predicted from again, so more bits there pay off in later frames. Two rules
//! of `docs/how/encoders.md`: *past*, for any frame, and *pulse*, which also makes each sixth frame better than the others.

/// The side of a macroblock, in samples of luma.
pub const MACROBLOCK: usize = 16;

/// An offset is at most this far from zero.
pub const MAX_OFFSET: f32 = 8.0;

/// The frames of a period of *pulse*.
pub const PERIOD: u32 = 6;

/// A frame whose mean of [`BlockMotion::explained`] is at most the first has the offsets of *past* for those of *pulse*; from
/// the second on it has those of *pulse*.
const FADE: [f32; 2] = [0.6, 0.65];

/// So far from 1 that mean begins to reduce all offsets, down to none at 1; and so far from 1 a block's own begins to count it as
/// one that repeats its match exactly.
const STILL: f32 = 0.01;

/// The most frames that a block counts as having been predicted through, or as having been repeated.
const MAX_AGE: f32 = 40.0;

/// What a search found of a macroblock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockMotion {
    /// The way to its match in the previous frame, right and down, in macroblocks.
    pub vector: [f32; 2],
    /// The cost `intra`.
    pub intra: f32,
    /// The cost `satd`.
    pub satd: f32,
}

impl BlockMotion {
    /// How much of the block its match explains, 0 to 1.
    pub fn explained(&self) -> f32 {
        (1.0 - self.satd / self.intra.max(1.0)).clamp(0.0, 1.0)
    }
}

/// How offsets follow from motion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// All frames alike.
    Past,
    /// Each frame that begins a period is better than the others.
    #[default]
    Pulse,
}

/// What has become of the content of each macroblock.
#[derive(Clone, Debug)]
struct History {
    /// The number of frames that it was predicted through, weighted by how well.
    ages: Vec<f32>,
    /// The number of frames that it was repeated in exactly.
    repeats: Vec<f32>,
}

/// Quantiser offsets of the macroblocks of one frame after another.
#[derive(Clone, Debug)]
pub struct MotionOffsets {
    columns: usize,
    rows: usize,
    /// Frames since the last key unit.
    distance: u32,
    history: History,
    /// Space for the history of the next frame.
    next: History,
    /// How much of its offset each macroblock has, 0 to 1: those that have repeated exactly for a period have none.
    weights: Vec<f32>,
    /// [`BlockMotion::explained`] of each macroblock, and the logarithm of its cost `intra`.
    explained: Vec<f32>,
    textures: Vec<f32>,
    offsets: Vec<f32>,
}

impl MotionOffsets {
    /// For frames of `columns` x `rows` macroblocks.
    pub fn new(columns: usize, rows: usize) -> Self {
        let zeros = vec![0.0; columns * rows];
        Self {
            columns,
            rows,
            distance: 0,
            history: History { ages: zeros.clone(), repeats: zeros.clone() },
            next: History { ages: zeros.clone(), repeats: zeros.clone() },
            weights: zeros.clone(),
            explained: zeros.clone(),
            textures: zeros.clone(),
            offsets: zeros,
        }
    }

    /// Columns and rows of macroblocks.
    pub fn grid(&self) -> (usize, usize) {
        (self.columns, self.rows)
    }

    /// Frames since the last key unit.
    pub fn distance(&self) -> u32 {
        self.distance
    }

    /// The next frame is the one at `distance` from the last key unit; 0: it begins one.
    pub fn set_distance(&mut self, distance: u32) {
        // A key unit codes anew what was repeated.
        if std::mem::replace(&mut self.distance, distance) != distance {
            self.history.repeats.fill(0.0);
        }
    }

    /// Passes a frame without motion: what came before it is forgotten.
    pub fn skip(&mut self) {
        self.history.ages.fill(0.0);
        self.history.repeats.fill(0.0);
        self.distance = self.distance.saturating_add(1);
    }

    /// The offsets of the next frame, row-major, of the motion of its macroblocks.
    ///
    /// # Panics
    /// If there are not as many `blocks` as macroblocks.
    pub fn next(&mut self, blocks: &[BlockMotion], rule: Rule) -> &[f32] {
        assert_eq!(blocks.len(), self.offsets.len(), "macroblocks");
        self.follow(blocks);
        for (offset, age) in self.offsets.iter_mut().zip(&self.history.ages) {
            *offset = -(1.0 + age).log2();
        }
        let mean = mean_of(&self.offsets, &self.weights);
        self.offsets.iter_mut().for_each(|offset| *offset -= mean);
        let mean_of_all = |values: &[f32]| values.iter().sum::<f32>() / values.len().max(1) as f32;
        let explained = mean_of_all(&self.explained);
        if rule == Rule::Pulse {
            self.pulse(blocks, fade(explained));
        }
        // Where nothing changes, nothing has to be coded: other quantisers would only code it again. And what changes beside much
        // that repeats is soon covered by it or gone.
        let change = ((1.0 - explained) / STILL).min(1.0) * mean_of_all(&self.weights);
        for (offset, weight) in self.offsets.iter_mut().zip(&self.weights) {
            *offset = (change * weight * *offset).clamp(-MAX_OFFSET, MAX_OFFSET);
        }
        self.distance = self.distance.saturating_add(1);
        &self.offsets
    }

    /// Follows the content of the macroblocks from the frame before along their vectors.
    fn follow(&mut self, blocks: &[BlockMotion]) {
        for (index, block) in blocks.iter().enumerate() {
            let at = [(index % self.columns) as f32, (index / self.columns) as f32];
            let from = [at[0] + block.vector[0], at[1] + block.vector[1]];
            let explained = block.explained();
            let exact = (1.0 - (1.0 - explained) / STILL).max(0.0);
            let of = |values: &[f32], share: f32| ((1.0 + self.fetch(values, from)) * share).min(MAX_AGE);
            let (age, repeats) = (of(&self.history.ages, explained), of(&self.history.repeats, exact));
            self.explained[index] = explained;
            self.next.ages[index] = age;
            self.next.repeats[index] = repeats;
            // In a period one frame is better than the others: from then on the content is there as good as it will be.
            self.weights[index] = ((PERIOD + 1) as f32 - repeats).clamp(0.0, 1.0);
        }
        std::mem::swap(&mut self.history, &mut self.next);
    }

    /// What `values` have at a position on the grid of macroblocks: bilinear, and clamped at the edges.
    fn fetch(&self, values: &[f32], [x, y]: [f32; 2]) -> f32 {
        let place = |position: f32, count: usize| {
            let position = position.clamp(0.0, (count - 1) as f32);
            let first = position as usize;
            (first, (first + 1).min(count - 1), position - first as f32)
        };
        let ((left, right, across), (top, bottom, down)) = (place(x, self.columns), place(y, self.rows));
        let row = |y: usize| {
            let row = &values[y * self.columns..][..self.columns];
            row[left] + (row[right] - row[left]) * across
        };
        row(top) + (row(bottom) - row(top)) * down
    }

    /// Makes *pulse* of *past*, of which the frame has this share.
    fn pulse(&mut self, blocks: &[BlockMotion], share: f32) {
        // Half of what texture explains of the offsets is taken away.
        for (texture, block) in self.textures.iter_mut().zip(blocks) {
            *texture = (1.0 + block.intra).log2();
        }
        let mean_texture = mean_of(&self.textures, &self.weights);
        let mean_explained = mean_of(&self.explained, &self.weights);
        let (mut together, mut alone) = (0.0, 0.0);
        for ((offset, texture), weight) in self.offsets.iter().zip(&mut self.textures).zip(&self.weights) {
            *texture -= mean_texture;
            together += weight * offset * *texture;
            alone += weight * *texture * *texture;
        }
        let half_slope = if alone > 0.0 { together / alone / 2.0 } else { 0.0 };
        let weight = if self.distance.is_multiple_of(PERIOD) { -3.0 } else { 1.0 };
        for ((offset, texture), explained) in self.offsets.iter_mut().zip(&self.textures).zip(&self.explained)
        {
            let of_pulse = weight * explained - half_slope * texture - 2.0 * (explained - mean_explained);
            *offset += share * of_pulse;
        }
    }
}

/// How much of *pulse* the offsets of a frame have, 0 to 1: a better frame pays off only if the next ones are predicted from
/// it, which a frame is not likely to be that is badly predicted itself, as in fast pans, motion blur and flashes.
fn fade(mean_explained: f32) -> f32 {
    ((mean_explained - FADE[0]) / (FADE[1] - FADE[0])).clamp(0.0, 1.0)
}

/// The mean of `values` with these weights; 0 if they are all 0.
fn mean_of(values: &[f32], weights: &[f32]) -> f32 {
    let (sum, all) = values
        .iter()
        .zip(weights)
        .fold((0.0, 0.0), |(sum, all), (value, weight)| (sum + weight * value, all + weight));
    if all > 0.0 { sum / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(vector: [f32; 2], explained: f32) -> BlockMotion {
        BlockMotion { vector, intra: 1000.0, satd: 1000.0 * (1.0 - explained) }
    }

    fn is_near(found: &[f32], expected: &[f32]) -> bool {
        found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4)
    }

    #[test]
    fn past_counts_along_vectors() {
        let mut offsets = MotionOffsets::new(4, 1);
        let right = |explained: [f32; 4]| explained.map(|explained| of([-1.0, 0.0], explained));
        // Ages 1, 0, 0.5, 0: base-two logarithms 1, 0, 0.585, 0.
        let found = offsets.next(&right([1.0, 0.0, 0.5, 0.0]), Rule::Past).to_vec();
        assert!(is_near(&found, &[-0.60376, 0.39624, -0.18872, 0.39624]), "{found:?}");
        // The content has moved right by one: ages 2, 2, 0.5, 1.5.
        let found = offsets.next(&right([1.0, 1.0, 0.5, 1.0]), Rule::Past).to_vec();
        let logs = [3.0_f32, 3.0, 1.5, 2.5].map(f32::log2);
        let mean = logs.iter().sum::<f32>() / 4.0;
        assert!(is_near(&found, &logs.map(|log| mean - log)), "{found:?}");
        // What came before a gap is forgotten.
        offsets.skip();
        let found = offsets.next(&right([1.0, 0.0, 0.5, 0.0]), Rule::Past).to_vec();
        assert!(is_near(&found, &[-0.60376, 0.39624, -0.18872, 0.39624]), "{found:?}");
    }

    #[test]
    fn vectors_between_macroblocks_and_beyond_the_edge() {
        let mut offsets = MotionOffsets::new(2, 2);
        let still = [1.0, 0.0, 0.0, 0.0].map(|explained| of([0.0; 2], explained));
        offsets.next(&still, Rule::Past);
        let age_at = |position| offsets.fetch(&offsets.history.ages, position);
        assert_eq!(age_at([0.5, 0.5]), 0.25);
        assert_eq!(age_at([-9.0, -0.5]), 1.0);
        assert_eq!(age_at([40.0, 0.0]), 0.0);
    }

    #[test]
    fn pulse_has_a_period_from_the_key_unit_on() {
        let mut offsets = MotionOffsets::new(3, 2);
        let all = [of([0.0; 2], 0.75); 6];
        offsets.skip();
        // Alike blocks: only the period is left.
        let mut sequence =
            |count: usize| -> Vec<f32> { (0..count).map(|_| offsets.next(&all, Rule::Pulse)[4]).collect() };
        let (better, others) = (-2.25, 0.75);
        assert!(is_near(&sequence(7), &[others, others, others, others, others, better, others]));
        offsets.set_distance(0);
        assert!(is_near(offsets.next(&all, Rule::Pulse), &[better; 6]));
        assert!(is_near(offsets.next(&all, Rule::Past), &[0.0; 6]));
    }

    #[test]
    fn offsets_fade_where_little_is_predicted_or_nothing_changes() {
        // Alike blocks: only the period is left.
        let of_frame = |explained: f32, distance: u32| {
            let mut offsets = MotionOffsets::new(3, 2);
            offsets.set_distance(distance);
            offsets.next(&[of([0.5, 0.0], explained); 6], Rule::Pulse)[3]
        };
        let shares = [
            (0.1, 0.0),
            (0.6, 0.0),
            (0.61, 0.2),
            (0.64, 0.8),
            (0.65, 1.0),
            (0.99, 1.0),
            (0.995, 0.5),
            (1.0, 0.0),
        ];
        for (explained, share) in shares {
            let expected = [-3.0, 1.0].map(|weight| weight * explained * share);
            assert!(is_near(&[of_frame(explained, 6), of_frame(explained, 7)], &expected), "{explained}");
        }
        // The mean of a frame counts: here 0.625, at which half remains.
        let mut offsets = MotionOffsets::new(3, 2);
        let blocks = [1.0, 1.0, 1.0, 0.25, 0.25, 0.25].map(|explained| of([0.0; 2], explained));
        let found = offsets.next(&blocks, Rule::Pulse).to_vec();
        let past = (1.25_f32.log2() - 2.0_f32.log2()) / 2.0;
        let expected = [past + (-3.0 - 2.0 * 0.375) / 2.0, -past + (-0.75 + 2.0 * 0.375) / 2.0];
        assert!(is_near(&[found[0], found[5]], &expected), "{found:?} {expected:?}");
        // Where nothing is predicted, as in a flash, there is no offset.
        assert!(is_near(offsets.next(&[of([0.0; 2], 0.0); 6], Rule::Pulse), &[0.0; 6]));
    }

    /// Two macroblocks that repeat exactly, as far as `exact` goes, beside two that are half predicted.
    fn beside_changes(exact: f32) -> [BlockMotion; 4] {
        [exact, exact, 0.5, 0.5].map(|explained| of([0.0; 2], explained))
    }

    #[test]
    fn what_repeats_exactly_has_offsets_for_a_period() {
        let mut offsets = MotionOffsets::new(4, 1);
        let still = beside_changes(1.0);
        offsets.skip();
        // Frames 1 to 5. Then ages are 6 and 0.984375, and the frame is the better one.
        (0..5).for_each(|_| drop(offsets.next(&still, Rule::Pulse).to_vec()));
        let half = (7.0_f32.log2() - 1.984375_f32.log2()) / 2.0;
        let better = [-half - 3.0 - 0.5, half - 1.5 + 0.5];
        let found = offsets.next(&still, Rule::Pulse).to_vec();
        assert!(is_near(&found[1..3], &better), "{found:?} {better:?}");
        // From now on the others are alone, half of the frame, and have half of their offsets.
        for distance in 7..=24 {
            let of_period = if distance % PERIOD == 0 { -0.75 } else { 0.25 };
            let found = offsets.next(&still, Rule::Pulse).to_vec();
            assert!(is_near(&found, &[0.0, 0.0, of_period, of_period]), "{distance}: {found:?}");
        }
        assert!(is_near(offsets.next(&still, Rule::Past), &[0.0; 4]));
        // A change that is seen counts: ages 26 to 28 are 25.74, 26.74 and 27.74.
        let found = offsets.next(&beside_changes(0.99), Rule::Past).to_vec();
        assert!(found[0] < -1.8 && found[2] > 1.8, "{found:?}");
    }

    #[test]
    fn a_key_unit_codes_anew_what_was_repeated() {
        let still = beside_changes(1.0);
        let after = |distance: u32| {
            let mut offsets = MotionOffsets::new(4, 1);
            offsets.set_distance(1);
            (0..20).for_each(|_| drop(offsets.next(&still, Rule::Past).to_vec()));
            offsets.set_distance(distance);
            offsets.next(&still, Rule::Past)[0]
        };
        assert_eq!(after(21), 0.0);
        let ages = [22.0_f32.log2(), 2.0_f32.log2()];
        for distance in [0, 1] {
            assert!(is_near(&[after(distance)], &[(ages[1] - ages[0]) / 2.0]), "{}", after(distance));
        }
    }

    /// Noise of a camera: the content is never exactly what it was, however well it is predicted.
    #[test]
    fn what_repeats_nearly_keeps_its_offsets() {
        let mut offsets = MotionOffsets::new(4, 1);
        let noisy = beside_changes(0.995);
        let last = (0..40).map(|_| offsets.next(&noisy, Rule::Past)[0]).last();
        let (age, other) = ((0..40).fold(0.0, |age, _| ((1.0 + age) * 0.995_f32).min(MAX_AGE)), 1.0_f32);
        let expected = ((1.0 + other).log2() - (1.0 + age).log2()) / 2.0;
        assert!(is_near(&[last.unwrap_or_default()], &[expected]), "{last:?} {expected}");
    }

    /// The count of repetitions moves with the content.
    #[test]
    fn what_repeats_exactly_may_move() {
        let mut offsets = MotionOffsets::new(4, 1);
        // All but the content that comes in on the left.
        let scrolled = [0.5, 1.0, 1.0, 1.0].map(|explained| of([-1.0, 0.0], explained));
        for _ in 0..20 {
            offsets.next(&scrolled, Rule::Past);
        }
        assert_eq!(offsets.history.repeats, [0.0, 1.0, 2.0, 3.0]);
        let all = [of([-1.0, 0.0], 1.0); 4];
        for _ in 0..20 {
            offsets.next(&all, Rule::Past);
        }
        assert!(offsets.history.repeats.iter().all(|&repeats| repeats > PERIOD as f32));
        assert!(is_near(offsets.next(&all, Rule::Past), &[0.0; 4]));
    }

    #[test]
    fn pulse_takes_half_of_texture_away() {
        // Ages grow with texture alone: the slope of the offsets on it is halved.
        let blocks: Vec<_> = (1..=4)
            .map(|k| 2.0_f32.powi(k) - 1.0)
            .map(|intra| BlockMotion { vector: [0.0; 2], intra, satd: intra / 4.0 })
            .collect();
        let mut offsets = MotionOffsets::new(4, 1);
        offsets.history.ages =
            vec![1.0, 3.0, 7.0, 15.0].into_iter().map(|age: f32| age / 0.75 - 1.0).collect();
        offsets.set_distance(1);
        let found = offsets.next(&blocks, Rule::Pulse).to_vec();
        assert!(is_near(&found, &[1.5, 1.0, 0.5, 0.0]), "{found:?}");
    }

    #[test]
    fn offsets_are_limited_and_finite() {
        let mut offsets = MotionOffsets::new(2, 1);
        let odd = [of([1e9, -1e9], 1.0), BlockMotion { vector: [0.0; 2], intra: 0.0, satd: u32::MAX as f32 }];
        for _ in 0..50 {
            let found = offsets.next(&odd, Rule::Pulse);
            assert!(found.iter().all(|offset| offset.abs() <= MAX_OFFSET), "{found:?}");
        }
    }
}
