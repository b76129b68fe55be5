//! What made and repeated frames show.

use gst::prelude::*;
use gst_video::{VideoFormat, VideoFrameRef};

use super::support::*;
use test_support::gstreamer::formats::FORMATS;

const RATE: Rate = (25, 1);

#[test]
fn a_blend_of_all_planes_in_every_format() {
    for format in FORMATS {
        for size in [(1, 1), (2, 3), (13, 7), (64, 2)] {
            let info = video(format, size, RATE);
            let mut harness = harness("motioninterpolate mode=blend", &info, (75, 1));
            let frames = [0, 1].map(|number| frame(&info, RATE, number));
            for frame in &frames {
                push(&mut harness, frame.clone());
            }
            let found = pull(&mut harness);
            assert_eq!(found.len(), 4);
            let [previous, next] = frames.each_ref().map(|frame| samples(frame, &info));
            for (buffer, weight) in [(&found[1], 43), (&found[2], 21)] {
                let mean =
                    previous.iter().zip(&next).map(|(p, n)| (weight * p + (64 - weight) * n + 32) >> 6);
                assert_eq!(samples(buffer, &info), mean.collect::<Vec<_>>(), "{format:?} {size:?}");
            }
        }
    }
}

#[test]
fn planes_lie_where_the_video_meta_says() {
    let info = video(VideoFormat::I420, SIZE, RATE);
    let mut harness = harness("motioninterpolate mode=blend", &info, (50, 1));
    let (strides, offsets) = ([31, 17, 19], [5, 300, 500]);
    let padded = |number: u64| {
        let plain = frame(&info, RATE, number);
        let mut buffer = gst::Buffer::from_mut_slice(vec![0x5a; 700]);
        {
            let buffer = buffer.make_mut();
            plain.copy_into(buffer, gst::BufferCopyFlags::TIMESTAMPS, ..).unwrap();
            let flags = gst_video::VideoFrameFlags::empty();
            gst_video::VideoMeta::add_full(buffer, flags, info.format(), SIZE.0, SIZE.1, &offsets, &strides)
                .unwrap();
            let from = VideoFrameRef::from_buffer_ref_readable(&plain, &info).unwrap();
            let mut to = VideoFrameRef::from_buffer_ref_writable(buffer, &info).unwrap();
            from.copy(&mut to).unwrap();
        }
        buffer
    };
    for number in 0..2 {
        push(&mut harness, padded(number));
    }
    let found = pull(&mut harness);
    let [previous, next] = [0, 1].map(|number| samples(&frame(&info, RATE, number), &info));
    let mean: Vec<_> = previous.iter().zip(&next).map(|(p, n)| (32 * p + 32 * n + 32) >> 6).collect();
    assert_eq!(samples(&found[1], &info), mean);
    // Downstream has not said that it reads the meta, so what is made needs none.
    assert!(found[1].meta::<gst_video::VideoMeta>().is_none_or(|meta| meta.stride() == info.stride()));
}

#[test]
fn repeat_shows_the_nearer_frame() {
    let mut harness = harness("motioninterpolate mode=repeat", &i420((24, 1)), (60, 1));
    push_all(&mut harness, (24, 1), 0..3);
    let found = pull(&mut harness);
    // 0, 2/5, 4/5, 1 + 1/5, 1 + 3/5, 2.
    assert_eq!(shown(&found, (24, 1)), [0, 0, 1, 1, 2, 2].map(Some));
    assert_eq!((count(&harness, "made"), count(&harness, "repeated"), count(&harness, "passed")), (0, 4, 2));
    let mut harness = self::harness("motioninterpolate mode=repeat", &i420(RATE), (50, 1));
    push_all(&mut harness, RATE, 0..2);
    // Half way the next one.
    assert_eq!(shown(&pull(&mut harness), RATE), [0, 1, 1].map(Some));
}

#[test]
fn the_mode_may_change_between_frames() {
    let mut harness = blending(RATE, (50, 1));
    push_all(&mut harness, RATE, 0..2);
    element(&harness).set_property_from_str("mode", "repeat");
    push_all(&mut harness, RATE, 2..3);
    element(&harness).set_property_from_str("mode", "blend");
    push_all(&mut harness, RATE, 3..4);
    assert_eq!(shown(&pull(&mut harness), RATE), [Some(0), None, Some(1), Some(2), Some(2), None, Some(3)]);
}

#[test]
fn vectors_do_not_stay_on_frames_with_other_neighbours() {
    let launch = "motionestimate device=native block-size=8 ! motioninterpolate mode=blend";
    let mut harness = harness(launch, &i420(RATE), (50, 1));
    push_all(&mut harness, RATE, 0..3);
    for buffer in pull(&mut harness) {
        assert!(gstmotionestimate::meta::MotionVectorMeta::of(&buffer).is_none());
    }
}

#[test]
fn real_pipelines_run_to_their_end() {
    init();
    for (input, output, frames, expected) in
        [("24/1", "60/1", 24, 60), ("30/1", "24/1", 30, 24), ("25/1", "25/1", 7, 7)]
    {
        let pipeline = gst::parse::launch(&format!(
            "videotestsrc num-buffers={frames} pattern=ball ! video/x-raw,format=NV12,width=64,height=48,framerate={input} ! \
             motioninterpolate mode=blend ! video/x-raw,framerate={output} ! appsink name=sink sync=false"
        ));
        let pipeline = pipeline.unwrap().downcast::<gst::Pipeline>().unwrap();
        let sink = pipeline.by_name("sink").unwrap().downcast::<gst_app::AppSink>().unwrap();
        pipeline.set_state(gst::State::Playing).unwrap();
        let mut times = Vec::new();
        while let Ok(sample) = sink.pull_sample() {
            times.push(pts(sample.buffer().unwrap()));
        }
        assert!(sink.is_eos(), "{:?}", pipeline.bus().unwrap().pop_filtered(&[gst::MessageType::Error]));
        let (n, _) = output.split_once('/').unwrap();
        let rate = (n.parse().unwrap(), 1);
        assert_eq!(times, (0..expected).map(|k| time(rate, k)).collect::<Vec<_>>());
        pipeline.set_state(gst::State::Null).unwrap();
    }
}
