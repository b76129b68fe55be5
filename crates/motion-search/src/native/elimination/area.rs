//! The groups that hold a block's candidates.

use crate::estimator::Window;
use crate::native::elimination::sums::{ACROSS, GROUP, ReferenceSums, TILE};
use crate::native::job::JobBlock;

/// A rectangle of groups: those of a block's candidates, or a strip of them.
#[derive(Clone, Copy, Default)]
pub struct GroupArea {
    window: Window,
    /// Column and row, among the groups of the padded frame, of the first group.
    pub column: usize,
    pub row: usize,
    pub columns: usize,
    pub rows: usize,
    /// The displacement of the first group's first candidate, which may be outside the window.
    x: i32,
    y: i32,
    /// Logarithm of the bounds from one row to the next.
    pub shift: u32,
    /// See [`inside`].
    inside: [u32; 4],
}

/// A group of an [`GroupArea`].
#[derive(Clone, Copy, Default)]
pub struct CandidateGroup {
    /// The displacement of its first candidate.
    pub x: i32,
    pub y: i32,
    /// A bit for each candidate that is in the window.
    pub inside: u32,
    /// `|x| + |y|` of the candidate nearest to the zero vector, or less.
    pub distance: u32,
    /// The index of the first sample of its first candidate in a padded frame.
    pub offset: u32,
}

/// Groups that are written at once: as many as the widest register has numbers.
pub const PUT: usize = 16;

/// `N` groups, a list for each field.
pub struct GroupList<const N: usize> {
    x: [i32; N],
    y: [i32; N],
    inside: [u32; N],
    distance: [u32; N],
    offset: [u32; N],
}

impl<const N: usize> GroupList<N> {
    pub fn new() -> Self {
        Self { x: [0; N], y: [0; N], inside: [0; N], distance: [0; N], offset: [0; N] }
    }

    #[inline(always)]
    pub fn get(&self, i: usize) -> CandidateGroup {
        CandidateGroup {
            x: self.x[i],
            y: self.y[i],
            inside: self.inside[i],
            distance: self.distance[i],
            offset: self.offset[i],
        }
    }
}

/// Writes `$value` for each of [`PUT`] `$indices` to `$values`, from the one at `$start` on. (A macro, because only what
/// is written in a function is compiled for its instruction set.)
macro_rules! put {
    ($values:expr, $start:expr, $indices:expr, |$index:pat_param| $value:expr) => {
        let values: &mut [_; PUT] = $values[$start..].first_chunk_mut().expect("room for as many");
        let indices: &[u32; PUT] = $indices;
        for (to, &$index) in values.iter_mut().zip(indices) {
            *to = $value;
        }
    };
}
pub(crate) use put;

impl GroupArea {
    /// The groups that hold the candidates of `block`, which are in `window`.
    #[inline(always)]
    pub fn new(block: JobBlock<'_>, window: Window) -> Self {
        let side = block.job.parameters.block_size;
        let origin = ((block.column * side) as i32, (block.row * side) as i32);
        let layout = block.job.reference.layout();
        let first = layout.position(origin.0 + window.x0(), origin.1 + window.y0());
        let last = layout.position(origin.0 + window.x1(), origin.1 + window.y1());
        let (column, row) = (first.0 / ACROSS, first.1 / TILE);
        let (columns, rows) = (last.0 / ACROSS - column + 1, last.1 / TILE - row + 1);
        let (x, y) = (window.x0() - (first.0 % ACROSS) as i32, window.y0() - (first.1 % TILE) as i32);
        Self {
            window,
            column,
            row,
            columns,
            rows,
            x,
            y,
            inside: inside(&window, (x, y), (columns, rows)),
            shift: columns.next_power_of_two().max(8).ilog2(),
        }
    }

    /// Strips of at most `rows` rows of groups: that of the zero vector first, then those around it.
    #[inline(always)]
    pub fn strips(self, rows: usize) -> impl Iterator<Item = Self> {
        let rows = rows.min(self.rows);
        let strips = self.rows.div_ceil(rows);
        let middle = ((-self.y).max(0) as usize / TILE / rows).min(strips - 1);
        let order = (0..strips).flat_map(move |distance| {
            let below = Some(middle + distance).filter(|strip| *strip < strips);
            let above = middle.checked_sub(distance).filter(|_| distance > 0);
            [below, above].into_iter().flatten()
        });
        order.map(move |strip| {
            let first = strip * rows;
            let y = self.y + (first * TILE) as i32;
            Self { row: self.row + first, rows: rows.min(self.rows - first), y, ..self }
        })
    }

    /// The most bounds that the groups of a block with the candidates in `window` need.
    pub fn most_bounds(window: &Window) -> usize {
        let most = |positions: usize, of_group: usize| positions.div_ceil(of_group) + 1;
        most(window.rows(), TILE) * most(window.columns(), ACROSS).next_power_of_two().max(ACROSS)
    }

    /// The column and row in the area of the group whose bound is at `index`.
    #[inline(always)]
    fn place(&self, index: u32) -> (u32, u32) {
        (index & ((1 << self.shift) - 1), index >> self.shift)
    }

    /// Whether there is a group whose bound is at `index`.
    #[inline(always)]
    fn has(&self, index: u32) -> bool {
        let (column, row) = self.place(index);
        (column < self.columns as u32) & (row < self.rows as u32)
    }

    /// A bit for each of the groups whose bounds begin at `index` that exists.
    #[inline(always)]
    pub fn present(&self, index: u32) -> u32 {
        (0..GROUP as u32).map(|lane| u32::from(self.has(index + lane)) << lane).sum()
    }

    /// The displacement of the first candidate of the group whose bound is at `index`: across, and down.
    #[inline(always)]
    fn x_at(&self, index: u32) -> i32 {
        self.x + (self.place(index).0 * ACROSS as u32) as i32
    }

    #[inline(always)]
    fn y_at(&self, index: u32) -> i32 {
        self.y + (self.place(index).1 * TILE as u32) as i32
    }

    /// [`CandidateGroup::distance`] of the group whose bound is at `index`.
    #[inline(always)]
    fn distance_at(&self, index: u32) -> u32 {
        nearest(self.x_at(index), ACROSS) + nearest(self.y_at(index), TILE)
    }

    /// The same for many groups.
    #[inline(always)]
    pub fn distances(&self) -> GroupDistances {
        let (mut x, mut y) = ([0; GROUP], [0; GROUP]);
        for lane in 0..GROUP {
            (x[lane], y[lane]) = (self.x_at(lane as u32) as i16, self.y_at(lane as u32) as i16);
        }
        GroupDistances { x, y, shift: self.shift }
    }

    /// [`CandidateGroup::inside`] of the group whose bound is at `index`.
    #[inline(always)]
    fn inside_at(&self, index: u32) -> u32 {
        let ((column, _), y) = (self.place(index), self.y_at(index));
        let inside = |is_last: bool, lanes: u32| if is_last { lanes } else { u32::MAX };
        inside(column == 0, self.inside[0])
            & inside(column + 1 >= self.columns as u32, self.inside[1])
            & inside(y < self.window.y0(), self.inside[2])
            & inside(y + TILE as i32 > self.window.y1(), self.inside[3])
    }

    /// [`CandidateGroup::offset`] of the group whose bound is at `index`; the block's first sample is at `block` of a
    /// frame whose rows are `pitch` apart.
    #[inline(always)]
    fn offset_at(&self, index: u32, (block, pitch): (u32, u32)) -> u32 {
        displaced(block, (self.x_at(index), self.y_at(index)), pitch)
    }

    /// The index of the sums of the first group in a `PartSums` of `sums`, and the step to the next row of groups.
    #[inline(always)]
    pub fn sums(&self, sums: &ReferenceSums) -> (u32, u32) {
        (sums.offset((self.column, self.row)) as u32, sums.step((0, TILE)) as u32)
    }

    /// The index of the sums of the group whose bound is at `index`, by the result of [`Self::sums`]; anything for an
    /// index past the last.
    #[inline(always)]
    pub fn start_at(&self, index: u32, (first, below): (u32, u32)) -> u32 {
        let (column, row) = self.place(index);
        (row * below).wrapping_add(first).wrapping_add(column * GROUP as u32)
    }

    /// The group whose bound is at `index`; `block` as [`Self::offset_at`] takes it.
    #[inline(always)]
    pub fn group(&self, index: u32, block: (u32, u32)) -> CandidateGroup {
        CandidateGroup {
            x: self.x_at(index),
            y: self.y_at(index),
            inside: self.inside_at(index),
            distance: self.distance_at(index),
            offset: self.offset_at(index, block),
        }
    }

    /// Writes the groups whose bounds are at `indices` to `groups`, from the one at `start` on; `block` as
    /// [`Self::offset_at`] takes it.
    #[inline(always)]
    pub fn put_groups<const N: usize>(
        &self,
        indices: &[u32; PUT],
        start: usize,
        block: (u32, u32),
        groups: &mut GroupList<N>,
    ) {
        // Field by field, which the compiler vectorizes; from a copy, because `groups` might alias `self`.
        let area = *self;
        let GroupList { x, y, inside, distance, offset } = groups;
        put!(x, start, indices, |index| area.x_at(index));
        put!(y, start, indices, |index| area.y_at(index));
        put!(inside, start, indices, |index| area.inside_at(index));
        put!(distance, start, indices, |index| area.distance_at(index));
        put!(offset, start, indices, |index| area.offset_at(index, block));
    }
}

/// [`CandidateGroup::distance`] of an area's groups, [`GROUP`] at once.
pub struct GroupDistances {
    /// The displacements of the first candidates of the first groups.
    x: [i16; GROUP],
    y: [i16; GROUP],
    /// [`GroupArea::shift`].
    shift: u32,
}

impl GroupDistances {
    /// The distances of the groups whose bounds begin at `index`, a multiple of [`GROUP`].
    #[inline(always)]
    pub fn from(&self, index: u32) -> [u16; GROUP] {
        let right = (index & ((1 << self.shift) - 1)) as i16 * ACROSS as i16;
        let down = (index >> self.shift) as i16 * TILE as i16;
        let nearest = |first: i16, count: i16| first.max(1 - count - first).max(0);
        let mut distances = [0; GROUP];
        for (lane, distance) in distances.iter_mut().enumerate() {
            let (x, y) = (self.x[lane] + right, self.y[lane] + down);
            *distance = (nearest(x, ACROSS as i16) + nearest(y, TILE as i16)) as u16;
        }
        distances
    }
}

/// A bit for each candidate in `window`, of the groups in the first column, the last column, the first row and the last
/// row of an area whose first group begins at `(x, y)`.
#[inline(always)]
fn inside(window: &Window, (x, y): (i32, i32), (columns, rows): (usize, usize)) -> [u32; 4] {
    /// The lanes of the columns from one on, and of the rows.
    const COLUMNS: [u32; ACROSS + 1] = lanes_from(true);
    const ROWS: [u32; ACROSS + 1] = lanes_from(false);
    let from = |lanes: &[u32; ACROSS + 1], first: i32| lanes[first.clamp(0, ACROSS as i32) as usize];
    let (last_x, last_y) = (x + ((columns - 1) * ACROSS) as i32, y + ((rows - 1) * TILE) as i32);
    [
        from(&COLUMNS, window.x0() - x),
        !from(&COLUMNS, window.x1() + 1 - last_x),
        from(&ROWS, window.y0() - y),
        !from(&ROWS, window.y1() + 1 - last_y),
    ]
}

impl CandidateGroup {
    /// The lane of the first of the candidates in `lanes`, in the order of candidates of equal cost.
    #[inline(always)]
    pub fn nearest(&self, lanes: u32) -> usize {
        if lanes.is_power_of_two() {
            return lanes.trailing_zeros() as usize;
        }
        // Row, then column, of each lane.
        const PLACES: [u16; GROUP] = places();
        let mut first = u16::MAX;
        for (lane, place) in PLACES.into_iter().enumerate() {
            let (x, y) = self.displacement(lane);
            // At most 10 further away than the nearest.
            let further = (x.unsigned_abs() + y.unsigned_abs() - self.distance) as u16;
            let order = further << GROUP.ilog2() | place;
            first = first.min(if lanes >> lane & 1 != 0 { order } else { u16::MAX });
        }
        let place = u32::from(first) % GROUP as u32;
        lane_at(place % ACROSS as u32, place / ACROSS as u32) as usize
    }

    /// A bit for the candidate displaced by `(x, y)`, if it is in this group.
    #[inline(always)]
    pub fn lane(&self, (x, y): (i32, i32)) -> u32 {
        let (x, y) = ((x - self.x) as u32, (y - self.y) as u32);
        let is_here = (x < ACROSS as u32) & (y < TILE as u32);
        u32::from(is_here) << lane_at(x % ACROSS as u32, y % TILE as u32)
    }

    /// The displacement of the candidate in `lane`.
    #[inline(always)]
    pub fn displacement(&self, lane: usize) -> (i32, i32) {
        (self.x + lane_x(lane), self.y + lane_y(lane))
    }
}

/// The index of the sample displaced by `(x, y)` from the one at `start`, in rows that are `pitch` apart.
#[inline(always)]
pub fn displaced(start: u32, (x, y): (i32, i32), pitch: u32) -> u32 {
    start.wrapping_add_signed(y.wrapping_mul(pitch as i32).wrapping_add(x))
}

/// The least distance from zero among `count` numbers from `first` on.
#[inline(always)]
fn nearest(first: i32, count: usize) -> u32 {
    let last = first + count as i32 - 1;
    first.max(-last).max(0) as u32
}

/// The column in its group of the candidate in lane `lane`.
#[inline(always)]
pub const fn lane_x(lane: usize) -> i32 {
    (lane / (TILE * TILE) * TILE + lane % TILE) as i32
}

/// Its row.
#[inline(always)]
pub const fn lane_y(lane: usize) -> i32 {
    (lane / TILE % TILE) as i32
}

/// The lane of the candidate in column `x` and row `y` of its group.
#[inline(always)]
const fn lane_at(x: u32, y: u32) -> u32 {
    const SIDE: u32 = TILE as u32;
    x / SIDE * (SIDE * SIDE) + y * SIDE + x % SIDE
}

/// The place of each lane in its group, counted row by row.
const fn places() -> [u16; GROUP] {
    let mut places = [0; GROUP];
    let mut lane = 0;
    while lane < GROUP {
        places[lane] = (lane_y(lane) as usize * ACROSS + lane_x(lane) as usize) as u16;
        lane += 1;
    }
    places
}

/// Element `i` has a bit for each candidate of a group whose column, or row, is `i` or more.
const fn lanes_from(columns: bool) -> [u32; ACROSS + 1] {
    let mut lanes = [0; ACROSS + 1];
    let mut first = 0;
    while first <= ACROSS {
        let mut lane = 0;
        while lane < GROUP {
            let place = if columns { lane_x(lane) } else { lane_y(lane) };
            if place >= first as i32 {
                lanes[first] |= 1 << lane;
            }
            lane += 1;
        }
        first += 1;
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::OrderKey;

    #[test]
    fn groups_that_are_put_are_those_of_their_places() {
        for (x0, x1, y0, y1) in
            [(-16, 16, -16, 16), (-5, 0, -3, 1), (0, 0, 0, 0), (-64, 64, -7, 30), (-300, 9, -5, 2)]
        {
            let window = Window::new(x0, x1, y0, y1).unwrap();
            for (x, y) in [(x0, y0), (x0 - 7, y0 - 3), (x0 - 3, y0 - 1)] {
                let (columns, rows) = ((x1 - x) as usize / ACROSS + 1, (y1 - y) as usize / TILE + 1);
                let inside = inside(&window, (x, y), (columns, rows));
                let shift = columns.next_power_of_two().max(8).ilog2();
                let area = GroupArea { window, columns, rows, x, y, shift, inside, ..GroupArea::default() };
                let (mut groups, distances) = (GroupList::<{ 2 * PUT }>::new(), area.distances());
                for first in (0..(rows << shift) as u32).step_by(GROUP) {
                    let expected: [u16; GROUP] =
                        std::array::from_fn(|i| area.distance_at(first + i as u32) as u16);
                    assert_eq!(distances.from(first), expected, "{window:?} {first}");
                }
                for first in (0..(rows << shift) as u32).step_by(PUT) {
                    let indices: [u32; PUT] = std::array::from_fn(|i| first + i as u32);
                    area.put_groups(&indices, PUT / 2, (5000, 100), &mut groups);
                    for (i, index) in (PUT / 2..).zip(indices) {
                        let (put, group) = (groups.get(i), area.group(index, (5000, 100)));
                        assert_eq!((put.x, put.y, put.distance), (group.x, group.y, group.distance));
                        assert_eq!(put.offset as i32, 5000 + 100 * put.y + put.x);
                        if !area.has(index) {
                            continue;
                        }
                        for lane in 0..GROUP {
                            let is_inside = window.contains(group.displacement(lane));
                            assert_eq!(put.inside >> lane & 1 != 0, is_inside, "{window:?} {index} {lane}");
                            assert_eq!(group.inside, put.inside);
                            assert_eq!(put.lane(group.displacement(lane)), 1 << lane);
                        }
                        assert_eq!(put.lane((put.x - 1, put.y)) | put.lane((put.x, put.y + TILE as i32)), 0);
                    }
                }
            }
        }
    }

    #[test]
    fn the_nearest_of_a_group_is_the_first_in_order() {
        let mut state = 1_u32;
        for (x, y) in (-20..20).flat_map(|x| [-9, -3, -2, -1, 0, 1, 5].map(|y| (x, y))) {
            let distance = nearest(x, ACROSS) + nearest(y, TILE);
            let group = CandidateGroup { x, y, distance, ..CandidateGroup::default() };
            for _ in 0..20 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let lanes = (state >> 7 & state) | 1 << (state >> 27);
                let displacements =
                    (0..GROUP).filter(|lane| lanes >> lane & 1 != 0).map(|lane| group.displacement(lane));
                let first = displacements.min_by_key(|(x, y)| OrderKey::new(0, *x, *y));
                assert_eq!(Some(group.displacement(group.nearest(lanes))), first, "{x} {y} {lanes:x}");
            }
        }
    }
}
