//! Frames on the device, with margins that let kernels read outside the frame without branches.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytemuck::{Pod, Zeroable};

use super::kernel_file::{self, KernelFile};
use crate::estimator::{
    Border, DeviceInfo, Frame, HostBlock, Parameters, Part, SampleFormat, SetupError, Slot, SubSample, Window,
};
use motion_gpu::context::{Context, begin_copy};
use motion_gpu::device::OpenClDevice;
use motion_gpu::host::{PinnedBlock, PinnedMemory};
use motion_gpu::launcher::{self, Arg, Buffer, Event, KernelObject, Queue, Rectangle};
use motion_gpu::program;

/// Rows start at multiples of so many bytes.
const ALIGNMENT: usize = 64;

/// The most bytes that a kernel reads past a window's samples on either side: the span that the
/// collaborative kernel stages beside its line, or the word that joins a misaligned one.
const OVER_READ: usize = 16;

/// Field for field `Geometry` in `common.cl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Geometry {
    pub(super) pitch: i32,
    left: i32,
    top: i32,
    pub(super) columns: i32,
    pub(super) rows: i32,
    above: i32,
    extended_width: i32,
    extended_height: i32,
    pub(super) x0: i32,
    y0: i32,
    pub(super) window_columns: i32,
    pub(super) window_rows: i32,
    pub(super) inside_only: i32,
}

impl Geometry {
    /// Blocks of the grid.
    pub(super) fn blocks(&self) -> usize {
        (self.columns * self.rows) as usize
    }

    /// Candidates of the window.
    pub(super) fn candidates(&self) -> usize {
        (self.window_columns * self.window_rows) as usize
    }

    /// As an argument of a kernel.
    pub(super) fn arg(&self) -> Arg<'_> {
        Arg::Struct(bytemuck::bytes_of(self))
    }
}

/// How a frame lies in its buffer; `common.cl` has the formula.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) geometry: Geometry,
    padded_rows: usize,
    /// Bytes behind the frame in its slot, for what kernels make of it.
    prepared_bytes: usize,
}

impl Layout {
    /// Rows that refinement reads beyond the samples of a window: three of its filters, and two because three-step
    /// search may have gone further outside the frame than its window needs.
    const REFINED: usize = 5;

    pub(super) fn new(parameters: &Parameters, window: &Window) -> Self {
        let refined = if parameters.sub_sample == SubSample::None { 0 } else { Self::REFINED };
        let bytes = sample_bytes(parameters);
        let left = (window.x0().unsigned_abs() as usize * bytes + OVER_READ).next_multiple_of(ALIGNMENT);
        // Idle items of the collaborative kernel work on a block right of the frame.
        let right = (window.x1() as usize + parameters.block_size) * bytes + OVER_READ;
        let pitch = (left + parameters.extended_width() * bytes + right).next_multiple_of(ALIGNMENT);
        let top = refined + window.y0().unsigned_abs() as usize;
        let grid = parameters.grid();
        // Frames have at most 32768 samples an axis and windows 8191: all of it fits 31 bits.
        let geometry = Geometry {
            pitch: pitch as i32,
            left: left as i32,
            top: top as i32,
            columns: grid.columns as i32,
            rows: grid.rows as i32,
            above: 0,
            extended_width: parameters.extended_width() as i32,
            extended_height: parameters.extended_height() as i32,
            x0: window.x0(),
            y0: window.y0(),
            window_columns: window.columns() as i32,
            window_rows: window.rows() as i32,
            inside_only: i32::from(parameters.border == Border::Restrict),
        };
        let padded_rows = top + parameters.extended_height() + window.y1() as usize + refined;
        Self { geometry, padded_rows, prepared_bytes: 0 }
    }

    /// The geometry of a part: its first row of blocks is row 0 of the grid. `window` is what is
    /// tried of the window that the layout was made for.
    pub(super) fn geometry_of(&self, part: Part, block_size: usize, window: &Window) -> Geometry {
        let (rows, above) = (part.rows(), (part.rows().start * block_size) as i32);
        Geometry {
            top: self.geometry.top + above,
            rows: rows.len() as i32,
            above,
            extended_height: self.geometry.extended_height - above,
            y0: window.y0(),
            window_rows: window.rows() as i32,
            ..self.geometry
        }
    }

    /// The same layout, with so many bytes behind the frame in its slot.
    pub(super) fn with_prepared_bytes(self, prepared_bytes: usize) -> Self {
        Self { prepared_bytes, ..self }
    }

    /// The byte with which the frame's first sample begins.
    pub(super) fn origin(&self) -> usize {
        self.pitch() * self.geometry.top as usize + self.geometry.left as usize
    }

    /// Bytes of a row, with the room beside it.
    pub(super) fn pitch(&self) -> usize {
        self.geometry.pitch as usize
    }

    /// Bytes of a frame.
    pub(super) fn bytes(&self) -> usize {
        self.pitch() * self.padded_rows
    }

    /// Bytes of a slot.
    fn slot_bytes(&self) -> usize {
        self.bytes() + self.prepared_bytes
    }
}

/// Bytes of a sample on the device.
pub(super) fn sample_bytes(parameters: &Parameters) -> usize {
    if parameters.bit_depth == 8 { 1 } else { 2 }
}

/// Items of a group that extends a frame by its margins.
const EXTEND_ITEMS: usize = 64;

/// What a slot holds: a frame on the device, and how it gets there.
struct PaddedFrame {
    /// Page-locked memory to which frames are copied that the device cannot read where they are; allocated with the
    /// first of them.
    staging: Option<Box<dyn HostBlock>>,
    /// The frame with its margins, and behind it what the kernels need of it.
    padded: Buffer,
    /// Deep samples of which eight bits are searched, as they came; allocated with the first frame that has them in memory that
    /// the device reads.
    deep: Option<Buffer>,
    /// The frame that the device reads, if it is not in `staging`.
    source: Option<Frame>,
    /// Done when the samples are on the device, and are read no more on the host.
    written: Option<Event>,
    /// Done when the frame can be searched.
    ready: Option<Event>,
    /// How long the host took to load the frame.
    upload: Duration,
}

/// The slots, and what fills them: one upload and one kernel a frame, two for deep samples that the device changes.
pub(super) struct FrameSlots {
    layout: Layout,
    width: usize,
    height: usize,
    /// How samples lie on the device.
    format: SampleFormat,
    /// For deep samples: puts them into the lowest bits.
    normalise: Option<KernelObject>,
    /// For searches of eight bits: takes them from deep samples.
    narrow: Option<KernelObject>,
    slots: Vec<PaddedFrame>,
    extend: KernelObject,
    /// Items of a group of `extend`.
    extend_items: usize,
    memory: PinnedMemory,
    context: Arc<Context>,
}

impl FrameSlots {
    /// The slots that `info` announces, with staging memory of `memory`.
    pub(super) fn new(
        context: &Arc<Context>,
        device: &OpenClDevice,
        memory: PinnedMemory,
        info: &DeviceInfo,
        layout: Layout,
    ) -> Result<Self, SetupError> {
        let Parameters { width, height, bit_depth, .. } = info.parameters;
        let options = kernel_file::options(KernelFile::Frame, 0, &info.parameters, None);
        let program = program::build(context, device, info.kernel, &KernelFile::Frame.source(), &options)?;
        let is_deep = bit_depth > 8;
        let normalise = is_deep.then(|| program.kernel(c"normalise")).transpose();
        let narrow = (!is_deep).then(|| program.kernel(c"narrow")).transpose();
        let extend = program.kernel(c"extend").map_err(|error| device.refused(error))?;
        let slot = |_| {
            Ok(PaddedFrame {
                padded: device.buffer(context, "a frame and its margins", layout.slot_bytes())?,
                deep: None,
                staging: None,
                source: None,
                written: None,
                ready: None,
                upload: Duration::ZERO,
            })
        };
        Ok(Self {
            layout,
            width,
            height,
            format: SampleFormat::new(bit_depth, 0)
                .unwrap_or_else(|error| unreachable!("the parameters are valid: {error}")),
            normalise: normalise.map_err(|error| device.refused(error))?,
            narrow: narrow.map_err(|error| device.refused(error))?,
            slots: (0..info.slots).map(slot).collect::<Result<_, SetupError>>()?,
            extend_items: device.largest_group_of(&extend)?.min(EXTEND_ITEMS),
            extend,
            memory,
            context: context.clone(),
        })
    }

    /// The padded frame in `slot` and the event that tells when it is there, if one was loaded.
    pub(super) fn get(&self, slot: Slot) -> Option<(&Buffer, &Event)> {
        let slot = self.slots.get(slot.index())?;
        Some((&slot.padded, slot.ready.as_ref()?))
    }

    /// Checks that the upload of the frame in `slot` has not failed.
    ///
    /// # Errors
    /// The error of the command.
    pub(super) fn check(&self, slot: Slot) -> launcher::Result<()> {
        let PaddedFrame { written, ready, .. } = &self.slots[slot.index()];
        written.iter().chain(ready).try_for_each(Event::check)
    }

    /// How long the host took to load the frame in `slot`.
    pub(super) fn upload_time(&self, slot: Slot) -> Duration {
        self.slots[slot.index()].upload
    }

    /// Starts to upload the needed rows of `frame`, which must be of the size that the slots were made for,
    /// and to extend it: one flush. An upload to the same slot that is not done is waited for, `limit` long. `prepare` queues
    /// what is made of the frame.
    pub(super) fn load_frame(
        &mut self,
        queue: &Queue,
        limit: Duration,
        slot: Slot,
        frame: &Frame,
        prepare: impl FnOnce(&Buffer) -> launcher::Result<()>,
    ) -> launcher::Result<()> {
        let start = Instant::now();
        self.wait_for_upload(slot, limit)?;
        self.write_rows(queue, slot, frame)?;
        self.normalise(queue, slot, frame.format().shift())?;
        self.extend(queue, slot)?;
        let loaded = &mut self.slots[slot.index()];
        prepare(&loaded.padded)?;
        loaded.ready = Some(queue.marker()?);
        queue.flush()?;
        // The upload itself goes on while the host does something else.
        loaded.upload = start.elapsed();
        Ok(())
    }

    /// Empties `slot`, and waits until no upload to it is in progress.
    fn wait_for_upload(&mut self, slot: Slot, limit: Duration) -> launcher::Result<()> {
        let watch = self.context.watch();
        watch.check()?;
        let loaded = &mut self.slots[slot.index()];
        loaded.ready = None;
        let Some(written) = loaded.written.take() else { return Ok(()) };
        // It must be over; whether it succeeded does not matter any more.
        if watch.wait(&written, limit) == Err(launcher::Error::SILENT) {
            loaded.written = Some(written);
            return Err(launcher::Error::SILENT);
        }
        Ok(())
    }

    /// Queues the upload of the needed rows of `frame`. The device reads a frame in its memory, or in page-locked memory, where
    /// it is; any other frame is copied first.
    fn write_rows(&mut self, queue: &Queue, slot: Slot, frame: &Frame) -> launcher::Result<()> {
        let is_read_there = self.context.plane_of(frame).is_some() || PinnedBlock::holds(frame);
        // Hierarchical search has eight bits of deeper samples on the device.
        let is_narrowed = frame.format().bytes() > self.format.bytes();
        let Geometry { left, top, pitch, .. } = self.layout.geometry;
        let row_bytes = self.width * self.format.bytes();
        let rows = Rectangle {
            left: left as usize,
            top: top as usize + frame.rows().start,
            width: row_bytes,
            height: frame.rows().len(),
            pitch: pitch as usize,
        };
        let loaded = &mut self.slots[slot.index()];
        loaded.source = is_read_there.then(|| frame.clone());
        let written = match (is_read_there, is_narrowed) {
            (true, true) => {
                let row_bytes = self.width * frame.format().bytes();
                let deep = match &mut loaded.deep {
                    Some(deep) => deep,
                    none => none.insert(self.context.buffer(row_bytes * self.height)?),
                };
                let rows = Rectangle { left: 0, top: 0, width: row_bytes, pitch: row_bytes, ..rows };
                // SAFETY: `source` keeps the samples until the event is done.
                unsafe { begin_copy(&self.context, queue, frame, deep, rows)? }
            }
            // SAFETY: as above.
            (true, false) => unsafe { begin_copy(&self.context, queue, frame, &loaded.padded, rows)? },
            (false, _) => {
                let view = frame.view().band(frame.rows());
                let staging = match &mut loaded.staging {
                    Some(staging) => staging,
                    none => none.insert(self.memory.block(row_bytes * self.height)?),
                };
                // The device has read what was there before.
                let staging = &mut (**staging).as_mut()[..row_bytes * view.height()];
                if is_narrowed {
                    staging
                        .chunks_exact_mut(row_bytes)
                        .enumerate()
                        .for_each(|(y, row)| view.read_row(y, row));
                } else {
                    view.copy_to(staging);
                }
                // SAFETY: the memory lives as long as the device, which waits for its queues.
                unsafe { queue.begin_write_rows(&loaded.padded, rows, staging, row_bytes)? }
            }
        };
        loaded.written = Some(written);
        if is_read_there && is_narrowed { self.narrow(queue, slot, frame) } else { Ok(()) }
    }

    /// Queues what takes the eight bits that are searched from the deep samples of `frame`, which were copied as they came.
    fn narrow(&mut self, queue: &Queue, slot: Slot, frame: &Frame) -> launcher::Result<()> {
        let PaddedFrame { padded, deep, .. } = &self.slots[slot.index()];
        let (Some(narrow), Some(deep)) = (&mut self.narrow, deep) else { return Ok(()) };
        let (rows, format) = (frame.rows(), frame.format());
        let (black, lower) = format.levels();
        let numbers = [self.width as i32, rows.start as i32, rows.len() as i32, format.shift() as i32];
        let levels = [i32::from(format.peak()), i32::from(black), lower as i32];
        let args: Vec<_> = [Arg::Buffer(deep), Arg::Buffer(padded)]
            .into_iter()
            .chain(numbers.into_iter().chain(levels).map(Arg::Int))
            .chain([self.layout.geometry.arg()])
            .collect();
        let groups = [(self.width * rows.len()).div_ceil(self.extend_items), 1];
        // SAFETY: it reads the samples that were copied, and writes those of the frame alone.
        unsafe { queue.launch(narrow, &args, groups, [self.extend_items, 1]) }
    }

    /// Queues what puts deep samples, which have `shift` bits below them, into the lowest bits.
    fn normalise(&mut self, queue: &Queue, slot: Slot, shift: u32) -> launcher::Result<()> {
        let Some(normalise) = &mut self.normalise else { return Ok(()) };
        let args = [
            Arg::Buffer(&self.slots[slot.index()].padded),
            Arg::Int(self.width as i32),
            Arg::Int(self.height as i32),
            Arg::Int(shift as i32),
            Arg::Int(i32::from(self.format.peak())),
            Arg::Struct(bytemuck::bytes_of(&self.layout.geometry)),
        ];
        let groups = [(self.width * self.height).div_ceil(self.extend_items), 1];
        // SAFETY: it reads and writes the samples of the frame alone.
        unsafe { queue.launch(normalise, &args, groups, [self.extend_items, 1]) }
    }

    /// Queues what fills the margins of the frame in `slot`.
    fn extend(&mut self, queue: &Queue, slot: Slot) -> launcher::Result<()> {
        let Self { width, height, extend_items: items, layout: Layout { geometry, padded_rows, .. }, .. } =
            *self;
        let args = [
            Arg::Buffer(&self.slots[slot.index()].padded),
            Arg::Int(width as i32),
            Arg::Int(height as i32),
            Arg::Int(padded_rows as i32),
            Arg::Struct(bytemuck::bytes_of(&geometry)),
        ];
        let (words, row_words) = (geometry.pitch as usize / 4, width * self.format.bytes() / 4);
        let margin = (padded_rows - height) * words + height * (words - row_words);
        // SAFETY: `extend` clamps what it reads to the frame, and writes only below pitch x padded_rows, the
        // first part of `padded`.
        unsafe { queue.launch(&mut self.extend, &args, [margin.div_ceil(items), 1], [items, 1]) }
    }

    /// Releases the memory from which the frame in `slot` was read. The frame must be on the device.
    pub(super) fn release(&mut self, slot: Slot) {
        self.slots[slot.index()].source = None;
    }

    /// Downloads the frame in `slot`, without its margins, and waits for it, `limit` long.
    pub(super) fn unload_frame(
        &self,
        queue: &Queue,
        limit: Duration,
        slot: Slot,
    ) -> launcher::Result<Option<Frame>> {
        let watch = self.context.watch();
        watch.check()?;
        let Some((buffer, _)) = self.get(slot) else { return Ok(None) };
        let Self { width, height, format, layout: Layout { geometry, .. }, .. } = *self;
        let row_bytes = width * format.bytes();
        let (left, top, pitch) = (geometry.left as usize, geometry.top as usize, geometry.pitch as usize);
        let mut samples = vec![0; row_bytes * height];
        let rows = Rectangle { left, top, width: row_bytes, height, pitch };
        // SAFETY: the samples stay allocated until the event is done, and are leaked if it never is.
        let read = unsafe { queue.begin_read_rows(buffer, rows, &mut samples)? };
        let read = queue.flush().and_then(|()| watch.wait(&read, limit));
        if watch.is_lost() {
            std::mem::forget(samples);
            return Err(launcher::Error::SILENT);
        }
        read?;
        Ok(Frame::with_format(Arc::new(samples), (width, height), row_bytes, format).ok())
    }
}
