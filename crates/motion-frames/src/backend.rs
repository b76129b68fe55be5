//! The one place that decides which device makes frames, and takes the noise out of them.

use crate::denoising::{Denoiser, FrameDenoiser, NoiseMap};
use crate::interpolation::{FrameFormat, FrameMaker, FrameQuality, Interpolator};
#[cfg(feature = "opencl")]
use crate::opencl::{OpenClDenoiser, OpenClInterpolator};
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

/// A denoiser, and if it is not the first choice of [`DeviceSelector::Auto`], the reason.
pub type OpenedDenoiser = (Box<dyn FrameDenoiser>, Option<SetupError>);

/// The frames that a denoiser is for.
#[derive(Clone, Debug)]
pub struct DenoisedStream {
    /// What they are.
    pub format: FrameFormat,
    /// The most frames that each is averaged with.
    pub references: usize,
    /// Of how many frames that were loaded last.
    pub loaded: usize,
}

/// Opens a denoiser of the frames of `stream`, on the device that [`open_maker`] would open, with so many threads.
///
/// # Errors
/// As [`open_maker`].
///
/// # Panics
/// As [`Denoiser::new`].
pub fn open_denoiser(
    device: &DeviceSelector,
    stream: &DenoisedStream,
    threads: usize,
) -> Result<OpenedDenoiser, SetupError> {
    let (denoiser, fallback) = open_beside(device, |device| denoiser_on(device, stream))?;
    match denoiser {
        Some(denoiser) => Ok((denoiser, fallback)),
        None => Ok((native_denoiser(stream, threads, None)?, fallback)),
    }
}

/// Opens the CPU without OpenCL, to take the noise out of the frames of `stream` in so many threads, 0 for one a core. It goes on
/// with `noise`, if there is some.
///
/// # Errors
/// [`SetupError`] if memory or threads are missing.
///
/// # Panics
/// As [`Denoiser::new`].
pub fn native_denoiser(
    stream: &DenoisedStream,
    threads: usize,
    noise: Option<NoiseMap>,
) -> Result<Box<dyn FrameDenoiser>, SetupError> {
    let mut denoiser = Denoiser::new(&stream.format, stream.references, stream.loaded, threads)?;
    if let Some(noise) = noise {
        denoiser.set_noise(noise);
    }
    Ok(Box::new(denoiser))
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

#[cfg(feature = "opencl")]
fn denoiser_on(device: &OpenClDevice, stream: &DenoisedStream) -> Result<Box<dyn FrameDenoiser>, SetupError> {
    let DenoisedStream { format, references, loaded } = stream;
    Ok(Box::new(OpenClDenoiser::new(device, format, *references, *loaded)?))
}

/// Without OpenCL here, other packages of a build may have it.
#[cfg(not(feature = "opencl"))]
fn maker_on(_: &OpenClDevice, _: &FrameFormat, _: FrameQuality) -> Result<Box<dyn FrameMaker>, SetupError> {
    Err(without_opencl())
}

#[cfg(not(feature = "opencl"))]
fn denoiser_on(_: &OpenClDevice, _: &DenoisedStream) -> Result<Box<dyn FrameDenoiser>, SetupError> {
    Err(without_opencl())
}

#[cfg(not(feature = "opencl"))]
fn without_opencl() -> SetupError {
    SetupError::DeviceUnsupported {
        wanted: "OpenCL".into(),
        reason: "this build makes frames on the CPU alone".into(),
    }
}
