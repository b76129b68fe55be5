//! Blocks of chroma side by side that have the same vector: with eight bits they are predicted together.

use super::rules::VectorEnds;
use crate::interpolation::{Chroma, RegisterCell};

/// Samples of a row of blocks that are computed together: those of one block or more.
pub(super) const STRIPE: usize = 16;

/// A plane of chroma of eight bits in stripes of `H` rows.
pub(super) type Stripes<'a, const H: usize> = Chroma<'a, H>;

/// A stripe, each row in a register.
pub(super) type StripeCell<E, const H: usize> = RegisterCell<E, H>;

/// Whether blocks of chroma `W` samples wide, of samples of this `depth`, fill stripes.
pub(super) fn fill_stripes<const W: usize>(depth: u32, ends: &[VectorEnds]) -> bool {
    depth == 8 && ends.iter().all(|ends| ends.together() >= STRIPE / W)
}
