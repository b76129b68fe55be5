#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

pub mod camera;
mod custom;
#[doc(hidden)]
pub mod frame;
pub mod meta;
#[doc(hidden)]
pub mod missing;
#[doc(hidden)]
pub mod properties;
pub mod quantizer;
