//! Uta (2012), chapter 9: while the device searches a frame, the CPU works on the next one.
//!
//! Two proposals. In the first the CPU searches the next frame in a small window; if the prediction is good enough, the
//! device leaves that frame out, and two frames are done in the time of one. In the second the CPU searches a downsized
//! next frame, and how fast that moves sets the window in which the device searches it.

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use motion_frames::compensation;
use motion_search::backend::{self, DeviceSelector};
use motion_search::estimator::{self, Device, Frame, MotionVector, Output, Parameters, Slot, Window};
use motion_search::tuning::{Kernel, Tuning};

use crate::papers::measure::{RAN, Session, described, median, milliseconds};
use crate::papers::report::Report;
use crate::papers::table::{Cell, Column, Table};

const BLOCK: usize = 16;

/// Displacements each way of the CPU's small window.
const SMALL: i32 = 4;
/// The device's windows, of which the first proposal takes the last.
const REACHES: [i32; 3] = [8, 16, 32];

/// The PSNR in dB from which the CPU's vectors are good enough: always, at some, and never.
const THRESHOLDS: [f64; 5] = [0.0, 28.0, 32.0, 36.0, f64::INFINITY];

/// Of a hundred blocks, so many fit the window that the downsized frame sets; the others are taken for noise.
const FITTING: usize = 95;

type Failure = Box<dyn Error + Send + Sync>;

/// A device in one window.
struct Searcher {
    device: Box<dyn Device>,
    parameters: Parameters,
    /// The number of the frame in each slot.
    loaded: [Option<usize>; 2],
    output: Output,
}

impl Searcher {
    fn new(device: &DeviceSelector, parameters: Parameters) -> Result<Self, Box<dyn Error>> {
        let (device, _) = backend::open_device(device, Kernel::Auto, &Tuning::default(), &parameters)?;
        let output = Output::new(parameters.grid().blocks());
        Ok(Self { device, parameters, loaded: [None; 2], output })
    }

    /// Searches frame `number` in the one before; loads what is not there.
    fn search(&mut self, frames: &[Frame], number: usize) -> Result<Vec<MotionVector>, Failure> {
        const SLOTS: [Slot; 2] = [Slot::A, Slot::B];
        let at = |number: usize| number % 2;
        for number in [number - 1, number] {
            if self.loaded[at(number)] != Some(number) {
                self.device.load_frame(SLOTS[at(number)], &frames[number])?;
                self.loaded[at(number)] = Some(number);
            }
        }
        let [current, reference] = [number, number - 1].map(|number| SLOTS[at(number)]);
        estimator::search(self.device.as_mut(), current, reference, &mut self.output)?;
        Ok(self.output.vectors.to_vec())
    }

    /// The mean squared error of the prediction of frame `number` from `vectors`.
    fn mse(&self, frames: &[Frame], number: usize, vectors: &[MotionVector]) -> Result<f64, Failure> {
        let prediction = compensation::predict_luma(&self.parameters, &frames[number - 1].view(), vectors)?;
        Ok(compensation::squared_error(&frames[number].view(), &prediction.view())?.mse())
    }
}

/// What became of the frames: the vectors of each with the window in which the device searched it, if it did.
struct Done {
    vectors: Vec<(Vec<MotionVector>, Option<i32>)>,
    time: Duration,
}

/// The CPU and the device, which has a searcher for each window.
struct Pair<'a> {
    frames: &'a [Frame],
    cpu: Searcher,
    device: Vec<Searcher>,
    /// The CPU on frames of half the width and height.
    halved: Searcher,
}

impl<'a> Pair<'a> {
    fn new(device: &DeviceSelector, frames: &'a [Frame]) -> Result<Self, Box<dyn Error>> {
        let view = frames[0].view();
        let (width, height) = (view.width(), view.height());
        let parameters = |(width, height), reach| {
            Window::symmetric(reach, reach).map(|window| Parameters::new(width, height, BLOCK, window))
        };
        let [.., most] = REACHES;
        Ok(Self {
            frames,
            cpu: Searcher::new(&DeviceSelector::Native, parameters((width, height), SMALL)?)?,
            device: REACHES
                .iter()
                .map(|&reach| Searcher::new(device, parameters((width, height), reach)?))
                .collect::<Result<_, Box<dyn Error>>>()?,
            halved: Searcher::new(&DeviceSelector::Native, parameters((width / 2, height / 2), most / 2)?)?,
        })
    }

    /// The first proposal.
    fn try_next(&mut self, threshold: f64) -> Result<Done, Failure> {
        let frames = self.frames;
        let Self { cpu, device, .. } = self;
        let [.., device] = &mut device[..] else { unreachable!("a searcher for each window") };
        let [.., reach] = REACHES;
        let start = Instant::now();
        let mut vectors = Vec::new();
        let mut number = 1;
        while number < frames.len() {
            let next = number + 1;
            let is_tried = threshold.is_finite() && next < frames.len();
            let (searched, tried) = thread::scope(|scope| {
                let searched = scope.spawn(|| device.search(frames, number));
                let tried = is_tried.then(|| -> Result<_, Failure> {
                    let vectors = cpu.search(frames, next)?;
                    let is_good = psnr(cpu.mse(frames, next, &vectors)?) >= threshold;
                    Ok(is_good.then_some(vectors))
                });
                (searched.join().expect("no panic"), tried)
            });
            vectors.push((searched?, Some(reach)));
            number = next;
            if let Some(good) = tried.transpose()?.flatten() {
                vectors.push((good, None));
                number += 1;
            }
        }
        Ok(Done { vectors, time: start.elapsed() })
    }

    /// The CPU alone, in its small window.
    fn cpu_alone(&mut self) -> Result<Done, Failure> {
        let start = Instant::now();
        let numbers = 1..self.frames.len();
        let vectors = numbers.map(|number| Ok((self.cpu.search(self.frames, number)?, None)));
        let vectors = vectors.collect::<Result<_, Failure>>()?;
        Ok(Done { vectors, time: start.elapsed() })
    }

    /// The second proposal.
    fn choose_window(&mut self) -> Result<Done, Failure> {
        let frames = self.frames;
        let Self { device, halved, .. } = self;
        let start = Instant::now();
        let mut vectors = Vec::new();
        let mut small = vec![halve(&frames[0])];
        // Nothing is known of the first pair yet.
        let mut window = REACHES.len() - 1;
        for number in 1..frames.len() {
            let (searched, chosen) = thread::scope(|scope| {
                let searcher = &mut device[window];
                let searched = scope.spawn(move || searcher.search(frames, number));
                let chosen = (number + 1 < frames.len()).then(|| -> Result<_, Failure> {
                    while small.len() <= number + 1 {
                        small.push(halve(&frames[small.len()]));
                    }
                    Ok(window_for(&halved.search(&small, number + 1)?))
                });
                (searched.join().expect("no panic"), chosen)
            });
            vectors.push((searched?, Some(REACHES[window])));
            window = chosen.transpose()?.unwrap_or(window);
        }
        Ok(Done { vectors, time: start.elapsed() })
    }
}

/// The index of the smallest window that holds twice the vectors of a frame of half the size, but for the longest ones.
fn window_for(vectors: &[MotionVector]) -> usize {
    let mut lengths: Vec<i32> = vectors.iter().map(|v| 2 * i32::from(v.x.abs().max(v.y.abs()))).collect();
    lengths.sort_unstable();
    let longest = lengths.get(lengths.len() * FITTING / 100).copied().unwrap_or(0);
    REACHES.iter().position(|&reach| longest <= reach).unwrap_or(REACHES.len() - 1)
}

/// The frame at half the width and height: means of four samples.
fn halve(frame: &Frame) -> Frame {
    let view = frame.view();
    Frame::from_fn(view.width() / 2, view.height() / 2, |x, y| {
        let sum: u32 = [2 * y, 2 * y + 1]
            .iter()
            .flat_map(|&y| &view.row(y)[2 * x..2 * x + 2])
            .map(|&s| u32::from(s))
            .sum();
        ((sum + 2) / 4) as u8
    })
}

pub fn run(session: &Session<'_>, report: &mut Report) -> Result<(), Box<dyn Error>> {
    // The last clip, so that table 10 can have another one, of few large frames.
    let Some(clip) = session.clips.last() else {
        report.say("Uta, chapter 9: not run, there is no clip; name one with --clip.");
        return Ok(());
    };
    let frames = clip.frames(if session.quick { 4 } else { 30 })?;
    let mut pair = Pair::new(&session.device.selector, &frames)?;
    let rounds = if session.quick { 1 } else { 5 };
    let plain = |error: Failure| -> Box<dyn Error> { error };
    let mut rows = rows(&mut pair, rounds).map_err(plain)?;
    rows.extend(parts(session, &mut pair).map_err(plain)?);
    let names = ["", "by the device, %", "its window, mean", "PSNR, dB", "ms a frame"];
    report.table(&Table {
        stem: "uta-chapter-9".into(),
        title: "Uta, chapter 9: the CPU works on the next frame".into(),
        columns: names.map(|name| Column::new("", name)).into(),
        rows,
        foot: vec![
            format!(
                "{RAN}kernel=auto on {} at ±{REACHES:?}, and on native at ±{SMALL}. At the largest window {}.",
                session.name(),
                described(&pair.device[REACHES.len() - 1].parameters),
            ),
            format!(
                "The first {} frames of {}, each searched in the one before. All rows are run, the CPU and the device \
                 beside each other; times with upload, download and the CPU's check, medians of {rounds}. PSNR of the \
                 mean squared error of the predictions. A frame whose PSNR by the CPU reaches the threshold is not \
                 searched by the device. The downsized frame is searched at half the largest window, and sets the \
                 smallest one that holds {FITTING} % of its vectors.",
                frames.len(),
                clip.name(),
            ),
        ],
    })
}

/// The rows of the table, each of so many `rounds`.
fn rows(pair: &mut Pair<'_>, rounds: usize) -> Result<Vec<Vec<Cell>>, Failure> {
    let mut rows = Vec::new();
    for threshold in THRESHOLDS {
        let label = match threshold {
            f64::INFINITY => "the device alone".into(),
            0.0 => "every other frame by the CPU".into(),
            threshold => format!("{threshold} dB"),
        };
        rows.push(row(label, rounds, pair, |pair| pair.try_next(threshold))?);
    }
    rows.push(row("the CPU alone".into(), rounds, pair, |pair| pair.cpu_alone())?);
    rows.push(row("a downsized frame sets the window".into(), rounds, pair, |pair| pair.choose_window())?);
    Ok(rows)
}

/// Rows with the times of what a frame consists of, each by itself.
fn parts(session: &Session<'_>, pair: &mut Pair<'_>) -> Result<Vec<Vec<Cell>>, Failure> {
    let Pair { frames, cpu, device, .. } = pair;
    let [.., device] = &mut device[..] else { unreachable!("a searcher for each window") };
    let vectors = cpu.search(frames, 1)?;
    let timed = |work: &mut dyn FnMut() -> Result<(), Failure>| {
        session.median_of(|| {
            let start = Instant::now();
            work()?;
            Ok::<_, Failure>(start.elapsed())
        })
    };
    // As in a stream, a frame is loaded for each search.
    let mut number = 0;
    let mut next = || {
        number = number % (frames.len() - 1) + 1;
        number
    };
    let parts = [
        ("the device's search alone", timed(&mut || device.search(frames, next()).map(drop))?),
        ("the CPU's try alone", timed(&mut || cpu.search(frames, next()).map(drop))?),
        ("its check alone", timed(&mut || cpu.mse(frames, 1, &vectors).map(drop))?),
        (
            "a thread, started and ended",
            timed(&mut || {
                thread::scope(|scope| scope.spawn(|| ()).join()).map_err(|_| "a thread panicked".into())
            })?,
        ),
    ];
    let row = |(label, time): (&str, Duration)| {
        let mut row = vec![Cell::Label(label.into()), Cell::Missing, Cell::Missing, Cell::Missing];
        row.push(Cell::Ours(milliseconds(time)));
        row
    };
    Ok(parts.map(row).into())
}

/// A row: the median time of `rounds`, after one to warm up, and what the last one found.
fn row(
    label: String,
    rounds: usize,
    pair: &mut Pair<'_>,
    run: impl Fn(&mut Pair<'_>) -> Result<Done, Failure>,
) -> Result<Vec<Cell>, Failure> {
    let mut done = run(pair)?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        done = run(pair)?;
        times.push(done.time);
    }
    let mut sum = 0.0;
    for (index, (vectors, _)) in done.vectors.iter().enumerate() {
        sum += pair.cpu.mse(pair.frames, index + 1, vectors)?;
    }
    let count = done.vectors.len() as f64;
    let reaches: Vec<i32> = done.vectors.iter().filter_map(|(_, reach)| *reach).collect();
    let mean = f64::from(reaches.iter().sum::<i32>()) / reaches.len() as f64;
    Ok(vec![
        Cell::Label(label),
        Cell::Hundredths(100.0 * reaches.len() as f64 / count),
        if reaches.is_empty() { Cell::Missing } else { Cell::Hundredths(mean) },
        Cell::Hundredths(psnr(sum / count)),
        Cell::Ours(milliseconds(median(times)) / count),
    ])
}

/// The PSNR in dB of samples of 8 bits with this mean squared error.
fn psnr(mse: f64) -> f64 {
    10.0 * (255.0 * 255.0 / mse).log10()
}
