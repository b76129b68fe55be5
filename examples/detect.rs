//! What moves in raw video: I420 from standard input, one line of JSON a frame to standard output.
//!
//! `ffmpeg -i VIDEO -f rawvideo -pix_fmt yuv420p - | cargo run --release --example detect -- 640 360 25`

use std::io::{Read, Write};
use std::time::Instant;

use motion_base::simd::InstructionSetName;
use motion_detect::{Detector, Field, Region, Settings};
use motion_search::scenes::{SearchFrames, halvings_to};
use motion_search::{Algorithm, Frame, MotionSearch, Quality};

const BLOCK: usize = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<f64> =
        std::env::args().skip(1).map(|argument| argument.parse()).collect::<Result<_, _>>()?;
    let [width, height, rate, ..] = arguments[..] else {
        return Err("use WIDTH HEIGHT FPS [SENSITIVITY]".into());
    };
    let (width, height) = (width as usize, height as usize);
    let halvings = halvings_to((width, height), Detector::MOST_SAMPLES);
    let sensitivity = arguments.get(3).copied().unwrap_or(0.5);
    let mut detector =
        Detector::new((width, height), halvings, Settings { sensitivity, ..Settings::default() })?;
    let small = detector.small_size();
    let instructions = InstructionSetName::best().required()?;
    let mut frames = SearchFrames::new((width, height), halvings)?;
    let searched_size = (small.0.div_ceil(2), small.1.div_ceil(2));
    let mut search_frames = SearchFrames::new(small, 1)?;
    let mut search = MotionSearch::builder(searched_size.0, searched_size.1)
        .algorithm(Algorithm::Hierarchical)
        .quality(Quality::Fast)
        .block_size(BLOCK)
        .device("native")
        .threads(1)
        .build()?;
    let mut bytes = vec![0; width * height + 2 * width.div_ceil(2) * height.div_ceil(2)];
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut input = std::io::stdin().lock();
    let mut times = [0.0; 3];
    let mut number = 0u64;
    while input.read_exact(&mut bytes).is_ok() {
        let luma = Frame::from_samples(bytes[..width * height].to_vec(), width, height)?;
        let copied = Instant::now();
        let frame = frames.make(instructions, &luma.view());
        let halved = Instant::now();
        let fields = search.search_next(&search_frames.make(instructions, &frame.view()))?;
        let searched = Instant::now();
        let scale = 32.0 / f64::from(2u32 << halvings);
        let field = fields.first().map(|field| Field {
            vectors: &field.vectors,
            grid: field.grid,
            block: (BLOCK << (halvings + 1), BLOCK << (halvings + 1)),
            scale,
        });
        let time = (number as f64 * 1e9 / rate) as u64;
        let observation = detector.observe(time, &frame.view(), field);
        let detected = Instant::now();
        for (sum, time) in times.iter_mut().zip([halved - copied, searched - halved, detected - searched]) {
            *sum += time.as_secs_f64();
        }
        let boxes: Vec<_> = observation.regions.iter().map(json).collect();
        let ids = |regions: &[Region]| {
            regions.iter().map(|region| region.id.to_string()).collect::<Vec<_>>().join(",")
        };
        let (begun, ended) = (ids(&observation.begun), ids(&observation.ended));
        let camera = observation.camera.matrix;
        writeln!(
            out,
            "{{\"frame\":{number},\"boxes\":[{}],\"begin\":[{begun}],\"end\":[{ended}],\"camera\":{camera:?},\"settling\":{}}}",
            boxes.join(","),
            observation.is_settling
        )?;
        number += 1;
    }
    let [halving, searching, detecting] = times.map(|time| time * 1e3 / number.max(1) as f64);
    eprintln!(
        "ms a frame: halving {halving:.2}, search {searching:.2}, detection {detecting:.2}; noise {:.2}",
        detector.noise()
    );
    Ok(())
}

fn json(region: &Region) -> String {
    let Region { id, x, y, width, height, .. } = region;
    format!("{{\"id\":{id},\"x\":{x},\"y\":{y},\"width\":{width},\"height\":{height}}}")
}
