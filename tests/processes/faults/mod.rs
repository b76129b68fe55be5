//! Faults: OpenCL calls that fail, come late or never end (`tests/c/fault_layer.c`), under real pipelines. A frame has the
//! right vectors whatever fails, or the bus has the error that was asked for.
//!
//! With the environment variable `FAULTS=all` every call is failed, else the first and the last one of each function in
//! each phase of a stream. `scripts/faults` runs all, and prints the table of `docs/reliability.md`.

mod cases;
mod endless;
mod failing;
mod files;
mod layer;
mod worker;
