//! An OpenCL device that is lost in mid-stream: PoCL behind calls that begin to fail. Each is in a
//! process of its own, which loads the plugin as a user's does.

use crate::launched::{Scratch, text, with_fault};
use std::process::Output;

const FRAMES: u32 = 12;

/// How a device is lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Fails,
    Hangs,
}

/// The call in which a device is lost, after how many of them, and how.
type Lost<'a> = (&'a str, u32, How);

/// What becomes of the stream with `settings`, and the vectors as CSV, where the device is lost so.
fn search(scratch: &Scratch, settings: &str, lost: Option<Lost<'_>>) -> (Output, String) {
    let mut command = scratch.gst_search(FRAMES, settings, "vectors.csv");
    if let Some((call, after, how)) = lost {
        let kind = if how == How::Hangs { "stall" } else { "lose" };
        if how == How::Hangs {
            // What a device that hangs has is left on purpose.
            command.env_remove("GST_TRACERS");
        }
        with_fault(&mut command, &format!("{kind} {call} {after}"));
    }
    scratch.run_for_text(command, "vectors.csv")
}

/// The first call in which each stage of a frame's way fails, and a number of them that is made within
/// the stream, after the first search: that may take longer.
const CALLS: [(&str, u32); 4] = [
    ("clEnqueueWriteBufferRect", 5),
    ("clEnqueueNDRangeKernel", 20),
    ("clEnqueueReadBuffer", 5),
    ("clGetEventInfo", 40),
];

fn check(settings: &str, calls: &[(&str, u32)], how: How) {
    let scratch = Scratch::new(&format!("lost-{}-{}", how as u8, settings.replace([' ', ':', ','], "-")));
    let (_, expected) = search(&scratch, "device=native", None);
    assert!(expected.lines().count() > 11 * 30, "{expected}");
    for &(call, after) in calls {
        let (output, vectors) = search(&scratch, settings, Some((call, after, how)));
        let text = text(&output);
        assert!(output.status.success(), "{settings}, {call}: {text}");
        assert_eq!(text.matches("WARNING").count(), 1, "{settings}, {call}: {text}");
        let reason = match how {
            How::Fails => "out of resources (-5)",
            // Ten seconds, or longer where searches take long.
            How::Hangs => "no answer for ",
        };
        assert!(text.contains(reason) && text.contains("continuing on native"), "{settings}, {call}: {text}");
        assert!(text.contains(" failed ("), "{text}");
        assert!(text.contains(&format!("frames-with-vectors=(guint64){}", FRAMES - 1)), "{text}");
        assert!(text.contains("device=(string)native"), "{text}");
        assert!(vectors == expected, "{settings}: other vectors after {call} failed");
    }
}

#[test]
fn the_cpu_goes_on_where_a_device_by_itself_is_lost() {
    for settings in ["device=0:0", "device=cpu pipeline-depth=4 prediction=median"] {
        check(settings, &CALLS, How::Fails);
    }
}

/// At once, as each takes the ten seconds that a device may be silent.
#[test]
#[ignore = "takes long: the complete run has it"]
fn the_cpu_goes_on_where_a_device_by_itself_hangs() {
    let scratch = Scratch::new("hangs-error");
    std::thread::scope(|scope| {
        for (settings, calls) in [
            ("device=0:0", 0..1),
            ("device=0:0 kernel=two-pass", 1..2),
            ("device=cpu pipeline-depth=4 prediction=median", 1..2),
            ("device=cpu pipeline-depth=4", 2..3),
            ("device=0:0,", 2..3),
        ] {
            scope.spawn(move || check(settings, &CALLS[calls], How::Hangs));
        }
        scope.spawn(|| {
            let settings = "device=0:0 on-device-failure=error";
            let (output, _) = search(&scratch, settings, Some((CALLS[1].0, CALLS[1].1, How::Hangs)));
            let text = text(&output);
            assert!(!output.status.success() && text.contains("no answer for "), "{text}");
        });
    });
}

#[test]
fn the_others_of_a_list_go_on() {
    check("device=0:0, pipeline-depth=2", &CALLS[1..2], How::Fails);
    // It is asked directly.
    check("device=0:0,", &CALLS, How::Fails);
    check("device=0:0@1,native@1", &CALLS[3..], How::Fails);
    check("device=0:0@1,native@1 split=frames pipeline-depth=4", &CALLS[..1], How::Fails);
}

#[test]
fn the_last_failure_is_an_error_where_it_is_to_be() {
    let scratch = Scratch::new("lost-error");
    for device in ["0:0", "0:0,"] {
        let settings = format!("device={device} on-device-failure=error");
        let (output, _) = search(&scratch, &settings, Some((CALLS[3].0, CALLS[3].1, How::Fails)));
        let text = text(&output);
        assert!(!output.status.success() && text.contains("out of resources (-5)"), "{text}");
    }
}

#[test]
fn nothing_fails_behind_calls_that_do_not() {
    let scratch = Scratch::new("lost-not");
    let (_, expected) = search(&scratch, "device=native", None);
    let (output, vectors) =
        search(&scratch, "device=0:0 pipeline-depth=4", Some((CALLS[0].0, 1000, How::Fails)));
    assert!(output.status.success() && !text(&output).contains("WARNING"), "{}", text(&output));
    assert!(vectors == expected);
}
