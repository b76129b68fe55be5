//! One runner that compares every implementation of a search with the oracle.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use motion_search::estimator::prediction::median_predictors;
use motion_search::estimator::{
    Algorithm, Device, EstimateError, Frame, FrameView, MotionField, MotionVector, Output, Parameters, Part,
    Prediction, Request, Slot, oracle, search,
};
use motion_search::session::{Options, Session, WeightedDevice};

use crate::cases::Case;
use crate::frames::{eight_bits, in_memory_of, padded};

/// The parameters, and the samples of the current and of the reference frame, of a search by the oracle.
type Search = (String, [Vec<u8>; 2]);

/// What the oracle finds. It searches each pair of frames once in a process: most tests search the same frames on several
/// devices, with several kernels or cut in several ways, and the oracle takes most of their time.
fn expected_field(
    parameters: &Parameters,
    current: &FrameView<'_>,
    reference: &FrameView<'_>,
) -> Arc<MotionField> {
    static FOUND: LazyLock<Mutex<HashMap<Search, Arc<MotionField>>>> = LazyLock::new(Mutex::default);
    let samples = |view: &FrameView<'_>| (0..view.height()).flat_map(|y| view.row(y)).copied().collect();
    let formats = [current.format(), reference.format()];
    let search = (format!("{parameters:?} {formats:?}"), [samples(current), samples(reference)]);
    if let Some(field) = FOUND.lock().expect("no panic").get(&search) {
        return field.clone();
    }
    let field = Arc::new(oracle::search(parameters, current, reference));
    FOUND.lock().expect("no panic").insert(search, field.clone());
    field
}

/// Compares a device with the oracle on `case`, in both slots and with padded rows.
///
/// # Panics
/// If a vector or a cost differs.
pub fn check(case: &Case, device: &mut dyn Device) {
    let views = [case.reference.view(), case.current.view()];
    let [forwards, backwards] = [(1, 0), (0, 1)].map(|(current, reference): (usize, usize)| {
        expected_field(&case.parameters, &views[current], &views[reference])
    });
    let mut output = Output::new(forwards.vectors.len());
    output.vectors.fill(MotionVector { x: -1, y: -1, cost: 0xdead });
    let name = format!("{} {} on {}", device.info().kernel, device.info().name, case.name);

    device.load_frame(Slot::A, &case.reference).expect(&name);
    device.load_frame(Slot::B, &case.current).expect(&name);
    search(device, Slot::B, Slot::A, &mut output).expect(&name);
    compare(&name, forwards.grid.columns, &forwards.vectors, &output.vectors);
    let is_narrowed = case.parameters.algorithm == Algorithm::Hierarchical;
    let kept = if is_narrowed { eight_bits(&case.current) } else { case.current.clone() };
    assert_eq!(device.unload_frame(Slot::B).expect(&name), Some(kept), "{name}");

    // The roles change, and the rows come from a wider plane.
    device.load_frame(Slot::A, &padded(&case.reference, 13)).expect(&name);
    search(device, Slot::A, Slot::B, &mut output).expect(&name);
    compare(&name, backwards.grid.columns, &backwards.vectors, &output.vectors);
}

fn compare(name: &str, columns: usize, expected: &[MotionVector], found: &[MotionVector]) {
    for (index, (expected, found)) in expected.iter().zip(found).enumerate() {
        assert_eq!(expected, found, "block {}, {} of {name}", index % columns, index / columns);
    }
}

/// As [`check`], for each of `devices`.
pub fn check_each(case: &Case, devices: impl Iterator<Item = impl Device>) {
    devices.for_each(|mut device| check(case, &mut device));
}

/// Compares a session with the oracle on `case`: both frames in both roles.
///
/// # Panics
/// If a vector or a cost differs.
pub fn check_session(case: &Case, devices: Vec<WeightedDevice>, options: Options) {
    let mut session = Session::new(&case.parameters, 1, devices, options).unwrap();
    let frames = [case.reference.clone(), padded(&case.current, 13), case.reference.clone()];
    let mut slots = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        slots.push(session.add_frame(frame.clone()).unwrap());
        if index == 0 {
            continue;
        }
        session.start_search(slots[index], slots[index - 1], ()).unwrap();
        let ((), output) = session.finish_search().unwrap();
        let expected = expected_field(&case.parameters, &frame.view(), &frames[index - 1].view());
        let name = format!("{} on {}", session.device(), case.name);
        compare(&name, expected.grid.columns, &expected.vectors, &output.vectors);
    }
}

/// Compares a session with the oracle on a stream of `frames`, with as many searches in flight as it allows,
/// and what it predicts.
///
/// # Panics
/// If a vector, a cost or a predictor differs.
pub fn check_stream(session: &mut Session<usize>, frames: &[Frame]) {
    let name = format!("{} {}, depth {}", session.kernel(), session.device(), session.depth());
    let finish = |session: &mut Session<usize>, expected_index: usize| {
        let (index, output) = session.finish_search().expect(&name);
        assert_eq!(index, expected_index, "{name}");
        let [current, reference] = [index, index - 1].map(|index| frames[index].view());
        let expected = expected_field(session.parameters(), &current, &reference);
        compare(&name, expected.grid.columns, &expected.vectors, &output.vectors);
        let is_predicting = session.parameters().prediction == Prediction::Median;
        let predictors = is_predicting.then(|| median_predictors(expected.grid, &expected.vectors));
        assert_eq!(output.predictors.as_deref(), predictors.as_deref(), "{name}");
    };
    let mut finished = 0;
    let mut reference = None;
    for (index, frame) in frames.iter().enumerate() {
        // In turn with and without padding between the rows.
        let current = session.add_frame(padded(frame, index % 2 * 5)).expect(&name);
        if let Some(reference) = reference {
            session.start_search(current, reference, index).expect(&name);
            assert!(matches!(session.load_frame(current, frame.clone()), Err(EstimateError::SlotInUse(_))));
        }
        reference = Some(current);
        if session.in_flight() == session.depth() {
            let again = session.start_search(current, current, 0);
            assert!(matches!(again, Err(EstimateError::InFlight(n)) if n == session.depth()), "{name}");
            finished += 1;
            finish(session, finished);
        }
    }
    // What is cancelled leaves nothing behind.
    session.cancel();
    assert_eq!(session.in_flight(), 0);
    assert!(matches!(session.finish_search(), Err(EstimateError::NothingInFlight)));
    let last = frames.len() - 1;
    let [current, reference] =
        [last, last - 1].map(|index| session.add_frame(frames[index].clone()).expect(&name));
    session.start_search(current, reference, last).expect(&name);
    finish(session, last);
}

/// Compares a device with the oracle on a stream of `frames`, with as many searches in flight as it allows,
/// from its own memory and from other memory.
///
/// # Panics
/// If a vector or a cost differs.
pub fn check_in_flight(device: &mut dyn Device, frames: &[Frame]) {
    let (parameters, depth) = (device.info().parameters.clone(), device.info().depth);
    let name = format!("{} {}, depth {depth}", device.info().kernel, device.info().name);
    let mut output = Output::new(parameters.grid().blocks());
    let slots = device.info().slots;
    let request = |index: usize| Request {
        current: Slot::new(index % slots),
        reference: Slot::new((index - 1) % slots),
        part: Part::whole(&parameters),
        offset: -1,
    };
    let mut finish = |device: &mut dyn Device, (index, ticket): (usize, _)| {
        device.finish_search(ticket, &mut output).expect(&name);
        let [current, reference] = [index, index - 1].map(|index| frames[index].view());
        let expected = expected_field(&parameters, &current, &reference);
        compare(&name, expected.grid.columns, &expected.vectors, &output.vectors);
    };
    let mut tickets = std::collections::VecDeque::new();
    for (index, frame) in frames.iter().enumerate() {
        // In turn: memory of any kind, the device's own, the same with padded rows. The test keeps no clone.
        let frame = match index % 3 {
            0 => frame.clone(),
            1 => in_memory_of(device, frame, 0),
            _ => in_memory_of(device, frame, 5),
        };
        device.load_frame(Slot::new(index % slots), &frame).expect(&name);
        if index == 0 {
            continue;
        }
        tickets.push_back((index, device.start_search(request(index)).expect(&name)));
        let current = request(index).current;
        assert!(matches!(device.load_frame(current, &frame), Err(EstimateError::SlotInUse(_))));
        if tickets.len() == depth {
            let again = device.start_search(request(index));
            assert!(matches!(again, Err(EstimateError::InFlight(n)) if n == depth), "{name}");
            let newest = tickets.back().unwrap().1;
            if depth > 1 {
                let early = device.finish_search(newest, &mut Output::new(parameters.grid().blocks()));
                assert!(matches!(early, Err(EstimateError::NothingInFlight)), "{name}");
            }
            finish(device, tickets.pop_front().unwrap());
        }
    }
    // What is cancelled leaves nothing behind.
    device.cancel();
    if let Some((_, ticket)) = tickets.front() {
        let cancelled = device.finish_search(*ticket, &mut Output::new(parameters.grid().blocks()));
        assert!(matches!(cancelled, Err(EstimateError::NothingInFlight)));
    }
    let last = frames.len() - 1;
    let ticket = device.start_search(request(last)).expect(&name);
    finish(device, (last, ticket));
}

/// How a search is cut into parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cut {
    /// Into bands of rows of blocks.
    Rows,
    /// Into runs of displacements, the first one of a single one, where the algorithm can be cut so.
    Candidates,
    /// Both ways.
    Both,
}

/// Every part of `case` by itself, found by `device` and put together here.
pub fn check_parts(case: &Case, cut: Cut, device: &mut dyn Device) {
    let parameters = &case.parameters;
    let name = format!("{} cut by {cut:?} on {}", device.info().kernel, case.name);
    let expected = expected_field(parameters, &case.current.view(), &case.reference.view());
    let whole = Part::whole(parameters);
    let (columns, rows) = (expected.grid.columns, expected.grid.rows);
    let mut found = vec![MotionVector { x: 0, y: 0, cost: u32::MAX }; expected.vectors.len()];
    let first = if cut == Cut::Candidates { rows } else { rows.div_ceil(3) };
    let mut bands = vec![0..first, first..rows];
    bands.retain(|band| !band.is_empty());
    let all = parameters.window.candidates();
    // One, and halves of the rest: mostly not whole rows of the window.
    let ends = if cut == Cut::Rows { [0, 0, 0, all] } else { [0, 1, all.div_ceil(2), all] };
    let runs = ends.windows(2).map(|ends| ends[0]..ends[1]).filter(|run| !run.is_empty());
    let runs: Vec<std::ops::Range<usize>> = runs.collect();
    for band in bands {
        for run in &runs {
            let mut part = whole.with_rows(band.clone());
            if whole.with_displacements(run.clone()).check(parameters).is_ok() {
                part = part.with_displacements(run.clone());
            }
            // What the part does not need is something else.
            let rows = |samples: &std::ops::Range<usize>, frame: &Frame| {
                let view = frame.view();
                let sample = |x: usize, y: usize| match samples.contains(&y) {
                    true => view.sample(x as i32, y as i32),
                    false => (x * 7 + y * 3) as u16 & view.format().peak(),
                };
                Frame::deep_from_fn(view.width(), view.height(), view.format().depth(), sample)
            };
            let compared = part.current_samples(parameters);
            let searched = part.reference_samples(parameters);
            let (current, reference) = (rows(&compared, &case.current), rows(&searched, &case.reference));
            device.load_frame(Slot::A, &reference.with_rows(searched)).expect(&name);
            device.load_frame(Slot::B, &current.with_rows(compared)).expect(&name);
            let mut output = Output::new(part.grid(parameters).blocks());
            let request = Request { current: Slot::B, reference: Slot::A, part, offset: -1 };
            let ticket = device.start_search(request).expect(&name);
            device.finish_search(ticket, &mut output).expect(&name);
            for (best, &other) in found[band.start * columns..].iter_mut().zip(&*output.vectors) {
                *best = best.better(other);
            }
        }
    }
    assert_eq!(found, expected.vectors, "{name}");
}
