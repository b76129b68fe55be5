//! The costs of blocks besides those of their vectors, on the cores of the CPU.
//!
//! [`oracle::costs`](crate::estimator::oracle::costs) defines them. A session has the frames on the host and the whole
//! field, so that this is the same for every device, and no device needs a kernel for it.

use rayon::prelude::*;

use super::cost_rows::{CostRow, RowBuffers, RowMemory};
use super::tiles::TileSample;
use super::{SearchedFrames, Stage};
use crate::estimator::{
    Algorithm, CostKind, CostKinds, Doubt, EstimateError, FrameView, Output, Parameters, PooledRecords,
    RecordPool, SetupError,
};
use crate::native::second_costs::{LeastCosts, SecondCosts};
use motion_base::memory::Line;
use motion_base::simd::InstructionSetName;
use motion_base::simd::Instructions;
use motion_base::threads::each_band;

/// The stage that fills [`Output::costs`] as [`Parameters::costs`] says, in the instructions of `instruction_set`.
///
/// # Errors
/// [`SetupError`] if `parameters` are not valid, [`SetupError::DeviceUnsupported`] if this CPU lacks `instruction_set`.
pub fn block_costs(
    parameters: &Parameters,
    instruction_set: InstructionSetName,
) -> Result<Box<dyn Stage>, SetupError> {
    parameters.validate()?;
    let instructions = instruction_set.required()?;
    Ok(match parameters.bit_depth {
        8 => Box::new(CostStage::<u8>::new(parameters, instructions)),
        _ => Box::new(CostStage::<u16>::new(parameters, instructions)),
    })
}

/// The costs of frames with samples of `S`.
struct CostStage<S: TileSample> {
    parameters: Parameters,
    instructions: Instructions,
    costs: RecordPool<u32>,
    /// The eight bits of deeper reference frames.
    lowered: RecordPool<u8>,
    memory: RowMemory<S>,
    /// Those of the output, if they are made of those of `parameters`.
    made: Option<CostKinds>,
    /// Memory of [`CostKind::Second`].
    second: RecordPool<Line>,
}

impl<S: TileSample> CostStage<S> {
    fn new(parameters: &Parameters, instructions: Instructions) -> Self {
        let costs = parameters.computed_costs();
        Self {
            parameters: Parameters { costs, ..parameters.clone() },
            made: parameters.costs.contains(CostKind::Confidence).then_some(parameters.costs),
            instructions,
            costs: RecordPool::default(),
            lowered: RecordPool::default(),
            memory: RowMemory::default(),
            second: RecordPool::default(),
        }
    }
}

impl<S: TileSample> Stage for CostStage<S> {
    fn reads_frames(&self) -> bool {
        true
    }

    fn apply(
        &mut self,
        frames: Option<SearchedFrames<'_>>,
        output: &mut Output,
    ) -> Result<(), EstimateError> {
        let Self { parameters, instructions, memory, second, .. } = self;
        let SearchedFrames { current, reference, .. } = frames.ok_or(EstimateError::NoFrame)?;
        let (grid, kinds) = (parameters.grid(), parameters.costs.count());
        current.check(parameters)?;
        reference.check(parameters)?;
        grid.check(&output.vectors)?;
        // Rows are read with the depth that was searched, but predictions are made with that of the frame.
        let is_lowered = reference.format().depth() != parameters.bit_depth;
        let mut lowered =
            self.lowered.take(if is_lowered { parameters.width * parameters.height } else { 0 });
        let predicted_from = if is_lowered { lower(&reference, &mut lowered) } else { reference };
        let mut costs = self.costs.take(grid.blocks() * kinds);
        let rows = costs.par_chunks_mut(grid.columns * kinds).enumerate();
        rows.for_each_init(
            || RowBuffers::new(parameters, memory),
            |buffers, (row, costs)| {
                let (frames, field) = ([&current, &reference, &predicted_from], &output.vectors);
                instructions.run(CostRow { parameters, frames, field, row, buffers, costs });
                let [far_at, near_at] = [CostKind::Second, CostKind::Confidence]
                    .map(|wanted| parameters.costs.iter().position(|kind| kind == wanted));
                if let Some(far_at) = far_at {
                    let mut found = |column, least: LeastCosts| {
                        let block = &mut costs[column * kinds..][..kinds];
                        block[far_at] = least.far;
                        if let Some(near_at) = near_at {
                            block[near_at] = least.near;
                        }
                    };
                    let vectors = &field[row * grid.columns..][..grid.columns];
                    let (current, reference) = (&current, &reference);
                    let found = &mut found;
                    SecondCosts { parameters, current, reference, row, vectors, found }
                        .write(*instructions, second);
                }
            },
        );
        output.costs = Some(match self.made {
            None => costs,
            Some(kinds) => self.make(kinds, &costs, output.vectors.len()),
        });
        Ok(())
    }
}

impl<S: TileSample> CostStage<S> {
    /// The numbers of `kinds`, among them [`CostKind::Confidence`], made of those that it needs. Of full and three-step
    /// search its place in `computed` has the least cost near the vector.
    fn make(&self, kinds: CostKinds, computed: &[u32], blocks: usize) -> PooledRecords<u32> {
        let sources = self.parameters.costs;
        let place = |kind| sources.iter().position(|source| source == kind);
        let places: Vec<_> = kinds.iter().map(place).collect();
        let (cost, other) = match self.parameters.algorithm {
            Algorithm::Hierarchical => (CostKind::Satd, CostKind::Intra),
            Algorithm::Full | Algorithm::ThreeStep => (CostKind::Confidence, CostKind::Second),
        };
        let (cost, other) = (place(cost), place(other));
        let doubt = Doubt::of(&self.parameters);
        let mut costs = self.costs.take(blocks * kinds.count());
        let blocks = computed.chunks_exact(sources.count());
        for (made, computed) in costs.chunks_exact_mut(kinds.count()).zip(blocks) {
            let of = |place: Option<usize>| place.map_or(0, |place| computed[place]);
            for ((made, kind), place) in made.iter_mut().zip(kinds.iter()).zip(&places) {
                *made = match kind {
                    CostKind::Confidence => doubt.confidence(of(cost), of(other)),
                    _ => of(*place),
                };
            }
        }
        costs
    }
}

/// The eight bits of `frame` that are searched, in `samples`.
fn lower<'a>(frame: &FrameView<'_>, samples: &'a mut [u8]) -> FrameView<'a> {
    let (width, height) = frame.size();
    each_band(samples, width, &|y, row| frame.read_row(y, row));
    FrameView::new(samples, width, height, width)
        .unwrap_or_else(|error| unreachable!("a frame without padding: {error}"))
}
