//! The flags of the `costs` property.
// The macro makes items whose documentation it does not take.
#![allow(missing_docs)]

use motion_search::estimator::{CostKind, CostKinds};

/// What is attached of each block besides its vector.
#[glib::flags(name = "GstMotionEstimateCosts")]
pub enum MotionEstimateCosts {
    /// See [`CostKind::Zero`].
    #[flags_value(name = "SATD of no motion", nick = "zero")]
    ZERO = 1 << 0,
    /// See [`CostKind::Intra`].
    #[flags_value(name = "SATD of the best prediction from the current frame's own samples", nick = "intra")]
    INTRA = 1 << 1,
    /// See [`CostKind::Satd`].
    #[flags_value(name = "SATD of the vector", nick = "satd")]
    SATD = 1 << 2,
    /// See [`CostKind::Second`].
    #[flags_value(name = "Least cost at least two samples away from the vector", nick = "second")]
    SECOND = 1 << 3,
    /// See [`CostKind::Variance`].
    #[flags_value(
        name = "Sum of squared differences between samples and their mean, of at most ten bits",
        nick = "variance"
    )]
    VARIANCE = 1 << 4,
    /// See [`CostKind::Confidence`].
    #[flags_value(name = "How much the vector is to be trusted, 0 to 255", nick = "confidence")]
    CONFIDENCE = 1 << 5,
}

impl From<MotionEstimateCosts> for CostKinds {
    fn from(costs: MotionEstimateCosts) -> Self {
        let flag = |kind| match kind {
            CostKind::Zero => MotionEstimateCosts::ZERO,
            CostKind::Intra => MotionEstimateCosts::INTRA,
            CostKind::Satd => MotionEstimateCosts::SATD,
            CostKind::Second => MotionEstimateCosts::SECOND,
            CostKind::Variance => MotionEstimateCosts::VARIANCE,
            CostKind::Confidence => MotionEstimateCosts::CONFIDENCE,
        };
        CostKind::ALL.into_iter().filter(|&kind| costs.contains(flag(kind))).collect()
    }
}
