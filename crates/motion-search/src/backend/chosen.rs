//! The origin of a kernel and its tuning, for logs and messages.

use std::fmt;
use std::path::PathBuf;

use crate::estimator::SetupError;

/// What chose the kernel and its tuning. A kernel or value that the user set always takes precedence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TuningSource {
    /// The default for the kind of device, as no table has a matching entry.
    #[default]
    Rule,
    /// The user set the kernel, and no table has a matching entry for it.
    Asked,
    /// An entry of the built-in table.
    Shipped {
        /// Its line in `kernels/tuning.toml`.
        line: usize,
    },
    /// An entry of the user's file.
    User {
        /// The file.
        file: PathBuf,
        /// The entry's line.
        line: usize,
    },
}

impl fmt::Display for TuningSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule => f.write_str("the default for the kind of device"),
            Self::Asked => f.write_str("the user's choice"),
            Self::Shipped { line } => write!(f, "the built-in tuning table, line {line}"),
            Self::User { file, line } => write!(f, "{}, line {line}", file.display()),
        }
    }
}

/// Why a table, or an entry of it, was ignored. The next matching entry is used instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuningWarning {
    /// The user's file cannot be read or is not a valid table.
    #[error("{}, {reason}; the built-in tuning is used", .file.display())]
    #[allow(missing_docs)]
    File { file: PathBuf, reason: String },
    /// The device cannot run the kernel of an entry, or not with its tuning.
    #[error("ignoring the entry of {from}: {error}")]
    #[allow(missing_docs)]
    Entry { from: TuningSource, error: SetupError },
}
