use std::ops::RangeInclusive;

use crate::SetupError;
use crate::units::MAX_DISPLACEMENT;

/// A displacement in full samples `(x, y)`: x to the right, y down.
pub type Displacement = (i32, i32);

/// The rectangle of displacements that are candidates, in samples, both ends included. By default only the zero vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Window {
    x0: i32,
    x1: i32,
    y0: i32,
    y1: i32,
}

impl Window {
    /// The window `[x0, x1] × [y0, y1]`.
    ///
    /// # Errors
    /// [`SetupError::Window`] if it does not contain `(0, 0)` or exceeds [`MAX_DISPLACEMENT`].
    #[inline]
    pub fn new(x0: i32, x1: i32, y0: i32, y1: i32) -> Result<Self, SetupError> {
        let holds_zero = x0 <= 0 && 0 <= x1 && y0 <= 0 && 0 <= y1;
        let short = [x0, x1, y0, y1].iter().all(|d| (-MAX_DISPLACEMENT..=MAX_DISPLACEMENT).contains(d));
        if holds_zero && short {
            Ok(Self { x0, x1, y0, y1 })
        } else {
            Err(SetupError::Window { x0, x1, y0, y1 })
        }
    }

    /// The window `[-x, x] × [-y, y]`.
    ///
    /// # Errors
    /// [`SetupError::Window`] if a range is negative or exceeds [`MAX_DISPLACEMENT`].
    #[inline]
    pub fn symmetric(x: i32, y: i32) -> Result<Self, SetupError> {
        Self::new(x.saturating_neg(), x, y.saturating_neg(), y)
    }

    /// The window the papers call *W*: the side of the searched area in samples. With block side
    /// *B* it has `n = W - B + 1` positions an axis, `-floor(n/2) … n - 1 - floor(n/2)`.
    ///
    /// # Errors
    /// [`SetupError::WindowArea`] if the area holds no block, [`SetupError::Window`] if a position exceeds
    /// [`MAX_DISPLACEMENT`].
    pub fn of_area(side: usize, block_size: usize) -> Result<Self, SetupError> {
        if side < block_size || block_size == 0 {
            return Err(SetupError::WindowArea { side, block_size });
        }
        let positions = i32::try_from(side - block_size).unwrap_or(i32::MAX).saturating_add(1);
        let (first, last) = (-(positions / 2), positions - 1 - positions / 2);
        Self::new(first, last, first, last)
    }

    /// The window that a text names: the side of the searched area for blocks of this side, as [`Self::of_area`], or
    /// `x0,x1,y0,y1`, as [`Self::new`].
    ///
    /// # Errors
    /// [`SetupError::WindowText`] for another text, and those of the two.
    pub fn from_text(text: &str, block_size: usize) -> Result<Self, SetupError> {
        if let Ok(side) = text.trim().parse() {
            return Self::of_area(side, block_size);
        }
        let numbers: Result<Vec<i32>, _> = text.split(',').map(|number| number.trim().parse()).collect();
        match numbers.as_deref() {
            Ok(&[x0, x1, y0, y1]) => Self::new(x0, x1, y0, y1),
            _ => Err(SetupError::WindowText { text: text.into() }),
        }
    }

    /// The leftmost displacement.
    #[inline]
    pub fn x0(&self) -> i32 {
        self.x0
    }

    /// The rightmost displacement.
    #[inline]
    pub fn x1(&self) -> i32 {
        self.x1
    }

    /// The topmost displacement.
    #[inline]
    pub fn y0(&self) -> i32 {
        self.y0
    }

    /// The lowest displacement.
    #[inline]
    pub fn y1(&self) -> i32 {
        self.y1
    }

    /// Positions across.
    #[inline]
    pub fn columns(&self) -> usize {
        (self.x1 - self.x0 + 1) as usize
    }

    /// Positions down.
    #[inline]
    pub fn rows(&self) -> usize {
        (self.y1 - self.y0 + 1) as usize
    }

    /// Positions in all.
    #[inline]
    pub fn candidates(&self) -> usize {
        self.columns() * self.rows()
    }

    /// Every displacement, row by row.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Displacement> + use<> {
        let Self { x0, x1, y0, y1 } = *self;
        (y0..=y1).flat_map(move |y| (x0..=x1).map(move |x| (x, y)))
    }

    /// Whether the displacement `(x, y)` is in the window.
    #[inline]
    pub fn contains(&self, (x, y): Displacement) -> bool {
        (self.x0..=self.x1).contains(&x) && (self.y0..=self.y1).contains(&y)
    }

    /// The steps of three-step search in samples, longest first: `ceil(R / 2)`, where R is the
    /// longest way from `(0, 0)` to an edge of the window, then each `ceil(previous / 2)` down to 1.
    /// R = 7 has the three that gave the algorithm its name: 4, 2, 1; R = 0 has none.
    pub fn steps(&self) -> impl Iterator<Item = i32> + use<> {
        let range = (-self.x0).max(self.x1).max(-self.y0).max(self.y1);
        let first = (range > 0).then_some((range + 1) / 2);
        std::iter::successors(first, |&step| (step > 1).then_some((step + 1) / 2))
    }

    /// The part of the window inside `[x0, x1] × [y0, y1]`.
    ///
    /// # Panics
    /// If that does not hold `(0, 0)`.
    #[inline]
    pub fn clipped(&self, x: RangeInclusive<i32>, y: RangeInclusive<i32>) -> Self {
        assert!(x.contains(&0) && y.contains(&0), "{x:?} and {y:?} do not hold (0, 0)");
        Self {
            x0: self.x0.clamp(*x.start(), *x.end()),
            x1: self.x1.clamp(*x.start(), *x.end()),
            y0: self.y0.clamp(*y.start(), *y.end()),
            y1: self.y1.clamp(*y.start(), *y.end()),
        }
    }

    /// The rows of the window from `y0` to `y1`, which need not contain `(0, 0)`; if the window has none of them, its
    /// nearest row. [`Self::clipped`] of such a window is never empty either: it is at least the nearest row.
    #[inline]
    pub fn with_rows(&self, y0: i32, y1: i32) -> Self {
        Self { y0: y0.clamp(self.y0, self.y1), y1: y1.clamp(self.y0, self.y1), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn area_of_the_papers() {
        let window = Window::of_area(47, 16).unwrap();
        assert_eq!((window.x0(), window.x1(), window.candidates()), (-16, 15, 1024));
        let window = Window::of_area(31, 16).unwrap();
        assert_eq!((window.x0(), window.x1()), (-8, 7));
        assert!(Window::of_area(15, 16).is_err());
    }

    #[test]
    fn steps_halve_upwards_down_to_one() {
        let steps = |x0, x1, y0, y1| Window::new(x0, x1, y0, y1).unwrap().steps().collect::<Vec<_>>();
        assert_eq!(steps(-7, 7, -7, 7), [4, 2, 1]);
        assert_eq!(steps(-16, 16, -16, 16), [8, 4, 2, 1]);
        assert_eq!(steps(-15, 15, -15, 15), [8, 4, 2, 1]);
        assert_eq!(steps(-5, 5, -5, 5), [3, 2, 1]);
        assert_eq!(steps(-2, 2, 0, 0), [1]);
        assert_eq!(steps(0, 1, 0, 0), [1]);
        assert_eq!(steps(0, 0, 0, 0), [0_i32; 0]);
        // The longest way decides, whichever it is.
        for (x0, x1, y0, y1) in [(-7, 0, 0, 1), (-1, 7, 0, 0), (0, 0, -7, 2), (-2, 0, 0, 7)] {
            assert_eq!(steps(x0, x1, y0, y1), [4, 2, 1]);
        }
        assert_eq!(steps(-8191, 0, 0, 0).len(), 13);
    }

    #[test]
    fn window_holds_zero_and_fits_a_vector() {
        assert!(Window::symmetric(8191, 8191).is_ok());
        assert!(Window::symmetric(8192, 1).is_err());
        assert!(Window::symmetric(-1, 1).is_err());
        assert!(Window::new(1, 2, 0, 0).is_err());
        assert!(Window::symmetric(i32::MIN, 0).is_err());
    }
}
