//! Several frames in flight: the same buffers in the same order, and none lost.

use std::sync::{Arc, Mutex};

use gst::prelude::*;
use gst_check::Harness;
use gst_video::VideoFormat;
use motion_search::backend;

use super::support::*;

const DEPTHS: [u32; 4] = [1, 2, 4, 16];

/// Directions and numbers of references.
const REFERENCES: [&str; 3] = ["", "direction=both references=2", "direction=forward references=4"];

fn deep(device: &str, depth: u32) -> String {
    format!(
        "motionestimate device={device} block-size=8 search-range=5 prediction=median pipeline-depth={depth}"
    )
}

fn devices() -> Vec<String> {
    backend::devices().iter().map(|device| device.selector.to_string()).collect()
}

/// What comes out of the element, in words: events by their name, buffers with all they bear.
fn record(harness: &mut Harness) -> Arc<Mutex<Vec<String>>> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let into = log.clone();
    let kinds =
        gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM | gst::PadProbeType::EVENT_FLUSH;
    let pad = harness.find_element("motionestimate").unwrap().static_pad("src").unwrap();
    pad.add_probe(kinds, move |_, info| {
        let words = match &info.data {
            Some(gst::PadProbeData::Buffer(buffer)) => {
                let fields = metas(buffer);
                let vectors = fields.iter().map(|meta| {
                    let of = meta.description();
                    ((of.reference_offset, of.reference_pts), meta.vectors(), meta.predictors())
                });
                let vectors: Vec<_> = vectors.collect();
                let at = (buffer.pts(), buffer.duration(), buffer.flags());
                format!("{at:?} {:?} {vectors:?}", buffer.map_readable().unwrap().len())
            }
            Some(gst::PadProbeData::Event(event)) => event.type_().name().to_string(),
            other => format!("{other:?}"),
        };
        into.lock().unwrap().push(words);
        gst::PadProbeReturn::Ok
    });
    log
}

fn tags(title: &str) -> gst::Event {
    let mut tags = gst::TagList::new();
    tags.make_mut().add::<gst::tags::Title>(&title, gst::TagMergeMode::Append);
    gst::event::Tag::new(tags)
}

/// Everything that may happen to a stream, and what came out.
fn eventful(device: &str, depth: u32, references: &str) -> Vec<String> {
    let info = gray();
    let mut harness = harness(&format!("{} {references}", deep(device, depth)), &info);
    let element = harness.find_element("motionestimate").unwrap();
    let log = record(&mut harness);
    let mut time = 0;
    let mut push = |harness: &mut Harness, info: &gst_video::VideoInfo, count: u64, discont: bool| {
        for index in 0..count {
            let mut buffer = frame(info, time);
            if discont && index == 0 {
                buffer.make_mut().set_flags(gst::BufferFlags::DISCONT);
            }
            assert_eq!(harness.push(buffer), Ok(gst::FlowSuccess::Ok));
            time += 1;
        }
    };
    push(&mut harness, &info, 7, true);
    harness.push_event(tags("one"));
    push(&mut harness, &info, 1, false);
    harness.push_event(tags("two"));
    push(&mut harness, &info, 5, false);
    push(&mut harness, &info, 4, true);
    harness.push_event(gst::event::Gap::builder(gst::ClockTime::from_mseconds(80)).build());
    push(&mut harness, &info, 6, false);
    element.set_property("search-range", 3u32);
    push(&mut harness, &info, 6, false);
    harness.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
    push(&mut harness, &info, 5, false);
    let other = self::info(VideoFormat::Nv12, (80, 33));
    harness.push_event(gst::event::Caps::new(&other.to_caps().unwrap()));
    push(&mut harness, &other, 5, false);
    harness.push_event(gst::event::Eos::new());
    let log = std::mem::take(&mut *log.lock().unwrap());
    // Latency is no event of the stream.
    log.into_iter().filter(|words| words != "latency").collect()
}

#[test]
fn every_depth_gives_the_same_buffers_and_events_in_the_same_order() {
    for references in REFERENCES {
        let expected = eventful("native", 1, references);
        assert_eq!(expected.iter().filter(|words| words.starts_with('(')).count(), 39);
        assert_eq!(expected.last().map(String::as_str), Some("eos"));
        for device in devices() {
            for depth in DEPTHS {
                let found = eventful(&device, depth, references);
                for (index, (expected, found)) in expected.iter().zip(&found).enumerate() {
                    assert_eq!(expected, found, "{index} on {device} at depth {depth} with {references}");
                }
                assert_eq!(expected.len(), found.len());
            }
        }
    }
}

#[test]
fn as_many_wait_as_are_asked_for() {
    let info = gray();
    for device in devices() {
        for depth in DEPTHS {
            let mut harness = harness(&deep(&device, depth), &info);
            for time in 0..20 {
                harness.push(frame(&info, time)).unwrap();
                // The first waits for nobody.
                let waiting = u32::try_from(time).unwrap().min(depth - 1);
                assert_eq!(harness.buffers_received(), time as u32 + 1 - waiting);
            }
        }
    }
}

/// A change of depth while playing holds from the next frame on.
#[test]
fn depth_and_threads_change_while_playing() {
    let info = gray();
    for device in devices() {
        let mut harness = harness(&deep(&device, 1), &info);
        let element = harness.find_element("motionestimate").unwrap();
        for (time, depth) in (0..30).zip([1, 1, 1, 4, 4, 4, 4, 4, 4, 2, 2, 2, 1, 1, 16].into_iter().cycle()) {
            element.set_property("pipeline-depth", depth as u32);
            element.set_property("threads", 1 + depth as u32 % 3);
            harness.push(frame(&info, time)).unwrap();
        }
        harness.push_event(gst::event::Eos::new());
        let buffers: Vec<_> = (0..30).map(|_| harness.pull().unwrap()).collect();
        check_sequence(&info, &parameters(&info), &buffers);
    }
}

#[test]
fn flush_drops_what_is_in_flight_and_leaves_nothing() {
    let info = gray();
    for device in devices() {
        let mut harness = harness(&deep(&device, 4), &info);
        for round in 0..20 {
            let first = 10 * round;
            for time in first..first + 3 {
                harness.push(frame(&info, time)).unwrap();
            }
            harness.push_event(gst::event::FlushStart::new());
            harness.push_event(gst::event::FlushStop::new(true));
            while harness.try_pull().is_some() {}
            harness.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
            for time in first + 3..first + 6 {
                harness.push(frame(&info, time)).unwrap();
            }
            harness.push_event(tags("drains"));
            let buffers: Vec<_> = std::iter::from_fn(|| harness.try_pull()).collect();
            let expected: Vec<_> = (first + 3..first + 6).map(|time| frame(&info, time).pts()).collect();
            assert_eq!(buffers.iter().map(|buffer| buffer.pts()).collect::<Vec<_>>(), expected);
            check_sequence(&info, &parameters(&info), &buffers);
        }
    }
}

#[test]
fn a_drain_query_lets_all_buffers_go() {
    let info = gray();
    let mut harness = harness(&deep("native", 4), &info);
    for time in 0..4 {
        harness.push(frame(&info, time)).unwrap();
    }
    assert_eq!(harness.buffers_received(), 1);
    let pad = harness.element().unwrap().static_pad("sink").unwrap();
    // Whether downstream answers does not matter.
    pad.query(gst::query::Drain::new().query_mut());
    assert_eq!(harness.buffers_received(), 4);
}

#[test]
fn up_and_down_with_frames_in_flight() {
    for device in devices() {
        init();
        let pipeline = gst::parse::launch(&format!(
            "videotestsrc pattern=ball ! video/x-raw,format=GRAY8,width=61,height=47 ! {} \
             ! appsink name=sink sync=false max-buffers=2",
            deep(&device, 4)
        ))
        .unwrap()
        .downcast::<gst::Pipeline>()
        .unwrap();
        let sink = pipeline.by_name("sink").unwrap().downcast::<gst_app::AppSink>().unwrap();
        for _ in 0..30 {
            pipeline.set_state(gst::State::Playing).unwrap();
            let samples: Vec<_> = (0..3).map(|_| sink.pull_sample().unwrap()).collect();
            check_samples(&samples, parameters);
            pipeline.set_state(gst::State::Null).unwrap();
        }
        // And a seek, which flushes while frames flow.
        pipeline.set_state(gst::State::Playing).unwrap();
        pipeline.state(gst::ClockTime::NONE).0.unwrap();
        for second in 1..20 {
            let to = gst::ClockTime::from_seconds(second % 3);
            pipeline.seek_simple(gst::SeekFlags::FLUSH, to).unwrap();
            let samples: Vec<_> = (0..2).map(|_| sink.pull_sample().unwrap()).collect();
            check_samples(&samples, parameters);
        }
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

#[test]
fn a_frame_that_cannot_be_read_lets_those_before_it_pass() {
    let info = gray();
    for device in devices() {
        let mut harness = harness(&deep(&device, 4), &info);
        for time in 0..3 {
            harness.push(frame(&info, time)).unwrap();
        }
        let mut short = gst::Buffer::from_mut_slice(vec![0; 10]);
        short.make_mut().set_pts(gst::ClockTime::ZERO);
        assert_eq!(harness.push(short), Ok(gst::FlowSuccess::Ok), "it is dropped, with a warning");
        for time in 3..5 {
            harness.push(frame(&info, time)).unwrap();
        }
        harness.push_event(gst::event::Eos::new());
        let before: Vec<_> = (0..3).map(|_| harness.try_pull().unwrap()).collect();
        check_sequence(&info, &parameters(&info), &before);
        let after: Vec<_> = (0..2).map(|_| harness.try_pull().unwrap()).collect();
        check_sequence(&info, &parameters(&info), &after);
    }
}

/// Who writes to few buffers is told how many more it needs, and is not left waiting where it has
/// them not.
#[test]
fn a_pool_of_few_buffers_does_not_starve() {
    let info = gray();
    for most in [2, 3, 4, 9] {
        let mut harness = harness(&deep("native", 4), &info);
        let pool = gst::BufferPool::new();
        let mut config = pool.config();
        config.set_params(Some(&info.to_caps().unwrap()), info.size() as u32, 0, most);
        pool.set_config(config).unwrap();
        pool.set_active(true).unwrap();
        let mut buffers = Vec::new();
        for time in 0..20 {
            let params = gst::BufferPoolAcquireParams::with_flags(gst::BufferPoolAcquireFlags::DONTWAIT);
            let mut buffer = pool.acquire_buffer(Some(&params)).expect("one that nobody holds");
            let source = frame(&info, time);
            buffer.get_mut().unwrap().copy_from_slice(0, &source.map_readable().unwrap()).unwrap();
            buffer.get_mut().unwrap().set_pts(source.pts());
            harness.push(buffer).unwrap();
            // Downstream holds one, as a sink does with the last.
            while let Some(buffer) = harness.try_pull() {
                buffers.push(buffer.copy_deep().unwrap());
            }
        }
        harness.push_event(gst::event::Eos::new());
        buffers.extend(std::iter::from_fn(|| harness.try_pull()).map(|buffer| buffer.copy_deep().unwrap()));
        assert_eq!(buffers.len(), 20);
    }
}
