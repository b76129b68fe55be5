//! `MotionCameraMeta`: how the camera has moved from the frame before, and which regions of motion begin and end with a frame.
//!
//! `motiondetect` attaches it to each frame. It is a GStreamer custom meta, as [`MotionVectorMeta`](crate::meta) is: C, Python and Rust read
//! it with `gst_buffer_get_custom_meta`. Its structure has these fields; readers ignore fields that they do not know:
//!
//! | field | type | value |
//! |---|---|---|
//! | `version` | guint | [`VERSION`] |
//! | `width`, `height` | guint | frame size in samples |
//! | `matrix` | GstValueArray | six gdouble, a b c d e f: a point (x, y) of the frame before is at (a x + b y + c, d x + e y + f) |
//! | `following` | gdouble | the share of texture that follows the matrix, 0 to 1 |
//! | `confidence` | gdouble | how well the frame before fits, moved by the matrix, 0 to 1; 0 for the first frame |
//! | `settling` | gboolean | whether the light has just changed or the scene is new |
//! | `begun`, `ended` | GstValueArray | guint64: the ids of regions that begin and end with this frame |
//!
//! The regions themselves are `GstVideoRegionOfInterestMeta`s of the type [`REGION`], each with a parameter structure of that name:
//!
//! | field | type | value |
//! |---|---|---|
//! | `id` | guint64 | the same in all frames, and of no other region of the element |
//! | `begin`, `last` | guint64 | timestamps of the frames in which it was first and last seen |
//! | `velocity-x`, `velocity-y` | gdouble | samples a second, right and down, without the camera's motion |
//! | `confidence` | gdouble | 0 to 1 |
//!
//! A copy of the buffer keeps the camera's meta, conversion too, and scaling scales the matrix.

use std::ffi::CStr;
use std::ops::ControlFlow;
use std::sync::Once;

use glib::prelude::*;
use glib::translate::{IntoGlib, from_glib};

use gst::buffer::BufferMetaForeachAction;

use crate::custom::{self, field};
use crate::meta::MetaError;

/// The name under which the meta is registered.
pub const NAME: &str = "MotionCameraMeta";

const NAME_C: &CStr = c"MotionCameraMeta";

/// The version of the meta's structure.
pub const VERSION: u32 = 1;

/// The type of regions of interest that show motion, and the name of their parameters.
pub const REGION: &str = "motion";

/// What the meta holds.
#[derive(Clone, Debug, PartialEq)]
pub struct CameraMotion {
    /// Frame width in samples.
    pub width: u32,
    /// Frame height in samples.
    pub height: u32,
    /// Where a point of the frame before is in this one.
    pub matrix: [[f64; 3]; 2],
    /// The share of texture that follows it.
    pub following: f64,
    /// How well the frame before fits.
    pub confidence: f64,
    /// Whether the light has just changed or the scene is new.
    pub is_settling: bool,
    /// The ids of regions that begin with this frame.
    pub begun: Vec<u64>,
    /// The ids of those that end with it.
    pub ended: Vec<u64>,
}

/// Registers the meta with GStreamer. Repeated calls do nothing.
///
/// # Panics
/// If GStreamer is not initialised.
pub fn register() {
    static ONCE: Once = Once::new();
    // SAFETY: `transform` is for GStreamer to call so.
    ONCE.call_once(|| unsafe { custom::register(NAME_C, transform) });
}

/// Called by GStreamer to transform the meta `meta` of `source` onto `target`.
///
/// # Safety
/// To be called by GStreamer only, with pointers as described for `GstCustomMetaTransformFunction`.
unsafe extern "C" fn transform(
    target: *mut gst::ffi::GstBuffer,
    meta: *mut gst::ffi::GstCustomMeta,
    _source: *mut gst::ffi::GstBuffer,
    kind: glib::ffi::GQuark,
    data: glib::ffi::gpointer,
    _user_data: glib::ffi::gpointer,
) -> glib::ffi::gboolean {
    // SAFETY: GStreamer passes a writable target buffer and a custom meta of this name, valid for the duration of the call. `data`
    // has the type that `kind` names and is not read for other kinds.
    unsafe {
        let target = gst::BufferRef::from_mut_ptr(target);
        let structure = gst::StructureRef::from_glib_borrow(gst::ffi::gst_custom_meta_get_structure(meta));
        let kind: glib::Quark = from_glib(kind);
        let size = if kind == <gst::meta::MetaTransformCopy as gst::meta::MetaTransform>::quark() {
            None
        } else if kind
            == <gst_video::video_meta::VideoMetaTransformScale as gst::meta::MetaTransform>::quark()
        {
            let scale = &*(data as *const gst_video::ffi::GstVideoMetaTransform);
            let side = |side: i32| u32::try_from(side).unwrap_or(0);
            Some((side((*scale.out_info).width), side((*scale.out_info).height)))
        } else {
            return false.into_glib();
        };
        // One that does not follow the format is dropped.
        if let Ok(motion) = CameraMotion::from_structure(structure) {
            let scaled = size.map_or(Some(motion.clone()), |size| motion.scaled_to(size));
            if let Some(motion) = scaled {
                let _ = motion.attach(target);
            }
        }
    }
    true.into_glib()
}

/// Removes the camera's motion and all regions of motion from `buffer`.
pub fn remove(buffer: &mut gst::BufferRef) {
    buffer.foreach_meta_mut(|meta| {
        let meta = meta.upcast_ref();
        let is_camera = meta.try_as_custom_meta().is_some_and(|meta| meta.has_name(NAME));
        let region = meta.downcast_ref::<gst_video::VideoRegionOfInterestMeta>();
        let is_region = region.is_some_and(|region| region.roi_type() == REGION);
        let is_ours = is_camera || is_region;
        ControlFlow::Continue(if is_ours {
            BufferMetaForeachAction::Remove
        } else {
            BufferMetaForeachAction::Keep
        })
    });
}

fn numbers<T: ToSendValue + Sync>(numbers: &[T]) -> gst::Array {
    gst::Array::from_iter(numbers.iter().map(ToSendValue::to_send_value))
}

impl CameraMotion {
    /// The same motion in frames of this size; `None` if one has no samples.
    fn scaled_to(mut self, (width, height): (u32, u32)) -> Option<Self> {
        if [self.width, self.height, width, height].contains(&0) {
            return None;
        }
        let (x, y) = (f64::from(width) / f64::from(self.width), f64::from(height) / f64::from(self.height));
        let [[_, b, c], [d, _, f]] = &mut self.matrix;
        *b *= x / y;
        *c *= x;
        *d *= y / x;
        *f *= y;
        (self.width, self.height) = (width, height);
        Some(self)
    }

    /// Adds it to `buffer`.
    ///
    /// # Errors
    /// [`MetaError::Rejected`] if GStreamer refuses the meta.
    pub fn attach(&self, buffer: &mut gst::BufferRef) -> Result<(), MetaError> {
        register();
        let mut meta = gst::meta::CustomMeta::add(buffer, NAME).map_err(|_| MetaError::Rejected)?;
        let structure = meta.mut_structure();
        structure.set("version", VERSION);
        structure.set("width", self.width);
        structure.set("height", self.height);
        structure.set("matrix", numbers(self.matrix.as_flattened()));
        structure.set("following", self.following);
        structure.set("confidence", self.confidence);
        structure.set("settling", self.is_settling);
        structure.set("begun", numbers(&self.begun));
        structure.set("ended", numbers(&self.ended));
        Ok(())
    }

    /// The meta of `buffer`; `None` if there is none.
    ///
    /// # Errors
    /// [`MetaError`] if it does not follow the format.
    pub fn of(buffer: &gst::BufferRef) -> Option<Result<Self, MetaError>> {
        let meta = gst::meta::CustomMeta::from_buffer(buffer, NAME).ok()?;
        Some(Self::from_structure(meta.structure()))
    }

    fn from_structure(structure: &gst::StructureRef) -> Result<Self, MetaError> {
        fn list<T: for<'v> glib::value::FromValue<'v>>(
            structure: &gst::StructureRef,
            name: &'static str,
        ) -> Result<Vec<T>, MetaError> {
            let array: gst::Array = field(structure, name)?;
            array.iter().map(|value| value.get().map_err(|_| MetaError::Field(name))).collect()
        }
        let version = field(structure, "version")?;
        if version != VERSION {
            return Err(MetaError::Version(version));
        }
        let [a, b, c, d, e, f] =
            <[f64; 6]>::try_from(list(structure, "matrix")?).map_err(|_| MetaError::Field("matrix"))?;
        Ok(Self {
            width: field(structure, "width")?,
            height: field(structure, "height")?,
            matrix: [[a, b, c], [d, e, f]],
            following: field(structure, "following")?,
            confidence: field(structure, "confidence")?,
            is_settling: field(structure, "settling")?,
            begun: list(structure, "begun")?,
            ended: list(structure, "ended")?,
        })
    }
}

/// A region of motion, as [`REGION`] has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegionMotion {
    /// Its id.
    pub id: u64,
    /// Left, top, width and height in samples.
    pub rect: (u32, u32, u32, u32),
    /// The timestamp of the frame in which it was first seen.
    pub begin: u64,
    /// That of the frame in which it was last seen.
    pub last: u64,
    /// Samples a second, right and down.
    pub velocity: (f64, f64),
    /// How sure it is, 0 to 1.
    pub confidence: f64,
}

impl RegionMotion {
    /// Adds it to `buffer`. An encoder changes its quantiser there by `delta_qp`, if that is not 0.
    pub fn attach(&self, buffer: &mut gst::BufferRef, delta_qp: i32) {
        let mut meta = gst_video::VideoRegionOfInterestMeta::add(buffer, REGION, self.rect);
        // The ids of regions of interest have 31 bits, and -1 stands for none.
        meta.set_id((self.id & 0x7fff_ffff) as i32);
        let parameters = gst::Structure::builder(REGION)
            .field("id", self.id)
            .field("begin", self.begin)
            .field("last", self.last)
            .field("velocity-x", self.velocity.0)
            .field("velocity-y", self.velocity.1)
            .field("confidence", self.confidence)
            .build();
        meta.add_param(parameters);
        if delta_qp != 0 {
            meta.add_param(gst::Structure::builder("roi/x264enc").field("delta-qp", delta_qp).build());
        }
    }

    /// The regions of motion of `buffer`. Regions whose parameters do not follow the format are left out.
    pub fn all_of(buffer: &gst::BufferRef) -> impl Iterator<Item = Self> {
        buffer.iter_meta::<gst_video::VideoRegionOfInterestMeta>().filter_map(|meta| {
            let parameters = meta.param(REGION).filter(|_| meta.roi_type() == REGION)?;
            let number = |name| parameters.get::<f64>(name).ok();
            Some(Self {
                id: parameters.get("id").ok()?,
                rect: meta.rect(),
                begin: parameters.get("begin").ok()?,
                last: parameters.get("last").ok()?,
                velocity: (number("velocity-x")?, number("velocity-y")?),
                confidence: number("confidence")?,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn motion() -> CameraMotion {
        CameraMotion {
            width: 64,
            height: 48,
            matrix: [[1.0, 0.5, 2.0], [-0.25, 1.0, -4.0]],
            following: 0.75,
            confidence: 0.5,
            is_settling: true,
            begun: vec![3, u64::MAX],
            ended: vec![],
        }
    }

    #[test]
    fn what_is_attached_is_read() {
        gst::init().unwrap();
        let mut buffer = gst::Buffer::new();
        let region = RegionMotion {
            id: u64::from(u32::MAX),
            rect: (1, 2, 3, 4),
            begin: 5,
            last: 6,
            velocity: (-1.5, 2.0),
            confidence: 0.5,
        };
        motion().attach(buffer.make_mut()).unwrap();
        region.attach(buffer.make_mut(), -5);
        let copy = buffer.copy_deep().unwrap();
        assert_eq!(CameraMotion::of(&copy).unwrap().unwrap(), motion());
        assert_eq!(RegionMotion::all_of(&copy).collect::<Vec<_>>(), [region]);
        let roi = copy.meta::<gst_video::VideoRegionOfInterestMeta>().unwrap();
        assert_eq!(roi.param("roi/x264enc").unwrap().get::<i32>("delta-qp"), Ok(-5));
        gst_video::VideoRegionOfInterestMeta::add(buffer.make_mut(), "face", (0, 0, 1, 1));
        remove(buffer.make_mut());
        assert!(CameraMotion::of(&buffer).is_none());
        let left: Vec<_> =
            buffer.iter_meta::<gst_video::VideoRegionOfInterestMeta>().map(|roi| roi.roi_type()).collect();
        assert_eq!(left, ["face"]);
    }

    #[test]
    fn scaling_scales_the_matrix() {
        let scaled = motion().scaled_to((128, 48)).unwrap();
        assert_eq!(scaled.matrix, [[1.0, 1.0, 4.0], [-0.125, 1.0, -4.0]]);
        assert_eq!(motion().scaled_to((0, 48)), None);
    }

    #[test]
    fn a_structure_of_another_form_is_refused_by_the_name_of_the_field() {
        gst::init().unwrap();
        register();
        for (field, value) in [
            ("matrix", gst::Array::new([1.0f64, 2.0]).to_send_value()),
            ("begun", gst::Array::new(["text"]).to_send_value()),
            ("width", (-1i32).to_send_value()),
        ] {
            let mut buffer = gst::Buffer::new();
            motion().attach(buffer.make_mut()).unwrap();
            let mut meta = gst::meta::CustomMeta::from_mut_buffer(buffer.make_mut(), NAME).unwrap();
            meta.mut_structure().set_value(field, value);
            assert!(
                matches!(CameraMotion::of(&buffer), Some(Err(MetaError::Field(name))) if name == field),
                "{field}"
            );
        }
    }
}
