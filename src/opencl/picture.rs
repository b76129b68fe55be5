//! The pictures on the device, with the room around them that lets kernels read without branches.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytemuck::{Pod, Zeroable};

use super::cl::{self, Arg, Buffer, Event, Kernel, Queue, Rectangle};
use super::context::Context;
use super::device::Device;
use super::host::Block;
use super::program::{self, Source};
use crate::estimator::{self, Border, Parameters, Part, Picture, PictureBuf, SetupError, Window};

/// Rows start at multiples of so many bytes.
const ALIGNMENT: usize = 64;

/// The most bytes that a kernel reads past a window's samples on either side: the span that the
/// collaborative kernel stages beside its line, or the word that joins a misaligned one.
const OVER_READ: usize = 16;

/// Field for field `Geometry` in `common.cl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Geometry {
    pitch: i32,
    left: i32,
    top: i32,
    columns: i32,
    rows: i32,
    above: i32,
    extended_width: i32,
    extended_height: i32,
    x0: i32,
    y0: i32,
    window_columns: i32,
    window_rows: i32,
    inside_only: i32,
}

/// How a picture lies in its buffer; `common.cl` has the formula.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) geometry: Geometry,
    padded_rows: usize,
}

impl Layout {
    pub(super) fn new(parameters: &Parameters, window: &Window) -> Self {
        let left = (window.x0().unsigned_abs() as usize + OVER_READ).next_multiple_of(ALIGNMENT);
        // Idle items of the collaborative kernel work on a block right of the picture.
        let right = window.x1() as usize + parameters.block_size + OVER_READ;
        let pitch = (left + parameters.extended_width() + right).next_multiple_of(ALIGNMENT);
        let top = window.y0().unsigned_abs() as usize;
        let grid = parameters.grid();
        // Pictures have at most 32768 samples an axis and windows 8191: all of it fits 31 bits.
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

    fn bytes(&self) -> usize {
        self.geometry.pitch as usize * self.padded_rows
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

/// A slot: a picture on the device, and the way to it.
struct Place {
    /// What pictures are copied to that cannot be read from where they are.
    staging: Block,
    /// The picture as it comes.
    packed: Buffer,
    /// The picture with its margins.
    padded: Buffer,
    /// The memory that the picture is read from, where it is not `staging`.
    source: Option<Arc<Block>>,
    /// Tells when its samples are on the device, and read no more on the host.
    written: Option<Event>,
    /// Tells when the picture can be searched.
    ready: Option<Event>,
    /// How long the host took to hand it over.
    upload: Duration,
}

/// The slots, and what fills them: one upload and one kernel a picture.
pub(super) struct Slots {
    layout: Layout,
    width: usize,
    height: usize,
    places: Vec<Place>,
    extend: Kernel,
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
        let program = program::build(context, device, kernel, &Source::Picture.whole(), "")?;
        let place = |_| {
            Ok(Place {
                packed: buffer(context, device, "a picture", width * height)?,
                padded: buffer(context, device, "a picture and its margins", layout.bytes())?,
                staging: Block::new(context, device, queue, width * height)?,
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
            places: (0..count).map(place).collect::<Result<_, SetupError>>()?,
            extend: program.kernel(c"extend").map_err(|error| device.refused(error))?,
        })
    }

    /// The picture in `slot`, and what tells when it is there, where one was loaded.
    pub(super) fn get(&self, slot: estimator::Slot) -> Option<(&Buffer, &Event)> {
        let place = self.places.get(slot.index())?;
        Some((&place.padded, place.ready.as_ref()?))
    }

    /// How long the host took to hand over the picture in `slot`.
    pub(super) fn upload_time(&mut self, slot: estimator::Slot) -> &mut Duration {
        &mut self.places[slot.index()].upload
    }

    /// Begins to upload `picture`, which must be of the size the slots were made for, and to extend
    /// it: one flush. Of the rows outside `rows`, at least one, anything is then there. Where it lies in `source` it is read from there, else copied before.
    pub(super) fn load(
        &mut self,
        queue: &Queue,
        slot: estimator::Slot,
        picture: &Picture<'_>,
        rows: Range<usize>,
        source: Option<Arc<Block>>,
    ) -> cl::Result<()> {
        let (top, picture) = (rows.start, picture.band(rows));
        let Self { width, height, ref mut places, ref mut extend, .. } = *self;
        let place = &mut places[slot.index()];
        place.ready = None;
        if let Some(written) = place.written.take() {
            // What became of it does not matter any more, but that it is over.
            let _ = written.wait();
        }
        place.source = source;
        let written = if place.source.is_none() {
            // SAFETY: the staging memory is this slot's alone, and nothing reads it any more.
            let staging = unsafe { place.staging.as_mut_slice() };
            let staging = &mut staging[..width * picture.height()];
            if picture.stride() == width {
                staging.copy_from_slice(picture.as_bytes());
            } else {
                let rows = staging.chunks_exact_mut(width).enumerate();
                rows.for_each(|(y, row)| row.copy_from_slice(picture.row(y)));
            }
            // SAFETY: the memory lives as long as the estimator, which waits for its queues.
            unsafe { queue.begin_write(&place.packed, top * width, staging)? }
        } else if picture.stride() == width {
            // SAFETY: `source`, in which the samples lie, is kept until the event is done.
            unsafe { queue.begin_write(&place.packed, top * width, picture.as_bytes())? }
        } else {
            let to = Rectangle { left: 0, top, width, height: picture.height(), pitch: width };
            // SAFETY: as above.
            unsafe { queue.begin_write_rows(&place.packed, to, picture.as_bytes(), picture.stride())? }
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

    /// Lets go of the memory that the picture in `slot` was read from: it must be on the device.
    pub(super) fn release(&mut self, slot: estimator::Slot) {
        self.places[slot.index()].source = None;
    }

    /// The same for all slots.
    pub(super) fn release_all(&mut self) {
        self.places.iter_mut().for_each(|place| place.source = None);
    }

    /// Downloads the picture in `slot`, without the room around it, by the queue that it came by.
    pub(super) fn unload(&self, queue: &Queue, slot: estimator::Slot) -> cl::Result<Option<PictureBuf>> {
        let Some((buffer, _)) = self.get(slot) else { return Ok(None) };
        let Self { width, height, layout: Layout { geometry, .. }, .. } = *self;
        let (left, top, pitch) = (geometry.left as usize, geometry.top as usize, geometry.pitch as usize);
        let mut samples = vec![0; width * height];
        queue.read_rows(buffer, Rectangle { left, top, width, height, pitch }, &mut samples)?;
        Ok(PictureBuf::new(samples, width, height).ok())
    }
}
