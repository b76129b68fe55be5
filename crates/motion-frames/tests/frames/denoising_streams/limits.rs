//! Streams in which each rule of the estimation decides at its limit, compared with the oracle. Without the rule something else
//! would be made of them.

use super::*;

/// Without wrong vectors.
const FOUND: Stream = Stream { wrong: u64::MAX, ..STREAM };

/// The blocks of a row of [`STREAM`].
const COLUMNS: usize = STREAM.size.0 / 8;

/// What luma's noise, or that of chroma, is in the blocks whose first sample is in this part of a frame.
fn in_part(
    noise: &[BlockNoise],
    of: fn(&BlockNoise) -> u64,
    is_in: impl Fn(usize, usize) -> bool,
) -> Vec<u64> {
    let places = (0..noise.len()).map(|block| (8 * (block % COLUMNS), 8 * (block / COLUMNS)));
    let blocks = noise.iter().zip(places).filter(|(_, (x, y))| is_in(*x, *y));
    blocks.map(|(noise, _)| of(noise)).collect()
}

/// The mean deviation of the noise of blocks.
fn deviation(noise: &[u64]) -> f64 {
    noise.iter().map(|noise| (*noise as f64 / 64.0).sqrt()).sum::<f64>() / noise.len() as f64
}

#[test]
fn black_and_white_bars_are_no_repeats_in_denoised_streams() {
    // Beside them are two kinds of noise: if the bars made the frame a clean one, it would have none.
    let scenes: [(&str, Scene); 2] =
        [("white", |place| beside_bar(place, 250.0)), ("black", |place| beside_bar(place, 5.0))];
    for (name, scene) in scenes {
        let noise = Stream { scene, moves: |_, _| false, ..FOUND }.check(name);
        let found = deviation(&in_part(&noise[2], |noise| noise.luma, |x, _| x >= 104));
        assert!(found > 2.0, "{name}: {found}");
    }
}

/// A bar of this luma over two fifths of the frame, and two kinds of noise in turn beside it.
fn beside_bar(place: Place, luma: f64) -> f64 {
    match (place.x < 104, place.plane) {
        (true, 0) => luma,
        (true, _) => 128.0,
        (false, _) => 120.0 + if (place.x / 8).is_multiple_of(3) { 3.0 } else { 9.0 } * noise(place),
    }
}

#[test]
fn bars_of_luma_alone_keep_the_noise_of_chroma_in_denoised_streams() {
    let scenes: [(&str, Scene); 2] =
        [("grey", |place| beside_flat_luma(place, 60.0)), ("black", |place| beside_flat_luma(place, 16.0))];
    for (name, scene) in scenes {
        let noise = Stream { scene, moves: |x, _| x >= 104, ..FOUND }.check(name);
        let is_bar = |x: usize, _: usize| x < 96;
        assert_eq!(deviation(&in_part(&noise[2], |noise| noise.luma, is_bar)), 0.0, "{name}");
        let found = deviation(&in_part(&noise[2], |noise| noise.chroma, is_bar));
        assert!((4.0..6.0).contains(&found), "{name}: {found}");
    }
}

/// Noise everywhere, except in luma in two fifths of the frame.
fn beside_flat_luma(place: Place, luma: f64) -> f64 {
    match (place.x < 104, place.plane) {
        (true, 0) => luma,
        (true, _) => 128.0 + 5.0 * noise(place),
        (false, _) => moving(place) + 5.0 * noise(place),
    }
}

#[test]
fn bars_of_a_32nd_of_denoised_streams_stay() {
    let scenes: [(&str, Scene); 2] = [
        ("16 of 512 blocks", |place| beside_thin_bar(place, 128)),
        ("15 of them", |place| beside_thin_bar(place, 120)),
    ];
    let of_bars = scenes.map(|(name, scene)| {
        let noise = Stream { scene, moves: |_, _| false, ..FOUND }.check(name);
        deviation(&in_part(&noise[2], |noise| noise.luma, |x, y| x < 8 && y < 120))
    });
    assert_eq!(of_bars[0], 0.0);
    // Fewer flat blocks are parts of the scene.
    assert!(of_bars[1] > 3.0, "{of_bars:?}");
}

/// A grey bar of a column of blocks and so many rows of samples, and noise elsewhere.
fn beside_thin_bar(place: Place, rows: usize) -> f64 {
    if place.x < 8 && place.y < rows { 126.0 } else { 120.0 + 4.0 * noise(place) }
}

#[test]
fn light_flickers_in_more_than_half_of_denoised_streams() {
    let scenes: [(&str, Scene); 2] =
        [("half", |place| with_light(place, 128)), ("more than half", |place| with_light(place, 136))];
    for (name, scene) in scenes {
        Stream { scene, moves: |_, _| false, ..FOUND }.check(name);
    }
}

/// Noise, and another light in the third frame in so many columns of samples.
fn with_light(place: Place, columns: usize) -> f64 {
    let is_lit = place.plane == 0 && place.time == 2 && place.x < columns;
    let light = if is_lit { 150.0 } else { 120.0 };
    light + 4.0 * noise(place)
}

#[test]
fn areas_of_little_noise_need_not_agree_in_denoised_streams() {
    // In the left part noise of two kinds, both with less than a sixteenth of the variance of the frame's.
    let scene: Scene = |place| {
        let deviation = match (place.x < 64, place.x / 8 % 2) {
            (true, 0) => 0.5,
            (true, _) => 1.4,
            (false, _) => 9.0,
        };
        120.0 + deviation * noise(place)
    };
    let noise = Stream { scene, moves: |_, _| false, ..FOUND }.check("little noise");
    let [little, much] = [0..64, 64..256]
        .map(|part| deviation(&in_part(&noise[2], |noise| noise.luma, |x, _| part.contains(&x))));
    assert!(little < 2.0 && much > 7.0, "{little}, {much}");
}

#[test]
fn scene_cuts_are_known_from_the_frame_before_in_denoised_streams() {
    // The first scene has much noise on the left, and the second one has little. Its blocks have so much texture that they
    // show that those of the first one are not found.
    let scene: Scene = |place| {
        let (x, y) = (place.x as f64 - 3.0 * place.time as f64, place.y as f64 - place.time as f64);
        let (texture, deviation) = match (place.time < 3, place.x < 64) {
            (true, true) => (4.0, 12.0),
            (true, false) => (4.0, 1.0),
            (false, _) => (60.0, 1.0),
        };
        120.0 + texture * (x * 0.9).sin() * (y * 1.1).sin() + deviation * noise(place)
    };
    for future in [1, 2] {
        let noise = Stream { scene, past: 0, future, frames: 5, ..FOUND }.check(&format!("future {future}"));
        let on_left = |time: usize| deviation(&in_part(&noise[time], |noise| noise.luma, |x, _| x < 56));
        assert!(on_left(1) > 9.0, "future {future}: {}", on_left(1));
        assert!(on_left(3) < 2.0, "future {future}: {}", on_left(3));
    }
}
