//! Times a search on a device, and tables of searches with a time limit per cell.

use std::error::Error;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use motion_frames::compensation;
use motion_search::backend::{self, AvailableDevice, DeviceSelector, Grouping};
use motion_search::estimator::{Algorithm, Frame, MotionVector, Parameters, SetupError, Window, oracle};
use motion_search::native::{InstructionSetName, Native};
use motion_search::session::{self, Options, Split, WeightedDevice};
use motion_search::tuning::{Kernel, Tuning};

use crate::papers::frames::{Clip, Scene};
use crate::papers::table::Cell;

/// The measurements on one device.
pub struct Session<'a> {
    pub device: &'a AvailableDevice,
    pub clips: &'a [Clip],
    pub quick: bool,
    pub limit: Duration,
}

/// What runs a search.
#[derive(Clone, Copy, Debug)]
pub enum Engine {
    /// The CPU without OpenCL, by default with the fastest instruction set and all cores. `kernel` is that of
    /// full search; three-step search has one only.
    Native { kernel: Kernel, instruction_set: Option<InstructionSetName>, threads: Option<usize> },
    /// The session's OpenCL device.
    OpenCl { kernel: Kernel, tuning: Tuning },
    /// The session's OpenCL device with groups of as many items as a row of the frame has blocks.
    GroupOfRow { kernel: Kernel },
    /// `count` OpenCL devices with the name of the session's, each with an equal part of the search.
    Equals { kernel: Kernel, count: usize, split: Split },
}

impl Engine {
    /// Every cost, on all cores.
    pub const EXHAUSTIVE: Self = Self::native(Kernel::Exhaustive, None);

    /// The same field, most costs of which need not be computed, on all cores.
    pub const ELIMINATION: Self = Self::native(Kernel::Elimination, None);

    /// The counterpart of the papers' serial code for one core: every cost, by plain Rust with the feature `portable`.
    pub const SERIAL: Self = Self::Native {
        kernel: Kernel::Exhaustive,
        instruction_set: Some(InstructionSetName::PLAINEST),
        threads: Some(1),
    };

    /// `kernel` with the fastest instruction set, on all cores or as many `threads`.
    pub const fn native(kernel: Kernel, threads: Option<usize>) -> Self {
        Self::Native { kernel, instruction_set: None, threads }
    }

    /// `kernel` with its own group size.
    pub fn kernel(kernel: Kernel) -> Self {
        Self::OpenCl { kernel, tuning: Tuning::default() }
    }

    /// `kernel` with groups of `items`.
    pub fn grouped(kernel: Kernel, items: usize) -> Self {
        Self::OpenCl { kernel, tuning: Tuning { group_size: Some(items), ..Tuning::default() } }
    }

    /// The name of what it runs on.
    pub fn device<'a>(self, session: &'a Session<'_>) -> &'a str {
        match self {
            Engine::Native { .. } => "native",
            Engine::OpenCl { .. } | Engine::GroupOfRow { .. } | Engine::Equals { .. } => session.name(),
        }
    }

    /// Its kernel and what else it is opened with, on which device.
    fn described(self, session: &Session<'_>) -> String {
        let what = match self {
            Engine::Native { kernel, instruction_set, threads } => {
                let instruction_set = instruction_set.map_or(String::new(), |name| format!(", {name}"));
                let threads = threads.map_or(String::new(), |count| format!(", threads={count}"));
                format!("kernel={kernel}{instruction_set}{threads}")
            }
            Engine::OpenCl { kernel, tuning } => {
                let group = tuning.group_size.map_or(String::new(), |items| format!(", group-size={items}"));
                let launch = tuning.launch.map_or(String::new(), |launch| format!(", launch={launch:?}"));
                let count = tuning.launches.map_or(String::new(), |count| format!(", launches={count}"));
                format!("kernel={kernel}{group}{launch}{count}")
            }
            Engine::GroupOfRow { kernel } => format!("kernel={kernel}, group-size=columns"),
            Engine::Equals { kernel, count, split } => {
                format!("{count} devices, kernel={kernel}, split={split:?}")
            }
        };
        format!("{what} on {}", self.device(session))
    }

    fn open(self, device: &AvailableDevice, parameters: &Parameters) -> Result<session::Session, SetupError> {
        match self {
            Engine::Native { kernel, instruction_set, .. } => {
                let instruction_set = instruction_set.unwrap_or_else(InstructionSetName::best);
                let kernel = if parameters.algorithm == Algorithm::Full { kernel } else { Kernel::Auto };
                let device = Box::new(Native::with_kernel(parameters.clone(), kernel, instruction_set)?);
                let device = WeightedDevice { device, weight: 1.0 };
                session::Session::new(parameters, 1, vec![device], Options::default())
            }
            Engine::GroupOfRow { kernel } => {
                Self::grouped(kernel, parameters.grid().columns).open(device, parameters)
            }
            Engine::OpenCl { kernel, tuning } => {
                Ok(backend::open(&device.selector, kernel, &tuning, Grouping::default(), parameters)?.0)
            }
            Engine::Equals { kernel, count, split } => {
                let each =
                    equals(device).into_iter().take(count).map(|device| format!("{}@1", device.selector));
                let list: DeviceSelector = each.collect::<Vec<_>>().join(",").parse()?;
                let grouping = Grouping { split, ..Grouping::default() };
                Ok(backend::open(&list, kernel, &Tuning::default(), grouping, parameters)?.0)
            }
        }
    }
}

/// A session of one device or of a list, with so many searches in flight.
pub fn open_stream(
    device: &DeviceSelector,
    kernel: Kernel,
    depth: usize,
    grouping: Grouping,
    parameters: &Parameters,
) -> Result<session::Session, SetupError> {
    // The CPU without OpenCL has kernels of its own.
    let kernel = if *device == DeviceSelector::Native { Kernel::Auto } else { kernel };
    let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
    Ok(backend::open(device, kernel, &tuning, grouping, parameters)?.0)
}

/// The devices with the name of `device`, which is the first of them.
pub fn equals(device: &AvailableDevice) -> Vec<AvailableDevice> {
    let mut equals = backend::devices();
    equals.retain(|other| other.name == device.name && other.kind == device.kind);
    equals.sort_by_key(|other| other.selector != device.selector);
    equals
}

/// What begins the footnote that names kernel, device and parameters: every table has one.
pub const RAN: &str = "Ran here: ";

/// The parameters of a search but for the size of its frames.
pub fn described(parameters: &Parameters) -> String {
    let Parameters { algorithm, block_size, metric, border, window, .. } = parameters;
    format!(
        "algorithm={}, block-size={block_size}, metric={}, border={border:?}, {} x {} candidates",
        algorithm.name(),
        metric.name(),
        window.columns(),
        window.rows(),
    )
    .to_lowercase()
}

/// The frames whose upload is part of a paper's time with transfers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Upload {
    /// The current frame: the reference was uploaded for its own search.
    Current,
    /// Both frames.
    Both,
}

impl Upload {
    fn words(self) -> &'static str {
        match self {
            Upload::Current => "the current frame's upload",
            Upload::Both => "both frames' upload",
        }
    }
}

/// Medians of a search's times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Of the search alone.
    pub kernel: Duration,
    /// With the upload before and the download after it.
    pub whole: Duration,
    /// The distance of the quartiles of each, in parts of the median: the larger of the two.
    pub spread: f64,
}

/// A search with a larger spread is measured again, this many times.
const MOST_SPREAD: f64 = 0.15;
const AGAIN: usize = 2;

impl Timing {
    /// Of the times of some runs alone, and with transfers.
    fn of(kernel: Vec<Duration>, whole: Vec<Duration>) -> Self {
        let spread = spread(&kernel).max(spread(&whole));
        Self { kernel: median(kernel), whole: median(whole), spread }
    }
}

/// The result of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Timed(Timing),
    /// The device cannot. The table's foot has the reason.
    Refused,
    /// Skipped: the case before exceeded the time limit.
    Stopped,
}

impl Outcome {
    /// A cell with the `figure` of each time.
    pub fn pair(&self, figure: impl Fn(Duration) -> f64) -> Cell {
        match self {
            Outcome::Timed(timing) => Cell::Pair(figure(timing.kernel), figure(timing.whole)),
            Outcome::Refused => Cell::Refused,
            Outcome::Stopped => Cell::Stopped,
        }
    }

    /// The times, if it was timed.
    pub fn timing(&self) -> Option<Timing> {
        if let Outcome::Timed(timing) = self { Some(*timing) } else { None }
    }
}

/// Milliseconds.
pub fn milliseconds(time: Duration) -> f64 {
    1e3 * time.as_secs_f64()
}

/// Frames a second.
pub fn rate(time: Duration) -> f64 {
    1.0 / time.as_secs_f64()
}

/// A table of searches: one row per scene, from small to large, one column per engine.
pub struct Searches<'a> {
    pub title: &'a str,
    pub rows: usize,
    pub engines: &'a [Engine],
    pub scene: &'a dyn Fn(usize) -> Scene,
    /// The parameters at a row and column.
    pub parameters: &'a dyn Fn(usize, usize) -> Parameters,
    pub upload: Upload,
    /// Whether the prediction of the current frame from the vectors belongs to the whole time.
    pub is_predicting: bool,
}

/// The times of a table of searches.
pub struct Measured {
    pub rows: Vec<Vec<Outcome>>,
    /// How it was measured, and why cells are empty.
    pub foot: Vec<String>,
}

impl Session<'_> {
    /// Whether this is the CPU without OpenCL.
    pub fn is_native(&self) -> bool {
        self.device.selector == DeviceSelector::Native
    }

    /// Whether this is a GPU.
    pub fn is_gpu(&self) -> bool {
        self.device.kind == "gpu"
    }

    /// The device in a heading.
    pub fn name(&self) -> &str {
        &self.device.name
    }

    /// The most runs of a cell, and the time they may take together.
    pub fn effort(&self) -> (usize, Duration) {
        if self.quick { (3, Duration::from_millis(50)) } else { (9, Duration::from_millis(500)) }
    }

    /// A progress bar of `cells` steps, shown on terminals only.
    pub fn progress(&self, title: &str, cells: usize) -> ProgressBar {
        let style = ProgressStyle::with_template("{prefix} {bar:40} {pos}/{len} {msg} ({elapsed})")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let prefix = format!("{}: {title}", self.device.selector);
        ProgressBar::new(cells as u64).with_style(style).with_prefix(prefix)
    }

    /// Measures moving frames of `sizes`, width and height first, as in Uta's tables: a column has an engine and
    /// a window, both frames are uploaded.
    pub fn measure_sizes(
        &self,
        title: &str,
        sizes: &[(usize, usize, usize)],
        engines: &[Engine],
        window: &dyn Fn(usize) -> Window,
    ) -> Measured {
        const BLOCK: usize = 16;
        self.measure(&Searches {
            title,
            rows: sizes.len(),
            engines,
            scene: &|row| Scene::moving(sizes[row].0, sizes[row].1),
            parameters: &|row, column| Parameters::new(sizes[row].0, sizes[row].1, BLOCK, window(column)),
            upload: Upload::Both,
            is_predicting: false,
        })
    }

    /// Checks that every engine finds, in moving frames of `sizes`, what the CPU finds, and the CPU in those of the first
    /// size what the oracle defines.
    ///
    /// # Errors
    /// The size and the engine that differ.
    pub fn check_sizes(
        &self,
        sizes: &[(usize, usize, usize)],
        engines: &[Engine],
        window: Window,
    ) -> Result<(), Box<dyn Error>> {
        let progress = self.progress("compared", sizes.len() * engines.len());
        for (index, &(width, height, _)) in sizes.iter().enumerate() {
            let (parameters, scene) =
                (Parameters::new(width, height, 16, window), Scene::moving(width, height));
            let vectors = |engine: Engine| -> Result<Vec<MotionVector>, Box<dyn Error>> {
                let mut opened = engine.open(self.device, &parameters)?;
                let reference = opened.add_frame(scene.reference.clone())?;
                let current = opened.add_frame(scene.current.clone())?;
                opened.start_search(current, reference, ())?;
                let ((), output) = opened.finish_search()?;
                Ok(output.vectors.to_vec())
            };
            let expected = vectors(Engine::ELIMINATION)?;
            let [current, reference] = [&scene.current, &scene.reference].map(Frame::view);
            if index == 0 && oracle::search(&parameters, &current, &reference).vectors != expected {
                return Err(format!("native differs from the oracle at {width}x{height}").into());
            }
            for &engine in engines {
                if vectors(engine)? != expected {
                    return Err(format!("{engine:?} differs from native at {width}x{height}").into());
                }
                progress.inc(1);
            }
        }
        progress.finish_and_clear();
        Ok(())
    }

    /// Measures a table of searches, row by row.
    pub fn measure(&self, searches: &Searches<'_>) -> Measured {
        let columns = searches.engines.len();
        let progress = self.progress(searches.title, searches.rows * columns);
        let mut stopped = vec![false; columns];
        let mut notes = Vec::new();
        let mut rows = Vec::new();
        for row in 0..searches.rows {
            let scene = (searches.scene)(row);
            let mut outcomes = Vec::new();
            for (column, &engine) in searches.engines.iter().enumerate() {
                let parameters = (searches.parameters)(row, column);
                progress.set_message(format!("{} x {}", parameters.width, parameters.height));
                outcomes.push(if stopped[column] {
                    Outcome::Stopped
                } else {
                    match self.time(engine, &parameters, &scene, searches) {
                        Ok(timing) => {
                            stopped[column] = timing.whole > self.limit;
                            Outcome::Timed(timing)
                        }
                        Err(reason) => {
                            let note = format!("n/a: {reason}.");
                            if !notes.contains(&note) {
                                notes.push(note);
                            }
                            Outcome::Refused
                        }
                    }
                });
                progress.inc(1);
            }
            rows.push(outcomes);
        }
        progress.finish_and_clear();
        let mut foot = vec![self.ran(searches), self.method(searches)];
        let spreads = rows.iter().flatten().filter_map(|outcome| Some(outcome.timing()?.spread));
        let spreads: Vec<f64> = spreads.collect();
        let wide = spreads.iter().filter(|&&spread| spread > MOST_SPREAD).count();
        let most = spreads.iter().copied().fold(0.0, f64::max);
        foot.push(format!(
            "Spread, the distance of the quartiles over the median: at most {:.0} %.",
            100.0 * most
        ));
        if wide > 0 {
            foot.push(format!(
                "{wide} of {} searches were measured {} times and their spread stayed over {:.0} %.",
                spreads.len(),
                1 + AGAIN,
                100.0 * MOST_SPREAD,
            ));
        }
        if rows.iter().flatten().any(|outcome| *outcome == Outcome::Stopped) {
            let limit = self.limit.as_secs_f64();
            foot.push(format!("-: not measured, a smaller case took more than {limit} s."));
        }
        foot.extend(notes);
        Measured { rows, foot }
    }

    /// What the columns ran, with which parameters.
    fn ran(&self, searches: &Searches<'_>) -> String {
        let mut engines: Vec<String> = searches.engines.iter().map(|engine| engine.described(self)).collect();
        engines.dedup();
        let cells =
            (0..searches.rows).flat_map(|row| (0..searches.engines.len()).map(move |column| (row, column)));
        let mut settings: Vec<String> = Vec::new();
        for setting in cells.map(|(row, column)| described(&(searches.parameters)(row, column))) {
            if !settings.contains(&setting) {
                settings.push(setting);
            }
        }
        format!("{RAN}{}. {}.", engines.join("; "), settings.join("; "))
    }

    /// A sentence on how the times were measured.
    fn method(&self, searches: &Searches<'_>) -> String {
        let (most, budget) = self.effort();
        format!(
            "Ours: kernel alone / with {}{}; median of 1 to {most} runs, as many as take {} ms.",
            searches.upload.words(),
            match searches.is_predicting {
                true => ", the vectors' download and the prediction of the frame on the CPU",
                false => " and the vectors' download",
            },
            budget.as_millis(),
        )
    }

    fn time(
        &self,
        engine: Engine,
        parameters: &Parameters,
        scene: &Scene,
        searches: &Searches<'_>,
    ) -> Result<Timing, String> {
        let mut opened = engine.open(self.device, parameters).map_err(|error| error.to_string())?;
        let what = (searches.upload, searches.is_predicting);
        let mut run = || {
            let mut best = self.repeat(&mut opened, scene, what).map_err(|error| error.to_string())?;
            for _ in 0..AGAIN {
                if best.spread > MOST_SPREAD {
                    let again = self.repeat(&mut opened, scene, what).map_err(|error| error.to_string())?;
                    best = if again.spread < best.spread { again } else { best };
                }
            }
            Ok(best)
        };
        match engine {
            Engine::Native { threads: Some(threads), .. } => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                pool.map_err(|error| error.to_string())?.install(run)
            }
            _ => run(),
        }
    }

    fn repeat(
        &self,
        opened: &mut session::Session,
        scene: &Scene,
        (upload, is_predicting): (Upload, bool),
    ) -> Result<Timing, Box<dyn Error + Send + Sync>> {
        let (most, budget) = self.effort();
        let parameters = opened.parameters().clone();
        let reference = opened.add_frame(scene.reference.clone())?;
        let current = opened.add_frame(scene.current.clone())?;
        let mut once = |upload| -> Result<(Duration, Duration), Box<dyn Error + Send + Sync>> {
            let start = Instant::now();
            if upload == Upload::Both {
                opened.load_frame(reference, scene.reference.clone())?;
            }
            opened.load_frame(current, scene.current.clone())?;
            opened.start_search(current, reference, ())?;
            let ((), output) = opened.finish_search()?;
            if is_predicting {
                compensation::predict_luma(&parameters, &scene.reference.view(), &output.vectors)?;
            }
            let whole = start.elapsed();
            if whole > budget {
                // In so long a time the upload does not count.
                return Ok((output.times.search, whole));
            }
            // Again, without an upload whose work on the device would count.
            let start = Instant::now();
            opened.start_search(current, reference, ())?;
            let ((), output) = opened.finish_search()?;
            // The clocks of several devices have no common begin: the host's time counts, with the merging of the vectors.
            let alone = if opened.shares().len() > 1 { start.elapsed() } else { output.times.search };
            Ok((alone, whole))
        };
        // Warm-up: some drivers compile at the first launch.
        once(Upload::Both)?;
        let start = Instant::now();
        let mut runs = Vec::new();
        while runs.is_empty() || (runs.len() < most && start.elapsed() < budget) {
            runs.push(once(upload)?);
        }
        let (kernels, wholes) = runs.into_iter().unzip();
        Ok(Timing::of(kernels, wholes))
    }

    /// Median time of `work`, after one run to warm up.
    pub fn median_of<E>(&self, mut work: impl FnMut() -> Result<Duration, E>) -> Result<Duration, E> {
        let (most, budget) = self.effort();
        work()?;
        let start = Instant::now();
        let mut runs = Vec::new();
        while runs.is_empty() || (runs.len() < most && start.elapsed() < budget) {
            runs.push(work()?);
        }
        Ok(median(runs))
    }
}

/// The distance of the quartiles in parts of the median; 0 for fewer than four times.
pub fn spread(times: &[Duration]) -> f64 {
    if times.len() < 4 {
        return 0.0;
    }
    let mut seconds: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
    seconds.sort_by(f64::total_cmp);
    let at = |quarter: usize| seconds[quarter * (seconds.len() - 1) / 4];
    (at(3) - at(1)) / at(2)
}

/// The median, the later of two.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
