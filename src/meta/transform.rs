//! How the meta is kept, scaled or dropped when GStreamer copies or transforms a buffer.

use std::ffi::{CStr, c_char};
use std::ptr;
use std::sync::Once;

use glib::translate::{IntoGlib, from_glib};

use super::{Extras, FieldDescription, MotionVectorMeta, NAME, attach};
use motion_search::estimator::{MotionVector, Predictor};

const NAME_C: &CStr = c"MotionVectorMeta";

/// Registers the meta with GStreamer. Repeated calls do nothing.
///
/// # Panics
/// If GStreamer is not initialised.
pub fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The process may hold this code twice, as plugin and as library: register only once.
        if gst::meta::CustomMeta::is_registered(NAME) {
            return;
        }
        // With these tags converters and scalers call `transform`, and other filters drop the meta.
        let mut tags: [*const c_char; 4] =
            [c"video".as_ptr(), c"size".as_ptr(), c"orientation".as_ptr(), ptr::null()];
        // SAFETY: name and tags are NUL-terminated and copied by GStreamer, the list of tags ends
        // with a null pointer, and `transform` is a function that lives as long as the program.
        unsafe {
            gst::ffi::gst_meta_register_custom(
                NAME_C.as_ptr(),
                tags.as_mut_ptr(),
                Some(transform),
                ptr::null_mut(),
                None,
            );
        }
    });
}

/// Called by GStreamer to transform the meta `meta` of `_source` onto `target`. Returns whether it knows `kind`, also where
/// it drops the meta: GStreamer 1.28 asks for a matrix first, and for a scale if that is not known.
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
    // SAFETY: GStreamer passes a writable target buffer and a custom meta of this name, valid for the
    // duration of the call. `data` has the type that `kind` names and is not read for other kinds.
    unsafe {
        let target = gst::BufferRef::from_mut_ptr(target);
        let structure = gst::StructureRef::from_glib_borrow(gst::ffi::gst_custom_meta_get_structure(meta));
        let kind: glib::Quark = from_glib(kind);
        if kind == <gst::meta::MetaTransformCopy as gst::meta::MetaTransform>::quark() {
            let copy = &*(data as *const gst::ffi::GstMetaTransformCopy);
            if copy.region == glib::ffi::GFALSE {
                keep(target, structure);
            }
        } else if kind
            == <gst_video::video_meta::VideoMetaTransformScale as gst::meta::MetaTransform>::quark()
        {
            let scale = &*(data as *const gst_video::ffi::GstVideoMetaTransform);
            scaled(target, structure, Size::of(&*scale.in_info), Size::of(&*scale.out_info));
        } else {
            return false.into_glib();
        }
    }
    true.into_glib()
}

/// Copies the meta unchanged, including fields that this version does not know.
fn keep(target: &mut gst::BufferRef, structure: &gst::StructureRef) {
    if let Ok(mut meta) = gst::meta::CustomMeta::add(target, NAME) {
        for (name, value) in structure.iter() {
            meta.mut_structure().set_value(name, value.clone());
        }
    }
}

/// Size and pixel aspect ratio of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    width: u32,
    height: u32,
    par: (u32, u32),
}

impl Size {
    fn of(info: &gst_video::ffi::GstVideoInfo) -> Self {
        Self {
            width: info.width.max(0) as u32,
            height: info.height.max(0) as u32,
            par: (info.par_n.max(0) as u32, info.par_d.max(0) as u32),
        }
    }

    /// Whether both have the same display aspect ratio, so that a scaler adds no borders.
    fn is_shaped_as(&self, other: &Self) -> bool {
        let product =
            |a: u32, b: u32, c: u32, d: u32| [a, b, c, d].into_iter().map(u128::from).product::<u128>();
        product(self.width, self.par.0, other.height, other.par.1)
            == product(other.width, other.par.0, self.height, self.par.1)
    }
}

fn scaled(target: &mut gst::BufferRef, structure: &gst::StructureRef, from: Size, to: Size) {
    let Ok(meta) = MotionVectorMeta::from_structure(structure) else { return };
    let of_this_frame = (meta.description.width, meta.description.height) == (from.width, from.height);
    if !of_this_frame || !from.is_shaped_as(&to) {
        return;
    }
    if (from.width, from.height) == (to.width, to.height) {
        keep(target, structure);
    } else if let Some(Scaled { description, vectors, predictors }) = scale_field(&meta, to) {
        let vectors = glib::Bytes::from_owned(RecordBytes(vectors));
        let predictors = predictors.map(|predictors| glib::Bytes::from_owned(RecordBytes(predictors)));
        // The rows of blocks are unchanged, and so are their devices. Costs are those of the frame that was searched.
        let MotionVectorMeta { devices, costs, is_scene_cut, is_duplicate, .. } = meta;
        let extras = Extras { predictors, devices, costs, is_scene_cut, is_duplicate };
        // The grid was checked, so only GStreamer could refuse; the field is then dropped.
        let _ = attach(target, &description, vectors, extras);
    }
}

/// A field scaled to another frame size.
struct Scaled {
    description: FieldDescription,
    vectors: Vec<MotionVector>,
    predictors: Option<Vec<Predictor>>,
}

/// The field of the frame scaled to `to`; `None` if a block would not have a whole number of samples
/// or a vector would not fit its type.
///
/// Scaling and rounding are monotonic, so the scaled predictors are the medians of the scaled vectors.
fn scale_field(meta: &MotionVectorMeta, to: Size) -> Option<Scaled> {
    let from = &meta.description;
    let (block_width, columns) = scale_blocks(from.block_width, from.width, to.width)?;
    let (block_height, rows) = scale_blocks(from.block_height, from.height, to.height)?;
    if (columns, rows) != (from.columns, from.rows) {
        return None;
    }
    let description =
        FieldDescription { width: to.width, height: to.height, block_width, block_height, ..from.clone() };
    let scale = |x, y| {
        let x = scale_component(x, from.width, to.width)?;
        Some((x, scale_component(y, from.height, to.height)?))
    };
    let vector = |v: &MotionVector| scale(v.x, v.y).map(|(x, y)| MotionVector { x, y, cost: v.cost });
    let predictor = |p: &Predictor| scale(p.x, p.y).map(|(x, y)| Predictor { x, y });
    let vectors = meta.vectors().iter().map(vector).collect::<Option<_>>()?;
    let predictors = match meta.predictors() {
        Some(predictors) => Some(predictors.iter().map(predictor).collect::<Option<_>>()?),
        None => None,
    };
    Some(Scaled { description, vectors, predictors })
}

/// The side of the scaled block and the number of such blocks; `None` if the side is not an integer.
fn scale_blocks(side: u32, from: u32, to: u32) -> Option<(u32, u32)> {
    let scaled = u64::from(side) * u64::from(to);
    let whole = from > 0 && scaled > 0 && scaled.is_multiple_of(u64::from(from));
    let side = whole.then(|| u32::try_from(scaled / u64::from(from)).ok())??;
    Some((side, to.div_ceil(side)))
}

/// `component · to / from`, rounded half away from zero; `None` if it overflows.
fn scale_component(component: i16, from: u32, to: u32) -> Option<i16> {
    let (from, to) = (i64::from(from), i64::from(to));
    let doubled = 2 * i64::from(component) * to;
    i16::try_from((doubled + from * doubled.signum()) / (2 * from)).ok()
}

/// Owned records that GLib reads as bytes.
struct RecordBytes<T>(Vec<T>);

impl<T: bytemuck::Pod> AsRef<[u8]> for RecordBytes<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_round_half_away_from_zero() {
        assert_eq!(scale_component(5, 2, 1), Some(3));
        assert_eq!(scale_component(-5, 2, 1), Some(-3));
        assert_eq!(scale_component(-4, 3, 1), Some(-1));
        assert_eq!(scale_component(-7, 1, 2), Some(-14));
        assert_eq!(scale_component(i16::MAX, 1, 2), None);
    }

    #[test]
    fn blocks_stay_whole() {
        assert_eq!(scale_blocks(16, 320, 160), Some((8, 20)));
        assert_eq!(scale_blocks(16, 320, 100), Some((5, 20)));
        assert_eq!(scale_blocks(16, 320, 150), None);
        assert_eq!(scale_blocks(16, 320, 0), None);
    }

    #[test]
    fn only_copies_and_scales_are_known() {
        gst::init().unwrap();
        register();
        let (mut source, mut target) = (gst::Buffer::new(), gst::Buffer::new());
        let source = source.make_mut();
        gst::meta::CustomMeta::add(source, NAME).unwrap();
        let target = target.make_mut();
        let kind = glib::Quark::from_str("gst-video-matrix").into_glib();
        // SAFETY: both buffers are alive and writable, and the meta is one of the source's; no data is read for this kind.
        let is_known = unsafe {
            let source = source.as_mut_ptr();
            let meta = gst::ffi::gst_buffer_get_custom_meta(source, NAME_C.as_ptr());
            transform(target.as_mut_ptr(), meta, source, kind, ptr::null_mut(), ptr::null_mut())
        };
        assert_eq!(is_known, glib::ffi::GFALSE);
        assert!(gst::meta::CustomMeta::from_buffer(target, NAME).is_err());
    }

    #[test]
    fn shape_counts_the_pixels_too() {
        let size = |width, height, par| Size { width, height, par };
        assert!(size(320, 240, (1, 1)).is_shaped_as(&size(640, 480, (1, 1))));
        assert!(size(320, 240, (1, 1)).is_shaped_as(&size(640, 240, (1, 2))));
        assert!(!size(320, 240, (1, 1)).is_shaped_as(&size(640, 240, (1, 1))));
    }
}
