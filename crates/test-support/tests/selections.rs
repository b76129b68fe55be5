//! Each library is compiled once for a profile, whichever packages are built: cargo compiles one again where features or
//! a profile differ, of it or of anything that it depends on. Cargo says here what it would compile, and compiles nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use serde_json::{Value, json};
use tempfile::TempDir;

/// What is built with the profile `release`, or with `bench`, which is the same.
const RELEASE: [&str; 9] = [
    "cargo build --release",
    "cargo build --release --lib",
    "cargo build --release --workspace --all-targets",
    "cargo build --release --example demo",
    "cargo test --release --no-run",
    "cargo bench --no-run -p gst-plugin-motionestimate -p motion-benches",
    "cargo bench --no-run --workspace",
    "scripts/cargo-for-meson cargo release default '-p gst-plugin-motionestimate --lib' . target",
    "scripts/cargo-for-meson cargo release default \
      '-p gst-plugin-motionestimate --lib --examples -p motion-vectors --bins -p gst-plugin-motionx264' . target",
];

/// What is built to try something, and what `scripts/test` builds.
const DEV: [&str; 7] = [
    "cargo build",
    "cargo build --example demo",
    "cargo test --no-run",
    "cargo test --no-run --workspace --lib --bins --tests --features motion-fuzz/x264 --example soak",
    "cargo test --no-run --workspace --test search",
    "cargo bench --no-run --workspace --profile dev --bench papers",
    "scripts/cargo-for-meson cargo dev default \
      '-p gst-plugin-motionestimate --lib --examples -p motion-vectors --bins -p gst-plugin-motionx264' . target",
];

/// What reads the types alone.
const CHECKS: [&str; 4] = [
    "cargo check",
    "cargo check --workspace",
    "cargo check --workspace --all-targets",
    "cargo doc --workspace --no-deps",
];

/// The command with what a later version of GStreamer has, as the scripts build.
fn for_gstreamer(command: &str) -> String {
    if command.starts_with("cargo ") {
        format!("{command} --features v1_24")
    } else {
        command.replace(" default ", " default,v1_24 ")
    }
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn real_cargo() -> String {
    env::var("CARGO").unwrap_or_else(|_| env!("CARGO").into())
}

/// The packages of the workspace.
fn members() -> Vec<String> {
    let arguments = ["metadata", "--locked", "--no-deps", "--format-version", "1"];
    let output = Command::new(real_cargo()).args(arguments).current_dir(root()).output().expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    list(&metadata["packages"]).iter().map(|package| text(&package["name"]).to_owned()).collect()
}

/// Each command for each package alone.
fn of_each_member(commands: &[&str]) -> Vec<String> {
    let members = members();
    assert!(members.len() >= 7, "{members:?}");
    let pairs = members.iter().flat_map(|member| commands.iter().map(move |command| (command, member)));
    pairs.map(|(command, member)| format!("{command} -p {member}")).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

/// A `cargo` that prints its units of work in the place of doing them.
struct Planner {
    folder: TempDir,
}

impl Planner {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("cargo");
        let lines = "#!/bin/sh\n\
            command=$1; shift\n\
            case \" $* \" in *' --locked '*) ;; *) set -- --locked \"$@\" ;; esac\n\
            exec \"$REAL_CARGO\" \"$command\" --unit-graph -Z unstable-options \"$@\"\n";
        fs::write(&program, lines).expect("a program");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
        Self { folder }
    }

    fn plan(&self, command: &str) -> Plan {
        let folder = self.folder.path();
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([folder.to_owned()].into_iter().chain(env::split_paths(&path)));
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(root())
            .env("PATH", path.expect("a path"))
            .env("REAL_CARGO", real_cargo())
            // It is an unstable option.
            .env("RUSTC_BOOTSTRAP", "1")
            // What cargo keeps of the compiler stays apart.
            .env("CARGO_TARGET_DIR", folder)
            .output()
            .expect("a shell");
        assert!(output.status.success(), "`{command}`: {}", String::from_utf8_lossy(&output.stderr));
        Plan { command: command.into(), graph: serde_json::from_slice(&output.stdout).expect("JSON") }
    }

    fn plans(&self, commands: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<Plan> {
        commands.into_iter().map(|command| self.plan(command.as_ref())).collect()
    }
}

/// What cargo compiles for a command.
struct Plan {
    command: String,
    graph: Value,
}

impl Plan {
    fn units(&self) -> &Vec<Value> {
        list(&self.graph["units"])
    }

    /// The units that are a package's library, as each is built or checked.
    fn libraries(&self, package: &str) -> Vec<(&str, usize)> {
        let used: BTreeSet<usize> = self.units().iter().flat_map(|unit| self.uses(unit)).collect();
        let mut found: Vec<_> = self.units().iter().enumerate().collect();
        found.retain(|(_, unit)| is_library(unit) && name(unit).starts_with(&format!("{package} ")));
        // Unit tests are checked too, and nothing depends on them.
        if found.iter().any(|(index, _)| used.contains(index)) {
            found.retain(|(index, _)| used.contains(index));
        }
        let with_mode = found.into_iter().map(|(index, unit)| (text(&unit["mode"]), index));
        with_mode.filter(|(mode, _)| ["build", "check"].contains(mode)).collect()
    }

    /// What decides whether what is compiled already is used, but for what the dependencies depend on.
    fn facts(&self, unit: &Value) -> BTreeSet<String> {
        let features = list(&unit["features"]).iter().map(|feature| format!("feature {}", text(feature)));
        let profile = unit["profile"].as_object().expect("a profile");
        let profile = profile.iter().filter(|(key, _)| *key != "name");
        let profile = profile.map(|(key, value)| format!("profile {key} = {value}"));
        let dependencies = self.dependencies(unit).into_keys().map(|name| format!("dependency {name}"));
        features
            .chain(profile)
            .chain(dependencies)
            .chain([format!("platform {}", unit["platform"])])
            .collect()
    }

    fn uses(&self, unit: &Value) -> impl Iterator<Item = usize> {
        list(&unit["dependencies"]).iter().map(|used| used["index"].as_u64().expect("an index") as usize)
    }

    fn dependencies(&self, unit: &Value) -> BTreeMap<String, usize> {
        let named = self.uses(unit).map(|index| {
            let used = &self.units()[index];
            (format!("{}, {}, {}", name(used), text(&used["target"]["name"]), text(&used["mode"])), index)
        });
        named.collect()
    }
}

fn is_library(unit: &Value) -> bool {
    list(&unit["target"]["kind"]).iter().any(|kind| text(kind).ends_with("lib"))
}

/// The name of a unit's package, and its version. They follow `#`, but the name stands before it where it is the folder's.
fn name(unit: &Value) -> String {
    let (place, name) = text(&unit["pkg_id"]).rsplit_once('#').expect("a package");
    let folder = place.rsplit('/').next().expect("a folder");
    name.split_once('@').map_or(format!("{folder} {name}"), |(name, version)| format!("{name} {version}"))
}

/// For a fact of a package the commands with which it holds, and without.
type Differences = BTreeMap<String, [BTreeSet<String>; 2]>;

/// Notes the differences of two units, and of all that they depend on.
fn compare(
    plans: [&Plan; 2],
    units: [usize; 2],
    compared: &mut BTreeSet<[usize; 2]>,
    into: &mut Differences,
) {
    if !compared.insert(units) {
        return;
    }
    let [one, other] = [0, 1].map(|side| &plans[side].units()[units[side]]);
    let facts = [plans[0].facts(one), plans[1].facts(other)];
    for (side, fact) in [0, 1].into_iter().flat_map(|side| facts[side].iter().map(move |fact| (side, fact))) {
        if !facts[1 - side].contains(fact) {
            let noted = into.entry(format!("{}: {fact}", name(one))).or_default();
            noted[0].insert(plans[side].command.clone());
            noted[1].insert(plans[1 - side].command.clone());
        }
    }
    let used = plans[1].dependencies(other);
    for (dependency, index) in plans[0].dependencies(one) {
        if let Some(&same) = used.get(&dependency) {
            compare(plans, [index, same], compared, into);
        }
    }
}

/// Fails where plans compile a package's library in several ways, and says what differs.
fn compiled_once<'a>(package: &str, plans: impl IntoIterator<Item = &'a Plan>) {
    let mut first: BTreeMap<&str, (&Plan, usize)> = BTreeMap::new();
    let mut differences = Differences::new();
    let mut count = 0;
    for plan in plans {
        for (mode, unit) in plan.libraries(package) {
            let (before, same) = *first.entry(mode).or_insert((plan, unit));
            compare([before, plan], [same, unit], &mut BTreeSet::new(), &mut differences);
            count += 1;
        }
    }
    assert!(count >= 2, "{package} is compiled {count} times");
    let quoted = |commands: &BTreeSet<String>| {
        commands.iter().map(|command| format!("`{command}`")).collect::<Vec<_>>().join("\n           ")
    };
    let lines = differences.iter().map(|(fact, [with, without])| {
        format!("{fact}\n     with {}\n  without {}\n", quoted(with), quoted(without))
    });
    let lines: String = lines.collect();
    assert!(lines.is_empty(), "{package} is compiled again, as these differ:\n{lines}");
}

/// The library is one with all these commands; what uses GStreamer is, with the same version of it.
fn all_compiled_once(commands: &[&str], of_each: &[&str]) {
    let planner = Planner::new();
    let plain = commands.iter().map(ToString::to_string).chain(of_each_member(of_each));
    let groups = [planner.plans(plain), planner.plans(commands.iter().map(|command| for_gstreamer(command)))];
    for package in ["motion-base", "motion-gpu", "motion-search", "motion-frames", "motion-detect"] {
        compiled_once(package, groups.iter().flatten());
    }
    for plans in &groups {
        compiled_once("gst-motion-fields", plans);
        compiled_once("gst-plugin-motionestimate", plans);
        compiled_once("gst-plugin-motionx264", plans);
    }
}

#[test]
fn release_builds_share_libraries() {
    all_compiled_once(&RELEASE, &["cargo build --release", "cargo bench --no-run"]);
}

#[test]
fn builds_of_tests_share_libraries() {
    all_compiled_once(&DEV, &["cargo test --no-run"]);
}

#[test]
fn checks_share_libraries() {
    all_compiled_once(&CHECKS, &["cargo check"]);
}

/// Cargo would look for benchmarks among the unit tests of every library, and compile it again for it. There are none.
#[test]
fn benchmarks_do_not_compile_unit_tests() {
    let plan = Planner::new().plan("cargo bench --no-run --workspace");
    let tests = plan.units().iter().filter(|unit| unit["mode"] == "test");
    let (benchmarks, others): (Vec<_>, Vec<_>) =
        tests.partition(|unit| unit["target"]["kind"] == json!(["bench"]));
    let others: Vec<_> = others.into_iter().map(name).collect();
    assert!(benchmarks.len() > 10, "{} benchmarks", benchmarks.len());
    assert!(others.is_empty(), "targets of these packages need `bench = false`: {others:?}");
}

/// What an encoder or a reader of fields does not use, it does not compile; nor does a program that only searches.
#[test]
fn only_what_makes_frames_compiles_it() {
    let planner = Planner::new();
    let has_frames = |package: &str| {
        let plan = planner.plan(&format!("cargo build -p {package}"));
        assert!(!plan.libraries("motion-search").is_empty(), "{package}");
        !plan.libraries("motion-frames").is_empty()
    };
    for package in ["motion-search", "gst-motion-fields", "gst-plugin-motionx264"] {
        assert!(!has_frames(package), "{package}");
    }
    assert!(has_frames("gst-plugin-motionestimate"));
}

/// Each package leaves OpenCL out on its own, and all do together.
#[test]
fn no_opencl_without_default_features() {
    let planner = Planner::new();
    let mut plans = planner.plans(of_each_member(&["cargo build --no-default-features"]));
    plans.push(planner.plan("cargo build --no-default-features --workspace"));
    plans.push(planner.plan(
        "scripts/cargo-for-meson cargo release ,v1_24 \
          '-p gst-plugin-motionestimate --lib -p motion-vectors --bins -p gst-plugin-motionx264' . target",
    ));
    for plan in plans {
        assert!(!plan.libraries("motion-base").is_empty(), "`{}` has no library", plan.command);
        assert!(plan.libraries("ocl").is_empty(), "`{}` has OpenCL", plan.command);
    }
}
