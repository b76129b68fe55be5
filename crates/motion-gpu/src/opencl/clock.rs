//! How long a device has had to compute: how a device that hangs is told from one on a busy machine.

use std::fs;
use std::time::{Duration, Instant};

/// Time that a device which computes on the CPU has had since the clock was started.
///
/// Wall time says little of such a device: other programs, and other threads of this process, keep the CPU from
/// it. This clock is advanced by [`Self::tick`],
/// - while no other thread of the process runs, is ready to run or waits for a disk: by wall time, because the
///   device computes nothing;
/// - else by the CPU time that the process used, divided by its number of threads: as much as a fair scheduler
///   gives to each of them.
///
/// A device that hangs lets it advance in either case, the load of the machine does not. Where the system has
/// no `/proc`, it is wall time.
pub(super) struct DeviceClock {
    elapsed: Duration,
    at: Instant,
    sample: Option<Process>,
}

impl DeviceClock {
    /// How often it is to be ticked. A longer pause counts as this one: the machine kept the CPU from the thread
    /// that ticks too.
    pub(super) const STEP: Duration = Duration::from_millis(100);

    /// A clock that says zero.
    pub(super) fn start() -> Self {
        Self { elapsed: Duration::ZERO, at: Instant::now(), sample: None }
    }

    /// Advances the clock and returns the time since it was started.
    pub(super) fn tick(&mut self) -> Duration {
        let before = std::mem::replace(&mut self.at, Instant::now());
        let wall = (self.at - before).min(Self::STEP);
        let sample = Process::sample();
        self.elapsed += advance(wall, self.sample, sample);
        self.sample = sample;
        self.elapsed
    }
}

/// What this process does.
#[derive(Clone, Copy)]
struct Process {
    /// Whether another thread than this one runs, is ready to run or waits for a disk.
    is_computing: bool,
    cpu_time: Duration,
    threads: u32,
}

/// How far a clock advances in `wall` between two samples.
fn advance(wall: Duration, before: Option<Process>, now: Option<Process>) -> Duration {
    match (before, now) {
        (Some(before), Some(now)) if now.is_computing => {
            now.cpu_time.saturating_sub(before.cpu_time) / now.threads.max(1)
        }
        (None, Some(now)) if now.is_computing => Duration::ZERO,
        _ => wall,
    }
}

impl Process {
    fn sample() -> Option<Self> {
        let own = fs::read_link("/proc/thread-self").ok()?;
        let (_, cpu_time) = stat(&fs::read_to_string("/proc/self/stat").ok()?)?;
        let (mut is_computing, mut threads) = (false, 0);
        for task in fs::read_dir("/proc/self/task").ok()?.flatten() {
            threads += 1;
            if Some(task.file_name().as_os_str()) != own.file_name() {
                let text = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
                is_computing |= stat(&text).is_some_and(|(state, _)| matches!(state, 'R' | 'D'));
            }
        }
        Some(Self { is_computing, cpu_time, threads })
    }
}

/// The state and the CPU time of a process or thread, of a `stat` file of `/proc`.
fn stat(text: &str) -> Option<(char, Duration)> {
    // The name before may hold anything.
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let mut ticks = fields.skip(10).map_while(|field| field.parse().ok());
    // A hundred a second: user and system.
    let cpu_time =
        Duration::from_millis(10).saturating_mul(ticks.next()?) + ticks.next()? * Duration::from_millis(10);
    Some((state, cpu_time))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    const WALL: Duration = Duration::from_millis(100);

    fn process(is_computing: bool, cpu_time: u64, threads: u32) -> Option<Process> {
        Some(Process { is_computing, cpu_time: Duration::from_millis(cpu_time), threads })
    }

    #[test]
    fn time_in_which_nothing_computes_counts_in_full() {
        assert_eq!(advance(WALL, process(true, 500, 8), process(false, 500, 8)), WALL);
        assert_eq!(advance(WALL, None, process(false, 500, 8)), WALL);
        // No `/proc`.
        assert_eq!(advance(WALL, None, None), WALL);
    }

    #[test]
    fn else_each_thread_counts_its_share_of_the_cpu_time() {
        assert_eq!(advance(WALL, process(false, 500, 8), process(true, 660, 8)), Duration::from_millis(20));
        // A busy machine gives the process nothing.
        assert_eq!(advance(WALL, process(true, 500, 8), process(true, 500, 8)), Duration::ZERO);
        assert_eq!(advance(WALL, None, process(true, 500, 8)), Duration::ZERO);
    }

    #[test]
    fn state_and_cpu_time_are_read() {
        let text = "77 (a) R) (b) S 1 77 77 0 -1 4194304 99 0 0 0 250 50 0 0 20 0 13 0 1050 3133440\n";
        assert_eq!(stat(text), Some(('S', Duration::from_secs(3))));
        assert_eq!(stat("77 (a) S 1 77"), None);
        assert_eq!(stat(""), None);
    }

    #[test]
    fn a_thread_that_computes_is_seen() {
        let Some(before) = Process::sample() else { return };
        let (stop, stopped) = channel::<()>();
        let thread = thread::spawn(move || while stopped.try_recv().is_err() {});
        while !Process::sample().unwrap().is_computing {}
        while Process::sample().unwrap().cpu_time == before.cpu_time {}
        stop.send(()).unwrap();
        thread.join().unwrap();
        assert!(before.threads > 0);
    }
}
