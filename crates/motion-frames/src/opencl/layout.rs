//! Where the planes of frames lie in buffers.

use bytemuck::{Pod, Zeroable};

use crate::interpolation::{FrameFormat, coarse_grid, grid, halved, halvings, is_like_luma};
use motion_base::Grid;
use motion_gpu::launcher::{Arg, Rectangle};

/// Rows and planes begin at multiples of so many bytes. `prediction.cl` writes a row in parts of at most
/// [`ROW_ALIGNMENT`].
const ROW_ALIGNMENT: usize = 8;
const PLANE_ALIGNMENT: usize = 64;

/// Points of luma outside the frame on each side: `COLUMNS_AROUND` and `ROWS_AROUND` in `points.cl`.
const COLUMNS_AROUND: usize = 16;
const ROWS_AROUND: usize = 4;

/// The planes of points.
const POINT_PLANES: usize = 4;

/// The points of a row are a multiple of this.
const POINT_ALIGNMENT: usize = 32;

/// Field for field `FrameShape` in `points.cl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct FrameShape {
    width: i32,
    height: i32,
    columns: i32,
    rows: i32,
    found_columns: i32,
    halvings: i32,
    pitch: i32,
    plane: i32,
}

impl FrameShape {
    /// As a kernel's argument.
    pub(super) fn arg(&self) -> Arg<'_> {
        Arg::Struct(bytemuck::bytes_of(self))
    }
}

/// Field for field `PlanesShape` in `points.cl`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct PlanesShape {
    first: u64,
    bytes: u64,
    columns: i32,
    rows: i32,
    width: i32,
    pitch: i32,
}

/// A plane in a buffer that has all planes of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlanePlace {
    /// Its first byte.
    pub(super) first: usize,
    /// Samples a row, and rows.
    pub(super) size: (usize, usize),
    /// Bytes from one row to the next.
    pub(super) pitch: usize,
}

impl PlanePlace {
    /// Its bytes.
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.pitch * self.size.1
    }

    /// Its rows, of samples of so many bytes.
    pub(super) fn rows(&self, sample_bytes: usize) -> Rectangle {
        let (width, height) = self.size;
        Rectangle { left: self.first, top: 0, width: width * sample_bytes, height, pitch: self.pitch }
    }
}

/// Where everything is that frames of a format are made from.
pub(super) struct InterpolationLayout {
    pub(super) planes: Vec<PlanePlace>,
    /// Of a frame's planes.
    pub(super) bytes: usize,
    /// The planes that are predicted as luma is, luma first.
    pub(super) like_luma: Vec<usize>,
    pub(super) grid: Grid,
    pub(super) found: Grid,
    /// How often frames are halved to be searched.
    pub(super) halvings: u32,
    /// Of coarse blocks.
    pub(super) coarse: Grid,
    pub(super) shape: FrameShape,
}

impl InterpolationLayout {
    pub(super) fn new(format: &FrameFormat) -> Self {
        Self::with_halvings(format, halvings(format.size.0, format.size.1))
    }

    /// For frames that are halved so often to be searched.
    pub(super) fn with_halvings(format: &FrameFormat, halvings: u32) -> Self {
        let (width, height) = format.size;
        let mut bytes = 0_usize;
        let place = |index| {
            let size = format.plane_size(index);
            let pitch = (size.0 * format.samples.bytes()).next_multiple_of(ROW_ALIGNMENT);
            let first = bytes;
            bytes = (first + pitch * size.1).next_multiple_of(PLANE_ALIGNMENT);
            PlanePlace { first, size, pitch }
        };
        let planes = (0..format.samplings.len()).map(place).collect();
        let is_luma = |index: &usize| is_like_luma(*index, format.samplings[*index]);
        let like_luma = (0..format.samplings.len()).filter(is_luma).collect();
        let found = grid(halved(width, halvings), halved(height, halvings));
        let grid = grid(width, height);
        let pitch = (width + 2 * COLUMNS_AROUND).next_multiple_of(POINT_ALIGNMENT);
        let plane = pitch * (height + 2 * ROWS_AROUND);
        // A plane of points of the largest frame is about half of what fits; all else is less.
        let shape = FrameShape {
            width: width as i32,
            height: height as i32,
            columns: grid.columns as i32,
            rows: grid.rows as i32,
            found_columns: found.columns as i32,
            halvings: halvings as i32,
            pitch: pitch as i32,
            plane: plane as i32,
        };
        let coarse = coarse_grid(grid, halvings);
        Self { planes, bytes, like_luma, grid, found, halvings, coarse, shape }
    }

    /// Pixels of the chroma that is compared: half of luma's on each axis.
    pub(super) fn chroma_size(&self) -> (usize, usize) {
        ((self.shape.width as usize).div_ceil(2), (self.shape.height as usize).div_ceil(2))
    }

    /// Points of a row, and rows of a plane of points.
    pub(super) fn point_size(&self) -> (usize, usize) {
        (self.shape.pitch as usize, self.shape.height as usize + 2 * ROWS_AROUND)
    }

    /// The points of a frame.
    pub(super) fn points(&self) -> usize {
        POINT_PLANES * self.shape.plane as usize
    }

    /// Bytes of the plane of luma, which comes first.
    pub(super) fn luma_bytes(&self) -> usize {
        self.planes[0].range().end
    }

    /// Plane `index` as the kernel's argument, the first of several of one shape; `pixel`: samples of a pixel.
    pub(super) fn plane_shape(&self, index: usize, pixel: usize) -> PlanesShape {
        let PlanePlace { first, size, pitch, .. } = self.planes[index];
        PlanesShape {
            first: first as u64,
            bytes: (pitch * size.1).next_multiple_of(PLANE_ALIGNMENT) as u64,
            columns: (size.0 / pixel) as i32,
            rows: size.1 as i32,
            width: size.0 as i32,
            pitch: pitch as i32,
        }
    }
}
