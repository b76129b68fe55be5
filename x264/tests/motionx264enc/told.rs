//! What users are told, and how often.

use gst_video::VideoRegionOfInterestMeta;

use crate::support::{ElementBus, SEARCH, frame, harness};

/// The warnings of the encoder in `launch`, behind `frames` frames.
fn warnings(launch: &str, frames: u64, change: impl Fn(&mut gst::Buffer)) -> Vec<String> {
    let (mut harness, info) = harness(launch);
    let element = harness.find_element("motionx264enc").unwrap();
    let bus = ElementBus::new(element);
    for number in 0..frames {
        let mut buffer = frame(&info, number);
        change(&mut buffer);
        harness.push(buffer).unwrap();
    }
    let messages =
        std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Warning, gst::MessageType::Error]));
    messages
        .map(|message| match message.view() {
            gst::MessageView::Warning(warning) => warning.error().to_string(),
            _ => panic!("{message:?}"),
        })
        .collect()
}

fn region(buffer: &mut gst::Buffer) {
    let mut region = VideoRegionOfInterestMeta::add(buffer.get_mut().unwrap(), "face", (0, 0, 32, 32));
    region.add_param(gst::Structure::builder("roi/x264enc").field("delta-qp", -5).build());
}

#[test]
fn missing_fields_and_costs_once() {
    let live = "motionx264enc tune=zerolatency";
    for before in ["", "motionestimate device=native ! "] {
        let found = warnings(&format!("{before}{live}"), 60, |_| {});
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("costs=zero+intra+satd"), "{found:?}");
    }
    for launch in [
        format!("{SEARCH} ! {live}"),
        format!("{live} motion-strength=0"),
        // It looks ahead itself, and takes no fields.
        "motionx264enc rc-lookahead=5".to_owned(),
    ] {
        assert_eq!(warnings(&launch, 60, |_| {}), Vec::<String>::new(), "{launch}");
    }
}

#[test]
fn offsets_without_effect_once() {
    let fixed = "motionx264enc tune=zerolatency pass=quant";
    for (launch, change) in [
        (format!("{SEARCH} ! {fixed}"), (|_: &mut gst::Buffer| {}) as fn(&mut gst::Buffer)),
        (format!("{fixed} motion-strength=0"), region),
        ("motionx264enc tune=zerolatency speed-preset=ultrafast motion-strength=0".to_owned(), region),
    ] {
        let found = warnings(&launch, 5, change);
        assert_eq!(found.len(), 1, "{launch}: {found:?}");
        assert!(found[0].contains("adaptive quantiser is off"), "{found:?}");
    }
    assert!(warnings("motionx264enc tune=zerolatency motion-strength=0", 5, region).is_empty());
}

/// What cannot be encoded is an error with a reason, and nothing else happens.
#[test]
fn what_cannot_be_encoded() {
    for (launch, caps, reason) in [
        ("motionx264enc option-string=nonsense=1", "width=64,height=48", "no option \"nonsense\""),
        ("motionx264enc option-string=:=:", "width=64,height=48", "no option \"\""),
        ("motionx264enc option-string=:ref=2:nonsense:", "width=64,height=48", "no option \"nonsense\""),
        ("motionx264enc option-string=ref=many", "width=64,height=48", "does not take \"many\""),
        ("motionx264enc", "width=63,height=47", "refuses"),
        ("motionx264enc ! capsfilter caps=video/x-h264,level=(string)1", "width=640,height=480", "level 1"),
    ] {
        crate::support::init();
        let mut harness = gst_check::Harness::new_parse(launch);
        let bus = ElementBus::new(harness.find_element("motionx264enc").unwrap());
        harness.play();
        harness.push_event(gst::event::StreamStart::new("stream"));
        let caps: gst::Caps = format!("video/x-raw,format=I420,framerate=25/1,{caps}").parse().unwrap();
        harness.push_event(gst::event::Caps::new(&caps));
        let message =
            bus.pop_filtered(&[gst::MessageType::Error]).unwrap_or_else(|| panic!("no error: {launch}"));
        let gst::MessageView::Error(error) = message.view() else { unreachable!() };
        assert!(error.error().to_string().contains(reason), "{launch}: {}", error.error());
    }
}

/// A buffer that holds no frame.
#[test]
fn a_buffer_without_a_frame() {
    let (mut harness, info) = harness("motionx264enc tune=zerolatency");
    let bus = ElementBus::new(harness.find_element("motionx264enc").unwrap());
    harness.push(frame(&info, 0)).unwrap();
    let mut short = frame(&info, 1);
    short.get_mut().unwrap().set_size(100);
    assert_eq!(harness.push(short), Err(gst::FlowError::Error));
    assert!(bus.pop_filtered(&[gst::MessageType::Error]).is_some());
}
