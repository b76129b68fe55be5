//! What the definition fixes: blocks, the search, weights.

use crate::compensation::{CompensationError, Field};
use crate::interpolation::{self, FrameFormat};
use motion_base::{MotionVector, Parameters, References, SetupError, memory};
use motion_search::scenes;

/// The side of a block in luma samples. Each has one weight for each frame.
pub(super) const BLOCK: usize = 8;

/// The luma samples of a whole block.
pub(super) const SAMPLES: u64 = (BLOCK * BLOCK) as u64;

/// The sum of the weights of a block.
pub(super) const WEIGHTS: u32 = 256;

/// The most frames that a frame is averaged with.
pub const MOST_REFERENCES: usize = 2 * References::MOST;

/// A block's weights: that of the frame itself, then those of the others.
pub(super) type BlockWeights = [u16; 1 + MOST_REFERENCES];

/// The variance of the noise of a sample that is predicted at `(x, y)` quarter samples between others, for noise of
/// variance 256 in each of these: 256 times the sum of the squares of the filter's weights, as `[y][x]`.
pub(super) const NOISE_GAINS: [[u16; 4]; 4] =
    [[256, 197, 213, 197], [197, 156, 164, 156], [213, 164, 177, 164], [197, 156, 164, 156]];

/// How much noise is taken out: what the variance of the estimated noise is multiplied with, in 64ths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strength(pub(crate) u32);

impl Strength {
    /// As much as there is.
    #[cfg(feature = "opencl")]
    pub(crate) const ONE: Self = Self(64);

    /// The strength nearest to `factor`, from 0 to 16.
    pub fn new(factor: f64) -> Self {
        Self((factor.clamp(0.0, 16.0) * 64.0).round() as u32)
    }

    /// Whether nothing is taken out.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    pub(super) fn of(self, noise: u64) -> u64 {
        noise * u64::from(self.0) / 64
    }
}

/// The noise of a stream: it is measured, or known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoiseLevel(pub(super) Option<u32>);

/// A noise level that is no number from 0 to [`NoiseLevel::MOST`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("the noise level is {0}: it must be a standard deviation from 0 to {most} levels of eight bits", most = NoiseLevel::MOST)]
pub struct NoiseLevelError(f64);

impl NoiseLevel {
    /// The noise is measured in each frame.
    pub const MEASURED: Self = Self(None);

    /// Noise of one level.
    #[cfg(feature = "opencl")]
    pub(crate) const ONE: Self = Self(Some(256));

    /// The largest standard deviation.
    pub const MOST: f64 = 64.0;

    /// Noise of this standard deviation in all planes, in levels of eight bits, to the nearest 256th of its square.
    ///
    /// # Errors
    /// [`NoiseLevelError`] if it is no number from 0 to [`Self::MOST`].
    pub fn known(deviation: f64) -> Result<Self, NoiseLevelError> {
        if !(0.0..=Self::MOST).contains(&deviation) {
            return Err(NoiseLevelError(deviation));
        }
        Ok(Self(Some((deviation.powi(2) * 256.0).round() as u32)))
    }

    /// The noise of 64 samples of `depth` bits, if it is known.
    pub(crate) fn of_samples(self, depth: u32) -> Option<u64> {
        self.0.map(|square| (u64::from(square) * SAMPLES / 256) << (2 * (depth - 8)))
    }
}

/// The most samples of a frame that is searched: 480 x 270 and a few more. With four times as many the search takes four
/// times as long, for little.
pub(super) const SEARCHED_SAMPLES: usize = 1 << 17;

/// How often frames may be halved for the search: vectors are in 1/32 sample of the search frame.
const MOST_HALVINGS: u32 = 5;

/// How often frames of `format` are halved for the search, if noise can be taken out of them on `device`.
///
/// # Errors
/// [`SetupError::DeviceUnsupported`] if their chroma is none that is predicted, or they are too large.
pub(crate) fn checked_halvings(format: &FrameFormat, device: &str) -> Result<u32, SetupError> {
    format.check_chroma(device)?;
    let ((width, height), halvings) = (format.size, halvings(format.size));
    if halvings > MOST_HALVINGS {
        return Err(SetupError::DeviceUnsupported {
            wanted: device.into(),
            reason: format!("noise is taken out of frames of at most 2^27 samples, not {width} x {height}"),
        });
    }
    Ok(halvings)
}

/// How often frames of this size are halved for the search.
pub(super) fn halvings(size: (usize, usize)) -> u32 {
    scenes::halvings_to(size, SEARCHED_SAMPLES)
}

/// The parameters of the search for the motion from a frame of `width` x `height` luma samples to those before and after
/// it, in the frames that [`Denoiser::load`](super::Denoiser::load) returns.
///
/// # Errors
/// [`SetupError`] if such frames cannot be searched, or `references` asks for too few or too many.
pub fn search_parameters(
    width: usize,
    height: usize,
    references: References,
) -> Result<Parameters, SetupError> {
    interpolation::halved_parameters((width, height), SEARCHED_SAMPLES, references)
}

/// The field of a frame of `size` luma samples that was found in its search frame.
///
/// # Errors
/// [`CompensationError::FieldSize`] if it was found in another.
pub(super) fn field(size: (usize, usize), vectors: &[MotionVector]) -> Result<Field<'_>, CompensationError> {
    let halvings = halvings(size);
    let side = interpolation::BLOCK << halvings;
    Ok(Field::new(size, (side, side), vectors)?.with_scale(32 >> halvings))
}

/// The vectors of that field in quarter luma samples.
///
/// # Errors
/// As [`field`].
pub(crate) fn quarters(
    size: (usize, usize),
    vectors: &[MotionVector],
) -> Result<impl Iterator<Item = (i32, i32)>, CompensationError> {
    let field = field(size, vectors)?;
    Ok(vectors.iter().map(move |&vector| field.quarters(vector)))
}

/// Where the vectors of the blocks of a frame lead to.
#[derive(Debug)]
pub(super) struct VectorEnds {
    found: FoundVectors,
    /// The vectors of the blocks of the frame, in quarter luma samples.
    vectors: Vec<(i32, i32)>,
    /// Blocks of a row.
    columns: usize,
    /// Whether blocks have other vectors than those that were found.
    are_refined: bool,
}

/// The vectors of the blocks of the search frame, in quarter luma samples.
#[derive(Debug)]
pub(super) struct FoundVectors {
    vectors: Vec<(i32, i32)>,
    columns: usize,
    halvings: u32,
}

impl VectorEnds {
    /// For frames of `size` luma samples.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(size: (usize, usize)) -> Result<Self, SetupError> {
        let halvings = halvings(size);
        let blocks = |side: usize| (size.0.div_ceil(side), size.1.div_ceil(side));
        let (columns, rows) = blocks(BLOCK);
        let (found_columns, found_rows) = blocks(BLOCK << halvings);
        let found = memory::values("the vectors of the search", found_columns * found_rows)?;
        let vectors = memory::values("the vectors of blocks", columns * rows)?;
        let found = FoundVectors { vectors: found, columns: found_columns, halvings };
        Ok(Self { found, vectors, columns, are_refined: false })
    }

    /// Sets them to those of the field of a frame of `size` luma samples.
    ///
    /// # Errors
    /// As [`field`].
    pub fn set(&mut self, size: (usize, usize), vectors: &[MotionVector]) -> Result<(), CompensationError> {
        let quarters = quarters(size, vectors)?;
        self.are_refined = false;
        let Self { found, vectors: of_blocks, columns, .. } = self;
        for (found, vector) in found.vectors.iter_mut().zip(quarters) {
            *found = vector;
        }
        for (row, of_row) in of_blocks.chunks_exact_mut(*columns).enumerate() {
            let found_of_row = found.vectors.chunks_exact(found.columns).nth(row >> found.halvings);
            let together = of_row.chunks_mut(1 << found.halvings);
            for (together, found) in together.zip(found_of_row.into_iter().flatten()) {
                together.fill(*found);
            }
        }
        Ok(())
    }

    /// As many blocks of a row have the same vector, from every multiple of that number on.
    pub fn together(&self) -> usize {
        if self.are_refined { 1 } else { 1 << self.found.halvings }
    }

    /// What was found, and the vectors of the blocks, to be refined.
    pub fn refine(&mut self) -> (&FoundVectors, &mut [(i32, i32)]) {
        self.are_refined = true;
        (&self.found, &mut self.vectors)
    }

    /// The end of the vector of the block of 8 x 8 samples in this column and row, in quarter luma samples.
    #[inline(always)]
    pub fn position(&self, column: usize, row: usize) -> (i32, i32) {
        end((column, row), self.vectors[row * self.columns + column])
    }
}

/// The end of a vector of the block of 8 x 8 samples in this column and row, in quarter luma samples.
#[inline(always)]
pub(super) fn end((column, row): (usize, usize), (x, y): (i32, i32)) -> (i32, i32) {
    ((4 * BLOCK * column) as i32 + x, (4 * BLOCK * row) as i32 + y)
}

impl FoundVectors {
    /// The steps from a vector to quarter samples, which a search of smaller frames does not tell: on each axis one, and one back.
    #[inline(always)]
    pub fn steps(&self) -> usize {
        4 * self.halvings as usize
    }

    /// The end of step number `step` from this vector: first along rows, then along columns, each time half as far.
    #[inline(always)]
    pub fn step(&self, (x, y): (i32, i32), step: usize) -> (i32, i32) {
        let length = 1 << (self.halvings as usize - 1 - step / 4);
        let length = if step.is_multiple_of(2) { length } else { -length };
        if step % 4 < 2 { (x + length, y) } else { (x, y + length) }
    }

    /// Those of the blocks of the search frame above, on the left, on the right and below that of the block of 8 x 8 samples in
    /// this column and row, as far as there are any.
    #[inline(always)]
    pub fn beside(&self, column: usize, row: usize) -> [Option<(i32, i32)>; 4] {
        let Self { vectors, columns, halvings } = self;
        let (column, row) = (column >> halvings, row >> halvings);
        let at = row * columns + column;
        [
            at.checked_sub(*columns).map(|above| vectors[above]),
            (column > 0).then(|| vectors[at - 1]),
            (column + 1 < *columns).then(|| vectors[at + 1]),
            vectors.get(at + columns).copied(),
        ]
    }
}

/// The variance of the noise of a sample of chroma that is predicted at these eighths between others, as
/// [`NOISE_GAINS`].
pub(super) fn chroma_gain((x, y): (i32, i32)) -> u16 {
    let gain = |at: i32| (8 - (at & 7)).pow(2) + (at & 7).pow(2);
    (gain(x) * gain(y) / 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compensation::{Sampling, oracle};
    use motion_base::Frame;

    #[test]
    fn gains_are_those_of_the_filter() {
        // The prediction of a single bright sample has the filter's weights.
        let frame =
            Frame::deep_from_fn(24, 24, 16, |x, y| 30000 + if (x, y) == (11, 11) { 16384 } else { 0 });
        for (y, x) in (0..4).flat_map(|y| (0..4).map(move |x| (y, x))) {
            let vectors = [MotionVector { x, y, cost: 0 }];
            let field = Field::new((24, 24), (24, 24), &vectors).unwrap();
            let prediction = oracle::predict(&field, Sampling::LUMA, &frame.view()).unwrap();
            let weight =
                |at: i32| (f64::from(prediction.view().sample(at % 24, at / 24)) - 30000.0) / 16384.0;
            let gain = 256.0 * (0..24 * 24).map(|at| weight(at).powi(2)).sum::<f64>();
            let known = f64::from(NOISE_GAINS[y as usize][x as usize]);
            // The prediction is rounded.
            assert!((gain - known).abs() < 1.0, "({x}, {y}): {gain}");
        }
    }
}
