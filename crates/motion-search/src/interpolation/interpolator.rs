//! Frames made on the CPU.

use std::sync::Arc;

use super::Phase;
use super::cell_sources::{CellSource, Chroma, ChromaWork, DeepLuma, with_chroma};
use super::choice::VectorChoice;
use super::chroma_pairs::{ChromaPairs, PAIRS, are_separated_pairs, separate};
use super::frame_maker::{FrameFormat, FrameMaker, FrameQuality, InterpolationError};
use super::luma_points::LumaPoints;
use super::mixing::Mixing;
use super::overlap::{Both, Overlap, PlaneShape};
use super::projection::FoundField;
use super::rules::{HalfVector, check_field, found_grid, grid, halvings};
use super::starts::{BlockEnds, Starts};
use super::weighting::Weighting;
use crate::compensation::{CompensationError, PlaneMut};
use crate::estimator::{EstimateError, FrameView, Grid, MotionVector, NATIVE, SetupError};
use crate::memory;
use crate::simd::Instructions;
use crate::simd::Level;

/// The [`FrameMaker`] of the CPU.
///
/// Memory: five bytes a luma sample for each of the two frames, and 24 bytes a block of 8 x 8 samples; 88 more, and a byte and a
/// half a luma sample, with [`FrameQuality::Balanced`].
pub struct Interpolator {
    instructions: Instructions,
    threads: Arc<rayon::ThreadPool>,
    format: FrameFormat,
    grid: Grid,
    /// The luma of the previous frame, and of the next one.
    luma: [LumaPoints; 2],
    found: FoundField,
    projected: Vec<HalfVector>,
    /// Of the chosen vectors.
    ends: Vec<BlockEnds>,
    starts: Starts,
    /// With [`FrameQuality::Balanced`].
    weighting: Option<Weighting>,
    /// The chroma of both frames, if it is compared.
    chroma: Option<[ChromaPairs; 2]>,
    /// The chroma that is made, if it is made from `chroma`: weighting both components at once takes less time.
    made_pairs: Option<Vec<u8>>,
    /// Whether a frame has begun that is not finished.
    has_begun: bool,
}

impl Interpolator {
    /// For frames of `format`. It runs in `threads` threads, 0 for one a core, which it shares with all devices of that
    /// number.
    ///
    /// # Errors
    /// [`SetupError`] if there are no such frames, interleaved chroma is not halved on both axes, or memory or threads are
    /// missing.
    pub fn new(format: &FrameFormat, quality: FrameQuality, threads: usize) -> Result<Self, SetupError> {
        Self::with_level(format, quality, threads, Level::best())
    }

    /// The same with the instructions of `level`.
    ///
    /// # Errors
    /// As [`Self::new`], and [`SetupError::DeviceUnsupported`] if this CPU lacks `level`.
    pub fn with_level(
        format: &FrameFormat,
        quality: FrameQuality,
        threads: usize,
        level: Level,
    ) -> Result<Self, SetupError> {
        format.check_chroma(NATIVE)?;
        let grid = grid(format.size.0, format.size.1);
        let is_balanced = quality != FrameQuality::Fast;
        let weighting = || Weighting::new(grid, halvings(format.size.0, format.size.1));
        let pairs = || Ok::<_, SetupError>([ChromaPairs::new(format.size)?, ChromaPairs::new(format.size)?]);
        let has_chroma = format.samplings.len() > 1;
        let made_pairs = || {
            let [width, height] = [format.size.0, format.size.1].map(|length| length.div_ceil(2));
            memory::values("made chroma", 2 * width * height)
        };
        let makes_pairs = is_balanced && are_separated_pairs(&format.samplings[1..], format.samples.depth());
        Ok(Self {
            instructions: level.required()?,
            threads: crate::threads::pool(threads)?,
            format: format.clone(),
            grid,
            luma: [LumaPoints::new(format.size)?, LumaPoints::new(format.size)?],
            found: FoundField::new(grid.blocks())?,
            projected: memory::values("a field", grid.blocks())?,
            ends: memory::values("a field", grid.blocks())?,
            starts: Starts::new(Phase::MIDDLE),
            weighting: is_balanced.then(weighting).transpose()?,
            chroma: (is_balanced && has_chroma).then(pairs).transpose()?,
            made_pairs: makes_pairs.then(made_pairs).transpose()?,
            has_begun: false,
        })
    }

    /// Makes both components of chroma.
    fn make_pairs(&mut self) {
        if let Some(mut made) = self.made_pairs.take() {
            if let Some(chroma) = &self.chroma {
                let [previous, next] = chroma.each_ref().map(ChromaPairs::view);
                let (width, height) = previous.size();
                let shape = PlaneShape::new(&previous, PAIRS, false);
                let mut plane = PlaneMut::new(&mut made, width, height, width)
                    .unwrap_or_else(|error| unreachable!("a plane without padding: {error}"));
                self.write::<Chroma<'_, 2, 2>, 8, 4>(shape, [previous.into(), next.into()], &mut plane);
            }
            self.made_pairs = Some(made);
        }
    }

    /// Writes a plane.
    fn write<S, const W: usize, const H: usize>(
        &self,
        shape: PlaneShape,
        sources: [S; 2],
        plane: &mut PlaneMut<'_>,
    ) where
        S: CellSource<W, H>,
    {
        let both = Both::new(self.starts.phase(), self.format.samples.depth());
        let overlap = Overlap { shape, sources, both, grid: self.grid, ends: &self.ends };
        match &self.weighting {
            Some(weighting) => Mixing { overlap, weighting }.write::<W, H>(self.instructions, plane),
            None => overlap.write::<W, H>(self.instructions, plane),
        }
    }
}

impl FrameMaker for Interpolator {
    fn device(&self) -> &str {
        NATIVE
    }

    fn depth(&self) -> usize {
        1
    }

    fn load_frame(&mut self, planes: &[FrameView<'_>]) -> Result<(), InterpolationError> {
        self.format.check_all(planes)?;
        let Self { instructions, threads, format, luma, chroma, .. } = self;
        luma.swap(0, 1);
        threads.install(|| luma[1].fill(*instructions, &planes[0]));
        if let Some(chroma) = chroma {
            chroma.swap(0, 1);
            threads.install(|| chroma[1].fill(&planes[1..], &format.samplings[1..]));
        }
        Ok(())
    }

    fn set_motion(&mut self, field: &[MotionVector]) -> Result<(), InterpolationError> {
        let size = self.format.size;
        check_field(size, field)?;
        self.found.set(field, found_grid(size).columns, self.grid, halvings(size.0, size.1));
        Ok(())
    }

    /// Chooses the vectors.
    fn start_frame(&mut self, phase: Phase) -> Result<(), InterpolationError> {
        if std::mem::replace(&mut self.has_begun, true) {
            return Err(EstimateError::InFlight(1).into());
        }
        let Self {
            instructions, threads, grid, luma, found, projected, ends, starts, weighting, chroma, ..
        } = self;
        threads.install(|| {
            starts.set(phase);
            found.project(starts, *grid, projected);
            let luma = luma.each_ref().map(LumaPoints::quarter_samples);
            let chroma = chroma.as_ref();
            let choice = VectorChoice { luma, chroma, starts, grid: *grid, projected };
            match weighting {
                None => choice.choose(*instructions, ends, None),
                Some(weighting) => {
                    choice.choose(*instructions, ends, Some(weighting.differences_mut()));
                    weighting.compute(*instructions, luma, ends);
                }
            }
        });
        let threads = self.threads.clone();
        threads.install(|| self.make_pairs());
        Ok(())
    }

    /// Planes are made when they are written.
    fn finish_frame(&mut self) -> Result<(), InterpolationError> {
        match std::mem::take(&mut self.has_begun) {
            true => Ok(()),
            false => Err(EstimateError::NothingInFlight.into()),
        }
    }

    fn write_plane(
        &self,
        index: usize,
        sources: [&FrameView<'_>; 2],
        plane: &mut PlaneMut<'_>,
    ) -> Result<(), CompensationError> {
        for plane in [sources[0], sources[1], &plane.view()] {
            self.format.check(index, plane)?;
        }
        if let Some(made) = self.made_pairs.as_ref().filter(|_| index > 0) {
            self.threads.install(|| separate(made, index - 1, plane));
            return Ok(());
        }
        let (sampling, depth) = (self.format.samplings[index], self.format.samples.depth());
        let shape = PlaneShape::new(sources[0], sampling, index == 0);
        self.threads.install(|| match (index, depth) {
            (0, 8) => {
                self.write(shape, self.luma.each_ref().map(LumaPoints::quarter_samples), plane);
            }
            (0, _) => self.write(shape, sources.map(|plane| DeepLuma(*plane)), plane),
            _ => with_chroma(sampling, depth, MadeChroma { maker: self, shape, sources, plane }),
        });
        Ok(())
    }

    fn cancel(&mut self) {
        self.has_begun = false;
    }
}

/// Writes a plane of chroma.
struct MadeChroma<'a, 'b> {
    maker: &'a Interpolator,
    shape: PlaneShape,
    sources: [&'a FrameView<'a>; 2],
    plane: &'a mut PlaneMut<'b>,
}

impl<'a> ChromaWork<'a> for MadeChroma<'a, '_> {
    fn run<S, const P: usize, const W: usize, const H: usize>(self)
    where
        S: CellSource<W, H> + From<FrameView<'a>>,
    {
        let sources = self.sources.map(|plane| S::from(*plane));
        self.maker.write::<S, W, H>(self.shape, sources, self.plane);
    }
}
