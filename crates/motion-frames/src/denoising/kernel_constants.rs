//! What `kernels/denoising.cl` shares with the CPU.

use super::limits::{LIGHT, PLAIN};
use super::rules::{MOST_REFERENCES, NOISE_GAINS};
use super::spatial::{LEAST_KEPT, PER_SLOPE};

/// Definitions of the constants of `kernels/denoising.cl`.
pub(crate) fn constants_for_kernels() -> String {
    let gains = NOISE_GAINS.as_flattened().iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
    format!(
        "#define MOST_REFERENCES {MOST_REFERENCES}\n#define LIGHT {LIGHT}\n#define PLAIN {PLAIN}\n\
         #define LEAST_KEPT {LEAST_KEPT}\n#define PER_SLOPE {PER_SLOPE}\n#define NOISE_GAINS {gains}\n"
    )
}
