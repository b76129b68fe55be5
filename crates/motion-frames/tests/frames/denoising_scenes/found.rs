//! How much noise is found where.

use super::*;

#[test]
fn noise_beside_bars_is_found() {
    for deviation in DEVIATIONS {
        for (name, part, bars) in [
            ("letterbox", (0..320, 40..152), [(0..320, 0..40), (0..320, 152..192)]),
            ("pillarbox", (72..248, 0..192), [(0..72, 0..192), (248..320, 0..192)]),
        ] {
            let clean = |place: Place, time: f64| match (is_in(&part, place), place.plane) {
                (true, _) => moving(place, time),
                (false, 0) => 16.0,
                (false, _) => 128.0,
            };
            let shown = show(4, clean, noise_in(part.clone(), deviation));
            check_found(&format!("{name}, {deviation}"), &shown, &part);
            for (shown, bar) in shown.iter().flat_map(|shown| bars.iter().map(move |bar| (shown, bar))) {
                for plane in 0..2 {
                    let changed = difference(&shown.made[plane], &shown.noisy[plane], bar);
                    assert_eq!(changed, 0.0, "{name}, plane {plane}");
                }
            }
        }
    }
}

#[test]
fn noise_of_dark_and_bright_scenes_is_found() {
    for deviation in DEVIATIONS {
        for base in [0.0, 240.0] {
            let clean = |place: Place, _: f64| match place.plane {
                0 => base + 5.0 + 2.5 * ((place.x / 30.0).sin() + (place.y / 25.0).cos()),
                _ => 128.0,
            };
            let shown = show(4, clean, noise_in(WHOLE, deviation));
            // Samples are cut off: less noise is left than was added.
            let left = difference(&shown[0].noisy[0], &shown[3].noisy[0], &WHOLE) / 2_f64.sqrt();
            for shown in &shown {
                let ratio = shown.found(&WHOLE) / left;
                assert!((0.85..1.15).contains(&ratio), "{base}, {deviation}: {ratio}");
            }
        }
    }
}

#[test]
fn noise_in_flickering_light_is_found_and_taken_out_of_all_frames_alike() {
    // With three lights in turn every third frame has none of its own beside it.
    for lights in [&[1.04, 0.96][..], &[1.04, 0.96, 0.96]] {
        for deviation in DEVIATIONS {
            let clean = |place: Place, time: f64| match place.plane {
                0 => lights[time as usize % lights.len()] * (120.0 + texture(place.x, place.y) / 2.0),
                _ => 128.0,
            };
            let shown = show(9, clean, noise_in(WHOLE, deviation));
            let name = format!("{deviation}, {} lights", lights.len());
            check_found(&name, &shown, &WHOLE);
            // Light changes texture by more than noise of one level, and is less than noise of 15.
            for plane in (0..2).filter(|_| deviation == 5.0) {
                let left = shown.iter().map(|shown| shown.errors(plane, &WHOLE));
                let left: Vec<_> = left.map(|[before, after]| after / before).collect();
                // Of the frames that have all others.
                for (number, pair) in left.windows(2).enumerate().skip(2).take(4) {
                    assert!(pair[1] < 0.75, "{name}, plane {plane}, frame {number}: {}", pair[1]);
                    let ratio = pair[1] / pair[0];
                    assert!((0.9..1.1).contains(&ratio), "{name}, plane {plane}, frame {number}: {ratio}");
                }
            }
        }
    }
}

#[test]
fn noise_is_found_whatever_is_clean_beside_it() {
    let inner = |part: &Part| (part.0.start + 16..part.0.end - 16, part.1.start + 16..part.1.end - 16);
    for deviation in DEVIATIONS {
        let alone = show(5, moving, noise_in(WHOLE, deviation));
        for (name, part) in [("inset", (184..304, 16..136)), ("split", (144..320, 0..192))] {
            let clean = |place: Place, time: f64| {
                if is_in(&part, place) { moving(place, time) } else { slide(place) }
            };
            let shown = show(5, clean, noise_in(part.clone(), deviation));
            check_found(&format!("{name}, {deviation}"), &shown, &part);
            for (number, (shown, alone)) in shown.iter().zip(&alone).enumerate() {
                let name = format!("{name}, {deviation}, frame {number}");
                let error = shown.errors(0, &(0..136, 0..192))[1];
                assert!(error < 0.1, "{name}: the slide has an error of {error}");
                let inner = inner(&part);
                let [error, of_alone] = [shown, alone].map(|shown| shown.errors(0, &inner)[1]);
                let most = of_alone + (0.02 * deviation).max(0.1);
                assert!(error < most, "{name}: {error}, alone {of_alone}");
            }
        }
    }
}

#[test]
fn clean_motion_beside_noise_is_left_alone() {
    let noisy: Part = (192..320, 0..192);
    let clean = |place: Place, time: f64| {
        let time = if is_in(&noisy, place) { time } else { 2.0 * time };
        let texture = texture(place.x + time, place.y);
        if place.plane == 0 { 110.0 + texture } else { 128.0 }
    };
    for deviation in DEVIATIONS {
        let shown = show(5, clean, noise_in(noisy.clone(), deviation));
        check_found(&format!("{deviation}"), &shown, &(208..320, 0..192));
        for (number, shown) in shown.iter().enumerate() {
            let error = shown.errors(0, &(8..176, 0..192))[1];
            assert!(error < 0.1, "{deviation}, frame {number}: {error}");
        }
    }
}

#[test]
fn noise_is_not_found_in_clean_motion_beside_it() {
    // More of the frame has noise, or less than half of it.
    for from in [64, 192] {
        let noisy: Part = (from..320, 0..192);
        // Between samples predictions have errors of half a level.
        let clean = |place: Place, time: f64| {
            let speed = if is_in(&noisy, place) { 0.6 } else { 1.2 };
            if place.plane == 0 { 110.0 + texture(place.x + speed * time, place.y) } else { 128.0 }
        };
        for deviation in [5.0, 15.0] {
            for (number, shown) in show(5, clean, noise_in(noisy.clone(), deviation)).iter().enumerate() {
                let found = shown.found(&(8..from - 16, 0..192));
                assert!(found < 0.6, "{deviation} from {from} on, frame {number}: {found}");
            }
        }
    }
}

#[test]
fn clean_animation_is_left_alone() {
    let sky: Part = (0..320, 0..96);
    let clean = |place: Place, time: f64| match (is_in(&sky, place), place.plane) {
        (true, 0) => 170.0,
        (true, _) => 120.0,
        (false, _) => moving(place, time),
    };
    // What coding leaves.
    let coding = |place: Place| match (is_in(&sky, place), place.plane) {
        (true, _) => 0.0,
        (false, 0) => 0.5,
        (false, _) => 1.0,
    };
    for (number, shown) in show(5, clean, coding).iter().enumerate() {
        for plane in 0..3 {
            let change = difference(&shown.made[plane], &shown.noisy[plane], &WHOLE);
            assert_eq!(change, 0.0, "frame {number}, plane {plane}");
        }
    }
}

#[test]
fn repeated_frames_tell_nothing() {
    let one = show(6, moving, noise_in(WHOLE, 5.0));
    // As 24 frames a second in 60: each twice or three times.
    let times = [0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 5];
    let frames: Vec<_> = times.iter().map(|&time| one[time].noisy.clone()).collect();
    let made = denoised(&frames);
    for (number, (time, (made, noise))) in times.iter().zip(made).enumerate().skip(2).take(10) {
        let shown = Shown { clean: one[*time].clean.clone(), noisy: one[*time].noisy.clone(), made, noise };
        let ratio = shown.found(&WHOLE) / 5.0;
        assert!((0.85..1.15).contains(&ratio), "frame {number}: {ratio}");
        // Averaged with at least one other frame.
        let error = shown.errors(0, &WHOLE)[1];
        assert!(error < 4.0, "frame {number}: {error}");
    }
}
