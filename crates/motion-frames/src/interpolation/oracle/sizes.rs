//! How frames are halved for the search, and how they and their planes are divided.

use super::super::SEARCHED_SAMPLES;
use super::super::rules::BLOCK;
use crate::compensation::Sampling;
use motion_base::Grid;

/// How often a frame of this size is halved to be searched.
pub(super) fn halvings(size: (usize, usize)) -> u32 {
    halvings_to(size, SEARCHED_SAMPLES)
}

/// How often a frame of this size is halved to have at most so many samples.
pub(crate) fn halvings_to(size: (usize, usize), most: usize) -> u32 {
    let mut halvings = 0;
    loop {
        let (width, height) = halved(size, halvings);
        if width * height <= most {
            return halvings;
        }
        halvings += 1;
    }
}

/// The size of a frame that was halved so often. Of an odd number of columns, or rows, the last one is halved with itself.
pub(super) fn halved((mut width, mut height): (usize, usize), halvings: u32) -> (usize, usize) {
    for _ in 0..halvings {
        width = width / 2 + width % 2;
        height = height / 2 + height % 2;
    }
    (width, height)
}

/// The blocks of a frame. The last ones may be incomplete.
pub(super) fn grid((width, height): (usize, usize)) -> Grid {
    Grid { columns: parts(width, BLOCK), rows: parts(height, BLOCK) }
}

/// The blocks of the frame that is searched in place of one of this size: a field has a vector for each.
pub(super) fn searched_grid(size: (usize, usize)) -> Grid {
    grid(halved(size, halvings(size)))
}

/// The coarse blocks of a frame with these blocks. A half of a coarse block is `halves` blocks wide and high.
pub(super) fn coarse_grid(blocks: Grid, halves: usize) -> Grid {
    Grid { columns: parts(blocks.columns, 2 * halves), rows: parts(blocks.rows, 2 * halves) }
}

/// How many parts of this length cover `length`.
fn parts(length: usize, part: usize) -> usize {
    let mut parts = 0;
    while parts * part < length {
        parts += 1;
    }
    parts
}

/// The width and height of a block in a plane.
pub(super) fn block_sides(sampling: Sampling) -> (usize, usize) {
    let side = |is_halved: bool| if is_halved { BLOCK / 2 } else { BLOCK };
    (side(sampling.halved_x), side(sampling.halved_y))
}

/// Whether a plane is predicted with the six-tap filter. The first one is luma, and the next two are chroma, or the next one if
/// it holds both components. Those behind are alpha and colours.
pub(super) fn is_like_luma(plane: usize, sampling: Sampling) -> bool {
    match plane {
        0 => true,
        1 | 2 => false,
        _ => !sampling.halved_x && !sampling.halved_y && !sampling.interleaved,
    }
}

/// The first two components of the planes of chroma, as the plane and the number in it.
pub(super) fn chroma_components(samplings: &[Sampling]) -> Vec<(usize, usize)> {
    let mut components = Vec::new();
    for (plane, sampling) in samplings.iter().enumerate() {
        components.push((plane, 0));
        if sampling.interleaved {
            components.push((plane, 1));
        }
    }
    components.truncate(2);
    components
}
