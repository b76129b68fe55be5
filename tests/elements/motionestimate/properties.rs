//! Properties that change while frames flow.

use gst::prelude::*;
use gstmotionestimate::motionestimate::{
    MotionEstimateAlgorithm, MotionEstimateBorder, MotionEstimateDirection, MotionEstimateKernel,
    MotionEstimateMetric, MotionEstimatePrediction, MotionEstimateQuality, MotionEstimateSubSample,
};
use motion_search::backend;
use motion_search::estimator::prediction::median_predictors;
use motion_search::estimator::{Algorithm, Border, Metric, Parameters, Quality, SubSample, Window};

use super::support::*;

#[test]
fn changes_hold_from_the_next_frame_and_keep_the_reference() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    let element = harness.find_element("motionestimate").unwrap();
    let mut expected = parameters(&info);
    let mut reference = pass(&mut harness, &info, 0);
    let mut time = 0;
    let mut check = |expected: &Parameters| {
        time += 1;
        let current = pass(&mut harness, &info, time);
        check_vectors(&info, expected, &current, &reference);
        reference = current;
    };
    check(&expected);

    element.set_property("search-range", 9u32);
    expected.window = Window::symmetric(9, 9).unwrap();
    check(&expected);
    element.set_property("search-range-y", 2i32);
    expected.window = Window::symmetric(9, 2).unwrap();
    check(&expected);
    element.set_property("block-size", 20u32);
    expected.block_size = 20;
    check(&expected);
    element.set_property("metric", MotionEstimateMetric::Ssd);
    expected.metric = Metric::Ssd;
    check(&expected);
    element.set_property("border", MotionEstimateBorder::Restrict);
    expected.border = Border::Restrict;
    check(&expected);
    element.set_property("algorithm", MotionEstimateAlgorithm::ThreeStep);
    expected.algorithm = Algorithm::ThreeStep;
    check(&expected);
    // Tuning changes nothing, on devices that follow it and on those that ignore it.
    element.set_property("tuning", gst::Structure::builder("motion-tuning").field("group-size", 3).build());
    check(&expected);
    // The reference moves between devices, and back.
    for device in backend::devices().iter().rev() {
        element.set_property("device", device.selector.to_string());
        check(&expected);
        check(&expected);
    }
    element.set_property("device", "auto");
    check(&expected);
    element.set_property("algorithm", MotionEstimateAlgorithm::Full);
    expected.algorithm = Algorithm::Full;
    check(&expected);
    for (property, sub_sample) in [
        (MotionEstimateSubSample::Half, SubSample::Half),
        (MotionEstimateSubSample::Quarter, SubSample::Quarter),
        (MotionEstimateSubSample::None, SubSample::None),
    ] {
        element.set_property("sub-sample", property);
        expected.sub_sample = sub_sample;
        check(&expected);
    }
    element.set_property("algorithm", MotionEstimateAlgorithm::Hierarchical);
    element.set_property("block-size", 8u32);
    (expected.algorithm, expected.block_size) = (Algorithm::Hierarchical, 8);
    check(&expected);
    for (property, quality) in [
        (MotionEstimateQuality::High, Quality::High),
        (MotionEstimateQuality::Fast, Quality::Fast),
        (MotionEstimateQuality::Balanced, Quality::Balanced),
    ] {
        element.set_property("quality", property);
        expected.quality = quality;
        check(&expected);
    }
    element.set_property("algorithm", MotionEstimateAlgorithm::Full);
    expected.algorithm = Algorithm::Full;
    check(&expected);

    element.set_property("search-range", 3u32);
    element.set_property("search-range-y", -1i32);
    element.set_property("block-size", 4u32);
    expected.window = Window::symmetric(3, 3).unwrap();
    expected.block_size = 4;
    check(&expected);
    check(&expected);
}

#[test]
fn prediction_adds_predictors_and_changes_nothing_else() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    let element = harness.find_element("motionestimate").unwrap();
    let parameters = parameters(&info);
    let mut reference = pass(&mut harness, &info, 0);
    let mut time = 0;
    let mut check = |prediction: MotionEstimatePrediction| {
        element.set_property("prediction", prediction);
        time += 1;
        let current = pass(&mut harness, &info, time);
        check_vectors(&info, &parameters, &current, &reference);
        let field = meta(&current).unwrap();
        let expected = median_predictors(parameters.grid(), field.vectors());
        let is_predicting = prediction == MotionEstimatePrediction::Median;
        assert_eq!(field.predictors(), is_predicting.then_some(&expected[..]));
        reference = current;
    };
    check(MotionEstimatePrediction::None);
    for device in backend::devices() {
        element.set_property("device", device.selector.to_string());
        check(MotionEstimatePrediction::Median);
        check(MotionEstimatePrediction::Median);
        check(MotionEstimatePrediction::None);
    }
    let time = element.property::<gst::Structure>("stats").get::<u64>("prediction-time").unwrap();
    assert!(time > 0);
}

#[test]
fn a_change_before_the_first_frame_needs_no_reference() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    harness.find_element("motionestimate").unwrap().set_property("search-range", 2u32);
    let buffers: Vec<_> = (0..3).map(|time| pass(&mut harness, &info, time)).collect();
    let window = Window::symmetric(2, 2).unwrap();
    check_sequence(&info, &Parameters { window, ..parameters(&info) }, &buffers);
}

#[test]
fn settings_that_cannot_hold_are_refused_and_the_earlier_ones_hold_on() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    let element = harness.find_element("motionestimate").unwrap();
    let bus = ElementBus::new(element.clone());
    let warning = || match wait(&bus).view() {
        gst::MessageView::Warning(warning) => warning.error().to_string(),
        other => panic!("{other:?}"),
    };
    let mut buffers = vec![pass(&mut harness, &info, 0)];
    element.set_property("block-size", 10u32);
    buffers.push(pass(&mut harness, &info, 1));
    assert!(warning().contains("block size 10"));
    assert_eq!(element.property::<u32>("block-size"), parameters(&info).block_size as u32);

    element.set_property("algorithm", MotionEstimateAlgorithm::Hierarchical);
    element.set_property("block-size", 12u32);
    buffers.push(pass(&mut harness, &info, 2));
    assert!(warning().contains("use 4, 8, 16, 32 or 64"));
    assert_eq!(element.property::<MotionEstimateAlgorithm>("algorithm"), MotionEstimateAlgorithm::Full);

    element.set_property("kernel", MotionEstimateKernel::ThreeStep);
    buffers.push(pass(&mut harness, &info, 3));
    assert!(warning().contains("does not do algorithm full"));
    buffers.push(pass(&mut harness, &info, 4));
    check_sequence(&info, &parameters(&info), &buffers);
}

#[test]
fn tuning_is_followed_and_given_back() {
    let info = gray();
    let text = "motion-tuning,group-size=(int)7,launch=(string)queues,queues=(int)2,launches=(int)5;";
    for kernel in ["auto", "collaborative", "two-pass"] {
        let device = if kernel == "auto" { "native" } else { "auto" };
        let mut harness = harness(&format!("{ELEMENT} kernel={kernel} device={device}"), &info);
        let element = harness.find_element("motionestimate").unwrap();
        assert!(element.property::<Option<gst::Structure>>("tuning").is_none());
        element.set_property("tuning", text.parse::<gst::Structure>().unwrap());
        let given: gst::Structure = element.property("tuning");
        assert_eq!(given, text.parse::<gst::Structure>().unwrap());
        let buffers: Vec<_> = (0..3).map(|time| pass(&mut harness, &info, time)).collect();
        check_sequence(&info, &parameters(&info), &buffers);
        element.set_property("tuning", None::<gst::Structure>);
        let more = [buffers[2].clone(), pass(&mut harness, &info, 3)];
        check_vectors(&info, &parameters(&info), &more[1], &more[0]);
    }
}

#[test]
fn defaults_are_those_that_are_documented() {
    init();
    let element = gst::ElementFactory::make("motionestimate").build().unwrap();
    assert_eq!(element.property::<MotionEstimateKernel>("kernel"), MotionEstimateKernel::Auto);
    assert_eq!(element.property::<String>("device"), "auto");
    assert_eq!(element.property::<u32>("block-size"), 16);
    assert_eq!(element.property::<u32>("search-range"), 16);
    assert_eq!(element.property::<i32>("search-range-y"), -1);
    assert_eq!(element.property::<u32>("references"), 1);
    assert_eq!(element.property::<MotionEstimateDirection>("direction"), MotionEstimateDirection::Backward);
    assert_eq!(element.property::<Option<gst::Structure>>("tuning"), None);
    for name in [
        "algorithm",
        "kernel",
        "metric",
        "border",
        "prediction",
        "device",
        "block-size",
        "search-range",
        "search-range-y",
        "direction",
        "references",
    ] {
        let pspec = element.find_property(name).unwrap();
        let listed = pspec.default_value().serialize().unwrap();
        let used = element.property_value(name).serialize().unwrap();
        assert_eq!(listed, used, "{name}: the default that is listed is the one in use");
        assert!(pspec.flags().contains(glib::ParamFlags::READWRITE), "{name}");
        assert!(pspec.flags().contains(gst::PARAM_FLAG_MUTABLE_PLAYING), "{name}");
    }
}

#[test]
fn a_device_that_is_no_text_is_a_device_that_is_not_there() {
    use std::os::unix::ffi::OsStrExt;

    init();
    for name in ["motionestimate", "motioninterpolate", "motiondenoise"] {
        let element = gst::ElementFactory::make(name).build().unwrap();
        // As C sets it.
        let device = std::path::Path::new(std::ffi::OsStr::from_bytes(b"na\xfftive"));
        element.set_property_from_value("device", &device.to_value());
        assert_eq!(element.property::<String>("device"), "na\u{fffd}tive");
    }
}
