//! Times and places of output frames.

use super::*;

fn ratio(numerator: i32, denominator: i32) -> Ratio {
    Ratio::new(numerator, denominator).unwrap()
}

fn made(numerator: u32, denominator: u32) -> FramePlace {
    FramePlace::Between(Phase::new(numerator, denominator).unwrap())
}

/// How an element upstream rounds the time of frame `number`.
fn timestamps(input: Ratio, unit: u64, is_nearest: bool) -> impl Fn(u64) -> u64 {
    move |number| {
        let (n, d) = (u128::from(input.numerator), u128::from(input.denominator));
        let exact = u128::from(number) * d * u128::from(SECOND);
        let unit = u128::from(unit);
        let half = if is_nearest { n * unit / 2 } else { 0 };
        ((exact + half) / (n * unit) * unit) as u64
    }
}

/// All output frames of input frames at `times`, of which the last ends at `end`; each with the number of the input
/// frame that was the newest.
fn all(timeline: &mut Timeline, times: &[u64], end: u64) -> Vec<(usize, OutputFrame)> {
    let mut found = Vec::new();
    for (index, &time) in times.iter().enumerate() {
        found.extend(timeline.advance(time, false).map(|frame| (index, frame)));
    }
    let last = times.len() - 1;
    found.extend(timeline.fill(end, true).unwrap().map(|frame| (last, frame)));
    found
}

const RATES: [(i32, i32); 14] = [
    (24000, 1001),
    (24, 1),
    (25, 1),
    (30000, 1001),
    (30, 1),
    (48, 1),
    (50, 1),
    (60000, 1001),
    (60, 1),
    (120, 1),
    (15, 2),
    (1, 1),
    (15, 1),
    (144, 1),
];

const SPEEDS: [(i32, i32); 6] = [(1, 1), (1, 2), (1, 3), (3, 10), (2, 1), (7, 5)];

#[test]
fn every_ratio_of_rates_gives_the_exact_times_and_phases_of_the_definition() {
    const FRAMES: u64 = 70;
    // 123456789 ns: a first time that no frame rate knows.
    for first in [123_456_789, 1 << 60] {
        for (input, output) in RATES.iter().flat_map(|&i| RATES.iter().map(move |&o| (i, o))) {
            for speed in SPEEDS {
                for (unit, is_nearest) in [(1, false), (SECOND / 1000, true), (11_111, false)] {
                    let (input, output) = (ratio(input.0, input.1), ratio(output.0, output.1));
                    let speed = ratio(speed.0, speed.1);
                    let stamp = timestamps(input, unit, is_nearest);
                    let times: Vec<_> = (0..FRAMES).map(|number| first + stamp(number)).collect();
                    let retiming = Retiming::new(speed);
                    let mut timeline = Timeline::new(Some(input), output, &retiming, first);
                    let found = all(&mut timeline, &times, first + stamp(FRAMES));
                    check(&found, FRAMES, (input, output, speed), retiming.output(first));
                }
            }
        }
    }
}

/// Compares all output frames of `frames` input frames with the definition.
fn check(
    found: &[(usize, OutputFrame)],
    frames: u64,
    (input, output, speed): (Ratio, Ratio, Ratio),
    first: u64,
) {
    let wide = |ratio: Ratio| (u128::from(ratio.numerator), u128::from(ratio.denominator));
    let (i, o, s) = (wide(input), wide(output), wide(speed));
    // Input frames from one output frame to the next.
    let (a, b) = (o.1 * s.0 * i.0, o.0 * s.1 * i.1);
    let count = (u128::from(frames) * b).div_ceil(a) as usize;
    assert_eq!(found.len(), count, "{input:?} {output:?} {speed:?}");
    for (k, (newest, frame)) in found.iter().enumerate() {
        let k = k as u128;
        let time = |k: u128| first + (k * o.1 * u128::from(SECOND) / o.0) as u64;
        // The last frame that shows the last input frame ends with it.
        let end = u128::from(frames) * u128::from(SECOND) * i.1 * s.1 / (i.0 * s.0);
        let is_repeated =
            (k + 1) as usize == count && k * a / b + 1 == frames.into() && !(k * a).is_multiple_of(b);
        let end = if is_repeated { time(k + 1).min(first + end as u64) } else { time(k + 1) };
        assert_eq!((frame.time, frame.time + frame.duration), (time(k), end));
        let (whole, rest) = (k * a / b, k * a % b);
        let at = || format!("{input:?} {output:?} {speed:?} {k}: {frame:?}");
        if rest == 0 || whole + 1 == u128::from(frames) {
            let place = if rest == 0 { FramePlace::Next } else { FramePlace::Repeated };
            assert_eq!((*newest as u128, frame.place), (whole, place), "{}", at());
            continue;
        }
        assert_eq!(*newest as u128, whole + 1, "{}", at());
        let FramePlace::Between(phase) = frame.place else { panic!("{}", at()) };
        let (n, d) = (u128::from(phase.numerator()), u128::from(phase.denominator()));
        assert!(0 < n && n < d && d <= 1024 && gcd(n, d) == 1, "{}", at());
        if b / gcd(rest, b) <= 1024 {
            assert_eq!(n * b, rest * d, "{}", at());
        } else {
            assert!((n * b).abs_diff(rest * d) * 1024 <= b * d, "{}", at());
        }
    }
}

fn places(input: Option<Ratio>, output: Ratio, times: &[u64]) -> Vec<FramePlace> {
    let mut timeline = Timeline::new(input, output, &Retiming::new(Ratio::ONE), times[0]);
    all(&mut timeline, times, 0).into_iter().map(|(_, frame)| frame.place).collect()
}

#[test]
fn twenty_four_to_sixty() {
    let stamp = timestamps(ratio(24, 1), 1, false);
    let times: Vec<_> = (0..5).map(stamp).collect();
    let expected = [
        FramePlace::Next,
        made(2, 5),
        made(4, 5),
        made(1, 5),
        made(3, 5),
        FramePlace::Next,
        made(2, 5),
        made(4, 5),
        made(1, 5),
        made(3, 5),
        FramePlace::Next,
    ];
    assert_eq!(places(Some(ratio(24, 1)), ratio(60, 1), &times), expected);
    // Without a frame rate nanoseconds count: what is rounded is rounded, but input frames still pass.
    let variable = places(None, ratio(60, 1), &times);
    for (found, exact) in variable.iter().zip(expected) {
        match (found, exact) {
            (FramePlace::Between(found), FramePlace::Between(exact)) => {
                let error = f64::from(found.numerator()) / f64::from(found.denominator())
                    - f64::from(exact.numerator()) / f64::from(exact.denominator());
                assert!(error.abs() <= 1.0 / 2048.0 + 1e-6);
            }
            (found, exact) => assert_eq!(*found, exact),
        }
    }
    assert_eq!(variable.len(), expected.len());
}

#[test]
fn a_frame_that_is_missing_makes_a_longer_interval() {
    // Frames 0, 1, 3 of 25 a second, to 50.
    let found = places(Some(ratio(25, 1)), ratio(50, 1), &[0, 40_000_000, 120_000_000]);
    let between = [made(1, 4), made(1, 2), made(3, 4)];
    let start = [FramePlace::Next, made(1, 2), FramePlace::Next];
    assert_eq!(found, [&start[..], &between[..], &[FramePlace::Next]].concat());
}

#[test]
fn frames_beside_their_rate_count_by_their_times() {
    // The second frame is 10 ms late.
    let times = [0, 50_000_000, 80_000_000];
    let found = places(Some(ratio(25, 1)), ratio(50, 1), &times);
    assert_eq!(found, [FramePlace::Next, made(2, 5), made(4, 5), made(1, 3), FramePlace::Next]);
}

#[test]
fn less_than_a_nanosecond_beside_an_input_frame_is_that_frame() {
    let thirds = [333_333_333, 333_333_334, 333_333_332, 333_333_335];
    let found = thirds.map(|time| places(None, ratio(3, 1), &[0, time]));
    assert_eq!(found[0], [FramePlace::Next; 2]);
    assert_eq!(found[1], [FramePlace::Next; 2]);
    assert_eq!(found[2], [FramePlace::Next]);
    assert_eq!(found[3], [FramePlace::Next, made(1023, 1024)]);
}

#[test]
fn the_last_frame_is_shown_until_it_ends() {
    let shown = |end| {
        let mut timeline = Timeline::new(None, ratio(50, 1), &Retiming::new(Ratio::ONE), 7);
        let found = all(&mut timeline, &[7], end);
        found.iter().map(|(_, frame)| (frame.time, frame.duration)).collect::<Vec<_>>()
    };
    const FRAME: u64 = 20_000_000;
    assert_eq!(shown(7), [(7, FRAME)]);
    assert_eq!(shown(FRAME + 7), [(7, FRAME)]);
    assert_eq!(shown(FRAME + 9), [(7, FRAME), (FRAME + 7, 2)]);
    assert_eq!(shown(3 * FRAME + 7), [0, 1, 2].map(|k| (k * FRAME + 7, FRAME)));
    // An end that is not behind the frame shows it once all the same.
    assert_eq!((shown(8), shown(3)), (vec![(7, FRAME)], vec![(7, FRAME)]));
}

#[test]
fn far_frames_come_after_a_pause() {
    for (input, longest) in [(None, SECOND), (Some(ratio(24, 1)), SECOND), (Some(ratio(1, 3)), 12 * SECOND)] {
        assert!(!Timeline::is_pause(input, longest));
        assert!(Timeline::is_pause(input, 1 + longest));
    }
}

/// A timeline from `input` to `output` that starts at `start`.
fn timeline(input: Option<Ratio>, output: Ratio, start: u64) -> Timeline {
    Timeline::new(input, output, &Retiming::new(Ratio::ONE), start)
}

/// The times of frames in output frames after `origin`, which must be those of whole numbers, and what they show.
fn counted(
    frames: impl IntoIterator<Item = OutputFrame>,
    output: Ratio,
    origin: u64,
) -> Vec<(u64, FramePlace)> {
    let number = |time| u64::try_from(nearest_frame(output, i128::from(time - origin))).unwrap();
    let counted = |frame: OutputFrame| {
        let number = number(frame.time);
        assert_eq!(frame.time, origin + output.frames(number));
        assert_eq!(frame.time + frame.duration, origin + output.frames(number + 1));
        (number, frame.place)
    };
    frames.into_iter().map(counted).collect()
}

#[test]
fn breaks_leave_the_grid_as_it_is() {
    let (input, output) = (ratio(24, 1), ratio(60, 1));
    let stamp = timestamps(input, 1, false);
    let mut timeline = timeline(Some(input), output, 0);
    let mut found = Vec::new();
    // Frames 3, 4 and 8 are missing.
    for number in [0, 1, 2, 5, 6, 7, 9, 10] {
        let interval = timeline.advance(stamp(number), number == 5 || number == 9);
        assert_eq!(interval.is_any_between(), ![0, 5, 9].contains(&number));
        found.extend(counted(interval, output, 0));
    }
    let (previous, next) = (FramePlace::Previous, FramePlace::Next);
    let places = [
        [next, made(2, 5), made(4, 5), made(1, 5), made(3, 5)],
        // 5 is input frame 2; 12.5 would be input frame 5.
        [next, previous, previous, previous, previous],
        [previous, previous, previous, made(1, 5), made(3, 5)],
        [next, made(2, 5), made(4, 5), previous, previous],
        [previous, previous, previous, made(3, 5), next],
    ];
    let mut expected: Vec<_> = (0..).zip(places.concat()).collect();
    expected.push((25, next));
    expected[24].1 = made(3, 5);
    expected[23].1 = made(1, 5);
    assert_eq!(found, expected);
}

#[test]
fn before_the_first_frame_it_is_repeated() {
    let (input, output) = (ratio(24, 1), ratio(60, 1));
    let stamp = timestamps(input, 1, false);
    const START: u64 = 1_000_000_007;
    // Three input frames after the start: phases are those of a stream that begins there.
    let mut exact = timeline(Some(input), output, START);
    let found = [3, 4].map(|number| counted(exact.advance(START + stamp(number), false), output, START));
    assert_eq!(found[0], (0..8).map(|k| (k, FramePlace::Repeated)).collect::<Vec<_>>());
    assert_eq!(found[1], [(8, made(1, 5)), (9, made(3, 5)), (10, FramePlace::Next)]);
    // 3.1 input frames: 7.75 output frames. It is frame 8, and the others are counted from there.
    let mut loose = timeline(Some(input), output, START);
    let later = stamp(3) + input.frames(1) / 10;
    let found =
        [0, 1, 2].map(|number| counted(loose.advance(START + later + stamp(number), false), output, START));
    let expected = (0..9).map(|k| (k, if k < 8 { FramePlace::Repeated } else { FramePlace::Next }));
    assert_eq!(found[0], expected.collect::<Vec<_>>());
    assert_eq!(found[1], [(9, made(2, 5)), (10, made(4, 5))]);
    assert_eq!(found[2], [(11, made(1, 5)), (12, made(3, 5)), (13, FramePlace::Next)]);
    // Without a frame rate nanoseconds count.
    let mut variable = timeline(None, ratio(50, 1), 0);
    let found = [30_000_000, 60_000_000].map(|time| counted(variable.advance(time, false), ratio(50, 1), 0));
    assert_eq!(found[0], [(0, FramePlace::Repeated), (1, FramePlace::Repeated)]);
    assert_eq!(found[1], [(2, made(1, 3)), (3, FramePlace::Next)]);
}

#[test]
fn a_source_that_has_been_playing_for_long_fills_nothing() {
    let output = ratio(60, 1);
    for (seconds, count) in [(60, 3601), (61, 1), (3600, 1)] {
        let mut timeline = timeline(Some(ratio(24, 1)), output, 0);
        let found = counted(timeline.advance(seconds * SECOND, false), output, 0);
        assert_eq!((found.len(), found.last().copied()), (count, Some((60 * seconds, FramePlace::Next))));
    }
}

#[test]
fn where_frames_are_missing_at_the_rate_that_is_wanted_they_are_made() {
    let rate = ratio(30, 1);
    let stamp = timestamps(rate, 1, false);
    let mut timeline = timeline(Some(rate), rate, 0);
    let mut found = Vec::new();
    for number in [0, 1, 3, 4, 7] {
        found.extend(counted(timeline.advance(stamp(number), false), rate, 0));
    }
    let next = FramePlace::Next;
    let places = [next, next, made(1, 2), next, next, made(1, 3), made(2, 3), next];
    assert_eq!(found, (0..).zip(places).collect::<Vec<_>>());
}

#[test]
fn jitter_makes_no_frame_at_the_rate_that_is_wanted() {
    let rate = ratio(30, 1);
    let stamp = timestamps(rate, 1, false);
    let mut timeline = timeline(Some(rate), rate, 0);
    for number in 0..300 {
        // Up to 7 ms beside, from 0.4 s on.
        let time = 400_000_000 + stamp(number) + (number * 7919 % 15) * 1_000_000 - 7_000_000;
        let found = counted(timeline.advance(time, false), rate, 0);
        assert_eq!(found.last(), Some(&(number + 12, FramePlace::Next)), "{number}");
        assert_eq!(found.len(), if number == 0 { 13 } else { 1 });
    }
}

#[test]
fn the_clock_of_a_camera_that_is_slow_makes_a_frame_when_one_is_missing() {
    let rate = ratio(30, 1);
    // 1 % slow: 101 frames are shown in the time of 102.
    let mut timeline = timeline(Some(rate), rate, 0);
    let found: Vec<_> = (0..301).flat_map(|number| timeline.advance(number * 33_666_667, false)).collect();
    let found = counted(found, rate, 0);
    assert_eq!(found.iter().map(|&(number, _)| number).collect::<Vec<_>>(), (0..304).collect::<Vec<_>>());
    let others: Vec<_> = found.iter().filter(|(_, place)| *place != FramePlace::Next).collect();
    assert!(others.len() == 3 && others.iter().all(|(_, place)| *place == made(1, 2)), "{others:?}");
}

#[test]
fn other_input_and_a_segment_that_goes_on_keep_the_grid() {
    let output = ratio(50, 1);
    let mut timeline = timeline(Some(ratio(25, 1)), output, 0);
    for time in [0, 40_000_000] {
        timeline.advance(time, false).for_each(drop);
    }
    assert_eq!(counted(timeline.fill(80_000_000, true).unwrap(), output, 0), [(3, FramePlace::Repeated)]);
    // 30 frames a second from 80 ms on.
    let mut timeline = timeline.with_input(Some(ratio(30, 1)));
    let found: Vec<_> =
        [80_000_000, 113_333_333].map(|time| counted(timeline.advance(time, false), output, 0)).concat();
    assert_eq!(found, [(4, FramePlace::Next), (5, made(3, 5))]);
    let last: Vec<_> =
        timeline.fill(146_666_666, true).unwrap().map(|frame| (frame.time, frame.duration)).collect();
    assert_eq!(last, [(120_000_000, 20_000_000), (140_000_000, 6_666_666)]);
    // A segment that starts at 7 s, at the running time 150 ms.
    let shift = 7_000_000_000 - 150_000_000;
    let mut timeline = timeline.continued(shift, &Retiming::new(Ratio::ONE), 7 * SECOND);
    let first = timeline.advance(7 * SECOND, false).map(|frame| frame.time).collect::<Vec<_>>();
    // The next one is at 160 ms. The frame at 150 ms is shown there.
    assert_eq!(first, [7 * SECOND + 10_000_000]);
}

#[test]
fn a_jump_takes_the_output_along() {
    let (input, output) = (ratio(25, 1), ratio(50, 1));
    let mut timeline = timeline(Some(input), output, 0);
    for number in 5..7 {
        timeline.advance(input.frames(number), false).for_each(drop);
    }
    timeline.jump(input.frames(2));
    let found: Vec<_> =
        [2, 3].map(|number| counted(timeline.advance(input.frames(number), false), output, 0)).concat();
    assert_eq!(found, [(4, FramePlace::Next), (5, made(1, 2)), (6, FramePlace::Next)]);
}

#[test]
fn a_speed_holds_from_the_newest_frame_on() {
    let rate = ratio(25, 1);
    let mut timeline = timeline(Some(rate), rate, 0);
    let mut found = Vec::new();
    for (number, speed) in [(0, (1, 1)), (1, (1, 2)), (2, (1, 2)), (3, (4, 1)), (7, (1, 1)), (8, (1, 1))] {
        found.extend(counted(timeline.advance(rate.frames(number), false), rate, 0));
        timeline.set_speed(ratio(speed.0, speed.1));
    }
    let next = FramePlace::Next;
    let places = [next, next, made(1, 2), next, made(1, 2), next, next, next];
    assert_eq!(found, (0..).zip(places).collect::<Vec<_>>());
}

#[test]
fn a_speed_that_changes_with_every_frame_makes_frames_at_the_exact_places() {
    let rate = ratio(24, 1);
    let mut timeline = timeline(Some(rate), rate, 0);
    let mut at = vec![0.0];
    let mut found = Vec::new();
    for number in 0..100_u64 {
        found.extend(timeline.advance(rate.frames(number), false).map(|frame| (number, frame)));
        let percent = 100 - number as i32 / 2;
        timeline.set_speed(ratio(percent, 100));
        at.push(at[number as usize] + 100.0 / f64::from(percent));
    }
    for (k, (newest, frame)) in found.iter().enumerate() {
        assert_eq!(frame.time, rate.frames(k as u64));
        let newest = *newest as usize;
        let shown = match frame.place {
            FramePlace::Next | FramePlace::Repeated => at[newest],
            FramePlace::Previous => at[newest - 1],
            FramePlace::Between(phase) => {
                let phase = f64::from(phase.numerator()) / f64::from(phase.denominator());
                at[newest - 1] + phase * (at[newest] - at[newest - 1])
            }
        };
        assert!((shown - k as f64).abs() < 2e-3, "{k}: {shown}");
    }
    assert_eq!(found.len(), at[99] as usize + 1);
}

#[test]
fn a_speed_that_stays_shows_input_frames_at_the_times_of_output_frames() {
    let rate = ratio(24, 1);
    let mut timeline = timeline(Some(rate), rate, 0);
    timeline.advance(0, false).for_each(drop);
    timeline.set_speed(ratio(3, 10));
    timeline.advance(rate.frames(1), false).for_each(drop);
    // 3.33 output frames later.
    timeline.set_speed(Ratio::ONE);
    let found: Vec<_> =
        (2..6).map(|number| counted(timeline.advance(rate.frames(number), false), rate, 0)).collect();
    assert_eq!(found[0], [(4, made(683, 1024))]);
    for (frames, number) in found[1..].iter().zip(5..) {
        assert_eq!(frames, &[(number, FramePlace::Next)]);
    }
}

#[test]
fn a_change_of_speed_is_continuous() {
    let slow = Retiming::new(ratio(1, 2));
    assert_eq!((slow.output(0), slow.output(100)), (0, 200));
    let fast = slow.changed(ratio(4, 1), 100);
    assert_eq!((fast.output(100), fast.output(140), fast.output(60)), (200, 210, 190));
    assert_eq!(fast.output(u64::MAX), 200 + (u64::MAX - 100) / 4);
    assert!(Retiming::new(Ratio::ONE).is_identity() && !slow.is_identity());
    assert!(!fast.changed(Ratio::ONE, 140).is_identity());
}

#[test]
fn hostile_rates_and_times_do_not_overflow() {
    const MOST: i32 = i32::MAX;
    let rates = [(1, MOST), (MOST, 1), (MOST, MOST - 1), (24000, 1001), (999_999_937, 999_999_929)];
    for (input, output) in rates.iter().flat_map(|&i| rates.iter().map(move |&o| (i, o))) {
        for speed in [(1, 100), (100, 1), (1 << 24, MOST), (MOST, 1 << 25)] {
            for first in [0, u64::MAX / 2] {
                let [input, output, speed] = [input, output, speed].map(|(n, d)| ratio(n, d));
                let retiming = Retiming::new(speed);
                for input in [None, Some(input)] {
                    let mut timeline = Timeline::new(input, output, &retiming, first);
                    assert_eq!(timeline.advance(first, false).next().unwrap().place, FramePlace::Next);
                    for time in [1, 2, SECOND, 1 << 34, 1 << 50, 1 << 62] {
                        // At such rates an interval may have billions of them.
                        let frames = timeline.advance(first + time, time == 2).take(20);
                        let found: Vec<_> =
                            frames.chain(timeline.fill(u64::MAX, true).unwrap().take(20)).collect();
                        assert!(found.windows(2).all(|pair| pair[0].time <= pair[1].time));
                        timeline.set_speed(ratio(7, 3));
                        timeline.jump(first + time);
                    }
                }
            }
        }
    }
}

#[test]
fn phases_with_large_denominators_are_rounded_but_stay_between() {
    let new = |n, d| phase(n, d).unwrap();
    let exact = |n, d| Phase::new(n, d).unwrap();
    assert_eq!(new(400, 1001), exact(400, 1001));
    assert_eq!(new(512, 1024), exact(1, 2));
    assert_eq!(new(1, 1025), exact(1, 1024));
    assert_eq!(new(1, u128::MAX >> 1), exact(1, 1024));
    assert_eq!(new((u128::MAX >> 1) - 1, u128::MAX >> 1), exact(1023, 1024));
    assert_eq!(new(u128::MAX >> 2, u128::MAX >> 1), exact(1, 2));
}
