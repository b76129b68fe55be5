//! Regions as GStreamer's metadata of analytics.

use gst_analytics::{
    AnalyticsAnyMtd, AnalyticsMetaRefExt, AnalyticsODMtd, AnalyticsRelationMeta, AnalyticsRelationMetaODExt,
    AnalyticsTrackingMtd, RelTypes,
};
use gstmotionestimate::camera::RegionMotion;

use super::{FRAME, frame, harness};

#[test]
fn each_region_is_an_object_that_is_tracked_until_it_is_lost() {
    let mut harness = harness("motiondetect");
    let (mut begins, mut lasts, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..140 {
        harness.push(frame(number)).unwrap();
        let buffer = harness.pull().unwrap();
        let regions: Vec<_> = RegionMotion::all_of(&buffer).collect();
        let meta = buffer.meta::<AnalyticsRelationMeta>().expect("a relation meta for each frame");
        let objects: Vec<_> = meta.iter::<AnalyticsODMtd>().collect();
        assert_eq!(objects.len(), regions.len(), "{number}");
        for (object, region) in objects.iter().zip(&regions) {
            assert_eq!(object.obj_type(), Some(glib::Quark::from_str("motion")));
            let location = object.location().unwrap();
            let rect = [location.x, location.y, location.w, location.h].map(|side| side as u32);
            assert_eq!(<(u32, u32, u32, u32)>::from(rect), region.rect);
            assert_eq!(location.loc_conf_lvl, region.confidence as f32);
            let tracked: Vec<_> = meta
                .iter_direct_related::<AnalyticsTrackingMtd>(object.id(), RelTypes::RELATE_TO)
                .map(|tracking| tracking.info())
                .collect();
            let times = [region.begin, region.last].map(gst::ClockTime::from_nseconds);
            assert_eq!(tracked, [(region.id, times[0], times[1], false)]);
            begins.push(times[0]);
            lasts.push(times[1]);
        }
        let ended = meta.iter::<AnalyticsTrackingMtd>().map(|tracking| tracking.info());
        lost.extend(
            ended.filter(|(.., is_lost)| *is_lost).map(|(id, begin, last, _)| (number, id, begin, last)),
        );
        // No entry besides.
        let others = lost.iter().filter(|(at, ..)| *at == number).count();
        assert_eq!(meta.iter::<AnalyticsAnyMtd>().count(), 2 * objects.len() + others);
    }
    assert!(begins.len() >= 24 && begins.iter().all(|begin| *begin == begins[0]), "{begins:?}");
    assert!(lasts.is_sorted() && (FRAME * 89..FRAME * 94).contains(lasts.last().unwrap()), "{lasts:?}");
    let [(114..=118, 1, begin, end)] = lost[..] else { panic!("{lost:?}") };
    assert_eq!((begin, end), (begins[0], *lasts.last().unwrap()));
}

#[test]
fn regions_are_added_to_what_was_found_upstream() {
    let mut harness = harness("motiondetect");
    for number in 0..75 {
        let mut buffer = frame(number);
        let mut meta = AnalyticsRelationMeta::add(buffer.make_mut());
        meta.add_od_mtd(glib::Quark::from_str("face"), 1, 2, 3, 4, 0.5).unwrap();
        harness.push(buffer).unwrap();
    }
    let buffer = std::iter::from_fn(|| harness.try_pull()).last().unwrap();
    let [meta] = &buffer.iter_meta::<AnalyticsRelationMeta>().collect::<Vec<_>>()[..] else {
        panic!("one relation meta was expected")
    };
    let types: Vec<_> = meta.iter::<AnalyticsODMtd>().filter_map(|object| object.obj_type()).collect();
    assert_eq!(types, ["face", "motion"].map(glib::Quark::from_str));
}
