//! Frames made on the CPU.

use std::sync::Arc;

use super::Phase;
use super::cell_sources::{CellSource, Chroma, ChromaWork, DeepLuma, with_chroma};
use super::choice::VectorChoice;
use super::chroma_pairs::{ChromaPairs, PAIRS, are_separated_pairs, separate};
use super::frame_maker::{FrameMaker, FrameQuality, InterpolationError, LoadedPair};
use super::luma_points::LumaPoints;
use super::mixing::Mixing;
use super::overlap::{Both, Overlap, PlaneShape};
use super::patches::{self, Patch};
use super::projection::FoundField;
use super::rules::{HalfVector, check_field, found_grid, grid, halvings, is_like_luma};
use super::small_objects::MOST_PATCHES;
use super::starts::{BlockEnds, Starts};
use super::stored_samples::PixelPlane;
use super::weighting::LoneEnds;
use super::weighting::Weighting;
use crate::compensation::{CompensationError, PlaneMut};
use motion_base::memory;
use motion_base::sampling::FrameFormat;
use motion_base::simd::InstructionSetName;
use motion_base::simd::Instructions;
use motion_base::{EstimateError, FrameView, Grid, MotionVector, NATIVE, SetupError};

/// The [`FrameMaker`] of the CPU.
///
/// Memory: six bytes a luma sample for each of two frames, or of four in [`FrameQuality::High`], and 24 bytes a block of 8 x 8
/// samples. In [`FrameQuality::Balanced`] 88 bytes more a block, and a byte and a half a luma sample; in high quality 226, and
/// two and a half. Six bytes a sample more of each frame for other planes of eight bits that are predicted as luma is.
pub struct Interpolator {
    instructions: Instructions,
    threads: Arc<rayon::ThreadPool>,
    format: FrameFormat,
    grid: Grid,
    /// Those that were loaded last, oldest first: two, or four if pairs have neighbours.
    frames: Vec<KeptFrame>,
    /// Of each of them but the newest in the next.
    fields: Vec<FoundField>,
    /// What is drawn over the frames between each of them and the next.
    patches: Vec<Vec<Patch>>,
    pair: LoadedPair,
    /// The fields of the pair and of its neighbours, at the time of the made frame.
    projected: Vec<Vec<HalfVector>>,
    shown_elsewhere: [Vec<u8>; 2],
    /// Of the chosen vectors.
    ends: Vec<BlockEnds>,
    starts: Starts,
    /// Unless all vectors around count alike.
    weighting: Option<Weighting>,
    /// The chroma that is made, if it is made from that of [`KeptFrame`]: weighting both components at once takes less time.
    made_pairs: Option<Vec<u8>>,
    /// Whether a frame has begun that is not finished.
    has_begun: bool,
}

/// A frame as it is read between its samples.
struct KeptFrame {
    luma: LumaPoints,
    /// If it is compared.
    chroma: Option<ChromaPairs>,
    /// The other planes of eight bits that are predicted as luma is.
    like_luma: Vec<LumaPoints>,
}

/// The planes that are predicted as luma is, but luma itself.
fn like_luma(format: &FrameFormat) -> impl Iterator<Item = usize> {
    let is_one = |index: &usize| is_like_luma(*index, format.samplings[*index]);
    (1..format.samplings.len()).filter(is_one)
}

impl Interpolator {
    /// For frames of `format`. It runs in `threads` threads, 0 for one a core, which it shares with all devices of that
    /// number.
    ///
    /// # Errors
    /// [`SetupError`] if there are no such frames, interleaved chroma is not halved on both axes, or memory or threads are
    /// missing.
    pub fn new(format: &FrameFormat, quality: FrameQuality, threads: usize) -> Result<Self, SetupError> {
        Self::with_instruction_set(format, quality, threads, InstructionSetName::best())
    }

    /// The same with the instructions of `instruction_set`.
    ///
    /// # Errors
    /// As [`Self::new`], and [`SetupError::DeviceUnsupported`] if this CPU lacks `instruction_set`.
    pub fn with_instruction_set(
        format: &FrameFormat,
        quality: FrameQuality,
        threads: usize,
        instruction_set: InstructionSetName,
    ) -> Result<Self, SetupError> {
        format.check_chroma(NATIVE)?;
        let grid = grid(format.size.0, format.size.1);
        let is_weighted = quality != FrameQuality::Fast;
        let has_neighbours = quality == FrameQuality::High;
        let blocks = if has_neighbours { grid.blocks() } else { 0 };
        let pairs = if has_neighbours { 3 } else { 1 };
        let weighting = || Weighting::new(grid, halvings(format.size.0, format.size.1), has_neighbours);
        let compares_chroma = is_weighted && format.samplings.len() > 1;
        let points = if format.samples.depth() == 8 { like_luma(format).count() } else { 0 };
        let frame = |_| {
            let chroma = || ChromaPairs::new(format.size);
            Ok(KeptFrame {
                like_luma: (0..points).map(|_| LumaPoints::new(format.size)).collect::<Result<_, _>>()?,
                luma: LumaPoints::new(format.size)?,
                chroma: compares_chroma.then(chroma).transpose()?,
            })
        };
        let made_pairs = || {
            let [width, height] = [format.size.0, format.size.1].map(|length| length.div_ceil(2));
            memory::values("made chroma", 2 * width * height)
        };
        let makes_pairs = is_weighted && are_separated_pairs(&format.samplings[1..], format.samples.depth());
        Ok(Self {
            instructions: instruction_set.required()?,
            threads: motion_base::threads::pool(threads)?,
            format: format.clone(),
            grid,
            frames: (0..=pairs).map(frame).collect::<Result<_, SetupError>>()?,
            fields: (0..pairs).map(|_| FoundField::new(grid.blocks())).collect::<Result<_, _>>()?,
            patches: vec![Vec::new(); pairs],
            pair: LoadedPair::Newest,
            projected: (0..pairs)
                .map(|_| memory::values("a field", grid.blocks()))
                .collect::<Result<_, _>>()?,
            shown_elsewhere: [memory::values("costs", blocks)?, memory::values("costs", blocks)?],
            ends: memory::values("a field", grid.blocks())?,
            starts: Starts::new(Phase::MIDDLE),
            weighting: is_weighted.then(weighting).transpose()?,
            made_pairs: makes_pairs.then(made_pairs).transpose()?,
            has_begun: false,
        })
    }

    /// The number in `frames` of the previous frame of the pair, and in `fields` of its field.
    fn previous(&self) -> usize {
        self.fields.len() - if self.pair == LoadedPair::Newest { 1 } else { 2 }
    }

    /// Both frames of the pair.
    fn pair(&self) -> [&KeptFrame; 2] {
        [0, 1].map(|number| &self.frames[self.previous() + number])
    }

    /// Chooses the vectors, of so many projected fields, and weights them.
    fn choose(&mut self, fields: usize) {
        let (instructions, grid, previous) = (self.instructions, self.grid, self.previous());
        let Self { frames, projected, shown_elsewhere, starts, ends, weighting, .. } = self;
        let luma = |number: usize| frames[number].luma.quarter_samples();
        let pair = [luma(previous), luma(previous + 1)];
        let chroma = [0, 1].map(|number| frames[previous + number].chroma.as_ref());
        let chroma = if let [Some(previous), Some(next)] = chroma { Some([previous, next]) } else { None };
        let projected = &projected[..fields];
        let choice = VectorChoice { luma: pair, chroma, starts, grid, projected };
        let Some(weighting) = weighting else { return choice.choose(instructions, ends, None) };
        choice.choose(instructions, ends, Some(weighting.differences_mut()));
        let lone_ends = (fields > 1).then(|| LoneEnds {
            luma: [[luma(previous - 1), pair[0]], [pair[1], luma(previous + 2)]],
            shown_elsewhere,
        });
        weighting.compute(instructions, pair, lone_ends.as_ref(), ends);
    }

    /// Makes both components of chroma.
    fn make_pairs(&mut self) {
        if let Some(mut made) = self.made_pairs.take() {
            if let [Some(previous), Some(next)] = self.pair().map(|frame| frame.chroma.as_ref()) {
                let [previous, next] = [previous, next].map(ChromaPairs::view);
                let (width, height) = previous.size();
                let shape = PlaneShape::new(&previous, PAIRS, false);
                let mut plane = PlaneMut::new(&mut made, width, height, width)
                    .unwrap_or_else(|error| unreachable!("a plane without padding: {error}"));
                let sources =
                    [previous, next].map(|view| Chroma::<2>::from(PixelPlane { view, pixel: PAIRS.pixel() }));
                self.write::<_, 8, 4>(shape, sources, &mut plane);
            }
            self.made_pairs = Some(made);
        }
    }

    /// Draws the patches over plane `index`.
    fn draw(&self, index: usize, sources: [&FrameView<'_>; 2], plane: &mut PlaneMut<'_>) {
        let (patches, phase) = (&self.patches[self.previous()], self.starts.phase());
        patches::draw(patches, phase, self.format.size, self.format.samplings[index], sources, plane);
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
        let Self { instructions, threads, format, frames, fields, patches, pair, .. } = self;
        *pair = LoadedPair::Newest;
        frames.rotate_left(1);
        fields.rotate_left(1);
        patches.rotate_left(1);
        if let Some(newest) = patches.last_mut() {
            newest.clear();
        }
        let Some(KeptFrame { luma, chroma, like_luma: others }) = frames.last_mut() else { return Ok(()) };
        threads.install(|| luma.fill(*instructions, &planes[0]));
        for (points, index) in others.iter_mut().zip(like_luma(format)) {
            threads.install(|| points.fill(*instructions, &planes[index]));
        }
        if let Some(chroma) = chroma {
            threads.install(|| chroma.fill(&planes[1..], &format.samplings[1..]));
        }
        Ok(())
    }

    fn set_motion(&mut self, field: &[MotionVector]) -> Result<(), InterpolationError> {
        let size = self.format.size;
        check_field(size, field)?;
        if let Some(newest) = self.fields.last_mut() {
            newest.set(field, found_grid(size).columns, self.grid, halvings(size.0, size.1));
        }
        Ok(())
    }

    fn set_patches(&mut self, patches: &[Patch]) -> Result<(), InterpolationError> {
        if let Some(newest) = self.patches.last_mut() {
            newest.clear();
            newest.extend(patches.iter().take(MOST_PATCHES).cloned());
        }
        Ok(())
    }

    fn select(&mut self, pair: LoadedPair) -> Result<(), InterpolationError> {
        if pair != LoadedPair::Newest && self.fields.len() == 1 {
            return Err(InterpolationError::Pair);
        }
        self.pair = pair;
        Ok(())
    }

    /// Chooses the vectors.
    fn start_frame(&mut self, phase: Phase) -> Result<(), InterpolationError> {
        if std::mem::replace(&mut self.has_begun, true) {
            return Err(EstimateError::InFlight(1).into());
        }
        let has_neighbours = self.pair == LoadedPair::BeforeNewest { has_neighbours: true };
        let previous = self.previous();
        self.starts.set(phase);
        let threads = self.threads.clone();
        threads.install(|| {
            let Self { grid, fields, starts, projected, shown_elsewhere, .. } = self;
            // Each field, and how many intervals its pair is later.
            let around: [(usize, i16); 3] =
                [(previous, 0), (previous.wrapping_sub(1), -1), (previous + 1, 1)];
            let used = if has_neighbours { around.len() } else { 1 };
            for (projected, (field, intervals)) in projected.iter_mut().zip(around).take(used) {
                fields[field].project(starts, intervals, *grid, projected);
            }
            if has_neighbours {
                fields[previous].find_shown_elsewhere(*grid, shown_elsewhere);
            }
            self.choose(used);
            self.make_pairs();
        });
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
            self.draw(index, sources, plane);
            return Ok(());
        }
        let (sampling, depth) = (self.format.samplings[index], self.format.samples.depth());
        let is_luma = is_like_luma(index, sampling);
        let shape = PlaneShape::new(sources[0], sampling, is_luma);
        self.threads.install(|| match (is_luma, depth) {
            (true, 8) => {
                let other = like_luma(&self.format).position(|other| other == index);
                let points = self.pair().map(|frame| match other {
                    Some(other) => frame.like_luma[other].quarter_samples(),
                    None => frame.luma.quarter_samples(),
                });
                self.write(shape, points, plane);
            }
            (true, _) => self.write(shape, sources.map(|plane| DeepLuma(*plane)), plane),
            _ => with_chroma(sampling, depth, MadeChroma { maker: self, shape, sources, plane: &mut *plane }),
        });
        self.draw(index, sources, plane);
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
    fn run<S, const W: usize, const H: usize>(self, pixel: usize)
    where
        S: CellSource<W, H> + From<PixelPlane<'a>>,
    {
        let sources = self.sources.map(|&view| S::from(PixelPlane { view, pixel }));
        self.maker.write::<S, W, H>(self.shape, sources, self.plane);
    }
}
