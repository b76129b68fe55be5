//! Pools of threads, one for each number of threads that is asked for.

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

/// Shares the `bands` of so many values among the threads: `work` is given the number of each and its values. The threads'
/// code is compiled once for each type of values, whatever the work is.
pub fn each_band<T: Send>(bands: &mut [T], length: usize, work: &(dyn Fn(usize, &mut [T]) + Sync)) {
    bands.par_chunks_mut(length).enumerate().for_each(|(number, band)| work(number, band));
}

#[cfg(test)]
mod tests {
    use super::*;

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
