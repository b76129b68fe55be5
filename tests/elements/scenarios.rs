//! What the standard scenarios of `gst-validate` do to a player, on each element beside `identity`: the same frames are shown. (That
//! program is in no package of Debian 12.)

use gst::prelude::*;

use crate::init;

/// Elements, and what must be in their place to compare with.
const ELEMENTS: [&str; 7] = [
    "motionestimate device=native direction=both",
    "motionestimate device=native ! motioncompensate",
    "motioninterpolate mode=blend",
    "motiondenoise device=native",
    "motiondetect",
    "motionestimate device=native ! motionoverlay",
    "motioninterpolate device=native drop-lossy-duplicates=true",
];

const RATE: u64 = 25;

/// The time of frame `number`.
fn at(number: u64) -> gst::ClockTime {
    gst::ClockTime::from_mseconds(1000 * number / RATE)
}

/// A player, and the stream times of the frames that it has shown since the last seek, in frames.
struct Player {
    pipeline: gst::Pipeline,
    shown: std::sync::mpsc::Receiver<u64>,
}

impl Player {
    fn new(element: &str) -> Self {
        init();
        let launch = format!(
            "videotestsrc pattern=ball ! video/x-raw,format=I420,width=48,height=40,framerate={RATE}/1 ! {element} ! \
             fakesink name=sink sync=false"
        );
        let pipeline = gst::parse::launch(&launch).unwrap().downcast::<gst::Pipeline>().unwrap();
        let (sender, shown) = std::sync::mpsc::channel();
        let pad = pipeline.by_name("sink").unwrap().static_pad("sink").unwrap();
        pad.add_probe(gst::PadProbeType::BUFFER, move |pad, info| {
            let segment = pad.sticky_event::<gst::event::Segment>(0).unwrap();
            let segment = segment.segment().downcast_ref::<gst::ClockTime>().unwrap();
            let time = segment.to_stream_time(info.buffer().and_then(|buffer| buffer.pts())).unwrap();
            // It fails when the player is gone.
            let _ = sender.send((time.nseconds() * RATE + 500_000_000) / 1_000_000_000);
            gst::PadProbeReturn::Ok
        });
        Self { pipeline, shown }
    }

    fn set(&self, state: gst::State) {
        self.pipeline.set_state(state).unwrap();
        assert_eq!(self.pipeline.state(gst::ClockTime::NONE).0.map(|_| ()), Ok(()));
    }

    /// Shows the frames from `from` to `to` at `rate`; `None`: to the end.
    fn seek(&self, rate: f64, flags: gst::SeekFlags, [from, to]: [u64; 2]) {
        let flags = gst::SeekFlags::FLUSH | flags;
        self.pipeline.seek(rate, flags, gst::SeekType::Set, at(from), gst::SeekType::Set, at(to)).unwrap();
    }

    /// All frames that are shown up to the end of the segment, without those of before the last flush.
    fn to_end(&self) -> Vec<u64> {
        let kinds = [gst::MessageType::Eos, gst::MessageType::Error, gst::MessageType::Warning];
        let message = self.pipeline.bus().unwrap().timed_pop_filtered(gst::ClockTime::NONE, &kinds).unwrap();
        assert_eq!(message.type_(), gst::MessageType::Eos, "{message:?}");
        self.shown.try_iter().collect()
    }

    /// The frame that is shown in a pause.
    fn preroll(&self) -> Option<u64> {
        assert_eq!(self.pipeline.state(gst::ClockTime::NONE).0.map(|_| ()), Ok(()));
        self.shown.try_iter().last()
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.pipeline.set_state(gst::State::Null).unwrap();
    }
}

/// What a player of each element shows in `scenario` is what `identity` shows.
fn check<T: PartialEq + std::fmt::Debug>(scenario: impl Fn(&Player) -> T) {
    let expected = scenario(&Player::new("identity"));
    for element in ELEMENTS {
        assert_eq!(scenario(&Player::new(element)), expected, "{element}");
    }
}

/// A player that is paused before the first seek.
fn paused(player: &Player) {
    player.set(gst::State::Paused);
    player.preroll();
}

const NONE: gst::SeekFlags = gst::SeekFlags::empty();

#[test]
fn play_and_end() {
    check(|player| {
        paused(player);
        player.seek(1.0, NONE, [0, 30]);
        player.set(gst::State::Playing);
        player.to_end()
    });
}

#[test]
fn seek_forward_and_backward_with_a_stop() {
    check(|player| {
        paused(player);
        [[50, 70], [200, 220], [20, 40], [0, 5], [7, 8]].map(|range| {
            player.set(gst::State::Paused);
            player.seek(1.0, gst::SeekFlags::ACCURATE, range);
            let first = player.preroll();
            player.set(gst::State::Playing);
            (first, player.to_end().len())
        })
    });
}

#[test]
fn pause_and_resume() {
    check(|player| {
        paused(player);
        player.seek(1.0, NONE, [10, 60]);
        let mut shown = vec![player.preroll().unwrap()];
        for _ in 0..5 {
            player.set(gst::State::Playing);
            player.set(gst::State::Paused);
        }
        player.set(gst::State::Playing);
        shown.extend(player.to_end());
        shown
    });
}

#[test]
fn fast_forward_and_slow() {
    check(|player| {
        paused(player);
        [0.5, 2.0, 4.0, 8.0].map(|rate| {
            player.set(gst::State::Paused);
            player.seek(rate, NONE, [40, 80]);
            let first = player.preroll();
            player.set(gst::State::Playing);
            (first, player.to_end())
        })
    });
}

#[test]
fn reverse_playback() {
    check(|player| {
        paused(player);
        player.seek(-1.0, NONE, [20, 40]);
        let first = player.preroll();
        player.set(gst::State::Playing);
        (first, player.to_end())
    });
}

#[test]
fn scrub_forward_and_backward() {
    check(|player| {
        paused(player);
        let places = (0..20).map(|step| 10 * step).chain((0..20).rev().map(|step| 10 * step + 5));
        let shown = places.map(|place| {
            player.seek(1.0, gst::SeekFlags::ACCURATE, [place, 1000]);
            player.preroll()
        });
        shown.collect::<Vec<_>>()
    });
}

#[test]
fn change_state_again_and_again() {
    check(|player| {
        use gst::State::{Null, Paused, Playing, Ready};
        for state in [Ready, Paused, Playing, Paused, Ready, Null].repeat(8) {
            player.set(state);
        }
        paused(player);
        player.seek(1.0, NONE, [3, 20]);
        let first = player.preroll();
        player.set(Playing);
        (first, player.to_end())
    });
}
