//! PSNR and MSE, on buffers and on the bus.

use gst::prelude::*;
use gst_video::VideoFormat;
use motion_search::estimator::Frame;

use super::support::*;
use crate::fields;

/// Squared error and number of samples, computed here in floating point.
fn error(a: &Frame, b: &Frame) -> (f64, f64) {
    let (a, b) = (a.view(), b.view());
    let places = (0..a.height() as i32).flat_map(|y| (0..a.width() as i32).map(move |x| (x, y)));
    let square = |(x, y)| (f64::from(a.sample(x, y)) - f64::from(b.sample(x, y))).powi(2);
    (places.map(square).sum(), (a.width() * a.height()) as f64)
}

/// `mse-y`, `psnr-y`, `mse`, `psnr` of squared errors and numbers of samples up to `peak`, a plane each.
fn expected(errors: &[(f64, f64)], peak: u16) -> [f64; 4] {
    let mse = |errors: &[(f64, f64)]| {
        errors.iter().map(|e| e.0).sum::<f64>() / errors.iter().map(|e| e.1).sum::<f64>()
    };
    let psnr = |mse: f64| 20.0 * f64::from(peak).log10() - 10.0 * mse.log10();
    let (luma, all) = (mse(&errors[..1]), mse(errors));
    [luma, psnr(luma), all, psnr(all)]
}

fn assert_close(found: [f64; 4], expected: [f64; 4], name: &str) {
    for (found, expected) in found.into_iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9, "{name}: {found} is not {expected}");
    }
}

#[test]
fn figures_are_those_computed_independently() {
    for format in FORMATS {
        let peak = sample_format(format).peak();
        for mode in ["prediction", "residual", "original"] {
            let info = info(format, (61, 47));
            let (mut harness, bus) = harness(&format!("motioncompensate measure=psnr mode={mode}"), &info);
            let mut before = planes(&info, 0);
            let mut totals = vec![(0.0, 0.0); before.len()];
            let out = harness.push_and_pull(buffer(&info, &before, 0, None)).unwrap();
            assert_eq!(quality(&out), None, "nothing was predicted");
            for time in 1..4 {
                let name = format!("{format} {mode} frame {time}");
                let current = planes(&info, time);
                let mut input = buffer(&info, &current, time, Some(5));
                let description = description(&info, (16, 16), time);
                let vectors = vectors(&description, time);
                attach(&mut input, &description, &vectors);
                let prediction = predicted(&info, &description, &vectors, &before);
                let errors: Vec<_> = current.iter().zip(&prediction).map(|(a, b)| error(a, b)).collect();
                for (total, error) in totals.iter_mut().zip(&errors) {
                    *total = (total.0 + error.0, total.1 + error.1);
                }
                let out = harness.push_and_pull(input).unwrap();
                assert_close(quality(&out).expect("figures"), expected(&errors, peak), &name);
                let messages = messages(&bus, "motion-quality");
                assert_eq!(messages.len(), 1, "{name}");
                assert_close(figures(&messages[0]), expected(&errors, peak), &name);
                assert_eq!(messages[0].get("pts"), Ok(time as u64 * 40_000_000));
                before = current;
            }
            harness.push_event(gst::event::Eos::new());
            let total = messages(&bus, "motion-quality-total").pop().expect("a total");
            assert_eq!((total.get("frames"), total.get("predicted")), (Ok(4u64), Ok(3u64)));
            assert_close(figures(&total), expected(&totals, peak), &format!("{format} {mode} total"));
        }
    }
}

#[test]
fn still_frames_are_predicted_without_error() {
    let pipeline = fields::launch(
        "videotestsrc num-buffers=3 pattern=zone-plate kx2=20 ky2=20 ! video/x-raw,width=64,height=48 \
         ! motionestimate device=native ! motioncompensate measure=psnr ! appsink name=sink",
    );
    let bus = pipeline.bus().unwrap();
    let total = std::sync::Arc::new(std::sync::Mutex::new(None));
    let seen = total.clone();
    bus.set_sync_handler(move |_, message| {
        if let Some(structure) = message.structure().filter(|s| s.name() == "motion-quality-total") {
            *seen.lock().unwrap() = Some(structure.to_owned());
        }
        gst::BusSyncReply::Pass
    });
    let buffers = fields::run(&pipeline);
    assert_eq!(quality(&buffers[0]), None);
    for buffer in &buffers[1..] {
        assert_eq!(quality(buffer), Some([0.0, f64::INFINITY, 0.0, f64::INFINITY]));
    }
    let total = total.lock().unwrap().take().expect("a total");
    assert_eq!(figures(&total), [0.0, f64::INFINITY, 0.0, f64::INFINITY]);
}

#[test]
fn nothing_is_measured_unasked_and_a_total_of_nothing_has_no_figures() {
    let info = info(VideoFormat::Gray8, (20, 20));
    let count = |launch: &str| {
        let (mut harness, bus) = harness(launch, &info);
        let out = harness.push_and_pull(buffer(&info, &planes(&info, 0), 0, None)).unwrap();
        assert_eq!(quality(&out), None);
        harness.push_event(gst::event::Eos::new());
        messages(&bus, "motion-quality-total")
    };
    assert!(count("motioncompensate").is_empty());
    let total = count("motioncompensate measure=psnr").pop().expect("a total");
    assert_eq!((total.get("frames"), total.get("predicted")), (Ok(1u64), Ok(0u64)));
    assert!(!total.has_field("psnr"));
}
