//! Python examples whose result is known, and the programs of the documents as they are printed there.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use gstmotionestimate::meta::MotionVectorMeta;
use test_support::gstreamer::run;

use crate::launch;
use crate::launched::{Scratch, text};

const SOURCE: &str = "videotestsrc num-buffers=3 pattern=ball motion=sweep ! \
                      video/x-raw,format=I420,width=70,height=52,framerate=25/1 ! motionestimate device=native";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What the program prints.
fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A number between 0 and 1 for each place with whole coordinates.
fn hash(x: i64, y: i64) -> f64 {
    let mixed =
        (x as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (y as u64).wrapping_mul(0x5851_f42d_4c95_7f2d);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 40) as f64 / f64::from(1 << 24)
}

/// Smooth texture with detail of about so many samples.
fn texture(x: f64, y: f64, size: f64) -> f64 {
    let (x, y) = (x / size, y / size);
    let (left, top) = (x.floor(), y.floor());
    let ease = |part: f64| part * part * (3.0 - 2.0 * part);
    let (right, down) = (ease(x - left), ease(y - top));
    let at = |dx: i64, dy: i64| hash(left as i64 + dx, top as i64 + dy);
    let row = |dy| at(0, dy) * (1.0 - right) + at(1, dy) * right;
    row(0) * (1.0 - down) + row(1) * down
}

/// The motion of a picture around its centre: each frame is the one before turned by `turn`, a complex number that zooms too,
/// and then shifted.
#[derive(Clone, Copy)]
struct Motion {
    turn: (f64, f64),
    shift: (f64, f64),
}

impl Motion {
    /// Where the sample at `z` was one frame before.
    fn before(self, (x, y): (f64, f64)) -> (f64, f64) {
        let ((a, b), (right, down)) = (self.turn, self.shift);
        let (x, y, square) = (x - right, y - down, a * a + b * b);
        ((a * x + b * y) / square, (a * y - b * x) / square)
    }
}

#[test]
fn the_motion_of_the_camera_is_found() {
    let (width, height, frames) = (320_usize, 192_usize, 4);
    let (zoom, degrees, shift) = (1.008_f64, 0.4_f64, (2.5, -1.25));
    let (sine, cosine) = degrees.to_radians().sin_cos();
    let motion = Motion { turn: (zoom * cosine, zoom * sine), shift };
    let sample = |frame: i64, column: usize, row: usize| {
        let (x, y) = (column as f64 + 0.5, row as f64 + 0.5);
        let noise = 12.0 * hash(column as i64 + 7919 * frame, row as i64 - 104_729 * frame);
        // Something that does not move with the rest, and covers a fifth of it.
        let (left, top) = (40.0 - 5.0 * frame as f64, 30.0 + 4.0 * frame as f64);
        let value = if (0.0..130.0).contains(&(x - left)) && (0.0..95.0).contains(&(y - top)) {
            texture(x - left, y - top, 6.0)
        } else {
            let centred = (x - width as f64 / 2.0, y - height as f64 / 2.0);
            let (x, y) = (0..frame).fold(centred, |z, _| motion.before(z));
            // Flat on the left, where no vector is to be trusted.
            if x < -130.0 { 0.5 } else { 0.6 * texture(x, y, 7.0) + 0.4 * texture(x, y, 23.0) }
        };
        (30.0 + 180.0 * value + noise) as u8
    };
    let scratch = Scratch::new("camera");
    let places = (0..frames).flat_map(|frame| (0..height).map(move |row| (frame, row)));
    let clip: Vec<u8> =
        places.flat_map(|(frame, row)| (0..width).map(move |column| sample(frame, column, row))).collect();
    fs::write(scratch.path("clip.gray"), clip).expect("a file");
    let pipeline = format!(
        "filesrc location={} ! rawvideoparse format=gray8 width={width} height={height} framerate=25/1 ! \
         motionestimate device=native algorithm=hierarchical costs=confidence",
        scratch.path("clip.gray").display()
    );
    let mut python = scratch.command("/usr/bin/python3");
    let found = printed(
        &python.arg(root().join("examples/camera_motion.py")).arg(pipeline).output().expect("Python"),
    );
    assert_eq!(found.lines().count(), frames as usize - 1, "{found}");
    for line in found.lines() {
        let number = |name: &str| -> f64 {
            let after = line.split(name).nth(1).and_then(|rest| rest.split_whitespace().next());
            after
                .and_then(|number| number.trim_end_matches('%').parse().ok())
                .unwrap_or_else(|| panic!("{line}"))
        };
        let errors = [
            (number(" right ") - shift.0, 0.1),
            (number(" down ") - shift.1, 0.1),
            // At the corners, 187 samples from the centre, these are as far.
            (number(" zoom ") - zoom, 0.0005),
            (number(" turn ") - degrees, 0.03),
        ];
        assert!(errors.iter().all(|(error, most)| error.abs() <= *most), "{line}");
        assert!((40.0..80.0).contains(&number(" blocks ")), "{line}");
    }
}

/// A message and a status, no traceback, and no wait for a buffer that never comes.
#[test]
fn examples_tell_what_is_wrong() {
    let scratch = Scratch::new("wrong");
    // Zstandard's magic number, and no more.
    fs::write(scratch.path("packed.zst"), [0x28, 0xb5, 0x2f, 0xfd, 0]).expect("a file");
    let packed = scratch.path("packed.zst").display().to_string();
    let searched = |settings: &str| {
        format!(
            "videotestsrc num-buffers=3 pattern=snow ! video/x-raw,width=64,height=48 ! motionestimate {settings}"
        )
    };
    let (plain, wrong_size) = (searched("device=native"), searched("device=native block-size=5"));
    let hierarchical = searched("device=native algorithm=hierarchical costs=confidence");
    let missing = "filesrc location=/missing/clip ! decodebin ! videoconvert ! motionestimate";
    for (example, arguments, code, told) in [
        ("read_vectors.py", &[missing][..], 1, "No such file"),
        ("read_vectors.py", &["videotestsrc ! motionestimate nonsense=1"], 1, "no property \"nonsense\""),
        ("read_vectors.py", &["nonsense ! motionestimate"], 1, "no element \"nonsense\""),
        ("read_vectors.py", &[&wrong_size], 1, "block size 5 is not supported"),
        ("read_vectors.py", &["--help"], 0, "read_vectors.py [PIPELINE]"),
        ("camera_motion.py", &[missing], 1, "No such file"),
        ("camera_motion.py", &[&plain], 1, "set costs=confidence"),
        ("camera_motion.py", &["videotestsrc num-buffers=2"], 1, "no frame has vectors"),
        ("camera_motion.py", &[&hierarchical], 0, "no vectors to trust"),
        ("camera_motion.py", &["--help"], 0, "camera_motion.py [PIPELINE]"),
        ("read_packed.py", &["/missing/file"], 1, "No such file"),
        ("read_packed.py", &[&packed], 1, "zstd -d"),
        ("read_packed.py", &["--help"], 0, "read_packed.py FILE"),
        ("flow_error.py", &["/missing/a", "/missing/b"], 1, "No such file"),
        ("flow_error.py", &["--help"], 0, "flow_error.py FOUND.flo TRUE.flo"),
    ] {
        let mut python = scratch.command("/usr/bin/python3");
        let output =
            python.arg(root().join("examples").join(example)).args(arguments).output().expect("Python");
        let text = text(&output);
        assert_eq!(output.status.code(), Some(code), "{example} {arguments:?}: {text}");
        assert!(text.contains(told) && !text.contains("Traceback"), "{example} {arguments:?}: {text}");
    }
}

/// The page that shows how applications read vectors.
fn page() -> String {
    fs::read_to_string(root().join("docs/jobs/application.md")).expect("a page")
}

/// The first block of `language` in it.
fn of_page(language: &str) -> String {
    let page = page();
    let block = page.split_once(&format!("```{language}\n")).and_then(|(_, rest)| rest.split_once("```"));
    block.unwrap_or_else(|| panic!("the page has no {language}")).0.to_owned()
}

/// The vectors of the frames of [`SOURCE`] as `x y cost` lines.
fn expected() -> String {
    let buffers = run(&launch(&format!("{SOURCE} ! appsink name=sink")));
    let fields = buffers.iter().flat_map(|buffer| MotionVectorMeta::all_of(buffer));
    let vectors = fields.flat_map(|field| field.expect("a field").vectors().to_vec());
    vectors.map(|vector| format!("{} {} {}\n", vector.x, vector.y, vector.cost)).collect()
}

#[test]
fn the_c_of_the_documents_runs_as_it_is_printed() {
    let scratch = Scratch::new("documents-c");
    fs::write(scratch.path("read.c"), of_page("c")).expect("a file");
    let flags = Command::new("pkg-config").args(["--cflags", "--libs", "gstreamer-1.0"]).output();
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Werror", "-o"]).args(["read", "read.c"].map(|name| scratch.path(name)));
    compiler.arg("-I").arg(root().join("include"));
    compiler.args(printed(&flags.expect("pkg-config")).split_whitespace());
    printed(&compiler.output().expect("a C compiler"));
    let mut program = scratch.command(scratch.path("read"));
    let found = printed(&program.arg(format!("{SOURCE} ! fakesink name=sink")).output().expect("a program"));
    assert_eq!(found, expected());
}

#[test]
fn the_python_of_the_documents_runs_as_it_is_printed() {
    let program = format!(
        "import sys, numpy
sys.path.insert(0, sys.argv[1])
from read_vectors import read_buffers
{}
for buffer in read_buffers(sys.argv[2]):
    for vector in vectors_of(buffer).flat if vectors_of(buffer) is not None else ():
        print(*vector)
",
        of_page("python")
    );
    let scratch = Scratch::new("documents-python");
    let mut python = scratch.command("/usr/bin/python3");
    python.args(["-c", &program]).arg(root().join("examples")).arg(SOURCE);
    assert_eq!(printed(&python.output().expect("Python")), expected());
}

/// The code, and its text without spaces.
macro_rules! with_text {
    ($($code:tt)*) => { ($($code)*, stringify!($($code)*).replace(char::is_whitespace, "")) };
}

#[test]
fn the_rust_of_the_documents_runs_as_it_is_printed() {
    let page = page();
    let mut found = String::new();
    for buffer in &run(&launch(&format!("{SOURCE} ! appsink name=sink"))) {
        let (field, code) = with_text!(gst_motion_fields::meta::MotionVectorMeta::of(buffer));
        assert!(page.contains(&format!("`{code}`")), "{code}");
        for vector in field.into_iter().flat_map(|field| field.expect("a field").vectors().to_vec()) {
            found += &format!("{} {} {}\n", vector.x, vector.y, vector.cost);
        }
    }
    assert_eq!(found, expected());
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let gstreamer = manifest.lines().find(|line| line.starts_with("gst = ")).expect("the dependency");
    assert!(of_page("toml").contains("gst = { package = \"gstreamer\", version = \"0.25\" }"));
    assert!(
        gstreamer.contains("package = \"gstreamer\"") && gstreamer.contains("version = \"0.25"),
        "{gstreamer}"
    );
}
