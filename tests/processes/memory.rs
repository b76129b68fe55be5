//! Memory stays what it was after the first frames, and a frame takes none of its own size. Each
//! test measures its process.

use gst::prelude::*;
use gst_check::Harness;
use gstmotionestimate::camera::CameraMotion;
use motion_search::backend;
use test_support::gstreamer::analytics::relation_metas;
use test_support::{in_own_process, some_of};

use crate::allocator::ALLOCATOR;
use crate::init;

/// Less than a field or a frame of the test that counts, more than anything else takes.
const LARGE: usize = 16 << 10;

/// As many may come late, of the last 14 frames together: on a busy machine a thread may get its first work, for which it
/// takes memory, at any time.
const LATE: usize = 4;

fn harness(settings: &str, width: u32, height: u32) -> (Harness, usize) {
    around(&format!("motionestimate {settings}"), width, height)
}

/// A harness around `element`, and the size of its frames, of which 25 a second come.
fn around(element: &str, width: u32, height: u32) -> (Harness, usize) {
    let info = gst_video::VideoInfo::builder(gst_video::VideoFormat::Gray8, width, height)
        .fps(gst::Fraction::new(25, 1))
        .build()
        .unwrap();
    let mut harness = Harness::new_parse(element);
    harness.set_src_caps(info.to_caps().unwrap());
    (harness, info.size())
}

fn devices() -> Vec<String> {
    backend::devices().iter().map(|device| device.selector.to_string()).collect()
}

#[test]
fn no_frame_allocates_memory_of_the_size_of_a_frame_or_field() {
    in_own_process(|| {
        init();
        ALLOCATOR.count_from(LARGE);
        let mut devices = devices();
        // And the first two together, with shares that stay: where they move, memory is made for the larger ones.
        devices.push(devices[..devices.len().min(2)].join(",") + ", balance=static");
        for device in devices {
            let settings = [
                "",
                "prediction=median",
                "pipeline-depth=4",
                "algorithm=three-step",
                "sub-sample=quarter block-size=64",
                "direction=both references=4",
                "direction=both references=2 pipeline-depth=4",
                "costs=zero+intra+satd+second+variance+confidence",
                "kernel=elimination direction=both references=2",
            ];
            for settings in some_of(2, settings) {
                let settings = format!("device={device} threads=2 block-size=8 search-range=2 {settings}");
                let (mut harness, bytes) = harness(&settings, 640, 480);
                assert!(8 * 80 * 60 > LARGE && bytes > LARGE);
                let mut before = 0;
                for time in 0..30 {
                    // This one is GLib's.
                    let mut buffer = gst::Buffer::with_size(bytes).unwrap();
                    buffer.make_mut().map_writable().unwrap().fill(time as u8);
                    buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(40) * time);
                    harness.push(buffer).unwrap();
                    while harness.try_pull().is_some() {}
                    if time == 15 {
                        before = ALLOCATOR.count();
                    }
                }
                let count = ALLOCATOR.count() - before;
                assert!(before > 0, "nothing was counted");
                assert!(count <= LATE, "{count} allocations of {LARGE} bytes or more with {settings}");
            }
        }
    });
}

#[test]
fn no_frame_that_is_made_allocates_memory_of_the_size_of_a_frame() {
    in_own_process(|| {
        init();
        ALLOCATOR.count_from(LARGE);
        let on_devices =
            devices().into_iter().map(|device| format!("motioninterpolate device={device} threads=2"));
        let others = ["motioninterpolate mode=blend".into(), "motioninterpolate mode=repeat".into()];
        let interpolated = on_devices.chain(others).map(|element| (element, 70));
        let denoised =
            devices().into_iter().map(|device| (format!("motiondenoise device={device} threads=2"), 28));
        for (element, expected) in interpolated.chain(denoised).chain([("motiondetect".into(), 30)]) {
            let (mut harness, bytes) = around(&element, 640, 480);
            let is_interpolated = element.starts_with("motioninterpolate");
            if is_interpolated {
                harness.set_sink_caps_str("video/x-raw,framerate=60/1");
            }
            let (mut before, mut sent) = (0, 0);
            for time in 0..30 {
                let mut buffer = gst::Buffer::with_size(bytes).unwrap();
                for (index, sample) in (0..).zip(&mut *buffer.make_mut().map_writable().unwrap()) {
                    // Noise, which is to be taken out.
                    let random = (index * 30 + time as u32).wrapping_mul(0x9e37_79b9);
                    *sample = 100 + (random >> 29) as u8;
                    // A small object that moves far, for the frames between.
                    let (x, y) = (index % 640, index / 640);
                    let left = 20 + 18 * time as u32;
                    if is_interpolated && (100..112).contains(&y) && (left..left + 12).contains(&x) {
                        *sample = 240;
                    }
                }
                buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(40) * time);
                harness.push(buffer).unwrap();
                sent += std::iter::from_fn(|| harness.try_pull()).count();
                if time == 15 {
                    before = ALLOCATOR.count();
                }
            }
            assert_eq!(sent, expected, "{element}");
            if element.starts_with("motiondenoise") {
                let bin = harness.element().unwrap().downcast::<gst::Bin>().unwrap();
                let stats = bin.children()[0].property::<gst::Structure>("stats");
                assert_eq!(stats.get("denoised"), Ok(28_u64), "{stats}");
            }
            let count = ALLOCATOR.count() - before;
            assert!(count <= LATE, "{count} allocations of {LARGE} bytes or more by {element}");
        }
    });
}

/// The most allocations that a frame takes in which nothing moves: of the frames' handles, of what is searched, and of the name of
/// the meta.
const HANDLES: usize = 8;

#[test]
fn a_frame_in_which_nothing_moves_takes_a_few_handles_and_gets_the_camera_meta_alone() {
    in_own_process(|| {
        init();
        ALLOCATOR.count_from(1);
        let (mut harness, bytes) = around("motiondetect mask=\"0,0 1,0 1,1 0,1\"", 640, 480);
        let mut taken = 0;
        for time in 0..30 {
            let mut buffer = gst::Buffer::with_size(bytes).unwrap();
            for (index, sample) in (0u32..).zip(&mut *buffer.make_mut().map_writable().unwrap()) {
                *sample = 100 + (index * 30 + time as u32).wrapping_mul(0x9e37_79b9).to_le_bytes()[3] / 32;
            }
            buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(40) * time);
            let before = ALLOCATOR.count();
            harness.push(buffer).unwrap();
            if time > 15 {
                taken += ALLOCATOR.count() - before;
            }
            let buffer = harness.pull().unwrap();
            let (metas, relations) = (buffer.iter_meta::<gst::Meta>().count(), relation_metas(&buffer));
            assert!(CameraMotion::of(&buffer).is_some_and(|motion| motion.is_ok()));
            assert_eq!(metas - relations, 1, "{buffer:?}");
        }
        assert!(taken > 0, "nothing was counted");
        assert!(taken <= 14 * HANDLES + LATE, "{taken} allocations for 14 frames");
    });
}

const FRAMES: u64 = 10_000;

/// Bytes of this process in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
}

/// Checks that frames through `harness` take no more memory after [`FRAMES`] of `bytes` bytes than after a tenth.
fn check_flat(mut harness: Harness, bytes: usize, what: &str) {
    let mut before = 0;
    for time in 0..FRAMES {
        let mut buffer = gst::Buffer::from_mut_slice(vec![(time % 251) as u8; bytes]);
        buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(40) * time);
        harness.push(buffer).unwrap();
        while harness.try_pull().is_some() {}
        if time == FRAMES / 10 {
            before = resident();
        }
    }
    // A leak of 64 bytes a frame would be more.
    let grown = resident().saturating_sub(before);
    assert!(grown < 512 << 10, "{grown} bytes more with {what}");
}

#[test]
#[ignore = "takes long: the complete run has it"]
fn ten_thousand_frames_take_no_more_memory_than_a_thousand() {
    in_own_process(|| {
        init();
        ALLOCATOR.count_from(LARGE);
        for device in devices() {
            for depth in [1, 4] {
                let settings =
                    format!("device={device} search-range=2 prediction=median pipeline-depth={depth}");
                let (harness, bytes) = harness(&settings, 64, 48);
                check_flat(harness, bytes, &settings);
            }
        }
        let (mut harness, bytes) = around("motioninterpolate", 64, 48);
        harness.set_sink_caps_str("video/x-raw,framerate=60/1");
        check_flat(harness, bytes, "motioninterpolate");
    });
}
