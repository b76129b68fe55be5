//! Colour, which luma does not tell.

use super::*;

#[test]
fn colour_that_flashes_stays_in_its_frame() {
    for deviation in [0.0, 5.0] {
        let clean = |place: Place, time: f64| match place.plane {
            0 => 110.0 + texture(place.x, place.y),
            _ if time == 3.0 && is_in(&(96..224, 64..128), place) => 200.0,
            _ => 128.0,
        };
        let of_luma = |place: Place| if place.plane == 0 { deviation } else { 0.0 };
        for shown in show(7, clean, of_luma) {
            let [before, after] = shown.errors(1, &WHOLE);
            assert!(before == 0.0 && after <= 0.05, "{before} -> {after}");
        }
        // With noise in it, too.
        for (number, shown) in show(7, clean, |_| 5.0).iter().enumerate() {
            let [before, after] = shown.errors(1, &(96..224, 64..128));
            assert!(after <= before + 0.05, "frame {number}: {before} -> {after}");
        }
    }
}

#[test]
fn colour_that_moves_does_not_trail() {
    let patch = |time: f64| -> Part {
        let x = 80 + 8 * time as usize;
        (x..x + 64, 64..128)
    };
    let clean = |place: Place, time: f64| match place.plane {
        0 => 110.0,
        _ if is_in(&patch(time), place) => 188.0,
        _ => 128.0,
    };
    for chroma in [0.0, 3.0] {
        let shown = show(7, clean, |place: Place| if place.plane == 0 { 5.0 } else { chroma });
        for (time, shown) in shown.iter().enumerate() {
            // Behind the patch, where it was one and two frames before.
            let start = patch(time as f64).0.start;
            let behind: Part = (start - 16..start, 64..128);
            let mean = |frame: &Frame| {
                let mut sum = 0.0;
                for y in behind.1.start / 2..behind.1.end / 2 {
                    for x in behind.0.start / 2..behind.0.end / 2 {
                        sum += f64::from(frame.view().sample(x as i32, y as i32));
                    }
                }
                sum / (behind.0.len() * behind.1.len() / 4) as f64
            };
            let trail = (mean(&shown.made[1]) - mean(&shown.noisy[1])) / 60.0;
            assert!(trail.abs() < 0.03, "noise {chroma}, frame {time}: {trail}");
        }
    }
}

#[test]
fn colour_is_never_worse_and_its_noise_leaves_alone() {
    for (luma, chroma) in [(5.0, 0.0), (5.0, 1.0), (0.0, 0.0), (15.0, 1.0), (1.0, 1.0)] {
        let shown = show(5, moving, |place: Place| if place.plane == 0 { luma } else { chroma });
        for (number, shown) in shown.iter().enumerate() {
            let [before, after] = shown.errors(1, &WHOLE);
            assert!(after <= before + 0.05, "{luma}, {chroma}, frame {number}: {before} -> {after}");
        }
    }
    // Chroma alone has noise.
    for shown in show(5, moving, |place: Place| if place.plane == 0 { 0.0 } else { 5.0 }) {
        assert!(shown.errors(0, &WHOLE)[1] < 0.05);
        let [before, after] = shown.errors(1, &WHOLE);
        assert!(after < 0.6 * before, "{before} -> {after}");
    }
}
