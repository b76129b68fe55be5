//! Arrays of numpy as frames, which read them where they are, and planes as arrays.

use std::sync::Arc;

use motion_base::{Frame, FrameSource, SampleFormat};
use motion_frames::compensation::Sampling;
use motion_frames::interpolation::FrameFormat;
use numpy::{PyArray1, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods, dtype};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// The bytes of an array, from its first sample to its last.
struct ArrayBytes {
    /// Keeps the memory: an array that others refer to is not resized.
    _array: Py<PyUntypedArray>,
    first: *const u8,
    length: usize,
}

// SAFETY: the memory stays as long as the reference to the array, whoever holds that. The bytes are only read, and any bytes are
// samples: if a program writes into the array meanwhile, against what the documentation asks for, other samples are found.
unsafe impl Send for ArrayBytes {}
// SAFETY: as above.
unsafe impl Sync for ArrayBytes {}

impl FrameSource for ArrayBytes {
    fn bytes(&self) -> &[u8] {
        // SAFETY: `read` has made sure that these bytes are inside the memory of the array, which `_array` keeps.
        unsafe { std::slice::from_raw_parts(self.first, self.length) }
    }
}

/// How samples are to be understood: the bits that they have, if that is not their type's, and the levels that are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    pub bits: Option<u32>,
    pub levels: Option<(u16, u16)>,
}

/// The class of a value, for messages.
fn class_of(value: &Bound<'_, PyAny>) -> String {
    value.get_type().fully_qualified_name().map_or_else(|_| "another object".into(), |name| name.to_string())
}

/// A plane in an array.
struct Plane {
    frame: Frame,
    /// Samples of a pixel: 2 for interleaved chroma.
    pixel: usize,
    /// Whether a program may write into the array.
    is_writeable: bool,
}

impl Plane {
    /// The plane in `value`, which `name` stands for in messages.
    ///
    /// # Errors
    /// `TypeError` for what is no array of samples that can be read where they are; `ValueError` for one without samples, or of
    /// another depth.
    fn read(value: &Bound<'_, PyAny>, name: &str, depth: Depth) -> PyResult<Self> {
        let Ok(array) = value.cast::<PyUntypedArray>() else {
            return Err(PyTypeError::new_err(format!(
                "{name} is a {}, not a numpy.ndarray: convert it with numpy.asarray",
                class_of(value)
            )));
        };
        let (py, kind) = (value.py(), array.dtype());
        let bytes = if kind.is_equiv_to(&dtype::<u8>(py)) {
            1
        } else if kind.is_equiv_to(&dtype::<u16>(py)) {
            2
        } else {
            return Err(PyTypeError::new_err(format!(
                "{name} is an array of {kind}: samples are uint8 or uint16 in the byte order of this machine; convert them, \
                 for example with astype(numpy.uint8)"
            )));
        };
        let (shape, strides) = (array.shape(), array.strides());
        let (height, width, pixel) = match *shape {
            [height, width] => (height, width, 1),
            [height, width, 2] => (height, 2 * width, 2),
            [_, _, channels @ (3 | 4)] => {
                return Err(PyTypeError::new_err(format!(
                    "{name} has {channels} channels: give its luma, for example by cv2.cvtColor with cv2.COLOR_BGR2GRAY"
                )));
            }
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "{name} has {} axes: a plane of samples has two, (height, width)",
                    shape.len()
                )));
            }
        };
        if shape.contains(&0) {
            return Err(PyValueError::new_err(format!(
                "{name} has the shape {shape:?}: there is no sample in it"
            )));
        }
        // The distance of what is there only once means nothing.
        let lies = |axis: usize, distance: usize| shape[axis] == 1 || strides[axis] == distance as isize;
        let row = width * bytes;
        let stride = if height == 1 { row } else { usize::try_from(strides[0]).unwrap_or(0) };
        if !lies(1, pixel * bytes) || (pixel == 2 && !lies(2, bytes)) || stride < row {
            return Err(PyTypeError::new_err(format!(
                "{name} has the strides {strides:?}: the samples of a row must lie side by side, and the rows behind each \
                 other; copy it with numpy.ascontiguousarray"
            )));
        }
        // SAFETY: the reference keeps the array, whose fields numpy has filled in.
        let first = unsafe { (*array.as_array_ptr()).fields.data }.cast_const().cast::<u8>();
        // All distances lead upwards, and the last sample ends here.
        let length = stride * (height - 1) + row;
        let source = ArrayBytes { _array: array.clone().unbind(), first, length };
        let frame = Frame::with_format(Arc::new(source), (width, height), stride, depth.format(name, bytes)?)
            .map_err(|error| PyValueError::new_err(format!("{name}: {error}")))?;
        Ok(Self { frame, pixel, is_writeable: array.getattr("flags")?.getattr("writeable")?.is_truthy()? })
    }

    /// The frame, for longer than one call: its samples are copied if a program may write others in their place.
    fn kept(self) -> Frame {
        if !self.is_writeable {
            return self.frame;
        }
        let view = self.frame.view();
        let (size, row) = (view.size(), view.row_bytes());
        let mut samples = vec![0; row * size.1];
        view.copy_to_rows(&mut samples, row);
        Frame::with_format(Arc::new(samples), size, row, view.format())
            .unwrap_or_else(|error| unreachable!("a copy of a frame is one: {error}"))
    }
}

impl Depth {
    /// The format of samples of so many `bytes`.
    ///
    /// # Errors
    /// `ValueError` for bits that such samples do not have.
    fn format(self, name: &str, bytes: usize) -> PyResult<SampleFormat> {
        let bits = self.bits.unwrap_or(8 * bytes as u32);
        match (bytes, bits) {
            (1, 8) | (2, 9..=16) => (),
            (1, 9..=16) => {
                return Err(PyValueError::new_err(format!(
                    "{name} is an array of uint8 and bit_depth is {bits}: samples of 9 to 16 bits are in arrays of uint16"
                )));
            }
            (_, 8) => {
                return Err(PyValueError::new_err(format!(
                    "{name} is an array of uint16 and bit_depth is 8: convert it with astype(numpy.uint8)"
                )));
            }
            _ => return Err(PyValueError::new_err(format!("bit_depth is {bits}: use 8 to 16"))),
        }
        let format = SampleFormat::new(bits, 0).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(self.levels.map_or(format, |(black, white)| format.with_levels(black, white)))
    }
}

/// The luma plane in `value`, read where it is.
///
/// # Errors
/// As [`Plane::read`].
pub fn luma(value: &Bound<'_, PyAny>, name: &str, depth: Depth) -> PyResult<Frame> {
    single(value, name, depth).map(|plane| plane.frame)
}

/// The luma plane in `value`, for longer than one call.
///
/// # Errors
/// As [`Plane::read`].
pub fn kept_luma(value: &Bound<'_, PyAny>, name: &str, depth: Depth) -> PyResult<Frame> {
    single(value, name, depth).map(Plane::kept)
}

fn single(value: &Bound<'_, PyAny>, name: &str, depth: Depth) -> PyResult<Plane> {
    let plane = Plane::read(value, name, depth)?;
    if plane.pixel != 1 {
        return Err(PyTypeError::new_err(format!(
            "{name} has 3 axes: a plane of luma has two, (height, width)"
        )));
    }
    Ok(plane)
}

/// The planes of a frame: luma, or luma and chroma.
pub struct Planes {
    pub planes: Vec<Frame>,
    pub format: FrameFormat,
}

impl Planes {
    /// Those in `value`: an array of luma, or a sequence `(y, u, v)` or `(y, uv)`. `is_kept`: for longer than one call.
    ///
    /// # Errors
    /// As [`Plane::read`], and `ValueError` for planes that are not of one frame.
    pub fn read(value: &Bound<'_, PyAny>, name: &str, depth: Depth, is_kept: bool) -> PyResult<Self> {
        let mut planes = Vec::new();
        if value.cast::<PyTuple>().is_ok() || value.cast::<PyList>().is_ok() {
            for (index, plane) in value.try_iter()?.enumerate() {
                planes.push(Plane::read(&plane?, &format!("{name}[{index}]"), depth)?);
            }
            if !matches!(planes.len(), 1..=3) {
                return Err(PyValueError::new_err(format!(
                    "{name} has {} planes: give luma alone, (y, u, v), or (y, uv) with interleaved chroma",
                    planes.len()
                )));
            }
        } else {
            planes.push(Plane::read(value, name, depth)?);
        }
        let size = planes[0].frame.size();
        let is_two = planes.len() == 2;
        let mut samplings = Vec::with_capacity(planes.len());
        for (index, plane) in planes.iter().enumerate() {
            let interleaved = index == 1 && is_two;
            if (plane.pixel == 2) != interleaved {
                return Err(PyTypeError::new_err(match interleaved {
                    true => {
                        format!("{name}[1] has two axes: of two planes the second one is (height, width, 2)")
                    }
                    false => format!("{name}[{index}] has 3 axes: it must have two, (height, width)"),
                }));
            }
            if plane.frame.format() != planes[0].frame.format() {
                return Err(PyTypeError::new_err(format!(
                    "the planes of {name} have different types of samples"
                )));
            }
            let of = |halved_x, halved_y| Sampling { halved_x, halved_y, interleaved };
            let possible = [of(false, false), of(true, false), of(true, true)];
            // 4:2:0 for frames so small that several would do, as it is the usual one.
            let possible = possible.into_iter().rev().filter(|_| index > 0).chain([of(false, false)]);
            let found = possible
                .into_iter()
                .find(|sampling| sampling.plane_size(size.0, size.1) == plane.frame.size());
            samplings.push(found.ok_or_else(|| {
                let (width, height) = plane.frame.size();
                PyValueError::new_err(format!(
                    "{name}[{index}] has {} x {height} samples beside {} x {} of luma: chroma has as many, half the columns, or \
                     half of both, rounded up",
                    width / plane.pixel, size.0, size.1
                ))
            })?);
        }
        let format = FrameFormat { size, samplings, samples: planes[0].frame.format() };
        let planes = planes.into_iter().map(|plane| if is_kept { plane.kept() } else { plane.frame });
        Ok(Self { planes: planes.collect(), format })
    }
}

impl Planes {
    /// Checks that these planes, of a frame called `name`, are as those of the `wanted` format, of a frame called `other`.
    ///
    /// # Errors
    /// `ValueError` if they are not.
    pub fn check(&self, name: &str, wanted: &FrameFormat, other: &str) -> PyResult<()> {
        if self.format == *wanted {
            return Ok(());
        }
        let text = |format: &FrameFormat| {
            let planes = (0..format.samplings.len()).map(|plane| {
                let (width, height) = format.plane_size(plane);
                format!("{width} x {height}")
            });
            format!("{} samples of {} bits", planes.collect::<Vec<_>>().join(", "), format.samples.depth())
        };
        Err(PyValueError::new_err(format!(
            "{name} has {}, {other} has {}: all frames need the same sizes and types",
            text(&self.format),
            text(wanted)
        )))
    }
}

/// The samples of a plane that is made, row by row without padding.
pub type Samples = Vec<u8>;

/// Planes of frames of `format` as arrays: one of luma, or a tuple.
pub fn to_arrays<'py>(
    py: Python<'py>,
    format: &FrameFormat,
    planes: &[Samples],
) -> PyResult<Bound<'py, PyAny>> {
    let arrays = planes.iter().zip(&format.samplings).enumerate().map(|(index, (samples, sampling))| {
        let (width, height) = format.plane_size(index);
        let pixel = sampling.pixel();
        let array = match format.samples.bytes() {
            1 => PyArray1::from_slice(py, samples).into_any(),
            // Bytes of this machine, as they were read.
            _ => PyArray1::from_iter(
                py,
                samples.as_chunks::<2>().0.iter().map(|&bytes| u16::from_le_bytes(bytes)),
            )
            .into_any(),
        };
        match pixel {
            1 => array.call_method1("reshape", (height, width)),
            _ => array.call_method1("reshape", (height, width / pixel, pixel)),
        }
    });
    let arrays = arrays.collect::<PyResult<Vec<_>>>()?;
    match &arrays[..] {
        [luma] => Ok(luma.clone()),
        _ => Ok(PyTuple::new(py, arrays)?.into_any()),
    }
}
