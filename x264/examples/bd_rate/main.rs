//! What motion does for x264 on clips: BD-rates beside x264 without it, and controls.
//!
//! `cargo run --release -p gst-plugin-motionx264 --example bd_rate -- CLIP[:FRAMES]...
//!  [--only NAME,...] [--settings veryfast-crf,...] [--rates 16] [--raw FILE] [--scale WIDTHxHEIGHT [--search-first]]`
//!
//! With `--scale` frames are scaled before they are encoded, and searched behind that, or before with `--search-first`.
//! Luma is compared with the decoded frames: PSNR, and SSIM of windows of 8 x 8 as x264 has it.

mod clip;
mod encode;
mod quality;
mod variants;

use std::error::Error;
use std::io::Write;

use clip::{Clip, Scaling};
use encode::{Point, RateControl, Settings};
use quality::bd_rate;
use variants::Variant;

const USAGE: &str = "usage: bd_rate CLIP[:FRAMES]... [--only NAME,...] [--settings NAME,...] [--rates COUNT] \
     [--raw FILE] [--scale WIDTHxHEIGHT [--search-first]]";

/// Constant rate factors from the best to the worst.
const FACTORS: std::ops::RangeInclusive<u32> = 20..=35;

struct Arguments {
    clips: Vec<(String, usize)>,
    variants: Vec<Variant>,
    settings: Vec<Settings>,
    factors: Vec<u32>,
    raw: Option<String>,
    scaling: Scaling,
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut found = Arguments {
        clips: Vec::new(),
        variants: Variant::ALL.to_vec(),
        settings: Settings::all(),
        factors: FACTORS.collect(),
        raw: None,
        scaling: Scaling::default(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(USAGE);
        match word.as_str() {
            "--only" => {
                let names = value()?;
                found.variants.retain(|variant| names.split(',').any(|name| name == variant.name()));
            }
            "--settings" => {
                let names = value()?;
                found.settings.retain(|settings| names.split(',').any(|name| name == settings.name()));
            }
            "--rates" => {
                let count: u32 = value()?.parse()?;
                let steps = FACTORS.end() - FACTORS.start();
                let factor = |index| FACTORS.start() + (steps * index + (count - 1) / 2) / (count - 1);
                found.factors = (0..count.max(4)).map(factor).collect();
            }
            "--scale" => {
                let size = value()?;
                let (width, height) = size.split_once('x').ok_or(USAGE)?;
                found.scaling.size = Some((width.parse()?, height.parse()?));
            }
            "--search-first" => found.scaling.is_behind_search = true,
            "--raw" => found.raw = Some(value()?),
            _ if word.starts_with("--") => return Err(USAGE.into()),
            _ => match word.rsplit_once(':') {
                Some((path, count)) => found.clips.push((path.into(), count.parse()?)),
                None => found.clips.push((word, usize::MAX)),
            },
        }
    }
    if found.clips.is_empty() { Err(USAGE.into()) } else { Ok(found) }
}

/// The BD-rates of a variant with one setting, PSNR and SSIM, a pair a clip.
type Rates = Vec<[f64; 2]>;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments()?;
    gst::init()?;
    gstmotionestimate::plugin_register_static()?;
    gstmotionx264::plugin_register_static()?;
    let mut raw = arguments.raw.as_ref().map(std::fs::File::create).transpose()?;
    let mut table: Vec<Vec<Rates>> =
        vec![vec![Vec::new(); arguments.settings.len()]; arguments.variants.len()];
    for (path, count) in &arguments.clips {
        let clip = Clip::load(path, *count, &arguments.scaling)?;
        println!(
            "{}: {} frames of {} x {}",
            clip.name,
            clip.frames.len(),
            clip.info.width(),
            clip.info.height()
        );
        for (column, settings) in arguments.settings.iter().enumerate() {
            let quality = Settings { control: RateControl::Quality, ..settings.clone() };
            let mut plain = encode::points(&clip, &quality, Variant::Plain, &arguments.factors, None)?;
            // Those that the factors lead to.
            let bitrates: Option<Vec<u32>> = (settings.control == RateControl::Bitrate)
                .then(|| plain.iter().map(|point| (point.kilobits.round() as u32).max(1)).collect());
            let bitrates = bitrates.as_deref();
            if bitrates.is_some() {
                plain = encode::points(&clip, settings, Variant::Plain, &arguments.factors, bitrates)?;
            }
            for (row, &variant) in arguments.variants.iter().enumerate() {
                let points = encode::points(&clip, settings, variant, &arguments.factors, bitrates)?;
                let rate = |score: fn(&Point) -> f64| {
                    let curve = |points: &[Point]| -> Vec<(f64, f64)> {
                        points.iter().map(|point| (point.kilobits, score(point))).collect()
                    };
                    bd_rate(&curve(&plain), &curve(&points))
                };
                let rates = [rate(|point| point.psnr), rate(|point| -10.0 * (1.0 - point.ssim).log10())];
                let seconds = points.iter().map(|point| point.seconds).sum::<f64>();
                let of_plain = plain.iter().map(|point| point.seconds).sum::<f64>();
                println!(
                    "  {:14} {:10} {:+6.2} {:+6.2}   time {:+.1} %",
                    settings.name(),
                    variant.name(),
                    rates[0],
                    rates[1],
                    100.0 * (seconds / of_plain - 1.0)
                );
                if let Some(raw) = &mut raw {
                    for point in &points {
                        writeln!(
                            raw,
                            "{},{},{},{:.3},{:.4},{:.6}",
                            clip.name,
                            settings.name(),
                            variant.name(),
                            point.kilobits,
                            point.psnr,
                            point.ssim
                        )?;
                    }
                }
                table[row][column].push(rates);
            }
        }
    }
    print_table(&arguments, &table);
    Ok(())
}

/// The mean of the clips, PSNR / SSIM, and the worst SSIM of a clip.
fn print_table(arguments: &Arguments, table: &[Vec<Rates>]) {
    let head: Vec<_> = arguments.settings.iter().map(Settings::name).collect();
    println!("\n| offsets | {} |\n|---|{}", head.join(" | "), "---|".repeat(head.len()));
    for (variant, columns) in arguments.variants.iter().zip(table) {
        let cell = |rates: &Rates| {
            let mean = |index: usize| rates.iter().map(|rate| rate[index]).sum::<f64>() / rates.len() as f64;
            let worst = rates.iter().map(|rate| rate[1]).fold(f64::NEG_INFINITY, f64::max);
            format!("{:+.1} / {:+.1}, {worst:+.1}", mean(0), mean(1))
        };
        let cells: Vec<_> = columns.iter().map(cell).collect();
        println!("| {} | {} |", variant.name(), cells.join(" | "));
    }
}
