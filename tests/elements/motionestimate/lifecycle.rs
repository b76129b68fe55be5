//! Up and down, side by side, one after the other.

use gst::prelude::*;

use super::support::*;

#[test]
fn fifty_times_from_null_to_playing_and_back() {
    init();
    let pipeline = gst::parse::launch(&format!(
        "videotestsrc is-live=false pattern=ball ! video/x-raw,format=GRAY8,width=61,height=47 ! {ELEMENT} \
         ! appsink name=sink sync=false max-buffers=3"
    ))
    .unwrap()
    .downcast::<gst::Pipeline>()
    .unwrap();
    let sink = pipeline.by_name("sink").unwrap().downcast::<gst_app::AppSink>().unwrap();
    for _ in 0..50 {
        pipeline.set_state(gst::State::Playing).unwrap();
        let samples: Vec<_> = (0..3).map(|_| sink.pull_sample().unwrap()).collect();
        check_samples(&samples, parameters);
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

#[test]
fn several_instances_in_a_pipeline_do_not_disturb_each_other() {
    init();
    let pipeline = gst::parse::launch(
        "videotestsrc num-buffers=12 pattern=ball ! video/x-raw,format=I420,width=90,height=60 ! tee name=t \
         t. ! queue ! motionestimate device=native block-size=8 search-range=5 ! appsink sync=false wait-on-eos=false name=a \
         t. ! queue ! motionestimate device=native block-size=8 search-range=5 ! appsink sync=false wait-on-eos=false name=b \
         t. ! queue ! appsink sync=false wait-on-eos=false name=c",
    )
    .unwrap()
    .downcast::<gst::Pipeline>()
    .unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    assert_eq!(wait(&pipeline.bus().unwrap()).type_(), gst::MessageType::Eos);
    for name in ["a", "b"] {
        let sink = pipeline.by_name(name).unwrap().downcast::<gst_app::AppSink>().unwrap();
        let samples: Vec<_> = (0..12).map(|_| sink.pull_sample().unwrap()).collect();
        check_samples(&samples, parameters);
    }
    let sink = pipeline.by_name("c").unwrap().downcast::<gst_app::AppSink>().unwrap();
    for _ in 0..12 {
        check_no_vectors(&sink.pull_sample().unwrap().buffer_owned().unwrap());
    }
    pipeline.set_state(gst::State::Null).unwrap();
}

#[test]
fn no_frame_is_lost_and_none_is_late() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    for time in 0..5 {
        // Each comes out while it is pushed.
        assert_eq!(pass(&mut harness, &info, time).pts(), frame(&info, time).pts());
    }
}

/// A sink that is always late asks for fewer frames; vectors are not a luxury to save.
#[test]
fn quality_of_service_drops_no_frame() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    for time in 0..5 {
        let late = gst::event::Qos::new(
            gst::QOSType::Underflow,
            5.0,
            10_000_000_000,
            frame(&info, time).pts().unwrap(),
        );
        harness.push_upstream_event(late);
        pass(&mut harness, &info, time);
    }
    assert_eq!(harness.buffers_received(), 5);
}

/// Vectors that a sink holds on to are not written again, not even after the element is gone.
#[test]
fn vectors_outlive_the_element() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    let buffers: Vec<_> = (0..20).map(|time| pass(&mut harness, &info, time)).collect();
    drop(harness);
    check_sequence(&info, &parameters(&info), &buffers);
}
