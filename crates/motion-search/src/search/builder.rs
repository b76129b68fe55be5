use super::MotionSearch;
use crate::backend::{self, DeviceSelector, Grouping, OnDeviceFailure};
use crate::estimator::{Algorithm, Border, Metric, Parameters, Quality, SetupError, SubSample, Window};
use crate::session::{Balance, Split};
use crate::tuning::{Kernel, Tuning};

/// The settings of a [`MotionSearch`]. [`Self::build`] opens it.
#[derive(Clone, Debug)]
#[must_use = "nothing is searched before `build`"]
pub struct MotionSearchBuilder {
    size: (usize, usize),
    bit_depth: u32,
    block_size: usize,
    range: (i32, i32),
    algorithm: Algorithm,
    quality: Quality,
    sub_sample: SubSample,
    metric: Metric,
    border: Border,
    device: DeviceSelector,
    kernel: Kernel,
    threads: Option<usize>,
    in_flight: usize,
    grouping: Grouping,
}

impl MotionSearchBuilder {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self {
            size: (width, height),
            bit_depth: 8,
            block_size: 16,
            range: (16, 16),
            algorithm: Algorithm::default(),
            quality: Quality::default(),
            sub_sample: SubSample::default(),
            metric: Metric::default(),
            border: Border::default(),
            device: DeviceSelector::default(),
            kernel: Kernel::default(),
            threads: None,
            in_flight: 1,
            grouping: Grouping::default(),
        }
    }

    /// Which vectors are found. By default [`Algorithm::Full`]: of all candidates the one with the least cost.
    /// [`Algorithm::Hierarchical`] finds vectors near the true motion.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Samples on a side of a block: a multiple of 4 from 4 to 64, by default 16. With [`Algorithm::Hierarchical`] 4, 8,
    /// 16, 32 or 64.
    pub fn block_size(mut self, samples: usize) -> Self {
        self.block_size = samples;
        self
    }

    /// The longest vector to the left and to the right, and up and down, in samples: by default 16 and 16, at most
    /// [`MAX_DISPLACEMENT`](crate::estimator::MAX_DISPLACEMENT). [`Algorithm::Hierarchical`] ignores it.
    pub fn search_range(mut self, x: u32, y: u32) -> Self {
        // What does not fit is refused by `build`, as everything else that is too long.
        let range = |samples| i32::try_from(samples).unwrap_or(i32::MAX);
        self.range = (range(x), range(y));
        self
    }

    /// How much finer than a sample the vectors are. By default [`SubSample::None`]: whole samples. For
    /// [`Algorithm::Hierarchical`], whose vectors are finer, nothing else is allowed.
    pub fn sub_sample(mut self, sub_sample: SubSample) -> Self {
        self.sub_sample = sub_sample;
        self
    }

    /// How much [`Algorithm::Hierarchical`] does. By default [`Quality::Balanced`].
    pub fn quality(mut self, quality: Quality) -> Self {
        self.quality = quality;
        self
    }

    /// How blocks are compared. By default [`Metric::Sad`]. [`Metric::Ssd`] takes samples of at most 10 bits.
    pub fn metric(mut self, metric: Metric) -> Self {
        self.metric = metric;
        self
    }

    /// How candidates outside the reference frame are treated. By default [`Border::Extend`].
    pub fn border(mut self, border: Border) -> Self {
        self.border = border;
        self
    }

    /// Bits of the frames' samples: 8 to 16, by default 8.
    pub fn bit_depth(mut self, bits: u32) -> Self {
        self.bit_depth = bits;
        self
    }

    /// Where to search: `"auto"`, `"native"`, `"gpu"`, `"cpu"`, `"accelerator"`, `"P:D"`, part of a device's name, a list
    /// of these as `"gpu,native"`, or `"all"`; or the selector of one of [`backend::devices`].
    ///
    /// By default [`DeviceSelector::Auto`]: the best OpenCL GPU, or the CPU if there is none. The device never changes the
    /// vectors.
    pub fn device(mut self, device: impl Into<DeviceSelector>) -> Self {
        self.device = device.into();
        self
    }

    /// How the device searches: it changes the speed, never the vectors. By default [`Kernel::Auto`].
    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// Threads of the CPU without OpenCL, at most 1024; 0 for one a core. By default the search uses the `rayon` pool of the
    /// thread that calls it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// How many searches [`MotionSearch::fields`] starts before it waits for the first: 1 to 16, by default 1. A GPU needs
    /// several to be busy.
    pub fn in_flight(mut self, searches: usize) -> Self {
        self.in_flight = searches;
        self
    }

    /// How several devices divide the work. By default [`Split::Auto`].
    pub fn split(mut self, split: Split) -> Self {
        self.grouping.split = split;
        self
    }

    /// How much of the work each of several devices gets. By default [`Balance::Adaptive`].
    pub fn balance(mut self, balance: Balance) -> Self {
        self.grouping.balance = balance;
        self
    }

    /// What happens when the last device has failed. By default [`OnDeviceFailure::Native`]: the CPU continues.
    pub fn on_device_failure(mut self, on_failure: OnDeviceFailure) -> Self {
        self.grouping.on_failure = on_failure;
        self
    }

    /// Checks the settings and opens the device.
    ///
    /// # Errors
    /// [`SetupError`] for a setting that is out of range or not supported with the others, for a device that does not
    /// exist or does not start, and for a kernel that the device does not have.
    pub fn build(self) -> Result<MotionSearch, SetupError> {
        let (width, height) = self.size;
        let (x, y) = self.range;
        let bit_depth = match (self.algorithm, self.bit_depth) {
            // It reads eight bits of deeper samples.
            (Algorithm::Hierarchical, 9..=16) => 8,
            (_, depth) => depth,
        };
        let parameters = Parameters {
            bit_depth,
            algorithm: self.algorithm,
            quality: self.quality,
            sub_sample: self.sub_sample,
            metric: self.metric,
            border: self.border,
            ..Parameters::new(width, height, self.block_size, Window::symmetric(x, y)?)
        };
        let tuning = Tuning { depth: Some(self.in_flight), threads: self.threads, ..Tuning::default() };
        tuning.check_counts("in_flight")?;
        let (session, choice) =
            backend::open(&self.device, self.kernel, &tuning, self.grouping, &parameters)?;
        Ok(MotionSearch::with(session, choice))
    }
}
