//! Regions of interest.

use std::sync::Mutex;

use gst::prelude::*;
use gst_video::prelude::*;
use gst_video::{VideoInfo, VideoRegionOfInterestMeta};

use crate::support::{frame, harness, pull};

const ENCODER: &str = "motionx264enc motion-strength=0 tune=zerolatency threads=1 pass=qual quantizer=30 \
     vbv-buf-capacity=0";

/// A region, in samples, and the offset that it asks for.
type Region = ((u32, u32, u32, u32), i32);

/// The means of the squared differences of luma in the left and the right half of the last frame of a few.
fn errors(encoder: &str, parameter: &str, regions: &[Region]) -> [f64; 2] {
    let (mut encoding, info) = harness(encoder);
    let mut decoding = gst_check::Harness::new("avdec_h264");
    decoding.set_sink_caps_str("video/x-raw,format=I420");
    let mut last = None;
    for number in 0..4 {
        let mut buffer = frame(&info, number);
        for &(place, delta) in regions {
            let mut region = VideoRegionOfInterestMeta::add(buffer.get_mut().unwrap(), "face", place);
            region.add_param(gst::Structure::builder(parameter).field("delta-qp", delta).build());
        }
        encoding.push(buffer.clone()).unwrap();
        let encoded = encoding.pull().unwrap();
        if number == 0 {
            decoding.set_src_caps(encoding.sinkpad().unwrap().current_caps().unwrap());
        }
        decoding.push(encoded).unwrap();
        last = Some(buffer);
    }
    decoding.push_event(gst::event::Eos::new());
    let decoded = pull(&mut decoding);
    assert_eq!(decoded.len(), 4);
    halves(&info, &last.unwrap(), &decoded[3])
}

fn halves(info: &VideoInfo, a: &gst::Buffer, b: &gst::Buffer) -> [f64; 2] {
    let read = |buffer| gst_video::VideoFrameRef::from_buffer_ref_readable(buffer, info).unwrap();
    let (a, b) = (read(a), read(b));
    let (stride, width) = (a.plane_stride()[0] as usize, info.width() as usize);
    [0, 1].map(|half| {
        let columns = half * width / 2..(half + 1) * width / 2;
        let squares = (0..info.height() as usize).flat_map(|y| columns.clone().map(move |x| y * stride + x));
        let sum: f64 = squares
            .map(|at| {
                let samples = (a.plane_data(0).unwrap()[at], b.plane_data(0).unwrap()[at]);
                f64::from(samples.0.abs_diff(samples.1)).powi(2)
            })
            .sum();
        sum / (columns.len() * info.height() as usize) as f64
    })
}

const LEFT: (u32, u32, u32, u32) = (0, 0, 32, 48);

#[test]
fn a_region_is_better_and_the_rest_is_not() {
    let plain = errors(ENCODER, "roi/x264enc", &[]);
    let left = errors(ENCODER, "roi/x264enc", &[(LEFT, -12)]);
    assert!(left[0] < plain[0] / 4.0, "{left:?}, {plain:?}");
    assert!((0.8..1.25).contains(&(left[1] / plain[1])), "{left:?}, {plain:?}");
    let worse = errors(ENCODER, "roi/motionx264enc", &[(LEFT, 12)]);
    assert!(worse[0] > plain[0] * 4.0, "{worse:?}, {plain:?}");
    // The parameters of other encoders are not for this one.
    assert_eq!(errors(ENCODER, "roi/msdk", &[(LEFT, -12)]), plain);
}

#[test]
fn the_smallest_of_overlapping_regions_counts() {
    let both = errors(ENCODER, "roi/x264enc", &[(LEFT, -12), ((0, 0, 64, 48), 6)]);
    let apart = errors(ENCODER, "roi/x264enc", &[(LEFT, -12), ((32, 0, 32, 48), 6)]);
    assert_eq!(both, apart);
}

#[test]
fn regions_of_any_place_and_size() {
    let plain = errors(ENCODER, "roi/x264enc", &[]);
    for place in [(64, 0, 10, 10), (0, 48, 64, 1), (u32::MAX, u32::MAX, u32::MAX, u32::MAX), (3, 3, 0, 9)] {
        assert_eq!(errors(ENCODER, "roi/x264enc", &[(place, -30)]), plain, "{place:?}");
    }
    // Reaching out of the frame.
    let all = errors(ENCODER, "roi/x264enc", &[((0, 0, 64, 48), -12)]);
    assert_eq!(errors(ENCODER, "roi/x264enc", &[((0, 0, u32::MAX, u32::MAX), -12)]), all);
    // An offset beyond all quantisers.
    let most = errors(ENCODER, "roi/x264enc", &[((0, 0, 64, 48), i32::MIN)]);
    assert!(most[0] < all[0]);
}

/// x264 reports the mean quantiser of each frame.
#[test]
fn the_quantiser_is_what_was_asked_for() {
    static FOUND: Mutex<Vec<f64>> = Mutex::new(Vec::new());
    crate::support::init();
    gst::log::add_log_function(|category, _, _, _, _, _, message| {
        let text = message.get().map(|text| text.to_string()).unwrap_or_default();
        let quantizer =
            text.split_once(" QP=").and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
        // Not those of encoders of other tests.
        if let (true, Some(quantizer)) =
            (text.starts_with("measured: ") && category.name() == "x264", quantizer)
        {
            FOUND.lock().unwrap().push(quantizer);
        }
    });
    gst::log::set_threshold_for_name("x264", gst::DebugLevel::Log);
    let means = |regions: &[Region]| {
        FOUND.lock().unwrap().clear();
        errors(&format!("{ENCODER} name=measured"), "roi/x264enc", regions);
        FOUND.lock().unwrap().clone()
    };
    let (plain, half) = (means(&[]), means(&[(LEFT, -8)]));
    assert_eq!((plain.len(), half.len()), (4, 4));
    // The first frame's rate control knows of nothing before it: half of its macroblocks have 8 less.
    assert!((plain[0] - half[0] - 4.0).abs() < 0.3, "{plain:?}, {half:?}");
}

/// In interlaced video a macroblock of each field covers the same rows.
#[test]
fn regions_of_interlaced_video() {
    crate::support::init();
    let info = VideoInfo::builder(gst_video::VideoFormat::I420, 64, 80)
        .fps(gst::Fraction::new(25, 1))
        .interlace_mode(gst_video::VideoInterlaceMode::Interleaved)
        .build()
        .unwrap();
    let size = |delta: i32| {
        let mut encoding = gst_check::Harness::new_parse(ENCODER);
        encoding.set_src_caps(info.to_caps().unwrap());
        let mut buffer = frame(&info, 0);
        let mut region = VideoRegionOfInterestMeta::add(buffer.get_mut().unwrap(), "face", (0, 70, 64, 10));
        region.add_param(gst::Structure::builder("roi/x264enc").field("delta-qp", delta).build());
        encoding.push_and_pull(buffer).unwrap().size()
    };
    assert!(size(-10) > size(0) && size(0) > size(10));
}
