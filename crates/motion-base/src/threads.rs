//! Pools of threads, one for each number of threads that is asked for.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{NATIVE, SetupError};

/// The most threads of a pool.
pub const MOST: usize = 1024;

/// Checks that there can be `count` threads.
///
/// # Errors
/// [`SetupError::Count`] for more than [`MOST`].
pub fn check(count: usize) -> Result<(), SetupError> {
    if count <= MOST {
        return Ok(());
    }
    Err(SetupError::Count { setting: "threads", value: count, least: 0, most: MOST })
}

/// The pool of `count` threads, 0 for one a core: the one there is, or a new one. Its threads end
/// when nobody has it any more. A process that was forked from another has pools of its own: threads stay behind.
///
/// # Errors
/// [`SetupError::Count`] for more than [`MOST`]; [`SetupError::Device`] where the threads do not start.
pub fn pool(count: usize) -> Result<Arc<ThreadPool>, SetupError> {
    check(count)?;
    // The process, the number of threads, and their pool.
    static POOLS: Mutex<Vec<(u32, usize, Weak<ThreadPool>)>> = Mutex::new(Vec::new());
    let process = std::process::id();
    // A panic elsewhere leaves the list whole: each change is one push.
    let mut pools = POOLS.lock();
    pools.retain(|(of, _, pool)| *of == process && pool.strong_count() > 0);
    let known = pools.iter().find(|(_, threads, _)| *threads == count);
    if let Some(pool) = known.and_then(|(_, _, pool)| pool.upgrade()) {
        return Ok(pool);
    }
    // Rayon's own environment variable would overrule 0.
    let threads = match count {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        _ => count,
    };
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("motion-{index}"))
        .build()
        .map_err(|error| SetupError::Device { device: NATIVE.into(), message: error.to_string() })?;
    let pool = Arc::new(pool);
    pools.push((process, count, Arc::downgrade(&pool)));
    Ok(pool)
}

thread_local! {
    /// What ends the work of this thread early.
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// What [`until`] was given where this is called.
pub fn stop() -> Option<Arc<AtomicBool>> {
    STOP.with_borrow(Clone::clone)
}

/// What tells the threads that share a task whether it ends early. It is asked where the task is shared out.
pub fn is_over() -> impl Fn() -> bool + Send + Sync {
    let stop = stop();
    move || stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
}

/// Does `work` until `stop` is set, if there is one: a search on the CPU, if it is the only device, then leaves out the rows of blocks
/// that are left. Its threads are free soon, but what it has found is worth nothing, and it must not search again.
pub fn until<R>(stop: Option<Arc<AtomicBool>>, work: impl FnOnce() -> R) -> R {
    struct Before(Option<Arc<AtomicBool>>);
    impl Drop for Before {
        fn drop(&mut self) {
            STOP.set(self.0.take());
        }
    }
    let _before = Before(STOP.replace(stop));
    work()
}

/// Shares the `bands` of so many values among the threads: `work` is given the number of each and its values. The threads'
/// code is compiled once for each type of values, whatever the work is. It ends early as [`until`] says.
pub fn each_band<T: Send>(bands: &mut [T], length: usize, work: &(dyn Fn(usize, &mut [T]) + Sync)) {
    let is_over = is_over();
    bands
        .par_chunks_mut(length)
        .enumerate()
        .filter(|_| !is_over())
        .for_each(|(number, band)| work(number, band));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_is_stopped_leaves_out_bands() {
        let (stop, all) = (Arc::new(AtomicBool::new(false)), pool(1).unwrap());
        let mut bands = [0; 9];
        let work = |number: usize, band: &mut [u8]| {
            band.fill(1);
            stop.store(number == 4, Ordering::Relaxed);
        };
        all.install(|| until(Some(stop.clone()), || each_band(&mut bands, 1, &work)));
        assert_eq!(bands, [1, 1, 1, 1, 1, 0, 0, 0, 0]);
        // It does not hold any longer.
        all.install(|| each_band(&mut bands, 1, &|_, band| band.fill(2)));
        assert_eq!(bands, [2; 9]);
    }

    #[test]
    fn equal_numbers_share_a_pool_which_ends_with_its_last_user() {
        let (first, second, other) = (pool(3).unwrap(), pool(3).unwrap(), pool(2).unwrap());
        assert!(Arc::ptr_eq(&first, &second) && !Arc::ptr_eq(&first, &other));
        assert_eq!((first.current_num_threads(), other.current_num_threads()), (3, 2));
        let gone = Arc::downgrade(&first);
        drop((first, second));
        assert!(gone.upgrade().is_none());
        assert_eq!(pool(3).unwrap().current_num_threads(), 3);
        assert!(pool(0).unwrap().current_num_threads() >= 1);
    }
}
