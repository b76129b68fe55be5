//! How the meta is kept, scaled or dropped when GStreamer copies or transforms a buffer.

use std::ffi::CStr;
use std::sync::Once;

use glib::translate::{IntoGlib, from_glib};
use parking_lot::Mutex;

use super::resample::{Placement, Rectangle, Resampled};
use crate::custom;

use super::{CAT, Extras, FieldCosts, MotionVectorMeta, NAME, RowDevices, attach};

const NAME_C: &CStr = c"MotionVectorMeta";

/// Registers the meta with GStreamer. Repeated calls do nothing.
///
/// # Panics
/// If GStreamer is not initialised.
pub fn register() {
    static ONCE: Once = Once::new();
    // SAFETY: `transform` is for GStreamer to call so.
    ONCE.call_once(|| unsafe { custom::register(NAME_C, transform) });
}

/// Called by GStreamer to transform the meta `meta` of `source` onto `target`. Returns whether it knows `kind`, also where
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
            let (from, to) = (Size::of(&*scale.in_info), Size::of(&*scale.out_info));
            place(target, structure, from, from.scaled_to(&to));
        } else if kind.as_str() == MATRIX {
            let matrix = &*(data as *const Matrix);
            place(target, structure, Size::of(&*matrix.in_info), matrix.placement());
        } else {
            return false.into_glib();
        }
    }
    true.into_glib()
}

/// The transform that GStreamer 1.28 has besides copying and scaling.
const MATRIX: &str = "gst-video-matrix";

/// `GstVideoMetaTransformMatrix` of GStreamer 1.28, declared here because the plugin also runs with older releases and is
/// built with their headers: `matrix` maps positions in `in_rectangle`, from its upper left corner, to positions in
/// `out_rectangle`.
#[repr(C)]
struct Matrix {
    in_info: *const gst_video::ffi::GstVideoInfo,
    in_rectangle: gst_video::ffi::GstVideoRectangle,
    out_info: *const gst_video::ffi::GstVideoInfo,
    out_rectangle: gst_video::ffi::GstVideoRectangle,
    matrix: [[f32; 3]; 3],
}

impl Matrix {
    /// Where the frame is put. The sizes come from the rectangles, which are exact; the matrix tells how it is turned.
    ///
    /// # Errors
    /// The reason, where the frame is turned by other than quarters of a circle, or distorted.
    ///
    /// # Safety
    /// `out_info` is valid.
    unsafe fn placement(&self) -> Result<Placement, &'static str> {
        let rectangle = |r: &gst_video::ffi::GstVideoRectangle| Rectangle {
            x: r.x.into(),
            y: r.y.into(),
            width: r.w.into(),
            height: r.h.into(),
        };
        let (from, to) = (rectangle(&self.in_rectangle), rectangle(&self.out_rectangle));
        if [from.width, from.height, to.width, to.height].iter().any(|&side| side < 1) {
            return Err("an empty rectangle");
        }
        let [[a, b, _], [c, d, _], bottom] = self.matrix;
        let is_transposed = a.abs() + d.abs() < b.abs() + c.abs();
        let ((x, y), rest) = if is_transposed { ((b, c), [a, d]) } else { ((a, d), [b, c]) };
        let (across, down) =
            if is_transposed { (from.height, from.width) } else { (from.width, from.height) };
        let is_near = |factor: f32, to: i64, from: i64| {
            let expected = to as f32 / from as f32;
            (factor.abs() - expected).abs() <= expected / 100.0
        };
        if bottom != [0.0, 0.0, 1.0]
            || rest.iter().any(|part| part.abs() > 1e-4)
            || !is_near(x, to.width, across)
            || !is_near(y, to.height, down)
        {
            return Err("turned by other than quarters of a circle, or distorted");
        }
        // SAFETY: the caller's.
        let size = Size::of(unsafe { &*self.out_info });
        Ok(Placement {
            from,
            to,
            is_transposed,
            is_mirrored: [x < 0.0, y < 0.0],
            size: (size.width, size.height),
        })
    }
}

/// Copies the meta unchanged, including fields that this version does not know.
pub(super) fn keep(target: &mut gst::BufferRef, structure: &gst::StructureRef) {
    if let Ok(mut meta) = gst::meta::CustomMeta::add(target, NAME) {
        for (name, value) in structure.iter() {
            meta.mut_structure().set_value(name, value.clone());
        }
    }
}

/// Size and pixel aspect ratio of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

    /// Where a frame of this size is put in one of size `to` by a scaler that may add borders.
    ///
    /// # Errors
    /// The reason, where it may have added borders of more than a sample: their sizes are not told.
    fn scaled_to(&self, to: &Self) -> Result<Placement, &'static str> {
        if [self.width, self.height, to.width, to.height].contains(&0) {
            return Err("an empty frame");
        }
        let pixel = |size: &Self| f64::from(size.par.0.max(1)) / f64::from(size.par.1.max(1));
        // The width that has the same shape at the new height, and the other way round.
        let stretch = pixel(self) / pixel(to);
        let width = f64::from(to.height) * f64::from(self.width) / f64::from(self.height) * stretch;
        let height = f64::from(to.width) * f64::from(self.height) / f64::from(self.width) / stretch;
        if f64::from(to.width) - width >= 2.0 || f64::from(to.height) - height >= 2.0 {
            return Err("its aspect ratio changes, so that a scaler may have added borders");
        }
        Ok(Placement::scaling((self.width, self.height), (to.width, to.height)))
    }
}

/// Attaches the field in `structure`, of a frame of size `from`, to `target`, which shows that frame as `placement` says.
fn place(
    target: &mut gst::BufferRef,
    structure: &gst::StructureRef,
    from: Size,
    placement: Result<Placement, &'static str>,
) {
    let placed = placement.and_then(|placement| {
        let meta = MotionVectorMeta::from_structure(structure).map_err(|_| "it cannot be read")?;
        if (meta.description.width, meta.description.height) != (from.width, from.height) {
            return Err("it is of a frame of another size");
        }
        if placement.is_identity() {
            keep(target, structure);
            return Ok(());
        }
        let field = placement.resample(&meta).ok_or("its vectors would be too long")?;
        let columns = meta.description.columns;
        let costs = meta.costs.as_ref().and_then(|costs| {
            let values = field.costs(costs.values(), costs.names());
            FieldCosts::new(costs.names().to_vec(), glib::Bytes::from_owned(RecordBytes(values))).ok()
        });
        let devices = meta.devices.as_ref().and_then(|devices| {
            let rows = field.rows(columns)?.into_iter().map(|row| devices.rows()[row]).collect::<Vec<_>>();
            RowDevices::new(devices.names().to_vec(), glib::Bytes::from_owned(rows)).ok()
        });
        let Resampled { description, vectors, predictors, .. } = field;
        let vectors = glib::Bytes::from_owned(RecordBytes(vectors));
        let predictors = predictors.map(|predictors| glib::Bytes::from_owned(RecordBytes(predictors)));
        let MotionVectorMeta { levels, is_scene_cut, is_duplicate, .. } = meta;
        let extras = Extras { predictors, devices, costs, levels, is_scene_cut, is_duplicate };
        attach(target, &description, vectors, extras).map_err(|_| "it was refused")
    });
    if let Err(reason) = placed {
        log_dropped(from, reason);
    }
}

/// Tells the log, once for frames of a size, why their fields are dropped.
fn log_dropped(from: Size, reason: &'static str) {
    static TOLD: Mutex<Vec<(Size, &str)>> = Mutex::new(Vec::new());
    const MOST: usize = 64;
    let mut told = TOLD.lock();
    if !told.contains(&(from, reason)) && told.len() < MOST {
        told.push((from, reason));
        let Size { width, height, .. } = from;
        gst::info!(CAT, "The motion field of a frame of {width} x {height} samples is dropped: {reason}");
    }
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
    use std::ptr;

    use glib::translate::ToGlibPtr;

    use super::*;

    #[test]
    fn other_transforms_are_not_known() {
        gst::init().unwrap();
        register();
        let (mut source, mut target) = (gst::Buffer::new(), gst::Buffer::new());
        let source = source.make_mut();
        gst::meta::CustomMeta::add(source, NAME).unwrap();
        let target = target.make_mut();
        let kind = glib::Quark::from_str("gst-video-other").into_glib();
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
        let fits = |from: Size, to: Size| from.scaled_to(&to).is_ok();
        assert!(fits(size(320, 240, (1, 1)), size(640, 480, (1, 1))));
        assert!(fits(size(320, 240, (1, 1)), size(640, 240, (1, 2))));
        assert!(!fits(size(320, 240, (1, 1)), size(640, 240, (1, 1))));
        // Sizes that no scaler can meet exactly.
        assert!(fits(size(640, 360, (1, 1)), size(426, 240, (1, 1))));
        assert!(fits(size(1920, 1080, (1, 1)), size(854, 480, (1, 1))));
        assert!(!fits(size(0, 240, (1, 1)), size(640, 240, (1, 1))));
    }

    #[test]
    fn a_matrix_tells_how_the_frame_is_turned() {
        gst::init().unwrap();
        let info = |width, height| {
            gst_video::VideoInfo::builder(gst_video::VideoFormat::Gray8, width, height).build().unwrap()
        };
        let (old, new) = (info(320, 192), info(192, 320));
        let rectangle = |w, h| gst_video::ffi::GstVideoRectangle { x: 0, y: 0, w, h };
        let matrix = |matrix| Matrix {
            in_info: old.to_glib_none().0,
            in_rectangle: rectangle(320, 192),
            out_info: new.to_glib_none().0,
            out_rectangle: rectangle(192, 320),
            matrix,
        };
        // SAFETY: the infos are alive.
        let placement = |rows| unsafe { matrix(rows).placement() };
        // A quarter turn clockwise: x = 192 - old y, y = old x.
        let turned = placement([[0.0, -1.0, 192.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]).unwrap();
        assert!(turned.is_transposed && turned.is_mirrored == [true, false] && turned.size == (192, 320));
        let scaled = placement([[0.6, 0.0, 0.0], [0.0, 320.0 / 192.0, 0.0], [0.0, 0.0, 1.0]]).unwrap();
        assert_eq!(scaled, Placement::scaling((320, 192), (192, 320)));
        for wrong in [
            [[0.7, -0.7, 0.0], [0.7, 0.7, 0.0], [0.0, 0.0, 1.0]],
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [[0.6, 0.0, 0.0], [0.0, 1.6667, 0.0], [0.1, 0.0, 1.0]],
        ] {
            assert!(placement(wrong).is_err(), "{wrong:?}");
        }
    }
}
