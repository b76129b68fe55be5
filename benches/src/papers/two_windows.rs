//! After Uta (2012), chapter 9: the CPU searches a small window, and the device searches again only where the
//! prediction is worse than a threshold.
//!
//! In his proposal the CPU tries the next frame while the GPU searches the current one. Here the CPU searches every
//! frame first, and the time of both beside each other is computed from their medians. His other proposal, a smaller
//! frame that sets the window of the full one, is not built: hierarchical search has no such window.

use std::error::Error;
use std::time::{Duration, Instant};

use motion_search::backend::{self, DeviceSelector};
use motion_search::compensation;
use motion_search::estimator::{self, Device, Frame, Output, Parameters, Slot, Window};
use motion_search::tuning::{Kernel, Tuning};

use crate::papers::measure::{Session, median, milliseconds};
use crate::papers::report::Report;
use crate::papers::table::{Cell, Column, Table};

const BLOCK: usize = 16;

/// Displacements each way of the CPU's search, and of the device's.
const SMALL: i32 = 4;
const LARGE: i32 = 32;

/// The PSNR in dB below which a frame is searched again: never, at some, and always.
const THRESHOLDS: [f64; 5] = [0.0, 28.0, 32.0, 36.0, f64::INFINITY];

/// A frame in both windows: the mean squared error of the prediction, and the time of the search.
#[derive(Clone, Copy)]
struct Found {
    mse: [f64; 2],
    time: [Duration; 2],
}

pub fn run(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    // The last clip, so that table 10 can have another one, of few large frames.
    let Some(clip) = session.clips.last() else {
        report.say("Uta, chapter 9: not run, there is no clip; name one with --clip.");
        return Ok(());
    };
    let frames = clip.frames(if session.quick { 3 } else { 30 })?;
    let (width, height) = clip.size();
    let parameters =
        |reach| Window::symmetric(reach, reach).map(|window| Parameters::new(width, height, BLOCK, window));
    let mut small = search_all(&DeviceSelector::Native, &parameters(SMALL)?, &frames)?;
    let large = search_all(&session.device.selector, &parameters(LARGE)?, &frames)?;
    let pairs: Vec<Found> = small
        .drain(..)
        .zip(large)
        .map(|(small, large)| Found { mse: [small.0, large.0], time: [small.1, large.1] })
        .collect();

    let count = pairs.len() as f64;
    let mean = |value: &dyn Fn(&Found) -> f64| pairs.iter().map(value).sum::<f64>() / count;
    let median_of = |which: usize| milliseconds(median(pairs.iter().map(|pair| pair.time[which]).collect()));
    let rows = THRESHOLDS.map(|threshold| {
        let again = |pair: &Found| psnr(pair.mse[0]) < threshold;
        let part = mean(&|pair| f64::from(u8::from(again(pair))));
        let mse = mean(&|pair| pair.mse[usize::from(again(pair))]);
        // If both worked at once, the slower one would decide; with no threshold to exceed the device works alone.
        let device = part * median_of(1);
        let cpu = if threshold.is_finite() { median_of(0) } else { 0.0 };
        vec![
            Cell::Label(match threshold {
                0.0 => "the CPU alone".into(),
                f64::INFINITY => "the device alone".into(),
                threshold => format!("{threshold} dB"),
            }),
            Cell::Hundredths(100.0 * part),
            Cell::Hundredths(psnr(mse)),
            Cell::Ours(cpu),
            Cell::Ours(device),
            Cell::Ours(cpu.max(device)),
        ]
    });
    report.table(&Table {
        stem: "uta-chapter-9".into(),
        title: format!("Uta, chapter 9: the CPU at ±{SMALL} decides whether the device searches ±{LARGE}"),
        columns: ["Threshold", "searched again, %", "PSNR, dB", "CPU, ms", "device, ms", "slower of both, computed, ms"]
            .map(|name| Column::new("", name))
            .into(),
        rows: rows.into(),
        foot: vec![format!(
            "The first {} frames of {}, {width}x{height}, each searched in the one before; device: {}. PSNR of the mean \
             squared error of the predictions; times a frame, the search with its upload and download, medians.",
            frames.len(),
            clip.name(),
            session.name(),
        )],
    })
}

/// The PSNR in dB of samples of 8 bits with this mean squared error.
fn psnr(mse: f64) -> f64 {
    10.0 * (255.0 * 255.0 / mse).log10()
}

/// The MSE of the prediction of each frame from the one before, and the time of its search.
fn search_all(
    device: &DeviceSelector,
    parameters: &Parameters,
    frames: &[Frame],
) -> Result<Vec<(f64, Duration)>, Box<dyn Error>> {
    let mut device: Box<dyn Device> =
        backend::open_device(device, Kernel::Auto, &Tuning::default(), parameters)?.0;
    let mut output = Output::new(parameters.grid().blocks());
    let (mut reference, mut current) = (Slot::A, Slot::B);
    device.load_frame(reference, &frames[0])?;
    let mut found = Vec::new();
    for pair in frames.windows(2) {
        let start = Instant::now();
        device.load_frame(current, &pair[1])?;
        estimator::search(device.as_mut(), current, reference, &mut output)?;
        let time = start.elapsed();
        let prediction = compensation::predict_luma(parameters, &pair[0].view(), &output.vectors)?;
        let error = compensation::squared_error(&pair[1].view(), &prediction.view())?;
        found.push((error.mse(), time));
        (reference, current) = (current, reference);
    }
    Ok(found)
}
