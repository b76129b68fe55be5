//! Computing the sums of the reference frame, strip by strip of 32 columns.

use std::ops::Range;

use crate::native::candidates::ROW_SAMPLES;
use crate::native::elimination::engine::{EliminationEngine, GROUPS};
use crate::native::elimination::sums::{
    ACROSS, GROUP, GroupExtremes, PartSums, ReferenceSums, TILE, TILE_POSITIONS,
};
use crate::native::plane::Plane;
use crate::native::sample::SearchSample;
use motion_base::memory::numbers_mut;
use motion_base::simd::proven::Wide;
use motion_base::simd::register::WIDE;
use motion_base::simd::{Instructions, Work};

/// Rows of tiles that are summed at a time: the more, the fewer samples are summed twice, above and below.
const ROWS_AT_ONCE: usize = 8;

/// Columns of positions that are summed at once.
const STRIP: usize = WIDE;

impl ReferenceSums {
    /// Computes what is missing of the sums of the rows of tiles `wanted` of `plane`. Sums already there are used if
    /// `wanted` begins no further up than the last time.
    pub fn compute_missing(&mut self, instructions: Instructions, plane: &Plane, wanted: Range<usize>) {
        debug_assert!(wanted.len() <= self.room);
        if !(self.there.start..=self.there.end).contains(&wanted.start) {
            (self.first, self.there) = (wanted.start, wanted.start..wanted.start);
        }
        if wanted.end <= self.there.end {
            return;
        }
        let all = plane.layout().rows().div_ceil(TILE);
        let end = (self.there.end + ROWS_AT_ONCE).max(wanted.end).min(all);
        if end > self.first + self.room {
            self.move_up(wanted.start);
        }
        self.fill(instructions, plane, self.there.end..end.min(self.first + self.room));
    }

    /// Makes the row of tiles `start` the first.
    fn move_up(&mut self, start: usize) {
        let kept = start - self.first..self.there.end - self.first;
        let (row, groups) = (self.tiles * TILE_POSITIONS, self.groups());
        let move_up = |values: &mut [u16], a_row: usize| {
            // There is no memory for what is not needed.
            if !values.is_empty() {
                values.copy_within(kept.start * a_row..kept.end * a_row, 0);
            }
        };
        move_up(numbers_mut(&mut self.coarse.lines), row);
        if let Some(fine) = self.fine.as_mut().filter(|_| self.is_fine) {
            move_up(numbers_mut(&mut fine.lines), row);
        }
        let extremes = self.extremes.least.iter_mut().chain(&mut self.extremes.most);
        extremes.for_each(|extremes| move_up(extremes, groups));
        (self.first, self.there.start) = (start, start);
    }

    /// Sums up `rows` of tiles of `plane`.
    fn fill(&mut self, instructions: Instructions, plane: &Plane, rows: Range<usize>) {
        let (row, groups, top) = (self.tiles * TILE_POSITIONS, self.groups(), rows.start * TILE);
        let lower = self.lower;
        self.there.end = rows.end;
        let rows = rows.start - self.first..rows.end - self.first;
        let (of_sums, of_groups) = (rows.start * row..rows.end * row, rows.start * groups..rows.end * groups);
        if let Some(PartSums { side, lines }) = self.fine.as_mut().filter(|_| self.is_fine) {
            let sums = &mut numbers_mut(lines)[of_sums.clone()];
            instructions.run_widest(StripSummation {
                plane,
                side: *side,
                lower,
                top,
                sums,
                even: None,
                odd: None,
            });
        }
        let PartSums { side, lines } = &mut self.coarse;
        let sums = &mut numbers_mut(lines)[of_sums];
        let GroupExtremes { least: [least, least_odd], most: [most, most_odd] } = &mut self.extremes;
        let even = Some([&mut least[of_groups.clone()], &mut most[of_groups.clone()]]);
        let odd = (*side == TILE).then(|| [&mut least_odd[of_groups.clone()], &mut most_odd[of_groups]]);
        instructions.run_widest(StripSummation { plane, side: *side, lower, top, sums, even, odd });
    }
}

/// Sums `side × side` samples from each position of the rows of tiles that begin with row `top` of `plane`. The last
/// positions of a row, which are further right than any candidate, are left out.
struct StripSummation<'a> {
    plane: &'a Plane,
    side: usize,
    /// The lowest bits of the sums that are not kept.
    lower: u32,
    top: usize,
    /// The sums of the rows of tiles.
    sums: &'a mut [u16],
    /// The least and the largest sum of each group that begins with an even tile, where they are wanted.
    even: Option<[&'a mut [u16]; 2]>,
    /// The same of the groups that begin with an odd tile.
    odd: Option<[&'a mut [u16]; 2]>,
}

impl<E: EliminationEngine> Work<E> for StripSummation<'_> {
    #[inline(always)]
    fn run(mut self, engine: E) {
        for strip in 0..self.plane.layout().pitch / STRIP - 1 {
            match (self.lower, self.side) {
                (0, 4) => self.sum_strip::<E, 4>(engine, strip),
                (0, 8) => self.sum_strip::<E, 8>(engine, strip),
                (0, _) => self.sum_strip::<E, 16>(engine, strip),
                (_, 4) => self.sum_deep_strip::<E, 4>(engine, strip),
                (_, 8) => self.sum_deep_strip::<E, 8>(engine, strip),
                _ => self.sum_deep_strip::<E, 16>(engine, strip),
            }
        }
        if let Some([least, most]) = self.odd {
            // One after the other: where a row of tiles ends within a group there is no candidate.
            let groups = self.sums[TILE_POSITIONS..].as_chunks::<GROUP>().0;
            for (group, (least, most)) in groups.iter().zip(least.iter_mut().zip(most)) {
                *least = group.iter().copied().fold(u16::MAX, u16::min);
                *most = group.iter().copied().fold(0, u16::max);
            }
        }
    }
}

impl StripSummation<'_> {
    #[inline(always)]
    fn sum_strip<E: EliminationEngine, const SIDE: usize>(&mut self, engine: E, strip: usize) {
        let layout = self.plane.layout();
        let (pitch, last) = (layout.pitch, layout.rows() - 1);
        let (samples, top) = (&self.plane.samples()[strip * STRIP..], self.top);
        let row = |y: usize| -> &[u8; ROW_SAMPLES] {
            let samples = &samples[(top + y).min(last) * pitch..];
            // The strips to the right come next; CPUs do not foresee walks down a frame.
            engine.prefetch(samples, 2 * ROW_SAMPLES);
            samples.first_chunk().expect("the last strip of a row is left out")
        };
        let mut sums = SlidingSums::<E, SIDE>::new(engine);
        (0..SIDE - 1).for_each(|y| _ = sums.next(engine, row(y)));
        for index in 0..self.sums.len() / (TILE * pitch) {
            let first = index * TILE + SIDE - 1;
            let mut tile_row = [sums.sums; TILE];
            for (y, positions) in tile_row.iter_mut().enumerate() {
                *positions = sums.next(engine, row(first + y));
            }
            self.store(engine, (strip, index), tile_row);
        }
    }

    /// Stores the sums of a row of tiles of `strip`, the one with this index.
    #[inline(always)]
    fn store<E: EliminationEngine>(
        &mut self,
        engine: E,
        (strip, index): (usize, usize),
        tile_row: [Wide<E>; TILE],
    ) {
        let pitch = self.plane.layout().pitch;
        let tiles = &mut self.sums[(index * pitch + strip * STRIP) * TILE..];
        let tile_row = Wide::registers(tile_row);
        engine.store_tiles(tile_row, tiles.first_chunk_mut().expect("the last strip is left out"));
        if let Some([least, most]) = &mut self.even {
            let at = index * (pitch / ACROSS) + strip * GROUPS;
            let [of_least, of_most] = engine.extremes(tile_row);
            least[at..][..GROUPS].copy_from_slice(&of_least);
            most[at..][..GROUPS].copy_from_slice(&of_most);
        }
    }

    /// The same of deep samples: the sums of what eight bits hold of them, and of their lower bits. The latter carry over
    /// into the former.
    #[inline(always)]
    fn sum_deep_strip<E: EliminationEngine, const SIDE: usize>(&mut self, engine: E, strip: usize) {
        let (layout, lower) = (self.plane.layout(), self.lower);
        let (pitch, last) = (layout.pitch, layout.rows() - 1);
        let (samples, top) = (&self.plane.samples::<u16>()[strip * STRIP..], self.top);
        let row = |y: usize| -> &[u16; ROW_SAMPLES] {
            let samples = &samples[(top + y).min(last) * pitch..];
            u16::prefetch(engine, samples, 2 * ROW_SAMPLES);
            samples.first_chunk().expect("the last strip of a row is left out")
        };
        let [mut upper, mut rest] = [SlidingSums::<E, SIDE>::new(engine); 2];
        // Rows are split well before they are read: a load that spans two stores waits for both to reach the cache.
        let mut split_rows = [[[0; ROW_SAMPLES]; 2]; 2];
        split_rows[0] = split(row(0), lower);
        for y in 0..SIDE - 1 {
            split_rows[(y + 1) % 2] = split(row(y + 1), lower);
            upper.next(engine, &split_rows[y % 2][0]);
            rest.next(engine, &split_rows[y % 2][1]);
        }
        for index in 0..self.sums.len() / (TILE * pitch) {
            let mut tile_row = [Wide::all(engine, 0); TILE];
            for (y, positions) in tile_row.iter_mut().enumerate() {
                let y = index * TILE + y + SIDE - 1;
                split_rows[(y + 1) % 2] = split(row(y + 1), lower);
                let of_upper = upper.next(engine, &split_rows[y % 2][0]);
                let of_rest = rest.next(engine, &split_rows[y % 2][1]);
                let [mut sums, mut carried] = [[0; STRIP]; 2];
                of_upper.store(&mut sums);
                of_rest.store(&mut carried);
                for x in 0..STRIP {
                    sums[x] += carried[x] >> lower;
                }
                *positions = Wide::load(engine, &sums);
            }
            self.store(engine, (strip, index), tile_row);
        }
    }
}

/// Eight bits of each sample, and the `lower` bits below them.
#[inline(always)]
fn split(row: &[u16; ROW_SAMPLES], lower: u32) -> [[u8; ROW_SAMPLES]; 2] {
    let mut parts = [[0; ROW_SAMPLES]; 2];
    for x in 0..ROW_SAMPLES {
        parts[0][x] = (row[x] >> lower) as u8;
        parts[1][x] = (row[x] & ((1 << lower) - 1)) as u8;
    }
    parts
}

/// The sums of squares of `SIDE` samples, row by row down a strip.
#[derive(Clone, Copy)]
struct SlidingSums<E: EliminationEngine, const SIDE: usize> {
    /// The rows that are summed, and the one of them that is replaced next.
    rows: [Wide<E>; SIDE],
    oldest: usize,
    sums: Wide<E>,
}

impl<E: EliminationEngine, const SIDE: usize> SlidingSums<E, SIDE> {
    #[inline(always)]
    fn new(engine: E) -> Self {
        Self { rows: [Wide::all(engine, 0); SIDE], oldest: 0, sums: Wide::all(engine, 0) }
    }

    /// The sums from the last rows and `row`, the next one, on.
    #[inline(always)]
    fn next(&mut self, engine: E, row: &[u8; ROW_SAMPLES]) -> Wide<E> {
        let (oldest, next) = (&mut self.rows[self.oldest], Wide::of(engine, engine.across::<SIDE>(row)));
        self.sums = self.sums.plus(next).minus(*oldest);
        *oldest = next;
        self.oldest = (self.oldest + 1) % SIDE;
        self.sums
    }
}
