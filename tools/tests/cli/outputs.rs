//! What is written, kept and refused.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Clip, PROGRAM, run, source};

#[test]
fn packed_pieces_equal_the_packed_run_and_hold_the_same() {
    let clip = Clip::mp4();
    let plain = clip.search(":", "plain", &["search-range=4"]);
    let whole = clip.search(":", "whole.zst", &["search-range=4", "--zstd"]);
    assert!(zstd::decode_all(&whole[..]).unwrap() == plain);
    let pieces = clip.plan(3);
    // Packed or not, pieces fit.
    for (index, range) in pieces.iter().enumerate() {
        let zstd: &[&str] = if index == 1 { &[] } else { &["--zstd"] };
        clip.search(range, range, &[&["search-range=4"], zstd].concat());
    }
    for (out, arguments, expected) in [("joined.zst", &["--zstd"][..], &whole), ("joined", &[], &plain)] {
        let joined = clip.join(&pieces, out, arguments);
        assert_eq!(joined.code, 0, "{}", joined.errors);
        assert!(fs::read(clip.path(out)).unwrap() == *expected, "{out}");
    }
}

/// Standard output gets what the file gets, and nothing else.
#[test]
fn standard_output_gets_what_a_file_gets() {
    let clip = Clip::mp4();
    let printed = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.current_dir(clip.folder.path()).arg(&clip.video).args(arguments);
        command.output().unwrap()
    };
    for zstd in [&[][..], &["--zstd"]] {
        let expected = clip.search(":1", "file", &[&["search-range=4"], zstd].concat());
        let run = printed(&[&["--range", ":1", "--out", "-", "search-range=4"], zstd].concat());
        let errors = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success() && run.stdout == expected, "{errors}");
        assert!(errors.contains("standard output: 23 frames"), "{errors}");
        fs::remove_file(clip.path("file")).unwrap();
    }
    assert_eq!(clip.files(), ["clip.mp4"]);
    let both = printed(&["--out", "-", "--json"]);
    assert!(both.stdout.is_empty() && both.status.code() == Some(2));
    assert!(String::from_utf8_lossy(&both.stderr).contains("--json prints to standard output"));
}

#[test]
fn a_plan_is_told_as_json() {
    let clip = Clip::mp4();
    let run = clip.run(&["--plan", "1s", "--json"]);
    assert_eq!(run.code, 0, "{}", run.errors);
    let plan: serde_json::Value = serde_json::from_str(&run.text).unwrap();
    // 60 frames of 1/25 s: one second more than two.
    let expected = serde_json::json!({
        "start": plan["start"], "end": plan["end"], "frames": 60, "key_frames": 5, "ranges": clip.plan(3),
    });
    assert_eq!(plan, expected);
    let seconds = |name: &str| plan[name].as_str().unwrap().parse::<f64>().unwrap();
    assert!((seconds("end") - seconds("start") - 2.4).abs() < 1e-6, "{plan}");
}

#[test]
fn what_is_there_and_complete_is_kept() {
    let clip = Clip::mp4();
    let arguments = ["--range", ":1", "--out", "out", "--json", "search-range=4"];
    let report = |arguments: &[&str]| -> serde_json::Value {
        let run = clip.run(arguments);
        assert_eq!(run.code, 0, "{}", run.errors);
        serde_json::from_str(&run.text).unwrap()
    };
    let written = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let first = report(&arguments);
    assert_eq!((&first["kept"], &first["range"]), (&false.into(), &":1".into()));
    assert!(first["frames_per_second"].as_f64().unwrap() > 0.0 && first["device"].is_string(), "{first}");
    assert!(first["start_up_seconds"].as_f64().unwrap() > 0.0, "{first}");
    let (bytes, time) = (fs::read(clip.path("out")).unwrap(), written(&clip.path("out")));

    // Properties that change the speed alone change no vectors.
    let second = report(&[&arguments[..], &["device=native", "threads=1"]].concat());
    assert_eq!((&second["kept"], &second["frames"]), (&true.into(), &first["frames"]));
    assert_eq!(written(&clip.path("out")), time);

    // A file that is cut off is no output.
    fs::write(clip.path("out"), &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(report(&arguments)["kept"], false);
    assert!(fs::read(clip.path("out")).unwrap() == bytes);

    for (other, told) in [
        (
            &["--range", ":1", "search-range=5"][..],
            "with the properties \"search-range=4\", not \"search-range=5\"",
        ),
        (&["--range", ":1.5", "search-range=4"], "for the range :1, not :1.5"),
    ] {
        let run = clip.run(&[other, &["--out", "out"]].concat());
        assert!(run.code == 4 && run.errors.contains(told), "{run:?}");
    }
    let run = clip.run(&["--out", "clip.mp4"]);
    assert!(run.code == 4 && run.errors.contains("is no file of motion vectors"), "{run:?}");
    assert!(fs::read(clip.path("out")).unwrap() == bytes);
    assert_eq!(clip.files(), ["clip.mp4", "out"]);
}

#[test]
fn pieces_that_do_not_fit_are_told() {
    let clip = Clip::mp4();
    for (range, name) in [(":1", "a"), ("1:2", "b"), ("2:", "c"), ("1.5:", "d")] {
        clip.search(range, name, &["search-range=4"]);
    }
    clip.search("1:2", "other", &["search-range=5"]);
    fs::write(clip.path("text"), "no vectors").unwrap();
    let b = fs::read(clip.path("b")).unwrap();
    fs::write(clip.path("cut"), &b[..b.len() - 20]).unwrap();
    let records_end = b.len() - 72 - r#"{"frames":25}"#.len();
    fs::write(clip.path("unended"), &b[..records_end]).unwrap();
    let join = |pieces: &[&str], arguments: &[&str]| {
        clip.join(&pieces.iter().map(|&piece| piece.to_owned()).collect::<Vec<_>>(), "out", arguments)
    };
    for (pieces, told) in [
        (&["a", "c"][..], "the range 1:2 is missing, before c (2:): search it with --range 1:2"),
        (&["b", "c"], "the range :1 is missing, before b (1:2)"),
        (&["b", "a"], "the range 2: is missing"),
        (&["a", "b", "d"], "d (1.5:) overlaps b (1:2)"),
        (&["a", "a", "b", "c"], "overlaps"),
        (
            &["a", "other", "c"],
            "other does not belong to a: it is with the properties \"search-range=5\", not",
        ),
        (&["a", "text", "c"], "text: is no file of motion vectors"),
        (&["a", "cut", "c"], "cut: damaged or cut off"),
        (&["a", "unended", "c"], "unended: damaged or cut off (it is not complete)"),
        (&["a", "missing"], "missing: No such file"),
    ] {
        let run = join(pieces, &[]);
        assert!(run.code == 5 && run.errors.contains(told), "{pieces:?}: {run:?}");
        assert!(!clip.path("out").exists());
    }
    // A part may be asked for; joined pieces are a piece.
    assert_eq!(join(&["b", "a"], &["--range", ":2"]).code, 0);
    fs::rename(clip.path("out"), clip.path("ab")).unwrap();
    assert_eq!(join(&["c", "ab"], &[]).code, 0);
    let run = join(&["a", "b", "c"], &["--json"]);
    assert!(run.code == 0 && run.text.contains("\"kept\":true"), "{run:?}");
}

/// A limit on the length of files stands for a full disk: writing fails in the same way.
#[test]
fn a_full_disk_leaves_nothing() {
    let clip = Clip::mp4();
    for zstd in ["", "--zstd"] {
        let mut shell = Command::new("bash");
        shell.current_dir(clip.folder.path()).args(["-c", "trap '' XFSZ; ulimit -f 4; exec \"$@\"", "bash"]);
        let whole = [PROGRAM, "clip.mp4", "--out", "out", "block-size=4"];
        let run = run(shell.args(whole).args([zstd].iter().filter(|word| !word.is_empty())));
        assert!(run.code == 4 && run.errors.contains("File too large"), "{run:?}");
        assert_eq!(clip.files(), ["clip.mp4"]);
    }
    let run = clip.run(&["--out", "missing/out"]);
    assert!(run.code == 4 && run.errors.contains("missing/out: No such file or directory"), "{run:?}");
}

#[test]
fn an_interrupted_search_leaves_nothing() {
    let launch = format!("{} ! x264enc key-int-max=50 speed-preset=ultrafast ! matroskamux", source(500));
    let clip = Clip::new("long.mkv", &launch);
    for signal in ["INT", "TERM"] {
        let mut child = Command::new(PROGRAM)
            .current_dir(clip.folder.path())
            .args([
                "long.mkv",
                "--out",
                "out",
                "search-range=64",
                "block-size=4",
                "kernel=exhaustive",
                "device=native",
            ])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while clip.files().len() < 2 {
            assert!(began.elapsed() < Duration::from_secs(60), "no file was begun");
            std::thread::sleep(Duration::from_millis(5));
        }
        let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        assert_eq!(clip.files(), ["long.mkv"]);
    }
}
