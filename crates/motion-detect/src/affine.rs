//! Affine maps of the plane.

/// A map `(x, y) -> (m[0][0] x + m[0][1] y + m[0][2], m[1][0] x + m[1][1] y + m[1][2])`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine(pub [[f64; 3]; 2]);

impl Default for Affine {
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl Affine {
    /// The map that moves nothing.
    pub const IDENTITY: Self = Self([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);

    /// A shift.
    pub fn translation(x: f64, y: f64) -> Self {
        Self([[1.0, 0.0, x], [0.0, 1.0, y]])
    }

    /// Where `(x, y)` is moved to.
    #[inline]
    pub fn apply(&self, x: f64, y: f64) -> (f64, f64) {
        let [a, b] = &self.0;
        (a[0] * x + a[1] * y + a[2], b[0] * x + b[1] * y + b[2])
    }

    /// First `inner`, then `self`.
    pub fn after(&self, inner: &Self) -> Self {
        let row = |r: &[f64; 3]| {
            let i = &inner.0;
            [
                r[0] * i[0][0] + r[1] * i[1][0],
                r[0] * i[0][1] + r[1] * i[1][1],
                r[0] * i[0][2] + r[1] * i[1][2] + r[2],
            ]
        };
        Self([row(&self.0[0]), row(&self.0[1])])
    }

    /// The map back, unless the plane is folded to a line.
    pub fn inverse(&self) -> Option<Self> {
        let [[a, b, c], [d, e, f]] = self.0;
        let determinant = a * e - b * d;
        if determinant.is_nan() || determinant.abs() <= 1e-9 {
            return None;
        }
        let (ia, ib, id, ie) = (e / determinant, -b / determinant, -d / determinant, a / determinant);
        Some(Self([[ia, ib, -(ia * c + ib * f)], [id, ie, -(id * c + ie * f)]]))
    }

    /// The same map of a plane whose unit is `factor` times as long.
    pub fn scaled(&self, factor: f64) -> Self {
        let mut scaled = *self;
        scaled.0[0][2] *= factor;
        scaled.0[1][2] *= factor;
        scaled
    }

    /// How far it moves a corner of a frame at most, per axis.
    pub fn reach(&self, (width, height): (usize, usize)) -> f64 {
        let (right, bottom) = (width as f64 - 1.0, height as f64 - 1.0);
        let corners = [(0.0, 0.0), (right, 0.0), (0.0, bottom), (right, bottom)];
        corners.iter().fold(0.0, |most: f64, &(x, y)| {
            let (to_x, to_y) = self.apply(x, y);
            most.max((to_x - x).abs()).max((to_y - y).abs())
        })
    }
}

/// Solves the `N` linear equations whose matrix, symmetric and with the right sides as last column, is `m`; `None` if they do not
/// have one solution.
pub fn solve<const N: usize, const M: usize>(mut m: [[f64; M]; N]) -> Option<[f64; N]> {
    const { assert!(M == N + 1) };
    for column in 0..N {
        let mut pivot = column;
        for row in column + 1..N {
            if m[row][column].abs() > m[pivot][column].abs() {
                pivot = row;
            }
        }
        if m[pivot][column].is_nan() || m[pivot][column].abs() <= 1e-9 {
            return None;
        }
        m.swap(column, pivot);
        let of_pivot = m[column];
        for (_, row) in m.iter_mut().enumerate().filter(|(index, _)| *index != column) {
            let factor = row[column] / of_pivot[column];
            for (value, of_pivot) in row[column..].iter_mut().zip(&of_pivot[column..]) {
                *value -= factor * of_pivot;
            }
        }
    }
    let mut solution = [0.0; N];
    for (row, value) in solution.iter_mut().enumerate() {
        *value = m[row][N] / m[row][row];
    }
    Some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_and_its_inverse_move_nothing() {
        let map = Affine([[1.1, -0.2, 3.0], [0.1, 0.9, -7.0]]);
        let both = map.inverse().unwrap().after(&map);
        assert!(both.reach((640, 360)) < 1e-9, "{both:?}");
        assert_eq!(Affine([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0]]).inverse(), None);
        assert_eq!(Affine::IDENTITY.reach((640, 360)), 0.0);
    }

    #[test]
    fn equations_are_solved() {
        // 2 x + y = 5, x + 3 y = 10.
        assert_eq!(solve([[2.0, 1.0, 5.0], [1.0, 3.0, 10.0]]), Some([1.0, 3.0]));
        assert_eq!(solve([[1.0, 1.0, 5.0], [1.0, 1.0, 10.0]]), None);
    }
}
