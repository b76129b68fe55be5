//! What `motioninterpolate` tells of its devices, of frames that are dropped or late, and at the end.

use gst::subclass::prelude::*;

use super::MotionInterpolateMode;
use super::imp::{CAT, MotionInterpolate};
use super::motion::{MotionChoice, MotionSearch};
use crate::settings::statistics;

impl MotionInterpolate {
    /// Says which devices search and make frames, and why not those that were asked for.
    pub fn tell_choice(&self, motion: &MotionSearch, choice: MotionChoice) {
        let (device, maker) = (motion.device(), motion.maker());
        let warnings = &mut *self.warnings.lock();
        warnings.choice((&*self.obj(), *CAT), device, &choice.search);
        // One reason is enough.
        if let (Some(reason), None) = (choice.maker, choice.search.fallback) {
            warnings.fallback((&*self.obj(), *CAT), "Making frames", maker, &reason);
        }
        gst::info!(CAT, imp = self, "{device} searches, {maker} makes frames");
        for launching in motion.launching().into_iter().flatten() {
            gst::info!(CAT, imp = self, "Kernels are {launching}");
        }
        self.statistics.lock().set_devices(motion);
    }

    /// Warns, once, of a frame at `time` that is dropped, because it is not after the one before.
    pub fn warn_of_order(&self, time: u64, newest: Option<u64>) {
        gst::warning!(CAT, imp = self, "Frame at {time} ns dropped: the one before is at {newest:?} ns");
        if self.warnings.lock().is_new("order") {
            gst::element_imp_warning!(
                self,
                gst::StreamError::Format,
                ("A frame is dropped because its timestamp does not fit between those of its neighbours"),
                ["{time} ns after {newest:?} ns; this warning is posted once"]
            );
        }
    }

    /// Warns, once, that frames are repeated where others were to be made, because of `obstacle`.
    pub fn warn_of_repeating(&self, obstacle: &str) {
        let is_wanted = self.settings.lock().mode == MotionInterpolateMode::Repeat;
        if !is_wanted && self.warnings.lock().is_new("repeating") {
            gst::element_imp_warning!(
                self,
                gst::StreamError::Format,
                ("Frames are repeated as by videorate, and none is made: {obstacle}")
            );
        }
    }

    /// Warns, once, that no frames are made for slow motion.
    pub fn warn_of_stretching(&self) {
        if self.warnings.lock().is_new("stretching") {
            gst::element_imp_warning!(
                self,
                gst::StreamError::Format,
                ("The output has no frame rate: its times are stretched, but no frames are made. Put \
                     video/x-raw,framerate=30/1 or the like behind motioninterpolate")
            );
        }
    }

    /// Posts the statistics.
    pub fn post_statistics(&self) {
        let structure = self.statistics.lock().structure();
        statistics::post(&*self.obj(), *CAT, structure);
    }
}
