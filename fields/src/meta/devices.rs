//! Which device searched which row of blocks, for frames that several devices share.

use std::sync::Arc;

use glib::prelude::*;

use super::{MetaError, names};

/// The field that holds the names of the devices.
const NAMES: &str = "devices";

/// The field that holds one device index per row of blocks.
const ROWS: &str = "row-devices";

/// The device that searched each row of blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowDevices {
    names: Vec<Arc<str>>,
    rows: glib::Bytes,
}

impl RowDevices {
    /// `rows` holds for each row of blocks the index into `names` of the device that searched it.
    ///
    /// # Errors
    /// [`MetaError::Device`] if an index is out of range.
    pub fn new(names: Vec<Arc<str>>, rows: glib::Bytes) -> Result<Self, MetaError> {
        match rows.iter().find(|&&device| usize::from(device) >= names.len()) {
            Some(&device) => Err(MetaError::Device { device, names: names.len() }),
            None => Ok(Self { names, rows }),
        }
    }

    /// The names of the devices, in the order of the device list. Two devices may have the same name.
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// One index into [`Self::names`] per row of blocks.
    pub fn rows(&self) -> &[u8] {
        &self.rows
    }

    /// Checks that there is one index for each of `rows` rows of blocks.
    pub(super) fn check(&self, rows: u32) -> Result<(), MetaError> {
        let present = self.rows.len();
        if present as u64 == u64::from(rows) { Ok(()) } else { Err(MetaError::DeviceRows { rows, present }) }
    }

    /// Reads both fields; `None` if the structure has neither.
    pub(super) fn from_structure(structure: &gst::StructureRef) -> Result<Option<Self>, MetaError> {
        if !structure.has_field(NAMES) && !structure.has_field(ROWS) {
            return Ok(None);
        }
        let names = names(structure, NAMES)?;
        let rows = structure.get(ROWS).map_err(|_| MetaError::Field(ROWS))?;
        Self::new(names, rows).map(Some)
    }

    pub(super) fn write_to(&self, structure: &mut gst::StructureRef) {
        structure.set(NAMES, gst::Array::from_values(self.names.iter().map(|name| name.to_send_value())));
        structure.set(ROWS, &self.rows);
    }
}
