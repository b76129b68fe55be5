//! The search for the motion between input frames, and the frames that are made along it.

use crate::backend::Choice;
use crate::compensation::{CompensationError, Sampling};
use crate::estimator::{EstimateError, FrameView, Notice, Output, SetupError, Slot};
use crate::interpolation::{Interpolator, Phase, search_parameters};
use crate::session::Session;
use crate::settings::DeviceSettings;
use crate::tuning::{Kernel, Tuning};

/// The devices that search, and what they have found between the two newest frames.
pub struct MotionSearch {
    devices: DeviceSettings,
    session: Session,
    interpolator: Interpolator,
    newest: Option<Slot>,
    pair: PairMotion,
}

/// What is known of the two newest frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairMotion {
    /// Nothing: at most one frame has come since the search was opened, or the sequence began.
    Unknown,
    /// How they move.
    Found,
    /// They show different scenes.
    SceneCut,
}

impl MotionSearch {
    /// Opens `devices` for frames of `width` x `height` luma samples with planes sampled like this.
    ///
    /// # Errors
    /// [`SetupError`] of the devices, or if there is too little memory.
    pub fn open(
        devices: &DeviceSettings,
        (width, height): (usize, usize),
        samplings: &[Sampling],
    ) -> Result<(Self, Choice), SetupError> {
        let parameters = search_parameters(width, height)?;
        let (session, choice) =
            devices.open(Kernel::Auto, Tuning { depth: Some(1), ..Tuning::default() }, &parameters)?;
        let interpolator = Interpolator::new((width, height), samplings, devices.threads as usize)?;
        let devices = devices.clone();
        Ok((Self { devices, session, interpolator, newest: None, pair: PairMotion::Unknown }, choice))
    }

    /// Whether it was opened for `devices`.
    pub fn is_of(&self, devices: &DeviceSettings) -> bool {
        self.devices == *devices
    }

    /// The names of the devices.
    pub fn device(&self) -> &str {
        self.session.device()
    }

    /// What has happened to the devices since the previous call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.session.take_notices()
    }

    /// What is known of the two newest frames.
    pub fn pair(&self) -> PairMotion {
        self.pair
    }

    /// Goes on to the next frame, and searches between it and the one before in both directions.
    ///
    /// # Errors
    /// [`EstimateError`] if the last device fails, [`CompensationError`] if the plane has another size.
    pub fn load(&mut self, luma: &FrameView<'_>) -> Result<(), MotionError> {
        self.pair = PairMotion::Unknown;
        let search_frame = self.interpolator.load(luma)?;
        let next = self.session.add(search_frame)?;
        let Some(previous) = self.newest.replace(next) else { return Ok(()) };
        self.session.begin(previous, next, ())?;
        self.session.begin(next, previous, ())?;
        let [forward, backward]: [Output; 2] = [self.session.finish()?.1, self.session.finish()?.1];
        self.session.release(previous);
        let is_cut = self.interpolator.set_motion([&forward.vectors, &backward.vectors])?;
        self.pair = if is_cut { PairMotion::SceneCut } else { PairMotion::Found };
        Ok(())
    }

    /// Makes the next frame the first of a sequence.
    pub fn forget(&mut self) {
        self.session.cancel();
        self.session.release_frames();
        (self.newest, self.pair) = (None, PairMotion::Unknown);
    }

    /// Chooses the vectors of the frame at `phase` between the two newest frames. Returns what makes its planes.
    pub fn choose(&mut self, phase: Phase) -> &Interpolator {
        self.interpolator.choose(phase);
        &self.interpolator
    }
}

/// Why the motion of a frame is not found.
#[derive(Debug, thiserror::Error)]
pub enum MotionError {
    /// The search failed.
    #[error(transparent)]
    Search(#[from] EstimateError),
    /// A plane does not have the size of the stream's frames.
    #[error(transparent)]
    Plane(#[from] CompensationError),
}
