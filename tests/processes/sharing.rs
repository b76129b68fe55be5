//! Several elements, and several processes, on one device: right results, progress of each while the others
//! run, and bounded threads and memory.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use gst::prelude::*;
use gstmotionestimate::meta::MotionVectorMeta;
use motion_search::estimator::{self, Device as _, Frame, Output, Parameters, Slot, Window, oracle};
use motion_search::native::{InstructionSetName, Native};
use motion_search::tuning::Kernel;
use test_support::in_own_process;

use crate::{init, launch};

const SIZE: (usize, usize) = (96, 80);

/// Fields that each has to find while the other goes on.
const FIELDS: u32 = 100;

/// Fields that the other finds meanwhile at most, whatever else the machine does.
const MOST: u32 = 1000 * FIELDS;

/// Searches on `device`, and checks each field, as long as `goes_on` says so of the number found.
fn search(device: &str, mut goes_on: impl FnMut(u32) -> bool) {
    let pipeline = launch(&format!(
        "videotestsrc pattern=zone-plate kx2=20 ky2=20 kt=3 \
         ! video/x-raw,format=GRAY8,width={},height={} ! motionestimate device={device} block-size=8 \
         search-range=7 ! appsink name=sink sync=false max-buffers=4",
        SIZE.0, SIZE.1
    ));
    let sink = pipeline.by_name("sink").unwrap().downcast::<gst_app::AppSink>().unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    let parameters = Parameters::new(SIZE.0, SIZE.1, 8, Window::symmetric(7, 7).unwrap());
    // Every cost computed in plain loops, as in the oracle, which checks the last field.
    let mut plain =
        Native::with_kernel(parameters.clone(), Kernel::Exhaustive, InstructionSetName::PLAINEST).unwrap();
    let mut expected = Output::new(parameters.grid().blocks());
    let mut slot = Slot::A;
    let mut reference = None;
    for found in 0.. {
        let buffer = sink.pull_sample().unwrap().buffer_owned().unwrap();
        let samples = buffer.map_readable().unwrap().to_vec();
        let current = Frame::from_samples(samples, SIZE.0, SIZE.1).unwrap();
        slot = slot.other();
        plain.load_frame(slot, &current).unwrap();
        let Some(reference) = reference.replace(current.clone()) else {
            assert!(MotionVectorMeta::of(&buffer).is_none(), "the first frame has no reference");
            continue;
        };
        estimator::search(&mut plain, slot, slot.other(), &mut expected).unwrap();
        let meta = MotionVectorMeta::of(&buffer).expect("vectors").unwrap();
        assert!(meta.vectors() == &expected.vectors[..], "other vectors at {:?}", buffer.pts());
        if !goes_on(found) {
            let last = oracle::search(&parameters, &current.view(), &reference.view());
            assert_eq!(expected.vectors[..], last.vectors);
            break;
        }
    }
    pipeline.set_state(gst::State::Null).unwrap();
}

/// Devices that elements share: OpenCL's, the CPU without it, and both together.
fn devices() -> &'static [&'static str] {
    if cfg!(feature = "opencl") { &["0:0", "native", "0:0,native"] } else { &["native", "native,"] }
}

/// Each finds its fields while the other goes on: neither waits until the other is done.
#[test]
fn two_elements_on_one_device_both_get_on() {
    init();
    for device in devices() {
        let found = [AtomicU32::new(0), AtomicU32::new(0)];
        thread::scope(|scope| {
            for index in 0..2 {
                let (own, other) = (&found[index], &found[1 - index]);
                scope.spawn(move || {
                    search(device, |fields| {
                        own.store(fields, Ordering::Relaxed);
                        let others = other.load(Ordering::Relaxed);
                        assert!(fields < MOST, "{others} fields of the other on {device}");
                        fields < FIELDS || others < FIELDS
                    });
                });
            }
        });
    }
}

/// The variable that tells a process that it is one of two, and on which device.
const CHILD: &str = "MOTION_SHARING_DEVICE";

/// One of two processes: goes on until its standard input ends, and says when it has found its fields.
fn search_until_told(device: &str) {
    let (told, end) = mpsc::channel();
    thread::spawn(move || {
        let _ = std::io::stdin().read_line(&mut String::new());
        let _ = told.send(());
    });
    search(device, |fields| {
        if fields == FIELDS {
            println!("found");
            std::io::stdout().flush().unwrap();
        }
        assert!(fields < MOST, "the other process has not found {FIELDS} fields on {device}");
        fields < FIELDS || end.try_recv() == Err(mpsc::TryRecvError::Empty)
    });
}

#[test]
fn two_processes_on_one_device_both_get_on() {
    if let Ok(device) = std::env::var(CHILD) {
        init();
        return search_until_told(&device);
    }
    for device in devices() {
        let child = |_| {
            test_support::program("sharing::two_processes_on_one_device_both_get_on")
                .env(CHILD, device)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let mut children: Vec<_> = (0..2).map(child).collect();
        let outputs: Vec<_> =
            children.iter_mut().map(|child| BufReader::new(child.stdout.take().unwrap())).collect();
        // Read to the end, so that neither blocks on its output.
        let mut lines: Vec<_> =
            outputs.into_iter().map(|output| output.lines().map_while(Result::ok)).collect();
        for output in &mut lines {
            assert!(
                output.any(|line| line.contains("found")),
                "a process ended before it had found its fields"
            );
        }
        for child in &mut children {
            drop(child.stdin.take());
        }
        for (child, output) in children.iter_mut().zip(lines) {
            output.for_each(drop);
            assert!(child.wait().unwrap().success());
        }
    }
}

/// The names of this process's threads.
pub fn threads() -> Vec<String> {
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
    in_own_process(|| {
        init();
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
            let own =
                if device.contains(',') { device.split(',').filter(|d| !d.is_empty()).count() } else { 0 };
            let of_all = threads();
            assert!(
                of_all.len() <= alone + 19 * own,
                "{} and {alone} threads on {device}: {of_all:?}",
                of_all.len()
            );
            assert!(searching() <= cores, "one pool on {device}: {of_all:?}");
            // More than twice what docs/how/memory.md says an element holds at 640 x 480.
            let each = resident().saturating_sub(before) / 19;
            assert!(each < 20 << 20, "{each} bytes an element on {device}");
            drop((one, others));
            let is_over = || threads().len() <= alone.saturating_sub(own);
            wait_until(is_over, "what an element has alone ends with it");
        }
    });
}

#[test]
fn each_number_of_threads_is_a_pool() {
    in_own_process(|| {
        init();
        let elements = playing(20, |index| format!("device=native threads={}", [1, 3][index % 2]));
        assert_eq!(searching(), 4, "one pool of one and one of three: {:?}", threads());
        drop(elements);
        wait_until(|| searching() == 0, "threads end with the last who uses them");
    });
}

/// Waits without limit: a test that hangs here says which one it is.
fn wait_until(is_so: impl Fn() -> bool, what: &str) {
    if !is_so() {
        println!("waiting: {what}: {:?}", threads());
    }
    while !is_so() {
        thread::sleep(Duration::from_millis(10));
    }
}
