//! Motion fields in other processes: through `unixfdsink` and `unixfdsrc`, which GStreamer has since version 1.24.

use std::collections::HashMap;
use std::io::{Write, stderr};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gst::prelude::*;
use gstmotionestimate::meta::MotionVectorMeta;
use serde_json::{Value, json};

use crate::launched::{Scratch, text};
use crate::{init, launch};

/// Frames that the other process reads.
const FRAMES: usize = 12;

/// Says, past the test's captured output, that a test cannot run here.
fn skip(test: &str) {
    let version = gst::version_string();
    writeln!(stderr(), "**** SKIPPED: {test}: 1.24 or later is needed, this is {version} ****")
        .expect("stderr");
}

/// Checks that an NDJSON line of the other process says what `field` says here.
fn check(line: &Value, field: &MotionVectorMeta) {
    let description = field.description();
    let vectors: Vec<_> = field.vectors().iter().map(|v| (v.x, v.y, v.cost)).collect();
    let predictors = field.predictors().expect("predictors").iter().map(|p| (p.x, p.y));
    let costs = field.costs().expect("costs");
    let devices = field.devices().expect("devices");
    let texts = |names: &[Arc<str>]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    for (name, value) in [
        ("block_width", json!(description.block_width)),
        ("block_height", json!(description.block_height)),
        ("columns", json!(description.columns)),
        ("rows", json!(description.rows)),
        ("scale", json!(description.scale)),
        ("metric", json!(description.metric.name())),
        ("vectors", json!(vectors)),
        ("predictors", json!(predictors.collect::<Vec<_>>())),
        ("cost_names", json!(texts(costs.names()))),
        ("costs", json!(costs.values().chunks_exact(costs.names().len()).collect::<Vec<_>>())),
        ("devices", json!(texts(devices.names()))),
        ("row_devices", json!(devices.rows())),
        ("scene_cut", json!(field.is_scene_cut())),
    ] {
        assert_eq!(line[name], value, "{name}");
    }
}

#[test]
fn fields_are_equal_in_another_process() {
    init();
    if gst::version() < (1, 24, 0, 0) {
        return skip("fields_are_equal_in_another_process");
    }
    let scratch = Scratch::new("other-process");
    let (socket, output) = (scratch.path("socket"), scratch.path("vectors.ndjson"));
    // It plays until the other process has enough frames.
    let pipeline = launch(&format!(
        "videotestsrc is-live=true pattern=ball motion=sweep ! video/x-raw,format=I420,width=160,height=96,framerate=50/1 \
         ! motionestimate name=search device=native, block-size=8 prediction=median costs=zero+satd scene-cut=message \
         ! unixfdsink socket-path={}",
        socket.display()
    ));
    let sent = Arc::new(Mutex::new(HashMap::new()));
    let pad = pipeline.by_name("search").unwrap().static_pad("src").unwrap();
    pad.add_probe(gst::PadProbeType::BUFFER, {
        let sent = sent.clone();
        move |_, info| {
            if let Some(field) = MotionVectorMeta::of(info.buffer().unwrap()) {
                let field = field.unwrap();
                // Buffers get other timestamps on their way; what is in the field stays.
                let reference = field.description().reference_pts.unwrap().nseconds();
                sent.lock().unwrap().insert(reference, field);
            }
            gst::PadProbeReturn::Ok
        }
    });
    pipeline.set_state(gst::State::Playing).unwrap();
    while !socket.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut receiver = scratch.gst_launch();
    receiver.args(["-q", "unixfdsrc", &format!("num-buffers={FRAMES}")]);
    receiver.arg(format!("socket-path={}", socket.display()));
    receiver.args(["!", "motionserialize", "!", "application/x-ndjson", "!", "filesink"]);
    receiver.arg(format!("location={}", output.display()));
    let received = receiver.stdin(Stdio::null()).output().expect("gst-launch-1.0");
    pipeline.set_state(gst::State::Null).unwrap();
    assert!(received.status.success(), "{}", text(&received));

    let sent = sent.lock().unwrap();
    let lines = std::fs::read_to_string(output).unwrap();
    let mut compared = 0;
    for line in lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        // The first frame of the stream has no field.
        if let Some(reference) = line["reference_pts"].as_u64() {
            check(&line, &sent[&reference]);
            compared += 1;
        }
    }
    assert!(compared >= FRAMES - 1, "{compared} fields arrived: {lines}");
}
