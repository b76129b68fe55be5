//! Colours for directions and devices, and their conversion to the components of a frame.

use motion_search::estimator::motion_color;

/// Red, green and blue, 0 to 1.
pub(super) type Rgb = [f32; 3];

/// Length of a movement, in samples, from which on its colour has full brightness.
pub(super) const FULL_LENGTH: f32 = 16.0;

/// The colour of a movement by `(x, y)` samples, as [`motion_color`] has it.
pub(super) fn of_movement(x: f32, y: f32) -> Rgb {
    motion_color((x, y), FULL_LENGTH)
}

/// The offset of a quantiser, in steps, from which on its colour is full.
const FULL_OFFSET: f32 = 6.0;

/// The colour of a quantiser offset, green below zero and red above, and how much of it is seen, 0 to 1.
pub(super) fn of_offset(offset: f32) -> (Rgb, f32) {
    let color = if offset < 0.0 { [0.1, 0.8, 0.2] } else { [0.9, 0.15, 0.1] };
    (color, (offset.abs() / FULL_OFFSET).min(1.0))
}

/// Orange, light blue, green, yellow, blue, red, pink and grey, distinguishable with colour vision
/// deficiency.
const DEVICES: [Rgb; 8] = [
    [0.9, 0.62, 0.0],
    [0.34, 0.71, 0.91],
    [0.0, 0.62, 0.45],
    [0.94, 0.89, 0.26],
    [0.0, 0.45, 0.7],
    [0.84, 0.37, 0.0],
    [0.8, 0.47, 0.65],
    [0.5, 0.5, 0.5],
];

/// The colour of device number `index`.
pub(super) fn of_device(index: u8) -> Rgb {
    DEVICES[usize::from(index) % DEVICES.len()]
}

/// How a frame stores colours in its components.
#[derive(Clone, Copy, Debug)]
pub(super) enum Model {
    /// Red, green, blue, alpha.
    Rgb,
    /// Luma and two colour differences: the shares of red and blue in luma, and the offset and scale of
    /// each component.
    Yuv { kr: f32, kb: f32, offset: [f32; 3], scale: [f32; 3] },
}

impl Model {
    /// The value of each component for an opaque `color`.
    pub(super) fn components(&self, color: Rgb) -> [u8; 4] {
        let [r, g, b] = color;
        let [first, second, third] = match *self {
            Self::Rgb => color.map(|part| part * 255.0),
            Self::Yuv { kr, kb, offset, scale } => {
                let y = kr * r + (1.0 - kr - kb) * g + kb * b;
                let differences = [y, (b - y) / (2.0 * (1.0 - kb)), (r - y) / (2.0 * (1.0 - kr))];
                std::array::from_fn(|i| offset[i] + scale[i] * differences[i])
            }
        };
        let sample = |value: f32| value.round().clamp(0.0, 255.0) as u8;
        [sample(first), sample(second), sample(third), 255]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limited_range_yuv() {
        let bt601 =
            Model::Yuv { kr: 0.299, kb: 0.114, offset: [16.0, 128.0, 128.0], scale: [219.0, 224.0, 224.0] };
        assert_eq!(bt601.components([1.0, 1.0, 1.0]), [235, 128, 128, 255]);
        assert_eq!(bt601.components([1.0, 0.0, 0.0]), [81, 90, 240, 255]);
        assert_eq!(Model::Rgb.components([1.0, 0.5, 0.0]), [255, 128, 0, 255]);
    }
}
