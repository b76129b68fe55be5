//! How surely cells of a frame show something else than the scene.

use motion_base::simd::{InstructionSet, Instructions, Work};
use motion_base::{SetupError, memory};

use crate::light::Light;
use crate::regions::{Blob, Cells, STEP};
use crate::scene::{DEVIATION, Scene};

/// A residual counts at most so many standard deviations: no single sample decides.
pub const MOST: f32 = 4.0;

/// What cells were in so many seconds is learned as many seconds later: what has just been seen may become a region yet.
const PERIOD: f32 = 0.2;

/// Seconds for which it is remembered.
const HABIT: f32 = 120.0;

/// Periods for which nothing is learned where an object was, this one and the next: what cells were in one is learned at the end of the next.
const TOUCHED: u8 = 2;

/// By how much a cell must be surer than before.
const MARGIN: f32 = 1.15;

/// How much surer than a region needs a cell is often: where a quarter of a box is, only what travels begins.
const USUAL: f32 = 1.9;

/// Cells around one that learn with it.
const REACH: usize = 2;

/// How residuals of a frame are judged.
#[derive(Clone, Copy, Debug)]
pub struct Judging {
    /// The standard deviation of the noise.
    pub noise: f32,
    /// The share of the texture that a sample may be off, because it is not exactly where it was.
    pub displacement: f32,
    /// The share of a local change of light that a sample may be off.
    pub lighting: f32,
    /// Whether the scene's light is settling.
    pub is_settling: bool,
}

/// Residuals, and the evidence of cells.
pub struct Evidence {
    instructions: Instructions,
    size: (usize, usize),
    /// Sums of 2 x 2 samples across and down.
    blocks: (usize, usize),
    /// Cells across and down.
    pub cells: (usize, usize),
    /// What is expected to be seen, with the light of each place.
    pub expected: Vec<f32>,
    /// How surely each sample is something else, in standard deviations: the larger of the residuals with the light of its place
    /// and with that of the frame.
    pub samples: Vec<f32>,
    /// Of each 2 x 2 samples the sums of residuals, of their squares, and of the residuals with the light of the whole frame.
    sums: [Vec<f32>; 3],
    /// How far the sum of the residuals of each cell, and that of their squares, are from what independent noise gives.
    statistics: [Vec<f32>; 2],
    /// How much these vary without an object.
    usual: [Vec<f32>; 2],
    /// The frames that this was learned from.
    learned: f32,
    /// How much surer a cell must be than usual, because it has been that sure before and nothing came of it.
    habit: Vec<f32>,
    /// The surest that each cell was in this period and the last.
    recent: [Vec<f32>; 2],
    /// For how many periods nothing is learned in each cell, as an object was there.
    touched: Vec<u8>,
    /// Seconds of this period.
    period: f32,
    /// How surely each cell shows something else, in standard deviations.
    pub sure: Vec<f32>,
    /// The same with the light of the whole frame, that only extends what is found by `sure`.
    pub likely: Vec<f32>,
    rows: [Vec<f32>; 3],
}

impl Evidence {
    /// For a model of this size.
    ///
    /// # Errors
    /// [`SetupError::Memory`] if there is too little.
    pub fn new(size: (usize, usize), instructions: Instructions) -> Result<Self, SetupError> {
        let (width, height) = size;
        let blocks = (width / STEP, height / STEP);
        let cells = (blocks.0 - 1, blocks.1 - 1);
        let what = "the evidence of a frame";
        let row = || memory::values(what, width);
        let sums = || memory::values(what, blocks.0 * blocks.1);
        let of_cells = || memory::values(what, cells.0 * cells.1);
        let mut evidence = Self {
            instructions,
            size,
            blocks,
            cells,
            expected: memory::values(what, width * height)?,
            samples: memory::values(what, width * height)?,
            sums: [sums()?, sums()?, sums()?],
            statistics: [of_cells()?, of_cells()?],
            usual: [of_cells()?, of_cells()?],
            learned: 0.0,
            habit: of_cells()?,
            recent: [of_cells()?, of_cells()?],
            touched: memory::values(what, cells.0 * cells.1)?,
            period: 0.0,
            sure: of_cells()?,
            likely: of_cells()?,
            rows: [row()?, row()?, row()?],
        };
        evidence.restart();
        Ok(evidence)
    }

    /// Forgets how much cells vary.
    pub fn restart(&mut self) {
        self.usual.iter_mut().for_each(|usual| usual.fill(1.0));
        self.habit.fill(1.0);
        self.recent.iter_mut().for_each(|recent| recent.fill(0.0));
        self.touched.fill(0);
        (self.learned, self.period) = (0.0, 0.0);
    }

    /// Finds how surely each cell shows something else than the scene.
    pub fn measure(&mut self, scene: &Scene, light: &Light, seen: &[f32], is_seen: &[u8], judging: &Judging) {
        let instructions = self.instructions;
        let (width, height) = self.size;
        let floor = (0.9 * judging.noise).max(0.7);
        self.sums.iter_mut().for_each(|sums| sums.fill(0.0));
        let (blocks, rows) = self.blocks;
        for y in 0..height {
            let row = y * width..(y + 1) * width;
            let [gain, offset, local] = &mut self.rows;
            light.row(y, gain, offset, local);
            // A last row that has no other one is in no cell.
            let count = if y / STEP < rows { blocks } else { 0 };
            let of_blocks = y / STEP * blocks..y / STEP * blocks + count;
            instructions.run(Row {
                gain,
                offset,
                mean: &scene.mean[row.clone()],
                spread: &scene.spread[row.clone()],
                texture: &scene.texture[row.clone()],
                age: &scene.age[row.clone()],
                seen: &seen[row.clone()],
                is_seen: &is_seen[row.clone()],
                expected: &mut self.expected[row.clone()],
                samples: &mut self.samples[row],
                local,
                sums: self.sums.each_mut().map(|sums| &mut sums[of_blocks.clone()]),
                global: light.global,
                floor,
                judging,
            });
        }
        self.judge(judging.is_settling);
    }

    fn judge(&mut self, is_settling: bool) {
        let (columns, rows) = self.cells;
        for y in 0..rows {
            let blocks = |row: usize| row * self.blocks.0..(row + 1) * self.blocks.0;
            let cells = y * columns..(y + 1) * columns;
            self.instructions.run(CellRow {
                upper: self.sums.each_ref().map(|sums| &sums[blocks(y)]),
                lower: self.sums.each_ref().map(|sums| &sums[blocks(y + 1)]),
                usual: self.usual.each_ref().map(|usual| &usual[cells.clone()]),
                habit: &self.habit[cells.clone()],
                statistics: self.statistics.each_mut().map(|found| &mut found[cells.clone()]),
                recent: &mut self.recent[0][cells.clone()],
                sure: &mut self.sure[cells.clone()],
                likely: &mut self.likely[cells],
                is_settling,
            });
        }
    }

    /// Learns how much cells vary where there is no object. `rate` is the share of this frame.
    pub fn learn(&mut self, is_object: &[u8], rate: f32) {
        let (columns, rows) = self.cells;
        self.learned += 1.0;
        let rate = rate.max(1.0 / (self.learned + 8.0));
        for y in 0..rows {
            let cells = y * columns..(y + 1) * columns;
            let is_object = &is_object[y * self.blocks.0..][..columns];
            for (usual, found) in self.usual.iter_mut().zip(&self.statistics) {
                let (usual, found) = (&mut usual[cells.clone()], &found[cells.clone()]);
                self.instructions.run(UsualRow { usual, found, is_object, rate });
            }
        }
    }

    /// At the end of each period, learns where cells were sure in the one before and nothing came of it. What is as sure as it has been
    /// before is no more than usual there: leaves, rain, a lamp that flickers. `seed` is what a region begins with.
    pub fn learn_habits(&mut self, elapsed: f32, seed: f32) {
        self.period += elapsed;
        if self.period < PERIOD {
            return;
        }
        let kept = (1.0 - self.period / HABIT).max(0.0);
        let (columns, rows) = self.cells;
        for habit in &mut self.habit {
            *habit = (1.0 + (*habit - 1.0) * kept).max(1.0);
        }
        for y in 0..rows {
            for x in 0..columns {
                let at = y * columns + x;
                let surest = MARGIN * self.recent[1][at] / seed;
                if self.touched[at] != 0 || surest <= 1.0 {
                    continue;
                }
                for y in y.saturating_sub(REACH)..(y + REACH + 1).min(rows) {
                    let row =
                        y * columns + x.saturating_sub(REACH)..y * columns + (x + REACH + 1).min(columns);
                    for habit in &mut self.habit[row] {
                        *habit = habit.max(surest);
                    }
                }
            }
        }
        self.recent.swap(0, 1);
        self.recent[0].fill(0.0);
        self.touched.iter_mut().for_each(|periods| *periods = periods.saturating_sub(1));
        self.period = 0.0;
    }

    /// Whether a quarter of the cells of `blob`, at a place of the model, are often much surer than a region needs without that something comes of it.
    pub fn is_usual(&self, blob: &Blob) -> bool {
        let at = |place: f64, most: usize| ((place / STEP as f64).max(0.0) as usize).min(most - 1);
        let columns = at(blob.x, self.cells.0)..at(blob.x + blob.width, self.cells.0) + 1;
        let (mut usual, mut count) = (0, 0);
        for y in at(blob.y, self.cells.1)..at(blob.y + blob.height, self.cells.1) + 1 {
            let row = &self.habit[y * self.cells.0..][columns.clone()];
            usual += row.iter().filter(|&&habit| habit > USUAL).count();
            count += row.len();
        }
        4 * usual > count
    }

    /// Marks a rectangle of cells, in samples of the model, as one in which an object was.
    pub fn touch(&mut self, x: std::ops::Range<f64>, y: std::ops::Range<f64>) {
        let at = |place: f64, most: usize| ((place / STEP as f64).max(0.0) as usize).min(most);
        let columns = at(x.start - 4.0, self.cells.0)..at(x.end + 4.0, self.cells.0);
        for y in at(y.start - 4.0, self.cells.1)..at(y.end + 4.0, self.cells.1) {
            self.touched[y * self.cells.0 + columns.start..y * self.cells.0 + columns.end.max(columns.start)]
                .fill(TOUCHED);
        }
    }

    /// What is known of the cells.
    pub fn as_cells(&self) -> Cells<'_> {
        let Self { sure, likely, samples, .. } = self;
        Cells { columns: self.cells.0, sure, likely, samples, width: self.size.0 }
    }

    /// Sums of 2 x 2 samples across and down.
    pub fn blocks(&self) -> (usize, usize) {
        self.blocks
    }
}

/// A row of samples and what is known of them.
struct Row<'a> {
    gain: &'a [f32],
    offset: &'a [f32],
    mean: &'a [f32],
    spread: &'a [f32],
    texture: &'a [f32],
    age: &'a [f32],
    seen: &'a [f32],
    is_seen: &'a [u8],
    expected: &'a mut [f32],
    samples: &'a mut [f32],
    /// How far the light is from that of the frame; then the residuals with that.
    local: &'a mut [f32],
    /// Of each 2 x 2 samples, of this row and the other one.
    sums: [&'a mut [f32]; 3],
    global: (f32, f32),
    floor: f32,
    judging: &'a Judging,
}

impl<E: InstructionSet> Work<E> for Row<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        let Row { gain, offset, mean, spread, texture, age, seen, is_seen, expected, samples, local, .. } =
            self;
        let width = gain.len();
        // With lengths that the compiler knows to be the same.
        let (offset, mean, spread, texture) =
            (&offset[..width], &mean[..width], &spread[..width], &texture[..width]);
        let (age, seen, is_seen) = (&age[..width], &seen[..width], &is_seen[..width]);
        let (expected, samples, local) = (&mut expected[..width], &mut samples[..width], &mut local[..width]);
        for x in 0..width {
            let counts = f32::from(is_seen[x]) * age[x].min(1.0);
            let here = (gain[x] * mean[x] + offset[x]).clamp(0.0, 255.0);
            let tolerance = (DEVIATION * spread[x]).max(self.floor)
                + self.judging.displacement * texture[x]
                + self.judging.lighting * local[x];
            expected[x] = here;
            let share = counts / tolerance;
            samples[x] = ((seen[x] - here) * share).clamp(-MOST, MOST);
            // The light of the place may be that of the object.
            let whole = (self.global.0 * mean[x] + self.global.1).clamp(0.0, 255.0);
            local[x] = ((seen[x] - whole) * share).clamp(-MOST, MOST);
        }
        let [sums, squares, wholes] = self.sums;
        let count = sums.len();
        let (squares, wholes) = (&mut squares[..count], &mut wholes[..count]);
        let (pairs, whole_pairs) =
            (&samples.as_chunks::<STEP>().0[..count], &local.as_chunks::<STEP>().0[..count]);
        for at in 0..count {
            let ([first, second], [whole, other]) = (pairs[at], whole_pairs[at]);
            sums[at] += first + second;
            squares[at] += first * first + second * second;
            wholes[at] += whole + other;
        }
        let share = if self.judging.is_settling { 0.0 } else { 1.0 };
        for x in 0..width {
            samples[x] = samples[x].abs().max(share * local[x].abs());
        }
    }
}

/// A row of cells, and the sums of their upper and their lower half.
struct CellRow<'a> {
    upper: [&'a [f32]; 3],
    lower: [&'a [f32]; 3],
    usual: [&'a [f32]; 2],
    habit: &'a [f32],
    statistics: [&'a mut [f32]; 2],
    recent: &'a mut [f32],
    sure: &'a mut [f32],
    likely: &'a mut [f32],
    is_settling: bool,
}

impl<E: InstructionSet> Work<E> for CellRow<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        let count = self.habit.len();
        let (habit, recent) = (&self.habit[..count], &mut self.recent[..count]);
        let (sure, likely) = (&mut self.sure[..count], &mut self.likely[..count]);
        let [usual_mean, usual_energy] = self.usual.map(|usual| &usual[..count]);
        let [means, energies] = self.statistics.map(|found| &mut found[..count]);
        let [upper, lower] = [self.upper, self.lower].map(|sums| sums.map(|sums| &sums[..count + 1]));
        let whole_share = if self.is_settling { 0.0 } else { 0.25 };
        for x in 0..count {
            let sum =
                |index: usize| upper[index][x] + upper[index][x + 1] + lower[index][x] + lower[index][x + 1];
            let [mean, energy] = statistics(sum(0), sum(1));
            (means[x], energies[x]) = (mean, energy);
            let surest = (mean / usual_mean[x]).max(energy / usual_energy[x]);
            recent[x] = recent[x].max(surest);
            sure[x] = surest / habit[x];
            likely[x] = sure[x].max(whole_share * sum(2).abs() / (usual_mean[x] * habit[x]));
        }
    }
}

/// A row of what cells usually are.
struct UsualRow<'a> {
    usual: &'a mut [f32],
    found: &'a [f32],
    is_object: &'a [u8],
    rate: f32,
}

impl<E: InstructionSet> Work<E> for UsualRow<'_> {
    #[inline(always)]
    fn run(self, _: E) {
        let count = self.usual.len();
        let (usual, found, is_object) =
            (&mut self.usual[..count], &self.found[..count], &self.is_object[..count]);
        for x in 0..count {
            let rate = if is_object[x] == 0 { self.rate } else { self.rate / 8.0 };
            let value = (DEVIATION * found[x].max(0.0)).min(4.0 * usual[x]);
            usual[x] = (usual[x] + rate * (value - usual[x])).max(1.0);
        }
    }
}

/// The sum and the sum of squares of 16 residuals as deviations from what independent noise gives.
#[inline(always)]
fn statistics(sum: f32, squares: f32) -> [f32; 2] {
    // The square of a normal number has a variance of 2: 16 of them of 32.
    [sum.abs() / 4.0, (squares - 16.0) / 5.656_854]
}
