//! Regions as GStreamer's metadata of analytics, which other elements read since 1.24.

use std::sync::LazyLock;

use gst_analytics::{
    AnalyticsMetaRefMutExt, AnalyticsRelationMeta, AnalyticsRelationMetaODExt,
    AnalyticsRelationMetaTrackingExt, AnalyticsTrackingMtd, RelTypes,
};

use crate::camera::REGION;
use crate::video::time;
use motion_detect::Region;

/// The type of object that regions are.
static MOTION: LazyLock<glib::Quark> = LazyLock::new(|| glib::Quark::from_str(REGION));

/// Adds `regions` to the relation meta of `buffer`, each as an object and how it was tracked, and each of `ended` as one that is lost.
/// A frame without regions has a relation meta too: an overlay then removes what it drew for the frame before.
///
/// # Errors
/// If GStreamer refuses an entry; what was added before stays.
pub fn attach(
    buffer: &mut gst::BufferRef,
    regions: &[Region],
    ended: &[Region],
) -> Result<(), glib::BoolError> {
    if buffer.meta::<AnalyticsRelationMeta>().is_none() {
        AnalyticsRelationMeta::add(buffer);
    }
    for region in regions {
        let tracking = track(buffer, region, false)?;
        let mut meta = relations(buffer)?;
        let side = |samples: u32| i32::try_from(samples).unwrap_or(i32::MAX);
        let Region { x, y, width, height, confidence, .. } = *region;
        let object =
            meta.add_od_mtd(*MOTION, side(x), side(y), side(width), side(height), confidence as f32)?.id();
        meta.set_relation(RelTypes::RELATE_TO, object, tracking)?;
    }
    ended.iter().try_for_each(|region| track(buffer, region, true).map(drop))
}

fn relations(
    buffer: &mut gst::BufferRef,
) -> Result<gst::MetaRefMut<'_, AnalyticsRelationMeta, gst::meta::Standalone>, glib::BoolError> {
    buffer.meta_mut().ok_or_else(|| glib::bool_error!("the buffer has no relation meta"))
}

/// Adds how `region` was tracked, and returns the number of the entry.
fn track(buffer: &mut gst::BufferRef, region: &Region, is_lost: bool) -> Result<u32, glib::BoolError> {
    let mut meta = relations(buffer)?;
    let entry = meta.add_tracking_mtd(region.id, time(region.begin))?.id();
    let mut tracking = meta
        .mtd_mut::<AnalyticsTrackingMtd>(entry)
        .ok_or_else(|| glib::bool_error!("the entry of a tracked region is missing"))?;
    tracking.update_last_seen(time(region.last))?;
    if is_lost {
        tracking.set_lost()?;
    }
    Ok(entry)
}
