//! How frames go through `motioncompensate`: what the base class's methods do with its state.

use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::base_transform::GenerateOutputSuccess;
use gst_base::subclass::prelude::*;

use super::imp::{CAT, MotionCompensate};
use super::stream::{CompensateError, Compensation};
use crate::settings::statistics;
use crate::video::frame::PlaneError;
use crate::video::sequence::{Holding, HoldsFrames, Leave, Leaving};
use crate::video::waiting::Item;

impl MotionCompensate {
    /// Ends the work on the frame at `pts`: posts its message, warning or error.
    pub fn finish(
        &self,
        result: Result<Compensation, CompensateError>,
        pts: Option<gst::ClockTime>,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        match result {
            Ok(Compensation { quality, obstacle }) => {
                if let Some(obstacle) = obstacle {
                    self.warn_of(&obstacle, pts);
                }
                if let Some(structure) = quality {
                    self.post_message(gst::message::Element::builder(structure).src(&*self.obj()).build());
                }
                Ok(gst::FlowSuccess::Ok)
            }
            Err(error) => {
                self.forget();
                self.post_error_message(error.message());
                Err(gst::FlowError::Error)
            }
        }
    }

    /// Warns, once, that a frame is not predicted.
    fn warn_of(&self, obstacle: &str, pts: Option<gst::ClockTime>) {
        gst::warning!(CAT, imp = self, "Frame at {pts:?} not predicted: {obstacle}");
        if self.warnings.lock().is_new("not predicted") {
            gst::element_imp_warning!(
                self,
                gst::StreamError::Format,
                ("A frame cannot be predicted from its vectors: {obstacle}"),
                ["Frame at {pts:?}; this warning is posted once"]
            );
        }
    }

    /// Lets the settings hold from the next frame on, between two buffers, so that the mode never changes within one. The
    /// frames that wait leave before.
    pub fn apply_settings(&self) -> Result<(), gst::FlowError> {
        let settings = self.settings.lock().clone();
        if settings == self.state.lock().settings {
            return Ok(());
        }
        self.expect_no_more(None);
        self.send(Leave::Complete)?;
        let is_in_place = settings.is_in_place();
        let was = std::mem::replace(&mut self.state.lock().settings, settings);
        self.obj().set_in_place(is_in_place);
        if was.is_in_place() != is_in_place {
            self.obj().reconfigure_src();
            self.obj().reconfigure_sink();
        }
        self.update_latency();
        Ok(())
    }

    pub fn update_latency(&self) {
        let (latency, frames) = self.state.lock().latency();
        self.holding.latency.set_frames(&*self.obj(), latency, frames);
    }

    /// Posts the quality of all frames, if it is measured.
    pub fn post_totals(&self) {
        if self.settings.lock().is_measured() {
            let structure = self.state.lock().totals.message();
            statistics::post(&*self.obj(), *CAT, structure);
        }
    }
}

impl HoldsFrames for MotionCompensate {
    fn holding(&self) -> &Holding {
        &self.holding
    }

    fn pop_output(&self, _leave: Leave) -> Result<Option<Leaving>, gst::FlowError> {
        loop {
            let Some(item) = self.state.lock().pop() else { return Ok(None) };
            match item {
                Item::Event(event) => return Ok(Some(Leaving::Event(event))),
                Item::Frame(frame) => {
                    self.parent_submit_input_buffer(frame.is_discont, frame.buffer)?;
                    if let GenerateOutputSuccess::Buffer(buffer) = self.parent_generate_output()? {
                        return Ok(Some(Leaving::Buffer(buffer)));
                    }
                }
            }
        }
    }

    fn expect_no_more(&self, _event: Option<&gst::EventRef>) {
        self.state.lock().expect_no_more();
    }

    fn forget(&self) {
        self.state.lock().forget();
    }

    fn check_frame(&self, buffer: &gst::Buffer) -> Result<(), PlaneError> {
        self.state.lock().check_frame(buffer)
    }

    fn discard(&self) {
        let state = &mut *self.state.lock();
        state.waiting.discard();
        state.forget();
    }

    fn hold(&self, event: gst::Event) -> Option<gst::Event> {
        self.state.lock().waiting.hold(event)
    }

    fn release_buffers(&self) -> Result<(), gst::FlowError> {
        self.state.lock().release_buffers();
        Ok(())
    }
}
