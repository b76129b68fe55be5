//! The formats of `motionserialize`, read back.

use gstmotionestimate::meta::{FieldDescription, MotionVectorMeta};
use motion_search::estimator::prediction::median_predictors;
use motion_search::estimator::{Grid, Metric, MotionVector};

use crate::fields::{self, description, numbered};

/// Three frames of 40 × 20 in blocks of 16, the first without vectors.
fn serialize(caps: &str, fields: Vec<(FieldDescription, Vec<MotionVector>)>) -> Vec<gst::Buffer> {
    let pipeline = fields::launch(&format!(
        "videotestsrc num-buffers=3 ! video/x-raw,format=I420,width=40,height=20,framerate=25/1 ! \
         identity name=source ! motionserialize ! {caps} ! appsink name=sink"
    ));
    fields::attach_after(&pipeline, "source", 1, fields);
    let buffers = fields::run(&pipeline);
    assert_eq!(buffers.len(), 3, "a buffer a frame");
    for (index, buffer) in buffers.iter().enumerate() {
        assert_eq!(buffer.pts(), Some(gst::ClockTime::from_mseconds(40 * index as u64)));
        assert_eq!(buffer.duration(), Some(gst::ClockTime::from_mseconds(40)));
    }
    buffers
}

fn one_field() -> (FieldDescription, Vec<MotionVector>) {
    let field = FieldDescription { metric: Metric::Ssd, ..description(40, 20, 16) };
    let vectors = numbered(&field);
    (field, vectors)
}

fn text(buffer: &gst::Buffer) -> String {
    String::from_utf8(buffer.map_readable().unwrap().to_vec()).unwrap()
}

/// Vectors of `motionestimate` with and without predictors, through the same formats.
#[test]
fn predictors_go_into_ndjson_alone() {
    let run = |prediction: &str, caps: &str| -> String {
        let pipeline = fields::launch(&format!(
            "videotestsrc num-buffers=3 pattern=ball motion=sweep ! video/x-raw,format=GRAY8,width=70,height=52 \
             ! motionestimate device=native block-size=8 prediction={prediction} ! motionserialize ! {caps} \
             ! appsink name=sink"
        ));
        fields::run(&pipeline).iter().map(text).collect()
    };
    let lines = |text: String| -> Vec<serde_json::Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let without = lines(run("none", "application/x-ndjson"));
    let mut with = lines(run("median", "application/x-ndjson"));
    assert!(with[0].get("predictors").is_none(), "{}", with[0]);
    for line in &mut with[1..] {
        let numbers = |value: &serde_json::Value| -> Vec<i16> {
            value.as_array().unwrap().iter().map(|n| n.as_i64().unwrap() as i16).collect()
        };
        let vectors: Vec<_> = line["vectors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| {
                let (x, y) = (v[0].as_i64().unwrap() as i16, v[1].as_i64().unwrap() as i16);
                MotionVector { x, y, cost: 0 }
            })
            .collect();
        let expected: Vec<_> = median_predictors(Grid { columns: 9, rows: 7 }, &vectors)
            .iter()
            .map(|p| vec![p.x, p.y])
            .collect();
        assert!(expected.iter().any(|p| p != &[0, 0]), "something moves");
        let predictors = line.as_object_mut().unwrap().remove("predictors").unwrap();
        let predictors: Vec<_> = predictors.as_array().unwrap().iter().map(numbers).collect();
        assert_eq!(predictors, expected);
    }
    assert_eq!(with, without);
    assert_eq!(run("median", "text/csv"), run("none", "text/csv"));
}

/// A list of one device tells who found each row.
#[test]
fn devices_go_into_ndjson_alone() {
    let run = |device: &str, caps: &str| -> String {
        let pipeline = fields::launch(&format!(
            "videotestsrc num-buffers=2 pattern=ball ! video/x-raw,format=GRAY8,width=70,height=52 \
             ! motionestimate device={device} ! motionserialize ! {caps} ! appsink name=sink"
        ));
        fields::run(&pipeline).iter().map(text).collect()
    };
    let [alone, listed] = ["native", "native,"].map(|device| run(device, "application/x-ndjson"));
    let line = |text: &str| serde_json::from_str::<serde_json::Value>(text.lines().last().unwrap()).unwrap();
    let (alone, mut listed) = (line(&alone), line(&listed));
    let fields = listed.as_object_mut().unwrap();
    assert_eq!(fields.remove("devices"), Some(serde_json::json!(["native"])));
    assert_eq!(fields.remove("row_devices"), Some(serde_json::json!([0, 0, 0, 0])));
    assert_eq!(listed, alone);
    assert_eq!(run("native,", "text/csv"), run("native", "text/csv"));
}

/// Costs of `motionestimate` in NDJSON and packed binary, as the meta has them.
#[test]
fn costs_go_into_ndjson_and_binary() {
    let launch = |costs: &str, caps: &str| {
        fields::launch(&format!(
            "videotestsrc num-buffers=3 pattern=ball motion=sweep ! video/x-raw,format=GRAY8,width=70,height=52 \
             ! motionestimate device=native block-size=8 {costs} ! {caps} ! appsink name=sink"
        ))
    };
    let run = |costs: &str, caps: &str| fields::run(&launch(costs, caps));
    const COSTS: &str = "costs=satd+zero";
    let buffers = run(COSTS, "identity");
    let field = MotionVectorMeta::of(&buffers[2]).unwrap().unwrap();
    let costs = field.costs().unwrap();
    assert!(costs.of("zero").unwrap().zip(costs.of("satd").unwrap()).any(|(zero, satd)| satd < zero));

    let line = |costs: &str| -> serde_json::Value {
        serde_json::from_str(&text(&run(costs, "motionserialize ! application/x-ndjson")[2])).unwrap()
    };
    let (without, mut with) = (line(""), line(COSTS));
    let object = with.as_object_mut().unwrap();
    assert_eq!(object.remove("cost_names"), Some(serde_json::json!(["zero", "satd"])));
    let pairs: Vec<_> = costs.values().chunks_exact(2).map(|pair| serde_json::json!(pair)).collect();
    assert_eq!(pairs.len(), 9 * 7);
    assert_eq!(object.remove("costs"), Some(serde_json::Value::from(pairs)));
    assert_eq!(with, without);
    let csv = |costs: &str| run(costs, "motionserialize ! text/csv").iter().map(text).collect::<String>();
    assert_eq!(csv(COSTS), csv(""));

    let binary = |costs: &str| {
        let buffers = run(costs, "motionserialize ! application/x-motion-vectors");
        buffers[2].map_readable().unwrap().to_vec()
    };
    let (without, with) = (binary(""), binary(COSTS));
    assert_eq!(with[..4], (72 + 8 * 63 + 4 + 2 * 16 + 2 * 4 * 63_u32).to_le_bytes());
    assert_eq!(with[4..without.len()], without[4..]);
    let mut expected = b"\x02\0\0\0zero\0\0\0\0\0\0\0\0\0\0\0\0satd\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    costs.values().iter().for_each(|cost| expected.extend(cost.to_le_bytes()));
    assert_eq!(with[without.len()..], expected);
}

#[test]
fn ndjson_is_what_comes_where_anything_will_do() {
    let (field, vectors) = one_field();
    let buffers = serialize("identity", vec![(field, vectors.clone())]);
    let lines: Vec<serde_json::Value> = buffers
        .iter()
        .map(|buffer| {
            let line = text(buffer);
            assert_eq!(line.find('\n'), Some(line.len() - 1), "one line a frame");
            serde_json::from_str(&line).unwrap()
        })
        .collect();
    let none = serde_json::json!({
        "frame": 0, "pts": 0, "duration": 40_000_000, "width": 40, "height": 20, "block_width": null,
        "block_height": null, "columns": null, "rows": null, "scale": null, "reference_offset": null,
        "reference_pts": null, "metric": null, "vectors": null,
    });
    assert_eq!(lines[0], none);
    let triples: Vec<_> = vectors.iter().map(|v| serde_json::json!([v.x, v.y, v.cost])).collect();
    let second = serde_json::json!({
        "frame": 1, "pts": 40_000_000, "duration": 40_000_000, "width": 40, "height": 20,
        "block_width": 16, "block_height": 16, "columns": 3, "rows": 2, "scale": 4,
        "reference_offset": -1, "reference_pts": 40_000_000, "metric": "ssd", "vectors": triples,
    });
    assert_eq!(lines[1], second);
    assert_eq!(lines[2]["frame"], 2);
}

#[test]
fn several_fields_are_several_lines_of_one_frame() {
    let (past, vectors) = one_field();
    let future = FieldDescription { reference_offset: 1, reference_pts: None, ..past.clone() };
    let buffers = serialize("application/x-ndjson", vec![(past, vectors.clone()), (future, vectors)]);
    let output = text(&buffers[2]);
    let lines: Vec<serde_json::Value> =
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let offsets: Vec<_> = lines.iter().map(|line| line["reference_offset"].as_i64()).collect();
    assert_eq!(offsets, [Some(-1), Some(1)]);
    assert!(lines.iter().all(|line| line["frame"] == 2));
    assert!(lines[1]["reference_pts"].is_null());
}

#[test]
fn one_of_several_fields_is_chosen_by_its_offset() {
    let serialized = |offset: i32, caps: &str| {
        let pipeline = fields::launch(&format!(
            "videotestsrc num-buffers=4 pattern=ball ! video/x-raw,format=GRAY8,width=70,height=52 \
             ! motionestimate device=native direction=both references=2 \
             ! motionserialize reference-offset={offset} ! {caps} ! appsink name=sink"
        ));
        fields::run(&pipeline)
    };
    let of_lines = |offset: i32| -> Vec<Vec<Option<i64>>> {
        let of_line = |line: &str| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["reference_offset"].as_i64()
        };
        let of_buffer = |buffer: &gst::Buffer| text(buffer).lines().map(of_line).collect();
        serialized(offset, "application/x-ndjson").iter().map(of_buffer).collect()
    };
    let some = |offsets: &[i64]| offsets.iter().map(|&offset| Some(offset)).collect::<Vec<_>>();
    assert_eq!(of_lines(0), [some(&[1, 2]), some(&[-1, 1, 2]), some(&[-1, -2, 1]), some(&[-1, -2])]);
    assert_eq!(of_lines(-2), [vec![None], vec![None], some(&[-2]), some(&[-2])]);
    assert_eq!(of_lines(1), [some(&[1]), some(&[1]), some(&[1]), vec![None]]);
    // A .flo file has room for one field: the first, or the chosen one.
    let flo = |offset| -> Vec<Vec<u8>> {
        let buffers = serialized(offset, "application/x-flo");
        buffers.iter().map(|buffer| buffer.map_readable().unwrap().to_vec()).collect()
    };
    assert!(flo(0)[1] == flo(-1)[1] && flo(0)[1] != flo(2)[1] && flo(0)[0] == flo(1)[0]);
}

#[test]
fn csv_has_its_header_once_and_a_row_a_vector() {
    let (field, vectors) = one_field();
    let output: String = serialize("text/csv", vec![(field, vectors.clone())]).iter().map(text).collect();
    let mut reader = csv::Reader::from_reader(output.as_bytes());
    assert_eq!(
        reader.headers().unwrap().iter().collect::<Vec<_>>().join(","),
        "frame,pts,duration,width,height,block_width,block_height,reference_offset,reference_pts,\
         metric,scale,column,row,x,y,cost"
    );
    let rows: Vec<Vec<String>> =
        reader.records().map(|row| row.unwrap().iter().map(String::from).collect()).collect();
    // The first frame, which has no vectors, has no row.
    assert_eq!(rows.len(), 6 + 6);
    for (index, vector) in vectors.iter().enumerate() {
        let MotionVector { x, y, cost } = vector;
        let expected = format!(
            "1,40000000,40000000,40,20,16,16,-1,40000000,ssd,4,{},{},{x},{y},{cost}",
            index % 3,
            index / 3
        );
        assert_eq!(rows[index].join(","), expected);
    }
}

/// Python's csv, and pandas where it is installed: every column of numbers has numbers alone, though the first frame has
/// no vectors.
#[test]
fn csv_has_whole_numbers_in_python() {
    const SCRIPT: &str = r#"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
for row in rows:
    metric = row.pop("metric")
    assert metric == "ssd", metric
    print(*(int(value) for value in row.values()))
try:
    import pandas
except ImportError:
    sys.exit()
for name, column in pandas.read_csv(sys.argv[1]).items():
    assert name == "metric" or column.dtype.kind == "i", (name, column.dtype)
"#;
    let (field, vectors) = one_field();
    let buffers = serialize("text/csv", vec![(field, vectors.clone())]);
    assert!(!text(&buffers[0]).contains('0'), "the first frame has the header alone");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("vectors.csv");
    std::fs::write(&file, buffers.iter().map(text).collect::<String>()).unwrap();
    let python =
        std::process::Command::new("/usr/bin/python3").args(["-c", SCRIPT]).arg(&file).output().unwrap();
    assert!(python.status.success(), "{python:?}");
    let printed = String::from_utf8(python.stdout).unwrap();
    let last = format!("{} {} {}", vectors[5].x, vectors[5].y, vectors[5].cost);
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines.len(), 12);
    assert_eq!(lines[5], format!("1 40000000 40000000 40 20 16 16 -1 40000000 4 2 1 {last}"));
}

/// Frames without vectors in the middle of a stream give empty buffers.
#[test]
fn csv_has_no_row_for_frames_without_vectors() {
    let pipeline = fields::launch(
        "videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,width=40,height=20 ! motionserialize ! text/csv \
         ! appsink name=sink",
    );
    let buffers = fields::run(&pipeline);
    let sizes: Vec<_> = buffers.iter().map(|buffer| buffer.size() > 0).collect();
    assert_eq!(sizes, [true, false, false]);
    assert_eq!(text(&buffers[0]).lines().count(), 1);
}

#[test]
fn binary_is_as_documented() {
    let (field, vectors) = one_field();
    let output: Vec<u8> = serialize("application/x-motion-vectors", vec![(field, vectors.clone())])
        .iter()
        .flat_map(|buffer| buffer.map_readable().unwrap().to_vec())
        .collect();
    let u32_at = |at: usize| u32::from_le_bytes(output[at..at + 4].try_into().unwrap());
    let u64_at = |at: usize| u64::from_le_bytes(output[at..at + 8].try_into().unwrap());
    assert_eq!(&output[..8], b"GSTMVECS");
    assert_eq!((u32_at(8), u32_at(12)), (1, 72));

    let first = 16;
    assert_eq!(u32_at(first), 72);
    assert_eq!([8, 16, 24, 32].map(|at| u64_at(first + at)), [0, 0, 40_000_000, u64::MAX]);
    assert_eq!([40, 44, 48, 52, 56, 60, 64, 68].map(|at| u32_at(first + at)), [40, 20, 0, 0, 0, 0, 0, 0]);

    let second = first + 72;
    assert_eq!((u32_at(second), u32_at(second + 4)), (72 + 6 * 8, 1));
    assert_eq!([8, 16, 24, 32].map(|at| u64_at(second + at)), [1, 40_000_000, 40_000_000, 40_000_000]);
    assert_eq!(
        [40, 44, 48, 52, 56, 60, 64, 68].map(|at| u32_at(second + at)),
        [40, 20, 16, 16, 3, 2, u32::MAX, 4]
    );
    for (index, vector) in vectors.iter().enumerate() {
        let at = second + 72 + 8 * index;
        let x = i16::from_le_bytes(output[at..at + 2].try_into().unwrap());
        let y = i16::from_le_bytes(output[at + 2..at + 4].try_into().unwrap());
        assert_eq!(MotionVector { x, y, cost: u32_at(at + 4) }, *vector);
    }
    assert_eq!(output.len(), 16 + 3 * 72 + 2 * 6 * 8);
}

#[test]
fn flo_has_a_vector_a_sample() {
    let (field, vectors) = one_field();
    let field = FieldDescription { scale: 32, ..field };
    // A second field of the same frame has no place in the file.
    let fields = vec![(field.clone(), vectors.clone()), (field, vec![MotionVector::default(); 6])];
    let buffers = serialize("application/x-flo", fields);
    let floats = |buffer: &gst::Buffer| {
        let bytes = buffer.map_readable().unwrap().to_vec();
        assert_eq!(bytes[..12], *b"PIEH\x28\0\0\0\x14\0\0\0");
        let floats: Vec<f32> =
            bytes[12..].chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
        assert_eq!(floats.len(), 2 * 40 * 20);
        floats
    };
    assert!(floats(&buffers[0]).iter().all(|&unknown| unknown == 1e10));
    let written = floats(&buffers[2]);
    let at = |x: usize, y: usize| [written[2 * (40 * y + x)], written[2 * (40 * y + x) + 1]];
    let units = |vector: MotionVector| [vector.x, vector.y].map(|units| f32::from(units) / 32.0);
    // The middle of the first block is between its samples 7 and 8: a 32nd of the way to the next.
    assert_eq!(at(0, 0), units(vectors[0]));
    let [a, b] = [units(vectors[0]), units(vectors[1])];
    assert_eq!(at(8, 0), [0, 1].map(|axis| a[axis] + (b[axis] - a[axis]) / 32.0));
    let c = units(vectors[3]);
    assert_eq!(at(0, 19), [0, 1].map(|axis| a[axis] + (c[axis] - a[axis]) * (11.5 / 16.0)));
}

#[test]
fn frames_too_large_for_flo_are_refused() {
    crate::init();
    let mut harness = gst_check::Harness::new("motionserialize");
    let bus = test_support::gstreamer::ElementBus::new(harness.element().unwrap());
    harness.set_sink_caps_str("application/x-flo");
    let caps = format!("video/x-raw,format=GRAY8,width={0},height={0},framerate=25/1", i32::MAX);
    harness.push_event(gst::event::Caps::new(&caps.parse().unwrap()));
    let error = bus.pop_filtered(&[gst::MessageType::Error]).expect("an error");
    let gst::MessageView::Error(error) = error.view() else { panic!("no error") };
    assert!(error.error().to_string().contains("too large for .flo"), "{error:?}");
}
