//! Whole units divided by weights, and parts of a search made of them.

use std::ops::Range;

use crate::estimator::Part;

/// Divides `units` in proportion to `weights`, rounded by largest remainders: the sum is `units`.
///
/// A weight that is not positive and finite gets nothing; without any other, or if their sum is infinite, the first gets
/// everything.
pub fn divide(units: usize, weights: &[f64]) -> Vec<usize> {
    let usable = |weight: f64| if weight.is_finite() { weight.max(0.0) } else { 0.0 };
    let sum: f64 = weights.iter().copied().map(usable).sum();
    if sum <= 0.0 || sum.is_infinite() {
        let mut shares = vec![0; weights.len()];
        if let Some(first) = shares.first_mut() {
            *first = units;
        }
        return shares;
    }
    let exact: Vec<f64> = weights.iter().map(|&weight| units as f64 * usable(weight) / sum).collect();
    // Rounding may make them a little too large in all.
    let mut left = units;
    let mut whole = |share: &f64| {
        let share = (share.floor() as usize).min(left);
        left -= share;
        share
    };
    let mut shares: Vec<usize> = exact.iter().map(&mut whole).collect();
    let mut rest: Vec<usize> = (0..weights.len()).filter(|&index| usable(weights[index]) > 0.0).collect();
    rest.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()));
    for &index in rest.iter().cycle().take(left) {
        shares[index] += 1;
    }
    shares
}

/// The devices that get any units, each with its range of them.
fn ranges(shares: &[usize]) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut next = 0;
    let range = move |(device, &units): (usize, &usize)| {
        next += units;
        (device, next - units..next)
    };
    shares.iter().enumerate().map(range).filter(|(_, range)| !range.is_empty())
}

/// The devices that get any block rows of `part`, each with its band of them.
pub(super) fn by_rows(part: Part, rows: &[usize]) -> Vec<(usize, Part)> {
    let first = part.rows().start;
    ranges(rows).map(|(device, r)| (device, part.with_rows(first + r.start..first + r.end))).collect()
}

/// The devices that get any displacements of `part`, each with `unit` times as many as its share.
pub(super) fn by_displacements(part: Part, shares: &[usize], unit: usize) -> Vec<(usize, Part)> {
    let first = part.displacements().start;
    let displacements = |r: Range<usize>| first + unit * r.start..first + unit * r.end;
    ranges(shares).map(|(device, r)| (device, part.with_displacements(displacements(r)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_units_are_divided_by_weight() {
        assert_eq!(divide(10, &[1.0, 1.0]), [5, 5]);
        assert_eq!(divide(10, &[0.9, 0.1]), [9, 1]);
        assert_eq!(divide(3, &[1.0, 1.0]).iter().sum::<usize>(), 3);
        assert_eq!(divide(7, &[0.0, 2.0, 0.0]), [0, 7, 0]);
        assert_eq!(divide(5, &[0.0, 0.0]), [5, 0]);
        assert_eq!(divide(5, &[f64::NAN, f64::INFINITY, 1.0]), [0, 0, 5]);
        assert_eq!(divide(0, &[1.0, 2.0]), [0, 0]);
        for units in 0..50 {
            let shares = divide(units, &[0.3, 5.0, 0.01, 1.7]);
            assert_eq!(shares.iter().sum::<usize>(), units);
        }
    }
}
