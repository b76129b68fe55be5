//! Where a kernel and its tuning come from, for logs and messages.

use std::fmt;
use std::path::PathBuf;

use crate::estimator::SetupError;

/// Who decided which kernel runs, with which tuning. What is asked for by name holds in each case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The rule for the kind of device, where no table has an entry.
    #[default]
    Rule,
    /// The kernel was asked for, and no table has an entry with it.
    Asked,
    /// An entry of the table that is built in.
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

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule => f.write_str("the rule for the kind of device"),
            Self::Asked => f.write_str("what was asked for"),
            Self::Shipped { line } => write!(f, "the shipped tuning table, line {line}"),
            Self::User { file, line } => write!(f, "{}, line {line}", file.display()),
        }
    }
}

/// Why a table, or an entry of it, was passed over. Never a failure: the next that fits holds.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuningWarning {
    /// The user's file is no table.
    #[error("{}, {reason}; the shipped tuning is used", .file.display())]
    #[allow(missing_docs)]
    File { file: PathBuf, reason: String },
    /// The device cannot run what an entry says.
    #[error("the entry of {from} is passed over: {error}")]
    #[allow(missing_docs)]
    Entry { from: Source, error: SetupError },
}
