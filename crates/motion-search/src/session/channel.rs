//! Waiting for what another thread sends.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a thread spins before it blocks. To block and to be woken takes several microseconds, on large
/// machines a hundred, which is much if a device needs no more for a frame.
fn spin_time() -> Duration {
    static TIME: OnceLock<Duration> = OnceLock::new();
    *TIME.get_or_init(|| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Duration::from_micros(match cores {
            0..8 => 20,
            8..16 => 100,
            _ => 500,
        })
    })
}

/// A spinning thread yields its core. If a yield takes longer than `LONG`, the machine is loaded: the next
/// `LOADED_WAITS` waits block at once, because the scheduler wakes blocked threads first.
const LOADED_WAITS: u32 = 500;
const LONG: Duration = Duration::from_micros(60);

/// The next message of `from`, waited for at most as long as `patience`.
///
/// # Errors
/// [`RecvTimeoutError`] if there was none.
pub(super) fn receive<T>(from: &Receiver<T>, patience: Option<Duration>) -> Result<T, RecvTimeoutError> {
    static BLOCKING_WAITS: AtomicU32 = AtomicU32::new(0);
    let start = Instant::now();
    let (mut at, mut blocking) = (start, BLOCKING_WAITS.load(Ordering::Relaxed));
    loop {
        match from.try_recv() {
            Ok(next) => return Ok(next),
            Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
            Err(TryRecvError::Empty) if blocking > 0 => {
                // Two threads that count at once may lose a count, which does no harm.
                BLOCKING_WAITS.store(blocking - 1, Ordering::Relaxed);
                break;
            }
            Err(TryRecvError::Empty) if at - start > spin_time() => break,
            Err(TryRecvError::Empty) => {
                thread::yield_now();
                let before = std::mem::replace(&mut at, Instant::now());
                if at - before > LONG {
                    blocking = LOADED_WAITS;
                }
            }
        }
    }
    match patience {
        Some(patience) => from.recv_timeout(patience.saturating_sub(start.elapsed())),
        None => from.recv().map_err(|_| RecvTimeoutError::Disconnected),
    }
}
