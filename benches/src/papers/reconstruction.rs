//! Uta's figure 20: a part of the frame that is predicted with a small and with a large window.

use std::error::Error;

use motion_search::estimator::{Frame, FrameView, Window};
use motion_search::tuning::Kernel;

use crate::papers::frames::Scene;
use crate::papers::measure::Session;
use crate::papers::report::Report;
use crate::papers::uta::{found, predicted_frame};

/// The figure's windows.
const SIDES: [usize; 2] = [31, 79];

/// Width and height of the part that is shown, at most, and the steps in which it is looked for.
const PART: [usize; 2] = [320, 240];
const STEP: usize = 16;

/// Writes the part of the predictions in which the larger window gains most, and the same part of the frame, side by side.
pub fn write(
    session: &Session<'_>,
    report: &mut Report,
    scene: &Scene,
    block: usize,
) -> Result<(), Box<dyn Error>> {
    let predicted = |side| {
        let window = Window::of_area(side, block)?;
        predicted_frame(scene, window, &found(session, Kernel::Auto, scene, window)?)
    };
    let pictures = [predicted(SIDES[0])?, predicted(SIDES[1])?, scene.current.clone()];
    let [small, large, frame] = pictures.each_ref().map(Frame::view);
    let [width, height] = [PART[0].min(frame.width()), PART[1].min(frame.height())];
    let lefts = || (0..=frame.width() - width).step_by(STEP);
    let corners =
        (0..=frame.height() - height).step_by(STEP).flat_map(|top| lefts().map(move |left| (left, top)));
    let gain = |&(left, top): &(usize, usize)| {
        let error = |view: &FrameView<'_>| error(view, &frame, (left, top), (width, height));
        error(&small) - error(&large)
    };
    let (left, top) = corners.max_by_key(gain).unwrap_or_default();
    let mut picture = format!("P5 {} {height} 255\n", 3 * width).into_bytes();
    for y in top..top + height {
        for view in [&small, &large, &frame] {
            picture.extend_from_slice(&view.row(y)[left..left + width]);
        }
    }
    report.picture("uta-figure-20.pgm", &picture, &format!(
        "Uta, figure 20: {width}x{height} samples at ({left}, {top}), predicted with W = {} and W = {}, and the frame",
        SIDES[0], SIDES[1]
    ))
}

/// The sum of the squared differences in a part of two frames.
fn error(
    a: &FrameView<'_>,
    b: &FrameView<'_>,
    (left, top): (usize, usize),
    (width, height): (usize, usize),
) -> i64 {
    let row = |y: usize| {
        let [a, b] = [a, b].map(|view| &view.row(y)[left..left + width]);
        a.iter().zip(b).map(|(&a, &b)| (i64::from(a) - i64::from(b)).pow(2)).sum::<i64>()
    };
    (top..top + height).map(row).sum()
}
