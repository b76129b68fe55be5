//! What ends a sequence: each frame leaves once, in order, and events leave between the same frames as they came.

use gst::prelude::*;
use motion_search::estimator::References;

use super::support::*;

const REFERENCES: References = References { backward: 2, forward: 2 };

/// Checks that what `disturb` does between frames 0 to 3 and frames 4 to 6 divides two sequences.
fn check(disturb: impl FnOnce(&mut gst_check::Harness)) {
    let info = i420();
    let mut harness = harness("motiondenoise device=native", &info);
    push_all(&mut harness, 0..4);
    disturb(&mut harness);
    push_all(&mut harness, 5..7);
    end(&mut harness);
    let found = pull(&mut harness);
    assert_eq!(numbers(&found), [0, 1, 2, 3, 4, 5, 6]);
    let frames: Vec<_> = (0..7).map(|number| frame(&info, number, true)).collect();
    let expected =
        [expected(&info, &frames[..4], REFERENCES), expected(&info, &frames[4..], REFERENCES)].concat();
    for (found, expected) in found.iter().zip(expected) {
        assert!(samples_of(&planes(found, &info).0) == expected, "{:?}", found.pts());
    }
}

#[test]
fn nothing_is_averaged_across_what_ends_a_sequence() {
    let next = || frame(&i420(), 4, true);
    check(|harness| {
        assert!(harness.push_event(gst::event::Gap::builder(DURATION * 4).build()));
        push(harness, next());
    });
    check(|harness| {
        let segment = gst::FormattedSegment::<gst::ClockTime>::new();
        assert!(harness.push_event(gst::event::Segment::new(&segment)));
        push(harness, next());
    });
    check(|harness| {
        assert!(harness.push_event(gst::event::StreamStart::new("another")));
        push(harness, next());
    });
    check(|harness| {
        let mut buffer = next();
        buffer.make_mut().set_flags(gst::BufferFlags::DISCONT);
        push(harness, buffer);
    });
    check(|harness| {
        element(harness).set_property("threads", 1_u32);
        push(harness, next());
    });
}

#[test]
fn new_caps_end_the_sequence() {
    let mut harness = harness("motiondenoise device=native", &i420());
    push_all(&mut harness, 0..3);
    let small = video(gst_video::VideoFormat::Gray8, (24, 16));
    harness.set_src_caps(small.to_caps().unwrap());
    for number in 3..6 {
        push(&mut harness, frame(&small, number, true));
    }
    end(&mut harness);
    let found = pull(&mut harness);
    assert_eq!(numbers(&found), [0, 1, 2, 3, 4, 5]);
    let sizes: Vec<_> = found.iter().map(|buffer| buffer.size() == small.size()).collect();
    assert_eq!(sizes, [false, false, false, true, true, true]);
}

#[test]
fn a_flush_drops_what_waits() {
    let mut harness = harness("motiondenoise device=native", &i420());
    push_all(&mut harness, 0..3);
    assert!(harness.push_event(gst::event::FlushStart::new()));
    assert!(harness.push_event(gst::event::FlushStop::new(true)));
    let segment = gst::FormattedSegment::<gst::ClockTime>::new();
    assert!(harness.push_event(gst::event::Segment::new(&segment)));
    push_all(&mut harness, 10..13);
    end(&mut harness);
    assert_eq!(numbers(&pull(&mut harness)), [0, 10, 11, 12]);
}

#[test]
fn events_leave_behind_the_frames_before_them() {
    init();
    let source = gst_check::Harness::new("motiondenoise");
    let element = source.element().unwrap();
    element.set_property_from_str("device", "native");
    let mut harness = source;
    harness.set_src_caps(i420().to_caps().unwrap());
    let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = order.clone();
    let kinds = gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM;
    element.static_pad("src").unwrap().add_probe(kinds, move |_, info| {
        match &info.data {
            Some(gst::PadProbeData::Buffer(buffer)) => {
                seen.lock().unwrap().push(format!("{}", buffer.pts().unwrap() / DURATION));
            }
            Some(gst::PadProbeData::Event(event)) if event.type_() == gst::EventType::Tag => {
                seen.lock().unwrap().push("tag".into());
            }
            Some(gst::PadProbeData::Event(event)) if event.type_() == gst::EventType::Eos => {
                seen.lock().unwrap().push("end".into());
            }
            _ => (),
        }
        gst::PadProbeReturn::Ok
    });
    let tag = || {
        let mut tags = gst::TagList::new();
        tags.get_mut().unwrap().add::<gst::tags::Title>(&"a title", gst::TagMergeMode::Append);
        gst::event::Tag::new(tags)
    };
    assert!(harness.push_event(tag()));
    push_all(&mut harness, 0..2);
    assert!(harness.push_event(tag()));
    push_all(&mut harness, 2..4);
    end(&mut harness);
    assert_eq!(*order.lock().unwrap(), ["tag", "0", "1", "tag", "2", "3", "end"]);
}

#[test]
fn a_real_pipeline_ends_and_tells_its_statistics() {
    init();
    let pipeline = gst::parse::launch(
        "videotestsrc num-buffers=12 pattern=snow ! video/x-raw,format=NV12,width=80,height=64 \
         ! motiondenoise device=native name=ours ! fakesink",
    );
    let pipeline = pipeline.unwrap().downcast::<gst::Pipeline>().unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    let bus = pipeline.bus().unwrap();
    let mut told = None;
    for message in bus.iter_timed(gst::ClockTime::NONE) {
        match message.view() {
            gst::MessageView::Eos(_) => break,
            gst::MessageView::Error(error) => panic!("{error:?}"),
            gst::MessageView::Element(element) => told = element.structure().map(ToOwned::to_owned),
            _ => (),
        }
    }
    pipeline.set_state(gst::State::Null).unwrap();
    let told = told.expect("statistics");
    assert_eq!((told.name().as_str(), told.get::<u64>("frames-in")), ("denoise-stats", Ok(12)));
    let counts = ["denoised", "untouched"].map(|field| told.get::<u64>(field).unwrap());
    assert_eq!(counts.iter().sum::<u64>(), 12);
}
