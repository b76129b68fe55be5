//! Clips, runs of the program, and what it has written.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Once;
use std::{fs, str};

use gst::prelude::*;
use tempfile::TempDir;

/// Starts GStreamer with the elements of the plugin in this process.
pub fn init() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        gst::init().unwrap();
        gstmotionestimate::plugin_register_static().unwrap();
    });
}

/// A folder with a clip.
pub struct Clip {
    pub folder: TempDir,
    pub video: PathBuf,
}

/// Moving rings, `frames` frames of 25 a second.
pub fn source(frames: u32) -> String {
    format!(
        "videotestsrc num-buffers={frames} pattern=zone-plate kx2=20 ky2=20 kt=1 \
         ! video/x-raw,format=I420,width=144,height=112,framerate=25/1"
    )
}

impl Clip {
    /// A clip named `name` of what the pipeline `launch` makes.
    pub fn new(name: &str, launch: &str) -> Self {
        Self::changed(name, launch, |_, _| ())
    }

    /// The same, where `change` gets each buffer, and its number, that leaves the element named `changed`.
    pub fn changed(
        name: &str,
        launch: &str,
        change: impl Fn(u64, &mut gst::BufferRef) + Send + Sync + 'static,
    ) -> Self {
        init();
        let folder = tempfile::tempdir().unwrap();
        let video = folder.path().join(name);
        let pipeline = gst::parse::launch(&format!("{launch} ! filesink name=file")).unwrap();
        let pipeline = pipeline.downcast::<gst::Pipeline>().unwrap();
        pipeline.by_name("file").unwrap().set_property("location", video.to_str().unwrap());
        if let Some(element) = pipeline.by_name("changed") {
            let number = std::sync::atomic::AtomicU64::new(0);
            element.static_pad("src").unwrap().add_probe(gst::PadProbeType::BUFFER, move |_, info| {
                let number = number.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                change(number, info.buffer_mut().unwrap().make_mut());
                gst::PadProbeReturn::Ok
            });
        }
        run_to_end(&pipeline);
        Self { folder, video }
    }

    /// A file named `name` that has `bytes`.
    pub fn of_bytes(name: &str, bytes: &[u8]) -> Self {
        init();
        let folder = tempfile::tempdir().unwrap();
        let video = folder.path().join(name);
        fs::write(&video, bytes).unwrap();
        Self { folder, video }
    }

    /// H.264 with B-frames in MP4, a key frame every 12 frames, 60 frames.
    pub fn mp4() -> Self {
        Self::new("clip.mp4", &format!("{} ! x264enc key-int-max=12 bframes=2 ! mp4mux", source(60)))
    }

    /// Where a file of this name is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program with the clip and `arguments`.
    pub fn run(&self, arguments: &[&str]) -> Run {
        run(Command::new(PROGRAM).current_dir(self.folder.path()).arg(&self.video).args(arguments))
    }

    /// The vectors of `range` in a file named `out`.
    pub fn search(&self, range: &str, out: &str, properties: &[&str]) -> Vec<u8> {
        let run = self.run(&[&["--range", range, "--out", out][..], properties].concat());
        assert_eq!(run.code, 0, "{range}: {}", run.errors);
        fs::read(self.path(out)).unwrap()
    }

    /// Pieces, joined to a file named `out`.
    pub fn join(&self, pieces: &[String], out: &str, arguments: &[&str]) -> Run {
        let mut command = Command::new(PROGRAM);
        command.current_dir(self.folder.path()).arg("--join").args(pieces).args(["--out", out]);
        run(command.args(arguments))
    }

    /// The ranges that the program plans.
    pub fn plan(&self, count: usize) -> Vec<String> {
        let run = self.run(&["--plan", &count.to_string()]);
        assert_eq!(run.code, 0, "{}", run.errors);
        run.text.lines().map(str::to_owned).collect()
    }

    /// The names of the files beside the clip.
    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

pub fn run_to_end(pipeline: &gst::Pipeline) {
    pipeline.set_state(gst::State::Playing).unwrap();
    let types = [gst::MessageType::Eos, gst::MessageType::Error];
    let message = pipeline.bus().unwrap().timed_pop_filtered(gst::ClockTime::from_seconds(60), &types);
    pipeline.set_state(gst::State::Null).unwrap();
    let message = message.expect("the pipeline ends");
    assert_eq!(message.type_(), gst::MessageType::Eos, "{message:?}");
}

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_motion-vectors");

/// What the program has done.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub text: String,
    pub errors: String,
}

pub fn run(command: &mut Command) -> Run {
    let Output { status, stdout, stderr } = command.env("G_DEBUG", "fatal_warnings").output().unwrap();
    let [text, errors] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    Run { code: status.code().unwrap_or(-1), text, errors }
}

/// A record of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub frame: u64,
    pub pts: u64,
    pub reference_pts: u64,
    pub bytes: Vec<u8>,
}

/// The records of a file's frames, and the text of its notes.
pub fn records(file: &[u8]) -> (Vec<Record>, Vec<String>) {
    assert_eq!(file[..16], *b"GSTMVECS\x01\0\0\0\x48\0\0\0");
    let (mut records, mut notes, mut rest) = (Vec::new(), Vec::new(), &file[16..]);
    while !rest.is_empty() {
        let (bytes, next) = rest.split_at(u32::from_le_bytes(*rest.first_chunk().unwrap()) as usize);
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        if bytes[4..8] == [0xff; 4] {
            assert!(bytes[8..72].iter().all(|&byte| byte == 0));
            notes.push(str::from_utf8(&bytes[72..]).unwrap().to_owned());
        } else {
            let bytes = bytes.to_vec();
            records.push(Record { frame: number(8), pts: number(16), reference_pts: number(32), bytes });
        }
        rest = next;
    }
    (records, notes)
}

/// The file without the notes of this program: what `motionserialize` writes.
pub fn without_notes(file: &[u8]) -> Vec<u8> {
    let frames = records(file).0.into_iter().flat_map(|record| record.bytes);
    file[..16].iter().copied().chain(frames).collect()
}

/// What a plain pipeline with `motionserialize` writes of `video`.
pub fn plain_pipeline(video: &Path, properties: &str) -> Vec<u8> {
    init();
    let out = tempfile::NamedTempFile::new().unwrap();
    let pipeline = gst::parse::launch(&format!(
        "filesrc location={} ! decodebin ! videoconvert ! motionestimate {properties} \
         ! motionserialize ! application/x-motion-vectors ! filesink location={}",
        video.display(),
        out.path().display()
    ));
    run_to_end(&pipeline.unwrap().downcast().unwrap());
    fs::read(out.path()).unwrap()
}
