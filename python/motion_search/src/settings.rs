//! What Python's keywords mean for a search.

use motion_search::{
    Algorithm, Border, CostKind, EstimateError, Metric, MotionSearch, Prediction, Quality, SetupError,
    SubSample,
};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::Depth;
use crate::process;

/// What is searched for, as Python's keywords say it. What is `None` is the library's default.
#[pyclass(frozen, module = "motion_search._native")]
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    algorithm: Algorithm,
    block_size: usize,
    /// The first and last displacement across, and down.
    window: Option<[i32; 4]>,
    quality: Option<Quality>,
    sub_sample: SubSample,
    metric: Option<Metric>,
    border: Option<Border>,
    prediction: Prediction,
    costs: Vec<CostKind>,
    scene_cut: bool,
    earlier: usize,
    later: usize,
    device: String,
    threads: usize,
    in_flight: usize,
    pub depth: Depth,
}

/// A keyword that a setting refuses.
fn unknown(keyword: &str, value: &str, known: &str) -> PyErr {
    PyValueError::new_err(format!("{keyword}={value:?} is not known: use {known}"))
}

/// One of the values that have these names.
pub fn named<T: Copy>(keyword: &str, value: &str, known: &[(&str, T)]) -> PyResult<T> {
    let found = known.iter().find(|(name, _)| *name == value);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| format!("{name:?}")).collect();
        unknown(keyword, value, &names.join(", "))
    })
}

/// What a setting is refused with.
pub fn refused(error: SetupError) -> PyErr {
    let text = error.to_string();
    match error {
        SetupError::Memory { .. } => PyMemoryError::new_err(text),
        SetupError::Device { .. } | SetupError::KernelBuild { .. } => PyRuntimeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// What a search fails with.
pub fn failed(error: EstimateError) -> PyErr {
    match error {
        EstimateError::FrameSize(..) | EstimateError::BitDepth(..) => {
            PyValueError::new_err(error.to_string())
        }
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}

/// Refuses a keyword that the algorithm does not look at.
fn only_for<T>(keyword: &str, value: &Option<T>, (algorithm, is_for): (Algorithm, &str)) -> PyResult<()> {
    if value.is_none() {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "{keyword} does not apply to algorithm={:?}: leave it out, or use algorithm={is_for}",
        algorithm.name()
    )))
}

#[pymethods]
impl Settings {
    #[new]
    #[pyo3(signature = (
        *, algorithm, block_size, search_range=None, search_window=None, quality=None, sub_sample="none", metric=None,
        border=None, prediction="none", costs=Vec::new(), scene_cut=false, bit_depth=None, levels=None, earlier=1, later=0,
        device="auto", threads=0, in_flight=1,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        algorithm: &str,
        block_size: usize,
        search_range: Option<(u32, u32)>,
        search_window: Option<[i32; 4]>,
        quality: Option<&str>,
        sub_sample: &str,
        metric: Option<&str>,
        border: Option<&str>,
        prediction: &str,
        costs: Vec<String>,
        scene_cut: bool,
        bit_depth: Option<u32>,
        levels: Option<(u16, u16)>,
        earlier: usize,
        later: usize,
        device: &str,
        threads: usize,
        in_flight: usize,
    ) -> PyResult<Self> {
        let algorithms = [Algorithm::Hierarchical, Algorithm::Full, Algorithm::ThreeStep];
        let algorithm = named("algorithm", algorithm, &algorithms.map(|known| (known.name(), known)))?;
        let qualities = [("fast", Quality::Fast), ("balanced", Quality::Balanced), ("high", Quality::High)];
        let quality = quality.map(|value| named("quality", value, &qualities)).transpose()?;
        let metrics = [("sad", Metric::Sad), ("ssd", Metric::Ssd)];
        let metric = metric.map(|value| named("metric", value, &metrics)).transpose()?;
        let borders = [("extend", Border::Extend), ("restrict", Border::Restrict)];
        let border = border.map(|value| named("border", value, &borders)).transpose()?;
        let sub_samples =
            [("none", SubSample::None), ("half", SubSample::Half), ("quarter", SubSample::Quarter)];
        let predictions = [("none", Prediction::None), ("median", Prediction::Median)];
        if search_range.is_some() && search_window.is_some() {
            return Err(PyValueError::new_err(
                "search_range and search_window say the same: give one of them",
            ));
        }
        let symmetric = |(x, y): (u32, u32)| {
            // What does not fit is refused by the library.
            let [x, y] = [x, y].map(|samples| i32::try_from(samples).unwrap_or(i32::MAX));
            [-x, x, -y, y]
        };
        let window = search_window.or(search_range.map(symmetric));
        if algorithm == Algorithm::Hierarchical {
            let others = (algorithm, "\"full\" or \"three-step\"");
            only_for("search_range", &search_range, others)?;
            only_for("search_window", &search_window, others)?;
            only_for("metric", &metric, others)?;
            only_for("border", &border, others)?;
        } else {
            only_for("quality", &quality, (algorithm, "\"hierarchical\""))?;
            only_for("levels", &levels, (algorithm, "\"hierarchical\""))?;
        }
        let kinds = CostKind::ALL.map(|kind| (kind.name(), kind));
        Ok(Self {
            algorithm,
            block_size,
            window,
            quality,
            sub_sample: named("sub_sample", sub_sample, &sub_samples)?,
            metric,
            border,
            prediction: named("prediction", prediction, &predictions)?,
            costs: costs.iter().map(|cost| named("costs", cost, &kinds)).collect::<PyResult<_>>()?,
            scene_cut,
            earlier,
            later,
            device: device.into(),
            threads,
            in_flight,
            depth: Depth { bits: bit_depth, levels },
        })
    }
}

impl Settings {
    /// Opens the devices for frames of this size and depth.
    ///
    /// # Errors
    /// As [`refused`].
    pub fn open(&self, size: (usize, usize), bits: u32) -> PyResult<MotionSearch> {
        // In a forked process it may be another one.
        let device = process::device(&self.device)?;
        let builder =
            MotionSearch::builder(size.0, size.1).algorithm(self.algorithm).block_size(self.block_size);
        let builder = builder.bit_depth(bits).references(self.earlier, self.later).in_flight(self.in_flight);
        let mut builder = builder.device(device).threads(self.threads).sub_sample(self.sub_sample);
        builder =
            builder.prediction(self.prediction).costs(self.costs.iter().copied()).scene_cut(self.scene_cut);
        if let Some([x0, x1, y0, y1]) = self.window {
            builder = builder.search_window(x0..=x1, y0..=y1);
        }
        if let Some(quality) = self.quality {
            builder = builder.quality(quality);
        }
        if let Some(metric) = self.metric {
            builder = builder.metric(metric);
        }
        if let Some(border) = self.border {
            builder = builder.border(border);
        }
        builder.build().map_err(refused)
    }
}
