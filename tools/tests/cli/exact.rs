//! The pieces of a video, put together, are the run of one machine.

use std::fs;

use test_support::some_of;

use crate::support::{Clip, plain_pipeline, records, source, without_notes};

/// Pieces of `ranges`, joined.
fn joined(clip: &Clip, ranges: &[String], properties: &[&str]) -> Vec<u8> {
    let name = |range: &String| format!("piece-{}", range.replace(['/', ':'], "-"));
    // The last one first: no piece depends on another.
    for range in ranges.iter().rev() {
        clip.search(range, &name(range), properties);
    }
    let pieces: Vec<_> = ranges.iter().map(name).collect();
    let run = clip.join(&pieces, "joined", &[]);
    assert_eq!(run.code, 0, "{ranges:?} of {}: {}", clip.video.display(), run.errors);
    let joined = fs::read(clip.path("joined")).unwrap();
    for file in pieces.iter().chain([&"joined".to_owned()]) {
        fs::remove_file(clip.path(file)).unwrap();
    }
    joined
}

/// Compares the whole run of `clip` with a plain pipeline and with the pieces of each cutting.
fn check(clip: &Clip, cuttings: &[Vec<String>], properties: &[&str]) {
    let whole = clip.search(":", "whole", properties);
    fs::remove_file(clip.path("whole")).unwrap();
    let (frames, _) = records(&whole);
    let moving = frames.iter().filter(|record| record.bytes[72..].iter().any(|&byte| byte != 0));
    assert!(moving.count() > frames.len() / 2, "vectors and costs were found");
    assert!(without_notes(&whole) == plain_pipeline(&clip.video, &properties.join(" ")), "{properties:?}");
    for ranges in cuttings {
        let joined = joined(clip, ranges, properties);
        assert!(joined == whole, "{properties:?} of {} in {ranges:?}", clip.video.display());
    }
}

fn cutting(ranges: &str) -> Vec<String> {
    ranges.split(' ').map(str::to_owned).collect()
}

/// At key frames, and at any frames: the fifth one is before the second key frame, and 29 is 5/25 s before the third.
fn cuttings(clip: &Clip) -> Vec<Vec<String>> {
    let planned = clip.plan(3);
    assert_eq!(planned.len(), 3, "{planned:?}");
    vec![planned, cutting(":0.31 0.31:7/10 7/10:1.333333333 1.333333333:")]
}

#[test]
fn joined_pieces_equal_the_whole_run_whatever_is_searched() {
    let clip = Clip::mp4();
    let cuttings = cuttings(&clip);
    let settings = [
        &["algorithm=full", "search-range=6"][..],
        &["algorithm=three-step"],
        &["algorithm=hierarchical", "block-size=8"],
        &["sub-sample=quarter", "search-range=4", "metric=ssd"],
        &["costs=zero+intra+satd+second+variance+confidence", "search-range=4", "prediction=median"],
        &["direction=both", "references=4", "search-range=3"],
        &["direction=forward", "references=2", "search-range=3", "pipeline-depth=3"],
        &["references=3", "search-range=3", "scene-cut=message", "device=native", "threads=1"],
    ];
    for properties in some_of(3, settings) {
        check(&clip, &cuttings, properties);
    }
}

#[test]
fn joined_pieces_equal_the_whole_run_whatever_the_container() {
    let properties = ["search-range=4"];
    let containers = [
        ("clip.mkv", "x264enc key-int-max=12 bframes=3 ! matroskamux"),
        ("open.mkv", "x264enc key-int-max=12 bframes=3 option-string=open-gop=1 ! matroskamux"),
        ("clip.webm", "vp8enc keyframe-max-dist=12 deadline=1 ! webmmux"),
        // Seeks are not exact in these: all before a range is decoded.
        ("fragments.mp4", "x264enc key-int-max=12 ! h264parse ! mp4mux fragment-duration=500"),
        ("clip.avi", "jpegenc ! avimux"),
        ("clip.ts", "x264enc key-int-max=12 bframes=2 ! mpegtsmux"),
        ("clip.ogg", "theoraenc keyframe-force=12 keyframe-freq=12 ! oggmux"),
    ];
    for (name, rest) in some_of(2, containers) {
        let clip = Clip::new(name, &format!("{} ! {rest}", source(60)));
        check(&clip, &cuttings(&clip), &properties);
    }
}

/// A key frame may have too few frames behind it before the range: then decoding begins at an earlier one.
#[test]
fn references_may_reach_behind_the_key_frame_before() {
    let slow = "videorate ! video/x-raw,framerate=8/1";
    let clip = Clip::new("intra.mkv", &format!("{} ! {slow} ! jpegenc ! matroskamux", source(60)));
    check(&clip, &cuttings(&clip), &["references=4", "search-range=3"]);
}

#[test]
fn frames_need_not_come_at_a_constant_rate() {
    let launch = format!("{} ! identity name=changed ! x264enc key-int-max=12 ! matroskamux", source(60));
    let clip = Clip::changed("variable.mkv", &launch, |number, buffer| {
        // 40 ms, and 40 ms more with each ninth frame.
        let time = gst::ClockTime::from_mseconds(40 * (number + number / 9));
        buffer.set_pts(time);
        buffer.set_duration(gst::ClockTime::NONE);
    });
    let times = records(&clip.search(":", "times", &[])).0.into_iter().map(|record| record.pts);
    let times: Vec<_> = times.collect();
    assert!(times.windows(2).any(|pair| pair[1] - pair[0] > 70_000_000), "{times:?}");
    check(&clip, &cuttings(&clip), &["search-range=4", "references=2"]);
}

/// Audio beside the video, which is not searched.
#[test]
fn other_streams_do_not_matter() {
    let launch = format!(
        "audiotestsrc num-buffers=120 ! audioconvert ! opusenc ! queue ! mux. {} ! x264enc key-int-max=12 ! queue ! \
         matroskamux name=mux",
        source(60)
    );
    let clip = Clip::new("sound.mkv", &launch);
    check(&clip, &cuttings(&clip), &["search-range=4"]);
}

/// In a copy of the clip the packets of the first frames are damaged.
#[test]
fn frames_long_before_the_range_are_not_decoded() {
    let clip = Clip::mp4();
    let cut = clip.plan(3).pop().unwrap();
    let expected = clip.search(&cut, "expected", &["search-range=4"]);
    let intact = clip.search(":0.5", "intact", &["search-range=4"]);
    let mut bytes = fs::read(&clip.video).unwrap();
    let data = bytes.windows(4).position(|four| four == b"mdat").unwrap() + 4;
    let end = data + (bytes.len() - data) / 3;
    bytes[data + 1000..end].fill(0x55);
    fs::write(&clip.video, bytes).unwrap();
    assert!(clip.search(&cut, "found", &["search-range=4"]) == expected);
    // They are indeed damaged.
    let run = clip.run(&["--range", ":0.5", "--out", "damaged", "search-range=4"]);
    let damaged = fs::read(clip.path("damaged")).unwrap_or_default();
    assert!(run.code != 0 || damaged != intact, "{run:?}");
}

#[test]
fn a_range_has_the_frames_from_its_start_to_before_its_end() {
    let clip = Clip::new("clip.mkv", &format!("{} ! x264enc key-int-max=12 ! matroskamux", source(60)));
    let times = |range: &str| -> Vec<u64> {
        let file = clip.search(range, &format!("range-{}", range.replace('/', "-")), &["search-range=2"]);
        let (records, notes) = records(&file);
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert_eq!(notes[1], format!("{{\"frames\":{}}}", records.len()));
        for (number, record) in records.iter().enumerate() {
            assert_eq!(record.frame, number as u64);
            let expected = if record.pts == 0 { u64::MAX } else { record.pts - 40_000_000 };
            assert_eq!(
                record.reference_pts, expected,
                "the first frame of a range is searched in the one before"
            );
        }
        records.iter().map(|record| record.pts / 1_000_000).collect()
    };
    assert_eq!(times("0.4:0.52"), [400, 440, 480]);
    assert_eq!(times("0.400000001:0.520000001"), [440, 480, 520]);
    assert_eq!(times("10/25:13/25"), [400, 440, 480]);
    assert_eq!(times(":0.08"), [0, 40]);
    assert_eq!(times("2.3:"), [2320, 2360]);
    assert!(times("0.41:0.43").is_empty(), "between two frames there is none");
}
