//! Frames without noise.

use std::collections::VecDeque;
use std::error::Error;

use motion_base::Frame;
use motion_frames::backend::{DenoisedStream, open_denoiser};
use motion_frames::denoising::{
    FrameDenoiser, LoadedFrame, LumaSlot, NoiseLevel, ReferenceFrame, Strength, search_parameters,
};
use motion_frames::interpolation::FrameFormat;
use motion_search::backend::{self, Grouping};
use motion_search::estimator::{Output, References};
use motion_search::session::{FrameSlot, Session};
use motion_search::tuning::{Kernel, Tuning};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::{Depth, Planes, Samples, to_arrays};
use crate::interpolate::{copy, write};
use crate::process::{self, Owned, Shared, beside_python};
use crate::settings::refused;

/// The field of a frame, by its number, in the frame so many after it.
struct FieldPlace {
    frame: usize,
    offset: isize,
}

/// A frame of the stream, and those that repeat it.
struct WindowFrame {
    planes: Vec<Frame>,
    repeats: usize,
    slot: FrameSlot,
    luma: LumaSlot,
    /// Its fields, and how many frames after it those are in which they were found.
    fields: Vec<(isize, Output)>,
    in_flight: usize,
}

impl WindowFrame {
    fn loaded(&self) -> LoadedFrame<'_> {
        LoadedFrame { slot: self.luma, planes: &self.planes }
    }
}

/// A frame without its noise, and how often it was repeated.
type Clean = (Vec<Samples>, usize);

/// The frames that are needed at a time.
struct Window {
    format: FrameFormat,
    strength: Strength,
    references: References,
    session: Session<FieldPlace>,
    denoiser: Box<dyn FrameDenoiser>,
    /// Frames that have left and later ones are averaged with, then those that wait.
    frames: VecDeque<WindowFrame>,
    /// How many of them have left.
    left: usize,
    /// The number of the first of them.
    first: usize,
    /// The frame that left last, as long as repeats of it may come.
    last: Option<Vec<Samples>>,
}

impl Window {
    fn open(purpose: &Purpose, format: &FrameFormat) -> PyResult<Self> {
        let Purpose { strength, level, is_spatial, references, device, threads, .. } = purpose;
        let device = process::device(device)?;
        let (width, height) = format.size;
        let parameters = search_parameters(width, height, *references).map_err(refused)?;
        let tuning = Tuning { threads: Some(*threads), ..Tuning::default() };
        let session = backend::open(&device, Kernel::Auto, &tuning, Grouping::default(), &parameters);
        let stream = DenoisedStream {
            format: format.clone(),
            references: references.count(),
            loaded: references.backward + 1 + references.forward,
        };
        let (mut denoiser, _) = open_denoiser(&device, &stream, *threads).map_err(refused)?;
        denoiser.set_noise_level(*level);
        denoiser.set_spatial(*is_spatial);
        Ok(Self {
            format: format.clone(),
            strength: *strength,
            references: *references,
            session: session.map_err(refused)?.0,
            denoiser,
            frames: VecDeque::new(),
            left: 0,
            first: 0,
            last: None,
        })
    }

    /// Takes the next frame. Returns the frames that leave now.
    fn take(&mut self, planes: Vec<Frame>) -> Result<Vec<Clean>, Box<dyn Error>> {
        let has_left = self.left == self.frames.len();
        if let Some(newest) = self.frames.back_mut()
            && newest.planes == planes
        {
            // Its noise is no other noise.
            if has_left {
                return Ok(self.last.iter().map(|last| (last.clone(), 0)).collect());
            }
            newest.repeats += 1;
            return Ok(Vec::new());
        }
        let References { backward, forward } = self.references;
        while self.session.in_flight() + self.references.count() > self.session.depth() {
            self.finish_search()?;
        }
        let (search_frame, luma) = self.denoiser.load(&planes)?;
        let slot = self.session.add_frame(search_frame)?;
        let mut frame = WindowFrame { planes, repeats: 0, slot, luma, fields: Vec::new(), in_flight: 0 };
        let (number, left) = (self.first + self.frames.len(), self.left);
        for (distance, (index, earlier)) in (1..).zip(self.frames.iter_mut().enumerate().rev()) {
            if distance <= backward {
                let place = FieldPlace { frame: number, offset: -(distance as isize) };
                self.session.start_search(slot, earlier.slot, place)?;
                frame.in_flight += 1;
            }
            if distance <= forward && index >= left {
                let place = FieldPlace { frame: number - distance, offset: distance as isize };
                self.session.start_search(earlier.slot, slot, place)?;
                earlier.in_flight += 1;
            }
            if distance == self.references.reach() {
                // Later frames are too far from it to be searched together with it.
                self.session.release_frame(earlier.slot);
            }
        }
        self.frames.push_back(frame);
        let mut clean = Vec::new();
        while self.frames.len() - self.left > forward {
            clean.push(self.leave()?);
        }
        Ok(clean)
    }

    /// The frames that wait, as no others come.
    fn finish(&mut self) -> Result<Vec<Clean>, Box<dyn Error>> {
        (self.left..self.frames.len()).map(|_| self.leave()).collect()
    }

    /// Waits for the search that began first.
    fn finish_search(&mut self) -> Result<(), Box<dyn Error>> {
        let (FieldPlace { frame, offset }, output) = self.session.finish_search()?;
        let frame = &mut self.frames[frame - self.first];
        frame.in_flight -= 1;
        frame.fields.push((offset, output));
        Ok(())
    }

    /// The next frame that leaves.
    fn leave(&mut self) -> Result<Clean, Box<dyn Error>> {
        while self.frames[self.left].in_flight > 0 {
            self.finish_search()?;
        }
        let Self { format, strength, denoiser, frames, left, .. } = self;
        let frame = &frames[*left];
        let references = frame.fields.iter().filter_map(|(offset, field)| {
            let other = frames.get(left.checked_add_signed(*offset)?)?;
            Some(ReferenceFrame { frame: other.loaded(), vectors: &field.vectors, offset: *offset })
        });
        let references: Vec<_> = references.collect();
        let noise = denoiser.measure(frame.loaded(), &references, *strength)?;
        let clean: Vec<Samples> = if references.is_empty() || noise.is_none() || strength.is_none() {
            frame.planes.iter().map(|plane| copy(&plane.view())).collect()
        } else {
            let written = (0..frame.planes.len()).map(|index| {
                write(format, index, |plane| denoiser.write_plane(index, frame.loaded(), &references, plane))
            });
            written.collect::<Result<_, _>>()?
        };
        let repeats = frame.repeats;
        self.last = Some(clean.clone());
        self.left += 1;
        // Only a frame itself is averaged along its fields.
        self.frames[self.left - 1].fields.clear();
        // One more stays, with which a frame that comes is compared.
        while self.left > self.references.backward.max(1) {
            self.frames.pop_front();
            (self.left, self.first) = (self.left - 1, self.first + 1);
        }
        Ok((clean, repeats))
    }
}

/// What a stream is opened for, but for the format of its frames.
#[derive(Clone)]
struct Purpose {
    strength: Strength,
    level: NoiseLevel,
    is_spatial: bool,
    references: References,
    depth: Depth,
    device: String,
    threads: usize,
}

/// A stream of frames that leave without their noise.
#[pyclass(frozen, module = "motion_search._native")]
pub struct Denoise {
    purpose: Purpose,
    /// Opened for the first frame.
    window: Shared<Option<(FrameFormat, Owned<Window>)>>,
}

#[pymethods]
impl Denoise {
    #[new]
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (*, strength, noise_level, spatial, past, future, bit_depth, levels, device, threads))]
    fn new(
        strength: f64,
        noise_level: Option<f64>,
        spatial: bool,
        past: usize,
        future: usize,
        bit_depth: Option<u32>,
        levels: Option<(u16, u16)>,
        device: &str,
        threads: usize,
    ) -> PyResult<Self> {
        if !(0.0..=16.0).contains(&strength) {
            return Err(PyValueError::new_err(format!("strength is {strength}: use 0 to 16")));
        }
        let references = References { backward: past, forward: future };
        if !references.is_usable() {
            return Err(PyValueError::new_err(format!(
                "past is {past} and future is {future}: use 0 to {} each, and one frame at least",
                References::MOST
            )));
        }
        let level = noise_level.map(NoiseLevel::known).transpose();
        let purpose = Purpose {
            strength: Strength::new(strength),
            level: level.map_err(|error| PyValueError::new_err(error.to_string()))?.unwrap_or_default(),
            is_spatial: spatial,
            references,
            depth: Depth { bits: bit_depth, levels },
            device: device.into(),
            threads,
        };
        Ok(Self { purpose, window: Shared::new(None) })
    }

    /// Takes the next frame, which `name` stands for in messages. Returns those that leave now, each with how often it was repeated.
    fn take<'py>(
        &self,
        py: Python<'py>,
        frame: &Bound<'py, PyAny>,
        name: &str,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, usize)>> {
        let read = Planes::read(frame, name, self.purpose.depth, true)?;
        let opened = match self.window.take()? {
            Some(opened) => Ok(opened),
            None => {
                let (purpose, format) = (self.purpose.clone(), read.format.clone());
                let opened =
                    beside_python(py, move || Window::open(&purpose, &format).map(|window| (format, window)));
                opened.flatten().map(|(format, window)| (format, Owned::new(window)))
            }
        };
        let (format, window) = opened.inspect_err(|_| self.window.put(None))?;
        let checked = read.check(name, &format, "its first frame");
        if let Err(error) = checked {
            self.window.put(Some((format, window)));
            return Err(error);
        }
        self.work(py, (format, window), move |window| window.take(read.planes))
    }

    /// Returns the frames that wait, as no others come, each with how often it was repeated.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyAny>, usize)>> {
        match self.window.take()? {
            Some(opened) => self.work(py, opened, Window::finish),
            None => Ok(Vec::new()),
        }
    }
}

impl Denoise {
    fn work<'py>(
        &self,
        py: Python<'py>,
        (format, mut window): (FrameFormat, Owned<Window>),
        work: impl FnOnce(&mut Window) -> Result<Vec<Clean>, Box<dyn Error>> + Send + 'static,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, usize)>> {
        let (window, clean) = beside_python(py, move || {
            let clean = window.get().map(|window| work(window).map_err(|error| error.to_string()));
            (window, clean)
        })?;
        let clean = clean?.map_err(PyRuntimeError::new_err)?;
        let arrays = clean.iter().map(|(planes, repeats)| Ok((to_arrays(py, &format, planes)?, *repeats)));
        let arrays = arrays.collect();
        self.window.put(Some((format, window)));
        arrays
    }
}
