//! The frames on the device, with the room around them that lets kernels read without branches.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytemuck::{Pod, Zeroable};

use super::cl::{self, Arg, Buffer, Event, Kernel, Queue, Rectangle};
use super::context::Context;
use super::device::Device;
use super::flight::between;
use super::host::Block;
use super::program::{self, KernelFile};
use super::watch::Watch;
use crate::estimator::{self, Border, FrameBuf, FrameView, Parameters, Part, SetupError, Window};

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
}

impl Layout {
    pub(super) fn new(parameters: &Parameters, window: &Window) -> Self {
        let left = (window.x0().unsigned_abs() as usize + OVER_READ).next_multiple_of(ALIGNMENT);
        // Idle items of the collaborative kernel work on a block right of the frame.
        let right = window.x1() as usize + parameters.block_size + OVER_READ;
        let pitch = (left + parameters.extended_width() + right).next_multiple_of(ALIGNMENT);
        let top = window.y0().unsigned_abs() as usize;
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
        Self { geometry, padded_rows: top + parameters.extended_height() + window.y1() as usize }
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

    /// Samples of a row, with the room beside it.
    pub(super) fn pitch(&self) -> usize {
        self.geometry.pitch as usize
    }

    /// Bytes of a frame: as many as samples.
    pub(super) fn bytes(&self) -> usize {
        self.pitch() * self.padded_rows
    }
}

/// Makes a buffer of `bytes`, or says that the device has no room for `what`.
pub(super) fn buffer(
    context: &Context,
    device: &Device,
    what: &'static str,
    bytes: usize,
) -> Result<Buffer, SetupError> {
    let (needed, limit) = (bytes as u64, device.largest_buffer);
    let no_room = |limit| SetupError::Memory { device: device.name.clone(), what, needed, limit };
    if needed > limit {
        return Err(no_room(limit));
    }
    context.buffer(bytes).map_err(|error| match error.code {
        -4 | -5 | -61 => no_room(limit),
        _ => device.refused(error),
    })
}

/// A slot: a frame on the device, and the way to it.
struct Place {
    /// What frames are copied to that cannot be read from where they are.
    staging: Block,
    /// The frame as it comes.
    packed: Buffer,
    /// The frame with its margins.
    padded: Buffer,
    /// Where the frame is read from, where it is not `staging`.
    source: Option<Lent>,
    /// Whether all of it was loaded.
    is_whole: bool,
    /// Tells when its samples are on the device, and read no more on the host.
    written: Option<Event>,
    /// Tells when the frame can be searched.
    ready: Option<Event>,
    /// How long the host took to hand it over.
    upload: Duration,
}

/// A frame in memory that others may write to when they are told that it is needed no longer.
struct Lent {
    block: Arc<Block>,
    /// Where in the block it begins, and the bytes from one row to the next.
    offset: usize,
    stride: usize,
}

impl Place {
    /// Copies the rows of `width` samples that lie in `source` to `rows`.
    fn copy_lent(source: &Lent, width: usize, rows: &mut [u8]) {
        // SAFETY: whoever lent the frame does not write to it as long as it is needed; the device
        // does not either.
        let samples = unsafe { source.block.as_slice() };
        let from = samples[source.offset..].chunks(source.stride);
        rows.chunks_exact_mut(width).zip(from).for_each(|(row, from)| row.copy_from_slice(&from[..width]));
    }
}

/// The slots, and what fills them: one upload and one kernel a frame.
pub(super) struct Slots {
    layout: Layout,
    width: usize,
    height: usize,
    places: Vec<Place>,
    extend: Kernel,
    /// Whether frames can be salvaged.
    keeps: bool,
    watch: Arc<Watch>,
}

impl Slots {
    /// `count` slots; `queue` maps their memory on the host.
    pub(super) fn new(
        context: &Arc<Context>,
        device: &Device,
        queue: &Arc<Queue>,
        kernel: estimator::Kernel,
        parameters: &Parameters,
        layout: Layout,
        count: usize,
    ) -> Result<Self, SetupError> {
        let Parameters { width, height, .. } = *parameters;
        let program = program::build(context, device, kernel, &KernelFile::Frame.source(), "")?;
        let place = |_| {
            Ok(Place {
                packed: buffer(context, device, "a frame", width * height)?,
                padded: buffer(context, device, "a frame and its margins", layout.bytes())?,
                staging: Block::new(context, device, queue, width * height)?,
                source: None,
                is_whole: false,
                written: None,
                ready: None,
                upload: Duration::ZERO,
            })
        };
        Ok(Self {
            layout,
            width,
            height,
            places: (0..count).map(place).collect::<Result<_, SetupError>>()?,
            extend: program.kernel(c"extend").map_err(|error| device.refused(error))?,
            keeps: false,
            watch: context.watch().clone(),
        })
    }

    /// The frame in `slot`, and what tells when it is there, where one was loaded.
    pub(super) fn get(&self, slot: estimator::Slot) -> Option<(&Buffer, &Event)> {
        let place = self.places.get(slot.index())?;
        Some((&place.padded, place.ready.as_ref()?))
    }

    /// How long the host took to hand over the frame in `slot`.
    pub(super) fn upload_time(&mut self, slot: estimator::Slot) -> &mut Duration {
        &mut self.places[slot.index()].upload
    }

    /// Begins to upload `frame`, which must be of the size the slots were made for, and to extend
    /// it: one flush. Of the rows outside `rows`, at least one, anything is then there. Where it lies in
    /// `source` it is read from there, else copied before. The frame that was there before is waited
    /// for, `limit` long.
    pub(super) fn load(
        &mut self,
        queue: &Queue,
        limit: Duration,
        slot: estimator::Slot,
        frame: &FrameView<'_>,
        rows: Range<usize>,
        source: Option<Arc<Block>>,
    ) -> cl::Result<()> {
        let (top, is_whole, frame) = (rows.start, rows.len() == frame.height(), frame.band(rows));
        let Self { width, height, ref mut places, ref mut extend, ref watch, .. } = *self;
        watch.check()?;
        let place = &mut places[slot.index()];
        place.ready = None;
        if let Some(written) = place.written.take() {
            // What became of it does not matter any more, but that it is over.
            if watch.wait(&written, limit) == Err(cl::Error::SILENT) {
                place.written = Some(written);
                return Err(cl::Error::SILENT);
            }
        }
        place.is_whole = is_whole;
        place.source = source.map(|block| Lent {
            offset: frame.as_bytes().as_ptr() as usize - block.start(),
            stride: frame.stride(),
            block,
        });
        let written = if place.source.is_none() {
            // SAFETY: the staging memory is this slot's alone, and nothing reads it any more.
            let staging = unsafe { place.staging.as_mut_slice() };
            let staging = &mut staging[..width * frame.height()];
            frame.copy_to(staging);
            // SAFETY: the memory lives as long as the estimator, which waits for its queues.
            unsafe { queue.begin_write(&place.packed, top * width, staging)? }
        } else if frame.stride() == width {
            // SAFETY: `source`, in which the samples lie, is kept until the event is done.
            unsafe { queue.begin_write(&place.packed, top * width, frame.as_bytes())? }
        } else {
            let to = Rectangle { left: 0, top, width, height: frame.height(), pitch: width };
            // SAFETY: as above.
            unsafe { queue.begin_write_rows(&place.packed, to, frame.as_bytes(), frame.stride())? }
        };
        place.written = Some(written);
        let Layout { geometry, padded_rows } = self.layout;
        let args = [
            Arg::Buffer(&place.packed),
            Arg::Buffer(&place.padded),
            Arg::Int(width as i32),
            Arg::Int(height as i32),
            Arg::Int(padded_rows as i32),
            Arg::Struct(bytemuck::bytes_of(&geometry)),
        ];
        const ITEMS: [usize; 2] = [32, 2];
        let groups = [(geometry.pitch as usize / 4).div_ceil(ITEMS[0]), padded_rows.div_ceil(ITEMS[1])];
        // SAFETY: `extend` clamps what it reads to width x height, the size of `packed`, and
        // writes only below pitch x padded_rows, the size of `padded`.
        let ready = unsafe { queue.launch_after(extend, &args, groups, ITEMS, &[])? };
        queue.flush()?;
        place.ready = Some(ready);
        Ok(())
    }

    /// How long the frame in `slot` was on its way to the device, where the device tells.
    pub(super) fn transfer(&self, slot: estimator::Slot) -> Option<Duration> {
        let written = self.places.get(slot.index())?.written.as_ref()?;
        between(written.started(), written.ended())
    }

    /// From now on keeps frames for [`Self::salvage`].
    pub(super) fn keep(&mut self) {
        self.keeps = true;
    }

    /// Lets go of the memory that the frame in `slot` was read from, unless it is kept there: it must
    /// be on the device.
    pub(super) fn release(&mut self, slot: estimator::Slot) {
        if !self.keeps {
            self.places[slot.index()].source = None;
        }
    }

    /// Whether the frame in `slot` is kept in memory of others.
    pub(super) fn is_lent(&self, slot: estimator::Slot) -> bool {
        self.keeps && self.places.get(slot.index()).is_some_and(|place| place.source.is_some())
    }

    /// Copies the frame in `slot`, which must be on the device, from memory of others.
    pub(super) fn copy_lent(&mut self, slot: estimator::Slot) {
        let Some(place) = self.places.get_mut(slot.index()) else { return };
        if let Some(source) = place.source.take().filter(|_| place.is_whole) {
            // SAFETY: the staging memory is this slot's alone, and nothing of this frame went by it.
            let staging = unsafe { place.staging.as_mut_slice() };
            Place::copy_lent(&source, self.width, &mut staging[..self.width * self.height]);
        }
    }

    /// The frame in `slot` as it is in the host's memory.
    pub(super) fn salvage(&self, slot: estimator::Slot) -> Option<FrameBuf> {
        let place = self.places.get(slot.index()).filter(|place| self.keeps && place.is_whole)?;
        let mut samples = vec![0; self.width * self.height];
        match &place.source {
            Some(source) => Place::copy_lent(source, self.width, &mut samples),
            // SAFETY: it was written when the frame was loaded; the device reads it, if anything.
            None => samples.copy_from_slice(unsafe { &place.staging.as_slice()[..self.width * self.height] }),
        }
        FrameBuf::new(samples, self.width, self.height).ok()
    }

    /// Lets go of the memory that frames were read from; what is kept there is so no longer.
    pub(super) fn release_all(&mut self) {
        for place in &mut self.places {
            place.is_whole &= place.source.take().is_none();
        }
    }

    /// Downloads the frame in `slot`, without the room around it, by the queue that it came by, and
    /// waits for it, `limit` long.
    pub(super) fn unload(
        &self,
        queue: &Queue,
        limit: Duration,
        slot: estimator::Slot,
    ) -> cl::Result<Option<FrameBuf>> {
        self.watch.check()?;
        let Some((buffer, _)) = self.get(slot) else { return Ok(None) };
        let Self { width, height, layout: Layout { geometry, .. }, .. } = *self;
        let (left, top, pitch) = (geometry.left as usize, geometry.top as usize, geometry.pitch as usize);
        let mut samples = vec![0; width * height];
        let rows = Rectangle { left, top, width, height, pitch };
        // SAFETY: the samples stay where they are until the event is done, and for ever where it is not.
        let read = unsafe { queue.begin_read_rows(buffer, rows, &mut samples)? };
        let read = queue.flush().and_then(|()| self.watch.wait(&read, limit));
        if self.watch.is_lost() {
            std::mem::forget(samples);
            return Err(cl::Error::SILENT);
        }
        read?;
        Ok(FrameBuf::new(samples, width, height).ok())
    }
}
