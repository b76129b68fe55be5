//! What events and queries do to frames that wait is the same in every element in which frames wait.

use std::sync::{Arc, Mutex};

use gst::prelude::*;
use gst_check::Harness;

use super::support::*;

/// Elements in which frames wait for later ones, for searches, or for both.
const ELEMENTS: [&str; 4] = [
    "motionestimate device=native direction=both references=2 pipeline-depth=2",
    "motioncompensate reference-offset=2",
    "motiondenoise device=native future=2 pipeline-depth=2",
    "motioninterpolate device=native pipeline-depth=3",
];

/// A harness around `element`, and what leaves it: the numbers of input frames, and the names of events.
fn recorded(element: &str) -> (Harness, Arc<Mutex<Vec<String>>>) {
    let mut harness = harness(element, &gray());
    // Otherwise `motioninterpolate` makes nothing.
    if element.starts_with("motioninterpolate") {
        harness.set_sink_caps_str("video/x-raw,framerate=50/1");
    }
    let log = Arc::new(Mutex::new(Vec::new()));
    let into = log.clone();
    let pad = harness.element().unwrap().static_pad("src").unwrap();
    pad.add_probe(gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
        let word = match &info.data {
            Some(gst::PadProbeData::Buffer(buffer)) => {
                let time = buffer.pts().unwrap().mseconds();
                (time % 40 == 0).then(|| (time / 40).to_string())
            }
            Some(gst::PadProbeData::Event(event)) => Some(event.type_().name().to_string()),
            _ => None,
        };
        into.lock().unwrap().extend(word);
        gst::PadProbeReturn::Ok
    });
    (harness, log)
}

fn push(harness: &mut Harness, times: std::ops::Range<u64>) {
    times.for_each(|time| assert_eq!(harness.push(frame(&gray(), time)), Ok(gst::FlowSuccess::Ok)));
}

/// What an application waits for before it goes on, such as the next part of a loop after SEGMENT_DONE, comes out behind all
/// frames, and no frame waits for later ones across it.
#[test]
fn what_ends_a_sequence_lets_all_frames_leave_before_it() {
    crate::init();
    let time = gst::ClockTime::from_mseconds(200);
    let segment = gst::FormattedSegment::<gst::ClockTime>::new();
    let ends = [
        gst::event::SegmentDone::new(time),
        gst::event::Segment::new(&segment),
        gst::event::Gap::builder(time).build(),
        gst::event::StreamStart::new("another"),
        gst::event::StreamGroupDone::new(gst::GroupId::next()),
        gst_video::StillFrameEvent::builder(true).build(),
        gst::event::Eos::new(),
    ];
    for element in ELEMENTS {
        for event in &ends {
            let (mut harness, log) = recorded(element);
            push(&mut harness, 0..5);
            assert!(!log.lock().unwrap().contains(&"4".into()), "frames wait in {element}");
            log.lock().unwrap().retain(|word| word.parse::<u32>().is_ok());
            assert!(harness.push_event(event.clone()), "{element} {event:?}");
            let name = event.type_().name().to_string();
            let found = log.lock().unwrap().clone();
            // `motioninterpolate` shows the last frame for its duration.
            let found: Vec<_> = found.into_iter().filter(|word| word != "latency").collect();
            assert_eq!(found, ["0", "1", "2", "3", "4", &name], "{element}");
        }
    }
}

/// An event that ends nothing leaves between the frames between which it came; those that wait for later ones go on to.
#[test]
fn other_events_keep_their_places() {
    for element in ELEMENTS {
        let (mut harness, log) = recorded(element);
        push(&mut harness, 0..5);
        log.lock().unwrap().retain(|word| word.parse::<u32>().is_ok());
        let same_caps = gst::event::Caps::new(&gray().to_caps().unwrap());
        assert!(harness.push_event(same_caps), "{element}");
        assert!(harness.push_event(gst::event::CustomDownstream::new(gst::Structure::new_empty("custom"))));
        push(&mut harness, 5..8);
        assert!(harness.push_event(gst::event::Eos::new()));
        let found: Vec<_> = log
            .lock()
            .unwrap()
            .iter()
            .filter(|word| !["latency", "caps"].contains(&&***word))
            .cloned()
            .collect();
        assert_eq!(found, ["0", "1", "2", "3", "4", "custom-downstream", "5", "6", "7", "eos"], "{element}");
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

/// Upstream gets all its buffers back before a serialized query is answered, and the sequence goes on.
#[test]
fn no_buffer_of_upstream_is_held_after_a_query() {
    for element in ELEMENTS {
        let (mut harness, log) = recorded(element);
        let alive = Arc::new(());
        for time in 0..8 {
            let source = frame(&gray(), time);
            let samples = source.map_readable().unwrap().to_vec();
            let mut buffer = gst::Buffer::from_slice(Watched { samples, _alive: alive.clone() });
            let buffer_ref = buffer.get_mut().unwrap();
            buffer_ref.set_pts(source.pts());
            buffer_ref.set_duration(source.duration());
            harness.push(buffer).unwrap();
            if time == 4 {
                while harness.try_pull().is_some() {}
                assert!(Arc::strong_count(&alive) > 1, "{element} holds buffers");
                let pad = harness.element().unwrap().static_pad("sink").unwrap();
                // Whether downstream answers does not matter.
                pad.query(gst::query::Drain::new().query_mut());
                while harness.try_pull().is_some() {}
                assert_eq!(Arc::strong_count(&alive), 1, "{element}");
            }
        }
        harness.push_event(gst::event::Eos::new());
        let found: Vec<_> =
            log.lock().unwrap().iter().filter(|word| word.parse::<u32>().is_ok()).cloned().collect();
        assert_eq!(found, ["0", "1", "2", "3", "4", "5", "6", "7"], "{element}");
    }
}
