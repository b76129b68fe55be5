//! Frames in memory of CUDA, by GStreamer's library for it.
//!
//! `libgstcuda-1.0.so.0` of GStreamer 1.24 or later is opened at run time: systems without NVIDIA's driver do without. It has
//! no bindings for Rust. The declarations are those of `gst/cuda/` in GStreamer 1.24.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::sync::{Arc, LazyLock, OnceLock};

use glib::ffi::{GFALSE, gboolean};
use glib::translate::*;
use gst::ffi::{
    GstBufferPool, GstContext, GstElement, GstMapFlags, GstMapInfo, GstMemory, GstObject, GstQuery,
};
use gst::prelude::*;
use gst_video::{VideoFormat, VideoFrame, VideoInfo, VideoMeta};

use crate::library;
use motion_frames::interpolation::FrameFormat;
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
    buffer_pool_new: unsafe extern "C" fn(*mut RawContext) -> *mut GstBufferPool,
    /// The functions are in it.
    _library: libloading::Library,
}

static LIBRARY: LazyLock<Option<Library>> = LazyLock::new(Library::open);

impl Library {
    /// The library, if it and NVIDIA's driver are there.
    fn open() -> Option<Self> {
        let library = library::open("libgstcuda-1.0.so.0")?;
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
                buffer_pool_new: *library.get(b"gst_cuda_buffer_pool_new\0").ok()?,
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
fn is_of_cuda(caps: &gst::CapsRef) -> bool {
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

    /// The context that `element` shares with its neighbours, or a new one, if frames of `caps` are in memory of CUDA.
    pub fn context_for(&self, element: &impl IsA<gst::Element>, caps: &gst::CapsRef) -> Option<CudaContext> {
        let library = LIBRARY.as_ref().filter(|_| is_of_cuda(caps))?;
        let held = self.0.lock();
        // SAFETY: the element lives; any device will do; the place holds null or an object.
        let is_there = unsafe {
            let element = element.as_ref().to_glib_none().0;
            (library.ensure_element_context)(element, -1, held.as_ptr()) != GFALSE
        };
        (is_there && !held.get().is_null()).then(|| library.context(held.get()))
    }

    /// A pool of buffers in memory of the context, if `query` asks for such ones.
    pub fn pool_for(&self, query: &gst::query::Allocation) -> Option<gst::BufferPool> {
        let (library, held) = (LIBRARY.as_ref()?, self.0.lock());
        let is_wanted = query.get().0.is_some_and(is_of_cuda);
        if held.get().is_null() || !is_wanted {
            return None;
        }
        // SAFETY: the context lives, and the pool holds it; the reference is the caller's.
        Some(unsafe { from_glib_full((library.buffer_pool_new)(held.get())) })
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
    /// Maps `memory` as `access`, `GST_MAP_READ` or `GST_MAP_WRITE`, says.
    fn new(memory: gst::Memory, access: GstMapFlags) -> Option<Self> {
        let mut map = MaybeUninit::uninit();
        let flags = access | MAP_CUDA;
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

/// A frame in memory of CUDA that is mapped.
struct MappedCudaFrame {
    context: CudaContext,
    /// The stream on which it is written.
    stream: *mut c_void,
    /// Where each plane begins, and the bytes from one row to the next.
    planes: Vec<(u64, usize)>,
    _mapped: MappedMemory,
}

// SAFETY: the stream may be used from any thread.
unsafe impl Send for MappedCudaFrame {}

// SAFETY: as above.
unsafe impl Sync for MappedCudaFrame {}

impl MappedCudaFrame {
    /// `buffer`, a frame of `info` and `format`, if it is in memory of CUDA, mapped as `access` says.
    fn new(
        buffer: &gst::BufferRef,
        (info, format): (&VideoInfo, &FrameFormat),
        access: GstMapFlags,
    ) -> Option<Self> {
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
        let mapped = MappedMemory::new(memory, access)?;
        let (offsets, strides) = match buffer.meta::<VideoMeta>() {
            Some(meta) => (meta.offset().to_vec(), meta.stride().to_vec()),
            None => (info.offset().to_vec(), info.stride().to_vec()),
        };
        let place = |index: usize| {
            let (offset, stride) = (*offsets.get(index)?, usize::try_from(*strides.get(index)?).ok()?);
            let end = offset.checked_add(stride.checked_mul(format.plane_size(index).1)?)?;
            (end <= mapped.map.size).then(|| (mapped.map.data as u64 + offset as u64, stride))
        };
        let planes = (0..format.samplings.len()).map(place).collect::<Option<_>>()?;
        Some(Self { context, stream, planes, _mapped: mapped })
    }
}

/// A frame in memory of CUDA that is read.
pub struct ReadableCudaFrame {
    mapped: MappedCudaFrame,
    buffer: gst::Buffer,
    info: VideoInfo,
    /// The frame in memory of the host, once a device has asked for it that does not read memory of CUDA.
    on_host: OnceLock<Option<VideoFrame<gst_video::video_frame::Readable>>>,
}

impl ReadableCudaFrame {
    /// `buffer`, a frame of `info` and `format`, if it is in memory of CUDA.
    pub fn new(buffer: &gst::Buffer, info: &VideoInfo, format: &FrameFormat) -> Option<Arc<Self>> {
        let mapped = MappedCudaFrame::new(buffer, (info, format), gst::ffi::GST_MAP_READ)?;
        let info = info.clone();
        Some(Arc::new(Self { mapped, buffer: buffer.clone(), info, on_host: OnceLock::new() }))
    }

    /// Bytes from one row of plane `index` to the next.
    pub fn stride(&self, index: usize) -> usize {
        self.mapped.planes[index].1
    }

    /// Plane `index`, of so many rows.
    pub fn plane(self: &Arc<Self>, index: usize, rows: usize) -> impl FrameSource + use<> {
        let MappedCudaFrame { context, stream, planes, .. } = &self.mapped;
        let (address, stride) = planes[index];
        // SAFETY: the buffer stays mapped while the source lives, and has so many rows behind the address.
        let plane = unsafe { CudaPlane::new(context.clone(), address, *stream) };
        let (frame, len) = (self.clone(), stride * rows);
        PlaneSource { frame, index, len, plane: Arc::new(plane), black: OnceLock::new() }
    }
}

/// A plane of such a frame.
struct PlaneSource {
    frame: Arc<ReadableCudaFrame>,
    index: usize,
    len: usize,
    plane: BlockHandle,
    /// What is read instead, if the driver does not copy it.
    black: OnceLock<Vec<u8>>,
}

impl FrameSource for PlaneSource {
    fn bytes(&self) -> &[u8] {
        let ReadableCudaFrame { buffer, info, on_host, .. } = &*self.frame;
        let on_host = on_host.get_or_init(|| {
            gst::debug!(gst::CAT_PERFORMANCE, "Copying a frame from memory of CUDA");
            VideoFrame::from_buffer_readable(buffer.clone(), info).ok()
        });
        let samples = on_host.as_ref().and_then(|frame| frame.plane_data(self.index as u32).ok());
        match samples.and_then(|samples| samples.get(..self.len)) {
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

/// A frame in memory of CUDA that is written.
pub struct WritableCudaFrame {
    planes: Vec<(BlockHandle, usize)>,
    _mapped: MappedCudaFrame,
}

impl WritableCudaFrame {
    /// `buffer`, a frame of `info` and `format`, if it is in memory of CUDA. `buffer` must not be mapped otherwise until this is
    /// dropped.
    pub fn new(buffer: &mut gst::BufferRef, info: &VideoInfo, format: &FrameFormat) -> Option<Self> {
        let mapped = MappedCudaFrame::new(buffer, (info, format), gst::ffi::GST_MAP_WRITE)?;
        let plane = |&(address, stride): &(u64, usize)| {
            // SAFETY: the memory is mapped to be written while `self` lives, and has all rows of the plane, as has been checked.
            let plane = unsafe { CudaPlane::writable(mapped.context.clone(), address, mapped.stream) };
            (Arc::new(plane) as BlockHandle, stride)
        };
        Some(Self { planes: mapped.planes.iter().map(plane).collect(), _mapped: mapped })
    }
}

/// Each plane, and the bytes from one row to the next.
impl Deref for WritableCudaFrame {
    type Target = [(BlockHandle, usize)];

    fn deref(&self) -> &Self::Target {
        &self.planes
    }
}
