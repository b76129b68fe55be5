//! Who decides which kernel runs, and how: what is asked for, the user's file, the shipped table, the
//! rule, in this order.

use std::path::PathBuf;

use motion_search::backend::{self, DeviceSelector, Opened, Opener, Table, TuningSource, TuningWarning};
use motion_search::estimator::{Algorithm, Metric, Parameters, SetupError, Window};
use motion_search::opencl::DeviceKind;
use motion_search::tuning::{Kernel, Tuning};
use tempfile::TempDir;
use test_support::{Case, Content, check, frames};

fn parameters() -> Parameters {
    Parameters::new(77, 40, 16, Window::symmetric(5, 4).unwrap())
}

/// Devices that are opened with a tuning file.
struct WithFile {
    folder: TempDir,
}

impl WithFile {
    fn new(text: &str) -> Self {
        let with_file = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::write(with_file.path(), text).unwrap();
        with_file
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("tuning.toml")
    }

    fn open(&self, kernel: Kernel, tuning: Tuning, parameters: &Parameters) -> Result<Opened, SetupError> {
        let device = backend::find_opencl(&DeviceSelector::Auto)?;
        let selector = DeviceSelector::Index(device.platform, device.index);
        Opener::with_tuning_file(self.path()).open_device(&selector, kernel, &tuning, parameters)
    }

    /// The line of the entry that was taken.
    fn line(&self, opened: &Opened) -> Option<usize> {
        match &opened.1.source {
            TuningSource::User { file, line } => {
                assert_eq!(*file, self.path());
                Some(*line)
            }
            _ => None,
        }
    }
}

/// What the device finds is what the oracle finds.
fn check_exact(opened: &mut Opened, parameters: &Parameters) {
    let (reference, current) = frames(Content::Moved, parameters.width, parameters.height);
    let name = format!("{:?}", opened.1.source);
    check(&Case { name, parameters: parameters.clone(), reference, current }, opened.0.as_mut());
}

#[test]
fn the_users_entry_wins_and_what_is_asked_for_wins_over_it() {
    let with_file = WithFile::new(
        "[[entry]]\nkernel = \"two-pass\"\ntuning = { group-size = 32, cost-bytes = 9000 }\n\
        [[entry]]\nkernel = \"collaborative\"\ntuning = { group-size = 3 }\n\
        [[entry]]\nkernel = \"three-step-naive\"\n",
    );
    let (p, none) = (parameters(), Tuning::default());
    let mut plain = with_file.open(Kernel::Auto, none, &p).unwrap();
    assert_eq!((plain.0.info().kernel, with_file.line(&plain)), (Kernel::TwoPass.name(), Some(1)));
    assert!(plain.1.warnings.is_empty(), "{:?}", plain.1);
    check_exact(&mut plain, &p);

    let mut asked = with_file.open(Kernel::Collaborative, none, &p).unwrap();
    assert_eq!((asked.0.info().kernel, with_file.line(&asked)), (Kernel::Collaborative.name(), Some(4)));
    check_exact(&mut asked, &p);
    let asked = with_file.open(Kernel::ReferenceNaive, none, &p).unwrap();
    assert_eq!((asked.0.info().kernel, asked.1.source), (Kernel::ReferenceNaive.name(), TuningSource::Asked));

    // A field that is asked for holds: with too few bytes for a block's costs the entry cannot run.
    let few = Tuning { cost_bytes: Some(1), ..none };
    let refused = with_file.open(Kernel::TwoPass, few, &p).err().unwrap();
    assert!(matches!(refused, SetupError::Memory { limit: 1, .. }), "{refused}");

    let three_step = Parameters { algorithm: Algorithm::ThreeStep, ..p };
    let mut opened = with_file.open(Kernel::Auto, none, &three_step).unwrap();
    assert_eq!((opened.0.info().kernel, with_file.line(&opened)), (Kernel::ThreeStepNaive.name(), Some(7)));
    check_exact(&mut opened, &three_step);
}

#[test]
fn entries_that_the_device_cannot_run_are_passed_over_with_a_warning() {
    let with_file = WithFile::new(
        "[[entry]]\nkernel = \"two-pass\"\ntuning = { group-size = 1000000 }\n\
        [[entry]]\nkernel = \"two-pass\"\ntuning = { cost-bytes = 1 }\n\
        [[entry]]\nkernel = \"reference\"\nvendor = \"nobody of that name\"\n\
        [[entry]]\nkernel = \"collaborative-naive\"\n",
    );
    let p = parameters();
    let mut opened = with_file.open(Kernel::Auto, Tuning::default(), &p).unwrap();
    assert_eq!(
        (opened.0.info().kernel, with_file.line(&opened)),
        (Kernel::CollaborativeNaive.name(), Some(10))
    );
    let warnings: Vec<_> = opened.1.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("tuning.toml, line 1") && warnings[0].contains("1000000"), "{warnings:?}");
    assert!(warnings[1].contains("tuning.toml, line 4") && warnings[1].contains("costs"), "{warnings:?}");
    check_exact(&mut opened, &p);
}

#[test]
fn a_broken_file_is_a_warning_and_what_is_shipped_holds() {
    let with_file = WithFile::new("[[entry]]\nkernel = \"reference\"\ngroup-size = 4\n");
    let p = parameters();
    let opened = with_file.open(Kernel::Auto, Tuning::default(), &p).unwrap();
    assert!(!matches!(opened.1.source, TuningSource::User { .. }), "{:?}", opened.1);
    assert_ne!(opened.0.info().kernel, Kernel::Reference.name());
    let [warning @ TuningWarning::File { .. }] = &opened.1.warnings[..] else { panic!("{:?}", opened.1) };
    let text = warning.to_string();
    let file = with_file.path().display().to_string();
    assert!(text.contains(&file) && text.contains("line 3: ") && text.contains("group-size"), "{text}");
}

#[test]
fn without_a_file_the_shipped_entry_holds_and_else_the_rule() {
    let shipped = Table::read(include_str!("../../kernels/tuning.toml")).unwrap();
    for device in motion_search::opencl::devices() {
        let selector = DeviceSelector::Index(device.platform, device.index);
        for (block_size, range) in [(4, 3), (8, 5), (16, 16), (16, 32), (64, 3)] {
            let window = Window::symmetric(range, range).unwrap();
            let p = Parameters::new(90, 70, block_size, window);
            let mut opened = backend::open_device(&selector, Kernel::Auto, &Tuning::default(), &p).unwrap();
            assert!(opened.1.warnings.is_empty(), "{:?}", opened.1);
            check_exact(&mut opened, &p);
            let kernel = opened.0.info().kernel;
            match opened.1.source {
                TuningSource::Shipped { .. } => {
                    assert!(shipped.entries().any(|entry| entry.kernel.name() == kernel))
                }
                TuningSource::Rule => assert!(!device.driver.contains("Portable"), "PoCL has an entry"),
                other => panic!("{other:?}"),
            }
        }
    }
}

/// The shipped entries for PoCL, in the searches that they are for.
#[test]
fn auto_on_pocl_is_the_kernel_of_its_entry() {
    let is_pocl = |device: &&motion_search::opencl::OpenClDevice| {
        device.kind == DeviceKind::Cpu && device.driver.contains("Portable Computing Language")
    };
    let devices = motion_search::opencl::devices();
    for device in devices.iter().filter(is_pocl) {
        let selector = DeviceSelector::Index(device.platform, device.index);
        let full = parameters();
        let small = Parameters { block_size: 4, ..full.clone() };
        let ssd = Parameters { metric: Metric::Ssd, ..full.clone() };
        let wide = Parameters { window: Window::symmetric(128, 128).unwrap(), ..full.clone() };
        let three_step = Parameters { algorithm: Algorithm::ThreeStep, ..full.clone() };
        for (p, kernel) in [
            (full, Kernel::TwoPass),
            (small, Kernel::CollaborativeNaive),
            (ssd, Kernel::CollaborativeNaive),
            (wide, Kernel::CollaborativeUnaligned),
            (three_step, Kernel::ThreeStepUnaligned),
        ] {
            let mut opened = backend::open_device(&selector, Kernel::Auto, &Tuning::default(), &p).unwrap();
            assert_eq!(opened.0.info().kernel, kernel.name(), "{p:?}");
            assert!(matches!(opened.1.source, TuningSource::Shipped { .. }), "{:?}", opened.1);
            assert!(opened.1.warnings.is_empty(), "{:?}", opened.1);
            check_exact(&mut opened, &p);
        }
    }
}
