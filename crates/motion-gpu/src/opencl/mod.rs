//! What the crate has with its feature `opencl`.

mod cl;
mod clock;
pub mod context;
#[cfg(feature = "cuda")]
mod cuda;
pub mod device;
pub mod host;
pub mod launcher;
pub mod program;
pub mod watch;

#[cfg(feature = "cuda")]
pub use cuda::{CudaContext, CudaPlane};
pub use device::{DeviceKind, OpenClDevice, devices};
pub use program::try_build;
