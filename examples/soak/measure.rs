//! What the process takes, over time, and whether that is flat.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::mem::take;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fmt, thread};

use crate::lane::Failure;

/// About so many samples are taken.
pub const SAMPLES: u32 = 300;

/// The bound of memory: the median of the last third of a phase's samples may be so much above that of the middle third.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slack {
    /// For the same pipelines over and over. The allocator's pools vary by less.
    Steady,
    /// For runs of ten minutes or more. The pools vary with the sizes of frames, and PoCL compiles a program now and then; a
    /// leak of one small frame in a hundred exceeds it within an hour.
    Long,
    /// For shorter runs, in which PoCL still compiles most programs: its compiler takes up to 150 MiB at the first large one
    /// and holds them. Leaks are then found by the tracer and in the phase that is steady.
    Short,
}

impl Slack {
    /// That of random changes for `time`.
    pub fn of(time: Duration) -> Self {
        if time >= Duration::from_secs(600) { Self::Long } else { Self::Short }
    }

    fn kib(self) -> f64 {
        1024.0
            * match self {
                Self::Steady => 4.0,
                Self::Long => 16.0,
                Self::Short => 192.0,
            }
    }
}

/// The bound of latency: the median of the last third may be this many times that of the middle third, and
/// [`LATENCY_SLACK`] more. Other programs on the machine double it at times; what queues up grows without end.
const LATENCY_FACTOR: f64 = 3.0;
const LATENCY_SLACK: Duration = Duration::from_millis(20);

/// How long threads may take to end.
const SETTLING: Duration = Duration::from_secs(30);

/// The time between two samples of a run that takes `time`.
pub fn interval(time: Duration) -> Duration {
    (time / SAMPLES).clamp(Duration::from_millis(50), Duration::from_secs(10))
}

/// Memory, threads and descriptors of this process. The memory is what the process has to itself, without the pages of
/// files, such as those of a compiler's library at its first use.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    anonymous_kib: u64,
    threads: u64,
    descriptors: u64,
}

impl Process {
    fn now() -> Result<Self, Failure> {
        let status = fs::read_to_string("/proc/self/status")?;
        let number = |name: &str| -> Result<u64, Failure> {
            let value = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("/proc/self/status")?;
            Ok(value.split_whitespace().next().ok_or("/proc/self/status")?.parse()?)
        };
        let descriptors = fs::read_dir("/proc/self/fd")?.count() as u64;
        Ok(Self { anonymous_kib: number("RssAnon:")?, threads: number("Threads:")?, descriptors })
    }

    /// The process without idle threads, as soon as their number stays the same for a while.
    pub fn at_rest() -> Result<Self, Failure> {
        let mut last = Self::now()?;
        loop {
            glib::ThreadPool::stop_unused_threads();
            thread::sleep(Duration::from_millis(500));
            let now = Self::now()?;
            if (now.threads, now.descriptors) == (last.threads, last.descriptors) {
                return Ok(now);
            }
            last = now;
        }
    }

    /// The process as soon as it has no more threads and descriptors than `before`, or after [`SETTLING`].
    pub fn settled(before: &Self) -> Result<Self, Failure> {
        let began = Instant::now();
        loop {
            let now = Self::at_rest()?;
            if before.check(&now).is_ok() || began.elapsed() > SETTLING {
                return Ok(now);
            }
        }
    }

    /// Fails if `after` has more threads or descriptors.
    pub fn check(&self, after: &Self) -> Result<(), String> {
        let grew = |what: &str, before: u64, after: u64| {
            if after > before {
                Err(format!("{what} are left: {before} before, {after} after"))
            } else {
                Ok(())
            }
        };
        grew("threads", self.threads, after.threads)?;
        grew("file descriptors", self.descriptors, after.descriptors)
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { anonymous_kib, threads, descriptors } = self;
        write!(f, "{:.1} MiB, {threads} threads, {descriptors} descriptors", *anonymous_kib as f64 / 1024.0)
    }
}

/// The samples of a run.
pub struct Record {
    file: Option<BufWriter<File>>,
    began: Instant,
    memory: Vec<f64>,
    latency: Vec<f64>,
}

impl Record {
    /// One that is written to `path`.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = BufWriter::new(File::create(path)?);
        writeln!(
            file,
            "phase,seconds,anonymous_kib,threads,descriptors,frames,latency_median_us,latency_longest_us"
        )?;
        Ok(Self { file: Some(file), ..Self::none() })
    }

    /// One that is not written, and has no verdict.
    pub fn none() -> Self {
        Self { file: None, began: Instant::now(), memory: Vec::new(), latency: Vec::new() }
    }

    pub fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    /// Takes a sample in `phase` after `count` frames or changes of state.
    pub fn sample(&mut self, phase: &str, count: u64, mut latencies: Vec<Duration>) -> Result<(), Failure> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let Process { anonymous_kib, threads, descriptors } = Process::now()?;
        latencies.sort_unstable();
        let micros =
            |latency: Option<&Duration>| latency.map_or(String::new(), |time| time.as_micros().to_string());
        let median = latencies.get(latencies.len() / 2);
        writeln!(
            file,
            "{phase},{:.2},{anonymous_kib},{threads},{descriptors},{count},{},{}",
            self.began.elapsed().as_secs_f64(),
            micros(median),
            micros(latencies.last()),
        )?;
        // A run of hours can be looked at while it goes on.
        file.flush()?;
        self.memory.push(anonymous_kib as f64);
        self.latency.extend(median.map(Duration::as_secs_f64));
        Ok(())
    }

    /// Fails if memory or latency was not flat in the phase that ends.
    pub fn check(&mut self, slack: Slack) -> Result<(), Failure> {
        let (memory, latency) = (take(&mut self.memory), take(&mut self.latency));
        let [first, middle, last] = thirds(&memory).ok_or("too few samples of memory")?;
        println!(
            "soak: memory of the thirds, median: {:.1}, {:.1}, {:.1} MiB; the last may be at most {:.1}",
            first / 1024.0,
            middle / 1024.0,
            last / 1024.0,
            (middle + slack.kib()) / 1024.0,
        );
        if last > middle + slack.kib() {
            return Err("memory grows".into());
        }
        // Changes of state have no latency.
        if let Some([first, middle, last]) = thirds(&latency) {
            let most = LATENCY_FACTOR * middle + LATENCY_SLACK.as_secs_f64();
            let [a, b, c, d] = [first, middle, last, most].map(|seconds| 1e3 * seconds);
            println!(
                "soak: latency of the thirds, median: {a:.2}, {b:.2}, {c:.2} ms; the last may be at most {d:.2}"
            );
            if last > most {
                return Err("the latency rises".into());
            }
        }
        Ok(())
    }
}

/// The medians of the first, middle and last third; `None` with fewer than three samples in each.
fn thirds(samples: &[f64]) -> Option<[f64; 3]> {
    let length = samples.len() / 3;
    (length >= 3).then(|| {
        [0, 1, 2].map(|third| {
            let mut part = samples[third * length..(third + 1) * length].to_vec();
            part.sort_unstable_by(f64::total_cmp);
            part[length / 2]
        })
    })
}
