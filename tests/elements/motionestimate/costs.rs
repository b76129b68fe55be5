//! The costs that `costs` attaches, against the oracle.

use gst::prelude::*;
use gst_video::{VideoFormat, VideoInfo};
use gstmotionestimate::meta::MotionVectorMeta;
use gstmotionestimate::motionestimate::MotionEstimateCosts;
use motion_search::backend;
use motion_search::estimator::{
    Algorithm, CostKind, Frame, Parameters, Prediction, References, SubSample, oracle,
};

use super::support::*;

const TRIO: [CostKind; 3] = [CostKind::Zero, CostKind::Intra, CostKind::Satd];

/// Checks that `meta` has these costs of the search of `current` in `reference`.
fn check_costs(parameters: &Parameters, meta: &MotionVectorMeta, [current, reference]: [&Frame; 2]) {
    let costs = meta.costs().expect("costs");
    let names: Vec<_> = parameters.costs.iter().map(CostKind::name).collect();
    assert_eq!(costs.names().iter().map(|name| &**name).collect::<Vec<_>>(), names);
    let expected = oracle::costs(parameters, &current.view(), &reference.view(), meta.vectors());
    assert!(costs.values() == expected, "{parameters:?}");
}

fn check_buffers(info: &VideoInfo, parameters: &Parameters, buffers: &[gst::Buffer]) {
    check_all_fields(info, parameters, buffers);
    let frames: Vec<_> = buffers.iter().map(|buffer| luma(buffer, info)).collect();
    for (index, buffer) in buffers.iter().enumerate() {
        for meta in metas(buffer) {
            let reference = (index as i32 + meta.description().reference_offset) as usize;
            check_costs(parameters, &meta, [&frames[index], &frames[reference]]);
        }
    }
}

fn searched(info: &VideoInfo, costs: &[CostKind]) -> Parameters {
    Parameters { costs: costs.iter().copied().collect(), ..parameters(info) }
}

#[test]
fn every_device_attaches_them() {
    let info = info(VideoFormat::I420, SIZE);
    let both = References { backward: 2, forward: 1 };
    let devices = backend::devices().into_iter().map(|device| device.selector.to_string());
    let list = if cfg!(feature = "opencl") { "0:0,native" } else { "native," };
    for device in devices.chain([list.into()]) {
        let trio = searched(&info, &TRIO);
        let all = searched(&info, &CostKind::ALL);
        for (settings, parameters) in [
            ("costs=zero+intra+satd", trio.clone()),
            ("costs=satd+intra+zero on-device-failure=error pipeline-depth=3", trio.clone()),
            (
                "costs=zero+intra+satd+second+variance+confidence prediction=median",
                Parameters { prediction: Prediction::Median, ..all.clone() },
            ),
            (
                "costs=zero+intra+satd+second+variance+confidence sub-sample=quarter",
                Parameters { sub_sample: SubSample::Quarter, ..all },
            ),
            (
                "costs=zero+intra+satd algorithm=hierarchical threads=1",
                Parameters { algorithm: Algorithm::Hierarchical, ..trio.clone() },
            ),
            (
                "costs=satd direction=both references=2 pipeline-depth=2",
                Parameters {
                    references: References { forward: 2, ..both },
                    ..searched(&info, &[CostKind::Satd])
                },
            ),
        ] {
            let launch = format!("motionestimate device={device} block-size=8 search-range=5 {settings}");
            let mut harness = harness(&launch, &info);
            for time in 0..5 {
                harness.push(frame(&info, time)).unwrap();
            }
            harness.push_event(gst::event::Eos::new());
            let buffers: Vec<_> = std::iter::from_fn(|| harness.try_pull()).collect();
            check_buffers(&info, &parameters, &buffers);
        }
    }
}

#[test]
fn they_come_and_go_while_playing() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    let element = harness.find_element("motionestimate").unwrap();
    assert_eq!(element.property::<MotionEstimateCosts>("costs"), MotionEstimateCosts::empty());
    let mut buffers = vec![pass(&mut harness, &info, 0), pass(&mut harness, &info, 1)];
    assert!(meta(&buffers[1]).unwrap().costs().is_none());
    element.set_property("costs", MotionEstimateCosts::INTRA | MotionEstimateCosts::VARIANCE);
    buffers.push(pass(&mut harness, &info, 2));
    // Upstream wants its buffers back.
    let pad = harness.element().unwrap().static_pad("sink").unwrap();
    pad.query(gst::query::Drain::new().query_mut());
    buffers.push(pass(&mut harness, &info, 3));
    let parameters = searched(&info, &[CostKind::Intra, CostKind::Variance]);
    for pair in buffers.windows(2).skip(1) {
        check_vectors(&info, &parameters, &pair[1], &pair[0]);
        check_costs(&parameters, &meta(&pair[1]).unwrap(), [&luma(&pair[1], &info), &luma(&pair[0], &info)]);
    }
    element.set_property("costs", MotionEstimateCosts::empty());
    assert!(meta(&pass(&mut harness, &info, 4)).unwrap().costs().is_none());
}

/// A sequence ends at new caps and at a gap: frames without a reference frame have no costs either.
#[test]
fn no_frame_has_them_without_a_reference() {
    let info = gray();
    let mut harness = harness(&format!("{ELEMENT} costs=zero+intra+satd"), &info);
    let first: Vec<_> = (0..3).map(|time| pass(&mut harness, &info, time)).collect();
    harness.push_event(gst::event::Gap::builder(gst::ClockTime::from_mseconds(120)).build());
    let second: Vec<_> = (4..6).map(|time| pass(&mut harness, &info, time)).collect();
    let other = super::support::info(VideoFormat::Gray8, (33, 20));
    harness.set_src_caps(other.to_caps().unwrap());
    let third: Vec<_> = (6..9).map(|time| pass(&mut harness, &other, time)).collect();
    for (info, sequence) in [(&info, first), (&info, second), (&other, third)] {
        check_buffers(info, &searched(info, &TRIO), &sequence);
    }
}

#[test]
fn few_buffers_of_a_pool_suffice() {
    let info = gray();
    let mut harness = harness(&format!("{ELEMENT} costs=satd"), &info);
    let pool = gst::BufferPool::new();
    let mut config = pool.config();
    config.set_params(Some(&info.to_caps().unwrap()), info.size() as u32, 2, 2);
    pool.set_config(config).unwrap();
    pool.set_active(true).unwrap();
    let mut buffers = Vec::new();
    for time in 0..6 {
        let params = gst::BufferPoolAcquireParams::with_flags(gst::BufferPoolAcquireFlags::DONTWAIT);
        let mut buffer = pool.acquire_buffer(Some(&params)).expect("one that nobody holds");
        let source = frame(&info, time);
        let writable = buffer.get_mut().unwrap();
        writable.copy_from_slice(0, &source.map_readable().unwrap()).unwrap();
        writable.set_pts(source.pts());
        // A copy, so that the memory is used again.
        buffers.push(harness.push_and_pull(buffer).unwrap().copy_deep().unwrap());
    }
    check_buffers(&info, &searched(&info, &[CostKind::Satd]), &buffers);
    pool.set_active(false).unwrap();
}

#[test]
fn second_needs_a_window() {
    let (samples, message) = run("videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,width=64,height=48 \
         ! motionestimate algorithm=hierarchical costs=zero+second ! appsink name=sink");
    assert!(samples.is_empty());
    assert_eq!(
        error_text(&message),
        "the cost second is the least of other candidates of the search window, which algorithm hierarchical does \
         not have: leave it out, or use algorithm full or three-step"
    );
}
