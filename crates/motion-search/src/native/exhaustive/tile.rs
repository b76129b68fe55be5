//! Tiles of candidates, and the best of one.

use crate::estimator::OrderKey;
use crate::native::candidates::ROW_SAMPLES;
use crate::native::cost::CostValue;

/// Candidates across a tile: as many as the widest register has 16-bit costs.
pub const COLUMNS: usize = 32;

/// Candidates down a tile, at most: the more, the more candidates a copied row serves.
pub const ROWS: usize = 36;

/// Side of the largest part of a block that is compared at once: the SAD of 16 × 16 samples is at most 65280, so that
/// it fits 16 bits and leaves the largest value to mean "no candidate".
pub const PART: usize = 16;

/// The costs of a tile's candidates, `rows × COLUMNS`. Rows and columns past those of its [`TileTask`] hold anything.
pub type TileCosts<V> = [[V; COLUMNS]; ROWS];

/// One part of a block, and the tile of candidates it is compared with.
///
/// The candidate at row `v` and column `u` of the tile has its first sample at
/// `reference[v * pitch + u]`.
#[derive(Clone, Copy)]
pub struct TileTask<'a, S = u8> {
    current: &'a [S],
    reference: &'a [S],
    pitch: usize,
    width: usize,
    height: usize,
    rows: usize,
    columns: usize,
    depth: u32,
}

impl<'a, S> TileTask<'a, S> {
    /// The part of `width × height` samples at the start of `current`, and `rows × columns`
    /// candidates from the start of `reference` on; rows of both are `pitch` apart, and samples have `depth` bits.
    ///
    /// # Panics
    /// Where a size is out of range or a slice ends before the last sample that may be read.
    #[inline(always)]
    pub fn new(
        (current, reference, pitch): (&'a [S], &'a [S], usize),
        (width, height): (usize, usize),
        (rows, columns): (usize, usize),
        depth: u32,
    ) -> Self {
        assert!(
            width.is_multiple_of(4)
                && height.is_multiple_of(4)
                && (4..=PART).contains(&width)
                && (4..=PART).contains(&height)
        );
        assert!((1..=ROWS).contains(&rows) && (1..=COLUMNS).contains(&columns));
        let current = &current[..(height - 1) * pitch + width];
        let reference = &reference[..(height + rows - 2) * pitch + ROW_SAMPLES];
        Self { current, reference, pitch, width, height, rows, columns, depth }
    }

    /// The part's samples: the slice holds `(height - 1) * pitch + width` of them.
    #[inline(always)]
    pub fn current(&self) -> &'a [S] {
        self.current
    }

    /// The candidates' samples: the slice holds `(height + rows - 2) * pitch + ROW_SAMPLES` of them.
    #[inline(always)]
    pub fn reference(&self) -> &'a [S] {
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

    /// Bits of a sample.
    #[inline(always)]
    pub fn depth(&self) -> u32 {
        self.depth
    }
}

/// Calls the function with the number of rows `$rows` as its constant: one of those listed, or else `$most`.
macro_rules! by_height {
    ($rows:expr, $most:ident, $function:ident $arguments:tt, [$($fewer:literal)+]) => {
        match $rows {
            $($fewer => $function::<$fewer> $arguments,)+
            _ => $function::<$most> $arguments,
        }
    };
}
pub(crate) use by_height;

/// Compares a task's candidates in bands of at most `$rows` rows and `$columns` columns by `$of_band`, which takes the
/// task, the place of the band's first candidate, and its costs. (A macro, because only what is written in a function
/// is compiled for its instruction set.)
macro_rules! by_bands {
    ($task:ident, $costs:ident, $columns:ident, $rows:ident, $of_band:ident, $fewer:tt) => {
        let bands = $task.rows().div_ceil($rows);
        for left in (0..$task.columns()).step_by($columns) {
            for band in 0..bands {
                let (start, end) = ($task.rows() * band / bands, $task.rows() * (band + 1) / bands);
                let costs = &mut $costs[start..end];
                crate::native::exhaustive::tile::by_height!(
                    end - start,
                    $rows,
                    $of_band($task, (left, start), costs),
                    $fewer
                );
            }
        }
    };
}
pub(crate) use by_bands;

/// The better of `best` and the best of `rows × columns` candidates in `costs`; `tie(u, v)` decides
/// between equal costs ([`OrderKey::tie`]) for the one in column `u` and row `v`.
///
/// Most tiles hold nothing as good as `best`, which takes a minimum a lane and one comparison. Only otherwise are ties
/// resolved, among the candidates of least cost.
#[inline(always)]
pub fn best_of<V: CostValue>(
    costs: &TileCosts<V>,
    (rows, columns): (usize, usize),
    tie: impl Fn(i32, i32) -> u32,
    best: OrderKey,
) -> OrderKey {
    let costs = &costs[..rows];
    let mut absent = [V::default(); COLUMNS];
    absent[columns..].fill(V::MAX);
    let mut least = [V::MAX; COLUMNS];
    for row in costs {
        for u in 0..COLUMNS {
            least[u] = least[u].min(row[u]);
        }
    }
    for u in 0..COLUMNS {
        least[u] = least[u] | absent[u];
    }
    let least = least.into_iter().fold(V::MAX, Ord::min);
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
