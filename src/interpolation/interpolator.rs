//! Frames made on the CPU.

use std::sync::Arc;

use super::Phase;
use super::cells::{Chroma, DeepLuma, PlaneShape, Weighted};
use super::choice::VectorChoice;
use super::luma_points::LumaPoints;
use super::overlap::Overlap;
use super::projection::FoundField;
use super::rules::{BLOCK, HalfVector, block_of, grid, halved, halvings};
use super::scene_cut::is_scene_cut;
use super::search_frame::SearchFrames;
use super::starts::Starts;
use crate::compensation::{CompensationError, PlaneMut, Sampling};
use crate::estimator::{Frame, FrameView, Grid, MotionVector, SetupError};
use crate::native::level::Instructions;
use crate::native::{Level, Native, threads};

/// Makes frames between the two that were loaded last.
///
/// It is used so: [`Self::load`] each frame of a stream; search the motion between the search frames that it returns,
/// with [`search_parameters`](super::search_parameters), both ways; hand the fields of a pair of frames to
/// [`Self::set_motion`]; then, for each time between them, [`Self::choose`] and [`Self::make_plane`].
///
/// Memory: five bytes a luma sample for each of the two frames, and 32 bytes a block of 8 x 8 samples.
pub struct Interpolator {
    instructions: Instructions,
    threads: Arc<rayon::ThreadPool>,
    size: (usize, usize),
    samplings: Vec<Sampling>,
    grid: Grid,
    search_frames: SearchFrames,
    /// The previous frame, and the next one.
    frames: [KeptFrame; 2],
    /// Forward, and backward.
    found: [FoundField; 2],
    projected: [Vec<HalfVector>; 2],
    /// What `project` needs.
    costs: Vec<u32>,
    vectors: Vec<HalfVector>,
    starts: Starts,
}

/// What is kept of a frame.
struct KeptFrame {
    luma: LumaPoints,
    search_frame: Option<Frame>,
}

impl Interpolator {
    /// For frames of `width` x `height` luma samples, with planes sampled as `samplings` say, luma first. It runs in
    /// `threads` threads, 0 for one a core, which it shares with all devices of that number.
    ///
    /// # Errors
    /// [`SetupError`] if memory or threads are missing.
    pub fn new(size: (usize, usize), samplings: &[Sampling], threads: usize) -> Result<Self, SetupError> {
        Self::with_level(size, samplings, threads, Level::best())
    }

    /// The same with the instructions of `level`.
    ///
    /// # Errors
    /// As [`Self::new`], and [`SetupError::DeviceUnsupported`] if this CPU lacks `level`, or interleaved chroma is not
    /// halved on both axes.
    pub fn with_level(
        (width, height): (usize, usize),
        samplings: &[Sampling],
        threads: usize,
        level: Level,
    ) -> Result<Self, SetupError> {
        if samplings.iter().any(|sampling| sampling.interleaved && !(sampling.halved_x && sampling.halved_y))
        {
            return Err(SetupError::DeviceUnsupported {
                wanted: Native::NAME.into(),
                reason: "frames are made with interleaved chroma only if it is halved on both axes".into(),
            });
        }
        let grid = grid(width, height);
        let vectors = || vec![HalfVector::default(); grid.blocks()];
        let frame =
            || Ok::<_, SetupError>(KeptFrame { luma: LumaPoints::new((width, height))?, search_frame: None });
        Ok(Self {
            instructions: level.required()?,
            threads: threads::pool(threads)?,
            size: (width, height),
            samplings: samplings.to_vec(),
            grid,
            search_frames: SearchFrames::new((width, height)),
            frames: [frame()?, frame()?],
            found: [false, true].map(|is_backward| FoundField::new(grid.blocks(), is_backward)),
            projected: [vectors(), vectors()],
            costs: vec![0; grid.blocks()],
            vectors: vectors(),
            starts: Starts::new(Phase::MIDDLE),
        })
    }

    /// Makes the frame with this luma plane the next one, and what was the next one the previous. Returns the frame to
    /// be searched in its place.
    ///
    /// # Errors
    /// [`CompensationError::PlaneSize`] if the plane has another size.
    pub fn load(&mut self, luma: &FrameView<'_>) -> Result<Frame, CompensationError> {
        let (width, height) = self.size;
        if luma.size() != self.size {
            return Err(CompensationError::PlaneSize(width, height, luma.width(), luma.height()));
        }
        let Self { instructions, threads, search_frames, frames, .. } = self;
        frames.swap(0, 1);
        let next = &mut frames[1];
        // Its memory is used again.
        next.search_frame = None;
        let search_frame = threads.install(|| {
            next.luma.fill(*instructions, luma);
            search_frames.make(*instructions, luma)
        });
        next.search_frame = Some(search_frame.clone());
        Ok(search_frame)
    }

    /// Takes the fields between the two frames: that of the previous frame in the next one, and that of the next in the
    /// previous one. Returns whether the frames show different scenes, so that nothing should be made between them.
    ///
    /// # Errors
    /// [`CompensationError::FieldSize`] if a field is not one of search frames.
    pub fn set_motion(&mut self, fields: [&[MotionVector]; 2]) -> Result<bool, CompensationError> {
        let halvings = halvings(self.size.0, self.size.1);
        let [columns, rows] =
            [self.size.0, self.size.1].map(|length| halved(length, halvings).div_ceil(BLOCK));
        for (field, found) in fields.into_iter().zip(&mut self.found) {
            if field.len() != columns * rows {
                return Err(CompensationError::FieldSize { needed: columns * rows, present: field.len() });
            }
            found.set(field, columns, self.grid, halvings);
        }
        let [previous, next] = &self.frames;
        Ok(match (&previous.search_frame, &next.search_frame) {
            (Some(previous), Some(next)) => is_scene_cut([&previous.view(), &next.view()], fields),
            _ => false,
        })
    }

    /// Chooses the vectors of the frame at `phase`, whose planes [`Self::make_plane`] makes then.
    pub fn choose(&mut self, phase: Phase) {
        let Self { instructions, threads, grid, frames, found, projected, costs, vectors, starts, .. } = self;
        threads.install(|| {
            starts.set(phase);
            for (found, projected) in found.iter().zip(&mut *projected) {
                found.project(starts, *grid, costs, projected);
            }
            let luma = frames.each_ref().map(|frame| frame.luma.quarter_samples());
            let projected = projected.each_ref().map(|field| &field[..]);
            VectorChoice { luma, starts, grid: *grid, projected }.choose(*instructions, vectors);
        });
    }

    /// Writes plane `index` of the frame whose vectors are chosen, from those planes of the previous and the next frame.
    ///
    /// # Errors
    /// [`CompensationError`] if a plane has another size, or another depth than the others.
    ///
    /// # Panics
    /// If there is no such plane.
    pub fn make_plane(
        &self,
        index: usize,
        sources: [&FrameView<'_>; 2],
        plane: &mut PlaneMut<'_>,
    ) -> Result<(), CompensationError> {
        let sampling = self.samplings[index];
        let (width, height) = sampling.plane_size(self.size.0, self.size.1);
        let depth = sources[0].format().depth();
        for plane in [sources[0], sources[1], &plane.view()] {
            if plane.size() != (width, height) {
                return Err(CompensationError::PlaneSize(width, height, plane.width(), plane.height()));
            }
            if plane.format().depth() != depth {
                return Err(CompensationError::BitDepth(depth, plane.format().depth()));
            }
        }
        let shape = PlaneShape::new(sources[0], sampling, index == 0);
        self.threads.install(|| match (index, depth) {
            (0, 8) => {
                let sources = self.frames.each_ref().map(|frame| frame.luma.quarter_samples());
                self.overlap(shape, sources).write::<u16, BLOCK, BLOCK>(self.instructions, plane);
            }
            (0, _) => {
                let sources = sources.map(|plane| DeepLuma(*plane));
                self.overlap(shape, sources).write::<u32, BLOCK, BLOCK>(self.instructions, plane);
            }
            _ => {
                let (block_width, block_height) = block_of(sampling);
                match (block_width * shape.pixel, block_height, depth > 8) {
                    (4, 4, false) => self.make_chroma::<u16, 1, 4, 4>(shape, sources, plane),
                    (4, _, false) => self.make_chroma::<u16, 1, 4, 8>(shape, sources, plane),
                    (_, 4, false) => self.make_chroma::<u16, 2, 8, 4>(shape, sources, plane),
                    (_, _, false) => self.make_chroma::<u16, 1, 8, 8>(shape, sources, plane),
                    (4, 4, true) => self.make_chroma::<u32, 1, 4, 4>(shape, sources, plane),
                    (4, _, true) => self.make_chroma::<u32, 1, 4, 8>(shape, sources, plane),
                    (_, 4, true) => self.make_chroma::<u32, 2, 8, 4>(shape, sources, plane),
                    (_, _, true) => self.make_chroma::<u32, 1, 8, 8>(shape, sources, plane),
                }
            }
        });
        Ok(())
    }

    /// Writes a plane of chroma whose pixels have `P` samples, in cells of `W` x `H` samples.
    fn make_chroma<T: Weighted, const P: usize, const W: usize, const H: usize>(
        &self,
        shape: PlaneShape,
        sources: [&FrameView<'_>; 2],
        plane: &mut PlaneMut<'_>,
    ) {
        let sources = sources.map(|plane| Chroma::<P>(*plane));
        self.overlap(shape, sources).write::<T, W, H>(self.instructions, plane);
    }

    fn overlap<S>(&self, shape: PlaneShape, sources: [S; 2]) -> Overlap<'_, S> {
        Overlap { shape, sources, starts: &self.starts, grid: self.grid, vectors: &self.vectors }
    }
}
