//! Zhang's balance: curves of time over work, solved for equal times (IV-C), for any number of
//! devices.

/// The time of a device over its work, `a + b x + c x²`: rising, from the first unit on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Curve {
    a: f64,
    b: f64,
    c: f64,
}

impl Curve {
    /// The curve of least squares through `(work, seconds)`: of second degree as in the paper, or
    /// what fewer points allow. Where it would fall, as the paper's (5) and (6) do for little work, a
    /// straight line. `None` without a point.
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

    /// The time of so much work.
    pub(super) fn seconds(&self, work: f64) -> f64 {
        self.a + (self.b + self.c * work) * work
    }

    /// The work done in `seconds`, up to `most`.
    fn work(&self, seconds: f64, most: f64) -> f64 {
        if self.seconds(most) <= seconds {
            return most;
        }
        bisect(0.0, most, |work| self.seconds(work) > seconds)
    }
}

/// Where `is_past` begins to hold between `low` and `high`.
fn bisect(mut low: f64, mut high: f64, is_past: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if is_past(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    low
}

/// How much each does of `work` where all finish at one time: the paper's (7). Who has no curve gets
/// nothing.
pub(super) fn equal_times(curves: &[Option<Curve>], work: f64) -> Vec<f64> {
    let done =
        |seconds: f64| curves.iter().map(move |curve| curve.map_or(0.0, |curve| curve.work(seconds, work)));
    let mut latest = 1.0;
    while done(latest).sum::<f64>() < work && latest < 1e9 {
        latest *= 2.0;
    }
    let seconds = bisect(0.0, latest, |seconds| done(seconds).sum::<f64>() >= work);
    done(seconds).collect()
}

/// The coefficients of the polynomial of `N` terms with the least squares of errors; `None` where the
/// points do not tell.
fn least_squares<const N: usize>(points: &[(f64, f64)]) -> Option<[f64; N]> {
    // Work in parts of the most, so that its powers are of one size.
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
    fn curves_go_through_what_was_measured() {
        let points: Vec<_> = [3.0, 10.0, 40.0, 90.0].map(|x| (x, 2.0 + 0.5 * x + 0.01 * x * x)).into();
        let curve = Curve::through(&points).unwrap();
        assert!(
            (curve.a - 2.0).abs() < 1e-6 && (curve.b - 0.5).abs() < 1e-6 && (curve.c - 0.01).abs() < 1e-6
        );
        let line = Curve::through(&points[..2]).unwrap();
        assert!(line.c == 0.0 && (line.work(2.0 + 0.5 * 3.0 + 0.09, 100.0) - 3.0).abs() < 1e-6);
        assert_eq!(Curve::through(&[(4.0, 2.0)]), Some(Curve { a: 0.0, b: 0.5, c: 0.0 }));
        assert_eq!(Curve::through(&[]), None);
        // What falls is no curve of time.
        let falling = Curve::through(&[(1.0, 9.0), (2.0, 7.0), (3.0, 5.0), (4.0, 3.0)]).unwrap();
        assert!(falling.b > 0.0);
    }

    /// The paper says 105 of 300 frames for its CPU; its equation (7) gives 103.7.
    #[test]
    fn the_papers_balance() {
        let cpu = Curve { a: 6.0, b: -52.0, c: 29.0 };
        let gpu = Curve { a: -2.7, b: -11.0, c: 8.0 };
        let shares = equal_times(&[Some(cpu), None, Some(gpu)], 300.0);
        assert!((shares[0] - 103.66).abs() < 0.01 && shares[1] == 0.0, "{shares:?}");
        assert!((shares.iter().sum::<f64>() - 300.0).abs() < 1e-3);
    }
}
