//! Fields that are read and written by serde.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::MotionField;

#[cfg_attr(docsrs, doc(cfg(feature = "serde")))]
impl Serialize for MotionField {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

#[cfg_attr(docsrs, doc(cfg(feature = "serde")))]
impl<'de> Deserialize<'de> for MotionField {
    /// # Errors
    /// Also for what [`MotionField::check`] refuses.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let field = Self::deserialize(deserializer)?;
        field.check().map_err(D::Error::custom)?;
        Ok(field)
    }
}
