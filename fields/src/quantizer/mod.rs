//! Quantiser offsets of the macroblocks of a frame, from its motion field and its regions of interest.
//!
//! An encoder adds an offset to the quantiser that it chose for a macroblock: below zero the macroblock gets more bits. The
//! element `motionx264enc` gives these offsets to x264, and `motionoverlay style=quantizer` draws them. Another encoder
//! that takes offsets needs no more than [`QuantizerOffsets`].

mod regions;
mod resample;

use motion_search::quantizer::MACROBLOCK;
pub use motion_search::quantizer::{PERIOD, Rule};

use crate::meta::{MetaError, MotionVectorMeta};
use motion_search::quantizer::MotionOffsets;
use regions::Regions;
use resample::Resampler;

/// An offset is at most this far from zero. Quantisers of H.264 for eight bits are 0 to 51, but x264 multiplies the costs of
/// blocks by 2^(-offset / 6) and adds them up in 32 bits.
pub const MAX_OFFSET: f32 = 24.0;

/// The offsets of frames of one size, one after another.
pub struct QuantizerOffsets {
    size: (u32, u32),
    motion: MotionOffsets,
    resampler: Resampler,
    regions: Regions,
    offsets: Vec<f32>,
}

/// Where the offsets of a frame come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// From a motion field.
    pub motion: bool,
    /// From regions of interest.
    pub regions: bool,
}

impl Origins {
    /// Whether there are any offsets.
    pub fn any(self) -> bool {
        self.motion || self.regions
    }
}

/// The field of `buffer` that offsets are made of, with the previous frame as reference.
///
/// # Errors
/// [`MetaError`] if it does not follow the format, or is not for frames of `size`.
pub fn field_of(buffer: &gst::BufferRef, size: (u32, u32)) -> Result<Option<MotionVectorMeta>, MetaError> {
    MotionVectorMeta::at_offset(buffer, -1).map(|field| field?.of_frame(size)).transpose()
}

impl QuantizerOffsets {
    /// For frames of `size`, width and height in samples.
    pub fn new(size: (u32, u32)) -> Self {
        let [columns, rows] = [size.0, size.1].map(|side| side.div_ceil(MACROBLOCK as u32) as usize);
        Self {
            size,
            motion: MotionOffsets::new(columns, rows),
            resampler: Resampler::default(),
            regions: Regions::new((columns, rows)),
            offsets: vec![0.0; columns * rows],
        }
    }

    /// Columns and rows of macroblocks.
    pub fn grid(&self) -> (usize, usize) {
        self.motion.grid()
    }

    /// Frames since the last key unit.
    pub fn distance(&self) -> u32 {
        self.motion.distance()
    }

    /// The next frame is the one at `distance` from the last key unit; 0: it begins one.
    pub fn set_distance(&mut self, distance: u32) {
        self.motion.set_distance(distance);
    }

    /// Computes the offsets of the frame in `buffer`: `strength` times those that follow by `rule` from the motion field
    /// `field`, if it is with the previous frame and has the costs `intra` and `satd`, plus those of the regions of interest.
    pub fn next(
        &mut self,
        buffer: &gst::BufferRef,
        field: Option<&MotionVectorMeta>,
        (strength, rule): (f32, Rule),
    ) -> Origins {
        let field = field.filter(|field| field.description().reference_offset == -1);
        let blocks = field.and_then(|field| self.resampler.resample(field, self.motion.grid()));
        let motion = blocks.is_some();
        match blocks {
            Some(blocks) => {
                let found = self.motion.next(blocks, rule);
                self.offsets.iter_mut().zip(found).for_each(|(offset, found)| *offset = strength * found);
            }
            None => {
                self.motion.skip();
                self.offsets.fill(0.0);
            }
        }
        let regions = self.regions.add_to(&mut self.offsets, buffer, self.size);
        Origins { motion, regions }
    }

    /// The offsets of the frame, row-major.
    pub fn offsets(&self) -> &[f32] {
        &self.offsets
    }
}
