use std::ops::RangeInclusive;
use std::path::PathBuf;

use super::MotionSearch;
use crate::backend::{DeviceSelector, Grouping, OnDeviceFailure, Opener};
use crate::estimator::{
    Algorithm, Border, CostKind, Metric, Parameters, Prediction, Quality, References, SetupError, SubSample,
    Window,
};
use crate::session::{Balance, Split};
use crate::tuning::{Kernel, Tuning};

/// The settings of a [`MotionSearch`]. [`Self::build`] opens it.
#[derive(Clone, Debug)]
#[must_use = "nothing is searched before `build`"]
pub struct MotionSearchBuilder {
    /// But for the window, which `build` makes of `window`.
    parameters: Parameters,
    /// The first and last displacement across, and down.
    window: [i32; 4],
    device: Result<DeviceSelector, SetupError>,
    kernel: Kernel,
    threads: Option<usize>,
    in_flight: usize,
    grouping: Grouping,
    opener: Opener,
}

impl MotionSearchBuilder {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self {
            parameters: Parameters::new(width, height, 16, Window::default()),
            window: [-16, 16, -16, 16],
            device: Ok(DeviceSelector::default()),
            kernel: Kernel::default(),
            threads: None,
            in_flight: 1,
            grouping: Grouping::default(),
            opener: Opener::default(),
        }
    }

    /// Which vectors are found. By default [`Algorithm::Full`]: of all candidates the one with the least cost.
    /// [`Algorithm::Hierarchical`] finds vectors near the true motion.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.parameters.algorithm = algorithm;
        self
    }

    /// Samples on a side of a block: a multiple of 4 from 4 to 64, by default 16. With [`Algorithm::Hierarchical`] 4, 8,
    /// 16, 32 or 64.
    pub fn block_size(mut self, samples: usize) -> Self {
        self.parameters.block_size = samples;
        self
    }

    /// The longest vector to the left and to the right, and up and down, in samples: by default 16 and 16, at most
    /// [`MAX_DISPLACEMENT`](crate::estimator::MAX_DISPLACEMENT). [`Algorithm::Hierarchical`] ignores it.
    pub fn search_range(self, x: u32, y: u32) -> Self {
        // What does not fit is refused by `build`, as everything else that is too long.
        let [x, y] = [x, y].map(|samples| i32::try_from(samples).unwrap_or(i32::MAX));
        self.search_window(-x..=x, -y..=y)
    }

    /// The displacements across and down that are candidates, in samples, where they are not the same each way: both hold 0,
    /// and reach no further than those of [`Self::search_range`], whose place this takes.
    pub fn search_window(mut self, x: RangeInclusive<i32>, y: RangeInclusive<i32>) -> Self {
        self.window = [*x.start(), *x.end(), *y.start(), *y.end()];
        self
    }

    /// How much finer than a sample the vectors are. By default [`SubSample::None`]: whole samples. For
    /// [`Algorithm::Hierarchical`], whose vectors are finer, nothing else is allowed.
    pub fn sub_sample(mut self, sub_sample: SubSample) -> Self {
        self.parameters.sub_sample = sub_sample;
        self
    }

    /// How much [`Algorithm::Hierarchical`] does. By default [`Quality::Balanced`].
    pub fn quality(mut self, quality: Quality) -> Self {
        self.parameters.quality = quality;
        self
    }

    /// How blocks are compared. By default [`Metric::Sad`]. [`Metric::Ssd`] takes samples of at most 10 bits.
    pub fn metric(mut self, metric: Metric) -> Self {
        self.parameters.metric = metric;
        self
    }

    /// How candidates outside the reference frame are treated. By default [`Border::Extend`].
    pub fn border(mut self, border: Border) -> Self {
        self.parameters.border = border;
        self
    }

    /// Bits of the frames' samples: 8 to 16, by default 8. [`Algorithm::Hierarchical`] sees the upper eight.
    pub fn bit_depth(mut self, bits: u32) -> Self {
        self.parameters.bit_depth = bits;
        self
    }

    /// The frames of a stream in which each frame is searched: so many `earlier` and so many `later` ones, 0 to
    /// [`References::MOST`], one at least. By default 1 and 0: the frame before. Each gives a field.
    pub fn references(mut self, earlier: usize, later: usize) -> Self {
        self.parameters.references = References { backward: earlier, forward: later };
        self
    }

    /// Whether each vector is also predicted from its neighbours, as [`MotionField::predictors`]. By default
    /// [`Prediction::None`].
    ///
    /// [`MotionField::predictors`]: crate::MotionField::predictors
    pub fn prediction(mut self, prediction: Prediction) -> Self {
        self.parameters.prediction = prediction;
        self
    }

    /// What is computed for each block besides its vector, for instance [`CostKind::Confidence`], how far the vector is to be
    /// trusted: [`MotionField::cost`] has it. By default nothing. With [`Algorithm::Hierarchical`] all but
    /// [`CostKind::Second`].
    ///
    /// [`MotionField::cost`]: crate::MotionField::cost
    pub fn costs(mut self, kinds: impl IntoIterator<Item = CostKind>) -> Self {
        self.parameters.costs = kinds.into_iter().collect();
        self
    }

    /// Whether frames are found that begin another scene than the frame before: [`MotionField::is_scene_cut`]. By default
    /// not. It needs one earlier frame among the [references](Self::references).
    ///
    /// [`MotionField::is_scene_cut`]: crate::MotionField::is_scene_cut
    pub fn scene_cut(mut self, is_found: bool) -> Self {
        self.parameters.scene_cut = is_found;
        self
    }

    /// Where to search: `"auto"`, `"native"`, `"gpu"`, `"cpu"`, `"accelerator"`, `"P:D"`, part of a device's name, a list
    /// of these as `"gpu,native"`, or `"all"`; or the selector of one of [`devices`](crate::backend::devices). [`Self::build`] refuses what
    /// is none of these.
    ///
    /// By default [`DeviceSelector::Auto`]: the best OpenCL GPU, or the CPU if there is none. The device never changes the
    /// vectors.
    pub fn device(mut self, device: impl TryInto<DeviceSelector, Error: Into<SetupError>>) -> Self {
        self.device = device.try_into().map_err(Into::into);
        self
    }

    /// How the device searches: it changes the speed, never the vectors. By default [`Kernel::Auto`].
    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// A file that says which kernel and tuning is the fastest on an OpenCL device, as the example `tune` of the GStreamer
    /// plugin writes it. It need not exist. By default there is none.
    pub fn tuning_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.opener = Opener::with_tuning_file(file);
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
        let Self { mut parameters, window: [x0, x1, y0, y1], .. } = self;
        parameters.window = Window::new(x0, x1, y0, y1)?;
        if parameters.algorithm == Algorithm::Hierarchical && (9..=16).contains(&parameters.bit_depth) {
            // It reads eight bits of deeper samples.
            parameters.bit_depth = 8;
        }
        let tuning = Tuning { depth: Some(self.in_flight), threads: self.threads, ..Tuning::default() };
        tuning.check_counts("in_flight")?;
        let (session, choice) =
            self.opener.open(&self.device?, self.kernel, &tuning, self.grouping, &parameters)?;
        Ok(MotionSearch::with(session, choice))
    }
}
