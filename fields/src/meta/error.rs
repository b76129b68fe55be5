//! What is wrong with a motion field.

use super::VERSION;

/// Why a motion field cannot be read or attached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetaError {
    /// A field of the structure is missing or has another type.
    #[error("field \"{0}\" is missing or has a wrong type")]
    Field(&'static str),
    /// The structure is of a later version.
    #[error("unknown meta version {0}: this build reads version {VERSION}")]
    Version(u32),
    /// The vectors have no unit.
    #[error("vectors have 0 units per sample: 1 or more are needed")]
    Scale,
    /// Samples of so many bits are not searched.
    #[error("costs of samples of {0} bits: expected 8 to 16")]
    BitDepth(u32),
    /// The metric is not known.
    #[error("unknown metric \"{0}\": expected \"sad\" or \"ssd\"")]
    Metric(String),
    /// The grid does not match the frame and block size.
    #[error(
        "a frame of {width} x {height} samples in blocks of {block_width} x {block_height} cannot have \
         {columns} x {rows} vectors"
    )]
    #[allow(missing_docs)]
    Grid { width: u32, height: u32, block_width: u32, block_height: u32, columns: u32, rows: u32 },
    /// The number of vectors does not match the grid.
    #[error("{needed} bytes of vectors are needed, there are {present}")]
    #[allow(missing_docs)]
    Length { needed: u64, present: usize },
    /// The number of predictors does not match the grid.
    #[error("{needed} bytes of predictors are needed, there are {present}")]
    #[allow(missing_docs)]
    PredictorLength { needed: u64, present: usize },
    /// A row has the index of a device that is not in the list of names.
    #[error("a row has device index {device}, but only {names} devices are named")]
    #[allow(missing_docs)]
    Device { device: u8, names: usize },
    /// The number of device indices does not match the number of rows of blocks.
    #[error("{rows} device indices are needed, one per row of blocks; there are {present}")]
    #[allow(missing_docs)]
    DeviceRows { rows: u32, present: usize },
    /// The number of costs does not match the grid and the names.
    #[error("{needed} bytes of costs are needed, one number for each name a block; there are {present}")]
    #[allow(missing_docs)]
    CostLength { needed: u64, present: usize },
    /// The field is for frames of another size.
    #[error("a motion field for frames of {} x {} samples came with a frame of {} x {} samples", field.0, field.1, frame.0, frame.1)]
    #[allow(missing_docs)]
    FrameSize { field: (u32, u32), frame: (u32, u32) },
    /// GStreamer refused to add the meta.
    #[error("GStreamer refused to add the meta to the buffer")]
    Rejected,
}
