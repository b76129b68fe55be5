//! What `motiondetect` may find on buffers: metas of another one, changed by hand, and what other detectors have found.

use gst::glib::prelude::ToSendValue;
use gst_video::{VideoInfo, VideoRegionOfInterestMeta};
use gstmotionestimate::camera::{self, CameraMotion, RegionMotion};
use test_support::gstreamer::analytics::{Analytics, Entry, relation_metas};

use crate::buffers::Made;
use crate::plan::Plan;
use crate::setup;

/// Attaches any of these metas to `frames`.
pub fn attach(plan: &mut Plan<'_>, frames: &mut [Made], info: &VideoInfo) {
    for made in frames {
        let buffer = made.buffer.make_mut();
        if plan.once_in(2) {
            camera(plan, buffer, info);
        }
        for _ in 0..plan.number(0..=2u8) {
            region(plan, buffer);
        }
        if let (Some(analytics), true) = (Analytics::get(), plan.once_in(2)) {
            relations(plan, buffer, analytics);
        }
    }
}

/// A `MotionCameraMeta`, also one that does not follow its format.
fn camera(plan: &mut Plan<'_>, buffer: &mut gst::BufferRef, info: &VideoInfo) {
    let number = |plan: &mut Plan<'_>| plan.one_of(&[0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, 1e300]);
    let mut motion = CameraMotion {
        width: plan.one_of(&[info.width(), 0, u32::MAX]),
        height: info.height(),
        matrix: [[number(plan); 3], [number(plan); 3]],
        following: number(plan),
        confidence: number(plan),
        is_settling: true,
        begun: vec![0; 3],
        ended: vec![plan.any_u64()],
    };
    motion.matrix[0][2] = number(plan);
    motion.attach(buffer).expect("a writable buffer");
    let mut meta = gst::meta::CustomMeta::from_mut_buffer(buffer, camera::NAME).expect("it is there");
    let structure = meta.mut_structure();
    for _ in 0..plan.number(0..=2u8) {
        let field = plan.one_of(&["version", "width", "matrix", "following", "settling", "begun", "ended"]);
        match plan.number(0..=3u8) {
            0 => structure.remove_field(field),
            1 => structure.set(field, plan.any_u32()),
            2 => structure.set(field, "text"),
            _ => {
                let count = plan.number(0..=7u8);
                structure.set(field, gst::Array::from_iter((0..count).map(|_| number(plan).to_send_value())));
            }
        }
    }
}

/// A region of interest, often as `motiondetect` attaches it but for its parameters.
fn region(plan: &mut Plan<'_>, buffer: &mut gst::BufferRef) {
    let rect = (plan.any_u32(), plan.any_u32(), plan.any_u32(), plan.any_u32());
    let kind = plan.one_of(&[camera::REGION, camera::REGION, "face", ""]);
    let mut meta = VideoRegionOfInterestMeta::add(buffer, kind, rect);
    for _ in 0..plan.number(0..=2u8) {
        let parameter = gst::Structure::builder(plan.one_of(&[camera::REGION, "roi/x264enc", "other"]));
        let parameter = match plan.number(0..=2u8) {
            0 => parameter.field("id", plan.any_u64()).field("begin", plan.any_u64()).field("last", "text"),
            1 => parameter.field("id", -1i32).field("confidence", f64::NAN),
            _ => parameter.field("delta-qp", plan.any_u32() as i32).field("velocity-x", f64::INFINITY),
        };
        meta.add_param(parameter.build());
    }
}

/// A relation meta with little or much space, entries with any numbers, and relations between any entries.
fn relations(plan: &mut Plan<'_>, buffer: &mut gst::BufferRef, analytics: &Analytics) {
    // With space for no entry GStreamer 1.26 writes outside its memory when one is added.
    analytics.add_meta(buffer, plan.number(1..=40), plan.number(0..=2048));
    let mut count = 0;
    for _ in 0..plan.number(0..=30u8) {
        let entry = if plan.once_in(2) {
            let rect = [(); 4].map(|()| plan.any_u32() as i32);
            let kind = plan.one_of(&["motion", "face", "?"]);
            Entry::Object(glib::Quark::from_str(kind), rect, plan.one_of(&[0.5, f32::NAN, -1.0, 1e30]))
        } else {
            let begin = plan.any_u64();
            Entry::Tracking(plan.any_u64(), begin, begin, false)
        };
        assert!(analytics.add(buffer, entry), "{entry:?} is refused");
        count += 1;
        let (first, second) = (plan.number(0..=count - 1), plan.number(0..=count - 1));
        assert!(analytics.relate(buffer, 1 << plan.number(1..=3u8), first, second));
    }
}

/// What is found takes the place of another `motiondetect`'s metas, and is added to what other detectors have found.
pub fn run(frames: Vec<Made>, info: &VideoInfo) {
    let (mut harness, _element, bus) =
        setup::harness("motiondetect least-duration=0 settle=0 sensitivity=1 delta-qp=-3");
    harness.set_src_caps(info.to_caps().expect("caps"));
    for made in frames {
        let before = made.buffer.copy();
        let result = harness.push(made.buffer);
        assert!(result.is_ok() || !made.is_sound, "a sound buffer is refused: {:?}", setup::error_on(&bus));
        let Some(after) = harness.try_pull() else { continue };
        if info.width().min(info.height()) < 32 {
            continue;
        }
        let camera = CameraMotion::of(&after).expect("a camera meta").expect("one that follows its format");
        assert_eq!((camera.width, camera.height), (info.width(), info.height()));
        assert!(camera.matrix.as_flattened().iter().all(|value| value.is_finite()), "{camera:?}");
        let is_motion =
            |meta: &gst::MetaRef<'_, VideoRegionOfInterestMeta>| meta.roi_type() == camera::REGION;
        let others = |buffer: &gst::BufferRef| {
            buffer.iter_meta::<VideoRegionOfInterestMeta>().filter(|meta| !is_motion(meta)).count()
        };
        assert_eq!(others(&before), others(&after));
        let regions: Vec<_> = RegionMotion::all_of(&after).collect();
        let metas = after.iter_meta::<VideoRegionOfInterestMeta>().filter(is_motion).count();
        assert_eq!(regions.len(), metas, "a region of another detector is left");
        for region in &regions {
            let (x, y, width, height) = region.rect;
            assert!(width > 0 && height > 0 && x + width <= info.width() && y + height <= info.height());
        }
        assert_eq!(relation_metas(&after), usize::from(Analytics::get().is_some()));
        if let Some(analytics) = Analytics::get() {
            let (before, after) = (analytics.entries(&before), analytics.entries(&after));
            let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
            // Some of the numbers are not equal to themselves.
            let (first, added) = after.split_at(before.len());
            assert_eq!(format!("{before:?}"), format!("{first:?}"));
            let objects = added.iter().filter(|entry| matches!(entry, Entry::Object(..))).count();
            assert_eq!(objects, regions.len());
        }
    }
}
