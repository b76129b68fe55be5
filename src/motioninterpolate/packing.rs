//! Frames whose samples are not in planes that the library reads: those of packed formats, those with interleaved chroma that is
//! not halved on both axes, and RGB. Their components are copied to planes of their own, and what is made of these is copied
//! back.
//!
//! RGB has no luma: the first plane is made of the colours, by the weights of BT.601, for the search alone. Blue and red at half of
//! its size follow it, which are compared as chroma is. The colours themselves and alpha are predicted as luma is.

use std::ops::Range;
use std::sync::Arc;

use gst_video::{VideoFormatInfo, VideoInfo};

use motion_frames::compensation::{PlaneMut, Sampling};
use motion_frames::interpolation::FrameFormat;
use motion_search::estimator::{FrameError, FrameSource, FrameView, SampleFormat};

/// Red, green and blue in luma, in 256ths.
const LUMA_WEIGHTS: [u32; 3] = [77, 150, 29];

/// The planes of a format with red, green and blue that are made of these, and not copied back.
const MADE_OF_COLOURS: usize = 3;

/// Half of luma's size.
const HALVED: Sampling = Sampling { halved_x: true, halved_y: true, interleaved: false };

/// Where the samples of a component are in the memory of a frame.
#[derive(Clone, Copy, Debug)]
struct PackedComponent {
    /// The plane in memory.
    plane: usize,
    /// Bytes before the first sample of a row, and from one to the next.
    offset: usize,
    step: usize,
    /// The plane that it is copied to.
    to: usize,
}

/// How frames of a format are copied to planes and back.
#[derive(Clone, Debug)]
pub struct Packing {
    format: FrameFormat,
    components: Vec<PackedComponent>,
    /// Whether the first plane is made of the others.
    is_rgb: bool,
    /// Whether pixels have bytes that belong to no component.
    has_padding: bool,
}

impl Packing {
    /// For frames of `info`; `None` if their planes are read as they are. All formats have eight bits.
    pub fn new(info: &VideoInfo) -> Option<Self> {
        let format = info.format_info();
        let count = info.n_components() as usize;
        if count == 0 || format.depth()[..count].iter().any(|&depth| depth != 8) || is_planar(&format, count)
        {
            return None;
        }
        let is_rgb = format.is_rgb();
        let component = |number: usize| PackedComponent {
            plane: format.plane()[number] as usize,
            offset: format.poffset()[number] as usize,
            step: format.pixel_stride()[number] as usize,
            to: if is_rgb { MADE_OF_COLOURS + number } else { number },
        };
        let sampling = |number: usize| Sampling {
            halved_x: format.w_sub()[number] == 1,
            halved_y: format.h_sub()[number] == 1,
            interleaved: false,
        };
        let of_colours = [Sampling::LUMA, HALVED, HALVED];
        let of_colours = of_colours.into_iter().filter(|_| is_rgb);
        let samplings = of_colours.chain((0..count).map(sampling)).collect();
        let size = (info.width() as usize, info.height() as usize);
        Some(Self {
            format: FrameFormat { size, samplings, samples: SampleFormat::EIGHT_BITS },
            components: (0..count).map(component).collect(),
            is_rgb,
            has_padding: is_rgb && info.n_planes() == 1 && format.pixel_stride()[0] as usize > count,
        })
    }

    /// The planes.
    pub fn format(&self) -> &FrameFormat {
        &self.format
    }

    /// Whether plane `index` is part of the frames that are made.
    pub fn is_made(&self, index: usize) -> bool {
        !self.is_rgb || index >= MADE_OF_COLOURS
    }

    /// Room for the planes of a frame.
    pub fn room(&self) -> UnpackedFrame {
        let mut end = 0;
        let mut plane = |index| {
            let (width, height) = self.format.plane_size(index);
            let start = end;
            end += width * height;
            start..end
        };
        let planes = (0..self.format.samplings.len()).map(&mut plane).collect();
        UnpackedFrame { bytes: vec![0; end], planes }
    }

    /// The samples of the plane that `component` is copied to: those of a row, and rows.
    fn size(&self, component: &PackedComponent) -> (usize, usize) {
        self.format.plane_size(component.to)
    }

    /// The bytes of a row and the rows of plane `plane` in memory, as far as they have samples.
    fn extent(&self, plane: usize) -> (usize, usize) {
        let of_plane = self.components.iter().filter(|component| component.plane == plane);
        let extents = of_plane.map(|component| {
            let (width, height) = self.size(component);
            (component.offset + (width - 1) * component.step + 1, height)
        });
        extents.fold((1, 1), |(a, b), (c, d)| (a.max(c), b.max(d)))
    }

    /// The number of planes in memory.
    pub fn planes(&self) -> usize {
        1 + self.components.iter().map(|component| component.plane).max().unwrap_or(0)
    }

    /// Checks that a plane in memory is in its `samples`.
    ///
    /// # Errors
    /// [`FrameError`] if it is not.
    pub fn check(&self, plane: usize, samples: &[u8], stride: usize) -> Result<(), FrameError> {
        let (bytes, rows) = self.extent(plane);
        FrameView::new(samples, bytes, rows, stride).map(|_| ())
    }

    /// Copies the components in plane `plane`, whose rows are `stride` bytes apart in `samples`, to `frame`. The plane has been
    /// [checked](Self::check).
    pub fn unpack(&self, plane: usize, samples: &[u8], stride: usize, frame: &mut UnpackedFrame) {
        for component in self.components.iter().filter(|component| component.plane == plane) {
            let (width, _) = self.size(component);
            let rows = frame.plane_mut(component.to).chunks_exact_mut(width);
            for (to, from) in rows.zip(samples.chunks(stride)) {
                let from = &from[component.offset..];
                match component.step {
                    1 => to.copy_from_slice(&from[..width]),
                    2 => gather::<2>(from, to),
                    3 => gather::<3>(from, to),
                    _ => gather::<4>(from, to),
                }
            }
        }
    }

    /// Makes the planes that are made of red, green and blue, once these are [unpacked](Self::unpack).
    pub fn make_of_colours(&self, frame: &mut UnpackedFrame) {
        if !self.is_rgb {
            return;
        }
        let length = frame.planes[0].len();
        let (made, colours) = frame.bytes.split_at_mut(frame.planes[MADE_OF_COLOURS].start);
        let [red, green, blue] = [0, 1, 2].map(|colour| &colours[colour * length..][..length]);
        let (luma, halves) = made.split_at_mut(length);
        let (half_blue, half_red) = halves.split_at_mut(halves.len() / 2);
        let width = self.format.size.0;
        halve(blue, width, half_blue);
        halve(red, width, half_red);
        for (((luma, &red), &green), &blue) in luma.iter_mut().zip(red).zip(green).zip(blue) {
            let [red, green, blue] = [red, green, blue].map(u32::from);
            let sum = LUMA_WEIGHTS[0] * red + LUMA_WEIGHTS[1] * green + LUMA_WEIGHTS[2] * blue;
            *luma = ((sum + 128) >> 8) as u8;
        }
    }

    /// Copies what `frame` has of plane `plane` to its memory, which has been [checked](Self::check). What belongs to no
    /// component is 255.
    pub fn pack(&self, frame: &UnpackedFrame, plane: usize, samples: &mut [u8], stride: usize) {
        if self.has_padding {
            let (width, height) = self.format.size;
            let bytes = width * self.components[0].step;
            for row in samples.chunks_mut(stride).take(height) {
                let end = bytes.min(row.len());
                row[..end].fill(255);
            }
        }
        for component in self.components.iter().filter(|component| component.plane == plane) {
            let (width, _) = self.size(component);
            let rows = frame.plane(component.to).chunks_exact(width);
            for (from, to) in rows.zip(samples.chunks_mut(stride)) {
                let to = &mut to[component.offset..];
                match component.step {
                    1 => to[..width].copy_from_slice(from),
                    2 => scatter::<2>(from, to),
                    3 => scatter::<3>(from, to),
                    _ => scatter::<4>(from, to),
                }
            }
        }
    }
}

/// Whether each plane holds one component, or two of chroma that is halved on both axes, and the first one luma.
fn is_planar(format: &VideoFormatInfo, count: usize) -> bool {
    let is_halved = |number: usize| format.w_sub()[number] == 1 && format.h_sub()[number] == 1;
    let is_alone = |number: usize| {
        format.pixel_stride()[number] == 1 || (format.pixel_stride()[number] == 2 && is_halved(number))
    };
    !format.is_rgb() && (0..count).all(is_alone)
}

/// Writes the means of 2 x 2 samples of `plane`, whose rows have `width` samples, to `half`. Outside, the last ones repeat.
fn halve(plane: &[u8], width: usize, half: &mut [u8]) {
    let mut rows = plane.chunks_exact(width);
    for to in half.chunks_exact_mut(width.div_ceil(2)) {
        let Some(above) = rows.next() else { return };
        let below = rows.next().unwrap_or(above);
        for ((to, above), below) in to.iter_mut().zip(above.chunks(2)).zip(below.chunks(2)) {
            let sum = |pair: &[u8]| u32::from(pair[0]) + u32::from(pair[pair.len() - 1]);
            *to = ((sum(above) + sum(below) + 2) >> 2) as u8;
        }
    }
}

/// Copies each `N`th byte of `from`, from the first one on.
fn gather<const N: usize>(from: &[u8], to: &mut [u8]) {
    let (pixels, rest) = from.as_chunks::<N>();
    let last = rest.first();
    for (to, from) in to.iter_mut().zip(pixels.iter().map(|pixel| &pixel[0]).chain(last)) {
        *to = *from;
    }
}

/// Copies `from` to each `N`th byte of `to`, from the first one on.
fn scatter<const N: usize>(from: &[u8], to: &mut [u8]) {
    let (pixels, rest) = to.as_chunks_mut::<N>();
    let last = rest.first_mut();
    for (from, to) in from.iter().zip(pixels.iter_mut().map(|pixel| &mut pixel[0]).chain(last)) {
        *to = *from;
    }
}

/// The planes of a frame, without padding behind each other.
pub struct UnpackedFrame {
    bytes: Vec<u8>,
    planes: Vec<Range<usize>>,
}

impl UnpackedFrame {
    fn plane(&self, index: usize) -> &[u8] {
        &self.bytes[self.planes[index].clone()]
    }

    fn plane_mut(&mut self, index: usize) -> &mut [u8] {
        &mut self.bytes[self.planes[index].clone()]
    }

    /// Plane `index` of frames of `format`, to be written.
    ///
    /// # Errors
    /// [`FrameError`] if the planes are others.
    pub fn view_mut(&mut self, index: usize, format: &FrameFormat) -> Result<PlaneMut<'_>, FrameError> {
        let (width, height) = format.plane_size(index);
        PlaneMut::new(self.plane_mut(index), width, height, width)
    }
}

/// A plane of an unpacked frame, which is shared.
pub struct UnpackedPlane {
    pub frame: Arc<UnpackedFrame>,
    pub index: usize,
}

impl FrameSource for UnpackedPlane {
    fn bytes(&self) -> &[u8] {
        self.frame.plane(self.index)
    }
}

#[cfg(test)]
mod tests {
    use gst_video::VideoFormat;

    use super::*;

    fn packing(format: VideoFormat, size: (u32, u32)) -> Option<Packing> {
        gst::init().unwrap();
        Packing::new(&VideoInfo::builder(format, size.0, size.1).build().unwrap())
    }

    #[test]
    fn planes_are_those_of_the_components() {
        let packing = packing(VideoFormat::Yuy2, (3, 2)).unwrap();
        let rows = [[10, 50, 11, 60, 12, 51, 0, 61], [20, 52, 21, 62, 22, 53, 0, 63]];
        let mut frame = packing.room();
        packing.check(0, rows.as_flattened(), 8).unwrap();
        packing.unpack(0, rows.as_flattened(), 8, &mut frame);
        assert_eq!(frame.plane(0), [10, 11, 12, 20, 21, 22]);
        assert_eq!(frame.plane(1), [50, 51, 52, 53]);
        assert_eq!(frame.plane(2), [60, 61, 62, 63]);
        let mut packed = [[0; 8]; 2];
        packing.pack(&frame, 0, packed.as_flattened_mut(), 8);
        assert_eq!(packed, rows);
        assert!(packing.check(0, &rows.as_flattened()[..15], 8).is_err());
    }

    #[test]
    fn rgb_gets_luma_and_padding() {
        let packing = packing(VideoFormat::Xbgr, (2, 1)).unwrap();
        let row = [7, 255, 0, 0, 7, 10, 20, 30];
        let mut frame = packing.room();
        packing.unpack(0, &row, 8, &mut frame);
        packing.make_of_colours(&mut frame);
        // 29 · 255 / 256, and (29 · 10 + 150 · 20 + 77 · 30) / 256.
        assert_eq!(frame.plane(0), [29, 22]);
        assert_eq!([1, 2].map(|plane| frame.plane(plane)), [[133], [15]]);
        assert_eq!([3, 4, 5].map(|plane| frame.plane(plane)), [[0, 30], [0, 20], [255, 10]]);
        let mut packed = [0; 8];
        packing.pack(&frame, 0, &mut packed, 8);
        assert_eq!(packed, [255, 255, 0, 0, 255, 10, 20, 30]);
    }

    #[test]
    fn what_the_library_reads_is_not_copied() {
        use VideoFormat::*;
        for format in [Gray8, I420, Yv12, Nv12, Nv21, Y42b, Y444, P01010le, I42010le, Gray16Le, A420] {
            assert!(packing(format, (5, 3)).is_none(), "{format:?}");
        }
        for format in [Yuy2, Nv16, Nv24, Rgb, Gbr, Ayuv] {
            assert!(packing(format, (5, 3)).is_some(), "{format:?}");
        }
    }
}
