//! The list of devices.

use std::process::Command;

use crate::support::{Clip, PROGRAM, run, source};

#[test]
fn what_is_listed_selects_a_device() {
    let listed = run(Command::new(PROGRAM).args(["--devices", "--json"]));
    assert_eq!((listed.code, &*listed.errors), (0, ""));
    let devices: Vec<serde_json::Value> = serde_json::from_str(&listed.text).unwrap();
    let of = |device: &serde_json::Value, field: &str| device[field].as_str().unwrap().to_owned();
    let selectors: Vec<_> = devices.iter().map(|device| of(device, "device")).collect();
    assert_eq!(selectors[0], "native");
    assert!(selectors.len() > 1 || cfg!(not(feature = "opencl")), "an OpenCL device: {selectors:?}");

    // The same as text, a line each.
    let shown = run(Command::new(PROGRAM).arg("--devices"));
    let lines: Vec<_> = shown.text.lines().collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["device=", "kind", "name", "driver"]);
    assert_eq!(lines.len(), 1 + devices.len());
    for (line, device) in lines[1..].iter().zip(&devices) {
        let fields = ["device", "kind", "name", "driver"].map(|field| of(device, field));
        assert!(line.starts_with(&fields[0]) && fields.iter().all(|field| line.contains(field)), "{line}");
    }

    let clip = Clip::new("clip.mkv", &format!("{} ! x264enc ! matroskamux", source(3)));
    for selector in &selectors {
        let run = clip.run(&["--out", selector, &format!("device={selector}"), "search-range=4"]);
        assert_eq!(run.code, 0, "{run:?}");
    }
}
