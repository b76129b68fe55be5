//! Objects of GStreamer that a test program leaves.

use std::fs;
use std::io;
use std::sync::Once;
use std::thread;
use std::time::{Duration, Instant};

use super::objects;

/// How long the last threads of pipelines may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until no other thread computes. GStreamer 1.22's tracer lists objects without a reference, and to name one takes one. If
/// a thread is just dropping the last one, the object outlives its destruction, of which the tracer is not told again.
fn await_rest() -> io::Result<()> {
    let (began, mut checks_at_rest) = (Instant::now(), 0);
    while checks_at_rest < 10 && began.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(5));
        let computing = fs::read_dir("/proc/self/task")?.filter_map(|task| {
            // The state stands behind the name, which is in parentheses. A thread may end meanwhile.
            let status = fs::read_to_string(task.ok()?.path().join("stat")).ok()?;
            status.rsplit_once(") ").filter(|(_, rest)| rest.starts_with('R')).map(drop)
        });
        // This thread is one of them.
        checks_at_rest = if computing.count() <= 1 { checks_at_rest + 1 } else { 0 };
    }
    Ok(())
}

/// With `GST_TRACERS=leaks`, makes the program fail at its end if an object of GStreamer is left.
///
/// # Panics
/// If there is no room for it.
pub fn check_at_exit() {
    extern "C" fn check() {
        let asked = await_rest().map_err(|error| format!("threads cannot be listed: {error}"));
        let alive = asked.and_then(|()| objects::alive()).unwrap_or_else(|error| error);
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
