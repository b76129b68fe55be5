//! What is known of a block besides its vector.

/// A number that a session computes for each block besides its vector. [`algorithms`](crate::algorithms) defines
/// each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum CostKind {
    /// The sum of absolute transformed differences (SATD) between the block and the same place in the reference frame.
    Zero,
    /// The SATD between the block and the best of four predictions from the samples of its own frame above and to the
    /// left.
    Intra,
    /// The SATD between the block and what its vector leads to.
    Satd,
    /// The least cost, by the metric of the search, of the candidates at least two samples away from the vector on one
    /// axis.
    Second,
    /// The sum of squared differences between the block's samples and their mean; of samples of more than ten bits in units
    /// of ten bits.
    Variance,
    /// How much the vector is to be trusted, 0 to 255: how far the cost of its match is below that of another explanation of
    /// the block, compared with how far noise alone puts it there. The other explanation is [`Self::Second`], another
    /// match; of hierarchical search [`Self::Intra`], none. Noise alone gives one block in a thousand [`Self::TRUSTED`] or
    /// more, whatever the block size, the window, the metric and the algorithm.
    Confidence,
}

impl CostKind {
    /// Every kind, in the order in which they are attached.
    pub const ALL: [Self; 6] =
        [Self::Zero, Self::Intra, Self::Satd, Self::Second, Self::Variance, Self::Confidence];

    /// The least [`Self::Confidence`] of vectors that are to be trusted.
    pub const TRUSTED: u32 = 64;

    /// How far [`Self::Variance`] is shifted to the right for samples of `bit_depth` bits, so that every block has one.
    #[inline]
    pub fn variance_shift(bit_depth: u32) -> u32 {
        2 * bit_depth.saturating_sub(10)
    }

    /// Its name in properties and the metadata.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::Intra => "intra",
            Self::Satd => "satd",
            Self::Second => "second",
            Self::Variance => "variance",
            Self::Confidence => "confidence",
        }
    }
}

/// A set of [`CostKind`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Vec<CostKind>", into = "Vec<CostKind>"))]
pub struct CostKinds(u8);

impl CostKinds {
    /// No kind.
    pub const NONE: Self = Self(0);

    /// Whether there is none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// The number of kinds.
    #[inline]
    pub fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether `kind` is one of them.
    #[inline]
    pub fn contains(self, kind: CostKind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }

    /// The kinds, in the order of [`CostKind::ALL`].
    pub fn iter(self) -> impl Iterator<Item = CostKind> {
        CostKind::ALL.into_iter().filter(move |&kind| self.contains(kind))
    }
}

impl From<Vec<CostKind>> for CostKinds {
    fn from(kinds: Vec<CostKind>) -> Self {
        kinds.into_iter().collect()
    }
}

impl From<CostKinds> for Vec<CostKind> {
    fn from(kinds: CostKinds) -> Self {
        kinds.iter().collect()
    }
}

impl FromIterator<CostKind> for CostKinds {
    fn from_iter<I: IntoIterator<Item = CostKind>>(kinds: I) -> Self {
        Self(kinds.into_iter().fold(0, |kinds, kind| kinds | 1 << kind as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_one_order() {
        let kinds: CostKinds = [CostKind::Satd, CostKind::Zero, CostKind::Satd].into_iter().collect();
        assert_eq!(kinds.iter().collect::<Vec<_>>(), [CostKind::Zero, CostKind::Satd]);
        assert_eq!((kinds.count(), kinds.contains(CostKind::Intra), kinds.is_empty()), (2, false, false));
        assert_eq!(CostKind::ALL.into_iter().collect::<CostKinds>().count(), 6);
        assert!(CostKinds::NONE.is_empty() && CostKinds::NONE.iter().next().is_none());
    }
}
