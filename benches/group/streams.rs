//! Frames, and the ways to have them searched.

use std::time::{Duration, Instant};

use gstmotionestimate::backend::{self, DeviceInfo};
use gstmotionestimate::estimator::{
    DeviceShare, Estimator, Frame, Kernel, MotionVector, Parameters, Part, Slot, Tuning,
};
use gstmotionestimate::group::{Balance, Device, Group, Options, Split, divide};

/// A few frames of texture that moves.
pub fn frames(parameters: &Parameters) -> Vec<Frame> {
    let sample = |time: usize, x: usize, y: usize| {
        let (x, y) = (x + 3 * time, y + 2 * time);
        ((x / 5 * 97 + y / 3 * 57 + (x / 5) * (y / 3)) % 180 + (x * 31 + y * 17) % 40) as u8
    };
    let frame = |time| Frame::from_fn(parameters.width, parameters.height, |x, y| sample(time, x, y));
    (0..8).map(frame).collect()
}

/// The frame at `time`: from the first to the last and back again, so that nothing jumps.
fn at(frames: &[Frame], time: usize) -> &Frame {
    let last = frames.len() - 1;
    &frames[last - (time % (2 * last)).abs_diff(last)]
}

/// The median of `times`, in milliseconds.
pub fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times.get(times.len() / 2).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}

pub fn open(device: &DeviceInfo, parameters: &Parameters, depth: usize) -> Box<dyn Estimator> {
    let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
    let opened = backend::open(&device.selector, Kernel::Auto, &tuning, parameters);
    opened.expect("a device that is there").estimator
}

pub fn group(devices: Vec<Box<dyn Estimator>>, depth: usize, split: Split, balance: Balance) -> Group {
    let parameters = devices[0].parameters().clone();
    let devices = devices.into_iter().map(|estimator| Device { estimator, weight: 1.0 }).collect();
    let options = Options { split, balance, ..Options::default() };
    Group::new(&parameters, depth, devices, options).expect("devices for one search")
}

/// Each one's share of the last frame, and the text of all.
pub fn shares(estimator: &dyn Estimator) -> String {
    let mut shares: Vec<DeviceShare> = Vec::new();
    estimator.shares(&mut shares);
    shares.iter().map(|share| format!("{:.2}", share.share)).collect::<Vec<_>>().join(" ")
}

/// A stream of frames through an estimator, as many in flight as it has room for.
pub struct Stream<'a> {
    pub estimator: Box<dyn Estimator>,
    frames: &'a [Frame],
    vectors: Vec<MotionVector>,
    next: usize,
}

impl<'a> Stream<'a> {
    pub fn new(estimator: Box<dyn Estimator>, frames: &'a [Frame]) -> Self {
        let vectors = vec![MotionVector::default(); estimator.parameters().grid().blocks()];
        Self { estimator, frames, vectors, next: 0 }
    }

    /// The time of each of `count` frames more: from one field to the next. Nothing is in flight before
    /// and after.
    pub fn run(&mut self, count: usize) -> Vec<Duration> {
        let depth = self.estimator.depth();
        let slot = |time: usize| Slot::new(time % (depth + 1));
        let mut times = Vec::with_capacity(count);
        let mut start = Instant::now();
        let last = self.next + count + usize::from(self.next == 0);
        while self.next < last || self.estimator.in_flight() > 0 {
            if self.next < last {
                let frame = at(self.frames, self.next);
                self.estimator.load(slot(self.next), &frame.view()).expect("a frame of its size");
                if self.next > 0 {
                    self.estimator.begin(slot(self.next), slot(self.next - 1)).expect("two frames");
                }
                self.next += 1;
            }
            let in_flight = self.estimator.in_flight();
            if in_flight == depth || (self.next == last && in_flight > 0) {
                self.estimator.finish(&mut self.vectors).expect("a field");
                times.push(start.elapsed());
                start = Instant::now();
            }
        }
        times
    }

    /// The mean time of a frame of `count`, in milliseconds: with several in flight, fields come in
    /// bursts.
    pub fn mean(&mut self, count: usize) -> f64 {
        let start = Instant::now();
        self.run(count);
        start.elapsed().as_secs_f64() * 1e3 / count as f64
    }
}

/// The milliseconds of a frame with each of `streams`, in turn so that all see the same noise: the
/// least of several means.
pub fn in_turn(streams: &mut [Stream<'_>], budget: Duration) -> Vec<f64> {
    const ROUNDS: u32 = 7;
    let each = budget / ROUNDS / streams.len().max(1) as u32;
    let count = |stream: &mut Stream<'_>| {
        let once = stream.mean(8).max(1e-3);
        (each.as_secs_f64() * 1e3 / once).clamp(3.0, 2000.0) as usize
    };
    let counts: Vec<usize> = streams.iter_mut().map(count).collect();
    let mut least = vec![f64::MAX; streams.len()];
    for _ in 0..ROUNDS {
        for ((least, stream), &count) in least.iter_mut().zip(streams.iter_mut()).zip(&counts) {
            *least = least.min(stream.mean(count));
        }
    }
    least
}

/// Several devices by one thread, with events instead of threads: begun on all, then finished on all.
/// Uta's OpenCL-async (7.2). Each has a band of rows by its weight.
pub struct OneThread {
    pub devices: Vec<Box<dyn Estimator>>,
    bands: Vec<Part>,
}

impl OneThread {
    pub fn new(devices: Vec<Box<dyn Estimator>>, weights: &[f64]) -> Self {
        let whole = Part::whole(devices[0].parameters());
        let mut next = 0;
        let band = |rows: usize| {
            next += rows;
            whole.with_rows(next - rows..next)
        };
        let bands = divide(whole.rows().len(), weights).into_iter().map(band).collect();
        Self { devices, bands }
    }

    /// The mean milliseconds of a frame of `count`. Nothing is in flight before and after.
    pub fn mean(&mut self, frames: &[Frame], count: usize) -> f64 {
        let parameters = self.devices[0].parameters().clone();
        let (grid, depth) = (parameters.grid(), self.devices[0].depth());
        let mut vectors = vec![MotionVector::default(); grid.blocks()];
        let slot = |time: usize| Slot::new(time % (depth + 1));
        let mut start = Instant::now();
        let mut finished = 0;
        for time in 0..=count + depth {
            if time == 1 {
                start = Instant::now();
            }
            let frame = at(frames, time).view();
            for (device, band) in self.devices.iter_mut().zip(&self.bands) {
                if band.rows().is_empty() || time > count {
                    continue;
                }
                // The frame is the next reference.
                let (compared, searched) =
                    (band.current_samples(&parameters), band.reference_samples(&parameters));
                let rows = compared.start.min(searched.start)..compared.end.max(searched.end);
                device.load_rows(slot(time), &frame, rows).expect("a frame of its size");
                if time > 0 {
                    device.begin_part(slot(time), slot(time - 1), *band).expect("two frames");
                }
            }
            if time < depth || finished == count {
                continue;
            }
            finished += 1;
            for (device, band) in self.devices.iter_mut().zip(&self.bands) {
                let rows = band.rows();
                let vectors = &mut vectors[rows.start * grid.columns..rows.end * grid.columns];
                if !rows.is_empty() {
                    device.finish(vectors).expect("a field");
                }
            }
        }
        start.elapsed().as_secs_f64() * 1e3 / count as f64
    }
}
