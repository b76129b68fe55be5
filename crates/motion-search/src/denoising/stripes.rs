//! Blocks of chroma side by side that have the same vector: with eight bits they are predicted together.

use super::rules::VectorEnds;
use crate::estimator::FrameView;

/// Samples of a row of blocks that are computed together: those of one block or more.
pub(super) const STRIPE: usize = 16;

/// Whether blocks of chroma `W` samples wide, of samples of this `depth`, fill stripes.
pub(super) fn fill_stripes<const W: usize>(depth: u32, ends: &[VectorEnds]) -> bool {
    depth == 8 && ends.iter().all(|ends| ends.together() >= STRIPE / W)
}

/// The prediction of some rows of [`STRIPE`] samples; a pixel has `P` samples.
#[derive(Clone, Copy)]
pub(super) struct Stripe<'a, const P: usize> {
    samples: &'a [u8],
    pitch: usize,
    /// Those of the four samples around each.
    weights: [u16; 4],
}

impl<'a, const P: usize> Stripe<'a, P> {
    /// That of `rows` rows of a plane from a position on, in eighths of pixels; `None` at the edges of the plane.
    #[inline(always)]
    pub fn at(plane: &FrameView<'a>, (x, y): (i32, i32), rows: usize) -> Option<Self> {
        let (samples, pitch) = plane.inside(((x >> 3) * P as i32, y >> 3), (STRIPE + P, rows + 1))?;
        let (right, down) = ((x & 7) as u16, (y & 7) as u16);
        let weights = [(8 - right) * (8 - down), right * (8 - down), (8 - right) * down, right * down];
        Some(Self { samples, pitch, weights })
    }

    /// Row `y` of it.
    #[inline(always)]
    pub fn row(&self, y: usize) -> [u16; STRIPE] {
        let above = &self.samples[y * self.pitch..][..STRIPE + P];
        let below = &self.samples[(y + 1) * self.pitch..][..STRIPE + P];
        let [a, b, c, d] = self.weights;
        let mut row = [0; STRIPE];
        for x in 0..STRIPE {
            let across = a * u16::from(above[x]) + b * u16::from(above[x + P]);
            row[x] = (across + c * u16::from(below[x]) + d * u16::from(below[x + P]) + 32) >> 6;
        }
        row
    }
}
