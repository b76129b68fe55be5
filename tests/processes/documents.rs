//! The pipelines of the documents run to their ends: each `sh` block whose first word is `gst-launch-1.0`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::launched::{Scratch, text};

/// The pipelines of a document.
fn pipelines(document: &Path) -> Vec<String> {
    let text = fs::read_to_string(document).expect("a document");
    let blocks = text.split("\n```").skip(1).step_by(2);
    let shell = blocks.filter_map(|block| block.strip_prefix("sh\n"));
    shell.filter(|block| block.starts_with("gst-launch-1.0 ")).map(str::to_owned).collect()
}

/// Runs them all, in a folder that has what is in the repository, but only a second of the clip, and an empty `out`.
fn run(documents: impl Iterator<Item = PathBuf>) -> usize {
    let scratch = Scratch::new("documents");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["out", "media"] {
        fs::create_dir(scratch.path(name)).expect("a folder");
    }
    for name in ["docs", "examples", "scripts"] {
        std::os::unix::fs::symlink(root.join(name), scratch.path(name)).expect("a link");
    }
    let clip = "media/big_buck_bunny.mp4";
    let shorten = format!(
        "-q filesrc location={} ! qtdemux ! h264parse ! identity eos-after=25 ! mp4mux ! filesink location={}",
        root.join(clip).display(),
        scratch.path(clip).display()
    );
    let output = scratch.gst_launch().args(shorten.split(' ')).output().expect("gst-launch-1.0");
    assert!(output.status.success(), "{}", text(&output));
    let has_encoder = scratch.path("plugins/libgstmotionx264.so").exists();
    let can_run = |pipeline: &String| has_encoder || !pipeline.contains("motionx264enc");
    let mut count = 0;
    for document in documents {
        for pipeline in pipelines(&document).into_iter().filter(can_run) {
            let mut command = scratch.command("bash");
            let command = command.args(["-ec", &pipeline]).current_dir(scratch.path("."));
            let output = command.env("G_DEBUG", "fatal_warnings").output().expect("bash");
            assert!(output.status.success(), "{}: {pipeline}\n{}", document.display(), text(&output));
            count += 1;
        }
    }
    count
}

#[test]
#[ignore = "takes long: the complete run has it"]
fn of_the_readme() {
    let count = run([Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")].into_iter());
    assert!(count >= 3, "README.md has {count} pipelines");
}

#[test]
#[ignore = "takes long: the complete run has it"]
fn of_the_other_documents() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_dir(root.join("docs")).expect("docs").map(|entry| entry.expect("an entry").path());
    let documents = docs.chain([root.join("benches/papers/README.md")]);
    let count = run(documents.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    assert!(count >= 4, "the documents have {count} pipelines");
}
