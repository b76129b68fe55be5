//! Several reference frames, earlier and later ones: which fields each buffer has, and when it leaves.

use std::sync::Arc;

use gst::prelude::*;
use gst_check::Harness;
use gst_video::{VideoFormat, VideoInfo};
use gstmotionestimate::motionestimate::MotionEstimateDirection;
use motion_search::backend;
use motion_search::estimator::{Algorithm, Parameters, Prediction, References};

use super::support::*;
use crate::support::pull as pulled;

/// Directions with what they search in.
const DIRECTIONS: [(&str, usize, usize); 7] = [
    ("direction=backward references=2", 2, 0),
    ("direction=backward references=4", 4, 0),
    ("direction=forward", 0, 1),
    ("direction=forward references=3", 0, 3),
    ("direction=both", 1, 1),
    ("direction=both references=2", 2, 2),
    ("direction=both references=4", 4, 4),
];

fn devices() -> Vec<String> {
    backend::devices().iter().map(|device| device.selector.to_string()).collect()
}

/// What a launch line with these references searches for.
fn searched(info: &VideoInfo, backward: usize, forward: usize) -> Parameters {
    Parameters { references: References { backward, forward }, ..parameters(info) }
}

fn launch(device: &str, settings: &str) -> String {
    format!("motionestimate device={device} block-size=8 search-range=5 {settings}")
}

fn push(harness: &mut Harness, info: &VideoInfo, times: std::ops::Range<u64>) {
    times.for_each(|time| assert_eq!(harness.push(frame(info, time)), Ok(gst::FlowSuccess::Ok)));
}

#[test]
fn every_frame_has_the_fields_of_its_references() {
    let info = gray();
    for device in devices() {
        for (settings, backward, forward) in DIRECTIONS {
            for depth in [1, 4] {
                let launch = launch(&device, &format!("{settings} pipeline-depth={depth}"));
                let mut harness = harness(&launch, &info);
                push(&mut harness, &info, 0..12);
                harness.push_event(gst::event::Eos::new());
                let buffers = pulled(&mut harness);
                assert_eq!(buffers.len(), 12, "{launch}");
                check_all_fields(&info, &searched(&info, backward, forward), &buffers);
            }
        }
    }
}

#[test]
fn algorithms_splits_and_predictions_give_the_same_fields() {
    let info = gray();
    let others = [
        ("algorithm=three-step", Algorithm::ThreeStep),
        ("algorithm=hierarchical", Algorithm::Hierarchical),
        ("kernel=elimination", Algorithm::Full),
        ("prediction=median", Algorithm::Full),
    ];
    for device in devices() {
        for (settings, algorithm) in others {
            let launch = launch(&device, &format!("{settings} direction=both references=2 pipeline-depth=3"));
            let mut harness = harness(&launch, &info);
            push(&mut harness, &info, 0..8);
            harness.push_event(gst::event::Eos::new());
            let parameters = Parameters { algorithm, ..searched(&info, 2, 2) };
            check_all_fields(&info, &parameters, &pulled(&mut harness));
        }
    }
    let list = if cfg!(feature = "opencl") { "0:0,native" } else { "native," };
    for split in ["rows", "candidates", "frames"] {
        for depth in [1, 4] {
            for balance in ["adaptive", "static"] {
                let settings = format!("split={split} balance={balance} direction=both references=2");
                let launch = launch(list, &format!("{settings} pipeline-depth={depth}"));
                let mut harness = harness(&launch, &info);
                push(&mut harness, &info, 0..12);
                harness.push_event(gst::event::Eos::new());
                check_all_fields(&info, &searched(&info, 2, 2), &pulled(&mut harness));
            }
        }
    }
}

/// A buffer waits for its later reference frames, and for as many others as the depth allows.
#[test]
fn later_references_are_waited_for() {
    let info = gray();
    for device in devices() {
        for (settings, _, forward) in DIRECTIONS {
            for depth in [1, 4] {
                let mut harness =
                    harness(&launch(&device, &format!("{settings} pipeline-depth={depth}")), &info);
                let waited = depth - 1 + forward as u64;
                for time in 0..12 {
                    push(&mut harness, &info, time..time + 1);
                    // Without later references the first frame has nothing to wait for.
                    let waiting = if forward == 0 { time.min(waited) } else { (time + 1).min(waited) };
                    assert_eq!(u64::from(harness.buffers_received()), time + 1 - waiting, "{settings}");
                }
            }
        }
    }
}

#[test]
fn fields_change_with_the_direction() {
    let info = gray();
    let mut harness = harness(&launch("native", ""), &info);
    let element = harness.find_element("motionestimate").unwrap();
    push(&mut harness, &info, 0..3);
    element.set_property("direction", MotionEstimateDirection::Both);
    element.set_property("references", 3u32);
    push(&mut harness, &info, 3..8);
    element.set_property("direction", MotionEstimateDirection::Backward);
    push(&mut harness, &info, 8..10);
    let buffers = pulled(&mut harness);
    // Those that waited left with what they had, and the next ones have what was kept for them.
    let offsets = |index: usize| -> Vec<i32> {
        metas(&buffers[index]).iter().map(|meta| meta.description().reference_offset).collect()
    };
    let all: Vec<_> = (0..10).map(offsets).collect();
    let expected: [&[i32]; 10] = [
        &[],
        &[-1],
        &[-1],
        &[-1, 1, 2, 3],
        &[-1, -2, 1, 2, 3],
        &[-1, -2, -3, 1, 2],
        &[-1, -2, -3, 1],
        &[-1, -2, -3],
        &[-1, -2, -3],
        &[-1, -2, -3],
    ];
    assert_eq!(all, expected);
    for (index, current) in buffers.iter().enumerate() {
        for meta in metas(current) {
            let offset = meta.description().reference_offset;
            let reference = &buffers[(index as i32 + offset) as usize];
            check_field(&info, &parameters(&info), &meta, current, (offset, reference));
        }
    }
}

/// What ends a sequence lets the frames before it go with the fields that exist.
#[test]
fn what_ends_a_sequence_ends_it_on_both_sides() {
    let info = gray();
    let parameters = searched(&info, 3, 3);
    let segment = || gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new());
    for device in devices() {
        for depth in [1, 4] {
            let settings = format!("direction=both references=3 pipeline-depth={depth}");
            let mut harness = harness(&launch(&device, &settings), &info);
            let check_end = |harness: &mut Harness, count: usize| {
                let buffers = pulled(harness);
                assert_eq!(buffers.len(), count);
                check_all_fields(&info, &parameters, &buffers);
            };
            push(&mut harness, &info, 0..6);
            harness.push_event(gst::event::Gap::builder(gst::ClockTime::from_mseconds(240)).build());
            check_end(&mut harness, 6);
            push(&mut harness, &info, 7..9);
            harness.push_event(segment());
            check_end(&mut harness, 2);
            push(&mut harness, &info, 20..26);
            let mut discont = frame(&info, 40);
            discont.make_mut().set_flags(gst::BufferFlags::DISCONT);
            harness.push(discont).unwrap();
            check_end(&mut harness, 6);
            push(&mut harness, &info, 41..43);
            // The caps of a frame of another size.
            let other = self::info(VideoFormat::Nv12, (80, 33));
            harness.push_event(gst::event::Caps::new(&other.to_caps().unwrap()));
            check_end(&mut harness, 3);
            push(&mut harness, &other, 43..45);
            harness.push_event(gst::event::Eos::new());
            let buffers = pulled(&mut harness);
            assert_eq!(buffers.len(), 2);
            check_all_fields(&other, &searched(&other, 3, 3), &buffers);
        }
    }
}

#[test]
fn a_flush_drops_what_waits_but_no_sticky_event() {
    let info = gray();
    for device in devices() {
        let settings = "direction=both references=2 pipeline-depth=2";
        let mut harness = harness(&launch(&device, settings), &info);
        push(&mut harness, &info, 0..2);
        let mut tags = gst::TagList::new();
        tags.make_mut().add::<gst::tags::Title>(&"kept", gst::TagMergeMode::Append);
        harness.push_event(gst::event::Tag::new(tags));
        let custom = gst::Structure::new_empty("dropped");
        harness.push_event(gst::event::CustomDownstream::new(custom));
        harness.push_event(gst::event::FlushStart::new());
        harness.push_event(gst::event::FlushStop::new(true));
        harness.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
        let events: Vec<_> = std::iter::from_fn(|| harness.try_pull_event()).collect();
        assert_eq!(events.iter().filter(|event| event.type_() == gst::EventType::Tag).count(), 1);
        assert!(events.iter().all(|event| event.type_() != gst::EventType::CustomDownstream));
        assert!(harness.try_pull().is_none());
        push(&mut harness, &info, 10..15);
        harness.push_event(gst::event::Eos::new());
        let buffers = pulled(&mut harness);
        assert_eq!(buffers.len(), 5);
        check_all_fields(&info, &searched(&info, 2, 2), &buffers);
    }
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

/// Upstream gets its buffers back for a query, and no frame loses a field.
#[test]
fn a_query_copies_what_waits_and_ends_nothing() {
    let info = gray();
    for device in devices() {
        let settings = "direction=both references=2 pipeline-depth=2";
        let mut harness = harness(&launch(&device, settings), &info);
        let alive = Arc::new(());
        for time in 0..10 {
            let source = frame(&info, time);
            let samples = source.map_readable().unwrap().to_vec();
            let mut buffer = gst::Buffer::from_slice(Watched { samples, _alive: alive.clone() });
            buffer.get_mut().unwrap().set_pts(source.pts());
            harness.push(buffer).unwrap();
            if time == 5 {
                let pad = harness.element().unwrap().static_pad("sink").unwrap();
                // Whether downstream answers does not matter.
                pad.query(gst::query::Drain::new().query_mut());
                let sent = harness.buffers_received() as usize;
                assert_eq!(Arc::strong_count(&alive), 1 + sent, "only downstream has buffers");
            }
        }
        harness.push_event(gst::event::Eos::new());
        let buffers = pulled(&mut harness);
        assert_eq!(buffers.len(), 10);
        check_all_fields(&info, &searched(&info, 2, 2), &buffers);
    }
}

/// A pool of fewer buffers than have to wait does not block, and no field is missing.
#[test]
fn a_small_pool_is_enough() {
    let info = gray();
    for device in devices() {
        for (settings, backward, forward) in
            [("direction=forward references=4", 0, 4), ("direction=both references=2", 2, 2)]
        {
            for (depth, most) in [(1, 2), (1, 4), (4, 3), (4, 5), (4, 12)] {
                let launch = launch(&device, &format!("{settings} pipeline-depth={depth}"));
                let mut harness = harness(&launch, &info);
                let pool = gst::BufferPool::new();
                let mut config = pool.config();
                config.set_params(Some(&info.to_caps().unwrap()), info.size() as u32, 0, most);
                pool.set_config(config).unwrap();
                pool.set_active(true).unwrap();
                let mut buffers = Vec::new();
                for time in 0..12 {
                    let params =
                        gst::BufferPoolAcquireParams::with_flags(gst::BufferPoolAcquireFlags::DONTWAIT);
                    let mut buffer = pool.acquire_buffer(Some(&params)).expect("one that nobody holds");
                    let source = frame(&info, time);
                    buffer.get_mut().unwrap().copy_from_slice(0, &source.map_readable().unwrap()).unwrap();
                    buffer.get_mut().unwrap().set_pts(source.pts());
                    harness.push(buffer).unwrap();
                    buffers.extend(pulled(&mut harness).iter().map(|buffer| buffer.copy_deep().unwrap()));
                }
                harness.push_event(gst::event::Eos::new());
                buffers.extend(pulled(&mut harness));
                assert_eq!(buffers.len(), 12, "{launch} with a pool of {most}");
                check_all_fields(&info, &searched(&info, backward, forward), &buffers);
            }
        }
    }
}

#[test]
fn upstream_is_asked_for_the_buffers_that_wait() {
    let info = gray();
    for (settings, depth, held) in [
        ("direction=backward references=4", 1, 0),
        ("direction=forward references=2", 1, 2),
        ("direction=both references=3", 4, 6),
    ] {
        let mut harness = harness(&launch("native", &format!("{settings} pipeline-depth={depth}")), &info);
        push(&mut harness, &info, 0..1);
        let mut query = gst::query::Allocation::new(Some(&info.to_caps().unwrap()), true);
        harness.element().unwrap().static_pad("sink").unwrap().query(query.query_mut());
        let asked = query.allocation_pools().next().map_or(0, |(_, _, least, _)| least);
        assert_eq!(asked, held, "{settings} at depth {depth}");
    }
}

#[test]
fn statistics_count_frames_and_fields() {
    let info = gray();
    let mut harness = harness(&launch("native", "direction=both references=2"), &info);
    let element = harness.find_element("motionestimate").unwrap();
    push(&mut harness, &info, 0..6);
    harness.push_event(gst::event::Eos::new());
    let buffers = pulled(&mut harness);
    let fields: usize = buffers.iter().map(|buffer| metas(buffer).len()).sum();
    assert_eq!(fields, 2 * (5 + 4));
    let stats: gst::Structure = element.property("stats");
    assert_eq!(stats.get::<u64>("frames"), Ok(6));
    assert_eq!(stats.get::<u64>("frames-with-vectors"), Ok(6));
    assert_eq!(stats.get::<u64>("fields"), Ok(fields as u64));
    // The mean time is cut to whole nanoseconds, the rate is not.
    let differences = f64::from(info.width() * info.height() * 11 * 11);
    let nanoseconds = 1e9 * differences / stats.get::<f64>("effective-rate").unwrap();
    assert!((nanoseconds - stats.get::<u64>("search-time").unwrap() as f64).abs() < 2.0, "{stats}");
}

#[test]
fn each_field_has_its_predictors() {
    use motion_search::estimator::prediction::median_predictors;
    let info = gray();
    let mut harness = harness(&launch("native", "direction=both prediction=median"), &info);
    push(&mut harness, &info, 0..4);
    harness.push_event(gst::event::Eos::new());
    let parameters = Parameters { prediction: Prediction::Median, ..searched(&info, 1, 1) };
    for buffer in pulled(&mut harness) {
        for meta in metas(&buffer) {
            let expected = median_predictors(parameters.grid(), meta.vectors());
            assert_eq!(meta.predictors(), Some(&expected[..]));
        }
    }
}

#[test]
fn real_elements_get_every_field() {
    let (samples, message) = run("videotestsrc num-buffers=10 pattern=ball \
         ! video/x-raw,format=I420,width=90,height=60 ! queue \
         ! motionestimate device=native block-size=8 search-range=5 direction=both references=2 \
         ! queue ! appsink name=sink");
    assert_eq!(message.type_(), gst::MessageType::Eos, "{message:?}");
    let info = VideoInfo::from_caps(samples[0].caps().unwrap()).unwrap();
    let buffers: Vec<_> = samples.iter().map(|sample| sample.buffer_owned().unwrap()).collect();
    assert_eq!(buffers.len(), 10);
    check_all_fields(&info, &searched(&info, 2, 2), &buffers);
}

/// A second element replaces the fields of the first, or adds its own.
#[test]
fn fields_of_another_element_are_replaced_or_kept() {
    let info = gray();
    for (keeps, sizes) in [(false, vec![16]), (true, vec![8, 16])] {
        let first = "motionestimate device=native block-size=8 search-range=2";
        let launch = format!(
            "{first} ! motionestimate device=native block-size=16 search-range=2 keep-fields={keeps}"
        );
        let mut harness = harness(&launch, &info);
        push(&mut harness, &info, 0..3);
        let buffers = pulled(&mut harness);
        assert!(metas(&buffers[0]).is_empty());
        for buffer in &buffers[1..] {
            let found: Vec<u32> = metas(buffer).iter().map(|meta| meta.description().block_width).collect();
            assert_eq!(found, sizes);
        }
    }
}
