//! The program `motion-vectors`, as it is called.
#![allow(missing_docs)]

mod bad_input;
mod devices;
mod exact;
mod manual;
mod outputs;
mod support;
