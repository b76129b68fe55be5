//! What a group adds to a frame beyond its slowest member: its devices take no time.

use motion_search::estimator::{
    Device, DeviceInfo, EstimateError, Frame, Output, Parameters, Request, Slot, Ticket, Window,
};
use motion_search::native::Native;
use motion_search::session::{Balance, Split};

use crate::streams::{OneThread, Stream, frames, median, session};

/// A device whose searches take no time.
struct Idle(DeviceInfo, Native);

impl Device for Idle {
    fn info(&self) -> &DeviceInfo {
        &self.0
    }

    fn load_frame(&mut self, slot: Slot, frame: &Frame) -> Result<(), EstimateError> {
        self.1.load_frame(slot, &frame.with_rows(0..1))
    }

    fn unload_frame(&mut self, _: Slot) -> Result<Option<Frame>, EstimateError> {
        Ok(None)
    }

    fn start_search(&mut self, request: Request) -> Result<Ticket, EstimateError> {
        self.1.start_search(request)
    }

    fn finish_search(&mut self, _: Ticket, _: &mut Output) -> Result<(), EstimateError> {
        // Its searches are computed when they are finished, so this one is not computed at all.
        self.1.cancel();
        Ok(())
    }

    fn cancel(&mut self) {}
}

pub fn run() {
    println!("\n## Overhead a frame: devices that take no time, frames of 64 x 64 in 4 x 4 blocks\n");
    println!("| devices | a thread each, us | one thread, us |\n|---|---|---|");
    let window = Window::symmetric(1, 1).expect("a window");
    let parameters = Parameters::new(64, 64, 4, window);
    let frames = frames(&parameters);
    for count in [1, 2, 4, 8] {
        let idle = || -> Vec<Box<dyn Device>> {
            let native = || Native::new(parameters.clone()).expect("valid parameters");
            let info = || DeviceInfo { name: "idle".into(), kernel: "none", ..native().info().clone() };
            (0..count).map(|_| Box::new(Idle(info(), native())) as Box<dyn Device>).collect()
        };
        let threads = session(idle(), 1, Split::Rows, Balance::Static);
        let with_threads = median(Stream::new(threads, &frames).run(4000)) * 1e3;
        let alone = OneThread::new(idle(), &vec![1.0; count]).mean(&frames, 4000) * 1e3;
        println!("| {count} | {with_threads:.1} | {alone:.1} |");
    }
}
