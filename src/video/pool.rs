//! Buffers of pools: those of upstream that elements hold, and those of output frames.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gst::prelude::*;
use gst_base::prelude::*;
use gst_video::VideoInfo;
use parking_lot::Mutex;

/// The pool that a buffer returns to.
fn of(buffer: &gst::BufferRef) -> Option<gst::BufferPool> {
    // SAFETY: the pool of a buffer in use is alive.
    unsafe { glib::translate::from_glib_none((*buffer.as_ptr()).pool) }
}

/// How many buffers of a pool the elements of this process may hold together.
type Reserved = Arc<Mutex<usize>>;

/// The pools that give a limited number of buffers.
static RESERVED: Mutex<Vec<(glib::WeakRef<gst::BufferPool>, Reserved)>> = Mutex::new(Vec::new());

/// The number for `pool` in [`RESERVED`].
fn reserved_of(pool: &gst::BufferPool) -> Reserved {
    let mut all = RESERVED.lock();
    all.retain(|(pool, _)| pool.upgrade().is_some());
    if let Some((_, reserved)) = all.iter().find(|(known, _)| known.upgrade().as_ref() == Some(pool)) {
        return reserved.clone();
    }
    let reserved = Arc::default();
    all.push((pool.downgrade(), Arc::clone(&reserved)));
    reserved
}

/// What one element may hold of a pool.
#[derive(Debug)]
struct Reservation {
    pool: glib::WeakRef<gst::BufferPool>,
    /// What it asked for.
    wanted: usize,
    /// What it may hold, and what all elements may; `None` if the number of the pool's buffers is not limited.
    granted: Option<(usize, Reserved)>,
}

impl Reservation {
    /// For `wanted` buffers of `pool`, of which downstream needs some for itself.
    fn new(pool: &gst::BufferPool, wanted: usize, needed_downstream: usize) -> Self {
        let size = pool.config().params().map_or(0, |(_, _, _, most)| most as usize);
        let granted = (size > 0).then(|| {
            let reserved = reserved_of(pool);
            // One must be left for upstream to write to, and one at least for downstream: else all would wait for a buffer
            // that does not come.
            let left = size.saturating_sub(1 + needed_downstream.max(1));
            let granted = {
                let others = &mut *reserved.lock();
                let granted = wanted.min(left.saturating_sub(*others));
                *others += granted;
                granted
            };
            (granted, reserved)
        });
        Self { pool: pool.downgrade(), wanted, granted }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some((granted, reserved)) = &self.granted {
            *reserved.lock() -= granted;
        }
    }
}

/// How many of upstream's buffers an element may hold besides the one that it works on. Elements that hold buffers of the same
/// pool share what the pool can spare: the element that is the first in the pipeline takes what it needs, the next ones take what
/// is left.
#[derive(Debug, Default)]
pub struct HeldBuffers {
    /// Of the pool of the buffer that came last, if it had one.
    reservation: Option<Reservation>,
    /// The number of buffers that downstream needs for itself.
    needed_downstream: usize,
}

impl HeldBuffers {
    /// Notes how many buffers of upstream's pool downstream needs for itself. Upstream may set up its pool anew.
    pub fn set_needed_downstream(&mut self, needed: u32) {
        *self = Self { reservation: None, needed_downstream: needed as usize };
    }

    /// Notes the pool of `buffer`, and that the element holds `wanted` buffers if it may.
    pub fn note(&mut self, buffer: &gst::BufferRef, wanted: usize) {
        let Some(pool) = of(buffer) else { return self.reservation = None };
        let is_known =
            |known: &Reservation| known.wanted == wanted && known.pool.upgrade().as_ref() == Some(&pool);
        if !self.reservation.as_ref().is_some_and(is_known) {
            // What was reserved before is free again.
            self.reservation = None;
            self.reservation = Some(Reservation::new(&pool, wanted, self.needed_downstream));
        }
    }

    /// The most buffers that may be held.
    pub fn most(&self) -> usize {
        let granted = self.reservation.as_ref().and_then(|reservation| reservation.granted.as_ref());
        granted.map_or(usize::MAX, |(granted, _)| *granted)
    }

    /// Whether `count` buffers may be held.
    pub fn allows(&self, count: usize) -> bool {
        count <= self.most()
    }

    /// `buffer`, if `count` buffers may be held; else a copy in other memory.
    pub fn own_if_scarce(&self, buffer: gst::Buffer, count: usize) -> gst::Buffer {
        if self.allows(count) { buffer } else { buffer.copy_deep().unwrap_or(buffer) }
    }
}

/// Replaces a buffer that is held by a copy, because upstream needs it back.
pub fn release(buffer: &mut gst::Buffer) {
    if let Ok(copy) = buffer.copy_deep() {
        *buffer = copy;
    }
}

/// Takes out of the answer to an ALLOCATION query what no element here can honour: frames whose caps are those of a rectangle
/// in a larger frame. Upstream then crops them itself. All other metas that such a query can name describe the whole frame
/// or lie beside it, and stay on its buffer.
pub fn refuse_cropping(query: &mut gst::query::Allocation) {
    while let Some(index) = query.find_allocation_meta::<gst_video::VideoCropMeta>() {
        query.remove_nth_allocation_meta(index);
    }
}

/// Adds `held` buffers to those that the answer to an ALLOCATION query asks for: a pool of downstream's gives no more than
/// it has. Returns how many downstream asks for.
pub fn ask_for(query: &mut gst::query::Allocation, held: usize) -> u32 {
    let needed = needed_by(query);
    let held = u32::try_from(held).unwrap_or(u32::MAX);
    let pools: Vec<_> = query.allocation_pools().map(|pool| pool.to_owned()).collect();
    for (index, (pool, size, least, most)) in pools.iter().enumerate() {
        let least = least.saturating_add(held).min(if *most == 0 { u32::MAX } else { *most });
        query.set_nth_allocation_pool(index as u32, pool.as_ref(), *size, least, *most);
    }
    if pools.is_empty() {
        // Upstream makes a pool of its own: without this line it might allocate every buffer.
        let info = query.get_owned().0.and_then(|caps| VideoInfo::from_caps(&caps).ok());
        // Compressed frames have no size.
        let size = info.and_then(|info| u32::try_from(info.size()).ok());
        if let Some(size) = size.filter(|&size| size > 0) {
            query.add_allocation_pool(None::<&gst::BufferPool>, size, held, 0);
        }
    }
    needed
}

/// How many buffers the answer to an ALLOCATION query asks for.
pub fn needed_by(query: &gst::query::Allocation) -> u32 {
    query.allocation_pools().next().map_or(0, |(_, _, least, _)| least)
}

/// The buffers of an element that writes some frames to buffers of its own and sends others on in theirs.
#[derive(Default)]
pub struct OutputBuffers {
    /// Whether downstream accepts any offsets and strides of planes.
    takes_video_meta: AtomicBool,
}

impl OutputBuffers {
    /// Completes downstream's answer to an ALLOCATION query: `own` pool, downstream's, or one of video buffers, with video
    /// metas where both sides take them.
    ///
    /// # Errors
    /// A text if the query has no caps of raw video, or the pool does not take its configuration.
    pub fn decide(
        &self,
        query: &mut gst::query::Allocation,
        own: Option<gst::BufferPool>,
    ) -> Result<(), String> {
        let takes_video_meta = query.find_allocation_meta::<gst_video::VideoMeta>().is_some();
        self.takes_video_meta.store(takes_video_meta, Ordering::Relaxed);
        let caps = query.get_owned().0;
        let info = caps.as_ref().and_then(|caps| VideoInfo::from_caps(caps).ok());
        let info = info.ok_or_else(|| format!("No raw video in {query:?}"))?;
        let offered = query.allocation_pools().next();
        let is_offered = offered.is_some();
        let (pool, size, least, most) = offered.unwrap_or((None, 0, 0, 0));
        let size = size.max(info.size() as u32);
        let pool = own.or(pool).unwrap_or_else(|| gst_video::VideoBufferPool::new().upcast());
        if takes_video_meta && pool.has_option(gst_video::BUFFER_POOL_OPTION_VIDEO_META) {
            let mut config = pool.config();
            config.set_params(caps.as_ref(), size, least, most);
            config.add_option(gst_video::BUFFER_POOL_OPTION_VIDEO_META);
            pool.set_config(config).map_err(|error| error.to_string())?;
        }
        if is_offered {
            query.set_nth_allocation_pool(0, Some(&pool), size, least, most);
        } else {
            query.add_allocation_pool(Some(&pool), size, least, most);
        }
        Ok(())
    }

    /// Answers upstream's ALLOCATION query if `held` of its buffers are held. `decided` is the query that downstream has
    /// answered. Returns how many buffers downstream needs.
    pub fn propose(
        &self,
        decided: &gst::query::Allocation,
        held: usize,
        query: &mut gst::query::Allocation,
    ) -> u32 {
        if self.takes_video_meta.load(Ordering::Relaxed) {
            query.add_allocation_meta::<gst_video::VideoMeta>(None);
        }
        let needed = needed_by(decided);
        ask_for(query, held.saturating_add(needed as usize));
        needed
    }

    /// A buffer for a frame of `element`, which says on the bus if its pool cannot be used.
    ///
    /// # Errors
    /// [`gst::FlowError`] if there is no pool, or it gives no buffer.
    pub fn acquire(
        &self,
        element: &impl IsA<gst_base::BaseTransform>,
    ) -> Result<gst::Buffer, gst::FlowError> {
        let element = element.upcast_ref::<gst_base::BaseTransform>();
        let pool = element.buffer_pool().ok_or(gst::FlowError::NotNegotiated)?;
        if !pool.is_active() {
            pool.set_active(true).map_err(|error| {
                gst::element_error!(element, gst::ResourceError::Settings, ("No buffers: {error}"));
                gst::FlowError::Error
            })?;
        }
        pool.acquire_buffer(None)
    }
}
