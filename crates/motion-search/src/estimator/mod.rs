//! The vocabulary of motion estimation, and the [`Device`] trait.
//!
//! Nothing here knows of GStreamer, OpenCL or SIMD. [`oracle`] defines each algorithm in plain loops: every
//! device returns the same field, bit for bit.

mod costs;
mod device;
mod doubt;
mod error;
mod field;
mod flights;
mod frame;
mod frame_view;
mod half_samples;
pub mod oracle;
mod order;
mod output;
mod parameters;
mod part;
pub mod prediction;
pub(crate) mod pyramid;
mod records;
mod references;
mod report;
mod sample;
mod slot;
mod sub_sample;
pub(crate) mod units;
mod vector;
mod window;

pub use costs::{CostKind, CostKinds};
pub(crate) use device::NATIVE;
pub use device::{Device, DeviceInfo, Launcher, Launching, Request, Ticket, search};
pub(crate) use doubt::Doubt;
pub use error::{EstimateError, FrameError, SetupError};
pub use field::MotionField;
pub(crate) use flights::{Flight, Flights};
pub use frame::{BlockHandle, Frame, FrameSource, HostBlock, HostMemory};
pub use frame_view::FrameView;
#[cfg(feature = "opencl")]
pub(crate) use frame_view::{PlaneCopy, copy_planes};
pub(crate) use half_samples::{half_samples_around, six_taps};
pub use order::OrderKey;
pub use output::{Output, StageTimes};
pub use parameters::{Algorithm, Border, Metric, Parameters};
pub use part::Part;
pub use prediction::{Prediction, Predictor};
pub use pyramid::Quality;
pub use records::{PooledRecords, RecordPool};
pub use references::References;
pub use report::{DeviceShare, Notice};
pub use sample::{Sample, SampleFormat};
pub use slot::Slot;
pub use sub_sample::SubSample;
pub use units::{MAX_DISPLACEMENT, UNITS_PER_SAMPLE};
pub use vector::{Grid, MotionVector};
pub use window::{Displacement, Window};
