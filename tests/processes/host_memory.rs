//! Memory that the host does not give: each large allocation of this crate is refused once while caps are set, in a process of
//! its own. The element posts an error that says so, or its frames are right; the process never ends by it.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};

use gst_check::Harness;
use gstmotionestimate::meta::MotionVectorMeta;

use crate::allocator::ALLOCATOR;

/// What a child runs, the size of its frames, the bytes of the allocations that it counts, and which it refuses.
const LAUNCH: &str = "HOST_MEMORY_LAUNCH";
const SIZE: &str = "HOST_MEMORY_SIZE";
const LARGE: &str = "HOST_MEMORY_LARGE";
const REFUSED: &str = "HOST_MEMORY_REFUSED";

/// What a child's answer begins with.
const MARK: &str = "answer: ";

/// What a child does: it runs `launch`, and answers.
fn answer(launch: &str) {
    let number = |name| std::env::var(name).expect("a number").parse::<usize>().expect("a number");
    let (refused, height) = (number(REFUSED), number(SIZE));
    let width = height * 4 / 3;
    gst::init().unwrap();
    gstmotionestimate::plugin_register_static().unwrap();
    let info = gst_video::VideoInfo::builder(gst_video::VideoFormat::Gray8, width as u32, height as u32)
        .fps(gst::Fraction::new(25, 1))
        .build()
        .unwrap();
    let mut harness = Harness::new_parse(launch);
    let bus = gst::Bus::new();
    let name = launch.split_whitespace().next().unwrap();
    gst::prelude::ElementExt::set_bus(&harness.find_element(name).unwrap(), Some(&bus));

    ALLOCATOR.count_from(number(LARGE));
    ALLOCATOR.refuse(refused);
    harness.set_src_caps(info.to_caps().unwrap());
    let is_refused = ALLOCATOR.refuse(0) == 0;

    let mut frames = DefaultHasher::new();
    for time in 0..4_usize {
        let texture = |i: usize| (((i + 3 * time) / 5 * 97) ^ (i / width * 57)) as u8;
        // This one is GLib's.
        let mut buffer = gst::Buffer::with_size(info.size()).unwrap();
        let samples = buffer.make_mut();
        samples.map_writable().unwrap().iter_mut().enumerate().for_each(|(i, sample)| *sample = texture(i));
        samples.set_pts(gst::ClockTime::from_mseconds(40) * time as u64);
        samples.set_duration(gst::ClockTime::from_mseconds(40));
        // After an error it takes none.
        let _ = harness.push(buffer);
    }
    harness.push_event(gst::event::Eos::new());
    let mut count = 0;
    while let Some(buffer) = harness.try_pull() {
        count += 1;
        buffer.map_readable().unwrap().hash(&mut frames);
        for field in MotionVectorMeta::all_of(&buffer) {
            field.unwrap().vectors().iter().for_each(|v| (v.x, v.y, v.cost).hash(&mut frames));
        }
    }
    let mut answer = format!("{is_refused} {count} {}", frames.finish());
    while let Some(message) = bus.pop_filtered(&[gst::MessageType::Error]) {
        if let gst::MessageView::Error(error) = message.view() {
            write!(answer, " {}; {}", error.error(), error.debug().unwrap_or_default().replace('\n', " "))
                .unwrap();
        }
    }
    println!("\n{MARK}{answer}");
}

/// What a child answers: whether an allocation was refused, the number and hash of its frames, and its errors.
fn run(test: &str, launch: &str, (height, least): (usize, usize), refused: usize) -> (bool, String, String) {
    let mut command = test_support::program(test);
    let command = command.env(LAUNCH, launch);
    let command = command.env(SIZE, height.to_string()).env(LARGE, least.to_string());
    let output = command.env(REFUSED, refused.to_string()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let answer = text.lines().find_map(|line| line.strip_prefix(MARK)).unwrap_or_else(|| {
        panic!(
            "{launch}, allocation {refused}: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )
    });
    let mut words = answer.splitn(4, ' ');
    let is_refused = words.next() == Some("true");
    let frames = format!("{} {}", words.next().unwrap(), words.next().unwrap());
    (is_refused, frames, words.next().unwrap_or_default().to_owned())
}

/// Refuses each allocation of `least` bytes or more in frames of this height, in processes that run `test`, which calls this.
fn check(test: impl Fn(), launch: &str, (height, least): (usize, usize)) {
    if let Ok(launch) = std::env::var(LAUNCH) {
        return answer(&launch);
    }
    let test = test_support::test_name(&test);
    let (_, expected, errors) = run(test, launch, (height, least), 0);
    assert!(!expected.starts_with("0 ") && errors.is_empty(), "{launch}: {expected}, {errors}");
    let mut count = 0;
    for refused in 1.. {
        let (is_refused, frames, errors) = run(test, launch, (height, least), refused);
        if !is_refused {
            break;
        }
        count += 1;
        // After an error the next buffer asks again, and there is memory.
        let is_right = frames == expected || (frames.starts_with("0 ") && !errors.is_empty());
        let is_told = errors.is_empty() || errors.contains("cannot hold");
        assert!(is_right && is_told, "{launch}, {refused}: {frames}, {errors}");
    }
    println!("{launch}: {count} allocations");
    assert!(count > 0, "{launch} allocates nothing");
}

const SMALL: (usize, usize) = (240, 16 << 10);

#[test]
fn of_exhaustive_search() {
    check(
        of_exhaustive_search,
        "motionestimate device=native threads=1 block-size=4 search-range=2 kernel=exhaustive",
        SMALL,
    );
}

/// Each thread has 144 KiB besides, whatever the size of a frame.
#[test]
fn of_elimination() {
    check(
        of_elimination,
        "motionestimate device=native threads=1 block-size=8 search-range=12 kernel=elimination",
        (480, 160 << 10),
    );
}

#[test]
fn of_sub_samples_both_ways() {
    check(
        of_sub_samples_both_ways,
        "motionestimate device=native threads=1 block-size=4 search-range=2 sub-sample=quarter direction=both \
         references=2 pipeline-depth=2 costs=zero+intra+satd+second+variance+confidence",
        SMALL,
    );
}

#[test]
fn of_hierarchical_search() {
    check(
        of_hierarchical_search,
        "motionestimate device=native threads=1 algorithm=hierarchical block-size=8",
        SMALL,
    );
}

#[test]
fn of_frames_without_noise() {
    check(of_frames_without_noise, "motiondenoise device=native threads=1", SMALL);
}
