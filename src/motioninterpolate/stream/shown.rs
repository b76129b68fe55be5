//! What output frames show.

use super::super::maker::Decision;
use super::super::metas;
use super::super::plan::{SentFrame, Shown};
use super::super::settings::InterpolationSettings;
use super::super::statistics::OutputKind;
use super::super::timeline::{FramePlace, OutputFrame};
use super::InterpolateStream;
use crate::settings::StreamError;
use crate::video;
use motion_frames::interpolation::Phase;

impl InterpolateStream {
    /// Whether nothing is made between the two frames, because it would be too late.
    pub fn is_late(&self) -> bool {
        self.due.as_ref().is_some_and(|planned| planned.is_late)
    }

    /// Makes the frame at `phase` between the two frames in `out`.
    ///
    /// # Errors
    /// [`StreamError`] if a buffer does not hold the frame its caps promise, or the last device fails.
    pub fn make(&mut self, phase: Phase, out: &mut gst::BufferRef) -> Result<(), StreamError> {
        let upcoming = self.due.as_ref().and_then(|planned| planned.interval.upcoming());
        let ahead = self.waiting.front().map(|frame| &frame.frame);
        self.maker.make(phase, upcoming, ahead, out)?;
        let nearest = if phase.is_nearer_previous() { self.maker.previous() } else { self.maker.next() };
        if let Some(nearest) = nearest {
            metas::copy_display(nearest, out);
        }
        Ok(())
    }

    /// What `frame` at `pts` shows.
    pub fn shown(
        &mut self,
        frame: &OutputFrame,
        pts: gst::ClockTime,
        settings: &InterpolationSettings,
    ) -> Option<Shown> {
        let repeated = |is_cut| if is_cut { OutputKind::SceneCut } else { OutputKind::Repeated };
        let (buffer, kind) = match frame.place {
            FramePlace::Previous => (self.maker.previous(), OutputKind::Repeated),
            FramePlace::Next => (self.maker.next(), OutputKind::Passed),
            FramePlace::Repeated => (self.maker.next(), OutputKind::Repeated),
            FramePlace::Between(phase) => match self.maker.decide(settings.mode, phase) {
                (Decision::Make, _) => return Some(Shown::Between(phase)),
                (Decision::RepeatPrevious, is_cut) => (self.maker.previous(), repeated(is_cut)),
                (Decision::RepeatNext, is_cut) => (self.maker.next(), repeated(is_cut)),
            },
        };
        let buffer = buffer?;
        if kind == OutputKind::Passed && self.is_as_it_is(buffer, frame, pts) {
            let buffer = buffer.clone();
            self.metas.leave_with_newest();
            return Some(Shown::Untouched(buffer));
        }
        // The copy shares the memory.
        let mut buffer = buffer.copy();
        metas::retain_display(buffer.make_mut());
        Some(Shown::Input(buffer, kind))
    }

    /// Whether `buffer` is just what is wanted for `frame`.
    fn is_as_it_is(&self, buffer: &gst::BufferRef, frame: &OutputFrame, pts: gst::ClockTime) -> bool {
        self.input == self.output
            && buffer.pts() == Some(pts)
            && buffer.duration() == Some(video::time(frame.duration))
            && !self.is_discont
            && self.metas.is_newest_alone()
    }

    /// Notes that `frame` leaves.
    pub fn note_sent(&mut self, frame: &OutputFrame) {
        self.sent += 1;
        let end = frame.time.saturating_add(frame.duration);
        self.last_sent = Some(SentFrame { time: frame.time, end: Some(end) });
    }

    /// Gives `buffer` the time of `frame`, which is `pts`, and the metadata that leaves with it.
    pub fn stamp(&mut self, buffer: &mut gst::BufferRef, frame: &OutputFrame, pts: gst::ClockTime) {
        self.metas.attach(buffer, self.is_reached);
        buffer.set_pts(pts);
        buffer.set_dts(gst::ClockTime::NONE);
        buffer.set_duration(video::time(frame.duration));
        buffer.set_offset(self.sent);
        self.note_sent(frame);
        buffer.set_offset_end(self.sent);
        if std::mem::take(&mut self.is_discont) {
            buffer.set_flags(gst::BufferFlags::DISCONT);
        } else {
            buffer.unset_flags(gst::BufferFlags::DISCONT);
        }
    }
}
