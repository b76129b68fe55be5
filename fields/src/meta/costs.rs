//! The numbers of blocks besides their vectors.

use std::sync::Arc;

use glib::prelude::*;

use super::{MetaError, Records, names};

/// The field that holds the names of the numbers.
const NAMES: &str = "cost-names";

/// The field that holds the numbers.
const COSTS: &str = "costs";

/// Numbers of each block besides its vector, by name: `zero`, `intra`, `satd`, `second`, `variance`, `confidence` of
/// `motionestimate`, or others.
#[derive(Clone, Debug)]
pub struct FieldCosts {
    names: Vec<Arc<str>>,
    /// The bytes as they were given, for another meta.
    bytes: glib::Bytes,
    records: Records<u32>,
}

impl FieldCosts {
    /// `costs` holds for each block, row-major, one `u32` for each of `names`, in host byte order.
    ///
    /// # Errors
    /// [`MetaError::Field`] if there are no names.
    pub fn new(names: Vec<Arc<str>>, costs: glib::Bytes) -> Result<Self, MetaError> {
        if names.is_empty() {
            return Err(MetaError::Field(NAMES));
        }
        Ok(Self { names, records: Records::new(costs.clone()), bytes: costs })
    }

    /// The names, in the order of each block's numbers.
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// The numbers: as many as there are names for the first block, then for the second, row-major.
    pub fn values(&self) -> &[u32] {
        self.records.as_slice()
    }

    /// The numbers called `name`, one a block, row-major; `None` if there are none of that name.
    pub fn of(&self, name: &str) -> Option<impl Iterator<Item = u32>> {
        let place = self.place_of(name)?;
        Some(self.values().iter().skip(place).step_by(self.names.len()).copied())
    }

    /// The place of the number called `name` among those of a block; `None` if there is none of that name.
    pub fn place_of(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| **known == *name)
    }

    /// Checks that there are the numbers of `blocks` blocks.
    pub(super) fn check(&self, blocks: u64) -> Result<(), MetaError> {
        let needed = blocks.saturating_mul((self.names.len() * size_of::<u32>()) as u64);
        let present = self.bytes.len();
        if present as u64 == needed { Ok(()) } else { Err(MetaError::CostLength { needed, present }) }
    }

    /// Reads both fields; `None` if the structure has neither.
    pub(super) fn from_structure(structure: &gst::StructureRef) -> Result<Option<Self>, MetaError> {
        if !structure.has_field(NAMES) && !structure.has_field(COSTS) {
            return Ok(None);
        }
        let names = names(structure, NAMES)?;
        let costs = structure.get(COSTS).map_err(|_| MetaError::Field(COSTS))?;
        Self::new(names, costs).map(Some)
    }

    pub(super) fn write_to(&self, structure: &mut gst::StructureRef) {
        structure.set(NAMES, gst::Array::from_values(self.names.iter().map(|name| name.to_send_value())));
        structure.set(COSTS, &self.bytes);
    }
}
