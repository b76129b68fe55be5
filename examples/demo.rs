//! Searches a video file and writes the video with the vectors drawn as arrows, the vectors as NDJSON,
//! and a still of the frame with the most motion; then the video at 60 frames a second, and a still of a made frame
//! between its neighbours.
//!
//! `cargo run --release --example demo -- VIDEO [FOLDER]`; `scripts/demo` runs it on the clip in `media/`.

use std::error::Error;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{env, fs};

use gst::prelude::*;
use gstmotionestimate::meta::MotionVectorMeta;
use motion_search::estimator::UNITS_PER_SAMPLE;

/// Highest cost per sample of a moved block that counts for the still. At a scene cut all blocks have
/// vectors, but none matches.
const GOOD_MATCH: u64 = 8;

fn main() {
    let mut args = env::args_os().skip(1);
    let Some(video) = args.next() else {
        eprintln!("usage: demo VIDEO [FOLDER]");
        std::process::exit(2);
    };
    let folder = args.next().map_or_else(|| PathBuf::from("out"), PathBuf::from);
    if let Err(error) = run(Path::new(&video), &folder) {
        eprintln!("demo: {error}");
        std::process::exit(1);
    }
}

fn run(video: &Path, folder: &Path) -> Result<(), Box<dyn Error>> {
    gst::init()?;
    gstmotionestimate::plugin_register_static()?;

    let video = fs::canonicalize(video).map_err(|e| format!("{}: {e}", video.display()))?;
    if !video.is_file() {
        return Err(format!("{} is not a file", video.display()).into());
    }
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let (movie, vectors, still) =
        (folder.join("motion.mp4"), folder.join("vectors.ndjson"), folder.join("still.png"));

    let line = pipeline_line(&video, &movie, &vectors)?;
    println!("gst-launch-1.0 {line}\n");
    let pipeline = gst::parse::launch(&line)
        .map_err(|e| format!("{e} (scripts/deps installs what is needed)"))?
        .downcast::<gst::Pipeline>()
        .map_err(|_| "the line above is not a pipeline")?;

    let seen = watch(&pipeline)?;
    let start = Instant::now();
    pipeline.set_state(gst::State::Playing).ok();
    let stats = play(&pipeline, &seen);
    let elapsed = start.elapsed();
    pipeline.set_state(gst::State::Null)?;
    let stats = stats?;

    let seen = seen.lock().unwrap();
    seen.write_still(&still)?;
    summary(&stats, elapsed)?;
    let (smooth, between) = (folder.join("smooth.mp4"), folder.join("smooth.png"));
    write_smooth(&video, &smooth, &between, seen.best_time())?;
    for path in [movie, vectors, still, smooth, between].iter().filter(|path| path.exists()) {
        println!("{:<22}{}", "wrote", path.display());
    }
    Ok(())
}

/// The pipeline of the demo, without the still. The sinks are `async=false`: x264enc outputs nothing
/// during its look-ahead, and the other branch would block while it prerolls.
fn pipeline_line(video: &Path, movie: &Path, vectors: &Path) -> Result<String, Box<dyn Error>> {
    Ok(format!(
        "uridecodebin uri={} ! videoconvert ! video/x-raw,format=I420 ! motionestimate name=estimate ! tee name=t \
         t. ! queue ! motionoverlay name=overlay ! videocrop name=even ! x264enc speed-preset=veryfast \
         ! video/x-h264,profile=high ! mp4mux ! filesink async=false location={} \
         t. ! queue ! motionserialize ! application/x-ndjson ! filesink async=false location={}",
        glib::filename_to_uri(video, None)?,
        quoted(movie)?,
        quoted(vectors)?,
    ))
}

/// `path` as the value of a property in a pipeline's text.
fn quoted(path: &Path) -> Result<String, Box<dyn Error>> {
    let text = path.to_str().ok_or_else(|| format!("{}: not UTF-8", path.display()))?;
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// What has left the overlay so far.
#[derive(Default)]
struct Seen {
    frames: u64,
    /// Timestamp of the last frame.
    position: gst::ClockTime,
    /// The frame with the most moved blocks, and their number.
    best: Option<(usize, gst::Sample)>,
}

impl Seen {
    /// Counts a frame with its arrows drawn, and keeps it if it has the most moved blocks.
    fn note(&mut self, buffer: &gst::Buffer, caps: Option<&gst::Caps>) {
        self.frames += 1;
        self.position = buffer.pts().unwrap_or(self.position);
        let Some(Ok(meta)) = MotionVectorMeta::of(buffer) else { return };
        let field = meta.description();
        let block = u64::from(field.block_width) * u64::from(field.block_height);
        let samples_moved = |v: i16| i32::from(v).abs() / UNITS_PER_SAMPLE;
        let mut moved = 0;
        for v in meta.vectors() {
            if samples_moved(v.x) + samples_moved(v.y) > 0 && u64::from(v.cost) < GOOD_MATCH * block {
                moved += 1;
            }
        }
        if self.best.as_ref().is_none_or(|(most, _)| moved > *most) {
            let sample = gst::Sample::builder().buffer(buffer).caps_if_some(caps).build();
            self.best = Some((moved, sample));
        }
    }

    fn write_still(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        let Some((_, sample)) = &self.best else {
            return Err("the video has fewer than two frames: there is no motion to show".into());
        };
        write_png(sample, path)
    }

    /// The time of the frame with the most moved blocks.
    fn best_time(&self) -> gst::ClockTime {
        self.best.as_ref().and_then(|(_, sample)| sample.buffer()?.pts()).unwrap_or(gst::ClockTime::ZERO)
    }
}

/// How long the conversion of a frame may take.
const CONVERSION: gst::ClockTime = gst::ClockTime::from_seconds(30);

fn write_png(sample: &gst::Sample, path: &Path) -> Result<(), Box<dyn Error>> {
    let caps = gst::Caps::new_empty_simple("image/png");
    let png = gst_video::convert_sample(sample, &caps, Some(CONVERSION))?;
    let map = png.buffer().ok_or("pngenc returned no image")?.map_readable()?;
    fs::write(path, &map).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(())
}

/// Crops the last column or row of frames that leave `pad` for the encoder, if a side is odd: 4:2:0 H.264 needs even
/// sizes.
fn crop_to_even(pad: &gst::Pad, pipeline: &gst::Pipeline) -> Result<(), Box<dyn Error>> {
    let even = pipeline.by_name("even").ok_or("no videocrop")?.downgrade();
    pad.add_probe(gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
        if let Some(gst::EventView::Caps(caps)) = info.event().map(|event| event.view())
            && let (Ok(info), Some(even)) = (gst_video::VideoInfo::from_caps(caps.caps()), even.upgrade())
        {
            even.set_property("right", (info.width() % 2) as i32);
            even.set_property("bottom", (info.height() % 2) as i32);
        }
        gst::PadProbeReturn::Ok
    });
    Ok(())
}

/// The newest input frames of `motioninterpolate`, and the frame that it made after a certain time between its
/// neighbours.
#[derive(Default)]
struct Made {
    newest: [Option<gst::Buffer>; 2],
    between: Option<[gst::Buffer; 3]>,
}

/// Writes `video` at 60 frames a second to `movie`, and to `still` the first made frame after `time` between its
/// neighbours.
fn write_smooth(
    video: &Path,
    movie: &Path,
    still: &Path,
    time: gst::ClockTime,
) -> Result<(), Box<dyn Error>> {
    let line = format!(
        "uridecodebin uri={} ! videoconvert ! video/x-raw,format=I420 ! motioninterpolate name=smooth \
         ! video/x-raw,framerate=60/1 ! videocrop name=even ! x264enc speed-preset=veryfast \
         ! video/x-h264,profile=high ! mp4mux ! filesink location={}",
        glib::filename_to_uri(video, None)?,
        quoted(movie)?
    );
    println!("\ngst-launch-1.0 {line}\n");
    let pipeline = gst::parse::launch(&line)?.downcast::<gst::Pipeline>().map_err(|_| "not a pipeline")?;
    let element = pipeline.by_name("smooth").ok_or("no motioninterpolate")?;
    let [sink, src] = ["sink", "src"].map(|name| element.static_pad(name).expect("an always pad"));
    crop_to_even(&src, &pipeline)?;
    let made = Arc::new(Mutex::new(Made::default()));
    let noted = Arc::clone(&made);
    sink.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        let newest = &mut noted.lock().unwrap().newest;
        newest.swap(0, 1);
        newest[1] = info.buffer().cloned();
        gst::PadProbeReturn::Ok
    });
    let noted = Arc::clone(&made);
    src.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        let made = &mut *noted.lock().unwrap();
        if let (None, Some(buffer), [Some(previous), Some(next)]) =
            (&made.between, info.buffer(), &made.newest)
            && buffer.pts() > previous.pts().max(Some(time))
            && buffer.pts() < next.pts()
        {
            made.between = Some([previous, buffer, next].map(Clone::clone));
        }
        gst::PadProbeReturn::Ok
    });
    let start = Instant::now();
    pipeline.set_state(gst::State::Playing).ok();
    let bus = pipeline.bus().ok_or("a pipeline has a bus")?;
    let ended = bus.timed_pop_filtered(None, &[gst::MessageType::Eos, gst::MessageType::Error]);
    let stats: gst::Structure = element.property("stats");
    let caps = src.current_caps();
    pipeline.set_state(gst::State::Null)?;
    if let Some(gst::MessageView::Error(error)) = ended.as_ref().map(|message| message.view()) {
        return Err(error.error().to_string().into());
    }
    let [frames, made_frames] =
        ["frames-out", "made"].map(|field| stats.get::<u64>(field).unwrap_or_default());
    let rate = frames as f64 / start.elapsed().as_secs_f64();
    println!("{:<22}{frames}, of them made {made_frames}; {rate:.1} frames/s\n", "frames at 60/s");
    let between = made.lock().unwrap().between.take();
    match (between, caps) {
        (Some(frames), Some(caps)) => write_png(&side_by_side(&frames, &caps)?, still),
        // A video of one frame, or of 60 frames a second.
        _ => Ok(()),
    }
}

/// The frames beside each other, each 640 samples wide.
fn side_by_side(frames: &[gst::Buffer; 3], caps: &gst::Caps) -> Result<gst::Sample, Box<dyn Error>> {
    const WIDTH: u32 = 640;
    let info = gst_video::VideoInfo::from_caps(caps)?;
    let height = (WIDTH * info.height() / info.width()).max(1);
    let video = |width| gst_video::VideoInfo::builder(gst_video::VideoFormat::Rgb, width, height).build();
    let (one, all) = (video(WIDTH)?, video(3 * WIDTH)?);
    let mut rows = vec![Vec::new(); height as usize];
    for frame in frames {
        let sample = gst::Sample::builder().buffer(frame).caps(caps).build();
        let small = gst_video::convert_sample(&sample, &one.to_caps()?, Some(CONVERSION))?;
        let map = small.buffer().ok_or("videoscale returned no frame")?.map_readable()?;
        for (row, samples) in rows.iter_mut().zip(map.chunks_exact(one.stride()[0] as usize)) {
            row.extend_from_slice(&samples[..3 * WIDTH as usize]);
        }
    }
    Ok(gst::Sample::builder().buffer(&gst::Buffer::from_slice(rows.concat())).caps(&all.to_caps()?).build())
}

/// Watches the frames that leave the overlay.
fn watch(pipeline: &gst::Pipeline) -> Result<Arc<Mutex<Seen>>, Box<dyn Error>> {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let pad = pipeline.by_name("overlay").and_then(|e| e.static_pad("src")).ok_or("no overlay")?;
    crop_to_even(&pad, pipeline)?;
    let noted = Arc::clone(&seen);
    pad.add_probe(gst::PadProbeType::BUFFER, move |pad, info| {
        if let Some(buffer) = info.buffer() {
            noted.lock().unwrap().note(buffer, pad.current_caps().as_ref());
        }
        gst::PadProbeReturn::Ok
    });
    Ok(seen)
}

/// Runs the pipeline to its end, prints progress, and returns the statistics of `motionestimate`.
fn play(pipeline: &gst::Pipeline, seen: &Mutex<Seen>) -> Result<gst::Structure, Box<dyn Error>> {
    let bus = pipeline.bus().ok_or("a pipeline has a bus")?;
    let on_terminal = std::io::stderr().is_terminal();
    let mut drawn = Instant::now();
    let mut stats = None;
    loop {
        let message = bus.timed_pop(gst::ClockTime::from_mseconds(200));
        let every = Duration::from_millis(if on_terminal { 200 } else { 2000 });
        if drawn.elapsed() >= every {
            progress(pipeline, seen, on_terminal);
            drawn = Instant::now();
        }
        let Some(message) = message else { continue };
        match message.view() {
            gst::MessageView::Eos(_) => break,
            gst::MessageView::Error(error) => {
                let from = error.src().map(|s| s.name().to_string()).unwrap_or_default();
                let debug = error.debug().map(|d| format!("\n{d}")).unwrap_or_default();
                let what = match seen.lock().unwrap().frames {
                    0 => "no frame could be read from the video".to_owned(),
                    frames => format!("stopped after {frames} frames"),
                };
                return Err(format!("{what}\n{from}: {}{debug}", error.error()).into());
            }
            gst::MessageView::Element(element) => {
                if let Some(s) = element.structure().filter(|s| s.name() == "motion-stats") {
                    stats = Some(s.to_owned());
                }
            }
            _ => {}
        }
    }
    progress(pipeline, seen, on_terminal);
    if on_terminal {
        eprintln!();
    }
    Ok(stats.ok_or("motionestimate posted no statistics")?)
}

fn progress(pipeline: &gst::Pipeline, seen: &Mutex<Seen>, on_terminal: bool) {
    // The query must not run under the lock: it may wait for a streaming thread that waits for the lock.
    let (frames, position) = {
        let seen = seen.lock().unwrap();
        (seen.frames, seen.position)
    };
    let share = match pipeline.query_duration::<gst::ClockTime>() {
        Some(duration) if !duration.is_zero() => {
            let share = position.nseconds() as f64 / duration.nseconds() as f64;
            format!(" {:3.0} % of {duration:.1}", 100.0 * share.min(1.0))
        }
        _ => String::new(),
    };
    let (before, after) = if on_terminal { ("\r", "   ") } else { ("", "\n") };
    eprint!("{before}searching: {frames} frames{share}{after}");
    std::io::stderr().flush().ok();
}

/// Prints the statistics; `elapsed` is the time of the whole pipeline.
fn summary(stats: &gst::StructureRef, elapsed: Duration) -> Result<(), Box<dyn Error>> {
    let frames: u64 = stats.get("frames")?;
    let search = Duration::from_nanos(stats.get("search-time")?);
    let line = |name: &str, value: &str| println!("{name:<22}{value}");
    line("device", stats.get("device")?);
    line("kernel", stats.get("kernel")?);
    line("frames", &frames.to_string());
    let rate = frames as f64 / elapsed.as_secs_f64();
    line("frames/s", &format!("{rate:.1}, with decoding, drawing and encoding"));
    line("search", &format!("{:.2} ms per frame", 1e3 * search.as_secs_f64()));
    line("mean cost", &format!("{:.2} per sample", stats.get::<f64>("mean-cost")?));
    Ok(())
}
