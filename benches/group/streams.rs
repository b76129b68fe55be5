//! Frames, and the ways to have them searched.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use motion_search::backend::{self, AvailableDevice};
use motion_search::estimator::{Device, Frame, Output, Parameters, Part, Request, Slot, Ticket};
use motion_search::session::{Balance, FrameSlot, Options, Session, Split, WeightedDevice, divide};
use motion_search::tuning::{Kernel, Tuning};

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

pub fn open(device: &AvailableDevice, parameters: &Parameters, depth: usize) -> Box<dyn Device> {
    let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
    let opened = backend::open_device(&device.selector, Kernel::Auto, &tuning, parameters);
    opened.expect("a device that is there").0
}

pub fn session(devices: Vec<Box<dyn Device>>, depth: usize, split: Split, balance: Balance) -> Session {
    let parameters = devices[0].info().parameters.clone();
    let devices = devices.into_iter().map(WeightedDevice::from).collect();
    let options = Options { split, balance, ..Options::default() };
    Session::new(&parameters, depth, devices, options).expect("devices for one search")
}

/// A stream of frames through a session, with as many searches in flight as it allows.
pub struct Stream<'a> {
    pub session: Session,
    frames: &'a [Frame],
    next: usize,
    reference: Option<FrameSlot>,
}

impl<'a> Stream<'a> {
    pub fn new(session: Session, frames: &'a [Frame]) -> Self {
        Self { session, frames, next: 0, reference: None }
    }

    /// A stream through one device.
    pub fn alone(device: Box<dyn Device>, frames: &'a [Frame]) -> Self {
        let depth = device.info().depth;
        Self::new(session(vec![device], depth, Split::Rows, Balance::Adaptive), frames)
    }

    /// The share of each device of the last frame, as text.
    pub fn shares(&self) -> String {
        let shares = self.session.shares();
        shares.iter().map(|share| format!("{:.2}", share.share)).collect::<Vec<_>>().join(" ")
    }

    /// The time of each of `count` more frames: from one field to the next. Nothing is in flight before
    /// and after.
    pub fn run(&mut self, count: usize) -> Vec<Duration> {
        let mut times = Vec::with_capacity(count);
        let mut start = Instant::now();
        let last = self.next + count + usize::from(self.next == 0);
        while self.next < last || self.session.in_flight() > 0 {
            if self.next < last {
                let current =
                    self.session.add_frame(at(self.frames, self.next).clone()).expect("a frame of its size");
                if let Some(reference) = self.reference.replace(current) {
                    self.session.start_search(current, reference, ()).expect("two frames");
                }
                self.next += 1;
            }
            let in_flight = self.session.in_flight();
            if in_flight == self.session.depth() || (self.next == last && in_flight > 0) {
                self.session.finish_search().expect("a field");
                times.push(start.elapsed());
                start = Instant::now();
            }
        }
        times
    }

    /// The mean time of `count` frames, in milliseconds: with several searches in flight, fields come in
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

/// Several devices called by one thread, with events instead of threads: begun on all, then finished on all.
/// Uta's OpenCL-async (7.2). Each has a band of rows by its weight.
pub struct OneThread {
    devices: Vec<Box<dyn Device>>,
    bands: Vec<Part>,
}

impl OneThread {
    pub fn new(devices: Vec<Box<dyn Device>>, weights: &[f64]) -> Self {
        let whole = Part::whole(&devices[0].info().parameters);
        let mut next = 0;
        let band = |rows: usize| {
            next += rows;
            whole.with_rows(next - rows..next)
        };
        let bands = divide(whole.rows().len(), weights).into_iter().map(band).collect();
        Self { devices, bands }
    }

    /// The mean milliseconds of `count` frames. Nothing is in flight before and after.
    pub fn mean(&mut self, frames: &[Frame], count: usize) -> f64 {
        let info = self.devices[0].info().clone();
        let (parameters, depth) = (info.parameters, info.depth);
        let slot = |time: usize| Slot::new(time % (depth + 1));
        let mut outputs: Vec<Output> =
            self.bands.iter().map(|band| Output::new(band.grid(&parameters).blocks())).collect();
        let mut tickets: Vec<VecDeque<Ticket>> = self.bands.iter().map(|_| VecDeque::new()).collect();
        let mut start = Instant::now();
        for time in 0..=count + depth {
            if time == 1 {
                start = Instant::now();
            }
            let frame = at(frames, time);
            let state = self.bands.iter().zip(&mut tickets).zip(&mut outputs);
            for (device, ((band, tickets), output)) in self.devices.iter_mut().zip(state) {
                if band.rows().is_empty() {
                    continue;
                }
                if time <= count {
                    // The frame is the next reference.
                    let (compared, searched) =
                        (band.current_samples(&parameters), band.reference_samples(&parameters));
                    let rows = compared.start.min(searched.start)..compared.end.max(searched.end);
                    device.load_frame(slot(time), &frame.with_rows(rows)).expect("a frame of its size");
                }
                if (1..=count).contains(&time) {
                    let (current, reference) = (slot(time), slot(time - 1));
                    let request = Request { current, reference, part: *band, offset: -1 };
                    tickets.push_back(device.start_search(request).expect("two frames"));
                }
                if time >= depth
                    && let Some(ticket) = tickets.pop_front()
                {
                    device.finish_search(ticket, output).expect("a field");
                }
            }
        }
        start.elapsed().as_secs_f64() * 1e3 / count as f64
    }
}
