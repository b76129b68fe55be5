//! Two synthetic frames.

use motion_search::estimator::Frame;

/// A reference frame and a current frame of the same size.
pub struct Scene {
    /// The frame that is searched.
    pub reference: Frame,
    /// The frame whose blocks are searched for.
    pub current: Frame,
}

impl Scene {
    /// A texture that moves by (5, -3) samples, each frame with noise of its own.
    pub fn made(width: usize, height: usize) -> Self {
        let mut state = 1_u32;
        let mut frame = |shift_x: f64, shift_y: f64| {
            Frame::from_fn(width, height, |x, y| {
                let (x, y) = (x as f64 + shift_x, y as f64 + shift_y);
                let texture = 60.0 * (x * 0.21 + y * 0.05).sin() + 55.0 * (y * 0.17 - x * 0.03).cos();
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (124.0 + texture) as u8 + (state >> 29) as u8
            })
        };
        Self { reference: frame(0.0, 0.0), current: frame(5.0, -3.0) }
    }

    /// Width and height.
    pub fn size(&self) -> (usize, usize) {
        self.current.view().size()
    }
}
