//! The motion of the camera: the affine map that most blocks with texture follow.

use motion_base::{Grid, MotionVector};

use crate::affine::{Affine, solve};
use crate::scene::Scene;

/// The vectors of the blocks of a frame, which point to the frame before.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// One vector a block, row-major.
    pub vectors: &'a [MotionVector],
    /// Blocks across and down.
    pub grid: Grid,
    /// The size of a block in samples of the full frame.
    pub block: (usize, usize),
    /// Units of the vectors per sample of the full frame.
    pub scale: f64,
}

impl Field<'_> {
    /// Whether there is a vector for each block, blocks and scale are not empty, and the blocks cover a frame of this size.
    pub fn covers(&self, (width, height): (usize, usize)) -> bool {
        let Grid { columns, rows } = self.grid;
        let covers =
            |blocks: usize, block: usize, length: usize| block > 0 && length.div_ceil(block) == blocks;
        self.scale > 0.0
            && columns.checked_mul(rows) == Some(self.vectors.len())
            && covers(columns, self.block.0, width)
            && covers(rows, self.block.1, height)
    }

    /// The vector of a block, in samples of the full frame.
    #[inline]
    pub fn vector(&self, index: usize) -> (f64, f64) {
        let vector = self.vectors[index];
        (f64::from(vector.x) / self.scale, f64::from(vector.y) / self.scale)
    }

    /// The middle of a block, in samples of the full frame.
    #[inline]
    pub fn middle(&self, index: usize) -> (f64, f64) {
        let (column, row) = (index % self.grid.columns, index / self.grid.columns);
        let middle = |at: usize, block: usize| at as f64 * block as f64 + (block as f64 - 1.0) / 2.0;
        (middle(column, self.block.0), middle(row, self.block.1))
    }
}

/// How the camera has moved from the frame before to a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Where a point of the frame before is in the frame, in samples of the full frame: `x' = m[0][0] x + m[0][1] y + m[0][2]`,
    /// and `y'` by the second row. Of a camera that does not move exactly the identity.
    pub matrix: [[f64; 3]; 2],
    /// The share of the blocks with texture that follow it.
    pub following: f64,
    /// How sure it is: 0 if nothing is known, as of the first frame.
    pub confidence: f64,
}

impl Default for Camera {
    fn default() -> Self {
        Self { matrix: Affine::IDENTITY.0, following: 0.0, confidence: 0.0 }
    }
}

/// The residuals that count half, in samples of the full frame, of one iteration after the other: from what is far to what fits.
pub(crate) const SCALES: [f64; 8] = [16.0, 8.0, 4.0, 2.0, 1.0, 0.75, 0.75, 0.75];

/// A block follows a map whose residual is at most this, in samples of the full frame and of the vectors' length.
pub(crate) const FOLLOWS: f64 = 0.75;

/// Texture that counts: less says nothing about where a block is from.
pub(crate) const LEAST_TEXTURE: u32 = 2;

/// What a fit finds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Where a point of the frame is in the frame before, in samples of the full frame.
    pub map: Affine,
    /// The share of texture that follows it.
    pub following: f64,
}

/// Measures how much texture the model has in each block of `field`. `factor` is the side of a small sample in samples of the full frame.
pub fn measure_texture(field: &Field<'_>, scene: &Scene, factor: f64, noise: f32, texture: &mut Vec<u32>) {
    let ((width, height), mean) = (scene.size(), &scene.mean);
    // The middle of a block says enough.
    let reach = |block: usize| ((block as f64 / factor / 2.0) as usize).clamp(1, 4);
    let (reach_x, reach_y) = (reach(field.block.0), reach(field.block.1));
    texture.clear();
    for index in 0..field.grid.blocks() {
        let (x, y) = field.middle(index);
        let (x, y) = ((x / factor) as usize, (y / factor) as usize);
        let (mut across, mut down, mut count) = (0.0f32, 0.0f32, 0.0f32);
        for y in y.saturating_sub(reach_y)..(y + reach_y).min(height - 1) {
            for x in x.saturating_sub(reach_x)..(x + reach_x).min(width - 1) {
                let at = y * width + x;
                across += (mean[at + 1] - mean[at]).abs();
                down += (mean[at + width] - mean[at]).abs();
                count += 1.0;
            }
        }
        // Texture of one direction alone does not say where a block is from.
        let least = across.min(down) / count.max(1.0) * 4.0 - noise;
        texture.push(least.clamp(0.0, 64.0) as u32);
    }
}

/// Fits the map that most of the blocks follow to `field`, each weighted by its `texture`. `size` is that of the full frame.
///
/// Weighted least squares, reweighted by `1 / (1 + (r / s)²)²` with the residual r and the scales of [`SCALES`], from the median vector
/// on: a block of another motion has no say in the end. All sums are in the order of the blocks, so that every machine finds the same.
pub fn fit(
    field: &Field<'_>,
    texture: &[u32],
    size: (usize, usize),
    order: &mut Vec<(i32, u32)>,
) -> Option<Fit> {
    let counts = |index: &usize| texture[*index] >= LEAST_TEXTURE;
    let blocks = || (0..field.vectors.len()).filter(counts);
    let total: f64 = blocks().map(|index| f64::from(texture[index])).sum();
    if blocks().count() < 12 {
        return None;
    }
    let mut median = |component: fn(&MotionVector) -> i16| {
        order.clear();
        order.extend(blocks().map(|index| (i32::from(component(&field.vectors[index])), texture[index])));
        order.sort_unstable();
        let mut left = total / 2.0;
        for &(value, weight) in order.iter() {
            left -= f64::from(weight);
            if left <= 0.0 {
                return f64::from(value) / field.scale;
            }
        }
        0.0
    };
    let mut map = Affine::translation(median(|vector| vector.x), median(|vector| vector.y));
    // Around the middle, in half widths, the equations are well conditioned.
    let (middle_x, middle_y, unit) =
        (size.0 as f64 / 2.0, size.1 as f64 / 2.0, size.0.max(size.1) as f64 / 2.0);
    for scale in SCALES {
        // A few sums: 1, u, v, uu, uv, vv, and each of 1, u, v with x and y.
        let mut s = [0.0; 6];
        let mut x = [0.0; 3];
        let mut y = [0.0; 3];
        for index in blocks() {
            let (from, vector) = (field.middle(index), field.vector(index));
            let predicted = map.apply(from.0, from.1);
            let (rx, ry) = (from.0 + vector.0 - predicted.0, from.1 + vector.1 - predicted.1);
            let fits = 1.0 / (1.0 + (rx * rx + ry * ry) / (scale * scale));
            let weight = fits * fits * f64::from(texture[index]);
            let (u, v) = ((from.0 - middle_x) / unit, (from.1 - middle_y) / unit);
            s[0] += weight;
            s[1] += weight * u;
            s[2] += weight * v;
            s[3] += weight * u * u;
            s[4] += weight * u * v;
            s[5] += weight * v * v;
            for (sums, value) in [(&mut x, vector.0), (&mut y, vector.1)] {
                sums[0] += weight * value;
                sums[1] += weight * value * u;
                sums[2] += weight * value * v;
            }
        }
        // A prior against maps that the blocks say little of: as if a hundredth of them moved without zoom or rotation.
        let prior = s[0] / 100.0;
        let rows = |r: [f64; 3]| {
            [[s[0], s[1], s[2], r[0]], [s[1], s[3] + prior, s[4], r[1]], [s[2], s[4], s[5] + prior, r[2]]]
        };
        let (px, py) = (solve(rows(x))?, solve(rows(y))?);
        let row =
            |p: [f64; 3]| [p[1] / unit, p[2] / unit, p[0] - p[1] * middle_x / unit - p[2] * middle_y / unit];
        let (mut rx, mut ry) = (row(px), row(py));
        rx[0] += 1.0;
        ry[1] += 1.0;
        map = Affine([rx, ry]);
    }
    let mut following = 0.0;
    for index in blocks() {
        let (from, vector) = (field.middle(index), field.vector(index));
        let predicted = map.apply(from.0, from.1);
        let (rx, ry) = (from.0 + vector.0 - predicted.0, from.1 + vector.1 - predicted.1);
        let limit = FOLLOWS + (vector.0 * vector.0 + vector.1 * vector.1).sqrt() / 32.0;
        if rx * rx + ry * ry <= limit * limit {
            following += f64::from(texture[index]);
        }
    }
    Some(Fit { map, following: following / total })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same fit, written from its definition: for each iteration the six equations of both rows, by Cramer's rule.
    fn oracle(field: &Field<'_>, texture: &[u32], (width, height): (usize, usize)) -> Affine {
        let blocks: Vec<_> = (0..texture.len()).filter(|&block| texture[block] >= LEAST_TEXTURE).collect();
        let median = |component: &dyn Fn(usize) -> f64| {
            let mut values: Vec<_> =
                blocks.iter().flat_map(|&block| vec![component(block); texture[block] as usize]).collect();
            values.sort_unstable_by(f64::total_cmp);
            values[(values.len() - 1) / 2]
        };
        let mut map = Affine::translation(
            median(&|block| field.vector(block).0),
            median(&|block| field.vector(block).1),
        );
        let unit = width.max(height) as f64 / 2.0;
        let place = |block: usize| {
            let (x, y) = field.middle(block);
            [1.0, (x - width as f64 / 2.0) / unit, (y - height as f64 / 2.0) / unit]
        };
        for scale in SCALES {
            let weight = |block: usize| {
                let ((x, y), (right, down)) = (field.middle(block), field.vector(block));
                let (to_x, to_y) = map.apply(x, y);
                let square = (x + right - to_x).powi(2) + (y + down - to_y).powi(2);
                f64::from(texture[block]) / (1.0 + square / scale.powi(2)).powi(2)
            };
            let sum = |term: &dyn Fn(usize) -> f64| {
                blocks.iter().map(|&block| weight(block) * term(block)).sum::<f64>()
            };
            let mut matrix = [[0.0; 3]; 3];
            for (i, row) in matrix.iter_mut().enumerate() {
                for (j, value) in row.iter_mut().enumerate() {
                    *value = sum(&|block| place(block)[i] * place(block)[j]);
                }
            }
            let prior = matrix[0][0] / 100.0;
            matrix[1][1] += prior;
            matrix[2][2] += prior;
            let determinant = |m: &[[f64; 3]; 3]| {
                m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
                    - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
                    + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
            };
            let solved = |vector: &dyn Fn(usize) -> f64| {
                let right: [f64; 3] = std::array::from_fn(|i| sum(&|block| place(block)[i] * vector(block)));
                let p: [f64; 3] = std::array::from_fn(|column| {
                    let mut replaced = matrix;
                    (0..3).for_each(|row| replaced[row][column] = right[row]);
                    determinant(&replaced) / determinant(&matrix)
                });
                let (x, y) = (width as f64 / 2.0, height as f64 / 2.0);
                [p[1] / unit, p[2] / unit, p[0] - p[1] * x / unit - p[2] * y / unit]
            };
            let (mut x, mut y) =
                (solved(&|block| field.vector(block).0), solved(&|block| field.vector(block).1));
            x[0] += 1.0;
            y[1] += 1.0;
            map = Affine([x, y]);
        }
        map
    }

    /// The vectors of a camera, a quarter of them of something else that moves.
    fn made(random: &mut fastrand::Rng, back: &Affine, grid: Grid, block: usize) -> Vec<MotionVector> {
        let empty = Field { vectors: &[], grid, block: (block, block), scale: 32.0 };
        let vector = |index: usize| {
            let (x, y) = empty.middle(index);
            let (to_x, to_y) = back.apply(x, y);
            let units = |samples: f64| (samples * 32.0).round() as i16;
            match random.u8(0..4) {
                0 => MotionVector { x: random.i16(-600..600), y: random.i16(-600..600), cost: 0 },
                _ => MotionVector { x: units(to_x - x), y: units(to_y - y), cost: 0 },
            }
        };
        (0..grid.blocks()).map(vector).collect()
    }

    #[test]
    fn the_fit_is_that_of_its_oracle_and_of_the_camera() {
        let mut random = fastrand::Rng::with_seed(2);
        let (size, grid) = ((320, 192), Grid { columns: 20, rows: 12 });
        for _ in 0..20 {
            let mut part = |most: f64| (random.f64() - 0.5) * 2.0 * most;
            let back = Affine([
                [1.0 + part(0.03), part(0.03), part(8.0)],
                [part(0.03), 1.0 + part(0.03), part(8.0)],
            ]);
            let vectors = made(&mut random, &back, grid, 16);
            let texture: Vec<_> = (0..grid.blocks()).map(|_| random.u32(0..30)).collect();
            let field = Field { vectors: &vectors, grid, block: (16, 16), scale: 32.0 };
            let found = fit(&field, &texture, size, &mut Vec::new()).unwrap();
            let expected = oracle(&field, &texture, size);
            let difference = |a: &Affine, b: &Affine| b.inverse().unwrap().after(a).reach(size);
            assert!(difference(&found.map, &expected) < 1e-6, "{found:?} {expected:?}");
            assert!(difference(&found.map, &back) < 0.5, "{found:?} {back:?}");
            assert!((0.6..0.9).contains(&found.following), "{found:?}");
        }
    }

    #[test]
    fn without_texture_nothing_is_known() {
        let (grid, vectors) = (Grid { columns: 20, rows: 12 }, vec![MotionVector::default(); 240]);
        let field = Field { vectors: &vectors, grid, block: (16, 16), scale: 32.0 };
        assert_eq!(fit(&field, &[0; 240], (320, 192), &mut Vec::new()), None);
    }
}
