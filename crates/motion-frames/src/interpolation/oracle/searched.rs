//! Made frames with all that comes before: the search and the correction of what it finds.

use super::super::patches::Patch;
use super::super::rules::BLOCK;
use super::sizes::{halved, halvings};
use super::{Neighbours, correct, draw, interpolate, interpolate_with_neighbours, search_frame};
use crate::compensation::Sampling;
use crate::interpolation::{FrameQuality, Phase};
use motion_base::hierarchy::Quality;
use motion_base::{Algorithm, Frame, FrameView, MotionVector, Parameters, References, Window};
use motion_search::estimator::oracle::hierarchical;

/// The planes of the frame at `phase` between the planes of two frames of a stream, luma first, sampled as `samplings` say, in
/// [`FrameQuality::Fast`] or [`FrameQuality::Balanced`].
///
/// # Panics
/// As [`interpolate`].
pub fn search_and_interpolate(
    frames: [&[FrameView<'_>]; 2],
    samplings: &[Sampling],
    quality: FrameQuality,
    phase: Phase,
) -> Vec<Frame> {
    let (field, patches) = motion(frames);
    let made = interpolate(frames, samplings, &field, quality, phase);
    draw(&made, &patches, frames, samplings, phase)
}

/// The same between the second and the third of four frames, in [`FrameQuality::High`].
///
/// # Panics
/// As [`interpolate`].
pub fn search_and_interpolate_with_neighbours(
    [first, previous, next, last]: [&[FrameView<'_>]; 4],
    samplings: &[Sampling],
    phase: Phase,
) -> Vec<Frame> {
    let (field, patches) = motion([previous, next]);
    let [(before, _), (after, _)] = [motion([first, previous]), motion([next, last])];
    let neighbours = Neighbours { luma: [first[0], last[0]], fields: [&before, &after] };
    let frames = [previous, next];
    let made = interpolate_with_neighbours(frames, samplings, &field, &neighbours, phase);
    draw(&made, &patches, frames, samplings, phase)
}

/// What is known of the motion between two frames.
fn motion(frames: [&[FrameView<'_>]; 2]) -> (Vec<MotionVector>, Vec<Patch>) {
    let parameters = parameters(frames[0][0].size());
    let [previous, next] = frames.map(|planes| search_frame(&planes[0]));
    let field = hierarchical(&parameters, &previous.view(), &next.view()).vectors;
    correct([&previous, &next], &field)
}

/// How frames of this size are searched, once halved: in blocks of 8 x 8 samples, and only in the next frame.
fn parameters(size: (usize, usize)) -> Parameters {
    let (width, height) = halved(size, halvings(size));
    // The hierarchical search has no window.
    let window = Window::symmetric(1, 1).expect("a window");
    Parameters {
        algorithm: Algorithm::Hierarchical,
        quality: Quality::Fast,
        references: References { backward: 0, forward: 1 },
        ..Parameters::new(width, height, BLOCK, window)
    }
}
