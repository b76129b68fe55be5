//! Connected cells, and the boxes of what they show.

/// The distance of cells, in samples. A cell has twice this side.
pub const STEP: usize = 2;

/// What is known of the cells of a frame.
#[derive(Clone, Copy)]
pub struct Cells<'a> {
    /// Cells a row.
    pub columns: usize,
    /// How surely each shows something else than the scene.
    pub sure: &'a [f32],
    /// The same for what only extends a region.
    pub likely: &'a [f32],
    /// The same of each sample.
    pub samples: &'a [f32],
    /// Samples a row.
    pub width: usize,
}

/// The most boxes of a frame.
pub const MOST_BOXES: usize = 64;

/// Parts of one object are no farther apart than this share of the smaller one, on each axis for itself: people who walk side by side are
/// narrower than high. At least so many samples count as near.
const NEAR: f64 = 0.25;
pub const LEAST_NEAR: f64 = 2.0;

/// A part of the frame that shows something else than the scene, in samples of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Blob {
    /// The left edge.
    pub x: f64,
    /// The upper edge.
    pub y: f64,
    /// Samples across.
    pub width: f64,
    /// Samples down.
    pub height: f64,
    /// The samples in it that show something else than the scene: between two flakes of snow that fall together there are none.
    pub samples: f64,
    /// The surest of its cells, in standard deviations.
    pub peak: f32,
    /// Whether something is often seen there of which nothing comes.
    pub is_usual: bool,
    /// How much its samples have changed since the frame before, on average; infinite where that cannot be said, as the camera has moved.
    pub change: f32,
}

impl Blob {
    /// Its middle.
    pub fn middle(&self) -> (f64, f64) {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }

    /// Samples.
    pub fn area(&self) -> f64 {
        self.width * self.height
    }

    /// The samples that both have.
    pub fn overlap(&self, other: &Self) -> f64 {
        let across = (self.x + self.width).min(other.x + other.width) - self.x.max(other.x);
        let down = (self.y + self.height).min(other.y + other.height) - self.y.max(other.y);
        across.max(0.0) * down.max(0.0)
    }

    /// The smallest box with both.
    pub fn union(&self, other: &Self) -> Self {
        let (x, y) = (self.x.min(other.x), self.y.min(other.y));
        Self {
            x,
            y,
            width: (self.x + self.width).max(other.x + other.width) - x,
            height: (self.y + self.height).max(other.y + other.height) - y,
            samples: self.samples + other.samples,
            peak: self.peak.max(other.peak),
            is_usual: self.is_usual || other.is_usual,
            change: self.change.max(other.change),
        }
    }

    /// Moves and shrinks it into `other`.
    pub fn confine(&mut self, other: &Self) {
        (self.width, self.height) = (self.width.min(other.width), self.height.min(other.height));
        // Rounding may let the end lie before the start.
        self.x = self.x.min(other.x + other.width - self.width).max(other.x);
        self.y = self.y.min(other.y + other.height - self.height).max(other.y);
    }

    /// Samples between both across and down; not above 0 where they touch or overlap on that axis.
    pub fn gaps(&self, other: &Self) -> (f64, f64) {
        let across = self.x.max(other.x) - (self.x + self.width).min(other.x + other.width);
        let down = self.y.max(other.y) - (self.y + self.height).min(other.y + other.height);
        (across, down)
    }
}

/// What a cell must have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// One cell of a region has at least this.
    pub seed: f32,
    /// All cells of a region have at least this.
    pub member: f32,
}

/// Connected cells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Component {
    /// The first and the last column and row.
    pub left: u32,
    pub right: u32,
    pub top: u32,
    pub bottom: u32,
    pub peak: f32,
    pub cells: u32,
}

/// A run of cells of a row.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    first: u32,
    last: u32,
    /// The run that it is connected with, or itself.
    parent: u32,
}

/// Finds regions in the cells of frames of one size.
pub struct RegionFinder {
    runs: Vec<Run>,
    /// The component of each run that is a root.
    components: Vec<Component>,
    across: Vec<u32>,
    down: Vec<u32>,
    /// Those of the frame.
    pub blobs: Vec<Blob>,
}

impl RegionFinder {
    /// For so many cells, of frames of this size.
    pub fn new((columns, rows): (usize, usize), (width, height): (usize, usize)) -> Self {
        let runs = columns.div_ceil(2) * rows;
        Self {
            runs: Vec::with_capacity(runs),
            components: Vec::with_capacity(runs),
            across: vec![0; width],
            down: vec![0; height],
            blobs: Vec::with_capacity(MOST_BOXES),
        }
    }

    fn root(runs: &mut [Run], mut index: usize) -> usize {
        while runs[index].parent as usize != index {
            runs[index].parent = runs[runs[index].parent as usize].parent;
            index = runs[index].parent as usize;
        }
        index
    }

    /// Connects cells of at least `member`, across, down and diagonally, to components, of which one cell has at least `seed`.
    fn connect(&mut self, sure: &[f32], likely: &[f32], columns: usize, thresholds: Thresholds) {
        let Self { runs, components, .. } = self;
        runs.clear();
        components.clear();
        let mut above = 0..0;
        for (y, (sure, likely)) in sure.chunks_exact(columns).zip(likely.chunks_exact(columns)).enumerate() {
            let start = runs.len();
            let mut candidate = above.start;
            let mut x = 0;
            while x < columns {
                if likely[x] < thresholds.member {
                    x += 1;
                    continue;
                }
                let first = x;
                let mut peak = 0.0f32;
                while x < columns && likely[x] >= thresholds.member {
                    peak = peak.max(sure[x]);
                    x += 1;
                }
                let last = x - 1;
                let index = runs.len();
                runs.push(Run { first: first as u32, last: last as u32, parent: index as u32 });
                components.push(Component {
                    left: first as u32,
                    right: last as u32,
                    top: y as u32,
                    bottom: y as u32,
                    peak,
                    cells: (last - first + 1) as u32,
                });
                while candidate < above.end && (runs[candidate].last as usize + 1) < first {
                    candidate += 1;
                }
                let mut other = candidate;
                while other < above.end && runs[other].first as usize <= last + 1 {
                    let (a, b) = (Self::root(runs, other), Self::root(runs, index));
                    let (root, leaf) = (a.min(b), a.max(b));
                    if root != leaf {
                        runs[leaf].parent = root as u32;
                        let leaf = components[leaf];
                        let root = &mut components[root];
                        root.left = root.left.min(leaf.left);
                        root.right = root.right.max(leaf.right);
                        root.top = root.top.min(leaf.top);
                        root.bottom = root.bottom.max(leaf.bottom);
                        root.peak = root.peak.max(leaf.peak);
                        root.cells += leaf.cells;
                    }
                    other += 1;
                }
            }
            above = start..runs.len();
        }
        let mut index = 0;
        components.retain(|component| {
            let is_root = runs[index].parent as usize == index;
            index += 1;
            is_root && component.peak >= thresholds.seed
        });
        components.sort_unstable_by(|a, b| {
            b.peak.total_cmp(&a.peak).then(b.cells.cmp(&a.cells)).then((a.top, a.left).cmp(&(b.top, b.left)))
        });
        components.truncate(MOST_BOXES);
    }

    /// The components of cells, those of the surest cells first.
    #[cfg(test)]
    pub(crate) fn components(
        &mut self,
        sure: &[f32],
        likely: &[f32],
        columns: usize,
        thresholds: Thresholds,
    ) -> &[Component] {
        self.connect(sure, likely, columns, thresholds);
        &self.components
    }

    /// Finds the regions of a frame.
    pub fn find(&mut self, cells: &Cells<'_>, thresholds: Thresholds) {
        self.connect(cells.sure, cells.likely, cells.columns, thresholds);
        self.blobs.clear();
        for index in 0..self.components.len() {
            let blob = self.trimmed(self.components[index], cells.samples, cells.width);
            self.blobs.push(blob);
        }
        join(&mut self.blobs);
    }

    /// The box of the samples of a component: cells reach beyond them.
    fn trimmed(&mut self, component: Component, samples: &[f32], width: usize) -> Blob {
        let Component { left, right, top, bottom, peak, .. } = component;
        let columns = left as usize * STEP..(right as usize + 2) * STEP;
        let rows = top as usize * STEP..(bottom as usize + 2) * STEP;
        let across = &mut self.across[columns.clone()];
        let down = &mut self.down[rows.clone()];
        across.fill(0);
        for (y, down) in rows.clone().zip(down.iter_mut()) {
            let mut row = 0;
            for (across, &sample) in across.iter_mut().zip(&samples[y * width..][columns.clone()]) {
                let surplus = surplus(sample);
                *across += surplus;
                row += surplus;
            }
            *down = row;
        }
        let ends = |sums: &[u32]| {
            let least = sums.iter().copied().max().unwrap_or(0).div_ceil(4).max(1);
            let first = sums.iter().position(|&sum| sum >= least);
            let last = sums.iter().rposition(|&sum| sum >= least);
            (first.unwrap_or(0), last.unwrap_or(sums.len() - 1))
        };
        let ((first_x, last_x), (first_y, last_y)) = (ends(across), ends(down));
        let mut count = 0;
        for y in rows.start + first_y..=rows.start + last_y {
            let row = &samples[y * width..][columns.start + first_x..=columns.start + last_x];
            count += row.iter().filter(|&&sample| surplus(sample) > 0).count();
        }
        Blob {
            x: (columns.start + first_x) as f64,
            y: (rows.start + first_y) as f64,
            width: (last_x - first_x + 1) as f64,
            height: (last_y - first_y + 1) as f64,
            samples: count as f64,
            peak,
            is_usual: false,
            change: 0.0,
        }
    }
}

/// Twice the deviations of a sample that exceed one and a half, in whole numbers.
fn surplus(sample: f32) -> u32 {
    ((sample - 1.5).max(0.0) * 2.0) as u32
}

/// Joins boxes between which there is little: parts of one object.
fn join(blobs: &mut Vec<Blob>) {
    let mut first = 0;
    while first < blobs.len() {
        let other = (first + 1..blobs.len()).find(|&other| {
            let (a, b) = (&blobs[first], &blobs[other]);
            let is_near = |gap: f64, a: f64, b: f64| gap <= (NEAR * a.min(b)).max(LEAST_NEAR);
            let (across, down) = a.gaps(b);
            is_near(across, a.width, b.width) && is_near(down, a.height, b.height)
        });
        match other {
            Some(other) => {
                blobs[first] = blobs[first].union(&blobs[other]);
                blobs.remove(other);
                // It may be near others now.
                first = 0;
            }
            None => first += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flood fill, cell by cell.
    fn oracle(
        sure: &[f32],
        likely: &[f32],
        columns: usize,
        thresholds: Thresholds,
    ) -> Vec<(u32, u32, u32, u32, u32)> {
        let rows = sure.len() / columns;
        let mut is_done = vec![false; sure.len()];
        let mut found = Vec::new();
        for start in 0..sure.len() {
            if is_done[start] || likely[start] < thresholds.member {
                continue;
            }
            let (mut stack, mut cells) = (vec![start], Vec::new());
            is_done[start] = true;
            while let Some(cell) = stack.pop() {
                cells.push(cell);
                let (x, y) = (cell % columns, cell / columns);
                for near_y in y.saturating_sub(1)..(y + 2).min(rows) {
                    for near_x in x.saturating_sub(1)..(x + 2).min(columns) {
                        let near = near_y * columns + near_x;
                        if !is_done[near] && likely[near] >= thresholds.member {
                            is_done[near] = true;
                            stack.push(near);
                        }
                    }
                }
            }
            if cells.iter().any(|&cell| sure[cell] >= thresholds.seed) {
                let x = || cells.iter().map(|cell| (cell % columns) as u32);
                let y = || cells.iter().map(|cell| (cell / columns) as u32);
                let ends = (x().min().unwrap(), x().max().unwrap(), y().min().unwrap(), y().max().unwrap());
                found.push((ends.0, ends.1, ends.2, ends.3, cells.len() as u32));
            }
        }
        found.sort_unstable();
        found
    }

    #[test]
    fn components_are_those_of_a_flood_fill() {
        let mut random = fastrand::Rng::with_seed(1);
        let thresholds = Thresholds { seed: 6.0, member: 3.0 };
        for _ in 0..200 {
            let (columns, rows) = (random.usize(1..40), random.usize(1..30));
            let density = random.f32();
            let sure: Vec<_> = (0..columns * rows)
                .map(|_| if random.f32() < density { random.f32() * 8.0 } else { 0.0 })
                .collect();
            let likely: Vec<_> =
                sure.iter().map(|&sure| if random.bool() { sure } else { sure + 2.0 }).collect();
            let mut finder = RegionFinder::new((columns, rows), (2 * columns + 2, 2 * rows + 2));
            let found = finder.components(&sure, &likely, columns, thresholds);
            let mut found: Vec<_> =
                found.iter().map(|c| (c.left, c.right, c.top, c.bottom, c.cells)).collect();
            found.sort_unstable();
            let expected = oracle(&sure, &likely, columns, thresholds);
            if expected.len() <= MOST_BOXES {
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn boxes_that_nearly_touch_are_joined() {
        let at = |x: f64, y: f64| Blob { x, y, width: 4.0, height: 4.0, ..Blob::default() };
        let mut blobs = vec![at(0.0, 0.0), at(40.0, 0.0), at(5.0, 5.0), at(10.0, 10.0)];
        join(&mut blobs);
        let all = Blob { width: 14.0, height: 14.0, ..at(0.0, 0.0) };
        assert_eq!(blobs, [all, at(40.0, 0.0)]);
        // Two people side by side, and the upper and lower half of one.
        let tall = |x: f64, y: f64| Blob { height: 20.0, ..at(x, y) };
        let mut blobs = vec![tall(0.0, 0.0), tall(8.0, 0.0)];
        join(&mut blobs);
        assert_eq!(blobs, [tall(0.0, 0.0), tall(8.0, 0.0)]);
        let mut blobs = vec![tall(0.0, 0.0), tall(0.0, 24.0)];
        join(&mut blobs);
        assert_eq!(blobs, [Blob { height: 44.0, ..tall(0.0, 0.0) }]);
    }

    #[test]
    fn between_two_flakes_in_one_box_nothing_counts() {
        let (columns, rows) = (20, 12);
        let (width, height) = (2 * columns + 2, 2 * rows + 2);
        let mut samples = vec![0.5; width * height];
        for (left, top) in [(10, 10), (15, 12)] {
            for y in top..top + 3 {
                samples[y * width + left..y * width + left + 3].fill(4.0);
            }
        }
        // Cells of 4 x 4 samples that have one of them.
        let mut sure = vec![0.0; columns * rows];
        for (at, sure) in sure.iter_mut().enumerate() {
            let (x, y) = (STEP * (at % columns), STEP * (at / columns));
            let is_flake = (y..y + 4).any(|y| samples[y * width + x..y * width + x + 4].contains(&4.0));
            *sure = if is_flake { 8.0 } else { 0.0 };
        }
        let mut finder = RegionFinder::new((columns, rows), (width, height));
        let cells = Cells { columns, sure: &sure, likely: &sure, samples: &samples, width };
        finder.find(&cells, Thresholds { seed: 6.0, member: 3.0 });
        let [blob] = finder.blobs[..] else { panic!("{:?}", finder.blobs) };
        assert_eq!((blob.area(), blob.samples), (8.0 * 5.0, 18.0));
    }
}
