/// The colour of a motion by so many samples to the right and down: red, green and blue, 0 to 1. The hue is the direction:
/// red to the right, then clockwise green-yellow down, cyan to the left, violet up. The brightness grows with the square root
/// of the length, up to that of a motion by `longest` samples.
pub fn motion_color((right, down): (f32, f32), longest: f32) -> [f32; 3] {
    let value = (right.hypot(down) / longest).sqrt().min(1.0);
    let sixths = down.atan2(right).rem_euclid(std::f32::consts::TAU) / std::f32::consts::TAU * 6.0;
    [5.0, 3.0, 1.0].map(|shift| {
        let along = (shift + sixths) % 6.0;
        value * (1.0 - along.min(4.0 - along).clamp(0.0, 1.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hue_is_the_direction_and_brightness_the_length() {
        for (motion, expected) in [
            ((16.0, 0.0), [1.0, 0.0, 0.0]),
            ((-99.0, 0.0), [0.0, 1.0, 1.0]),
            ((0.0, 16.0), [0.5, 1.0, 0.0]),
            ((0.0, -4.0), [0.25, 0.0, 0.5]),
            ((0.0, 0.0), [0.0; 3]),
        ] {
            let color = motion_color(motion, 16.0);
            let is_close = color.iter().zip(expected).all(|(part, expected)| (part - expected).abs() < 0.01);
            assert!(is_close, "{motion:?}: {color:?}");
        }
    }
}
