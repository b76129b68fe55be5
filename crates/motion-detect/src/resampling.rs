//! Planes seen from another place: their samples at the places of an affine map.

use motion_base::simd::{InstructionSet, Instructions, Work};

use crate::affine::Affine;

/// A plane of samples.
#[derive(Clone, Copy)]
pub struct Plane<'a, T> {
    /// Its rows, one after the other.
    pub samples: &'a [T],
    /// Samples from one row to the next.
    pub stride: usize,
    /// Columns and rows.
    pub size: (usize, usize),
}

/// What a place between four samples has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// The bilinear mean.
    Mean,
    /// The least: what is only partly known is not known.
    Least,
}

/// The four samples around a place of a plane, and where between them it is.
struct Between {
    columns: [usize; 2],
    rows: [usize; 2],
    share: (f32, f32),
}

impl Between {
    /// Those around `(x, y)` in a plane of this size; `None` outside. Half a sample outside is as good as the edge.
    fn around((x, y): (f64, f64), (width, height): (usize, usize)) -> Option<Self> {
        let (right, bottom) = (width as f64 - 1.0, height as f64 - 1.0);
        let is_inside = x >= -0.5 && y >= -0.5 && x <= right + 0.5 && y <= bottom + 0.5;
        if !is_inside {
            return None;
        }
        let (x, y) = (x.clamp(0.0, right), y.clamp(0.0, bottom));
        let (left, above) = (x as usize, y as usize);
        Some(Self {
            columns: [left, (left + 1).min(width - 1)],
            rows: [above, (above + 1).min(height - 1)],
            share: ((x - left as f64) as f32, (y - above as f64) as f32),
        })
    }
}

impl Mix {
    /// Of two samples above and two below.
    #[inline(always)]
    fn of(self, [a, b, c, d]: [f32; 4], share: (f32, f32)) -> f32 {
        match self {
            Self::Mean => {
                let (upper, lower) = (a + (b - a) * share.0, c + (d - c) * share.0);
                upper + (lower - upper) * share.1
            }
            Self::Least => a.min(b).min(c.min(d)),
        }
    }
}

/// Writes to `seen` row `y` of `plane` as the map `from` sees it: a sample is what `plane` has at `from` of its place. Writes to `is_seen`
/// whether `plane` has it; `seen` is zero where it has not.
pub fn row<T: Copy + Into<f32>>(
    instructions: Instructions,
    plane: Plane<'_, T>,
    from: &Affine,
    y: usize,
    mix: Mix,
    seen: &mut [f32],
    is_seen: &mut [u8],
) {
    let (width, height) = plane.size;
    let line = |y: usize| &plane.samples[y * plane.stride..][..width];
    // How far a step to the right goes, in the coordinates of the plane.
    let slope = (from.0[0][0], from.0[1][0]);
    let (first_x, first_y) = from.apply(0.0, y as f64);
    let place = |x: usize| (first_x + x as f64 * slope.0, first_y + x as f64 * slope.1);
    let mut x = 0;
    while x < seen.len() {
        // A stretch in which the samples are those of two lines, in a row: all but a few steps of a camera's map.
        let (to_x, to_y) = place(x);
        let (left, above) = (to_x.floor(), to_y.floor());
        let share = (to_x - left, to_y - above);
        let steps = steps(share.0, slope.0 - 1.0).min(steps(share.1, slope.1)).min(seen.len() - x);
        let is_inside =
            left >= 0.0 && above >= 0.0 && left < width as f64 - 1.0 && above < height as f64 - 1.0;
        if is_inside {
            let (left, above) = (left as usize, above as usize);
            let steps = steps.min(width - 1 - left);
            instructions.run(Stretch {
                above: &line(above)[left..=left + steps],
                below: &line(above + 1)[left..=left + steps],
                share: (share.0 as f32, share.1 as f32),
                slope: ((slope.0 - 1.0) as f32, slope.1 as f32),
                mix,
                seen: &mut seen[x..x + steps],
            });
            is_seen[x..x + steps].fill(1);
            x += steps;
            continue;
        }
        let between = Between::around((to_x, to_y), plane.size);
        is_seen[x] = u8::from(between.is_some());
        seen[x] = between.map_or(0.0, |Between { columns: [left, right], rows: [above, below], share }| {
            let (above, below) = (line(above), line(below));
            mix.of([above[left], above[right], below[left], below[right]].map(Into::into), share)
        });
        x += 1;
    }
}

/// How many steps of this slope, at least one, keep a share between 0 and 1.
fn steps(share: f64, slope: f64) -> usize {
    let steps = match slope {
        slope if slope > 0.0 => ((1.0 - share) / slope).ceil(),
        slope if slope < 0.0 => (share / -slope).floor() + 1.0,
        _ => return usize::MAX,
    };
    (steps as usize).max(1)
}

/// Samples between two lines, whose shares change by `slope` from one to the next.
struct Stretch<'a, T> {
    above: &'a [T],
    below: &'a [T],
    share: (f32, f32),
    slope: (f32, f32),
    mix: Mix,
    seen: &'a mut [f32],
}

impl<E: InstructionSet, T: Copy + Into<f32>> Work<E> for Stretch<'_, T> {
    #[inline(always)]
    fn run(self, _: E) {
        let Self { above, below, share, slope, mix, seen } = self;
        let count = seen.len();
        // With lengths that the compiler knows to be the same.
        let (left_above, right_above) = (&above[..count], &above[1..][..count]);
        let (left_below, right_below) = (&below[..count], &below[1..][..count]);
        for at in 0..count {
            let step = at as u32 as i32 as f32;
            let share = (share.0 + step * slope.0, share.1 + step * slope.1);
            let around = [left_above[at], right_above[at], left_below[at], right_below[at]];
            let [a, b, c, d] = around;
            seen[at] = mix.of([a.into(), b.into(), c.into(), d.into()], share);
        }
    }
}

#[cfg(test)]
mod tests {
    use motion_base::simd::InstructionSetName;

    use super::*;

    /// The definition, sample by sample.
    fn oracle(plane: Plane<'_, u8>, from: &Affine, (x, y): (usize, usize), mix: Mix) -> Option<f64> {
        let (x, y) = from.apply(x as f64, y as f64);
        let (right, bottom) = ((plane.size.0 - 1) as f64, (plane.size.1 - 1) as f64);
        if x < -0.5 || y < -0.5 || x > right + 0.5 || y > bottom + 0.5 {
            return None;
        }
        let (x, y) = (x.clamp(0.0, right), y.clamp(0.0, bottom));
        let sample = |x: f64, y: f64| {
            f64::from(plane.samples[y.min(bottom) as usize * plane.stride + x.min(right) as usize])
        };
        let (left, above) = (x.floor(), y.floor());
        let around = [(left, above), (left + 1.0, above), (left, above + 1.0), (left + 1.0, above + 1.0)];
        Some(match mix {
            Mix::Mean => around
                .map(|(to_x, to_y)| (1.0 - (x - to_x).abs()) * (1.0 - (y - to_y).abs()) * sample(to_x, to_y))
                .iter()
                .sum(),
            Mix::Least => around.map(|(x, y)| sample(x, y)).into_iter().fold(f64::MAX, f64::min),
        })
    }

    #[test]
    fn rows_are_those_of_the_definition_with_all_instructions() {
        let mut random = fastrand::Rng::with_seed(4);
        for _ in 0..300 {
            let size = (random.usize(2..60), random.usize(2..40));
            let stride = size.0 + random.usize(0..5);
            let samples: Vec<u8> = (0..stride * size.1).map(|_| random.u8(..)).collect();
            let plane = Plane { samples: &samples, stride, size };
            let most = [0.0, 0.01, 0.3, 3.0][random.usize(0..4)];
            let mut part = |most: f64| (random.f64() - 0.5) * 2.0 * most;
            let from = Affine([
                [1.0 + part(most), part(most), part(9.0)],
                [part(most), 1.0 + part(most), part(9.0)],
            ]);
            let y = random.usize(0..size.1);
            let mix = if random.bool() { Mix::Mean } else { Mix::Least };
            let mut first = None;
            for name in InstructionSetName::available() {
                let (mut seen, mut is_seen) = (vec![7.0; size.0], vec![7; size.0]);
                row(name.required().unwrap(), plane, &from, y, mix, &mut seen, &mut is_seen);
                for x in 0..size.0 {
                    let expected = oracle(plane, &from, (x, y), mix);
                    assert_eq!(is_seen[x], u8::from(expected.is_some()));
                    let expected = expected.unwrap_or(0.0);
                    // Beside a sample, the other side may be taken for the least.
                    if mix == Mix::Mean {
                        assert!((f64::from(seen[x]) - expected).abs() < 0.02, "{expected} {}", seen[x]);
                    }
                }
                let bits: Vec<_> = seen.iter().map(|seen| seen.to_bits()).collect();
                assert_eq!(*first.get_or_insert_with(|| bits.clone()), bits, "{name}");
            }
        }
    }
}
