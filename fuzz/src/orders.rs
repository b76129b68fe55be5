//! Buffers, events, queries, state changes and new settings in any order: each buffer leaves at most once and in order, and
//! after EOS none waits.

use std::collections::VecDeque;

use gst::prelude::*;
use gst_check::Harness;
use gst_video::{VideoFormat, VideoInfo};

use crate::plan::Plan;
use crate::setup;
use test_support::gstreamer::ElementBus;

/// An element, and how its output buffers are told apart.
struct Subject {
    launch: &'static str,
    /// Settings that may change at any time.
    changes: &'static [(&'static str, &'static [&'static str])],
    outputs: Outputs,
    /// Whether it drops a buffer that does not hold its frame, with a warning, if it reads it; else that is an error.
    drops_unreadable: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Outputs {
    /// One for each buffer, with its offset.
    SameOffset,
    /// One for each buffer.
    SameCount,
    /// At most one for each buffer: the base class leaves out what is not in the segment.
    #[cfg_attr(not(feature = "x264"), allow(dead_code))]
    AtMost,
    /// Others.
    Made,
}

const SUBJECTS: &[Subject] = &[
    Subject {
        launch: "motionestimate device=native threads=1 block-size=8 search-range=2",
        changes: &[
            ("pipeline-depth", &["1", "2", "3", "5"]),
            ("direction", &["backward", "forward", "both"]),
            ("references", &["1", "2", "4"]),
            ("algorithm", &["full", "three-step", "hierarchical"]),
            ("scene-cut", &["off", "message", "key-unit"]),
            ("direction", &["backward"]),
        ],
        outputs: Outputs::SameOffset,
        drops_unreadable: true,
    },
    Subject {
        launch: "motioninterpolate device=native threads=1",
        changes: &[
            ("mode", &["motion", "blend", "repeat"]),
            ("rate", &["1.0", "0.5", "2.0", "0.3"]),
            ("scene-cut-threshold", &["75.0", "0.0", "100.0"]),
            ("pipeline-depth", &["1", "2", "3", "5"]),
        ],
        outputs: Outputs::Made,
        drops_unreadable: true,
    },
    Subject {
        launch: "motiondenoise device=native threads=1",
        changes: &[
            ("past", &["0", "1", "2", "4"]),
            ("future", &["0", "1", "2", "4"]),
            ("strength", &["0.0", "1.0", "16.0"]),
            ("noise-level", &["-1.0", "0.0", "3.5", "64.0"]),
            ("spatial", &["auto", "off"]),
            ("pipeline-depth", &["1", "2", "3", "5"]),
        ],
        outputs: Outputs::SameOffset,
        drops_unreadable: true,
    },
    Subject {
        launch: "motiondetect",
        changes: &[
            ("sensitivity", &["0.0", "0.5", "1.0"]),
            ("mask", &["", "0,0 1,0 0,1", "0.5,0 1,0 1,1 0.5,1"]),
            ("least-duration", &["0", "100000000"]),
            ("hold", &["0", "1000000000"]),
            ("delta-qp", &["0", "-5"]),
            ("messages", &["true", "false"]),
        ],
        outputs: Outputs::SameOffset,
        drops_unreadable: true,
    },
    Subject {
        launch: "motioncompensate",
        changes: &[
            ("mode", &["original", "prediction", "residual"]),
            ("measure", &["none", "psnr"]),
            ("reference-offset", &["0", "-1", "-2", "1", "2", "4"]),
        ],
        outputs: Outputs::SameOffset,
        drops_unreadable: true,
    },
    Subject {
        // The base class drops late frames otherwise.
        launch: "motionoverlay qos=false",
        changes: &[("style", &["arrows", "color", "devices", "regions"]), ("legend", &["true", "false"])],
        outputs: Outputs::SameOffset,
        drops_unreadable: false,
    },
    Subject {
        launch: "motionserialize",
        changes: &[("reference-offset", &["0", "-1", "2"])],
        outputs: Outputs::SameCount,
        drops_unreadable: false,
    },
    #[cfg(feature = "x264")]
    Subject {
        launch: "motionx264enc tune=zerolatency speed-preset=superfast threads=1",
        changes: &[
            ("bitrate", &["10", "1000", "2048000"]),
            ("vbv-buf-capacity", &["0", "600", "10000"]),
            ("motion-strength", &["0", "1", "4"]),
        ],
        outputs: Outputs::AtMost,
        drops_unreadable: false,
    },
];

/// A buffer that was taken.
struct Taken {
    offset: u64,
    /// Whether it may be dropped, because of a flush, an error or a change of state.
    may_go: bool,
}

struct Run<'a> {
    subject: &'a Subject,
    harness: Harness,
    element: gst::Element,
    bus: ElementBus,
    info: VideoInfo,
    /// What has not left.
    waiting: VecDeque<Taken>,
    /// Whether there was an error on the bus of which no buffer has told upstream: one may come while an event drains.
    is_told: bool,
    /// The offset of the next buffer.
    next: u64,
    /// The time of the next buffer, in nanoseconds.
    time: u64,
}

/// Runs the target.
pub fn run(data: &[u8]) {
    setup::init();
    let plan = &mut Plan::new(data);
    let subject = &SUBJECTS[plan.number(0..=SUBJECTS.len() - 1)];
    let (mut harness, element, bus) = setup::harness(subject.launch);
    if subject.outputs == Outputs::Made {
        let rate = plan.one_of(&["50/1", "25/1", "30000/1001", "60/1", "10/1", "0/1"]);
        harness.set_sink_caps_str(&format!("video/x-raw,framerate={rate}"));
    }
    let mut run = Run {
        subject,
        harness,
        element,
        bus,
        info: info(0),
        waiting: VecDeque::new(),
        is_told: false,
        next: 0,
        time: 0,
    };
    run.change_setting(plan);
    run.begin();
    for _ in 0..80 {
        if plan.is_over() {
            break;
        }
        run.step(plan);
    }
    run.end();
    // It begins again, also after an error.
    run.flush(true);
    run.begin();
    (0..3).for_each(|_| run.push(&mut Plan::new(&[])));
    run.end();
}

/// A rate of one frame in 32 years.
const SLOWEST: (i32, i32) = (1, 1_000_000_000);

/// Small video of one of several kinds.
fn info(index: usize) -> VideoInfo {
    let (format, (width, height), rate) = [
        (VideoFormat::Gray8, (20, 18), (25, 1)),
        (VideoFormat::I420, (20, 18), (25, 1)),
        (VideoFormat::I420, (33, 17), (30000, 1001)),
        (VideoFormat::Gray8, (20, 18), (0, 1)),
        (VideoFormat::P01010le, (16, 16), (25, 1)),
        (VideoFormat::Gray8, (1, 1), SLOWEST),
    ][index];
    let builder = VideoInfo::builder(format, width, height).fps(gst::Fraction::from(rate));
    builder.build().expect("video of a small size")
}

impl Run<'_> {
    fn step(&mut self, plan: &mut Plan<'_>) {
        match plan.number(0..=23u8) {
            0..=9 => self.push(plan),
            10 => self.push_odd(plan),
            11 => self.send_caps(plan),
            12 => self.send_segment(plan),
            13 => self.flush(plan.once_in(2)),
            14 | 15 => self.send_event(plan),
            16 => self.ask(plan),
            17 | 18 => self.change_setting(plan),
            19 => self.send_upstream(plan),
            20 if plan.once_in(3) => self.restart(plan),
            21 if plan.once_in(3) => {
                self.end();
                // Without one of these, GStreamer itself refuses what follows.
                if plan.once_in(2) { self.flush(true) } else { self.begin() }
            }
            _ => self.push(plan),
        }
        self.check();
    }

    /// Sends what comes before the first buffer.
    fn begin(&mut self) {
        self.harness.push_event(gst::event::StreamStart::new("stream"));
        self.harness.push_event(gst::event::Caps::new(&self.info.to_caps().expect("caps")));
        self.harness.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
    }

    fn buffer(&mut self, plan: &mut Plan<'_>) -> gst::Buffer {
        let (seed, moved) = (plan.number(0..=3usize), self.next as usize);
        let byte = |index: usize| ((index + 2 * moved) * (37 + seed) % 241) as u8;
        let mut buffer = gst::Buffer::from_mut_slice((0..self.info.size()).map(byte).collect::<Vec<_>>());
        let target = buffer.make_mut();
        target.set_offset(self.next);
        target.set_pts(gst::ClockTime::from_nseconds(self.time));
        target.set_duration(gst::ClockTime::from_mseconds(40));
        self.next += 1;
        self.time += 40_000_000;
        buffer
    }

    fn send(&mut self, buffer: gst::Buffer) {
        let offset = buffer.offset();
        let may_go = self.subject.drops_unreadable && buffer.size() < self.info.size();
        self.waiting.push_back(Taken { offset, may_go });
        match self.harness.push(buffer) {
            Ok(_) => {}
            Err(gst::FlowError::Eos | gst::FlowError::Flushing | gst::FlowError::NotNegotiated) => {
                self.let_go()
            }
            Err(gst::FlowError::Error) => {
                self.let_go();
                let is_told = setup::error_on(&self.bus).is_some() || self.is_told;
                assert!(is_told, "an error on the bus");
                self.is_told = false;
            }
            Err(error) => panic!("flow {error:?}"),
        }
    }

    fn push(&mut self, plan: &mut Plan<'_>) {
        let buffer = self.buffer(plan);
        self.send(buffer);
    }

    /// A buffer with times that are missing or make no sense, or one that holds no frame.
    fn push_odd(&mut self, plan: &mut Plan<'_>) {
        let mut buffer = self.buffer(plan);
        if plan.once_in(6) {
            buffer.make_mut().set_size(3);
        }
        let target = buffer.make_mut();
        let time = |plan: &mut Plan<'_>| Some(plan.any_u64()).filter(|&time| time != u64::MAX);
        match plan.number(0..=4u8) {
            0 => target.set_pts(gst::ClockTime::NONE),
            1 => target.set_pts(time(plan).map(gst::ClockTime::from_nseconds)),
            2 => target.set_pts(gst::ClockTime::from_nseconds(self.time.saturating_sub(120_000_000))),
            _ => {}
        }
        match plan.number(0..=4u8) {
            // It is then shown as long as its rate says, which must not be years.
            0 if self.info.fps() != gst::Fraction::from(SLOWEST) => target.set_duration(gst::ClockTime::NONE),
            // A frame is shown as long as it says, so longer ones take as long.
            1 => target.set_duration(gst::ClockTime::from_nseconds(plan.number(0..=2_000_000_000))),
            _ => {}
        }
        if plan.once_in(3) {
            target.set_dts(time(plan).map(gst::ClockTime::from_nseconds));
        }
        for flag in [gst::BufferFlags::DISCONT, gst::BufferFlags::GAP, gst::BufferFlags::CORRUPTED] {
            if plan.once_in(3) {
                target.set_flags(flag);
            }
        }
        self.send(buffer);
    }

    fn send_caps(&mut self, plan: &mut Plan<'_>) {
        let mut caps = info(plan.number(0..=5)).to_caps().expect("caps");
        if plan.once_in(6) {
            let mode = plan.one_of(&["interleaved", "mixed"]);
            caps.make_mut().set("interlace-mode", mode);
        }
        if self.harness.push_event(gst::event::Caps::new(&caps)) {
            // Interlaced frames may have more rows of chroma.
            self.info = VideoInfo::from_caps(&caps).expect("video");
        } else {
            // No buffer fits caps that were refused.
            self.let_go();
            self.harness.push_event(gst::event::Caps::new(&self.info.to_caps().expect("caps")));
        }
    }

    fn send_segment(&mut self, plan: &mut Plan<'_>) {
        if plan.once_in(8) {
            self.harness
                .push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::format::Bytes>::new()));
            self.let_go();
            self.harness
                .push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
            return;
        }
        let mut segment = gst::FormattedSegment::<gst::ClockTime>::new();
        let time = |plan: &mut Plan<'_>| gst::ClockTime::from_nseconds(plan.any_u64().min(u64::MAX - 1));
        segment.set_rate(plan.one_of(&[1.0, -1.0, 2.0, 0.5, -0.1]));
        let (first, second) = (time(plan), time(plan));
        segment.set_start(first.min(second));
        segment.set_position(first.min(second));
        if plan.once_in(2) || segment.rate() < 0.0 {
            segment.set_stop(first.max(second));
        }
        if plan.once_in(2) {
            segment.set_time(time(plan));
        }
        if plan.once_in(3) {
            segment.set_base(time(plan));
        }
        self.harness.push_event(gst::event::Segment::new(&segment));
    }

    fn flush(&mut self, resets_time: bool) {
        self.harness.push_event(gst::event::FlushStart::new());
        self.harness.push_event(gst::event::FlushStop::new(resets_time));
        self.is_told = false;
        self.let_go();
        self.harness.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
        self.time = 0;
    }

    fn send_event(&mut self, plan: &mut Plan<'_>) {
        let time = gst::ClockTime::from_nseconds(plan.any_u64().min(u64::MAX - 1));
        let event: gst::Event = match plan.number(0..=6u8) {
            0 => gst::event::Gap::builder(gst::ClockTime::from_nseconds(self.time)).build(),
            1 => gst::event::Gap::builder(time).duration(time).build(),
            2 => gst::event::SegmentDone::new(time),
            3 => gst::event::Tag::new(gst::TagList::new()),
            4 => gst::event::CustomDownstreamOob::new(gst::Structure::new_empty("oob")),
            5 => gst::event::CustomDownstreamSticky::new(gst::Structure::new_empty("sticky")),
            _ => gst::event::CustomDownstream::new(gst::Structure::new_empty("serialized")),
        };
        self.harness.push_event(event);
    }

    fn ask(&mut self, plan: &mut Plan<'_>) {
        let (sink, src) = (self.element.static_pad("sink"), self.element.static_pad("src"));
        let (sink, src) = (sink.expect("a sink pad"), src.expect("a source pad"));
        match plan.number(0..=5u8) {
            0 => {
                let latency = gst::ClockTime::from_nseconds(plan.any_u64().min(u64::MAX - 1));
                self.harness.set_upstream_latency(latency);
                src.query(&mut gst::query::Latency::new());
            }
            1 => {
                let caps = self.info.to_caps().expect("caps");
                sink.query(&mut gst::query::Allocation::new(Some(&caps), plan.once_in(2)));
            }
            2 => drop(sink.query(&mut gst::query::Allocation::new(None, true))),
            3 => drop(sink.query_caps(None)),
            4 => drop(src.query_position::<gst::ClockTime>()),
            _ => drop(src.query_duration::<gst::ClockTime>()),
        }
    }

    fn change_setting(&mut self, plan: &mut Plan<'_>) {
        let (name, values) = plan.one_of(self.subject.changes);
        self.element.set_property_from_str(name, plan.one_of(values));
    }

    fn send_upstream(&mut self, plan: &mut Plan<'_>) {
        let time = gst::ClockTime::from_nseconds(plan.any_u64().min(u64::MAX - 1));
        // GStreamer makes no event for a time before 0.
        let difference = (plan.any_u64() as i64).max(-(time.nseconds().min(i64::MAX as u64) as i64));
        let event = match plan.number(0..=3u8) {
            0 => gst::event::Reconfigure::new(),
            1 => gst::event::Latency::new(time),
            _ => {
                let kind =
                    plan.one_of(&[gst::QOSType::Underflow, gst::QOSType::Overflow, gst::QOSType::Throttle]);
                gst::event::Qos::builder(kind, 0.5, difference).timestamp(Some(time)).build()
            }
        };
        self.harness.push_upstream_event(event);
    }

    fn restart(&mut self, plan: &mut Plan<'_>) {
        let state = plan.one_of(&[gst::State::Ready, gst::State::Null, gst::State::Paused]);
        self.element.set_state(state).expect("a lower state");
        if state != gst::State::Paused {
            self.let_go();
        }
        if self.element.set_state(gst::State::Playing).is_err() {
            // Settings that do not hold, as `scene-cut` without the frame before.
            assert!(setup::error_on(&self.bus).is_some(), "an error on the bus");
            self.element.set_property_from_str("direction", "backward");
            self.element.set_state(gst::State::Playing).expect("good settings");
        }
        if state != gst::State::Paused {
            self.begin();
        }
    }

    /// All that waits may be dropped.
    fn let_go(&mut self) {
        self.waiting.iter_mut().for_each(|taken| taken.may_go = true);
    }

    /// Ends the stream: nothing may wait behind that.
    fn end(&mut self) {
        self.harness.push_event(gst::event::Eos::new());
        self.check();
        if [Outputs::SameOffset, Outputs::SameCount].contains(&self.subject.outputs) {
            let kept = self.waiting.iter().find(|taken| !taken.may_go).map(|taken| taken.offset);
            assert_eq!(kept, None, "a buffer that has not left at EOS");
        }
        // What may be dropped is, or has left.
        self.waiting.clear();
    }

    /// Compares what has left with what waits.
    fn check(&mut self) {
        if setup::error_on(&self.bus).is_some() {
            self.is_told = true;
            self.let_go();
        }
        while let Some(buffer) = self.harness.try_pull() {
            match self.subject.outputs {
                Outputs::Made => self.waiting.clear(),
                Outputs::SameCount | Outputs::AtMost => {
                    assert!(self.waiting.pop_front().is_some(), "more buffers leave than came");
                }
                Outputs::SameOffset => {
                    let found = loop {
                        let Some(taken) = self.waiting.pop_front() else { break None };
                        if taken.offset == buffer.offset() {
                            break Some(taken);
                        }
                        assert!(taken.may_go, "buffer {} leaves before {}", buffer.offset(), taken.offset);
                    };
                    assert!(found.is_some(), "buffer {} leaves twice or out of order", buffer.offset());
                }
            }
        }
        // What the harness keeps is not looked at.
        while self.harness.try_pull_event().is_some() {}
        while self.harness.try_pull_upstream_event().is_some() {}
    }
}
