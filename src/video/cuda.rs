//! Frames in memory of CUDA, by GStreamer's library for it.
//!
//! `libgstcuda-1.0.so.0` of GStreamer 1.24 or later is opened at run time: systems without NVIDIA's driver do without. It has
//! no bindings for Rust. The declarations are those of `gst/cuda/` in GStreamer 1.24.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::{Arc, LazyLock, OnceLock};

use glib::ffi::{GFALSE, gboolean};
use glib::translate::*;
use gst::ffi::{GstContext, GstElement, GstMapFlags, GstMapInfo, GstMemory, GstObject, GstQuery};
use gst::prelude::*;
use gst_video::{VideoFormat, VideoFrame, VideoInfo, VideoMeta};
use motion_search::estimator::{BlockHandle, FrameSource};
use motion_search::opencl::{CudaContext, CudaPlane};
use parking_lot::ReentrantMutex;

/// The feature of caps whose frames are in memory of CUDA.
const FEATURE: &str = "memory:CUDAMemory";

/// The formats of such frames, those that decoders and `cudaupload` have.
const FORMATS: [VideoFormat; 4] =
    [VideoFormat::Nv12, VideoFormat::I420, VideoFormat::P01010le, VideoFormat::Y444];

/// `GST_MAP_CUDA`: a memory is mapped as its address on the device.
const MAP_CUDA: GstMapFlags = gst::ffi::GST_MAP_FLAG_LAST << 1;

/// `GstCudaContext`, a `GstObject`.
type RawContext = GstObject;

/// The first fields of `GstCudaMemory`.
#[repr(C)]
struct RawMemory {
    memory: GstMemory,
    context: *mut RawContext,
}

/// The functions of the library that are called.
struct Library {
    is_cuda_memory: unsafe extern "C" fn(*mut GstMemory) -> gboolean,
    ensure_element_context: unsafe extern "C" fn(*mut GstElement, c_int, *mut *mut RawContext) -> gboolean,
    handle_set_context:
        unsafe extern "C" fn(*mut GstElement, *mut GstContext, c_int, *mut *mut RawContext) -> gboolean,
    handle_context_query: unsafe extern "C" fn(*mut GstElement, *mut GstQuery, *mut RawContext) -> gboolean,
    context_get_handle: unsafe extern "C" fn(*mut RawContext) -> *mut c_void,
    memory_get_stream: unsafe extern "C" fn(*mut GstMemory) -> *mut c_void,
    stream_get_handle: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    /// The functions are in it.
    _library: libloading::Library,
}

static LIBRARY: LazyLock<Option<Library>> = LazyLock::new(Library::open);

impl Library {
    /// The library, if it and NVIDIA's driver are there.
    fn open() -> Option<Self> {
        if gst::version() < (1, 24, 0, 0) {
            return None;
        }
        // SAFETY: it is GStreamer's library, by its name; it is safe to load.
        let library = unsafe { libloading::Library::new("libgstcuda-1.0.so.0") }.ok()?;
        // SAFETY: these are the declarations of GStreamer 1.24, and its interface is stable from then on.
        unsafe {
            let load: unsafe extern "C" fn() -> gboolean = *library.get(b"gst_cuda_load_library\0").ok()?;
            let initialise: unsafe extern "C" fn() = *library.get(b"gst_cuda_memory_init_once\0").ok()?;
            if load() == GFALSE {
                return None;
            }
            initialise();
            Some(Self {
                is_cuda_memory: *library.get(b"gst_is_cuda_memory\0").ok()?,
                ensure_element_context: *library.get(b"gst_cuda_ensure_element_context\0").ok()?,
                handle_set_context: *library.get(b"gst_cuda_handle_set_context\0").ok()?,
                handle_context_query: *library.get(b"gst_cuda_handle_context_query\0").ok()?,
                context_get_handle: *library.get(b"gst_cuda_context_get_handle\0").ok()?,
                memory_get_stream: *library.get(b"gst_cuda_memory_get_stream\0").ok()?,
                stream_get_handle: *library.get(b"gst_cuda_stream_get_handle\0").ok()?,
                _library: library,
            })
        }
    }

    /// The context of CUDA in `context`, which is not null.
    fn context(&self, context: *mut RawContext) -> CudaContext {
        // SAFETY: it is an object that lives as long as this reference.
        let owner: gst::Object = unsafe { from_glib_none(context) };
        // SAFETY: the context of CUDA lives as long as the object.
        unsafe { CudaContext::new((self.context_get_handle)(context), Arc::new(owner)) }
    }
}

/// `caps`, and behind them those of frames in memory of CUDA where they can be had.
pub fn with_cuda(mut caps: gst::Caps) -> gst::Caps {
    if LIBRARY.is_some() {
        let of_cuda = gst_video::VideoCapsBuilder::new()
            .features([FEATURE])
            .format_list(FORMATS)
            .width_range(super::SIDES)
            .height_range(super::SIDES);
        caps.merge(of_cuda.build());
    }
    caps
}

/// Whether the frames of `caps` are in memory of CUDA.
pub fn is_of_cuda(caps: &gst::Caps) -> bool {
    caps.features(0).is_some_and(|features| features.contains(FEATURE))
}

/// The context of an element, which it shares with its neighbours.
///
/// The library writes to it while it asks the neighbours, also through the element's `set_context` on the same thread.
pub struct ElementContext(ReentrantMutex<Cell<*mut RawContext>>);

// SAFETY: the object may be used from any thread, and the pointer is read and written under the lock.
unsafe impl Send for ElementContext {}

// SAFETY: as above.
unsafe impl Sync for ElementContext {}

impl Default for ElementContext {
    fn default() -> Self {
        Self(ReentrantMutex::new(Cell::new(std::ptr::null_mut())))
    }
}

impl Drop for ElementContext {
    fn drop(&mut self) {
        self.forget();
    }
}

impl ElementContext {
    /// Takes `context`, which is set for `element`, if it is one of CUDA.
    pub fn set(&self, element: &impl IsA<gst::Element>, context: &gst::Context) {
        let Some(library) = &*LIBRARY else { return };
        let held = self.0.lock();
        // SAFETY: element and context live; any device will do; the place holds null or an object.
        unsafe {
            let element = element.as_ref().to_glib_none().0;
            (library.handle_set_context)(element, context.to_glib_none().0, -1, held.as_ptr());
        }
    }

    /// Answers a query for a context, if it is one of CUDA and there is one.
    pub fn answer(&self, element: &impl IsA<gst::Element>, query: &mut gst::QueryRef) -> bool {
        let (Some(library), true) = (&*LIBRARY, query.type_() == gst::QueryType::Context) else {
            return false;
        };
        let held = self.0.lock();
        // SAFETY: element and query live; the context may be null.
        unsafe {
            let element = element.as_ref().to_glib_none().0;
            (library.handle_context_query)(element, query.as_mut_ptr(), held.get()) != GFALSE
        }
    }

    /// The context that `element` shares with its neighbours, or a new one.
    pub fn ensure(&self, element: &impl IsA<gst::Element>) -> Option<CudaContext> {
        let library = LIBRARY.as_ref()?;
        let held = self.0.lock();
        // SAFETY: the element lives; any device will do; the place holds null or an object.
        let is_there = unsafe {
            let element = element.as_ref().to_glib_none().0;
            (library.ensure_element_context)(element, -1, held.as_ptr()) != GFALSE
        };
        (is_there && !held.get().is_null()).then(|| library.context(held.get()))
    }

    /// Drops the context: the element is stopped.
    pub fn forget(&self) {
        let held = self.0.lock().replace(std::ptr::null_mut());
        if !held.is_null() {
            // SAFETY: this reference is the element's.
            drop(unsafe { from_glib_full::<_, gst::Object>(held) });
        }
    }
}

/// A memory that is mapped as its address on the device.
struct MappedMemory {
    memory: gst::Memory,
    map: GstMapInfo,
}

// SAFETY: a mapped memory may be used and unmapped from any thread.
unsafe impl Send for MappedMemory {}

// SAFETY: as above.
unsafe impl Sync for MappedMemory {}

impl MappedMemory {
    fn new(memory: gst::Memory) -> Option<Self> {
        let mut map = MaybeUninit::uninit();
        let flags = gst::ffi::GST_MAP_READ | MAP_CUDA;
        // SAFETY: the memory lives; there is space for what is written.
        let is_mapped = unsafe { gst::ffi::gst_memory_map(memory.as_mut_ptr(), map.as_mut_ptr(), flags) };
        // SAFETY: it has been written.
        (is_mapped != GFALSE).then(|| Self { memory, map: unsafe { map.assume_init() } })
    }
}

impl Drop for MappedMemory {
    fn drop(&mut self) {
        // SAFETY: it was mapped so, once.
        unsafe { gst::ffi::gst_memory_unmap(self.memory.as_mut_ptr(), &mut self.map) };
    }
}

/// The luma plane of a buffer in memory of CUDA.
pub struct CudaLuma {
    buffer: gst::Buffer,
    info: VideoInfo,
    pub stride: usize,
    len: usize,
    plane: BlockHandle,
    /// The frame in memory of the host, once a device has asked for it that does not read memory of CUDA.
    on_host: OnceLock<Option<VideoFrame<gst_video::video_frame::Readable>>>,
    /// What is read instead, if the driver does not copy it.
    black: OnceLock<Vec<u8>>,
    _mapped: MappedMemory,
}

impl CudaLuma {
    /// The first plane of `buffer`, a frame of `info`, if it is in memory of CUDA.
    pub fn new(buffer: &gst::Buffer, info: &VideoInfo) -> Option<Self> {
        let library = LIBRARY.as_ref()?;
        let memory = (buffer.n_memory() == 1).then(|| buffer.memory(0)).flatten()?;
        let raw = memory.as_mut_ptr();
        // SAFETY: the memory lives.
        if unsafe { (library.is_cuda_memory)(raw) } == GFALSE {
            return None;
        }
        // SAFETY: it is a `GstCudaMemory`, whose context lives as long.
        let context = library.context(unsafe { (*raw.cast::<RawMemory>()).context });
        // SAFETY: as above; a stream lives as long as the memory that is written on it.
        let stream = unsafe {
            let stream = (library.memory_get_stream)(raw);
            if stream.is_null() { stream } else { (library.stream_get_handle)(stream) }
        };
        let mapped = MappedMemory::new(memory)?;
        let (offset, stride) = match buffer.meta::<VideoMeta>() {
            Some(meta) => (meta.offset()[0], meta.stride()[0]),
            None => (info.offset()[0], info.stride()[0]),
        };
        let stride = usize::try_from(stride).ok()?;
        let len = stride.checked_mul(info.height() as usize)?;
        if mapped.map.size < offset.checked_add(len)? {
            return None;
        }
        let address = mapped.map.data as u64 + offset as u64;
        // SAFETY: the buffer stays mapped while `self` lives, and has so many bytes behind the address.
        let plane = unsafe { CudaPlane::new(context, address, stream) };
        Some(Self {
            buffer: buffer.clone(),
            info: info.clone(),
            stride,
            len,
            plane: Arc::new(plane),
            on_host: OnceLock::new(),
            black: OnceLock::new(),
            _mapped: mapped,
        })
    }
}

impl FrameSource for CudaLuma {
    fn bytes(&self) -> &[u8] {
        let on_host = self.on_host.get_or_init(|| {
            gst::debug!(gst::CAT_PERFORMANCE, "Copying a frame from memory of CUDA");
            VideoFrame::from_buffer_readable(self.buffer.clone(), &self.info).ok()
        });
        let samples = on_host.as_ref().and_then(|frame| frame.plane_data(0).ok());
        match samples.filter(|samples| samples.len() == self.len) {
            Some(samples) => samples,
            None => self.black.get_or_init(|| {
                gst::error!(
                    gst::CAT_PERFORMANCE,
                    "A frame cannot be copied from memory of CUDA: it counts as black"
                );
                vec![0; self.len]
            }),
        }
    }

    fn len(&self) -> usize {
        self.len
    }

    fn block(&self) -> Option<&BlockHandle> {
        Some(&self.plane)
    }
}
