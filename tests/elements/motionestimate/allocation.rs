//! Whose memory goes downstream, and what upstream is told about it.

use std::sync::Arc;

use gst::prelude::*;
use gst_check::Harness;

use super::support::*;

/// Whether the element keeps the memory of `buffer`, so that a writer gets a copy.
#[cfg(feature = "opencl")]
fn is_held(buffer: &gst::BufferRef) -> bool {
    use glib::translate::from_glib;

    match buffer.meta::<gst::ParentBufferMeta>() {
        // With GStreamer 1.26 a copy of a pool's buffer holds this one, and with it a reference to the memory.
        // SAFETY: the meta holds the parent, which is a mini object and is only looked at.
        Some(meta) => unsafe {
            let parent = meta.parent().as_ptr().cast_mut().cast();
            !from_glib::<_, bool>(gst::ffi::gst_mini_object_is_writable(parent))
        },
        None => !buffer.is_all_memory_writable(),
    }
}

fn address(buffer: &gst::BufferRef) -> *const u8 {
    buffer.map_readable().unwrap().as_ptr()
}

#[test]
fn a_buffer_of_our_own_passes_as_it_is() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    for time in 0..3 {
        let buffer = frame(&info, time);
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
        let ours = frame(&info, time);
        let out = harness.push_and_pull(ours.clone()).unwrap();
        // Only a buffer that gets vectors is copied.
        assert_eq!(out.as_ptr() != ours.as_ptr(), time > 0);
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
    let ours = padded_frame(&info, 0, 9);
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

fn answer(harness: &mut Harness, info: &gst_video::VideoInfo) -> gst::query::Allocation<gst::Query> {
    pass(harness, info, 0);
    let mut query = gst::query::Allocation::new(Some(&info.to_caps().unwrap()), true);
    harness.element().unwrap().static_pad("sink").unwrap().query(query.query_mut());
    query
}

/// Lets what is downstream answer ALLOCATION queries by `answer`.
fn downstream_answers(
    harness: &Harness,
    answer: impl Fn(&mut gst::query::Allocation) + Send + Sync + 'static,
) {
    let kinds = gst::PadProbeType::QUERY_DOWNSTREAM | gst::PadProbeType::PUSH;
    harness.sinkpad().unwrap().add_probe(kinds, move |_, info| {
        match info.query_mut().map(|query| query.view_mut()) {
            Some(gst::QueryViewMut::Allocation(query)) => {
                answer(query);
                gst::PadProbeReturn::Handled
            }
            _ => gst::PadProbeReturn::Ok,
        }
    });
}

#[test]
fn each_frame_that_waits_needs_a_buffer_more() {
    let info = gray();
    for (depth, most, expected) in [(1, 0, (2, 0)), (4, 0, (5, 0)), (4, 3, (3, 3)), (4, 9, (5, 9))] {
        let mut harness = harness(&format!("motionestimate device=native pipeline-depth={depth}"), &info);
        let pool = gst::BufferPool::new();
        downstream_answers(&harness, move |query| query.add_allocation_pool(Some(&pool), 100, 2, most));
        let answer = answer(&mut harness, &info);
        let (_, size, least, most) = answer.allocation_pools().next().unwrap();
        assert_eq!((size, (least, most)), (100, expected), "depth {depth}");
    }
}

#[cfg(feature = "opencl")]
mod shared {
    use super::*;

    const DEVICE: &str = "motionestimate device=0:0 block-size=8 search-range=5";

    /// A pool as upstream makes it by the answer to its query.
    fn pool(answer: &gst::query::Allocation, info: &gst_video::VideoInfo) -> gst::BufferPool {
        let (allocator, params) = answer.allocation_params().next().expect("an allocator is offered");
        let (offered, size, least, most) = answer.allocation_pools().next().expect("a pool is offered");
        assert!(size as usize >= info.size());
        let pool = offered.unwrap_or_default();
        let mut config = pool.config();
        config.set_params(Some(&info.to_caps().unwrap()), size, least, most);
        config.set_allocator(allocator.as_ref(), Some(&params));
        pool.set_config(config).unwrap();
        pool.set_active(true).unwrap();
        pool
    }

    fn from_pool(pool: &gst::BufferPool, info: &gst_video::VideoInfo, time: u64) -> gst::Buffer {
        let mut buffer = pool.acquire_buffer(None).unwrap();
        let source = frame(info, time);
        let writable = buffer.get_mut().unwrap();
        writable.copy_from_slice(0, &source.map_readable().unwrap()).unwrap();
        writable.set_pts(source.pts());
        buffer
    }

    #[test]
    fn memory_of_the_device_is_offered_and_searched_from() {
        use gst_video::VideoFormat::{Gray8, I420};
        for (format, failure) in [(Gray8, "native"), (I420, "native"), (I420, "error")] {
            for depth in [1, 4] {
                let info = super::super::support::info(format, SIZE);
                let launch = format!("{DEVICE} pipeline-depth={depth} on-device-failure={failure}");
                let mut harness = harness(&launch, &info);
                let pool = pool(&answer(&mut harness, &info), &info);
                while harness.try_pull().is_some() {}
                let mut out = Vec::new();
                for time in 0..12 {
                    let buffer = from_pool(&pool, &info, time);
                    let memory = address(&buffer);
                    harness.push(buffer).unwrap();
                    while let Some(buffer) = harness.try_pull() {
                        assert!(depth > 1 || address(&buffer) == memory, "the very same memory");
                        // A copy, so that the memory is used again and again.
                        out.push(buffer.copy_deep().unwrap());
                    }
                }
                harness.push_event(gst::event::Eos::new());
                out.extend(std::iter::from_fn(|| harness.try_pull()));
                assert_eq!(out.len(), 12);
                for pair in out.windows(2) {
                    check_vectors(&info, &parameters(&info), &pair[1], &pair[0]);
                }
            }
        }
    }

    /// Held for the device's failure, the buffer of the reference is shared with downstream; where
    /// nothing has to be held it is downstream's alone.
    #[test]
    fn the_reference_alone_is_held_and_let_go_when_asked_for() {
        let info = gray();
        for (failure, is_held) in [("native", true), ("error", false)] {
            let mut harness = harness(&format!("{DEVICE} on-device-failure={failure}"), &info);
            let answer = answer(&mut harness, &info);
            let least = answer.allocation_pools().next().unwrap().2;
            assert_eq!(least, u32::from(is_held));
            let pool = pool(&answer, &info);
            let mut buffers = vec![pass(&mut harness, &info, 0)];
            for time in 1..4 {
                let buffer = harness.push_and_pull(from_pool(&pool, &info, time)).unwrap();
                assert_eq!(super::is_held(&buffer), is_held);
                if let Some(before) = buffers.last() {
                    assert!(!super::is_held(before), "only the last is held");
                }
                buffers.push(buffer);
            }
            let pad = harness.element().unwrap().static_pad("sink").unwrap();
            // Whether downstream answers does not matter.
            pad.query(gst::query::Drain::new().query_mut());
            assert!(!super::is_held(&buffers[3]), "upstream wants it back");
            buffers.push(pass(&mut harness, &info, 4));
            assert!(!super::is_held(&buffers[4]), "memory of the system is copied");
            buffers.remove(0);
            for pair in buffers.windows(2) {
                check_vectors(&info, &parameters(&info), &pair[1], &pair[0]);
            }
        }
    }

    /// One buffer for upstream and one for downstream: none is left to be held.
    #[test]
    fn of_a_small_pool_nothing_is_held() {
        let info = gray();
        for depth in [1, 4] {
            for (most, is_held) in [(2, false), (3, depth == 1), (2 + depth, true)] {
                let mut harness = harness(&format!("{DEVICE} pipeline-depth={depth}"), &info);
                let pool = pool(&answer(&mut harness, &info), &info);
                pool.set_active(false).unwrap();
                let mut config = pool.config();
                let (caps, size, ..) = config.params().unwrap();
                config.set_params(caps.as_ref(), size, 0, most);
                pool.set_config(config).unwrap();
                pool.set_active(true).unwrap();
                let mut held = 0;
                for time in 0..20 {
                    harness.push(from_pool(&pool, &info, time)).unwrap();
                    while let Some(buffer) = harness.try_pull() {
                        held += usize::from(meta(&buffer).is_some() && super::is_held(&buffer));
                    }
                }
                // Beyond depth 1 a search queued for the device's thread holds its frames for a
                // moment, which is not told from holding them here; a buffer that stayed held
                // would block the loop above.
                if depth == 1 || is_held {
                    assert_eq!(held > 0, is_held, "a pool of {most} at depth {depth}");
                }
            }
        }
    }

    /// Any element may map, copy, share and hold it, and it stays when all else is gone.
    #[test]
    fn it_is_memory_like_any_other_and_outlives_the_element() {
        let info = gray();
        let mut harness = harness(DEVICE, &info);
        let pool = pool(&answer(&mut harness, &info), &info);
        let mut buffers: Vec<_> =
            (0..4).map(|time| harness.push_and_pull(from_pool(&pool, &info, time)).unwrap()).collect();
        buffers.push(buffers[1].copy_region(gst::BufferCopyFlags::MEMORY, 10..20).unwrap());
        drop(harness);
        pool.set_active(false).unwrap();
        drop(pool);
        for (time, buffer) in buffers.iter_mut().enumerate().take(4) {
            assert_eq!(luma(buffer, &info), luma(&frame(&info, time as u64), &info));
            buffer.make_mut().map_writable().unwrap().fill(time as u8);
        }
        let part = buffers[4].map_readable().unwrap();
        assert_eq!(part.len(), 10);
    }

    /// Memory of downstream's choice is not replaced, nor a pool that is none of GStreamer's own.
    #[test]
    fn what_downstream_insists_on_stays() {
        let info = gray();
        let mut harness = harness(DEVICE, &info);
        let theirs = answer(&mut self::harness(DEVICE, &info), &info).allocation_params().next().unwrap().0;
        let insisted = theirs.clone();
        downstream_answers(&harness, move |query| {
            query.add_allocation_param(insisted.as_ref(), gst::AllocationParams::default());
        });
        let ours = answer(&mut harness, &info).allocation_params().next().unwrap().0;
        assert_eq!(ours, theirs);
    }

    /// Elements that take what is offered: none may be the worse for it.
    #[test]
    fn real_elements_take_it() {
        for source in [
            "videotestsrc num-buffers=12 ! video/x-raw,format=I420,width=90,height=60",
            "videotestsrc num-buffers=12 ! video/x-raw,format=RGB,width=90,height=60 ! videoconvert \
             ! video/x-raw,format=NV12",
            "videotestsrc num-buffers=12 ! video/x-raw,format=I420,width=90,height=60 ! x264enc ! avdec_h264",
        ] {
            for tail in ["", "! queue ! videoscale ! video/x-raw,width=90,height=60"] {
                let (samples, message) =
                    run(&format!("{source} ! {DEVICE} pipeline-depth=3 {tail} ! appsink name=sink"));
                assert_eq!(message.type_(), gst::MessageType::Eos, "{message:?}");
                assert_eq!(samples.len(), 12);
                check_samples(&samples, parameters);
                let buffer = samples[1].buffer().unwrap();
                let allocator = buffer.peek_memory(0).allocator().unwrap();
                let is_ours = gst::Allocator::find(None).as_ref() != Some(allocator);
                // The scaler and the decoder's copies have memory of their own.
                assert!(is_ours || !tail.is_empty() || source.contains("avdec"), "{source}");
            }
        }
    }
}
