use std::sync::Arc;
use std::time::Duration;

/// What one device of a session does.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeviceShare {
    /// Its name.
    pub device: Arc<str>,
    /// Its share of the search that was finished last, 0 to 1.
    pub share: f64,
    /// Absolute differences a second while it works, as if each were computed; 0 before its first search.
    pub rate: f64,
    /// How long it has worked so far.
    pub busy: Duration,
    /// Whether it failed and gets no work any more.
    pub is_out: bool,
}

/// An event that does not stop a session and that a user may want to know of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A device failed, and others do its work.
    Failure(String),
    /// A device cannot take a part of each search in the way that was chosen, so that its part takes as long
    /// as the whole or longer.
    Split(String),
    /// A device gets no work any more because the others are faster without it, or gets work again.
    Balance(String),
}
