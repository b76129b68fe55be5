//! The time of a device as a curve over its work, and shares with which all devices finish together.

use super::divide;

/// Seconds for an amount of work, `a + b x + c x²`, rising.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimeCurve {
    a: f64,
    b: f64,
    c: f64,
}

impl TimeCurve {
    /// The straight line of a device with this rate, whose fixed cost per frame is that of `fixed` units.
    pub(super) fn line(rate: f64, fixed: f64) -> Self {
        Self { a: fixed / rate, b: 1.0 / rate, c: 0.0 }
    }

    /// The least-squares curve through points `(work, seconds)`: of second degree as in the paper, a
    /// straight line through few points or where the curve would fall, as the paper's (5) and (6) do for
    /// little work. `None` without a point.
    pub(super) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let most = points.iter().map(|point| point.0).fold(0.0, f64::max);
        let rises = |curve: &Self| curve.b > 0.0 && curve.b + 2.0 * curve.c * most > 0.0;
        let quadratic = if points.len() > 3 { least_squares::<3>(points) } else { None };
        let quadratic = quadratic.map(|[a, b, c]| Self { a, b, c }).filter(rises);
        let line = || least_squares::<2>(points).map(|[a, b]| Self { a, b, c: 0.0 }).filter(rises);
        let proportional = || {
            let (work, seconds) = points.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0, sum.1 + p.1));
            (work > 0.0 && seconds > 0.0).then(|| Self { a: 0.0, b: seconds / work, c: 0.0 })
        };
        quadratic.or_else(line).or_else(proportional)
    }

    /// Seconds for this much work.
    pub(super) fn seconds(&self, work: f64) -> f64 {
        self.a + (self.b + self.c * work) * work
    }

    /// The work done after `seconds`, at most `most`.
    fn work(&self, seconds: f64, most: f64) -> f64 {
        let rest = seconds - self.a;
        if self.seconds(most) <= seconds {
            most
        } else if rest <= 0.0 {
            0.0
        } else {
            // The rising branch of the parabola, in the form that is exact for c = 0 too.
            2.0 * rest / (self.b + (self.b * self.b + 4.0 * self.c * rest).max(0.0).sqrt())
        }
    }
}

/// The units of each device if all finish at one time, rounded.
pub(super) fn equal_shares(curves: &[Option<TimeCurve>], units: usize) -> Vec<usize> {
    divide(units, &equal_times(curves, units as f64))
}

/// The work of each device if all finish `work` at one time: the paper's (7). A device without a curve
/// gets none, nor does one whose fixed cost is longer than that time.
fn equal_times(curves: &[Option<TimeCurve>], work: f64) -> Vec<f64> {
    let done = |seconds: f64| curves.iter().map(move |curve| curve.map_or(0.0, |c| c.work(seconds, work)));
    // One device alone is never faster than all.
    let alone = curves.iter().flatten().map(|curve| curve.seconds(work)).fold(f64::MAX, f64::min);
    let (mut low, mut high) = (0.0, alone);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if done(middle).sum::<f64>() < work { low = middle } else { high = middle }
    }
    done(high).collect()
}

/// Seconds until the slowest device has done its share.
pub(super) fn slowest(curves: &[Option<TimeCurve>], shares: &[usize]) -> f64 {
    let busy = shares.iter().zip(curves).filter(|(units, _)| **units > 0);
    let seconds = busy.map(|(&units, curve)| curve.map_or(f64::MAX, |curve| curve.seconds(units as f64)));
    seconds.fold(0.0, f64::max)
}

/// The `N` coefficients of the least-squares polynomial; `None` if the points do not determine them.
fn least_squares<const N: usize>(points: &[(f64, f64)]) -> Option<[f64; N]> {
    // Work relative to the most keeps its powers of one size.
    let scale = points.iter().map(|point| point.0).fold(0.0, f64::max);
    let (mut matrix, mut right) = ([[0.0; N]; N], [0.0; N]);
    for &(work, seconds) in points {
        let powers: [f64; N] = std::array::from_fn(|i| (work / scale).powi(i as i32));
        for i in 0..N {
            right[i] += powers[i] * seconds;
            for j in 0..N {
                matrix[i][j] += powers[i] * powers[j];
            }
        }
    }
    for i in 0..N {
        let pivot = (i..N).max_by(|&p, &q| matrix[p][i].abs().total_cmp(&matrix[q][i].abs()))?;
        matrix.swap(i, pivot);
        right.swap(i, pivot);
        if matrix[i][i].abs() < 1e-9 || !matrix[i][i].is_finite() {
            return None;
        }
        for row in 0..N {
            let factor = matrix[row][i] / matrix[i][i];
            if row != i {
                let pivot_row = matrix[i];
                matrix[row].iter_mut().zip(pivot_row).for_each(|(value, pivot)| *value -= factor * pivot);
                right[row] -= factor * right[i];
            }
        }
    }
    Some(std::array::from_fn(|i| right[i] / matrix[i][i] / scale.powi(i as i32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_go_through_the_measured_points() {
        let points: Vec<_> = [3.0, 10.0, 40.0, 90.0].map(|x| (x, 2.0 + 0.5 * x + 0.01 * x * x)).into();
        let curve = TimeCurve::through(&points).unwrap();
        assert!(
            (curve.a - 2.0).abs() < 1e-6 && (curve.b - 0.5).abs() < 1e-6 && (curve.c - 0.01).abs() < 1e-6
        );
        for (work, seconds) in points.iter().copied() {
            assert!((curve.work(seconds, 100.0) - work).abs() < 1e-6);
        }
        let line = TimeCurve::through(&points[..2]).unwrap();
        assert!(line.c == 0.0 && (line.work(2.0 + 0.5 * 3.0 + 0.09, 100.0) - 3.0).abs() < 1e-6);
        assert_eq!(TimeCurve::through(&[(4.0, 2.0)]), Some(TimeCurve { a: 0.0, b: 0.5, c: 0.0 }));
        assert_eq!(TimeCurve::through(&[]), None);
        // Less time for more work is noise.
        let falling = TimeCurve::through(&[(1.0, 9.0), (2.0, 7.0), (3.0, 5.0), (4.0, 3.0)]).unwrap();
        assert!(falling.b > 0.0);
    }

    /// The paper says 105 of 300 frames for its CPU; its equation (7) gives 103.7.
    #[test]
    fn the_papers_balance() {
        let cpu = TimeCurve { a: 6.0, b: -52.0, c: 29.0 };
        let gpu = TimeCurve { a: -2.7, b: -11.0, c: 8.0 };
        let shares = equal_times(&[Some(cpu), None, Some(gpu)], 300.0);
        assert!((shares[0] - 103.66).abs() < 0.01 && shares[1] == 0.0, "{shares:?}");
        assert!((shares.iter().sum::<f64>() - 300.0).abs() < 1e-3);
    }

    #[test]
    fn all_devices_finish_at_one_time() {
        let shares = |devices: &[(f64, f64)], work| {
            let curve = |&(rate, fixed): &(f64, f64)| (rate > 0.0).then(|| TimeCurve::line(rate, fixed));
            let curves: Vec<_> = devices.iter().map(curve).collect();
            equal_times(&curves, work).iter().map(|share| (share * 1e3).round() / 1e3).collect::<Vec<_>>()
        };
        assert_eq!(shares(&[(2.0, 0.0), (1.0, 0.0)], 30.0), [20.0, 10.0]);
        assert_eq!(shares(&[(2.0, 4.0), (1.0, 2.0)], 30.0), [20.0, 10.0]);
        // The fixed cost of the second takes longer than all the work on the first.
        assert_eq!(shares(&[(1.0, 0.0), (1.0, 20.0), (0.0, 0.0)], 10.0), [10.0, 0.0, 0.0]);
        assert_eq!(shares(&[(0.0, 3.0)], 10.0), [0.0]);
    }
}
