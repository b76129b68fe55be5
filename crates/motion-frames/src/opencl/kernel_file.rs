//! The kernels' sources.

use motion_gpu::program;

use crate::denoising;
use crate::interpolation::rules;
use motion_base::SampleFormat;
use motion_gpu::device::{DeviceKind, OpenClDevice};

/// Files that others include.
const INCLUDED: [(&str, &str); 7] = [
    ("common.cl", include_str!("../../kernels/common.cl")),
    ("points.cl", include_str!("../../kernels/points.cl")),
    ("made_points.cl", include_str!("../../kernels/made_points.cl")),
    ("prediction.cl", include_str!("../../kernels/prediction.cl")),
    ("denoised_blocks.cl", include_str!("../../kernels/denoised_blocks.cl")),
    ("frame_noise.cl", include_str!("../../kernels/frame_noise.cl")),
    ("hypotheses.cl", include_str!("../../kernels/hypotheses.cl")),
];

/// What they are built with on `device`, for such samples.
pub(super) fn options(device: &OpenClDevice, samples: SampleFormat) -> String {
    let on_cpu = u8::from(is_cpu(device));
    format!("-D DEPTH={} -D SHIFT={} -D ON_CPU={on_cpu}", samples.depth(), samples.shift())
}

/// Points of each plane that an item of `make_points` makes on `device`.
pub(super) fn points_of_item(device: &OpenClDevice) -> usize {
    if is_cpu(device) { 8 } else { 4 }
}

/// Whether kernels are built with `ON_CPU`, which `points.cl` describes.
pub(super) fn is_cpu(device: &OpenClDevice) -> bool {
    device.kind == DeviceKind::Cpu
}

/// A file of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelFile {
    Interpolation,
    Compensation,
    Weighting,
    Mixing,
    SearchFrame,
    Denoising,
    Noise,
}

impl KernelFile {
    /// The constants of the definition, then the file, with the included files in the place of the lines that include them.
    pub fn source(self) -> String {
        let text = match self {
            Self::Interpolation => include_str!("../../kernels/interpolation.cl"),
            Self::Compensation => include_str!("../../kernels/compensation.cl"),
            Self::Weighting => include_str!("../../kernels/weighting.cl"),
            Self::Mixing => include_str!("../../kernels/mixing.cl"),
            Self::SearchFrame => include_str!("../../kernels/search_frame.cl"),
            Self::Denoising => include_str!("../../kernels/denoising.cl"),
            Self::Noise => include_str!("../../kernels/noise.cl"),
        };
        let of_noise = match self {
            Self::Noise => denoising::noise_constants_for_kernels(),
            _ => String::new(),
        };
        rules::constants_for_kernels()
            + &denoising::constants_for_kernels()
            + &of_noise
            + &program::with_included(text, &INCLUDED)
    }
}
