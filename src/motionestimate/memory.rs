//! The allocator that the element offers upstream: the device uploads frames in its memory directly.
//!
//! For all other elements it is plain system memory. It may be mapped, copied, shared and held, and it
//! lives until the last buffer releases it, even if the element is gone. Where the device has no more memory, or is
//! lost, it is system memory for the device too.

use std::sync::{Arc, OnceLock};

use glib::subclass::prelude::*;
use glib::translate::{IntoGlib, IntoGlibPtr};
use gst::prelude::*;
use gst::subclass::prelude::*;

use motion_search::estimator::{BlockHandle, HostBlock, HostMemory};

/// The name under which a memory carries its [`BlockHandle`].
fn handle_quark() -> glib::Quark {
    static QUARK: OnceLock<glib::Quark> = OnceLock::new();
    *QUARK.get_or_init(|| glib::Quark::from_str("GstMotionEstimateBlockHandle"))
}

/// Lets [`handle_of`] find `handle`.
fn set_handle(memory: &mut gst::MemoryRef, handle: BlockHandle) {
    unsafe extern "C" fn free(handle: glib::ffi::gpointer) {
        // SAFETY: it came from `Box::into_raw` below, and the memory that owned it is freed.
        drop(unsafe { Box::from_raw(handle.cast::<BlockHandle>()) });
    }
    let (memory, handle) = (memory.as_mut_ptr().cast(), Box::into_raw(Box::new(handle)).cast());
    // SAFETY: the memory is a mini object; it owns the handle from now on, and `free` frees it.
    unsafe { gst::ffi::gst_mini_object_set_qdata(memory, handle_quark().into_glib(), handle, Some(free)) };
}

/// What a device recognises `memory` by, if it came from an [`Allocator`], whole or as a part that shares it.
pub fn handle_of(memory: &gst::MemoryRef) -> Option<BlockHandle> {
    let whole = memory.parent().unwrap_or(memory);
    // SAFETY: the memory is a mini object, and only `set_handle` stores anything under this name. The handle
    // lives as long as the memory, which is borrowed.
    unsafe {
        let whole = whole.as_ptr().cast_mut().cast();
        let handle = gst::ffi::gst_mini_object_get_qdata(whole, handle_quark().into_glib());
        handle.cast::<BlockHandle>().as_ref().cloned()
    }
}

/// What a `gst::Memory` owns.
struct Block(Box<dyn HostBlock>);

impl AsMut<[u8]> for Block {
    fn as_mut(&mut self) -> &mut [u8] {
        (*self.0).as_mut()
    }
}

mod imp {
    use super::*;

    #[derive(Default)]
    pub struct Allocator {
        pub(super) memory: OnceLock<Arc<dyn HostMemory>>,
    }

    impl Allocator {
        fn allocate(&self, size: usize, params: &gst::AllocationParams) -> Option<gst::Memory> {
            let memory = self.memory.get()?;
            // `align` is a mask: the alignment minus 1.
            let (prefix, align) = (params.prefix(), params.align());
            let bytes = [prefix, params.padding(), align].into_iter().try_fold(size, usize::checked_add)?;
            let mut block = Block(memory.allocate(bytes.max(1)).ok()?);
            let start = block.as_mut().as_ptr() as usize + prefix;
            let offset = prefix + (start.wrapping_neg() & align);
            let around = [
                (gst::MemoryFlags::ZERO_PREFIXED, 0..offset),
                (gst::MemoryFlags::ZERO_PADDED, offset + size..bytes),
            ];
            for (flag, range) in around {
                if params.flags().contains(flag) {
                    block.as_mut()[range].fill(0);
                }
            }
            let handle = block.0.handle();
            let mut memory = gst::Memory::from_mut_slice(block);
            memory.get_mut()?.resize(offset..offset + size);
            if let Some(handle) = handle {
                set_handle(memory.get_mut()?, handle);
            }
            Some(memory)
        }
    }

    #[glib::object_subclass]
    impl ObjectSubclass for Allocator {
        const NAME: &'static str = "GstMotionEstimateAllocator";
        type Type = super::Allocator;
        type ParentType = gst::Allocator;
    }

    impl ObjectImpl for Allocator {}

    impl GstObjectImpl for Allocator {}

    // SAFETY: the returned memory is owned by the caller. It was made by the bindings, whose own
    // allocator maps, shares and frees it.
    unsafe impl AllocatorImpl for Allocator {
        unsafe fn alloc(&self, size: usize, params: &gst::AllocationParams) -> *mut gst::ffi::GstMemory {
            // A device that is lost has no memory any more; the stream goes on with another.
            let system = || gst::Allocator::find(None)?.alloc(size, Some(params)).ok();
            // The caller owns the returned memory.
            self.allocate(size, params)
                .or_else(system)
                .map_or(std::ptr::null_mut(), IntoGlibPtr::into_glib_ptr)
        }
    }
}

glib::wrapper! {
    /// Allocates buffers' memory in the [`HostMemory`] of a device.
    pub struct Allocator(ObjectSubclass<imp::Allocator>) @extends gst::Allocator, gst::Object;
}

impl Allocator {
    /// An allocator of `memory`.
    pub fn new(memory: Arc<dyn HostMemory>) -> Self {
        let allocator: Self = glib::Object::new();
        // The allocator is new, so its memory is not set yet.
        let _ = allocator.imp().memory.set(memory);
        allocator
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motion_search::estimator::SetupError;

    struct TestMemory;

    impl HostMemory for TestMemory {
        fn allocate(&self, bytes: usize) -> Result<Box<dyn HostBlock>, SetupError> {
            match bytes {
                ..1_000_000 => Ok(Box::new(vec![0; bytes])),
                _ => Err(SetupError::Device {
                    device: "test".into(),
                    message: format!("{bytes} bytes are too many"),
                }),
            }
        }
    }

    fn address(memory: &gst::Memory) -> usize {
        memory.map_readable().unwrap().as_ptr() as usize
    }

    #[test]
    fn memory_is_aligned_and_shared() {
        gst::init().unwrap();
        let allocator = Allocator::new(Arc::new(TestMemory));
        for (align, prefix, padding) in [(0, 0, 0), (63, 0, 16), (255, 32, 7)] {
            let params = gst::AllocationParams::new(gst::MemoryFlags::empty(), align, prefix, padding);
            let mut memory = allocator.alloc(1000, Some(&params)).unwrap();
            assert_eq!((memory.size(), address(&memory) & align), (1000, 0));
            assert!(memory.offset() >= prefix && memory.maxsize() - memory.offset() >= 1000 + padding);
            memory.get_mut().unwrap().map_writable().unwrap().fill(7);
            let part = memory.share(10..20);
            let (first, copy) = (address(&memory), memory.copy());
            drop(memory);
            assert_eq!((address(&part), part.map_readable().unwrap()[..].len()), (first + 10, 10));
            drop(part);
            assert_eq!(copy.map_readable().unwrap()[..], [7; 1000]);
        }
        // Where the device has none, system memory, which it does not know.
        let system = allocator.alloc(1_000_000, None).unwrap();
        assert!(system.size() == 1_000_000 && handle_of(&system).is_none());
        // Memory in use outlives the allocator.
        let last = allocator.alloc(5, None).unwrap();
        drop(allocator);
        assert_eq!(last.map_readable().unwrap().len(), 5);
    }
}
