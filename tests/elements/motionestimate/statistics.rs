//! `stats`, and the message at EOS.

use gst::prelude::*;

use super::support::*;

fn stats(element: &gst::Element) -> gst::Structure {
    element.property("stats")
}

#[test]
fn figures_are_those_of_the_frames() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    let element = harness.find_element("motionestimate").unwrap();
    assert_eq!(stats(&element).get::<u64>("frames"), Ok(0));

    let buffers: Vec<_> = (0..4).map(|time| pass(&mut harness, &info, time)).collect();
    let stats = stats(&element);
    assert_eq!(stats.name(), "motion-stats");
    assert_eq!(stats.get::<u64>("frames"), Ok(4));
    assert_eq!(stats.get::<u64>("frames-with-vectors"), Ok(3));
    assert_eq!(stats.get::<&str>("device"), Ok("native"));
    assert_eq!(stats.get::<&str>("kernel"), Ok("exhaustive"));
    // Only an OpenCL device has one.
    assert_eq!(stats.get::<Option<&str>>("launcher"), Ok(None));
    assert!(stats.get::<u64>("upload-time").unwrap() > 0);
    assert!(stats.get::<u64>("download-time").is_ok());

    let vectors: Vec<_> = buffers[1..].iter().flat_map(|b| meta(b).unwrap().vectors().to_vec()).collect();
    let cost: u64 = vectors.iter().map(|vector| u64::from(vector.cost)).sum();
    let expected = cost as f64 / (vectors.len() * 64) as f64;
    assert!(expected > 0.0);
    assert!((stats.get::<f64>("mean-cost").unwrap() - expected).abs() < 1e-9);

    // The mean time is cut to whole nanoseconds, the rate is not.
    let differences = f64::from(info.width() * info.height() * 11 * 11);
    let nanoseconds = 1e9 * differences / stats.get::<f64>("effective-rate").unwrap();
    assert!((nanoseconds - stats.get::<u64>("search-time").unwrap() as f64).abs() < 2.0, "{stats}");
}

#[test]
fn the_rate_of_three_steps_counts_the_candidates_tried() {
    let info = gray();
    let mut harness = harness(&format!("{ELEMENT} algorithm=three-step"), &info);
    let element = harness.find_element("motionestimate").unwrap();
    for time in 0..3 {
        pass(&mut harness, &info, time);
    }
    let stats = stats(&element);
    // Range 5 has the steps 3, 2 and 1.
    let differences = f64::from(info.width() * info.height() * (1 + 3 * 8));
    let nanoseconds = 1e9 * differences / stats.get::<f64>("effective-rate").unwrap();
    assert!((nanoseconds - stats.get::<u64>("search-time").unwrap() as f64).abs() < 2.0, "{stats}");
}

#[test]
fn message_at_eos_comes_before_eos() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    let element = harness.find_element("motionestimate").unwrap();
    let bus = ElementBus::new(element.clone());
    for time in 0..3 {
        pass(&mut harness, &info, time);
    }
    assert!(harness.push_event(gst::event::Eos::new()));
    let message = bus.pop_filtered(&[gst::MessageType::Element]).expect("a message");
    assert_eq!(message.src(), Some(element.upcast_ref()));
    assert_eq!(message.structure().unwrap().to_owned(), stats(&element));
    assert_eq!(message.structure().unwrap().get::<u64>("frames"), Ok(3));
}

#[test]
fn a_new_start_counts_from_zero_and_stop_keeps_the_figures() {
    let info = gray();
    let mut harness = harness(ELEMENT, &info);
    let element = harness.find_element("motionestimate").unwrap();
    pass(&mut harness, &info, 0);
    element.set_state(gst::State::Null).unwrap();
    assert_eq!(stats(&element).get::<u64>("frames"), Ok(1));
    element.set_state(gst::State::Playing).unwrap();
    assert_eq!(stats(&element).get::<u64>("frames"), Ok(0));
    element.set_state(gst::State::Null).unwrap();
}
