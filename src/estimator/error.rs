use std::ops::{Range, RangeInclusive};

use super::Slot;
use super::units::MAX_DISPLACEMENT;

/// Why an estimator could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The block size is not one that is searched.
    #[error("block size {0} is not supported: use a multiple of 4 from 4 to 64")]
    BlockSize(usize),
    /// The window leaves out the zero vector or goes past what a vector can hold.
    #[error(
        "search window x {x0}..={x1}, y {y0}..={y1} is not usable: it must hold (0, 0) and stay \
         within ±{MAX_DISPLACEMENT} samples"
    )]
    #[allow(missing_docs)]
    Window { x0: i32, x1: i32, y0: i32, y1: i32 },
    /// The frame has no samples, or more than the estimator can address.
    #[error("a frame of {width} x {height} samples cannot be searched: use 1 to 32768 an axis")]
    #[allow(missing_docs)]
    FrameSize { width: usize, height: usize },
    /// A tuning value that cannot be followed, or that is none.
    #[error("tuning {field}: {reason}. Known are: {known}")]
    Tuning {
        /// The field, as properties and files name it.
        field: String,
        /// What is wrong with it.
        reason: String,
        /// Every field there is.
        known: String,
    },
    /// No device answers to the name.
    #[error("no device matches \"{wanted}\". There is: {available}")]
    NoSuchDevice {
        /// What was asked for.
        wanted: String,
        /// Every device that is there, with the names that select it.
        available: String,
    },
    /// The name is understood, but asks for something this version does not do.
    #[error("device \"{wanted}\": {reason}")]
    #[allow(missing_docs)]
    DeviceUnsupported { wanted: String, reason: String },
    /// The device cannot run the kernel with these parameters.
    #[error("kernel {kernel} cannot run on {device}: {reason}; {advice}")]
    #[allow(missing_docs)]
    KernelUnsupported { kernel: &'static str, device: String, reason: String, advice: String },
    /// The device's compiler refused a kernel.
    #[error("kernel {kernel} does not build on {device}")]
    KernelBuild {
        /// The kernel.
        kernel: &'static str,
        /// The device.
        device: String,
        /// What its compiler printed.
        log: String,
    },
    /// The device has too little memory.
    #[error("{device} cannot hold {what}: {needed} bytes are needed, {limit} are allowed")]
    #[allow(missing_docs)]
    Memory { device: String, what: &'static str, needed: u64, limit: u64 },
    /// The device refused something else.
    #[error("{device}: {message}")]
    #[allow(missing_docs)]
    Device { device: String, message: String },
}

/// Why a frame could not be searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// The frame is not of the size the estimator was made for.
    #[error("a frame of {0} x {1} samples was given, {2} x {3} were announced")]
    FrameSize(usize, usize, usize, usize),
    /// There is no frame in that slot.
    #[error("no frame in slot {0:?}")]
    EmptySlot(Slot),
    /// The estimator has fewer slots.
    #[error("there is no slot {0:?}")]
    NoSuchSlot(Slot),
    /// A search in flight needs the frame in that slot.
    #[error("the frame in slot {0:?} is being searched")]
    SlotInUse(Slot),
    /// So many searches are in flight, too many for what was asked for.
    #[error("{0} searches are in flight")]
    InFlight(usize),
    /// The search has no such part, or the estimator finds none by itself.
    #[error("the search has no part of rows of blocks {rows:?} and displacements {displacements:?}")]
    #[allow(missing_docs)]
    NoSuchPart { rows: Range<usize>, displacements: RangeInclusive<i32> },
    /// No search is in flight.
    #[error("no search is in flight")]
    NothingInFlight,
    /// The vectors' slice has the wrong length.
    #[error("room for {0} vectors was given, {1} are found")]
    FieldSize(usize, usize),
    /// The estimator was made without prediction.
    #[error("the estimator was not made to predict vectors")]
    NotPredicting,
    /// There is no field whose vectors could be predicted.
    #[error("no field has been found yet")]
    NoField,
    /// The device failed.
    #[error("{device}: {message}")]
    #[allow(missing_docs)]
    Device { device: String, message: String },
}

/// Why samples are not a frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// No samples at all.
    #[error("a frame needs at least one sample, not {0} x {1}")]
    Empty(usize, usize),
    /// Rows would overlap.
    #[error("rows of {width} samples cannot be {stride} bytes apart")]
    #[allow(missing_docs)]
    Stride { width: usize, stride: usize },
    /// The slice ends before the last row does.
    #[error("the plane needs {needed} bytes and has {present}")]
    #[allow(missing_docs)]
    Short { needed: usize, present: usize },
}
