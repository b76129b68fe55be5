//! What an instruction set has to do: the costs of a tile of candidates.

use crate::estimator::OrderKey;
use crate::native::elimination::bounds::{self, Parts, Quarters, SUMMED};
use crate::native::elimination::sums::{self, GROUP, Level, Strip, StripSums, TILE};

/// Candidates across a tile: as many as the widest register has 16-bit costs.
pub const COLUMNS: usize = 32;

/// Candidates down a tile, at most; [`Engine::ROWS`] has what an instruction set takes.
pub const ROWS: usize = 36;

/// Side of the largest part of a block that is compared at once: the SAD of 16 × 16 samples is at
/// most 65280, so that it fits 16 bits and leaves the largest value to mean "no candidate".
pub const PART: usize = 16;

/// Samples of a reference row that may be read from the first candidate's first sample on.
pub const READ: usize = 64;

/// The costs of a tile's candidates, `rows × COLUMNS`. Rows and columns past those of its [`Task`]
/// hold anything.
pub type Costs<C> = [[C; COLUMNS]; ROWS];

/// One part of a block, and the tile of candidates it is compared with.
///
/// The candidate at row `v` and column `u` of the tile has its first sample at
/// `reference[v * pitch + u]`.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    current: &'a [u8],
    reference: &'a [u8],
    pitch: usize,
    width: usize,
    height: usize,
    rows: usize,
    columns: usize,
}

impl<'a> Task<'a> {
    /// The part of `width × height` samples at the start of `current`, and `rows × columns`
    /// candidates from the start of `reference` on; rows of both are `pitch` apart.
    ///
    /// # Panics
    /// Where a size is out of range or a slice ends before the last sample that may be read.
    #[inline(always)]
    pub fn new(
        (current, reference, pitch): (&'a [u8], &'a [u8], usize),
        (width, height): (usize, usize),
        (rows, columns): (usize, usize),
    ) -> Self {
        assert!(
            width.is_multiple_of(4)
                && height.is_multiple_of(4)
                && (4..=PART).contains(&width)
                && (4..=PART).contains(&height)
        );
        assert!((1..=ROWS).contains(&rows) && (1..=COLUMNS).contains(&columns));
        let current = &current[..(height - 1) * pitch + width];
        let reference = &reference[..(height + rows - 2) * pitch + READ];
        Self { current, reference, pitch, width, height, rows, columns }
    }

    /// The part's samples: the slice holds `(height - 1) * pitch + width` of them.
    #[inline(always)]
    pub fn current(&self) -> &'a [u8] {
        self.current
    }

    /// The candidates' samples: the slice holds `(height + rows - 2) * pitch + READ` of them.
    #[inline(always)]
    pub fn reference(&self) -> &'a [u8] {
        self.reference
    }

    /// Samples from one row to the next.
    #[inline(always)]
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// Samples across the part: 4, 8, 12 or 16.
    #[inline(always)]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Samples down the part: 4 to 16.
    #[inline(always)]
    pub fn height(&self) -> usize {
        self.height
    }

    /// Candidates down: 1 to [`ROWS`].
    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Candidates across: 1 to [`COLUMNS`].
    #[inline(always)]
    pub fn columns(&self) -> usize {
        self.columns
    }
}

/// A block and one candidate: squares of samples, rows `pitch` apart.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    current: &'a [u8],
    reference: &'a [u8],
    pitch: usize,
    side: usize,
}

impl<'a> Pair<'a> {
    /// The squares of `side` samples at the start of `current` and of `reference`.
    ///
    /// # Panics
    /// Where a slice ends before its square, or `side` is no multiple of four.
    #[inline(always)]
    pub fn new(current: &'a [u8], reference: &'a [u8], pitch: usize, side: usize) -> Self {
        assert!(side.is_multiple_of(4) && side >= 4 && pitch >= side);
        let length = (side - 1) * pitch + side;
        Self { current: &current[..length], reference: &reference[..length], pitch, side }
    }

    /// Samples an axis: a multiple of four.
    #[inline(always)]
    pub fn side(&self) -> usize {
        self.side
    }

    /// `W` samples from column `x` of row `y` on, of the block and of the candidate.
    ///
    /// # Safety
    /// They must be within the square: `y < side` and `x + W <= side`.
    #[inline(always)]
    pub unsafe fn samples<const W: usize>(&self, x: usize, y: usize) -> [&'a [u8; W]; 2] {
        debug_assert!(y < self.side && x + W <= self.side);
        let start = y * self.pitch + x;
        [self.current, self.reference].map(|samples| {
            // SAFETY: `new` has checked that the slices hold (side - 1) * pitch + side samples, which is
            // no less than y * pitch + x + W, by the caller's promise.
            unsafe { &*samples.as_ptr().add(start).cast() }
        })
    }
}

/// Blocks of a row and the frame that holds their candidates; rows of both are `pitch` apart.
#[derive(Clone, Copy)]
pub struct Candidates<'a> {
    current: &'a [u8],
    reference: &'a [u8],
    pitch: usize,
    side: usize,
}

impl<'a> Candidates<'a> {
    /// Blocks of `side` samples, the first of them at the start of `current` and the others to the right of it,
    /// and the samples of `reference`.
    ///
    /// # Panics
    /// Where `side` is no multiple of four.
    #[inline(always)]
    pub fn new(current: &'a [u8], reference: &'a [u8], pitch: usize, side: usize) -> Self {
        assert!(side.is_multiple_of(4) && side >= 4 && pitch >= side);
        Self { current, reference, pitch, side }
    }

    /// Samples from the first of a block, or of a candidate, to its last.
    #[inline(always)]
    fn length(&self) -> usize {
        (self.side - 1) * self.pitch + self.side
    }

    /// The samples of block `block`, to its last.
    ///
    /// # Panics
    /// Where there is no such block.
    #[inline(always)]
    pub fn block(&self, block: u16) -> &'a [u8] {
        &self.current[usize::from(block) * self.side..][..self.length()]
    }

    /// As many samples, of the candidate whose first is at `offset` of the reference.
    ///
    /// # Panics
    /// Where the reference ends before the candidate.
    #[inline(always)]
    pub fn at(&self, offset: u32) -> &'a [u8] {
        &self.reference[offset as usize..][..self.length()]
    }

    /// Whether all samples of the group of candidates are there whose first begins at `offset`.
    #[inline(always)]
    pub fn has_group(&self, offset: u32) -> bool {
        offset as usize + self.samples_of_group() <= self.reference.len()
    }

    #[inline(always)]
    fn samples_of_group(&self) -> usize {
        (self.side + TILE - 2) * self.pitch + READ
    }

    /// Block `block` and the candidate at `offset`.
    #[inline(always)]
    pub fn pair(&self, block: u16, offset: u32) -> Pair<'a> {
        Pair::new(self.block(block), self.at(offset), self.pitch, self.side)
    }
}

/// For engines that read the samples themselves.
#[cfg(target_arch = "x86_64")]
impl<'a> Candidates<'a> {
    /// Samples from one row to the next.
    #[inline(always)]
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// Samples an axis.
    #[inline(always)]
    pub fn side(&self) -> usize {
        self.side
    }

    /// From the first sample of the group at `offset` to the last, and to the end of a register.
    ///
    /// # Panics
    /// Where the reference ends before.
    #[inline(always)]
    pub fn group(&self, offset: u32) -> &'a [u8] {
        &self.reference[offset as usize..][..self.samples_of_group()]
    }
}

/// Candidates, or groups of them: the block that each belongs to, and where its first sample is.
pub type Listed<'a> = (&'a [u16], &'a [u32]);

/// An instruction set. A value of the type is the proof that this CPU has it.
pub trait Engine: Copy {
    /// Candidates down a tile, at most [`ROWS`].
    const ROWS: usize;

    /// Neighbouring candidates that are compared at once: one of them costs as much as all.
    const LANES: usize;

    /// The SAD of every candidate of `task`.
    fn sad(self, task: &Task<'_>, costs: &mut Costs<u16>);

    /// The SSD of every candidate of `task`.
    fn ssd(self, task: &Task<'_>, costs: &mut Costs<u32>);

    /// The SAD of every candidate of `task`, columns for rows: that at row `v` and column `u` of the
    /// tile is in row `u` and column `v` of `costs`. For few columns, of at most [`COLUMNS`] rows.
    fn sad_of_columns(self, task: &Task<'_>, costs: &mut Costs<u16>);

    /// The same with the SSD.
    fn ssd_of_columns(self, task: &Task<'_>, costs: &mut Costs<u32>);

    /// The SAD of one candidate.
    fn sad_of_one(self, pair: &Pair<'_>) -> u32;

    /// The SSD of one candidate.
    fn ssd_of_one(self, pair: &Pair<'_>) -> u32;

    /// A bit for each of `values` that is at most `limit`, the lowest for the first.
    fn at_most(self, values: &[u16; 32], limit: u16) -> u32;

    /// The SAD of each of the candidates `listed`.
    #[inline(always)]
    fn sads(self, candidates: &Candidates<'_>, (blocks, offsets): Listed<'_>, costs: &mut [u32]) {
        for ((block, offset), cost) in blocks.iter().zip(offsets).zip(costs) {
            *cost = self.sad_of_one(&candidates.pair(*block, *offset));
        }
    }

    /// Has the cache line brought that holds `samples[at]`, which need not be there: it is soon read.
    #[inline(always)]
    fn prefetch(self, _samples: &[u8], _at: usize) {}

    /// How many of a group's candidates take as long one by one as all of them at once; `None` where
    /// [`Self::sads_of_groups`] is not to be called for blocks of `side` samples.
    #[inline(always)]
    fn worth_a_group(_side: usize) -> Option<u32> {
        None
    }

    /// The SAD of every candidate of the groups listed.
    #[inline(always)]
    fn sads_of_groups(self, _: &Candidates<'_>, _: Listed<'_>, _: &mut [[u16; GROUP]]) {
        unreachable!("worth_a_group tells that groups are never computed at once")
    }

    /// [`bounds::sum_parts`]; `SIDE` is 4, 8 or 16.
    #[inline(always)]
    fn sum_parts<const SIDE: usize>(self, rows: &[&[u8; SUMMED]; SIDE]) -> [u16; SUMMED / TILE] {
        bounds::sum_parts(rows)
    }

    /// The bounds, by differences of sums, of the groups listed, by where their sums are in `level`.
    #[inline(always)]
    fn bounds(self, parts: &Parts, level: &Level, (blocks, starts): Listed<'_>, bounds: &mut [[u16; GROUP]]) {
        for ((block, start), bounds) in blocks.iter().zip(starts).zip(bounds) {
            *bounds = parts.bound(level, *block, *start as usize);
        }
    }

    /// [`bounds::bound_area`] of SAD; `N` is 8, 16 or 32.
    #[inline(always)]
    fn bound_area<const N: usize>(self, quarters: &Quarters<'_>, bounds: &mut [u16]) -> u16 {
        bounds::bound_area::<u16, N>(quarters, 0, bounds)
    }

    /// Writes `start` and what `lanes` has for each bit of `left` to the beginning of `list`.
    #[inline(always)]
    fn list(self, mut left: u32, start: u32, lanes: &[u32; GROUP], list: &mut [u32; GROUP]) {
        let mut count = 0;
        while left != 0 {
            list[count % GROUP] = start.wrapping_add(lanes[left.trailing_zeros() as usize % GROUP]);
            left &= left - 1;
            count += 1;
        }
    }

    /// Sums squares of `SIDE` samples: 4, 8 or 16.
    #[inline(always)]
    fn sum_strip<const SIDE: usize>(self, strip: &Strip<'_>, sums: &mut StripSums<'_>) {
        sums::sum_strip::<SIDE>(strip, sums);
    }
}

/// Compares a task's candidates band by band: at most `$rows` rows and `$columns` columns of them at once
/// by `$of_band`, which is made for each number of rows and takes the task, the place of the band's first
/// candidate, and its costs. (A macro, as only what is written in a function is compiled for its
/// instruction set.)
macro_rules! by_bands {
    ($task:ident, $costs:ident, $columns:ident, $rows:ident, $of_band:ident, [$($fewer:literal),+]) => {
        let bands = $task.rows().div_ceil($rows);
        for left in (0..$task.columns()).step_by($columns) {
            for band in 0..bands {
                let (start, end) = ($task.rows() * band / bands, $task.rows() * (band + 1) / bands);
                let costs = &mut $costs[start..end];
                match end - start {
                    $($fewer => $of_band::<$fewer>($task, (left, start), costs),)+
                    _ => $of_band::<$rows>($task, (left, start), costs),
                }
            }
        }
    };
}
pub(crate) use by_bands;

/// A cost in as many bits as it needs. The largest value is no candidate's cost.
pub trait Cost: Copy + Ord + Into<u32> + std::ops::BitOr<Output = Self> {
    const ZERO: Self;
    const NONE: Self;

    /// A cost of a part, which is no larger than the type holds.
    fn from_sum(sum: u32) -> Self;

    /// The sum, which does not overflow for a candidate's costs; what lies past a tile's may.
    fn plus(self, other: Self) -> Self;
}

impl Cost for u16 {
    const ZERO: Self = 0;
    const NONE: Self = Self::MAX;

    #[inline(always)]
    fn from_sum(sum: u32) -> Self {
        sum as u16
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

impl Cost for u32 {
    const ZERO: Self = 0;
    const NONE: Self = Self::MAX;

    #[inline(always)]
    fn from_sum(sum: u32) -> Self {
        sum
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

/// The better of `best` and the best of `rows × columns` candidates in `costs`; `tie(u, v)` decides
/// between equal costs ([`OrderKey::tie`]) for the one in column `u` and row `v`.
///
/// Most tiles hold nothing as good as what is known: that takes a minimum a lane and one
/// comparison. Only a tile that does has its ties resolved, among the candidates of least cost.
#[inline(always)]
pub fn best_of<C: Cost>(
    costs: &Costs<C>,
    (rows, columns): (usize, usize),
    tie: impl Fn(i32, i32) -> u32,
    best: OrderKey,
) -> OrderKey {
    let costs = &costs[..rows];
    let mut absent = [C::ZERO; COLUMNS];
    absent[columns..].fill(C::NONE);
    let mut least = [C::NONE; COLUMNS];
    for row in costs {
        for u in 0..COLUMNS {
            least[u] = least[u].min(row[u]);
        }
    }
    for u in 0..COLUMNS {
        least[u] = least[u] | absent[u];
    }
    let least = least.into_iter().fold(C::NONE, Ord::min);
    if least.into() > best.cost() {
        return best;
    }
    let mut ties = [u32::MAX; COLUMNS];
    for (v, row) in costs.iter().enumerate() {
        let is_least = |u: usize| row[u] | absent[u] == least;
        if !(0..COLUMNS).fold(false, |any, u| any | is_least(u)) {
            continue;
        }
        for (u, least_tie) in ties.iter_mut().enumerate() {
            *least_tie = (*least_tie).min(if is_least(u) { tie(u as i32, v as i32) } else { u32::MAX });
        }
    }
    let tie = ties.into_iter().fold(u32::MAX, u32::min);
    best.min(OrderKey(u64::from(least.into()) << 32 | u64::from(tie)))
}
