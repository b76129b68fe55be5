//! The search for the motion between input frames, and the frames that are made along it.

use std::collections::VecDeque;
use std::iter;

use crate::settings::{DeviceSettings, MotionEstimateOnDeviceFailure};
use motion_search::backend::{self, Choice};
use motion_search::compensation::CompensationError;
use motion_search::estimator::{
    BlockHandle, EstimateError, Frame, FrameView, MotionVector, Notice, Output, SetupError,
};
use motion_search::interpolation::{
    FrameFormat, FrameMaker, FrameQuality, InterpolationError, Phase, SearchInput, search_parameters,
};
use motion_search::native::Native;
use motion_search::session::{FrameSlot, Session};
use motion_search::tuning::{Kernel, Tuning};

/// A plane in memory of a device that a made frame is written to, and the bytes from one row to the next.
pub type Target = (BlockHandle, usize);

/// The devices that search, what they have found between the two newest frames, and what makes frames of that.
pub struct MotionSearch {
    devices: DeviceSettings,
    quality: FrameQuality,
    format: FrameFormat,
    session: Session,
    input: SearchInput,
    /// The frames of the searches that have begun, and before them the next frame of the pair.
    searched: VecDeque<SearchedFrame>,
    /// The fields of searches that had to end before their pair was loaded.
    found: VecDeque<Output>,
    /// Whether the first of `searched` is the next frame of the pair, which has been loaded.
    has_loaded: bool,
    pair: PairMotion,
    /// Of the previous frame in the next one.
    field: Option<Output>,
    maker: Box<dyn FrameMaker>,
    /// The frames that have begun.
    begun: VecDeque<Phase>,
    /// What has happened to `maker`.
    notices: Vec<Notice>,
}

/// A frame that is searched.
struct SearchedFrame {
    frame: Frame,
    slot: FrameSlot,
}

/// What is known of the pair: the two frames that were loaded last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairMotion {
    /// Nothing: there is no pair, or no frame is wanted between the two.
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
            pair: PairMotion::Unknown,
            field: None,
            maker,
            begun: VecDeque::new(),
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
        let mut make = || {
            maker.load_frame(&planes)?;
            maker.load_frame(&planes)?;
            maker.set_motion(&field)?;
            maker.start_frame(Phase::MIDDLE)?;
            maker.finish_frame()
        };
        match make() {
            Ok(()) => Ok(()),
            Err(error) => self.fall_back(error, [None, None]).map_err(|error| SetupError::Device {
                device: self.devices.device.clone(),
                message: error.to_string(),
            }),
        }
    }

    /// Whether it was opened for these.
    pub fn is_for(&self, devices: &DeviceSettings, quality: FrameQuality) -> bool {
        (&self.devices, self.quality) == (devices, quality)
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

    /// What has happened to the devices since the previous call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        let mut notices = self.session.take_notices();
        notices.append(&mut self.notices);
        notices
    }

    /// What is known of the two frames that were loaded last.
    pub fn pair(&self) -> PairMotion {
        self.pair
    }

    /// Begins to search the frame before in the one with the luma plane `next`. `previous` is that of the frame before, unless
    /// that was searched for the frame before it. The pair is [loaded](Self::load_pair) after all before it.
    ///
    /// # Errors
    /// [`MotionError`] if the last device fails, a plane has another size, or too many searches have begun.
    pub fn start_search(&mut self, previous: Option<&Frame>, next: &Frame) -> Result<(), MotionError> {
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

    /// Goes on to the next pair, of which nothing is searched.
    pub fn skip_pair(&mut self) {
        self.cancel();
        (self.pair, self.field) = (PairMotion::Unknown, None);
        if std::mem::take(&mut self.has_loaded) {
            self.release_first();
        }
    }

    fn release_first(&mut self) -> Option<SearchedFrame> {
        let first = self.searched.pop_front()?;
        // It may have been given to a later frame.
        if self.searched.iter().all(|other| other.slot != first.slot) {
            self.session.release_frame(first.slot);
        }
        Some(first)
    }

    /// Goes on to the next pair, and waits until the frame `previous` is searched in `next`. A device copies the frame
    /// meanwhile.
    ///
    /// # Errors
    /// [`MotionError`] if the last device fails, or a plane has another size.
    pub fn load_pair(&mut self, previous: &[Frame], next: &[Frame]) -> Result<(), MotionError> {
        self.cancel();
        (self.pair, self.field) = (PairMotion::Unknown, None);
        if !std::mem::replace(&mut self.has_loaded, true)
            && let Err(error) = self.maker.load_planes(previous)
        {
            self.fall_back(error, [Some(previous), None])?;
        }
        if let Err(error) = self.maker.load_planes(next) {
            self.fall_back(error, [Some(previous), Some(next)])?;
        }
        let field = match self.found.pop_front() {
            Some(field) => field,
            None => self.session.finish_search()?.1,
        };
        let Some(before) = self.release_first() else { return Ok(()) };
        let vectors = &field.vectors;
        if let Err(error) = self.maker.set_motion(vectors) {
            self.fall_back(error, [Some(previous), Some(next)])?;
            self.maker.set_motion(vectors).map_err(MotionError::Make)?;
        }
        let Some(SearchedFrame { frame, .. }) = self.searched.front() else { return Ok(()) };
        let is_cut = self.input.is_scene_cut([&before.frame, frame], vectors)?;
        self.field = Some(field);
        self.pair = if is_cut { PairMotion::SceneCut } else { PairMotion::Found };
        Ok(())
    }

    /// Makes the next frame the first of a sequence.
    pub fn forget(&mut self) {
        self.cancel();
        self.session.cancel();
        self.session.release_frames();
        self.searched.clear();
        self.found.clear();
        (self.has_loaded, self.pair, self.field) = (false, PairMotion::Unknown, None);
    }

    /// Gives up the frames that have begun.
    fn cancel(&mut self) {
        if !self.begun.is_empty() {
            self.maker.cancel();
            self.begun.clear();
        }
    }

    /// Makes the frame at `phase` between the two newest frames, whose planes `sources` are. `upcoming` is the phase of the
    /// frame between them that is likely to be wanted next: a device begins it. Returns what writes the planes, unless they have
    /// been written to `target`, planes of a GPU.
    ///
    /// # Errors
    /// [`MotionError::Make`].
    pub fn make(
        &mut self,
        phase: Phase,
        upcoming: Option<Phase>,
        sources: [&[Frame]; 2],
        target: &[Target],
    ) -> Result<Option<&dyn FrameMaker>, MotionError> {
        if self.begun.front() != Some(&phase) {
            self.cancel();
        }
        let made = self.make_on_device(phase, upcoming).and_then(|()| self.maker.copy_to_blocks(target));
        let is_written = made.or_else(|error| {
            self.begun.clear();
            self.fall_back(error, sources.map(Some))?;
            if let Some(field) = &self.field {
                self.maker.set_motion(&field.vectors).map_err(MotionError::Make)?;
            }
            self.make_on_device(phase, None).map_err(MotionError::Make)?;
            Ok::<_, MotionError>(false)
        })?;
        Ok((!is_written).then_some(&*self.maker))
    }

    /// As [`Self::make`], by the maker that there is.
    fn make_on_device(&mut self, phase: Phase, upcoming: Option<Phase>) -> Result<(), InterpolationError> {
        for phase in iter::once(phase).chain(upcoming) {
            if !self.begun.contains(&phase) && self.begun.len() < self.maker.depth() {
                self.maker.start_frame(phase)?;
                self.begun.push_back(phase);
            }
        }
        self.begun.pop_front();
        self.maker.finish_frame()
    }

    /// Lets the CPU make frames after the device has failed, and loads `frames`, the previous and the next one.
    ///
    /// # Errors
    /// `error` if no device has failed, or the CPU is not to take over.
    fn fall_back(
        &mut self,
        error: InterpolationError,
        frames: [Option<&[Frame]>; 2],
    ) -> Result<(), MotionError> {
        let InterpolationError::Device(EstimateError::Device { device, message }) = &error else {
            return Err(MotionError::Make(error));
        };
        if self.devices.on_device_failure == MotionEstimateOnDeviceFailure::Error {
            return Err(MotionError::Make(error));
        }
        let threads = self.devices.threads as usize;
        let Ok(maker) = backend::native_maker(&self.format, self.quality, threads) else {
            return Err(MotionError::Make(error));
        };
        let name = maker.device();
        self.notices.push(Notice::Failure(format!(
            "{device} failed to make frames ({message}); continuing on {name}"
        )));
        self.maker = maker;
        for planes in frames.into_iter().flatten() {
            self.maker.load_planes(planes).map_err(MotionError::Make)?;
        }
        Ok(())
    }
}

/// Why the motion of a frame is not found, or a frame not made.
#[derive(Debug, thiserror::Error)]
pub enum MotionError {
    /// The search failed.
    #[error(transparent)]
    Search(#[from] EstimateError),
    /// A plane does not have the size of the stream's frames.
    #[error(transparent)]
    Plane(#[from] CompensationError),
    /// A frame is not made.
    #[error(transparent)]
    Make(InterpolationError),
}
