//! Prediction of 480 × 270 vectors, as of 1080p in blocks of 4 × 4: Halldal's dependent recurrence in
//! all its forms beside the product's own prediction, in which no block waits for another.
//!
//! Run with `cargo bench --bench prediction`; a part of a name after `--` selects. OpenCL forms come
//! twice: the kernels alone, and with the transfers of vectors and differences.
#![allow(missing_docs)]

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gstmotionestimate::estimator::prediction;
use gstmotionestimate::estimator::recurrence;
use gstmotionestimate::estimator::{Difference, Grid, MotionVector, Predictor};
use gstmotionestimate::native;

const GRID: Grid = Grid { columns: 480, rows: 270 };

type Group<'a> = criterion::BenchmarkGroup<'a, criterion::measurement::WallTime>;

/// Vectors up to 16 samples long that have nothing to do with each other.
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
    on_the_cpu(&mut group);
    opencl::on_the_devices(&mut group);
    group.finish();
}

fn on_the_cpu(group: &mut Group<'_>) {
    let vectors = vectors();
    let mut differences = vec![Difference::default(); GRID.blocks()];
    let mut predictors = vec![Predictor::default(); GRID.blocks()];
    group.bench_function(BenchmarkId::new("recurrence", "native, serial"), |bencher| {
        bencher.iter(|| recurrence::serial(GRID, &vectors, &mut differences).expect("a grid"));
    });
    group.bench_function(BenchmarkId::new("median", "the definition"), |bencher| {
        bencher.iter(|| prediction::median_predictors(GRID, &vectors));
    });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for threads in [1, cores] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
        let name = format!("native, {threads} threads");
        group.bench_function(BenchmarkId::new("median", name), |bencher| {
            let mut predict = || native::median_predictors(GRID, &vectors, &mut predictors).expect("a grid");
            pool.install(|| bencher.iter(&mut predict));
        });
    }
}

#[cfg(not(feature = "opencl"))]
mod opencl {
    pub(super) fn on_the_devices(_: &mut super::Group<'_>) {
        eprintln!("\n!!! NOT MEASURED: OpenCL: this build is without it\n");
    }
}

#[cfg(feature = "opencl")]
mod opencl {
    use criterion::BenchmarkId;
    use gstmotionestimate::estimator::{
        Difference, Estimator, Frame, Kernel, MotionVector, Parameters, Prediction, Predictor, Slot, Tuning,
        Window,
    };
    use gstmotionestimate::opencl::{Device, OpenCl, Recurrence, RecurrenceForm, devices};

    use super::{GRID, Group, vectors};

    pub(super) fn on_the_devices(group: &mut Group<'_>) {
        let devices = devices();
        if devices.is_empty() {
            eprintln!("\n!!! NOT MEASURED: OpenCL: there is no device\n");
        }
        for device in devices {
            for form in RecurrenceForm::ALL {
                if let Err(error) = measure_form(group, &device, form) {
                    eprintln!("\n!!! NOT MEASURED: {form} on {}: {error}\n", device.name);
                }
            }
            if let Err(error) = measure_median(group, &device) {
                eprintln!("\n!!! NOT MEASURED: median on {}: {error}\n", device.name);
            }
        }
    }

    fn measure_form(
        group: &mut Group<'_>,
        device: &Device,
        form: RecurrenceForm,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let vectors = vectors();
        let mut differences = vec![Difference::default(); GRID.blocks()];
        let mut recurrence = Recurrence::new(device, GRID, form)?;
        recurrence.upload(&vectors)?;
        recurrence.compute()?;
        let name = |what: &str| format!("{}:{} {}, {form}{what}", device.platform, device.index, device.name);
        group.bench_function(BenchmarkId::new("recurrence", name("")), |bencher| {
            bencher.iter(|| recurrence.compute().expect("what has worked before"));
        });
        group.bench_function(BenchmarkId::new("recurrence", name(", with transfers")), |bencher| {
            bencher.iter(|| {
                let uploaded = recurrence.upload(&vectors);
                let computed = uploaded.and_then(|()| recurrence.compute());
                let downloaded = computed.and_then(|()| recurrence.download(&mut differences));
                downloaded.expect("what has worked before");
            });
        });
        Ok(())
    }

    /// The estimator's own: from the vectors on the device to the predictors on the host.
    fn measure_median(group: &mut Group<'_>, device: &Device) -> Result<(), Box<dyn std::error::Error>> {
        let (width, height) = (4 * GRID.columns, 4 * GRID.rows);
        let parameters = Parameters {
            prediction: Prediction::Median,
            ..Parameters::new(width, height, 4, Window::symmetric(2, 2)?)
        };
        let mut estimator = OpenCl::new(device, Kernel::Auto, &Tuning::default(), &parameters)?;
        for (slot, seed) in [(Slot::A, 7), (Slot::B, 11)] {
            let frame = Frame::from_fn(width, height, |x, y| ((x * seed) ^ (y * (seed + 6))) as u8);
            estimator.load(slot, &frame.view())?;
        }
        estimator.search(Slot::B, &mut vec![MotionVector::default(); GRID.blocks()])?;
        let mut predictors = vec![Predictor::default(); GRID.blocks()];
        let name = format!("{}:{} {}, with download", device.platform, device.index, device.name);
        group.bench_function(BenchmarkId::new("median", name), |bencher| {
            bencher.iter(|| estimator.predict(&mut predictors).expect("a field"));
        });
        Ok(())
    }
}

criterion_group!(prediction_benches, benches);
criterion_main!(prediction_benches);
