//! What hierarchical search is made of, for the oracle and the devices: its levels, its cells and its presets.

/// Samples on a side of a cell, the unit of hierarchical search on every level.
pub const CELL: usize = 8;

/// The most levels of a pyramid.
pub const MOST_LEVELS: usize = 8;

/// The shorter side of the coarsest level has at least this many samples, if the frame has.
const SHORTEST_SIDE: usize = 30;

/// Every whole displacement up to this many samples is a candidate on the coarsest level. (With 3 the field of a shift
/// by 64 samples in 584 x 388 is noise; with 6 and 8 it is exact, and nothing else changes.)
pub const COARSEST_RANGE: i32 = 8;

/// The neighbours of a cell, in the order in which they are tried.
pub const NEIGHBOURS: [(i32, i32); 8] =
    [(0, -1), (0, 1), (-1, 0), (1, 0), (-1, -1), (1, -1), (-1, 1), (1, 1)];

/// The longest distance between the vectors of neighbours that costs more than a shorter one, on level 0 and on each coarser
/// level, in quarter samples: motion may end at the edge of an object.
pub const MOST_DISTANCES: [i16; 2] = [24, 48];

/// The most candidates that are compared for a cell of level 0 in so many iterations.
#[inline]
pub const fn most_candidates(has_jumps: bool, iterations: usize) -> usize {
    // The parents; then neighbours, parent, mean and steps; at the end those beside the vector.
    4 + iterations * (4 + 1 + 1 + 4 + if has_jumps { 8 } else { 0 }) + 4
}

/// How much [`Algorithm::Hierarchical`](crate::Algorithm::Hierarchical) does for the truth of its vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Quality {
    /// Nearly as true as [`Quality::High`], in about two thirds of the time.
    #[default]
    Balanced,
    /// Half the time of [`Quality::Balanced`].
    Fast,
    /// The motion is searched both ways, which finds vectors where something is covered or uncovered.
    High,
}

/// The constants of a [`Quality`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The most that one sample adds to a cost on level 0, and on the coarser levels; 255 is no limit.
    pub cuts: [u8; 2],
    /// Whether cells two away are candidates on level 0 too.
    pub jumps_on_finest: bool,
    /// Iterations on level 0, and on each coarser level.
    pub iterations: [usize; 2],
    /// From this level up to the coarsest the motion of both frames is searched, and each field checked with the other.
    pub checked_from: usize,
}

impl Quality {
    /// The constants that it stands for.
    pub fn preset(self) -> Preset {
        match self {
            Quality::Fast => {
                Preset { cuts: [255, 255], jumps_on_finest: false, iterations: [3, 4], checked_from: 2 }
            }
            Quality::Balanced => {
                Preset { cuts: [16, 24], jumps_on_finest: true, iterations: [5, 4], checked_from: 1 }
            }
            Quality::High => Preset { checked_from: 0, ..Quality::Balanced.preset() },
        }
    }
}

/// The width and height of each level of a frame's pyramid, finest first.
pub fn level_sizes(width: usize, height: usize) -> impl Iterator<Item = (usize, usize)> {
    let shorter = width.min(height);
    let is_large_enough = move |level: &usize| *level == 0 || shorter >> level >= SHORTEST_SIDE;
    (0..MOST_LEVELS).take_while(is_large_enough).map(move |level| (width >> level, height >> level))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_end_where_a_side_gets_short() {
        let sizes = |width, height| level_sizes(width, height).collect::<Vec<_>>();
        assert_eq!(sizes(1, 1), [(1, 1)]);
        assert_eq!(sizes(500, 59), [(500, 59)]);
        assert_eq!(sizes(61, 60), [(61, 60), (30, 30)]);
        assert_eq!(sizes(1920, 1080).last(), Some(&(60, 33)));
        assert_eq!(sizes(32768, 32768).len(), MOST_LEVELS);
    }
}
