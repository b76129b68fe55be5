//! Pools of buffers.

use gst::prelude::*;
use gst_video::VideoInfo;

/// The pool that a buffer returns to.
fn of(buffer: &gst::BufferRef) -> Option<gst::BufferPool> {
    // SAFETY: the pool of a buffer in use is alive.
    unsafe { glib::translate::from_glib_none((*buffer.as_ptr()).pool) }
}

/// The pool of the buffer that came last, and how many of its buffers may wait.
#[derive(Debug, Default)]
pub struct PoolLimit {
    pool: Option<(glib::WeakRef<gst::BufferPool>, usize)>,
}

impl PoolLimit {
    /// Notes how many buffers of the pool of `buffer` may wait. Where its number is limited, one must be left for upstream
    /// to write to, and `needed`, one at least, for others: else all would wait for the one that does not come.
    pub fn note(&mut self, buffer: &gst::BufferRef, needed: usize) {
        let Some(pool) = of(buffer) else { return self.pool = None };
        if self.pool.as_ref().is_some_and(|(known, _)| known.upgrade().as_ref() == Some(&pool)) {
            return;
        }
        let most = pool.config().params().map_or(0, |(_, _, _, most)| most as usize);
        let may_wait = if most == 0 { usize::MAX } else { most.saturating_sub(1 + needed.max(1)) };
        self.pool = Some((pool.downgrade(), may_wait));
    }

    /// How many buffers of this pool may wait.
    pub fn may_wait(&self) -> usize {
        self.pool.as_ref().map_or(usize::MAX, |(_, most)| *most)
    }
}

/// Completes downstream's answer to an ALLOCATION query: its pool, or one of video buffers, with video metas where both
/// sides take them. Returns whether downstream takes any offsets and strides of planes.
///
/// # Errors
/// A text if the query has no caps of raw video, or the pool does not take its configuration.
pub fn decide(query: &mut gst::query::Allocation) -> Result<bool, String> {
    let takes_video_meta = query.find_allocation_meta::<gst_video::VideoMeta>().is_some();
    let caps = query.get_owned().0;
    let info = caps.as_ref().and_then(|caps| VideoInfo::from_caps(caps).ok());
    let info = info.ok_or_else(|| format!("No raw video in {query:?}"))?;
    let offered = query.allocation_pools().next();
    let is_offered = offered.is_some();
    let (pool, size, least, most) = offered.unwrap_or((None, 0, 0, 0));
    let size = size.max(info.size() as u32);
    let pool = pool.unwrap_or_else(|| gst_video::VideoBufferPool::new().upcast());
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
    Ok(takes_video_meta)
}

/// Answers upstream's ALLOCATION query of an element that holds `held` of its buffers and sends them on in their own
/// memory. `decided` is the query that downstream has answered; `takes_video_meta`: whether it takes any offsets and
/// strides of planes. Returns how many buffers downstream needs.
pub fn propose(
    decided: &gst::query::Allocation,
    takes_video_meta: bool,
    held: u32,
    query: &mut gst::query::Allocation,
) -> u32 {
    if takes_video_meta {
        query.add_allocation_meta::<gst_video::VideoMeta>(None);
    }
    let info = query.get_owned().0.and_then(|caps| VideoInfo::from_caps(&caps).ok());
    let needed = decided.allocation_pools().next().map_or(0, |(_, _, least, _)| least);
    if let Some(size) = info.and_then(|info| u32::try_from(info.size()).ok()) {
        query.add_allocation_pool(None::<&gst::BufferPool>, size, needed.saturating_add(held), 0);
    }
    needed
}

/// A buffer of `pool` for `element`, which says on the bus if there is none.
///
/// # Errors
/// [`gst::FlowError`] if the pool gives no buffer.
pub fn acquire(
    element: &impl IsA<gst::Element>,
    pool: &gst::BufferPool,
) -> Result<gst::Buffer, gst::FlowError> {
    if !pool.is_active() {
        pool.set_active(true).map_err(|error| {
            gst::element_error!(element, gst::ResourceError::Settings, ("No buffers: {error}"));
            gst::FlowError::Error
        })?;
    }
    pool.acquire_buffer(None)
}
