//! Several elements, and several processes, on one device: right results, fair progress, and bounded
//! threads and memory. Alone in its process, which it measures.
#![allow(missing_docs)]

mod fields;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use gstmotionestimate::estimator::{
    Device as _, Frame, Kernel, Output, Parameters, Slot, Window, oracle, search,
};
use gstmotionestimate::meta::MotionVectorMeta;
use gstmotionestimate::native::{Level, Native};

/// One test at a time, as they measure what the process takes.
static ALONE: Mutex<()> = Mutex::new(());

const SIZE: (usize, usize) = (96, 80);

/// So many that all have begun long before the first is done.
const FRAMES: u32 = 1000;

fn line(frames: u32, device: &str) -> String {
    format!(
        "videotestsrc num-buffers={frames} pattern=zone-plate kx2=20 ky2=20 kt=3 \
         ! video/x-raw,format=GRAY8,width={},height={} ! motionestimate device={device} block-size=8 \
         search-range=7 ! appsink name=sink sync=false",
        SIZE.0, SIZE.1
    )
}

fn frame(buffer: &gst::BufferRef) -> Frame {
    Frame::from_samples(buffer.map_readable().unwrap().to_vec(), SIZE.0, SIZE.1).unwrap()
}

/// Runs `line`, checks every field, and says when it was done.
fn run_checked(line: &str) -> Instant {
    let buffers = fields::run(&fields::launch(line));
    let done = Instant::now();
    let parameters = Parameters::new(SIZE.0, SIZE.1, 8, Window::symmetric(7, 7).unwrap());
    // Every cost computed in plain loops, as the oracle does: here the last frame's tells.
    let mut plain = Native::with_kernel(parameters.clone(), Kernel::Exhaustive, Level::Portable).unwrap();
    let mut expected = Output::new(parameters.grid().blocks());
    let mut slot = Slot::A;
    for buffer in &buffers {
        slot = slot.other();
        plain.load(slot, &frame(buffer)).unwrap();
        let Some(found) = MotionVectorMeta::of(buffer) else {
            assert_eq!(buffer.pts(), Some(gst::ClockTime::ZERO), "the first alone has none");
            continue;
        };
        search(&mut plain, slot, slot.other(), &mut expected).unwrap();
        assert!(found.unwrap().vectors() == &expected.vectors[..], "other vectors at {:?}", buffer.pts());
    }
    let [.., reference, current] = &buffers[..] else { panic!("two frames at least") };
    let last = oracle::search(&parameters, &frame(current).view(), &frame(reference).view());
    assert_eq!(expected.vectors[..], last.vectors);
    done
}

/// The same work was begun by all at the same time: nobody waits until the others are done.
fn check_fair(times: &[Duration]) {
    let (first, last) = (times.iter().min().unwrap(), times.iter().max().unwrap());
    assert!(*last < 3 * *first + Duration::from_millis(200), "{times:?}");
}

/// Devices that elements share: OpenCL's, the CPU without it, and both together.
fn devices() -> &'static [&'static str] {
    if cfg!(feature = "opencl") { &["0:0", "native", "0:0,native"] } else { &["native", "native,"] }
}

#[test]
fn two_elements_on_one_device_both_get_on() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    fields::init();
    for device in devices() {
        // Compilers have run then.
        run_checked(&line(3, device));
        let begun = Instant::now();
        let both: Vec<_> =
            (0..2).map(|_| thread::spawn(move || run_checked(&line(FRAMES, device)) - begun)).collect();
        let times: Vec<_> = both.into_iter().map(|element| element.join().unwrap()).collect();
        check_fair(&times);
    }
}

/// The variable that tells a process that it is one of two, and on which device.
const CHILD: &str = "MOTION_SHARING_DEVICE";

#[test]
fn two_processes_on_one_device_both_get_on() {
    if let Ok(device) = std::env::var(CHILD) {
        run_checked(&line(3, &device));
        println!("ready");
        // Both begin at once, when they are told to.
        std::io::stdin().read_line(&mut String::new()).unwrap();
        let begun = Instant::now();
        println!("took {}", (run_checked(&line(FRAMES, &device)) - begun).as_micros());
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for device in devices() {
        let child = |_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "two_processes_on_one_device_both_get_on", "--nocapture"])
                .env(CHILD, device)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let mut children: Vec<_> = (0..2).map(child).collect();
        let mut outputs: Vec<_> =
            children.iter_mut().map(|child| BufReader::new(child.stdout.take().unwrap())).collect();
        for output in &mut outputs {
            find(output, "ready").expect("a process that is ready");
        }
        for child in &mut children {
            // Its end is the word to begin.
            drop(child.stdin.take());
        }
        let took = |output: &mut _| find(output, "took ").expect("a time").trim().parse().unwrap();
        let times: Vec<_> = outputs.iter_mut().map(took).map(Duration::from_micros).collect();
        for child in &mut children {
            assert!(child.wait().unwrap().success());
        }
        check_fair(&times);
    }
}

/// What stands behind `word` on the first line with it.
fn find(output: &mut impl BufRead, word: &str) -> Option<String> {
    output.by_ref().lines().map_while(Result::ok).find_map(|line| Some(line.split_once(word)?.1.to_owned()))
}

/// The names of this process's threads.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).ok();
    tasks.filter_map(|task| name(task.ok()?)).map(|name| name.trim().to_owned()).collect()
}

/// Those that search on the CPU: `motion-` and a number.
fn searching() -> usize {
    let is_ours = |name: &&String| name.strip_prefix("motion-").is_some_and(|n| n.parse::<u32>().is_ok());
    threads().iter().filter(is_ours).count()
}

/// Bytes of this process in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
}

/// Elements that have found vectors and go on.
fn playing(count: usize, settings: impl Fn(usize) -> String) -> Vec<gst_check::Harness> {
    let info = gst_video::VideoInfo::builder(gst_video::VideoFormat::Gray8, 640, 480)
        .fps(gst::Fraction::new(25, 1))
        .build()
        .unwrap();
    let element = |index| {
        let mut harness = gst_check::Harness::new_parse(&format!("motionestimate {}", settings(index)));
        harness.set_src_caps(info.to_caps().unwrap());
        harness
    };
    let mut elements: Vec<_> = (0..count).map(element).collect();
    for time in 0..3 {
        for harness in &mut elements {
            let mut buffer = gst::Buffer::from_mut_slice(vec![time as u8; info.size()]);
            buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(40) * time);
            let buffer = harness.push_and_pull(buffer).unwrap();
            assert_eq!(MotionVectorMeta::of(&buffer).is_some(), time > 0);
        }
    }
    elements
}

#[test]
fn twenty_elements_share_their_threads() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    fields::init();
    let cores = thread::available_parallelism().unwrap().get();
    // Whatever is made once is there then.
    for device in devices() {
        drop(playing(1, |_| format!("device={device}")));
    }
    wait_until(|| searching() == 0, "threads end with the last who uses them");
    for device in devices() {
        let one = playing(1, |_| format!("device={device}"));
        let (alone, before) = (threads().len(), resident());
        let others = playing(19, |_| format!("device={device}"));
        // A list has a thread a device; nothing else is an element's own.
        let own = if device.contains(',') { device.split(',').filter(|d| !d.is_empty()).count() } else { 0 };
        let of_all = threads();
        assert!(
            of_all.len() <= alone + 19 * own,
            "{} and {alone} threads on {device}: {of_all:?}",
            of_all.len()
        );
        assert!(searching() <= cores, "one pool on {device}: {of_all:?}");
        // What the README's table says an element holds at 640 x 480, more than twice.
        let each = resident().saturating_sub(before) / 19;
        assert!(each < 20 << 20, "{each} bytes an element on {device}");
        drop((one, others));
        let is_over = || threads().len() <= alone.saturating_sub(own);
        wait_until(is_over, "what an element has alone ends with it");
    }
}

#[test]
fn each_number_of_threads_is_a_pool() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    fields::init();
    let elements = playing(20, |index| format!("device=native threads={}", [1, 3][index % 2]));
    assert_eq!(searching(), 4, "one pool of one and one of three: {:?}", threads());
    drop(elements);
    wait_until(|| searching() == 0, "threads end with the last who uses them");
}

fn wait_until(is_so: impl Fn() -> bool, what: &str) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}: {:?}", threads());
        thread::sleep(Duration::from_millis(10));
    }
}
