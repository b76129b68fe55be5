//! The extension module `motion_search._native`: the library for the Python package around it, which has the documentation, the
//! defaults and the types.
//!
//! | file | what |
//! |---|---|
//! | `arrays` | numpy arrays as frames, and back |
//! | `settings` | what Python's keywords mean for a search |
//! | `search` | pairs and streams of frames |
//! | `interpolate`, `denoise` | what `motion-frames` makes |
//! | `pictures` | flow, colours and arrows |
//! | `process` | signals, forks, panics |
#![forbid(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]
#![deny(missing_docs, unsafe_code)]

#[allow(unsafe_code)]
mod arrays;
mod denoise;
mod interpolate;
mod pictures;
mod process;
mod search;
mod settings;

use pyo3::prelude::*;

/// The library behind the package `motion_search`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::denoise::Denoise;
    #[pymodule_export]
    use crate::interpolate::interpolate;
    #[pymodule_export]
    use crate::pictures::{dense, draw_arrows, motion_colors};
    #[pymodule_export]
    use crate::search::{Stream, devices, search};
    #[pymodule_export]
    use crate::settings::Settings;
}
