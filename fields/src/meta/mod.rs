//! `MotionVectorMeta`: the motion field on a buffer.
//!
//! It is a GStreamer custom meta (`gst_meta_register_custom`): C, Python and Rust read it with
//! `gst_buffer_get_custom_meta` and need no library of this project. One meta holds one motion
//! field, so a frame that was searched in several frames has several metas. Its structure has these
//! fields; readers ignore fields that they do not know:
//!
//! | field | type | value |
//! |---|---|---|
//! | `version` | guint | [`VERSION`] |
//! | `width`, `height` | guint | frame size in samples |
//! | `block-width`, `block-height` | guint | block size in samples |
//! | `columns`, `rows` | guint | grid: `ceil(width / block-width) × ceil(height / block-height)` |
//! | `scale` | guint | vector units per sample: 4 for `full` and `three-step` search, 32 for `hierarchical`; readers divide by it |
//! | `reference-offset` | gint | the reference frame: -1 the previous frame, -2 the one before, +1 the next one |
//! | `reference-pts` | guint64 | timestamp of the reference frame, or `GST_CLOCK_TIME_NONE` |
//! | `metric` | string | `sad` or `ssd` |
//! | `bit-depth` | guint | bits of the samples that the costs are of, 8 to 16; absent for 8 |
//! | `vectors` | GBytes | `rows × columns` [`MotionVector`]s, row-major, host byte order |
//! | `predictors` | GBytes | optional: as many [`Predictor`]s, the vectors that an encoder would predict |
//! | `devices` | GstValueArray | optional, if several devices each searched whole rows: their names, strings |
//! | `row-devices` | GBytes | with `devices`: one byte per row of blocks, the index of its device |
//! | `cost-names` | GstValueArray | optional: the names of numbers of each block, strings: `zero`, `intra`, `satd`, `second`, `variance`, `confidence` |
//! | `black-level`, `white-level` | guint | optional: the levels between which hierarchical search saw deep samples, if not their upper eight bits |
//! | `scene-cut` | gboolean | optional: whether the frame begins another scene than its reference frame, the previous one, shows |
//! | `duplicate` | gboolean | optional, then true: luma equals that of the reference frame |
//! | `costs` | GBytes | with `cost-names`: for each block, row-major, one `guint32` for each name, host byte order |
//!
//! # Downstream
//!
//! - A copy of the whole buffer keeps the meta; a copy of a part of the buffer drops it.
//! - Conversion to another format at the same size keeps it.
//! - Scaling scales it with the frame. Where every block then has a whole number of samples and the grid is the same, the
//!   field is exact: vectors are rounded to their units, costs are kept as those of the frame that was searched. Else it is
//!   an approximation on a grid of its own, with the nearest block size of 4 to 64 that is a multiple of 4; each block has
//!   the vector of the old block at its centre, scaled, and its costs times the ratio of the areas. A field whose aspect ratio
//!   changes is dropped, because the scaler may have added borders, whose sizes only GStreamer 1.28 tells.
//! - Filters that crop, flip or turn frames drop it with GStreamer up to 1.26, which has no way to ask for more. With 1.28
//!   the grid is cut, and grid and vectors are turned, as GStreamer's filters tell. In-place filters keep it.
//!   A `videoflip` that turns nothing keeps it: `motionestimate` watches the elements downstream of it.
//! - The log (`GST_DEBUG=motionvectormeta:4`) says why a field was dropped, once for frames of a size, and which element
//!   makes new frames without it.
//!
//! A field is for frames of its `width` and `height`. If these are not those of the caps, an element that does not know the
//! meta has changed the frame: leave the field out.
//!
//! Readers check the whole structure: missing fields, wrong types or sizes that do not match give a
//! [`MetaError`], never an out-of-bounds read.

mod costs;
mod devices;
mod downstream;
mod error;
mod resample;
mod transform;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use gst::buffer::BufferMetaForeachAction;

use motion_search::estimator::{Grid, Metric, MotionVector, Predictor, References};

use crate::custom::field;

pub use costs::FieldCosts;
pub use devices::RowDevices;
#[doc(hidden)]
pub use downstream::Watched;
pub use error::MetaError;
pub use transform::register;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    let about = Some("Motion fields on buffers");
    gst::DebugCategory::new("motionvectormeta", gst::DebugColorFlags::empty(), about)
});

/// The name under which the meta is registered.
pub const NAME: &str = "MotionVectorMeta";

/// The fields that say which part of deep samples was searched.
const BLACK_LEVEL: &str = "black-level";
const WHITE_LEVEL: &str = "white-level";

/// The field that says whether a scene begins.
const SCENE_CUT: &str = "scene-cut";

/// The field that says whether a frame equals its reference frame.
const DUPLICATE: &str = "duplicate";

/// The version of the meta's structure.
pub const VERSION: u32 = 1;

/// A motion field without its vectors: sizes, reference frame and metric.
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
    /// Columns of blocks.
    pub columns: u32,
    /// Rows of blocks.
    pub rows: u32,
    /// Units of the vectors per sample, at least 1.
    pub scale: u32,
    /// The reference frame: -1 the previous frame, +1 the next one.
    pub reference_offset: i32,
    /// The timestamp of the reference frame.
    pub reference_pts: Option<gst::ClockTime>,
    /// The matching cost.
    pub metric: Metric,
    /// Bits of the samples that the costs are of.
    pub bit_depth: u32,
}

impl FieldDescription {
    /// The grid of blocks.
    pub fn grid(&self) -> Grid {
        Grid { columns: self.columns as usize, rows: self.rows as usize }
    }

    fn blocks(&self) -> u64 {
        u64::from(self.columns) * u64::from(self.rows)
    }

    /// Bytes of a list with one record per block.
    fn bytes_of<T>(&self) -> u64 {
        self.blocks().saturating_mul(size_of::<T>() as u64)
    }

    /// Checks that the grid covers the frame exactly, that the vectors have `vectors` bytes and the
    /// predictors, if any, `predictors` bytes.
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

    /// Reads everything except the lists of records.
    fn from_structure(structure: &gst::StructureRef) -> Result<Self, MetaError> {
        let version = field(structure, "version")?;
        if version != VERSION {
            return Err(MetaError::Version(version));
        }
        let scale = field(structure, "scale")?;
        if scale == 0 {
            return Err(MetaError::Scale);
        }
        let bit_depth = optional(structure, "bit-depth")?.unwrap_or(8);
        if !(8..=16).contains(&bit_depth) {
            return Err(MetaError::BitDepth(bit_depth));
        }
        let metric = field::<&str>(structure, "metric")?;
        let metric = [Metric::Sad, Metric::Ssd]
            .into_iter()
            .find(|known| known.name() == metric)
            .ok_or_else(|| MetaError::Metric(metric.into()))?;
        Ok(Self {
            scale,
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
            bit_depth,
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
        structure.set("scale", self.scale);
        structure.set("reference-offset", self.reference_offset);
        structure.set("reference-pts", self.reference_pts.map_or(u64::MAX, gst::ClockTime::nseconds));
        structure.set("metric", self.metric.name());
        // Readers of version 1 that do not know the field take its absence for 8, too.
        if self.bit_depth != 8 {
            structure.set("bit-depth", self.bit_depth);
        }
    }
}

/// The optional parts of a field.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// `rows × columns` [`Predictor`]s, row-major.
    pub predictors: Option<glib::Bytes>,
    /// The device that searched each row of blocks.
    pub devices: Option<RowDevices>,
    /// Numbers of each block besides its vector.
    pub costs: Option<FieldCosts>,
    /// The black and the white level between which deep samples were searched, unless all bits or the upper eight bits were.
    pub levels: Option<(u32, u32)>,
    /// Whether the frame begins another scene than its reference frame shows, if that is known.
    pub is_scene_cut: Option<bool>,
    /// Whether luma is known to equal that of the reference frame.
    pub is_duplicate: bool,
}

/// Adds a motion field to `buffer`: `vectors` holds `rows × columns` [`MotionVector`]s, row-major.
///
/// # Errors
/// [`MetaError::Grid`], [`MetaError::Length`], [`MetaError::PredictorLength`],
/// [`MetaError::DeviceRows`] and [`MetaError::CostLength`] if `vectors` or `extras` do not match `description`;
/// [`MetaError::Rejected`] if GStreamer refuses the meta. The buffer is then unchanged.
pub fn attach(
    buffer: &mut gst::BufferRef,
    description: &FieldDescription,
    vectors: glib::Bytes,
    extras: Extras,
) -> Result<(), MetaError> {
    let Extras { predictors, devices, costs, levels, is_scene_cut, is_duplicate } = extras;
    description.check(vectors.len(), predictors.as_ref().map(|bytes| bytes.len()))?;
    devices.as_ref().map_or(Ok(()), |devices| devices.check(description.rows))?;
    costs.as_ref().map_or(Ok(()), |costs| costs.check(description.blocks()))?;
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
    if let Some(costs) = costs {
        costs.write_to(structure);
    }
    if let Some((black, white)) = levels {
        structure.set(BLACK_LEVEL, black);
        structure.set(WHITE_LEVEL, white);
    }
    if let Some(is_scene_cut) = is_scene_cut {
        structure.set(SCENE_CUT, is_scene_cut);
    }
    if is_duplicate {
        structure.set(DUPLICATE, true);
    }
    Ok(())
}

/// The specification of the property `reference-offset` of elements that use one field of a buffer: 0 for the default, or the
/// offset of its reference frame.
#[doc(hidden)]
pub fn offset_spec(name: &str, default: i32) -> glib::ParamSpecIntBuilder<'_> {
    let most = References::MOST as i32;
    glib::ParamSpecInt::builder(name).minimum(-most).maximum(most).default_value(default)
}

/// Whether `buffer` has a motion field.
pub fn is_attached(buffer: &gst::BufferRef) -> bool {
    let is_ours = |meta: gst::MetaRef<gst::Meta>| meta.try_as_custom_meta().is_some_and(|m| m.has_name(NAME));
    buffer.iter_meta::<gst::Meta>().any(is_ours)
}

/// Removes every motion field from `buffer`.
pub fn remove(buffer: &mut gst::BufferRef) {
    buffer.foreach_meta_mut(|meta| {
        let ours = meta.upcast_ref().try_as_custom_meta().is_some_and(|meta| meta.has_name(NAME));
        let action = if ours { BufferMetaForeachAction::Remove } else { BufferMetaForeachAction::Keep };
        ControlFlow::Continue(action)
    });
}

/// A checked motion field. It shares the memory of the vectors with the meta and may outlive the buffer.
#[derive(Clone, Debug)]
pub struct MotionVectorMeta {
    description: FieldDescription,
    vectors: Records<MotionVector>,
    predictors: Option<Records<Predictor>>,
    devices: Option<RowDevices>,
    costs: Option<FieldCosts>,
    levels: Option<(u32, u32)>,
    is_scene_cut: Option<bool>,
    is_duplicate: bool,
}

/// The value of `field`, if `structure` has it.
fn optional<'a, T: glib::value::FromValue<'a>>(
    structure: &'a gst::StructureRef,
    field: &'static str,
) -> Result<Option<T>, MetaError> {
    let value = structure.has_field(field).then(|| structure.get(field));
    value.transpose().map_err(|_| MetaError::Field(field))
}

/// The strings in the array `field` of `structure`.
fn names(structure: &gst::StructureRef, field: &'static str) -> Result<Vec<Arc<str>>, MetaError> {
    let names: gst::Array = structure.get(field).map_err(|_| MetaError::Field(field))?;
    // As paths, because GStreamer checks no string in an array, and one that is not UTF-8 would be a panic.
    let name = |name: &glib::SendValue| name.get::<PathBuf>().ok()?.to_str().map(Arc::from);
    names.iter().map(name).collect::<Option<_>>().ok_or(MetaError::Field(field))
}

/// A list with one record per block.
#[derive(Clone, Debug)]
enum Records<T> {
    /// The bytes of the meta, aligned and a whole number of records.
    Shared(glib::Bytes),
    /// An aligned copy of bytes that are not aligned.
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
    /// The first motion field of `buffer`; `None` if there is none.
    ///
    /// # Errors
    /// [`MetaError`] if the meta does not follow the format.
    pub fn of(buffer: &gst::BufferRef) -> Option<Result<Self, MetaError>> {
        Self::all_of(buffer).next()
    }

    /// The motion field of `buffer` whose reference frame is at `offset`, or its first field for offset 0; `None` if there
    /// is none.
    ///
    /// # Errors
    /// [`MetaError`] if this meta, or one before it, does not follow the format.
    pub fn at_offset(buffer: &gst::BufferRef, offset: i32) -> Option<Result<Self, MetaError>> {
        let is_wanted = |field: &Self| offset == 0 || field.description.reference_offset == offset;
        Self::all_of(buffer).find(|field| field.as_ref().map_or(true, is_wanted))
    }

    /// Every motion field of `buffer`, in the order in which they were attached.
    ///
    /// # Errors
    /// An item is a [`MetaError`] if that meta does not follow the format.
    pub fn all_of(buffer: &gst::BufferRef) -> impl Iterator<Item = Result<Self, MetaError>> {
        buffer.iter_meta::<gst::Meta>().filter_map(|meta| {
            let meta = meta.try_as_custom_meta()?;
            meta.has_name(NAME).then(|| Self::from_structure(meta.structure()))
        })
    }

    fn from_structure(structure: &gst::StructureRef) -> Result<Self, MetaError> {
        let description = FieldDescription::from_structure(structure)?;
        let bytes: glib::Bytes = structure.get("vectors").map_err(|_| MetaError::Field("vectors"))?;
        let predictors: Option<glib::Bytes> = optional(structure, "predictors")?;
        description.check(bytes.len(), predictors.as_ref().map(|bytes| bytes.len()))?;
        let predictors = predictors.map(Records::new);
        let devices = RowDevices::from_structure(structure)?;
        devices.as_ref().map_or(Ok(()), |devices| devices.check(description.rows))?;
        let costs = FieldCosts::from_structure(structure)?;
        costs.as_ref().map_or(Ok(()), |costs| costs.check(description.blocks()))?;
        let level = |name| optional::<u32>(structure, name);
        Ok(Self {
            description,
            vectors: Records::new(bytes),
            predictors,
            devices,
            costs,
            levels: level(BLACK_LEVEL)?.zip(level(WHITE_LEVEL)?),
            is_scene_cut: optional(structure, SCENE_CUT)?,
            is_duplicate: optional(structure, DUPLICATE)?.unwrap_or(false),
        })
    }

    /// Sizes, reference frame and metric of the field.
    pub fn description(&self) -> &FieldDescription {
        &self.description
    }

    /// The field, if it is for frames of this size, width and height: an element that does not know the meta may have changed
    /// the frame.
    ///
    /// # Errors
    /// [`MetaError::FrameSize`].
    pub fn of_frame(self, frame: (u32, u32)) -> Result<Self, MetaError> {
        let field = (self.description.width, self.description.height);
        if field == frame { Ok(self) } else { Err(MetaError::FrameSize { field, frame }) }
    }

    /// One vector per block, `rows × columns`, row-major.
    pub fn vectors(&self) -> &[MotionVector] {
        self.vectors.as_slice()
    }

    /// The predictor of each vector, `rows × columns`, row-major; `None` if the field has none.
    pub fn predictors(&self) -> Option<&[Predictor]> {
        self.predictors.as_ref().map(Records::as_slice)
    }

    /// The device that searched each row of blocks; `None` if one device searched the whole frame, or
    /// if several devices shared the candidates of every row.
    pub fn devices(&self) -> Option<&RowDevices> {
        self.devices.as_ref()
    }

    /// Numbers of each block besides its vector; `None` if the field has none.
    pub fn costs(&self) -> Option<&FieldCosts> {
        self.costs.as_ref()
    }

    /// The black and the white level between which deep samples were searched; `None` if all bits or the upper eight bits were.
    pub fn levels(&self) -> Option<(u32, u32)> {
        self.levels
    }

    /// Whether the frame begins another scene than its reference frame shows; `None` if that is not known.
    pub fn is_scene_cut(&self) -> Option<bool> {
        self.is_scene_cut
    }

    /// Whether luma is known to equal that of the reference frame.
    pub fn is_duplicate(&self) -> bool {
        self.is_duplicate
    }

    /// The vector of the block at (`column`, `row`); `None` outside the grid.
    pub fn vector(&self, column: usize, row: usize) -> Option<MotionVector> {
        let grid = self.description.grid();
        (column < grid.columns && row < grid.rows).then(|| self.vectors()[row * grid.columns + column])
    }
}
