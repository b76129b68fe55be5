//! The pipelines, and what may be changed in each while it plays.

/// A property that is set at random to one of its values.
#[derive(Clone)]
pub struct Tunable {
    /// The name of the element in the pipeline.
    pub element: &'static str,
    pub property: &'static str,
    pub values: &'static [&'static str],
}

/// A pipeline between a source and a sink.
pub struct Description {
    pub name: &'static str,
    /// The elements; the first has the name `first`.
    pub elements: &'static str,
    pub formats: &'static [&'static str],
    /// Frame sizes.
    pub sizes: &'static [(i32, i32)],
    pub tunables: Vec<Tunable>,
    /// Whether each frame of a sequence but the first must leave with a motion field.
    pub has_vectors: bool,
}

const EIGHT_BITS: &[&str] = &["GRAY8", "I420", "NV12", "Y444"];

/// Whole blocks, part of a block at the edges, less than a block.
const SIZES: &[(i32, i32)] = &[(96, 64), (64, 64), (61, 47), (112, 48), (14, 10)];

/// On OpenCL devices each size and each of [`compiled`] is a program of its own. PoCL holds what it has compiled, so memory
/// stays the same only if that comes to an end.
const FEW_SIZES: &[(i32, i32)] = &[(96, 64), (61, 47)];

const NATIVE: &[&str] = &["native", "native,"];
/// `cpu` is the first OpenCL device on the CPU.
const OPENCL: &[&str] = &["cpu", "cpu,"];
const LIST: &[&str] = &["cpu,native", "cpu@0.3,native@0.7", "native,cpu"];
const ANY: &[&str] = &["native", "cpu", "cpu,native"];

fn tunable(element: &'static str, property: &'static str, values: &'static [&'static str]) -> Tunable {
    Tunable { element, property, values }
}

/// What every element that searches has.
fn of_devices(element: &'static str, devices: &'static [&'static str]) -> Vec<Tunable> {
    vec![
        tunable(element, "device", devices),
        tunable(element, "pipeline-depth", &["1", "2", "4"]),
        tunable(element, "threads", &["1", "2"]),
        tunable(element, "split", &["rows", "candidates", "frames"]),
        tunable(element, "balance", &["adaptive", "fit", "static"]),
    ]
}

/// What `motionestimate` has besides. Any two values go together.
fn of_search(element: &'static str, devices: &'static [&'static str]) -> Vec<Tunable> {
    let mut tunables = of_devices(element, devices);
    tunables.extend(if devices == NATIVE { compiled(element) } else { vec![] });
    tunables.extend([
        tunable(element, "direction", &["backward", "both"]),
        tunable(element, "references", &["1", "2", "4"]),
        tunable(element, "prediction", &["none", "median"]),
        tunable(element, "costs", &["", "zero", "satd+variance", "confidence"]),
        tunable(element, "scene-cut", &["off", "message", "key-unit"]),
    ]);
    tunables
}

/// What an OpenCL device would compile a program for.
fn compiled(element: &'static str) -> Vec<Tunable> {
    vec![
        tunable(element, "algorithm", &["full", "three-step"]),
        tunable(element, "search-range", &["2", "4", "8"]),
        tunable(element, "block-size", &["8", "12", "16"]),
        tunable(element, "sub-sample", &["none", "half", "quarter"]),
        tunable(element, "metric", &["sad", "ssd"]),
        tunable(element, "border", &["extend", "restrict"]),
    ]
}

/// Pipelines whose frames are in memory of CUDA: the GPU that has them searches and makes frames, launched by either API beside the
/// other, or the CPU does.
pub fn in_cuda() -> Vec<Description> {
    const FORMATS: &[&str] = &["I420", "NV12", "P010_10LE", "Y444"];
    const SIZES: &[(i32, i32)] = &[(320, 180), (322, 178), (1280, 720)];
    const DEVICES: &[&str] = &["auto", "native"];
    let lane = |name, elements, more: &[Tunable], has_vectors| {
        let mut tunables =
            vec![tunable("first", "device", DEVICES), tunable("first", "pipeline-depth", &["1", "2", "4"])];
        tunables.extend_from_slice(more);
        Description { name, elements, formats: FORMATS, sizes: SIZES, tunables, has_vectors }
    };
    let qualities = |values| [tunable("first", "quality", values)];
    let searched = qualities(&["fast", "balanced", "high"]);
    let made = qualities(&["fast", "balanced", "high"]);
    let modes = [tunable("first", "mode", &["motion", "blend", "repeat"])];
    vec![
        lane("full", "cudaupload ! motionestimate name=first ! cudadownload", &[], true),
        lane(
            "hierarchical",
            "cudaupload ! motionestimate name=first algorithm=hierarchical ! cudadownload",
            &searched,
            true,
        ),
        lane(
            "opencl",
            "cudaupload ! motionestimate name=first algorithm=hierarchical tuning=motion-tuning,launcher=opencl \
             ! cudadownload",
            &searched,
            true,
        ),
        lane(
            "interpolation",
            "cudaupload ! motioninterpolate name=first ! video/x-raw(memory:CUDAMemory),framerate=200/1 ! cudadownload",
            &[made.clone(), modes].concat(),
            false,
        ),
        lane(
            "both",
            "cudaupload ! motioninterpolate name=first ! video/x-raw(memory:CUDAMemory),framerate=200/1 \
             ! motionestimate device=native ! cudadownload",
            &made,
            false,
        ),
    ]
}

/// The pipelines: each element at least once, each kind of device at least once.
pub fn all() -> Vec<Description> {
    let search = |name, elements, devices, more: Vec<Tunable>, has_vectors| {
        let tunables = of_search("first", devices).into_iter().chain(more).collect();
        let sizes = if devices == NATIVE { SIZES } else { FEW_SIZES };
        Description { name, elements, formats: EIGHT_BITS, sizes, tunables, has_vectors }
    };
    let other = |name, elements, formats, more: Vec<Tunable>, has_vectors| {
        let tunables = of_devices("first", ANY).into_iter().chain(more).collect();
        Description { name, elements, formats, sizes: FEW_SIZES, tunables, has_vectors }
    };
    const FIRST: &str = "first";
    const SECOND: &str = "second";
    vec![
        search("native", "motionestimate name=first device=native", NATIVE, vec![], true),
        search("opencl", "motionestimate name=first device=cpu", OPENCL, vec![], true),
        search("list", "motionestimate name=first device=cpu,native", LIST, vec![], true),
        other(
            "hierarchical",
            "motionestimate name=first algorithm=hierarchical device=native",
            &["GRAY8", "I420", "I420_10LE", "P010_10LE"],
            vec![tunable(FIRST, "quality", &["fast", "balanced", "high"])],
            true,
        ),
        other(
            "interpolation",
            "motioninterpolate name=first device=native ! video/x-raw,framerate=200/1",
            EIGHT_BITS,
            vec![
                tunable(FIRST, "mode", &["motion", "blend", "repeat"]),
                tunable(FIRST, "scene-cut", &["auto", "off"]),
            ],
            false,
        ),
        other(
            "denoising",
            "motiondenoise name=first device=native",
            EIGHT_BITS,
            vec![
                tunable(FIRST, "strength", &["0", "1", "4"]),
                tunable(FIRST, "past", &["0", "1", "2"]),
                tunable(FIRST, "future", &["0", "1", "2"]),
            ],
            false,
        ),
        // It chooses no device.
        Description {
            name: "detection",
            elements: "motiondetect name=first",
            formats: EIGHT_BITS,
            sizes: FEW_SIZES,
            tunables: vec![
                tunable(FIRST, "sensitivity", &["0.2", "0.5", "1"]),
                tunable(FIRST, "mask", &["", "0,0 1,0 0,1"]),
                tunable(FIRST, "messages", &["false", "true"]),
            ],
            has_vectors: false,
        },
        search(
            "compensation",
            "motionestimate name=first device=native ! motioncompensate name=second",
            ANY,
            vec![
                tunable(SECOND, "mode", &["prediction", "residual", "original"]),
                tunable(SECOND, "measure", &["none", "psnr"]),
            ],
            false,
        ),
        search(
            "overlay",
            "motionestimate name=first device=cpu,native ! motionoverlay name=second",
            ANY,
            vec![
                tunable(SECOND, "style", &["arrows", "color", "devices"]),
                tunable(SECOND, "scale", &["1", "3"]),
                tunable(SECOND, "legend", &["false", "true"]),
            ],
            true,
        ),
        search(
            "ndjson",
            "motionestimate name=first device=native ! motionserialize ! application/x-ndjson",
            ANY,
            vec![],
            false,
        ),
        search(
            "binary",
            "motionestimate name=first device=native ! motionserialize ! application/x-motion-vectors",
            NATIVE,
            vec![],
            false,
        ),
    ]
}
