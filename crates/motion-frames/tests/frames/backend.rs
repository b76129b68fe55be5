//! Which device makes frames, by the names of devices.

use motion_base::{SampleFormat, SetupError};
use motion_frames::backend::open_maker;
use motion_frames::compensation::Sampling;
use motion_frames::interpolation::{FrameFormat, FrameQuality};
use motion_search::backend::devices;

#[test]
fn frames_are_made_on_the_device_that_is_named_or_the_first_gpu_of_a_list() {
    let samplings = vec![Sampling::LUMA];
    let format = FrameFormat { size: (16, 16), samplings, samples: SampleFormat::EIGHT_BITS };
    let maker = |device: &str| {
        let (maker, fallback) = open_maker(&device.parse()?, &format, FrameQuality::Balanced, 1)?;
        assert!(fallback.is_none(), "{device}: {fallback:?}");
        Ok::<_, SetupError>(maker.device().to_owned())
    };
    let devices = devices();
    let gpu = devices.iter().find(|device| device.kind == "gpu");
    let gpu = gpu.map_or("native", |device| &device.name);
    assert_eq!(maker("native").unwrap(), "native");
    for device in &devices {
        assert_eq!(maker(&device.selector.to_string()).unwrap(), device.name);
    }
    assert_eq!(maker("all").unwrap(), gpu);
    let best = maker("auto").unwrap();
    assert_eq!(best == "native", gpu == "native");
    for device in ["no such device", "native,no such device", "native,"] {
        assert_eq!(maker(device).is_err(), device.contains("such"), "{device}");
    }
}
