//! The search for the motion between input frames, and the frames that are made along it.

use std::collections::VecDeque;
use std::iter;

use crate::settings::{DeviceSettings, MotionEstimateOnDeviceFailure, StreamError};
use motion_frames::backend::native_maker;
use motion_frames::interpolation::{
    FrameFormat, FrameMaker, FrameQuality, InterpolationError, LoadedPair, Patch, Phase, SceneCutThreshold,
    SearchInput, search_parameters,
};
use motion_search::backend::Choice;
use motion_search::estimator::{
    BlockHandle, EstimateError, Frame, FrameView, Launching, MotionVector, Notice, Output, SetupError,
};
use motion_search::native::Native;
use motion_search::session::{FrameSlot, Session};
use motion_search::tuning::{Kernel, Tuning};

/// A plane in memory of a device that a made frame is written to, and the bytes from one row to the next.
pub type Target = (BlockHandle, usize);

/// The devices that search, what they have found between frames, and what makes frames of that.
pub struct MotionSearch {
    devices: DeviceSettings,
    quality: FrameQuality,
    format: FrameFormat,
    session: Session,
    input: SearchInput,
    /// The frames of the searches that have begun, and before them the frame that was loaded last.
    searched: VecDeque<SearchedFrame>,
    /// The fields of searches that had to end before their pair was loaded.
    found: VecDeque<Output>,
    /// Whether the first of `searched` has been loaded.
    has_loaded: bool,
    /// The pair between which frames are made, and that before it.
    pair: FoundPair,
    before: FoundPair,
    /// The pair after it, once that is loaded.
    ahead: Option<FoundPair>,
    maker: Box<dyn FrameMaker>,
    /// How many frames that follow each other were loaded last.
    loaded: usize,
    /// The frames that have begun, and whether they are of the pair after this one.
    begun: VecDeque<Phase>,
    has_begun_ahead: bool,
    /// What has happened to `maker`.
    notices: Vec<Notice>,
}

/// A frame that is searched.
struct SearchedFrame {
    frame: Frame,
    slot: FrameSlot,
}

/// An input frame and the one before it.
#[derive(Default)]
struct FoundPair {
    motion: PairMotion,
    /// Of the frame before in the other.
    field: Option<Output>,
    /// What is drawn over the frames between the two.
    patches: Vec<Patch>,
    /// Nanoseconds of the input from one to the other.
    length: u64,
}

impl FoundPair {
    /// Whether motion goes on from this pair to the `other`, which is beside it.
    fn is_neighbour_of(&self, other: &Self) -> bool {
        self.motion == PairMotion::Found && self.length.abs_diff(other.length) <= other.length / 4
    }
}

/// What is known of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PairMotion {
    /// Nothing: there is no pair, or no frame is wanted between the two.
    #[default]
    Unknown,
    /// How they move.
    Found,
    /// They show different scenes.
    SceneCut,
}

/// How the devices of a [`MotionSearch`] were chosen.
pub struct MotionChoice {
    /// Those that search.
    pub search: Choice,
    /// Why frames are not made where it was asked for.
    pub maker: Option<SetupError>,
}

impl MotionSearch {
    /// Opens `devices` for frames of `format`, which are made in `quality`.
    ///
    /// # Errors
    /// [`SetupError`] of the devices, or if there is too little memory.
    pub fn open(
        devices: &DeviceSettings,
        quality: FrameQuality,
        format: &FrameFormat,
    ) -> Result<(Self, MotionChoice), SetupError> {
        let parameters = search_parameters(format.size.0, format.size.1)?;
        let (maker, fallback) = devices.open_maker(format, quality)?;
        let (session, search) = devices.open(Kernel::Auto, Tuning::default(), &parameters)?;
        let mut opened = Self {
            devices: devices.clone(),
            quality,
            format: format.clone(),
            session,
            input: SearchInput::new(format.size, devices.threads as usize)?,
            searched: VecDeque::new(),
            found: VecDeque::new(),
            has_loaded: false,
            pair: FoundPair::default(),
            before: FoundPair::default(),
            ahead: None,
            maker,
            loaded: 0,
            begun: VecDeque::new(),
            has_begun_ahead: false,
            notices: Vec::new(),
        };
        opened.rehearse()?;
        Ok((opened, MotionChoice { search, maker: fallback }))
    }

    /// Has a device make a frame between blank ones: some drivers compile kernels at their first launch.
    fn rehearse(&mut self) -> Result<(), SetupError> {
        if self.maker.device() == Native::NAME {
            return Ok(());
        }
        let (format, maker) = (&self.format, &mut self.maker);
        // No plane is larger than luma, with what chroma rounds up.
        let blank = vec![0; (format.size.0 + 1) * (format.size.1 + 1) * format.samples.bytes()];
        let plane = |index| {
            let size = format.plane_size(index);
            FrameView::with_format(&blank, size, size.0 * format.samples.bytes(), format.samples)
                .unwrap_or_else(|error| unreachable!("a plane without padding: {error}"))
        };
        let planes: Vec<_> = (0..format.samplings.len()).map(plane).collect();
        let field = vec![MotionVector::default(); self.session.parameters().grid().blocks()];
        let has_neighbours = self.quality == FrameQuality::High;
        let mut make = || {
            maker.load_frame(&planes)?;
            for _ in 0..if has_neighbours { 3 } else { 1 } {
                maker.load_frame(&planes)?;
                maker.set_motion(&field)?;
            }
            if has_neighbours {
                maker.select(LoadedPair::BeforeNewest { has_neighbours })?;
            }
            maker.start_frame(Phase::MIDDLE)?;
            maker.finish_frame()
        };
        match make() {
            Ok(()) => Ok(()),
            Err(error) => self.fall_back(error, [None; 3]).map_err(|error| SetupError::Device {
                device: self.devices.device.clone(),
                message: error.to_string(),
            }),
        }
    }

    /// Whether it was opened for these.
    pub fn is_for(&self, devices: &DeviceSettings, quality: FrameQuality) -> bool {
        (&self.devices, self.quality) == (devices, quality)
    }

    /// How much the frames of the next pairs must differ to show different scenes.
    pub fn set_scene_cut_threshold(&mut self, threshold: SceneCutThreshold) {
        self.input.set_scene_cut_threshold(threshold);
    }

    /// The value set last.
    pub fn scene_cut_threshold(&self) -> SceneCutThreshold {
        self.input.scene_cut_threshold()
    }

    /// Whether it was opened for a quality that takes the motion before and after a pair.
    pub fn can_look_ahead(&self) -> bool {
        self.quality == FrameQuality::High
    }

    /// The devices for which it was opened.
    pub fn devices(&self) -> &DeviceSettings {
        &self.devices
    }

    /// The names of the devices that search.
    pub fn device(&self) -> &str {
        self.session.device()
    }

    /// The name of the device that makes frames.
    pub fn maker(&self) -> &str {
        self.maker.device()
    }

    /// What launches the kernels of the devices that search, and of the one that makes frames, where they have kernels.
    pub fn launching(&self) -> [Option<&Launching>; 2] {
        [self.session.launching(), self.maker.launching()]
    }

    /// What has happened to the devices since the previous call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        let mut notices = self.session.take_notices();
        notices.append(&mut self.notices);
        notices
    }

    /// What is known of the pair between which frames are made.
    pub fn pair(&self) -> PairMotion {
        self.pair.motion
    }

    /// Begins to search the frame before in the one with the luma plane `next`. `previous` is that of the frame before, unless
    /// that was searched for the frame before it. The pair is [loaded](Self::load_pair) after all before it.
    ///
    /// # Errors
    /// [`StreamError`] if the last device fails, a plane has another size, or too many searches have begun.
    pub fn start_search(&mut self, previous: Option<&Frame>, next: &Frame) -> Result<(), StreamError> {
        // The session has slots for frames of which each is searched in the one before it.
        while previous.is_some() && self.session.in_flight() > 0 {
            let (_, field) = self.session.finish_search()?;
            self.found.push_back(field);
        }
        for luma in previous.into_iter().chain([next]) {
            let frame = match self.maker.search_frame(luma) {
                Ok(Some(frame)) => frame,
                // If the device fails, the next frame that it makes tells of it.
                Ok(None) | Err(_) => self.input.frame(&luma.view())?,
            };
            let slot = self.session.add_frame(frame.clone())?;
            self.searched.push_back(SearchedFrame { frame, slot });
        }
        let slots: Vec<_> = self.searched.iter().rev().take(2).map(|searched| searched.slot).collect();
        if let [next, previous] = slots[..] {
            self.session.start_search(previous, next, ())?;
        }
        Ok(())
    }

    /// Nothing is searched between the two frames of the next pair.
    pub fn skip_pair(&mut self) {
        self.cancel();
        self.ahead = Some(FoundPair::default());
        if std::mem::take(&mut self.has_loaded) {
            self.release_first();
        }
    }

    /// Goes on to the next pair, which has been [loaded](Self::load_pair) or [skipped](Self::skip_pair).
    pub fn go_on(&mut self) {
        if !std::mem::take(&mut self.has_begun_ahead) {
            self.cancel();
        }
        let next = self.ahead.take().unwrap_or_default();
        self.before = std::mem::replace(&mut self.pair, next);
    }

    fn release_first(&mut self) -> Option<SearchedFrame> {
        let first = self.searched.pop_front()?;
        // It may have been given to a later frame.
        if self.searched.iter().all(|other| other.slot != first.slot) {
            self.session.release_frame(first.slot);
        }
        Some(first)
    }

    /// Loads the next pair, and waits until its frame `previous` is searched in `next`, `length` nanoseconds later. `before` is the
    /// frame before, if frames are still made between that and `previous`. A device copies the frame meanwhile. `first` is the
    /// phase of the frame between the two that is likely to be wanted first: a device begins it.
    ///
    /// # Errors
    /// [`StreamError`] if the last device fails, or a plane has another size.
    pub fn load_pair(
        &mut self,
        before: Option<&[Frame]>,
        [previous, next]: [&[Frame]; 2],
        length: u64,
        first: Option<Phase>,
    ) -> Result<(), StreamError> {
        self.cancel();
        let frames = [before, Some(previous), Some(next)];
        if !std::mem::replace(&mut self.has_loaded, true) {
            match self.maker.load_planes(previous) {
                Ok(()) => self.loaded = 1,
                Err(error) => self.fall_back(error, [None, Some(previous), None])?,
            }
        }
        match self.maker.load_planes(next) {
            Ok(()) => self.loaded += 1,
            Err(error) => self.fall_back(error, frames)?,
        }
        let mut field = match self.found.pop_front() {
            Some(field) => field,
            None => self.session.finish_search()?.1,
        };
        let Some(searched) = self.release_first() else { return Ok(()) };
        let Some(SearchedFrame { frame, .. }) = self.searched.front() else { return Ok(()) };
        let pair = [&searched.frame, frame];
        let is_cut = self.input.is_scene_cut(pair, &field.vectors)?;
        let motion = if is_cut { PairMotion::SceneCut } else { PairMotion::Found };
        let patches = if is_cut { Vec::new() } else { self.input.correct(pair, &mut field.vectors)? };
        if let Err(error) = set_motion(&mut *self.maker, &field, &patches) {
            self.fall_back(error, frames)?;
            set_motion(&mut *self.maker, &field, &patches).map_err(StreamError::Make)?;
        }
        self.ahead = Some(FoundPair { motion, field: Some(field), patches, length });
        let first = first.filter(|_| before.is_none() && motion == PairMotion::Found);
        match first.map_or(Ok(()), |first| self.begin_ahead(first)) {
            Ok(()) => Ok(()),
            Err(error) => self.fall_back(error, frames),
        }
    }

    /// Begins the frame at `phase` of the pair that was loaded last, if the device makes frames while the host does something else.
    fn begin_ahead(&mut self, phase: Phase) -> Result<(), InterpolationError> {
        if self.maker.depth() == 1 {
            return Ok(());
        }
        self.maker.select(LoadedPair::Newest)?;
        self.maker.start_frame(phase)?;
        self.begun.push_back(phase);
        self.has_begun_ahead = true;
        Ok(())
    }

    /// Makes the next frame the first of a sequence.
    pub fn forget(&mut self) {
        self.cancel();
        self.session.cancel();
        self.session.release_frames();
        self.searched.clear();
        self.found.clear();
        (self.has_loaded, self.ahead) = (false, None);
        (self.before, self.pair) = (FoundPair::default(), FoundPair::default());
    }

    /// Gives up the frames that have begun.
    fn cancel(&mut self) {
        if !self.begun.is_empty() {
            self.maker.cancel();
            self.begun.clear();
        }
        self.has_begun_ahead = false;
    }

    /// Makes the frame at `phase` between the first two of `frames`, those of the pair; the third is the frame after them.
    /// `upcoming` is the phase of the frame between them that is likely to be wanted next: a device begins it. Returns
    /// what writes the planes, unless they have been written to `target`, planes of a GPU.
    ///
    /// # Errors
    /// [`StreamError::Make`].
    pub fn make(
        &mut self,
        phase: Phase,
        upcoming: Option<Phase>,
        mut frames: [Option<&[Frame]>; 3],
        target: &[Target],
    ) -> Result<Option<&dyn FrameMaker>, StreamError> {
        if self.begun.front() != Some(&phase) {
            self.cancel();
        }
        let made = self.make_on_device(phase, upcoming).and_then(|()| self.maker.copy_to_blocks(target));
        let is_written = made.or_else(|error| {
            self.begun.clear();
            if self.selected() == LoadedPair::Newest {
                // The frame after them has not been loaded.
                frames[2] = None;
            }
            self.fall_back(error, frames)?;
            self.make_on_device(phase, None).map_err(StreamError::Make)?;
            Ok::<_, StreamError>(false)
        })?;
        Ok((!is_written).then_some(&*self.maker))
    }

    /// As [`Self::make`], by the maker that there is.
    fn make_on_device(&mut self, phase: Phase, upcoming: Option<Phase>) -> Result<(), InterpolationError> {
        if self.begun.is_empty() {
            self.maker.select(self.selected())?;
        }
        for phase in iter::once(phase).chain(upcoming) {
            if !self.begun.contains(&phase) && self.begun.len() < self.maker.depth() {
                self.maker.start_frame(phase)?;
                self.begun.push_back(phase);
            }
        }
        self.begun.pop_front();
        self.maker.finish_frame()
    }

    /// Which of the frames that were loaded are those of the pair.
    fn selected(&self) -> LoadedPair {
        match &self.ahead {
            Some(ahead) if ahead.motion != PairMotion::Unknown => LoadedPair::BeforeNewest {
                has_neighbours: self.loaded >= 4
                    && [&self.before, ahead].iter().all(|beside| beside.is_neighbour_of(&self.pair)),
            },
            _ => LoadedPair::Newest,
        }
    }

    /// Lets the CPU make frames after the device has failed. `frames` are those of the pair and the one after it, as far as they are
    /// needed and loaded; the CPU loads them, with the fields between them that are known.
    ///
    /// # Errors
    /// `error` if no device has failed, or the CPU is not to take over.
    fn fall_back(
        &mut self,
        error: InterpolationError,
        frames: [Option<&[Frame]>; 3],
    ) -> Result<(), StreamError> {
        let InterpolationError::Device(EstimateError::Device { device, message }) = &error else {
            return Err(StreamError::Make(error));
        };
        if self.devices.on_device_failure == MotionEstimateOnDeviceFailure::Error {
            return Err(StreamError::Make(error));
        }
        let threads = self.devices.threads as usize;
        let Ok(maker) = native_maker(&self.format, self.quality, threads) else {
            return Err(StreamError::Make(error));
        };
        let name = maker.device();
        self.notices.push(Notice::Failure(format!(
            "{device} failed to make frames ({message}); continuing on {name}"
        )));
        self.maker = maker;
        let pairs = [None, frames[0].and(Some(&self.pair)), self.ahead.as_ref()];
        for (planes, pair) in frames.into_iter().zip(pairs) {
            let Some(planes) = planes else { continue };
            self.maker.load_planes(planes).map_err(StreamError::Make)?;
            if let Some(FoundPair { field: Some(field), patches, .. }) = pair {
                set_motion(&mut *self.maker, field, patches).map_err(StreamError::Make)?;
            }
        }
        self.loaded = frames.iter().flatten().count();
        Ok(())
    }
}

/// Tells `maker` how the pair that was loaded last moves.
fn set_motion(
    maker: &mut dyn FrameMaker,
    field: &Output,
    patches: &[Patch],
) -> Result<(), InterpolationError> {
    maker.set_motion(&field.vectors)?;
    maker.set_patches(patches)
}
