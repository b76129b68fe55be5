//! The costs of a row of blocks.

use std::ops::Range;

use super::tiles::{LANES, MODES, ModeTransforms, TILE, TileNumber, TileSample, intra, load, satd};
use crate::estimator::{CostKind, FrameView, MotionVector, Parameters, PooledRecords, RecordPool, Sample};
use motion_base::sampling::{Field, PlanePrediction, Sampling};
use motion_base::simd::{InstructionSet, Instructions, Work};

/// The transforms of predictions that all rows of tiles of a row of blocks share: of the mean, the samples above, and
/// the plane along its rows.
const SHARED: usize = 1 + 2 * TILE;

/// Those of a row of tiles: of the samples to the left, and the plane along its columns.
const OWN: usize = 2 * TILE;

/// Numbers of a block's edges besides the samples to its left.
const EDGES: usize = 3;

/// The memory of rows of blocks that are not computed at the moment.
pub(super) struct RowMemory<S: TileSample> {
    samples: RecordPool<S>,
    numbers: RecordPool<S::Number>,
    edges: RecordPool<i32>,
    sums: RecordPool<u32>,
}

impl<S: TileSample> Default for RowMemory<S> {
    fn default() -> Self {
        Self {
            samples: RecordPool::default(),
            numbers: RecordPool::default(),
            edges: RecordPool::default(),
            sums: RecordPool::default(),
        }
    }
}

/// How the tiles of a row of blocks lie in memory.
#[derive(Clone, Copy)]
struct RowLayout {
    /// Samples of a block on an axis.
    side: usize,
    /// Blocks.
    columns: usize,
    /// Tiles of a block on an axis.
    tiles: usize,
    /// Tiles across, filled up to a multiple of [`LANES`].
    padded: usize,
}

impl RowLayout {
    fn new(parameters: &Parameters) -> Self {
        let (side, columns) = (parameters.block_size, parameters.grid().columns);
        let tiles = side / TILE;
        Self { side, columns, tiles, padded: (columns * tiles).next_multiple_of(LANES) }
    }

    /// Samples from one row to the next.
    fn pitch(self) -> usize {
        self.padded * TILE
    }

    /// The tiles across of a block.
    fn tiles_of(self, column: usize) -> Range<usize> {
        column * self.tiles..(column + 1) * self.tiles
    }
}

/// The memory of a row of blocks.
pub(super) struct RowBuffers<S: TileSample> {
    layout: RowLayout,
    /// The current frame from the row above the blocks on.
    current: PooledRecords<S>,
    /// The reference frame at the same place.
    reference: PooledRecords<S>,
    /// What the vectors lead to.
    predicted: PooledRecords<S>,
    /// [`SHARED`] and [`OWN`] numbers of each tile across, then four of each block, which its tiles share.
    modes: PooledRecords<S::Number>,
    /// [`Edges`].
    edges: PooledRecords<i32>,
    /// Twice the sum of each prediction from the current frame, then that of no motion and that of the vector, of each
    /// tile across.
    sums: PooledRecords<u32>,
}

impl<S: TileSample> RowBuffers<S> {
    pub fn new(parameters: &Parameters, memory: &RowMemory<S>) -> Self {
        let layout = RowLayout::new(parameters);
        // All have the same size, so that memory that comes back need not grow.
        let rows = || memory.samples.take((layout.side + 1) * layout.pitch());
        Self {
            current: rows(),
            reference: rows(),
            predicted: rows(),
            modes: memory.numbers.take((SHARED + OWN) * layout.padded + TILE * layout.columns),
            edges: memory.edges.take((layout.side + EDGES) * layout.columns),
            sums: memory.sums.take((MODES + 2) * layout.padded),
            layout,
        }
    }
}

/// What the predictions of a row of blocks begin with, a number of each block.
struct Edges<'a> {
    means: &'a mut [i32],
    /// How the plane rises across, and falls down.
    rises: &'a mut [i32],
    falls: &'a mut [i32],
    /// The samples to the left, row by row.
    beside: &'a mut [i32],
}

impl<'a> Edges<'a> {
    #[inline(always)]
    fn new(numbers: &'a mut [i32], columns: usize) -> Self {
        let (means, rest) = numbers.split_at_mut(columns);
        let (rises, rest) = rest.split_at_mut(columns);
        let (falls, beside) = rest.split_at_mut(columns);
        Self { means, rises, falls, beside }
    }
}

/// The costs of a row of blocks, except [`CostKind::Second`] and [`CostKind::Confidence`].
pub(super) struct CostRow<'a, S: TileSample> {
    pub parameters: &'a Parameters,
    /// The current frame, the reference frame, and the reference frame to predict from.
    pub frames: [&'a FrameView<'a>; 3],
    /// The vectors of the whole frame.
    pub field: &'a [MotionVector],
    pub row: usize,
    pub buffers: &'a mut RowBuffers<S>,
    pub costs: &'a mut [u32],
}

impl<S: TileSample, E: InstructionSet> Work<E> for CostRow<'_, S> {
    #[inline(always)]
    fn run(mut self, _: E) {
        let Self { parameters, frames: [current, reference, _], row, .. } = self;
        let (kinds, layout) = (parameters.costs, self.buffers.layout);
        let wants = |kind| kinds.contains(kind);
        let top = (row * layout.side) as i32;
        if wants(CostKind::Zero) {
            read_rows(reference, top, &mut self.buffers.reference, layout.pitch());
        }
        if wants(CostKind::Satd) {
            self.predict();
        }
        let Self { buffers, costs, .. } = self;
        read_rows(current, top - 1, &mut buffers.current, layout.pitch());
        buffers.sums.fill(0);
        if wants(CostKind::Intra) {
            buffers.share_modes();
        }
        for tile_row in 0..layout.tiles {
            if wants(CostKind::Intra) {
                buffers.own_modes(tile_row);
            }
            for first in (0..layout.padded).step_by(LANES) {
                buffers.add_tiles(
                    tile_row,
                    first,
                    [CostKind::Intra, CostKind::Zero, CostKind::Satd].map(wants),
                );
            }
        }
        for (index, kind) in kinds.iter().enumerate() {
            let costs = costs.iter_mut().skip(index).step_by(kinds.count());
            match kind {
                CostKind::Zero => write(costs, |column| buffers.sum(MODES, column)),
                CostKind::Intra => write(costs, |column| buffers.intra(column)),
                CostKind::Satd => write(costs, |column| buffers.sum(MODES + 1, column)),
                // Others write them.
                CostKind::Second | CostKind::Confidence => (),
                CostKind::Variance => {
                    let shift = CostKind::variance_shift(parameters.bit_depth);
                    write(costs, |column| buffers.variance(column, shift));
                }
            }
        }
    }
}

/// Writes the cost of each column.
#[inline(always)]
fn write<'a>(costs: impl Iterator<Item = &'a mut u32>, cost: impl Fn(usize) -> u32) {
    for (column, to) in costs.enumerate() {
        *to = cost(column);
    }
}

/// Reads the rows of `frame` from `top` on, as many as `to` has. Outside the frame, its edge samples repeat.
#[inline(always)]
fn read_rows<S: Sample>(frame: &FrameView<'_>, top: i32, to: &mut [S], pitch: usize) {
    let (width, height) = frame.size();
    for (y, to) in (top..).zip(to.chunks_exact_mut(pitch)) {
        let (inside, outside) = to.split_at_mut(width);
        frame.read_row(y.clamp(0, height as i32 - 1) as usize, inside);
        outside.fill(inside[width - 1]);
    }
}

impl<S: TileSample> CostRow<'_, S> {
    /// Writes what the vectors lead to.
    #[inline(always)]
    fn predict(&mut self) {
        let Self { parameters, frames, field, row, .. } = self;
        let RowBuffers { layout, predicted, .. } = &mut *self.buffers;
        let side = layout.side;
        let size = (parameters.extended_width(), parameters.extended_height());
        let field = Field::new(size, (side, side), field)
            .unwrap_or_else(|error| unreachable!("the field has been checked: {error}"))
            .with_scale(parameters.algorithm.scale() as u32);
        let (first, stride) = (*row * side, layout.pitch() * size_of::<S>());
        let predicted = &mut predicted[..side * layout.pitch()];
        let (field, reference, format) = (&field, frames[2], frames[2].format().normal());
        let prediction = PlanePrediction { field, sampling: Sampling::LUMA, reference, format };
        let predicted_bytes = bytemuck::cast_slice_mut(predicted);
        prediction.write_rows(Instructions::best(), first, predicted_bytes, stride);
        predicted.iter_mut().for_each(|sample| *sample = sample.in_order());
    }
}

impl<S: TileSample> RowBuffers<S> {
    /// Computes what the predictions of all rows of tiles share, and the samples and slopes of the others.
    #[inline(always)]
    fn share_modes(&mut self) {
        let Self { layout, current, modes, edges, .. } = self;
        let RowLayout { side, columns, tiles, padded } = *layout;
        let (current, pitch, half) = (&current[..], layout.pitch(), side as i32);
        let Edges { means, rises, falls, beside } = Edges::new(edges, columns);
        let (modes, of_blocks) = modes.split_at_mut((SHARED + OWN) * padded);
        let (mean_modes, modes) = modes.split_at_mut(padded);
        let (above, across) = modes.split_at_mut(TILE * padded);
        // The samples above are those of all tiles, side by side.
        let (first, rest) = above.split_at_mut(padded);
        let (second, rest) = rest.split_at_mut(padded);
        let (third, fourth) = rest.split_at_mut(padded);
        let (fourth, fours) = (&mut fourth[..padded], &current[..pitch].as_chunks::<TILE>().0[..padded]);
        for tile in 0..padded {
            let [a, b, c, d] = S::numbers(fours[tile]);
            first[tile] = four_times((a + b) + (c + d));
            second[tile] = four_times((a - b) + (c - d));
            third[tile] = four_times((a + b) - (c + d));
            fourth[tile] = four_times((a - b) - (c - d));
        }
        for column in 0..columns {
            let left = (column * side).saturating_sub(1);
            let corner = number(current[left]);
            let above = &current[column * side..][..side];
            let mut sum = 0;
            for sample in above {
                sum += number(*sample);
            }
            for y in 0..side {
                let sample = number(current[(y + 1) * pitch + left]);
                beside[y * columns + column] = sample;
                sum += sample;
            }
            means[column] = 16 * divide(sum + half, 2 * half);
            rises[column] = slope(half, number(above[side - 1]) - corner);
            falls[column] = slope(half, beside[(side - 1) * columns + column] - corner);
        }
        repeat(means.iter().map(|mean| S::Number::of(*mean)), tiles, mean_modes);
        for index in 0..tiles {
            let at = (index * TILE) as i32;
            transform_blocks(of_blocks, |column| four_at(half, rises[column], at));
            for (k, numbers) in of_blocks.chunks_exact(columns).enumerate() {
                let tiles = across[k * padded..].iter_mut().skip(index).step_by(tiles);
                for (tile, number) in tiles.zip(numbers) {
                    *tile = *number;
                }
            }
        }
        for (tile, mean) in across.iter_mut().zip(&mean_modes[..columns * tiles]) {
            *tile = *tile + *mean;
        }
    }

    /// Computes the predictions of a row of tiles.
    #[inline(always)]
    fn own_modes(&mut self, tile_row: usize) {
        let Self { layout, modes, edges, .. } = self;
        let RowLayout { side, columns, padded, .. } = *layout;
        let Edges { falls, beside, .. } = Edges::new(edges, columns);
        let first = tile_row * TILE;
        let row = |k: usize| &beside[(first + k) * columns..][..columns];
        let [a, b, c, d] = [row(0), row(1), row(2), row(3)];
        let (modes, of_blocks) = modes.split_at_mut((SHARED + OWN) * padded);
        let (own, down) = modes[SHARED * padded..].split_at_mut(TILE * padded);
        transform_blocks(of_blocks, |column| [a[column], b[column], c[column], d[column]]);
        repeat_rows(of_blocks, *layout, own);
        let falls = &falls[..columns];
        transform_blocks(of_blocks, |column| four_at(side as i32, falls[column], first as i32));
        repeat_rows(of_blocks, *layout, down);
    }

    /// Adds to the sums of [`LANES`] tiles across from `first` on what those of a row of tiles cost: by the predictions
    /// from the current frame, of no motion, and of the vector, as far as they are wanted.
    #[inline(always)]
    fn add_tiles(&mut self, tile_row: usize, first: usize, [has_intra, has_zero, has_satd]: [bool; 3]) {
        let Self { layout, current, reference, predicted, modes, sums, .. } = self;
        let (pitch, padded) = (layout.pitch(), layout.padded);
        let at = tile_row * TILE * pitch + first * TILE;
        let tiles = load::<S>(&current[pitch + at..], pitch);
        if has_intra {
            let (modes, _) = modes.as_chunks::<LANES>();
            let lanes = |index: usize| &modes[(index * padded + first) / LANES];
            let four = |first: usize| [lanes(first), lanes(first + 1), lanes(first + 2), lanes(first + 3)];
            let transforms = ModeTransforms {
                mean: lanes(0),
                above: four(1),
                across: four(1 + TILE),
                beside: four(SHARED),
                down: four(SHARED + TILE),
            };
            for (mode, costs) in intra(&tiles, &transforms).iter().enumerate() {
                add(&mut sums[mode * padded + first..], costs);
            }
        }
        // One call of what is much code.
        let compared = [has_zero.then_some(&reference[at..]), has_satd.then_some(&predicted[at..])];
        for (index, samples) in (MODES..).zip(compared) {
            if let Some(samples) = samples {
                add(&mut sums[index * padded + first..], &satd(&tiles, &load::<S>(samples, pitch)));
            }
        }
    }

    /// The sum of a block's tiles.
    #[inline(always)]
    fn sum(&self, index: usize, column: usize) -> u32 {
        self.sums[index * self.layout.padded..][self.layout.tiles_of(column)].iter().sum()
    }

    #[inline(always)]
    fn intra(&self, column: usize) -> u32 {
        let mut least = u32::MAX;
        for mode in 0..MODES {
            least = least.min(self.sum(mode, column));
        }
        least / 2
    }

    #[inline(always)]
    fn variance(&self, column: usize, shift: u32) -> u32 {
        let (side, pitch) = (self.layout.side, self.layout.pitch());
        let (mut sum, mut squares) = (0, 0);
        for row in self.current[pitch..].chunks_exact(pitch) {
            for sample in &row[column * side..][..side] {
                let sample = u64::from((*sample).into());
                sum += sample;
                squares += sample * sample;
            }
        }
        let count = (side * side) as u64;
        (((count * squares - sum * sum) / count) >> shift) as u32
    }
}

/// Adds the costs of [`LANES`] tiles to their sums.
#[inline(always)]
fn add<N: TileNumber>(sums: &mut [u32], costs: &[N; LANES]) {
    let sums: &mut [u32; LANES] = sums.first_chunk_mut().expect("tiles across are filled up to LANES");
    for lane in 0..LANES {
        sums[lane] += costs[lane].cost();
    }
}

/// The rise from one sample to the next, in 32nds, of the plane that rises by `rise` from the sample before a block of
/// `side` samples to its last one.
#[inline(always)]
fn slope(side: i32, rise: i32) -> i32 {
    divide(64 * rise + side, 2 * side)
}

/// The quotient, rounded down: by a shift where it may be one, as of most blocks.
#[inline(always)]
fn divide(number: i32, divisor: i32) -> i32 {
    let shift = divisor.trailing_zeros();
    if divisor == 1 << shift { number >> shift } else { number.div_euclid(divisor) }
}

#[inline(always)]
fn four_times<N: TileNumber>(number: N) -> N {
    let twice = number + number;
    twice + twice
}

/// The rise from the middle of the block to the sample at `at`.
#[inline(always)]
fn plane_at(side: i32, slope: i32, at: i32) -> i32 {
    (slope * (2 * at + 1 - side) + 32) >> 6
}

/// The rises to four samples, the first of them at `at`.
#[inline(always)]
fn four_at(side: i32, slope: i32, at: i32) -> [i32; TILE] {
    let rise = |k: i32| plane_at(side, slope, at + k);
    [rise(0), rise(1), rise(2), rise(3)]
}

/// The first row of the transform of a tile whose rows all have these numbers. The others are zero.
#[inline(always)]
fn row_transform([a, b, c, d]: [i32; TILE]) -> [i32; TILE] {
    const ROWS: i32 = TILE as i32;
    [ROWS * (a + b + c + d), ROWS * (a - b + c - d), ROWS * (a + b - c - d), ROWS * (a - b - c + d)]
}

/// Writes the row transforms of what `numbers` says of each block: all first numbers, then all second ones, and so on.
#[inline(always)]
fn transform_blocks<N: TileNumber>(to: &mut [N], numbers: impl Fn(usize) -> [i32; TILE]) {
    let columns = to.len() / TILE;
    let (first, second) = to.split_at_mut(columns);
    let (second, third) = second.split_at_mut(columns);
    let (third, fourth) = third.split_at_mut(columns);
    let fourth = &mut fourth[..columns];
    for column in 0..columns {
        let [a, b, c, d] = row_transform(numbers(column));
        first[column] = N::of(a);
        second[column] = N::of(b);
        third[column] = N::of(c);
        fourth[column] = N::of(d);
    }
}

/// Writes the four numbers of each block to all of its tiles across.
#[inline(always)]
fn repeat_rows<N: TileNumber>(numbers: &[N], layout: RowLayout, to: &mut [N]) {
    for (numbers, to) in numbers.chunks_exact(layout.columns).zip(to.chunks_exact_mut(layout.padded)) {
        repeat(numbers.iter().copied(), layout.tiles, to);
    }
}

/// Writes the number of each block to all of its tiles across.
#[inline(always)]
fn repeat<N: Copy>(numbers: impl Iterator<Item = N>, tiles: usize, to: &mut [N]) {
    if tiles == 4 {
        // Blocks of 16, in whole stores.
        for (tiles, number) in to.as_chunks_mut().0.iter_mut().zip(numbers) {
            *tiles = [number; 4];
        }
        return;
    }
    for (tiles, number) in to.chunks_exact_mut(tiles).zip(numbers) {
        tiles.fill(number);
    }
}

#[inline(always)]
fn number<S: Sample>(sample: S) -> i32 {
    let number: u32 = sample.into();
    number as i32
}
