//! A process in which cases run, one after the other: a crash or a hang ends this process alone.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use gst::prelude::*;
use gstmotionestimate::meta::MotionVectorMeta;
use serde::{Deserialize, Serialize};

use super::cases::LIMIT;
use super::layer::Layer;
use crate::launched::fault_layer;
use crate::sharing::threads;

/// Frames of a stream.
pub const FRAMES: usize = 6;

const SIZE: (usize, usize) = (64, 48);

/// How long threads that outlive a pipeline may take to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// What begins a line of the worker.
const MARK: &str = "outcome: ";

/// The environment variable with which the process is started.
const IS_WORKER: &str = "FAULTS_WORKER";

/// When a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// Before the first frame is uploaded.
    SetUp,
    Stream,
    /// After the last frame.
    End,
}

/// A pipeline, and the fault that it has.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The element and what follows it.
    pub launch: String,
    pub fault: String,
}

impl Run {
    /// Whether the device hangs. It may still use its objects: they are leaked.
    pub fn is_endless(&self) -> bool {
        ["block", "stall"].iter().any(|kind| self.fault.starts_with(kind))
    }
}

/// What became of a pipeline.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// When the first call had the fault, if one had.
    pub fired: Option<Phase>,
    /// The functions that were called in each phase.
    pub calls: [Vec<String>; 3],
    /// A hash of each frame that came out, and of its vectors.
    pub frames: Vec<u64>,
    pub is_eos: bool,
    /// The text of the first error.
    pub error: Option<String>,
    pub warnings: Vec<String>,
    pub panics: usize,
    /// The OpenCL objects beyond those at the start, and the input frames, that are left when the pipeline is gone.
    pub objects_left: i64,
    pub frames_left: usize,
    pub seconds: f64,
}

/// What can be told of a run from outside.
pub enum Ended {
    Well(Box<Outcome>),
    Hung,
    Crashed(String),
}

/// A child, and the lines that it writes. The lock lets a worker be shared; nobody else takes it.
type Process = (Child, ChildStdin, Mutex<Receiver<String>>);

/// The process, as the others see it.
pub struct Worker {
    environment: Vec<(&'static str, String)>,
    process: Option<Process>,
}

impl Worker {
    /// One with these variables, which starts with its first run.
    pub fn new(environment: &[(&'static str, String)]) -> Self {
        Self { environment: environment.to_vec(), process: None }
    }

    fn start(&self) -> Process {
        let mut child = test_support::program(test_support::test_name(&nothing_is_lost_where_nothing_fails))
            .env(IS_WORKER, "1")
            .env("OPENCL_LAYERS", fault_layer())
            .env("G_DEBUG", "fatal_warnings")
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this test starts again");
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let (send, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // The harness prints the test's name before the first line.
                if let Some((_, text)) = line.split_once(MARK) {
                    let _ = send.send(text.to_owned());
                }
            }
        });
        (child, input, Mutex::new(lines))
    }

    /// Runs it, `limit` long at most. After a hang or a crash the next run is in another process.
    pub fn run(&mut self, run: &Run, limit: Duration) -> Ended {
        let (mut child, mut input, mut lines) = self.process.take().unwrap_or_else(|| self.start());
        let line = serde_json::to_string(run).expect("JSON");
        // A process that has ended is told from the missing answer.
        let _ = writeln!(input, "{line}");
        let answer = lines.get_mut().expect("no panic").recv_timeout(limit);
        match answer {
            Ok(text) => {
                self.process = Some((child, input, lines));
                Ended::Well(serde_json::from_str(&text).expect("an outcome"))
            }
            Err(RecvTimeoutError::Timeout) => {
                child.kill().and_then(|()| child.wait()).expect("it ends");
                Ended::Hung
            }
            Err(RecvTimeoutError::Disconnected) => {
                Ended::Crashed(child.wait().expect("it ended").to_string())
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some((mut child, input, _)) = self.process.take() {
            drop(input);
            let _ = child.wait();
        }
    }
}

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// With the variable in its environment this is the process in which all cases run.
#[test]
fn nothing_is_lost_where_nothing_fails() {
    if std::env::var_os(IS_WORKER).is_some() {
        return serve();
    }
    let mut worker = Worker::new(&[]);
    // One process runs one case after the other.
    for _ in 0..2 {
        let (launch, fault) = ("motionestimate name=element device=native".into(), "none * 0 0 -1".into());
        let Ended::Well(outcome) = worker.run(&Run { launch, fault }, LIMIT) else {
            panic!("it has not ended well")
        };
        assert_eq!((outcome.is_eos, outcome.frames.len(), outcome.panics), (true, FRAMES, 0), "{outcome:?}");
        assert_eq!((outcome.objects_left, outcome.frames_left, &outcome.error), (0, 0, &None), "{outcome:?}");
    }
}

/// Runs each case that the standard input names, until it ends.
fn serve() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        report(info);
    }));
    gst::init().expect("GStreamer");
    gstmotionestimate::plugin_register_static().expect("the plugin registers");
    let layer = Layer::loaded();
    for line in std::io::stdin().lines() {
        let run: Run = serde_json::from_str(&line.expect("a line")).expect("a run");
        let outcome = stream(&layer, &run);
        println!("\n{MARK}{}", serde_json::to_string(&outcome).expect("JSON"));
    }
    layer.set("");
}

/// A frame's memory, which counts those that are left.
struct Memory(Vec<u8>, #[allow(dead_code)] Arc<()>);

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Frame `time`, of texture that moves.
pub fn frame(time: usize, left: &Arc<()>) -> gst::Buffer {
    let (width, height) = SIZE;
    let mut samples = vec![0x80; width * height * 3 / 2];
    for (at, sample) in samples[..width * height].iter_mut().enumerate() {
        let (x, y) = (at % width + 3 * time, at / width + 2 * time);
        *sample = ((x / 5 * 97 + y / 3 * 57 + (x / 5) * (y / 3)) % 180 + (x * 7 + y * 13) % 40) as u8;
    }
    let mut buffer = gst::Buffer::from_slice(Memory(samples, left.clone()));
    let stamped = buffer.make_mut();
    stamped.set_pts(gst::ClockTime::from_mseconds(40 * time as u64));
    stamped.set_duration(gst::ClockTime::from_mseconds(40));
    buffer
}

/// Runs the pipeline, from its start to when it is gone.
fn stream(layer: &Layer, run: &Run) -> Outcome {
    // Else a thread of the run before might make the call that fails.
    wait_until(|| !is_opencl_called(), PATIENCE);
    let (start, live, left) = (Instant::now(), layer.live(), Arc::new(()));
    let panics = PANICS.load(Ordering::Relaxed);
    let (width, height) = SIZE;
    let text = format!(
        "appsrc name=source format=time caps=video/x-raw,format=I420,width={width},height={height},framerate=25/1 \
         ! {} ! appsink name=sink sync=false",
        run.launch
    );
    let pipeline = gst::parse::launch(&text).expect(&text).downcast::<gst::Pipeline>().expect("a pipeline");
    let source = pipeline.by_name("source").and_downcast::<gst_app::AppSrc>().expect("a source");
    let sink = pipeline.by_name("sink").and_downcast::<gst_app::AppSink>().expect("a sink");
    let end = calls_before_end(*layer, &pipeline);
    layer.set(&run.fault);
    let mut outcome = Outcome::default();
    if pipeline.set_state(gst::State::Playing).is_ok() {
        for time in 0..FRAMES {
            // After an error the pipeline takes none.
            let _ = source.push_buffer(frame(time, &left));
        }
        let _ = source.end_of_stream();
    }
    let bus = pipeline.bus().expect("a bus");
    while !outcome.is_eos && outcome.error.is_none() {
        if let Some(sample) = sink.try_pull_sample(gst::ClockTime::from_mseconds(10)) {
            outcome.frames.push(hash(sample.buffer().expect("a buffer")));
            continue;
        }
        outcome.is_eos = sink.is_eos();
        listen(&bus, &mut outcome);
    }
    listen(&bus, &mut outcome);
    pipeline.set_state(gst::State::Null).expect("it stops");
    drop((sink, source, pipeline));
    bus.set_flushing(true);
    let (fired, at) = layer.fired();
    // What calls OpenCL ends by itself, unless a call hangs: then all is left.
    let limit = if run.is_endless() { Duration::ZERO } else { PATIENCE };
    let has_ended = || !is_opencl_called() && layer.live() <= live && Arc::strong_count(&left) == 1;
    wait_until(has_ended, limit);
    (outcome.objects_left, outcome.frames_left) = (layer.live() - live, Arc::strong_count(&left) - 1);
    let mut calls: Vec<String> = (0..layer.calls()).map_while(|number| layer.call(number)).collect();
    let last = end.lock().expect("no panic").unwrap_or(calls.len()).min(calls.len());
    let is_upload = |function: &String| function == "clEnqueueWriteBufferRect";
    let first = calls.iter().position(is_upload).unwrap_or(last).min(last);
    outcome.fired = (fired > 0).then_some(match at {
        _ if at < first => Phase::SetUp,
        _ if at < last => Phase::Stream,
        _ => Phase::End,
    });
    let after = calls.split_off(last);
    let middle = calls.split_off(first);
    outcome.calls = [calls, middle, after];
    outcome.panics = PANICS.load(Ordering::Relaxed) - panics;
    outcome.seconds = start.elapsed().as_secs_f64();
    // What was held up goes on.
    layer.set("");
    outcome
}

/// Whether there is a thread that opens a device, compiles for it or gives it work. Such a thread may outlive its pipeline.
fn is_opencl_called() -> bool {
    // Linux keeps the first 15 bytes of a name.
    let calling = ["motion-opening", "motion-device-", "motion-compiler"];
    threads().iter().any(|name| calling.iter().any(|calling| name.starts_with(calling)))
}

/// Waits until `is_so`, at most so long.
fn wait_until(is_so: impl Fn() -> bool, limit: Duration) {
    let until = Instant::now() + limit;
    while !is_so() && Instant::now() < until {
        thread::sleep(Duration::from_millis(1));
    }
}

/// The number of calls before the end of the stream came to the element.
fn calls_before_end(layer: Layer, pipeline: &gst::Pipeline) -> Arc<Mutex<Option<usize>>> {
    let end = Arc::new(Mutex::new(None));
    let noted = end.clone();
    let element = pipeline.by_name("element").expect("an element named so");
    let pad = element.static_pad("sink").expect("a pad");
    pad.add_probe(gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
        if info.event().is_some_and(|event| event.type_() == gst::EventType::Eos) {
            noted.lock().expect("no panic").get_or_insert(layer.calls());
        }
        gst::PadProbeReturn::Ok
    });
    end
}

fn listen(bus: &gst::Bus, outcome: &mut Outcome) {
    while let Some(message) = bus.pop_filtered(&[gst::MessageType::Error, gst::MessageType::Warning]) {
        match message.view() {
            gst::MessageView::Error(error) => {
                let text = format!("{}; {}", error.error(), error.debug().unwrap_or_default());
                outcome.error.get_or_insert(text);
            }
            gst::MessageView::Warning(warning) => outcome.warnings.push(warning.error().to_string()),
            _ => (),
        }
    }
}

/// A hash of the frame and its vectors.
pub fn hash(buffer: &gst::BufferRef) -> u64 {
    let mut hasher = DefaultHasher::new();
    (buffer.pts(), buffer.map_readable().expect("memory").as_slice()).hash(&mut hasher);
    for field in MotionVectorMeta::all_of(buffer) {
        let field = field.expect("a sound meta");
        field.description().reference_offset.hash(&mut hasher);
        for vector in field.vectors() {
            (vector.x, vector.y, vector.cost).hash(&mut hasher);
        }
    }
    hasher.finish()
}
