//! Objects of GStreamer that a test program leaves.

#[path = "../../examples/soak/leaks.rs"]
mod leaks;

use std::sync::Once;
use std::thread;
use std::time::{Duration, Instant};

/// With `GST_TRACERS=leaks`, makes the program fail at its end if an object of GStreamer is left.
pub fn check_leaks() {
    extern "C" fn check() {
        let began = Instant::now();
        let mut alive = String::from("not asked");
        // The last threads of a pipeline may still end.
        while !alive.is_empty() && began.elapsed() < Duration::from_secs(10) {
            alive = leaks::alive().unwrap_or_else(|error| error);
            thread::sleep(Duration::from_millis(10));
        }
        if !alive.is_empty() {
            eprintln!("objects are left, as the leaks tracer says:\n{alive}");
            // SAFETY: it ends the process at once. `exit` must not be called a second time.
            unsafe { libc::_exit(1) };
        }
    }
    static ONCE: Once = Once::new();
    let wanted = std::env::var("GST_TRACERS").is_ok_and(|tracers| tracers.contains("leaks"));
    ONCE.call_once(|| {
        // SAFETY: `check` does not unwind, and GStreamer, which it calls, is never shut down.
        let is_done = !wanted || unsafe { libc::atexit(check) } == 0;
        assert!(is_done, "no room for a handler");
    });
}
