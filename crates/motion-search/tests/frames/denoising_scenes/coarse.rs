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
    for blur in [0.4, 0.7, 1.0] {
        let shown = |bar: Option<f64>| {
            let clean = |place: Place, time: f64| match (is_in(&part, place), bar, place.plane) {
                (true, ..) => below_sky(place, time),
                (false, Some(bar), 0) => bar,
                (false, Some(_), _) => 128.0,
                (false, None, _) => slide(place),
            };
            show_blurred(5, blur, clean, |place| if is_in(&part, place) { 6.0 } else { 0.0 })
        };
        let black = shown(Some(16.0));
        for beside in [Some(60.0), Some(126.0), Some(200.0), None] {
            for (number, (shown, black)) in shown(beside).iter().zip(&black).enumerate() {
                let name = format!("blur {blur}, beside {beside:?}, frame {number}");
                let inner: Part = (128..304, 8..184);
                let [after, of_black] = [shown, black].map(|shown| shown.errors(0, &inner)[1]);
                assert!(after < 1.1 * of_black, "{name}: {after}, beside black {of_black}");
                let left = shown.errors(0, &bar)[1];
                assert!(left < 0.1, "{name}: the bar has an error of {left}");
            }
        }
    }
}
