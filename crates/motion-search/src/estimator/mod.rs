//! The vocabulary of motion estimation, and the [`Device`] trait.
//!
//! Nothing here knows of GStreamer, OpenCL or SIMD. [`oracle`] defines each algorithm in plain loops: every
//! device returns the same field, bit for bit.

mod device;
mod doubt;
mod field;
mod flights;
pub mod oracle;
mod output;
mod part;
mod report;
mod slot;

pub use device::{Device, DeviceInfo, Request, Ticket, WindowParts, search};
pub(crate) use doubt::Doubt;
pub use field::{FieldError, MotionField, motion_color};
pub(crate) use flights::{Flight, Flights};
pub(crate) use motion_base::NATIVE;
#[doc(inline)]
pub use motion_base::{
    Algorithm, BlockHandle, Border, CostKind, CostKinds, Displacement, EstimateError, Frame, FrameError,
    FrameSource, FrameView, Grid, HostBlock, HostMemory, Launcher, Launching, MAX_DISPLACEMENT, Metric,
    MotionVector, OrderKey, Parameters, PooledRecords, Prediction, Predictor, Quality, RecordPool,
    References, Sample, SampleFormat, SetupError, SubSample, UNITS_PER_SAMPLE, Window, prediction,
};
pub use output::{Output, StageTimes};
pub use part::Part;
pub use report::{DeviceShare, Notice};
pub use slot::Slot;
