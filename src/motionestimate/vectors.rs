//! Memory for motion vectors that comes back when the last buffer that shows it is gone.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::estimator::MotionVector;

/// Vector arrays of one length that are not in use.
///
/// It never holds more of them than were in use at one time, and grows only while that number
/// does: in a running stream nothing is allocated.
#[derive(Debug)]
pub struct VectorPool {
    blocks: usize,
    free: Arc<Free>,
}

type Free = Mutex<Vec<Vec<MotionVector>>>;

impl VectorPool {
    /// A pool of arrays of `blocks` vectors.
    pub fn new(blocks: usize) -> Self {
        Self { blocks, free: Arc::default() }
    }

    /// An array of vectors, with whatever it held last.
    pub fn take(&self) -> PooledVectors {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        PooledVectors {
            vectors: free.unwrap_or_else(|| vec![MotionVector::default(); self.blocks]),
            pool: Arc::downgrade(&self.free),
        }
    }
}

/// An array of vectors that goes back to its [`VectorPool`] when dropped, if that is still there.
#[derive(Debug)]
pub struct PooledVectors {
    vectors: Vec<MotionVector>,
    pool: Weak<Free>,
}

impl Deref for PooledVectors {
    type Target = [MotionVector];

    fn deref(&self) -> &[MotionVector] {
        &self.vectors
    }
}

impl DerefMut for PooledVectors {
    fn deref_mut(&mut self) -> &mut [MotionVector] {
        &mut self.vectors
    }
}

impl AsRef<[u8]> for PooledVectors {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.vectors)
    }
}

impl Drop for PooledVectors {
    fn drop(&mut self) {
        if let Some(free) = self.pool.upgrade() {
            let vectors = std::mem::take(&mut self.vectors);
            free.lock().unwrap_or_else(PoisonError::into_inner).push(vectors);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_and_outlives_the_pool() {
        let pool = VectorPool::new(6);
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
