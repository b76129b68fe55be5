//! Cuts, and what is found in no frame beside it.

use super::small::hashed;
use super::*;

#[test]
fn noise_is_taken_out_beside_cuts() {
    let clean = |place: Place, time: f64| {
        if time < 3.0 {
            moving(place, time)
        } else {
            moving(Place { x: place.y, y: 2.0 * place.x, ..place }, time)
        }
    };
    for (number, shown) in show(6, clean, noise_in(WHOLE, 5.0)).iter().enumerate() {
        let [before, after] = shown.errors(0, &WHOLE);
        assert!(after < 0.65 * before, "frame {number}: {before} -> {after}");
    }
}

#[test]
fn a_flat_frame_after_a_cut_stays() {
    // No frame follows, and the one before it has texture.
    let clean = |place: Place, time: f64| if time < 3.0 { moving(place, time) } else { 120.0 };
    let shown = &show(4, clean, |_| 0.0)[3];
    let change = difference(&shown.made[0], &shown.noisy[0], &WHOLE);
    assert!(change < 0.1, "{change}");
}

#[test]
fn most_of_the_contrast_of_foam_stays() {
    // Another one in each frame, with a deviation of 17 on the left, and of a tenth of that on the right.
    let clean = |place: Place, time: f64| {
        let level =
            (hashed(place.x as usize / 2, place.y as usize / 2, time as usize) % 1000) as f64 / 1000.0;
        let contrast = if place.x < 160.0 { 60.0 } else { 6.0 };
        if place.plane == 0 { 120.0 + contrast * (level - 0.5) } else { 128.0 }
    };
    let shown = show(6, clean, |_| 0.0);
    let changes = shown.iter().map(|shown| difference(&shown.made[0], &shown.noisy[0], &WHOLE));
    let change = changes.sum::<f64>() / shown.len() as f64;
    assert!(change < 7.9, "{change}");
}
