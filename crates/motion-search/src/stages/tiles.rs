//! Sums of absolute transformed differences (SATD) of tiles of 4 x 4 samples, many tiles at a time.
//!
//! A register holds one number of each of 16 neighbouring tiles, so that the transform needs no shuffles, and works for
//! blocks of any size.

use std::ops::{Add, Sub};

use crate::estimator::Sample;

/// Samples of a tile on an axis.
pub(super) const TILE: usize = 4;

/// Tiles that are transformed together.
pub(super) const LANES: usize = 16;

/// Predictions from the current frame.
pub(super) const MODES: usize = 4;

/// A number of each of [`LANES`] tiles.
pub(super) type Lanes<N> = [N; LANES];

/// Numbers of [`LANES`] tiles: by their row in the tile, and their column.
pub(super) type Tiles<N> = [[Lanes<N>; TILE]; TILE];

/// A number that transformed differences fit: 64 times the largest difference. That of two samples is at most their
/// peak; that of a sample and a plane is less than twice as much.
pub(super) trait TileNumber:
    Copy + Default + Send + Sync + Add<Output = Self> + Sub<Output = Self> + From<u8> + 'static
{
    /// The number `value`, which fits.
    fn of(value: i32) -> Self;

    /// The absolute value.
    fn magnitude(self) -> Self;

    /// The larger one.
    fn largest(self, other: Self) -> Self;

    /// A number that is not negative.
    fn cost(self) -> u32;
}

macro_rules! tile_number {
    ($number:ty) => {
        impl TileNumber for $number {
            #[inline(always)]
            fn of(value: i32) -> Self {
                value as Self
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                self.abs()
            }

            #[inline(always)]
            fn largest(self, other: Self) -> Self {
                self.max(other)
            }

            #[inline(always)]
            fn cost(self) -> u32 {
                self as u32
            }
        }
    };
}

tile_number!(i16);
tile_number!(i32);

/// A sample, and the numbers that its transforms are.
pub(super) trait TileSample: Sample + Default {
    /// Of sums and differences.
    type Number: TileNumber;

    /// Samples as numbers. They come from one word, which is vector instructions where loads of every fourth sample are
    /// not.
    fn numbers(four: [Self; TILE]) -> [Self::Number; TILE];

    /// A sample whose bytes in memory are the lowest first.
    fn in_order(self) -> Self;
}

impl TileSample for u8 {
    type Number = i16;

    #[inline(always)]
    fn numbers(four: [u8; TILE]) -> [i16; TILE] {
        let word = u32::from_le_bytes(four);
        let byte = |shift: u32| (word >> shift & 0xff) as i16;
        [byte(0), byte(8), byte(16), byte(24)]
    }

    #[inline(always)]
    fn in_order(self) -> Self {
        self
    }
}

impl TileSample for u16 {
    type Number = i32;

    #[inline(always)]
    fn numbers(four: [u16; TILE]) -> [i32; TILE] {
        let [a, b, c, d] = four;
        [a.into(), b.into(), c.into(), d.into()]
    }

    #[inline(always)]
    fn in_order(self) -> Self {
        u16::from_le(self)
    }
}

/// What `number` makes of each lane.
#[inline(always)]
pub(super) fn lanes<N: TileNumber>(number: impl Fn(usize) -> N) -> Lanes<N> {
    let mut lanes = [N::default(); LANES];
    for (lane, value) in lanes.iter_mut().enumerate() {
        *value = number(lane);
    }
    lanes
}

/// The tiles whose first samples are the first of `samples`, of rows that are `pitch` samples apart.
#[inline(always)]
pub(super) fn load<S: TileSample>(samples: &[S], pitch: usize) -> Tiles<S::Number> {
    let mut tiles = [[[S::Number::default(); LANES]; TILE]; TILE];
    for (row, tiles) in tiles.iter_mut().enumerate() {
        let (samples, _) = samples[row * pitch..][..LANES * TILE].as_chunks::<TILE>();
        for lane in 0..LANES {
            let numbers = S::numbers(samples[lane]);
            for column in 0..TILE {
                tiles[column][lane] = numbers[column];
            }
        }
    }
    tiles
}

/// The Hadamard transform of four numbers a lane, in this order: their sum; the others.
#[inline(always)]
pub(super) fn transform<N: TileNumber>([a, b, c, d]: [Lanes<N>; TILE]) -> [Lanes<N>; TILE] {
    let [sum, difference] = butterfly(a, b);
    let [second_sum, second_difference] = butterfly(c, d);
    let [first, third] = butterfly(sum, second_sum);
    let [second, fourth] = butterfly(difference, second_difference);
    [first, second, third, fourth]
}

#[inline(always)]
fn butterfly<N: TileNumber>(a: Lanes<N>, b: Lanes<N>) -> [Lanes<N>; 2] {
    [lanes(|i| a[i] + b[i]), lanes(|i| a[i] - b[i])]
}

/// The transform of each tile's columns.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn transform_columns<N: TileNumber>(tiles: &mut Tiles<N>) {
    for column in 0..TILE {
        let [a, b, c, d] = &*tiles;
        let transformed = transform([a[column], b[column], c[column], d[column]]);
        for row in 0..TILE {
            tiles[row][column] = transformed[row];
        }
    }
}

/// The SATD of two tiles a lane.
#[inline(always)]
pub(super) fn satd<N: TileNumber>(current: &Tiles<N>, reference: &Tiles<N>) -> Lanes<N> {
    let mut tiles = [[[N::default(); LANES]; TILE]; TILE];
    for row in 0..TILE {
        for column in 0..TILE {
            tiles[row][column] = lanes(|i| current[row][column][i] - reference[row][column][i]);
        }
    }
    transform_columns(&mut tiles);
    let mut sums = [N::default(); LANES];
    for [a, b, c, d] in tiles {
        let [sum, difference] = butterfly(a, b);
        let [second_sum, second_difference] = butterfly(c, d);
        // Half of |s + t| + |s - t| is the larger of |s| and |t|.
        for i in 0..LANES {
            let even = sum[i].magnitude().largest(second_sum[i].magnitude());
            let odd = difference[i].magnitude().largest(second_difference[i].magnitude());
            sums[i] = sums[i] + even + odd;
        }
    }
    sums
}

/// Transforms of predictions that are constant along columns or rows, or the sum of both, as planes are: in a tile, only
/// the first row and the first column of the transform are not zero.
pub(super) struct ModeTransforms<'a, N> {
    /// Of the mean.
    pub mean: &'a Lanes<N>,
    /// The first row: of the samples above.
    pub above: [&'a Lanes<N>; TILE],
    /// The first row: of the plane, with its mean.
    pub across: [&'a Lanes<N>; TILE],
    /// The first column: of the samples to the left.
    pub beside: [&'a Lanes<N>; TILE],
    /// The first column: of the plane, without its mean.
    pub down: [&'a Lanes<N>; TILE],
}

/// Twice the SATD of tiles and each of their predictions: the mean, the samples to the left, those above, the plane.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(super) fn intra<N: TileNumber>(tiles: &Tiles<N>, modes: &ModeTransforms<'_, N>) -> [Lanes<N>; MODES] {
    let mut tiles = *tiles;
    transform_columns(&mut tiles);
    for row in &mut tiles {
        *row = transform(*row);
    }
    let ModeTransforms { mean, above, across, beside, down } = modes;
    let mut sums = [[N::default(); LANES]; MODES];
    for i in 0..LANES {
        let (mut shared, mut row, mut column) = (N::default(), N::default(), N::default());
        let (mut by_above, mut by_across) = (N::default(), N::default());
        let (mut by_beside, mut by_down) = (N::default(), N::default());
        for k in 1..TILE {
            for l in 1..TILE {
                shared = shared + tiles[k][l][i].magnitude();
            }
            row = row + tiles[0][k][i].magnitude();
            column = column + tiles[k][0][i].magnitude();
            by_above = by_above + (tiles[0][k][i] - above[k][i]).magnitude();
            by_across = by_across + (tiles[0][k][i] - across[k][i]).magnitude();
            by_beside = by_beside + (tiles[k][0][i] - beside[k][i]).magnitude();
            by_down = by_down + (tiles[k][0][i] - down[k][i]).magnitude();
        }
        let whole = tiles[0][0][i];
        sums[0][i] = shared + row + column + (whole - mean[i]).magnitude();
        sums[1][i] = shared + row + by_beside + (whole - beside[0][i]).magnitude();
        sums[2][i] = shared + by_above + column + (whole - above[0][i]).magnitude();
        sums[3][i] = shared + by_across + by_down + (whole - across[0][i] - down[0][i]).magnitude();
    }
    sums
}
