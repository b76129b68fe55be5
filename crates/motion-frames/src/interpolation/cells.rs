//! The samples of a cell, a small rectangle of a plane, and what is computed with them.

use std::ops::{Add, Mul};

use super::stored_samples::{PixelPlane, StoredSample};
use motion_base::simd::{InstructionSet, Samples, Words};

/// A number for each sample of a cell.
pub(crate) type CellNumbers<const W: usize, const H: usize> = [[u16; W]; H];

/// Sums over the samples of a cell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    pub sum: i64,
    /// Of the samples times twice their distance from the centre, on each axis.
    pub across: i64,
    pub down: i64,
    pub squares: u64,
}

/// 64 times the samples of a plane through a cell: at its centre, and what is added for each half sample from there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    pub middle: i64,
    pub across: i64,
    pub down: i64,
}

/// Twice the distance of the sample at this place from the centre of `SIDE` samples.
#[inline(always)]
fn from_centre<const SIDE: usize>(at: usize) -> i64 {
    2 * at as i64 - (SIDE as i64 - 1)
}

/// The samples of a cell, or multiples of them, in the instructions of `E`.
pub(crate) trait PlaneCell<E, const W: usize, const H: usize>: Copy {
    /// A sample as it is written.
    type Sample: StoredSample;

    /// The windows of the four blocks around a cell.
    type Windows: Copy;

    /// A number for each sample.
    type Numbers: Copy;

    /// Prepares numbers.
    fn numbers(engine: E, numbers: &CellNumbers<W, H>) -> Self::Numbers;

    /// The same number for all samples.
    fn all(engine: E, number: u16) -> Self::Numbers;

    /// Prepares windows.
    fn windows(engine: E, windows: &[CellNumbers<W, H>; 4]) -> Self::Windows;

    /// The cell with these samples.
    fn of(engine: E, samples: &[[Self::Sample; W]; H]) -> Self;

    /// The cell of `plane` from the pixel at `(x, y)` on. Outside the plane, its edge pixels repeat.
    #[inline(always)]
    fn read(engine: E, plane: &PixelPlane<'_>, (x, y): (i32, i32)) -> Self {
        Self::of(engine, &Self::Sample::read::<W, H>(plane, (x, y)))
    }

    /// 64 times the samples of two cells, weighted: `weights` are those of the first in 64ths.
    fn blend(cells: [Self; 2], weights: Self::Numbers) -> Self;

    /// A limit of [`Self::within`] that changes no sample.
    const UNLIMITED: u16;

    /// Whether samples differ by more than `most`.
    fn differs(self, other: Self, most: u16) -> bool;

    /// The smaller of two samples each.
    fn least(self, other: Self) -> Self;

    /// The larger of two samples each.
    fn largest(self, other: Self) -> Self;

    /// The samples, brought to at most `limits` below those of `least` and above those of `largest`.
    fn within(self, least: Self, largest: Self, limits: Self::Numbers) -> Self;

    /// The samples times `weights`.
    fn times(self, weights: Self::Numbers) -> Self;

    /// The sums of the samples.
    fn plus(self, other: Self) -> Self;

    /// The samples, brighter by so much, from 0 to `peak`.
    fn brighter(self, by: i32, peak: u16) -> Self;

    /// The samples, from `2^SHIFT` times them.
    fn round<const SHIFT: i32>(self) -> Self;

    /// The samples, to be written.
    fn samples(self) -> [[Self::Sample; W]; H];

    /// The squared differences of the samples of the first `columns` and `rows`, added up.
    fn squared_error(self, other: Self, inside: (usize, usize)) -> u64;

    /// The same, and the sum of the other samples there.
    fn error_and_sum(self, other: Self, inside: (usize, usize)) -> [u64; 2];

    /// Prepares numbers for [`Self::moments`] and [`Self::toward_plane`].
    fn axes(engine: E) -> [Self::Numbers; 2];

    /// The moments of the samples.
    fn moments(self, axes: &[Self::Numbers; 2]) -> Moments;

    /// The samples, brought nearer to their plane, whose samples are from 0 to `peak`: they keep `kept` 256ths of what differs
    /// from it.
    fn toward_plane(self, axes: &[Self::Numbers; 2], plane: Plane, kept: u16, peak: u16) -> Self;

    /// The mean of four cells of 64 times the samples, weighted by their windows, whose sum is `2^(shift - 6)`.
    fn overlap(cells: &[Self; 4], windows: &Self::Windows, shift: u32) -> [[Self::Sample; W]; H];
}

/// Samples of eight bits, in `N` registers.
#[derive(Clone, Copy)]
pub(crate) struct RegisterCell<E: InstructionSet, const N: usize>(pub [Words<E>; N]);

impl<E: InstructionSet, const N: usize> RegisterCell<E, N> {
    #[inline(always)]
    pub fn store<const W: usize, const H: usize>(self) -> [[u8; W]; H] {
        const { assert!(16 * N == W * H) };
        let mut cell = [[0; W]; H];
        for (words, to) in self.0.into_iter().zip(cell.as_flattened_mut().as_chunks_mut().0) {
            words.narrow().store(to);
        }
        cell
    }

    /// The squared differences, added up over the registers and over every two neighbours.
    #[inline(always)]
    pub fn squares(self, other: Self) -> [u32; 8] {
        let mut sums = self.0[0].filled(0);
        for (words, other) in self.0.into_iter().zip(other.0) {
            let differences = words.minus(other);
            sums = sums.plus_pairs(differences, differences);
        }
        sums.pairs()
    }
}

impl<E: InstructionSet, const N: usize, const W: usize, const H: usize> PlaneCell<E, W, H>
    for RegisterCell<E, N>
{
    type Sample = u8;
    type Windows = [[[Words<E>; 2]; 2]; N];
    type Numbers = [Words<E>; N];

    #[inline(always)]
    fn numbers(engine: E, numbers: &CellNumbers<W, H>) -> Self::Numbers {
        let mut registers = [words(engine, numbers, 0); N];
        for (n, register) in registers.iter_mut().enumerate() {
            *register = words(engine, numbers, n);
        }
        registers
    }

    #[inline(always)]
    fn all(engine: E, number: u16) -> Self::Numbers {
        [Words::all(engine, number); N]
    }

    #[inline(always)]
    fn windows(engine: E, windows: &[CellNumbers<W, H>; 4]) -> Self::Windows {
        const { assert!(16 * N == W * H) };
        let mut pairs = [[[Words::all(engine, 0); 2]; 2]; N];
        for (n, pairs) in pairs.iter_mut().enumerate() {
            for (pair, [first, second]) in pairs.iter_mut().zip(windows.as_chunks::<2>().0) {
                *pair = words(engine, first, n).interleave(words(engine, second, n));
            }
        }
        pairs
    }

    #[inline(always)]
    fn blend([first, second]: [Self; 2], weights: Self::Numbers) -> Self {
        let mut sum = first;
        for (n, weights) in weights.into_iter().enumerate() {
            let (first, second) = (first.0[n], second.0[n]);
            let differences = first.minus(second).times(weights);
            sum.0[n] = second.times(second.filled(64)).plus(differences);
        }
        sum
    }

    // With samples of eight bits added or subtracted, still a number with a sign.
    const UNLIMITED: u16 = 1 << 14;

    #[inline(always)]
    fn differs(self, other: Self, most: u16) -> bool {
        let most = self.0[0].filled(most);
        let mut largest = most;
        for n in 0..N {
            let (a, b) = (self.0[n], other.0[n]);
            largest = largest.largest(a.minus(b)).largest(b.minus(a));
        }
        let zero = most.minus(most).narrow();
        zero.plus_differences(largest.minus(most).narrow(), zero).total() > 0
    }

    #[inline(always)]
    fn least(self, other: Self) -> Self {
        let mut least = self;
        for n in 0..N {
            least.0[n] = self.0[n].least(other.0[n]);
        }
        least
    }

    #[inline(always)]
    fn largest(self, other: Self) -> Self {
        let mut largest = self;
        for n in 0..N {
            largest.0[n] = self.0[n].largest(other.0[n]);
        }
        largest
    }

    #[inline(always)]
    fn within(self, least: Self, largest: Self, limits: Self::Numbers) -> Self {
        let mut within = self;
        for (n, limits) in limits.into_iter().enumerate() {
            let (lowest, highest) = (least.0[n].minus(limits), largest.0[n].plus(limits));
            within.0[n] = self.0[n].largest(lowest).least(highest);
        }
        within
    }

    #[inline(always)]
    fn of(engine: E, samples: &[[u8; W]; H]) -> Self {
        const { assert!(16 * N == W * H) };
        let mut cell = [Words::all(engine, 0); N];
        for (words, samples) in cell.iter_mut().zip(samples.as_flattened().as_chunks().0) {
            *words = Samples::load(engine, samples).widen();
        }
        Self(cell)
    }

    #[inline(always)]
    fn read(engine: E, plane: &PixelPlane<'_>, (x, y): (i32, i32)) -> Self {
        const { assert!(16 * N == W * H) };
        let Some((samples, pitch)) = plane.view.inside((x * plane.pixel as i32, y), (W, H)) else {
            return Self::of(engine, &u8::read::<W, H>(plane, (x, y)));
        };
        let mut cell = [Words::all(engine, 0); N];
        for (n, words) in cell.iter_mut().enumerate() {
            // SAFETY: from `samples` on there are `H` rows of `W` samples, and a register has 16 / W of them.
            let rows =
                unsafe { Samples::load_rows::<W>(engine, samples.as_ptr().add(n * (16 / W) * pitch), pitch) };
            *words = rows.widen();
        }
        Self(cell)
    }

    #[inline(always)]
    fn times(self, weights: Self::Numbers) -> Self {
        let mut products = self;
        for (product, weights) in products.0.iter_mut().zip(weights) {
            *product = product.times(weights);
        }
        products
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        let mut sum = self;
        for n in 0..N {
            sum.0[n] = self.0[n].plus(other.0[n]);
        }
        sum
    }

    #[inline(always)]
    fn brighter(self, by: i32, peak: u16) -> Self {
        let mut brighter = self;
        for words in &mut brighter.0 {
            let zero = words.filled(0);
            *words = words.plus(words.filled(by as u16)).largest(zero).least(words.filled(peak));
        }
        brighter
    }

    #[inline(always)]
    fn round<const SHIFT: i32>(self) -> Self {
        let mut rounded = self;
        for n in 0..N {
            rounded.0[n] = self.0[n].round::<SHIFT>();
        }
        rounded
    }

    #[inline(always)]
    fn samples(self) -> [[u8; W]; H] {
        self.store()
    }

    #[inline(always)]
    fn squared_error(self, other: Self, inside: (usize, usize)) -> u64 {
        if inside != (W, H) {
            let [one, other] = [self, other].map(RegisterCell::store::<W, H>);
            return squared_error(&one, &other, inside);
        }
        total(self.squares(other))
    }

    #[inline(always)]
    fn error_and_sum(self, other: Self, inside: (usize, usize)) -> [u64; 2] {
        if inside != (W, H) {
            let [one, other] = [self, other].map(RegisterCell::store::<W, H>);
            return [squared_error(&one, &other, inside), sum(&other, inside)];
        }
        let zero = self.0[0].filled(0);
        let mut sums = zero;
        for words in other.0 {
            sums = sums.plus(words);
        }
        [total(self.squares(other)), total(zero.plus_pairs(sums, zero.filled(1)).pairs())]
    }

    #[inline(always)]
    fn axes(engine: E) -> [Self::Numbers; 2] {
        let (mut across, mut down) = ([[0; W]; H], [[0; W]; H]);
        for (y, (across, down)) in across.iter_mut().zip(&mut down).enumerate() {
            for (x, (across, down)) in across.iter_mut().zip(down).enumerate() {
                // Numbers with signs, of 16 bits.
                (*across, *down) = (from_centre::<W>(x) as u16, from_centre::<H>(y) as u16);
            }
        }
        [
            <Self as PlaneCell<E, W, H>>::numbers(engine, &across),
            <Self as PlaneCell<E, W, H>>::numbers(engine, &down),
        ]
    }

    #[inline(always)]
    fn moments(self, [across, down]: &[Self::Numbers; 2]) -> Moments {
        let zero = self.0[0].filled(0);
        let [mut sum, mut sum_across, mut sum_down, mut squares] = [zero; 4];
        for n in 0..N {
            let samples = self.0[n];
            sum = sum.plus(samples);
            sum_across = sum_across.plus_pairs(samples, across[n]);
            sum_down = sum_down.plus_pairs(samples, down[n]);
            squares = squares.plus_pairs(samples, samples);
        }
        Moments {
            sum: total(zero.plus_pairs(sum, zero.filled(1)).pairs()) as i64,
            across: signed_total(sum_across.pairs()),
            down: signed_total(sum_down.pairs()),
            squares: total(squares.pairs()),
        }
    }

    #[inline(always)]
    fn toward_plane(self, [across, down]: &[Self::Numbers; 2], plane: Plane, kept: u16, peak: u16) -> Self {
        let mut nearer = self;
        let zero = self.0[0].filled(0);
        let (middle, slope_across) = (zero.filled(plane.middle as u16), zero.filled(plane.across as u16));
        let slope_down = zero.filled(plane.down as u16);
        let (most, times) = (zero.filled(64 * peak), zero.filled(64));
        let weights = [zero.filled(kept).interleave(zero.filled(256 - kept)), zero.interleave(zero)];
        for n in 0..N {
            // Not more than 16 bits with a sign, for any samples of eight bits.
            let of_plane = middle.plus(slope_across.times(across[n])).plus(slope_down.times(down[n]));
            let of_plane = of_plane.largest(zero).least(most);
            nearer.0[n] = Words::weighted_mean([self.0[n].times(times), of_plane, zero, zero], &weights, 14);
        }
        nearer
    }

    #[inline(always)]
    fn overlap([a, b, c, d]: &[Self; 4], windows: &Self::Windows, shift: u32) -> [[u8; W]; H] {
        let mut mean = *a;
        for (n, windows) in windows.iter().enumerate() {
            mean.0[n] = Words::weighted_mean([a.0[n], b.0[n], c.0[n], d.0[n]], windows, shift);
        }
        mean.store()
    }
}

/// 16 of the numbers of a cell.
#[inline(always)]
fn words<E: InstructionSet, const W: usize, const H: usize>(
    engine: E,
    numbers: &CellNumbers<W, H>,
    n: usize,
) -> Words<E> {
    Words::load(engine, &numbers.as_flattened().as_chunks().0[n])
}

/// Samples of more than eight bits.
#[derive(Clone, Copy)]
pub(crate) struct DeepCell<const W: usize, const H: usize>(pub [[u32; W]; H]);

impl<const W: usize, const H: usize> DeepCell<W, H> {
    #[inline(always)]
    pub fn each(mut self, other: Self, compute: impl Fn(u32, u32) -> u32) -> Self {
        for (row, others) in self.0.iter_mut().zip(&other.0) {
            for (number, &other) in row.iter_mut().zip(others) {
                *number = compute(*number, other);
            }
        }
        self
    }
}

impl<const W: usize, const H: usize> From<&[[u16; W]; H]> for DeepCell<W, H> {
    #[inline(always)]
    fn from(numbers: &[[u16; W]; H]) -> Self {
        Self(numbers.map(|row| row.map(u32::from)))
    }
}

impl<E, const W: usize, const H: usize> PlaneCell<E, W, H> for DeepCell<W, H> {
    type Sample = u16;
    type Windows = [CellNumbers<W, H>; 4];
    type Numbers = Self;

    #[inline(always)]
    fn numbers(_: E, numbers: &CellNumbers<W, H>) -> Self {
        Self::from(numbers)
    }

    #[inline(always)]
    fn all(_: E, number: u16) -> Self {
        Self([[number.into(); W]; H])
    }

    #[inline(always)]
    fn windows(_: E, windows: &[CellNumbers<W, H>; 4]) -> Self::Windows {
        *windows
    }

    #[inline(always)]
    fn blend([first, second]: [Self; 2], weights: Self) -> Self {
        let mut sum = first;
        for (y, weights) in weights.0.iter().enumerate() {
            for (x, &weight) in weights.iter().enumerate() {
                sum.0[y][x] = first.0[y][x] * weight + second.0[y][x] * (64 - weight);
            }
        }
        sum
    }

    const UNLIMITED: u16 = u16::MAX;

    #[inline(always)]
    fn differs(self, other: Self, most: u16) -> bool {
        let differences = self.each(other, u32::abs_diff);
        differences.0.as_flattened().iter().any(|&difference| difference > u32::from(most))
    }

    #[inline(always)]
    fn least(self, other: Self) -> Self {
        self.each(other, u32::min)
    }

    #[inline(always)]
    fn largest(self, other: Self) -> Self {
        self.each(other, u32::max)
    }

    #[inline(always)]
    fn within(self, least: Self, largest: Self, limits: Self) -> Self {
        let (lowest, highest) = (least.each(limits, u32::saturating_sub), largest.each(limits, Add::add));
        self.each(lowest, u32::max).each(highest, u32::min)
    }

    #[inline(always)]
    fn of(_: E, samples: &[[u16; W]; H]) -> Self {
        Self::from(samples)
    }

    #[inline(always)]
    fn times(self, weights: Self) -> Self {
        self.each(weights, Mul::mul)
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.each(other, Add::add)
    }

    #[inline(always)]
    fn brighter(self, by: i32, peak: u16) -> Self {
        let brighter = |number: u32| number.saturating_add_signed(by).min(peak.into());
        Self(self.0.map(|row| row.map(brighter)))
    }

    #[inline(always)]
    fn round<const SHIFT: i32>(self) -> Self {
        self.each(self, |number, _| (number + (1 << (SHIFT - 1))) >> SHIFT)
    }

    #[inline(always)]
    fn samples(self) -> [[u16; W]; H] {
        self.0.map(|row| row.map(|number| number as u16))
    }

    #[inline(always)]
    fn squared_error(self, other: Self, inside: (usize, usize)) -> u64 {
        squared_error(&self.0, &other.0, inside)
    }

    #[inline(always)]
    fn error_and_sum(self, other: Self, inside: (usize, usize)) -> [u64; 2] {
        [squared_error(&self.0, &other.0, inside), sum(&other.0, inside)]
    }

    #[inline(always)]
    fn axes(_: E) -> [Self; 2] {
        // The places of samples are numbers enough.
        [Self([[0; W]; H]); 2]
    }

    #[inline(always)]
    fn moments(self, _: &[Self; 2]) -> Moments {
        let mut moments = Moments::default();
        for y in 0..H {
            for x in 0..W {
                let sample = i64::from(self.0[y][x]);
                moments.sum += sample;
                moments.across += sample * from_centre::<W>(x);
                moments.down += sample * from_centre::<H>(y);
                moments.squares += (sample * sample) as u64;
            }
        }
        moments
    }

    #[inline(always)]
    fn toward_plane(self, _: &[Self; 2], plane: Plane, kept: u16, peak: u16) -> Self {
        let mut nearer = self;
        for y in 0..H {
            for x in 0..W {
                let of_plane =
                    plane.middle + plane.across * from_centre::<W>(x) + plane.down * from_centre::<H>(y);
                let of_plane = of_plane.clamp(0, 64 * i64::from(peak));
                let (kept, sample) = (i64::from(kept), i64::from(self.0[y][x]));
                nearer.0[y][x] = ((64 * sample * kept + of_plane * (256 - kept) + 8192) >> 14) as u32;
            }
        }
        nearer
    }

    #[inline(always)]
    fn overlap(cells: &[Self; 4], windows: &Self::Windows, shift: u32) -> [[u16; W]; H] {
        let mut sums = [[1_u32 << (shift - 1); W]; H];
        for (cell, window) in cells.iter().zip(windows) {
            for y in 0..H {
                for x in 0..W {
                    sums[y][x] += cell.0[y][x] * u32::from(window[y][x]);
                }
            }
        }
        let mut mean = [[0; W]; H];
        for y in 0..H {
            for x in 0..W {
                mean[y][x] = (sums[y][x] >> shift) as u16;
            }
        }
        mean
    }
}

/// The sum of partial sums.
#[inline(always)]
fn total(sums: [u32; 8]) -> u64 {
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + b) + (c + d) + ((e + f) + (g + h))).into()
}

/// The sum of partial sums with signs.
#[inline(always)]
fn signed_total([a, b, c, d, e, f, g, h]: [u32; 8]) -> i64 {
    let pairs = [a.wrapping_add(b), c.wrapping_add(d), e.wrapping_add(f), g.wrapping_add(h)];
    let [a, b, c, d] = pairs;
    a.wrapping_add(b).wrapping_add(c.wrapping_add(d)).cast_signed().into()
}

/// The squared differences of the first `columns` and `rows`, added up.
#[inline(always)]
fn squared_error<T: Copy + Into<i64>, const W: usize, const H: usize>(
    one: &[[T; W]; H],
    other: &[[T; W]; H],
    (columns, rows): (usize, usize),
) -> u64 {
    let mut sum = 0;
    for (one, other) in one.iter().zip(other).take(rows) {
        for (one, other) in one.iter().zip(other).take(columns) {
            let difference: i64 = (*one).into() - (*other).into();
            sum += (difference * difference) as u64;
        }
    }
    sum
}

/// The samples of the first `columns` and `rows`, added up.
#[inline(always)]
fn sum<T: Copy + Into<i64>, const W: usize, const H: usize>(
    samples: &[[T; W]; H],
    (columns, rows): (usize, usize),
) -> u64 {
    samples
        .iter()
        .take(rows)
        .flat_map(|row| row.iter().take(columns))
        .map(|&sample| sample.into() as u64)
        .sum()
}
