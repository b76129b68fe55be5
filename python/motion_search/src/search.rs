//! Pairs and streams of frames.

use motion_search::native::InstructionSetName;
use motion_search::{EstimateError, Frame, MotionField, MotionSearch};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{kept_luma, luma};
use crate::process::{Idle, Owned, Shared, beside_python, is_cut_off, note_drivers};
use crate::settings::{Settings, failed};

static IDLE: Idle<Purpose, MotionSearch> = Idle::new();

/// What a search is opened for.
#[derive(Clone, PartialEq)]
struct Purpose {
    settings: Settings,
    size: (usize, usize),
    bits: u32,
}

impl Purpose {
    fn of(settings: &Settings, frame: &Frame) -> Self {
        Self { settings: settings.clone(), size: frame.size(), bits: frame.format().depth() }
    }

    /// An idle search, or a new one.
    fn open(&self, py: Python<'_>) -> PyResult<Owned<MotionSearch>> {
        if let Some(search) = IDLE.take(self) {
            return Ok(search);
        }
        let Self { settings, size, bits } = self.clone();
        beside_python(py, move || settings.open(size, bits))?.map(Owned::new)
    }
}

/// What a search has found, for the class `Field`.
fn to_dict<'py>(py: Python<'py>, (frame, field): (usize, MotionField)) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("frame", frame)?;
    found.set_item("shape", (field.size.1, field.size.0))?;
    found.set_item("grid", (field.grid.rows, field.grid.columns))?;
    found.set_item("block_size", field.block_size)?;
    found.set_item("scale", field.scale)?;
    found.set_item("offset", field.offset)?;
    found.set_item("records", PyArray1::<u8>::from_slice(py, bytemuck::cast_slice(&field.vectors)))?;
    let predictors = field.predictors.iter().flat_map(|predictor| [predictor.x, predictor.y]);
    let predictors = (!field.predictors.is_empty()).then(|| PyArray1::<i16>::from_iter(py, predictors));
    found.set_item("predictors", predictors)?;
    found.set_item("cost_names", field.cost_kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>())?;
    found.set_item("costs", PyArray1::<u32>::from_slice(py, &field.costs))?;
    found.set_item("is_scene_cut", field.is_scene_cut)?;
    Ok(found)
}

/// Searches the blocks of one array in another.
#[pyfunction]
pub fn search<'py>(
    py: Python<'py>,
    current: &Bound<'py, PyAny>,
    reference: &Bound<'py, PyAny>,
    settings: &Bound<'py, Settings>,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = settings.get();
    let current = luma(current, "current", settings.depth)?;
    let reference = luma(reference, "reference", settings.depth)?;
    let [one, other] = [&current, &reference].map(|frame| {
        let ((width, height), bits) = (frame.size(), frame.format().depth());
        format!("{width} x {height} samples of {bits} bits")
    });
    if one != other {
        return Err(PyValueError::new_err(format!(
            "current has {one}, reference has {other}: both need the same size and type"
        )));
    }
    let purpose = Purpose::of(settings, &current);
    let mut search = purpose.open(py)?;
    let (search, found) = beside_python(py, move || {
        let found = search.get().map(|search| {
            let found = search.search(&current, &reference);
            // The next user may be a stream, which does not go on from these two.
            search.restart();
            found
        });
        (search, found)
    })?;
    let field = found?.map_err(failed)?;
    IDLE.keep(purpose, search);
    to_dict(py, (0, field))
}

/// A stream of frames, each of which is searched in others.
#[pyclass(frozen, module = "motion_search._native")]
pub struct Stream {
    settings: Settings,
    /// Opened for the first frame.
    search: Shared<Option<(Purpose, Owned<MotionSearch>)>>,
}

#[pymethods]
impl Stream {
    #[new]
    fn new(settings: &Bound<'_, Settings>) -> Self {
        Self { settings: settings.get().clone(), search: Shared::new(None) }
    }

    /// Starts the searches of the next frame, which `name` stands for in messages.
    fn start(&self, py: Python<'_>, frame: &Bound<'_, PyAny>, name: &str) -> PyResult<()> {
        let frame = kept_luma(frame, name, self.settings.depth)?;
        let opened = match self.search.take()? {
            Some(opened) => Ok(opened),
            None => {
                let purpose = Purpose::of(&self.settings, &frame);
                purpose.open(py).map(|search| (purpose, search))
            }
        };
        let (purpose, mut search) = opened.inspect_err(|_| self.search.put(None))?;
        let (search, started) = beside_python(py, move || {
            let started = search.get().map(|search| search.start_next(&frame));
            (search, started)
        })?;
        let ((width, height), bits) = (purpose.size, purpose.bits);
        self.search.put(Some((purpose, search)));
        started?.map_err(|error| match error {
            EstimateError::FrameSize(..) | EstimateError::BitDepth(..) => PyValueError::new_err(format!(
                "{name}: {error}: all frames of a stream have {width} x {height} samples of {bits} bits, as its first one"
            )),
            error => failed(error),
        })
    }

    /// Whether the searches of another frame may be started before a field is taken.
    fn has_room(&self) -> PyResult<bool> {
        let mut opened = self.search.take()?;
        let has_room =
            opened.as_mut().map_or(Ok(true), |(_, search)| search.get().map(|search| search.has_room()));
        self.search.put(opened);
        has_room
    }

    /// Waits for the field whose search started first; `None` if no search was started.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some((purpose, mut search)) = self.search.take()? else {
            self.search.put(None);
            return Ok(None);
        };
        let (search, found) = beside_python(py, move || {
            let found = search.get().map(MotionSearch::finish_first);
            (search, found)
        })?;
        self.search.put(Some((purpose, search)));
        found?.transpose().map_err(failed)?.map(|field| to_dict(py, field)).transpose()
    }

    /// Ends the stream, so that another one can use what was opened for it. Nothing is left of one that was interrupted.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Ok(opened) = self.search.take() else { return Ok(()) };
        self.search.put(None);
        let Some((purpose, mut search)) = opened.filter(|(_, search)| search.is_here()) else {
            return Ok(());
        };
        let search = beside_python(py, move || search.get().map(MotionSearch::restart).map(|()| search))??;
        IDLE.keep(purpose, search);
        Ok(())
    }
}

/// Of every device of this machine the name for `device`, the kind, the name and the driver.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Vec<(String, String, String, String)>> {
    if is_cut_off() {
        let native = ["native", "native", "native", InstructionSetName::best().name()].map(String::from);
        return Ok(vec![native.into()]);
    }
    note_drivers();
    let found = beside_python(py, motion_search::devices)?;
    let of = |device: motion_search::backend::AvailableDevice| {
        (device.selector.to_string(), device.kind.into(), device.name, device.driver)
    };
    Ok(found.into_iter().map(of).collect())
}
