//! Arrays of records that are used again.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// Arrays of records that are not in use.
///
/// It grows only while the number of arrays in use at one time grows: a running stream allocates nothing.
#[derive(Debug)]
pub struct RecordPool<T>(Arc<Mutex<Vec<Vec<T>>>>);

impl<T> Default for RecordPool<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone + Default> RecordPool<T> {
    /// An array of `count` records with unspecified content.
    ///
    /// # Panics
    /// If it would have more than `isize::MAX` bytes.
    pub fn take(&self, count: usize) -> PooledRecords<T> {
        let mut records = self.0.lock().pop().unwrap_or_default();
        records.resize(count, T::default());
        PooledRecords { records, pool: Arc::downgrade(&self.0) }
    }
}

/// An array of records, for instance one motion vector a block. When it is dropped, its memory goes back
/// to the [`RecordPool`] that it came from, if any.
#[derive(Debug)]
pub struct PooledRecords<T> {
    records: Vec<T>,
    pool: Weak<Mutex<Vec<Vec<T>>>>,
}

impl<T> From<Vec<T>> for PooledRecords<T> {
    /// PooledRecords that belong to no pool.
    fn from(records: Vec<T>) -> Self {
        Self { records, pool: Weak::new() }
    }
}

impl<T> Deref for PooledRecords<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.records
    }
}

impl<T> DerefMut for PooledRecords<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.records
    }
}

impl<T: bytemuck::Pod> AsRef<[u8]> for PooledRecords<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.records)
    }
}

impl<T> Drop for PooledRecords<T> {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            pool.lock().push(std::mem::take(&mut self.records));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MotionVector;

    #[test]
    fn memory_comes_back_and_outlives_the_pool() {
        let pool = RecordPool::<MotionVector>::default();
        let (first, second) = (pool.take(6), pool.take(6));
        let address = second.as_ptr();
        assert_ne!(first.as_ptr(), address);
        let bytes: &[u8] = second.as_ref();
        assert_eq!((bytes.len(), bytes.as_ptr()), (48, address.cast()));
        drop(second);
        assert_eq!(pool.take(5).as_ptr(), address);

        let mut last = pool.take(6);
        last[5].cost = 7;
        drop(pool);
        assert_eq!((first.len(), last[5].cost), (6, 7));
    }
}
