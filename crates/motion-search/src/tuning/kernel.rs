use std::fmt;

use serde::{Deserialize, Serialize};

use crate::estimator::{Algorithm, SetupError};

/// The implementation of an algorithm on a device. It changes the speed, never the vectors.
///
/// [`Self::Auto`] is right for nearly all. To compare, or to make a tuning table:
///
/// | algorithm | OpenCL devices | the CPU without OpenCL |
/// |---|---|---|
/// | full search | [`Self::Tiled`], [`Self::Elimination`] | [`Self::Exhaustive`], [`Self::Elimination`] |
/// | three-step search | [`Self::ThreeStep`], [`Self::ThreeStepUnaligned`] on CPUs | one, chosen by [`Self::Auto`] |
/// | hierarchical search | [`Self::Hierarchical`] | one, chosen by [`Self::Auto`] |
///
/// # Kernels of papers
///
/// The other kernels do full and three-step search on OpenCL devices as theses and papers describe it, and reproduce their
/// figures. `auto` takes one where it was measured to be the fastest, as on some CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kernel {
    /// The fastest for the device.
    #[default]
    Auto,
    /// Several blocks per work-group and a run of candidates per work-item, so that each reference
    /// sample is loaded once for all of them. The fastest on GPUs.
    Tiled,
    /// Every cost is computed: on the CPU without OpenCL.
    Exhaustive,
    /// Lower bounds of the costs, from the sums of the samples, exclude candidates that cannot win: on
    /// the CPU without OpenCL, and on OpenCL devices.
    Elimination,
    /// Three-step search: a few work-items per candidate, all steps in one launch.
    ThreeStep,
    /// Three-step search: one work-item per block, unaligned 16-byte reads, for CPU devices.
    ThreeStepUnaligned,
    /// Hierarchical search: a launch a pass, a work-item or a few a cell.
    Hierarchical,
    /// Papers: one work-group per block, one work-item per candidate, global memory only (Uta 6.1).
    ReferenceNaive,
    /// Papers: [`Self::ReferenceNaive`] with block and search area in local memory (Uta 6.1.1).
    Reference,
    /// Papers: [`Self::Reference`] with single samples in place of words of four, as the thesis has it (Uta 8.2).
    ReferenceSamples,
    /// Papers: [`Self::ReferenceSamples`] with an int of local memory for each sample (Halldal 6.2, listing 6.4).
    ReferenceInts,
    /// Papers: one job per displacement of the whole frame (Uta 6.2.1, figure 6).
    CollaborativeNaive,
    /// Papers: 16-byte rows staged in local memory, all jobs in one launch (Uta 6.2.1-6.2.3, figure 7).
    Collaborative,
    /// Papers: [`Self::Collaborative`] with single samples read from local memory in place of words, as figure 7 has it.
    CollaborativeSamples,
    /// Papers: unaligned 16-byte reads, no local memory, for CPU devices (Uta 6.2.4, figure 8).
    CollaborativeUnaligned,
    /// Papers: all costs into memory, then the best of each block (Zhang III).
    TwoPass,
    /// Papers: three-step search with one work-group per block and candidate, one work-item per sample, one launch
    /// per step (Bonanno II).
    ThreeStepNaive,
}

impl Kernel {
    /// Every kernel of full search on OpenCL devices.
    pub const OPENCL: [Kernel; 11] = [
        Kernel::ReferenceNaive,
        Kernel::Reference,
        Kernel::ReferenceSamples,
        Kernel::ReferenceInts,
        Kernel::CollaborativeNaive,
        Kernel::Collaborative,
        Kernel::CollaborativeSamples,
        Kernel::CollaborativeUnaligned,
        Kernel::TwoPass,
        Kernel::Tiled,
        Kernel::Elimination,
    ];

    /// Every kernel of full search on the CPU without OpenCL.
    pub const NATIVE: [Kernel; 2] = [Kernel::Exhaustive, Kernel::Elimination];

    /// Every kernel of three-step search on OpenCL devices.
    pub const OPENCL_THREE_STEP: [Kernel; 3] =
        [Kernel::ThreeStepNaive, Kernel::ThreeStep, Kernel::ThreeStepUnaligned];

    /// Every kernel of `algorithm` on OpenCL devices.
    pub fn of(algorithm: Algorithm) -> &'static [Kernel] {
        match algorithm {
            Algorithm::Full => &Self::OPENCL,
            Algorithm::ThreeStep => &Self::OPENCL_THREE_STEP,
            Algorithm::Hierarchical => &[Kernel::Hierarchical],
        }
    }

    /// Checks that this is a kernel of `algorithm`, or [`Kernel::Auto`].
    ///
    /// # Errors
    /// [`SetupError::KernelUnsupported`] names `device` and the kernels of `algorithm`.
    pub fn check_algorithm(self, algorithm: Algorithm, device: &str) -> Result<(), SetupError> {
        let kernels = Self::of(algorithm);
        let is_native = algorithm == Algorithm::Full && Self::NATIVE.contains(&self);
        if self == Kernel::Auto || is_native || kernels.contains(&self) {
            return Ok(());
        }
        let names: Vec<_> = kernels.iter().map(|kernel| kernel.name()).collect();
        Err(SetupError::KernelUnsupported {
            kernel: self.name(),
            device: device.into(),
            reason: format!("it does not do algorithm {}", algorithm.name()),
            advice: format!("choose kernel auto, {}", names.join(", ")),
        })
    }

    /// Its name in properties and tables.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Auto => "auto",
            Kernel::ReferenceNaive => "reference-naive",
            Kernel::Reference => "reference",
            Kernel::ReferenceSamples => "reference-samples",
            Kernel::ReferenceInts => "reference-ints",
            Kernel::CollaborativeNaive => "collaborative-naive",
            Kernel::Collaborative => "collaborative",
            Kernel::CollaborativeSamples => "collaborative-samples",
            Kernel::CollaborativeUnaligned => "collaborative-unaligned",
            Kernel::TwoPass => "two-pass",
            Kernel::Tiled => "tiled",
            Kernel::Exhaustive => "exhaustive",
            Kernel::Elimination => "elimination",
            Kernel::ThreeStepNaive => "three-step-naive",
            Kernel::ThreeStep => "three-step",
            Kernel::ThreeStepUnaligned => "three-step-unaligned",
            Kernel::Hierarchical => "hierarchical",
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
