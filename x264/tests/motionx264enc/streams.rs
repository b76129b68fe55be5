//! Streams that are decoded, sent, and encoded in several sizes.

use gst::prelude::*;
use gst_video::{VideoCaptionMeta, VideoFormat, VideoInfo};

use crate::support::{SEARCH, bytes, encoded, frame, harness, launch, pull, run, source};

const LIVE: &str = "motionx264enc tune=zerolatency speed-preset=veryfast threads=1 bitrate=300";

/// The timestamps of what is decoded are those of what was encoded.
#[test]
fn decodes_with_right_times() {
    crate::support::init();
    let size = "width=96,height=80,framerate=25/1";
    for (format, encoder) in [
        ("I420", LIVE),
        ("I420", "motionx264enc bframes=3 rc-lookahead=8"),
        ("NV12", "motionx264enc pass=qual sliced-threads=true threads=2"),
        ("Y42B", LIVE),
        ("Y444", LIVE),
        ("I420_10LE", LIVE),
    ] {
        let through = |elements: &str| -> Vec<_> {
            let before = source(12, &format!("format={format},{size}"));
            let pipeline = launch(&format!("{before} ! {elements} ! appsink name=sink"));
            let running = |buffer: &gst::Buffer| (buffer.pts().unwrap(), buffer.duration());
            run(&pipeline).iter().map(running).collect()
        };
        let first_pts = gst::ClockTime::from_seconds(3_600_000);
        let expected: Vec<_> = through("identity").into_iter().map(|(pts, d)| (pts + first_pts, d)).collect();
        let found = through(&format!("{SEARCH} ! {encoder} ! avdec_h264"));
        assert_eq!(found, expected, "{format} {encoder}");
        // Decoding times are in order, and never after those of presentation.
        let (buffers, _) =
            encoded(&format!("{} ! {SEARCH} ! {encoder}", source(12, &format!("format={format},{size}"))));
        assert!(buffers.iter().all(|buffer| buffer.dts() <= buffer.pts()));
        assert!(buffers.is_sorted_by_key(|buffer| buffer.dts()));
    }
}

#[test]
fn live_over_rtp() {
    crate::support::init();
    let pipeline = launch(&format!(
        "videotestsrc is-live=true num-buffers=15 pattern=ball ! video/x-raw,width=96,height=80,framerate=50/1 ! {SEARCH} ! \
         {LIVE} ! rtph264pay ! application/x-rtp ! rtph264depay ! avdec_h264 ! appsink name=sink"
    ));
    assert_eq!(run(&pipeline).len(), 15);
}

/// One search, whose field is scaled with the frames, for an encoder of each size.
#[test]
fn a_ladder_of_sizes_from_one_search() {
    crate::support::init();
    let ladder = |strength: u32| {
        let rung = |name: &str, size: &str| {
            format!(
                "t. ! queue ! videoscale ! video/x-raw,{size},pixel-aspect-ratio=1/1 ! {LIVE} name={name} \
                     motion-strength={strength} ! appsink name=sink-{name} sync=false"
            )
        };
        let sizes = [
            ("large", "width=192,height=128"),
            ("middle", "width=144,height=96"),
            ("small", "width=96,height=64"),
        ];
        let rungs: Vec<_> = sizes.iter().map(|(name, size)| rung(name, size)).collect();
        let before = source(14, "format=I420,width=192,height=128,framerate=10/1");
        let pipeline = launch(&format!("{before} ! {SEARCH} ! tee name=t {}", rungs.join(" ")));
        let sinks: Vec<_> = sizes
            .iter()
            .map(|(name, _)| {
                pipeline.by_name(&format!("sink-{name}")).and_downcast::<gst_app::AppSink>().unwrap()
            })
            .collect();
        pipeline.set_state(gst::State::Playing).unwrap();
        let pull = |sink: &gst_app::AppSink| {
            let buffers: Vec<_> = std::iter::from_fn(|| sink.pull_sample().ok()?.buffer_owned()).collect();
            assert_eq!(buffers.len(), 14);
            bytes(&buffers)
        };
        let streams: Vec<_> = sinks.iter().map(pull).collect();
        // An encoder without fields would warn after a second.
        let message =
            pipeline.bus().unwrap().pop_filtered(&[gst::MessageType::Warning, gst::MessageType::Error]);
        pipeline.set_state(gst::State::Null).unwrap();
        assert!(message.is_none(), "{message:?}");
        streams
    };
    for (with, without) in ladder(1).iter().zip(&ladder(0)) {
        assert_ne!(with, without);
    }
}

#[test]
fn captions_are_in_the_stream() {
    let (mut encoder, info) = harness(LIVE);
    encoder.set_sink_caps_str("video/x-h264,stream-format=byte-stream");
    let captions = [0xfc, 0x94, 0x2c, 0xfd, 0x80, 0x81];
    let with = |kind| {
        let mut buffer = frame(&info, 0);
        VideoCaptionMeta::add(buffer.get_mut().unwrap(), kind, &captions);
        buffer
    };
    let payload =
        [&[4, 17, 181, 0, 49, b'G', b'A', b'9', b'4', 3, 0x42, 0xff][..], &captions, &[0xff]].concat();
    let has_payload =
        |buffer: gst::Buffer| bytes(&[buffer]).windows(payload.len()).any(|window| window == payload);
    assert!(has_payload(encoder.push_and_pull(with(gst_video::VideoCaptionType::Cea708Raw)).unwrap()));
    assert!(!has_payload(encoder.push_and_pull(with(gst_video::VideoCaptionType::Cea608Raw)).unwrap()));
}

/// Frames that repeat cost next to nothing, and are decoded as they were.
#[test]
fn blocks_that_stay_are_skipped() {
    crate::support::init();
    let still = "videotestsrc num-buffers=8 pattern=smpte ! video/x-raw,format=I420,width=192,height=128,framerate=25/1";
    let stream = |strength: u32| {
        let pipeline = format!(
            "{still} ! {SEARCH} ! motionx264enc tune=zerolatency pass=qual motion-strength={strength}"
        );
        encoded(&pipeline).0
    };
    let [with, without] = [1, 0].map(stream);
    let later = |buffers: &[gst::Buffer]| buffers[1..].iter().map(|buffer| buffer.size()).sum::<usize>();
    assert!(later(&with) <= 2 * later(&without), "{} and {} bytes", later(&with), later(&without));
    assert_eq!(with.len(), 8);
}

/// As in all elements. x264 would end the process.
#[test]
fn bits_above_the_samples_are_ignored() {
    crate::support::init();
    let stream = |above: u8| {
        let info = VideoInfo::builder(VideoFormat::I42010le, 64, 48).fps(gst::Fraction::new(25, 1)).build();
        let info = info.unwrap();
        let mut harness = gst_check::Harness::new_parse("motionx264enc tune=zerolatency");
        harness.set_src_caps(info.to_caps().unwrap());
        for number in 0..4_u64 {
            let noise = |at: usize| (at as u32).wrapping_mul(0x9e37_79b1 + number as u32).to_be_bytes()[0];
            let byte = |at: usize| if at % 2 == 1 { noise(at) & 3 | above } else { noise(at) };
            let mut buffer = gst::Buffer::from_mut_slice((0..info.size()).map(byte).collect::<Vec<_>>());
            buffer.make_mut().set_pts(40 * number * gst::ClockTime::MSECOND);
            harness.push(buffer).unwrap();
        }
        harness.push_event(gst::event::Eos::new());
        bytes(&pull(&mut harness))
    };
    assert!(stream(0xfc) == stream(0));
}
