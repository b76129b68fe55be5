//! Without motion and regions the stream is that of `x264enc`, byte for byte.

use gst_video::{VideoInfo, VideoTimeCode, VideoTimeCodeFlags, VideoTimeCodeMeta};

use crate::support::{SEARCH, bytes, encoded, frame, harness, pull, source};

const SIZE: &str = "width=96,height=80,framerate=25/1";

/// Compares both encoders with `settings`, behind `before` and in front of `after`.
fn compare(before: &str, settings: &str, after: &str) {
    let through = |encoder: &str| encoded(&format!("{before} ! {encoder} {settings} {after}"));
    let (expected, expected_caps) = through("x264enc");
    let (found, found_caps) = through("motionx264enc motion-strength=0");
    assert!(!expected.is_empty(), "{before} {settings}");
    let times = |buffers: &[gst::Buffer]| -> Vec<_> {
        buffers.iter().map(|buffer| (buffer.pts(), buffer.dts(), buffer.duration(), buffer.flags())).collect()
    };
    assert_eq!(times(&found), times(&expected), "{before} {settings} {after}");
    assert!(bytes(&found) == bytes(&expected), "{before} {settings} {after}");
    // GStreamer 1.22 leaves out what later versions write at the end of the record for high profiles.
    let record = |caps: &gst::Caps| caps.structure(0).unwrap().get::<gst::Buffer>("codec_data").ok();
    match (record(&found_caps), record(&expected_caps)) {
        (Some(found), Some(expected)) => assert!(bytes(&[found]).starts_with(&bytes(&[expected]))),
        (found, expected) => assert_eq!((found, expected), (None, None)),
    }
    let others = |mut caps: gst::Caps| {
        caps.make_mut().structure_mut(0).unwrap().remove_field("codec_data");
        caps
    };
    assert_eq!(others(found_caps), others(expected_caps), "{before} {settings} {after}");
}

#[test]
fn with_all_kinds_of_settings() {
    let settings = [
        "",
        "tune=zerolatency speed-preset=veryfast",
        "tune=zerolatency speed-preset=ultrafast bitrate=200 vbv-buf-capacity=300",
        "pass=qual quantizer=24 bframes=3 b-pyramid=true weightb=true",
        "pass=quant quantizer=30 cabac=false dct8x8=true",
        "speed-preset=None",
        "speed-preset=None tune=fastdecode+zerolatency psy-tune=grain",
        "speed-preset=fast psy-tune=ssim me=umh subme=6 analyse=i4x4+p8x8 ref=2 trellis=false",
        "intra-refresh=true key-int-max=8 tune=zerolatency",
        "key-int-max=5 qp-min=20 qp-max=40 qp-step=6 ip-factor=1.2 pb-factor=1.1 noise-reduction=50",
        "sliced-threads=true threads=2 sync-lookahead=0 rc-lookahead=5 mb-tree=false aud=false sps-id=3",
        "option-string=ref=2:deblock=1,1:scenecut=0 b-adapt=false byte-stream=true",
        "option-string=:",
        "option-string=:::",
        "option-string=::ref=2:scenecut=0",
        "insert-vui=false frame-packing=side-by-side interlaced=true",
        "option-string=nal-hrd=vbr:pic-struct=1 tune=zerolatency threads=1 bitrate=200",
        "multipass-cache-file=unused.log min-force-key-unit-interval=1000000",
    ];
    for settings in settings {
        compare(
            &source(14, &format!("format=I420,{SIZE}")),
            settings,
            "! h264parse ! video/x-h264,stream-format=avc",
        );
    }
}

/// `x264enc` takes empty options at the beginning only.
#[test]
fn empty_options_are_left_out() {
    let with = |options: &str| {
        let source = source(8, &format!("format=I420,{SIZE}"));
        bytes(&encoded(&format!("{source} ! motionx264enc option-string={options} ! h264parse")).0)
    };
    let expected = with("ref=2:bframes=0");
    assert!(expected != with(":::"));
    for options in ["ref=2:bframes=0:", "ref=2::bframes=0", ":ref=2:::bframes=0::"] {
        assert!(with(options) == expected, "{options}");
    }
}

#[test]
fn in_all_formats_and_streams() {
    for format in ["I420", "YV12", "NV12", "Y42B", "Y444", "I420_10LE", "I422_10LE", "Y444_10LE"] {
        compare(&source(4, &format!("format={format},{SIZE}")), "tune=zerolatency", "");
    }
    let mut caps =
        vec!["video/x-h264,stream-format=avc".to_owned(), "video/x-h264,stream-format=byte-stream".into()];
    let profiles = ["constrained-baseline", "baseline", "main", "high", "high-10-intra"];
    caps.extend(profiles.map(|profile| format!("video/x-h264,profile={profile}")));
    caps.push("video/x-h264,profile=main,level=(string)3".into());
    for caps in caps {
        let depth = if caps.contains("high-10") { "I420_10LE" } else { "I420" };
        compare(&source(4, &format!("format={depth},{SIZE}")), "", &format!("! {caps}"));
    }
}

#[test]
fn of_odd_rates_sizes_and_interlaced_video() {
    for caps in [
        "width=720,height=576,framerate=25/1",
        "width=98,height=82,framerate=0/1",
        "width=352,height=240,framerate=30000/1001,pixel-aspect-ratio=10/11",
        "width=96,height=96,framerate=25/1,interlace-mode=interleaved,field-order=top-field-first",
        "width=96,height=80,framerate=25/1,interlace-mode=interleaved,field-order=bottom-field-first",
        "width=96,height=80,framerate=25/1,interlace-mode=mixed",
        "width=96,height=80,framerate=25/1,colorimetry=bt709,chroma-site=jpeg",
    ] {
        // With a VBV, what slices in several threads become depends on their timing.
        compare(&source(3, &format!("format=I420,{caps}")), "tune=zerolatency threads=1", "");
    }
}

#[test]
fn where_frames_have_fields() {
    let before = format!("{} ! {SEARCH}", source(8, &format!("format=I420,{SIZE}")));
    compare(&before, "tune=zerolatency speed-preset=veryfast", "");
    // And they make a difference.
    let of = |strength: &str| {
        bytes(&encoded(&format!("{before} ! motionx264enc tune=zerolatency motion-strength={strength}")).0)
    };
    assert_ne!(of("1"), of("0"));
    assert_ne!(of("1"), of("0.5"));
}

/// Every property of `x264enc` that this version of GStreamer has is here, with its default and its range.
#[test]
fn the_properties() {
    use gst::prelude::*;
    crate::support::init();
    let element = |name: &str| gst::ElementFactory::make(name).build().unwrap();
    let (theirs, ours) = (element("x264enc"), element("motionx264enc"));
    let mut count = 0;
    for theirs in theirs.list_properties().iter().filter(|spec| spec.owner_type() == theirs.type_()) {
        let name = theirs.name();
        let ours = ours.find_property(name).unwrap_or_else(|| panic!("no property {name}"));
        let text = |spec: &glib::ParamSpec| {
            let value = spec.default_value();
            if value.type_().is_a(glib::Type::ENUM) {
                glib::EnumValue::from_value(value).unwrap().1.nick().to_owned()
            } else {
                value.serialize().unwrap().to_string()
            }
        };
        assert_eq!(text(&ours), text(theirs), "{name}");
        let range = |spec: &glib::ParamSpec| {
            let whole =
                spec.downcast_ref::<glib::ParamSpecUInt>().map(|s| (s.minimum() as i64, s.maximum() as i64));
            whole.or(spec
                .downcast_ref::<glib::ParamSpecInt>()
                .map(|s| (s.minimum() as i64, s.maximum() as i64)))
        };
        assert_eq!(range(&ours), range(theirs), "{name}");
        let nicks = |spec: &glib::ParamSpec| -> Vec<String> {
            let of_enum = glib::EnumClass::with_type(spec.value_type());
            let of_flags = glib::FlagsClass::with_type(spec.value_type());
            let enums = of_enum
                .iter()
                .flat_map(|class| class.values().iter().map(|v| format!("{} {}", v.value(), v.nick())));
            let flags = of_flags
                .iter()
                .flat_map(|class| class.values().iter().map(|v| format!("{} {}", v.value(), v.nick())));
            enums.chain(flags).collect()
        };
        assert_eq!(nicks(&ours), nicks(theirs), "{name}");
        count += 1;
    }
    assert!(count > 35, "{count} properties");
}

/// What comes out of `encoder` and its caps: frames with time codes, late ones while `qos` is on, and other caps after twelve.
fn of_a_changing_stream(encoder: &str) -> (Vec<gst::Buffer>, Vec<gst::Caps>) {
    use gst::prelude::*;
    let (mut harness, info) = harness(&format!(
        "{encoder} name=encoder qos=true tune=zerolatency speed-preset=veryfast threads=1 bitrate=300"
    ));
    let small = VideoInfo::builder(info.format(), 48, 32).fps(info.fps()).build().unwrap();
    let (mut buffers, mut caps) = (Vec::new(), Vec::new());
    for number in 0..20_u32 {
        if number == 12 {
            harness.push_event(gst::event::Caps::new(&small.to_caps().unwrap()));
        }
        let mut buffer = frame(if number < 12 { &info } else { &small }, number.into());
        let code = VideoTimeCode::new(info.fps(), None, VideoTimeCodeFlags::empty(), 10, 20, 30, number, 0);
        VideoTimeCodeMeta::add(buffer.get_mut().unwrap(), &code.try_into().unwrap());
        harness.push(buffer).unwrap();
        if number == 4 {
            // The sink tells that frames come two seconds late.
            let qos = gst::event::Qos::builder(gst::QOSType::Underflow, 2.0, 2_000_000_000);
            harness.push_upstream_event(qos.timestamp(gst::ClockTime::from_mseconds(160)).build());
        }
        buffers.extend(pull(&mut harness));
        caps.extend(harness.sinkpad().unwrap().current_caps());
    }
    (buffers, caps)
}

/// `x264enc` writes no time codes into the stream, but they stay on buffers; it encodes late frames like others, and
/// begins anew with other caps.
#[test]
fn with_time_codes_late_frames_and_changing_caps() {
    let [(expected, expected_caps), (found, found_caps)] =
        ["x264enc", "motionx264enc motion-strength=0"].map(of_a_changing_stream);
    assert_eq!((expected.len(), found.len()), (20, 20));
    assert!(bytes(&found) == bytes(&expected));
    assert!(found_caps == expected_caps);
    let codes = |buffers: &[gst::Buffer]| -> Vec<Option<u32>> {
        let code = |buffer: &gst::Buffer| Some(buffer.meta::<VideoTimeCodeMeta>()?.tc().frames());
        buffers.iter().map(code).collect()
    };
    assert_eq!(codes(&found), codes(&expected));
    assert_eq!(codes(&found), (0..20).map(Some).collect::<Vec<_>>());
}
