//! Tuning never changes the field: every OpenCL kernel on every device with odd work-groups, every way to
//! launch, and costs in parts, against the oracle.

use motion_search::estimator::{Border, Device as _, Launcher, Metric, Parameters, SetupError, Window};
use motion_search::opencl::{DeviceKind, OpenCl, OpenClDevice};
use motion_search::tuning::{Kernel, Launch, Tuning};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use test_support::{Case, Content, Extent, check, frames, some_of};

use crate::all_devices;

/// The kernels whose work is divided into jobs, one for each displacement.
pub const JOB_KERNELS: [Kernel; 4] = [
    Kernel::CollaborativeNaive,
    Kernel::Collaborative,
    Kernel::CollaborativeSamples,
    Kernel::CollaborativeUnaligned,
];

fn case(parameters: Parameters, content: Content) -> Case {
    let (reference, current) = frames(content, parameters.width, parameters.height);
    Case { name: format!("{content:?} {parameters:?}"), parameters, reference, current }
}

fn check_tuned(device: &OpenClDevice, kernel: Kernel, tuning: Tuning, case: &Case) {
    let mut estimator = OpenCl::new(device, kernel, &tuning, &case.parameters)
        .unwrap_or_else(|error| panic!("{kernel} {tuning:?} {}: {error}", case.name));
    let name = format!("{tuning:?} {}", case.name);
    let Case { parameters, reference, current, .. } = case;
    let case =
        Case { name, parameters: parameters.clone(), reference: reference.clone(), current: current.clone() };
    check(&case, &mut estimator);
}

fn group(items: usize) -> Tuning {
    Tuning { group_size: Some(items), ..Tuning::default() }
}

fn refusal(device: &OpenClDevice, kernel: Kernel, tuning: Tuning, p: &Parameters) -> String {
    match OpenCl::new(device, kernel, &tuning, p).err() {
        Some(error @ SetupError::KernelUnsupported { .. }) => error.to_string(),
        other => panic!("{kernel} {tuning:?}: {other:?}"),
    }
}

/// A grid that few group sizes divide, ties, both metrics, both borders, three kinds of span, and a
/// window with fewer candidates than most groups have items.
fn few_cases() -> Vec<Case> {
    let parameters = |size: (usize, usize), block_size, (x0, x1, y0, y1), metric, border| Parameters {
        metric,
        border,
        ..Parameters::new(size.0, size.1, block_size, Window::new(x0, x1, y0, y1).unwrap())
    };
    vec![
        case(parameters((77, 40), 16, (-7, 9, -5, 6), Metric::Sad, Border::Extend), Content::Moved),
        case(parameters((61, 30), 8, (-3, 8, -9, 2), Metric::Ssd, Border::Restrict), Content::Stripes),
        case(parameters((70, 25), 12, (-1, 1, 0, 1), Metric::Sad, Border::Extend), Content::Noise),
    ]
}

#[test]
fn groups_of_any_size_are_exact() {
    let cases = few_cases();
    for device in all_devices() {
        for kernel in Kernel::OPENCL {
            // 5 is the first case's row of blocks.
            for items in [1, 3, 4, 5, 7, 256, 29 * 15] {
                // It is compiled for each number of items, for which PoCL needs seconds.
                if kernel == Kernel::Elimination && ![1, 7, 256].contains(&items) {
                    continue;
                }
                // A kernel may have smaller groups than its device, but never less than 256 items.
                if items > device.largest_group.min(256) {
                    let p = &cases[0].parameters;
                    if let Err(error) = OpenCl::new(&device, kernel, &group(items), p) {
                        assert!(matches!(error, SetupError::KernelUnsupported { .. }), "{error}");
                        continue;
                    }
                }
                for case in &cases {
                    check_tuned(&device, kernel, group(items), case);
                }
            }
        }
    }
}

#[test]
fn halldals_groups_are_exact() {
    // An area of 32 x 32 samples, blocks of 4 x 4: 29 x 29 candidates.
    let window = Window::of_area(32, 4).unwrap();
    assert_eq!((window.columns(), window.rows()), (29, 29));
    let p = Parameters { border: Border::Restrict, ..Parameters::new(50, 38, 4, window) };
    for device in all_devices() {
        for kernel in
            [Kernel::ReferenceNaive, Kernel::Reference, Kernel::ReferenceSamples, Kernel::ReferenceInts]
        {
            for items in [841, 435] {
                if items <= device.largest_group.min(256)
                    || OpenCl::new(&device, kernel, &group(items), &p).is_ok()
                {
                    for content in [Content::Moved, Content::Checkerboard] {
                        check_tuned(&device, kernel, group(items), &case(p.clone(), content));
                    }
                } else {
                    refusal(&device, kernel, group(items), &p);
                }
            }
        }
    }
}

#[test]
fn every_way_to_launch_is_exact() {
    let cases = few_cases();
    let mut tunings = vec![Tuning::default()];
    for launch in [Launch::OutOfOrder, Launch::Queues(1), Launch::Queues(2), Launch::Queues(5)] {
        for launches in [None, Some(1), Some(13), Some(1_000_000)] {
            tunings.push(Tuning { launch: Some(launch), launches, ..Tuning::default() });
        }
    }
    for device in all_devices() {
        for kernel in JOB_KERNELS {
            for case in &cases {
                let job = 4 * case.parameters.grid().blocks() as u64;
                for tuning in &tunings {
                    if tuning.launch == Some(Launch::OutOfOrder) && !device.out_of_order {
                        continue;
                    }
                    check_tuned(&device, kernel, *tuning, case);
                    // Batches that do not divide into launches, nor the jobs into batches.
                    check_tuned(&device, kernel, Tuning { cost_bytes: Some(5 * job + 1), ..*tuning }, case);
                }
            }
        }
    }
}

#[test]
fn bands_of_costs_are_exact() {
    let cases = few_cases();
    for device in all_devices() {
        for case in &cases {
            let p = &case.parameters;
            let block = 4 * p.window.candidates() as u64;
            let columns = p.grid().columns as u64;
            // One block, part of a row, one row, a row and a part, all but one.
            for blocks in [1, 2, columns, columns + 1, p.grid().blocks() as u64 - 1] {
                let tuning = Tuning { cost_bytes: Some(blocks * block), ..Tuning::default() };
                check_tuned(&device, Kernel::TwoPass, tuning, case);
            }
            let tuning = Tuning { cost_bytes: Some(block - 1), ..Tuning::default() };
            let error = OpenCl::new(&device, Kernel::TwoPass, &tuning, p).err();
            let expected = matches!(
                error,
                Some(SetupError::Memory { limit, needed, .. }) if (limit, needed) == (block - 1, block)
            );
            assert!(expected, "{error:?}");
        }
    }
}

#[test]
fn costs_keep_to_the_largest_buffer() {
    let case = &few_cases()[0];
    let p = &case.parameters;
    for mut device in all_devices() {
        for kernel in JOB_KERNELS.into_iter().chain([Kernel::TwoPass]) {
            // Enough for the frames, not for all costs.
            device.largest_buffer = 16 << 10;
            assert!(device.largest_buffer < 4 * (p.grid().blocks() * p.window.candidates()) as u64 * 6);
            let tuning = Tuning { cost_bytes: Some(u64::MAX), ..Tuning::default() };
            check_tuned(&device, kernel, tuning, case);
        }
    }
}

#[test]
fn small_local_memory_takes_tiles_or_names_what_fits() {
    let case = &few_cases()[0];
    let p = &case.parameters;
    // Ints take four times as much as samples.
    let little = |kernel| if kernel == Kernel::ReferenceInts { 6000 } else { 1500 };
    for mut device in all_devices() {
        for kernel in Kernel::OPENCL {
            device.local_memory = little(kernel);
            // Too little for four copies of the smallest area, or for the lists.
            if matches!(kernel, Kernel::Tiled | Kernel::Elimination) {
                let text = refusal(&device, kernel, group(3), p);
                assert!(text.contains("1500") && text.contains("collaborative-unaligned"), "{text}");
            } else {
                check_tuned(&device, kernel, group(3), case);
            }
        }
        for kernel in [
            Kernel::ReferenceNaive,
            Kernel::Reference,
            Kernel::ReferenceSamples,
            Kernel::ReferenceInts,
            Kernel::Collaborative,
            Kernel::CollaborativeSamples,
            Kernel::TwoPass,
        ] {
            device.local_memory = little(kernel);
            // Their keys alone need more.
            let items = device.local_memory / 6;
            let text = refusal(&device, kernel, group(items), p);
            let most = text.split("group-size of ").nth(1).and_then(|rest| rest.split(' ').next());
            let most: usize = most.expect(&text).parse().expect(&text);
            assert!(text.contains(&device.local_memory.to_string()) && (3..items).contains(&most), "{text}");
            // The named size works, and one more item does not.
            check_tuned(&device, kernel, group(most), case);
            refusal(&device, kernel, group(most + 1), p);
        }
        device.local_memory = 100;
        for kernel in [Kernel::Reference, Kernel::TwoPass] {
            let text = refusal(&device, kernel, Tuning::default(), p);
            assert!(text.contains("100") && text.contains("collaborative-unaligned"), "{text}");
        }
    }
}

/// On GPUs `tiled` and `elimination` are compiled for their window, with several blocks a group and long
/// runs. The program for GPUs that are not NVIDIA's runs on every device.
#[test]
fn kernels_as_for_gpus_are_exact() {
    let window = |x0, x1, y0, y1| Window::new(x0, x1, y0, y1).unwrap();
    let case_of = |width, height, block_size, window, metric, border, content| {
        let p = Parameters { metric, border, ..Parameters::new(width, height, block_size, window) };
        case(p, content)
    };
    let cases = [
        case_of(90, 60, 16, window(-16, 16, -16, 16), Metric::Sad, Border::Extend, Content::Moved),
        case_of(90, 60, 16, window(-16, 15, -9, 0), Metric::Sad, Border::Restrict, Content::Stripes),
        case_of(70, 45, 8, window(-3, 5, 0, 9), Metric::Ssd, Border::Restrict, Content::Noise),
        case_of(64, 70, 64, window(-5, 5, -2, 3), Metric::Ssd, Border::Extend, Content::Opposite),
        // Tasks that several items share.
        case_of(150, 70, 64, window(-16, 16, -16, 16), Metric::Sad, Border::Restrict, Content::Moved),
        case_of(70, 66, 64, window(-9, 3, -16, 16), Metric::Ssd, Border::Extend, Content::Flat),
        case_of(33, 21, 4, window(-13, 2, -20, 20), Metric::Sad, Border::Extend, Content::Flat),
        case_of(50, 38, 20, window(-2, 0, -1, 7), Metric::Sad, Border::Extend, Content::Checkerboard),
        // Tiles across and down.
        case_of(900, 26, 12, window(-401, 399, -1, 1), Metric::Sad, Border::Extend, Content::Moved),
        case_of(40, 300, 16, window(-6, 7, -180, 180), Metric::Sad, Border::Restrict, Content::Moved),
    ];
    for mut device in all_devices() {
        device.kind = DeviceKind::Gpu;
        device.local_memory = device.local_memory.min(48 << 10);
        // `tiled` has other shapes for several searches in flight than for one.
        for (kernel, depths) in [(Kernel::Tiled, 1..=2), (Kernel::Elimination, 1..=1)] {
            for case in some_of(3, &cases) {
                for depth in depths.clone() {
                    let tuning = Tuning { depth: Some(depth), ..Tuning::default() };
                    check_tuned(&device, kernel, tuning, case);
                }
            }
            let tuning = Tuning { run: Some(5), blocks_across: Some(3), blocks_down: Some(2), ..group(48) };
            check_tuned(&device, kernel, tuning, &cases[0]);
        }
    }
}

#[test]
fn groups_that_no_device_has_name_the_limit() {
    let p = &few_cases()[0].parameters;
    for device in all_devices() {
        for kernel in Kernel::OPENCL {
            for items in [device.largest_group + 1, usize::MAX] {
                let text = refusal(&device, kernel, group(items), p);
                assert!(text.contains(&items.to_string()) && text.contains("group-size of"), "{text}");
            }
        }
        let wide = Parameters { window: Window::symmetric(300, 300).unwrap(), width: 400, ..p.clone() };
        let wide = Parameters { height: 400, ..wide };
        let text = refusal(&device, Kernel::ReferenceNaive, Tuning::default(), &wide);
        assert!(text.contains("tuning group-size of"), "{text}");
    }
}

#[test]
fn a_device_whose_queues_are_in_order_says_what_works() {
    let case = &few_cases()[0];
    let tuning = Tuning { launch: Some(Launch::OutOfOrder), ..Tuning::default() };
    for mut device in all_devices() {
        device.out_of_order = false;
        for kernel in Kernel::OPENCL {
            if JOB_KERNELS.contains(&kernel) {
                let text = refusal(&device, kernel, tuning, &case.parameters);
                assert!(text.contains("the launches once or queues"), "{text}");
            } else {
                // Kernels without jobs ignore it.
                check_tuned(&device, kernel, Tuning { group_size: Some(16), ..tuning }, case);
            }
        }
    }
}

#[test]
fn numbers_of_nothing_are_errors() {
    let p = &few_cases()[0].parameters;
    let good = Tuning::default();
    for device in all_devices() {
        for tuning in [
            group(0),
            Tuning { launches: Some(0), ..good },
            Tuning { launch: Some(Launch::Queues(0)), ..good },
            Tuning { launch: Some(Launch::Queues(usize::MAX)), ..good },
        ] {
            for kernel in Kernel::OPENCL {
                let error = OpenCl::new(&device, kernel, &tuning, p).err();
                assert!(matches!(error, Some(SetupError::Tuning { .. })), "{tuning:?}: {error:?}");
            }
        }
        for kernel in JOB_KERNELS.into_iter().chain([Kernel::TwoPass]) {
            let tuning = Tuning { cost_bytes: Some(0), ..good };
            let error = OpenCl::new(&device, kernel, &tuning, p).err();
            assert!(matches!(error, Some(SetupError::Memory { limit: 0, .. })), "{error:?}");
        }
    }
}

#[test]
fn any_tuning_is_exact() {
    let devices = all_devices();
    let strategy = (
        (1_usize..80, 1_usize..60, -12..=0, 0..12, -12..=0, 0..12),
        (0..Kernel::OPENCL.len(), 0..devices.len(), prop::option::of(1_usize..=40), any::<bool>()),
        (prop::option::of(0_u64..20_000), 0..3, 1_usize..6, prop::option::of(1_usize..40)),
    );
    let run = |((width, height, x0, x1, y0, y1), (kernel, device, group_size, restrict), launches)| {
        let (cost_bytes, mode, queues, launches): (Option<u64>, i32, usize, Option<usize>) = launches;
        let device: &OpenClDevice = &devices[device];
        let kernel = Kernel::OPENCL[kernel];
        let border = if restrict { Border::Restrict } else { Border::Extend };
        let p =
            Parameters { border, ..Parameters::new(width, height, 8, Window::new(x0, x1, y0, y1).unwrap()) };
        let launch = match mode {
            0 => Launch::Once,
            1 if device.out_of_order => Launch::OutOfOrder,
            _ => Launch::Queues(queues),
        };
        // The most costs of one block, or of one displacement.
        let least = 4 * p.window.candidates().max(p.grid().blocks()) as u64;
        let cost_bytes = cost_bytes.map(|bytes| bytes.max(least));
        // The shape of tiled, from the same numbers.
        let (blocks_across, blocks_down) = (launches.map(|n| n % 5 + 1), Some(queues));
        let run = launches;
        let launch = Some(launch);
        let tuning = Tuning {
            group_size,
            cost_bytes,
            launch,
            launches,
            run,
            blocks_across,
            blocks_down,
            ..Tuning::default()
        };
        check_tuned(device, kernel, tuning, &case(p, Content::Moved));
        Ok(())
    };
    let config = Config {
        cases: if Extent::is_complete() { 40 } else { 10 },
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config).run(&strategy, run).unwrap();
}

#[test]
fn what_launches_is_told_and_can_be_chosen() {
    let case = few_cases().remove(0);
    for device in all_devices() {
        let has_cuda = device.kind == DeviceKind::Gpu && device.vendor.contains("NVIDIA");
        for launcher in [None, Some(Launcher::OpenCl), Some(Launcher::Cuda)] {
            let tuning = Tuning { launcher, ..Tuning::default() };
            let opened = OpenCl::new(&device, Kernel::Tiled, &tuning, &case.parameters);
            if launcher == Some(Launcher::Cuda) && !has_cuda {
                let error = opened.expect_err("CUDA launches on NVIDIA's devices alone").to_string();
                assert!(error.contains("launcher opencl"), "{error}");
                continue;
            }
            let mut opened = opened.unwrap();
            let by = opened.info().launching.as_ref().unwrap().by;
            let best = if has_cuda { Launcher::Cuda } else { Launcher::OpenCl };
            // The environment may choose where the tuning does not.
            if launcher.is_some() || std::env::var_os("MOTION_SEARCH_LAUNCHER").is_none() {
                assert_eq!(by, launcher.unwrap_or(best));
            }
            check(&case, &mut opened);
        }
    }
}
