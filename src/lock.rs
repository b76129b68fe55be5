//! Locking.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, whatever became of who held it last: no value in this crate is left half written
/// by a panic.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
