//! What the element costs in a pipeline: `filesrc ! rawvideoparse ! motionestimate ! fakesink`
//! against the same with `identity`, in one run, for every device.
//!
//! `cargo bench --bench pipeline [-- PART]`: only lines whose text holds PART.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use gst::prelude::*;
use gstmotionestimate::backend;

const SIZES: [(&str, usize, usize); 3] = [("CIF", 352, 288), ("720p", 1280, 720), ("1080p", 1920, 1080)];

/// Runs of each pipeline, of which the median counts.
const RUNS: usize = 5;

/// Pictures in the file: enough to outweigh the start, few enough to stay in the page cache.
const PICTURES: usize = 60;

fn main() {
    gst::init().expect("GStreamer");
    gstmotionestimate::plugin_register_static().expect("the plugin registers");
    let part = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));

    println!("I420, blocks of 16 x 16, search range 16, median of {RUNS} runs of {PICTURES} pictures");
    println!("{:32} {:>6} {:>12} {:>12} {:>8}", "device", "size", "identity/s", "pictures/s", "ratio");
    for (name, width, height) in SIZES {
        let file =
            std::env::temp_dir().join(format!("motionestimate-bench-{}-{name}.yuv", std::process::id()));
        write_pictures(&file, width, height).expect("a raw file");
        for device in backend::devices() {
            let line = format!("{:32} {name:>6}", format!("{} ({})", device.selector, device.name));
            if part.as_ref().is_some_and(|part| !line.contains(part)) {
                continue;
            }
            let motion = format!("motionestimate device=\"{}\"", device.selector);
            let (mut with, mut without) = (Vec::new(), Vec::new());
            // In turn, so that both see the same machine.
            for _ in 0..RUNS {
                without.push(play(&file, width, height, "identity"));
                with.push(play(&file, width, height, &motion));
            }
            let rate = |times: &mut Vec<Duration>| {
                times.sort();
                PICTURES as f64 / times[RUNS / 2].as_secs_f64()
            };
            let (with, without) = (rate(&mut with), rate(&mut without));
            println!("{line} {without:12.1} {with:12.1} {:8.3}", with / without);
        }
        fs::remove_file(&file).expect("the raw file is ours");
    }
}

/// Texture that moves by (3, 2) samples a picture, with grain.
fn write_pictures(path: &Path, width: usize, height: usize) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(fs::File::create(path)?);
    let mut picture = vec![0x80; width * height + 2 * (width.div_ceil(2) * height.div_ceil(2))];
    let mut grain = 1u32;
    for time in 0..PICTURES {
        for (y, row) in picture.chunks_exact_mut(width).take(height).enumerate() {
            for (x, sample) in row.iter_mut().enumerate() {
                grain = grain.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let (x, y) = ((x + 3 * time) / 7, (y + 2 * time) / 5);
                *sample = ((x * 97 + y * 57 + x * y) % 200) as u8 + (grain >> 28) as u8;
            }
        }
        file.write_all(&picture)?;
    }
    file.flush()
}

/// How long the pictures take to pass `element`, from the first buffer to EOS.
fn play(path: &Path, width: usize, height: usize, element: &str) -> Duration {
    let launch = format!(
        "filesrc location=\"{}\" ! rawvideoparse format=i420 width={width} height={height} ! {element} \
         ! fakesink sync=false",
        path.display()
    );
    let pipeline = gst::parse::launch(&launch).expect("a pipeline");
    let bus = pipeline.bus().expect("a bus");
    // Devices are opened and the first picture is through before the clock starts.
    pipeline.set_state(gst::State::Paused).expect("PAUSED");
    let (result, _, _) = pipeline.state(gst::ClockTime::from_seconds(120));
    result.expect("preroll");
    let start = Instant::now();
    pipeline.set_state(gst::State::Playing).expect("PLAYING");
    let message = bus
        .timed_pop_filtered(gst::ClockTime::NONE, &[gst::MessageType::Eos, gst::MessageType::Error])
        .expect("a message");
    let elapsed = start.elapsed();
    assert_eq!(message.type_(), gst::MessageType::Eos, "{message:?}");
    pipeline.set_state(gst::State::Null).expect("NULL");
    elapsed
}
