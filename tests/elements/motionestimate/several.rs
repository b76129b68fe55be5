//! Several devices as one.

#[cfg(feature = "opencl")]
use gst::prelude::*;
#[cfg(feature = "opencl")]
use motion_search::estimator::{Parameters, SubSample, Window};

use super::support::*;

#[cfg(feature = "opencl")]
fn parameters(info: &gst_video::VideoInfo) -> Parameters {
    Parameters::new(info.width() as usize, info.height() as usize, 8, Window::symmetric(5, 5).unwrap())
}

const SOURCE: &str = "videotestsrc num-buffers=12 pattern=ball ! video/x-raw,format=GRAY8,width=90,height=60";

#[cfg(feature = "opencl")]
#[test]
fn every_split_and_balance_attaches_the_very_vectors() {
    for (split, depth) in [("rows", 1), ("candidates", 2), ("frames", 3), ("auto", 4)] {
        for balance in ["adaptive", "fit", "static"] {
            let (samples, message) = run(&format!(
                "{SOURCE} ! motionestimate device=0:0,native block-size=8 search-range=5 split={split} \
                 balance={balance} pipeline-depth={depth} ! appsink name=sink"
            ));
            assert_eq!(message.type_(), gst::MessageType::Eos, "{message:?}");
            assert_eq!(samples.len(), 12);
            check_samples(&samples, parameters);
        }
    }
}

#[cfg(feature = "opencl")]
#[test]
fn every_split_refines_the_very_vectors() {
    for split in ["rows", "candidates", "frames"] {
        let (samples, message) = run(&format!(
            "{SOURCE} ! motionestimate device=0:0,native block-size=8 search-range=5 sub-sample=half split={split} \
             pipeline-depth=2 ! appsink name=sink"
        ));
        assert_eq!(message.type_(), gst::MessageType::Eos, "{message:?}");
        assert_eq!(samples.len(), 12);
        check_samples(&samples, |info| Parameters { sub_sample: SubSample::Half, ..parameters(info) });
    }
}

#[cfg(feature = "opencl")]
#[test]
fn stats_show_each_device() {
    crate::init();
    let pipeline = gst::parse::launch(&format!(
        "{SOURCE} ! motionestimate name=m device=0:0@1,native@3 block-size=8 ! fakesink"
    ));
    let pipeline = pipeline.unwrap().downcast::<gst::Pipeline>().unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    let bus = pipeline.bus().unwrap();
    let next = |kind| {
        let kinds = [kind, gst::MessageType::Error];
        let message = bus.timed_pop_filtered(gst::ClockTime::NONE, &kinds).unwrap();
        assert_eq!(message.type_(), kind, "{message:?}");
        message
    };
    let told = next(gst::MessageType::Element).structure().unwrap().to_owned();
    next(gst::MessageType::Eos);
    let stats = pipeline.by_name("m").unwrap().property::<gst::Structure>("stats");
    pipeline.set_state(gst::State::Null).unwrap();
    assert_eq!(told, stats, "the message at EOS has the same");
    let devices = stats.get::<gst::Array>("devices").unwrap();
    let devices: Vec<gst::Structure> = devices.iter().map(|device| device.get().unwrap()).collect();
    assert_eq!(devices.len(), 2);
    // Eight rows of blocks.
    let shares: Vec<f64> = devices.iter().map(|device| device.get("share").unwrap()).collect();
    assert_eq!(shares, [0.25, 0.75]);
    assert_eq!(devices[1].get::<&str>("device").unwrap(), "native");
    // What a device does while it works: its part of the differences in its time.
    let all = (90 * 60 * 33 * 33 * 11) as f64;
    for (device, share) in devices.iter().zip(shares) {
        let (rate, busy) = (device.get::<f64>("effective-rate"), device.get::<u64>("busy-time"));
        let seconds = all * share / rate.unwrap();
        assert!((seconds * 1e9 / busy.unwrap() as f64 - 1.0).abs() < 1e-6, "{device}");
    }
    for device in &devices {
        assert!(device.get::<f64>("effective-rate").unwrap() > 0.0);
        assert!(device.get::<u64>("busy-time").unwrap() > 0);
        assert!(!device.get::<bool>("failed").unwrap());
    }
}

#[test]
fn lists_that_cannot_be_followed_are_errors() {
    for (list, part) in [("native,native", "twice"), ("native,auto", "auto"), ("native@x", "weight")] {
        let (_, message) = run(&format!("{SOURCE} ! motionestimate device={list} ! appsink name=sink"));
        let text = error_text(&message);
        assert!(text.contains(part) && text.contains(list), "{text}");
    }
}
