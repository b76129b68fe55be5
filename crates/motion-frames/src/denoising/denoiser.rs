//! Frames without noise, made on the CPU.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::errors::Errors;
use super::map::{BlockNoise, Evidence, NoiseMap, NoiseMemory};
use super::mean::{Average, PlaneMean, steps_of_chroma};
use super::measure::{LumaRow, MeasuredChroma, MeasuredChromaErrors, MeasuredLuma};
use super::noise::{ChromaBlock, ChromaError, LumaBlock, LumaError, flickers, least_noise};
use super::reference::{LumaSlot, Reference};
use super::refined::RefinedRow;
use super::rules::{BLOCK, MOST_REFERENCES, NoiseLevel, Strength, VectorEnds, checked_halvings};
use super::spatial::left_noise;
use super::weights::{Weighed, most_change};
use crate::compensation::{CompensationError, PlaneMut, Sampling};
use crate::interpolation::{DeepLuma, FrameFormat, LumaPoints, with_chroma};
use motion_base::memory;
use motion_base::simd::InstructionSetName;
use motion_base::simd::Instructions;
use motion_base::{Frame, FrameView, NATIVE, SetupError};
use motion_search::scenes::SearchFrames;

/// What is known of the blocks of luma, or of those of chroma, and the errors of their predictions.
struct MeasuredBlocks<B, E> {
    blocks: Vec<B>,
    errors: Errors<E>,
}

impl<B, E> MeasuredBlocks<B, E>
where
    B: Copy + Default,
    E: Copy + Default + Send + Sync,
{
    fn new(blocks: usize, references: usize) -> Result<Self, SetupError> {
        let errors = Errors::new(blocks, references)?;
        Ok(Self { blocks: memory::values("what blocks are", blocks)?, errors })
    }
}

/// Takes the noise out of frames: [`Self::load`] each frame of a stream; when those are loaded that it is averaged with,
/// [`Self::measure`] it, and write its planes in order.
///
/// Memory: with eight bits five bytes a luma sample of each loaded frame; 48 bytes a block of 8 x 8 samples for each
/// reference frame, 16 of them for chroma.
pub struct Denoiser {
    instructions: Instructions,
    threads: Arc<rayon::ThreadPool>,
    format: FrameFormat,
    search_frames: SearchFrames,
    /// The luma of the frames that were loaded last, if it has eight bits, and where that of the next one goes.
    points: Vec<LumaPoints>,
    next: usize,
    noise: NoiseMap,
    /// Whether noise that time leaves is taken out, too.
    is_spatial: bool,
    memory: NoiseMemory,
    luma: MeasuredBlocks<LumaBlock, LumaError>,
    /// Empty without chroma.
    chroma: MeasuredBlocks<ChromaBlock, ChromaError>,
    /// How blocks of luma and of chroma are averaged.
    averages: [Vec<Average>; 2],
    /// For each reference frame where the vectors lead to in it.
    ends: Vec<VectorEnds>,
    /// For each reference frame whether its light is another than that of the current frame.
    lights: Vec<bool>,
}

impl Denoiser {
    /// For frames of `format`, each to be averaged with at most `references` of the `loaded` frames that were loaded last.
    /// It runs in `threads` threads, 0 for one a core, which it shares with all devices of that number.
    ///
    /// # Errors
    /// [`SetupError`] if threads or memory are missing, or the frames are too large.
    ///
    /// # Panics
    /// If `references` is more than [`MOST_REFERENCES`], or `loaded` is 0.
    pub fn new(
        format: &FrameFormat,
        references: usize,
        loaded: usize,
        threads: usize,
    ) -> Result<Self, SetupError> {
        Self::with_instruction_set(format, references, loaded, threads, InstructionSetName::best())
    }

    /// The same with the instructions of `instruction_set`.
    ///
    /// # Errors
    /// As [`Self::new`], and [`SetupError::DeviceUnsupported`] if this CPU lacks `instruction_set`.
    ///
    /// # Panics
    /// As [`Self::new`].
    pub fn with_instruction_set(
        format: &FrameFormat,
        references: usize,
        loaded: usize,
        threads: usize,
        instruction_set: InstructionSetName,
    ) -> Result<Self, SetupError> {
        assert!(references <= MOST_REFERENCES && loaded > 0, "{references} of {loaded} frames");
        let (width, height) = format.size;
        let halvings = checked_halvings(format, NATIVE)?;
        let blocks = width.div_ceil(BLOCK) * height.div_ceil(BLOCK);
        let chroma_blocks = if format.samplings.len() > 1 { blocks } else { 0 };
        let instructions = instruction_set.required()?;
        let kept = if format.samples.depth() == 8 { loaded } else { 0 };
        Ok(Self {
            instructions,
            threads: motion_base::threads::pool(threads)?,
            format: format.clone(),
            search_frames: SearchFrames::new(format.size, halvings)?,
            points: (0..kept).map(|_| LumaPoints::new(format.size)).collect::<Result<_, _>>()?,
            next: 0,
            noise: NoiseMap::new(format.size, format.samples.depth())?,
            is_spatial: true,
            memory: NoiseMemory::new(format.size, chroma_blocks > 0)?,
            luma: MeasuredBlocks::new(blocks, references)?,
            chroma: MeasuredBlocks::new(chroma_blocks, references)?,
            averages: [
                memory::values("the weights of luma", blocks)?,
                memory::values("the weights of chroma", blocks)?,
            ],
            ends: (0..references).map(|_| VectorEnds::new(format.size)).collect::<Result<_, _>>()?,
            lights: Vec::with_capacity(references),
        })
    }

    /// What the frames are.
    pub(super) fn format(&self) -> &FrameFormat {
        &self.format
    }

    /// Loads the frame with the plane `luma`. Returns the frame that is searched in its place, with
    /// [`search_parameters`](super::search_parameters), and where its luma is until as many others are loaded as may be.
    ///
    /// # Errors
    /// [`CompensationError`] if it is no plane of the stream.
    pub fn load(&mut self, luma: &FrameView<'_>) -> Result<(Frame, LumaSlot), CompensationError> {
        self.format.check(0, luma)?;
        let Self { instructions, threads, search_frames, points, next, .. } = self;
        let slot = LumaSlot(*next);
        let search_frame = threads.install(|| {
            if let Some(points) = points.get_mut(slot.0) {
                points.fill(*instructions, luma);
            }
            search_frames.make(*instructions, luma)
        });
        *next = if slot.0 + 1 < points.len() { slot.0 + 1 } else { 0 };
        Ok((search_frame, slot))
    }

    /// Goes on with the `noise` of a stream of such frames.
    pub fn set_noise(&mut self, noise: NoiseMap) {
        self.noise = noise;
    }

    /// Forgets the noise of the frames up to now: the next one is of another stream.
    pub fn restart(&mut self) {
        self.noise.restart();
    }

    /// Sets whether the noise of the frames that are measured from now on is estimated, or known.
    pub fn set_noise_level(&mut self, level: NoiseLevel) {
        self.noise.set_level(level);
    }

    /// Sets whether from the frame on that is measured next noise is also taken out inside frames, where time leaves it: in cells
    /// of luma that show nothing but noise and a slope. It is, unless this has been called.
    pub fn set_spatial(&mut self, is_spatial: bool) {
        self.is_spatial = is_spatial;
    }

    /// Estimates the noise of the frame with these `planes`, which comes after the one that was measured last, and decides
    /// by how much [`Self::write_plane`] averages it with `references`. Returns the noise. Nothing changes if there is
    /// none.
    ///
    /// # Errors
    /// [`CompensationError`] if a plane or a field is not one of the stream.
    ///
    /// # Panics
    /// If there are more references than it was made for.
    pub fn measure(
        &mut self,
        planes: &[FrameView<'_>],
        references: &[Reference<'_>],
        strength: Strength,
    ) -> Result<&NoiseMap, CompensationError> {
        self.format.check_all(planes)?;
        references.iter().try_for_each(|reference| self.format.check_all(reference.planes))?;
        let Self {
            instructions,
            threads,
            format,
            points,
            noise,
            memory,
            luma,
            chroma,
            averages,
            ends,
            lights,
            is_spatial,
            ..
        } = self;
        for (ends, reference) in ends.iter_mut().zip(references) {
            ends.set(format.size, reference.vectors)?;
        }
        let mut measuring =
            Measuring { instructions: *instructions, format, points, planes, references, ends };
        // One call from this thread: handing work over takes time.
        threads.install(|| {
            lights.clear();
            lights.resize(references.len(), false);
            measuring.luma(luma, lights, true);
            measuring.chroma(chroma, None);
            let evidence = Evidence::of(references, lights, &luma.errors, &chroma.errors);
            noise.follow(&luma.blocks, &chroma.blocks, &evidence, memory);
            // Without noise the others have no weight.
            if !noise.is_none() && !strength.is_none() {
                measuring.luma(luma, lights, false);
                measuring.refine(luma, lights, noise.blocks());
                if noise.has_chroma() {
                    measuring.chroma(chroma, Some(noise.blocks()));
                }
            }
            let no_chroma = ChromaBlock::default();
            let least_noise = least_noise(format.samples.depth());
            let weighed = |block: usize, noise: &BlockNoise| {
                let chroma_block = chroma.blocks.get(block);
                Weighed {
                    luma_block: &luma.blocks[block],
                    chroma_block: chroma_block.unwrap_or(&no_chroma),
                    noise: BlockNoise { luma: strength.of(noise.luma), chroma: strength.of(noise.chroma) },
                    least_noise,
                    luma: luma.errors.of_block(block),
                    chroma: chroma_block.map_or(&[], |_| chroma.errors.of_block(block)),
                    lights,
                }
            };
            let [of_luma, of_chroma] = averages;
            let results = of_luma.par_iter_mut().zip(of_chroma).zip(noise.blocks());
            results.enumerate().with_min_len(format.size.0.div_ceil(BLOCK)).for_each(
                |(block, ((of_luma, of_chroma), noise))| {
                    let weighed = weighed(block, noise);
                    let [luma, chroma] = weighed.weights();
                    let left = if *is_spatial { left_noise(weighed.shown_noise(), &luma) } else { 0 };
                    *of_luma = Average { weights: luma, change: most_change(weighed.noise.luma), left };
                    let change = most_change(weighed.noise.chroma);
                    *of_chroma = Average { weights: chroma, change, left: 0 };
                },
            );
        });
        Ok(noise)
    }

    /// Writes plane `index` of the frame that was measured last. `plane` is this plane of it; `references` are those that
    /// it was measured with.
    ///
    /// # Errors
    /// [`CompensationError`] if a plane is not one of the stream.
    ///
    /// # Panics
    /// If there is no such plane, or luma is not written first.
    pub fn write_plane(
        &self,
        index: usize,
        plane: &FrameView<'_>,
        references: &[Reference<'_>],
        out: &mut PlaneMut<'_>,
    ) -> Result<(), CompensationError> {
        self.format.check(index, plane)?;
        self.format.check(index, &out.view())?;
        self.check(index, references)?;
        let Self { instructions, threads, format, points, ends, lights, luma, averages, .. } = self;
        let lights = lights.iter().enumerate().map(|(reference, &is_another)| {
            (index == 0 && is_another).then(|| luma.errors.of_reference(reference))
        });
        let mean = PlaneMean {
            instructions: *instructions,
            plane,
            others: references.iter().map(|reference| reference.planes[index]).collect(),
            ends: &ends[..references.len()],
            lights: lights.collect(),
            averages: &averages[index.min(1)],
            columns: format.size.0.div_ceil(BLOCK),
            steps: steps_of_chroma(format.samplings[index]),
            out,
        };
        let depth = format.samples.depth();
        threads.install(|| match (index, depth) {
            (0, 8) => {
                let luma = |reference: &Reference<'_>| points[reference.slot.0].quarter_samples();
                mean.write_luma(&references.iter().map(luma).collect::<Vec<_>>());
            }
            (0, _) => {
                let luma: Vec<_> = mean.others.iter().map(|plane| DeepLuma(*plane)).collect();
                mean.write_luma(&luma);
            }
            _ => with_chroma(format.samplings[index], depth, mean),
        });
        Ok(())
    }

    /// Checks the planes `index` of `references`.
    fn check(&self, index: usize, references: &[Reference<'_>]) -> Result<(), CompensationError> {
        references.iter().try_for_each(|reference| self.format.check(index, &reference.planes[index]))
    }
}

/// A frame that is measured.
struct Measuring<'a> {
    instructions: Instructions,
    format: &'a FrameFormat,
    points: &'a [LumaPoints],
    planes: &'a [FrameView<'a>],
    references: &'a [Reference<'a>],
    ends: &'a mut [VectorEnds],
}

impl Measuring<'_> {
    fn columns(&self) -> usize {
        self.format.size.0.div_ceil(BLOCK)
    }

    /// The references that are beside the frame, or those that are not, and their places.
    fn references(&self, are_beside: bool) -> impl Iterator<Item = (usize, &Reference<'_>)> {
        let references = self.references.iter().enumerate();
        references.filter(move |(_, reference)| reference.is_beside() == are_beside)
    }

    /// Measures the blocks of luma and their errors from the frames that are beside it; or the errors from the others alone.
    /// Then it is known whether those frames are brighter or darker.
    fn luma(&self, luma: &mut MeasuredBlocks<LumaBlock, LumaError>, lights: &mut [bool], are_beside: bool) {
        let (columns, count) = (self.columns(), luma.blocks.len());
        let rows = luma.blocks.par_chunks_mut(columns).zip(luma.errors.rows(columns)).enumerate();
        let of_other_light = rows.map(|(row, (blocks, mut errors))| {
            if are_beside {
                self.instructions.run(MeasuredLuma { plane: &self.planes[0], y: row * BLOCK, blocks });
            }
            let mut of_other_light = [0; MOST_REFERENCES];
            for (index, reference) in self.references(are_beside) {
                let row = LumaRow { plane: &self.planes[0], blocks, ends: &self.ends[index], row };
                let errors = errors.of_reference(index);
                of_other_light[index] = match self.points.get(reference.slot.0) {
                    Some(points) => row.errors(self.instructions, &points.quarter_samples(), errors),
                    None => row.errors(self.instructions, &DeepLuma(reference.planes[0]), errors),
                };
            }
            of_other_light
        });
        let sum = |one: [usize; _], other: [usize; _]| std::array::from_fn(|index| one[index] + other[index]);
        let of_other_light = of_other_light.reduce(|| [0; MOST_REFERENCES], sum);
        for (index, _) in self.references(are_beside) {
            lights[index] = flickers(of_other_light[index], count);
        }
    }

    /// Gives blocks with `noise` the vectors of neighbours that predict their luma better, and measures the errors.
    fn refine(
        &mut self,
        luma: &mut MeasuredBlocks<LumaBlock, LumaError>,
        lights: &[bool],
        noise: &[BlockNoise],
    ) {
        let columns = self.columns();
        for (index, reference) in self.references.iter().enumerate() {
            let (found, vectors) = self.ends[index].refine();
            let rows = vectors.par_chunks_mut(columns).zip(luma.errors.rows(columns)).enumerate();
            let Self { instructions, points, planes, .. } = *self;
            let blocks = &luma.blocks;
            rows.for_each(|(row, (vectors, mut errors))| {
                let [first, end] = [row, row + 1].map(|row| row * columns);
                let refined = RefinedRow {
                    plane: &planes[0],
                    blocks: &blocks[first..end],
                    noise: &noise[first..end],
                    found,
                    vectors,
                    flickers: lights[index],
                    row,
                };
                let errors = errors.of_reference(index);
                match points.get(reference.slot.0) {
                    Some(points) => refined.set(instructions, &points.quarter_samples(), errors),
                    None => refined.set(instructions, &DeepLuma(reference.planes[0]), errors),
                }
            });
        }
    }

    /// Measures the blocks of chroma and their errors from the frames that are beside the frame; if `noise` is there, the errors
    /// from all frames, of the blocks whose chroma has some.
    fn chroma(&self, chroma: &mut MeasuredBlocks<ChromaBlock, ChromaError>, noise: Option<&[BlockNoise]>) {
        let (instructions, depth, columns) = (self.instructions, self.format.samples.depth(), self.columns());
        let rows = chroma.blocks.par_chunks_mut(columns).zip(chroma.errors.rows(columns)).enumerate();
        rows.for_each(|(row, (blocks, mut errors))| {
            // To these is added, plane by plane.
            if noise.is_none() {
                blocks.fill(ChromaBlock::default());
            }
            errors.fill(ChromaError::default());
            let noise = noise.map(|noise| &noise[row * columns..][..columns]);
            for (sampling, alike) in self.chroma_planes() {
                let planes = &self.planes[alike.clone()];
                if noise.is_none() {
                    with_chroma(sampling, depth, MeasuredChroma { instructions, planes, row, blocks });
                }
                for (index, reference) in self.references.iter().enumerate() {
                    if noise.is_none() && !reference.is_beside() {
                        continue;
                    }
                    let work = MeasuredChromaErrors {
                        instructions,
                        planes,
                        steps: steps_of_chroma(sampling),
                        others: &reference.planes[alike.clone()],
                        ends: &self.ends[index],
                        noise,
                        row,
                        errors: errors.of_reference(index),
                    };
                    with_chroma(sampling, depth, work);
                }
            }
        });
    }

    /// The planes of chroma that are sampled alike.
    fn chroma_planes(&self) -> impl Iterator<Item = (Sampling, Range<usize>)> {
        let alike = self.format.samplings[1..].chunk_by(|one, other| one == other);
        alike.scan(1, |end, alike| {
            let start = *end;
            *end += alike.len();
            Some((alike[0], start..*end))
        })
    }
}
