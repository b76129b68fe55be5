//! Plain Rust, written so that the compiler finds the wide instructions itself.

use std::marker::PhantomData;

use crate::simd::instruction_set::{InstructionSet, Work, run_with};
use crate::simd::register::{Register, SampleRegister, WIDE, WideRegister, WordRegister};

/// Any CPU.
#[derive(Clone, Copy)]
pub struct Portable;

impl InstructionSet for Portable {
    type Register = PlainSamples;
    type Samples = PlainSamples;
    type Words = WordArray<PlainSamples>;
    type Wide = [u16; WIDE];

    run_with!();
}

/// 16 samples, or partial sums: of the first eight samples in the first of four, of the last eight in the third.
#[derive(Clone, Copy)]
pub struct PlainSamples([u8; 16]);

impl PlainSamples {
    /// Adds what `cost` returns for the samples of `c` and `r`. In this shape rustc 1.95 makes two `psadbw` of absolute
    /// differences.
    #[inline(always)]
    fn plus(self, c: Self, r: Self, cost: impl Fn(u8, u8) -> u32) -> Self {
        let mut sums: [u32; 4] = bytemuck::cast(self.0);
        for half in 0..2 {
            let sum = &mut sums[2 * half];
            for i in 8 * half..8 * half + 8 {
                *sum = sum.wrapping_add(cost(c.0[i], r.0[i]));
            }
        }
        Self(bytemuck::cast(sums))
    }
}

// SAFETY: `load` reads 16 samples, and `load_rows` the rows alone.
unsafe impl Register for PlainSamples {
    const SAMPLES: usize = 16;
    type Narrow = Self;

    #[inline(always)]
    unsafe fn zero() -> Self {
        Self([0; 16])
    }

    #[inline(always)]
    unsafe fn load(samples: *const u8) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { samples.cast::<[u8; 16]>().read() })
    }

    #[inline(always)]
    unsafe fn add_differences(sums: Self, c: Self, r: Self) -> Self {
        sums.plus(c, r, |c, r| i32::from(c).wrapping_sub(i32::from(r)).unsigned_abs())
    }

    #[inline(always)]
    unsafe fn add_squares(sums: Self, c: Self, r: Self) -> Self {
        sums.plus(c, r, |c, r| {
            let difference = i32::from(i16::from(c).wrapping_sub(i16::from(r)));
            difference.wrapping_mul(difference) as u32
        })
    }

    #[inline(always)]
    unsafe fn load_rows<const W: usize>(samples: *const u8, pitch: usize) -> Self {
        let mut all = [0; 16];
        for (row, part) in all.as_chunks_mut::<W>().0.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *part = unsafe { samples.add(row * pitch).cast::<[u8; W]>().read() };
        }
        Self(all)
    }

    #[inline(always)]
    unsafe fn totals(sums: [Self; 4]) -> [u32; 4] {
        // SAFETY: no pointers.
        sums.map(|sums| unsafe { sums.total() })
    }
}

// SAFETY: no pointers.
unsafe impl SampleRegister for PlainSamples {
    #[inline(always)]
    unsafe fn all(sample: u8) -> Self {
        Self([sample; 16])
    }

    #[inline(always)]
    unsafe fn average(self, other: Self) -> Self {
        let average = |i: usize| ((u16::from(self.0[i]) + u16::from(other.0[i]) + 1) >> 1) as u8;
        Self(std::array::from_fn(average))
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i].saturating_add(other.0[i])))
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i].saturating_sub(other.0[i])))
    }

    #[inline(always)]
    unsafe fn cut_differences(self, other: Self, most: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i].abs_diff(other.0[i]).min(most.0[i])))
    }

    #[inline(always)]
    unsafe fn store(self, to: &mut [u8; 16]) {
        *to = self.0;
    }

    #[inline(always)]
    unsafe fn overlap(self) -> Self {
        Self(std::array::from_fn(|i| self.0[if i < 8 { i } else { i - 4 }]))
    }

    #[inline(always)]
    unsafe fn total(self) -> u32 {
        let [first, _, second, _]: [u32; 4] = bytemuck::cast(self.0);
        first.wrapping_add(second)
    }

    #[inline(always)]
    unsafe fn half_totals(sums: [Self; 2]) -> [u32; 4] {
        let [[a, _, b, _], [c, _, d, _]] = sums.map(|sums| bytemuck::cast::<_, [u32; 4]>(sums.0));
        [a, b, c, d]
    }
}

/// 16 numbers, of registers of 16 samples.
#[derive(Clone, Copy)]
pub struct WordArray<S>([u16; 16], PhantomData<S>);

impl<S> WordArray<S> {
    #[inline(always)]
    fn each(mut self, other: Self, compute: impl Fn(u16, u16) -> u16) -> Self {
        for i in 0..16 {
            self.0[i] = compute(self.0[i], other.0[i]);
        }
        self
    }
}

// SAFETY: no pointers but to an array of a register's samples.
unsafe impl<S: SampleRegister> WordRegister for WordArray<S> {
    type Samples = S;

    #[inline(always)]
    unsafe fn all(number: u16) -> Self {
        Self([number; 16], PhantomData)
    }

    #[inline(always)]
    unsafe fn load(numbers: &[u16; 16]) -> Self {
        Self(*numbers, PhantomData)
    }

    #[inline(always)]
    unsafe fn widen(samples: S) -> Self {
        let mut bytes = [0; 16];
        // SAFETY: the caller's promise.
        unsafe { samples.store(&mut bytes) };
        Self(bytes.map(u16::from), PhantomData)
    }

    #[inline(always)]
    unsafe fn narrow(self) -> S {
        let bytes = self.0.map(|number| number as u8);
        // SAFETY: the caller's promise, and 16 samples.
        unsafe { S::load_rows::<16>(bytes.as_ptr(), 16) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        self.each(other, u16::wrapping_add)
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        self.each(other, u16::wrapping_sub)
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        self.each(other, u16::wrapping_mul)
    }

    #[inline(always)]
    unsafe fn least(self, other: Self) -> Self {
        self.each(other, |a, b| (a as i16).min(b as i16) as u16)
    }

    #[inline(always)]
    unsafe fn largest(self, other: Self) -> Self {
        self.each(other, |a, b| (a as i16).max(b as i16) as u16)
    }

    #[inline(always)]
    unsafe fn round<const SHIFT: i32>(self) -> Self {
        self.each(self, |number, _| number.wrapping_add(1 << (SHIFT - 1)) >> SHIFT)
    }

    #[inline(always)]
    unsafe fn interleave(self, other: Self) -> [Self; 2] {
        let half = |first: usize| {
            let number = |i: usize| [self, other][i % 2].0[first + i / 2];
            Self(std::array::from_fn(number), PhantomData)
        };
        [half(0), half(8)]
    }

    #[inline(always)]
    unsafe fn upper_product(self, other: Self) -> Self {
        self.each(other, |a, b| ((u32::from(a) * u32::from(b)) >> 16) as u16)
    }

    #[inline(always)]
    unsafe fn add_pairs(sums: Self, numbers: Self, others: Self) -> Self {
        // SAFETY: the caller's promise.
        let mut sums = unsafe { sums.pairs() };
        for (i, sum) in sums.iter_mut().enumerate() {
            for at in [2 * i, 2 * i + 1] {
                let product = i32::from(numbers.0[at] as i16) * i32::from(others.0[at] as i16);
                *sum = sum.wrapping_add_signed(product);
            }
        }
        Self(bytemuck::cast(sums), PhantomData)
    }

    #[inline(always)]
    unsafe fn pairs(self) -> [u32; 8] {
        bytemuck::cast(self.0)
    }

    /// The lower halves of all sums, then the upper halves.
    #[inline(always)]
    unsafe fn add_products([mut low, mut high]: [Self; 2], numbers: Self, weights: Self) -> [Self; 2] {
        for i in 0..16 {
            let sum = u32::from(high.0[i]) << 16 | u32::from(low.0[i]);
            let sum = sum + u32::from(numbers.0[i]) * u32::from(weights.0[i]);
            (low.0[i], high.0[i]) = (sum as u16, (sum >> 16) as u16);
        }
        [low, high]
    }

    #[inline(always)]
    unsafe fn quotients([low, high]: [Self; 2], totals: Self) -> Self {
        let quotient = |i: usize| {
            let (sum, total) = (u32::from(high.0[i]) << 16 | u32::from(low.0[i]), u32::from(totals.0[i]));
            ((sum + 2 * total) / (4 * total)) as u16
        };
        Self(std::array::from_fn(quotient), PhantomData)
    }

    #[inline(always)]
    unsafe fn weighted_mean(numbers: [Self; 4], weights: &[[Self; 2]; 2], shift: u32) -> Self {
        let mut means = [0; 16];
        for (i, mean) in means.iter_mut().enumerate() {
            let mut sum = 1_u32 << (shift - 1);
            for (k, numbers) in numbers.iter().enumerate() {
                let weight = weights[k / 2][i / 8].0[i % 8 * 2 + k % 2];
                sum = sum.wrapping_add(u32::from(numbers.0[i]).wrapping_mul(weight.into()));
            }
            *mean = (sum >> shift) as u16;
        }
        Self(means, PhantomData)
    }
}

// SAFETY: no pointers.
unsafe impl WideRegister for [u16; WIDE] {
    #[inline(always)]
    unsafe fn all(number: u16) -> Self {
        [number; WIDE]
    }

    #[inline(always)]
    unsafe fn load(numbers: &[u16; WIDE]) -> Self {
        *numbers
    }

    #[inline(always)]
    unsafe fn store(self, to: &mut [u16; WIDE]) {
        *to = self;
    }

    #[inline(always)]
    unsafe fn plus(mut self, other: Self) -> Self {
        for i in 0..WIDE {
            self[i] = self[i].wrapping_add(other[i]);
        }
        self
    }

    #[inline(always)]
    unsafe fn minus(mut self, other: Self) -> Self {
        for i in 0..WIDE {
            self[i] = self[i].wrapping_sub(other[i]);
        }
        self
    }

    #[inline(always)]
    unsafe fn largest(mut self, other: Self) -> Self {
        for i in 0..WIDE {
            self[i] = self[i].max(other[i]);
        }
        self
    }

    #[inline(always)]
    unsafe fn upper(self) -> Self {
        self.map(|number| number >> 8)
    }

    #[inline(always)]
    unsafe fn plus_differences<const SMALL: bool>(mut self, numbers: &[u16; WIDE], other: u16) -> Self {
        for i in 0..WIDE {
            self[i] = self[i].saturating_add(numbers[i].abs_diff(other));
        }
        self
    }
}
