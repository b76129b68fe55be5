//! Frames between frames: motion compensation from the previous and the next frame of a stream.
//!
//! [`oracle`] defines them in plain loops. Each [`FrameMaker`] makes the same
//! frames faster: [`Interpolator`] on the CPU, others on devices.
//!
//! The motion comes from hierarchical search in search frames: luma of eight bits, at half the size as often as it takes
//! to have at most [`SEARCHED_SAMPLES`] samples. So a search costs little, whatever the size, on any device. The field
//! of the previous frame in the next one is projected to the time of the new frame, and each block chooses among the
//! vectors around it the one whose two ends match best in the frames themselves.
//!
//! The forward field alone is searched: both fields gain 0.04 dB for twice the search. Where blocks match badly there is no
//! fallback to the mean of both frames, which costs 0.1 to 0.3 dB: shreds remain in blocks that match by chance.

mod bilinear_rows;
mod cell_sources;
mod cells;
mod choice;
mod chroma_pairs;
mod fading;
mod frame_maker;
mod interpolator;
mod luma_points;
mod mixed_cells;
mod mixing;
pub mod oracle;
mod overlap;
mod patches;
mod phase;
mod projection;
mod row_sums;
pub(crate) mod rules;
mod search_input;
mod small_objects;
mod starts;
mod stored_samples;
mod weighting;

pub(crate) use cell_sources::{CellSource, Chroma, ChromaWork, DeepLuma, MOST_OF_PIXEL, with_chroma};
pub(crate) use cells::{Moments, Plane, PlaneCell, RegisterCell};
pub use frame_maker::{FrameMaker, FrameQuality, InterpolationError, LoadedPair};
pub use interpolator::Interpolator;
pub(crate) use luma_points::LumaPoints;
#[doc(inline)]
pub use motion_base::sampling::FrameFormat;
#[doc(inline)]
pub use motion_search::scenes::{SEARCHED_SAMPLES, SceneCutThreshold};
pub(crate) use overlap::windows;
pub use patches::Patch;
#[cfg(feature = "opencl")]
pub(crate) use patches::PatchCopy;
pub use phase::Phase;
pub(crate) use row_sums::RowSums;
pub use rules::search_parameters;
pub(crate) use rules::{AHEAD, BLOCK, PREFETCHED, halved_parameters};
#[cfg(feature = "opencl")]
pub(crate) use rules::{
    HYPOTHESES, block_of, check_field, coarse_grid, grid, halved, halvings, is_like_luma,
};
pub use search_input::SearchInput;
#[cfg(feature = "opencl")]
pub(crate) use small_objects::MOST_PATCHES;
pub(crate) use stored_samples::{BandMut, PixelPlane};
