//! The devices of `motioninterpolate`: they are opened when frames need them, and others while playing.

use gst::prelude::*;
use gst::subclass::prelude::*;

use super::MotionInterpolateMode;
use super::imp::{CAT, MotionInterpolate};
use super::settings::InterpolationSettings;
use super::state::InterpolateState;
use super::timeline::Interval;
use crate::settings::{OpenError, refuse, replace};
use motion_search::estimator::SetupError;

impl MotionInterpolate {
    /// Whether the devices are open that are to make the frames of `interval`, if they are needed.
    pub fn is_prepared(&self, interval: &Interval) -> bool {
        let state = &*self.state.lock();
        let (settings, Some(stream)) = (&state.settings, &state.stream) else { return true };
        // At the same frame rate most streams never need them.
        let needs = stream.changes_rate(settings.speed()) || interval.is_any_between();
        let closes = settings.mode != MotionInterpolateMode::Motion;
        stream.maker.is_prepared(settings) || !(needs || closes)
    }

    /// Opens the devices of the settings. If that fails while playing, warns, and goes on with those that were open, or with
    /// the CPU if none were.
    pub fn prepare(&self) -> Result<(), gst::FlowError> {
        let state = &mut *self.state.lock();
        let opened = match self.open(state) {
            Err(OpenError::Setup(error)) => match self.replacement(state, &error) {
                Some(settings) => {
                    state.settings = settings;
                    self.open(state)
                }
                None => Err(error.into()),
            },
            opened => opened,
        };
        opened.map_err(|error| error.into_flow(|message| self.fail(state, message)))
    }

    fn open(&self, state: &mut InterpolateState) -> Result<(), OpenError> {
        let (settings, Some(stream)) = (&state.settings, &mut state.stream) else { return Ok(()) };
        let is_late = !stream.changes_rate(settings.speed());
        let element = self.obj();
        let waiting = (element.upcast_ref::<gst::Element>(), &self.holding.interrupt);
        if let Some((motion, choice)) = stream.maker.prepare(settings, is_late, waiting)? {
            self.tell_choice(motion, choice);
        }
        Ok(())
    }

    /// The settings that hold in place of those with devices that cannot be opened because of `error`; `None` if those were
    /// the first.
    fn replacement(&self, state: &InterpolateState, error: &SetupError) -> Option<InterpolationSettings> {
        let (maker, element) = (&state.stream.as_ref()?.maker, self.obj());
        let with = |devices| InterpolationSettings { devices, ..state.settings.clone() };
        if let Some(current) = maker.devices().cloned().map(with) {
            refuse((&*element, *CAT), &self.settings, [&state.settings, &current], error);
            return Some(current);
        }
        // None was needed before.
        let native = with(state.settings.devices.fallback().filter(|_| maker.next().is_some())?);
        self.warnings.lock().fallback((&*element, *CAT), "Searching", &native.devices.device, error);
        replace(&self.settings, [&state.settings, &native]);
        Some(native)
    }
}
