//! Fields that do not fit, and buffers that hold less than they promise.

use gst_check::Harness;
use gst_video::{VideoFormat, VideoInfo};
use gstmotionestimate::meta;

use super::support::*;

fn video() -> VideoInfo {
    info(VideoFormat::I420, (61, 47))
}

/// A harness that has seen frame 0.
fn started(launch: &str) -> (VideoInfo, Harness, ElementBus) {
    let info = video();
    let (mut harness, bus) = harness(launch, &info);
    harness.push_and_pull(buffer(&info, &planes(&info, 0), 0, None)).unwrap();
    (info, harness, bus)
}

fn popped(bus: &gst::Bus, kind: gst::MessageType) -> Option<String> {
    bus.pop_filtered(&[kind]).map(|message| match message.view() {
        gst::MessageView::Error(error) => error.error().to_string(),
        gst::MessageView::Warning(warning) => warning.error().to_string(),
        other => panic!("{other:?}"),
    })
}

/// Pushes frame `time` with a sound field; what comes out must be its prediction.
fn check_predicted(harness: &mut Harness, info: &VideoInfo, time: usize, name: &str) {
    let mut input = buffer(info, &planes(info, time), time, None);
    let description = description(info, (16, 16), time);
    let vectors = vectors(&description, time);
    attach(&mut input, &description, &vectors);
    let expected = predicted(info, &description, &vectors, &planes(info, time - 1));
    let out = harness.push_and_pull(input).unwrap();
    assert!(read(info, &out) == expected, "{name}");
}

/// Writes a sound field with `change` made to its structure; the frame must pass as it is, with a warning that holds `text`,
/// and the frames after it are predicted again.
fn check_left_out(text: &str, change: impl Fn(&mut gst::StructureRef)) {
    for launch in ["motioncompensate", "motioncompensate mode=original"] {
        let (info, mut harness, bus) = started(launch);
        let current = planes(&info, 1);
        let mut input = buffer(&info, &current, 1, None);
        let description = description(&info, (16, 16), 1);
        attach(&mut input, &description, &vectors(&description, 1));
        {
            let mut meta = gst::meta::CustomMeta::from_mut_buffer(input.make_mut(), meta::NAME).unwrap();
            change(meta.mut_structure());
        }
        let out = harness.push_and_pull(input).unwrap();
        assert!(read(&info, &out) == current, "{text}");
        let warning = popped(&bus, gst::MessageType::Warning).expect("a warning");
        assert!(warning.contains(text), "{warning} holds {text}");
        if launch == "motioncompensate" {
            check_predicted(&mut harness, &info, 2, text);
        }
    }
}

#[test]
fn fields_that_contradict_caps_or_themselves_are_left_out_and_told() {
    check_left_out("64 x 47 samples came with a frame of 61 x 47", |field| field.set("width", 64u32));
    check_left_out("61 x 47 samples in blocks of 0 x 16", |field| field.set("block-width", 0u32));
    check_left_out("cannot have 5 x 3 vectors", |field| field.set("columns", 5u32));
    check_left_out("cannot have 4 x 4000000000 vectors", |field| field.set("rows", 4_000_000_000u32));
    check_left_out("96 bytes of vectors are needed, there are 95", |field| {
        field.set("vectors", glib::Bytes::from_owned(vec![0; 95]));
    });
    check_left_out("\"vectors\" is missing", |field| field.remove_field("vectors"));
    check_left_out("\"height\" is missing or has a wrong type", |field| field.set("height", 47i32));
    check_left_out("unknown meta version 2", |field| field.set("version", 2u32));
    check_left_out("0 units per sample", |field| field.set("scale", 0u32));
}

#[test]
fn a_pipeline_goes_on_without_a_field_of_another_size() {
    for reader in ["motioncompensate", "motionoverlay", "motionserialize ! text/csv"] {
        let pipeline = crate::fields::launch(&format!(
            "videotestsrc num-buffers=9 ! video/x-raw,format=NV12,width=64,height=48 ! identity name=source ! {reader} \
             ! appsink name=sink"
        ));
        let field = crate::fields::description(32, 48, 16);
        let vectors = vec![Default::default(); field.grid().blocks()];
        crate::fields::attach_after(&pipeline, "source", 1, vec![(field, vectors)]);
        // No row of CSV but the header's is written.
        let size =
            if reader.contains("csv") { |buffer: &gst::Buffer| buffer.size() } else { |_: &gst::Buffer| 0 };
        let buffers = test_support::gstreamer::run(&pipeline);
        assert_eq!(buffers.len(), 9, "{reader}");
        assert!(buffers[1..].iter().all(|buffer| size(buffer) == 0), "{reader}");
    }
}

/// A field for another reference: the frame passes as it is, with one warning for all.
fn check_passed(
    (text, advice): (&str, &str),
    change: impl Fn(&mut gstmotionestimate::meta::FieldDescription),
) {
    for mode in ["prediction", "residual", "original"] {
        let (info, mut harness, bus) = started(&format!("motioncompensate measure=psnr mode={mode}"));
        for time in 1..3 {
            let current = planes(&info, time);
            let mut input = buffer(&info, &current, time, None);
            let mut description = description(&info, (16, 16), time);
            change(&mut description);
            attach(&mut input, &description, &vectors(&description, time));
            let out = harness.push_and_pull(input).unwrap();
            assert!(read(&info, &out) == current, "{text} {mode}");
            assert_eq!(quality(&out), None);
        }
        let warning = popped(&bus, gst::MessageType::Warning).expect("a warning");
        assert!(warning.contains(text) && warning.contains(advice), "{warning}");
        assert_eq!(popped(&bus, gst::MessageType::Warning), None, "told once");
        assert_eq!(popped(&bus, gst::MessageType::Error), None);
    }
}

#[test]
fn references_that_are_not_here_are_warned_of() {
    let advice = "reference-offset chooses another";
    check_passed(("the frame at offset 1", advice), |field| field.reference_offset = 1);
    check_passed(("the frame at offset -2", advice), |field| field.reference_offset = -2);
    let other = gst::ClockTime::from_mseconds(7);
    check_passed(("the frame at 0:00:00.007", "right behind motionestimate"), |field| {
        field.reference_pts = Some(other)
    });
}

/// Of several fields the one that refers to the frame before is used.
#[test]
fn other_fields_are_passed_over() {
    let (info, mut harness, bus) = started("motioncompensate");
    for first in [true, false] {
        harness.push_and_pull(buffer(&info, &planes(&info, 4), 4, None)).unwrap();
        let mut input = buffer(&info, &planes(&info, 5), 5, None);
        let sound = description(&info, (16, 16), 5);
        let mut later = sound.clone();
        later.reference_offset = 1;
        let used = vectors(&sound, 5);
        let fields = [(&sound, &used), (&later, &vectors(&sound, 9))];
        for (description, vectors) in if first { [fields[0], fields[1]] } else { [fields[1], fields[0]] } {
            attach(&mut input, description, vectors);
        }
        let expected = predicted(&info, &sound, &used, &planes(&info, 4));
        assert!(read(&info, &harness.push_and_pull(input).unwrap()) == expected);
    }
    assert_eq!(popped(&bus, gst::MessageType::Warning), None);
}

/// Without timestamps nothing contradicts.
#[test]
fn frames_without_timestamps_are_predicted() {
    let info = video();
    let (mut harness, _bus) = harness("motioncompensate", &info);
    for time in 0..3 {
        let mut input = buffer(&info, &planes(&info, time), time, None);
        input.make_mut().set_pts(gst::ClockTime::NONE);
        let mut expected = planes(&info, time);
        if time > 0 {
            let mut description = description(&info, (16, 16), time);
            description.reference_pts = None;
            let vectors = vectors(&description, time);
            attach(&mut input, &description, &vectors);
            expected = predicted(&info, &description, &vectors, &planes(&info, time - 1));
        }
        assert!(read(&info, &harness.push_and_pull(input).unwrap()) == expected);
    }
}

#[test]
fn the_reference_is_forgotten_where_the_sequence_ends() {
    let caps = || video().to_caps().unwrap();
    let segment = || gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new());
    type End = (&'static str, Box<dyn Fn(&mut Harness)>);
    let ends: [End; 5] = [
        (
            "flush",
            Box::new(move |harness| {
                assert!(harness.push_event(gst::event::FlushStart::new()));
                assert!(harness.push_event(gst::event::FlushStop::new(true)));
                assert!(harness.push_event(segment()));
            }),
        ),
        ("segment", Box::new(move |harness| assert!(harness.push_event(segment())))),
        (
            "gap",
            Box::new(|harness| {
                assert!(harness.push_event(gst::event::Gap::new(gst::ClockTime::ZERO, gst::ClockTime::ZERO)));
            }),
        ),
        (
            "stream start",
            Box::new(move |harness| {
                assert!(harness.push_event(gst::event::StreamStart::new("next")));
                assert!(harness.push_event(gst::event::Caps::new(&caps())));
                assert!(harness.push_event(segment()));
            }),
        ),
        (
            "caps",
            Box::new(|harness| {
                let mut other = caps_of(30);
                assert!(harness.push_event(gst::event::Caps::new(&other)));
                other = caps_of(25);
                assert!(harness.push_event(gst::event::Caps::new(&other)));
            }),
        ),
    ];
    for (name, end) in ends {
        let (info, mut harness, _bus) = started("motioncompensate");
        check_predicted(&mut harness, &info, 1, name);
        end(&mut harness);
        let current = planes(&info, 2);
        let mut input = buffer(&info, &current, 2, None);
        let description = description(&info, (16, 16), 2);
        attach(&mut input, &description, &vectors(&description, 2));
        assert!(read(&info, &harness.push_and_pull(input).unwrap()) == current, "{name}");
        check_predicted(&mut harness, &info, 3, name);
    }
}

fn caps_of(rate: i32) -> gst::Caps {
    let size = (61, 47);
    let fps = gst::Fraction::new(rate, 1);
    VideoInfo::builder(VideoFormat::I420, size.0, size.1).fps(fps).build().unwrap().to_caps().unwrap()
}

#[test]
fn a_discontinuity_ends_the_sequence() {
    let (info, mut harness, bus) = started("motioncompensate");
    let current = planes(&info, 1);
    let mut input = buffer(&info, &current, 1, None);
    input.make_mut().set_flags(gst::BufferFlags::DISCONT);
    assert!(read(&info, &harness.push_and_pull(input).unwrap()) == current);
    check_predicted(&mut harness, &info, 2, "after it");
    assert_eq!(popped(&bus, gst::MessageType::Warning), None);
}

#[test]
fn buffers_that_hold_less_than_they_promise_are_dropped_with_a_warning() {
    for mode in ["prediction", "original"] {
        let short = |info: &VideoInfo| {
            let mut buffer = buffer(info, &planes(info, 1), 1, None);
            buffer.make_mut().set_size(info.size() - 1);
            buffer
        };
        let lying = |info: &VideoInfo| {
            let mut buffer = buffer(info, &planes(info, 1), 1, Some(3));
            let size = buffer.size();
            buffer.make_mut().set_size(size - size / 5);
            buffer
        };
        let cases: [&dyn Fn(&VideoInfo) -> gst::Buffer; 3] = [&short, &lying, &|_| gst::Buffer::new()];
        for case in cases {
            let (info, mut harness, bus) = started(&format!("motioncompensate measure=psnr mode={mode}"));
            let mut input = case(&info);
            let description = description(&info, (16, 16), 1);
            input.make_mut().set_pts(gst::ClockTime::from_mseconds(40));
            attach(&mut input, &description, &vectors(&description, 1));
            assert_eq!(harness.push(input), Ok(gst::FlowSuccess::Ok));
            assert!(harness.try_pull().is_none());
            let warning = popped(&bus, gst::MessageType::Warning).expect("a warning");
            assert!(warning.contains("does not hold the frame its caps promise"), "{warning}");
            assert_eq!(popped(&bus, gst::MessageType::Error), None);
        }
    }
}
