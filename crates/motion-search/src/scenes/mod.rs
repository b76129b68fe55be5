//! Whether two frames show different scenes, and the smaller frames in which that is seen and motion is found cheaply.
//!
//! `scene_cut.rs` has the definition of a cut, and [`oracle`] says in plain loops what a smaller frame is.

mod block_samples;
mod detail;
pub mod oracle;
mod scene_cut;
mod search_frame;

pub use block_samples::BlockSamples;
pub use scene_cut::{BlockVectors, FlatFrame, SceneCutThreshold, SceneCuts};
pub use search_frame::SearchFrames;

/// The side of an area that is compared, in samples.
pub const BLOCK: usize = 8;

/// The most samples of a frame that is searched: 960 x 540 and a few more.
pub const SEARCHED_SAMPLES: usize = 1 << 19;

/// How often frames of this size are halved for the search.
pub fn halvings(width: usize, height: usize) -> u32 {
    halvings_to((width, height), SEARCHED_SAMPLES)
}

/// How often frames of this size must be halved to have at most `most` samples.
pub fn halvings_to((width, height): (usize, usize), most: usize) -> u32 {
    let samples = |halvings: u32| halved(width, halvings) * halved(height, halvings);
    (0..).find(|&halvings| samples(halvings) <= most).unwrap_or_default()
}

/// A width or height after some halvings.
pub fn halved(length: usize, halvings: u32) -> usize {
    length.div_ceil(1 << halvings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_frames_are_halved_until_the_search_is_cheap() {
        let sizes = [(1, 1), (352, 288), (1024, 512), (1025, 512), (1280, 720), (1920, 1080), (3840, 2160)];
        assert_eq!(sizes.map(|(width, height)| halvings(width, height)), [0, 0, 0, 1, 1, 1, 2]);
    }
}
