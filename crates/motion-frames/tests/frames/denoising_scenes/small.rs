//! Small things that are no noise, and a pattern that is.

use super::*;

/// A number for each place and time that seems random.
pub(super) fn hashed(x: usize, y: usize, time: usize) -> u64 {
    let mut hash = (x as u64) << 40 | (y as u64) << 20 | time as u64;
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ hash >> 33).wrapping_mul(factor);
    }
    hash ^ hash >> 33
}

/// Whether this sample is one of a spark of 2 x 2, each in a frame of its own.
fn is_spark(x: usize, y: usize, time: usize) -> bool {
    const CELL: usize = 16;
    let hash = hashed(x / CELL, y / CELL, time);
    let (left, top) = ((hash >> 8) as usize % (CELL - 1), (hash >> 16) as usize % (CELL - 1));
    let is_within = |at: usize, start: usize| (start..start + 2).contains(&(at % CELL));
    hash.is_multiple_of(4) && is_within(x, left) && is_within(y, top)
}

#[test]
fn sparks_keep_most_of_their_contrast() {
    const COUNT: usize = 7;
    for contrast in [40.0, -40.0] {
        for speed in [0.0, 1.0] {
            let clean = |place: Place, time: f64| {
                let is_spark =
                    place.plane == 0 && is_spark(place.x as usize, place.y as usize, time as usize);
                moving(place, speed * time) + if is_spark { contrast } else { 0.0 }
            };
            let shown = show(COUNT, clean, noise_in(WHOLE, 5.0));
            // The frames that are averaged with four others.
            for (time, Shown { clean, made, .. }) in shown.iter().enumerate().take(COUNT - 2).skip(2) {
                let [clean, made] = [clean, made].map(|planes| planes[0].view());
                let places = (0..SIZE.1).flat_map(|y| (0..SIZE.0).map(move |x| (x, y)));
                let places: Vec<_> = places.filter(|&(x, y)| is_spark(x, y, time)).collect();
                let sample = |frame: &FrameView<'_>, (x, y)| f64::from(frame.sample(x as i32, y as i32));
                let changes = places.iter().map(|&place| sample(&made, place) - sample(&clean, place));
                let kept = 1.0 + changes.sum::<f64>() / places.len() as f64 / contrast;
                assert!((0.6..1.1).contains(&kept), "{contrast}, speed {speed}, frame {time}: {kept}");
            }
        }
    }
}

#[test]
fn a_pattern_of_the_sensor_goes_where_the_camera_pans() {
    const COUNT: usize = 7;
    let mut normal = Normal(0x0123_4567_89ab_cdef);
    let pattern: Vec<_> = (0..SIZE.0 * SIZE.1).map(|_| 2.0 * normal.next()).collect();
    let clean = |place: Place, time: f64| match place.plane {
        // The texture has a deviation of 6.
        0 => {
            110.0
                + 0.27 * (moving(place, time) - 110.0)
                + pattern[place.y as usize * SIZE.0 + place.x as usize]
        }
        _ => 128.0,
    };
    let shown = show(COUNT, clean, noise_in(WHOLE, 3.0));
    // The frames that are averaged with four others.
    for (time, Shown { clean, made, .. }) in shown.iter().enumerate().take(COUNT - 2).skip(2) {
        let [clean, made] = [clean, made].map(|planes| planes[0].view());
        let (mut both, mut squares) = (0.0, 0.0);
        for (place, pattern) in pattern.iter().enumerate() {
            let (x, y) = ((place % SIZE.0) as i32, (place / SIZE.0) as i32);
            both += pattern * (f64::from(made.sample(x, y)) - f64::from(clean.sample(x, y)));
            squares += pattern * pattern;
        }
        let left = 1.0 + both / squares;
        assert!((0.0..0.3).contains(&left), "frame {time}: {left} of the pattern is left");
    }
}
