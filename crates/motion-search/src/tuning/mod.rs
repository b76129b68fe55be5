//! How a device carries a search out: the kernel, and the tuning of its work-groups. They change the
//! speed, never the result.

mod kernel;

use serde::{Deserialize, Serialize};

use crate::estimator::{Launcher, Parameters, SetupError};

pub use kernel::Kernel;

/// How the jobs of the `collaborative` kernels are launched. A job is one displacement of the whole
/// frame (Uta 6.2). Section 6.2.3 puts all jobs into one launch, because the drivers of 2012 did not run
/// the launches of OpenCL's out-of-order queues or of several queues beside each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Launch {
    /// All jobs in one launch, or as many as [`Tuning::cost_bytes`] allows.
    #[default]
    Once,
    /// [`Tuning::launches`] launches on a queue that starts them in any order.
    OutOfOrder,
    /// [`Tuning::launches`] launches, in turn on this number of in-order queues, at least 1.
    Queues(usize),
}

/// Settings that change the speed of a search, never its vectors. A device or kernel ignores those that
/// it does not use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Tuning {
    /// Work-items of a work-group, at least 1; with `None` the kernel chooses.
    ///
    /// The work-items of a group share its work, so every size that the device allows is valid.
    /// Halldal's groups (2012, 6.1 and 6.2: blocks of 4 × 4, an area of 32 × 32, `restrict`) are
    /// 841 = 29 · 29 and 435 = 29 · 15 for the kernels `reference-naive` and `reference`: item i of
    /// 435 takes candidate i and the one 15 rows below it, i + 435. Uta's group of the whole
    /// frame's width (2012, figure 7) is the number of columns of the grid, for `collaborative`.
    pub group_size: Option<usize>,
    /// The most bytes of costs on the device, for kernels that store costs. They work in parts if they
    /// need more. `None` is [`Self::COST_BYTES`].
    pub cost_bytes: Option<u64>,
    /// How jobs are launched; `None` is [`Launch::Once`].
    pub launch: Option<Launch>,
    /// The number of launches into which the jobs are divided, at least 1; `None` is one launch per
    /// job, as in the thesis' CUDA version (6.2.2). Ignored with [`Launch::Once`].
    pub launches: Option<usize>,
    /// The most candidates, one under the other, that a work-item of the kernels `tiled` and `elimination`
    /// computes together, at least 1.
    pub run: Option<usize>,
    /// Blocks across of a work-group of the kernels `tiled` and `elimination`, at least 1; `elimination`
    /// takes fewer if they do not fit in local memory.
    pub blocks_across: Option<usize>,
    /// Blocks down of a work-group of the kernels `tiled` and `elimination`, at least 1; `elimination`
    /// takes fewer if they do not fit in local memory.
    pub blocks_down: Option<usize>,
    /// What launches kernels; with `None` CUDA where it can, else OpenCL.
    pub launcher: Option<Launcher>,
    /// The most frames in flight, 1 to [`Self::MAX_DEPTH`]; `None` is 1. It depends on the user, not
    /// on the device, so it is not stored in files.
    #[serde(skip)]
    pub depth: Option<usize>,
    /// Threads of the CPU without OpenCL, in a pool shared by all searches with this number; 0 is one
    /// per core. `None` is the rayon pool of the caller, by default the global pool. Like the depth it
    /// is not stored in files.
    #[serde(skip)]
    pub threads: Option<usize>,
    /// Whether the window will be divided over several devices: a kernel that can try either the whole
    /// window or some rows of it is then built for some rows. Not stored in files.
    #[serde(skip)]
    pub divides_window: bool,
}

impl Tuning {
    /// The default of [`Self::cost_bytes`].
    pub const COST_BYTES: u64 = 256 << 20;

    /// The most queues. Most drivers use at least one thread per queue.
    pub const MAX_QUEUES: usize = 64;

    /// The most frames in flight. Each needs memory for a frame and its fields on the device.
    pub const MAX_DEPTH: usize = 16;

    /// The most threads.
    pub const MAX_THREADS: usize = motion_base::threads::MOST;

    /// The names of the fields in properties and files.
    pub const FIELDS: [&str; 9] = [
        "group-size",
        "cost-bytes",
        "launch",
        "queues",
        "launches",
        "run",
        "blocks-across",
        "blocks-down",
        "launcher",
    ];

    /// The values set here, and those of `other` for the rest.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            group_size: self.group_size.or(other.group_size),
            cost_bytes: self.cost_bytes.or(other.cost_bytes),
            launch: self.launch.or(other.launch),
            launches: self.launches.or(other.launches),
            run: self.run.or(other.run),
            blocks_across: self.blocks_across.or(other.blocks_across),
            blocks_down: self.blocks_down.or(other.blocks_down),
            launcher: self.launcher.or(other.launcher),
            depth: self.depth.or(other.depth),
            threads: self.threads.or(other.threads),
            divides_window: self.divides_window || other.divides_window,
        }
    }

    /// Checks the numbers of threads and of searches in flight, whose setting is called `depth`.
    ///
    /// # Errors
    /// [`SetupError::Count`].
    pub(crate) fn check_counts(&self, depth: &'static str) -> Result<(), SetupError> {
        let (least, most) = (1, Self::MAX_DEPTH);
        if let Some(value) = self.depth.filter(|value| !(least..=most).contains(value)) {
            return Err(SetupError::Count { setting: depth, value, least, most });
        }
        self.threads.map_or(Ok(()), motion_base::threads::check)
    }

    /// Checks the ranges of the values.
    ///
    /// # Errors
    /// [`SetupError::Tuning`] for a number out of range, [`SetupError::Count`] for one of threads or searches.
    pub fn validate(&self) -> Result<(), SetupError> {
        let wrong = |field: &'static str, reason: String| {
            Err(SetupError::Tuning { field: field.into(), reason, known: Self::FIELDS.join(", ") })
        };
        for (field, value) in [
            ("group-size", self.group_size),
            ("launches", self.launches),
            ("run", self.run),
            ("blocks-across", self.blocks_across),
            ("blocks-down", self.blocks_down),
        ] {
            if value == Some(0) {
                return wrong(field, "0 is too few: use 1 or more".into());
            }
        }
        self.check_counts("depth")?;
        match self.launch {
            Some(Launch::Queues(queues)) if !(1..=Self::MAX_QUEUES).contains(&queues) => {
                wrong("queues", format!("{queues} is not usable: use 1 to {}", Self::MAX_QUEUES))
            }
            _ => Ok(()),
        }
    }
}

/// Checks what can be known of a search before `device` is opened: the settings, and that `kernel` has the algorithm.
///
/// # Errors
/// [`SetupError`].
pub(crate) fn check_search(
    device: &str,
    kernel: Kernel,
    tuning: &Tuning,
    parameters: &Parameters,
) -> Result<(), SetupError> {
    parameters.validate()?;
    tuning.validate()?;
    kernel.check_algorithm(parameters.algorithm, device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tuning_survives_a_file() {
        for launch in [Launch::Once, Launch::OutOfOrder, Launch::Queues(4)] {
            let tuning = Tuning { group_size: Some(435), launch: Some(launch), ..Tuning::default() };
            let text = serde_json::to_string(&tuning).unwrap();
            assert_eq!(serde_json::from_str::<Tuning>(&text).unwrap(), tuning, "{text}");
        }
        assert_eq!(serde_json::from_str::<Tuning>("{}").unwrap(), Tuning::default());
        let error = serde_json::from_str::<Tuning>(r#"{"group": 4}"#).unwrap_err();
        assert!(error.to_string().contains("group-size"), "{error}");
    }

    #[test]
    fn numbers_of_nothing_are_refused() {
        let good = Tuning::default();
        assert!(good.validate().is_ok());
        assert!(Tuning { launch: Some(Launch::Queues(64)), launches: Some(1), ..good }.validate().is_ok());
        for (bad, name) in [
            (Tuning { group_size: Some(0), ..good }, "group-size"),
            (Tuning { launches: Some(0), ..good }, "launches"),
            (Tuning { run: Some(0), ..good }, "run"),
            (Tuning { blocks_down: Some(0), ..good }, "blocks-down"),
            (Tuning { launch: Some(Launch::Queues(0)), ..good }, "queues"),
            (Tuning { launch: Some(Launch::Queues(65)), ..good }, "queues"),
        ] {
            let error = bad.validate().unwrap_err();
            assert!(matches!(&error, SetupError::Tuning { field, .. } if field == name), "{error}");
        }
        for (bad, name) in [
            (Tuning { depth: Some(0), ..good }, "depth"),
            (Tuning { depth: Some(17), ..good }, "depth"),
            (Tuning { threads: Some(1025), ..good }, "threads"),
        ] {
            let error = bad.validate().unwrap_err();
            assert!(matches!(&error, SetupError::Count { setting, .. } if *setting == name), "{error}");
        }
    }
}
