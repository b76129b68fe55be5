//! Every OpenCL kernel on every OpenCL device of the machine against the oracle. The tests need at least
//! one device: PoCL is enough.

use motion_search::estimator::{
    Algorithm, Border, Device as _, EstimateError, Metric, MotionField, Output, Parameters, Part, Request,
    SetupError, Slot, SubSample, Window, oracle, search,
};
use motion_search::native::Native;
use motion_search::opencl::{DeviceKind, OpenCl, OpenClDevice, devices, try_build};
use motion_search::tuning::{Kernel, Tuning};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use test_support::{
    CONTENTS, Case, Cut, Extent, cases, check, check_parts, frames, hierarchical_cases, reconstruct, some_of,
    sub_sample_cases, three_step_cases,
};

use crate::all_devices;
use crate::tuning::JOB_KERNELS;

/// Candidates that reference-naive needs work-items for: those of the window that can win.
fn candidates_that_matter(p: &Parameters) -> usize {
    let inside = if p.border == Border::Extend { 1 } else { p.block_size };
    let (x, y) = ((p.extended_width() - inside) as i32, (p.extended_height() - inside) as i32);
    p.window.clipped(-x..=x, -y..=y).candidates()
}

/// Checks `case`, or that reference-naive refuses it because it has too many candidates. Returns what was
/// checked.
fn check_or_refused(device: &OpenClDevice, kernel: Kernel, case: &Case, tuning: Tuning) -> Option<OpenCl> {
    match OpenCl::new(device, kernel, &tuning, &case.parameters) {
        Ok(mut opened) => {
            check(case, &mut opened);
            Some(opened)
        }
        Err(SetupError::KernelUnsupported { reason, advice, .. }) if kernel == Kernel::ReferenceNaive => {
            let candidates = candidates_that_matter(&case.parameters);
            // A kernel may have smaller groups than its device, but never less than 256 items.
            assert!(candidates > device.largest_group.min(256), "{reason}: {}", case.name);
            assert!(reason.contains(&candidates.to_string()), "{reason}");
            assert!(advice.contains("collaborative-unaligned"), "{advice}");
            None
        }
        Err(error) => panic!("{kernel} on {} of {}: {error:?}", device.name, case.name),
    }
}

/// Whether a case is one of those that are checked on `device`: all but on a CPU, where PoCL takes seconds to
/// compile `kernel` for a block size and metric. There the smallest, the largest and two between have both
/// metrics, the others one each.
fn is_checked(device: &OpenClDevice, kernel: Kernel, parameters: &Parameters) -> bool {
    let size = parameters.block_size;
    let is_ssd = parameters.metric == Metric::Ssd;
    match kernel {
        Kernel::Hierarchical => true,
        _ if device.kind != DeviceKind::Cpu || [4, 8, 16, 64].contains(&size) => true,
        // Five seconds.
        Kernel::Elimination => [12, 20, 32].contains(&size) && is_ssd == (size == 20),
        _ => is_ssd == (size % 8 == 4),
    }
}

/// Whether a kernel with this number is compiled for searches with `p`, as PoCL takes a second or more for each block size:
/// for every other size, and in the quick form for two.
fn is_compiled(number: usize, p: &Parameters) -> bool {
    let fours = p.block_size / 4;
    let is_chosen =
        if Extent::is_complete() { (fours + number).is_multiple_of(2) } else { fours == 1 + number * 5 % 16 };
    is_chosen || p.block_size == 16
}

fn check_all(kernel: Kernel) {
    let cases = match kernel {
        Kernel::Hierarchical => hierarchical_cases(),
        _ if Kernel::OPENCL_THREE_STEP.contains(&kernel) => three_step_cases(),
        _ => cases(),
    };
    for device in all_devices() {
        let cases: Vec<_> =
            cases.iter().filter(|case| is_checked(&device, kernel, &case.parameters)).collect();
        let number = kernel as usize;
        let is_compiled =
            |case: &&&Case| kernel == Kernel::Hierarchical || is_compiled(number, &case.parameters);
        let cases: Vec<_> = some_of(3, cases.into_iter().filter(|case| is_compiled(&case))).collect();
        for (index, case) in cases.iter().enumerate() {
            // Every third case also in parts, divided in one of three ways.
            let cuts = [Cut::Rows, Cut::Candidates, Cut::Both];
            let tuning = Tuning { divides_window: index % 6 == 0, ..Tuning::default() };
            let checked = check_or_refused(&device, kernel, case, tuning);
            let is_divisible = case.parameters.algorithm != Algorithm::Hierarchical;
            if let Some(mut opened) = checked.filter(|_| is_divisible && index % 3 == 0) {
                check_parts(case, cuts[index / 3 % 3], &mut opened);
            }
        }
        println!("{kernel} on {}: {} cases", device.name, cases.len());
    }
}

/// Every kernel with deep samples: of one depth, as PoCL takes seconds to compile one, and a third of the cases of two block
/// sizes by SAD and of one by SSD.
#[test]
fn deep_samples_are_exact() {
    let (of_full, of_three_steps) = (cases(), three_step_cases());
    for device in all_devices() {
        for (number, kernel) in Kernel::OPENCL.into_iter().chain(Kernel::OPENCL_THREE_STEP).enumerate() {
            let cases = if Kernel::OPENCL.contains(&kernel) { &of_full } else { &of_three_steps };
            let sizes = [[4, 20], [16, 64], [12, 64]][number % 3];
            let sizes = if Extent::is_complete() { &sizes[..] } else { &sizes[number / 3 % 2..][..1] };
            let depth = [10, 16, 9, 12, 15, 11, 13, 14][number % 8];
            let is_tried = |p: &Parameters| match p.metric {
                Metric::Sad => sizes.contains(&p.block_size),
                Metric::Ssd => p.block_size == if kernel == Kernel::Elimination { 64 } else { 16 },
            };
            let cases = cases.iter().filter(|case| is_tried(&case.parameters));
            for (index, case) in some_of(4, cases.step_by(3)).enumerate() {
                let depth = if case.parameters.metric == Metric::Ssd { 10 } else { depth };
                let case = &test_support::deep_case(case.clone(), depth);
                let checked = check_or_refused(&device, kernel, case, Tuning::default());
                if let Some(mut opened) = checked.filter(|_| index % 5 == 0) {
                    check_parts(case, Cut::Rows, &mut opened);
                }
            }
        }
        for case in some_of(5, test_support::deep(hierarchical_cases()).iter().step_by(3)) {
            check_or_refused(&device, Kernel::Hierarchical, case, Tuning::default());
        }
    }
}

#[test]
fn tiled_refuses_costs_that_leave_no_room_for_ranks() {
    let window = Window::symmetric(1, 1).unwrap();
    let p = Parameters { metric: Metric::Ssd, bit_depth: 10, ..Parameters::new(64, 64, 64, window) };
    for device in all_devices() {
        match OpenCl::new(&device, Kernel::Tiled, &Tuning::default(), &p) {
            Err(SetupError::KernelUnsupported { advice, .. }) => {
                assert_eq!(advice, "choose kernel reference, or smaller blocks");
            }
            other => panic!("{:?}", other.err()),
        }
        check_or_refused(
            &device,
            Kernel::Auto,
            &test_support::deep_case(
                case(Parameters { bit_depth: 8, ..p.clone() }, test_support::Content::Opposite),
                10,
            ),
            Tuning::default(),
        );
    }
}

#[test]
fn reference_naive_is_exact() {
    check_all(Kernel::ReferenceNaive);
}

#[test]
fn reference_is_exact() {
    check_all(Kernel::Reference);
}

#[test]
fn reference_samples_is_exact() {
    check_all(Kernel::ReferenceSamples);
}

#[test]
fn reference_ints_is_exact() {
    check_all(Kernel::ReferenceInts);
}

#[test]
fn collaborative_naive_is_exact() {
    check_all(Kernel::CollaborativeNaive);
}

#[test]
fn collaborative_is_exact() {
    check_all(Kernel::Collaborative);
}

#[test]
fn collaborative_samples_is_exact() {
    check_all(Kernel::CollaborativeSamples);
}

#[test]
fn collaborative_unaligned_is_exact() {
    check_all(Kernel::CollaborativeUnaligned);
}

#[test]
fn two_pass_is_exact() {
    check_all(Kernel::TwoPass);
}

#[test]
fn tiled_is_exact() {
    check_all(Kernel::Tiled);
}

#[test]
fn elimination_is_exact() {
    check_all(Kernel::Elimination);
}

#[test]
fn three_step_naive_is_exact() {
    check_all(Kernel::ThreeStepNaive);
}

#[test]
fn three_step_is_exact() {
    check_all(Kernel::ThreeStep);
}

#[test]
fn three_step_unaligned_is_exact() {
    check_all(Kernel::ThreeStepUnaligned);
}

#[test]
fn hierarchical_is_exact() {
    check_all(Kernel::Hierarchical);
}

/// The refinement is the same after every kernel: each kernel has some of the cases.
#[test]
fn sub_samples_are_exact() {
    let cases = sub_sample_cases();
    for device in all_devices() {
        let checked = cases.iter().filter(|case| {
            is_checked(&device, Kernel::Auto, &case.parameters) && is_compiled(0, &case.parameters)
        });
        for (index, case) in some_of(5, checked).enumerate() {
            let kernels = Kernel::of(case.parameters.algorithm);
            // One in eight: PoCL takes seconds to compile some kernels.
            let kernel = if index % 8 == 0 { kernels[index / 8 % kernels.len()] } else { Kernel::Auto };
            let opened = check_or_refused(&device, kernel, case, Tuning::default());
            if let Some(mut opened) = opened.filter(|_| index % 3 == 0) {
                check_parts(case, Cut::Rows, &mut opened);
            }
        }
    }
}

/// Samples of one depth for each of some block sizes and metrics: PoCL takes seconds to compile the kernels for them.
#[test]
fn sub_samples_of_deep_samples_are_exact() {
    let depth_of = |p: &Parameters| match (p.block_size, p.metric) {
        (4, Metric::Sad) => Some(9),
        (16, Metric::Sad) => Some(16),
        (20, Metric::Sad) => Some(12),
        (64, Metric::Sad) => Some(15),
        (8 | 64, Metric::Ssd) => Some(10),
        _ => None,
    };
    let cases = sub_sample_cases();
    for device in all_devices() {
        let deep = cases.iter().filter_map(|case| Some((case, depth_of(&case.parameters)?)));
        for (index, (case, depth)) in some_of(5, deep).enumerate() {
            let case = test_support::deep_case(case.clone(), depth);
            let kernels = Kernel::of(case.parameters.algorithm);
            let kernel = if index % 8 == 0 { kernels[index / 8 % kernels.len()] } else { Kernel::Auto };
            // No ranks fit beside such costs.
            let is_wide = case.parameters.metric == Metric::Ssd && case.parameters.block_size == 64;
            let is_refused = is_wide && kernel == Kernel::Tiled;
            let kernel = if is_refused { Kernel::Auto } else { kernel };
            let opened = check_or_refused(&device, kernel, &case, Tuning::default());
            if let Some(mut opened) = opened.filter(|_| index % 3 == 0) {
                check_parts(&case, Cut::Rows, &mut opened);
            }
        }
    }
}

/// Smaller groups than a block gets, less local memory than groups of several blocks need or than a whole block needs,
/// and too little of either.
#[test]
fn small_devices_refine_or_say_why_not() {
    let window = Window::symmetric(5, 5).unwrap();
    for device in all_devices() {
        for kind in [DeviceKind::Gpu, DeviceKind::Cpu] {
            for (depth, largest_group, local_memory, block_size) in [
                (8, 1 << 10, 1 << 20, 16),
                (8, 1 << 10, 8 << 10, 16),
                (8, 100, 1 << 20, 16),
                (8, 9, 1 << 20, 64),
                (8, 64, 32 << 10, 64),
                (8, 1 << 10, 20 << 10, 64),
                (10, 1 << 10, 8 << 10, 16),
                (10, 1 << 10, 32 << 10, 64),
                (16, 1 << 10, 4 << 10, 16),
                (16, 9, 1 << 20, 64),
            ] {
                let mut device = device.clone();
                (device.kind, device.largest_group, device.local_memory) =
                    (kind, largest_group, local_memory);
                let p = Parameters {
                    sub_sample: SubSample::Quarter,
                    ..Parameters::new(100, 70, block_size, window)
                };
                let kernel = Kernel::CollaborativeUnaligned;
                let case = test_support::deep_case(case(p, test_support::Content::Moved), depth);
                let mut opened = OpenCl::new(&device, kernel, &Tuning::default(), &case.parameters).unwrap();
                check(&case, &mut opened);
            }
            for (largest_group, local_memory, named) in
                [(7, 1 << 20, "8 work-items"), (64, 2000, "bytes of local memory")]
            {
                let mut device = device.clone();
                (device.kind, device.largest_group, device.local_memory) =
                    (kind, largest_group, local_memory);
                let p = Parameters { sub_sample: SubSample::Half, ..Parameters::new(100, 70, 16, window) };
                let error = OpenCl::new(&device, Kernel::CollaborativeUnaligned, &Tuning::default(), &p)
                    .err()
                    .unwrap();
                let text = error.to_string();
                assert!(text.contains(named) && text.contains("search whole samples"), "{text}");
            }
        }
    }
}

/// Any groups, and two searches at a time, each with its fields.
#[test]
fn hierarchical_searches_in_flight_are_exact() {
    let cases = hierarchical_cases();
    for device in all_devices() {
        // Seconds to compile for each.
        for (index, case) in some_of(3, cases.iter().enumerate().step_by(17)) {
            let group_size = [None, Some(7), Some(100)][index % 3];
            let tuning = Tuning { depth: Some(3), group_size, ..Tuning::default() };
            let mut opened = OpenCl::new(&device, Kernel::Auto, &tuning, &case.parameters).unwrap();
            opened.load_frame(Slot::A, &case.reference).unwrap();
            opened.load_frame(Slot::B, &case.current).unwrap();
            let pairs = [(Slot::B, Slot::A), (Slot::A, Slot::B), (Slot::B, Slot::B)];
            let tickets = pairs.map(|(current, reference)| {
                let part = Part::whole(&case.parameters);
                opened.start_search(Request { current, reference, part, offset: -1 }).unwrap()
            });
            let frame = |slot| if slot == Slot::A { &case.reference } else { &case.current };
            for (ticket, (current, reference)) in tickets.into_iter().zip(pairs) {
                let mut output = Output::new(case.parameters.grid().blocks());
                opened.finish_search(ticket, &mut output).unwrap();
                let (current, reference) = (frame(current).view(), frame(reference).view());
                let expected = oracle::search(&case.parameters, &current, &reference);
                assert!(*output.vectors == *expected.vectors, "{}", case.name);
            }
        }
    }
}

/// Bonanno's check (section II): frames are rebuilt from the vectors of the serial and of the parallel
/// search, and their difference is zero everywhere, for several sizes of frames and blocks. If current and
/// reference frame are the same, the rebuilt frame is that frame.
#[test]
fn serial_and_parallel_frames_subtract_to_zero() {
    let devices = all_devices();
    for (width, height) in [(64, 36), (85, 48)] {
        let (reference, current) = frames(test_support::Content::Moved, width, height);
        for (block_size, current) in [4, 8, 20].into_iter().flat_map(|b| [(b, &reference), (b, &current)]) {
            let p = Parameters {
                algorithm: Algorithm::ThreeStep,
                metric: Metric::Ssd,
                ..Parameters::new(width, height, block_size, Window::symmetric(7, 7).unwrap())
            };
            let serial = oracle::three_step(&p, &current.view(), &reference.view());
            let serial = reconstruct(&p, &reference.view(), &serial.vectors);
            if std::ptr::eq(current, &reference) {
                assert_eq!(serial, reconstruct(&p, &reference.view(), &MotionField::new(&p).vectors));
            }
            let mut parallel: Vec<Box<dyn motion_search::estimator::Device>> =
                vec![Box::new(Native::new(p.clone()).unwrap())];
            for device in &devices {
                for kernel in Kernel::OPENCL_THREE_STEP {
                    parallel.push(Box::new(OpenCl::new(device, kernel, &Tuning::default(), &p).unwrap()));
                }
            }
            for mut device in parallel {
                let mut output = Output::new(p.grid().blocks());
                device.load_frame(Slot::A, &reference).unwrap();
                device.load_frame(Slot::B, current).unwrap();
                search(device.as_mut(), Slot::B, Slot::A, &mut output).unwrap();
                let parallel = reconstruct(&p, &reference.view(), &output.vectors);
                let rows = (0..p.extended_height()).map(|y| (serial.view().row(y), parallel.view().row(y)));
                let differences = rows.flat_map(|(a, b)| a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)));
                assert_eq!(differences.map(u64::from).sum::<u64>(), 0, "{} of {p:?}", device.info().kernel);
            }
        }
    }
}

/// Groups that are smaller than a block needs, or than a block has samples.
#[test]
fn small_groups_do_three_steps_or_say_why_not() {
    let window = Window::symmetric(5, 5).unwrap();
    for device in all_devices() {
        for (largest_group, block_size) in [(1, 8), (7, 8), (31, 16), (32, 16), (127, 20), (130, 64)] {
            let mut device = device.clone();
            device.largest_group = largest_group;
            let algorithm = Algorithm::ThreeStep;
            let p = Parameters { algorithm, ..Parameters::new(100, 70, block_size, window) };
            for kernel in Kernel::OPENCL_THREE_STEP {
                let case = case(p.clone(), test_support::Content::Noise);
                let needed = if block_size <= 16 { 32 } else { 128 };
                match OpenCl::new(&device, kernel, &Tuning::default(), &p) {
                    Ok(mut opened) => check(&case, &mut opened),
                    Err(SetupError::KernelUnsupported { reason, advice, .. }) => {
                        assert!(kernel == Kernel::ThreeStep && largest_group < needed, "{reason}");
                        assert!(reason.contains(&format!("{needed} work-items")), "{reason}");
                        assert!(advice.contains("three-step-unaligned"), "{advice}");
                    }
                    Err(error) => panic!("{kernel}: {error}"),
                }
            }
        }
    }
}

/// The largest window needs no more margin than a block on each side.
#[test]
fn the_longest_steps_take_little_memory() {
    let window = Window::symmetric(8191, 8191).unwrap();
    for mut device in all_devices() {
        device.largest_buffer = 48 << 10;
        for kernel in Kernel::OPENCL_THREE_STEP {
            let algorithm = Algorithm::ThreeStep;
            let p = Parameters { algorithm, ..parameters(150, 90, window) };
            check(
                &case(p.clone(), test_support::Content::Noise),
                &mut OpenCl::new(&device, kernel, &Tuning::default(), &p).unwrap(),
            );
        }
    }
}

fn case(p: Parameters, content: test_support::Content) -> Case {
    let (reference, current) = frames(content, p.width, p.height);
    Case { name: format!("{content:?} {p:?}"), parameters: p, reference, current }
}

fn parameters(width: usize, height: usize, window: Window) -> Parameters {
    Parameters::new(width, height, 16, window)
}

#[test]
fn any_parameters_are_exact() {
    let devices = all_devices();
    let algorithms = [Algorithm::Full, Algorithm::ThreeStep, Algorithm::Hierarchical];
    let kernels: Vec<_> =
        algorithms.into_iter().flat_map(|a| Kernel::of(a).iter().map(move |kernel| (a, *kernel))).collect();
    let strategy = (
        (1_usize..90, 1_usize..70, 0..kernels.len(), 0..CONTENTS.len(), 0..devices.len()),
        (-20..=0, 0..20, -20..=0, 0..20, any::<bool>(), any::<bool>(), any::<bool>()),
        proptest::sample::select(&[SubSample::None, SubSample::Quarter]),
    );
    // Few block sizes and metrics, because each pair is compiled; the other tests have all.
    let run =
        |((width, height, kernel, content, device), (x0, x1, y0, y1, ssd, small, restrict), sub_sample)| {
            let block_size = if small { 8 } else { 16 };
            let (algorithm, kernel) = kernels[kernel];
            let parameters = Parameters {
                algorithm,
                sub_sample: if algorithm == Algorithm::Hierarchical { SubSample::None } else { sub_sample },
                metric: if ssd { Metric::Ssd } else { Metric::Sad },
                border: if restrict { Border::Restrict } else { Border::Extend },
                ..Parameters::new(width, height, block_size, Window::new(x0, x1, y0, y1).unwrap())
            };
            let case = case(parameters, CONTENTS[content]);
            check_or_refused(&devices[device], kernel, &case, Tuning::default());
            Ok(())
        };
    let config = Config { cases: 60, failure_persistence: None, ..Config::default() };
    TestRunner::new(config).run(&strategy, run).unwrap();
}

#[test]
fn batches_of_jobs_are_exact() {
    let window = Window::new(-7, 9, -5, 6).unwrap();
    let p = parameters(61, 47, window);
    let job = 4 * p.grid().blocks() as u64;
    for device in all_devices() {
        for kernel in JOB_KERNELS {
            // One job at a time, a number that does not divide all, one less than all.
            for jobs in [1, 7, window.candidates() as u64 - 1] {
                for content in [test_support::Content::Moved, test_support::Content::Flat] {
                    let tuning = Tuning { cost_bytes: Some(job * jobs + 3), ..Tuning::default() };
                    check_or_refused(&device, kernel, &case(p.clone(), content), tuning);
                }
            }
            let tuning = Tuning { cost_bytes: Some(job - 1), ..Tuning::default() };
            let error = OpenCl::new(&device, kernel, &tuning, &p).err();
            assert!(matches!(error, Some(SetupError::Memory { limit, .. }) if limit == job - 1), "{error:?}");
        }
    }
}

#[test]
fn large_windows_take_tiles() {
    for device in all_devices() {
        // Longer rows of candidates than fit local memory, and more rows than fit.
        for window in [(-700, 700, 0, 2), (-3, 3, -300, 300)] {
            let window = Window::new(window.0, window.1, window.2, window.3).unwrap();
            let p = Parameters { block_size: 32, ..parameters(800, 330, window) };
            let mut p = p;
            if window.columns() < window.rows() {
                (p.width, p.height) = (70, 330);
            } else {
                (p.width, p.height) = (800, 33);
            }
            check_or_refused(
                &device,
                Kernel::Reference,
                &case(p, test_support::Content::Moved),
                Tuning::default(),
            );
        }
    }
}

#[test]
fn reference_naive_refuses_more_candidates_than_items() {
    for device in all_devices() {
        let side = ((device.largest_group as f64).sqrt() as i32 + 2) / 2 + 1;
        let p = parameters(4 * side as usize, 4 * side as usize, Window::symmetric(side, side).unwrap());
        let error = OpenCl::new(&device, Kernel::ReferenceNaive, &Tuning::default(), &p).err().unwrap();
        let text = error.to_string();
        assert!(matches!(error, SetupError::KernelUnsupported { .. }), "{text}");
        for part in [&p.window.candidates().to_string(), "work-item", "reference, collaborative-naive"] {
            assert!(text.contains(part), "{text}");
        }
    }
}

#[test]
fn a_kernel_that_does_not_build_gives_the_compilers_log() {
    for device in all_devices() {
        let error = try_build(&device, "__kernel void broken(void) { undeclared_name = 1; }").unwrap_err();
        let SetupError::KernelBuild { log, .. } = error else { panic!("{error}") };
        assert!(log.contains("undeclared_name"), "{log}");
        try_build(&device, "__kernel void whole(void) {}").unwrap();
    }
}

#[test]
fn too_large_a_frame_names_the_limit() {
    for mut device in all_devices() {
        device.largest_buffer = 10_000;
        let p = parameters(640, 480, Window::symmetric(4, 4).unwrap());
        let error = OpenCl::new(&device, Kernel::Reference, &Tuning::default(), &p).err().unwrap();
        assert!(matches!(error, SetupError::Memory { limit: 10_000, .. }), "{error}");
    }
}

#[test]
fn wrong_use_is_an_error() {
    let p = parameters(40, 30, Window::symmetric(4, 4).unwrap());
    let (frame, _) = frames(test_support::Content::Noise, 40, 30);
    let (other, _) = frames(test_support::Content::Noise, 41, 30);
    for device in all_devices() {
        let mut opened = OpenCl::new(&device, Kernel::Auto, &Tuning::default(), &p).unwrap();
        assert_ne!(opened.info().kernel, Kernel::Auto.name());
        let mut output = Output::new(p.grid().blocks());
        let [a, b] = [Slot::A, Slot::B];
        let empty = search(&mut opened, a, b, &mut output);
        assert!(matches!(empty, Err(EstimateError::EmptySlot(0))));
        assert!(opened.unload_frame(a).unwrap().is_none());
        opened.load_frame(a, &frame).unwrap();
        let empty = search(&mut opened, a, b, &mut output);
        assert!(matches!(empty, Err(EstimateError::EmptySlot(1))));
        let short = search(&mut opened, a, a, &mut Output::new(p.grid().blocks() - 1));
        assert!(matches!(short, Err(EstimateError::FieldSize(..))));
        assert!(matches!(opened.load_frame(b, &other), Err(EstimateError::FrameSize(..))));
        let bad = Parameters { block_size: 18, ..p.clone() };
        assert!(matches!(
            OpenCl::new(&device, Kernel::Auto, &Tuning::default(), &bad),
            Err(SetupError::BlockSize { size: 18, .. })
        ));
    }
}

#[test]
fn several_searches_run_at_once() {
    let window = Window::symmetric(6, 6).unwrap();
    std::thread::scope(|scope| {
        for device in all_devices() {
            for (index, kernel) in Kernel::OPENCL.into_iter().enumerate() {
                let device = device.clone();
                scope.spawn(move || {
                    let case = case(parameters(50 + index, 40, window), test_support::Content::Noise);
                    for _ in 0..3 {
                        check_or_refused(&device, kernel, &case, Tuning::default());
                    }
                });
            }
        }
    });
}

/// Which drivers there are is found out once a process.
fn check_without_devices(vendors: &std::path::Path, test: impl FnOnce()) {
    test_support::with_environment([("OCL_ICD_VENDORS", vendors), ("OPENCL_VENDOR_PATH", vendors)], test);
}

#[test]
fn no_driver_means_no_devices() {
    check_without_devices(std::path::Path::new("/nonexistent/"), || assert!(devices().is_empty()));
}

#[test]
fn a_folder_without_drivers_means_no_devices() {
    let folder = tempfile::tempdir().unwrap();
    check_without_devices(folder.path(), || assert!(devices().is_empty()));
}

#[test]
fn a_broken_driver_means_no_devices() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("gone.icd"), "/nonexistent/libgone.so\n").unwrap();
    check_without_devices(folder.path(), || assert!(devices().is_empty()));
}
