//! The metrics: what costs are, and the costs of single candidates.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod deep;
mod metric;

pub use deep::{DeepCost, DeepSad, DeepSsd, Differences, Squares, joined, of_part, square};
pub use metric::{BoundUnit, ComputeCosts, Cost, CostValue, RegisterCost, Sad, Ssd};

/// Evaluates `$value` with `$cost` as the type for the metric and the samples of `$parameters`: the one place where they
/// become a type. If `$run` is given, it is the function of `Instructions`, which the caller imports, that runs work of
/// that type.
macro_rules! by_cost {
    ($parameters:expr, $cost:ident $(, $run:ident)? => $value:expr) => {{
        use crate::estimator::Metric;
        use crate::native::cost;
        match ($parameters.metric, $parameters.bit_depth) {
            (Metric::Sad, 8) => {
                type $cost = cost::Sad;
                $(let $run = Instructions::run_widest;)?
                $value
            }
            (Metric::Ssd, 8) => {
                type $cost = cost::Ssd;
                $(let $run = Instructions::run_widest;)?
                $value
            }
            (Metric::Sad, _) => {
                type $cost = cost::DeepSad;
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
