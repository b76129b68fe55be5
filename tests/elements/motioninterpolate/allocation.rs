//! Buffers: how many are held, where those come from that are made, and what upstream is told.

use std::collections::BTreeSet;

use gst::prelude::*;

use super::support::*;

const IN: Rate = (25, 1);
const OUT: Rate = (50, 1);

#[test]
fn one_input_buffer_is_held_and_made_frames_use_few_buffers() {
    let info = i420(IN);
    let mut harness = blending(IN, OUT);
    let pool = gst_video::VideoBufferPool::new();
    let mut config = pool.config();
    config.set_params(Some(&info.to_caps().unwrap()), info.size() as u32, 2, 2);
    pool.set_config(config).unwrap();
    pool.set_active(true).unwrap();
    let mut made = BTreeSet::new();
    let unblocked = gst::BufferPoolAcquireParams::with_flags(gst::BufferPoolAcquireFlags::DONTWAIT);
    for number in 0..500 {
        let mut buffer = pool.acquire_buffer(Some(&unblocked)).expect("a buffer that is not held");
        buffer.make_mut().set_pts(gst::ClockTime::from_nseconds(time(IN, number)));
        push(&mut harness, buffer);
        made.extend(pull(&mut harness).into_iter().rev().skip(1).map(|buffer| address(&buffer)));
    }
    assert_eq!(count(&harness, "made"), 499);
    // Those of the input that pass are no more than two.
    assert!(made.len() <= 4, "{} addresses", made.len());
    end(&mut harness);
    drop(pull(&mut harness));
    // Nothing is held behind the end.
    let free = [(); 2].map(|()| pool.acquire_buffer(Some(&unblocked)));
    assert!(free.iter().all(Result::is_ok));
    drop(free);
    pool.set_active(false).unwrap();
}

/// The answer to an ALLOCATION query of upstream.
fn asked(harness: &gst_check::Harness) -> gst::query::Allocation<gst::Query> {
    let mut query = gst::query::Allocation::new(Some(&i420(IN).to_caps().unwrap()), true);
    assert!(element(harness).static_pad("sink").unwrap().query(&mut query));
    query
}

#[test]
fn upstream_is_asked_for_a_buffer_more_and_told_what_downstream_reads() {
    let has_meta =
        |query: &gst::query::Allocation| query.find_allocation_meta::<gst_video::VideoMeta>().is_some();
    let mut harness = blending(IN, OUT);
    push_all(&mut harness, IN, 0..1);
    let query = asked(&harness);
    let (pool, size, least, most) = query.allocation_pools().next().unwrap();
    assert_eq!((pool, size as usize, least, most), (None, i420(IN).size(), 1, 0));
    assert!(!has_meta(&query));

    let mut harness = blending(IN, OUT);
    harness.add_propose_allocation_meta(gst_video::VideoMeta::meta_api(), None);
    push_all(&mut harness, IN, 0..1);
    assert!(has_meta(&asked(&harness)));
}

#[test]
fn frames_are_made_in_buffers_of_downstream() {
    init();
    let mut harness = blending(IN, OUT);
    let info = i420(OUT);
    let pool = gst_video::VideoBufferPool::new();
    let offered = pool.clone();
    // The query that goes downstream has the pool of a sink behind.
    element(&harness).static_pad("src").unwrap().add_probe(
        gst::PadProbeType::QUERY_DOWNSTREAM,
        move |_, probe| {
            let Some(query) = probe.query_mut() else { return gst::PadProbeReturn::Ok };
            let gst::QueryViewMut::Allocation(query) = query.view_mut() else {
                return gst::PadProbeReturn::Ok;
            };
            query.add_allocation_pool(Some(&offered), info.size() as u32, 3, 3);
            gst::PadProbeReturn::Handled
        },
    );
    push_all(&mut harness, IN, 0..3);
    assert!(pool.is_active());
    let found = pull(&mut harness);
    // Those that are made hold the pool's buffers; all three may be in use.
    assert_eq!(found.len(), 5);
    let unblocked = gst::BufferPoolAcquireParams::with_flags(gst::BufferPoolAcquireFlags::DONTWAIT);
    let third = pool.acquire_buffer(Some(&unblocked)).unwrap();
    assert!(pool.acquire_buffer(Some(&unblocked)).is_err());
    drop((found, third));
    assert!(pool.acquire_buffer(Some(&unblocked)).is_ok());
    let query = asked(&harness);
    assert_eq!(query.allocation_pools().next().unwrap().2, 4);
}
