//! Made frames with all that comes before: the search and the correction of what it finds.

use super::super::patches::Patch;
use super::super::rules::search_parameters;
use super::{Neighbours, correct, draw, interpolate, interpolate_with_neighbours, search_frame};
use crate::compensation::Sampling;
use crate::interpolation::{FrameQuality, Phase};
use motion_base::{Frame, FrameView, MotionVector};
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
    let (width, height) = frames[0][0].size();
    let parameters = search_parameters(width, height).expect("frames that are searched");
    let [previous, next] = frames.map(|planes| search_frame(&planes[0]));
    let field = hierarchical(&parameters, &previous.view(), &next.view()).vectors;
    correct([&previous, &next], &field)
}
