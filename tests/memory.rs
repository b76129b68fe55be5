//! Memory stays what it was after the first frames. Alone in its process, which it measures.
#![allow(missing_docs)]

use gst_check::Harness;
use gstmotionestimate::backend;

const FRAMES: u64 = 10_000;

/// Bytes of this process in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
}

#[test]
fn ten_thousand_frames_take_no_more_memory_than_a_thousand() {
    gst::init().unwrap();
    gstmotionestimate::plugin_register_static().unwrap();
    let info = gst_video::VideoInfo::builder(gst_video::VideoFormat::Gray8, 64, 48)
        .fps(gst::Fraction::new(25, 1))
        .build()
        .unwrap();
    for device in backend::devices() {
        for depth in [1, 4] {
            let mut harness = Harness::new_parse(&format!(
                "motionestimate device={} search-range=2 prediction=median pipeline-depth={depth}",
                device.selector
            ));
            harness.set_src_caps(info.to_caps().unwrap());
            let mut before = 0;
            for time in 0..FRAMES {
                let mut buffer = gst::Buffer::from_mut_slice(vec![(time % 251) as u8; info.size()]);
                buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(40) * time);
                harness.push(buffer).unwrap();
                while harness.try_pull().is_some() {}
                if time == FRAMES / 10 {
                    before = resident();
                }
            }
            // A leak of 64 bytes a frame would be more.
            let grown = resident().saturating_sub(before);
            assert!(grown < 512 << 10, "{grown} bytes more on {} at depth {depth}", device.selector);
        }
    }
}
