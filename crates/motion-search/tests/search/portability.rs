//! Devices that are unlike those of this machine: they say that they have other limits, and the kernels that
//! are then chosen and built run here.

use std::time::Duration;

use motion_gpu::launcher::{Arg, QueueKind, Rectangle};
use motion_gpu::program;
use motion_search::estimator::{
    Algorithm, Border, Device as _, Launcher, Metric, Parameters, SetupError, Window,
};
use motion_search::opencl::{DeviceKind, OpenCl, OpenClDevice};
use motion_search::tuning::{Kernel, Tuning};
use test_support::{Case, Content, Noise, check, frames};

use crate::all_devices;

fn case(algorithm: Algorithm, metric: Metric) -> Case {
    let window = Window::new(-7, 9, -5, 6).unwrap();
    let parameters =
        Parameters { algorithm, metric, border: Border::Restrict, ..Parameters::new(77, 40, 16, window) };
    let (reference, current) = frames(Content::Moved, parameters.width, parameters.height);
    Case { name: format!("{algorithm:?} {metric:?}"), parameters, reference, current }
}

/// The name of the kernel with which `device` found the field of `case`.
fn checked(device: &OpenClDevice, kernel: Kernel, case: &Case) -> &'static str {
    let mut opened = OpenCl::new(device, kernel, &Tuning::default(), &case.parameters).unwrap();
    check(case, &mut opened);
    opened.info().kernel
}

#[test]
fn a_second_dimension_of_one_item_is_enough() {
    let cases = [Algorithm::Full, Algorithm::ThreeStep].map(|algorithm| case(algorithm, Metric::Sad));
    for mut device in all_devices() {
        device.largest_second = 1;
        checked(&device, Kernel::Hierarchical, &case(Algorithm::Hierarchical, Metric::Sad));
        for (kernels, case) in [&Kernel::OPENCL[..], &Kernel::OPENCL_THREE_STEP].into_iter().zip(&cases) {
            for &kernel in kernels {
                checked(&device, kernel, case);
            }
        }
    }
}

#[test]
fn auto_chooses_a_kernel_that_the_device_can_run() {
    let [full, three_step] =
        [Algorithm::Full, Algorithm::ThreeStep].map(|algorithm| case(algorithm, Metric::Sad));
    for mut device in all_devices() {
        device.kind = DeviceKind::Gpu;
        device.has_local_memory = true;
        assert_eq!(checked(&device, Kernel::Auto, &full), "tiled");
        assert_eq!(checked(&device, Kernel::Auto, &three_step), "three-step");
        let hierarchical = case(Algorithm::Hierarchical, Metric::Sad);
        assert_eq!(checked(&device, Kernel::Auto, &hierarchical), "hierarchical");
        let mut small = device.clone();
        small.largest_group = 7;
        assert_eq!(checked(&small, Kernel::Auto, &hierarchical), "hierarchical");
        (small.local_memory, small.largest_group) = (100, 7);
        device.has_local_memory = false;
        for device in [small, device] {
            assert_eq!(checked(&device, Kernel::Auto, &full), "collaborative-unaligned");
            assert_eq!(checked(&device, Kernel::Auto, &three_step), "three-step-unaligned");
        }
    }
}

#[test]
fn words_in_the_other_byte_order_are_an_error() {
    let case = case(Algorithm::Full, Metric::Sad);
    for mut device in all_devices() {
        device.is_little_endian = false;
        let error = OpenCl::new(&device, Kernel::Auto, &Tuning::default(), &case.parameters).err();
        let Some(error @ SetupError::DeviceUnsupported { .. }) = error else { panic!("{error:?}") };
        assert!(error.to_string().contains("highest byte first"), "{error}");
    }
}

/// The compiler does not know the instructions that the device names: the portable form is built.
#[test]
fn instructions_that_the_compiler_lacks_are_not_needed() {
    for mut device in all_devices() {
        if device.extensions.contains("cl_amd_media_ops") {
            println!("\n**** SKIPPED: {} has cl_amd_media_ops ****\n", device.name);
            continue;
        }
        device.extensions = "cl_amd_media_ops".into();
        // No other program of this test run has these options.
        let case = case(Algorithm::Full, Metric::Sad);
        checked(&device, Kernel::Collaborative, &case);
    }
}

/// A form of the instructions for four samples.
struct Form {
    name: &'static str,
    /// `FOUR_SAMPLES` in `common.cl`.
    flags: u8,
    /// Source that a compiler without the extension needs before `common.cl`.
    emulation: &'static str,
}

/// What the extensions say of their functions.
const FORMS: [Form; 3] = [
    Form { name: "vabsdiff4 and dp4a", flags: 3, emulation: "" },
    Form {
        name: "amd_sad",
        flags: 4,
        emulation: "uint amd_sad(uint a, uint b, uint sum) { uchar *x = (uchar *)&a, *y = (uchar *)&b; \
                    for (int i = 0; i < 4; ++i) sum += x[i] > y[i] ? x[i] - y[i] : y[i] - x[i]; return sum; }\n",
    },
    Form {
        name: "dot_4x8packed_uu_uint",
        flags: 8,
        emulation: "uint dot_4x8packed_uu_uint(uint a, uint b) { uchar *x = (uchar *)&a, *y = (uchar *)&b; \
                    uint sum = 0; for (int i = 0; i < 4; ++i) sum += (uint)x[i] * y[i]; return sum; }\n",
    },
];

/// The costs that `compare_four` of `common.cl` adds for each pair of words; `None` if it does not build.
fn costs(device: &OpenClDevice, options: &str, emulation: &str, words: [&[u32]; 2]) -> Option<Vec<u32>> {
    let kernel = "__kernel void compare(__global const uint *c, __global const uint *r, __global uint *costs) \
                  { const size_t i = get_global_id(0); costs[i] = compare_four(c[i], r[i], 1000); }";
    let source = [emulation, include_str!("../../kernels/common.cl"), kernel].concat();
    let context = device.new_context(Launcher::OpenCl).unwrap();
    let program = match program::build(&context, device, "compare", &source, options) {
        Err(SetupError::KernelBuild { .. }) => return None,
        built => built.unwrap(),
    };
    let queue = context.queue(QueueKind::Ordered).unwrap();
    let buffer = |words: &[u32]| {
        let buffer = context.buffer(size_of_val(words)).unwrap();
        queue.write(&buffer, bytemuck::cast_slice(words)).unwrap();
        buffer
    };
    let (c, r, found) = (buffer(words[0]), buffer(words[1]), buffer(words[0]));
    let mut kernel = program.kernel(c"compare").unwrap();
    // SAFETY: each item reads and writes its own word of buffers that have one for each item.
    unsafe { queue.launch(&mut kernel, &[&c, &r, &found].map(Arg::Buffer), [words[0].len()], [1]).unwrap() };
    let mut costs = vec![0_u32; words[0].len()];
    let width = size_of_val(&costs[..]);
    let row = Rectangle { left: 0, top: 0, width, height: 1, pitch: width };
    // SAFETY: the costs stay where they are until they are read; the buffer has as many.
    let read = unsafe { queue.begin_read_rows(&found, row, bytemuck::cast_slice_mut(&mut costs)).unwrap() };
    queue.flush().unwrap();
    context.watch().wait(&read, Duration::MAX).unwrap();
    Some(costs)
}

#[test]
fn every_form_of_the_instructions_for_four_samples_adds_the_same() {
    let mut noise = Noise::new(5);
    let mut words = || -> Vec<u32> {
        let noise = (0..4000).map(|_| u32::from_le_bytes([0; 4].map(|_| noise.next())));
        noise.chain([0, u32::MAX, 0xff00_ff00, 0x00ff_00ff]).collect()
    };
    let words = [words(), words()];
    let words = [&words[0][..], &words[1][..]];
    for device in all_devices() {
        let is_nvidia = device.kind == DeviceKind::Gpu && device.vendor.contains("NVIDIA");
        for metric in ["METRIC_SAD", "METRIC_SSD"] {
            let of = |flags: u8, emulation| {
                let options = format!("-D METRIC={metric} -D FOUR_SAMPLES={flags}");
                costs(&device, &options, emulation, words)
            };
            let expected = of(0, "").expect("the portable form builds");
            for form in &FORMS {
                let name = format!("{} on {}", form.name, device.name);
                if form.emulation.is_empty() {
                    // Compilers for other devices may accept inline assembly until they translate it.
                    match is_nvidia {
                        true => assert_eq!(of(form.flags, ""), Some(expected.clone()), "{name}, {metric}"),
                        false => println!("**** SKIPPED: {name}: it is not one of NVIDIA's ****"),
                    }
                    continue;
                }
                match of(form.flags, "") {
                    Some(found) => assert_eq!(found, expected, "{name}, {metric}"),
                    None => {
                        println!("{name}: its compiler lacks the function, which is emulated");
                        assert_eq!(
                            of(form.flags, form.emulation),
                            Some(expected.clone()),
                            "{name}, {metric}"
                        );
                    }
                }
            }
        }
    }
}
