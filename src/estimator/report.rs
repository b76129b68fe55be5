use std::sync::Arc;
use std::time::Duration;

/// What one device of several does.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceShare {
    /// Its name.
    pub device: Arc<str>,
    /// Its share of the search that was finished last, 0 to 1.
    pub share: f64,
    /// Absolute differences a second, as if each were computed, while it works; 0 before it did.
    pub rate: f64,
    /// How long it has worked so far.
    pub busy: Duration,
    /// Whether it failed and does nothing any more.
    pub is_out: bool,
}

/// Something worth telling that happened on the way, and stopped nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A device failed, and others have taken its place.
    Failure(String),
    /// A device is left idle or helps again.
    Balance(String),
}
