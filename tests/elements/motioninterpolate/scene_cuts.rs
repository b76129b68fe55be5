//! Scene cuts in noise, and `scene-cut-threshold`.

use gst::prelude::*;
use gst_video::{VideoFormat, VideoInfo};
use test_support::Noise;

use super::support::*;

const RATE: Rate = (25, 1);
const SIZE: (u32, u32) = (256, 144);

fn info() -> VideoInfo {
    video(VideoFormat::Gray8, SIZE, RATE)
}

/// Frame `number` of `scene`, in soft light and shadow that moves by a sample a frame, with noise of this deviation. `part` is how
/// much of the light there is.
fn shot(scene: usize, number: u64, deviation: f64, part: f64) -> gst::Buffer {
    let info = info();
    let (width, height) = (SIZE.0 as usize, SIZE.1 as usize);
    let (columns, mut light) = (width / 24 + 3, Noise::new(scene as u32 + 3));
    let lattice: Vec<f64> = (0..columns * (height / 24 + 3)).map(|_| f64::from(light.next())).collect();
    let mut bytes = Noise::new(number as u32 + 77);
    // A sum of twelve has a deviation of 256.
    let mut noise = || deviation * (0..12).map(|_| f64::from(bytes.next()) - 127.5).sum::<f64>() / 256.0;
    let mut sample = |x: usize, y: usize| {
        let (x, y) = ((x as f64 + number as f64) / 24.0, y as f64 / 24.0);
        let at = |right, below| lattice[(y as usize + below) * columns + x as usize + right];
        let row = |below| at(0, below) * (1.0 - x.fract()) + at(1, below) * x.fract();
        let level = 30.0 + part * 0.7 * (row(0) * (1.0 - y.fract()) + row(1) * y.fract());
        (level + noise()).round().clamp(0.0, 255.0) as u8
    };
    let samples: Vec<u8> = (0..width * height).map(|at| sample(at % width, at / width)).collect();
    let mut buffer = frame(&info, RATE, number);
    buffer.make_mut().map_writable().unwrap().copy_from_slice(&samples);
    buffer
}

/// The samples of the frames that come out of `launch`, and how many were made, and not made because of a scene cut.
fn run(launch: &str, frames: &[gst::Buffer]) -> (Vec<Vec<u8>>, u64, u64) {
    let mut harness = harness(launch, &info(), (50, 1));
    frames.iter().for_each(|frame| push(&mut harness, frame.clone()));
    let found = pull(&mut harness);
    let samples = found.iter().map(|buffer| buffer.map_readable().unwrap().to_vec()).collect();
    (samples, count(&harness, "made"), count(&harness, "scene-cuts"))
}

#[test]
fn in_noise_every_frame_is_made_but_at_cuts() {
    for deviation in [0.0, 1.0, 3.0, 6.0, 9.0, 12.0] {
        // A dark scene has a tenth of the light.
        for part in [1.0, 0.25] {
            let still: Vec<_> = (0..6).map(|number| shot(0, number, deviation, part)).collect();
            let cut: Vec<_> =
                (0..6).map(|number| shot(usize::from(number > 2), number, deviation, part)).collect();
            let what = format!("{deviation}, {part} of the light");
            let off = run("motioninterpolate device=native scene-cut=off", &still);
            assert_eq!(run("motioninterpolate device=native", &still), off, "{what}");
            assert_eq!((off.1, off.2), (5, 0), "{what}");
            let (samples, made, cuts) = run("motioninterpolate device=native", &cut);
            assert_eq!((made, cuts), (4, 1), "{what}");
            assert!(samples[5] == samples[6] && samples[3] != samples[4], "{what}: at the cut");
        }
    }
}

#[test]
fn the_threshold_says_what_a_cut_is() {
    let frames: Vec<_> = (0..4).map(|number| shot(usize::from(number > 1), number, 2.0, 1.0)).collect();
    let cuts = |threshold: f64| {
        run(&format!("motioninterpolate device=native scene-cut-threshold={threshold}"), &frames).2
    };
    assert_eq!([cuts(40.0), cuts(100.0)], [1, 0]);
    // The left half of the next frame shows another scene.
    let half: Vec<_> = (0..2)
        .map(|number| {
            let mut buffer = shot(0, number, 2.0, 1.0);
            let other = shot(1, number, 2.0, 1.0).map_readable().unwrap().to_vec();
            if number > 0 {
                let mut samples = buffer.make_mut().map_writable().unwrap();
                for (row, other) in samples.chunks_mut(256).zip(other.chunks(256)) {
                    row[..128].copy_from_slice(&other[..128]);
                }
            }
            buffer
        })
        .collect();
    let cuts = |threshold: &str| {
        run(&format!("motioninterpolate device=native scene-cut-threshold={threshold}"), &half).2
    };
    assert_eq!([cuts("0"), cuts("20"), cuts("60"), cuts("100")], [1, 1, 0, 0]);
}

/// A plain frame shows nothing that could have moved, and differs enough to be a cut.
#[test]
fn no_cuts_are_those_of_a_threshold_that_nothing_exceeds() {
    let frames: Vec<_> =
        (0..5).map(|number| shot(0, number, 0.0, if number == 2 { 0.0 } else { 1.0 })).collect();
    assert_eq!(run("motioninterpolate device=native", &frames).2, 2);
    for quality in ["fast", "balanced", "high"] {
        let made =
            |cuts: &str| run(&format!("motioninterpolate device=native quality={quality} {cuts}"), &frames);
        let off = made("scene-cut=off");
        // With `high` the last pair waits for the frame behind it.
        assert_eq!(off.1, if quality == "high" { 3 } else { 4 }, "{quality}");
        assert!(off == made("scene-cut-threshold=100"), "{quality}");
    }
}

#[test]
fn the_threshold_may_change_while_playing() {
    let mut harness = harness("motioninterpolate device=native", &info(), (50, 1));
    assert_eq!(element(&harness).property::<f64>("scene-cut-threshold"), 40.0);
    for number in 0..8 {
        if number == 4 {
            element(&harness).set_property("scene-cut-threshold", 100.0);
        }
        push(&mut harness, shot(number as usize / 2, number, 3.0, 1.0));
    }
    pull(&mut harness);
    // Cuts are between frames 1 and 2, 3 and 4, 5 and 6.
    let found = (count(&harness, "made"), count(&harness, "scene-cuts"));
    assert_eq!(found, (6, 1), "the frames from 4 on are those of the new value");
}
