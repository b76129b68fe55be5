//! A frame's chroma as the choice of vectors compares it.

use rayon::prelude::*;

use super::bilinear_rows::bilinear_rows;
use super::rules::BLOCK;
use super::starts::BlockEnds;
use crate::compensation::{PlaneMut, Sampling};
use motion_base::pyramid::planes::{LevelFrame, LevelLayout, SIDE};
use motion_base::sampling::Fraction;
use motion_base::simd::{InstructionSet, Samples};
use motion_base::{FrameView, SetupError};

/// The components that are compared.
const COMPONENTS: usize = 2;

/// Pixels on a side of a block.
const CELL: usize = BLOCK / 2;

/// Samples of a block's row.
const ROW: usize = COMPONENTS * CELL;

/// Pixels that are made at once.
const CHUNK: usize = 32;

/// How [`ChromaPairs`] are sampled.
pub(super) const PAIRS: Sampling = Sampling { halved_x: true, halved_y: true, interleaved: true };

/// Chroma of eight bits, at half of luma's size, both components of a pixel beside each other.
pub(super) struct ChromaPairs {
    frame: LevelFrame,
}

impl ChromaPairs {
    /// Memory for frames of so many luma samples.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new((width, height): (usize, usize)) -> Result<Self, SetupError> {
        let layout = LevelLayout::new(COMPONENTS * width.div_ceil(2), height.div_ceil(2));
        Ok(Self { frame: LevelFrame::new(layout)? })
    }

    /// Computes that of a frame's `planes` of chroma.
    pub fn fill(&mut self, planes: &[FrameView<'_>], samplings: &[Sampling]) {
        let components: Vec<_> = components(samplings).collect();
        self.frame.write_bands(|first, rows, layout| {
            for (y, row) in rows.chunks_exact_mut(layout.pitch).enumerate() {
                let inside = &mut row[SIDE..][..layout.width];
                if !copy_row(inside, first + y, planes, samplings) {
                    components.iter().enumerate().for_each(|(component, &at)| {
                        average_row(inside, first + y, component, (planes, samplings), at);
                    });
                }
                // The first and last pixel in the margins.
                let end = SIDE + layout.width;
                for at in (0..SIDE).rev() {
                    row[at] = row[at + COMPONENTS];
                }
                for at in end..layout.pitch {
                    row[at] = row[at - COMPONENTS];
                }
            }
        });
    }

    /// The frame, sampled as [`PAIRS`].
    pub fn view(&self) -> FrameView<'_> {
        let LevelLayout { width, height, pitch } = self.frame.layout;
        let samples = &self.frame.samples()[self.frame.layout.at(0, 0)..];
        FrameView::new(samples, width, height, pitch)
            .unwrap_or_else(|error| unreachable!("a frame with margins: {error}"))
    }

    /// The 4 x 4 pixels from `position` on, in eighths of a pixel, which may be anywhere.
    #[inline(always)]
    fn cell<E: InstructionSet>(&self, engine: E, (x, y): (i32, i32)) -> [Samples<E>; 2] {
        let layout = &self.frame.layout;
        // From further outside the same pixels follow.
        let near = |at: i32, length: usize| (at >> 3).clamp(-(CELL as i32 + 1), length as i32);
        let (column, row) = (near(x, layout.width / COMPONENTS), near(y, layout.height));
        let (at, pitch, fraction) =
            (layout.at(COMPONENTS as i32 * column, row), layout.pitch, Fraction::of((x, y)));
        let samples = &self.frame.samples()[at..][..CELL * pitch + ROW + COMPONENTS];
        let mut cell = [Samples::zero(engine); 2];
        for (n, cell) in cell.iter_mut().enumerate() {
            let samples = samples[2 * n * pitch..].as_ptr();
            // SAFETY: from the first sample on there are one more row and one more pixel than a cell has.
            let rows = unsafe { bilinear_rows::<E, ROW>(engine, (samples, pitch), COMPONENTS, fraction) };
            *cell = rows.narrow();
        }
        cell
    }

    /// The sum of the absolute differences at both `ends` of a vector, of a block of 4 x 4 pixels.
    #[inline(always)]
    pub fn difference<E: InstructionSet>(
        engine: E,
        [previous, next]: &[&Self; 2],
        (column, row): (usize, usize),
        ends: BlockEnds,
    ) -> u32 {
        let origin = ((8 * CELL * column) as i32, (8 * CELL * row) as i32);
        // Quarter samples of luma are eighths here.
        let [start, end] = ends.ways().map(|(x, y)| (origin.0 + x, origin.1 + y));
        let (start, end) = (previous.cell(engine, start), next.cell(engine, end));
        let first = Samples::zero(engine).plus_differences(start[0], end[0]);
        first.plus_differences(start[1], end[1]).total()
    }
}

/// Whether planes of chroma hold what [`ChromaPairs`] hold, each a component of it.
pub(super) fn are_separated_pairs(samplings: &[Sampling], depth: u32) -> bool {
    let is_plane = |sampling: &Sampling| *sampling == Sampling { interleaved: false, ..PAIRS };
    depth == 8 && samplings.len() == COMPONENTS && samplings.iter().all(is_plane)
}

/// Writes a component of `pairs` to its own plane.
pub(super) fn separate(pairs: &[u8], component: usize, plane: &mut PlaneMut<'_>) {
    let (width, stride) = (plane.view().width(), plane.stride());
    let rows = plane.bytes_mut().par_chunks_mut(stride).zip(pairs.par_chunks_exact(COMPONENTS * width));
    rows.for_each(|(to, pairs)| {
        let samples = to.iter_mut().zip(pairs.as_chunks::<COMPONENTS>().0);
        samples.for_each(|(to, pixel)| *to = pixel[component]);
    });
}

/// The components that are compared: the first two, each with its plane and its place in a pixel.
pub(crate) fn components(samplings: &[Sampling]) -> impl Iterator<Item = (usize, usize)> {
    let of_plane = |(plane, sampling): (usize, &Sampling)| (0..sampling.pixel()).map(move |at| (plane, at));
    samplings.iter().enumerate().flat_map(of_plane).take(COMPONENTS)
}

/// Copies a row if samples have eight bits and are halved on both axes, as most are.
fn copy_row(to: &mut [u8], y: usize, planes: &[FrameView<'_>], samplings: &[Sampling]) -> bool {
    let is_halved = |sampling: &Sampling| sampling.halved_x && sampling.halved_y;
    if planes[0].format().depth() > 8 || !samplings.iter().all(is_halved) {
        return false;
    }
    match planes {
        [one, ..] if samplings[0].interleaved => to.copy_from_slice(one.row(y)),
        [first, second, ..] => {
            let samples = first.row(y).iter().zip(second.row(y));
            let pixels = to.as_chunks_mut::<COMPONENTS>().0.iter_mut().zip(samples);
            pixels.for_each(|(pixel, (&first, &second))| *pixel = [first, second]);
        }
        _ => return false,
    }
    true
}

/// Averages the samples of a component, of a plane at a place in a pixel, to a row.
fn average_row(
    to: &mut [u8],
    y: usize,
    component: usize,
    (planes, samplings): (&[FrameView<'_>], &[Sampling]),
    (plane, of_pixel): (usize, usize),
) {
    let (view, sampling) = (&planes[plane], samplings[plane]);
    for (chunk, to) in to.chunks_mut(COMPONENTS * CHUNK).enumerate() {
        let means = match sampling.interleaved {
            true => means::<2>(view, sampling, (CHUNK * chunk, y), of_pixel),
            false => means::<1>(view, sampling, (CHUNK * chunk, y), 0),
        };
        let pixels = to.chunks_exact_mut(COMPONENTS).zip(means);
        pixels.for_each(|(pixel, mean)| pixel[component] = mean);
    }
}

/// The upper eight bits of the means of the samples of a component, in pixels of half of luma's size from `(x, y)` on.
fn means<const P: usize>(
    plane: &FrameView<'_>,
    sampling: Sampling,
    (x, y): (usize, usize),
    component: usize,
) -> [u8; CHUNK] {
    let [across, down] =
        [sampling.halved_x, sampling.halved_y].map(|is_halved| if is_halved { 1 } else { 2 });
    let mut sums = [(across * down / 2) as u32; CHUNK];
    for row in 0..down {
        let mut samples = [0; 4 * CHUNK];
        let samples = &mut samples[..across * P * CHUNK];
        plane.read_pixels(P, ((across * x) as i32, (down * y + row) as i32), samples);
        for (sum, samples) in sums.iter_mut().zip(samples.chunks_exact(across * P)) {
            *sum += samples.iter().skip(component).step_by(P).map(|&sample| u32::from(sample)).sum::<u32>();
        }
    }
    let shift = (across * down).ilog2() + plane.format().depth() - 8;
    sums.map(|sum| (sum >> shift) as u8)
}
