//! Who gets how much: whole units divided as weights say.

use crate::estimator::Part;

/// Divides `units` in proportion to `weights`, of which at least one must be positive: what each
/// gets, by largest remainders, so that the sum is `units`. Who has no weight gets none.
pub fn divide(units: usize, weights: &[f64]) -> Vec<usize> {
    let usable = |weight: f64| if weight.is_finite() { weight.max(0.0) } else { 0.0 };
    let sum: f64 = weights.iter().copied().map(usable).sum();
    if sum <= 0.0 {
        let mut shares = vec![0; weights.len()];
        if let Some(first) = shares.first_mut() {
            *first = units;
        }
        return shares;
    }
    let exact: Vec<f64> = weights.iter().map(|&weight| units as f64 * usable(weight) / sum).collect();
    let mut shares: Vec<usize> = exact.iter().map(|share| share.floor() as usize).collect();
    let mut rest: Vec<usize> = (0..weights.len()).filter(|&index| usable(weights[index]) > 0.0).collect();
    rest.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()));
    let given: usize = shares.iter().sum();
    for &index in rest.iter().cycle().take(units.saturating_sub(given)) {
        shares[index] += 1;
    }
    shares
}

/// A band of rows for each that gets any.
pub(super) fn by_rows(part: Part, rows: &[usize]) -> Vec<(usize, Part)> {
    let mut next = part.rows().start;
    let bands = rows.iter().copied().enumerate().filter(|&(_, rows)| rows > 0);
    bands
        .map(|(member, rows)| {
            let band = part.with_rows(next..next + rows);
            next += rows;
            (member, band)
        })
        .collect()
}

/// Rows of the window for each that gets any.
pub(super) fn by_displacements(part: Part, rows: &[usize]) -> Vec<(usize, Part)> {
    let mut next = *part.displacements().start();
    let bands = rows.iter().copied().enumerate().filter(|&(_, rows)| rows > 0);
    bands
        .map(|(member, rows)| {
            let band = part.with_displacements(next..=next + rows as i32 - 1);
            next += rows as i32;
            (member, band)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_units_are_given_out_by_weight() {
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
