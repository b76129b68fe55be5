//! Buffers of any layout into `motionestimate`: each is refused with an error, or its vectors are those of the oracle.

use gst_video::VideoInfo;
use gstmotionestimate::meta::MotionVectorMeta;
use motion_search::estimator::{
    Algorithm, Border, Frame, Metric, Parameters, Quality, SubSample, Window, oracle,
};

use crate::buffers::{Made, made, video};
use crate::plan::Plan;
use crate::setup::{self, error_on};
use test_support::gstreamer::formats::{FORMATS, depth_and_shift};

/// A frame that was taken, and the one that it is searched in.
struct Taken {
    frame: Frame,
    pts: Option<gst::ClockTime>,
    reference: Option<usize>,
}

/// What is searched in frames of `info`, as a launch line and as parameters.
fn search(plan: &mut Plan<'_>, info: &VideoInfo) -> (String, Parameters) {
    let (depth, _) = depth_and_shift(info.format());
    let algorithm = plan.one_of(&[Algorithm::Full, Algorithm::ThreeStep, Algorithm::Hierarchical]);
    let block =
        plan.one_of(if algorithm == Algorithm::Hierarchical { &[8, 4, 16, 32][..] } else { &[8, 4, 12, 20] });
    let (x, y) = (plan.number(1..=5), plan.number(0..=5));
    let metric = plan.one_of(if depth > 10 { &[Metric::Sad][..] } else { &[Metric::Sad, Metric::Ssd] });
    let border = plan.one_of(&[Border::Extend, Border::Restrict]);
    let is_refined = algorithm != Algorithm::Hierarchical;
    let sub_samples = [SubSample::None, SubSample::Half, SubSample::Quarter];
    let sub_sample = plan.one_of(if is_refined { &sub_samples[..] } else { &sub_samples[..1] });
    let quality = plan.one_of(&[Quality::Balanced, Quality::Fast, Quality::High]);
    let pipeline_depth = plan.number(1..=3u8);
    let extra = plan.one_of(&["", " prediction=median", " costs=zero+variance", " scene-cut=message"]);
    let is_deep = depth > 8 && algorithm != Algorithm::Hierarchical;
    let parameters = Parameters {
        metric,
        border,
        algorithm,
        quality,
        sub_sample,
        bit_depth: if is_deep { depth } else { 8 },
        ..Parameters::new(
            info.width() as usize,
            info.height() as usize,
            block,
            Window::symmetric(x, y).expect("a small window"),
        )
    };
    let launch = format!(
        "motionestimate device=native threads=1 algorithm={} block-size={block} search-range={x} search-range-y={y} \
         metric={} border={} sub-sample={} quality={} pipeline-depth={pipeline_depth}{extra}",
        algorithm.name(),
        metric.name(),
        match border {
            Border::Extend => "extend",
            Border::Restrict => "restrict",
        },
        sub_sample.name(),
        match quality {
            Quality::Fast => "fast",
            Quality::High => "high",
            _ => "balanced",
        },
    );
    (launch, parameters)
}

/// Runs the target.
pub fn run(data: &[u8]) {
    setup::init();
    let plan = &mut Plan::new(data);
    let info = video(plan, &FORMATS, 44);
    let (launch, parameters) = search(plan, &info);
    let (mut harness, _element, bus) = setup::harness(&launch);
    harness.set_src_caps(info.to_caps().expect("caps"));

    let mut pushed = Vec::new();
    for time in 0..plan.number(2..=6u64) {
        let mut made = made(plan, &info, time);
        let pts = (!plan.once_in(8)).then(|| gst::ClockTime::from_mseconds(40 * time));
        let is_discont = plan.once_in(9);
        let buffer = made.buffer.make_mut();
        buffer.set_pts(pts);
        buffer.set_offset(time);
        if is_discont {
            buffer.set_flags(gst::BufferFlags::DISCONT);
        }
        if let Err(error) = harness.push(made.buffer.clone()) {
            check_refusal(&made, error, &bus);
        }
        pushed.push((made, is_discont));
    }
    harness.push_event(gst::event::Eos::new());
    let left: Vec<_> = std::iter::from_fn(|| harness.try_pull()).collect();
    let mut taken: Vec<Taken> = Vec::new();
    // Nothing before this is searched any more.
    let mut sequence = 0;
    for (made, is_discont) in pushed {
        let has_left = left.get(taken.len()).is_some_and(|buffer| buffer.offset() == made.buffer.offset());
        // What does not hold its frame is dropped, with a warning.
        assert!(has_left || !made.is_sound, "a sound buffer is missing");
        if is_discont || !has_left {
            sequence = taken.len();
        }
        if has_left {
            let frame = made.luma(&info, parameters.bit_depth == 8);
            let frame = frame.expect("a buffer was taken that does not hold its frame");
            let reference = (taken.len() > sequence).then(|| taken.len() - 1);
            taken.push(Taken { frame, pts: made.buffer.pts(), reference });
        }
    }
    assert_eq!(left.len(), taken.len(), "more frames leave than came");
    for (buffer, frame) in left.iter().zip(&taken) {
        check(buffer, frame, &taken, &parameters);
    }
}

/// Checks that only a buffer that may be refused is, with an error on the bus.
fn check_refusal(made: &Made, error: gst::FlowError, bus: &gst::Bus) {
    assert!(!made.is_sound, "a sound buffer is refused: {:?}", error_on(bus));
    assert_eq!(error, gst::FlowError::Error);
    let text = error_on(bus).expect("an error on the bus");
    assert_eq!(text, "A buffer does not hold the frame its caps promise");
}

/// Checks that `buffer` is `frame` with the vectors of the oracle.
fn check(buffer: &gst::BufferRef, frame: &Taken, taken: &[Taken], parameters: &Parameters) {
    assert_eq!(buffer.pts(), frame.pts);
    let fields: Vec<_> = MotionVectorMeta::all_of(buffer).map(|field| field.expect("a sound meta")).collect();
    assert_eq!(fields.len(), usize::from(frame.reference.is_some()), "fields of a frame");
    let (Some(field), Some(reference)) = (fields.first(), frame.reference) else { return };
    let reference = &taken[reference];
    assert_eq!(field.description().reference_pts, reference.pts);
    let expected = oracle::search(parameters, &frame.frame.view(), &reference.frame.view());
    assert_eq!(field.vectors(), expected.vectors, "{parameters:?}");
}
