//! What the crate has with its feature `opencl`.

mod clock;
pub mod context;
pub mod device;
pub mod host;
pub mod launcher;
pub mod program;
pub mod watch;

pub use device::{DeviceKind, OpenClDevice, devices};
#[cfg(feature = "cuda")]
pub use launcher::cuda::{CudaContext, CudaPlane};
pub use program::try_build;
