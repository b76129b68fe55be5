//! Regions as GStreamer's metadata of analytics, where its library is.

use gstmotionestimate::camera::{CameraMotion, RegionMotion};
use test_support::gstreamer::analytics::{Analytics, Entry, RELATE_TO, relation_metas};

use super::{FRAME, frame, harness};

#[test]
fn each_region_is_an_object_that_is_tracked_until_it_is_lost() {
    let mut harness = harness("motiondetect");
    let (mut begins, mut lasts, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..140 {
        harness.push(frame(number)).unwrap();
        let buffer = harness.pull().unwrap();
        let regions: Vec<_> = RegionMotion::all_of(&buffer).collect();
        let Some(analytics) = Analytics::get() else {
            // All else is there.
            assert_eq!(relation_metas(&buffer), 0);
            assert!(CameraMotion::of(&buffer).is_some_and(|camera| camera.is_ok()));
            assert!(number != 80 || regions.len() == 1);
            continue;
        };
        let entries = analytics.entries(&buffer).expect("a relation meta for each frame");
        let mut objects = Vec::new();
        for (at, entry) in (0..).zip(&entries) {
            match *entry {
                Entry::Object(kind, rect, confidence) => {
                    assert_eq!(kind, glib::Quark::from_str("motion"));
                    let related = (0..entries.len() as u32)
                        .filter(|to| analytics.relation(&buffer, at, *to) == RELATE_TO)
                        .map(|to| entries[to as usize]);
                    objects.push((rect, confidence, related.collect::<Vec<_>>()));
                }
                Entry::Tracking(id, begin, last, true) => lost.push((number, id, begin, last)),
                Entry::Tracking(_, begin, last, false) => {
                    begins.push(begin);
                    lasts.push(last);
                }
                Entry::Other => panic!("{number}: an entry of another type"),
            }
        }
        let expected = regions.iter().map(|region| {
            let rect = <[u32; 4]>::from(region.rect).map(|side| side as i32);
            let tracked = Entry::Tracking(region.id, region.begin, region.last, false);
            (rect, region.confidence as f32, vec![tracked])
        });
        assert_eq!(objects, expected.collect::<Vec<_>>(), "{number}");
    }
    if Analytics::get().is_none() {
        return;
    }
    let times = (FRAME * 89).nseconds()..(FRAME * 94).nseconds();
    assert!(begins.len() >= 24 && begins.iter().all(|begin| *begin == begins[0]), "{begins:?}");
    assert!(lasts.is_sorted() && times.contains(lasts.last().unwrap()), "{lasts:?}");
    let [(114..=118, 1, begin, end)] = lost[..] else { panic!("{lost:?}") };
    assert_eq!((begin, end), (begins[0], *lasts.last().unwrap()));
}

#[test]
#[ignore = "needs libgstanalytics-1.0.so.0 of GStreamer 1.24 or later"]
fn regions_are_added_to_what_was_found_upstream() {
    let analytics = Analytics::get().expect("libgstanalytics-1.0.so.0");
    let face = Entry::Object(glib::Quark::from_str("face"), [1, 2, 3, 4], 0.5);
    let mut harness = harness("motiondetect");
    for number in 0..75 {
        let mut buffer = frame(number);
        // Without space for more.
        analytics.add_meta(buffer.make_mut(), 1, 64);
        assert!(analytics.add(buffer.make_mut(), face));
        harness.push(buffer).unwrap();
    }
    let buffer = std::iter::from_fn(|| harness.try_pull()).last().unwrap();
    let entries = analytics.entries(&buffer).unwrap();
    let [found, Entry::Tracking(..), Entry::Object(kind, ..)] = entries[..] else { panic!("{entries:?}") };
    assert_eq!((found, kind), (face, glib::Quark::from_str("motion")));
}
