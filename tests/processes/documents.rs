//! The commands of the documents run to their ends: each `sh` block of the README and of the book. What installs, asks for the
//! network or for hardware is in `console` blocks.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::launched::{Scratch, text};

/// What stands for hardware that no test has.
const STAND_INS: [(&str, &str); 2] = [
    ("v4l2src", "videotestsrc num-buffers=30 pattern=ball ! video/x-raw,width=320,height=240,framerate=30/1"),
    ("autovideosink", "fakesink"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The pages below a folder, in the order of their names.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut found: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { pages(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    found.sort();
    found
}

/// The `sh` blocks of a document.
fn commands(document: &Path) -> Vec<String> {
    let text = fs::read_to_string(document).expect("a document");
    let blocks = text.split("\n```").skip(1).step_by(2);
    blocks.filter_map(|block| block.strip_prefix("sh\n")).map(str::to_owned).collect()
}

/// A folder in which the commands find what they name: files of the repository, a second of the clip as `input.mp4`, the same
/// with sound as `talk.mp4`, and the programs.
fn prepare() -> Scratch {
    let scratch = Scratch::new("documents");
    for name in ["out", "media", "bin"] {
        fs::create_dir(scratch.path(name)).expect("a folder");
    }
    for name in ["docs", "examples", "scripts", "include", "python"] {
        symlink(root().join(name), scratch.path(name)).expect("a link");
    }
    symlink("/usr/bin/python3", scratch.path("bin/python3")).expect("a link");
    // In the folder above that of the tests, where cargo puts programs.
    let test = std::env::current_exe().expect("this test");
    let program = test.parent().and_then(Path::parent).expect("a folder").join("motion-vectors");
    if program.exists() {
        symlink(program, scratch.path("bin/motion-vectors")).expect("a link");
    }
    let launch = |pipeline: String| {
        let output = scratch.gst_launch().args(pipeline.split(' ')).output().expect("gst-launch-1.0");
        assert!(output.status.success(), "{pipeline}\n{}", text(&output));
    };
    let (clip, short) = (root().join("media/big_buck_bunny.mp4"), scratch.path("input.mp4"));
    let (clip, short) = (clip.display(), short.display());
    let muxed = |path: &Path| format!("mp4mux name=m ! filesink location={}", path.display());
    launch(format!(
        "-q filesrc location={clip} ! qtdemux ! h264parse ! identity eos-after=25 ! mp4mux ! filesink location={short}"
    ));
    launch(format!(
        "-q filesrc location={short} ! qtdemux ! h264parse ! {} \
         audiotestsrc num-buffers=40 ! audioconvert ! avenc_aac ! aacparse ! m.",
        muxed(&scratch.path("talk.mp4"))
    ));
    symlink(scratch.path("input.mp4"), scratch.path("media/big_buck_bunny.mp4")).expect("a link");
    scratch
}

/// Runs the commands of all `documents`, those of each in the order in which they stand there. Returns how many.
fn run(documents: impl IntoIterator<Item = PathBuf>) -> usize {
    let scratch = prepare();
    let lacks = |path, words: &'static [&'static str]| if scratch.path(path).exists() { &[] } else { words };
    let missing = [
        lacks("plugins/libgstmotionx264.so", &["motionx264enc", "encode_region"]),
        lacks("bin/motion-vectors", &["motion-vectors --"]),
    ]
    .concat();
    let path = format!("{}:{}", scratch.path("bin").display(), std::env::var("PATH").unwrap_or_default());
    let mut count = 0;
    for document in documents {
        for printed in commands(&document) {
            if let Some(word) = missing.iter().find(|word| printed.contains(*word)) {
                eprintln!("SKIPPED, as {word} is not built: {}: {printed}", document.display());
                continue;
            }
            let command = STAND_INS.iter().fold(printed, |all, (word, other)| all.replace(word, other));
            let mut bash: Command = scratch.command("bash");
            bash.args(["-euo", "pipefail", "-c", &command]).current_dir(scratch.path("."));
            bash.env("G_DEBUG", "fatal_warnings").env("PATH", &path);
            let output = bash.output().expect("bash");
            assert!(output.status.success(), "{}: {command}\n{}", document.display(), text(&output));
            count += 1;
        }
    }
    count
}

#[test]
#[ignore = "takes long: the complete run has it"]
fn of_the_readme() {
    let count = run([root().join("README.md")]);
    assert!(count >= 1, "README.md has {count} blocks of commands");
}

#[test]
#[ignore = "takes long: the complete run has it"]
fn of_the_book() {
    let count = run(pages(&root().join("docs")));
    // Those with the encoder are not run where it is not built.
    assert!(count >= 28, "the book has {count} commands");
}

#[test]
#[ignore = "takes long: the complete run has it"]
fn of_the_papers() {
    let count = run([root().join("benches/papers/README.md")]);
    assert!(count >= 1, "the papers have {count} commands");
}
