//! Regions as GStreamer's metadata of analytics, which other elements read since 1.24.
//!
//! `libgstanalytics-1.0.so.0` is opened at run time: its package depends on many others. The declarations are those of
//! `gst/analytics/` in GStreamer 1.24.

use std::ffi::{c_int, c_uint};
use std::marker::PhantomData;
use std::ptr;
use std::sync::LazyLock;

use glib::ffi::{GFALSE, GQuark, gboolean};
use glib::translate::IntoGlib;
use gst::ffi::{GstBuffer, GstClockTime, GstMeta};

use crate::camera::REGION;
use crate::library;
use crate::video::time;
use motion_detect::Region;

/// `GST_ANALYTICS_REL_TYPE_RELATE_TO`.
const RELATE_TO: c_uint = 1 << 3;

/// `GstAnalyticsRelationMeta`, whose first field is a `GstMeta`.
type RawRelations = GstMeta;

/// `GstAnalyticsMtd`: an entry of a relation meta.
#[repr(C)]
struct RawEntry {
    id: c_uint,
    relations: *mut RawRelations,
}

impl RawEntry {
    /// To be written by the library.
    const NONE: Self = Self { id: 0, relations: ptr::null_mut() };
}

/// The functions of the library that are called.
struct AnalyticsLibrary {
    add_relation_meta: unsafe extern "C" fn(*mut GstBuffer) -> *mut RawRelations,
    add_object: unsafe extern "C" fn(
        *mut RawRelations,
        GQuark,
        c_int,
        c_int,
        c_int,
        c_int,
        f32,
        *mut RawEntry,
    ) -> gboolean,
    add_tracking: unsafe extern "C" fn(*mut RawRelations, u64, GstClockTime, *mut RawEntry) -> gboolean,
    update_last_seen: unsafe extern "C" fn(*mut RawEntry, GstClockTime) -> gboolean,
    set_lost: unsafe extern "C" fn(*mut RawEntry) -> gboolean,
    set_relation: unsafe extern "C" fn(*mut RawRelations, c_uint, c_uint, c_uint) -> gboolean,
    /// The type of object that regions are.
    motion: GQuark,
    /// The functions are in it.
    _library: libloading::Library,
}

static LIBRARY: LazyLock<Option<AnalyticsLibrary>> = LazyLock::new(AnalyticsLibrary::open);

impl AnalyticsLibrary {
    /// The library, if it is there.
    fn open() -> Option<Self> {
        let library = library::open("libgstanalytics-1.0.so.0")?;
        // SAFETY: these are the declarations of GStreamer 1.24, and later versions have the same.
        unsafe {
            Some(Self {
                add_relation_meta: *library.get(b"gst_buffer_add_analytics_relation_meta\0").ok()?,
                add_object: *library.get(b"gst_analytics_relation_meta_add_od_mtd\0").ok()?,
                add_tracking: *library.get(b"gst_analytics_relation_meta_add_tracking_mtd\0").ok()?,
                update_last_seen: *library.get(b"gst_analytics_tracking_mtd_update_last_seen\0").ok()?,
                set_lost: *library.get(b"gst_analytics_tracking_mtd_set_lost\0").ok()?,
                set_relation: *library.get(b"gst_analytics_relation_meta_set_relation\0").ok()?,
                motion: glib::Quark::from_str(REGION).into_glib(),
                _library: library,
            })
        }
    }
}

/// The relation meta of a buffer.
struct Relations<'b> {
    library: &'static AnalyticsLibrary,
    raw: *mut RawRelations,
    /// While this lives, the buffer is written and its metas stay.
    _buffer: PhantomData<&'b mut gst::BufferRef>,
}

/// Adds `regions` to the relation meta of `buffer`, each as an object and how it was tracked, and each of `ended` as one that is
/// lost. A frame without regions has a relation meta too: an overlay then removes what it drew for an earlier frame. Without the library
/// it does nothing.
///
/// # Errors
/// If GStreamer refuses an entry; what was added before stays.
pub fn attach(
    buffer: &mut gst::BufferRef,
    regions: &[Region],
    ended: &[Region],
) -> Result<(), glib::BoolError> {
    let Some(library) = &*LIBRARY else { return Ok(()) };
    let mut relations = Relations::of(library, buffer)?;
    for region in regions {
        let tracking = relations.add_tracking(region, false)?;
        let object = relations.add_object(region)?;
        relations.relate(object, tracking)?;
    }
    ended.iter().try_for_each(|region| relations.add_tracking(region, true).map(drop))
}

/// Whether the library has done something.
fn check(done: gboolean, what: &str) -> Result<(), glib::BoolError> {
    if done == GFALSE { Err(glib::bool_error!("GStreamer refuses {what}")) } else { Ok(()) }
}

impl<'b> Relations<'b> {
    /// The one that `buffer` has; adds it if there is none.
    fn of(
        library: &'static AnalyticsLibrary,
        buffer: &'b mut gst::BufferRef,
    ) -> Result<Self, glib::BoolError> {
        // SAFETY: the buffer lives and is writable.
        let raw = unsafe { (library.add_relation_meta)(buffer.as_mut_ptr()) };
        check(gboolean::from(!raw.is_null()), "a relation meta")?;
        Ok(Self { library, raw, _buffer: PhantomData })
    }

    /// Adds where `region` is, and returns the number of the entry.
    fn add_object(&mut self, region: &Region) -> Result<c_uint, glib::BoolError> {
        let Region { x, y, width, height, confidence, .. } = *region;
        let [x, y, width, height] =
            [x, y, width, height].map(|side| c_int::try_from(side).unwrap_or(c_int::MAX));
        let AnalyticsLibrary { add_object, motion, .. } = *self.library;
        let mut entry = RawEntry::NONE;
        // SAFETY: the meta lives and may be written.
        let added =
            unsafe { add_object(self.raw, motion, x, y, width, height, confidence as f32, &mut entry) };
        check(added, "an object")?;
        Ok(entry.id)
    }

    /// Adds how `region` was tracked, and returns the number of the entry.
    fn add_tracking(&mut self, region: &Region, is_lost: bool) -> Result<c_uint, glib::BoolError> {
        let AnalyticsLibrary { add_tracking, update_last_seen, set_lost, .. } = *self.library;
        let [begin, last] = [region.begin, region.last].map(|at| time(at).nseconds());
        let mut entry = RawEntry::NONE;
        // SAFETY: the meta lives and may be written.
        check(unsafe { add_tracking(self.raw, region.id, begin, &mut entry) }, "a tracked object")?;
        // SAFETY: the entry is one of the meta, which lives.
        check(unsafe { update_last_seen(&mut entry, last) }, "when an object was seen")?;
        if is_lost {
            // SAFETY: as above.
            check(unsafe { set_lost(&mut entry) }, "that an object is lost")?;
        }
        Ok(entry.id)
    }

    fn relate(&mut self, object: c_uint, tracking: c_uint) -> Result<(), glib::BoolError> {
        // SAFETY: the meta lives and may be written; it checks the numbers of entries.
        check(unsafe { (self.library.set_relation)(self.raw, RELATE_TO, object, tracking) }, "a relation")
    }
}
