use super::SetupError;

/// Where frames may lie in the host's memory for a device to read them without a copy between:
/// page-locked memory, as a rule.
pub trait HostMemory: Send + Sync {
    /// A block of `bytes`, at least 1, all zero. It may outlive whatever it came from.
    ///
    /// # Errors
    /// What the device reports.
    fn allocate(&self, bytes: usize) -> Result<Box<dyn HostBlock>, SetupError>;
}

/// A block of [`HostMemory`].
pub trait HostBlock: AsRef<[u8]> + AsMut<[u8]> + Send + Sync {}

/// Memory that no device knows.
impl HostBlock for Vec<u8> {}
