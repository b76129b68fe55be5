//! Files that are not as they should be: the folder of built programs, and the tuning file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use test_support::Extent;

use crate::launched::{Scratch, text};

/// A pipeline on OpenCL that writes its vectors to `name`, with caches and settings in `scratch`.
fn command(scratch: &Scratch, devices: &str, name: &str, frames: u32) -> Command {
    let mut command = scratch.gst_search(frames, devices, name);
    command
        .env("G_DEBUG", "fatal_warnings")
        .env("XDG_CACHE_HOME", scratch.path("cache"))
        .env("XDG_CONFIG_HOME", scratch.path("config"))
        .env("POCL_CACHE_DIR", scratch.path("pocl"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

const FRAMES: u32 = 4;

/// The vectors that the CPU finds.
fn expected(scratch: &Scratch) -> String {
    vectors(
        scratch,
        &command(scratch, "device=native", "expected", FRAMES).output().expect("it runs"),
        "expected",
    )
}

/// The vectors in the file `name`, if all went well.
fn vectors(scratch: &Scratch, output: &Output, name: &str) -> String {
    let text = text(output);
    assert!(output.status.success() && !text.contains("WARNING"), "{text}");
    let vectors = fs::read_to_string(scratch.path(name)).expect("vectors");
    assert!(vectors.lines().count() > 90, "{text}");
    vectors
}

/// The folder of built programs.
fn programs(scratch: &Scratch) -> PathBuf {
    scratch.path("cache/gst-plugin-motionestimate")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// Whatever is in the folder, the vectors are right; the last run finds the folder as the first one left it.
#[test]
fn programs_that_are_rubbish() {
    let scratch = Scratch::new("rubbish");
    let expected = expected(&scratch);
    let run = || {
        let output = command(&scratch, "device=0:0", "found", FRAMES).output().expect("it runs");
        assert!(vectors(&scratch, &output, "found") == expected);
    };
    run();
    let whole: Vec<_> = files(&programs(&scratch))
        .into_iter()
        .map(|file| (fs::read(&file).expect("a program"), file))
        .collect();
    assert!(!whole.is_empty());
    type Spoil = fn(&[u8]) -> Vec<u8>;
    let rubbish: [(&str, Spoil); 5] = [
        ("nothing", |_| Vec::new()),
        ("half", |program| program[..program.len() / 2].to_vec()),
        ("noise", |program| (0..program.len()).map(|at| ((at * at) >> 3) as u8).collect()),
        ("a changed byte", |program| {
            let mut program = program.to_vec();
            let middle = program.len() / 2;
            program[middle] ^= 1;
            program
        }),
        ("much", |_| vec![0x55; 32 << 20]),
    ];
    for (what, make) in rubbish {
        for (program, file) in &whole {
            fs::write(file, make(program)).expect(what);
        }
        run();
        for (program, file) in &whole {
            assert!(fs::read(file).expect("a program")[..8] == program[..8], "{what} was replaced");
        }
    }
    for (_, file) in &whole {
        fs::remove_file(file).and_then(|()| fs::create_dir(file)).expect("a folder in the place of a file");
    }
    run();
}

/// A file system of 64 KiB, and a folder that belongs to somebody else: the user who runs the test may be root, whom
/// permissions do not stop.
#[test]
fn a_folder_that_takes_no_programs() {
    let scratch = Scratch::new("full");
    let expected = expected(&scratch);
    let run = |before: &str, what: &str| {
        let inner = command(&scratch, "device=0:0", "found", FRAMES);
        let mut outer = Command::new("unshare");
        // In a namespace of its own, mounts need no rights and are gone with the process.
        outer.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
        outer.arg(format!("{before} && exec \"$@\"")).arg("sh");
        outer.arg(inner.get_program()).args(inner.get_args());
        outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = outer.output().expect("unshare is part of util-linux");
        assert!(vectors(&scratch, &output, "found") == expected, "{what}");
    };
    let cache = scratch.path("cache");
    fs::create_dir_all(&cache).expect("a folder");
    let cache = cache.display();
    run(
        &format!("mount -t tmpfs -o size=64k tmpfs {cache} && head -c 60000 /dev/zero >{cache}/filled"),
        "full",
    );
    run(&format!("mount -t tmpfs -o ro tmpfs {cache}"), "read-only");
    assert_eq!(files(&programs(&scratch)), [] as [PathBuf; 0], "nothing was written outside");
    fs::create_dir_all(programs(&scratch)).expect("a folder");
    fs::set_permissions(programs(&scratch), fs::Permissions::from_mode(0o555)).expect("permissions");
    run("true", "permissions");
}

/// What other users can write, or have written, is neither used nor written to, and the log says so.
#[test]
fn programs_that_others_can_write() {
    let scratch = Scratch::new("others");
    let expected = expected(&scratch);
    let log = || {
        let mut command = command(&scratch, "device=0:0", "found", FRAMES);
        let output = command.env("GST_DEBUG", "motionestimate-opencl:2").output().expect("it runs");
        assert!(vectors(&scratch, &output, "found") == expected);
        text(&output)
    };
    assert!(!log().contains("The compiled program"));
    let whole: Vec<_> = files(&programs(&scratch));
    let allow = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
    };
    let refused = |log: &str, why: &str| {
        let lines =
            log.lines().filter(|line| line.contains("is not used, but compiled again") && line.contains(why));
        assert_eq!(lines.count(), whole.len(), "{why}: {log}");
    };
    for file in &whole {
        allow(file, 0o602);
    }
    refused(&log(), ": other users can write to it");
    assert!(!log().contains("The compiled program"), "the files were replaced");

    let elsewhere = scratch.path("elsewhere");
    fs::rename(&whole[0], &elsewhere).expect("a program");
    std::os::unix::fs::symlink(&elsewhere, &whole[0]).expect("a link");
    assert!(log().contains("symbolic link"));
    assert!(!fs::symlink_metadata(&whole[0]).expect("a program").is_symlink(), "the link was replaced");

    allow(&programs(&scratch), 0o777);
    let said = log();
    refused(&said, ": its folder: other users can write to it");
    assert_eq!(said.matches("cannot be kept: its folder").count(), whole.len(), "{said}");
    assert_eq!(files(&programs(&scratch)), whole, "nothing was written");
}

/// Waits for them all.
fn outputs(children: Vec<Child>) -> Vec<Output> {
    children.into_iter().map(|child| child.wait_with_output().expect("it ends")).collect()
}

#[test]
fn a_folder_that_several_processes_write() {
    if !Extent::is_complete() {
        return;
    }
    let scratch = Scratch::new("writers");
    let expected = expected(&scratch);
    for round in 0..3 {
        let _ = fs::remove_dir_all(programs(&scratch));
        let names: Vec<String> = (0..6).map(|index| format!("found-{index}")).collect();
        let start = |name: &String| command(&scratch, "device=0:0", name, FRAMES).spawn().expect("it starts");
        for (output, name) in outputs(names.iter().map(start).collect()).iter().zip(&names) {
            assert!(vectors(&scratch, output, name) == expected, "round {round}");
        }
        let left = files(&programs(&scratch));
        let is_program = |file: &Path| file.extension().is_some_and(|extension| extension == "program");
        assert!(!left.is_empty() && left.iter().all(|file| is_program(file)), "{left:?}");
    }
}

/// The file is read when a device is opened: whole or half, valid or not, the vectors are right, and a file that is not
/// valid is a warning.
#[test]
fn a_tuning_file_that_is_replaced() {
    if !Extent::is_complete() {
        return;
    }
    let scratch = Scratch::new("tuning");
    let expected = expected(&scratch);
    let folder = scratch.path("config/gst-plugin-motionestimate");
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("tuning.toml");
    let tables = [
        "[[entry]]\nkernel = \"two-pass\"\ntuning = { group-size = 32 }\n",
        "[[entry]]\nkernel = \"reference\"\n",
        "[[entry]]\nkernel = \"tiled\"\ntuning = { group-size = 999999 }\n",
        "[[entry]\nkernel = ",
        "",
        "\u{0}\u{1}",
    ];
    let is_over = AtomicBool::new(false);
    let warnings = |output: &Output| text(output).matches("WARNING").count();
    let found = std::thread::scope(|scope| {
        scope.spawn(|| {
            for table in tables.iter().cycle().take_while(|_| !is_over.load(Ordering::Relaxed)) {
                // In place: a reader may see half of it.
                let _ = fs::write(&file, table);
                std::thread::sleep(Duration::from_micros(500));
            }
        });
        let mut found: Vec<(String, Output)> = Vec::new();
        // It is chance which table a run reads: six pairs, and more until one has read a table that is wrong.
        for pair in 0..48 {
            if pair >= 6 && found.iter().any(|(_, output)| warnings(output) > 0) {
                break;
            }
            let names = [0, 1].map(|index| format!("found-{pair}-{index}"));
            let start = |name: &String| command(&scratch, "device=0:0", name, FRAMES).spawn();
            // A panic here would leave the other thread writing for ever.
            let Ok(children) = names.iter().map(start).collect() else { break };
            found.extend(names.into_iter().zip(outputs(children)));
        }
        is_over.store(true, Ordering::Relaxed);
        found
    });
    assert!(found.len() >= 12, "a run has not started");
    for (name, output) in &found {
        let text = text(output);
        assert!(output.status.success(), "{text}");
        let warnings = warnings(output);
        assert!(warnings <= 1 && text.matches("Tuning: ").count() >= warnings, "{text}");
        assert!(fs::read_to_string(scratch.path(name)).expect("vectors") == expected, "{text}");
    }
    assert!(found.iter().any(|(_, output)| warnings(output) > 0), "no run has read a table that is wrong");
}
