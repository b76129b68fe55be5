//! The allocator of this program: it counts large allocations, and refuses one of them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's, with what tests ask of it.
pub struct Allocator {
    /// The bytes of a large allocation.
    least: AtomicUsize,
    /// The large allocations so far.
    count: AtomicUsize,
    /// How many large allocations come until one is refused; 0 if it was refused, or none is to be.
    until_refused: AtomicUsize,
}

#[global_allocator]
pub static ALLOCATOR: Allocator = Allocator {
    least: AtomicUsize::new(usize::MAX),
    count: AtomicUsize::new(0),
    until_refused: AtomicUsize::new(0),
};

impl Allocator {
    /// Counts allocations of `least` bytes and more.
    pub fn count_from(&self, least: usize) {
        self.least.store(least, Ordering::Relaxed);
    }

    /// The large allocations so far.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Refuses the large allocation with this number, counted from one; 0 refuses none. Gives what was set and is left.
    pub fn refuse(&self, number: usize) -> usize {
        self.until_refused.swap(number, Ordering::Relaxed)
    }

    /// Counts an allocation of `bytes`, and says whether it is refused.
    fn refuses(&self, bytes: usize) -> bool {
        if bytes < self.least.load(Ordering::Relaxed) {
            return false;
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        let count_down = |until: usize| until.checked_sub(1);
        self.until_refused.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count_down) == Ok(1)
    }
}

// SAFETY: all is the system's, or null, which says that there is no memory.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        if self.refuses(layout.size()) { ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        if self.refuses(layout.size()) { ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        if self.refuses(size) { ptr::null_mut() } else { unsafe { System.realloc(pointer, layout, size) } }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}
