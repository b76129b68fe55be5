//! Full search, 16 × 16 SAD, ±16: every instruction set of the CPU, every OpenCL device and kernel; the
//! instruction sets with 32 × 32 positions, other blocks and SSD too; and three-step search beside it, at
//! 1080p, ±7 and ±16.
//!
//! Throughput is in absolute differences, so that `Gelem/s` is the effective rate: width · height ·
//! candidates a frame, as if each were computed; three-step search has 25 and 33 of them. The CPU
//! computes each here: `kernel=exhaustive`. Run with `cargo bench -p motion-benches --bench search`; a part of a name, as
//! `1080p` or `avx2`, after `--` selects.
#![allow(missing_docs)]

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use motion_search::backend::{self, DeviceSelector};
use motion_search::estimator::{Algorithm, Device, Metric, Output, Parameters, Slot, Window, search};
use motion_search::native::{InstructionSetName, Native};
use motion_search::tuning::{Kernel, Tuning};
use test_support::Scene;

const SIZES: [(&str, usize, usize); 4] =
    [("cif", 352, 288), ("720p", 1280, 720), ("1080p", 1920, 1080), ("4k", 3840, 2160)];

/// What is searched in one frame size.
struct Task {
    parameters: Parameters,
    scene: Scene,
}

impl Task {
    fn new(width: usize, height: usize) -> Self {
        Self {
            parameters: Parameters::new(width, height, 16, window(16, 16)),
            scene: Scene::made(width, height),
        }
    }

    fn differences(&self) -> u64 {
        let Parameters { width, height, .. } = self.parameters;
        (width * height * self.parameters.candidates()) as u64
    }
}

/// The window from `-before` to `after` on both axes.
fn window(before: i32, after: i32) -> Window {
    Window::new(-before, after, -before, after).expect("a window")
}

/// One group a frame size; `add` puts its devices into it.
fn groups(c: &mut Criterion, prefix: &str, window: Window, add: impl Fn(&mut Group<'_>, &Task)) {
    for (name, width, height) in SIZES {
        let mut task = Task::new(width, height);
        task.parameters.window = window;
        let mut group = group(c, format!("{prefix}/{name}"), &task);
        add(&mut group, &task);
        group.finish();
    }
}

fn group<'a>(c: &'a mut Criterion, name: String, task: &Task) -> Group<'a> {
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(task.differences()));
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    group
}

type Group<'a> = criterion::BenchmarkGroup<'a, criterion::measurement::WallTime>;

/// Measures the search alone, in `pool` where there is one.
fn measure(
    group: &mut Group<'_>,
    name: &str,
    task: &Task,
    device: &mut dyn Device,
    pool: Option<&rayon::ThreadPool>,
) {
    let mut output = Output::new(task.parameters.grid().blocks());
    let loaded = device
        .load_frame(Slot::A, &task.scene.reference)
        .and_then(|()| device.load_frame(Slot::B, &task.scene.current))
        .and_then(|()| search(device, Slot::B, Slot::A, &mut output));
    if let Err(error) = loaded {
        return skip(name, &error);
    }
    group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
        let run = || search(device, Slot::B, Slot::A, &mut output).expect("a search that has worked before");
        match pool {
            Some(pool) => pool.install(|| bencher.iter(run)),
            None => bencher.iter(run),
        }
    });
}

fn skip(name: &str, error: &dyn std::error::Error) {
    eprintln!("\n!!! NOT MEASURED: {name}: {error}\n");
}

/// Every instruction set in a pool of `threads`.
fn instruction_sets(group: &mut Group<'_>, task: &Task, threads: usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
    for instruction_set in InstructionSetName::available() {
        let name = format!("{instruction_set}, {threads} threads");
        match Native::with_kernel(task.parameters.clone(), Kernel::Exhaustive, instruction_set) {
            Ok(mut estimator) => measure(group, &name, task, &mut estimator, Some(&pool)),
            Err(error) => skip(&name, &error),
        }
    }
}

/// Every instruction set, on one core and on all, in windows of 33 and of 32 positions an axis.
fn native(c: &mut Criterion) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for (prefix, window) in [("native", window(16, 16)), ("native-32", window(16, 15))] {
        groups(c, prefix, window, |group, task| {
            for threads in [1, cores] {
                instruction_sets(group, task, threads);
            }
        });
    }
}

/// Every instruction set on one core at 1080p: blocks of all sizes, both metrics.
fn native_blocks(c: &mut Criterion) {
    let mut task = Task::new(1920, 1080);
    for block_size in [4, 8, 16, 32, 64] {
        for metric in [Metric::Sad, Metric::Ssd] {
            task.parameters = Parameters { block_size, metric, ..task.parameters };
            let mut group = group(c, format!("native-blocks/{block_size} {}", metric.name()), &task);
            instruction_sets(&mut group, &task, 1);
            group.finish();
        }
    }
}

/// Every OpenCL device and kernel.
fn opencl(c: &mut Criterion) {
    let devices: Vec<_> =
        backend::devices().into_iter().filter(|device| device.selector != DeviceSelector::Native).collect();
    if devices.is_empty() {
        eprintln!("\n!!! NOT MEASURED: OpenCL: there is no device\n");
        return;
    }
    groups(c, "opencl", window(16, 16), |group, task| {
        for device in &devices {
            for kernel in Kernel::OPENCL {
                let name = format!("{} {}, {kernel}", device.selector, device.name);
                match backend::open_device(&device.selector, kernel, &Tuning::default(), &task.parameters) {
                    Ok(mut opened) => measure(group, &name, task, opened.0.as_mut(), None),
                    Err(error) => skip(&name, &error),
                }
            }
        }
    });
}

/// Both algorithms on all cores, and the OpenCL kernels of three-step search.
fn three_step(c: &mut Criterion) {
    let mut task = Task::new(1920, 1080);
    for range in [7, 16] {
        let mut group = c.benchmark_group(format!("three-step/1080p ±{range}"));
        group.sampling_mode(SamplingMode::Flat).sample_size(20);
        group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
        task.parameters.window = window(range, range);
        for algorithm in [Algorithm::Full, Algorithm::ThreeStep] {
            task.parameters.algorithm = algorithm;
            group.throughput(Throughput::Elements(task.differences()));
            for instruction_set in InstructionSetName::available() {
                let name = format!("native {instruction_set}, {}", algorithm.name());
                match Native::with_instruction_set(task.parameters.clone(), instruction_set) {
                    Ok(mut estimator) => measure(&mut group, &name, &task, &mut estimator, None),
                    Err(error) => skip(&name, &error),
                }
            }
        }
        for device in backend::devices() {
            if device.selector == DeviceSelector::Native {
                continue;
            }
            for kernel in Kernel::of(task.parameters.algorithm) {
                let name = format!("{} {}, {kernel}", device.selector, device.name);
                match backend::open_device(&device.selector, *kernel, &Tuning::default(), &task.parameters) {
                    Ok(mut opened) => measure(&mut group, &name, &task, opened.0.as_mut(), None),
                    Err(error) => skip(&name, &error),
                }
            }
        }
        group.finish();
    }
}

criterion_group!(benches, native, native_blocks, opencl, three_step);
criterion_main!(benches);
