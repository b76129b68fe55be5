//! The pictures on the device, with the room around them that lets kernels read without branches.

use bytemuck::{Pod, Zeroable};

use super::cl::{self, Arg, Buffer, Context, Kernel, Queue, Rectangle};
use super::device::Device;
use super::program::{self, Source};
use crate::estimator::{self, Border, Parameters, Picture, PictureBuf, SetupError, Window};

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
    extended_width: i32,
    extended_height: i32,
    x0: i32,
    y0: i32,
    window_columns: i32,
    window_rows: i32,
    inside_only: i32,
}

/// The part of the window that can win.
///
/// Where only candidates inside the picture count, none further than the picture is long does.
/// Where the picture goes on, a block that lies wholly outside on an axis holds the same samples
/// wherever it lies there, and the nearest of such candidates wins. Either way nothing is lost by
/// stopping a picture's length away, and no window needs more memory than nine pictures.
pub(super) fn winning_window(parameters: &Parameters) -> Window {
    let inside = match parameters.border {
        Border::Extend => 1,
        Border::Restrict => parameters.block_size,
    };
    let x = (parameters.extended_width() - inside) as i32;
    let y = (parameters.extended_height() - inside) as i32;
    parameters.window.clipped(-x..=x, -y..=y)
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

/// The two slots, and what fills them: one upload and one kernel a picture.
pub(super) struct Slots {
    layout: Layout,
    width: usize,
    height: usize,
    packed: Buffer,
    padded: [Buffer; 2],
    loaded: [bool; 2],
    extend: Kernel,
}

impl Slots {
    pub(super) fn new(
        context: &Context,
        device: &Device,
        kernel: estimator::Kernel,
        parameters: &Parameters,
        layout: Layout,
    ) -> Result<Self, SetupError> {
        let Parameters { width, height, .. } = *parameters;
        let program = program::build(context, device, kernel, &Source::Picture.whole(), "")?;
        let padded = || buffer(context, device, "a picture and its margins", layout.bytes());
        Ok(Self {
            layout,
            width,
            height,
            packed: buffer(context, device, "a picture", width * height)?,
            padded: [padded()?, padded()?],
            loaded: [false; 2],
            extend: program.kernel(c"extend").map_err(|error| device.refused(error))?,
        })
    }

    /// The picture in `slot`, where there is one.
    pub(super) fn get(&self, slot: estimator::Slot) -> Option<&Buffer> {
        self.loaded[slot as usize].then_some(&self.padded[slot as usize])
    }

    /// Uploads `picture`, which must be of the size the slots were made for, and queues its
    /// extension. The slot is empty after an error.
    pub(super) fn load(
        &mut self,
        queue: &Queue,
        slot: estimator::Slot,
        picture: &Picture<'_>,
    ) -> cl::Result<()> {
        let Self { width, height, .. } = *self;
        self.loaded[slot as usize] = false;
        if picture.stride() == width {
            queue.write(&self.packed, picture.as_bytes())?;
        } else {
            let to = Rectangle { left: 0, top: 0, width, height, pitch: width };
            queue.write_rows(&self.packed, to, picture.as_bytes(), picture.stride())?;
        }
        let Layout { geometry, padded_rows } = self.layout;
        let args = [
            Arg::Buffer(&self.packed),
            Arg::Buffer(&self.padded[slot as usize]),
            Arg::Int(width as i32),
            Arg::Int(height as i32),
            Arg::Int(padded_rows as i32),
            Arg::Struct(bytemuck::bytes_of(&geometry)),
        ];
        const ITEMS: [usize; 2] = [32, 2];
        let groups = [(geometry.pitch as usize / 4).div_ceil(ITEMS[0]), padded_rows.div_ceil(ITEMS[1])];
        // SAFETY: `extend` clamps what it reads to width x height, the size of `packed`, and
        // writes only below pitch x padded_rows, the size of a slot.
        unsafe { queue.launch(&mut self.extend, &args, groups, ITEMS)? };
        self.loaded[slot as usize] = true;
        Ok(())
    }

    /// Downloads the picture in `slot`, without the room around it.
    pub(super) fn unload(&self, queue: &Queue, slot: estimator::Slot) -> cl::Result<Option<PictureBuf>> {
        let Some(buffer) = self.get(slot) else { return Ok(None) };
        let Self { width, height, layout: Layout { geometry, .. }, .. } = *self;
        let (left, top, pitch) = (geometry.left as usize, geometry.top as usize, geometry.pitch as usize);
        let mut samples = vec![0; width * height];
        queue.read_rows(buffer, Rectangle { left, top, width, height, pitch }, &mut samples)?;
        Ok(PictureBuf::new(samples, width, height).ok())
    }
}
