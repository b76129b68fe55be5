//! GStreamer's metadata of analytics, read and written by its library, where that is installed.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::LazyLock;

use glib::ffi::{GFALSE, GQuark, gboolean};
use glib::translate::{IntoGlib, from_glib};
use gst::ffi::{GstBuffer, GstMeta};

/// `GST_ANALYTICS_REL_TYPE_RELATE_TO`.
pub const RELATE_TO: u32 = 1 << 3;

/// What an entry of a relation meta is. Its number is its place among all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Entry {
    /// `GstAnalyticsODMtd`: its type, x, y, width, height, and confidence.
    Object(glib::Quark, [i32; 4], f32),
    /// `GstAnalyticsTrackingMtd`: its id, when it was first and last seen, and whether it is lost.
    Tracking(u64, u64, u64, bool),
    /// Another.
    Other,
}

/// `GstAnalyticsMtd`.
#[repr(C)]
struct RawEntry {
    id: c_uint,
    relations: *mut GstMeta,
}

/// `GstAnalyticsRelationMetaInitParams`.
#[repr(C)]
struct RawCapacity {
    entries: usize,
    bytes: usize,
}

/// The functions of the library.
pub struct Analytics {
    add_meta: unsafe extern "C" fn(*mut GstBuffer, *mut RawCapacity) -> *mut GstMeta,
    iterate: unsafe extern "C" fn(*mut GstMeta, *mut *mut c_void, usize, *mut RawEntry) -> gboolean,
    entry_type: unsafe extern "C" fn(*const RawEntry) -> usize,
    object_type: unsafe extern "C" fn() -> usize,
    tracking_type: unsafe extern "C" fn() -> usize,
    object_kind: unsafe extern "C" fn(*const RawEntry) -> GQuark,
    object_location: unsafe extern "C" fn(
        *const RawEntry,
        *mut c_int,
        *mut c_int,
        *mut c_int,
        *mut c_int,
        *mut f32,
    ) -> gboolean,
    tracking_info:
        unsafe extern "C" fn(*const RawEntry, *mut u64, *mut u64, *mut u64, *mut gboolean) -> gboolean,
    add_object: unsafe extern "C" fn(
        *mut GstMeta,
        GQuark,
        c_int,
        c_int,
        c_int,
        c_int,
        f32,
        *mut RawEntry,
    ) -> gboolean,
    add_tracking: unsafe extern "C" fn(*mut GstMeta, u64, u64, *mut RawEntry) -> gboolean,
    relation: unsafe extern "C" fn(*const GstMeta, c_uint, c_uint) -> c_uint,
    set_relation: unsafe extern "C" fn(*mut GstMeta, c_uint, c_uint, c_uint) -> gboolean,
    _library: libloading::Library,
}

static ANALYTICS: LazyLock<Option<Analytics>> = LazyLock::new(Analytics::open);

/// The relation metas of `buffer`, of which there should be one at most. It needs no library.
pub fn relation_metas(buffer: &gst::BufferRef) -> usize {
    relations(buffer).count()
}

fn relations(buffer: &gst::BufferRef) -> impl Iterator<Item = *mut GstMeta> {
    let metas = buffer.iter_meta::<gst::Meta>();
    metas
        .filter(|meta| meta.api().name() == "GstAnalyticsRelationMetaAPI")
        .map(|meta| meta.as_ptr().cast_mut())
}

impl Analytics {
    /// The library, if it is installed.
    pub fn get() -> Option<&'static Self> {
        ANALYTICS.as_ref()
    }

    fn open() -> Option<Self> {
        // SAFETY: it is GStreamer's library, by its name; it is safe to load.
        let library = unsafe { libloading::Library::new("libgstanalytics-1.0.so.0") }.ok()?;
        // SAFETY: these are the declarations of GStreamer 1.24, and later versions have the same.
        unsafe {
            Some(Self {
                add_meta: *library.get(b"gst_buffer_add_analytics_relation_meta_full\0").ok()?,
                iterate: *library.get(b"gst_analytics_relation_meta_iterate\0").ok()?,
                entry_type: *library.get(b"gst_analytics_mtd_get_mtd_type\0").ok()?,
                object_type: *library.get(b"gst_analytics_od_mtd_get_mtd_type\0").ok()?,
                tracking_type: *library.get(b"gst_analytics_tracking_mtd_get_mtd_type\0").ok()?,
                object_kind: *library.get(b"gst_analytics_od_mtd_get_obj_type\0").ok()?,
                object_location: *library.get(b"gst_analytics_od_mtd_get_location\0").ok()?,
                tracking_info: *library.get(b"gst_analytics_tracking_mtd_get_info\0").ok()?,
                add_object: *library.get(b"gst_analytics_relation_meta_add_od_mtd\0").ok()?,
                add_tracking: *library.get(b"gst_analytics_relation_meta_add_tracking_mtd\0").ok()?,
                relation: *library.get(b"gst_analytics_relation_meta_get_relation\0").ok()?,
                set_relation: *library.get(b"gst_analytics_relation_meta_set_relation\0").ok()?,
                _library: library,
            })
        }
    }

    /// The entries of the relation meta of `buffer`; `None` if it has none.
    ///
    /// # Panics
    /// If it has several.
    pub fn entries(&self, buffer: &gst::BufferRef) -> Option<Vec<Entry>> {
        let metas: Vec<_> = relations(buffer).collect();
        let meta = match metas[..] {
            [] => return None,
            [meta] => meta,
            _ => panic!("{} relation metas", metas.len()),
        };
        let (mut found, mut state) = (Vec::new(), ptr::null_mut());
        let mut raw = RawEntry { id: 0, relations: meta };
        // SAFETY: the meta lives as long as the buffer, and there is space for what is written; 0 stands for entries of any type.
        while unsafe { (self.iterate)(meta, &mut state, 0, &mut raw) } != GFALSE {
            assert_eq!(raw.id as usize, found.len());
            found.push(self.entry(&raw));
        }
        Some(found)
    }

    fn entry(&self, raw: &RawEntry) -> Entry {
        // SAFETY: the entry is of a meta that lives, each function is for entries of the type that is asked for before, and there is
        // space for what is written.
        unsafe {
            let kind = (self.entry_type)(raw);
            if kind == (self.object_type)() {
                let (mut rect, mut confidence) = ([0; 4], 0.0);
                let [x, y, width, height] = &mut rect;
                (self.object_location)(raw, x, y, width, height, &mut confidence);
                Entry::Object(from_glib((self.object_kind)(raw)), rect, confidence)
            } else if kind == (self.tracking_type)() {
                let (mut id, mut begin, mut last, mut is_lost) = (0, 0, 0, GFALSE);
                (self.tracking_info)(raw, &mut id, &mut begin, &mut last, &mut is_lost);
                Entry::Tracking(id, begin, last, is_lost != GFALSE)
            } else {
                Entry::Other
            }
        }
    }

    /// How two entries of the relation meta of `buffer` are related: `GstAnalyticsRelTypes`.
    ///
    /// # Panics
    /// If it has none.
    pub fn relation(&self, buffer: &gst::BufferRef, first: u32, second: u32) -> u32 {
        let meta = relations(buffer).next().expect("a relation meta");
        // SAFETY: the meta lives as long as the buffer.
        unsafe { (self.relation)(meta, first, second) }
    }

    /// Adds a relation meta with space for so many entries and bytes of them, unless `buffer` has one; both grow.
    pub fn add_meta(&self, buffer: &mut gst::BufferRef, entries: usize, bytes: usize) {
        let mut capacity = RawCapacity { entries, bytes };
        // SAFETY: the buffer is writable.
        let meta = unsafe { (self.add_meta)(buffer.as_mut_ptr(), &mut capacity) };
        assert!(!meta.is_null(), "a relation meta");
    }

    /// Adds an entry to the relation meta of `buffer`, and says whether that was done.
    ///
    /// # Panics
    /// If it has none.
    pub fn add(&self, buffer: &mut gst::BufferRef, entry: Entry) -> bool {
        let meta = relations(buffer).next().expect("a relation meta");
        let mut raw = RawEntry { id: 0, relations: meta };
        // SAFETY: the meta lives as long as the buffer, which is writable.
        let added = unsafe {
            match entry {
                Entry::Object(kind, [x, y, width, height], confidence) => {
                    (self.add_object)(meta, kind.into_glib(), x, y, width, height, confidence, &mut raw)
                }
                Entry::Tracking(id, begin, ..) => (self.add_tracking)(meta, id, begin, &mut raw),
                Entry::Other => GFALSE,
            }
        };
        added != GFALSE
    }

    /// Relates two entries of the relation meta of `buffer`, and says whether that was done.
    ///
    /// # Panics
    /// If it has none.
    pub fn relate(&self, buffer: &mut gst::BufferRef, kind: u32, first: u32, second: u32) -> bool {
        let meta = relations(buffer).next().expect("a relation meta");
        // SAFETY: the meta lives as long as the buffer, which is writable; the function checks the numbers of entries.
        unsafe { (self.set_relation)(meta, kind, first, second) != GFALSE }
    }
}
