//! Median prediction of 480 × 270 vectors, as of 1080p in blocks of 4 × 4: the definition, and the CPU with
//! one thread and with all cores.
//!
//! Run with `cargo bench -p motion-benches --bench prediction`. Halldal's recurrence and the OpenCL forms are measured by
//! `cargo bench -p motion-benches --bench papers -- halldal`.
#![allow(missing_docs)]

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use motion_search::estimator::{Grid, MotionVector, Predictor, prediction};
use motion_search::stages;

const GRID: Grid = Grid { columns: 480, rows: 270 };

/// Vectors of up to 16 samples, independent of each other.
fn vectors() -> Vec<MotionVector> {
    let mut state = 1_u32;
    let mut component = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        4 * ((state >> 16) % 33) as i16 - 64
    };
    (0..GRID.blocks()).map(|_| MotionVector { x: component(), y: component(), cost: 0 }).collect()
}

fn benches(c: &mut Criterion) {
    let mut group = c.benchmark_group("prediction");
    group.throughput(Throughput::Elements(GRID.blocks() as u64));
    group.sample_size(20);
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    let vectors = vectors();
    let mut predictors = vec![Predictor::default(); GRID.blocks()];
    group.bench_function(BenchmarkId::new("median", "the definition"), |bencher| {
        bencher.iter(|| prediction::median_predictors(GRID, &vectors));
    });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for threads in [1, cores] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
        let name = format!("native, {threads} threads");
        group.bench_function(BenchmarkId::new("median", name), |bencher| {
            let mut predict = || stages::median_predictors(GRID, &vectors, &mut predictors).expect("a grid");
            pool.install(|| bencher.iter(&mut predict));
        });
    }
    group.finish();
}

criterion_group!(prediction_benches, benches);
criterion_main!(prediction_benches);
