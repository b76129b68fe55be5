//! What an element costs in a pipeline: `appsrc ! motionestimate ! fakesink` with one frame in
//! flight and with several, beside the same with `identity` and beside the search alone, in one run,
//! for every device. The frames lie in memory: of any kind (`heap`), in what the device offers upstream (`device`),
//! and in memory of CUDA (`cuda`), where GStreamer has `cudaupload` and the device is NVIDIA's.
//!
//! `cargo bench -p motion-benches --bench pipeline [-- [JOB] [PART...]]`: full search with four frames in flight, or, with the JOB
//! `--hierarchical`, fast hierarchical search with eight, or, with `--made=fast`, `--made=balanced` or `--made=high`,
//! `motioninterpolate` to twice the frames, where a rate is that of made frames, or, with `--denoised`, `motiondenoise`; only lines
//! whose text holds each PART.

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

/// Frames before the clock starts: more than any element waits for.
const WARM_UP: usize = 12;

/// What the element does.
struct Job {
    /// The element with its properties.
    element: String,
    /// The caps behind it that are not those before it.
    caps: &'static str,
    /// The search by itself, and the size of its blocks; `None` where it is not measured.
    search: Option<(Algorithm, usize)>,
    /// The frames in flight, beside 1.
    depth: usize,
}

impl Job {
    fn of_arguments() -> Self {
        let has = |wanted: &str| std::env::args().any(|argument| argument == wanted);
        if let Some(quality) = ["fast", "balanced", "high"].iter().find(|name| has(&format!("--made={name}")))
        {
            let element = format!("motioninterpolate quality={quality}");
            return Self { element, caps: "framerate=50/1", search: None, depth: 4 };
        }
        if has("--denoised") {
            return Self { element: "motiondenoise".into(), caps: "", search: None, depth: 4 };
        }
        let (properties, search, depth) = match has("--hierarchical") {
            true => ("algorithm=hierarchical quality=fast block-size=8", (Algorithm::Hierarchical, 8), 8),
            false => ("block-size=16 search-range=16", (Algorithm::Full, 16), 4),
        };
        Self { element: format!("motionestimate {properties}"), caps: "", search: Some(search), depth }
    }
}

/// Where frames lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Heap,
    Device,
    Cuda,
}

fn main() {
    gst::init().expect("GStreamer");
    gstmotionestimate::plugin_register_static().expect("the plugin registers");
    let parts: Vec<_> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();

    let job = Job::of_arguments();
    println!("I420, {}: frames/s, median of {RUNS} runs of {RUN:?}", job.element);
    println!(
        "{:32} {:>6} {:>7} {:>10} {:>10} {:>10} {:>10} {:>9} {:>11} {:>11}",
        "device",
        "size",
        "memory",
        "identity",
        "search",
        "depth 1",
        format!("depth {}", job.depth),
        "1/search",
        "1/identity",
        format!("{}/identity", job.depth)
    );
    let has_cuda = gst::ElementFactory::find("cudaupload").is_some();
    for (name, width, height) in SIZES {
        let scene = Scene::new(width, height);
        for device in backend::devices() {
            let is_native = device.kind == "native";
            for (place, memory) in [(Place::Heap, "heap"), (Place::Device, "device"), (Place::Cuda, "cuda")] {
                let can = match place {
                    Place::Heap => true,
                    // The CPU without OpenCL reads frames wherever they are.
                    Place::Device => !is_native,
                    Place::Cuda => has_cuda && device.name.contains("NVIDIA"),
                };
                let line =
                    format!("{:32} {name:>6} {memory:>7}", format!("{} ({})", device.selector, device.name));
                if can && parts.iter().all(|part| line.contains(part)) {
                    measure(&line, &scene, &job, &device, place);
                }
            }
        }
    }
}

fn measure(line: &str, scene: &Scene, job: &Job, device: &AvailableDevice, place: Place) {
    let element = |depth| format!("{} device=\"{}\" pipeline-depth={depth}", job.element, device.selector);
    let elements = [("identity".into(), ""), (element(1), job.caps), (element(job.depth), job.caps)];
    let uploaded = (place == Place::Cuda).then(|| scene.upload());
    let (mut rates, mut alone) = ([const { Vec::new() }; 3], Vec::new());
    // In turn, so that all see the same machine.
    for _ in 0..RUNS {
        for ((element, caps), rates) in elements.iter().zip(&mut rates) {
            rates.push(scene.play(element, caps, place, uploaded.as_ref()));
        }
        alone.push(job.search.map_or(f64::NAN, |search| scene.search(search, device)));
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

/// Frames in memory of CUDA, and the context that they are in.
struct Uploaded {
    caps: gst::Caps,
    buffers: Vec<gst::Buffer>,
    context: gst::Context,
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
    fn search(&self, (algorithm, block_size): (Algorithm, usize), device: &AvailableDevice) -> f64 {
        let (width, height) = (self.info.width() as usize, self.info.height() as usize);
        let window = Window::symmetric(16, 16).expect("a window");
        let parameters = Parameters {
            algorithm,
            quality: Quality::Fast,
            ..Parameters::new(width, height, block_size, window)
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

    /// Frames a second that go into `element`, from those that warm it up to EOS.
    fn play(&self, element: &str, caps: &str, place: Place, uploaded: Option<&Uploaded>) -> f64 {
        let source_caps = match uploaded {
            Some(uploaded) => uploaded.caps.clone(),
            None => self.info.to_caps().expect("caps"),
        };
        let features = if uploaded.is_some() { "(memory:CUDAMemory)" } else { "" };
        let filter = if caps.is_empty() { String::new() } else { format!("! video/x-raw{features},{caps}") };
        let launch =
            format!("appsrc name=source ! {element} name=element {filter} ! fakesink name=sink sync=false");
        let pipeline =
            gst::parse::launch(&launch).expect("a pipeline").downcast::<gst::Pipeline>().expect("one");
        let source = pipeline.by_name("source").and_downcast::<gst_app::AppSrc>().expect("appsrc");
        source.set_caps(Some(&source_caps));
        source.set_format(gst::Format::Time);
        source.set_block(true);
        source.set_max_bytes(4 * self.info.size() as u64);
        if let Some(uploaded) = uploaded {
            pipeline.set_context(&uploaded.context);
        }
        pipeline.set_state(gst::State::Playing).expect("PLAYING");
        // Devices are opened and the first frames are through before the clock starts; as many as are waited for.
        let frames = |allocator: Option<&gst::Allocator>| match uploaded {
            Some(uploaded) => uploaded.buffers.clone(),
            None => (0..FRAMES).map(|index| self.buffer(index, allocator)).collect(),
        };
        for (index, buffer) in frames(None).into_iter().enumerate().take(WARM_UP) {
            source.push_buffer(self.at(buffer, index)).expect("a frame");
        }
        pipeline.state(gst::ClockTime::from_seconds(120)).0.expect("preroll");
        while source.current_level_bytes() > 0 {
            std::thread::yield_now();
        }
        let allocator = if place == Place::Device { self.offered(&pipeline) } else { None };
        let buffers: Vec<_> = frames(allocator.as_ref());
        let bus = pipeline.bus().expect("a bus");
        let (start, mut count) = (Instant::now(), 0_u32);
        for index in WARM_UP.. {
            // As a source does: each time a buffer of its own around the same memory.
            let buffer = self.at(buffers[index % FRAMES].copy(), index);
            if source.push_buffer(buffer).is_err() || start.elapsed() > RUN {
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

    /// `buffer` with the times of frame `index`.
    fn at(&self, mut buffer: gst::Buffer, index: usize) -> gst::Buffer {
        let duration = gst::ClockTime::SECOND / 25;
        let times = buffer.make_mut();
        times.set_pts(duration * index as u64);
        times.set_duration(duration);
        buffer
    }

    /// The frames in memory of CUDA.
    fn upload(&self) -> Uploaded {
        let launch =
            "appsrc name=source ! cudaupload ! video/x-raw(memory:CUDAMemory) ! appsink name=sink sync=false";
        let pipeline =
            gst::parse::launch(launch).expect("a pipeline").downcast::<gst::Pipeline>().expect("one");
        let source = pipeline.by_name("source").and_downcast::<gst_app::AppSrc>().expect("appsrc");
        let sink = pipeline.by_name("sink").and_downcast::<gst_app::AppSink>().expect("appsink");
        source.set_caps(Some(&self.info.to_caps().expect("caps")));
        source.set_format(gst::Format::Time);
        pipeline.set_state(gst::State::Playing).expect("PLAYING");
        for index in 0..FRAMES {
            source.push_buffer(self.buffer(index, None)).expect("a frame");
        }
        source.end_of_stream().expect("EOS");
        let samples: Vec<_> = (0..FRAMES).map(|_| sink.pull_sample().expect("a frame")).collect();
        let context = pipeline.bus().expect("a bus").iter().find_map(|message| match message.view() {
            gst::MessageView::HaveContext(have) => Some(have.context()),
            _ => None,
        });
        pipeline.set_state(gst::State::Null).expect("NULL");
        let caps = samples[0].caps_owned().expect("caps");
        let buffers = samples.iter().map(|sample| sample.buffer_owned().expect("a buffer")).collect();
        Uploaded { caps, buffers, context: context.expect("the context of cudaupload") }
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
