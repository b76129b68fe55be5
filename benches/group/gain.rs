//! A group beside its members: alone in it, and all together.

use std::time::Duration;

use motion_search::backend::AvailableDevice;
use motion_search::estimator::Parameters;
use motion_search::session::{Balance, Split};

use crate::streams::{OneThread, Stream, frames, in_turn, open, session};

/// Width, height and range.
pub const SIZES: [(usize, usize, i32); 4] =
    [(352, 288, 16), (1280, 720, 16), (1920, 1080, 16), (3840, 2160, 16)];

/// Time for the streams of one case.
const BUDGET: Duration = Duration::from_millis(1500);

/// Frames in which shares settle, with room for a few trials.
const TO_SETTLE: usize = 90;

/// "A group is never more than 3 % slower than its best member alone": each by itself, a group of it
/// alone, and the group of all.
pub fn alone(devices: &[AvailableDevice], cases: &[Parameters]) {
    println!("\n## The best alone and the group: ms a frame, in turn\n");
    println!(
        "| size | range | in flight | who | alone | group | of alone | shares |\n|---|---|---|---|---|---|---|---|"
    );
    for p in cases {
        let frames = frames(p);
        for depth in [1, 4] {
            let case = format!("{} x {} | {} | {depth}", p.width, p.height, p.window.x1());
            let mut best: Option<(f64, &AvailableDevice)> = None;
            for device in devices {
                let mut streams = [Stream::alone(open(device, p, depth), &frames)];
                streams[0].run(4);
                let [time] = in_turn(&mut streams, BUDGET)[..] else { continue };
                println!("| {case} | {} | {time:.3} | | | |", device.name);
                if best.is_none_or(|(least, _)| time < least) {
                    best = Some((time, device));
                }
            }
            let Some((_, best)) = best.filter(|_| devices.len() > 1) else { continue };
            let all = devices.iter().map(|device| open(device, p, depth)).collect();
            let all = session(all, depth, Split::Rows, Balance::Adaptive);
            let mut streams = [Stream::alone(open(best, p, depth), &frames), Stream::new(all, &frames)];
            streams[0].run(4);
            streams[1].run(TO_SETTLE);
            let [by_itself, grouped] = in_turn(&mut streams, BUDGET)[..] else { continue };
            println!(
                "| {case} | all, beside {} | {by_itself:.3} | {grouped:.3} | {:.3} | {} |",
                best.name,
                by_itself / grouped,
                streams[1].shares()
            );
        }
    }
}

/// Every split and balance against the ideal, the sum of rates.
pub fn together(devices: &[AvailableDevice], cases: &[Parameters]) {
    for p in cases {
        let frames = frames(p);
        println!("\n## Gain: {} x {}, {} candidates\n", p.width, p.height, p.candidates());
        println!(
            "| who | in flight | ms a frame | of the ideal | of the best alone | shares |\n|---|---|---|---|---|---|"
        );
        for depth in [1, 4] {
            let mut alone: Vec<Stream<'_>> =
                devices.iter().map(|device| Stream::alone(open(device, p, depth), &frames)).collect();
            alone.iter_mut().for_each(|stream| drop(stream.run(4)));
            let times = in_turn(&mut alone, BUDGET);
            for (device, time) in devices.iter().zip(&times) {
                println!("| {} | {depth} | {time:.3} | | | |", device.name);
            }
            let best = times.iter().copied().fold(f64::MAX, f64::min);
            let ideal = 1.0 / times.iter().map(|time| 1.0 / time).sum::<f64>();
            println!("| ideal: sum of rates | {depth} | {ideal:.3} | 1.00 | {:.2} | |", best / ideal);
            let members = || devices.iter().map(|device| open(device, p, depth)).collect::<Vec<_>>();
            for (split, balance) in [
                (Split::Auto, Balance::Adaptive),
                (Split::Rows, Balance::Fit),
                (Split::Rows, Balance::Static),
                (Split::Candidates, Balance::Adaptive),
                (Split::Frames, Balance::Adaptive),
            ] {
                let mut streams = [Stream::new(session(members(), depth, split, balance), &frames)];
                streams[0].run(TO_SETTLE);
                let time = in_turn(&mut streams, BUDGET / 3)[0];
                println!(
                    "| all, {split:?} {balance:?} | {depth} | {time:.3} | {:.2} | {:.2} | {} |",
                    ideal / time,
                    best / time,
                    streams[0].shares()
                );
            }
            if devices.len() > 1 {
                for (name, weights) in [
                    ("equal rows", vec![1.0; devices.len()]),
                    ("rows by rates", times.iter().map(|time| 1.0 / time).collect()),
                ] {
                    let mut one = OneThread::new(members(), &weights);
                    let count = (BUDGET.as_secs_f64() * 300.0 / one.mean(&frames, 3)).clamp(3.0, 500.0);
                    let time = one.mean(&frames, count as usize);
                    println!(
                        "| all by one thread, {name} | {depth} | {time:.3} | {:.2} | {:.2} | |",
                        ideal / time,
                        best / time
                    );
                }
            }
        }
    }
}
