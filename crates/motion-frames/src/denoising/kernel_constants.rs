//! What the kernels that take the noise out of frames share with the CPU.

use super::limits::{
    BARS, CLIPPED, EVEN, FOUND, LEAST, LEAST_OF_AREA, LEAST_OF_SHADE, LEFT, LIGHT, LITTLE, LOSS, LOST,
    LOST_OF_SCENE, MORE_NOISE, MORE_TEXTURE, MOST_OF_AREA, MOST_OF_SHADE, MOST_SAMPLED, PLAIN, REPEATS,
    SHADES, TEXTURE, TRUST, WHITE,
};
use super::rules::{MOST_REFERENCES, NOISE_GAINS};
use super::spatial::{LEAST_KEPT, PER_SLOPE};
use crate::interpolation::rules::lines_for_kernels;

fn list(name: &str, numbers: &[impl ToString]) -> String {
    let numbers: Vec<_> = numbers.iter().map(ToString::to_string).collect();
    format!("#define {name} {}\n", numbers.join(", "))
}

/// Definitions of the constants of `kernels/denoising.cl`.
pub(crate) fn constants_for_kernels() -> String {
    lines_for_kernels!(MOST_REFERENCES LIGHT PLAIN LEAST_KEPT PER_SLOPE)
        + &list("NOISE_GAINS", NOISE_GAINS.as_flattened())
}

/// Those of `kernels/noise.cl` and the file that it includes.
pub(crate) fn noise_constants_for_kernels() -> String {
    let [white, variation] = WHITE;
    let numbers = lines_for_kernels!(
        BARS EVEN FOUND LEAST LEAST_OF_AREA LEAST_OF_SHADE LITTLE LOSS LOST LOST_OF_SCENE MORE_NOISE
        MORE_TEXTURE MOST_OF_AREA MOST_OF_SHADE MOST_SAMPLED REPEATS SHADES TEXTURE TRUST
    );
    let parts = format!("#define WHITE_PART {white}\n#define WHITE_OF {variation}\n");
    numbers + &parts + &list("CLIPPED", &CLIPPED) + &list("LEFT", &LEFT)
}
