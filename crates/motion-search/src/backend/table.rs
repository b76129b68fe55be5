//! Tuning tables: the measured fastest kernel and tuning for a device and a search.
//!
//! A table is a TOML file of entries. The first matching entry is used:
//!
//! ```toml
//! [[entry]]
//! kind = "gpu"              # gpu, cpu or accelerator
//! vendor = "NVIDIA"         # part of the vendor's name, case ignored
//! device = "H200"           # part of the device's name, case ignored
//! driver = "NVIDIA CUDA"    # part of the platform's name and the driver's version, case ignored
//! metric = "sad"            # sad or ssd
//! block-size = [4, 8]       # smallest, largest
//! candidates = [1, 1500]    # number of candidates of the window: fewest, most
//! kernel = "tiled"
//! tuning = { run = 33, blocks-across = 4 }    # the fields of `Tuning`
//! ```
//!
//! Only the kernel is required. A field that an entry lacks matches everything. The kernel decides the
//! algorithm that the entry is for.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::estimator::{Metric, Parameters};
use crate::opencl::{DeviceKind, OpenClDevice};
use crate::tuning::{Kernel, Tuning};

/// The fastest kernel, and the devices and searches that it is the fastest for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Entry {
    /// The kind of device; `None` matches all.
    pub kind: Option<DeviceKind>,
    /// Part of the vendor's name, case ignored.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub vendor: String,
    /// Part of the device's name, case ignored.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub device: String,
    /// Part of the platform's name and the driver's version, case ignored.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub driver: String,
    /// The metric; `None` matches all.
    pub metric: Option<Metric>,
    /// The smallest and the largest block size; `None` matches all.
    pub block_size: Option<[usize; 2]>,
    /// The fewest and the most candidates of the window; `None` matches all.
    pub candidates: Option<[usize; 2]>,
    /// The fastest kernel, never [`Kernel::Auto`].
    pub kernel: Kernel,
    /// The tuning with which it is the fastest.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tuning: Tuning,
}

fn is_default(tuning: &Tuning) -> bool {
    *tuning == Tuning::default()
}

/// The properties of a device that entries are matched with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity<'a> {
    pub(super) kind: DeviceKind,
    pub(super) vendor: &'a str,
    pub(super) device: &'a str,
    pub(super) driver: &'a str,
}

impl<'a> From<&'a OpenClDevice> for Identity<'a> {
    fn from(device: &'a OpenClDevice) -> Self {
        Self { kind: device.kind, vendor: &device.vendor, device: &device.name, driver: &device.driver }
    }
}

impl Entry {
    /// An entry for `device` with any driver.
    pub fn of(device: &OpenClDevice, kernel: Kernel, tuning: Tuning) -> Self {
        Self {
            kind: Some(device.kind),
            vendor: device.vendor.clone(),
            device: device.name.clone(),
            kernel,
            tuning,
            ..Self::default()
        }
    }

    /// Whether both are for the same devices.
    pub fn is_for_device_of(&self, other: &Self) -> bool {
        (self.kind, &self.vendor, &self.device, &self.driver)
            == (other.kind, &other.vendor, &other.device, &other.driver)
    }

    /// Whether it matches a search with `parameters` on `device`.
    pub(super) fn fits(&self, device: &Identity<'_>, parameters: &Parameters) -> bool {
        let names =
            [(&self.vendor, device.vendor), (&self.device, device.device), (&self.driver, device.driver)];
        let within =
            |range: Option<[usize; 2]>, value| range.is_none_or(|[from, to]| from <= value && value <= to);
        self.kind.is_none_or(|kind| kind == device.kind)
            && names.iter().all(|(part, name)| name.to_lowercase().contains(&part.to_lowercase()))
            && self.metric.is_none_or(|metric| metric == parameters.metric)
            && within(self.block_size, parameters.block_size)
            && within(self.candidates, parameters.window.candidates())
            && Kernel::of(parameters.algorithm).contains(&self.kernel)
    }

    /// What is wrong with a well-formed entry.
    fn fault(&self) -> Option<String> {
        let kernels = || [Kernel::OPENCL.as_slice(), &Kernel::OPENCL_THREE_STEP].concat();
        if !kernels().contains(&self.kernel) {
            return Some(format!("kernel {} does not run on OpenCL devices", self.kernel));
        }
        for (field, range) in [("block-size", self.block_size), ("candidates", self.candidates)] {
            if let Some([from, to]) = range.filter(|[from, to]| from > to) {
                return Some(format!(
                    "{field} = [{from}, {to}] is an empty range: the smaller number comes first"
                ));
            }
        }
        self.tuning.validate().err().map(|error| error.to_string())
    }
}

/// Why a text is not a valid table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong in it.
    pub reason: String,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for TableError {}

/// A tuning table: entries, each with the line on which it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    entries: Vec<(usize, Entry)>,
}

/// A table as TOML to read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadTable {
    #[serde(default)]
    entry: Vec<Spanned<Entry>>,
}

/// A table as TOML to write.
#[derive(Serialize)]
struct WrittenTable<'a> {
    entry: Vec<&'a Entry>,
}

impl Table {
    /// The table that `text` holds.
    ///
    /// # Errors
    /// [`TableError`] if it is not TOML, has an unknown field or one of the wrong type, or a value that is
    /// not usable.
    pub fn read(text: &str) -> Result<Self, TableError> {
        let line =
            |span: Range<usize>| 1 + text.bytes().take(span.start).filter(|byte| *byte == b'\n').count();
        let read: ReadTable = toml::from_str(text).map_err(|error| TableError {
            line: error.span().map_or(1, line),
            reason: error.message().lines().collect::<Vec<_>>().join(", "),
        })?;
        let entries = read.entry.into_iter().map(|entry| (line(entry.span()), entry.into_inner()));
        let entries: Vec<_> = entries.collect();
        match entries.iter().find_map(|(line, entry)| Some((*line, entry.fault()?))) {
            Some((line, reason)) => Err(TableError { line, reason }),
            None => Ok(Self { entries }),
        }
    }

    /// A table of `entries` as a text for [`Self::read`].
    pub fn write(entries: &[Entry]) -> String {
        // This cannot fail: TOML can express every entry, whose numbers are counts of less than 63 bits.
        toml::to_string(&WrittenTable { entry: entries.iter().collect() }).unwrap_or_default()
    }

    /// The entries, in their order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(|(_, entry)| entry)
    }

    /// The entries that match a search with `parameters` on `device`, with their lines.
    pub(super) fn fitting<'a>(
        &'a self,
        device: Identity<'a>,
        parameters: &'a Parameters,
    ) -> impl Iterator<Item = (usize, &'a Entry)> + 'a {
        let fitting = self.entries.iter().filter(move |(_, entry)| entry.fits(&device, parameters));
        fitting.map(|(line, entry)| (*line, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::{Algorithm, Window};

    const POCL: Identity<'_> = Identity {
        kind: DeviceKind::Cpu,
        vendor: "AuthenticAMD",
        device: "pthread-AMD EPYC",
        driver: "Portable Computing Language 3.1",
    };

    fn parameters(block_size: usize, range: i32) -> Parameters {
        Parameters::new(320, 200, block_size, Window::symmetric(range, range).unwrap())
    }

    #[test]
    fn the_first_matching_entry_is_used() {
        let table = Table::read(
            "# a comment\n\
             [[entry]]\nkernel = \"tiled\"\nkind = \"gpu\"\n\
             [[entry]]\nkernel = \"tiled\"\nvendor = \"nvidia\"\n\
             [[entry]]\nkernel = \"reference\"\nblock-size = [4, 8]\n\
             [[entry]]\nkernel = \"two-pass\"\ncandidates = [1, 81]\ndriver = \"portable\"\n\
             [[entry]]\nkernel = \"collaborative\"\nmetric = \"ssd\"\n\
             [[entry]]\nkernel = \"three-step\"\n\
             [[entry]]\nkernel = \"collaborative-unaligned\"\ntuning = { cost-bytes = 4096 }\n",
        )
        .unwrap();
        let first = |device: Identity<'_>, p: &Parameters| {
            table.fitting(device, p).next().map(|(line, entry)| (line, entry.kernel))
        };
        assert_eq!(first(POCL, &parameters(4, 1)), Some((8, Kernel::Reference)));
        assert_eq!(first(POCL, &parameters(8, 1)), Some((8, Kernel::Reference)));
        assert_eq!(first(POCL, &parameters(12, 4)), Some((11, Kernel::TwoPass)));
        assert_eq!(first(POCL, &parameters(12, 5)), Some((20, Kernel::CollaborativeUnaligned)));
        let ssd = Parameters { metric: Metric::Ssd, ..parameters(12, 5) };
        assert_eq!(first(POCL, &ssd), Some((15, Kernel::Collaborative)));
        let three_step = Parameters { algorithm: Algorithm::ThreeStep, ..parameters(4, 5) };
        assert_eq!(first(POCL, &three_step), Some((18, Kernel::ThreeStep)));
        let gpu = Identity { kind: DeviceKind::Gpu, ..POCL };
        assert_eq!(first(gpu, &parameters(4, 1)), Some((2, Kernel::Tiled)));
        let nvidia = Identity { vendor: "NVIDIA Corporation", ..POCL };
        assert_eq!(first(nvidia, &parameters(4, 1)), Some((5, Kernel::Tiled)));
    }

    #[test]
    fn a_written_table_can_be_read() {
        let plain = Entry { kernel: Kernel::Tiled, ..Entry::default() };
        let whole = Entry {
            kind: Some(DeviceKind::Accelerator),
            vendor: "a \"vendor\"".into(),
            device: "a\\device".into(),
            driver: "1.2".into(),
            metric: Some(Metric::Ssd),
            block_size: Some([4, 64]),
            candidates: Some([1, 1089]),
            kernel: Kernel::CollaborativeNaive,
            tuning: Tuning {
                group_size: Some(8),
                cost_bytes: Some(1 << 40),
                launch: Some(crate::tuning::Launch::Queues(2)),
                launches: Some(9),
                ..Tuning::default()
            },
        };
        let entries = [whole, plain];
        let text = Table::write(&entries);
        let read = Table::read(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert!(read.entries().eq(&entries), "{text}");
        assert_eq!(Table::read("").unwrap(), Table::default());
    }

    #[test]
    fn an_error_names_its_line() {
        for (text, line, named) in [
            ("\n\nentry = 3", 3, "sequence"),
            ("[[entry]]\nkernel = tiled", 2, ""),
            ("[[entry]]\nkernel = \"tield\"", 2, "tield"),
            ("[[entry]]\nkernel = \"tiled\"\n\n[[entry]]\nvendor = \"a\"", 4, "kernel"),
            ("[[entry]]\nkernel = \"auto\"", 1, "auto"),
            ("[[entry]]\nkernel = \"tiled\"\nblocks = 4", 3, "blocks"),
            ("[[entry]]\nkernel = \"tiled\"\nblock-size = [8, 4]", 1, "block-size"),
            ("[[entry]]\nkernel = \"tiled\"\nblock-size = [8]", 3, "length"),
            ("[[entry]]\nkernel = \"tiled\"\ncandidates = [-1, 4]", 3, "-1"),
            ("[[entry]]\nkernel = \"tiled\"\ntuning = { runs = 4 }", 3, "runs"),
            ("\n[[entry]]\nkernel = \"tiled\"\ntuning = { run = 0 }", 2, "run"),
            ("[[entry]]\nkernel = \"tiled\"\ntuning = { depth = 2 }", 3, "depth"),
            ("[[entry]]\nkernel = \"exhaustive\"", 1, "exhaustive"),
            ("[[entry]]\nkernel = \"tiled\"\nkind = \"dsp\"", 3, "dsp"),
            ("[[entries]]\nkernel = \"tiled\"", 1, "entries"),
            ("\u{0}", 1, ""),
        ] {
            let error = Table::read(text).unwrap_err();
            assert!(error.line == line && error.reason.contains(named), "{text:?}: {error}");
            assert!(!error.reason.is_empty() && !error.reason.contains('\n'), "{text:?}: {error}");
        }
    }
}
