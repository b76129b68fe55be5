//! Devices of known rates in a session: a second one that has half of the first one's rate gets its share.

use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use motion_search::estimator::{
    Device, DeviceInfo, EstimateError, Frame, Output, Parameters, Request, Slot, Ticket, Window,
};
use motion_search::native::Native;
use motion_search::session::{Balance, Options, Session, Split, WeightedDevice};
use test_support::stream;

/// A device that finds nothing, and takes a known time for a whole search. It uses no core meanwhile.
struct Paced {
    info: DeviceInfo,
    whole: Duration,
    /// When each search in flight ends.
    ends: VecDeque<Instant>,
    native: Native,
}

impl Device for Paced {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn load_frame(&mut self, slot: Slot, frame: &Frame) -> Result<(), EstimateError> {
        self.native.load_frame(slot, frame)
    }

    fn unload_frame(&mut self, slot: Slot) -> Result<Option<Frame>, EstimateError> {
        self.native.unload_frame(slot)
    }

    fn start_search(&mut self, request: Request) -> Result<Ticket, EstimateError> {
        let parameters = &self.info.parameters;
        let share = request.part.rows().len() as f64 / parameters.grid().rows as f64
            * request.part.displacements().len() as f64
            / parameters.window.candidates() as f64;
        let begins = self.ends.back().copied().map_or(Instant::now(), |end| end.max(Instant::now()));
        self.ends.push_back(begins + self.whole.mul_f64(share));
        self.native.start_search(request)
    }

    fn finish_search(&mut self, ticket: Ticket, output: &mut Output) -> Result<(), EstimateError> {
        self.native.finish_search(ticket, output)?;
        if let Some(end) = self.ends.pop_front() {
            thread::sleep(end.saturating_duration_since(Instant::now()));
        }
        Ok(())
    }

    fn cancel(&mut self) {
        self.ends.clear();
        self.native.cancel();
    }
}

/// What a device of rate 1 takes for a whole frame. A busy machine wakes threads up late, and the balance takes that for work:
/// so it is many times as long.
const WHOLE: Duration = Duration::from_millis(20);

/// The second device's mean share of 60 frames after its share has settled, and the time of a frame.
fn settled(rates: [f64; 2], split: Split, balance: Balance, depth: usize) -> (f64, Duration) {
    let parameters = Parameters::new(64, 16 * 40, 16, Window::symmetric(1, 1).unwrap());
    let device = |rate: f64| {
        let native = Native::new(parameters.clone()).unwrap().with_depth(depth).unwrap();
        let info = DeviceInfo { can_fail: true, ..native.info().clone() };
        let whole = WHOLE.div_f64(rate);
        let device: Box<dyn Device> = Box::new(Paced { info, whole, ends: VecDeque::new(), native });
        WeightedDevice::from(device)
    };
    let options = Options { split, balance, ..Options::default() };
    let mut session = Session::<()>::new(&parameters, depth, rates.map(device).into(), options).unwrap();
    let frames = stream(64, 16 * 40, 2);
    let mut reference = session.add_frame(frames[0].clone()).unwrap();
    let (settle, count) = (28 * Balance::ROUND, 60);
    let (mut shares, mut start) = (0.0, Instant::now());
    for index in 0..settle + count {
        let current = session.add_frame(frames[index % 2].clone()).unwrap();
        session.start_search(current, reference, ()).unwrap();
        reference = current;
        if session.in_flight() == session.depth() {
            session.finish_search().unwrap();
        }
        if index == settle {
            start = Instant::now();
        }
        if index >= settle {
            shares += session.shares()[1].share;
        }
    }
    (shares / count as f64, start.elapsed() / count as u32)
}

#[test]
fn a_second_device_of_half_the_rate_gets_a_third() {
    thread::scope(|scope| {
        for (split, balance, depth) in [
            (Split::Rows, Balance::Adaptive, 1),
            (Split::Rows, Balance::Adaptive, 4),
            (Split::Rows, Balance::Fit, 4),
            (Split::Frames, Balance::Fit, 4),
        ] {
            scope.spawn(move || {
                let (share, time) = settled([1.0, 0.49], split, balance, depth);
                println!("{split:?} {balance:?} {depth}: {share:.2} of the frames, {time:?} each");
                assert!((0.2..0.45).contains(&share), "{split:?} {balance:?} {depth}: {share}");
            });
        }
    });
}
