//! A load put on the CPU in mid-run: shares before, during and after.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use motion_search::backend::AvailableDevice;
use motion_search::estimator::Parameters;
use motion_search::session::{Balance, Split};

use crate::streams::{Stream, frames, median, open, session};

/// Frames of a row of the table.
const STEP: usize = 10;

/// Work on every core that the search could use, until it is dropped.
struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    fn new() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let spin = |stop: Arc<AtomicBool>| {
            move || {
                let mut number = 1_u64;
                while !stop.load(Ordering::Relaxed) {
                    number = black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
                }
            }
        };
        let threads = (0..cores).map(|_| thread::spawn(spin(stop.clone()))).collect();
        Self { stop, threads }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

pub fn run(devices: &[AvailableDevice], cases: &[Parameters]) {
    for p in cases {
        let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        println!("\n## A load on every core in mid-run: {} x {}, {}\n", p.width, p.height, names.join(", "));
        println!("| frames | load | ms a frame | shares |\n|---|---|---|---|");
        let frames = frames(p);
        let members = devices.iter().map(|device| open(device, p, 1)).collect();
        let mut stream = Stream::new(session(members, 1, Split::Rows, Balance::Adaptive), &frames);
        let mut next = 0;
        for is_loaded in [false, true, false] {
            let load = is_loaded.then(Load::new);
            for _ in 0..6 {
                let times = stream.run(STEP);
                let shares = stream.shares();
                let word = if is_loaded { "yes" } else { "no" };
                println!("| {next} - {} | {word} | {:.3} | {shares} |", next + STEP - 1, median(times));
                next += STEP;
            }
            drop(load);
        }
    }
}
