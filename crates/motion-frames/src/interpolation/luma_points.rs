//! A frame's luma of eight bits at whole, half and quarter samples.

use motion_base::pyramid::planes::{LevelFrame, LevelLayout};
use motion_base::pyramid::quarter_samples::QuarterSamples;
use motion_base::pyramid::strips::HalfSamples;
use motion_base::simd::Instructions;
use motion_base::{FrameView, SetupError};

/// The eight bits of a frame's luma, and the samples between.
pub(crate) struct LumaPoints {
    frame: LevelFrame,
    half_samples: HalfSamples,
}

impl LumaPoints {
    /// Memory for a frame of this size.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new((width, height): (usize, usize)) -> Result<Self, SetupError> {
        let layout = LevelLayout::new(width, height);
        Ok(Self { frame: LevelFrame::new(layout)?, half_samples: HalfSamples::new(layout)? })
    }

    /// Computes those of `luma`.
    pub fn fill(&mut self, instructions: Instructions, luma: &FrameView<'_>) {
        self.frame.copy_from(luma);
        self.half_samples.fill(instructions, &self.frame);
    }

    /// The samples at quarter positions.
    pub fn quarter_samples(&self) -> QuarterSamples<'_> {
        QuarterSamples::new(&self.half_samples)
    }
}
