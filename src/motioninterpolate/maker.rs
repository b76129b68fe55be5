//! Makes the frames between two input frames.

use gst_video::VideoInfo;

use super::MotionInterpolateMode;
use super::motion::{MotionChoice, MotionSearch, PairMotion};
use super::planes::{InputFrame, Planes};
use super::settings::InterpolationSettings;
use crate::settings::StreamError;
use crate::settings::{DeviceSettings, OpenError};
use crate::video::frame::PlaneError;
use crate::video::interrupt::Interrupt;
use motion_frames::compensation::weighted_mean;
use motion_frames::interpolation::Phase;

/// What becomes of a moment between two input frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A frame is made.
    Make,
    /// The previous input frame is repeated.
    RepeatPrevious,
    /// The next input frame is shown early.
    RepeatNext,
}

/// Two input frames that follow each other, and what makes frames between them.
pub struct Maker {
    planes: Planes,
    previous: Option<InputFrame>,
    next: Option<InputFrame>,
    /// While `mode=motion`.
    motion: Option<MotionSearch>,
    /// Whether the frame after `next` is loaded.
    has_ahead: bool,
    /// Whether the last frame is searched; `None` if it had come before `motion` was opened.
    is_newest_searched: Option<bool>,
}

impl Maker {
    /// For frames of `info`. Everything that making a frame needs is allocated here.
    pub fn new(info: &VideoInfo) -> Self {
        Self {
            planes: Planes::new(info),
            previous: None,
            next: None,
            motion: None,
            has_ahead: false,
            is_newest_searched: None,
        }
    }

    /// Opens the devices of `settings`, unless they are open, while the element waits. Returns them and how they were chosen if
    /// they were opened. `is_late`: only now, because none was needed before. After an error the devices that were open still are.
    ///
    /// # Errors
    /// As [`MotionSearch::open`] and [`DeviceSettings::open_apart`].
    pub fn prepare(
        &mut self,
        settings: &InterpolationSettings,
        is_late: bool,
        waiting: (&gst::Element, &Interrupt),
    ) -> Result<Option<(&mut MotionSearch, MotionChoice)>, OpenError> {
        if self.is_prepared(settings) {
            return Ok(None);
        }
        let threshold = settings.scene_cut_threshold();
        if self.has_opened(settings) {
            // The threshold alone is another one.
            self.motion.iter_mut().for_each(|motion| motion.set_scene_cut_threshold(threshold));
            return Ok(None);
        }
        let devices = &settings.devices;
        let mut opened = None;
        if settings.mode == MotionInterpolateMode::Motion {
            let format = self.planes.format_with_levels(settings.levels.get());
            let chosen = devices.clone();
            let quality = settings.quality.into();
            let open = move || MotionSearch::open(&chosen, quality, &format);
            let (mut motion, choice) = devices.open_apart(waiting, open)?;
            motion.set_scene_cut_threshold(threshold);
            opened = Some((motion, choice));
        }
        let (motion, choice) = opened.unzip();
        self.planes.set_levels(settings.levels.get());
        (self.motion, self.is_newest_searched) = (motion, is_late.then_some(false));
        Ok(self.motion.as_mut().zip(choice))
    }

    /// Whether [`Self::prepare`] has nothing to change for `settings`.
    pub fn is_prepared(&self, settings: &InterpolationSettings) -> bool {
        let threshold = settings.scene_cut_threshold();
        self.has_opened(settings)
            && self.motion.as_ref().is_none_or(|motion| motion.scene_cut_threshold() == threshold)
    }

    /// Whether nothing is to be opened or closed for `settings`.
    fn has_opened(&self, settings: &InterpolationSettings) -> bool {
        let needs_motion = settings.mode == MotionInterpolateMode::Motion;
        self.motion.as_ref().map_or(!needs_motion, |motion| {
            needs_motion
                && motion.is_for(&settings.devices, settings.quality.into())
                && self.planes.has_levels(settings.levels.get())
        })
    }

    /// The devices that are open.
    pub fn devices(&self) -> Option<&DeviceSettings> {
        self.motion.as_ref().map(MotionSearch::devices)
    }

    /// The frame that came last, which is `waiting` or else the next one of the pair, and access to its planes.
    pub fn newest<'a>(
        &'a mut self,
        waiting: Option<&'a InputFrame>,
    ) -> (Option<&'a InputFrame>, &'a mut Planes) {
        (waiting.or(self.next.as_ref()), &mut self.planes)
    }

    /// Checks that `buffer` holds a frame.
    ///
    /// # Errors
    /// As [`Planes::check`].
    pub fn check_frame(&self, buffer: &gst::Buffer) -> Result<(), PlaneError> {
        self.planes.check(buffer)
    }

    /// Whether what makes frames, if it is open, also takes the motion before and after them.
    pub fn can_look_ahead(&self) -> bool {
        self.motion.as_ref().is_none_or(MotionSearch::can_look_ahead)
    }

    /// The search for motion, if `mode` needs it.
    pub fn motion(&mut self) -> Option<&mut MotionSearch> {
        self.motion.as_mut()
    }

    /// Begins to find the motion between an input frame and the one before it, `previous` or else the next one of the pair, if
    /// `is_wanted` and the mode needs it. Returns whether it does. The frame is [loaded](Self::load_ahead) after all before it.
    ///
    /// # Errors
    /// As [`Self::load_ahead`].
    pub fn start_search(
        &mut self,
        previous: Option<&InputFrame>,
        next: &InputFrame,
        is_wanted: bool,
    ) -> Result<bool, StreamError> {
        let previous = previous.or(self.next.as_ref());
        let Some(motion) = &mut self.motion else { return Ok(false) };
        let (Some(is_known), Some(previous), true) =
            (self.is_newest_searched.replace(false), previous, is_wanted)
        else {
            return Ok(false);
        };
        let next = self.planes.luma(next)?;
        let previous = (!is_known).then(|| self.planes.luma(previous)).transpose()?;
        motion.start_search(previous.as_ref(), &next)?;
        self.is_newest_searched = Some(true);
        Ok(true)
    }

    /// Loads the frame after the next one, unless it is loaded. Finds the motion between these two, if its [search has
    /// begun](Self::start_search); they are `length` nanoseconds apart, and the frame at `first` is likely to be wanted first.
    ///
    /// # Errors
    /// [`StreamError`] if the buffer does not hold the frame its caps promise, or the search fails.
    pub fn load_ahead(
        &mut self,
        frame: &InputFrame,
        is_searched: bool,
        length: u64,
        first: Option<Phase>,
    ) -> Result<(), StreamError> {
        if std::mem::replace(&mut self.has_ahead, true) {
            return Ok(());
        }
        match (&mut self.motion, &self.next) {
            (Some(motion), Some(next)) if is_searched => {
                let before = self.previous.as_ref().map(|before| self.planes.frames(before)).transpose()?;
                let (next, ahead) = (self.planes.frames(next)?, self.planes.frames(frame)?);
                motion.load_pair(before.as_deref(), [&next, &ahead], length, first)?;
            }
            (Some(motion), _) => motion.skip_pair(),
            (None, _) => (),
        }
        Ok(())
    }

    /// Goes on to `frame`, which has been [loaded](Self::load_ahead).
    pub fn go_on(&mut self, frame: InputFrame) {
        if let Some(motion) = &mut self.motion {
            motion.go_on();
        }
        self.has_ahead = false;
        self.previous = self.next.replace(frame);
    }

    /// Holds the previous frame no longer: nothing is made between the two any more.
    pub fn release(&mut self) {
        self.previous = None;
    }

    /// Replaces the buffers that are held by copies.
    pub fn release_buffers(&mut self) {
        self.previous.iter_mut().chain(&mut self.next).for_each(InputFrame::release_buffer);
    }

    /// Makes the next frame the first of a sequence.
    pub fn forget(&mut self) {
        (self.previous, self.next, self.is_newest_searched) = (None, None, None);
        self.has_ahead = false;
        if let Some(motion) = &mut self.motion {
            motion.forget();
        }
    }

    pub fn previous(&self) -> Option<&gst::Buffer> {
        self.previous.as_ref().map(|frame| &frame.buffer)
    }

    pub fn next(&self) -> Option<&gst::Buffer> {
        self.next.as_ref().map(|frame| &frame.buffer)
    }

    /// What becomes of the moment at `phase` between the two frames, and whether that is so because of a scene cut.
    pub fn decide(&self, mode: MotionInterpolateMode, phase: Phase) -> (Decision, bool) {
        let is_cut = mode == MotionInterpolateMode::Motion
            && self.motion.as_ref().is_some_and(|motion| motion.pair() == PairMotion::SceneCut);
        let decision = match (is_cut || mode == MotionInterpolateMode::Repeat, phase.is_nearer_previous()) {
            (false, _) => Decision::Make,
            (true, true) => Decision::RepeatPrevious,
            (true, false) => Decision::RepeatNext,
        };
        (decision, is_cut)
    }

    /// Makes the frame at `phase` between the two frames in `out`. `upcoming` is the phase of the frame between them that is
    /// likely to be wanted next, `ahead` the frame after them, if there is one.
    ///
    /// # Errors
    /// [`StreamError`] if a buffer does not hold the frame its caps promise, or the last device fails.
    pub fn make(
        &mut self,
        phase: Phase,
        upcoming: Option<Phase>,
        ahead: Option<&InputFrame>,
        out: &mut gst::BufferRef,
    ) -> Result<(), StreamError> {
        let (Some(previous), Some(next)) = (&self.previous, &self.next) else { return Ok(()) };
        let (previous, next) = (self.planes.frames(previous)?, self.planes.frames(next)?);
        // Nothing is known of the first two frames since `mode` was set to motion in mid-stream: they are blended.
        let motion = self.motion.as_mut().filter(|motion| motion.pair() != PairMotion::Unknown);
        let mut maker = None;
        if let Some(motion) = motion {
            let ahead =
                ahead.filter(|_| self.has_ahead).map(|ahead| self.planes.frames(ahead)).transpose()?;
            let frames = [Some(&previous[..]), Some(&next), ahead.as_deref()];
            let target = self.planes.write_on_gpu(out);
            let target = target.as_deref().unwrap_or_default();
            maker = motion.make(phase, upcoming, frames, target)?;
            if maker.is_none() {
                return Ok(());
            }
        }
        self.planes.write(out, |index, out| {
            let (previous, next) = (previous[index].view(), next[index].view());
            match maker {
                Some(maker) => maker.write_plane(index, [&previous, &next], out),
                None => weighted_mean(&previous, &next, phase.previous_weight(), out),
            }
        })
    }
}
