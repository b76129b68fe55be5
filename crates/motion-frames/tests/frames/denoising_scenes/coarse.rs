//! Noise that agrees from sample to sample, and structure that is no noise.

use super::*;

/// White noise that is blurred with this deviation in samples, of deviation 1, for each sample of luma.
fn blurred(normal: &mut Normal, blur: f64) -> Vec<f64> {
    let reach = (3.0 * blur).ceil() as usize;
    let weight = |at: usize| (-(at as f64 - reach as f64).powi(2) / (2.0 * blur * blur)).exp();
    let weights: Vec<_> = (0..=2 * reach).map(weight).collect();
    let (width, height) = SIZE;
    // Beyond the right and lower edge it goes on at the other side.
    let along = |values: &[f64], step: (usize, usize)| -> Vec<f64> {
        let at = |index: usize, far: usize| {
            let (x, y) = (index % width + far * step.0, index / width + far * step.1);
            values[y % height * width + x % width]
        };
        let mean = |index| weights.iter().enumerate().map(|(far, weight)| weight * at(index, far)).sum();
        (0..width * height).map(mean).collect()
    };
    let white: Vec<_> = (0..width * height).map(|_| normal.next()).collect();
    let mut noise = along(&along(&white, (1, 0)), (0, 1));
    let deviation = (noise.iter().map(|value| value * value).sum::<f64>() / noise.len() as f64).sqrt();
    noise.iter_mut().for_each(|value| *value /= deviation);
    noise
}

/// The frames of a scene with blurred noise of this `deviation` in luma, denoised.
fn show_blurred(count: usize, blur: f64, clean: impl Clean, deviation: impl Deviation) -> Vec<Shown> {
    let mut normal = Normal(0x9e37_79b9_7f4a_7c15);
    let clean: Vec<_> = (0..count).map(|time| frame(|place| clean(place, time as f64))).collect();
    let noisy = clean.iter().map(|planes| {
        let noise = blurred(&mut normal, blur);
        let scaled = |plane: usize| SIZE.0 / planes[plane].view().width();
        frame(|place| {
            let scale = scaled(place.plane);
            let (x, y) = (place.x as usize, place.y as usize);
            let value = planes[place.plane].view().sample((x / scale) as i32, (y / scale) as i32);
            let noise = if place.plane == 0 { deviation(place) * noise[y * SIZE.0 + x] } else { 0.0 };
            f64::from(value) + noise
        })
    });
    let frames: Vec<_> = noisy.collect();
    let made = denoised(&frames);
    let shown = clean.into_iter().zip(frames).zip(made);
    shown.map(|((clean, noisy), (made, noise))| Shown { clean, noisy, made, noise }).collect()
}

/// Texture that moves, below a flat sky.
fn below_sky(place: Place, time: f64) -> f64 {
    match (place.y < 96.0, place.plane) {
        (true, 0) => 150.0 + place.x / 40.0,
        (true, _) => 120.0,
        (false, _) => moving(place, time),
    }
}

#[test]
fn coarse_noise_is_taken_out_of_flat_areas() {
    let sky: Part = (16..304, 8..80);
    for (blur, deviation) in [(0.9, 5.0), (1.0, 5.0), (1.25, 4.0), (1.5, 5.0), (1.5, 3.0)] {
        for (number, shown) in show_blurred(5, blur, below_sky, |_| deviation).iter().enumerate() {
            let [before, after] = shown.errors(0, &sky);
            // The frames at the ends have fewer others.
            let most = if number == 2 { 0.7 } else { 0.8 };
            assert!(after < most * before, "blur {blur}, frame {number}: {before} -> {after}");
        }
    }
}

/// Luma at a place and a time.
type Level<'a> = &'a dyn Fn(Place, f64) -> f64;

#[test]
fn coarse_noise_is_taken_out_where_there_is_no_texture() {
    let inner: Part = (16..304, 16..176);
    let slope = |place: Place, time: f64| place.x / 3.0 + place.y / 8.0 + time;
    let dark = |place: Place, _: f64| 26.0 + 8.0 * (place.x / 40.0).sin() * (place.y / 50.0).cos();
    let flat = |_: Place, _: f64| 100.0;
    let scenes: [(&str, Level<'_>); 3] = [("slope", &slope), ("dark", &dark), ("flat", &flat)];
    for (name, clean) in scenes {
        for (blur, deviation, most) in
            [(0.9, 5.0, 0.39), (1.0, 7.0, 0.41), (1.5, 4.0, 0.54), (2.0, 3.0, 0.72)]
        {
            let clean = |place: Place, time: f64| if place.plane == 0 { clean(place, time) } else { 128.0 };
            for (number, shown) in show_blurred(5, blur, clean, |_| deviation).iter().enumerate() {
                let [before, after] = shown.errors(0, &inner);
                // The frames at the ends have fewer others.
                let most = if number == 2 { most } else { 1.2 * most };
                assert!(after < most * before, "{name}, blur {blur}, frame {number}: {before} -> {after}");
            }
        }
    }
}

#[test]
fn smooth_structure_that_is_not_found_stays() {
    // Such as water: another one in each frame, below what is found without noise, or with little.
    let water: Part = (0..320, 112..192);
    for (blur, noise) in [(1.5, 0.0), (2.0, 0.0), (1.5, 1.0)] {
        let clean = |place: Place, time: f64| if is_in(&water, place) { 110.0 } else { moving(place, time) };
        let deviation = |place: Place| if is_in(&water, place) { 12.0 } else { noise };
        for (number, shown) in show_blurred(5, blur, clean, deviation).iter().enumerate() {
            let change = difference(&shown.made[0], &shown.noisy[0], &water);
            assert!(change < 0.04 * 12.0, "blur {blur}, frame {number}: {change}");
        }
    }
}

#[test]
fn coarse_noise_beside_bars_and_slides_is_taken_out() {
    let part: Part = (112..320, 0..192);
    let bar: Part = (0..96, 0..192);
    let inner: Part = (128..304, 8..184);
    for (blur, deviation) in [(0.4, 6.0), (0.7, 6.0), (0.9, 5.0), (1.0, 4.0), (1.25, 3.0)] {
        for beside in [Some(16.0), Some(60.0), Some(126.0), Some(245.0), None] {
            let clean = |place: Place, time: f64| match (is_in(&part, place), beside, place.plane) {
                (true, ..) => below_sky(place, time),
                (false, Some(bar), 0) => bar,
                (false, Some(_), _) => 128.0,
                (false, None, _) => slide(place),
            };
            let noise = |place: Place| if is_in(&part, place) { deviation } else { 0.0 };
            for (number, shown) in show_blurred(5, blur, clean, noise).iter().enumerate() {
                let name = format!("blur {blur}, beside {beside:?}, frame {number}");
                let [before, after] = shown.errors(0, &inner);
                let most = if number == 2 { 0.64 } else { 0.75 };
                assert!(after < most * before, "{name}: {before} -> {after}");
                let left = shown.errors(0, &bar)[1];
                assert_eq!(left, 0.0, "{name}: the bar has an error");
            }
        }
    }
}

#[test]
fn bars_of_any_share_and_colour_stay() {
    let shares: [(&str, &[Part]); 5] = [
        ("left", &[(0..24, 0..192)]),
        ("at the top", &[(0..320, 0..16)]),
        ("both sides", &[(0..16, 0..192), (304..320, 0..192)]),
        ("top and bottom", &[(0..320, 0..24), (0..320, 168..192)]),
        ("wide", &[(0..72, 0..192), (248..320, 0..192)]),
    ];
    let inner: Part = (80..240, 32..160);
    for (share, bars) in shares {
        for (blur, most) in [(0.0, 0.6), (0.9, 0.65)] {
            for colour in [[60.0, 128.0], [126.0, 90.0], [200.0, 150.0], [245.0, 128.0]] {
                let is_bar = |place: Place| bars.iter().any(|bar| is_in(bar, place));
                let clean = |place: Place, time: f64| match is_bar(place) {
                    true => colour[place.plane.min(1)],
                    false => moving(place, time),
                };
                let noise = |place: Place| if is_bar(place) { 0.0 } else { 5.0 };
                let shown = match blur {
                    0.0 => show(4, clean, noise),
                    blur => show_blurred(4, blur, clean, noise),
                };
                for (number, shown) in shown.iter().enumerate() {
                    let name = format!("{share}, blur {blur}, colour {colour:?}, frame {number}");
                    let [before, after] = shown.errors(0, &inner);
                    assert!(after < most * before, "{name}: {before} -> {after}");
                    for bar in bars {
                        let changed =
                            [0, 1, 2].map(|plane| difference(&shown.made[plane], &shown.noisy[plane], bar));
                        assert!(
                            changed.iter().all(|changed| *changed < 0.1),
                            "{name}: bars change by {changed:?}"
                        );
                    }
                }
            }
        }
    }
}
