//! Memory for vectors and predictors that comes back when the last buffer that shows it is gone.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, Weak};

use crate::lock::lock;

/// Arrays of one record a block that are not in use.
///
/// It never holds more of them than were in use at one time, and grows only while that number
/// does: in a running stream nothing is allocated.
#[derive(Debug)]
pub struct Pool<T> {
    blocks: usize,
    free: Arc<Free<T>>,
}

type Free<T> = Mutex<Vec<Vec<T>>>;

impl<T: Clone + Default> Pool<T> {
    /// A pool of arrays of `blocks` records.
    pub fn new(blocks: usize) -> Self {
        Self { blocks, free: Arc::default() }
    }

    /// An array of records, with whatever it held last.
    pub fn take(&self) -> Pooled<T> {
        let free = lock(&self.free).pop();
        Pooled {
            records: free.unwrap_or_else(|| vec![T::default(); self.blocks]),
            pool: Arc::downgrade(&self.free),
        }
    }
}

/// An array of records that goes back to its [`Pool`] when dropped, if that is still there.
#[derive(Debug)]
pub struct Pooled<T> {
    records: Vec<T>,
    pool: Weak<Free<T>>,
}

impl<T> Deref for Pooled<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.records
    }
}

impl<T> DerefMut for Pooled<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.records
    }
}

impl<T: bytemuck::Pod> AsRef<[u8]> for Pooled<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.records)
    }
}

impl<T> Drop for Pooled<T> {
    fn drop(&mut self) {
        if let Some(free) = self.pool.upgrade() {
            let records = std::mem::take(&mut self.records);
            lock(&free).push(records);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::MotionVector;

    #[test]
    fn memory_comes_back_and_outlives_the_pool() {
        let pool = Pool::<MotionVector>::new(6);
        let (first, second) = (pool.take(), pool.take());
        let address = second.as_ptr();
        assert_ne!(first.as_ptr(), address);
        let bytes = glib::Bytes::from_owned(second);
        assert_eq!((bytes.len(), bytes[..].as_ptr()), (48, address.cast()));
        drop(bytes);
        assert_eq!(pool.take().as_ptr(), address);

        let mut last = pool.take();
        last[5].cost = 7;
        drop(pool);
        assert_eq!((first.len(), last[5].cost), (6, 7));
    }
}
