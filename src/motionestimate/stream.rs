//! The frames of a stream from one caps to the next, and the buffers that wait for their vectors.

use std::collections::VecDeque;

use gst::prelude::*;
use gst_video::VideoInfo;

use super::duplicates::Duplicates;
use super::memory::{Allocator, handle_of};
use super::settings::Settings;
use super::statistics::Statistics;
use super::unused_bits::UnusedBits;
use crate::meta::{self, Extras, FieldCosts, FieldDescription, RowDevices};
use crate::settings::StreamError;
use crate::video::frame::{self, FrameLayout, PlaneError};
use crate::video::interrupt::Later;
use crate::video::pool::{self, HeldBuffers, ask_for};
use crate::video::sequence::Leave;
use crate::video::waiting::{Item, Waiting};
use motion_search::backend::Choice;
use motion_search::estimator::{EstimateError, MotionVector, Notice, Output, References, SetupError};
use motion_search::session::{FrameSlot, Session};

/// The field that a search finds.
#[derive(Default)]
pub struct FieldKey {
    /// The number of the frame that it belongs to.
    frame: u64,
    reference_offset: i32,
    reference_pts: Option<gst::ClockTime>,
}

/// A buffer that waits, and the fields that it waits for.
struct HeldFrame {
    number: u64,
    buffer: gst::Buffer,
    /// Its searches in flight.
    in_flight: usize,
    /// Its searches in frames that have not arrived yet.
    to_come: usize,
    has_vectors: bool,
    is_scene_cut: bool,
}

/// A buffer with its fields.
pub struct ReadyFrame {
    pub buffer: gst::Buffer,
    /// Whether it begins another scene than the frame before shows.
    pub is_scene_cut: bool,
}

/// A frame that later frames are searched together with.
struct SequenceFrame {
    number: u64,
    slot: FrameSlot,
    pts: Option<gst::ClockTime>,
}

/// What holds from one caps to the next.
pub struct Stream {
    layout: FrameLayout,
    /// The settings with which `session` was opened.
    settings: Settings,
    session: Session<FieldKey>,
    /// The newest frames of the sequence, oldest first: those that the next one is searched together with.
    sequence: VecDeque<SequenceFrame>,
    /// For each of the newest frames, the searches in flight that began with it; oldest first.
    begun: VecDeque<usize>,
    waiting: Waiting<HeldFrame>,
    /// The number of the next frame.
    next: u64,
    duplicates: Duplicates,
    unused_bits: UnusedBits,
    /// The depth that samples of 16 bits seem to have, until somebody has been told.
    seeming_depth: Option<u32>,
    /// Gives out memory from which the device loads frames without a copy, if it has such memory.
    allocator: Option<Allocator>,
    held_buffers: HeldBuffers,
    /// The session on the device that is to go on, while that is opened.
    opening: Option<Opening>,
}

/// A session, and how its device was chosen.
pub type OpenedSession = (Session<FieldKey>, Choice);

/// A session that is opened while another one searches.
pub type Opening = Later<Result<OpenedSession, SetupError>>;

/// The session that searches, and the one that is to go on, if it is being opened.
pub type Sessions = (Session<FieldKey>, Option<Opening>);

/// What gives upstream memory of the device's choice, if frames are in memory of the host.
fn allocator_of(session: &Session<FieldKey>, settings: &Settings) -> Option<Allocator> {
    let is_on_host = settings.devices.memory.is_none();
    session.host_memory().filter(|_| is_on_host).map(Allocator::new)
}

impl Stream {
    /// Frames of `info` are searched by `session`, until `opening` has another one for the same searches.
    pub fn new(info: VideoInfo, settings: Settings, (session, opening): Sessions) -> Self {
        let layout = FrameLayout::new(info).with_levels(settings.levels.get());
        let sees_upper_bits = layout.format().samples.depth() == 16 && session.parameters().bit_depth == 8;
        let is_watched = sees_upper_bits && layout.has_levels([0, u16::MAX]);
        Self {
            opening,
            layout,
            unused_bits: if is_watched { UnusedBits::default() } else { UnusedBits::off() },
            seeming_depth: None,
            allocator: allocator_of(&session, &settings),
            settings,
            session,
            sequence: VecDeque::new(),
            begun: VecDeque::new(),
            waiting: Waiting::default(),
            next: 0,
            duplicates: Duplicates::default(),
            held_buffers: HeldBuffers::default(),
        }
    }

    pub fn info(&self) -> &VideoInfo {
        self.layout.info()
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn session(&self) -> &Session<FieldKey> {
        &self.session
    }

    /// The depth that samples of 16 bits seem to have, if they use fewer, once.
    pub fn take_seeming_depth(&mut self) -> Option<u32> {
        self.seeming_depth.take()
    }

    /// Checks that `buffer` holds a frame, of which luma alone is read.
    ///
    /// # Errors
    /// As [`FrameLayout::luma`].
    pub fn check_frame(&self, buffer: &gst::Buffer) -> Result<(), PlaneError> {
        frame::luma(&self.layout, buffer, None).map(drop)
    }

    /// What has happened in the session since the previous call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.session.take_notices()
    }

    /// The frames by which a buffer is delayed: those in flight besides its own, and its later reference frames.
    pub fn delay(&self) -> usize {
        self.settings.devices.pipeline_depth as usize - 1 + self.references().forward
    }

    /// The number of buffers that may wait after one that is ready has left.
    fn may_wait(&self) -> usize {
        // A pool that lacks even the buffers for later reference frames gives none: they are copied.
        if self.held_buffers.allows(self.references().forward) {
            self.delay().min(self.held_buffers.most())
        } else {
            self.delay()
        }
    }

    fn references(&self) -> References {
        self.session.parameters().references
    }

    /// The frames before the first that waits which the session keeps, if it keeps frames.
    fn kept_beyond_waiting(&self) -> usize {
        let references = self.references();
        references.reach() - references.forward
    }

    /// The frames that are kept besides those that wait.
    fn kept(&self) -> usize {
        let by_session = if self.session.keeps_frames() { self.kept_beyond_waiting() } else { 0 };
        by_session.max(usize::from(self.settings.drops_duplicates()))
    }

    /// Holds no buffer of upstream's any more, because upstream needs them back: what waits for later frames is copied.
    ///
    /// # Errors
    /// As [`Self::pop_output`].
    pub fn release_buffers(&mut self, statistics: &mut Statistics) -> Result<(), StreamError> {
        while self.session.in_flight() > 0 {
            self.finish_search(statistics)?;
        }
        self.waiting.frames_mut().for_each(|frame| pool::release(&mut frame.buffer));
        self.session.own_frames(0);
        self.duplicates.own();
        Ok(())
    }

    /// Adds to downstream's answer to an ALLOCATION query what this element needs: memory that is
    /// uploaded without a copy, and a buffer more for each that waits, or is held for the device's
    /// failure. Returns whether there is anything of it.
    ///
    /// A pool or an allocator of downstream's that is no plain system memory stays: it knows why.
    pub fn propose_allocation(&mut self, query: &mut gst::query::Allocation) -> bool {
        let pool = query.allocation_pools().next().and_then(|(pool, ..)| pool);
        let is_plain = pool.as_ref().is_none_or(is_plain_pool);
        let first = query.allocation_params().next();
        let is_system = |allocator: &gst::Allocator| gst::Allocator::find(None).as_ref() == Some(allocator);
        let is_free = first.as_ref().is_none_or(|(allocator, _)| allocator.as_ref().is_none_or(is_system));
        let allocator = self.allocator.as_ref().filter(|_| is_plain && is_free);
        match (allocator, first) {
            (Some(_), Some((_, params))) => query.set_nth_allocation_param(0, allocator, params),
            (Some(_), None) => query.add_allocation_param(allocator, gst::AllocationParams::default()),
            (None, _) => (),
        }
        let held = self.delay() + self.kept();
        let is_asked = allocator.is_some() || held > 0;
        let needed = if is_asked { ask_for(query, held) } else { pool::needed_by(query) };
        self.held_buffers.set_needed_downstream(needed);
        is_asked
    }

    /// Continues with `session`, opened with `settings`: the earlier reference frames of the next frame move to it,
    /// unless the devices of this session only had eight bits of them and the other one needs others. Nothing may
    /// wait.
    ///
    /// # Errors
    /// What either session reports.
    pub fn with_session(
        mut self,
        settings: Settings,
        (mut session, opening): Sessions,
    ) -> Result<Self, EstimateError> {
        let mut sequence = VecDeque::new();
        let [black, white] = settings.levels.get();
        if self.settings.levels != settings.levels {
            self.sequence.clear();
        }
        let skipped = self.sequence.len().saturating_sub(session.parameters().references.backward);
        for SequenceFrame { number, slot, pts } in self.sequence.into_iter().skip(skipped) {
            match self.session.unload_frame(slot)?.filter(|frame| frame.check(session.parameters()).is_ok()) {
                Some(frame) => sequence.push_back(SequenceFrame {
                    number,
                    slot: session.add_frame(frame.with_levels(black, white))?,
                    pts,
                }),
                None => sequence.clear(),
            }
        }
        let Self { layout, next, held_buffers, .. } = self;
        Ok(Self {
            sequence,
            next,
            held_buffers,
            ..Self::new(layout.info().clone(), settings, (session, opening))
        })
    }

    /// The session that was being opened, once it is open or cannot be.
    pub fn take_opened(&mut self) -> Option<Result<OpenedSession, SetupError>> {
        let opened = self.opening.as_ref()?.take();
        self.opening.take_if(|_| opened.is_some());
        opened
    }

    /// Goes on with `session`, for the same searches on another device. What waits goes on waiting, with the fields that it
    /// has.
    ///
    /// # Errors
    /// What either session reports.
    pub fn change_device(
        &mut self,
        mut session: Session<FieldKey>,
        statistics: &mut Statistics,
    ) -> Result<(), StreamError> {
        while self.session.in_flight() > 0 {
            self.finish_search(statistics)?;
        }
        for frame in &mut self.sequence {
            let moved = self.session.unload_frame(frame.slot)?.ok_or(EstimateError::NoFrame)?;
            frame.slot = session.add_frame(moved)?;
        }
        self.allocator = allocator_of(&session, &self.settings);
        self.session = session;
        Ok(())
    }

    /// Lets the buffers that wait go without the fields that later frames would give them.
    pub fn expect_no_more(&mut self) {
        self.waiting.frames_mut().for_each(|frame| frame.to_come = 0);
    }

    /// Makes the next frame the first of a sequence.
    pub fn forget(&mut self) {
        self.duplicates = Duplicates::default();
        self.expect_no_more();
        self.sequence.clear();
        self.session.release_frames();
    }

    /// Drops the buffers that wait, and forgets the sequence. Sticky events still leave.
    pub fn discard(&mut self) {
        self.session.cancel();
        self.begun.clear();
        self.waiting.discard();
        self.forget();
    }

    /// Takes `event`, which leaves behind the buffers that wait; gives it back if none waits.
    pub fn hold(&mut self, event: gst::Event) -> Option<gst::Event> {
        self.waiting.hold(event)
    }

    /// Takes `buffer`, and begins the searches between its frame and those before it: its own, and those of frames that
    /// wait for it. A frame that equals the one before is dropped if the settings say so.
    ///
    /// # Errors
    /// [`StreamError`]. The buffer is dropped and there is no sequence then; the buffers before it still
    /// wait.
    pub fn take_input(
        &mut self,
        buffer: gst::Buffer,
        statistics: &mut Statistics,
    ) -> Result<(), StreamError> {
        self.held_buffers.note(&buffer, self.delay() + self.kept());
        let is_lossy = self.settings.drop_lossy_duplicates;
        if self.settings.drops_duplicates() && self.duplicates.has(&buffer, &self.layout, is_lossy) {
            statistics.add_dropped();
            return Ok(());
        }
        let references = self.references();
        // A frame that waits for later ones does not end the searches that began with it, but there are slots only for
        // the searches of as many frames as may be in flight.
        while self.begun.len() == self.settings.devices.pipeline_depth as usize {
            match self.begun.front() {
                Some(1..) => self.finish_search(statistics)?,
                _ => drop(self.begun.pop_front()),
            }
        }
        let buffer = self.held_buffers.own_if_scarce(buffer, references.forward);
        let (number, pts) = (self.next, buffer.pts());
        self.next += 1;
        let block = (buffer.n_memory() == 1).then(|| handle_of(buffer.peek_memory(0))).flatten();
        let luma = frame::luma(&self.layout, &buffer, block)?;
        self.seeming_depth = self.seeming_depth.or(self.unused_bits.next(&luma.view()));
        let slot = self.session.add_frame(luma)?;
        let mut frame = HeldFrame {
            number,
            buffer,
            in_flight: 0,
            to_come: references.forward,
            has_vectors: false,
            is_scene_cut: false,
        };
        let mut begun = 0;
        // The search for the last field of a frame is started last: when it is finished, all searches that were started
        // together with it are.
        for (distance, earlier) in (1..).zip(self.sequence.iter().rev().take(references.backward)) {
            let key = FieldKey { frame: number, reference_offset: -distance, reference_pts: earlier.pts };
            self.session.start_search(slot, earlier.slot, key)?;
            begun += 1;
        }
        frame.in_flight = begun;
        for (distance, earlier) in (1..).zip(self.sequence.iter().rev().take(references.forward)) {
            let waiting = frame_of(&mut self.waiting, earlier.number);
            let Some(waiting) = waiting.filter(|waiting| waiting.to_come > 0) else { break };
            let key = FieldKey { frame: earlier.number, reference_offset: distance, reference_pts: pts };
            self.session.start_search(earlier.slot, slot, key)?;
            waiting.in_flight += 1;
            waiting.to_come -= 1;
            begun += 1;
        }
        self.begun.push_back(begun);
        if self.sequence.len() == references.reach()
            && let Some(oldest) = self.sequence.pop_front()
        {
            self.session.release_frame(oldest.slot);
        }
        if !self.settings.keep_fields && meta::is_attached(&frame.buffer) {
            meta::remove(frame.buffer.make_mut());
        }
        self.sequence.push_back(SequenceFrame { number, slot, pts });
        self.waiting.push(frame);
        Ok(())
    }

    /// What goes downstream next: the oldest buffer with its fields, if it needs no later frame, and if it has them or `leave`
    /// names it; or an event that waited behind such a buffer.
    ///
    /// # Errors
    /// [`StreamError`]. No buffer waits any more and there is no sequence then.
    pub fn pop_output(
        &mut self,
        leave: Leave,
        statistics: &mut Statistics,
    ) -> Result<Option<Item<ReadyFrame>>, StreamError> {
        let keep = if leave == Leave::Complete { 0 } else { self.may_wait() };
        while let Some(frame) = self.waiting.first() {
            if frame.in_flight == 0 && frame.to_come == 0 {
                break;
            }
            if frame.in_flight == 0 || self.waiting.len() <= keep {
                return Ok(None);
            }
            self.finish_search(statistics)?;
        }
        Ok(self.waiting.pop().map(|item| match item {
            Item::Event(event) => Item::Event(event),
            Item::Frame(HeldFrame { buffer, has_vectors, is_scene_cut, .. }) => {
                statistics.add_frame(has_vectors);
                if !self.held_buffers.allows(self.delay() + self.kept_beyond_waiting()) {
                    // Its pool has too few buffers for those that the session keeps.
                    self.session.own_frames(self.waiting.len());
                }
                if !self.held_buffers.allows(self.delay() + self.kept()) {
                    self.duplicates.own();
                }
                Item::Frame(ReadyFrame { buffer, is_scene_cut })
            }
        }))
    }

    /// Waits for the oldest search in flight, and attaches its field to the buffer of its frame.
    ///
    /// # Errors
    /// As [`Self::pop_output`].
    fn finish_search(&mut self, statistics: &mut Statistics) -> Result<(), StreamError> {
        if let Some(begun) = self.begun.iter_mut().find(|begun| **begun > 0) {
            *begun -= 1;
        }
        let finished = self.session.finish_search().map_err(StreamError::from);
        let attached = finished.and_then(|(key, output)| {
            statistics.add(&self.session, &output);
            self.attach(&key, output)
        });
        if attached.is_err() {
            self.discard();
        }
        attached
    }

    fn attach(&mut self, key: &FieldKey, output: Output) -> Result<(), StreamError> {
        let devices = self.row_devices(output.row_devices);
        // Its buffer was dropped if it could not be submitted.
        let Some(frame) = frame_of(&mut self.waiting, key.frame) else { return Ok(()) };
        let parameters = self.session.parameters();
        let grid = parameters.grid();
        let description = FieldDescription {
            width: parameters.width as u32,
            height: parameters.height as u32,
            block_width: parameters.block_size as u32,
            block_height: parameters.block_size as u32,
            columns: grid.columns as u32,
            rows: grid.rows as u32,
            scale: parameters.algorithm.scale() as u32,
            reference_offset: key.reference_offset,
            reference_pts: key.reference_pts,
            metric: parameters.metric_of_costs(),
            bit_depth: parameters.bit_depth,
        };
        let predictors = output.predictors.map(glib::Bytes::from_owned);
        let names = || parameters.costs.iter().map(|kind| kind.name().into()).collect();
        let costs = output.costs.map(|costs| FieldCosts::new(names(), glib::Bytes::from_owned(costs)));
        let is_still = |vector: &MotionVector| *vector == MotionVector::default();
        // Hierarchical search sees eight bits of deeper samples.
        let sees_all_bits = self.layout.format().samples.depth() == parameters.bit_depth;
        let has_levels = !sees_all_bits && !self.layout.has_levels([0, u16::MAX]);
        let levels = has_levels.then_some((self.settings.levels.black, self.settings.levels.white));
        let is_duplicate = sees_all_bits && output.vectors.iter().all(is_still);
        let is_scene_cut = output.is_scene_cut;
        let vectors = glib::Bytes::from_owned(output.vectors);
        let costs = costs.transpose()?;
        let extras = Extras { predictors, devices, costs, levels, is_scene_cut, is_duplicate };
        meta::attach(frame.buffer.make_mut(), &description, vectors, extras)?;
        frame.in_flight -= 1;
        frame.has_vectors = true;
        frame.is_scene_cut |= is_scene_cut == Some(true);
        Ok(())
    }

    /// Who found each row of blocks, by the numbers in `rows`; `None` where there are none.
    fn row_devices(&self, rows: Vec<u8>) -> Option<RowDevices> {
        /// More devices a byte does not tell apart.
        const MOST: usize = 256;
        if rows.is_empty() {
            return None;
        }
        let names: Vec<_> = self.session.shares().into_iter().map(|share| share.device).collect();
        (names.len() <= MOST).then(|| RowDevices::new(names, glib::Bytes::from_owned(rows)).ok())?
    }
}

/// Frame `number` among those that wait.
fn frame_of(waiting: &mut Waiting<HeldFrame>, number: u64) -> Option<&mut HeldFrame> {
    waiting.frames_mut().find(|frame| frame.number == number)
}

/// Whether buffers of `pool` may as well be of another memory.
fn is_plain_pool(pool: &gst::BufferPool) -> bool {
    let is_plain = ["GstBufferPool", "GstVideoBufferPool"].contains(&pool.type_().name());
    is_plain && pool.config().allocator().is_none_or(|(allocator, _)| allocator.is_none())
}
