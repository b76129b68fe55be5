//! Devices of simulated times: no clock, the same noise every time.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::*;

/// Seconds that each device takes for so many units of a frame beside the others.
type Model<'a> = &'a dyn Fn(usize, usize, &[usize]) -> f64;

/// Noise of a few percent, the same everywhere.
struct Noise(u32);

impl Noise {
    fn factor(&mut self, percent: f64) -> f64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        1.0 + percent / 100.0 * (f64::from(self.0 >> 8) / f64::from(1 << 23) - 1.0)
    }
}

/// The frames' times, and the shares.
fn run(
    balancer: &mut Balancer,
    frames: usize,
    units: usize,
    noise: f64,
    model: Model<'_>,
) -> Vec<(f64, Vec<usize>)> {
    run_in_flight(balancer, frames, units, noise, 1, model)
}

/// The same, where so many frames are planned before the first is measured.
fn run_in_flight(
    balancer: &mut Balancer,
    frames: usize,
    units: usize,
    noise: f64,
    depth: usize,
    model: Model<'_>,
) -> Vec<(f64, Vec<usize>)> {
    let mut random = Noise(7);
    let mut planned = VecDeque::new();
    let mut done = Vec::with_capacity(frames);
    while done.len() < frames {
        while planned.len() < depth && done.len() + planned.len() < frames {
            let shares = balancer.plan(units);
            assert_eq!(shares.iter().sum::<usize>(), units);
            planned.push_back(shares);
        }
        let Some(shares) = planned.pop_front() else { break };
        let measure = |(device, &units): (usize, &usize)| Measured {
            device,
            units,
            seconds: model(device, units, &shares) * random.factor(noise),
        };
        let measured: Vec<_> =
            shares.iter().enumerate().filter(|(_, units)| **units > 0).map(measure).collect();
        let slowest = measured.iter().map(|m| m.seconds).fold(0.0, f64::max);
        let mut stages = vec![0.0; if depth == 1 { 1 } else { shares.len() }];
        match depth {
            1 => stages[0] = slowest,
            _ => measured.iter().for_each(|m| stages[m.device] = m.seconds),
        }
        balancer.observe(&measured, Stages(stages), 0.0);
        done.push((slowest, shares));
    }
    done
}

fn mean(frames: &[(f64, Vec<usize>)]) -> f64 {
    frames.iter().map(|(seconds, _)| seconds).sum::<f64>() / frames.len() as f64
}

/// Milliseconds: what each call costs, and a unit.
fn linear(devices: &'static [(f64, f64)]) -> impl Fn(usize, usize, &[usize]) -> f64 {
    move |device, units, _| (devices[device].0 + units as f64 * devices[device].1) * 1e-3
}

#[test]
fn shares_settle_within_20_frames() {
    for (devices, noise) in [
        (&[(0.0, 0.1), (0.0, 0.1)][..], 0.0),
        (&[(0.0, 0.1), (0.0, 0.7)], 5.0),
        (&[(1.0, 0.05), (0.2, 0.3)], 5.0),
        (&[(0.5, 0.2), (0.1, 0.3), (2.0, 0.1), (0.1, 1.0)], 5.0),
    ] {
        // 256 rows at once: the time at which all finish together.
        let rates: f64 = devices.iter().map(|d| 1.0 / d.1).sum();
        let fixed: f64 = devices.iter().map(|d| d.0 / d.1).sum();
        let ideal = (256.0 + fixed) / rates * 1e-3;
        let model = linear(devices);
        let mut balancer = Balancer::new(Balance::Adaptive, &vec![1.0; devices.len()]);
        run(&mut balancer, 20, 256, noise, &model);
        let settled = run(&mut balancer, 4, 256, noise, &model);
        let time = mean(&settled);
        assert!(time < 1.08 * ideal, "{devices:?}: {time} s where {ideal} s are possible");
    }
}

#[test]
fn a_load_is_followed_within_20_frames_and_back() {
    let quiet = linear(&[(0.1, 0.1), (0.1, 0.1)]);
    let loaded = linear(&[(0.1, 0.1), (0.1, 0.4)]);
    let mut balancer = Balancer::new(Balance::Adaptive, &[1.0, 1.0]);
    run(&mut balancer, 100, 128, 3.0, &quiet);
    let during = run(&mut balancer, 24, 128, 3.0, &loaded);
    let (_, shares) = &during[20];
    assert!((99..107).contains(&shares[0]), "{shares:?}");
    let after = run(&mut balancer, 60, 128, 3.0, &quiet);
    let near_half = |(_, shares): &&(f64, Vec<usize>)| (60..=68).contains(&shares[0]);
    assert!(after[20..].iter().filter(near_half).count() >= 34, "{after:?}");
}

/// A helper that a frame costs much whatever its share, beside a device twice as fast: a load leaves it
/// a row or none, and what it does then says next to nothing of what it could do.
#[test]
fn a_helper_of_high_fixed_cost_comes_back_after_a_load() {
    for (others, depth) in [(1.0, 1), (2.0, 1), (1.4, 4)] {
        let time = |helper: f64, other: f64| {
            move |device: usize, units: usize, _: &[usize]| {
                let units = units as f64;
                [helper * (1.2 + 0.035 * units), other * (0.2 + 0.025 * units)][device] * 1e-3
            }
        };
        let (quiet, loaded) = (time(1.0, 1.0), time(8.0, others));
        let mut balancer = Balancer::new(Balance::Adaptive, &[1.0, 1.0]);
        let before = run_in_flight(&mut balancer, 60, 135, 3.0, depth, &quiet);
        // Both finish together with 40 rows.
        assert!((36..=44).contains(&before[40].1[0]), "{before:?}");
        let during = run_in_flight(&mut balancer, 60, 135, 3.0, depth, &loaded);
        assert!(during[20..].iter().all(|(_, shares)| shares[0] <= 2), "{during:?}");
        let after = run_in_flight(&mut balancer, 60, 135, 3.0, depth, &quiet);
        // Where the other took as long all the while, nothing tells that the load has gone but the next trial.
        if others > 1.3 {
            let is_back = |(_, shares): &&(f64, Vec<usize>)| (34..=46).contains(&shares[0]);
            assert!(after[20 + depth..].iter().filter(is_back).count() >= 34 - depth, "{depth} {after:?}");
        }
    }
}

/// The better of two is faster alone than beside the other that gets a row: the frame is copied for both.
/// What the helper does of a row says little of what it does of many, so that more are given than it can do.
#[test]
fn a_trial_goes_on_while_it_promises_something() {
    let time = |helper: f64, other: f64| {
        move |device: usize, units: usize, shares: &[usize]| {
            let copying = if shares.contains(&0) { 0.0 } else { 0.4 };
            let units = units as f64;
            let waking = 0.3 * (1.0 - (-units / 4.0).exp());
            (copying + [helper * (0.4 + waking + 0.035 * units), other * 0.0216 * units][device]) * 1e-3
        }
    };
    let (quiet, loaded) = (time(1.0, 1.0), time(12.0, 2.7));
    for noise in [0.0, 3.0, 6.0, 10.0] {
        let mut balancer = Balancer::new(Balance::Adaptive, &[1.0, 1.0]);
        run(&mut balancer, 60, 135, noise, &quiet);
        run(&mut balancer, 60, 135, noise, &loaded);
        let after = run(&mut balancer, 60, 135, noise, &quiet);
        let helps = after[30..].iter().filter(|(_, shares)| (20..50).contains(&shares[0])).count();
        assert!(helps > 24, "{noise}: {:?}", after.iter().map(|p| p.1[0]).collect::<Vec<_>>());
    }
}

/// Rows that a device did not have are sent to it again, and it takes longer for that frame: shares must
/// not move by that time once more.
#[test]
fn shares_stay_though_moving_them_costs_time() {
    for depth in [1, 4] {
        let before = RefCell::new(vec![67, 68]);
        let model = |device: usize, units: usize, shares: &[usize]| {
            let moved = shares[0].abs_diff(before.borrow()[0]);
            if device == 1 {
                before.replace(shares.to_vec());
            }
            let sent = if moved > 1 { 0.6 } else { 0.0 };
            (0.1 + 0.01 * units as f64 + sent) * 1e-3
        };
        let mut balancer = Balancer::new(Balance::Adaptive, &[1.0, 1.0]);
        run_in_flight(&mut balancer, 40, 135, 5.0, depth, &model);
        let frames = run_in_flight(&mut balancer, 1000, 135, 5.0, depth, &model);
        let moves = frames.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
        assert!(moves <= 16, "{moves}");
        assert!(mean(&frames) < 1.05 * 0.78e-3, "{}", mean(&frames));
    }
}

/// Two devices that share the cores: together they are slower than the better one alone.
#[test]
fn who_does_not_help_is_left_idle_and_costs_next_to_nothing() {
    let contended = |device: usize, units: usize, shares: &[usize]| {
        let alone = shares.iter().filter(|&&units| units > 0).count() == 1;
        let unit = [0.1, 0.3][device] * if alone { 1.0 } else { 1.9 };
        units as f64 * unit * 1e-3
    };
    let mut balancer = Balancer::new(Balance::Adaptive, &[1.0, 1.0]);
    run(&mut balancer, 80, 68, 3.0, &contended);
    assert_eq!(balancer.take_notes().last(), Some(&(1, false)));
    let later = mean(&run(&mut balancer, 2000, 68, 3.0, &contended));
    assert!(later < 1.03 * 6.8e-3, "{later}");
    assert!(balancer.take_notes().is_empty(), "it stays idle");
    // The load that made it so is gone.
    let apart = linear(&[(0.0, 0.1), (0.0, 0.3)]);
    run(&mut balancer, 2000, 68, 3.0, &apart);
    assert_eq!(balancer.take_notes(), [(1, true)]);
}

/// Two equal devices: each trial without one sends a whole frame to the other, which takes as long as ten
/// frames, and sends it back.
#[test]
fn trials_are_rarer_where_they_move_much() {
    let (mut balancer, mut before) = (Balancer::new(Balance::Adaptive, &[1.0, 1.0]), vec![50, 50]);
    let (mut random, mut lost, mut moves) = (Noise(7), 0.0, 0);
    for _ in 0..4000 {
        let shares = balancer.plan(100);
        let moving = if shares.iter().zip(&before).any(|(now, before)| now.abs_diff(*before) > 10) {
            moves += 1;
            0.05
        } else {
            0.0
        };
        let measure = |(device, &units): (usize, &usize)| {
            let seconds = units as f64 * 1e-4 * random.factor(3.0);
            Measured { device, units, seconds }
        };
        let measured: Vec<_> =
            shares.iter().enumerate().filter(|(_, units)| **units > 0).map(measure).collect();
        let seconds = measured.iter().map(|m| m.seconds).fold(0.0, f64::max);
        balancer.observe(&measured, Stages(vec![seconds]), moving);
        lost += seconds + moving - 0.005;
        before = shares;
    }
    assert!((2..8).contains(&moves) && lost < 0.5, "{moves} {lost}");
}

#[test]
fn who_is_too_slow_for_a_row_gets_none() {
    let model = linear(&[(0.0, 0.01), (0.0, 5.0)]);
    let mut balancer = Balancer::new(Balance::Adaptive, &[1.0, 1.0]);
    run(&mut balancer, 60, 68, 3.0, &model);
    let later = run(&mut balancer, 4000, 68, 3.0, &model);
    assert!(later.iter().filter(|(_, shares)| shares[1] > 0).count() < 40);
}

#[test]
fn a_device_that_goes_leaves_its_work_to_the_others() {
    let model = linear(&[(0.0, 0.1), (0.0, 0.3), (0.0, 0.2)]);
    for method in [Balance::Adaptive, Balance::Fit, Balance::Static] {
        let mut balancer = Balancer::new(method, &[1.0, 1.0, 1.0]);
        run(&mut balancer, 50, 60, 0.0, &model);
        balancer.remove(0);
        let after = run(&mut balancer, 50, 60, 0.0, &model);
        assert!(after.iter().all(|(_, shares)| shares[0] == 0 && shares[1] + shares[2] == 60));
        balancer.remove(1);
        assert_eq!(balancer.plan(60), [0, 0, 60]);
        balancer.add(1.0);
        assert_eq!(balancer.plan(60)[..2], [0, 0]);
    }
}

#[test]
fn weights_hold_where_they_are_static() {
    let mut balancer = Balancer::new(Balance::Static, &[0.9, 0.1]);
    let frames = run(&mut balancer, 50, 100, 5.0, &linear(&[(0.0, 1.0), (0.0, 0.1)]));
    assert!(frames.iter().all(|(_, shares)| shares == &[90, 10]));
}

#[test]
fn fitted_curves_finish_together() {
    let model = |device: usize, units: usize, _: &[usize]| {
        let x = units as f64;
        [0.3 + 0.05 * x + 0.0004 * x * x, 0.1 + 0.2 * x, 1.0 + 0.1 * x][device] * 1e-3
    };
    let mut balancer = Balancer::new(Balance::Fit, &[1.0, 1.0, 1.0]);
    run(&mut balancer, 20, 200, 0.0, &model);
    let shares = balancer.plan(200);
    let times: Vec<f64> = (0..3).map(|device| model(device, shares[device], &shares)).collect();
    let (least, most) =
        (times.iter().copied().fold(1.0, f64::min), times.iter().copied().fold(0.0, f64::max));
    assert!(most < 1.04 * least, "{shares:?} {times:?}");
    assert_eq!(shares, balancer.plan(200));
}

/// By its curve the second does not help; by what is measured, the third does not either: what curves do
/// not show is that both slow each other.
#[test]
fn who_does_not_help_gets_nothing_by_curves_either() {
    let costly = linear(&[(0.0, 0.1), (6.5, 0.3)]);
    let contended = |device: usize, units: usize, shares: &[usize]| {
        let alone = shares.iter().filter(|&&units| units > 0).count() == 1;
        let unit = [0.1, 0.3][device] * if alone { 1.0 } else { 1.9 };
        units as f64 * unit * 1e-3
    };
    for (model, depth) in [(&costly as Model<'_>, 1), (&contended, 1), (&contended, 4)] {
        let mut balancer = Balancer::new(Balance::Fit, &[1.0, 1.0]);
        run_in_flight(&mut balancer, 40, 68, 3.0, depth, model);
        assert_eq!(balancer.plan(68), [68, 0]);
        assert!(balancer.is_alone(0, false));
        assert_eq!(balancer.take_notes(), [(1, false)]);
    }
    // Who helps stays.
    let mut balancer = Balancer::new(Balance::Fit, &[1.0, 1.0]);
    run(&mut balancer, 40, 68, 3.0, &linear(&[(0.0, 0.1), (0.5, 0.3)]));
    assert!(balancer.plan(68)[1] > 10);
    assert!(balancer.take_notes().is_empty());
}
