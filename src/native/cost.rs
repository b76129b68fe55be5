//! The metrics, a type each: what the searches are generic over.

use crate::native::arch::register::{Register, SUMS};
use crate::native::engine::Engine;

/// A number that holds the cost of a part of a block.
pub trait CostValue:
    Copy + Ord + Default + Into<u32> + std::ops::BitOr<Output = Self> + Send + 'static
{
    /// The largest value, which means "no candidate".
    const MAX: Self;

    /// The number for `cost`; [`Self::MAX`] for costs that are too large for the type.
    fn from_cost(cost: u32) -> Self;

    /// A bit for each of `values` that is at most `limit`, the lowest bit for the first value.
    fn at_most<E: Engine>(engine: E, values: &[Self; SUMS], limit: Self) -> u32;
}

impl CostValue for u16 {
    const MAX: Self = Self::MAX;

    #[inline(always)]
    fn from_cost(cost: u32) -> Self {
        cost.min(u32::from(u16::MAX)) as u16
    }

    #[inline(always)]
    fn at_most<E: Engine>(engine: E, values: &[Self; SUMS], limit: Self) -> u32 {
        engine.at_most(values, limit)
    }
}

impl CostValue for u32 {
    const MAX: Self = Self::MAX;

    #[inline(always)]
    fn from_cost(cost: u32) -> Self {
        cost
    }

    #[inline(always)]
    fn at_most<E: Engine>(engine: E, values: &[Self; SUMS], limit: Self) -> u32 {
        let mut is_more = [0; SUMS];
        for i in 0..SUMS {
            is_more[i] = u16::from(values[i] > limit);
        }
        engine.at_most(&is_more, 0)
    }
}

/// A metric. A further one is an implementation of this trait, empty ones of
/// [`TileCost`](crate::native::exhaustive::engine::TileCost) and
/// [`BoundCost`](crate::native::elimination::engine::BoundCost), and a line in [`by_metric`].
pub trait Cost: Copy + Send + 'static {
    /// Holds the cost of 16 × 16 samples, and lower bounds of costs.
    type Value: CostValue;

    /// `sums` plus the costs of the samples of `c` and `r`.
    ///
    /// # Safety
    /// The CPU must have the instructions of `R`.
    unsafe fn add<R: Register>(sums: R, c: R, r: R) -> R;

    /// The lower bound of a cost, `bound`, raised by what a part of the block costs at least: one of `2^shift` samples
    /// whose sum differs from the candidate's by `difference`.
    fn raise(bound: Self::Value, difference: u16, shift: u32) -> Self::Value;
}

/// The sum of absolute differences. That of more than 16 × 16 samples may exceed its `Value`: such bounds are the
/// largest value, by which nothing is eliminated.
#[derive(Clone, Copy)]
pub struct Sad;

impl Cost for Sad {
    type Value = u16;

    #[inline(always)]
    unsafe fn add<R: Register>(sums: R, c: R, r: R) -> R {
        // SAFETY: the caller's promise.
        unsafe { R::add_differences(sums, c, r) }
    }

    #[inline(always)]
    fn raise(bound: u16, difference: u16, _: u32) -> u16 {
        bound.saturating_add(difference)
    }
}

/// The sum of squared differences.
#[derive(Clone, Copy)]
pub struct Ssd;

impl Cost for Ssd {
    type Value = u32;

    #[inline(always)]
    unsafe fn add<R: Register>(sums: R, c: R, r: R) -> R {
        // SAFETY: the caller's promise.
        unsafe { R::add_squares(sums, c, r) }
    }

    /// By the inequality of the quadratic mean.
    #[inline(always)]
    fn raise(bound: u32, difference: u16, shift: u32) -> u32 {
        let difference = u32::from(difference);
        bound.wrapping_add(difference.wrapping_mul(difference) >> shift)
    }
}

/// Evaluates `$value` with `$cost` as the type of `$metric`: the one place where a metric becomes a type.
macro_rules! by_metric {
    ($metric:expr, $cost:ident => $value:expr) => {
        match $metric {
            crate::estimator::Metric::Sad => {
                type $cost = crate::native::cost::Sad;
                $value
            }
            crate::estimator::Metric::Ssd => {
                type $cost = crate::native::cost::Ssd;
                $value
            }
        }
    };
}
pub(crate) use by_metric;
