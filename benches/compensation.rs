//! How fast predictions are made, against a plain copy of the same planes in the same run.
//!
//! `cargo bench -p motion-benches --bench compensation`

use std::time::Instant;

use motion_frames::compensation::{Compensated, Field, PlaneMut, Sampling, compensate, predict};
use motion_search::estimator::{FrameView, MotionVector};
use rayon::prelude::*;

const SIZE: (usize, usize) = (1920, 1080);
const BLOCK: usize = 16;

/// Frames that take turns: together larger than caches are, as the buffers of a pool are.
const FRAMES: usize = 24;

/// Times every row of the table is measured. The fastest frame counts: whatever else the machine
/// does only slows it down.
const RUNS: usize = 5;

const CHROMA: Sampling = Sampling { halved_x: true, halved_y: true, interleaved: false };
const I420: [Sampling; 3] = [Sampling::LUMA, CHROMA, CHROMA];

/// What is done with every frame.
#[derive(Clone, Copy)]
enum Work {
    Copy,
    Predict,
    Compensate(Compensated, bool),
}

type Planes = Vec<Vec<u8>>;

fn main() {
    let fields: [(&str, Vec<MotionVector>); 5] = [
        ("still", vectors(|_| (0, 0))),
        ("pan by (12, -8)", vectors(|_| (48, -32))),
        ("any whole ±16", vectors(|noise| (4 * (noise % 33) - 64, 4 * (noise / 64 % 33) - 64))),
        ("pan by (2.5, 1)", vectors(|_| (10, 4))),
        ("any quarter ±16", vectors(|noise| (noise % 129 - 64, noise / 256 % 129 - 64))),
    ];
    let works = [
        ("prediction", Work::Predict),
        ("measured", Work::Compensate(Compensated::Prediction, true)),
        ("residual", Work::Compensate(Compensated::Residual, false)),
        ("residual, measured", Work::Compensate(Compensated::Residual, true)),
    ];
    println!("1080p I420, blocks of 16 x 16, fastest of {} frames", RUNS * FRAMES);
    println!(
        "{:20} {:20} {:>7} {:>11} {:>14} {:>14}",
        "vectors", "", "threads", "frames/s", "GB/s written", "ratio to copy"
    );
    let frames: Vec<Planes> = (0..FRAMES).map(|time| frame(time as u8)).collect();
    let mut out = frames.clone();
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let mut line = |vectors: &str, name: &str, work: Work, field: &Field<'_>| {
            let (mut time, mut copy) = (f64::INFINITY, f64::INFINITY);
            // In turn, so that both see the same machine.
            for _ in 0..RUNS {
                copy = copy.min(pool.install(|| run(Work::Copy, field, &frames, &mut out)));
                time = time.min(pool.install(|| run(work, field, &frames, &mut out)));
            }
            let rate = 1.0 / time;
            let gigabytes = rate * (SIZE.0 * SIZE.1 * 3 / 2) as f64 / 1e9;
            let ratio = copy / time;
            println!("{vectors:20} {name:20} {threads:7} {rate:11.0} {gigabytes:14.2} {ratio:14.2}");
        };
        for (index, (name, vectors)) in fields.iter().enumerate() {
            let field = Field::new(SIZE, (BLOCK, BLOCK), vectors).expect("a field");
            if index == 0 {
                line("", "copy", Work::Copy, &field);
            }
            for (work_name, work) in works {
                line(name, work_name, work, &field);
            }
        }
    }
}

fn vectors(mut vector: impl FnMut(i32) -> (i32, i32)) -> Vec<MotionVector> {
    let mut noise = 1u32;
    let blocks = SIZE.0.div_ceil(BLOCK) * SIZE.1.div_ceil(BLOCK);
    let one = |_| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (x, y) = vector((noise >> 12) as i32);
        MotionVector { x: x as i16, y: y as i16, cost: 0 }
    };
    (0..blocks).map(one).collect()
}

fn frame(time: u8) -> Planes {
    let plane = |sampling: Sampling| {
        let (width, height) = sampling.plane_size(SIZE.0, SIZE.1);
        (0..width * height).map(|i| (i as u8).wrapping_mul(31).wrapping_add(time)).collect()
    };
    I420.map(plane).into()
}

/// Seconds that the fastest frame takes, each predicted from the one before.
fn run(work: Work, field: &Field<'_>, frames: &[Planes], out: &mut [Planes]) -> f64 {
    let mut fastest = f64::INFINITY;
    for (time, out) in out.iter_mut().enumerate() {
        let (current, reference) = (&frames[time], &frames[(time + FRAMES - 1) % FRAMES]);
        let start = Instant::now();
        for (index, sampling) in I420.into_iter().enumerate() {
            let (width, height) = sampling.plane_size(SIZE.0, SIZE.1);
            let view = |samples| FrameView::new(samples, width, height, width).expect("a plane");
            let (current, reference) = (view(&current[index]), view(&reference[index]));
            if let Work::Copy = work {
                let bands =
                    out[index].par_chunks_mut(width * 64).zip(reference.as_bytes().par_chunks(width * 64));
                bands.for_each(|(out, reference)| out.copy_from_slice(reference));
                continue;
            }
            let mut out = PlaneMut::new(&mut out[index], width, height, width).expect("a plane");
            let result = match work {
                Work::Compensate(output, measured) => {
                    compensate(field, sampling, (&current, &reference), (output, measured), &mut out)
                        .map(drop)
                }
                _ => predict(field, sampling, &reference, &mut out),
            };
            result.expect("planes of the field's frame");
        }
        fastest = fastest.min(start.elapsed().as_secs_f64());
    }
    fastest
}
