//! When output frames are, and what they show: compared with the definition in rationals.

use super::support::*;

/// The output frames of `count` input frames as (time, end, input frame before, numerator, denominator of the phase). A last
/// one that repeats the last input frame ends with it.
fn expected(input: Rate, output: Rate, count: u64) -> Vec<(u64, u64, u64, u64, u64)> {
    // Input frames from one output frame to the next.
    let (a, b) = (output.1 as u64 * input.0 as u64, output.0 as u64 * input.1 as u64);
    let end = |k: u64| {
        let is_repeated = k * a / b + 1 == count && !(k * a).is_multiple_of(b);
        if is_repeated { time(output, k + 1).min(time(input, count)) } else { time(output, k + 1) }
    };
    (0..).map(|k| (time(output, k), end(k), k * a / b, k * a % b, b)).take_while(|f| f.2 < count).collect()
}

/// The mean of the definition.
fn blended(previous: &[u32], next: &[u32], n: u64, d: u64) -> Vec<u32> {
    let divisor = (1..=d).rev().find(|&c| n.is_multiple_of(c) && d.is_multiple_of(c)).unwrap();
    let (n, d) = (n / divisor, d / divisor);
    let weight = ((64 * (d - n) + d / 2) / d) as u32;
    let mean = |(&p, &q): (&u32, &u32)| (weight * p + (64 - weight) * q + 32) >> 6;
    previous.iter().zip(next).map(mean).collect()
}

fn check(input: Rate, output: Rate, count: u64) {
    let info = i420(input);
    let mut harness = blending(input, output);
    let frames: Vec<_> = (0..count).map(|number| frame(&info, input, number)).collect();
    let addresses: Vec<_> = frames.iter().map(|frame| address(frame)).collect();
    let mut found = Vec::new();
    for (number, frame) in frames.iter().enumerate() {
        push(&mut harness, frame.clone());
        found.extend(pull(&mut harness));
        // All that can be known by now has left.
        let known = expected(input, output, count)
            .iter()
            .filter(|f| f.2 + u64::from(f.3 > 0) <= number as u64)
            .count();
        assert_eq!(found.len(), known, "{input:?} to {output:?} after {number}");
    }
    end(&mut harness);
    found.extend(pull(&mut harness));
    let expected = expected(input, output, count);
    assert_eq!(found.len(), expected.len(), "{input:?} to {output:?}");
    for (index, (buffer, (time, end, whole, n, d))) in found.iter().zip(expected).enumerate() {
        let at = format!("{input:?} to {output:?}, {index}");
        assert_eq!((pts(buffer), buffer.duration().unwrap().nseconds()), (time, end - time), "{at}");
        assert_eq!((buffer.offset(), buffer.offset_end()), (index as u64, index as u64 + 1));
        assert!(!is_discont(buffer) || index == 0, "{at}");
        let whole = whole as usize;
        if n == 0 || whole + 1 == count as usize {
            assert_eq!(address(buffer), addresses[whole], "{at}: by reference");
        } else {
            let [previous, next] = [whole, whole + 1].map(|frame| samples(&frames[frame], &info));
            assert_eq!(samples(buffer, &info), blended(&previous, &next, n, d), "{at}");
        }
    }
}

#[test]
fn film_to_sixty() {
    check((24, 1), (60, 1), 24);
    check((24000, 1001), (60000, 1001), 24);
}

#[test]
fn film_of_television_to_sixty() {
    check((24000, 1001), (60, 1), 60);
}

#[test]
fn twice_as_many() {
    check((25, 1), (50, 1), 12);
    check((30000, 1001), (60000, 1001), 12);
}

#[test]
fn other_ratios() {
    check((25, 1), (60, 1), 13);
    check((30, 1), (144, 1), 9);
    check((1, 3), (1, 1), 4);
    check((24, 1), (1200, 7), 11);
}

#[test]
fn fewer_than_come() {
    check((30, 1), (24, 1), 30);
    check((60, 1), (24000, 1001), 60);
    check((60, 1), (20, 1), 20);
    check((60, 1), (7, 1), 31);
}

#[test]
fn a_single_frame_is_shown_for_its_duration() {
    check((25, 1), (50, 1), 1);
    check((24, 1), (60, 1), 1);
    check((60, 1), (24, 1), 1);
}

#[test]
fn milliseconds_of_containers_are_frames_of_their_rate() {
    let (input, output) = ((24000, 1001), (60000, 1001));
    let mut harness = blending(input, output);
    let info = i420(input);
    for number in 0..50 {
        let rounded = (time(input, number) + 500_000) / 1_000_000 * 1_000_000;
        push(&mut harness, frame_at(&info, number, rounded));
    }
    let found = pull(&mut harness);
    // Every second input frame is at the time of an output frame.
    let passed: Vec<_> = shown(&found, input).into_iter().step_by(5).collect();
    assert_eq!(passed, (0..50).step_by(2).map(Some).collect::<Vec<_>>());
    for (k, buffer) in found.iter().enumerate() {
        assert_eq!(pts(buffer), time(output, k as u64));
    }
}

#[test]
fn variable_frame_rate() {
    let mut harness = blending((0, 1), (50, 1));
    let info = i420((0, 1));
    assert!(harness.push_event(gst::event::Segment::new(&segment(100_000_000))));
    let times = [100, 120, 170, 200, 230].map(|ms: u64| ms * 1_000_000);
    for (number, &time) in times.iter().enumerate() {
        push(&mut harness, frame_at(&info, number as u64, time));
    }
    let found = pull(&mut harness);
    assert_eq!(milliseconds(&found), [100, 120, 140, 160, 180, 200, 220]);
    let numbers = [Some(0), Some(1), None, None, None, Some(3), None];
    assert_eq!(shown(&found, (0, 1)), numbers);
    let frame = |number| samples(&frame_at(&info, number, 0), &info);
    for (index, previous, n, d) in [(2, 1, 2, 5), (3, 1, 4, 5), (4, 2, 1, 3), (6, 3, 2, 3)] {
        assert_eq!(
            samples(&found[index], &info),
            blended(&frame(previous), &frame(previous + 1), n, d),
            "{index}"
        );
    }
    // The last frame has no duration: it takes that of the interval before.
    end(&mut harness);
    let last = pull(&mut harness);
    assert_eq!((milliseconds(&last), shown(&last, (0, 1))), (vec![240], vec![Some(4)]));
}

#[test]
fn frames_that_last_are_shown_so_long() {
    let mut harness = blending((0, 1), (10, 1));
    let info = i420((0, 1));
    for (number, (ms, duration)) in [(0, 2500), (2500, 100), (2600, 300)].into_iter().enumerate() {
        let mut buffer = frame_at(&info, number as u64, ms * 1_000_000);
        buffer.make_mut().set_duration(gst::ClockTime::from_mseconds(duration));
        push(&mut harness, buffer);
    }
    end(&mut harness);
    let found = pull(&mut harness);
    assert_eq!(milliseconds(&found), (0..29).map(|k| k * 100).collect::<Vec<_>>());
    let numbers: Vec<_> = [vec![Some(0); 25], vec![Some(1)], vec![Some(2); 3]].concat();
    assert_eq!(shown(&found, (0, 1)), numbers);
}

#[test]
fn frames_without_timestamps_follow_each_other() {
    let (input, output) = ((24, 1), (60, 1));
    let mut harness = blending(input, output);
    let info = i420(input);
    for number in 0..3 {
        push(&mut harness, frame_at(&info, number, None));
    }
    let found = pull(&mut harness);
    assert_eq!(
        found.iter().map(|buffer| pts(buffer)).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5].map(|k| time(output, k))
    );
    assert_eq!(shown(&found, input), [Some(0), None, None, None, None, Some(2)]);
}

#[test]
fn nothing_is_shown_behind_the_end_of_the_segment() {
    let rate = (1, 1);
    let mut harness = blending(rate, (4, 1));
    let mut segment = segment(0);
    segment.set_stop(gst::ClockTime::from_mseconds(1500));
    assert!(harness.push_event(gst::event::Segment::new(&segment)));
    push_all(&mut harness, rate, 0..2);
    end(&mut harness);
    assert_eq!(milliseconds(&pull(&mut harness)), [0, 250, 500, 750, 1000, 1250]);
}

#[test]
fn the_last_frame_fills_the_segment() {
    let rate = (1, 1);
    let mut harness = blending(rate, (4, 1));
    let mut segment = segment(0);
    segment.set_stop(gst::ClockTime::from_mseconds(3_100));
    assert!(harness.push_event(gst::event::Segment::new(&segment)));
    push_all(&mut harness, rate, 0..2);
    end(&mut harness);
    let found = pull(&mut harness);
    assert_eq!(milliseconds(&found), (0..13).map(|k| 250 * k).collect::<Vec<_>>());
    // It ends where the segment does.
    assert_eq!(found[12].duration(), Some(gst::ClockTime::from_mseconds(100)));
    assert_eq!(shown(&found[5..], rate), [Some(1); 8]);
}

#[test]
fn a_last_frame_of_absurd_duration_is_shown_as_long_as_the_others() {
    for duration in [1 << 63, 3600 * SECOND, 2 * SECOND] {
        for rate in [(25, 1), (0, 1)] {
            let mut harness = blending(rate, (50, 1));
            for number in 0..3 {
                let mut buffer = frame_at(&i420(rate), number, time((25, 1), number));
                let duration = if number < 2 { 40_000_000 } else { duration };
                buffer.make_mut().set_duration(gst::ClockTime::from_nseconds(duration));
                push(&mut harness, buffer);
            }
            end(&mut harness);
            assert_eq!(milliseconds(&pull(&mut harness)), [0, 20, 40, 60, 80, 100], "{duration} {rate:?}");
        }
    }
}

#[test]
fn times_after_the_last_there_is_are_the_last() {
    let last = gst::ClockTime::MAX.nseconds();
    for rate in ["0.5", "0.01"] {
        let mut harness =
            harness(&format!("motioninterpolate mode=blend rate={rate}"), &i420((25, 1)), (25, 1));
        let bus = bus(&harness);
        let mut segment = segment(last / 2 + 7);
        segment.set_stop(gst::ClockTime::MAX);
        assert!(harness.push_event(gst::event::Segment::new(&segment)));
        for time in [last / 2 + 7, last / 2 + 7 + 40_000_000] {
            push(&mut harness, frame_at(&i420((25, 1)), 0, time));
        }
        assert!(harness.push_event(gst::event::Gap::builder(gst::ClockTime::MAX).build()));
        harness.push_upstream_event(
            gst::event::Qos::builder(gst::QOSType::Underflow, 1.0, i64::MAX)
                .timestamp(gst::ClockTime::MAX)
                .build(),
        );
        end(&mut harness);
        assert!(pull(&mut harness).iter().all(|buffer| pts(buffer) > last / 2));
        assert!(bus.pop_filtered(&[gst::MessageType::Error]).is_none());
    }
}

#[test]
fn no_frame_begins_at_the_stop_of_the_segment_or_ends_later() {
    // The input goes on behind the stop, at it, or up to it; slow motion and backwards.
    for (rates, stop, count, expected, last) in [
        ([(1, 1), (4, 1)], 1500, 4, 6, 250),
        ([(4, 1), (4, 1)], 1500, 9, 6, 250),
        ([(1, 1), (4, 1)], 1600, 4, 7, 100),
        ([(60, 1), (24, 1)], 2010, 121, 49, 10),
        ([(25, 1), (25, 1)], 100, 3, 3, 20),
    ] {
        for (speed, forwards) in [(1, true), (2, true), (1, false)] {
            let launch = format!("motioninterpolate mode=blend rate={}", 1.0 / speed as f64);
            let mut harness = harness(&launch, &i420(rates[0]), rates[1]);
            let mut segment = segment(0);
            segment.set_stop(gst::ClockTime::from_mseconds(stop));
            segment.set_rate(if forwards { 1.0 } else { -1.0 });
            assert!(harness.push_event(gst::event::Segment::new(&segment)));
            if forwards {
                push_all(&mut harness, rates[0], 0..count);
            } else {
                push_all(&mut harness, rates[0], (0..count.min(1 + stop * rates[0].0 as u64 / 1000)).rev());
            }
            end(&mut harness);
            let found = pull(&mut harness);
            let at = format!("{rates:?} {stop} {speed} {forwards}");
            assert!(found.iter().all(|buffer| pts(buffer) < stop * speed * 1_000_000), "{at}");
            let ends = found.iter().map(|buffer| pts(buffer) + buffer.duration().unwrap().nseconds());
            assert_eq!(ends.max(), Some(stop * speed * 1_000_000), "{at}");
            if speed == 1 {
                assert_eq!(found.len(), expected, "{at}");
            }
            if speed == 1 && forwards {
                let duration = found[expected - 1].duration().unwrap();
                // Times are rounded down to nanoseconds.
                assert!(duration.nseconds().abs_diff(last * 1_000_000) <= 1, "{at}: {duration}");
            }
        }
    }
}
