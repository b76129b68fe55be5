//! What the levels of a pyramid are, and how they are searched.

use crate::native::hierarchical::grid::CellGrid;
use motion_base::hierarchy::{CELL, MOST_DISTANCES, Preset};
use motion_base::pyramid::planes::LevelLayout;

/// Vectors reach this far beyond the frame, from the centre of a cell.
const BEYOND: i32 = CELL as i32;

/// Quarter samples of a sample.
const QUARTERS: i32 = 4;

/// What a level of a pyramid is, and how it is searched.
#[derive(Clone, Copy, Debug)]
pub struct LevelRules {
    /// 0 is the finest.
    pub index: usize,
    /// Whether there is no coarser one.
    pub is_coarsest: bool,
    /// The planes of its frames.
    pub layout: LevelLayout,
    /// Its cells.
    pub grid: CellGrid,
    /// The most that a sample adds to a cost.
    pub cut: u8,
    /// Whether cells two away are candidates.
    pub jumps: bool,
    /// How often each cell chooses anew.
    pub iterations: usize,
    /// Neighbours count as at most this far away.
    pub most_distance: i16,
    /// Whether each vector compensates the brightness, and not each cell.
    pub brightness_of_vectors: bool,
    /// Whether the motion of both frames is searched.
    pub both_ways: bool,
}

impl LevelRules {
    /// Level `index` of `count`, for frames of this size on the level.
    pub fn new(preset: &Preset, (index, count): (usize, usize), (width, height): (usize, usize)) -> Self {
        let (is_finest, is_coarsest) = (index == 0, index + 1 == count);
        Self {
            index,
            is_coarsest,
            layout: LevelLayout::new(width, height),
            grid: CellGrid::new(width, height),
            cut: preset.cuts[usize::from(!is_finest)],
            jumps: !is_finest || preset.jumps_on_finest,
            iterations: preset.iterations[usize::from(!is_finest)],
            most_distance: MOST_DISTANCES[usize::from(!is_finest)],
            brightness_of_vectors: !is_finest || is_coarsest,
            both_ways: index >= preset.checked_from,
        }
    }

    /// The least and the largest component, in quarter samples, of a vector of the cells in `column`.
    #[inline(always)]
    pub fn bounds_across(&self, column: usize) -> [i16; 2] {
        bounds(column, self.layout.width)
    }

    /// The same down, of the cells in `row`.
    #[inline(always)]
    pub fn bounds_down(&self, row: usize) -> [i16; 2] {
        bounds(row, self.layout.height)
    }

    /// The vector of the cell at `column`, `row` that is nearest to `vector`.
    #[inline(always)]
    pub fn clamped(&self, (column, row): (usize, usize), vector: (i32, i32)) -> (i32, i32) {
        let clamp = |v: i32, [least, most]: [i16; 2]| v.max(least.into()).min(most.into());
        (clamp(vector.0, self.bounds_across(column)), clamp(vector.1, self.bounds_down(row)))
    }
}

/// The bounds of a component of a cell's vectors. No vector gets as long as 16 bits can hold (see
/// [`CellVectors`]), so that bounds beyond them change nothing.
#[inline(always)]
fn bounds(cell: usize, length: usize) -> [i16; 2] {
    let centre = (cell * CELL + CELL / 2) as i32;
    let bound = |distance: i32| (QUARTERS * distance).clamp(i16::MIN.into(), i16::MAX.into()) as i16;
    [bound(-BEYOND - centre), bound(length as i32 + BEYOND - centre)]
}
