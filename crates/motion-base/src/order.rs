use crate::MotionVector;

/// The cost and the displacement of a candidate in one number, which orders candidates of full samples: the smallest
/// `(cost, |x| + |y|, y, x)` wins, compared left to right.
///
/// From the highest bit: 32 bits cost, 16 bits `|x| + |y|`, 15 bits `y + 8192`, 1 bit `x > 0`
/// (`|x| + |y|` and `y` determine x but for its sign). OpenCL kernels compute the same number.
/// [`MotionVector::better`] has the same order for vectors of any precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct OrderKey(pub u64);

impl OrderKey {
    /// Greater than the key of every candidate.
    pub const WORST: Self = Self(u64::MAX);

    const Y_BIAS: i32 = 8192;

    /// The key of the candidate displaced by `(x, y)` samples. That of a displacement that no
    /// [`Window`](crate::Window) holds says nothing.
    #[inline]
    pub fn new(cost: u32, x: i32, y: i32) -> Self {
        Self(u64::from(cost) << 32 | u64::from(Self::tie(x, y)))
    }

    /// The order of candidates of equal cost: the lower 32 bits of the key. It says nothing of a displacement that no
    /// [`Window`](crate::Window) holds.
    #[inline]
    pub fn tie(x: i32, y: i32) -> u32 {
        let length = x.unsigned_abs().wrapping_add(y.unsigned_abs());
        length << 16 | (y.wrapping_add(Self::Y_BIAS) as u32) << 1 | u32::from(x > 0)
    }

    /// The candidate's cost.
    #[inline]
    pub fn cost(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The candidate's displacement `(x, y)` in samples.
    #[inline]
    pub fn displacement(self) -> (i32, i32) {
        let tie = self.0 as u32;
        let y = (tie >> 1 & 0x7fff) as i32 - Self::Y_BIAS;
        let x = (tie >> 16) as i32 - y.abs();
        (if tie & 1 == 1 { x } else { -x }, y)
    }

    /// The candidate as a motion vector, with [`UNITS_PER_SAMPLE`](crate::UNITS_PER_SAMPLE).
    #[inline]
    pub fn vector(self) -> MotionVector {
        let (x, y) = self.displacement();
        MotionVector::from_samples(x, y, self.cost())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_orders_as_the_tuple_and_gives_back_its_displacement() {
        let mut keys = Vec::new();
        for cost in [0, 1, u32::MAX - 1] {
            for y in [-8191, -8190, -3, -2, -1, 0, 1, 2, 3, 8190, 8191] {
                for x in [-8191, -8190, -3, -2, -1, 0, 1, 2, 3, 8190, 8191] {
                    let key = OrderKey::new(cost, x, y);
                    assert_eq!(key.displacement(), (x, y));
                    assert_eq!(key.cost(), cost);
                    keys.push((key, (cost, x.abs() + y.abs(), y, x)));
                }
            }
        }
        for (a, tuple_a) in &keys {
            for (b, tuple_b) in &keys {
                assert_eq!(a.cmp(b), tuple_a.cmp(tuple_b), "{tuple_a:?} {tuple_b:?}");
            }
        }
    }
}
