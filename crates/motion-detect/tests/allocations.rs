//! After the first frames a detector takes no memory, whatever moves.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use motion_base::{FrameView, Grid, MotionVector};
use motion_detect::{Detector, Field, Settings};

/// The system's allocator, which counts.
struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: all is the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[test]
fn no_memory_is_taken_for_a_frame() {
    const SIZE: (usize, usize) = (160, 96);
    let mut detector = Detector::new(SIZE, 0, Settings::default()).unwrap();
    let mut random = fastrand::Rng::with_seed(5);
    let grid = Grid { columns: SIZE.0 / 8, rows: SIZE.1 / 8 };
    let (mut luma, mut begun) = (vec![0u8; SIZE.0 * SIZE.1], 0);
    let mut vectors = vec![MotionVector::default(); grid.blocks()];
    for frame in 0..200u64 {
        let (camera, left) = (frame.saturating_sub(120) as usize, 2 * frame.saturating_sub(80) as usize);
        for (at, sample) in luma.iter_mut().enumerate() {
            let (x, y) = (at % SIZE.0, at / SIZE.0);
            let is_square = frame >= 80 && (left..left + 16).contains(&x) && (40..56).contains(&y);
            let texture = ((x + camera) * 37 % 61 + y * 53 % 47) as u8;
            *sample = texture + random.u8(0..5) + if is_square { 90 } else { 0 };
        }
        vectors.fill(MotionVector { x: if camera > 0 { 32 } else { 0 }, y: 0, cost: 0 });
        let field = Field { vectors: &vectors, grid, block: (8, 8), scale: 32.0 };
        let view = FrameView::new(&luma, SIZE.0, SIZE.1, SIZE.0).unwrap();
        let before = COUNT.load(Ordering::Relaxed);
        begun += detector.observe(frame * 40_000_000, &view, Some(field)).begun.len();
        assert_eq!(COUNT.load(Ordering::Relaxed), before, "frame {frame}");
    }
    // A test without regions would say little.
    assert!(begun > 0);
}
