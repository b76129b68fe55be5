//! Frames between frames.

use motion_base::{Frame, FrameView};
use motion_frames::backend::open_maker;
use motion_frames::compensation::PlaneMut;
use motion_frames::interpolation::{
    FrameFormat, FrameMaker, FrameQuality, LoadedPair, Phase, SceneCutThreshold, SearchInput,
    search_parameters,
};
use motion_search::backend::{self, Grouping};
use motion_search::session::Session;
use motion_search::tuning::{Kernel, Tuning};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::arrays::{Depth, Planes, Samples, to_arrays};
use crate::process::{self, Idle, Owned, beside_python};
use crate::settings::{named, refused};

static IDLE: Idle<Purpose, Maker> = Idle::new();

/// What a maker is opened for.
#[derive(Clone, PartialEq)]
struct Purpose {
    format: FrameFormat,
    quality: FrameQuality,
    device: String,
    threads: usize,
}

/// What makes frames between others.
struct Maker {
    format: FrameFormat,
    session: Session<()>,
    input: SearchInput,
    maker: Box<dyn FrameMaker>,
}

/// Planes of the frames around the moments that are shown: the two beside them, and those before and after these if they count.
type Frames = Vec<Vec<Frame>>;

impl Maker {
    fn open(purpose: &Purpose) -> PyResult<Self> {
        let Purpose { format, quality, device, threads } = purpose;
        let device = process::device(device)?;
        let parameters = search_parameters(format.size.0, format.size.1).map_err(refused)?;
        let tuning = Tuning { threads: Some(*threads), ..Tuning::default() };
        let session = backend::open(&device, Kernel::Auto, &tuning, Grouping::default(), &parameters);
        let (session, _) = session.map_err(refused)?;
        let (maker, _) = open_maker(&device, format, *quality, *threads).map_err(refused)?;
        let input = SearchInput::new(format.size, *threads).map_err(refused)?;
        Ok(Self { format: format.clone(), session, input, maker })
    }

    /// The frames at `phases` between the two of `frames` in the middle. Between different scenes these are the nearer ones of the
    /// two.
    fn make(
        &mut self,
        frames: &Frames,
        phases: &[Phase],
        threshold: SceneCutThreshold,
    ) -> Result<Vec<Vec<Samples>>, Box<dyn std::error::Error>> {
        let Self { format, session, input, maker } = self;
        input.set_scene_cut_threshold(threshold);
        let searched = frames.iter().map(|planes| input.frame(&planes[0].view()));
        let searched = searched.collect::<Result<Vec<_>, _>>()?;
        let mut are_cut = Vec::new();
        maker.load_planes(&frames[0])?;
        for (pair, planes) in searched.windows(2).zip(&frames[1..]) {
            let [previous, next] = pair else { unreachable!("windows of two") };
            let slots = [session.add_frame(previous.clone())?, session.add_frame(next.clone())?];
            session.start_search(slots[0], slots[1], ())?;
            let (_, mut field) = session.finish_search()?;
            session.release_frames();
            maker.load_planes(planes)?;
            let is_cut = input.is_scene_cut([previous, next], &field.vectors)?;
            let patches =
                if is_cut { Vec::new() } else { input.correct([previous, next], &mut field.vectors)? };
            maker.set_motion(&field.vectors)?;
            maker.set_patches(&patches)?;
            are_cut.push(is_cut);
        }
        // Where the two are among those loaded.
        let first = usize::from(frames.len() == 4);
        let is_cut = are_cut[first];
        if frames.len() == 4 {
            maker.select(LoadedPair::BeforeNewest { has_neighbours: !are_cut[0] && !are_cut[2] })?;
        }
        let (previous, next) = (views(&frames[first]), views(&frames[first + 1]));
        let mut made = Vec::with_capacity(phases.len());
        for &phase in phases {
            if is_cut {
                let nearer = if phase.is_nearer_previous() { &previous } else { &next };
                made.push(nearer.iter().map(copy).collect());
                continue;
            }
            maker.start_frame(phase)?;
            maker.finish_frame()?;
            let planes = (0..format.samplings.len()).map(|index| {
                write(format, index, |plane| {
                    maker.write_plane(index, [&previous[index], &next[index]], plane)
                })
            });
            made.push(planes.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(made)
    }
}

fn views(planes: &[Frame]) -> Vec<FrameView<'_>> {
    planes.iter().map(Frame::view).collect()
}

/// The samples of a plane.
pub fn copy(plane: &FrameView<'_>) -> Samples {
    (0..plane.height()).flat_map(|y| plane.row(y)).copied().collect()
}

/// A plane of frames of `format` that `work` writes.
///
/// # Errors
/// Those of `work`.
pub fn write<E>(
    format: &FrameFormat,
    index: usize,
    work: impl FnOnce(&mut PlaneMut<'_>) -> Result<(), E>,
) -> Result<Samples, E> {
    let (size, row) = (format.plane_size(index), format.plane_size(index).0 * format.samples.bytes());
    let mut samples = vec![0; row * size.1];
    let mut plane = PlaneMut::with_format(&mut samples, size, row, format.samples)
        .unwrap_or_else(|error| unreachable!("a plane without padding: {error}"));
    work(&mut plane)?;
    Ok(samples)
}

/// Makes frames at `phases` between `frames`, two or four that follow each other.
#[pyfunction]
#[pyo3(signature = (frames, names, phases, *, quality, scene_cut, bit_depth, levels, device, threads))]
#[allow(clippy::too_many_arguments)]
pub fn interpolate<'py>(
    py: Python<'py>,
    frames: Vec<Bound<'py, PyAny>>,
    names: Vec<String>,
    phases: Vec<(u32, u32)>,
    quality: &str,
    scene_cut: f64,
    bit_depth: Option<u32>,
    levels: Option<(u16, u16)>,
    device: &str,
    threads: usize,
) -> PyResult<Bound<'py, PyList>> {
    let qualities =
        [("fast", FrameQuality::Fast), ("balanced", FrameQuality::Balanced), ("high", FrameQuality::High)];
    let quality = named("quality", quality, &qualities)?;
    let threshold = SceneCutThreshold::new(scene_cut).ok_or_else(|| {
        PyValueError::new_err(format!("scene_cut is {scene_cut}: use 0 to 100 percent, 100 for no cut"))
    })?;
    let phases = phases.into_iter().map(|(numerator, denominator)| {
        Phase::new(numerator, denominator).ok_or_else(|| {
            PyValueError::new_err(format!(
                "at has {numerator}/{denominator}: a moment between two frames is above 0 and below 1"
            ))
        })
    });
    let phases = phases.collect::<PyResult<Vec<_>>>()?;
    let depth = Depth { bits: bit_depth, levels };
    let read = frames.iter().zip(&names).map(|(frame, name)| Planes::read(frame, name, depth, false));
    let read = read.collect::<PyResult<Vec<_>>>()?;
    let format = read[0].format.clone();
    for (planes, name) in read.iter().zip(&names) {
        planes.check(name, &format, &names[0])?;
    }
    let purpose = Purpose { format: format.clone(), quality, device: device.into(), threads };
    let mut maker = match IDLE.take(&purpose) {
        Some(maker) => maker,
        None => {
            let purpose = purpose.clone();
            beside_python(py, move || Maker::open(&purpose))?.map(Owned::new)?
        }
    };
    let frames: Frames = read.into_iter().map(|planes| planes.planes).collect();
    let (maker, made) = beside_python(py, move || {
        let made = maker
            .get()
            .map(|maker| maker.make(&frames, &phases, threshold).map_err(|error| error.to_string()));
        (maker, made)
    })?;
    let made = made?.map_err(PyRuntimeError::new_err)?;
    IDLE.keep(purpose, maker);
    let made = made.iter().map(|planes| to_arrays(py, &format, planes)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, made)
}
