//! What is wrong with a video or with arguments is told, with what would work.

use std::fs;
use std::process::Command;

use crate::support::{Clip, PROGRAM, run, source};

/// Each call of `calls` ends with `code`, tells `told`, and writes nothing.
fn refuses(clip: &Clip, calls: &[&[&str]], code: i32, told: &str) {
    let files = clip.files();
    for arguments in calls {
        let run = clip.run(arguments);
        assert!(run.code == code && run.errors.contains(told), "{arguments:?}: {run:?}");
        assert!(run.text.is_empty(), "{run:?}");
        assert_eq!(clip.files(), files);
    }
}

const ALL: &[&[&str]] = &[&["--plan", "3"], &["--out", "out"], &["--out", "out", "--range", "0.5:1"]];

#[test]
fn a_file_that_is_no_video_is_refused() {
    let clip = Clip::mp4();
    fs::write(&clip.video, "Once upon a time there was a text.\n".repeat(100)).unwrap();
    refuses(&clip, ALL, 3, "it is no video that GStreamer knows");
    fs::write(&clip.video, "").unwrap();
    refuses(&clip, ALL, 3, "it is no video that GStreamer knows");
    fs::remove_file(&clip.video).unwrap();
    refuses(&clip, ALL, 3, "No such file or directory");
    fs::create_dir(&clip.video).unwrap();
    refuses(&clip, ALL, 3, "is no file");
    for (name, launch) in [("a.wav", "wavenc"), ("a.mka", "audioconvert ! opusenc ! matroskamux")] {
        let clip = Clip::new(name, &format!("audiotestsrc num-buffers=50 ! {launch}"));
        refuses(&clip, ALL, 3, "there is no video in it");
    }
}

#[test]
fn a_truncated_file_is_refused() {
    // Without its index, which is at the end.
    let clip = Clip::mp4();
    let cut = |clip: &Clip| {
        let bytes = fs::read(&clip.video).unwrap();
        fs::write(&clip.video, &bytes[..bytes.len() / 2]).unwrap();
    };
    cut(&clip);
    refuses(&clip, ALL, 3, "it may be damaged or cut off");

    for (name, mux) in [("clip.mp4", "mp4mux faststart=true"), ("clip.mkv", "matroskamux")] {
        let clip = Clip::new(name, &format!("{} ! x264enc key-int-max=12 bframes=2 ! {mux}", source(100)));
        cut(&clip);
        let to_the_end: &[&[&str]] =
            &[&["--plan", "3"], &["--out", "out"], &["--out", "out", "--range", "0.4:"]];
        refuses(&clip, to_the_end, 3, "cut off at ");
        refuses(&clip, &[&["--out", "out", "--range", "0.4:3.5"]], 3, "before the range 0.4:3.5 does");
        refuses(
            &clip,
            &[&["--out", "out", "--range", "3:3.5"]],
            3,
            "it is cut off, or the range is too long",
        );
        clip.search("0.4:0.8", "what-is-there", &["search-range=4"]);
    }
}

#[test]
fn a_range_that_the_video_lacks_is_refused() {
    let clip = Clip::mp4();
    refuses(
        &clip,
        &[&["--out", "out", "--range", "1:9"], &["--out", "out", "--range", "8:9"]],
        3,
        "before the range ",
    );
    refuses(&clip, &[&["--out", "out", "--range", "8:"]], 3, "the video ends at 2.");
}

#[test]
fn a_video_without_key_frames_is_searched_but_not_cut() {
    let launch = format!("{} ! jpegenc ! identity name=changed ! matroskamux", source(30));
    let clip =
        Clip::changed("delta.mkv", &launch, |_, buffer| buffer.set_flags(gst::BufferFlags::DELTA_UNIT));
    refuses(&clip, &[&["--plan", "3"]], 3, "it has no key frames: search all of it with motion-vectors ");
    clip.search(":", "whole", &["search-range=4"]);

    let clip = Clip::new("one.mkv", &format!("{} ! x264enc key-int-max=1000 ! matroskamux", source(30)));
    let run = clip.run(&["--plan", "3"]);
    assert_eq!((run.code, &*run.text), (0, ":\n"));
    assert!(run.errors.contains("it has key frames for 1 of 3 ranges"), "{run:?}");
}

#[test]
fn a_video_without_timestamps_is_searched_but_not_cut() {
    let clip = Clip::new(
        "clip.264",
        &format!("{} ! x264enc key-int-max=12 ! video/x-h264,stream-format=byte-stream", source(30)),
    );
    refuses(
        &clip,
        &[&["--plan", "3"]],
        3,
        "have no timestamps: put it into MP4 or Matroska, or search all of it",
    );
    clip.search(":", "whole", &["search-range=4"]);
}

/// An animated picture of 16 x 16 pixels, in codes of eight bits that pack nothing.
fn animated_gif(frames: u8) -> Vec<u8> {
    const SIDE: [u8; 2] = [16, 0];
    let grey = (0..128).flat_map(|level| [2 * level; 3]);
    let mut file = [b"GIF89a", &SIDE[..], &SIDE, &[0xf6, 0, 0]].concat();
    file.extend(grey);
    file.extend(b"!\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00");
    for frame in 0..frames {
        // Shown for 40 ms.
        file.extend(b"!\xf9\x04\x04\x04\x00\x00\x00");
        file.extend([b",\0\0\0\0", &SIDE[..], &SIDE, &[0, 7]].concat());
        for row in 0..16 {
            // A code that clears the table, so that codes stay so short.
            file.extend([17, 128]);
            file.extend((0..16).map(|column| (3 * column + 5 * row + 7 * frame) % 128));
        }
        file.extend([1, 129, 0]);
    }
    file.push(b';');
    file
}

/// GStreamer's libav reads at the end of a short file for ever, or, in a later release, comes to the end.
#[test]
fn a_pipeline_that_stalls_is_ended() {
    let clip = Clip::of_bytes("clip.gif", &animated_gif(10));
    let run = clip.run(&["--out", "out", "search-range=4"]);
    if gst::version() < (1, 24, 0, 0) || run.code != 0 {
        let told = "GStreamer has stalled: ";
        assert!(run.code == 3 && run.errors.contains(told) && run.errors.contains("avdemux_gif"), "{run:?}");
        let bytes = fs::metadata(&clip.video).unwrap().len();
        assert!(run.errors.contains(&format!("{bytes} of {bytes} bytes are read")), "{run:?}");
        assert_eq!(clip.files(), ["clip.gif"]);
    }
}

#[test]
fn names_of_other_formats_are_refused() {
    let clip = Clip::mp4();
    for (name, caps) in
        [("x.csv", "text/csv"), ("x.NDJSON", "application/x-ndjson"), ("x.flo.zst", "application/x-flo")]
    {
        refuses(&clip, &[&["--out", name]], 2, &format!("! motionserialize ! {caps} ! "));
        let run = clip.join(&["piece".into()], name, &[]);
        assert!(run.code == 2 && run.errors.contains("writes packed binary"), "{run:?}");
    }
}

#[test]
fn wrong_arguments_are_told_with_the_right_ones() {
    let clip = Clip::mp4();
    for (arguments, told) in [
        (&["--out", "out", "--range", "2:1"][..], "the range 2:1 is empty"),
        (&["--out", "out", "--range", "5"], "\"5\" is no range: write A:B"),
        (&["--out", "out", "--range", "x:5"], "\"x\" is no time: write seconds as 12, 12.5 or 25/2"),
        (&[], "--out FILE is missing"),
        (&["--plan", "0"], "at least one range"),
        (&["--plan", "0s"], "at least one range"),
        (&["--plan", "x"], "write a number of ranges, such as 8, or their duration in seconds, such as 10s"),
        (&["--plan", "2", "--join"], "exclude each other"),
        (&["--plan", "2", "search-range=4"], "takes one video and no properties"),
        (&["--frames", "2"], "invalid option '--frames'"),
        (
            &["--out", "out", "search-rang=4"],
            "no property \"search-rang\"; there are algorithm, balance, black-level",
        ),
        (&["--out", "out", "stats=4"], "no property \"stats\""),
        (&["--out", "out", "search-range"], "\"search-range\" is no property: write NAME=VALUE"),
        (
            &["--out", "out", "search-range=0"],
            "\"0\" is no value of search-range, which is a number from 1 to 1024",
        ),
        (&["--out", "out", "search-range=many"], "\"many\" is no value of search-range"),
        (&["--out", "out", "metric=ncc"], "which is one of sad, ssd"),
        (&["--out", "out", "costs=zero+nought"], "joined by +, of zero, intra"),
        (&["--out", "out", "drop-duplicates=maybe"], "true or false"),
        (&["--out", "out", "block-size=6"], "block size 6 is not supported"),
        (&["--out", "out", "device=a-device-that-nobody-has"], "(motion-vectors --devices lists them)"),
        (&["--devices"], "--devices takes no video"),
        (
            &["--out", "out", "--range", "0:1", "drop-duplicates=true"],
            "drop-duplicates=true needs the whole video",
        ),
        (
            &["--out", "out", "--range", "0:1", "drop-lossy-duplicates=true"],
            "drop-lossy-duplicates=true needs the whole video",
        ),
    ] {
        refuses(&clip, &[arguments], 2, told);
    }
    let run = run(Command::new(PROGRAM).current_dir(clip.folder.path()));
    assert!(run.code == 2 && run.errors.contains("a video is missing"), "{run:?}");
}

#[test]
fn help_and_version_are_shown() {
    for (argument, told) in
        [("--help", "usage: motion-vectors VIDEO"), ("-h", "exit codes:"), ("-V", "motion-vectors 0.")]
    {
        let run = run(Command::new(PROGRAM).arg(argument));
        assert!(run.code == 0 && run.text.contains(told) && run.errors.is_empty(), "{run:?}");
    }
}
