//! Whose memory goes downstream, and what upstream is told about it.

use gst::prelude::*;
use gst_check::Harness;
use gst_video::VideoFormat;

use super::support::*;

fn address(buffer: &gst::BufferRef) -> *const u8 {
    buffer.map_readable().unwrap().as_ptr()
}

#[test]
fn original_frames_pass_in_the_same_memory() {
    let info = info(VideoFormat::I420, (61, 47));
    let (mut harness, _bus) = harness("motioncompensate mode=original measure=psnr", &info);
    for time in 0..4 {
        let mut input = buffer(&info, &planes(&info, time), time, None);
        if time > 0 {
            let description = description(&info, (8, 8), time);
            attach(&mut input, &description, &vectors(&description, time));
        }
        let memory = address(&input);
        let out = harness.push_and_pull(input).unwrap();
        assert_eq!(address(&out), memory);
        assert_eq!(quality(&out).is_some(), time > 0);
    }
}

/// Samples that tell when they are freed.
struct Watched {
    samples: Vec<u8>,
    _alive: std::sync::Arc<()>,
}

impl AsRef<[u8]> for Watched {
    fn as_ref(&self) -> &[u8] {
        &self.samples
    }
}

#[test]
fn one_buffer_is_held_back_and_no_more() {
    for mode in ["prediction", "original"] {
        let info = info(VideoFormat::Gray8, (61, 47));
        let (mut harness, _bus) = harness(&format!("motioncompensate mode={mode}"), &info);
        let alive: Vec<_> = (0..4).map(|_| std::sync::Arc::new(())).collect();
        for (time, alive) in alive.iter().enumerate() {
            let samples = vec![0; info.size()];
            let mut buffer = gst::Buffer::from_slice(Watched { samples, _alive: alive.clone() });
            buffer.get_mut().unwrap().set_pts(gst::ClockTime::from_mseconds(40) * time as u64);
            harness.push_and_pull(buffer).unwrap();
        }
        let held: Vec<_> = alive.iter().map(|alive| std::sync::Arc::strong_count(alive) - 1).collect();
        assert_eq!(held, [0, 0, 0, 1], "{mode}");
    }
}

/// Pools as (least, most), and whether padded rows are allowed.
fn ask(harness: &Harness, info: &gst_video::VideoInfo) -> (Vec<(u32, u32)>, bool) {
    let mut query = gst::query::Allocation::new(Some(&info.to_caps().unwrap()), true);
    assert!(harness.element().unwrap().static_pad("sink").unwrap().query(query.query_mut()));
    let pools = query.allocation_pools().map(|(_, _, least, most)| (least, most)).collect();
    (pools, query.find_allocation_meta::<gst_video::VideoMeta>().is_some())
}

#[test]
fn upstream_is_asked_for_a_buffer_more() {
    let info = info(VideoFormat::I420, (61, 47));
    // What comes in is read here and not sent on: padded rows are welcome.
    let (mut harness, _bus) = harness("motioncompensate", &info);
    harness.push_and_pull(buffer(&info, &planes(&info, 0), 0, None)).unwrap();
    assert_eq!(ask(&harness, &info), (vec![(1, 0)], true));
}

#[test]
fn original_frames_are_allocated_as_downstream_wants() {
    let info = info(VideoFormat::I420, (61, 47));
    for padded in [false, true] {
        let (mut harness, _bus) = harness("motioncompensate mode=original", &info);
        if padded {
            harness.add_propose_allocation_meta(gst_video::VideoMeta::meta_api(), None);
        }
        harness.push_and_pull(buffer(&info, &planes(&info, 0), 0, None)).unwrap();
        assert_eq!(ask(&harness, &info), (vec![(1, 0)], padded));
    }
}

/// A pool of few buffers is not starved, and drawing into what is held is drawing into a copy.
#[test]
fn drawing_downstream_does_not_change_the_reference() {
    let total = |elements: &str| {
        let pipeline = crate::fields::launch(&format!(
            "videotestsrc num-buffers=12 pattern=ball ! video/x-raw,format=I420,width=128,height=96 \
             ! motionestimate device=native ! motioncompensate mode=original measure=psnr ! {elements} \
             ! appsink name=sink"
        ));
        crate::fields::run(&pipeline).iter().map(|buffer| quality(buffer)).collect::<Vec<_>>()
    };
    let plain = total("identity");
    assert_eq!(plain.iter().flatten().count(), 11);
    assert_eq!(total("motionoverlay style=color threshold=0"), plain);
}
