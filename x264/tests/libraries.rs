//! Both plugins as users have them: two libraries, loaded as files into one process.
//!
//! Each library holds its own copy of the code that they share, and a type of GLib has one name in a process: what both
//! copies register fails. So this program links neither, and each test has a process of its own.

use std::sync::{Arc, Mutex};

use gst::prelude::*;
use test_support::gstreamer::launch;
use test_support::in_own_process;

const SEARCH: &str = "libgstmotionestimate.so";
const ENCODER: &str = "libgstmotionx264.so";

/// A second and a half: elements that miss motion fields say so after one second.
const SOURCE: &str =
    "videotestsrc num-buffers=38 pattern=ball ! video/x-raw,format=I420,width=64,height=48,framerate=25/1";
const FRAMES: usize = 38;

const ENCODE: &str = "motionx264enc name=encoder tune=zerolatency speed-preset=veryfast threads=1";

/// The elements of the first library. What `motionserialize` makes is text, so it is in a branch of its own.
const ELEMENTS: [&str; 7] = [
    "motionestimate device=native",
    "motionoverlay",
    "motioncompensate",
    "motioninterpolate device=native",
    "motiondenoise",
    "motiondetect",
    "tee name=copies copies. ! queue ! motionserialize ! fakesink async=false copies. ! queue",
];

/// What a warning of missing fields says where `motionestimate` is upstream, and where it is not.
const DROPPED: &str = "although motionestimate is upstream";
const NOT_SEARCHED: &str = "put motionestimate upstream";

/// Starts GStreamer, and loads these libraries from beside this program, one after the other.
fn load(libraries: &[&str]) {
    test_support::gstreamer::init(|| Ok(()));
    for name in libraries {
        let file = std::env::current_exe().unwrap().with_file_name(name);
        assert!(
            file.exists(),
            "{} is missing: build both plugins, cargo build --workspace --lib, with the profile of this test",
            file.display()
        );
        gst::Plugin::load_file(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
}

/// Plays `pipeline` until its end, through the appsink `sink`. Returns the number of buffers, and the warnings by the name of
/// their element.
fn play(pipeline: &gst::Pipeline) -> (usize, Vec<(String, String)>) {
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let found = warnings.clone();
    pipeline.bus().unwrap().set_sync_handler(move |_, message| {
        if let gst::MessageView::Warning(warning) = message.view() {
            let name = message.src().unwrap().name().to_string();
            found.lock().unwrap().push((name, warning.error().to_string()));
        }
        gst::BusSyncReply::Pass
    });
    let count = test_support::gstreamer::run(pipeline).len();
    (count, std::mem::take(&mut *warnings.lock().unwrap()))
}

/// Plays `elements` behind the source, and checks what the encoder `encoder` says of fields that are missing, once or never.
fn check(elements: &str, expected: Option<&str>) {
    check_pipeline(elements, &launch(&format!("{SOURCE} ! {elements} ! appsink name=sink")), expected);
}

fn check_pipeline(elements: &str, pipeline: &gst::Pipeline, expected: Option<&str>) {
    let (count, warnings) = play(pipeline);
    assert_eq!(count, FRAMES, "{elements}");
    let of_encoder: Vec<_> = warnings.iter().filter(|(name, _)| name == "encoder").collect();
    assert_eq!(of_encoder.len(), usize::from(expected.is_some()), "{elements}: {warnings:?}");
    if let Some(expected) = expected {
        assert!(of_encoder[0].1.contains(expected), "{elements}: {warnings:?}");
    }
}

/// What the encoder says behind `element` by itself.
fn missing_behind(element: &str) -> &'static str {
    if element.starts_with("motionestimate") { DROPPED } else { NOT_SEARCHED }
}

/// Each element in front of the encoder, and behind it.
fn each_element_beside_the_encoder() {
    for element in ELEMENTS {
        check(&format!("{element} ! {ENCODE}"), Some(missing_behind(element)));
        check(&format!("{ENCODE} ! avdec_h264 ! {element}"), Some(NOT_SEARCHED));
    }
}

/// Fields that the encoder uses, and fields that are dropped on their way, or end.
fn fields_that_come_and_fields_that_do_not() {
    let search = "motionestimate device=native sub-sample=quarter costs=zero+intra+satd";
    check(&format!("{search} ! {ENCODE}"), None);
    // In a bin.
    check(&format!("( {search} ! motionoverlay ) ! motiondenoise ! {ENCODE}"), None);
    // Frames of another shape have no field.
    let scale = "videoscale ! video/x-raw,width=96,height=48,pixel-aspect-ratio=1/1";
    for element in ["identity", "motionoverlay", "motiondenoise"] {
        check(&format!("{search} ! {scale} ! {element} ! {ENCODE}"), Some(DROPPED));
    }
    check(&format!("( motionestimate device=native ! identity ) ! {ENCODE}"), Some(DROPPED));
    // The first frames have fields, the others none.
    let elements = format!("{search} ! identity name=end ! {ENCODE}");
    let pipeline = launch(&format!("{SOURCE} ! {elements} ! appsink name=sink"));
    let pad = pipeline.by_name("end").unwrap().static_pad("src").unwrap();
    pad.add_probe(gst::PadProbeType::BUFFER, |_, info| {
        let buffer = info.buffer_mut().unwrap().make_mut();
        if buffer.pts() > Some(gst::ClockTime::from_mseconds(200)) {
            buffer.foreach_meta_mut(|meta| {
                let is_field = meta.upcast_ref().try_as_custom_meta().is_some();
                std::ops::ControlFlow::Continue(match is_field {
                    true => gst::buffer::BufferMetaForeachAction::Remove,
                    false => gst::buffer::BufferMetaForeachAction::Keep,
                })
            });
        }
        gst::PadProbeReturn::Ok
    });
    check_pipeline(&elements, &pipeline, Some(DROPPED));
}

fn the_encoder_alone() {
    check(ENCODE, Some(NOT_SEARCHED));
}

#[test]
fn the_search_is_loaded_and_used_first() {
    in_own_process(|| {
        load(&[SEARCH, ENCODER]);
        each_element_beside_the_encoder();
        fields_that_come_and_fields_that_do_not();
        the_encoder_alone();
    });
}

#[test]
fn the_encoder_is_loaded_first_and_used_last() {
    in_own_process(|| {
        load(&[ENCODER, SEARCH]);
        fields_that_come_and_fields_that_do_not();
        each_element_beside_the_encoder();
    });
}

#[test]
fn the_encoder_is_loaded_and_used_first() {
    in_own_process(|| {
        load(&[ENCODER]);
        the_encoder_alone();
        load(&[SEARCH]);
        each_element_beside_the_encoder();
        fields_that_come_and_fields_that_do_not();
    });
}

#[test]
fn the_search_is_loaded_first_and_the_encoder_used_first() {
    in_own_process(|| {
        load(&[SEARCH, ENCODER]);
        the_encoder_alone();
        // Those behind the encoder before it is anywhere else.
        for element in ELEMENTS.into_iter().rev() {
            check(&format!("{ENCODE} ! avdec_h264 ! {element}"), Some(NOT_SEARCHED));
        }
        fields_that_come_and_fields_that_do_not();
    });
}

/// The names of the types below `root`.
fn types_below(root: glib::Type, names: &mut Vec<String>) {
    for child in root.children().iter() {
        names.push(child.name().to_owned());
        types_below(*child, names);
    }
}

/// The encoder's library has the code of the other one, but registers none of its types, whatever the encoder is asked for.
#[test]
fn the_encoder_registers_types_of_its_own_only() {
    in_own_process(|| {
        load(&[ENCODER]);
        the_encoder_alone();
        let encoder = gst::ElementFactory::make("motionx264enc").build().unwrap();
        for spec in encoder.list_properties().iter() {
            let value = encoder.property_value(spec.name());
            let is_writable = spec.flags().contains(glib::ParamFlags::WRITABLE);
            if is_writable && spec.owner_type() == encoder.type_() {
                encoder.set_property_from_value(spec.name(), &value);
            }
        }
        let mut names = Vec::new();
        for root in [
            glib::Type::OBJECT,
            glib::Type::ENUM,
            glib::Type::FLAGS,
            glib::Type::BOXED,
            glib::Type::INTERFACE,
        ] {
            types_below(root, &mut names);
        }
        let ours: Vec<_> = names.iter().filter(|name| name.starts_with("GstMotion")).collect();
        assert!(ours.iter().any(|name| *name == "GstMotionX264Enc"), "{ours:?}");
        let others: Vec<_> = ours.iter().filter(|name| !name.starts_with("GstMotionX264")).collect();
        assert!(others.is_empty(), "{others:?}");
    });
}
