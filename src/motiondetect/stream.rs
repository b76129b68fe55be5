//! The frames of a stream from one caps to the next: what moves in them, and which wait.

use gst_video::VideoInfo;

use super::settings::{DetectSettings, MaskSettingError};
use crate::meta::{MetaError, MotionVectorMeta};
use crate::settings::{DeviceSettings, StreamError, setup_message};
use crate::video::frame::{FrameLayout, PlaneError};
use crate::video::pool::{self, HeldBuffers};
use crate::video::sequence::Leaving;
use crate::video::waiting::{Item, Waiting};
use motion_detect::{DetectionError, Detector, Field, Observation, Region};
use motion_search::estimator::{Algorithm, Parameters, Quality, SetupError, Window};
use motion_search::scenes::{SearchFrames, halvings_to};
use motion_search::session::{FrameSlot, Session};
use motion_search::tuning::{Kernel, Tuning};

/// The side of the blocks that are searched, in samples of the frame that is searched.
const BLOCK: usize = 8;

/// Units of the vectors of hierarchical search per sample.
const UNITS: f64 = 32.0;

/// Without timestamps, or a frame rate, frames are taken for so far apart, in ns.
const FRAME: u64 = 33_333_333;

/// Why there is no stream.
#[derive(Debug, thiserror::Error)]
pub enum DetectSetupError {
    /// Frames are too small: they pass untouched.
    #[error(transparent)]
    Detection(#[from] DetectionError),
    #[error(transparent)]
    Mask(#[from] MaskSettingError),
    #[error(transparent)]
    Setup(#[from] SetupError),
}

impl DetectSetupError {
    /// The error message for the bus.
    pub fn message(&self) -> gst::ErrorMessage {
        match self {
            Self::Setup(error) => setup_message(error),
            error => gst::error_msg!(gst::LibraryError::Settings, ("{error}"), ["{error:?}"]),
        }
    }
}

/// The search for motion, where no field comes from upstream.
struct Search {
    /// Makes the frames that are searched from the small ones.
    frames: SearchFrames,
    session: Session,
    previous: Option<FrameSlot>,
    halvings: u32,
}

/// A frame that waits.
struct DetectFrame {
    buffer: gst::Buffer,
    /// Whether something moves in it or near it.
    is_kept: bool,
    /// Whether no later frame can keep it.
    is_last: bool,
}

/// What holds from one caps to the next.
pub struct DetectStream {
    layout: FrameLayout,
    detector: Detector,
    /// Makes the small frames that are looked at.
    frames: SearchFrames,
    instructions: motion_base::simd::Instructions,
    search: Search,
    waiting: Waiting<DetectFrame>,
    pub held: HeldBuffers,
    /// The time of the last frame, in ns, and from when on frames are kept no longer.
    time: Option<u64>,
    kept_until: Option<u64>,
    is_gap: bool,
}

impl Search {
    fn new(small: (usize, usize), halvings: u32) -> Result<Self, SetupError> {
        let halve = |length: usize| length.div_ceil(2);
        let mut parameters = Parameters::new(halve(small.0), halve(small.1), BLOCK, Window::symmetric(1, 1)?);
        (parameters.algorithm, parameters.quality) = (Algorithm::Hierarchical, Quality::Fast);
        // A thread, not one for each core: it has little to do, and a camera is rarely alone.
        let devices = DeviceSettings { device: "native".into(), threads: 1, ..DeviceSettings::default() };
        let (session, _) = devices.open(Kernel::Auto, Tuning::default(), &parameters)?;
        Ok(Self { frames: SearchFrames::new(small, 1)?, session, previous: None, halvings: halvings + 1 })
    }

    fn forget(&mut self) {
        self.session.cancel();
        self.session.release_frames();
        self.previous = None;
    }
}

impl DetectStream {
    /// For frames of `info`.
    ///
    /// # Errors
    /// [`DetectSetupError`].
    pub fn open(info: &VideoInfo, settings: &DetectSettings) -> Result<Self, DetectSetupError> {
        let layout = FrameLayout::new(info.clone()).with_levels(settings.levels.get());
        let size = layout.format().size;
        let halvings = halvings_to(size, Detector::MOST_SAMPLES);
        let detector = Detector::new(size, halvings, settings.detector()?)?;
        let search = Search::new(detector.small_size(), halvings)?;
        Ok(Self {
            frames: SearchFrames::new(size, halvings)?,
            instructions: motion_base::simd::InstructionSetName::best().required()?,
            layout,
            detector,
            search,
            waiting: Waiting::default(),
            held: HeldBuffers::default(),
            time: None,
            kept_until: None,
            is_gap: false,
        })
    }

    /// Applies settings that need no other stream.
    ///
    /// # Errors
    /// [`DetectSetupError`] if they cannot hold; then the earlier ones do.
    pub fn apply(&mut self, settings: &DetectSettings) -> Result<(), DetectSetupError> {
        Ok(self.detector.set_settings(settings.detector()?)?)
    }

    /// Whether deep samples are seen between the levels of `settings`.
    pub fn has_levels(&self, settings: &DetectSettings) -> bool {
        self.layout.has_levels(settings.levels.get())
    }

    /// What the caps say of its frames.
    pub fn info(&self) -> &VideoInfo {
        self.layout.info()
    }

    /// The noise of the last frame.
    pub fn noise(&self) -> f64 {
        self.detector.noise()
    }

    /// Checks that `buffer` holds a frame.
    ///
    /// # Errors
    /// [`PlaneError`] if it does not.
    pub fn check_frame(&self, buffer: &gst::Buffer) -> Result<(), PlaneError> {
        let frame = self.layout.read(buffer)?;
        (0..self.layout.format().samplings.len()).try_for_each(|index| frame.plane(index).map(drop))
    }

    /// The time of a frame with this timestamp, in ns: the frames without one follow each other as the caps say.
    fn time_of(&self, pts: Option<gst::ClockTime>) -> u64 {
        let fps = self.layout.info().fps();
        let frame = match (u64::try_from(fps.numer()), u64::try_from(fps.denom())) {
            (Ok(frames @ 1..), Ok(seconds)) => 1_000_000_000 * seconds / frames,
            _ => FRAME,
        };
        let next = self.time.map_or(0, |time| time.saturating_add(frame));
        pts.map_or(next, gst::ClockTime::nseconds)
    }

    /// Looks at the frame in `buffer`: [`Self::observation`] then says what it shows. Calls `tell` with the error of a field that is
    /// not valid or not of this frame.
    ///
    /// # Errors
    /// [`StreamError`] if the buffer does not hold the frame its caps promise, or the search fails.
    pub fn observe(
        &mut self,
        buffer: &gst::BufferRef,
        tell: &mut dyn FnMut(MetaError),
    ) -> Result<(), StreamError> {
        let time = self.time_of(buffer.pts());
        self.time = Some(time);
        let Self { layout, detector, frames, instructions, search, .. } = self;
        let small = {
            let frame = layout.read(buffer)?;
            frames.make(*instructions, &frame.plane(0)?)
        };
        let size = (layout.info().width(), layout.info().height());
        let field = MotionVectorMeta::at_offset(buffer, -1)
            .filter(|field| field.as_ref().map_or(true, |field| field.description().reference_offset == -1));
        let field = field.map(|field| field?.of_frame(size)).transpose().unwrap_or_else(|error| {
            tell(error);
            None
        });
        if let Some(field) = field {
            // The frames between were not loaded.
            search.forget();
            let description = field.description();
            let field = Field {
                vectors: field.vectors(),
                grid: description.grid(),
                block: (description.block_width as usize, description.block_height as usize),
                scale: description.scale.into(),
            };
            detector.observe(time, &small.view(), Some(field));
            return Ok(());
        }
        let slot = search.session.add_frame(search.frames.make(*instructions, &small.view()))?;
        let found = match search.previous.replace(slot) {
            Some(previous) => {
                search.session.start_search(slot, previous, ())?;
                let found = search.session.finish_search()?;
                search.session.release_frame(previous);
                Some(found.1)
            }
            None => None,
        };
        let field = found.as_ref().map(|found| Field {
            vectors: &found.vectors,
            grid: search.session.parameters().grid(),
            block: (BLOCK << search.halvings, BLOCK << search.halvings),
            scale: UNITS / f64::from(1u32 << search.halvings),
        });
        detector.observe(time, &small.view(), field);
        Ok(())
    }

    /// What the last frame has shown.
    pub fn observation(&self) -> &Observation {
        self.detector.observation()
    }

    /// Forgets the scene, and returns the regions that were open, and when the last frame was.
    pub fn finish(&mut self) -> (Option<u64>, Vec<Region>) {
        self.search.forget();
        self.kept_until = None;
        (self.time.take(), self.detector.finish().to_vec())
    }

    /// After an error of the search: the next frame is the first that is searched.
    pub fn forget_search(&mut self) {
        self.search.forget();
    }

    /// Takes `buffer`, which waits for `pre_roll` unless something moves. `post_roll` is how long frames are kept after that.
    pub fn push(&mut self, buffer: gst::Buffer, is_motion: bool, settings: &DetectSettings) {
        let now = self.time.unwrap_or_default();
        if is_motion {
            self.kept_until = Some(now.saturating_add(settings.post_roll));
            self.waiting.frames_mut().for_each(|frame| frame.is_kept = true);
        }
        let is_kept = is_motion || self.kept_until.is_some_and(|until| now <= until);
        self.waiting.push(DetectFrame { buffer, is_kept, is_last: false });
    }

    /// What leaves next. Frames that are not kept leave as gaps, once they have waited for `wait`, or for `most` others.
    pub fn pop(&mut self, wait: gst::ClockTime, most: usize) -> Option<Popped> {
        if let Some(event) = self.waiting.pop_event() {
            return Some(Popped::Leaving(Leaving::Event(event)));
        }
        let first = self.waiting.first()?;
        let newest = self.waiting.frames().next_back().and_then(|frame| frame.buffer.pts());
        let waited = newest.zip(first.buffer.pts()).map(|(newest, first)| newest.saturating_sub(first));
        let is_over =
            waited.is_none_or(|waited| waited >= wait) || self.waiting.len() > most || first.is_last;
        if !first.is_kept && !is_over {
            return None;
        }
        let Some(Item::Frame(DetectFrame { mut buffer, is_kept, .. })) = self.waiting.pop() else {
            return None;
        };
        if is_kept {
            if std::mem::take(&mut self.is_gap) {
                buffer.make_mut().set_flags(gst::BufferFlags::DISCONT);
            }
            return Some(Popped::Leaving(Leaving::Buffer(buffer)));
        }
        self.is_gap = true;
        Some(Popped::Gap(
            buffer.pts().map(|pts| gst::event::Gap::builder(pts).duration(buffer.duration()).build()),
        ))
    }

    /// Takes `event`, which leaves behind the frames that wait; gives it back if none waits.
    pub fn hold(&mut self, event: gst::Event) -> Option<gst::Event> {
        self.waiting.hold(event)
    }

    /// Lets the frames that wait leave without waiting for others.
    pub fn expect_no_more(&mut self) {
        self.waiting.frames_mut().for_each(|frame| frame.is_last = true);
    }

    /// Drops the frames that wait. Sticky events still leave.
    pub fn discard(&mut self) {
        self.waiting.discard();
    }

    /// Replaces the buffers that are held by copies.
    pub fn release_buffers(&mut self) {
        self.waiting.frames_mut().for_each(|frame| pool::release(&mut frame.buffer));
    }
}

/// What leaves the frames that wait.
pub enum Popped {
    /// A frame or an event.
    Leaving(Leaving),
    /// A frame that is dropped: in its place the event that tells so, if the frame has a time.
    Gap(Option<gst::Event>),
}

/// What is done from start to stop.
#[derive(Default)]
pub struct DetectState {
    pub info: Option<VideoInfo>,
    /// Those that held for the frame before.
    pub settings: Option<DetectSettings>,
    /// Unless frames are too small.
    pub stream: Option<DetectStream>,
}
