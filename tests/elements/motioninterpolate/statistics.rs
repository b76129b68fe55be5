//! `stats`, and the message at EOS.

use gst::prelude::*;

use super::support::*;

#[test]
fn every_frame_is_counted_once() {
    let rate = (24, 1);
    let mut harness = blending(rate, (60, 1));
    push_all(&mut harness, rate, 0..24);
    end(&mut harness);
    let found = pull(&mut harness).len() as u64;
    let of = |field: &str| count(&harness, field);
    assert_eq!((of("frames-in"), of("frames-out")), (24, found));
    assert_eq!(of("made") + of("passed") + of("repeated") + of("scene-cuts"), found);
    // Of 58 frames up to the last one every fifth passes.
    assert_eq!((of("made"), of("passed"), of("repeated"), of("scene-cuts"), of("late")), (46, 12, 2, 0, 0));
    assert!(of("make-time") > 0 && stats(&harness).has_field("load-time"));
}

#[test]
fn message_at_eos_comes_before_eos() {
    let mut harness = blending((25, 1), (50, 1));
    let bus = bus(&harness);
    push_all(&mut harness, (25, 1), 0..3);
    end(&mut harness);
    let message = bus.pop_filtered(&[gst::MessageType::Element]).expect("a message");
    assert_eq!(message.src(), Some(element(&harness).upcast_ref()));
    assert_eq!(message.structure().unwrap().to_owned(), stats(&harness));
    assert_eq!(message.structure().unwrap().name(), "interpolation-stats");
    // The last frame had left before, and is shown until its end.
    assert_eq!(message.structure().unwrap().get::<u64>("repeated"), Ok(1));
}

#[test]
fn a_new_start_counts_from_zero_and_stop_keeps_the_figures() {
    let mut harness = blending((25, 1), (50, 1));
    let element = element(&harness);
    push_all(&mut harness, (25, 1), 0..2);
    element.set_state(gst::State::Null).unwrap();
    assert_eq!(count(&harness, "frames-in"), 2);
    element.set_state(gst::State::Playing).unwrap();
    assert_eq!(count(&harness, "frames-in"), 0);
    element.set_state(gst::State::Null).unwrap();
}

#[test]
fn frames_that_only_pass_are_counted() {
    let mut harness = harness("motioninterpolate", &i420((25, 1)), (25, 1));
    push_all(&mut harness, (25, 1), 0..5);
    assert_eq!((count(&harness, "frames-in"), count(&harness, "passed"), count(&harness, "made")), (5, 5, 0));
}
