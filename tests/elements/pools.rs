//! Pools of few buffers, of which several elements hold some: none waits for a buffer that does not come.

use gst::prelude::*;
use gst_video::{VideoFormat, VideoInfo};
use test_support::some_of;

use crate::init;

/// What passes through `chain` of ten frames whose buffers come from a pool of `most`; `None` if a buffer is missing that the
/// pool cannot give.
fn passed(chain: &str, info: &VideoInfo, most: u32) -> Option<usize> {
    let mut harness = gst_check::Harness::new_parse(chain);
    harness.set_src_caps(info.to_caps().unwrap());
    let pool = gst::BufferPool::new();
    let mut config = pool.config();
    config.set_params(Some(&info.to_caps().unwrap()), info.size() as u32, 0, most);
    pool.set_config(config).unwrap();
    pool.set_active(true).unwrap();
    let unblocked = gst::BufferPoolAcquireParams::with_flags(gst::BufferPoolAcquireFlags::DONTWAIT);
    let (mut count, mut last) = (0, None);
    for time in 0..10 {
        let mut buffer = pool.acquire_buffer(Some(&unblocked)).ok()?;
        let samples: Vec<u8> =
            (0..info.size()).map(|index| ((index * index * (7 + time)) >> 3) as u8).collect();
        let frame = buffer.get_mut().unwrap();
        frame.copy_from_slice(0, &samples).unwrap();
        frame.set_pts(gst::ClockTime::from_mseconds(40 * time as u64));
        frame.set_duration(gst::ClockTime::from_mseconds(40));
        harness.push(buffer).unwrap();
        while let Some(buffer) = harness.try_pull() {
            count += 1;
            // A sink holds the last one where it may.
            last = (most > 1).then_some(buffer);
        }
    }
    harness.push_event(gst::event::Eos::new());
    drop(last);
    Some(count + std::iter::from_fn(|| harness.try_pull()).count())
}

#[test]
fn elements_that_hold_buffers_of_one_pool_leave_it_enough() {
    init();
    let info = VideoInfo::builder(VideoFormat::Gray8, 32, 32).fps(gst::Fraction::new(25, 1)).build().unwrap();
    let elements = [
        "motionestimate device=native direction=both",
        "motionestimate device=native direction=both references=2 pipeline-depth=2",
        "motioncompensate mode=original reference-offset=1",
        "motioncompensate mode=original reference-offset=-2",
        "motiondenoise device=native past=1 future=1 strength=4",
        "motioninterpolate device=native rate=0.5 pipeline-depth=2",
    ];
    let chains = elements.iter().flat_map(|first| {
        let pairs = elements.iter().map(move |second| format!("{first} ! {second}"));
        let triples = elements.iter().map(move |second| format!("{first} ! {second} ! {first}"));
        std::iter::once((*first).to_owned()).chain(pairs).chain(triples)
    });
    for chain in some_of(5, chains) {
        let expected = passed(&chain, &info, 0).unwrap();
        for most in 1..=8 {
            assert_eq!(passed(&chain, &info, most), Some(expected), "{chain} with a pool of {most}");
        }
    }
}
