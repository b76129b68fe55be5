//! How a group of equal devices grows: two, four and eight against one.

use std::time::Duration;

use motion_search::backend::AvailableDevice;
use motion_search::estimator::Parameters;
use motion_search::session::{Balance, Split};

use crate::streams::{OneThread, Stream, frames, in_turn, open, session};

/// Width, height and range: the two that are to grow nearly as the devices do, and smaller ones until
/// nothing is gained.
pub const CASES: [(usize, usize, i32); 10] = [
    (7680, 4320, 32),
    (3840, 2160, 64),
    (7680, 4320, 16),
    (3840, 2160, 32),
    (3840, 2160, 16),
    (1920, 1080, 64),
    (1920, 1080, 16),
    (1280, 720, 16),
    (704, 576, 16),
    (352, 288, 16),
];

/// Time for the ways of one case.
const BUDGET: Duration = Duration::from_millis(1200);

/// Frames in which shares settle.
const TO_SETTLE: usize = 40;

pub fn run(devices: &[AvailableDevice], cases: &[Parameters]) {
    // The most devices of one name.
    let equal = |name: &str| devices.iter().filter(|device| device.name == name).cloned().collect::<Vec<_>>();
    let sets = devices.iter().map(|device| equal(&device.name));
    let Some(devices) = sets.max_by_key(Vec::len).filter(|set| set.len() > 1) else {
        println!("\n## Scaling: not run, it takes several devices of one name");
        return;
    };
    println!("\n## Scaling by rows: {} of {}\n", devices.len(), devices[0].name);
    println!("ms a frame, and how many times one device's rate, all in turn\n");
    println!(
        "| size | range | in flight | devices | one alone | a thread each | times | one thread | times | shares |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for p in cases {
        let frames = frames(p);
        for depth in [1, 4] {
            for count in [1, 2, 4, 8].into_iter().filter(|&count| count <= devices.len()) {
                let members = || devices[..count].iter().map(|d| open(d, p, depth)).collect::<Vec<_>>();
                let threads = session(members(), depth, Split::Rows, Balance::Adaptive);
                let mut streams =
                    [Stream::alone(open(&devices[0], p, depth), &frames), Stream::new(threads, &frames)];
                streams.iter_mut().for_each(|stream| drop(stream.run(TO_SETTLE)));
                let [alone, grouped] = in_turn(&mut streams, BUDGET)[..] else { continue };
                let shares = streams[1].shares();
                drop(streams);
                let mut one = OneThread::new(members(), &vec![1.0; count]);
                let frames_a_run = (100.0 / one.mean(&frames, 3)).clamp(3.0, 1000.0) as usize;
                let runs = (0..3).map(|_| one.mean(&frames, frames_a_run));
                let by_one = runs.fold(f64::MAX, f64::min);
                println!(
                    "| {} x {} | {} | {depth} | {count} | {alone:.3} | {grouped:.3} | {:.2} | {by_one:.3} | {:.2} | {shares} |",
                    p.width,
                    p.height,
                    p.window.x1(),
                    alone / grouped,
                    alone / by_one
                );
            }
        }
    }
}
