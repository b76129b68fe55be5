//! The kernels' sources, and what is compiled into them.

use motion_base::Parameters;
use motion_gpu::program;

/// Files that others include. A file that includes another comes before it.
const INCLUDED: [(&str, &str); 8] = [
    ("common.cl", include_str!("../../kernels/common.cl")),
    ("groups.cl", include_str!("../../kernels/groups.cl")),
    ("spans.cl", include_str!("../../kernels/spans.cl")),
    ("taps.cl", include_str!("../../kernels/taps.cl")),
    ("steps.cl", include_str!("../../kernels/steps.cl")),
    ("levels.cl", include_str!("../../kernels/levels.cl")),
    ("candidates.cl", include_str!("../../kernels/candidates.cl")),
    ("fields.cl", include_str!("../../kernels/fields.cl")),
];

/// A file of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelFile {
    Frame,
    Reference,
    Collaborative,
    Reduce,
    TwoPass,
    Tiled,
    Elimination,
    ThreeStep,
    ThreeStepSamples,
    SubSample,
    Pyramid,
    Hierarchical,
    Refinement,
    Blocks,
}

impl KernelFile {
    fn text(self) -> &'static str {
        match self {
            Self::Frame => include_str!("../../kernels/frame.cl"),
            Self::Reference => include_str!("../../kernels/papers/reference.cl"),
            Self::Collaborative => include_str!("../../kernels/papers/collaborative.cl"),
            Self::Reduce => include_str!("../../kernels/papers/reduce.cl"),
            Self::TwoPass => include_str!("../../kernels/papers/two_pass.cl"),
            Self::Tiled => include_str!("../../kernels/tiled.cl"),
            Self::Elimination => include_str!("../../kernels/elimination.cl"),
            Self::ThreeStep => include_str!("../../kernels/three_step.cl"),
            Self::ThreeStepSamples => include_str!("../../kernels/papers/three_step.cl"),
            Self::SubSample => include_str!("../../kernels/sub_sample.cl"),
            Self::Pyramid => include_str!("../../kernels/pyramid.cl"),
            Self::Hierarchical => include_str!("../../kernels/hierarchical.cl"),
            Self::Refinement => include_str!("../../kernels/refinement.cl"),
            Self::Blocks => include_str!("../../kernels/blocks.cl"),
        }
    }

    /// The file, with the included files in the place of the lines that include them.
    pub(super) fn source(self) -> String {
        program::with_included(self.text(), &INCLUDED)
    }
}

/// The `-D` options of `file`: block size, metric, bits of a sample in memory, the instructions for four samples and, if it is fixed, the
/// group size. A file gets those on which its kernels depend. All else is an argument, so that one build serves
/// every frame size, window and border, unless a family compiles more in.
pub fn options(
    file: KernelFile,
    four_samples: u8,
    parameters: &Parameters,
    group_size: Option<usize>,
) -> String {
    let four = format!("-D FOUR_SAMPLES={four_samples}");
    let block = format!(" -D BLOCK={}", parameters.block_size);
    let metric = format!(" -D METRIC=METRIC_{}", parameters.metric.name().to_ascii_uppercase());
    let group = group_size.map_or(String::new(), |items| format!(" -D GROUP_SIZE={items}"));
    let group = if parameters.bit_depth > 8 { group + " -D SAMPLE_BITS=16" } else { group };
    match file {
        KernelFile::Frame | KernelFile::Reduce => group,
        // Hierarchical search compares cells, by absolute differences.
        KernelFile::Pyramid | KernelFile::Hierarchical | KernelFile::Refinement => four + &group,
        KernelFile::Blocks => four + &block + &group,
        _ => four + &block + &metric + &group,
    }
}
