//! What a group adds to a frame beyond its slowest member: its devices take no time.

use gstmotionestimate::estimator::{
    EstimateError, Estimator, Frame, FrameView, Kernel, MotionVector, Parameters, Part, Predictor, Slot,
    StageTimes, Window,
};
use gstmotionestimate::group::{Balance, Split};

use crate::streams::{OneThread, Stream, frames, group, median};

/// A device that does nothing, at once.
struct Idle(Parameters, Option<Part>);

impl Estimator for Idle {
    fn parameters(&self) -> &Parameters {
        &self.0
    }

    fn device(&self) -> &str {
        "nothing"
    }

    fn kernel(&self) -> Kernel {
        Kernel::Auto
    }

    fn depth(&self) -> usize {
        1
    }

    fn in_flight(&self) -> usize {
        usize::from(self.1.is_some())
    }

    fn load(&mut self, _: Slot, _: &FrameView<'_>) -> Result<(), EstimateError> {
        Ok(())
    }

    fn unload(&mut self, _: Slot) -> Result<Option<Frame>, EstimateError> {
        Ok(None)
    }

    fn begin_part(&mut self, _: Slot, _: Slot, part: Part) -> Result<(), EstimateError> {
        self.1 = Some(part);
        Ok(())
    }

    fn finish(&mut self, _: &mut [MotionVector]) -> Result<(), EstimateError> {
        self.1 = None;
        Ok(())
    }

    fn cancel(&mut self) {
        self.1 = None;
    }

    fn predict(&mut self, _: &mut [Predictor]) -> Result<(), EstimateError> {
        Ok(())
    }

    fn stage_times(&self) -> StageTimes {
        StageTimes::default()
    }
}

pub fn run() {
    println!("\n## Overhead a frame: devices that take no time, frames of 64 x 64 in 4 x 4 blocks\n");
    println!("| devices | a thread each, us | one thread, us |\n|---|---|---|");
    let window = Window::symmetric(1, 1).expect("a window");
    let parameters = Parameters::new(64, 64, 4, window);
    let frames = frames(&parameters);
    for count in [1, 2, 4, 8] {
        let idle = || -> Vec<Box<dyn Estimator>> {
            (0..count).map(|_| Box::new(Idle(parameters.clone(), None)) as Box<dyn Estimator>).collect()
        };
        let threads = group(idle(), 1, Split::Rows, Balance::Static);
        let with_threads = median(Stream::new(Box::new(threads), &frames).run(4000)) * 1e3;
        let alone = OneThread::new(idle(), &vec![1.0; count]).mean(&frames, 4000) * 1e3;
        println!("| {count} | {with_threads:.1} | {alone:.1} |");
    }
}
