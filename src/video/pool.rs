//! Pools of buffers.

use gst::prelude::*;
use gst_video::VideoInfo;

/// The pool that a buffer returns to.
pub fn of(buffer: &gst::BufferRef) -> Option<gst::BufferPool> {
    // SAFETY: the pool of a buffer in use is alive.
    unsafe { glib::translate::from_glib_none((*buffer.as_ptr()).pool) }
}

/// The most buffers that the pool of `buffer` gives out; `None` if it has no limit, or the buffer is of no pool.
pub fn limit(buffer: &gst::BufferRef) -> Option<usize> {
    let (_, _, _, most) = of(buffer)?.config().params()?;
    (most > 0).then_some(most as usize)
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
/// strides of planes.
pub fn propose(
    decided: &gst::query::Allocation,
    takes_video_meta: bool,
    held: u32,
    query: &mut gst::query::Allocation,
) {
    if takes_video_meta {
        query.add_allocation_meta::<gst_video::VideoMeta>(None);
    }
    let info = query.get_owned().0.and_then(|caps| VideoInfo::from_caps(&caps).ok());
    let Some(size) = info.and_then(|info| u32::try_from(info.size()).ok()) else { return };
    let needed = decided.allocation_pools().next().map_or(0, |(_, _, least, _)| least);
    query.add_allocation_pool(None::<&gst::BufferPool>, size, needed.saturating_add(held), 0);
}
