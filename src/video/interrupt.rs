//! Work that may take long, such as opening a device whose driver compiles kernels. The streaming thread waits for it; a flush
//! and the end of the stream do not.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Once;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use std::{io, thread};

use gst::prelude::*;
use parking_lot::{Condvar, Mutex};

/// Work that takes longer is told on the bus.
const UNTOLD: Duration = Duration::from_millis(300);

/// Bytes of the stack of the thread that works.
const STACK: usize = 8 << 20;

/// The threads that work, and what tells that one has ended.
static WORKING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// Has the process wait at its end for the work that is left: a compiler crashes if the destructors of its library run while
/// it compiles. To be called when that library is loaded, because what is registered last is called first.
fn wait_at_exit() {
    static ONCE: Once = Once::new();
    extern "C" fn wait() {
        let (working, has_ended) = &WORKING;
        has_ended.wait_while(&mut working.lock(), |count| *count > 0);
    }
    // SAFETY: the function is called once, by the thread that ends the process.
    ONCE.call_once(|| _ = unsafe { libc::atexit(wait) });
}

/// Whether the streaming thread is to stop waiting.
#[derive(Default)]
pub struct Interrupt(Mutex<State>);

#[derive(Default)]
struct State {
    is_set: bool,
    /// Ends the wait of the streaming thread, if that waits.
    wake: Option<Box<dyn FnOnce() + Send>>,
}

impl Interrupt {
    /// Notes that the element is about to change its state: its pads stop only when the streaming thread has returned.
    pub fn before_transition(&self, transition: gst::StateChange) {
        match transition {
            gst::StateChange::ReadyToPaused => self.set(false),
            gst::StateChange::PausedToReady => self.set(true),
            _ => (),
        }
    }

    /// Notes that `event` has come, which may begin or end a flush.
    pub fn before_event(&self, event: &gst::EventRef) {
        match event.type_() {
            gst::EventType::FlushStart => self.set(true),
            gst::EventType::FlushStop => self.set(false),
            _ => (),
        }
    }

    fn set(&self, is_set: bool) {
        let mut state = self.0.lock();
        state.is_set = is_set;
        if let Some(wake) = state.wake.take_if(|_| is_set) {
            wake();
        }
    }

    /// Does `work` on a thread of its own and waits for it. If it takes long, `element` posts progress messages with `text`.
    /// Returns `None` if it is interrupted: the thread then goes on alone, and drops what it has made.
    ///
    /// # Errors
    /// If there is no memory for a thread.
    pub fn wait_for<R: Send + 'static>(
        &self,
        element: &impl IsA<gst::Element>,
        text: &str,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> io::Result<Option<R>> {
        let (sender, receiver) = channel();
        {
            let mut state = self.0.lock();
            if state.is_set {
                return Ok(None);
            }
            let sender = sender.clone();
            state.wake = Some(Box::new(move || drop(sender.send(None))));
        }
        // As the streaming thread, because drivers may compile on it.
        let thread = thread::Builder::new().name("motion-opening".into()).stack_size(STACK);
        *WORKING.0.lock() += 1;
        let started = thread.spawn(move || {
            // What nobody waits for is dropped here.
            drop(sender.send(Some(catch_unwind(AssertUnwindSafe(work)))));
            *WORKING.0.lock() -= 1;
            WORKING.1.notify_all();
        });
        if let Err(error) = started {
            *WORKING.0.lock() -= 1;
            return Err(error);
        }
        let tell = |progress| {
            let message = gst::message::Progress::builder(progress, "open", text).src(element.upcast_ref());
            // It fails where the element has no bus.
            let _ = element.post_message(message.build());
        };
        let (made, is_told) = match receiver.recv_timeout(UNTOLD) {
            Err(RecvTimeoutError::Timeout) => {
                tell(gst::ProgressType::Start);
                (receiver.recv().ok().flatten(), true)
            }
            made => (made.ok().flatten(), false),
        };
        self.0.lock().wake = None;
        if made.is_none() {
            wait_at_exit();
        }
        if is_told {
            tell(if made.is_some() { gst::ProgressType::Complete } else { gst::ProgressType::Canceled });
        }
        Ok(made.map(|made| made.unwrap_or_else(|panic| resume_unwind(panic))))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_wait_ends_with_its_work_or_when_it_is_interrupted() {
        gst::init().unwrap();
        let (element, bus) = (gst::Bin::new(), gst::Bus::new());
        element.set_bus(Some(&bus));
        let progress = || {
            bus.pop().map(|message| match message.view() {
                gst::MessageView::Progress(progress) => progress.get().0,
                _ => panic!("{message:?}"),
            })
        };
        let interrupt = Arc::new(Interrupt::default());
        let wait_for =
            |work: Box<dyn FnOnce() -> i32 + Send>| interrupt.wait_for(&element, "text", work).unwrap();
        assert_eq!((wait_for(Box::new(|| 3)), progress()), (Some(3), None));
        assert!(catch_unwind(AssertUnwindSafe(|| wait_for(Box::new(|| panic!("of the work"))))).is_err());
        // To print a panic may take long.
        while bus.pop().is_some() {}
        // Work that ends when it is let go.
        let (go, waits) = channel();
        let interrupts = interrupt.clone();
        let other = thread::spawn(move || {
            thread::sleep(2 * UNTOLD);
            interrupts.before_transition(gst::StateChange::PausedToReady);
        });
        assert_eq!(wait_for(Box::new(move || waits.recv().unwrap_or(0))), None);
        other.join().unwrap();
        assert_eq!(
            [progress(), progress()],
            [Some(gst::ProgressType::Start), Some(gst::ProgressType::Canceled)]
        );
        drop(go);
        // As long as it is interrupted, nothing begins.
        assert_eq!(wait_for(Box::new(|| unreachable!())), None);
        interrupt.before_event(&gst::event::FlushStop::new(true));
        let late = move || {
            thread::sleep(2 * UNTOLD);
            5
        };
        assert_eq!(wait_for(Box::new(late)), Some(5));
        assert_eq!(
            [progress(), progress()],
            [Some(gst::ProgressType::Start), Some(gst::ProgressType::Complete)]
        );
        element.set_bus(None);
    }
}
