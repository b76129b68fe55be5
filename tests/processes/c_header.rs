//! The C headers and the Python examples, run on real pipelines and compared with the Rust view.
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use gstmotionestimate::meta::{FieldCosts, MotionVectorMeta};
use test_support::gstreamer::run;

use crate::launch;
use crate::launched::Scratch;

const SOURCE: &str = "videotestsrc num-buffers=4 pattern=ball motion=sweep ! \
                      video/x-raw,format=I420,width=70,height=52,framerate=25/1 ! motionestimate device=native";

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// What the C program prints, from the Rust view.
fn expected(source: &str) -> String {
    let buffers = run(&launch(&format!("{source} ! appsink name=sink")));
    let mut text = String::new();
    let mut with_field = 0;
    for buffer in &buffers {
        text += &format!("frame {}\n", buffer.pts().unwrap().nseconds());
        let fields: Vec<_> = MotionVectorMeta::all_of(buffer).map(|field| field.unwrap()).collect();
        with_field += usize::from(!fields.is_empty());
        for field in fields {
            let d = field.description();
            text += &format!(
                "field {} {} {} {} {} {} {} {} {} {}\n",
                d.width,
                d.height,
                d.block_width,
                d.block_height,
                d.columns,
                d.rows,
                d.scale,
                d.reference_offset,
                d.reference_pts.unwrap().nseconds(),
                d.metric.name()
            );
            let (is_cut, is_duplicate) = (field.is_scene_cut() == Some(true), field.is_duplicate());
            if is_cut || is_duplicate {
                text += &format!("cut {} duplicate {}\n", u8::from(is_cut), u8::from(is_duplicate));
            }
            assert_eq!(field.predictors().is_some(), source.contains("prediction=median"));
            assert_eq!(field.costs().is_some(), source.contains("costs="));
            assert_eq!(field.devices().is_some(), source.contains("device=native,"));
            for (index, vector) in field.vectors().iter().enumerate() {
                let (row, column) = (index / d.columns as usize, index % d.columns as usize);
                if let Some(devices) = field.devices().filter(|_| column == 0) {
                    text += &format!("by {}\n", devices.names()[usize::from(devices.rows()[row])]);
                }
                let [x, y] = [vector.x, vector.y].map(|units| f32::from(units) / d.scale as f32);
                text += &format!("{} {} {} {x:.5} {y:.5}", vector.x, vector.y, vector.cost);
                if let Some(predictors) = field.predictors() {
                    text += &format!(" {} {}", predictors[index].x, predictors[index].y);
                }
                for name in field.costs().into_iter().flat_map(FieldCosts::names) {
                    let cost = field.costs().unwrap().of(name).unwrap().nth(index).unwrap();
                    text += &format!(" {name} {cost}");
                }
                text += "\n";
            }
        }
    }
    let is_both = source.contains("direction=both");
    assert_eq!((buffers.len(), with_field), (4, if is_both { 4 } else { 3 }));
    text
}

/// The program `tests/c/name.c`, compiled with `options` too.
fn compiled(name: &str, options: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let flags = output(Command::new("pkg-config").args(["--cflags", "--libs", "gstreamer-1.0"]));
    let suffix = if options.is_empty() { "" } else { "-sanitized" };
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}{suffix}"));
    output(
        Command::new("cc")
            .args([
                "-std=c99",
                "-Wall",
                "-Wextra",
                "-Wpedantic",
                "-Wconversion",
                "-Wsign-conversion",
                "-Werror",
            ])
            .args(options)
            .arg("-o")
            .arg(&program)
            .arg(root.join("tests/c").join(name).with_extension("c"))
            .arg("-I")
            .arg(root.join("include"))
            .args(flags.split_whitespace()),
    );
    program
}

#[test]
fn c_reads_no_memory_of_others() {
    let sanitizers = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let program = compiled("hostile_fields", &sanitizers);
    for seed in ["1", "2", "3"] {
        // The header allocates nothing; GLib leaks on purpose.
        let mut command = Command::new(&program);
        command
            .args([seed, "20000"])
            .envs([("ASAN_OPTIONS", "detect_leaks=0"), ("G_DEBUG", "fatal_warnings")]);
        let printed = output(&mut command);
        let count = |name: &str| {
            let after = printed.split(name).nth(1).expect("a count").split_whitespace().next();
            after.expect("a number").parse::<u32>().expect("a number")
        };
        assert!(count("accepted") > 1000 && count("refused") > 1000, "{printed}");
    }
}

#[test]
fn c_reads_what_rust_reads() {
    let (program, scratch) = (compiled("read_vectors", &[]), Scratch::new("c"));
    // A list of one device says which found each row.
    let listed = SOURCE.replace("device=native", "device=native,");
    let hierarchical = format!("{SOURCE} algorithm=hierarchical block-size=8");
    let both = format!("{SOURCE} direction=both references=2");
    let predicted = format!("{SOURCE} prediction=median costs=zero+second");
    let still = SOURCE.replace("motion=sweep", "motion=wavy");
    let still = format!("{still} scene-cut=message");
    for source in [SOURCE.to_owned(), still, predicted, listed, format!("{hierarchical} costs=satd"), both] {
        let pipeline = format!("{source} ! fakesink name=sink signal-handoffs=true");
        assert_eq!(
            output(scratch.command(&program).env("G_DEBUG", "fatal_warnings").arg(&pipeline)),
            expected(&source)
        );
    }
}

/// What the Python examples print of `source`, from the Rust view.
fn expected_summary(source: &str) -> Vec<String> {
    let buffers = run(&launch(&format!("{source} ! appsink name=sink")));
    let mut expected = Vec::new();
    for buffer in &buffers {
        let pts = buffer.pts().unwrap().nseconds();
        let fields: Vec<_> = MotionVectorMeta::all_of(buffer).map(|field| field.unwrap()).collect();
        if fields.is_empty() {
            expected.push(format!("{pts} no vectors"));
        }
        for field in fields {
            let (vectors, description) = (field.vectors(), field.description());
            let scale = f64::from(description.scale);
            let lengths = vectors.iter().map(|v| f64::from(v.x).hypot(f64::from(v.y)) / scale);
            let mean = |sum: f64| sum / vectors.len() as f64;
            let cost = mean(vectors.iter().map(|v| f64::from(v.cost)).sum());
            let costs = field.costs().into_iter().flat_map(|costs| {
                let mean_of = |name| mean(costs.of(name).unwrap().map(f64::from).sum());
                costs.names().iter().map(move |name| format!(", {name} {:.1}", mean_of(name)))
            });
            expected.push(format!(
                "{pts} {} x {} blocks, reference {:+}, length mean {:.2} max {:.2} samples, mean {} {cost:.1}{}",
                description.columns,
                description.rows,
                description.reference_offset,
                mean(lengths.clone().sum()),
                lengths.fold(0.0, f64::max),
                description.metric.name(),
                costs.collect::<String>(),
            ));
        }
    }
    expected
}

#[test]
fn python_reads_what_rust_reads() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/read_vectors.py");
    let scratch = Scratch::new("python");
    let costs = format!("{SOURCE} costs=zero+intra+satd");
    for source in [SOURCE.to_owned(), format!("{SOURCE} direction=both references=2"), costs] {
        // The system's interpreter: it is the one that has the system's gi.
        let mut python = scratch.command("/usr/bin/python3");
        let printed = output(python.env("G_DEBUG", "fatal_warnings").arg(&script).arg(&source));
        assert_eq!(printed.lines().collect::<Vec<_>>(), expected_summary(&source));
    }
}

/// A file in the packed binary format with the vectors of `source`.
fn packed(source: &str) -> tempfile::NamedTempFile {
    let pipeline = format!("{source} ! motionserialize ! application/x-motion-vectors ! appsink name=sink");
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for buffer in run(&launch(&pipeline)) {
        file.write_all(&buffer.map_readable().unwrap()).unwrap();
    }
    file
}

/// What the C program prints of a file with the vectors of `source`.
fn expected_of_packed(source: &str) -> String {
    let buffers = run(&launch(&format!("{source} ! appsink name=sink")));
    let mut text = String::new();
    let time = |time: Option<gst::ClockTime>| time.map_or(u64::MAX, gst::ClockTime::nseconds);
    for (number, buffer) in buffers.iter().enumerate() {
        let frame = format!("frame {number} {} {}", time(buffer.pts()), time(buffer.duration()));
        let fields: Vec<_> = MotionVectorMeta::all_of(buffer).map(|field| field.unwrap()).collect();
        if fields.is_empty() {
            text += &format!("{frame} {} sad 70 52 0 0 0 0 0 0\n", u64::MAX);
        }
        for field in fields {
            let d = field.description();
            text += &format!(
                "{frame} {} {} 70 52 {} {} {} {} {} {}\n",
                time(d.reference_pts),
                d.metric.name(),
                d.block_width,
                d.block_height,
                d.columns,
                d.rows,
                d.reference_offset,
                d.scale
            );
            for (index, vector) in field.vectors().iter().enumerate() {
                text += &format!("{} {} {}", vector.x, vector.y, vector.cost);
                for name in field.costs().into_iter().flat_map(FieldCosts::names) {
                    let cost = field.costs().unwrap().of(name).unwrap().nth(index).unwrap();
                    text += &format!(" {name} {cost}");
                }
                text += "\n";
            }
        }
    }
    text
}

#[test]
fn a_packed_file_is_read_in_c_and_python() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/read_packed.py");
    let program = compiled("read_packed", &[]);
    let hierarchical = format!("{SOURCE} algorithm=hierarchical block-size=8 costs=satd");
    let both = format!("{SOURCE} direction=both references=2 costs=zero+second metric=ssd");
    for source in [SOURCE, &hierarchical, &both] {
        let file = packed(source);
        assert_eq!(output(Command::new(&program).arg(file.path())), expected_of_packed(source));
        let printed = output(Command::new("/usr/bin/python3").arg(&script).arg(file.path()));
        assert_eq!(printed.lines().collect::<Vec<_>>(), expected_summary(source));
    }
}

#[test]
fn c_reads_no_memory_beside_a_packed_file() {
    let sanitizers = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let program = compiled("read_packed", &sanitizers);
    let file = packed(&format!("{SOURCE} costs=zero+satd"));
    for seed in ["1", "2", "3"] {
        let printed = output(Command::new(&program).arg(file.path()).args([seed, "5000"]));
        let whole = printed.strip_prefix("whole ").and_then(|text| text.split(' ').next());
        let whole = whole.expect("a count").parse::<u32>().expect("a number");
        assert!((1000..4500).contains(&whole), "{printed}");
    }
}
