//! What cannot be searched is an error that says why, and the pipeline stops cleanly.

use gst::prelude::*;
use gst_video::{VideoFormat, VideoInterlaceMode};

use super::support::*;

const SOURCE: &str = "videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,width=64,height=48";

fn failure(settings: &str) -> String {
    let (samples, message) = run(&format!("{SOURCE} ! motionestimate {settings} ! appsink name=sink"));
    assert!(samples.is_empty());
    error_text(&message)
}

#[test]
fn wrong_block_size() {
    assert_eq!(
        failure("block-size=10"),
        "block size 10 is not supported by algorithm full: use a multiple of 4 from 4 to 64"
    );
    assert_eq!(
        failure("algorithm=hierarchical block-size=12"),
        "block size 12 is not supported by algorithm hierarchical: use 4, 8, 16, 32 or 64"
    );
}

#[test]
fn hierarchical_search_has_its_own_precision() {
    assert_eq!(
        failure("algorithm=hierarchical sub-sample=quarter"),
        "refinement to quarter samples does not apply to algorithm hierarchical, whose vectors are in 1/32 sample: leave \
         it out, or use algorithm full or three-step (sub-sample=none)"
    );
}

#[test]
fn windows_that_no_search_has() {
    let text = |window: &str| {
        format!(
            "\"{window}\" is no search window: use the side of the searched area in samples, such as 47, or the first and \
             last displacements in samples as x0,x1,y0,y1, such as -16,15,-16,15"
        )
    };
    for window in ["wide", "-4", "1,2,3", "-1,1,-1,1,0", "-1;1;-1;1", "1e3,4,5,6", ","] {
        assert_eq!(failure(&format!("search-window={window}")), text(window));
    }
    assert_eq!(
        failure("search-window=15"),
        "a searched area of 15 x 15 samples does not hold a block of 16: use a side of 16 or more"
    );
    assert!(failure("search-window=1,4,-2,2").contains("it must hold (0, 0)"));
    assert!(failure("search-window=99999999999").contains("within ±"));
    assert!(failure("search-window=-1,1,-1,99999").contains("within ±"));
    assert_eq!(
        failure("algorithm=hierarchical search-window=47"),
        "a search window does not apply to algorithm hierarchical, which has none: leave it out, or use algorithm full or \
         three-step (search-window=\"\")"
    );
}

#[test]
fn wrong_settings_are_told_before_the_first_caps() {
    init();
    let element = gst::ElementFactory::make("motionestimate").property("block-size", 6u32).build().unwrap();
    let bus = ElementBus::new(element.clone());
    assert!(element.set_state(gst::State::Paused).is_err());
    assert!(error_text(&wait(&bus)).contains("block size 6"));
    element.set_state(gst::State::Null).unwrap();
    element.set_property("block-size", 8u32);
    element.set_state(gst::State::Paused).unwrap();
    element.set_state(gst::State::Null).unwrap();
}

#[test]
fn wrong_tuning_names_the_field_and_those_there_are() {
    for (tuning, named) in [
        ("motion-tuning,group=4", "tuning group: there is no such field"),
        ("motion-tuning,group-size=(string)many", "tuning group-size: an integer is needed"),
        ("motion-tuning,group-size=0", "tuning group-size: 0 is too few"),
        ("motion-tuning,launch=(string)sometimes", "once, out-of-order, queues"),
    ] {
        let text = failure(&format!("tuning=\"{tuning}\""));
        assert!(text.contains(named) && text.contains("Known are: group-size, cost-bytes, launch"), "{text}");
    }
}

#[test]
#[cfg(feature = "opencl")]
fn work_groups_that_no_device_has_name_the_limit() {
    for kernel in ["reference-naive", "reference", "collaborative", "two-pass"] {
        let text = failure(&format!("kernel={kernel} tuning=motion-tuning,group-size=1000000"));
        assert!(text.contains("its largest has") && text.contains("choose a tuning group-size of"), "{text}");
    }
    let text = failure("device=0:0 kernel=two-pass tuning=motion-tuning,cost-bytes=100");
    assert!(text.contains("cannot hold the costs of a block") && text.contains("100 are allowed"), "{text}");
}

#[test]
fn frames_larger_than_can_be_addressed() {
    init();
    for element in [
        "motionestimate",
        "motioncompensate",
        "motioninterpolate",
        "motiondenoise",
        "motiondetect",
        "motionoverlay",
    ] {
        let sink = gst::ElementFactory::make(element).build().unwrap().static_pad("sink").unwrap();
        for (width, height, is_taken) in
            [(32768, 2, true), (32769, 2, false), (2, 32768, true), (2, 32769, false)]
        {
            let caps = info(VideoFormat::Gray8, (width, height)).to_caps().unwrap();
            assert_eq!(sink.pad_template_caps().can_intersect(&caps), is_taken, "{element}: {caps}");
        }
    }
}

fn check_refused(buffer: gst::Buffer) {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    let element = harness.find_element("motionestimate").unwrap();
    let bus = ElementBus::new(element.clone());
    pass(&mut harness, &info, 0);
    // One warning for all of them; none leaves the element.
    assert_eq!(harness.push(buffer.clone()), Ok(gst::FlowSuccess::Ok));
    assert_eq!(harness.push(buffer), Ok(gst::FlowSuccess::Ok));
    assert!(harness.try_pull().is_none());
    let warnings = bus.iter().filter(|message| message.type_() == gst::MessageType::Warning).count();
    let errors = bus.iter().filter(|message| message.type_() == gst::MessageType::Error).count();
    assert_eq!((warnings, errors), (1, 0));
    // A new sequence starts.
    let frames = [pass(&mut harness, &info, 1), pass(&mut harness, &info, 2)];
    check_sequence(&info, &parameters(&info), &frames);
}

#[test]
fn buffer_shorter_than_its_caps_promise() {
    init();
    check_refused(gst::Buffer::from_mut_slice(vec![0; gray().size() - 1]));
    check_refused(gst::Buffer::new());
}

#[test]
fn buffer_shorter_than_its_video_meta_promises() {
    let mut buffer = padded_frame(&gray(), 1, 3);
    buffer.make_mut().set_size(gray().size());
    check_refused(buffer);
}

#[test]
fn interlaced_frames_are_searched_whole_with_one_warning() {
    init();
    for mode in [VideoInterlaceMode::Interleaved, VideoInterlaceMode::Mixed] {
        let info =
            gst_video::VideoInfo::builder(VideoFormat::I420, 64, 48).interlace_mode(mode).build().unwrap();
        let mut harness = gst_check::Harness::new_parse(ELEMENT);
        let bus = ElementBus::new(harness.find_element("motionestimate").unwrap());
        harness.set_src_caps(info.to_caps().unwrap());
        let buffers: Vec<_> = (0..3).map(|time| pass(&mut harness, &info, time)).collect();
        check_sequence(&info, &parameters(&info), &buffers);
        assert_eq!(wait(&bus).type_(), gst::MessageType::Warning);
        assert!(bus.pop_filtered(&[gst::MessageType::Warning]).is_none());
    }
}

#[test]
fn fields_in_buffers_of_their_own_are_not_accepted() {
    init();
    let element = gst::ElementFactory::make("motionestimate").build().unwrap();
    let caps = |features: &str, mode: &str| {
        let text = format!(
            "video/x-raw{features},format=I420,width=64,height=48,framerate=25/1,interlace-mode={mode}"
        );
        text.parse::<gst::Caps>().unwrap()
    };
    let sink = element.static_pad("sink").unwrap();
    assert!(sink.query_accept_caps(&caps("", "interleaved")));
    assert!(!sink.query_accept_caps(&caps("(format:Interlaced)", "alternate")));
}

#[test]
fn caps_without_frame_rate_pass_as_they_are() {
    init();
    for rate in ["", ",framerate=(fraction)0/1"] {
        let caps: gst::Caps = format!("video/x-raw,format=GRAY8,width=61,height=47{rate}").parse().unwrap();
        let info = gst_video::VideoInfo::from_caps(&caps).unwrap();
        let mut harness = gst_check::Harness::new_parse(ELEMENT);
        harness.set_src_caps(caps.clone());
        let buffers: Vec<_> = (0..3)
            .map(|time| {
                let mut buffer = frame(&info, time);
                buffer.make_mut().set_pts(gst::ClockTime::NONE);
                harness.push_and_pull(buffer).unwrap()
            })
            .collect();
        check_sequence(&info, &parameters(&info), &buffers);
        let sent = harness
            .find_element("motionestimate")
            .unwrap()
            .static_pad("src")
            .unwrap()
            .current_caps()
            .unwrap();
        assert_eq!(sent, caps);
    }
}

/// GStreamer maps no frame with such a meta, and says so in a critical warning, which would end this test.
#[test]
fn a_video_meta_of_another_frame() {
    let info = gray();
    let (width, height) = SIZE;
    for (format, width, height) in [
        (VideoFormat::Gray16Le, width, height),
        (VideoFormat::Gray8, width - 1, height),
        (VideoFormat::Gray8, width, height - 1),
        (VideoFormat::Gray8, width + 1, height),
    ] {
        let mut buffer = gst::Buffer::from_mut_slice(vec![0; 4 * info.size()]);
        let flags = gst_video::VideoFrameFlags::empty();
        gst_video::VideoMeta::add(buffer.make_mut(), flags, format, width, height).unwrap();
        check_refused(buffer);
    }
}
