//! A buffer that does not hold the frame its caps promise: it alone is lost, and the frames behind it are the first of a sequence.

use gst_check::Harness;
use gst_video::{VideoFormat, VideoInfo};
use gstmotionestimate::meta::{self, Extras, MotionVectorMeta};
use motion_search::estimator::MotionVector;
use test_support::gstreamer::ElementBus;

use crate::{fields, init};

const SIZE: (u32, u32) = (48, 40);

fn info() -> VideoInfo {
    VideoInfo::builder(VideoFormat::I420, SIZE.0, SIZE.1).fps(gst::Fraction::new(25, 1)).build().unwrap()
}

/// Frame `number` of a noisy picture that moves, with fields of motion 0 whose references are the frames at these `offsets`.
fn frame(number: u64, offsets: &[i32]) -> gst::Buffer {
    let noise = |index: u64| ((index * 2_654_435_761) >> 13) as u8 & 15;
    let sample = |index: u64| {
        let texture = ((index + 2 * number) * (index + 2 * number) / 96) as u8 >> 1;
        texture.wrapping_add(noise(index + 9973 * number))
    };
    let mut buffer = gst::Buffer::from_mut_slice((0..info().size() as u64).map(sample).collect::<Vec<_>>());
    let target = buffer.make_mut();
    target.set_pts(gst::ClockTime::from_mseconds(40 * number));
    target.set_duration(gst::ClockTime::from_mseconds(40));
    for &offset in offsets {
        let reference_pts =
            number.checked_add_signed(offset.into()).map(|number| gst::ClockTime::from_mseconds(40 * number));
        let description = meta::FieldDescription {
            reference_offset: offset,
            reference_pts,
            ..fields::description(SIZE.0, SIZE.1, 16)
        };
        let vectors = vec![MotionVector::default(); description.grid().blocks()];
        meta::attach(target, &description, fields::bytes(&vectors), Extras::default()).unwrap();
    }
    buffer
}

/// What tells a buffer that has come out: its time, its samples, and the reference and vectors of each field.
type Seen = (u64, Vec<u8>, Vec<(i32, Option<gst::ClockTime>, Vec<MotionVector>)>);

fn pulled(harness: &mut Harness) -> Vec<Seen> {
    let seen = |buffer: gst::Buffer| {
        let fields = MotionVectorMeta::all_of(&buffer).map(|field| {
            let field = field.unwrap();
            let description = field.description();
            (description.reference_offset, description.reference_pts, field.vectors().to_vec())
        });
        let samples = buffer.map_readable().unwrap().to_vec();
        (buffer.pts().unwrap().mseconds(), samples, fields.collect())
    };
    std::iter::from_fn(|| harness.try_pull()).map(seen).collect()
}

/// An element with these settings, and the references of the fields that come in.
type Subject = (&'static str, &'static [i32]);

fn begin((launch, _): Subject) -> Harness {
    init();
    let mut harness = Harness::new_parse(launch);
    harness.set_src_caps(info().to_caps().unwrap());
    harness.set_sink_caps_str("video/x-raw,framerate={25/1,50/1}");
    harness
}

fn push(harness: &mut Harness, numbers: std::ops::Range<u64>, (launch, offsets): Subject) {
    for number in numbers {
        assert!(harness.push(frame(number, offsets)).is_ok(), "{launch}: frame {number}");
    }
}

/// What comes of the frames of these numbers without others.
fn alone(numbers: std::ops::Range<u64>, subject: Subject) -> Vec<Seen> {
    let mut harness = begin(subject);
    push(&mut harness, numbers, subject);
    harness.push_event(gst::event::Eos::new());
    pulled(&mut harness)
}

/// The bus of the element in a harness, which may have a caps filter behind it.
fn bus(harness: &mut Harness, launch: &str) -> ElementBus {
    let name = launch.split(' ').next().unwrap();
    ElementBus::new(harness.find_element(name).unwrap())
}

#[test]
fn an_unreadable_buffer_costs_no_other_frame_in_any_element() {
    const FIELDS: &[i32] = &[-1, 1, 2];
    let short = || gst::Buffer::from_mut_slice(vec![0; info().size() - 1]);
    let empty = gst::Buffer::new;
    for subject in [
        ("motionestimate device=native", &[][..]),
        ("motionestimate device=native direction=both references=2", &[]),
        ("motionestimate device=native direction=both pipeline-depth=3", &[]),
        ("motionestimate device=native drop-duplicates=true", &[]),
        ("motioncompensate", FIELDS),
        ("motioncompensate mode=residual reference-offset=1", FIELDS),
        ("motioncompensate measure=psnr mode=original reference-offset=2", FIELDS),
        ("motiondenoise device=native past=1 future=2 strength=4", &[]),
        ("motiondetect", &[]),
        ("motiondenoise device=native past=2 future=0 pipeline-depth=2", &[]),
        ("motioninterpolate mode=blend ! capsfilter caps=video/x-raw,framerate=50/1", &[]),
        ("motioninterpolate device=native quality=high ! capsfilter caps=video/x-raw,framerate=50/1", &[]),
        (
            "motioninterpolate device=native pipeline-depth=3 ! capsfilter caps=video/x-raw,framerate=50/1",
            &[],
        ),
    ] {
        let name = subject.0;
        let (before, after) = (alone(0..4, subject), alone(5..9, subject));
        let end = before.last().unwrap().0;
        for (unreadable, second) in [(short(), empty()), (empty(), short())] {
            let mut harness = begin(subject);
            let bus = bus(&mut harness, name);
            push(&mut harness, 0..4, subject);
            let mut found = pulled(&mut harness);
            for (mut unreadable, time) in [(unreadable, 160), (second, 180)] {
                unreadable.make_mut().set_pts(gst::ClockTime::from_mseconds(time));
                assert!(harness.push(unreadable).is_ok(), "{name}");
            }
            found.extend(pulled(&mut harness));
            // All that waited, as at the end of the stream.
            assert!(
                found == before,
                "{name}: {:?} before it",
                found.iter().map(|seen| seen.0).collect::<Vec<_>>()
            );
            push(&mut harness, 5..9, subject);
            harness.push_event(gst::event::Eos::new());
            // Where frames are made, those that show the first frame behind it begin earlier without those before it.
            let expected: Vec<_> = after.iter().filter(|seen| seen.0 > end).collect();
            let found = pulled(&mut harness);
            assert!(
                found.iter().collect::<Vec<_>>() == expected,
                "{name}: {:?} behind it",
                found.iter().map(|seen| seen.0).collect::<Vec<_>>()
            );
            let kinds = [gst::MessageType::Warning, gst::MessageType::Error];
            let told: Vec<_> = std::iter::from_fn(|| bus.pop_filtered(&kinds)).collect();
            let texts: Vec<_> = told
                .iter()
                .map(|message| match message.view() {
                    gst::MessageView::Warning(warning) => warning.error().to_string(),
                    other => panic!("{name}: {other:?}"),
                })
                .filter(|text| text.contains("does not hold the frame its caps promise, and is dropped"))
                .collect();
            assert_eq!(texts.len(), 1, "{name}: {told:?}");
        }
    }
}
