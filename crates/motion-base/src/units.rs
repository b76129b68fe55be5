//! Units and limits of vectors.

/// Units per sample of the vectors of full and three-step search: quarter samples.
pub const UNITS_PER_SAMPLE: i32 = 4;

/// The longest displacement an axis, so that a vector in quarter samples fits 16 bits.
pub const MAX_DISPLACEMENT: i32 = i16::MAX as i32 / UNITS_PER_SAMPLE;
