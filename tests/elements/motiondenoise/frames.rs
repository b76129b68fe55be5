//! What the frames are that leave, and when.

use gst::prelude::*;
use gst_video::VideoFormat;
use motion_search::estimator::References;

use super::support::*;
#[cfg(feature = "opencl")]
use test_support::some_of;

/// Checks that `launch` makes what the oracle makes of `count` noisy frames with `past` and `future`.
fn check(launch: &str, format: VideoFormat, count: u64, references: (usize, usize)) {
    check_in_flight(launch, format, count, references, 1);
}

/// The same with `depth` frames in flight.
fn check_in_flight(
    launch: &str,
    format: VideoFormat,
    count: u64,
    (past, future): (usize, usize),
    depth: usize,
) {
    let info = video(format, SIZE);
    let mut harness = harness(&format!("{launch} past={past} future={future} pipeline-depth={depth}"), &info);
    let frames: Vec<_> = (0..count).map(|number| frame(&info, number, true)).collect();
    for (number, frame) in frames.iter().enumerate() {
        push(&mut harness, frame.clone());
        let left = (number + 1).saturating_sub(future + depth - 1);
        assert_eq!(harness.buffers_in_queue() as usize, left, "{launch} {future}");
    }
    end(&mut harness);
    let found = pull(&mut harness);
    assert_eq!(numbers(&found), (0..count).collect::<Vec<_>>());
    let references = References { backward: past, forward: future };
    let expected = expected_with(&info, &frames, references, !launch.contains("spatial=off"));
    for ((found, frame), expected) in found.iter().zip(&frames).zip(&expected) {
        let name = format!("{launch} {format:?} {past} {future} {:?}", found.pts());
        assert!(samples_of(&planes(found, &info).0) == *expected, "{name}");
        assert_eq!((found.duration(), found.flags()), (frame.duration(), frame.flags()), "{name}");
    }
    // A frame without others is left alone.
    let is_alone = |number: u64| (past == 0 || number == 0) && (future == 0 || number + 1 == count);
    let alone = (0..count).filter(|&number| is_alone(number)).count() as u64;
    assert_eq!(self::count(&harness, "denoised"), count - alone);
    for (number, (frame, expected)) in (0..count).zip(frames.iter().zip(&expected)) {
        let is_untouched = samples_of(&planes(frame, &info).0) == *expected;
        assert_eq!(is_untouched, is_alone(number), "{launch} {format:?} {past} {future} {number}");
    }
}

#[test]
fn frames_equal_the_oracle() {
    for references in [(2, 2), (1, 0), (0, 1), (4, 1), (2, 4)] {
        check("motiondenoise device=native", VideoFormat::I420, 7, references);
    }
    check("motiondenoise device=native threads=1", VideoFormat::I420, 1, (2, 2));
}

#[test]
fn frames_are_only_averaged_where_nothing_is_taken_out_inside_them() {
    let info = i420();
    let frames: Vec<_> = (0..3).map(|number| frame(&info, number, true)).collect();
    let made = [true, false]
        .map(|is_spatial| expected_with(&info, &frames, References { backward: 1, forward: 1 }, is_spatial));
    assert!(made[0] != made[1]);
    check("motiondenoise device=native spatial=off", VideoFormat::I420, 3, (1, 1));
    check("motiondenoise device=native spatial=auto", VideoFormat::I420, 3, (1, 1));
}

#[test]
fn any_format_equals_the_oracle() {
    use VideoFormat::{Gray8, Gray16Le, I42010le, I42212le, Nv12, Nv21, P01010le, Y42b, Y44410le, Yv12};
    for format in [Gray8, Gray16Le, I42010le, I42212le, Nv12, Nv21, P01010le, Y42b, Y44410le, Yv12] {
        check("motiondenoise device=native", format, 3, (1, 1));
    }
}

#[cfg(feature = "opencl")]
#[test]
fn any_device_makes_the_same() {
    use VideoFormat::{
        Gray8, Gray16Le, I420, I42010le, I42212le, Nv12, Nv21, P01010le, Y42b, Y44410le, Yv12,
    };
    for device in ["cpu", "cpu,native"] {
        check(&format!("motiondenoise device={device}"), I420, 4, (2, 1));
    }
    let formats = [Gray8, Nv12, P01010le, Y42b, Gray16Le, I42010le, I42212le, Nv21, Y44410le, Yv12];
    for format in some_of(3, formats) {
        check("motiondenoise device=cpu", format, 3, (1, 1));
    }
}

/// What the property tells of the devices.
#[cfg(feature = "opencl")]
#[test]
fn statistics_tell_what_denoises() {
    for (device, launcher) in [("cpu", Some("opencl")), ("native", None)] {
        let info = i420();
        let mut harness = harness(&format!("motiondenoise device={device}"), &info);
        push(&mut harness, frame(&info, 0, true));
        let stats: gst::Structure = element(&harness).property("stats");
        assert_eq!(stats.get::<Option<String>>("denoise-launcher").unwrap().as_deref(), launcher);
        let [search, denoise] = ["device", "denoise-device"].map(|name| stats.get::<String>(name).unwrap());
        assert_eq!(search, denoise);
        assert_eq!(denoise == "native", device == "native");
        end(&mut harness);
    }
}

#[test]
fn any_number_of_frames_in_flight_makes_the_same() {
    for (references, depth) in [((2, 2), 3), ((1, 0), 2), ((0, 2), 4)] {
        check_in_flight("motiondenoise device=native", VideoFormat::I420, 8, references, depth);
    }
    #[cfg(feature = "opencl")]
    check_in_flight("motiondenoise device=cpu", VideoFormat::I420, 6, (2, 2), 2);
}

#[test]
fn nothing_is_copied_where_nothing_changes() {
    for (launch, is_noisy, left) in [
        ("motiondenoise strength=0", true, 4),
        ("motiondenoise past=0 future=0", true, 4),
        // A still is waited with for another frame.
        ("motiondenoise device=native", false, 0),
        ("motiondenoise device=native future=0", false, 4),
    ] {
        let info = i420();
        let mut harness = harness(launch, &info);
        let still = frame(&info, 0, is_noisy);
        let address_of_all = address(&still);
        for number in 0..4 {
            let mut buffer = still.clone();
            buffer.make_mut().set_pts(DURATION * number);
            push(&mut harness, buffer);
        }
        assert_eq!(harness.buffers_in_queue(), left, "{launch}");
        end(&mut harness);
        let found = pull(&mut harness);
        assert_eq!(numbers(&found), [0, 1, 2, 3], "{launch}");
        assert!(found.iter().all(|buffer| address(buffer) == address_of_all), "{launch}");
        assert_eq!((count(&harness, "untouched"), count(&harness, "denoised")), (4, 0), "{launch}");
    }
}

/// Checks that each frame of `times` leaves as the oracle makes it of the distinct ones, when as many of these have come as
/// it waits for.
fn check_repeats(launch: &str, times: &[u64], (past, future): (usize, usize), depth: usize) {
    let name = format!("{launch} past={past} future={future} pipeline-depth={depth}");
    let info = i420();
    let mut harness = harness(&name, &info);
    let name = format!("{name}, {times:?}");
    for (number, &time) in times.iter().enumerate() {
        let mut buffer = frame(&info, time, true);
        buffer.make_mut().set_pts(DURATION * number as u64);
        push(&mut harness, buffer);
        let is_followed = |of: &&u64| **of + (future + depth - 1) as u64 <= time;
        let left = times[..=number].iter().filter(is_followed).count();
        assert_eq!(harness.buffers_in_queue() as usize, left, "{name}, frame {number}");
    }
    end(&mut harness);
    let found = pull(&mut harness);
    assert_eq!(numbers(&found), (0..times.len() as u64).collect::<Vec<_>>(), "{name}");
    assert!(found.iter().all(|buffer| buffer.duration() == Some(DURATION)), "{name}");
    let frames: Vec<_> = (0..=times[times.len() - 1]).map(|time| frame(&info, time, true)).collect();
    let expected = expected(&info, &frames, References { backward: past, forward: future });
    for (index, (&time, found)) in times.iter().zip(&found).enumerate() {
        assert!(samples_of(&planes(found, &info).0) == expected[time as usize], "{name}, frame {index}");
    }
}

#[test]
fn repeats_leave_like_the_frames_that_they_repeat() {
    for repeats in 2..=5 {
        let times: Vec<_> = (0..5 * repeats).map(|number| number / repeats).collect();
        for references in [(2, 2), (1, 3), (0, 1), (2, 0)] {
            check_repeats("motiondenoise device=native", &times, references, 1);
        }
    }
    check_repeats("motiondenoise device=native", &[0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 4], (2, 2), 2);
    // At the start, in mid-stream and at the end.
    for times in [[0, 0, 0, 0, 1, 2, 3, 4], [0, 1, 2, 2, 2, 2, 3, 4], [0, 1, 2, 3, 4, 4, 4, 4]] {
        check_repeats("motiondenoise device=native", &times, (2, 2), 1);
    }
}

#[test]
fn a_still_that_repeats_without_end_holds_up_nothing() {
    for (future, wait) in [(2, 12), (1, 6)] {
        let info = i420();
        let mut harness = harness(&format!("motiondenoise device=native future={future}"), &info);
        let pool = gst_video::VideoBufferPool::new();
        let mut config = pool.config();
        config.set_params(Some(&info.to_caps().unwrap()), info.size() as u32, 2, 2);
        pool.set_config(config).unwrap();
        pool.set_active(true).unwrap();
        let still = frame(&info, 0, true);
        for number in 0..100 {
            // Frames that wait hold no buffers of a pool that has two.
            let params = gst::BufferPoolAcquireParams::with_flags(gst::BufferPoolAcquireFlags::DONTWAIT);
            let mut buffer = pool.acquire_buffer(Some(&params)).expect("a buffer is free");
            let target = buffer.get_mut().unwrap();
            target.set_pts(DURATION * number);
            target.copy_from_slice(0, &still.map_readable().unwrap()).unwrap();
            push(&mut harness, buffer);
            let left = (number + 1).saturating_sub(wait);
            assert_eq!(u64::from(harness.buffers_in_queue()), left, "future {future}, frame {number}");
        }
        end(&mut harness);
        assert_eq!(numbers(&pull(&mut harness)), (0..100).collect::<Vec<_>>());
        pool.set_active(false).unwrap();
    }
}

#[test]
fn a_noise_level_is_taken_out_where_none_is_measured() {
    let info = i420();
    // Of two frames of different scenes nothing is measured.
    let change = |settings: &str| {
        let mut harness = harness(&format!("motiondenoise device=native {settings}"), &info);
        let still = frame(&info, 0, false);
        for number in 0..5 {
            let mut buffer = still.clone();
            // One sample in four differs by one level, which is too little to be noise.
            let target = buffer.make_mut();
            target.set_pts(DURATION * number);
            let mut map = target.map_writable().unwrap();
            for at in (number as usize..map.len()).step_by(25) {
                map[at] ^= 1;
            }
            drop(map);
            push(&mut harness, buffer);
        }
        end(&mut harness);
        assert_eq!(numbers(&pull(&mut harness)), [0, 1, 2, 3, 4]);
        count(&harness, "denoised")
    };
    assert_eq!(change(""), 0);
    assert_eq!(change("noise-level=-1"), 0);
    assert_eq!(change("noise-level=0 strength=16"), 0);
    assert_eq!(change("noise-level=1"), 5);
    assert_eq!(change("noise-level=1 strength=0"), 0);
}

#[test]
fn samples_of_fewer_bits_in_sixteen() {
    let info = video(VideoFormat::Gray16Le, (160, 128));
    let mut harness = harness("motiondenoise device=native significant-bits=12", &info);
    let mut state = 1_u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24) - 0.5
    };
    for number in 0..6 {
        let sample = |at: usize| {
            let (x, y) = ((at % 160) as f64, (at / 160) as f64);
            (2000.0 + 400.0 * (x / 9.0).sin() * (y / 7.0).cos() + 200.0 * noise()) as u16
        };
        let bytes: Vec<_> = (0..160 * 128).map(sample).flat_map(u16::to_le_bytes).collect();
        let mut buffer = gst::Buffer::from_mut_slice(bytes);
        buffer.make_mut().set_pts(DURATION * number);
        push(&mut harness, buffer);
    }
    end(&mut harness);
    assert_eq!(count(&harness, "denoised"), 6);
    let stats: gst::Structure = element(&harness).property("stats");
    let ratio = stats.get::<f64>("noise").unwrap() / (200.0 / 12_f64.sqrt());
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
}

#[test]
fn properties_change_while_playing() {
    let mut harness = harness("motiondenoise device=native", &i420());
    let element = element(&harness);
    push_all(&mut harness, 0..4);
    assert_eq!(numbers(&pull(&mut harness)), [0, 1]);
    // What waits leaves without the frame that comes.
    element.set_property("future", 0_u32);
    push_all(&mut harness, 4..5);
    assert_eq!(numbers(&pull(&mut harness)), [2, 3, 4]);
    element.set_property("strength", 0.0);
    push_all(&mut harness, 5..6);
    // Another strength needs no new sequence.
    element.set_property("strength", 2.0);
    push_all(&mut harness, 6..8);
    element.set_property("strength", 0.5);
    push_all(&mut harness, 8..9);
    assert_eq!(numbers(&pull(&mut harness)), [5, 6, 7, 8]);
    let touched = [0, 1, 2, 3, 7, 8].len() as u64;
    assert_eq!((count(&harness, "denoised"), count(&harness, "untouched")), (touched, 3));
}

#[test]
fn a_pool_with_few_buffers_is_enough() {
    let info = i420();
    let mut harness = harness("motiondenoise device=native", &info);
    let pool = gst_video::VideoBufferPool::new();
    let mut config = pool.config();
    config.set_params(Some(&info.to_caps().unwrap()), info.size() as u32, 2, 2);
    pool.set_config(config).unwrap();
    pool.set_active(true).unwrap();
    for number in 0..6 {
        let params = gst::BufferPoolAcquireParams::with_flags(gst::BufferPoolAcquireFlags::DONTWAIT);
        let mut buffer = pool.acquire_buffer(Some(&params)).expect("a buffer is free");
        let target = buffer.get_mut().unwrap();
        target.set_pts(DURATION * number);
        let noisy = frame(&info, number, true);
        target.copy_from_slice(0, &noisy.map_readable().unwrap()).unwrap();
        push(&mut harness, buffer);
    }
    end(&mut harness);
    assert_eq!(numbers(&pull(&mut harness)), [0, 1, 2, 3, 4, 5]);
    pool.set_active(false).unwrap();
}

#[test]
fn as_many_buffers_are_asked_for_as_are_held() {
    let info = i420();
    let mut harness = gst_check::Harness::new_parse("motiondenoise device=native past=1 future=2");
    harness.add_propose_allocation_meta(gst_video::VideoMeta::meta_api(), None);
    harness.set_src_caps(info.to_caps().unwrap());
    push_all(&mut harness, 0..1);
    let mut query = gst::query::Allocation::new(Some(&info.to_caps().unwrap()), true);
    assert!(element(&harness).static_pad("sink").unwrap().query(query.query_mut()));
    let (_, size, least, most) = query.allocation_pools().next().expect("a pool");
    assert_eq!((size as usize, least, most), (info.size(), 5, 0));
    assert!(query.find_allocation_meta::<gst_video::VideoMeta>().is_some());
}
