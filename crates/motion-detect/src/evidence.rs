//! How surely cells of a frame show something else than the scene.

use motion_base::simd::{InstructionSet, Instructions, Work};
use motion_base::{SetupError, memory};

use crate::light::Light;
use crate::regions::{Blob, Cells, STEP};
use crate::scene::{DEVIATION, Scene};

/// A residual counts at most so many standard deviations: no single sample decides.
pub const MOST: f32 = 4.0;

/// Seconds after which what cells were is learned.
const PERIOD: f32 = 1.0;

/// Seconds for which it is remembered.
const HABIT: f32 = 30.0;

/// By how much a cell must be surer than before.
const MARGIN: f32 = 1.15;

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
    /// Sums of residuals and of their squares, and of those with the light of the whole frame.
    sums: Vec<[f32; 3]>,
    /// How much the sums of each cell vary without an object, in standard deviations of independent noise.
    usual: Vec<[f32; 2]>,
    /// The frames that this was learned from.
    learned: f32,
    /// How much surer a cell must be than usual, because it has been that sure before and nothing came of it.
    habit: Vec<f32>,
    /// The surest that each cell was in this period, and whether it showed an object.
    recent: Vec<f32>,
    is_touched: Vec<u8>,
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
        let mut usual = memory::values(what, cells.0 * cells.1)?;
        usual.fill([1.0; 2]);
        let mut habit = memory::values(what, cells.0 * cells.1)?;
        habit.fill(1.0);
        Ok(Self {
            instructions,
            size,
            blocks,
            cells,
            expected: memory::values(what, width * height)?,
            samples: memory::values(what, width * height)?,
            sums: memory::values(what, blocks.0 * blocks.1)?,
            usual,
            learned: 0.0,
            habit,
            recent: memory::values(what, cells.0 * cells.1)?,
            is_touched: memory::values(what, cells.0 * cells.1)?,
            period: 0.0,
            sure: memory::values(what, cells.0 * cells.1)?,
            likely: memory::values(what, cells.0 * cells.1)?,
            rows: [row()?, row()?, row()?],
        })
    }

    /// Forgets how much cells vary.
    pub fn restart(&mut self) {
        self.usual.fill([1.0; 2]);
        self.habit.fill(1.0);
        self.recent.fill(0.0);
        self.is_touched.fill(0);
        (self.learned, self.period) = (0.0, 0.0);
    }

    /// Finds how surely each cell shows something else than the scene.
    pub fn measure(&mut self, scene: &Scene, light: &Light, seen: &[f32], is_seen: &[u8], judging: &Judging) {
        let instructions = self.instructions;
        let (width, height) = self.size;
        let (global_gain, global_offset) = light.global;
        let floor = (0.9 * judging.noise).max(0.7);
        self.sums.fill([0.0; 3]);
        for y in 0..height {
            let row = y * width..(y + 1) * width;
            let [gain, offset, local] = &mut self.rows;
            light.row(y, gain, offset, local);
            let (mean, spread) = (&scene.mean[row.clone()], &scene.spread[row.clone()]);
            let (texture, age) = (&scene.texture[row.clone()], &scene.age[row.clone()]);
            let (seen, is_seen) = (&seen[row.clone()], &is_seen[row.clone()]);
            let (expected, samples) = (&mut self.expected[row.clone()], &mut self.samples[row]);
            let row = Row {
                gain: &gain[..width],
                offset: &offset[..width],
                mean: &mean[..width],
                spread: &spread[..width],
                texture: &texture[..width],
                age: &age[..width],
                seen: &seen[..width],
                is_seen: &is_seen[..width],
                expected: &mut expected[..width],
                samples: &mut samples[..width],
                local: &mut local[..width],
                global: (global_gain, global_offset),
                floor,
                judging,
            };
            instructions.run(row);
            if y / STEP < self.blocks.1 {
                let sums = &mut self.sums[y / STEP * self.blocks.0..][..self.blocks.0];
                for (sums, (residuals, whole)) in
                    sums.iter_mut().zip(samples.chunks_exact(STEP).zip(local.chunks_exact(STEP)))
                {
                    sums[0] += residuals[0] + residuals[1];
                    sums[1] += residuals[0] * residuals[0] + residuals[1] * residuals[1];
                    sums[2] += whole[0] + whole[1];
                }
            }
            for (sample, whole) in samples.iter_mut().zip(local.iter()) {
                let whole = if judging.is_settling { 0.0 } else { whole.abs() };
                *sample = sample.abs().max(whole);
            }
        }
        self.judge(judging.is_settling);
    }

    fn judge(&mut self, is_settling: bool) {
        let (columns, rows) = self.cells;
        for y in 0..rows {
            let (upper, lower) = (&self.sums[y * self.blocks.0..], &self.sums[(y + 1) * self.blocks.0..]);
            let cells = y * columns..(y + 1) * columns;
            let (sure, likely) = (&mut self.sure[cells.clone()], &mut self.likely[cells.clone()]);
            let (habit, recent) = (&self.habit[cells.clone()], &mut self.recent[cells.clone()]);
            let cells = self.usual[cells].iter().zip(habit).zip(recent).enumerate();
            for ((x, ((usual, habit), recent)), (sure, likely)) in cells.zip(sure.iter_mut().zip(likely)) {
                let sum = |index: usize| {
                    upper[x][index] + upper[x + 1][index] + lower[x][index] + lower[x + 1][index]
                };
                let [mean, energy] = statistics(sum(0), sum(1));
                let surest = (mean / usual[0]).max(energy / usual[1]);
                *recent = recent.max(surest);
                *sure = surest / habit;
                *likely = if is_settling { *sure } else { sure.max(sum(2).abs() / (4.0 * usual[0] * habit)) };
            }
        }
    }

    /// Learns how much cells vary where there is no object. `rate` is the share of this frame.
    pub fn learn(&mut self, is_object: &[u8], rate: f32) {
        let (columns, rows) = self.cells;
        self.learned += 1.0;
        let rate = rate.max(1.0 / (self.learned + 8.0));
        for y in 0..rows {
            let (upper, lower) = (&self.sums[y * self.blocks.0..], &self.sums[(y + 1) * self.blocks.0..]);
            for x in 0..columns {
                let sum = |index: usize| {
                    upper[x][index] + upper[x + 1][index] + lower[x][index] + lower[x + 1][index]
                };
                let usual = &mut self.usual[y * columns + x];
                let is_object = is_object[y * self.blocks.0 + x];
                self.is_touched[y * columns + x] |= is_object;
                let rate = if is_object == 0 { rate } else { rate / 8.0 };
                for (usual, value) in usual.iter_mut().zip(statistics(sum(0), sum(1))) {
                    let value = (DEVIATION * value.max(0.0)).min(4.0 * *usual);
                    *usual = (*usual + rate * (value - *usual)).max(1.0);
                }
            }
        }
    }

    /// At the end of each period, learns where cells were sure and nothing came of it. What is as sure as it has been before is no more
    /// than usual there: leaves, rain, a lamp that flickers. `seed` is what a region begins with.
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
                let surest = MARGIN * self.recent[at] / seed;
                if self.is_touched[at] != 0 || surest <= 1.0 {
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
        self.recent.fill(0.0);
        self.is_touched.fill(0);
        self.period = 0.0;
    }

    /// Whether a quarter of the cells of `blob`, at a place of the model, are often much surer than a region needs without that something comes of it.
    pub fn is_usual(&self, blob: &Blob) -> bool {
        let at = |place: f64, most: usize| ((place / STEP as f64).max(0.0) as usize).min(most - 1);
        let columns = at(blob.x, self.cells.0)..at(blob.x + blob.width, self.cells.0) + 1;
        let (mut usual, mut count) = (0, 0);
        for y in at(blob.y, self.cells.1)..at(blob.y + blob.height, self.cells.1) + 1 {
            let row = &self.habit[y * self.cells.0..][columns.clone()];
            usual += row.iter().filter(|&&habit| habit > 1.4).count();
            count += row.len();
        }
        4 * usual > count
    }

    /// Marks a rectangle of cells, in samples of the model, as one in which an object was.
    pub fn touch(&mut self, x: std::ops::Range<f64>, y: std::ops::Range<f64>) {
        let at = |place: f64, most: usize| ((place / STEP as f64).max(0.0) as usize).min(most);
        let columns = at(x.start - 4.0, self.cells.0)..at(x.end + 4.0, self.cells.0);
        for y in at(y.start - 4.0, self.cells.1)..at(y.end + 4.0, self.cells.1) {
            self.is_touched
                [y * self.cells.0 + columns.start..y * self.cells.0 + columns.end.max(columns.start)]
                .fill(1);
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
    }
}

/// The sum and the sum of squares of 16 residuals as deviations from what independent noise gives.
fn statistics(sum: f32, squares: f32) -> [f32; 2] {
    // The square of a normal number has a variance of 2: 16 of them of 32.
    [sum.abs() / 4.0, (squares - 16.0) / 5.656_854]
}
