//! The two tuning tables: the user's file takes precedence over the built-in table.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::chosen::{TuningSource, TuningWarning};
use super::table::{Entry, Identity, Table};
use crate::estimator::Parameters;
use crate::tuning::{Kernel, Tuning};

/// The built-in table. A test checks that it is valid.
static SHIPPED: LazyLock<Table> =
    LazyLock::new(|| Table::read(include_str!("../../kernels/tuning.toml")).unwrap_or_default());

/// The size in bytes above which a file is refused.
const LARGEST_FILE: u64 = 1 << 20;

/// The table in `file`, empty if there is no such file.
///
/// # Errors
/// [`TuningWarning::File`] if the file cannot be read or is not a valid table.
pub fn read_file(file: &Path) -> Result<Table, TuningWarning> {
    let wrong = |reason: String| TuningWarning::File { file: file.into(), reason };
    let mut text = String::new();
    match File::open(file).and_then(|file| file.take(LARGEST_FILE + 1).read_to_string(&mut text)) {
        Ok(_) if text.len() as u64 > LARGEST_FILE => Err(wrong(format!("more than {LARGEST_FILE} bytes"))),
        Ok(_) => Table::read(&text).map_err(|error| wrong(error.to_string())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Table::default()),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// A kernel and its tuning, and their origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Proposal {
    pub(super) kernel: Kernel,
    pub(super) tuning: Tuning,
    pub(super) source: TuningSource,
}

/// Both tables, and a warning if the user's cannot be used.
pub(super) struct Tables {
    user: Option<(PathBuf, Table)>,
    pub(super) warning: Option<TuningWarning>,
}

impl Tables {
    /// The built-in table, and the user's `file` if there is one.
    pub(super) fn with(file: Option<&Path>) -> Self {
        match file.map(|file| (read_file(file), file)) {
            Some((Ok(table), file)) => Self { user: Some((file.into(), table)), warning: None },
            Some((Err(warning), _)) => Self { user: None, warning: Some(warning) },
            None => Self { user: None, warning: None },
        }
    }

    /// The matching entries for a search on `device`, best first; none for samples of more than eight bits, with which
    /// none was measured. Unless `kernel` is [`Kernel::Auto`], only
    /// entries with that kernel match. Values set in `tuning` replace those of the entries.
    pub(super) fn proposals(
        &self,
        device: Identity<'_>,
        kernel: Kernel,
        tuning: &Tuning,
        parameters: &Parameters,
    ) -> Vec<Proposal> {
        if parameters.bit_depth > 8 {
            return Vec::new();
        }
        let propose = |entry: &Entry, source| Proposal {
            kernel: entry.kernel,
            tuning: tuning.or(entry.tuning),
            source,
        };
        let user = self.user.iter().flat_map(|(file, table)| {
            let source = |line| TuningSource::User { file: file.clone(), line };
            table.fitting(device, parameters).map(move |(line, entry)| propose(entry, source(line)))
        });
        let shipped = SHIPPED.fitting(device, parameters);
        let shipped = shipped.map(|(line, entry)| propose(entry, TuningSource::Shipped { line }));
        user.chain(shipped).filter(|proposal| kernel == Kernel::Auto || kernel == proposal.kernel).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::Window;
    use crate::opencl::DeviceKind;

    const NOBODY: Identity<'_> =
        Identity { kind: DeviceKind::Accelerator, vendor: "nobody", device: "nothing", driver: "none" };
    const NVIDIA: Identity<'_> = Identity {
        kind: DeviceKind::Gpu,
        vendor: "NVIDIA Corporation",
        device: "NVIDIA H200",
        driver: "NVIDIA CUDA 580",
    };

    fn proposals(
        user: Option<&str>,
        device: Identity<'_>,
        kernel: Kernel,
        tuning: Tuning,
    ) -> Vec<(Kernel, Tuning, TuningSource)> {
        let p = Parameters::new(320, 200, 16, Window::symmetric(16, 16).unwrap());
        let user = user.map(|text| ("f".into(), Table::read(text).unwrap()));
        let tables = Tables { user, warning: None };
        let proposals = tables.proposals(device, kernel, &tuning, &p).into_iter();
        proposals.map(|p| (p.kernel, p.tuning, p.source)).collect()
    }

    #[test]
    fn the_built_in_table_is_valid() {
        let text = include_str!("../../kernels/tuning.toml");
        let table = Table::read(text).unwrap_or_else(|error| panic!("kernels/tuning.toml, {error}"));
        assert!(table.entries().count() > 0);
    }

    #[test]
    fn the_users_choice_precedes_the_users_file_and_the_built_in_table() {
        let file = "[[entry]]\nkernel = \"two-pass\"\ntuning = { group-size = 32, cost-bytes = 9 }\n\
                    [[entry]]\nkernel = \"tiled\"\ntuning = { run = 7 }";
        let none = Tuning::default();
        let user = |line| TuningSource::User { file: "f".into(), line };
        let of_entry = Tuning { group_size: Some(32), cost_bytes: Some(9), ..none };
        let run = Tuning { run: Some(7), ..none };

        let all = proposals(Some(file), NVIDIA, Kernel::Auto, none);
        assert_eq!(all[0], (Kernel::TwoPass, of_entry, user(1)));
        assert_eq!(all[1], (Kernel::Tiled, run, user(4)));
        assert!(matches!(all[2], (Kernel::Tiled, _, TuningSource::Shipped { .. })), "{all:?}");
        assert_eq!(all.len(), 3);

        // A value that is set replaces the entry's.
        let asked = Tuning { group_size: Some(8), ..none };
        let all = proposals(Some(file), NOBODY, Kernel::Auto, asked);
        assert_eq!(all[0], (Kernel::TwoPass, Tuning { group_size: Some(8), ..of_entry }, user(1)));
        assert_eq!(all[1], (Kernel::Tiled, Tuning { run: Some(7), ..asked }, user(4)));

        // With a kernel set, only entries with that kernel match.
        let all = proposals(Some(file), NOBODY, Kernel::Tiled, none);
        assert_eq!(all, [(Kernel::Tiled, run, user(4))]);
        let all = proposals(Some(file), NOBODY, Kernel::Reference, asked);
        assert_eq!(all, []);

        let all = proposals(None, NOBODY, Kernel::Auto, none);
        assert_eq!(all, []);
    }

    #[test]
    fn a_file_that_is_not_valid_is_named() {
        let folder = std::env::temp_dir().join(format!("motionestimate-tables-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("tuning.toml");
        assert_eq!(read_file(&file).unwrap(), Table::default());
        std::fs::write(&file, "[[entry]]\nkernel = 1").unwrap();
        let text = read_file(&file).unwrap_err().to_string();
        assert!(text.contains(&file.display().to_string()) && text.contains("line 2: "), "{text}");
        std::fs::write(&file, [b'#', 0xff]).unwrap();
        assert!(read_file(&file).is_err());
        std::fs::write(&file, vec![b'\n'; LARGEST_FILE as usize + 1]).unwrap();
        assert!(read_file(&file).unwrap_err().to_string().contains("more than"));
        assert!(read_file(&folder).is_err());
        assert!(Tables::with(Some(&folder)).warning.is_some());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
