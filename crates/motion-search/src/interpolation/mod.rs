//! Frames between frames: motion compensation from the previous and the next frame of a stream.
//!
//! `docs/algorithms.md` has the definition, and [`oracle`] says it in plain loops. Each [`FrameMaker`] makes the same
//! frames faster: [`Interpolator`] on the CPU, others on devices.
//!
//! The motion comes from hierarchical search in search frames: luma of eight bits, at half the size as often as it takes
//! to have at most [`SEARCHED_SAMPLES`] samples. So a search costs little, whatever the size, on any device. The field
//! of the previous frame in the next one is projected to the time of the new frame, and each block chooses among the
//! vectors around it the one whose two ends match best in the frames themselves.

mod block_samples;
mod cell_sources;
mod cells;
mod choice;
mod chroma_pairs;
mod detail;
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
mod rules;
mod scene_cut;
mod search_frame;
mod search_input;
mod small_objects;
mod starts;
mod stored_samples;
mod weighting;

pub(crate) use cell_sources::{CellSource, Chroma, ChromaWork, DeepLuma, with_chroma};
pub(crate) use cells::{PlaneCell, RegisterCell};
pub use frame_maker::{FrameFormat, FrameMaker, FrameQuality, InterpolationError, LoadedPair};
pub use interpolator::Interpolator;
pub(crate) use luma_points::LumaPoints;
pub use patches::Patch;
#[cfg(feature = "opencl")]
pub(crate) use patches::PatchCopy;
pub use phase::Phase;
pub(crate) use row_sums::RowSums;
pub(crate) use rules::{AHEAD, BLOCK, PREFETCHED, halved, halved_parameters, halvings, halvings_to};
#[cfg(feature = "opencl")]
pub(crate) use rules::{HYPOTHESES, block_of, check_field, coarse_grid, found_grid, grid, is_like_luma};
pub use rules::{SEARCHED_SAMPLES, search_parameters};
pub use scene_cut::SceneCutThreshold;
pub(crate) use scene_cut::{BlockVectors, FlatFrame, SceneCuts};
pub(crate) use search_frame::SearchFrames;
pub use search_input::SearchInput;
#[cfg(feature = "opencl")]
pub(crate) use small_objects::MOST_PATCHES;
pub(crate) use stored_samples::BandMut;
