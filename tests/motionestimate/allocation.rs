//! Whose memory goes downstream, and what upstream is told about it.

use std::sync::Arc;

use gst::prelude::*;
use gst_check::Harness;

use crate::support::*;

fn address(buffer: &gst::BufferRef) -> *const u8 {
    buffer.map_readable().unwrap().as_ptr()
}

#[test]
fn a_buffer_of_our_own_passes_as_it_is() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    for time in 0..3 {
        let buffer = picture(&info, time);
        let (object, memory) = (buffer.as_ptr(), address(&buffer));
        let out = harness.push_and_pull(buffer).unwrap();
        assert_eq!((out.as_ptr(), address(&out)), (object, memory));
    }
}

#[test]
fn a_shared_buffer_stays_untouched_and_lends_its_memory() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    for time in 0..3 {
        let ours = picture(&info, time);
        let out = harness.push_and_pull(ours.clone()).unwrap();
        assert_ne!(out.as_ptr(), ours.as_ptr());
        assert_eq!(address(&out), address(&ours));
        assert_eq!((out.pts(), out.duration(), out.flags()), (ours.pts(), ours.duration(), ours.flags()));
        check_no_vectors(&ours);
        assert_eq!(meta(&out).is_some(), time > 0);
    }
}

#[test]
fn padded_shared_buffers_keep_their_video_meta() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    let ours = padded_picture(&info, 0, 9);
    let out = harness.push_and_pull(ours.clone()).unwrap();
    let strides = |b: &gst::Buffer| b.meta::<gst_video::VideoMeta>().unwrap().stride().to_vec();
    assert_eq!(strides(&out), strides(&ours));
    assert_eq!(address(&out), address(&ours));
}

/// Samples that tell when they are freed.
struct Watched {
    samples: Vec<u8>,
    _alive: Arc<()>,
}

impl AsRef<[u8]> for Watched {
    fn as_ref(&self) -> &[u8] {
        &self.samples
    }
}

#[test]
fn no_buffer_is_held_back() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    for _ in 0..3 {
        let alive = Arc::new(());
        let samples = vec![0; info.size()];
        let buffer = gst::Buffer::from_slice(Watched { samples, _alive: alive.clone() });
        let out = harness.push_and_pull(buffer).unwrap();
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(out);
        assert_eq!(Arc::strong_count(&alive), 1, "nobody else has the memory");
    }
}

/// The memory reaches the element downstream, so it decides about strides and pools.
#[test]
fn allocation_query_is_answered_downstream() {
    let info = gray();
    let ask = |harness: &Harness| {
        let mut query = gst::query::Allocation::new(Some(&info.to_caps().unwrap()), true);
        let answered = harness.element().unwrap().static_pad("sink").unwrap().query(query.query_mut());
        (
            answered,
            query.find_allocation_meta::<gst_video::VideoMeta>().is_some(),
            query.allocation_pools().count(),
        )
    };
    let mut with_meta = harness("motionestimate device=native", &info);
    with_meta.add_propose_allocation_meta(gst_video::VideoMeta::meta_api(), None);
    pass(&mut with_meta, &info, 0);
    assert_eq!(ask(&with_meta), (true, true, 0));

    // Where rows must not be padded, nobody upstream may be told that they may.
    let mut without = harness("motionestimate device=native", &info);
    pass(&mut without, &info, 0);
    assert!(!ask(&without).1);
}
