//! The metrics, a type each: what the searches are generic over.

use crate::native::arch::register::{Register, SUMS};
use crate::native::engine::Engine;
use crate::native::sample::SearchSample;

/// A number that holds the cost of a part of a block, or a bound of one.
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

/// A metric, of samples of one type. A further one is an implementation of this trait, of
/// [`TileCost`](crate::native::exhaustive::engine::TileCost) and
/// [`BoundCost`](crate::native::elimination::engine::BoundCost), and a line in [`by_cost`].
pub trait Cost: Copy + Send + 'static {
    /// A sample.
    type Sample: SearchSample;

    /// Holds the cost of 16 × 16 samples.
    type Value: CostValue;

    /// Holds lower bounds of costs.
    type Bound: CostValue;

    /// The lower bound of a cost, `bound`, raised by what a part of the block costs at least: one of `2^shift` samples
    /// whose sum differs from the candidate's by `difference`.
    fn raise(bound: Self::Bound, difference: u16, shift: u32) -> Self::Bound;

    /// The largest bound that a candidate of `cost` may have.
    fn limit(cost: u32, unit: BoundUnit) -> Self::Bound;
}

/// What one of the sums stands for that bounds are computed from. Sums have 16 bits, as those of eight-bit samples: sums
/// of deeper samples lose their lowest bits. So a difference of d may be one of more than d - 1 in these units.
#[derive(Clone, Copy, Default)]
pub struct BoundUnit {
    /// The bits that are lost: those of a sample beyond eight.
    pub lower: u32,
    /// The most sums of a block.
    pub sums: u32,
}

/// A metric of eight-bit samples, computed in registers.
pub trait RegisterCost: Cost<Sample = u8> {
    /// `sums` plus the costs of the samples of `c` and `r`.
    ///
    /// # Safety
    /// The CPU must have the instructions of `R`.
    unsafe fn add<R: Register>(sums: R, c: R, r: R) -> R;
}

/// The sum of absolute differences. That of more than 16 × 16 samples may exceed its `Value`: such bounds are the
/// largest value, by which nothing is eliminated.
#[derive(Clone, Copy)]
pub struct Sad;

impl Cost for Sad {
    type Sample = u8;
    type Value = u16;
    type Bound = u16;

    #[inline(always)]
    fn raise(bound: u16, difference: u16, _: u32) -> u16 {
        bound.saturating_add(difference)
    }

    #[inline(always)]
    fn limit(cost: u32, _: BoundUnit) -> u16 {
        u16::from_cost(cost)
    }
}

impl RegisterCost for Sad {
    #[inline(always)]
    unsafe fn add<R: Register>(sums: R, c: R, r: R) -> R {
        // SAFETY: the caller's promise.
        unsafe { R::add_differences(sums, c, r) }
    }
}

/// The sum of squared differences.
#[derive(Clone, Copy)]
pub struct Ssd;

impl Cost for Ssd {
    type Sample = u8;
    type Value = u32;
    type Bound = u32;

    /// By the inequality of the quadratic mean.
    #[inline(always)]
    fn raise(bound: u32, difference: u16, shift: u32) -> u32 {
        let difference = u32::from(difference);
        bound.wrapping_add(difference.wrapping_mul(difference) >> shift)
    }

    #[inline(always)]
    fn limit(cost: u32, _: BoundUnit) -> u32 {
        cost
    }
}

impl RegisterCost for Ssd {
    #[inline(always)]
    unsafe fn add<R: Register>(sums: R, c: R, r: R) -> R {
        // SAFETY: the caller's promise.
        unsafe { R::add_squares(sums, c, r) }
    }
}

/// The sum of absolute differences of deep samples, of which `TERMS` differences fit 16 bits.
#[derive(Clone, Copy)]
pub struct DeepSad<const TERMS: usize>;

impl<const TERMS: usize> Cost for DeepSad<TERMS> {
    type Sample = u16;
    type Value = u32;
    type Bound = u16;

    #[inline(always)]
    fn raise(bound: u16, difference: u16, shift: u32) -> u16 {
        Sad::raise(bound, difference, shift)
    }

    #[inline(always)]
    fn limit(cost: u32, unit: BoundUnit) -> u16 {
        u16::from_cost((cost >> unit.lower).saturating_add(unit.sums))
    }
}

/// The sum of squared differences of deep samples.
#[derive(Clone, Copy)]
pub struct DeepSsd;

impl Cost for DeepSsd {
    type Sample = u16;
    type Value = u32;
    type Bound = u32;

    /// As [`Ssd`], in units of the square of what a sum stands for.
    #[inline(always)]
    fn raise(bound: u32, difference: u16, shift: u32) -> u32 {
        Ssd::raise(bound, difference.saturating_sub(1), shift)
    }

    #[inline(always)]
    fn limit(cost: u32, unit: BoundUnit) -> u32 {
        cost >> (2 * unit.lower)
    }
}

/// Evaluates `$value` with `$cost` as the type for the metric and the bit depth of `$parameters`: the one place where
/// they become a type. If `$run` is given, it is the function of `Instructions`, which the caller imports, that runs work of
/// that type.
macro_rules! by_cost {
    ($parameters:expr, $cost:ident $(, $run:ident)? => $value:expr) => {{
        use crate::estimator::Metric;
        use crate::native::cost;
        match ($parameters.metric, $parameters.bit_depth) {
            (Metric::Sad, 8) => {
                type $cost = cost::Sad;
                $(let $run = Instructions::run;)?
                $value
            }
            (Metric::Ssd, 8) => {
                type $cost = cost::Ssd;
                $(let $run = Instructions::run;)?
                $value
            }
            (Metric::Sad, ..=10) => {
                type $cost = cost::DeepSad<64>;
                $(let $run = Instructions::run_deep;)?
                $value
            }
            (Metric::Sad, _) => {
                type $cost = cost::DeepSad<1>;
                $(let $run = Instructions::run_deep;)?
                $value
            }
            (Metric::Ssd, _) => {
                type $cost = cost::DeepSsd;
                $(let $run = Instructions::run_deep;)?
                $value
            }
        }
    }};
}
pub(crate) use by_cost;
