//! What the element costs in a pipeline: `appsrc ! motionestimate ! fakesink` with one frame in
//! flight and with several, beside the same with `identity` and beside the search alone, in one run,
//! for every device. The frames lie in memory: of any kind (`heap`), and in what the device
//! offers upstream (`device`).
//!
//! `cargo bench --bench pipeline [-- [--hierarchical] [PART...]]`: full search with four frames in flight, or
//! fast hierarchical search with eight; only lines whose text holds each PART.

use std::time::{Duration, Instant};

use gst::prelude::*;
use motion_search::backend::{self, AvailableDevice};
use motion_search::estimator::{Algorithm, Frame, Output, Parameters, Quality, Slot, Window, search};
use motion_search::tuning::{Kernel, Tuning};

const SIZES: [(&str, usize, usize); 3] = [("CIF", 352, 288), ("720p", 1280, 720), ("1080p", 1920, 1080)];

/// Runs of each pipeline, of which the median counts.
const RUNS: usize = 5;

/// How long a run pushes frames.
const RUN: Duration = Duration::from_millis(500);

/// Different frames, pushed in turn: more than the caches hold.
const FRAMES: usize = 24;

/// What the element does.
struct Job {
    properties: &'static str,
    algorithm: Algorithm,
    block_size: usize,
    /// The frames in flight, beside 1.
    depth: usize,
}

const FULL: Job =
    Job { properties: "block-size=16 search-range=16", algorithm: Algorithm::Full, block_size: 16, depth: 4 };

const HIERARCHICAL: Job = Job {
    properties: "algorithm=hierarchical quality=fast block-size=8",
    algorithm: Algorithm::Hierarchical,
    block_size: 8,
    depth: 8,
};

fn main() {
    gst::init().expect("GStreamer");
    gstmotionestimate::plugin_register_static().expect("the plugin registers");
    let parts: Vec<_> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();

    let job = if std::env::args().any(|argument| argument == "--hierarchical") { HIERARCHICAL } else { FULL };
    let Job { properties, depth, .. } = job;
    println!("I420, {properties}: frames/s, median of {RUNS} runs of {RUN:?}");
    println!(
        "{:32} {:>6} {:>7} {:>10} {:>10} {:>10} {:>10} {:>9} {:>11} {:>11}",
        "device",
        "size",
        "memory",
        "identity",
        "search",
        "depth 1",
        format!("depth {depth}"),
        "1/search",
        "1/identity",
        format!("{depth}/identity")
    );
    for (name, width, height) in SIZES {
        let scene = Scene::new(width, height);
        for device in backend::devices() {
            for memory in ["heap", "device"] {
                // The CPU without OpenCL reads frames wherever they are.
                if memory == "device" && device.kind == "native" {
                    continue;
                }
                let line =
                    format!("{:32} {name:>6} {memory:>7}", format!("{} ({})", device.selector, device.name));
                if parts.iter().all(|part| line.contains(part)) {
                    measure(&line, &scene, &job, &device, memory == "device");
                }
            }
        }
    }
}

fn measure(line: &str, scene: &Scene, job: &Job, device: &AvailableDevice, in_device_memory: bool) {
    let motion = |depth| {
        let Job { properties, .. } = job;
        format!("motionestimate {properties} device=\"{}\" pipeline-depth={depth}", device.selector)
    };
    let elements = ["identity".into(), motion(1), motion(job.depth)];
    let (mut rates, mut alone) = ([const { Vec::new() }; 3], Vec::new());
    // In turn, so that all see the same machine.
    for _ in 0..RUNS {
        for (element, rates) in elements.iter().zip(&mut rates) {
            rates.push(scene.play(element, in_device_memory));
        }
        alone.push(scene.search(job, device));
    }
    let median = |rates: &mut Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates[RUNS / 2]
    };
    let [identity, one, several] = rates.each_mut().map(median);
    let search = median(&mut alone);
    println!(
        "{line} {identity:10.1} {search:10.1} {one:10.1} {several:10.1} {:9.3} {:11.3} {:11.3}",
        one / search,
        one / identity,
        several / identity
    );
}

/// Texture that moves by (3, 2) samples a frame, with grain.
struct Scene {
    info: gst_video::VideoInfo,
    frames: Vec<Vec<u8>>,
}

impl Scene {
    fn new(width: usize, height: usize) -> Self {
        let info = gst_video::VideoInfo::builder(gst_video::VideoFormat::I420, width as u32, height as u32)
            .fps(gst::Fraction::new(25, 1))
            .build()
            .expect("a size");
        let mut grain = 1u32;
        let mut frame = |time: usize| {
            let mut bytes = vec![0x80; info.size()];
            for (y, row) in bytes.chunks_exact_mut(width).take(height).enumerate() {
                for (x, sample) in row.iter_mut().enumerate() {
                    grain = grain.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let (x, y) = ((x + 3 * time) / 7, (y + 2 * time) / 5);
                    *sample = ((x * 97 + y * 57 + x * y) % 200) as u8 + (grain >> 28) as u8;
                }
            }
            bytes
        };
        let frames = (0..FRAMES).map(&mut frame).collect();
        Self { info, frames }
    }

    /// Frames a second by the device alone, loading and searching one after the other.
    fn search(&self, job: &Job, device: &AvailableDevice) -> f64 {
        let (width, height) = (self.info.width() as usize, self.info.height() as usize);
        let window = Window::symmetric(16, 16).expect("a window");
        let parameters = Parameters {
            algorithm: job.algorithm,
            quality: Quality::Fast,
            ..Parameters::new(width, height, job.block_size, window)
        };
        let tuning = Tuning { threads: Some(0), ..Tuning::default() };
        let opened = backend::open_device(&device.selector, Kernel::Auto, &tuning, &parameters);
        let mut opened = opened.expect("a device that is there").0;
        let mut output = Output::new(parameters.grid().blocks());
        let frame = |samples: &Vec<u8>| {
            let luma = samples[..width * height].to_vec();
            Frame::from_samples(luma, width, height).expect("a frame")
        };
        let frames: Vec<Frame> = self.frames.iter().map(frame).collect();
        let mut next = |slot: Slot, frame: &Frame, is_searched: bool| {
            opened.load_frame(slot, frame).expect("loaded");
            if is_searched {
                search(opened.as_mut(), slot, slot.other(), &mut output).expect("searched");
            }
        };
        let mut slot = Slot::A;
        next(slot, &frames[0], false);
        let (mut start, mut count) = (Instant::now(), 0);
        for (index, frame) in frames.iter().cycle().skip(1).enumerate() {
            slot = slot.other();
            next(slot, frame, true);
            match index {
                // The first is slower.
                0 => start = Instant::now(),
                _ => count += 1,
            }
            if count > 0 && start.elapsed() > RUN {
                break;
            }
        }
        f64::from(count) / start.elapsed().as_secs_f64()
    }

    /// Frames a second through `element`, from the second buffer to EOS.
    fn play(&self, element: &str, in_device_memory: bool) -> f64 {
        let launch = format!("appsrc name=source ! {element} name=element ! fakesink name=sink sync=false");
        let pipeline =
            gst::parse::launch(&launch).expect("a pipeline").downcast::<gst::Pipeline>().expect("one");
        let source = pipeline.by_name("source").and_downcast::<gst_app::AppSrc>().expect("appsrc");
        source.set_caps(Some(&self.info.to_caps().expect("caps")));
        source.set_format(gst::Format::Time);
        source.set_block(true);
        source.set_max_bytes(4 * self.info.size() as u64);
        pipeline.set_state(gst::State::Playing).expect("PLAYING");
        // Devices are opened and the first frame is through before the clock starts.
        source.push_buffer(self.buffer(0, None)).expect("the first frame");
        pipeline.state(gst::ClockTime::from_seconds(120)).0.expect("preroll");
        let allocator = if in_device_memory { self.offered(&pipeline) } else { None };
        let buffers: Vec<_> = (0..FRAMES).map(|index| self.buffer(index, allocator.as_ref())).collect();
        let bus = pipeline.bus().expect("a bus");
        let (start, mut count) = (Instant::now(), 0);
        for index in (1..FRAMES).chain(std::iter::repeat_with(|| 0..FRAMES).flatten()) {
            // As a source does: each time a buffer of its own around the same memory.
            if source.push_buffer(buffers[index].copy()).is_err() || start.elapsed() > RUN {
                break;
            }
            count += 1;
        }
        source.end_of_stream().expect("EOS");
        let ends = [gst::MessageType::Eos, gst::MessageType::Error];
        let message = bus.timed_pop_filtered(gst::ClockTime::NONE, &ends).expect("a message");
        let elapsed = start.elapsed();
        assert_eq!(message.type_(), gst::MessageType::Eos, "{message:?}");
        pipeline.set_state(gst::State::Null).expect("NULL");
        f64::from(count) / elapsed.as_secs_f64()
    }

    /// The allocator that the element offers.
    fn offered(&self, pipeline: &gst::Pipeline) -> Option<gst::Allocator> {
        let pad = pipeline.by_name("element")?.static_pad("sink")?;
        let mut query = gst::query::Allocation::new(Some(&self.info.to_caps().ok()?), true);
        pad.query(query.query_mut());
        query.allocation_params().next()?.0
    }

    fn buffer(&self, index: usize, allocator: Option<&gst::Allocator>) -> gst::Buffer {
        let memory = match allocator {
            None => gst::Memory::from_slice(self.frames[index].clone()),
            Some(allocator) => {
                let mut memory = allocator.alloc(self.info.size(), None).expect("memory");
                let writable = memory.get_mut().expect("new memory");
                writable.map_writable().expect("writable").copy_from_slice(&self.frames[index]);
                memory
            }
        };
        let mut buffer = gst::Buffer::new();
        buffer.make_mut().append_memory(memory);
        buffer
    }
}
