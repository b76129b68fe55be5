//! Why the program ends without what was asked for.

/// An error and, by its kind, the exit code.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The search has failed on a device, or GStreamer does not work.
    #[error("{0}")]
    Search(String),
    /// The arguments make no sense.
    #[error("{0}")]
    Usage(String),
    /// The video cannot be read, or not in ranges.
    #[error("{0}")]
    Video(String),
    /// The output cannot be written.
    #[error("{0}")]
    Output(String),
    /// The pieces are not those of one video from the beginning to the end.
    #[error("{0}")]
    Pieces(String),
    /// SIGINT or SIGTERM.
    #[error("interrupted; nothing was written")]
    Interrupted,
}

impl Error {
    /// The program's exit code, as `--help` lists them.
    pub fn code(&self) -> u8 {
        match self {
            Self::Search(_) => 1,
            Self::Usage(_) => 2,
            Self::Video(_) => 3,
            Self::Output(_) => 4,
            Self::Pieces(_) => 5,
            Self::Interrupted => 130,
        }
    }
}

impl From<lexopt::Error> for Error {
    fn from(error: lexopt::Error) -> Self {
        Self::Usage(error.to_string())
    }
}
