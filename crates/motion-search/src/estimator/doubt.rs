//! How much the vector of a block is to be doubted.

use super::{Algorithm, CostKind, Metric, Parameters};

/// How far noise alone puts the cost of a match below that of another explanation, as a fraction of the latter.
///
/// The costs of a block in noise differ by a share of them that is inverse to the square root of the number of samples,
/// which is the side of the block. Blocks of many samples differ by other things than noise: the share is at least an
/// eighth. With more candidates the least two of their costs are not further apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubt {
    part: u64,
    whole: u64,
}

impl Doubt {
    /// That of the searches of `parameters`.
    pub(crate) fn of(parameters: &Parameters) -> Self {
        Self::new(parameters.algorithm, parameters.metric_of_costs(), parameters.block_size)
    }

    /// That of blocks of `side` samples an axis.
    pub(crate) fn new(algorithm: Algorithm, metric: Metric, side: usize) -> Self {
        // The share of a block of one sample, in fortieths.
        let of_one = match algorithm {
            // The least of many costs, at different places.
            Algorithm::Full | Algorithm::ThreeStep => 96,
            // Two costs of the same samples.
            Algorithm::Hierarchical => 64,
        };
        let whole = 40 * side as u64;
        let part = of_one.max(whole / 8);
        match metric {
            Metric::Sad => Self { part, whole },
            // A cost is the square of differences: a share of it remains that is the square of what remains of them.
            Metric::Ssd => {
                let rest = whole - part;
                Self { part: whole * whole - rest * rest, whole: whole * whole }
            }
        }
    }

    /// [`CostKind::Confidence`] in a match that costs `cost` where the other explanation costs `other`, [`u32::MAX`] if
    /// there is none: then nothing tells how good the match is.
    pub(crate) fn confidence(self, cost: u32, other: u32) -> u32 {
        if cost >= other || other == u32::MAX {
            return 0;
        }
        let (trusted, most) = (u64::from(CostKind::TRUSTED), 255);
        let Self { part, whole } = self;
        // The gain, and the one that noise has, as parts of the same whole.
        let (gain, noise) = (u64::from(other - cost) * whole, u64::from(other) * part);
        let confidence = match gain < noise {
            true => trusted * gain / noise,
            false => trusted + (most - trusted) * (gain - noise) / (u64::from(other) * whole - noise),
        };
        confidence as u32
    }
}
