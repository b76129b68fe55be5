use std::convert::Infallible;
use std::ops::Range;

use crate::References;
use crate::units::MAX_DISPLACEMENT;

/// Why a device or a session cannot be opened.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The block size is not supported by the algorithm.
    #[error("block size {size} is not supported by algorithm {algorithm}: use {supported}")]
    #[allow(missing_docs)]
    BlockSize { size: usize, algorithm: &'static str, supported: &'static str },
    /// The window does not contain the zero vector, or exceeds what a vector can hold.
    #[error(
        "search window x {x0}..={x1}, y {y0}..={y1} is not usable: it must hold (0, 0) and stay \
         within ±{MAX_DISPLACEMENT} samples"
    )]
    #[allow(missing_docs)]
    Window { x0: i32, x1: i32, y0: i32, y1: i32 },
    /// The searched area is smaller than a block.
    #[error(
        "a searched area of {side} x {side} samples does not hold a block of {block_size}: use a side of {block_size} or more"
    )]
    #[allow(missing_docs)]
    WindowArea { side: usize, block_size: usize },
    /// The text is no window.
    #[error(
        "\"{text}\" is no search window: use the side of the searched area in samples, such as 47, or the first and last \
         displacements in samples as x0,x1,y0,y1, such as -16,15,-16,15"
    )]
    #[allow(missing_docs)]
    WindowText { text: String },
    /// Hierarchical search, which has no window, with one.
    #[error(
        "a search window does not apply to algorithm hierarchical, which has none: leave it out, or use algorithm full or \
         three-step"
    )]
    WindowAlgorithm,
    /// Samples of so many bits cannot be searched, or not by the algorithm or the metric.
    #[error("samples of {depth} bits cannot be searched by {searched_by}: {advice}")]
    #[allow(missing_docs)]
    BitDepth { depth: u32, searched_by: &'static str, advice: &'static str },
    /// The frame has no samples, or too many on an axis.
    #[error("a frame of {width} x {height} samples cannot be searched: use 1 to 32768 an axis")]
    #[allow(missing_docs)]
    FrameSize { width: usize, height: usize },
    /// Hierarchical search, whose vectors have a precision of their own, with sub-sample refinement.
    #[error(
        "refinement to {sub_sample} samples does not apply to algorithm hierarchical, whose vectors are in 1/32 sample: \
         leave it out, or use algorithm full or three-step"
    )]
    #[allow(missing_docs)]
    SubSample { sub_sample: &'static str },
    /// Hierarchical search, which has no window, with the second least cost of the window.
    #[error(
        "the cost second is the least of other candidates of the search window, which algorithm hierarchical does not \
         have: leave it out, or use algorithm full or three-step"
    )]
    SecondCost,
    /// There is no reference frame, or there are too many.
    #[error(
        "{backward} earlier and {forward} later reference frames cannot be searched: use 1 or more, at most {most} \
         each way",
        most = References::MOST
    )]
    #[allow(missing_docs)]
    References { backward: usize, forward: usize },
    /// Scene cuts without the field that they are found by.
    #[error(
        "scene cuts are found by comparing each frame with the frame before, which is not searched: search at least one \
         earlier reference frame"
    )]
    SceneCut,
    /// A number of threads or of searches in flight that is out of range.
    #[error("{setting}: {value} is not usable: use {least} to {most}")]
    #[allow(missing_docs)]
    Count { setting: &'static str, value: usize, least: usize, most: usize },
    /// A tuning value that is invalid or unknown.
    #[error("tuning {field}: {reason}. Known are: {known}")]
    Tuning {
        /// The field, by its name in properties and files.
        field: String,
        /// What is wrong with it.
        reason: String,
        /// All fields.
        known: String,
    },
    /// No device has the name.
    #[error("no device matches \"{wanted}\". Available: {available}")]
    NoSuchDevice {
        /// The name that was given.
        wanted: String,
        /// Every available device, with the names that select it.
        available: String,
    },
    /// The name is valid, but what it asks for is not supported.
    #[error("device \"{wanted}\": {reason}")]
    #[allow(missing_docs)]
    DeviceUnsupported { wanted: String, reason: String },
    /// The device cannot run the kernel with these parameters.
    #[error("kernel {kernel} cannot run on {device}: {reason}; {advice}")]
    #[allow(missing_docs)]
    KernelUnsupported { kernel: &'static str, device: String, reason: String, advice: String },
    /// The compiler of the device rejected a kernel.
    #[error("kernel {kernel} does not build on {device}")]
    KernelBuild {
        /// The kernel.
        kernel: &'static str,
        /// The device.
        device: String,
        /// What the compiler printed.
        log: String,
    },
    /// The device has too little memory.
    #[error("{device} cannot hold {what}: {needed} bytes are needed, {limit} are allowed")]
    #[allow(missing_docs)]
    Memory { device: String, what: &'static str, needed: u64, limit: u64 },
    /// The device reported another error.
    #[error("{device}: {message}")]
    #[allow(missing_docs)]
    Device { device: String, message: String },
}

// Not `From`, beside which `?` could not tell the type of an error that nothing else names.
#[allow(clippy::from_over_into)]
impl Into<SetupError> for Infallible {
    fn into(self) -> SetupError {
        match self {}
    }
}

/// Why a frame cannot be searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// The frame has another size than the parameters.
    #[error("a frame of {0} x {1} samples was given, expected {2} x {3}")]
    FrameSize(usize, usize, usize, usize),
    /// The frame has samples of another depth than the parameters.
    #[error("a frame with samples of {0} bits was given, expected {1} bits")]
    BitDepth(u32, u32),
    /// The slot holds no frame.
    #[error("no frame in slot {0}")]
    EmptySlot(usize),
    /// The session keeps no frame for what reads it after the search.
    #[error("the frames of a search are released, but still to be read")]
    NoFrame,
    /// The slot does not exist.
    #[error("there is no slot {0}")]
    NoSuchSlot(usize),
    /// A search in flight needs the frame in the slot.
    #[error("the frame in slot {0} is being searched")]
    SlotInUse(usize),
    /// No more searches can be in flight.
    #[error("{0} searches are in flight")]
    InFlight(usize),
    /// The search has no such part.
    #[error("the search has no part of rows of blocks {rows:?} and displacements number {displacements:?}")]
    #[allow(missing_docs)]
    NoSuchPart { rows: Range<usize>, displacements: Range<usize> },
    /// No search is in flight.
    #[error("no search is in flight")]
    NothingInFlight,
    /// The output has room for another number of vectors.
    #[error("the output has room for {0} vectors, the search returns {1}")]
    FieldSize(usize, usize),
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
    /// No such samples.
    #[error(
        "samples of {depth} bits with {shift} bits below them do not exist: use 8 bits in a byte, or 9 to 16 bits in \
         two bytes"
    )]
    #[allow(missing_docs)]
    Depth { depth: u32, shift: u32 },
    /// Rows would overlap.
    #[error("rows of {width} samples cannot be {stride} bytes apart")]
    #[allow(missing_docs)]
    Stride { width: usize, stride: usize },
    /// The slice ends before the last row does.
    #[error("the plane needs {needed} bytes and has {present}")]
    #[allow(missing_docs)]
    Short { needed: usize, present: usize },
}
