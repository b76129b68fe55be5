//! The CPU, without OpenCL.

use std::time::Instant;

use rayon::prelude::*;

use crate::backend::{DeviceInfo, DeviceSelector};
use crate::estimator::{
    EstimateError, Estimator, Kernel, MotionVector, OrderKey, Parameters, Picture, PictureBuf, SetupError,
    Slot, StageTimes, oracle,
};

/// Full search on the CPU's cores.
pub struct Native {
    parameters: Parameters,
    pictures: [Option<PictureBuf>; 2],
    times: StageTimes,
}

impl Native {
    /// An estimator for `parameters`.
    ///
    /// # Errors
    /// [`SetupError`] where `parameters` are not valid.
    pub fn new(parameters: Parameters) -> Result<Self, SetupError> {
        parameters.validate()?;
        Ok(Self { parameters, pictures: [None, None], times: StageTimes::default() })
    }

    /// The CPU as a device.
    pub fn device_info() -> DeviceInfo {
        DeviceInfo {
            selector: DeviceSelector::Native,
            name: "native".into(),
            kind: "native",
            driver: "portable".into(),
        }
    }
}

impl Estimator for Native {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn device(&self) -> &str {
        "native"
    }

    fn kernel(&self) -> Kernel {
        Kernel::Auto
    }

    fn load(&mut self, slot: Slot, picture: &Picture<'_>) -> Result<(), EstimateError> {
        picture.check_size(&self.parameters)?;
        let start = Instant::now();
        let (width, height) = (picture.width(), picture.height());
        self.pictures[slot as usize] = Some(PictureBuf::from_fn(width, height, |x, y| picture.row(y)[x]));
        self.times.upload = start.elapsed();
        Ok(())
    }

    fn unload(&mut self, slot: Slot) -> Result<Option<PictureBuf>, EstimateError> {
        Ok(self.pictures[slot as usize].clone())
    }

    fn search(&mut self, current: Slot, vectors: &mut [MotionVector]) -> Result<(), EstimateError> {
        let grid = self.parameters.grid();
        grid.check(vectors)?;
        let start = Instant::now();
        let picture =
            |slot: Slot| self.pictures[slot as usize].as_ref().ok_or(EstimateError::EmptySlot(slot));
        let (c, r) = (picture(current)?.view(), picture(current.other())?.view());
        let p = &self.parameters;
        vectors.par_iter_mut().enumerate().for_each(|(i, v)| {
            let (column, row) = (i % grid.columns, i / grid.columns);
            let origin = ((column * p.block_size) as i32, (row * p.block_size) as i32);
            let keys = p
                .window_of_block(column, row)
                .iter()
                .map(|(x, y)| OrderKey::new(oracle::cost(p, &c, &r, origin, (x, y)), x, y));
            *v = keys.min().unwrap_or(OrderKey::WORST).vector();
        });
        self.times.search = start.elapsed();
        Ok(())
    }

    fn stage_times(&self) -> StageTimes {
        self.times
    }
}
