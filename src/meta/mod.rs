//! `MotionVectorMeta`: the motion field on a buffer.
//!
//! It is a GStreamer custom meta (`gst_meta_register_custom`), so that C, Python and Rust read it
//! with `gst_buffer_get_custom_meta` and no library of ours. One meta holds one motion field; its
//! structure has these fields, and readers pass over any they do not know:
//!
//! | field | type | value |
//! |---|---|---|
//! | `version` | guint | [`VERSION`] |
//! | `width`, `height` | guint | frame size in samples |
//! | `block-width`, `block-height` | guint | block size in samples |
//! | `columns`, `rows` | guint | grid: `ceil(width / block-width) × ceil(height / block-height)` |
//! | `scale` | guint | 4: units a sample |
//! | `reference-offset` | gint | which frame was searched: -1 the one before, +1 the one after |
//! | `reference-pts` | guint64 | its timestamp, or `GST_CLOCK_TIME_NONE` |
//! | `metric` | string | `sad` or `ssd` |
//! | `vectors` | GBytes | `rows × columns` [`MotionVector`]s, row-major, host byte order |
//! | `predictors` | GBytes | optional: as many [`Predictor`]s, what an encoder would predict of the vectors |
//! | `devices` | GstValueArray | optional, where several devices each found whole rows: their names, strings |
//! | `row-devices` | GBytes | with `devices`: for each row of blocks the index of its device, a byte |
//!
//! # What becomes of it downstream
//!
//! - A copy of the whole buffer keeps it; a copy of a part of the buffer does not.
//! - Conversion to another format at the same size keeps it.
//! - Scaling scales it with the frame (vectors and predictors rounded to the quarter sample, costs
//!   left as they were measured) where every block still has a whole number of samples and the grid stays the
//!   same; otherwise it is dropped. It is dropped too where the frame's aspect ratio changes,
//!   because a scaler may then add borders.
//! - Every other filter that makes new buffers (cropping, flipping, rotating) drops it. Filters that
//!   change samples where they are keep it.
//!
//! What reads a field checks it wholly: a structure from elsewhere with missing fields, other types
//! or sizes that do not fit gives a [`MetaError`], never a bad read.

mod devices;
mod transform;

use std::ops::ControlFlow;

use gst::buffer::BufferMetaForeachAction;

use crate::estimator::{Grid, Metric, MotionVector, Predictor, UNITS_PER_SAMPLE};

pub use devices::RowDevices;
pub use transform::register;

/// The name under which the meta is registered.
pub const NAME: &str = "MotionVectorMeta";

/// The version of the meta's structure.
pub const VERSION: u32 = 1;

/// Why a motion field cannot be read or attached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetaError {
    /// A field of the structure is missing or has another type.
    #[error("field \"{0}\" is missing or not of its type")]
    Field(&'static str),
    /// The structure is of a later version.
    #[error("version {0} is not known: this is version {VERSION}")]
    Version(u32),
    /// Vectors have another unit.
    #[error("vectors of {0} units a sample are not known: {UNITS_PER_SAMPLE} are expected")]
    Scale(u32),
    /// Costs are of another kind.
    #[error("metric \"{0}\" is not known: \"sad\" and \"ssd\" are")]
    Metric(String),
    /// The grid is not that of the frame.
    #[error(
        "a frame of {width} x {height} samples in blocks of {block_width} x {block_height} cannot have \
         {columns} x {rows} vectors"
    )]
    #[allow(missing_docs)]
    Grid { width: u32, height: u32, block_width: u32, block_height: u32, columns: u32, rows: u32 },
    /// There is not one vector a block.
    #[error("{needed} bytes of vectors are needed, there are {present}")]
    #[allow(missing_docs)]
    Length { needed: u64, present: usize },
    /// There is not one predictor a block.
    #[error("{needed} bytes of predictors are needed, there are {present}")]
    #[allow(missing_docs)]
    PredictorLength { needed: u64, present: usize },
    /// A row was found by a device that is not among those named.
    #[error("a row of device number {device} is there, and {names} devices are named")]
    #[allow(missing_docs)]
    Device { device: u8, names: usize },
    /// There is not one device a row of blocks.
    #[error("the devices of {rows} rows are needed, those of {present} are there")]
    #[allow(missing_docs)]
    DeviceRows { rows: u32, present: usize },
    /// GStreamer refused to add the meta.
    #[error("the meta cannot be added to the buffer")]
    Rejected,
}

/// What a motion field says beside its vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDescription {
    /// Frame width in samples.
    pub width: u32,
    /// Frame height in samples.
    pub height: u32,
    /// Block width in samples.
    pub block_width: u32,
    /// Block height in samples.
    pub block_height: u32,
    /// Blocks across.
    pub columns: u32,
    /// Blocks down.
    pub rows: u32,
    /// Which frame was searched: -1 the one before, +1 the one after.
    pub reference_offset: i32,
    /// The timestamp of the frame that was searched.
    pub reference_pts: Option<gst::ClockTime>,
    /// How blocks were compared.
    pub metric: Metric,
}

impl FieldDescription {
    /// The grid of blocks.
    pub fn grid(&self) -> Grid {
        Grid { columns: self.columns as usize, rows: self.rows as usize }
    }

    /// Bytes of one record a block.
    fn bytes_of<T>(&self) -> u64 {
        let blocks = u64::from(self.columns) * u64::from(self.rows);
        blocks.saturating_mul(size_of::<T>() as u64)
    }

    /// Checks that the grid covers the frame exactly, that `vectors` bytes hold it, and as many
    /// `predictors`, if there are any.
    fn check(&self, vectors: usize, predictors: Option<usize>) -> Result<(), MetaError> {
        let &Self { width, height, block_width, block_height, columns, rows, .. } = self;
        let covers =
            |size: u32, block: u32, blocks: u32| size > 0 && block > 0 && size.div_ceil(block) == blocks;
        if !covers(width, block_width, columns) || !covers(height, block_height, rows) {
            return Err(MetaError::Grid { width, height, block_width, block_height, columns, rows });
        }
        let needed = self.bytes_of::<MotionVector>();
        if vectors as u64 != needed {
            return Err(MetaError::Length { needed, present: vectors });
        }
        let needed = self.bytes_of::<Predictor>();
        match predictors {
            Some(present) if present as u64 != needed => Err(MetaError::PredictorLength { needed, present }),
            _ => Ok(()),
        }
    }

    /// Reads what is beside the vectors, field by field.
    fn from_structure(structure: &gst::StructureRef) -> Result<Self, MetaError> {
        fn field<'a, T: glib::value::FromValue<'a>>(
            structure: &'a gst::StructureRef,
            name: &'static str,
        ) -> Result<T, MetaError> {
            structure.get(name).map_err(|_| MetaError::Field(name))
        }
        let version = field(structure, "version")?;
        if version != VERSION {
            return Err(MetaError::Version(version));
        }
        let scale = field(structure, "scale")?;
        if scale != UNITS_PER_SAMPLE as u32 {
            return Err(MetaError::Scale(scale));
        }
        let metric = field::<&str>(structure, "metric")?;
        let metric = [Metric::Sad, Metric::Ssd]
            .into_iter()
            .find(|known| known.name() == metric)
            .ok_or_else(|| MetaError::Metric(metric.into()))?;
        Ok(Self {
            width: field(structure, "width")?,
            height: field(structure, "height")?,
            block_width: field(structure, "block-width")?,
            block_height: field(structure, "block-height")?,
            columns: field(structure, "columns")?,
            rows: field(structure, "rows")?,
            reference_offset: field(structure, "reference-offset")?,
            reference_pts: match field::<u64>(structure, "reference-pts")? {
                u64::MAX => None,
                nanoseconds => Some(gst::ClockTime::from_nseconds(nanoseconds)),
            },
            metric,
        })
    }

    fn write_to(&self, structure: &mut gst::StructureRef) {
        structure.set("version", VERSION);
        structure.set("width", self.width);
        structure.set("height", self.height);
        structure.set("block-width", self.block_width);
        structure.set("block-height", self.block_height);
        structure.set("columns", self.columns);
        structure.set("rows", self.rows);
        structure.set("scale", UNITS_PER_SAMPLE as u32);
        structure.set("reference-offset", self.reference_offset);
        structure.set("reference-pts", self.reference_pts.map_or(u64::MAX, gst::ClockTime::nseconds));
        structure.set("metric", self.metric.name());
    }
}

/// What a field may have beside its vectors.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// `rows × columns` [`Predictor`]s, row-major.
    pub predictors: Option<glib::Bytes>,
    /// Which device found which row.
    pub devices: Option<RowDevices>,
}

/// Adds a motion field to `buffer`: `vectors` holds `rows × columns` [`MotionVector`]s, row-major.
///
/// # Errors
/// [`MetaError::Grid`], [`MetaError::Length`], [`MetaError::PredictorLength`] and
/// [`MetaError::DeviceRows`] if `vectors` or `extras` do not fit `description`;
/// [`MetaError::Rejected`] if GStreamer refuses the meta. The buffer is unchanged after an error.
pub fn attach(
    buffer: &mut gst::BufferRef,
    description: &FieldDescription,
    vectors: glib::Bytes,
    extras: Extras,
) -> Result<(), MetaError> {
    let Extras { predictors, devices } = extras;
    description.check(vectors.len(), predictors.as_ref().map(|bytes| bytes.len()))?;
    devices.as_ref().map_or(Ok(()), |devices| devices.check(description.rows))?;
    register();
    let mut meta = gst::meta::CustomMeta::add(buffer, NAME).map_err(|_| MetaError::Rejected)?;
    let structure = meta.mut_structure();
    description.write_to(structure);
    structure.set("vectors", vectors);
    if let Some(predictors) = predictors {
        structure.set("predictors", predictors);
    }
    if let Some(devices) = devices {
        devices.write_to(structure);
    }
    Ok(())
}

/// Whether `buffer` has a motion field.
pub fn is_attached(buffer: &gst::BufferRef) -> bool {
    let is_ours = |meta: gst::MetaRef<gst::Meta>| meta.try_as_custom_meta().is_some_and(|m| m.has_name(NAME));
    buffer.iter_meta::<gst::Meta>().any(is_ours)
}

/// Drops every motion field of `buffer`.
pub fn remove(buffer: &mut gst::BufferRef) {
    buffer.foreach_meta_mut(|meta| {
        let ours = meta.upcast_ref().try_as_custom_meta().is_some_and(|meta| meta.has_name(NAME));
        let action = if ours { BufferMetaForeachAction::Remove } else { BufferMetaForeachAction::Keep };
        ControlFlow::Continue(action)
    });
}

/// A checked motion field. It shares the vectors with the meta and may outlive the buffer.
#[derive(Clone, Debug)]
pub struct MotionVectorMeta {
    description: FieldDescription,
    vectors: Records<MotionVector>,
    predictors: Option<Records<Predictor>>,
    devices: Option<RowDevices>,
}

/// One record a block.
#[derive(Clone, Debug)]
enum Records<T> {
    /// The meta's own bytes, found to be aligned and whole records.
    Shared(glib::Bytes),
    /// A copy of bytes that lie unaligned.
    Copied(Vec<T>),
}

impl<T: bytemuck::Pod> Records<T> {
    fn new(bytes: glib::Bytes) -> Self {
        match bytemuck::try_cast_slice::<u8, T>(&bytes) {
            Ok(_) => Self::Shared(bytes),
            Err(_) => {
                Self::Copied(bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect())
            }
        }
    }

    fn as_slice(&self) -> &[T] {
        match self {
            Self::Shared(bytes) => bytemuck::cast_slice(bytes),
            Self::Copied(records) => records,
        }
    }
}

impl MotionVectorMeta {
    /// The first motion field of `buffer`; `None` where there is none.
    ///
    /// # Errors
    /// [`MetaError`] where there is one that does not keep to the format.
    pub fn of(buffer: &gst::BufferRef) -> Option<Result<Self, MetaError>> {
        Self::all_of(buffer).next()
    }

    /// Every motion field of `buffer`, in the order in which they were attached.
    ///
    /// # Errors
    /// An item is a [`MetaError`] where that field does not keep to the format.
    pub fn all_of(buffer: &gst::BufferRef) -> impl Iterator<Item = Result<Self, MetaError>> {
        buffer.iter_meta::<gst::Meta>().filter_map(|meta| {
            let meta = meta.try_as_custom_meta()?;
            meta.has_name(NAME).then(|| Self::from_structure(meta.structure()))
        })
    }

    fn from_structure(structure: &gst::StructureRef) -> Result<Self, MetaError> {
        let description = FieldDescription::from_structure(structure)?;
        let bytes: glib::Bytes = structure.get("vectors").map_err(|_| MetaError::Field("vectors"))?;
        let predictors: Option<glib::Bytes> = match structure.has_field("predictors") {
            true => Some(structure.get("predictors").map_err(|_| MetaError::Field("predictors"))?),
            false => None,
        };
        description.check(bytes.len(), predictors.as_ref().map(|bytes| bytes.len()))?;
        let predictors = predictors.map(Records::new);
        let devices = RowDevices::from_structure(structure)?;
        devices.as_ref().map_or(Ok(()), |devices| devices.check(description.rows))?;
        Ok(Self { description, vectors: Records::new(bytes), predictors, devices })
    }

    /// What the field says beside its vectors.
    pub fn description(&self) -> &FieldDescription {
        &self.description
    }

    /// One vector a block, `rows × columns`, row-major.
    pub fn vectors(&self) -> &[MotionVector] {
        self.vectors.as_slice()
    }

    /// What was predicted of each vector, `rows × columns`, row-major; `None` where nothing was.
    pub fn predictors(&self) -> Option<&[Predictor]> {
        self.predictors.as_ref().map(Records::as_slice)
    }

    /// Which device found each row of blocks; `None` where one device found all, or each had a part in
    /// every row.
    pub fn devices(&self) -> Option<&RowDevices> {
        self.devices.as_ref()
    }

    /// The vector of the block at `column`, `row`; `None` outside the grid.
    pub fn vector(&self, column: usize, row: usize) -> Option<MotionVector> {
        let grid = self.description.grid();
        (column < grid.columns && row < grid.rows).then(|| self.vectors()[row * grid.columns + column])
    }
}
