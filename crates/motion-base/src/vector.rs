use crate::EstimateError;
use crate::units::UNITS_PER_SAMPLE;

/// One block's motion: the record of the metadata, 8 bytes in host byte order.
///
/// The block at `(bx, by)` of the current frame is matched by the block at `(bx + x, by + y)`
/// of the reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(C)]
pub struct MotionVector {
    /// To the right, in the units of [`Algorithm::scale`](crate::Algorithm::scale).
    pub x: i16,
    /// Down, in the same units.
    pub y: i16,
    /// SAD or SSD of the match.
    pub cost: u32,
}

impl MotionVector {
    /// A vector of whole samples, of full or three-step search. One of more samples than
    /// [`MAX_DISPLACEMENT`](crate::MAX_DISPLACEMENT) says nothing.
    #[inline]
    pub fn from_samples(x: i32, y: i32, cost: u32) -> Self {
        let units = |samples: i32| samples.wrapping_mul(UNITS_PER_SAMPLE) as i16;
        Self { x: units(x), y: units(y), cost }
    }

    /// The full samples of the displacement: across, and down. The fraction is dropped.
    #[inline]
    pub fn full_samples(self) -> (i32, i32) {
        (i32::from(self.x) / UNITS_PER_SAMPLE, i32::from(self.y) / UNITS_PER_SAMPLE)
    }

    /// The better of two matches of one block, in the order of full search on the units of the vectors:
    /// the smaller `(cost, |x| + |y|, y, x)`. A cost of [`u32::MAX`] marks a block without a match.
    #[must_use]
    #[inline]
    pub fn better(self, other: Self) -> Self {
        let key = |v: Self| {
            let (x, y) = (i32::from(v.x), i32::from(v.y));
            (x.abs() + y.abs(), y, x)
        };
        // Equal costs are rare. Of two others one is selected without a branch, as either may be the lower one.
        if self.cost == other.cost && self.cost != u32::MAX {
            return if key(other) < key(self) { other } else { self };
        }
        if other.cost < self.cost { other } else { self }
    }
}

/// The size of a field in blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Grid {
    /// Blocks across.
    pub columns: usize,
    /// Blocks down.
    pub rows: usize,
}

impl Grid {
    /// Blocks in all.
    #[inline]
    pub fn blocks(&self) -> usize {
        self.columns.saturating_mul(self.rows)
    }

    /// Checks that `records` has one record a block.
    ///
    /// # Errors
    /// [`EstimateError::FieldSize`] where it has not.
    #[inline]
    pub fn check<T>(&self, records: &[T]) -> Result<(), EstimateError> {
        if records.len() == self.blocks() {
            Ok(())
        } else {
            Err(EstimateError::FieldSize(records.len(), self.blocks()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_vector_has_the_lower_cost_then_the_shorter_way_then_the_lower_y_and_x() {
        let ends = [i16::MIN, -2, -1, 0, 1, 2, i16::MAX];
        let costs = [0, 1, u32::MAX - 1, u32::MAX];
        let vectors = costs.into_iter().flat_map(|cost| {
            ends.into_iter().flat_map(move |x| ends.map(move |y| MotionVector { x, y, cost }))
        });
        let vectors: Vec<_> = vectors.collect();
        let key = |v: MotionVector| {
            let (x, y) = (i32::from(v.x), i32::from(v.y));
            (v.cost, x.abs() + y.abs(), y, x)
        };
        for &one in &vectors {
            for &other in &vectors {
                let expected = if other.cost < u32::MAX && key(other) < key(one) { other } else { one };
                assert_eq!(one.better(other), expected, "{one:?} {other:?}");
            }
        }
    }
}
