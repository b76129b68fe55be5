//! Units and limits of vectors.

/// Units of a vector in one sample: vectors are stored in quarter samples.
pub const UNITS_PER_SAMPLE: i32 = 4;

/// The longest displacement an axis, so that a vector in quarter samples fits 16 bits.
pub const MAX_DISPLACEMENT: i32 = i16::MAX as i32 / UNITS_PER_SAMPLE;
