//! Metadata of input frames in the output.

use gst::meta::CustomMeta;
use gst_video::{
    VideoAffineTransformationMeta, VideoCaptionMeta, VideoCaptionType, VideoCropMeta, VideoTimeCode,
    VideoTimeCodeFlags, VideoTimeCodeMeta,
};

use super::support::*;

const MARK: &str = "TestFrameNumber";

fn register() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    init();
    ONCE.call_once(|| CustomMeta::register(MARK, &[]));
}

/// Frame `number` with a meta of each kind that says so, and what crops and turns it.
fn marked(rate: Rate, number: u64) -> gst::Buffer {
    register();
    let mut buffer = frame(&i420(rate), rate, number);
    let writable = buffer.make_mut();
    let mut mark = CustomMeta::add(writable, MARK).unwrap();
    mark.mut_structure().set("number", number);
    VideoCaptionMeta::add(writable, VideoCaptionType::Cea608Raw, &[number as u8, 0]);
    let fps = gst::Fraction::new(24, 1);
    let (seconds, frames) = ((number / 24) as u32, (number % 24) as u32);
    let code = VideoTimeCode::new(fps, None, VideoTimeCodeFlags::empty(), 0, 0, seconds, frames, 0);
    VideoTimeCodeMeta::add(writable, &code.try_into().unwrap());
    // The rectangle moves with the frames.
    VideoCropMeta::add(writable, (number as u32, 0, 2, 2));
    VideoAffineTransformationMeta::add(writable, None);
    buffer
}

/// The numbers of the frames whose marks are on `buffer`. Captions and time codes must be those of the same.
fn marks(buffer: &gst::BufferRef) -> Vec<u64> {
    let mut numbers = Vec::new();
    buffer.foreach_meta(|meta| {
        if let Some(mark) = meta.try_as_custom_meta().filter(|mark| mark.has_name(MARK)) {
            numbers.push(mark.structure().get::<u64>("number").unwrap());
        }
        std::ops::ControlFlow::Continue(())
    });
    let captions: Vec<_> =
        buffer.iter_meta::<VideoCaptionMeta>().map(|meta| u64::from(meta.data()[0])).collect();
    let codes: Vec<_> = buffer
        .iter_meta::<VideoTimeCodeMeta>()
        .map(|meta| u64::from(meta.tc().seconds() * 24 + meta.tc().frames()))
        .collect();
    assert_eq!((&captions, &codes), (&numbers, &numbers));
    numbers
}

/// The marks of each output frame of the frames `numbers`, and the left edge of its rectangle.
fn carried(
    launch: &str,
    [input, output]: [Rate; 2],
    numbers: impl IntoIterator<Item = u64>,
) -> (Vec<Vec<u64>>, Vec<u32>) {
    let mut harness = harness(&format!("motioninterpolate {launch}"), &i420(input), output);
    numbers.into_iter().for_each(|number| push(&mut harness, marked(input, number)));
    end(&mut harness);
    let buffers = pull(&mut harness);
    let edge = |buffer: &gst::Buffer| {
        assert_eq!(buffer.iter_meta::<VideoAffineTransformationMeta>().count(), 1);
        let [ref crop] = buffer.iter_meta::<VideoCropMeta>().collect::<Vec<_>>()[..] else {
            panic!("one rectangle")
        };
        crop.rect().0
    };
    (buffers.iter().map(|buffer| marks(buffer)).collect(), buffers.iter().map(edge).collect())
}

#[test]
fn what_belongs_to_a_moment_is_on_one_frame_and_what_is_shown_on_all() {
    let film = [(24, 1), (60, 1)];
    for launch in ["mode=blend", "mode=repeat", "device=native", "device=native pipeline-depth=3"] {
        let (marks, edges) = carried(launch, film, 0..5);
        let first = |numbers: &[u64]| numbers.to_vec();
        // Output frame k shows the moment 2k/5. Frame 1 is at 2.5, frame 3 at 7.5.
        let expected: Vec<_> =
            [&[0][..], &[], &[], &[1], &[], &[2], &[], &[], &[3], &[], &[4], &[], &[]].map(first).into();
        assert_eq!(marks, expected, "{launch}");
        assert_eq!(edges, [0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 4], "{launch}");
    }
}

#[test]
fn none_is_lost_or_there_twice_where_frames_are_dropped_or_repeated() {
    for (rates, numbers) in [
        // Frame 59 is the last one at the time of an output frame or before it.
        ([(60, 1), (24, 1)], (0..59).collect::<Vec<_>>()),
        ([(25, 1), (50, 1)], vec![0, 1, 2, 5, 6, 40, 41]),
        ([(25, 1), (25, 1)], vec![0, 1, 2, 4, 7, 8, 9, 50]),
        ([(24, 1), (30, 1)], vec![3, 4, 5, 9, 10]),
        ([(30, 1), (30, 1)], (0..40).collect()),
    ] {
        let (marks, _) = carried("mode=blend", rates, numbers.clone());
        let carried = marks.concat();
        let expected = if rates[1] == (24, 1) { &numbers[..58] } else { &numbers[..] };
        assert_eq!(carried, expected, "{rates:?}");
    }
}

#[test]
fn those_of_dropped_duplicates_are_on_later_frames() {
    // Each content twice, and the last one three times.
    let repeated = |number: u64| {
        let mut buffer = marked((24, 1), number);
        let content = frame(&i420((24, 1)), (24, 1), number.min(8) / 2);
        let samples = bytes(&content);
        buffer.make_mut().map_writable().unwrap().copy_from_slice(&samples);
        buffer
    };
    for depth in [1, 3] {
        let launch =
            format!("motioninterpolate device=native pipeline-depth={depth} drop-lossy-duplicates=true");
        let mut harness = harness(&launch, &i420((24, 1)), (24, 1));
        (0..11).for_each(|number| push(&mut harness, repeated(number)));
        end(&mut harness);
        let found = pull(&mut harness);
        assert_eq!(count(&harness, "frames-dropped"), 6);
        let marks: Vec<_> = found.iter().map(|buffer| marks(buffer)).collect();
        let mut expected = vec![vec![0], vec![]];
        expected.extend((1..5).flat_map(|pair| [vec![2 * pair - 1, 2 * pair], vec![]]));
        // Those behind the last one that is kept.
        expected[9] = vec![9, 10];
        expected.push(vec![]);
        assert_eq!(marks, expected, "depth {depth}");
    }
}

#[test]
fn none_is_lost_at_a_change_of_caps() {
    let mut harness = blending((60, 1), (24, 1));
    (0..4).for_each(|number| push(&mut harness, marked((60, 1), number)));
    let other = video(gst_video::VideoFormat::I420, (20, 8), (60, 1));
    assert!(harness.push_event(gst::event::Caps::new(&other.to_caps().unwrap())));
    for number in 4..7 {
        push(&mut harness, frame_at(&other, number, time((60, 1), number)));
    }
    end(&mut harness);
    let found: Vec<_> = pull(&mut harness).iter().flat_map(|buffer| marks(buffer)).collect();
    assert_eq!(found, [0, 1, 2, 3]);
}
