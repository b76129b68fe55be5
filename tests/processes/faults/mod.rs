//! Faults: OpenCL calls that fail, come late or never end (`tests/c/fault_layer.c`), under real pipelines. A frame has the
//! right vectors whatever fails, or the bus has the error that was asked for.
//!
//! With `MOTION_TESTS=long` every call is failed, else the first and the last one of each function in each phase of a
//! stream. Each test prints a row with the number of cases by what came of them; `docs/contribute/tested.md` sums them up.

mod cases;
mod endless;
mod failing;
mod files;
mod layer;
mod worker;

pub use layer::Layer;
pub use worker::{frame, hash};
