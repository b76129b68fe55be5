//! The CPU, without OpenCL: search in the widest instructions it has, on all its cores.
//!
//! [`Level`] chooses the instruction set at run time; the search is written once (`search`) over
//! what an instruction set must be able to do (`tile::Engine`, for `three_step` its `Compare`),
//! beside a portable version that is tested with the others. The pictures lie padded in memory (`plane`), so that the inner loops
//! need not know where a picture ends.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod level;
mod plane;
mod portable;
mod predict;
mod search;
mod three_step;
#[cfg(target_arch = "x86_64")]
mod three_step_avx2;
mod tile;

pub use level::Level;
pub use predict::median_predictors;

use std::time::Instant;

use rayon::prelude::*;

use crate::backend::{DeviceInfo, DeviceSelector};
use crate::estimator::{
    EstimateError, Estimator, Kernel, MotionVector, Parameters, Picture, PictureBuf, Predictor, SetupError,
    Slot, StageTimes,
};
use level::RowSearch;
use plane::{Layout, Plane, available_memory};
use predict::LastField;
use search::Job;

/// The name of this device.
const NAME: &str = "native";

/// Full or three-step search on the CPU's cores.
///
/// It runs in the rayon pool it is called from, the global one as a rule.
pub struct Native {
    parameters: Parameters,
    level: Level,
    row_search: RowSearch,
    planes: [Plane; 2],
    /// Which of the planes hold a picture.
    loaded: [bool; 2],
    /// What is predicted, if anything is.
    last_field: Option<LastField>,
    times: StageTimes,
}

impl Native {
    /// An estimator for `parameters` with the fastest instructions there are.
    ///
    /// # Errors
    /// [`SetupError`] where `parameters` are not valid or the pictures do not fit into memory.
    pub fn new(parameters: Parameters) -> Result<Self, SetupError> {
        Self::with_level(parameters, Level::best())
    }

    /// An estimator for `parameters` with the instructions of `level`.
    ///
    /// # Errors
    /// As [`Self::new`], and [`SetupError::DeviceUnsupported`] where this CPU lacks `level`.
    pub fn with_level(parameters: Parameters, level: Level) -> Result<Self, SetupError> {
        parameters.validate()?;
        let row_search =
            level.row_search(parameters.algorithm).ok_or_else(|| SetupError::DeviceUnsupported {
                wanted: NAME.into(),
                reason: format!("this CPU does not have {level}"),
            })?;
        let layout = Layout::new(&parameters);
        let plane = || Plane::new(layout, available_memory());
        let planes = [plane()?, plane()?];
        let last_field = LastField::new(&parameters);
        let times = StageTimes::default();
        Ok(Self { parameters, level, row_search, planes, loaded: [false; 2], last_field, times })
    }

    /// The instruction set in use.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The CPU as a device; its driver is the instruction set that [`Self::new`] takes.
    pub fn device_info() -> DeviceInfo {
        DeviceInfo {
            selector: DeviceSelector::Native,
            name: NAME.into(),
            kind: "native",
            driver: Level::best().name().into(),
        }
    }

    fn plane(&self, slot: Slot) -> Result<&Plane, EstimateError> {
        let index = slot as usize;
        if self.loaded[index] { Ok(&self.planes[index]) } else { Err(EstimateError::EmptySlot(slot)) }
    }
}

impl Estimator for Native {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn device(&self) -> &str {
        NAME
    }

    fn kernel(&self) -> Kernel {
        Kernel::Auto
    }

    fn load(&mut self, slot: Slot, picture: &Picture<'_>) -> Result<(), EstimateError> {
        let index = slot as usize;
        self.loaded[index] = false;
        picture.check_size(&self.parameters)?;
        let start = Instant::now();
        self.planes[index].fill(picture);
        self.loaded[index] = true;
        self.times.upload = start.elapsed();
        Ok(())
    }

    fn unload(&mut self, slot: Slot) -> Result<Option<PictureBuf>, EstimateError> {
        let Parameters { width, height, .. } = self.parameters;
        Ok(self.plane(slot).ok().map(|plane| plane.picture(width, height)))
    }

    fn search(&mut self, current: Slot, vectors: &mut [MotionVector]) -> Result<(), EstimateError> {
        if let Some(field) = &mut self.last_field {
            field.clear();
        }
        let grid = self.parameters.grid();
        grid.check(vectors)?;
        let job = Job {
            parameters: &self.parameters,
            current: self.plane(current)?,
            reference: self.plane(current.other())?,
        };
        let start = Instant::now();
        vectors
            .par_chunks_mut(grid.columns)
            .enumerate()
            .for_each(|(row, vectors)| (self.row_search)(&job, row, vectors));
        if let Some(field) = &mut self.last_field {
            field.keep(vectors);
        }
        self.times.search = start.elapsed();
        Ok(())
    }

    fn predict(&mut self, predictors: &mut [Predictor]) -> Result<(), EstimateError> {
        let start = Instant::now();
        let field = self.last_field.as_ref().ok_or(EstimateError::NotPredicting)?;
        field.predict(self.parameters.grid(), predictors)?;
        self.times.prediction = start.elapsed();
        Ok(())
    }

    fn stage_times(&self) -> StageTimes {
        self.times
    }
}
