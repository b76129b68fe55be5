//! Frames made along a stream, compared with the oracle.

use motion_frames::interpolation::oracle::{self, Neighbours};
use motion_frames::interpolation::{FrameQuality, InterpolationError, LoadedPair, Phase};
use motion_search::estimator::{Frame, FrameView, MotionVector};
use test_support::Content;

#[cfg(feature = "opencl")]
use crate::interpolation::opencl;
use crate::interpolation::{HALVED, Makers, Pair, cpu, made, samples};

/// The planes of some frames, and the fields between them.
struct Stream {
    pairs: Vec<Pair>,
    fields: Vec<Vec<MotionVector>>,
}

impl Stream {
    fn new() -> Self {
        let contents = [Content::Moved, Content::Noise, Content::Checkerboard];
        let pairs: Vec<_> = contents.map(|content| Pair::new(content, (50, 36), &[HALVED, HALVED], 8)).into();
        let field = |number: u32| pairs[0].other_field(40 * number as i16, number);
        let fields = (1..2 * pairs.len() as u32).map(field).collect();
        Self { pairs, fields }
    }

    fn frame(&self, number: usize) -> Vec<FrameView<'_>> {
        self.pairs[number / 2].frames[number % 2].iter().map(Frame::view).collect()
    }

    /// The planes of the frame between frame `first` and the next one.
    fn expected(&self, first: usize, quality: FrameQuality, has_neighbours: bool) -> Vec<Vec<u8>> {
        let frames = [first, first + 1].map(|number| self.frame(number));
        let sources = frames.each_ref().map(Vec::as_slice);
        let (samplings, field, phase) = (&self.pairs[0].samplings, &self.fields[first], Phase::MIDDLE);
        let made = if has_neighbours {
            let neighbours = Neighbours {
                luma: [first - 1, first + 2].map(|number| self.frame(number)[0]),
                fields: [first - 1, first + 1].map(|number| &self.fields[number][..]),
            };
            oracle::interpolate_with_neighbours(sources, samplings, field, &neighbours, phase)
        } else {
            oracle::interpolate(sources, samplings, field, quality, phase)
        };
        made.iter().map(samples).collect()
    }

    fn check(&self, makers: Makers, quality: FrameQuality) {
        for (name, mut maker) in makers(&self.pairs[0].format(), quality) {
            for number in 0..=self.fields.len() {
                let next = self.frame(number);
                maker.load_frame(&next).unwrap();
                let Some(newest) = number.checked_sub(1) else { continue };
                maker.set_motion(&self.fields[newest]).unwrap();
                // The newest pair, then the one before it.
                let mut chosen = vec![(newest, LoadedPair::Newest)];
                if quality == FrameQuality::High && newest > 0 {
                    for has_neighbours in [false, true].into_iter().take(newest) {
                        chosen.push((newest - 1, LoadedPair::BeforeNewest { has_neighbours }));
                    }
                }
                for (first, pair) in chosen {
                    maker.select(pair).unwrap();
                    maker.start_frame(Phase::MIDDLE).unwrap();
                    if number % 2 == 0 {
                        maker.cancel();
                        maker.start_frame(Phase::MIDDLE).unwrap();
                    }
                    maker.finish_frame().unwrap();
                    let frames = [first, first + 1].map(|number| self.frame(number));
                    let made = made(&*maker, frames.each_ref().map(Vec::as_slice));
                    let has_neighbours = pair == LoadedPair::BeforeNewest { has_neighbours: true };
                    let expected = self.expected(first, quality, has_neighbours);
                    assert_eq!(made, expected, "{name}, {pair:?} of frame {number}, {quality:?}");
                }
            }
            assert!(maker.finish_frame().is_err());
            let earlier = maker.select(LoadedPair::BeforeNewest { has_neighbours: false });
            let text = "frames between earlier frames are made in high quality only";
            let is_refused =
                matches!(&earlier, Err(error @ InterpolationError::Pair) if error.to_string() == text);
            assert_eq!(is_refused, quality != FrameQuality::High, "{name}, {quality:?}");
            assert!((0..=maker.depth()).any(|_| maker.start_frame(Phase::MIDDLE).is_err()));
        }
    }
}

#[test]
fn frames_of_the_cpu_equal_the_oracle() {
    for quality in [FrameQuality::Balanced, FrameQuality::High] {
        Stream::new().check(cpu, quality);
    }
}

/// On the devices of OPENCL_TEST_DEVICE, else on all.
#[cfg(feature = "opencl")]
#[test]
fn frames_of_opencl_devices_equal_the_oracle() {
    for quality in [FrameQuality::Balanced, FrameQuality::High] {
        Stream::new().check(opencl, quality);
    }
}
