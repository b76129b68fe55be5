//! The one place that decides which device makes frames.

use crate::interpolation::{FrameFormat, FrameMaker, FrameQuality, Interpolator};
#[cfg(feature = "opencl")]
use crate::opencl::OpenClInterpolator;
use motion_base::SetupError;
use motion_search::backend::{DeviceSelector, OpenClDevice, open_beside};

/// A maker of frames, and if it is not the first choice of [`DeviceSelector::Auto`], the reason.
pub type OpenedMaker = (Box<dyn FrameMaker>, Option<SetupError>);

/// Opens a maker of frames of `format` for a search on `device`: on the same device, or of several ones on the first OpenCL
/// GPU; else on the CPU without OpenCL, with `threads` threads.
///
/// # Errors
/// [`SetupError`]: no such device; unless `device` is [`DeviceSelector::Auto`], also what keeps the device from starting.
pub fn open_maker(
    device: &DeviceSelector,
    format: &FrameFormat,
    quality: FrameQuality,
    threads: usize,
) -> Result<OpenedMaker, SetupError> {
    let (maker, fallback) = open_beside(device, |device| maker_on(device, format, quality))?;
    match maker {
        Some(maker) => Ok((maker, fallback)),
        None => Ok((native_maker(format, quality, threads)?, fallback)),
    }
}

/// Opens the CPU without OpenCL, to make frames of `format` in so many threads, 0 for one a core.
///
/// # Errors
/// [`SetupError`] if memory or threads are missing.
pub fn native_maker(
    format: &FrameFormat,
    quality: FrameQuality,
    threads: usize,
) -> Result<Box<dyn FrameMaker>, SetupError> {
    Ok(Box::new(Interpolator::new(format, quality, threads)?))
}

#[cfg(feature = "opencl")]
fn maker_on(
    device: &OpenClDevice,
    format: &FrameFormat,
    quality: FrameQuality,
) -> Result<Box<dyn FrameMaker>, SetupError> {
    Ok(Box::new(OpenClInterpolator::new(device, format, quality)?))
}

/// Without OpenCL here, other packages of a build may have it.
#[cfg(not(feature = "opencl"))]
fn maker_on(_: &OpenClDevice, _: &FrameFormat, _: FrameQuality) -> Result<Box<dyn FrameMaker>, SetupError> {
    Err(SetupError::DeviceUnsupported {
        wanted: "OpenCL".into(),
        reason: "this build makes frames on the CPU alone".into(),
    })
}
