//! Work that may take long, such as opening a device whose driver compiles kernels. The streaming thread waits for it; a flush
//! and the end of the stream do not.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Once};
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

/// Does `work` on a thread for which the process waits at its end.
///
/// # Errors
/// If there is no memory for a thread.
fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    // As the streaming thread, because drivers may compile on it.
    let thread = thread::Builder::new().name("motion-opening".into()).stack_size(STACK);
    *WORKING.0.lock() += 1;
    let has_ended = || {
        *WORKING.0.lock() -= 1;
        WORKING.1.notify_all();
    };
    let started = thread.spawn(move || {
        work();
        has_ended();
    });
    started.map(drop).inspect_err(|_| has_ended())
}

/// What is made on a thread of its own while the streaming thread goes on.
pub struct Later<R> {
    made: Receiver<R>,
    /// Tells the thread whether anyone still wants it.
    _wanted: Arc<()>,
}

impl<R: Send + 'static> Later<R> {
    /// Begins `work` when all other work that was begun so is done, unless it is dropped before.
    ///
    /// # Errors
    /// If there is no memory for a thread.
    pub fn begin(work: impl FnOnce() -> R + Send + 'static) -> io::Result<Self> {
        static TURN: Mutex<()> = Mutex::new(());
        let (sender, made) = channel();
        let wanted = Arc::new(());
        let is_wanted = Arc::downgrade(&wanted);
        spawn(move || {
            let _turn = TURN.lock();
            if is_wanted.upgrade().is_some() {
                // After a panic nothing comes. What nobody wants any more is dropped here.
                let _ = catch_unwind(AssertUnwindSafe(|| sender.send(work())));
            }
        })?;
        Ok(Self { made, _wanted: wanted })
    }

    /// What has been made, once it has.
    pub fn take(&self) -> Option<R> {
        self.made.try_recv().ok()
    }
}

impl<R> Drop for Later<R> {
    fn drop(&mut self) {
        wait_at_exit();
    }
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
        // What nobody waits for is dropped there.
        spawn(move || drop(sender.send(Some(catch_unwind(AssertUnwindSafe(work))))))?;
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
    use super::*;

    #[test]
    fn work_is_done_in_turn_and_only_what_is_still_wanted() {
        let (go, waits) = channel::<()>();
        let first = Later::begin(move || waits.recv().is_err()).unwrap();
        let dropped = Later::begin(|| unreachable!("nobody wants it")).unwrap();
        let last = Later::begin(|| 3).unwrap();
        drop(dropped);
        assert_eq!((first.take(), last.take()), (None, None));
        drop(go);
        assert_eq!((first.made.recv(), last.made.recv()), (Ok(true), Ok(3)));
        assert_eq!(last.take(), None);
    }

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
